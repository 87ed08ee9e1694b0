import BLEProfiles

/// How many octets a second a link carries: writes without response, notifications, and an L2CAP channel.
@main struct Throughput {
  /// How many octets each way carries.
  static let octets = 200_000

  static let service: BluetoothUUID = "7A3C0090-52D6-4C1E-9B0F-6D1E2F3A4B5C"
  /// Written without response; what was written is counted.
  static let sink = ProfileCharacteristic<[UInt8]>("7A3C0091-52D6-4C1E-9B0F-6D1E2F3A4B5C", in: service)
  /// Notified without an end.
  static let source = ProfileCharacteristic<[UInt8]>("7A3C0092-52D6-4C1E-9B0F-6D1E2F3A4B5C", in: service)
  /// Read: the octets that were written so far.
  static let count = ProfileCharacteristic<UInt32>("7A3C0093-52D6-4C1E-9B0F-6D1E2F3A4B5C", in: service)
  /// Read: the PSM of the channel, which sends back what it receives.
  static let psm = ProfileCharacteristic<UInt16>("7A3C0094-52D6-4C1E-9B0F-6D1E2F3A4B5C", in: service)

  static func main() async {
    await Adapter.runProgram {
      switch CommandLine.arguments.dropFirst().first {
      case "peripheral": try await serve(on: .open())
      case "central": try await measure(with: .open())
      case nil:
        // Both ends in this process, on the simulated radio. The peripheral ends with this scope.
        async let _ = serve(on: .open(AdapterOptions(transport: "virtual:peripheral")))
        try await measure(with: .open(AdapterOptions(transport: "virtual:central")))
      default: print("usage: throughput [peripheral | central] [--transport SPEC]")
      }
    }
  }

  static func serve(on adapter: Adapter) async throws {
    let received = ByteCount()
    let channels = try await adapter.publishChannel()
    let echo = Task {
      await withDiscardingTaskGroup { group in
        for await channel in channels {
          group.addTask {
            // Ends with the channel.
            do { for try await octets in channel { try await channel.write(octets) } } catch {}
          }
        }
      }
    }
    defer { echo.cancel() }
    let tests = LocalService(
      service,
      [
        LocalCharacteristic(sink).writeSynchronously(kinds: .withoutResponse) { octets, _ in received.add(octets.count)
        },
        LocalCharacteristic(source).notify { subscriber in
          let octets = [UInt8](repeating: 0x5A, count: subscriber.maximumLength)
          while true { try await subscriber.send(octets) }
        },
        LocalCharacteristic(count).readSynchronously { _ in UInt32(truncatingIfNeeded: received.total) },
        LocalCharacteristic(psm).value(channels.psm),
      ])
    print("advertises as \"Throughput\", channel \(channels.psm)")
    try await adapter.serve([tests], advertisingAs: "Throughput")
  }

  static func measure(with adapter: Adapter) async throws {
    let scan = adapter.scan(ScanOptions(services: [service]))
    guard let found = try await scan.first(where: \.isConnectable) else { return }
    try await adapter.withConnection(to: found.address) { device in
      try device.requestConnectionPriority(.throughput)
      try await write(to: device)
      try await notifications(of: device)
      try await transfer(with: device)
      print("ATT_MTU \(device.mtu)\(device.timing.map { ", connection interval \($0.interval)" } ?? "")")
    }
  }

  static func write(to device: RemoteDevice) async throws {
    let before = try await device.read(count)
    let block = [UInt8](repeating: 0xA5, count: min(device.mtu - 3, 512))
    let start = ContinuousClock.now
    var sent = 0
    while sent < octets {
      try await device.writeWithoutResponse(block, to: sink)
      sent += block.count
    }
    // The answer to a read follows all of them.
    let taken = Int(try await device.read(count) &- before)
    report("writes without response", taken, since: start)
  }

  static func notifications(of device: RemoteDevice) async throws {
    let start = ContinuousClock.now
    var received = 0
    for try await value in try await device.values(of: source) {
      received += value.count
      if received >= octets { break }
    }
    report("notifications", received, since: start)
  }

  static func transfer(with device: RemoteDevice) async throws {
    let channel = try await device.openChannel(psm: try await device.read(psm))
    let start = ContinuousClock.now
    async let sent: Void = {
      var rest = octets
      while rest > 0 {
        let block = [UInt8](repeating: 0x33, count: min(rest, 4_096))
        try await channel.write(block)
        rest -= block.count
      }
    }()
    var received = 0
    for try await block in channel {
      received += block.count
      if received >= octets { break }
    }
    try await sent
    report("L2CAP channel, both ways", octets + received, since: start)
    await channel.close()
  }

  static func report(_ way: String, _ octets: Int, since start: ContinuousClock.Instant) {
    let seconds = max(start.duration(to: .now) / .seconds(1), 0.000_001)
    print("\(way): \(octets) octets, \(Int(Double(octets) * 8 / 1_000 / seconds)) kbit/s")
  }
}
