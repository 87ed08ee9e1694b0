import BLEKit
import BLETrace
import BLEWire
import ToolCore

/// `ble demo`: a peripheral and a central on a radio in this process.
enum DemoCommand {
  static let declaration = CommandDeclaration(
    name: "demo", summary: "shows a heart-rate monitor and its reader, without hardware",
    details: [
      "Both are in this process, on a simulated radio. The packets are written to demo.btsnoop, or to --snoop FILE."
    ],
    options: [CommandDeclaration.Option.snoop, .value("beats", "N", "values that the monitor sends (5)")],
    run: run)

  @Sendable private static func run(_ arguments: ParsedArguments) async throws {
    let beats = try arguments.number("beats", in: 1...1_000) ?? 5
    let trace = arguments.value("snoop") ?? "demo.btsnoop"
    // Two adapters of one radio; one trace is enough.
    var monitorOptions = AdapterOptions(transport: "virtual:monitor", snoop: trace, deviceName: "Heart Rate")
    var readerOptions = AdapterOptions(transport: "virtual:reader", snoop: "/dev/null", deviceName: "Reader")
    monitorOptions.pairing.storage = .memory
    readerOptions.pairing.storage = .memory
    let service = LocalService(
      "180D",
      [
        LocalCharacteristic("2A37").notify { subscriber in
          for beat in 1...beats {
            // Flags 0x06: the sensor has contact with the skin; then the rate.
            try await subscriber.send([0x06, UInt8(70 + beat % 5)])
            try await Task.sleep(for: .milliseconds(200))
          }
        },
        LocalCharacteristic("2A38").value(UInt8(1)),
      ])
    try await AdapterUse.withAdapter(monitorOptions) { monitor in
      let serving = Task { try await monitor.serve([service], advertisingAs: "Heart Rate") }
      defer { serving.cancel() }
      say("monitor", "advertises \"Heart Rate\" with the service Heart Rate (180D)")
      var links = monitor.connections.makeAsyncIterator()
      try await AdapterUse.withAdapter(readerOptions) { reader in try await read(beats, with: reader) }
      // The reader ends the link: an end that the monitor asks for at the same time would be refused.
      try await links.next()?.waitUntilDisconnected()
    }
    Output.line("\nThe packets are in \(trace). Next: ble log \(trace)")
  }

  private static func read(_ beats: Int, with adapter: Adapter) async throws {
    let found = try await adapter.findDevice(named: "Heart Rate", timeout: .seconds(10))
    say("reader", "found \(found.address), and connects")
    try await adapter.withConnection(to: found) { device in
      let service = try await device.service("180D")
      say("reader", "discovered \(service.characteristics.count) characteristics, ATT_MTU \(device.mtu)")
      guard let location = service["2A38"], let measurement = service["2A37"] else {
        throw ToolError.device("the service has no measurement")
      }
      let octets = try await device.read(location)
      say("reader", "read the location of the sensor: \(ValueText.text(octets[...], of: "2A38"))")
      var received = 0
      for try await value in device.values(of: measurement) {
        say("reader", "received \(ValueText.text(value[...], of: "2A37"))")
        received += 1
        if received == beats { break }
      }
      say("reader", "disconnects")
    }
  }

  private static func say(_ who: String, _ text: String) { Output.line("\(who.padded(to: 8))│ \(text)") }
}
