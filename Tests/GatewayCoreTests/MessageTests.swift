import BLEGAP
import BLEWire
import Foundation
import GatewayCore
import Testing
import ToolCore

private let noon = Date(timeIntervalSince1970: 1_769_860_800)

struct MessageTests {
  @Test func aQuantityHasItsNumberAndUnit() {
    #expect(
      String(decoding: Messages.value([0x66, 0x08], of: "2A6E", at: noon), as: UTF8.self)
        == #"{"hex":"6608","time":"2026-01-31T12:00:00.000Z","unit":"°C","value":21.5}"#)
  }

  @Test func otherValuesAreOctetsAndText() {
    #expect(
      String(decoding: Messages.value(Array("on".utf8), of: "FFE1", at: noon), as: UTF8.self)
        == #"{"hex":"6f6e","text":"on","time":"2026-01-31T12:00:00.000Z"}"#)
    #expect(
      String(decoding: Messages.value([0, 255], of: "FFE1", at: noon), as: UTF8.self)
        == #"{"hex":"00ff","time":"2026-01-31T12:00:00.000Z"}"#)
  }

  /// The values are those of the GATT Specification Supplement; "not known" is no number.
  @Test(
    arguments: [
      ("2A19", [0x61], 97), ("2A6E", [0x30, 0xF8], -20), ("2A6E", [0x00, 0x80], nil), ("2A6F", [0x10, 0x27], 100),
      ("2A6F", [0xFF, 0xFF], nil), ("2A6D", [0xD0, 0x78, 0x0F, 0x00], 101_396.8), ("2A37", [0x00, 0x48], 72),
      ("2A37", [0x01, 0x2C, 0x01], 300), ("2A37", [0x01, 0x2C], nil), ("2A1C", [0x00, 0x6C, 0x01, 0x00, 0xFF], 36.4),
      ("2A1C", [0x01, 0xDA, 0x03, 0x00, 0xFF], 37), ("2A1C", [0x00, 0xFF, 0xFF, 0x7F, 0x00], nil),
      ("2A6E", [0x30], nil),
      ("2A1C", [0x00, 0xFE, 0xFF, 0x7F, 0x00], nil), ("2A78", [0x10, 0x27], 10_000), ("2A7B", [0xF6], -10),
      ("2A00", [0x41], nil), ("2A07", [0xFC], -4), ("2A07", [0xFC, 0], nil), ("2A8D", [0xB4], 180), ("2A8D", [], nil),
    ] as [(String, [UInt8], Double?)])
  func numbers(characteristic: String, octets: [UInt8], number: Double?) {
    let found = Quantity.of(BluetoothUUID(stringLiteral: characteristic))?.number(in: octets)
    #expect(found == number)
  }

  @Test func anAdvertisementHasWhatTheDeviceSends() throws {
    var contents = AdvertisedData()
    contents.localName = LocalName("Thermometer")
    contents.serviceUUIDLists = [AdvertisedUUIDList(["181A"], size: .uuid16, isComplete: true)]
    contents.manufacturerData = [ManufacturerData(company: CompanyIdentifier(rawValue: 0x4C), data: [2, 21])]
    let address = DeviceAddress(octets: BD_ADDR(0xC0_11_22_33_44_55), kind: .random)
    let entry = AdvertisementTable.Entry(address: address, contents: contents, rssi: -61, isConnectable: true)
    let payload = Messages.advertisement(entry, gateway: "kitchen", at: noon)
    let fields = try #require(JSONSerialization.jsonObject(with: payload) as? [String: Any])
    #expect(fields["name"] as? String == "Thermometer")
    #expect(fields["address"] as? String == "C0:11:22:33:44:55")
    #expect(fields["addressType"] as? String == "random")
    #expect(fields["rssi"] as? Int == -61)
    #expect(fields["manufacturerData"] as? [String: String] == ["004c": "0215"])
    #expect(fields["gateway"] as? String == "kitchen")
  }

