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
    #expect(UUIDName.nearestName(to: "Hart Rate", of: .service) == "Heart Rate")
    #expect(UUIDName.nearestName(to: "something else", of: .service) == nil)
    #expect(UUIDName.nearestName(to: "Batery Level", of: .characteristic) == "Battery Level")
  }

  /// One name of a service and of a characteristic, and one of several services.
  @Test func aNameIsThatOfItsKind() throws {
    #expect(try UUIDName.uuid("current time", of: .service) == "1805")
    #expect(try UUIDName.uuid("Current Time", of: .characteristic) == "2A2B")
    #expect(try UUIDName.uuid("Nordic UART RX", of: .characteristic) == "6E400002-B5A3-F393-E0A9-E50E24DCCA9E")
    #expect(try UUIDName.uuid("FFF1", of: .characteristic) == "FFF1")
    let several = #expect(throws: UUIDName.Failure.self) { try UUIDName.uuid("Tile, Inc.", of: .service) }
    #expect(several?.description == "'Tile, Inc.' is the name of FD84, FEEC, FEED. Use one of the UUIDs")
    let none = #expect(throws: UUIDName.Failure.self) { try UUIDName.uuid("Batery Level", of: .characteristic) }
    #expect(none?.description.contains("nor the name of a characteristic. Did you mean 'Battery Level'?") == true)
    #expect(throws: UUIDName.Failure.self) { try UUIDName.uuid("Battery Level", of: .service) }
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
      error?.description
        == "the device has 2 characteristics 'Report'. Choose one of them by its handle: --handle 0x0022 (Human "
        + "Interface Device; read, notify), --handle 0x0026 (Human Interface Device; read, write)")
    let described = #expect(throws: ToolError.self) {
      try AdapterUse.choice("Report", service: nil, handle: nil, in: services, [0x22: "Keys", 0x26: "Lamps"])
    }
    #expect(
      described?.description
        == "the device has 2 characteristics 'Report'. Name one of them by its description: 'Keys' (0x0022; Human "
        + "Interface Device; read, notify), 'Lamps' (0x0026; Human Interface Device; read, write)")
  }

  /// Characteristics of one type, in services that are alike or different, with descriptions that are alike, different,
  /// absent or cannot be typed.
  @Test(
    arguments: [
      ["1812", "1812"], ["1812", "180F"], ["180F", "180F", "1812"], ["FD84", "FEEC"],
      ["6E400001-B5A3-F393-E0A9-E50E24DCCA9E", "12345678-1234-1234-1234-123456789ABC"],
    ],
    [
      [], ["Door", "Window", "Roof"], ["Door", "door", "Roof"], ["Door"], ["Battery Level", "Window"],
      ["FFF1", "2A4D", "x"],
      ["it's", "Win\u{7}dow", "-x"], [String(repeating: "a", count: 65), "Tür mit Glas", "a b"], ["Other", "Window"],
    ])
  func theRemedyChoosesExactlyOneCharacteristic(types: [String], texts: [String]) throws {
    for isNested in [false, true] {
      // One service for each characteristic, or one for all in a row of one type.
      var services: [RemoteService] = []
      var descriptions: [UInt16: String] = [:]
      for (index, type) in types.enumerated() {
        let handle = AttributeHandle(rawValue: UInt16(0x12 + 0x10 * index))
        let characteristic = RemoteCharacteristic(uuid: "2A4D", properties: .read, handle: handle, descriptors: nil)
        if index < texts.count { descriptions[handle.rawValue] = texts[index] }
        let uuid = try #require(BluetoothUUID(type))
        if isNested, let last = services.last, last.uuid == uuid {
          services[services.count - 1] = RemoteService(
            uuid: uuid, handles: 1...handle, characteristics: last.characteristics + [characteristic])
        } else {
          services.append(RemoteService(uuid: uuid, handles: 1...handle, characteristics: [characteristic]))
        }
      }
      let other = RemoteCharacteristic(uuid: "2A19", properties: .read, handle: 0x82, descriptors: nil)
      services.append(RemoteService(uuid: "180A", handles: 0x80...0x8F, characteristics: [other]))
      descriptions[0x82] = "Other"
      let error = #expect(throws: ToolError.self) {
        try AdapterUse.choice("2A4D", service: nil, handle: nil, in: services, descriptions)
      }
      let text = try #require(error).description
      #expect(!text.contains("\n"))
      let list = try #require(text.firstRange(of: ": "))
      let entries = text[list.upperBound...].split(separator: "), ").map { $0.prefix { $0 != "(" } }
      #expect(entries.count == types.count)
      var chosen: [UInt16] = []
      for entry in entries {
        let words = try ShellLine.words(String(entry))
        let hasName = !words[0].hasPrefix("--")
        let line = try ParsedArguments(ValueCommands.read, ["Lamp"] + (hasName ? [] : ["2A4D"]) + words)
        let name = try #require(line.operand(1))
        let searched = services.filter { service in
          line.value("service").map { UUIDName.matches($0, service.uuid) } ?? true
        }
        // As the command does: descriptions are read where the text cannot be a name.
        let known = AdapterUse.isDescription(name, in: searched) ? descriptions : [:]
        let found = try AdapterUse.choice(
          name, service: line.value("service"), handle: try line.handle("handle"), in: services, known)
        chosen.append(found.handle.rawValue)
      }
      // In the order of the handles, each once.
      let handles = types.indices.map { UInt16(0x12 + 0x10 * $0) }
      #expect(chosen == handles)
      if Set(types).count == types.count {
        #expect(entries.allSatisfy { $0.hasPrefix("--service ") })
      } else {
        #expect(!text.contains("--service"))
      }
    }
  }

  /// What the device says about its characteristics is of use where no UUID and no name is meant.
  @Test func aDescriptionNamesACharacteristic() throws {
    let descriptions: [UInt16: String] = [0x22: "Window", 0x26: "Door", 0x32: "door"]
    #expect(try AdapterUse.choice("window", service: nil, handle: nil, in: services, descriptions).handle == 0x22)
    #expect(try AdapterUse.choice("Door", service: "Battery", handle: nil, in: services, descriptions).handle == 0x32)
    #expect(try AdapterUse.choice("Door", service: nil, handle: 0x26, in: services, descriptions).handle == 0x26)
    // A name is not a description.
    #expect(
      try AdapterUse.choice("Battery Level", service: nil, handle: nil, in: services, [0x22: "battery level"]).handle
        == 0x32)
    let several = #expect(throws: ToolError.self) {
      try AdapterUse.choice("Door", service: nil, handle: nil, in: services, descriptions)
    }
    #expect(several?.status == 64 && several?.description.contains("0x0026") == true)
    let none = #expect(throws: ToolError.self) {
      try AdapterUse.choice("Roof", service: nil, handle: nil, in: services, [0x22: "Win\u{7}dow"])
    }
    #expect(
      none?.description
        == "the device has no characteristic 'Roof'. There are: Report 'Win\\u{7}dow', Report, Battery Level")
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
        == "the device has no characteristic '2A37' in the service 'Battery'. There are: Battery Level")
    let service = #expect(throws: ToolError.self) {
      try AdapterUse.choice("2A37", service: "Heart Rate", handle: nil, in: services)
    }
    #expect(
      service?.description == "the device has no service 'Heart Rate'. There are: Human Interface Device, Battery")
    #expect(service?.status == 68)
    let empty = #expect(throws: ToolError.self) { try AdapterUse.choice("2A37", service: nil, handle: nil, in: []) }
    #expect(empty?.description == "the device has no characteristic '2A37'. There are no characteristics")
  }
}
