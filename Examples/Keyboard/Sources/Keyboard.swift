import BLEProfiles

/// A HID keyboard that types a text, and a host that pairs and receives it.
@main struct Keyboard {
  static let usage = """
    keyboard [--role peripheral|central] [--transport SPEC] [--text TEXT]

      --role ROLE       one end alone; without it both ends run here, on the simulated radio
      --transport SPEC  the controller of that end, e.g. linux, tcp-client:127.0.0.1:6402
      --text TEXT       what is typed and expected, on a keyboard of the United States (Hello)
    """

  static func main() async {
    await Program.run(usage) { program in
      let text = program.value("--text") ?? "Hello"
      try await program.runRoles {
        try await serve(text, on: $0)
      } central: {
        try await receive(text, with: $0)
      } options: { role in
        // A keyboard without a display pairs without a question (Just Works).
        AdapterOptions(deviceName: role == "central" ? nil : "Keyboard", appearance: Appearance.keyboard.rawValue)
      }
    }
  }

  static func serve(_ text: String, on adapter: Adapter) async throws {
    let keyboard = HumanInterfaceDevice.localService(
      .keyboard + .consumerControl,
      reports: [
        .input(1, length: 8) { subscriber in
          say("\(subscriber.device) is ready: typing")
          for report in KeyboardReport.typing(text) { try await subscriber.send(report) }
        },
        .output(1, read: { [0] }) { octets, _ in
          if let lights = KeyboardLEDs(octets: octets) { say("lights: \(lights)") }
        },
        .input(2, length: 2) { subscriber in
          for usage in [ConsumerReport.Usage.volumeUp, .none] { try await subscriber.send(ConsumerReport(usage)) }
        },
      ])
    // The profile demands the two services beside it, with a PnP ID (HOGP 1.0, 3).
    var information = DeviceInformation()
    information.manufacturerName = "BluetoothLE for Swift"
    information.pnpID = PnPID(vendor: 0xFFFF, product: 2, version: 0x0100)
    let battery = Battery.localService { BatteryLevel(percent: 100) }
    say("advertises as \"Keyboard\"")
    try await adapter.serve(
      [keyboard, battery, information.localService()],
      advertising: Advertisement(
        localName: "Keyboard", serviceUUIDs: [HumanInterfaceDevice.service], elements: [.appearance(.keyboard)]))
  }

  static func receive(_ text: String, with adapter: Adapter) async throws {
    try await adapter.withDevice(advertising: HumanInterfaceDevice.service) { device in
      try await device.pair()
      let information = try await device.read(HumanInterfaceDevice.information)
      let map = try await device.read(HumanInterfaceDevice.reportMap)
      say("HID version \(String(information.version, radix: 16)), a report map of \(map.count) octets")
      let reports = try await device.hidReports()
      for report in reports { say("\(report.reference.kind) report \(report.reference.id)") }
      guard let lights = reports.first(where: { $0.reference == HIDReportReference(id: 1, kind: .output) }),
        let keys = reports.first(where: { $0.reference == HIDReportReference(id: 1, kind: .input) }),
        let remote = reports.first(where: { $0.reference == HIDReportReference(id: 2, kind: .input) })
      else { throw ExampleError("the device has no keyboard report") }
      try await device.write(KeyboardLEDs.capsLock, to: lights.characteristic)
      try await within(.seconds(20), "the keys") {
        var expected = KeyboardReport.typing(text)[...]
        for try await report in device.values(of: keys.characteristic, as: KeyboardReport.self) {
          guard report == expected.popFirst() else { throw ExampleError("\(report) was not expected") }
          if expected.isEmpty { break }
        }
        say("received the keys of \"\(text)\"")
        for try await report in device.values(of: remote.characteristic, as: ConsumerReport.self) {
          say("received \(report.usage)")
          break
        }
      }
    }
  }
}