  @Test func aNameHasNoPadding() throws {
    var contents = AdvertisedData()
    contents.localName = LocalName("Pad\0\0")
    let address = DeviceAddress(octets: BD_ADDR(0xC0_11_22_33_44_55), kind: .random)
    let entry = AdvertisementTable.Entry(address: address, contents: contents, rssi: -61, isConnectable: true)
    let payload = Messages.advertisement(entry, gateway: "kitchen", at: noon)
    let fields = try #require(JSONSerialization.jsonObject(with: payload) as? [String: Any])
    #expect(fields["name"] as? String == "Pad")
  }

  @Test(
    arguments: [
      ("2A29", "Maker\0\0", "Maker"), ("2A29", "Maker\0old", "Maker"), ("FFF1", "on\0", "on"), ("FFF1", "on\0off", nil),
      ("FFF1", "a\u{1B}", nil), ("FFF1", "", nil), ("2A29", "\0", nil),
    ] as [(String, String, String?)])
  func theTextOfAValueHasNoPadding(characteristic: String, value: String, text: String?) throws {
    let payload = Messages.value(Array(value.utf8), of: BluetoothUUID(stringLiteral: characteristic), at: noon)
    let fields = try #require(JSONSerialization.jsonObject(with: payload) as? [String: Any])
    #expect(fields["text"] as? String == text)
    #expect(fields["hex"] as? String == Array(value.utf8).hexadecimal)
  }

