import BLEWire
import Testing

@Suite("Packet buffer")
struct PacketBufferTests {
  @Test func keepsPacketsInOrder() {
    var buffer = PacketBuffer()
    buffer.append { $0 += [1, 2, 3] }
    buffer.append { _ in }
    buffer.append { $0 += [4] }
    #expect(buffer.count == 3)
    #expect(buffer[0] == [1, 2, 3])
    #expect(buffer[1].isEmpty)
    #expect(buffer[2] == [4])
    var lengths: [Int] = []
    buffer.forEach { lengths.append($0.count) }
    #expect(lengths == [3, 0, 1])
  }

  @Test func removesTheOctetsOfARejectedPacket() {
    var buffer = PacketBuffer()
    buffer.append { $0 += [1] }
    let kept = buffer.appendIf {
      $0 += [2, 2, 2]
      return false
    }
    #expect(!kept)
    #expect(buffer.octets == [1])
    #expect(buffer.count == 1)
  }

  @Test func removeAllRemovesAllPackets() {
    var buffer = PacketBuffer()
    buffer.append { $0 += [1] }
    buffer.removeAll()
    #expect(buffer.isEmpty)
    buffer.append { $0 += [9] }
    #expect(buffer[0] == [9])
  }
}

@Suite("Octets as text")
struct HexadecimalTests {
  @Test func readsHexadecimalDigits() {
    #expect([UInt8](hexadecimal: "0a 03 FF") == [0x0A, 0x03, 0xFF])
    #expect([UInt8](hexadecimal: "") == [])
  }
  @Test(arguments: ["0", "0g", "0a0", "0x0a"]) func rejectsOtherText(text: String) {
    #expect([UInt8](hexadecimal: text) == nil)
  }
  @Test func printsHexadecimalDigits() { #expect([UInt8]([0, 0x0F, 0xA0]).hexadecimal == "000fa0") }
  @Test func numberPastTheEndOfASpanIsNil() {
    let octets: [UInt8] = [0x34, 0x12, 0x56]
    #expect(octets.span.uint16(at: 0) == 0x1234)
    #expect(octets.span.uint16(at: 1) == 0x5612)
    #expect(octets.span.uint16(at: 2) == nil)
    #expect(octets.span.uint16(at: -1) == nil)
    #expect([UInt8](copying: octets.span) == octets)
  }
}
