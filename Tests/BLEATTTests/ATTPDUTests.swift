import BLEATT
import BLEWire
import TestSupport
import Testing

/// One PDU of each kind, written from the formats of Vol 3, Part F, 3.4.
@Suite("ATT PDUs (Vol 3, Part F, 3.4)")
struct ATTPDUTests {
  /// Octets and their PDU. `mayEndAt` is true for a number of octets that is a shorter PDU, not a malformed one.
  struct Golden: Sendable {
    var hex: String
    var pdu: ATTPDU
    var mayEndAt: @Sendable (Int) -> Bool = { _ in false }

    init(_ hex: String, _ pdu: ATTPDU, mayEndAt: @escaping @Sendable (Int) -> Bool = { _ in false }) {
      self.hex = hex
      self.pdu = pdu
      self.mayEndAt = mayEndAt
    }
  }

  static let golden: [Golden] = [
    Golden(
      "01 0A 2A00 02", ATTPDU.errorResponse(.init(to: .readRequest, handle: 0x002A, code: .readNotPermitted))),
    Golden("02 0502", ATTPDU.exchangeMTURequest(.init(clientRxMTU: 517))),
    Golden("03 B900", ATTPDU.exchangeMTUResponse(.init(serverRxMTU: 185))),
    Golden(
      "04 0100 FFFF", ATTPDU.findInformationRequest(.init(startingHandle: .first, endingHandle: .last))),
    Golden(
      "05 01 0100 0028 0200 0328",
      ATTPDU.findInformationResponse(
        .init(informationData: [.init(handle: 1, uuid: "2800"), .init(handle: 2, uuid: "2803")])),
      mayEndAt: { $0 == 6 }),
    Golden(
      "05 02 0300 61A907ADD1175A12C4BFF473F4390AE2",
      ATTPDU.findInformationResponse(
        .init(informationData: [
          .init(handle: 3, uuid: "E20A39F4-73F4-BFC4-125A-17D1AD07A961")
        ]))),
    Golden(
      "06 0100 FFFF 0028 0F18",
      ATTPDU.findByTypeValueRequest(
        .init(
          startingHandle: .first, endingHandle: .last, attributeType: 0x2800, attributeValue: [0x0F, 0x18])),
      mayEndAt: { $0 >= 7 }),
    Golden(
      "07 1000 1500 2000 2500",
      ATTPDU.findByTypeValueResponse(
        .init(handlesInformationList: [
          .init(foundAttributeHandle: 0x10, groupEndHandle: 0x15),
          .init(foundAttributeHandle: 0x20, groupEndHandle: 0x25),
        ])), mayEndAt: { $0 == 5 }),
    Golden(
      "08 0100 FFFF 0328",
      ATTPDU.readByTypeRequest(
        .init(startingHandle: .first, endingHandle: .last, attributeType: "2803"))),
    Golden(
      "09 07 0200 02 0300 002A 0400 02 0500 012A",
      ATTPDU.readByTypeResponse(
        .init(attributeDataList: [
          .init(handle: 2, value: [0x02, 0x03, 0x00, 0x00, 0x2A]),
          .init(handle: 4, value: [0x02, 0x05, 0x00, 0x01, 0x2A]),
        ])), mayEndAt: { $0 == 9 }),
    Golden("0A 0300", ATTPDU.readRequest(.init(handle: 3))),
    Golden("0B 646566", ATTPDU.readResponse(.init(value: [0x64, 0x65, 0x66])), mayEndAt: { $0 >= 1 }),
    Golden("0C 0300 1600", ATTPDU.readBlobRequest(.init(handle: 3, valueOffset: 22))),
    Golden("0D 65", ATTPDU.readBlobResponse(.init(partAttributeValue: [0x65])), mayEndAt: { $0 >= 1 }),
    Golden(
      "0E 0300 0500 0700", ATTPDU.readMultipleRequest(.init(setOfHandles: [3, 5, 7])), mayEndAt: { $0 == 5 }),
    Golden("0F 0102", ATTPDU.readMultipleResponse(.init(setOfValues: [1, 2])), mayEndAt: { $0 >= 1 }),
    Golden(
      "10 0100 FFFF 0028",
      ATTPDU.readByGroupTypeRequest(
        .init(startingHandle: .first, endingHandle: .last, attributeGroupType: "2800"))),
    Golden(
      "11 06 0100 0700 0018 0800 0B00 0118",
      ATTPDU.readByGroupTypeResponse(
        .init(attributeDataList: [
          .init(handle: 1, endGroupHandle: 7, value: [0x00, 0x18]),
          .init(handle: 8, endGroupHandle: 11, value: [0x01, 0x18]),
        ])), mayEndAt: { $0 == 8 }),
    Golden("12 0300 0102", ATTPDU.writeRequest(.init(handle: 3, value: [1, 2])), mayEndAt: { $0 >= 3 }),
    Golden("13", ATTPDU.writeResponse(.init())),
    Golden(
      "16 0300 1200 AABB",
      ATTPDU.prepareWriteRequest(.init(handle: 3, valueOffset: 18, partAttributeValue: [0xAA, 0xBB])),
      mayEndAt: { $0 >= 5 }),
    Golden(
      "17 0300 1200 AABB",
      ATTPDU.prepareWriteResponse(.init(handle: 3, valueOffset: 18, partAttributeValue: [0xAA, 0xBB])),
      mayEndAt: { $0 >= 5 }),
    Golden("18 01", ATTPDU.executeWriteRequest(.init(flags: .write))),
    Golden("19", ATTPDU.executeWriteResponse(.init())),
    Golden(
      "1B 0300 64", ATTPDU.handleValueNotification(.init(handle: 3, value: [0x64])), mayEndAt: { $0 >= 3 }),
    Golden(
      "1D 0300 64", ATTPDU.handleValueIndication(.init(handle: 3, value: [0x64])), mayEndAt: { $0 >= 3 }),
    Golden("1E", ATTPDU.handleValueConfirmation(.init())),
    Golden(
      "20 0300 0500", ATTPDU.readMultipleVariableRequest(.init(setOfHandles: [3, 5]))),
    Golden(
      "21 0200 AABB 0100 CC",
      ATTPDU.readMultipleVariableResponse(
        .init(values: [
          .init(length: 2, value: [0xAA, 0xBB]), .init(length: 1, value: [0xCC]),
        ])), mayEndAt: { $0 >= 1 }),
    Golden(
      "23 0300 0100 64 0500 0200 6566",
      ATTPDU.multipleHandleValueNotification(
        .init(tuples: [
          .init(handle: 3, value: [0x64]), .init(handle: 5, value: [0x65, 0x66]),
        ]))),
    Golden("52 0300 0102", ATTPDU.writeCommand(.init(handle: 3, value: [1, 2])), mayEndAt: { $0 >= 3 }),
    Golden(
      "D2 0300 01 05000000 0807060504030201",
      ATTPDU.signedWriteCommand(
        .init(handle: 3, value: [1], signCounter: 5, mac: 0x0102_0304_0506_0708)),
      mayEndAt: { $0 >= 15 }),
  ]

