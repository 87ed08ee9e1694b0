import BLEWire
import Testing
import ToolCore

@testable import BLEKit
@testable import ble

/// UUIDs and handles as people write them.
struct UUIDNameTests {
  @Test(arguments: [
    ("180D", "180D"), ("0000180d-0000-1000-8000-00805f9b34fb", "180D"), ("Heart Rate", "180D"), ("heart rate", "180D"),
    ("Heart Rate Service", "180D"), ("Nordic UART", "6E400001-B5A3-F393-E0A9-E50E24DCCA9E"), ("battery", "180F"),
  ])
  func takesDigitsAndNames(text: String, uuid: String) {
    #expect(UUIDName.uuids(text).map(\.uuidString) == [uuid])
    #expect(BluetoothUUID(uuid).map { UUIDName.matches(text, $0) } == true)
  }

  @Test func knowsNoOtherText() {
    #expect(UUIDName.uuids("Hart Rate").isEmpty && UUIDName.uuids("").isEmpty && UUIDName.uuids("18").isEmpty)
    #expect(UUIDName.nearestService(to: "Hart Rate") == "Heart Rate")
    #expect(UUIDName.nearestService(to: "something else") == nil)
  }

  /// A keyboard: two reports in one service, as in HID over GATT.
  private let services: [RemoteService] = [
    RemoteService(
      uuid: "1812", handles: 0x20...0x2F,
      characteristics: [
        RemoteCharacteristic(uuid: "2A4D", properties: [.read, .notify], handle: 0x22, descriptors: nil),
        RemoteCharacteristic(uuid: "2A4D", properties: [.read, .write], handle: 0x26, descriptors: nil),
      ]),
    RemoteService(
      uuid: "180F", handles: 0x30...0x3F,
      characteristics: [RemoteCharacteristic(uuid: "2A19", properties: .read, handle: 0x32, descriptors: nil)]),
  ]

  @Test func aHandleChoosesAmongCharacteristicsOfOneUUID() throws {
    #expect(try AdapterUse.choice("2A4D", service: nil, handle: 0x26, in: services).handle == 0x26)
    #expect(try AdapterUse.choice("Battery Level", service: nil, handle: nil, in: services).handle == 0x32)
    let error = #expect(throws: ToolError.self) {
      try AdapterUse.choice("Report", service: nil, handle: nil, in: services)
    }
    #expect(error?.status == 64)
    #expect(
      error?.description.hasPrefix(
        "the device has 2 characteristics 'Report'. Choose one of them by --handle or --service: 0x0022 (Human Interface Device; "
          + "read, notify), 0x0026 (Human Interface Device; read, write)") == true)
  }

  /// A handle alone could be that of another characteristic, after a change of the device.
  @Test func aHandleOfAnotherCharacteristicIsRejected() {
    let error = #expect(throws: ToolError.self) {
      try AdapterUse.choice("2A4D", service: nil, handle: 0x32, in: services)
    }
    #expect(error?.status == 68 && error?.description.contains("at handle 0x32, but at: 0x0022") == true)
    let missing = #expect(throws: ToolError.self) {
      try AdapterUse.choice("2A37", service: "Battery", handle: nil, in: services)
    }
    #expect(
      missing?.description
        == "the device has no characteristic '2A37' in the service 'Battery'. It has: Battery Level")
  }
}
