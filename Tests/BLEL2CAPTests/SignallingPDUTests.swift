import BLEL2CAP
import BLEWire
import TestSupport
import Testing

@Suite struct SignallingPDUTests {
  /// Octets and PDUs, from the formats of Vol 3, Part A, 4.1 to 4.28.
  static let golden: [(String, SignallingPDU)] = [
    ("01 01 02 00 00 00", .init(identifier: 1, .commandReject(.init()))),
    ("01 02 04 00 01 00 17 00", .init(identifier: 2, .commandReject(.init(mtuExceeded: 23)))),
    (
      "01 03 06 00 02 00 41 00 52 00",
      .init(identifier: 3, .commandReject(.init(invalidChannel: .init(rawValue: 0x41), remote: .init(rawValue: 0x52))))
    ),
    (
      "06 04 04 00 41 00 52 00",
      .init(
        identifier: 4,
        .disconnectionRequest(.init(destinationCID: .init(rawValue: 0x41), sourceCID: .init(rawValue: 0x52))))
    ),
    (
      "07 04 04 00 41 00 52 00",
      .init(
        identifier: 4,
        .disconnectionResponse(.init(destinationCID: .init(rawValue: 0x41), sourceCID: .init(rawValue: 0x52))))
    ),
    (
      "12 05 08 00 18 00 28 00 04 00 58 02",
      .init(
        identifier: 5,
        .connectionParameterUpdateRequest(.init(intervalMin: 24, intervalMax: 40, latency: 4, timeout: 600)))
    ),
    ("13 05 02 00 01 00", .init(identifier: 5, .connectionParameterUpdateResponse(.init(result: .rejected)))),
    (
      "14 06 0a 00 80 00 40 00 00 02 f7 00 0a 00",
      .init(
        identifier: 6,
        .leCreditBasedConnectionRequest(
          .with {
            $0.spsm = SPSM(rawValue: 0x80)
            $0.sourceCID = ChannelID(rawValue: 0x40)
            ($0.mtu, $0.mps, $0.initialCredits) = (512, 247, 10)
          }))
    ),
    (
      "15 06 0a 00 00 00 00 00 00 00 00 00 02 00",
      .init(identifier: 6, .leCreditBasedConnectionResponse(.init(rejected: .spsmNotSupported)))
    ),
    (
      "16 07 04 00 40 00 03 00",
      .init(
        identifier: 7,
        .flowControlCredit(
          .with {
            $0.channel = ChannelID(rawValue: 0x40)
            $0.credits = 3
          }))
    ),
    (
      "17 08 0c 00 27 00 40 00 41 00 01 00 40 00 41 00",
      .init(
        identifier: 8,
        .creditBasedConnectionRequest(
          .with {
            $0.spsm = .enhancedATT
            ($0.mtu, $0.mps, $0.initialCredits) = (64, 65, 1)
            $0.sourceCIDs = [.init(rawValue: 0x40), .init(rawValue: 0x41)]
          }))
    ),
    (
      "18 08 0c 00 40 00 41 00 01 00 04 00 50 00 00 00",
      .init(
        identifier: 8,
        .creditBasedConnectionResponse(
          .with {
            ($0.mtu, $0.mps, $0.initialCredits) = (64, 65, 1)
            $0.result = .noResources
            $0.destinationCIDs = [.init(rawValue: 0x50), .null]
          }))
    ),
    (
      "19 09 06 00 80 00 81 00 50 00",
      .init(
        identifier: 9,
        .creditBasedReconfigureRequest(
          .with {
            ($0.mtu, $0.mps) = (128, 129)
            $0.destinationCIDs = [.init(rawValue: 0x50)]
          }))
    ),
    (
      "1a 09 02 00 03 00",
      .init(identifier: 9, .creditBasedReconfigureResponse(.init(result: .invalidDestinationCID)))
    ),
    ("08 0a 02 00 ab cd", .init(identifier: 10, .undeclared(.init(rawValue: 0x08), [0xAB, 0xCD]))),
  ]