  /// PDUs whose last field takes all remaining octets: one more octet is a longer value.
  static let openEnded: Set<UInt8> = [0x06, 0x0B, 0x0D, 0x0F, 0x12, 0x16, 0x17, 0x1B, 0x1D, 0x21, 0x52, 0xD2]

  @Test func everyOpcodeIsListed() {
    let opcodes = Set(Self.golden.map { $0.pdu.opcode.rawValue })
    #expect(opcodes.count == 31)
    #expect(ATT.packets.map { $0.opcode.rawValue } == ATTPDU.Kind.allCases.map(\.rawValue))
    #expect(opcodes == Set(ATTPDU.Kind.allCases.map(\.rawValue)))
    for opcode in UInt8.min ... .max where !opcodes.contains(opcode) {
      #expect(throws: CodecError.invalid(field: "Attribute Opcode")) { try ATTPDU(decoding: [opcode, 0, 0, 0, 0]) }
    }
  }

  @Test(arguments: golden.indices)
  func decodesAndEncodesEveryPDU(index: Int) throws {
    let golden = Self.golden[index]
    let octets = try #require([UInt8](hexadecimal: golden.hex))
    #expect(try ATTPDU(decoding: octets[...]) == golden.pdu)
    #expect(golden.pdu.encoded == octets)
    #expect(golden.pdu.description.hasPrefix("\(golden.pdu.opcode)"))
  }

