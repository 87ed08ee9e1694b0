import BLEProfiles

/// A central and a peripheral at once, on one adapter: it connects to a thermometer and serves its values under another
/// name.
@main struct Relay {
  /// The service that readers of the relay look for; sensors have Environmental Sensing.
  static let service: BluetoothUUID = "7A3C00A0-52D6-4C1E-9B0F-6D1E2F3A4B5C"
  static let value = ProfileCharacteristic<EnvironmentalValue<Temperature>>(
    "7A3C00A1-52D6-4C1E-9B0F-6D1E2F3A4B5C", in: service)

  static func main() async {
    await Adapter.runProgram {
      switch CommandLine.arguments.dropFirst().first {
      case "peripheral": try await forward(on: .open())
      case "sensor": try await serveSensor(on: .open())
      case "central": try await read(with: .open())
      case nil:
        // All three in this process, on the simulated radio. The others end with this scope.
        async let _ = serveSensor(on: .open(AdapterOptions(transport: "virtual:sensor")))
        async let _ = forward(on: .open(AdapterOptions(transport: "virtual:relay")))
        try await read(with: .open(AdapterOptions(transport: "virtual:central")))
      default: print("usage: relay [peripheral | sensor | central] [--transport SPEC]")
      }
    }
  }

  /// Serves what the sensor sends. After the end of the link it connects again.
  static func forward(on adapter: Adapter) async throws {
    let latest = Latest()
    let service = LocalService(
      service,
      [
        LocalCharacteristic(value)
          .readSynchronously { _ in
            guard let value = latest.value else { throw ATTErrorCode.unlikelyError }
            return value
          }
          .notify()
      ])
    let publication = try await adapter.publish([service])
    try await withThrowingTaskGroup { group in
      group.addTask {
        print("advertises as \"Relay\"")
        try await adapter.advertise(Advertisement(localName: "Relay", serviceUUIDs: [Self.service]))
      }
      group.addTask {
        while true {
          do {
            let scan = adapter.scan(ScanOptions(services: [EnvironmentalSensing.service]))
            guard let found = try await scan.first(where: \.isConnectable) else { return }
            try await adapter.withConnection(to: found.address) { device in
              for try await celsius in try await device.values(of: EnvironmentalSensing.temperature) {
                latest.value = celsius
                print("forwards \(celsius)")
                try await publication.send(celsius, for: value.uuid)
              }
            }
          } catch let error as BLEError where error.kind == .cancelled || error.kind == .adapterUnavailable {
            throw error
          } catch {
            try Task.checkCancellation()
            latest.value = nil
            print("the sensor: \(error)")
          }
        }
      }
      defer { group.cancelAll() }
      try await group.next()
    }
  }

  static func serveSensor(on adapter: Adapter) async throws {
    let sensor = EnvironmentalSensing.sensor(Temperature.self) { subscriber in
      for number in 0... {
        try await subscriber.send(EnvironmentalValue<Temperature>(20 + Double(number % 100) / 10))
        try await Task.sleep(for: .milliseconds(200))
      }
    } read: {
      EnvironmentalValue(20)
    }
    try await adapter.serve([EnvironmentalSensing.localService([sensor])], advertisingAs: "Sensor")
  }

  static func read(with adapter: Adapter) async throws {
    let scan = adapter.scan(ScanOptions(services: [service]))
    guard let found = try await scan.first(where: \.isConnectable) else { return }
    try await adapter.withConnection(to: found.address) { device in
      // Until Control-C, or until the link ends.
      for try await celsius in try await device.values(of: value) {
        print("received \(celsius)")
      }
    }
  }
}
