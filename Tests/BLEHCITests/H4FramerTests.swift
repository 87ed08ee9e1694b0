import BLEHCI
import BLEWire
import TestSupport
import Testing

/// Finding packets in a stream (Vol 4, Part A, 2).
@Suite struct H4FramerTests {
  /// One packet of every kind, and both kinds of length fields with zero.
  static let packets: [[UInt8]] = [
    [0x01, 0x03, 0x0C, 0x00],
    [0x04, 0x0E, 0x04, 0x01, 0x03, 0x0C, 0x00],
    [0x02, 0x40, 0x20, 0x07, 0x00, 0x03, 0x00, 0x04, 0x00, 0x0A, 0x03, 0x00],
    [0x05, 0x60, 0x00, 0x02, 0xC0, 0xAA, 0xBB],
    [0x03, 0x01, 0x00, 0x01, 0xFF],
    [0x02, 0x40, 0x00, 0x00, 0x00],
  ]

  func framed(_ pieces: [ArraySlice<UInt8>], limit: Int = H4Framer.longestPacket) throws -> [[UInt8]] {
    var framer = H4Framer(limit: limit)
    var found: [[UInt8]] = []
    for piece in pieces {
      try framer.receive(Array(piece).span) { found.append([UInt8](copying: $0)) }
    }
    try framer.finish()
    return found
  }

  @Test func `parts of every size give the same packets`() throws {
    let stream = Self.packets.flatMap { $0 }
    for size in 1...stream.count {
      let pieces = stride(from: 0, to: stream.count, by: size).map { stream[$0..<min($0 + size, stream.count)] }
      #expect(try framed(pieces) == Self.packets, "in pieces of \(size)")
    }
    for cut in 0...stream.count { #expect(try framed([stream[..<cut], stream[cut...]]) == Self.packets) }
  }

  @Test func `a packet that is complete in the input is not copied`() throws {
    let stream = Self.packets[0] + Self.packets[1] + Array(Self.packets[2].prefix(6))
    var framer = H4Framer()
    var offset = 0
    #expect(try framer.next(in: stream.span, from: &offset) == .input(0..<4))
    #expect(try framer.next(in: stream.span, from: &offset) == .input(4..<11))
    #expect(framer.collected.isEmpty)
    #expect(try framer.next(in: stream.span, from: &offset) == nil)
    let rest = Array(Self.packets[2].dropFirst(6)) + Self.packets[4]
    offset = 0
    #expect(try framer.next(in: rest.span, from: &offset) == .collected)
    #expect(framer.collected == Self.packets[2])
    #expect(try framer.next(in: rest.span, from: &offset) == .input(6..<11))
  }

  @Test(arguments: [UInt8(0x00), 0x06, 0x0E, 0xFF])
  func `an unknown indicator fails the stream until a reset`(indicator: UInt8) throws {
    var framer = H4Framer()
    var found = 0
    let stream = Self.packets[0] + [indicator, 0x0E]
    #expect(throws: H4Error.unknownIndicator(indicator)) { try framer.receive(stream.span) { _ in found += 1 } }
    #expect(found == 1)
    let good = Self.packets[0]
    #expect(throws: H4Error.unknownIndicator(indicator)) { try framer.receive(good.span) { _ in found += 1 } }
    #expect(throws: H4Error.unknownIndicator(indicator)) { try framer.finish() }
    framer.reset()
    try framer.receive(good.span) { _ in found += 1 }
    #expect(found == 2)
  }

  @Test func `an unknown indicator after a collected packet is an error`() throws {
    var framer = H4Framer()
    let first: [UInt8] = [0x04, 0x10]
    try framer.receive(first.span) { _ in Issue.record("no packet is whole yet") }
    var found: [[UInt8]] = []
    let rest: [UInt8] = [0x01, 0x07, 0x77]
    #expect(throws: H4Error.unknownIndicator(0x77)) {
      try framer.receive(rest.span) { found.append([UInt8](copying: $0)) }
    }
    #expect(found == [[0x04, 0x10, 0x01, 0x07]])
  }

  @Test func `a stream that ends inside a packet is an error with the received octets`() throws {
    for packet in Self.packets {
      for length in 1..<packet.count {
        var framer = H4Framer()
        let cut = Array(packet.prefix(length))
        try framer.receive(cut.span) { _ in Issue.record("no packet is whole") }
        #expect(throws: H4Error.truncated(octets: cut)) { try framer.finish() }
      }
    }
  }

  @Test func `a packet above the limit is an error`() throws {
    let longest: [UInt8] = [0x02, 0x01, 0x00, 0x03, 0x00, 1, 2, 3]
    #expect(try framed([longest[...]], limit: 8) == [longest])
    #expect(try framed([longest[..<4], longest[4...]], limit: 8) == [longest])
    let error = H4Error.tooLong(.aclData, length: 9, limit: 8)
    for cut in [0, 4, 5] {
      #expect(throws: error) {
        let longer: [UInt8] = [0x02, 0x01, 0x00, 0x04, 0x00, 1, 2, 3, 4]
        _ = try framed([longer[..<cut], longer[cut...]], limit: 8)
      }
    }
    let most = [0x02, 0x01, 0x00, 0xFF, 0xFF] + [UInt8](repeating: 0x55, count: 0xFFFF)
    #expect(try framed([most[..<3], most[3..<40000], most[40000...]]) == [most])
  }

  @Test func `random octets do not trap or exceed the memory of one packet`() {
    var source = SplitMix64(seed: 0x4834)
    for _ in 0..<2000 {
      var framer = H4Framer(limit: 300)
      for _ in 0..<8 {
        var octets = source.octets(0...40)
        if !octets.isEmpty { octets[0] = UInt8.random(in: 1...5, using: &source) }
        var held = 0
        do throws(H4Error) {
          try framer.receive(octets.span) { held = max(held, $0.count) }
        } catch {
          #expect(!error.description.isEmpty)
          framer.reset()
        }
        #expect(framer.collected.count <= 300 && held <= 300)
      }
    }
  }
}
