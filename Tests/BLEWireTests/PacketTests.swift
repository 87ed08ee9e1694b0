import BLEWire
import TestSupport
import Testing

/// A packet with one field of every kind.
struct Everything: Packet {
  var code: UInt8 = 0
  var interval: UInt32 = 0
  var key: UInt128 = 0
  var address = BD_ADDR()
  var fixed: Bytes = [0, 0, 0]
  var counted: Bytes = []
  var padded: Bytes = []
  var groups: [Entry] = []
  var rest: Bytes = []

  struct Entry: FieldGroup {
    var handle: UInt16 = 0
    init() {}
    init(handle: UInt16) { self.handle = handle }
    mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) { try field.integer("Handle", &handle) }
  }

  mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.integer("Code", &code)
    try field.integer("Interval", octets: 3, &interval)
    try field.integer("Key", &key)
    try address.layout(&field)
    try field.octets("Fixed", count: 3, &fixed)
    try field.counted("Counted", &counted)
    try field.padded("Padded", size: 4, &padded)
    try field.counted("Groups", &groups)
    try field.rest("Rest", &rest)
  }
}

@Suite("Packets that are declared once")
struct PacketTests {
  let octets: [UInt8] = [
    0x07, 0x01, 0x02, 0x03, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x55, 0x44, 0x33, 0x22, 0x11, 0xC0,
    0xA, 0xB, 0xC, 2, 0xD, 0xE, 1, 0xF, 0, 0, 0, 2, 0x34, 0x12, 0x78, 0x56, 0x99,
  ]

  @Test func decodesEveryKindOfField() throws {
    let packet = try Everything(decoding: octets[...])
    #expect(packet.code == 7)
    #expect(packet.interval == 0x030201)
    #expect(packet.key == UInt128(1) | UInt128(0x80) << 120)
    #expect(packet.address.description == "C0:11:22:33:44:55")
    #expect(packet.fixed == [0xA, 0xB, 0xC])
    #expect(packet.counted == [0xD, 0xE])
    #expect(packet.padded == [0xF])
    #expect(packet.groups == [.init(handle: 0x1234), .init(handle: 0x5678)])
    #expect(packet.rest == [0x99])
  }

  @Test func encodesTheDecodedOctets() throws {
    #expect(try Everything(decoding: octets[...]).encoded == octets)
  }

  @Test(arguments: 0..<42) func rejectsTruncationBeforeTheOpenEnd(length: Int) {
    #expect(throws: CodecError.self) { try Everything(decoding: octets.prefix(length)) }
  }

  @Test func describesEachField() throws {
    let lines = try Everything(decoding: octets[...]).fieldLines
    #expect(lines.first == "0..<1  Code: 0x7")
    #expect(lines.last == "42..<43  Rest: 99")
  }

  @Test func randomPacketsAreDecodedAsEncoded() throws {
    var source = SplitMix64(seed: 1)
    for _ in 0..<200 {
      let packet = Everything.random(from: &source)
      #expect(try Everything(decoding: packet.encoded[...]) == packet)
    }
  }

  @Test func rejectsTrailingOctetsWithTheirNumber() {
    #expect(throws: CodecError.trailing(count: 2)) { try Fixed(decoding: [1, 2, 3]) }
    var bytes: Bytes = [1, 2, 3]
    #expect(throws: Never.self) { try Fixed(decodingPrefixOf: &bytes) }
    #expect(bytes == [2, 3])
  }

  @Test func rejectsPaddedCountAboveItsBlock() {
    var wrong = octets
    wrong[32] = 5
    #expect(throws: CodecError.invalid(field: "Padded")) { try Everything(decoding: wrong[...]) }
  }

  @Test func encoderCutsValuesLongerThanTheirField() {
    var packet = Everything()
    packet.counted = Bytes(repeating: 1, count: 300)
    packet.padded = Bytes(repeating: 2, count: 9)
    packet.groups = Array(repeating: .init(handle: 1), count: 300)
    let read = try? Everything(decoding: packet.encoded[...])
    #expect(read?.counted.count == 255)
    #expect(read?.padded.count == 4)
    #expect(read?.groups.count == 255)
  }

  struct Fixed: Packet {
    var only: UInt8 = 0
    mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) { try field.integer("Only", &only) }
  }
}
