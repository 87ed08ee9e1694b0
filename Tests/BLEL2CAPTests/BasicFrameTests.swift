import BLEL2CAP
import BLEWire
import TestSupport
import Testing

@Suite struct BasicFrameTests {
  /// An ATT Read Request for handle 3 (Vol 3, Part A, 3.1).
  private let golden: [UInt8] = [0x03, 0x00, 0x04, 0x00, 0x0A, 0x03, 0x00]

  @Test func decodesAndEncodesTheFrame() throws {
    let frame = BasicFrame(channel: .attributeProtocol, payload: [0x0A, 0x03, 0x00])
    #expect(try BasicFrame(decoding: golden[...]) == frame)
    #expect(frame.encoded == golden)
  }

  @Test func rejectsWrongLengths() {
    for length in golden.indices {
      #expect(throws: CodecError.self) { try BasicFrame(decoding: golden[..<length]) }
    }
    #expect(throws: CodecError.trailing(count: 1)) { try BasicFrame(decoding: golden + [0]) }
  }

  /// The header has the fields of the declared frame.
  @Test func headerEqualsTheDeclaredFrame() throws {
    var source = SplitMix64(seed: 1)
    for length in [0, 1, 23, 255, 256, 517, 65_535] {
      let payload = (0..<length).map { _ in UInt8.random(in: .min ... .max, using: &source) }
      let frame = BasicFrame(
        channel: .init(rawValue: .random(in: .min ... .max, using: &source)), payload: payload[...])
      let octets = frame.encoded
      #expect(try BasicFrame(decoding: octets[...]) == frame)
      let inPlace = BasicHeader(octets.span)
      let header = try #require(inPlace)
      #expect(header == BasicHeader(length: UInt16(length), channel: frame.channel))
      var written: [UInt8] = []
      header.encode(to: &written)
      #expect(written == Array(octets.prefix(4)))
      for short in 0..<4 {
        let cut = BasicHeader(octets.span.extracting(first: short))
        #expect(cut == nil)
      }
    }
  }

  /// A payload above 65,535 octets is cut, and the length field is correct.
  @Test func cutsPayloadAbove65535Octets() throws {
    let frame = BasicFrame(channel: .attributeProtocol, payload: Bytes(repeating: 7, count: 65_536))
    #expect(try BasicFrame(decoding: frame.encoded[...]).payload.count == 65_535)
  }

  @Test func dynamicChannelsAre0x40To0x7F() {
    #expect(ChannelID(rawValue: 0x40).isDynamic)
    #expect(ChannelID(rawValue: 0x7F).isDynamic)
    #expect(!ChannelID(rawValue: 0x3F).isDynamic)
    #expect(!ChannelID(rawValue: 0x80).isDynamic)
    #expect("\(ChannelID.signalling), \(ChannelID(rawValue: 0x41))" == "LE signalling channel (0x0005), CID 0x0041")
  }
}
