import BLEWire
import TestSupport
import Testing

/// Fields with a length from another field: groups of a given size, all but the last octets, UUIDs.
@Suite("Fields with a length from another field")
struct SizedFieldsTests {
  struct Entry: FieldGroup {
    var number: UInt8 = 0
    var value: Bytes = []

    init() {}

    init(_ number: UInt8, _ value: Bytes) {
      self.number = number
      self.value = value
    }

    mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Number", &number)
      try field.rest("Value", &value)
    }
  }

  /// One octet has the length of each entry; there are two or more.
  struct List: Packet {
    var entries: [Entry] = []

    mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      var length = UInt8(clamping: 1 + (entries.first?.value.count ?? 0))
      try field.integer("Length", &length)
      try field.rest("Entries", atLeast: 2, each: Int(length), &entries)
    }
  }

  struct Trailer: Packet {
    var value: Bytes = []
    var check: UInt16 = 0

    mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.rest("Value", leaving: 2, &value)
      try field.integer("Check", &check)
    }
  }

  struct Named: Packet {
    var long: BluetoothUUID = "E20A39F4-73F5-4BC4-A12F-17D1AD07A961"
    var name = BluetoothUUID(0)

    mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.uuid("Long", size: .uuid128, &long)
      try field.rest("Name", &name)
    }
  }

  @Test func decodesGroupsOfAGivenSize() throws {
    let octets: Bytes = [3, 1, 0xA0, 0xA1, 2, 0xB0, 0xB1]
    let list = try List(decoding: octets)
    #expect(list.entries == [Entry(1, [0xA0, 0xA1]), Entry(2, [0xB0, 0xB1])])
    #expect(list.encoded == Array(octets))
    for count in octets.indices {
      #expect(throws: CodecError.self) { try List(decoding: octets.prefix(count)) }
    }
    #expect(throws: CodecError.truncated(field: "Entries")) { try List(decoding: octets + [3]) }
    #expect(throws: CodecError.self) { try List(decoding: [0, 1, 2]) }
  }

  @Test func decodesAllButTheLastOctets() throws {
    #expect(try Trailer(decoding: [1, 2, 3, 4, 5]) == Trailer(value: [1, 2, 3], check: 0x0504))
    #expect(try Trailer(decoding: [4, 5]) == Trailer(value: [], check: 0x0504))
    #expect(throws: CodecError.truncated(field: "Value")) { try Trailer(decoding: [4]) }
  }

  @Test func decodesUUIDInTheRemainingOctets() throws {
    let named = Named(name: "180D")
    #expect(try Named(decoding: named.encoded[...]) == named)
    #expect(try Named(decoding: Named(name: named.long).encoded[...]).name.size == .uuid128)
    #expect(throws: CodecError.truncated(field: "Name")) { try Named(decoding: named.encoded.dropLast()) }
    #expect(throws: CodecError.invalid(field: "Name")) { try Named(decoding: (named.encoded + [0])[...]) }
    #expect(throws: CodecError.truncated(field: "Long")) { try Named(decoding: [1, 2, 3]) }
  }

  @Test(arguments: 0..<50 as Range<UInt64>)
  func randomPacketsAreDecodedAsEncoded(seed: UInt64) throws {
    var source = SplitMix64(seed: seed)
    let list = List.random(from: &source)
    #expect(list.entries.count >= 2)
    #expect(try List(decoding: list.encoded[...]) == list)
    let trailer = Trailer.random(from: &source)
    #expect(try Trailer(decoding: trailer.encoded[...]) == trailer)
    let named = Named.random(from: &source)
    #expect(try Named(decoding: named.encoded[...]) == named)
    #expect(named.fieldLines.count == 2 && trailer.fieldLines.count == 2)
  }

  @Test func overwriteStaysInBounds() {
    var octets: [UInt8] = [0, 1, 2, 3, 4]
    octets.overwrite(at: 1, copying: [8, 9].span)
    #expect(octets == [0, 8, 9, 3, 4])
    octets.overwrite(at: 4, copying: [5, 6, 7].span)
    #expect(octets == [0, 8, 9, 3, 5])
    octets.overwrite(at: 5, copying: [1].span)
    octets.overwrite(at: 6, copying: [1].span)
    octets.overwrite(at: -1, copying: [1].span)
    #expect(octets == [0, 8, 9, 3, 5])
  }
}
