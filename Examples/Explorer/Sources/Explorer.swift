import BLEProfiles

/// Prints the services, characteristics, values and descriptors of a device.
@main struct Explorer {
  static let usage = """
    explorer [--transport SPEC] [--name NAME] [--seconds N]

      --transport SPEC  the controller, e.g. linux; without it a device on the simulated radio is explored
      --name NAME       the name of the device; without it the first device that accepts connections
      --seconds N       how long to look for it (10)
    """

  static func main() async {
    await Program.run(usage) { program in
      let isSimulated = program.value("--transport") == nil
      let seconds = try program.number("--seconds", or: 10, in: 1...3_600)
      let device = isSimulated ? try await simulatedDevice() : nil
      defer { device?.cancel() }
      let adapter = try await Adapter.open(AdapterOptions(transport: isSimulated ? "virtual:explorer" : nil))
      let name = program.value("--name")
      let found = try await within(.seconds(seconds), "the device \(name ?? "")") {
        var options = ScanOptions()
        options.waitsForScanResponse = true
        for try await result in adapter.scan(options) where result.isConnectable {
          if name == nil || result.contents.localName?.displayText == name { return result }
        }
        throw ExampleError("the scan ended")
      }
      say("\(found.contents.localName?.displayText ?? "a device without a name") at \(found.address)")
      try await adapter.withConnection(to: found.address) { try await explore($0) }
    }
  }

  static func explore(_ device: RemoteDevice) async throws {
    for service in try await device.services() {
      say("service \(service.uuid)")
      for characteristic in service.characteristics {
        say("  characteristic \(characteristic.uuid) [\(characteristic.properties)]")
        if characteristic.properties.contains(.read) {
          say("    value \(try await text { try await device.read(characteristic) })")
        }
        for descriptor in try await device.descriptors(of: characteristic) {
          say("    descriptor \(descriptor.uuid) \(try await text { try await device.read(descriptor) })")
        }
      }
    }
  }

  /// The octets of a value, or the reason why it cannot be read: an error of one attribute does not end the exploration.
  static func text(_ read: () async throws -> [UInt8]) async throws -> String {
    do {
      return try await read().hexadecimal
    } catch let error as BLEError {
      guard case .att(let code) = error.kind else { throw error }
      return "is not readable: \(code)"
    }
  }

  /// A device with a value that cannot be read without authentication.
  static func simulatedDevice() async throws -> Task<Void, any Error> {
    let adapter = try await Adapter.open(AdapterOptions(transport: "virtual:device"))
    let heartRate = HeartRate.localService(location: .wrist) { _ in }
    let secret = LocalService(
      "7A3C0060-52D6-4C1E-9B0F-6D1E2F3A4B5C",
      [
        LocalCharacteristic("7A3C0061-52D6-4C1E-9B0F-6D1E2F3A4B5C", descriptors: [.userDescription("Owner")])
          .read { _ -> [UInt8] in throw ATTErrorCode.insufficientAuthorization }
      ])
    return Task {
      try await adapter.serve(
        [heartRate, Battery.localService { BatteryLevel(percent: 64) }, secret], advertisingAs: "Band")
    }
  }
}
