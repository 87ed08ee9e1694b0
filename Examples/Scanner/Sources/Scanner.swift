import BLEProfiles

/// Lists the devices in range, with names, services and beacons, until Control-C.
@main struct Scanner {
  static func main() async {
    await Adapter.runProgram {
      let adapter: Adapter
      if CommandLine.arguments.count == 1 {
        // Without `--transport`: three devices on the simulated radio.
        adapter = try await Adapter.open(AdapterOptions(transport: "virtual:scanner"))
        try await advertiseSimulatedDevices()
      } else {
        adapter = try await Adapter.open()
      }
      var options = ScanOptions()
      options.waitsForScanResponse = true
      var devices: Set<DeviceAddress> = []
      for try await result in adapter.scan(options) where devices.insert(result.address).inserted {
        print(line(result))
      }
    }
  }

  static func line(_ result: ScanResult) -> String {
    let contents = result.contents
    var parts = ["\(result.address)", result.rssi.map { "\($0) dBm" } ?? "no RSSI"]
    if let name = contents.localName { parts.append("\"\(name.displayText)\"") }
    if !contents.serviceUUIDs.isEmpty {
      parts.append("services " + contents.serviceUUIDs.map { "\($0)" }.joined(separator: " "))
    }
    if let beacon = IBeacon(contents) {
      parts.append("iBeacon \(beacon.region) \(beacon.major)/\(beacon.minor), \(beacon.measuredPower) dBm at 1 m")
    }
    parts += EddystoneFrame.frames(in: contents).map(text)
    return parts.joined(separator: "  ")
  }

  static func text(_ frame: EddystoneFrame) -> String {
    switch frame {
    case .uid(_, let namespace, let instance): "Eddystone-UID \(namespace.hexadecimal) \(instance.hexadecimal)"
    case .url(_, let address): "Eddystone-URL \(address)"
    case .telemetry(let state):
      "Eddystone-TLM \(state.batteryMillivolts ?? 0) mV, \(state.advertisements) advertisements"
    case .encryptedTelemetry: "Eddystone-TLM, encrypted"
    case .ephemeralIdentifier(_, let identifier): "Eddystone-EID \(identifier.hexadecimal)"
    }
  }

  /// An iBeacon, an Eddystone beacon and a thermometer.
  static func advertiseSimulatedDevices() async throws {
    let beacon = IBeacon(region: "E2C56DB5-DFFB-48D2-B060-D0F5A71096E0", major: 1, minor: 2, measuredPower: -59)
    let advertisements = [
      beacon.advertisement, try EddystoneFrame.url(power: -18, "https://swift.org/").advertisement(),
      Advertisement(localName: "Thermometer", serviceUUIDs: [HealthThermometer.service]),
    ]
    for (number, advertisement) in advertisements.enumerated() {
      let adapter = try await Adapter.open(AdapterOptions(transport: "virtual:device\(number)"))
      Task { try await adapter.advertise(advertisement) }
    }
  }
}
