import BLEProfiles

/// Prints the services, characteristics, values and descriptors of a device.
@main struct Explorer {
  static func main() async {
    await Adapter.runProgram {
      let adapter: Adapter
      let name: String
      if let argument = CommandLine.arguments.dropFirst().first {
        (adapter, name) = (try await Adapter.open(), argument)
      } else {
        // Without a name: a device on the simulated radio.
        (adapter, name) = (try await Adapter.open(AdapterOptions(transport: "virtual:explorer")), "Band")
        try await advertiseSimulatedDevice(named: name)
      }
      var options = ScanOptions()
      options.waitsForScanResponse = true
      for try await result in adapter.scan(options) where result.isConnectable {
        guard result.contents.localName?.displayText == name else { continue }
        print("\(name) at \(result.address)")
        return try await adapter.withConnection(to: result.address) { try await explore($0) }
      }
    }
  }

  static func explore(_ device: RemoteDevice) async throws {
    for service in try await device.services() {
      print("service \(service.uuid)")
      for characteristic in service.characteristics {
        print("  characteristic \(characteristic.uuid) [\(characteristic.properties)]")
        if characteristic.properties.contains(.read) {
          print("    value \(try await text { try await device.read(characteristic) })")
        }
        for descriptor in try await device.descriptors(of: characteristic) {
          print("    descriptor \(descriptor.uuid) \(try await text { try await device.read(descriptor) })")
        }
      }
    }
  }

  /// The octets of a value, or the reason why it cannot be read: an error of one attribute does not end the
  /// exploration.
  static func text(_ read: () async throws -> [UInt8]) async throws -> String {
    do {
      return try await read().hexadecimal
    } catch let error as BLEError {
      guard case .att(let code) = error.kind else { throw error }
      return "is not readable: \(code)"
    }
  }

  /// A device with a value that cannot be read without authentication.
  static func advertiseSimulatedDevice(named name: String) async throws {
    let adapter = try await Adapter.open(AdapterOptions(transport: "virtual:device"))
    let heartRate = HeartRate.localService(location: .wrist) { _ in }
    let secret = LocalService(
      "7A3C0060-52D6-4C1E-9B0F-6D1E2F3A4B5C",
      [
        LocalCharacteristic("7A3C0061-52D6-4C1E-9B0F-6D1E2F3A4B5C", descriptors: [.userDescription("Owner")])
          .read { _ -> [UInt8] in throw ATTErrorCode.insufficientAuthorization }
      ])
    Task {
      try await adapter.serve(
        [heartRate, Battery.localService { BatteryLevel(percent: 64) }, secret], advertisingAs: name)
    }
  }
}
