import BLEKit
import Testing

/// Values of Swift's types as octets.
@Suite struct GATTValueTests {
  @Test(arguments: [(UInt16(0x1234), [0x34, 0x12]), (0, [0, 0]), (.max, [0xFF, 0xFF])] as [(UInt16, [UInt8])])
  func integersAreLittleEndian(_ value: UInt16, _ octets: [UInt8]) {
    #expect(value.octets == octets)
    #expect(UInt16(octets: octets) == value)
  }

  @Test func negativeIntegersAreInTwosComplement() {
    #expect(Int16(-2).octets == [0xFE, 0xFF])
    #expect(Int16(octets: [0xFE, 0xFF]) == -2)
    #expect(Int8(octets: [0x80]) == .min)
    #expect(Int64.min.octets == [0, 0, 0, 0, 0, 0, 0, 0x80])
    #expect(Int64(octets: Int64.min.octets) == .min)
  }

  @Test func anotherNumberOfOctetsIsNoInteger() {
    #expect(UInt8(octets: []) == nil)
    #expect(UInt8(octets: [1, 2]) == nil)
    #expect(UInt32(octets: [1, 2, 3]) == nil)
  }

  @Test func textIsUTF8() {
    #expect("Käse".octets == [0x4B, 0xC3, 0xA4, 0x73, 0x65])
    #expect(String(octets: [0x4B, 0xC3, 0xA4]) == "Kä")
    #expect(String(octets: [0xC3]) == nil)
  }

  /// White space and line ends at the end are data: a program may read lines in parts.
  @Test(arguments: [
    ("on\0", "on"), ("on\0\0\0", "on"), ("on\0off", "on"), ("\0", ""), ("", ""), ("on \r\n", "on \r\n"),
  ])
  func textEndsBeforeTheFirstNUL(_ octets: String, _ text: String) {
    #expect(String(octets: Array(octets.utf8)) == text)
    #expect(String(octets: Array(octets.utf8) + [0, 0xFF]) == text)
  }

  @Test func aTruthIsOneOctet() {
    #expect(Bool(octets: [1]) == true && Bool(octets: [0]) == false)
    #expect(Bool(octets: [2]) == nil && Bool(octets: []) == nil)
    #expect(true.octets == [1])
  }
}
