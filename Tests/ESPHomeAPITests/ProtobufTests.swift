import BLEWire
import Testing

@testable import ESPHomeAPI

/// The wire format: what a sender may write in another way than ours, and what no sender may write.
struct ProtobufTests {
  private func decoded<Message: ProtobufMessage>(_ text: String, as _: Message.Type) throws -> Message {
    try Message(decoding: try #require([UInt8](hexadecimal: text))[...])
  }

  @Test func acceptsFieldsInAnyOrderAndTheLastOfEqualOnes() throws {
    let expected = BluetoothGATTNotifyDataResponse(address: 5, handle: 7, data: [0xAB])
    for text in ["1a 01 ab 10 07 08 05", "10 01 08 01 10 07 1a 00 08 05 1a 01 ab", "08 05 1a 01 ab 10 07"] {
      #expect(try decoded(text, as: BluetoothGATTNotifyDataResponse.self) == expected)
    }
  }

  @Test func acceptsListsThatAreNotPacked() throws {
    let expected = BluetoothConnectionsFreeResponse(free: 1, limit: 0, allocated: [1, 300, 2])
    for text in ["08 01 1a 04 01 ac 02 02", "08 01 18 01 18 ac 02 18 02", "1a 03 01 ac 02 08 01 18 02"] {
      #expect(try decoded(text, as: BluetoothConnectionsFreeResponse.self) == expected)
    }
  }

  @Test func skipsUnknownFieldsAndOtherWireTypes() throws {
    // Fields 100 of each wire type; field 1 as a string, field 2 as four octets.
    let text = "a0 06 01 a1 06 0102030405060708 a2 06 02 aabb a5 06 01020304 0a 01 05 15 01020304 10 09"
    #expect(try decoded(text, as: BluetoothGATTReadRequest.self).handle == 9)
    #expect(try decoded(text, as: BluetoothGATTReadRequest.self).address == 0)
  }

  @Test func keepsTheLowest32BitsOfANumber() throws {
    #expect(try decoded("10 ff ff ff ff ff ff ff ff ff 01", as: BluetoothGATTReadRequest.self).handle == .max)
    #expect(try decoded("20 81 80 80 80 10", as: BluetoothDeviceConnectionResponse.self).error == 1)
  }

  @Test(arguments: [
    ("08", ProtobufError.truncated), ("08 80", .truncated), ("80", .truncated), ("1a 05 01", .truncated),
    ("1a ff ff ff ff ff ff ff ff ff 01 00", .truncated), ("15 00 00", .truncated),
    ("08 80 80 80 80 80 80 80 80 80 02", .numberTooLong), ("08 ff ff ff ff ff ff ff ff ff ff 01", .numberTooLong),
    ("00 01", .invalidTag(0)), ("0b", .invalidTag(0x0B)), ("0c", .invalidTag(0x0C)), ("0e 00", .invalidTag(0x0E)),
    ("80 80 80 80 10 00", .invalidTag(1 << 32)),
  ])
  func rejectsOctetsThatAreNoMessage(text: String, error: ProtobufError) throws {
    let octets = try #require([UInt8](hexadecimal: text))
    #expect(throws: error) { try BluetoothGATTReadResponse(decoding: octets[...]) }
  }

  @Test func rejectsTextThatIsNotUTF8() {
    #expect(throws: ProtobufError.invalidText(field: 1)) { try HelloRequest(decoding: [0x0A, 0x02, 0xC3, 0x28]) }
  }

  @Test func rejectsAListThatEndsInsideANumber() {
    #expect(throws: ProtobufError.truncated) {
      try BluetoothConnectionsFreeResponse(decoding: [0x1A, 0x02, 0x01, 0x80])
    }
  }

  /// The length of a nested message has one octet below 128 and two above.
  @Test(arguments: [100, 117, 118, 119, 120, 1650, 17_000]) func encodesNestedMessagesOfAnyLength(count: Int) throws {
    let advertisement = BluetoothLERawAdvertisement(
      address: 0x1122_3344_5566, rssi: -60, addressType: 1, data: Bytes(repeating: 1, count: count))
    let message = BluetoothLERawAdvertisementsResponse([advertisement, advertisement])
    #expect(try BluetoothLERawAdvertisementsResponse(decoding: message.encoded[...]) == message)
  }

  @Test func writesShortUUIDsForClientsThatReadThem() {
    let battery = BluetoothUUID(0x180F)
    #expect(GATTUUID(battery, for: APIVersion(1, 12)).short == 0x180F)
    #expect(GATTUUID(battery, for: APIVersion(1, 12)).halves.isEmpty)
    #expect(GATTUUID(battery, for: APIVersion(1, 11)).halves == [0x0000_180F_0000_1000, 0x8000_0080_5F9B_34FB])
    let uart: BluetoothUUID = "6E400001-B5A3-F393-E0A9-E50E24DCCA9E"
    #expect(GATTUUID(uart, for: .latest).halves == [0x6E40_0001_B5A3_F393, 0xE0A9_E50E_24DC_CA9E])
    #expect(GATTUUID(uart, for: .latest).short == 0)
    // Zero would be no UUID at all.
    #expect(GATTUUID(BluetoothUUID(0x0000), for: .latest).halves.count == 2)
  }
}
