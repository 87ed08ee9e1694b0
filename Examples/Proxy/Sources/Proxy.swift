import BLEProfiles

/// A central and a peripheral at once, on one adapter: it connects to a thermometer and serves its values under another name.
@main struct Proxy {
  static let usage = """
    proxy [--role peripheral|sensor|central] [--transport SPEC] [--count N]

      --role ROLE       peripheral: the proxy; sensor: a thermometer; central: a reader of the proxy. Without it all three run here, on
                        the simulated radio
      --transport SPEC  the controller of that end, e.g. linux, tcp-client:127.0.0.1:6402
      --count N         central: how many values it waits for (3)
    """

  /// The service that readers of the proxy look for; sensors have Environmental Sensing.
  static let service: BluetoothUUID = "7A3C00A0-52D6-4C1E-9B0F-6D1E2F3A4B5C"
  static let value = ProfileCharacteristic<EnvironmentalValue<Temperature>>(
    "7A3C00A1-52D6-4C1E-9B0F-6D1E2F3A4B5C", in: service)

  static func main() async {
    await Program.run(usage) { program in
      let count = try program.number("--count", or: 3, in: 1...1_000)
      if program.value("--role") == "sensor" {
        return try await serveSensor(on: Adapter.open(AdapterOptions()))
      }
      var sensor: Task<Void, any Error>?
      if program.value("--role") == nil, program.value("--transport") == nil {
        let adapter = try await Adapter.open(AdapterOptions(transport: "virtual:sensor"))
        sensor = Task { try await serveSensor(on: adapter) }
      }
      defer { sensor?.cancel() }
      try await program.runRoles {
        try await forward(on: $0)
      } central: {
        try await read(with: $0, count: count)
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
          .read { _ in
            guard let value = latest.value else { throw ATTErrorCode.unlikelyError }
            return value
          }
          .notify()
      ])
    let publication = try await adapter.publish([service])
    try await withThrowingTaskGroup { group in
      group.addTask {
        say("advertises as \"Proxy\"")
        try await adapter.advertise(Advertisement(localName: "Proxy", serviceUUIDs: [Self.service]))
      }
      group.addTask {
        while true {
          do {
            try await adapter.withDevice(advertising: EnvironmentalSensing.service) { device in
              for try await celsius in try await device.values(of: EnvironmentalSensing.temperature) {
                latest.value = celsius
                say("forwards \(celsius)")
                try await publication.send(celsius, for: value.uuid)
              }
            }
          } catch let error as BLEError where error.kind == .cancelled || error.kind == .adapterUnavailable {
            throw error
          } catch {
            try Task.checkCancellation()
            latest.value = nil
            say("the sensor: \(error)")
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

  static func read(with adapter: Adapter, count: Int) async throws {
    try await adapter.withDevice(advertising: service) { device in
      try await within(.seconds(30), "\(count) values") {
        var received = 0
        for try await celsius in try await device.values(of: value) {
          say("received \(celsius)")
          received += 1
          if received == count { break }
        }
      }
    }
  }
}
