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

  /// IEEE 754: 1.5 is 0x3FC00000 and 0x3FF8000000000000.
  @Test func floatingPointNumbersAreLittleEndian() {
    #expect(Float(1.5).octets == [0x00, 0x00, 0xC0, 0x3F])
    #expect(Float(octets: [0x00, 0x00, 0xC0, 0x3F]) == 1.5)
    #expect(Double(1.5).octets == [0, 0, 0, 0, 0, 0, 0xF8, 0x3F])
    #expect(Double(octets: [0, 0, 0, 0, 0, 0, 0xF8, 0x3F]) == 1.5)
    #expect(Float(octets: Float.nan.octets)?.isNaN == true)
    #expect((-Double.infinity).octets == [0, 0, 0, 0, 0, 0, 0xF0, 0xFF])
  }

  @Test func anotherNumberOfOctetsIsNoFloatingPointNumber() {
    for count in 0...9 {
      let octets = [UInt8](repeating: 0, count: count)
      #expect((Float(octets: octets) != nil) == (count == 4))
      #expect((Double(octets: octets) != nil) == (count == 8))
    }
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