  @Test func aResultHasTheIdentifierOfItsRequest() throws {
    let request = try Request.read(Data(#"{"id":"7"}"#.utf8))
    #expect(
      String(decoding: Messages.result(of: request, .success([0x61]), uuid: "2A19", at: noon), as: UTF8.self)
        == #"{"hex":"61","id":"7","operation":"read","time":"2026-01-31T12:00:00.000Z","value":97}"#)
    let failure = GatewayError(.notFound, "no gateway receives it")
    #expect(
      String(decoding: Messages.result(of: request, .failure(failure), uuid: "2A19", at: noon), as: UTF8.self)
        == #"{"error":{"kind":"notFound","text":"no gateway receives it"},"id":"7","operation":"read","#
        + #""time":"2026-01-31T12:00:00.000Z"}"#)
  }
}

struct RequestTests {
  @Test(
    arguments: [
      ("01ff", [1, 255]), (#"{"hex":"01FF"}"#, [1, 255]), (#"{"text":"on"}"#, [0x6F, 0x6E]),
    ] as [(String, [UInt8])])
  func aWriteTakesOctetsOrText(payload: String, octets: [UInt8]) throws {
    #expect(try Request.write(Data(payload.utf8), of: "FFE1") == Request(kind: .write(octets, wantsResponse: nil)))
  }

  @Test func aWriteCanGoWithoutResponse() throws {
    let request = try Request.write(Data(#"{"hex":"01","response":false,"id":"x"}"#.utf8), of: "FFE1")
    #expect(request == Request(kind: .write([1], wantsResponse: false), id: "x"))
  }

  /// Removing a retained request publishes an empty payload.
  @Test func anEmptyPayloadIsNoWrite() throws {
    let error = try #require(throws: GatewayError.self) { try Request.write(Data(), of: "FFE1") }
    #expect(error.kind == .request && error.text.hasPrefix("the payload is empty"))
    #expect(try Request.write(Data(#"{"hex":""}"#.utf8), of: "FFE1") == Request(kind: .write([], wantsResponse: nil)))
  }

  @Test(arguments: [
    "0", "zz", "+1-1", "{", "{}", #"{"hex":"01","text":"a"}"#, #"{"hex":7}"#, "é", #"{"hex":"01","value":1}"#,
  ])
  func rejectsMalformedWrites(payload: String) {
    #expect(throws: GatewayError.self) { try Request.write(Data(payload.utf8), of: "FFE1") }
  }

  /// The values are those of the GATT Specification Supplement.
  @Test(
    arguments: [
      ("2A6E", "21.5", [0x66, 0x08]), ("2A6E", "-0.2", [0xEC, 0xFF]), ("2A6E", "327.67", [0xFF, 0x7F]),
      ("2A6E", "-273.15", [0x4D, 0x95]), ("2A6F", "100", [0x10, 0x27]), ("2A6D", "101396.8", [0xD0, 0x78, 0x0F, 0]),
      ("2A76", "7", [7]), ("2A6E", "21.504", [0x66, 0x08]),
    ] as [(BluetoothUUID, String, [UInt8])])
  func aNumberIsWrittenInTheFormatOfItsCharacteristic(uuid: BluetoothUUID, number: String, octets: [UInt8]) throws {
    let request = try Request.write(Data("{\"value\":\(number)}".utf8), of: uuid)
    #expect(request == Request(kind: .write(octets, wantsResponse: nil)))
  }

  @Test(
    arguments: [
      ("2A6E", "327.68", "327.68 is not a number from -273.15 to 327.67 that the characteristic can have"),
      ("2A6E", "-273.16", "-273.16 is not a number from -273.15 to 327.67 that the characteristic can have"),
      ("2A6F", "1e300", "1e+300 is not a number from 0.0 to 100.0 that the characteristic can have"),
      ("FFE1", "1", "characteristic FFE1 has no number that is known here. Use 'hex'"),
    ] as [(BluetoothUUID, String, String)])
  func aNumberThatTheCharacteristicCannotHaveIsRejected(uuid: BluetoothUUID, number: String, reason: String) throws {
    let error = try #require(throws: GatewayError.self) {
      try Request.write(Data("{\"value\":\(number)}".utf8), of: uuid)
    }
    #expect(error == GatewayError(.request, reason))
  }

  @Test(
    arguments: [
      (
        "2A6E", "23",
        #"'23' is 1 octet, and Temperature has 2 octets. For a number publish {"value":23}. For octets of any length "#
          + #"publish {"hex":"23"}"#
      ),
      (
        "2A6E", "236608",
        #"'236608' is 3 octets, and Temperature has 2 octets. For octets of any length publish {"hex":"236608"}"#
      ),
      ("2A6E", "23.5", #"'23.5' is not an even number of hexadecimal digits. For a number publish {"value":23.5}"#),
      (
        "2A6E", #"{"value":"23.5 °C"}"#,
        #"'value' takes a number without a unit and without quotation marks, such as {"value":21.5}"#
      ),
      (
        "2A19", #"{"value":"19"}"#,
        #"'value' takes a number without a unit and without quotation marks, such as {"value":21.5}"#
      ),
      ("FFE1", #"{"text":7}"#, #"'text' takes text in quotation marks, such as {"text":"on"}"#),
      (
        "FFE1", #"{"hex":[1]}"#, #"'hex' takes pairs of hexadecimal digits in quotation marks, such as {"hex":"01ff"}"#
      ),
      ("FFE1", #"{"hex":"01","response":"no"}"#, "'response' takes true or false"),
      ("FFE1", #"{"hex":"01","id":7}"#, #"'id' takes text in quotation marks, such as {"id":"on"}"#),
      ("FFE1", "{value:7}", #"the payload is not a JSON object such as {"id":"7"}"#),
    ] as [(BluetoothUUID, String, String)])
  func aRejectedWriteSaysWhatWasMeant(uuid: BluetoothUUID, payload: String, reason: String) throws {
    let error = try #require(throws: GatewayError.self) { try Request.write(Data(payload.utf8), of: uuid) }
    #expect(error == GatewayError(.request, reason))
  }

  @Test func octetsOfAnotherLengthAreWrittenIfTheyAreNamedSo() throws {
    let request = try Request.write(Data(#"{"hex":"23"}"#.utf8), of: "2A6E")
    #expect(request == Request(kind: .write([0x23], wantsResponse: nil)))
    #expect(try Request.write(Data("6608".utf8), of: "2A6E").kind == .write([0x66, 0x08], wantsResponse: nil))
  }

  @Test func rejectsAValueThatIsLongerThanAnyAttribute() throws {
    let longest = String(repeating: "00", count: 512)
    #expect(
      try Request.write(Data(longest.utf8), of: "FFE1").kind
        == .write([UInt8](repeating: 0, count: 512), wantsResponse: nil))
    #expect(throws: GatewayError.self) { try Request.write(Data((longest + "00").utf8), of: "FFE1") }
    let text = #"{"text":""# + String(repeating: "a", count: 513) + #""}"#
    #expect(throws: GatewayError.self) { try Request.write(Data(text.utf8), of: "FFE1") }
  }

  @Test func rejectsAnIdentifierOfMoreThan64Octets() throws {
    #expect(throws: GatewayError.self) {
      try Request.read(Data((#"{"id":""# + String(repeating: "a", count: 65) + #""}"#).utf8))
    }
  }
}

struct TopicTests {
  @Test(arguments: [
    ("C0:11:22:33:44:55", DeviceAddress.Kind.public, "C0:11:22:33:44:55"),
    ("c0:11:22:33:44:55-public", .public, "C0:11:22:33:44:55"),
    ("C0:11:22:33:44:55 (public)", .public, "C0:11:22:33:44:55"),
    ("C0:11:22:33:44:55-random", .random, "C0:11:22:33:44:55-random"),
    ("C0:11:22:33:44:55 (random)", .random, "C0:11:22:33:44:55-random"),
  ]) func anAddressHasItsKind(text: String, kind: DeviceAddress.Kind, level: String) {
    let address = DeviceAddress(octets: BD_ADDR(0xC0_11_22_33_44_55), kind: kind)
    #expect(DeviceAddress(topicLevel: text) == address)
    #expect(address.topicLevel == level)
  }

  private let topics = Topics(prefix: "home/ble", gateway: "kitchen")
  private let attribute = AttributeName(
    address: DeviceAddress(octets: BD_ADDR(0xC0_11_22_33_44_55), kind: .random), service: "181A", characteristic: "2A6E"
  )

  @Test func topicsAreReadAsTheyAreWritten() {
    #expect(topics.parse(topics.status) == .status(gateway: "kitchen"))
    #expect(topics.parse(topics.info) == .info && topics.subscriptions.first == topics.info)
    #expect(topics.parse(topics.claim(attribute.address)) == .claim(attribute.address, gateway: "kitchen"))
    let path = "home/ble/devices/C0:11:22:33:44:55-random/181A/2A6E"
    #expect(topics.value(attribute) == "\(path)/value")
    #expect(topics.parse("\(path)/read") == .read(attribute))
    #expect(topics.parse("\(path)/write") == .write(attribute))
  }

  @Test(arguments: [
    ("180F/2A19", 1, 1), ("180F-2/2A19", 2, 1), ("180F/2A19-3", 1, 3), ("180F-12/2A19-65535", 12, 65535),
  ]) func aCharacteristicHasItsNumber(path: String, service: Int, characteristic: Int) {
    let name = AttributeName(
      address: attribute.address, service: "180F", serviceNumber: service, characteristic: "2A19",
      characteristicNumber: characteristic)
    #expect(name.path == path)
    #expect(topics.parse("home/ble/devices/C0:11:22:33:44:55-random/\(path)/read") == .read(name))
  }

  /// The hyphens of a UUID of 128 bits are no separators.
  @Test func aLongUUIDHasItsNumber() {
    let uuid: BluetoothUUID = "12345678-1234-5678-1234-56789ABCDEF0"
    for (path, number) in [("FFE0/\(uuid.uuidString)", 1), ("FFE0/\(uuid.uuidString)-2", 2)] {
      let name = AttributeName(
        address: attribute.address, service: "FFE0", characteristic: uuid, characteristicNumber: number)
      #expect(name.path == path)
      #expect(topics.parse("home/ble/devices/C0:11:22:33:44:55-random/\(path)/write") == .write(name))
    }
  }

  @Test(arguments: ["180F-1", "180F-0", "180F-02", "180F-+2", "180F-65536", "180F-", "-2", "180F-2-2"])
  func aNumberHasOneForm(level: String) {
    #expect(topics.parse("home/ble/devices/C0:11:22:33:44:55-random/\(level)/2A19/read") == nil)
    #expect(topics.parse("home/ble/devices/C0:11:22:33:44:55-random/180F/\(level)/read") == nil)
  }

  @Test(arguments: [
    "", "home/ble", "home/ble/gateways/attic/info", "home/ble/devices/C0:11:22:33:44:55/181A/2A6E/value",
    "home/ble/devices/nobody/181A/2A6E/read",
    "home/ble/devices/C0:11:22:33:44:55/18/2A6E/read", "home/blue/gateways/a/status", "home/ble/claims/x/a",
    "home/ble/claims/C0:11:22:33:44:55-other/a",
    "home/ble/claims/C0:11:22:33:44:55/" + String(repeating: "a", count: 65),
    "home/ble/gateways/" + String(repeating: "a", count: 65) + "/status", "home/ble/gateways//status",
  ])
  func otherTopicsAreIgnored(topic: String) { #expect(topics.parse(topic) == nil) }

  @Test(
    arguments: [
      (
        "nobody/181A/2A6E/read",
        "'nobody' is not an address such as F0:F1:F2:F3:F4:F5 (public) or F0:F1:F2:F3:F4:F5-random"
      ),
      ("C0:11:22:33:44:55/181A/Temperature/write", "'Temperature' is not the UUID of a characteristic: write 2A6E"),
      ("C0:11:22:33:44:55/Battery/2A19/write", "'Battery' is not the UUID of a service: write 180F"),
      ("C0:11:22:33:44:55/181A/2A6E-1/read", "'2A6E-1' is not the UUID of a characteristic such as 2A6E"),
      ("C0:11:22:33:44:55/181A/2A6E/read", nil), ("C0:11:22:33:44:55/181A/Temperature/value", nil),
      ("nobody/read", nil),
    ] as [(String, String?)])
  func aMalformedTopicOfARequestHasAReason(topic: String, reason: String?) {
    #expect(topics.fault(of: "home/ble/devices/\(topic)") == reason)
    #expect(topics.fault(of: "other/ble/devices/\(topic)") == nil)
  }

  @Test(arguments: ["", "a/b", "a+", "#", "a\0b"])
  func rejectsNamesThatAreNoLevel(name: String) { #expect(!Topics.isLevel(name)) }
}

struct AdvertisementTableTests {
  private func entry(_ number: UInt64, rssi: Int = -50, name: String? = nil) -> AdvertisementTable.Entry {
    var contents = AdvertisedData()
    contents.localName = name.map { LocalName($0) }
    return AdvertisementTable.Entry(
      address: DeviceAddress(octets: BD_ADDR(number), kind: .random), contents: contents, rssi: rssi,
      isConnectable: true)
  }

  @Test func theLatestOfAnIntervalIsPublished() {
    var table = AdvertisementTable(interval: .seconds(10))
    for rssi in [-70, -60, -50] { table.add(entry(1, rssi: rssi), now: .zero) }
    func published(_ second: Int) -> [Int?] { table.due(now: .seconds(second)) { _ in true }.map(\.rssi) }
    #expect(published(1) == [-50])
    #expect(table.coalesced == 2)
    table.add(entry(1, rssi: -40), now: .seconds(2))
    #expect(published(10) == [])
    #expect(published(11) == [-40])
    #expect(published(30) == [])
  }

  @Test func devicesOfOtherGatewaysAreNotPublished() {
    var table = AdvertisementTable(interval: .seconds(10))
    table.add(entry(1), now: .zero)
    table.add(entry(2), now: .zero)
    let published = table.due(now: .seconds(1)) { $0.octets == BD_ADDR(2) }
    #expect(published.map(\.address.octets) == [BD_ADDR(2)])
  }

  @Test func aNameOfTheScanResponseIsKept() {
    var table = AdvertisementTable(interval: .seconds(10))
    table.add(entry(1, name: "Thermometer"), now: .zero)
    table.add(entry(1), now: .seconds(1))
    #expect(table[DeviceAddress(octets: BD_ADDR(1), kind: .random)]?.contents.localName?.text == "Thermometer")
  }

  @Test func theNumberOfDevicesIsLimited() {
    var table = AdvertisementTable(interval: .seconds(10))
    for number in 0...UInt64(AdvertisementTable.limit) {
      table.add(entry(number), now: .milliseconds(Int(number)))
    }
    #expect(table.count == AdvertisementTable.limit)
    #expect(table[DeviceAddress(octets: BD_ADDR(0), kind: .random)] == nil)
  }
}