  @Test(arguments: golden.indices)
  func rejectsTruncation(index: Int) throws {
    let golden = Self.golden[index]
    let octets = try #require([UInt8](hexadecimal: golden.hex))
    for count in octets.indices {
      if golden.mayEndAt(count) {
        #expect(throws: Never.self, "\(golden.hex) cut to \(count)") { try ATTPDU(decoding: octets.prefix(count)) }
      } else {
        #expect(throws: CodecError.self, "\(golden.hex) cut to \(count)") { try ATTPDU(decoding: octets.prefix(count)) }
      }
    }
  }

  @Test(arguments: golden.indices)
  func rejectsTrailingOctets(index: Int) throws {
    let golden = Self.golden[index]
    let octets = try #require([UInt8](hexadecimal: golden.hex)) + [0xFF]
    if Self.openEnded.contains(octets[0]) {
      #expect(try ATTPDU(decoding: octets[...]) != golden.pdu)
    } else {
      #expect(throws: CodecError.self) { try ATTPDU(decoding: octets[...]) }
    }
  }

  @Test(arguments: 0..<50 as Range<UInt64>)
  func randomPDUsAreDecodedAsEncoded(seed: UInt64) throws {
    var source = SplitMix64(seed: seed)
    func check<P: ATTPacket>(_ type: P.Type) throws {
      let packet = P.random(from: &source)
      #expect(try P(decoding: packet.encoded[...]) == packet)
      #expect(try ATTPDU(decoding: packet.encodedPDU[...]).packet as? P == packet)
    }
    for packet in ATT.packets { try check(packet) }
  }

  @Test func keepsTuplesBeforeATruncatedLength() {
    let response = ReadMultipleVariableResponse(lengthValueTupleList: [0x01, 0x00, 0xAA, 0x02])
    #expect(response.values == [.init(length: 1, value: [0xAA])])
    let cut = ReadMultipleVariableResponse(lengthValueTupleList: [0x04, 0x00, 0xAA, 0xBB])
    #expect(cut.values == [.init(length: 4, value: [0xAA, 0xBB])])
  }

  @Test func opcodesHaveFlagsAndNames() {
    #expect(ATTOpcode.writeCommand.isCommand && !ATTOpcode.writeCommand.isSigned)
    #expect(ATTOpcode.signedWriteCommand.isCommand && ATTOpcode.signedWriteCommand.isSigned)
    #expect(ATTOpcode.signedWriteCommand.method == ATTOpcode.writeRequest.method)
    #expect(!ATTOpcode.handleValueNotification.isCommand)
    #expect("\(ATTOpcode.readRequest)" == "Read Request (0x0A)")
    #expect("\(ATTOpcode(rawValue: 0x3F))" == "ATT opcode 0x3F")
  }

  @Test func errorCodesPrintNameAndNumber() {
    #expect(ATTErrorCode.application(0x80)?.isApplicationDefined == true)
    #expect(ATTErrorCode.application(0x9F) != nil)
    #expect(ATTErrorCode.application(0x7F) == nil)
    #expect(ATTErrorCode.application(0xA0) == nil)
    #expect("\(ATTErrorCode.invalidOffset)" == "Invalid Offset (0x07)")
    #expect("\(ATTErrorCode(rawValue: 0x85))" == "application error 0x85")
    #expect("\(ATTErrorCode(rawValue: 0xE1))" == "common profile error 0xE1")
    #expect("\(ATTErrorCode(rawValue: 0x00))" == "ATT error 0x00")
    #expect("\(ATTErrorCode(rawValue: 0xA5))" == "ATT error 0xA5")
  }

  @Test func handlesPrintFourDigits() {
    #expect("\(AttributeHandle(0x2A))" == "0x002A")
    #expect(AttributeHandle.first < .last)
  }
}
