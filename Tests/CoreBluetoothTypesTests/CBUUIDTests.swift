import BLEWire
import BluetoothLE
import CoreFoundation
import Testing

@testable import CoreBluetoothTypes

/// Section 8 of CoreBluetooth's rules: UUIDs.
@Suite struct CBUUIDTests {
  @Test(
    "8.1, 8.3 Text is read in each form and printed in the short one",
    arguments: [
      ("180D", "180D", 2), ("0x180D", "180D", 2), ("180d", "180D", 2), ("0000180D", "180D", 4),
      ("12345678", "12345678", 4), ("0000180D-0000-1000-8000-00805F9B34FB", "180D", 16),
      ("e20a39f4-73f5-4bc4-a12f-17d1ad07a961", "E20A39F4-73F5-4BC4-A12F-17D1AD07A961", 16),
    ])
  func textIsReadAndPrinted(text: String, printed: String, octets: Int) {
    let uuid = CBUUID(string: text)
    #expect(uuid.uuidString == printed)
    #expect(uuid.data.count == octets)
  }

  @Test(
    "8.1 Other text is no UUID",
    arguments: ["", "18", "1800D", "E20A39F473F54BC4A12F17D1AD07A961", "180G", "180D-", "0x"])
  func otherTextIsNoUUID(text: String) {
    #expect(BluetoothUUID(text) == nil)
  }

  @Test func inputThatIsNoUUIDIsNil() {
    #expect(CBUUID(validating: "180D") == "180D" && CBUUID(validating: "180G") == nil)
    #expect(CBUUID(validating: Data([0x18, 0x0D])) == "180D" && CBUUID(validating: Data([1, 2, 3])) == nil)
  }

  /// As on Apple's systems a literal that is no UUID ends the program; the reason is on standard error.
  @Test("8.1 A malformed UUID in the source ends the program with a reason")
  func aMalformedLiteralEndsTheProgramWithASentence() async throws {
    let literal = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = CBUUID(string: "180G")
    }
    let data = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = CBUUID(data: Data([1, 2, 3]))
    }
    let text = String(decoding: try #require(literal).standardErrorContent, as: UTF8.self)
    #expect(text.contains("'180G' is not a UUID. Write 4 or 8 hexadecimal digits, or 36 characters with hyphens"))
    #expect(
      String(decoding: try #require(data).standardErrorContent, as: UTF8.self).contains("3 octets are not a UUID."))
  }

  @Test("8.2 Equality and hash use the 128-bit value")
  func equalityGoesByThe128BitValue() {
    let long = CBUUID(string: "00001234-0000-1000-8000-00805f9b34fb")
    #expect(CBUUID(string: "1234") == long)
    #expect(CBUUID(data: Data([0x12, 0x34])) == long)
    #expect(Set([CBUUID(string: "1234"), long]).count == 1)
  }

  @Test(
    "8.4 data is big-endian, in the size that the UUID was made with",
    arguments: [[0x18, 0x0D], [0x12, 0x34, 0x56, 0x78], Array(1...16)] as [[UInt8]])
  func dataIsBigEndianInTheSizeItWasMadeWith(octets: [UInt8]) {
    #expect(CBUUID(data: Data(octets)).data == Data(octets))
  }

  @Test func aSliceOfDataIsReadFromItsOwnStart() {
    #expect(CBUUID(data: Data([0xFF, 0x18, 0x0D]).dropFirst()).uuidString == "180D")
  }

  @Test func aFoundationUUIDKeepsItsOctets() throws {
    let text = "E20A39F4-73F5-4BC4-A12F-17D1AD07A961"
    let uuid = CBUUID(nsuuid: try #require(UUID(uuidString: text)))
    #expect(uuid.uuidString == text)
    #expect(uuid.data.count == 16 && uuid.data.first == 0xE2)
  }

  @Test func aCoreFoundationUUIDKeepsItsOctets() {
    let octets = (1...16).map(UInt8.init)
    let bytes = octets.withUnsafeBytes { $0.loadUnaligned(as: CFUUIDBytes.self) }
    let converter: any Converter = CoreFoundationConverter()
    #expect(converter.convert(CFUUIDCreateFromUUIDBytes(nil, bytes)).data == Data(octets))
  }

  @Test func aLiteralIsAUUID() {
    let uuid: CBUUID = "2A37"
    #expect(uuid == CBUUID(string: "2A37"))
    #expect(MutableCharacteristic(type: "2A37", properties: .read, value: nil, permissions: .readable).uuid == uuid)
  }

  @Test(arguments: ["180D", "12345678", "E20A39F4-73F5-4BC4-A12F-17D1AD07A961"] as [BluetoothUUID])
  func theValueOfTheWireIsKeptBothWays(uuid: BluetoothUUID) {
    #expect(BluetoothUUID(CBUUID(uuid)) == uuid && BluetoothUUID(CBUUID(uuid)).size == uuid.size)
  }

  @Test func objectsAreComparedAsNSObjectAsks() {
    let (short, long) = (CBUUID(string: "180D"), CBUUID(string: "0000180D-0000-1000-8000-00805F9B34FB"))
    #expect(short.isEqual(long) && short.hash == long.hash && short !== long)
    #expect(!short.isEqual(CBUUID(string: "180F")) && !short.isEqual("180D") && !short.isEqual(nil))
    #expect(short.copy() as? CBUUID === short)
    #expect(NSArray(array: [short]).contains(long))
    #expect("\(short)" == "180D" && CBUUID().data == Data(count: 16))
  }

  @Test func aSubclassIsAUUID() {
    final class Marked: CBUUID, @unchecked Sendable {}
    #expect(Marked(string: "180D") == CBUUID(string: "180D"))
  }

  @Test func wellKnownStringsAreUUIDs() {
    let strings = [
      UUIDCharacteristicExtendedPropertiesString, UUIDCharacteristicUserDescriptionString,
      UUIDClientCharacteristicConfigurationString, UUIDServerCharacteristicConfigurationString,
      UUIDCharacteristicFormatString, UUIDCharacteristicAggregateFormatString, UUIDCharacteristicValidRangeString,
      UUIDCharacteristicObservationScheduleString, UUIDL2CAPPSMCharacteristicString,
    ]
    #expect(strings.allSatisfy { BluetoothUUID($0)?.uuidString == $0 })
  }
}

/// Calls the deprecated initializer without a warning.
private protocol Converter { func convert(_ uuid: CFUUID) -> CBUUID }
private struct CoreFoundationConverter: Converter {
  @available(*, deprecated)
  func convert(_ uuid: CFUUID) -> CBUUID { CBUUID(cfuuid: uuid) }
}
