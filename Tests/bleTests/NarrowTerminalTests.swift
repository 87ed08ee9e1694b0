import Testing
import ToolCore

@testable import ble

/// Output in a terminal of a few columns.
struct NarrowTerminalTests {
  private var service: InspectCommand.Service {
    var service = InspectCommand.Service(uuid: "181A", name: "Environmental Sensing", start: 16, end: 24)
    var temperature = InspectCommand.Characteristic(
      uuid: "2A6E", name: "Temperature", handle: 0x12, properties: ["read", "notify"],
      value: .init(hex: "6608", text: "21.50 °C"))
    temperature.descriptors = [
      .init(
        uuid: "2902", name: "Client Characteristic Configuration", handle: 0x13, value: .init(hex: "0000", text: "off")),
      .init(uuid: "2901", name: nil, handle: 0x14),
    ]
    let own = InspectCommand.Characteristic(
      uuid: "7D0A0002-9E47-4C5A-9B1B-3C1E6F2A8D10", name: nil, handle: 0x16, properties: ["read"],
      value: .init(error: "Insufficient Authentication (0x05): the device requires a pairing"))
    service.characteristics = [temperature, own]
    return service
  }

  @Test func theTreeKeepsItsBranchesAt40Columns() {
    #expect(
      InspectCommand.lines(service, isLast: false, width: 40).joined(separator: "\n") == """
        ├─ Environmental Sensing (181A)
        │  ├─ Temperature (2A6E)
        │  │    [read, notify]  0x0012
        │  │    21.50 °C
        │  │  · Client Characteristic
        │  │    Configuration (2902):
        │  │    off
        │  │  · 2901
        │  └─ 7D0A0002-9E47-4C5A-9B1B-3C1E6F2A8D
        │     10
        │       [read]  0x0016
        │       Insufficient Authentication
        │       (0x05): the device requires a
        │       pairing
        """)
  }

  @Test func theTreeHasALineForEachThingWhereItFits() {
    #expect(
      InspectCommand.lines(service, isLast: true, width: .max).joined(separator: "\n") == """
        └─ Environmental Sensing (181A)
           ├─ Temperature (2A6E)  [read, notify]  0x0012
           │    21.50 °C
           │  · Client Characteristic Configuration (2902): off
           │  · 2901
           └─ 7D0A0002-9E47-4C5A-9B1B-3C1E6F2A8D10  [read]  0x0016
                Insufficient Authentication (0x05): the device requires a pairing
        """)
  }

  @Test(arguments: [24, 30, 40, 60, 79, 80]) func noLineOfTheTreeIsWider(width: Int) {
    for isLast in [false, true] {
      let lines = InspectCommand.lines(service, isLast: isLast, width: width)
      #expect(lines.allSatisfy { $0.columns <= width }, "\(lines)")
    }
  }

  @Test func theFindingsOfTheDoctorAreBelowTheirNames() {
    let check = Check(
      name: "kernel", verdict: .failure, finding: "Linux 6.12 has no Bluetooth, which it needs",
      remedy: "Run: sudo modprobe bluetooth")
    #expect(
      DoctorCommand.text(check, width: 40) == """
        FAIL kernel
             Linux 6.12 has no Bluetooth, which
             it needs
             -> Run: sudo modprobe bluetooth
        """)
    #expect(DoctorCommand.text(check, width: 80).hasPrefix("FAIL kernel              Linux 6.12 has no Bluetooth"))
  }

  @Test func theHelpFits40Columns() {
    for command in BLETool.commands {
      // Command lines are not wrapped: they are copied.
      let text = HelpText.text(of: command, width: 40).split(separator: "\n")
      for line in text where !line.hasPrefix("usage: ") && !line.hasPrefix("  ble ") {
        #expect(line.count <= 40 || line.split(separator: " ").count == 1, "\(line)")
      }
    }
  }
}
