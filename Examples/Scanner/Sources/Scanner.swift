import BLEProfiles

/// Lists the devices in range, with names, services and beacons.
@main struct Scanner {
  static let usage = """
    scanner [--transport SPEC] [--seconds N] [--devices N]

      --transport SPEC  the controller, e.g. linux; without it three devices on the simulated radio are found
      --seconds N       how long to scan (5)
      --devices N       ends earlier, after so many devices
    """

  static func main() async {
    await Program.run(usage) { program in
      let seconds = try program.number("--seconds", or: 5, in: 1...86_400)
      let isSimulated = program.value("--transport") == nil
      let limit = try program.number("--devices", or: isSimulated ? 3 : .max, in: 1...Int.max)
      let adapter = try await Adapter.open(AdapterOptions(transport: isSimulated ? "virtual:scanner" : nil))
      let devices = isSimulated ? try await simulatedDevices() : []
      defer { for device in devices { device.cancel() } }
      say("\(try await scan(with: adapter, for: .seconds(seconds), limit: limit)) devices")
    }
  }

  /// Scans for a time.
  ///
  /// - Returns: the number of devices.
  static func scan(with adapter: Adapter, for time: Duration, limit: Int) async throws -> Int {
    try await withThrowingTaskGroup(of: Int?.self) { group in
      let counter = Counter()
      group.addTask {
        var options = ScanOptions()
        options.waitsForScanResponse = true
        for try await result in adapter.scan(options) {
          if counter.add(result.address) { say(line(result)) }
          if counter.count >= limit { break }
        }
        return nil
      }
      group.addTask {
        try await Task.sleep(for: time)
        return nil
      }
      defer { group.cancelAll() }
      _ = try await group.next()
      return counter.count
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
  static func simulatedDevices() async throws -> [Task<Void, any Error>] {
    let beacon = IBeacon(region: "E2C56DB5-DFFB-48D2-B060-D0F5A71096E0", major: 1, minor: 2, measuredPower: -59)
    let advertisements = [
      beacon.advertisement, try EddystoneFrame.url(power: -18, "https://swift.org/").advertisement(),
      Advertisement(localName: "Thermometer", serviceUUIDs: [HealthThermometer.service]),
    ]
    var tasks: [Task<Void, any Error>] = []
    for (number, advertisement) in advertisements.enumerated() {
      let adapter = try await Adapter.open(AdapterOptions(transport: "virtual:device\(number)"))
      tasks.append(Task { try await adapter.advertise(advertisement) })
    }
    return tasks
  }
}
