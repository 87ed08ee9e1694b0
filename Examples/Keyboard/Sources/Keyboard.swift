import BLEProfiles

/// A HID keyboard that types a text, and a host that pairs and receives it.
@main struct Keyboard {
  /// Typed by the keyboard and expected by the host, on a keyboard of the United States.
  static let text = "Hello"

  static func main() async {
    await Adapter.runProgram {
      // A keyboard without a display pairs without a question (Just Works).
      var keyboard = AdapterOptions(deviceName: "Keyboard", appearance: Appearance.keyboard.rawValue)
      switch CommandLine.arguments.dropFirst().first {
      case "peripheral": try await serve(on: .open(keyboard))
      case "central": try await receive(with: .open())
      case nil:
        // Both ends in this process, on the simulated radio. The peripheral ends with this scope.
        keyboard.transport = "virtual:peripheral"
        async let _ = serve(on: .open(keyboard))
        try await receive(with: .open(AdapterOptions(transport: "virtual:central")))
      default: print("usage: keyboard [peripheral | central] [--transport SPEC]")
      }
    }
  }

  static func serve(on adapter: Adapter) async throws {
    let keyboard = HumanInterfaceDevice.localService(
      .keyboard + .consumerControl,
      reports: [
        .input(1, length: 8) { subscriber in
          print("\(subscriber.device) is ready: typing")
          for report in KeyboardReport.typing(text) { try await subscriber.send(report) }
        },
        .output(1, read: { [0] }) { octets, _ in
          if let lights = KeyboardLEDs(octets: octets) { print("lights: \(lights)") }
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
    print("advertises as \"Keyboard\"")
    try await adapter.serve(
      [keyboard, battery, information.localService()],
      advertising: Advertisement(
        localName: "Keyboard", serviceUUIDs: [HumanInterfaceDevice.service], elements: [.appearance(.keyboard)]))
  }

  static func receive(with adapter: Adapter) async throws {
    let scan = adapter.scan(ScanOptions(services: [HumanInterfaceDevice.service]))
    guard let found = try await scan.first(where: \.isConnectable) else { return }
    try await adapter.withConnection(to: found.address) { device in
      try await device.pair()
      let information = try await device.read(HumanInterfaceDevice.information)
      let map = try await device.read(HumanInterfaceDevice.reportMap)
      print("HID version \(String(information.version, radix: 16)), a report map of \(map.count) octets")
      let reports = try await device.hidReports()
      for report in reports { print("\(report.reference.kind) report \(report.reference.id)") }
      guard let lights = reports.first(where: { $0.reference == HIDReportReference(id: 1, kind: .output) }),
        let keys = reports.first(where: { $0.reference == HIDReportReference(id: 1, kind: .input) }),
        let remote = reports.first(where: { $0.reference == HIDReportReference(id: 2, kind: .input) })
      else { return print("the device is no keyboard of this example") }
      try await device.write(KeyboardLEDs.capsLock, to: lights.characteristic)
      var expected = KeyboardReport.typing(text)[...]
      for try await report in device.values(of: keys.characteristic, as: KeyboardReport.self) {
        guard report == expected.popFirst() else { return print("\(report) was not expected") }
        if expected.isEmpty { break }
      }
      print("received the keys of \"\(text)\"")
      for try await report in device.values(of: remote.characteristic, as: ConsumerReport.self) {
        print("received \(report.usage)")
        break
      }
    }
  }
}