  @Test(arguments: golden) func decodesAndEncodesEveryCommand(hexadecimal: String, pdu: SignallingPDU) throws {
    let octets = try #require([UInt8](hexadecimal: hexadecimal))
    #expect(try SignallingPDU(decoding: octets[...]) == pdu)
    #expect(pdu.encoded == octets)
  }

  /// A truncated PDU has fewer octets than its length field; one octet more starts a second command.
  @Test(arguments: golden) func rejectsWrongLengths(hexadecimal: String, pdu: SignallingPDU) throws {
    let octets = try #require([UInt8](hexadecimal: hexadecimal))
    for length in octets.indices {
      #expect(throws: CodecError.self) { try SignallingPDU(decoding: octets[..<length]) }
    }
    #expect(throws: CodecError.trailing(count: 1)) { try SignallingPDU(decoding: octets + [0]) }
  }

  /// The same with a correct length field: the parameters are too short or too long.
  @Test func rejectsWrongParameterLengths() {
    func check<P: SignallingPacket>(_ type: P.Type, _ source: inout SplitMix64) {
      let octets = P.random(from: &source).encoded
      for length in octets.indices {
        #expect(throws: CodecError.self) { try P(decoding: octets[..<length]) }
      }
      #expect(throws: CodecError.self) { try P(decoding: octets + [0]) }
    }
    var source = SplitMix64(seed: 1)
    check(DisconnectionRequest.self, &source)
    check(DisconnectionResponse.self, &source)
    check(ConnectionParameterUpdateRequest.self, &source)
    check(ConnectionParameterUpdateResponse.self, &source)
    check(LECreditBasedConnectionRequest.self, &source)
    check(LECreditBasedConnectionResponse.self, &source)
    check(FlowControlCredit.self, &source)
    check(CreditBasedReconfigureResponse.self, &source)
    // A list of channels may end after any channel, but not inside one.
    #expect(throws: CodecError.self) { try CreditBasedConnectionRequest(decoding: [0x27, 0, 64, 0, 64, 0, 1]) }
    #expect(throws: CodecError.self) { try CreditBasedConnectionRequest(decoding: [0x27, 0, 64, 0, 64, 0, 1, 0, 64]) }
    #expect(throws: CodecError.self) { try CreditBasedConnectionResponse(decoding: [64, 0, 64, 0, 1, 0, 0, 0, 64]) }
    #expect(throws: CodecError.self) { try CreditBasedReconfigureRequest(decoding: [64, 0, 64, 0, 64]) }
    #expect(throws: CodecError.self) { try CommandReject(decoding: [0]) }
  }

  @Test func randomCommandsAreDecodedAsEncoded() throws {
    func check<P: SignallingPacket>(_ type: P.Type, _ source: inout SplitMix64) throws {
      for _ in 0..<50 {
        let packet = P.random(from: &source)
        #expect(try P(decoding: packet.encoded[...]) == packet)
        let pdu = SignallingPDU(identifier: 1, try SignallingCommand(P.code, decoding: packet.encoded[...]))
        #expect(try SignallingPDU(decoding: pdu.encoded[...]) == pdu)
        #expect(pdu.encoded[0] == P.code.rawValue)
      }
    }
    var source = SplitMix64(seed: 1)
    for packet in SignallingPDU.packets { try check(packet, &source) }
    #expect(SignallingPDU.packets.map { $0.code.rawValue } == SignallingCommand.Kind.allCases.map(\.rawValue))
  }

  @Test func decodesTheDataOfAReject() {
    #expect(CommandReject(mtuExceeded: 48).mtu == 48)
    #expect(CommandReject().mtu == nil)
    let reject = CommandReject(invalidChannel: .init(rawValue: 0x40), remote: .init(rawValue: 0x55))
    #expect(reject.channels?.local.rawValue == 0x40)
    #expect(reject.channels?.remote.rawValue == 0x55)
    #expect(reject.mtu == nil)
  }

  @Test func rejectsTheReservedCode() {
    #expect(throws: CodecError.invalid(field: "Code")) { try SignallingPDU(decoding: [0, 1, 0, 0]) }
  }
}

extension SignallingPacket {
  fileprivate static func with(_ change: (inout Self) -> Void) -> Self {
    var packet = Self()
    change(&packet)
    return packet
  }
}
