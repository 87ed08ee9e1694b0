import BLESMP
import BLEWire
import TestSupport
import Testing

@Suite struct SMPPDUTests {
  private static let key: Bytes = Bytes(0..<16)
  private static let keyOnAir = "000102030405060708090a0b0c0d0e0f"

  private static let features: PairingFeatures = {
    var features = PairingFeatures()
    features.ioCapability = .keyboardDisplay
    features.oobDataFlag = .present
    features.authReq = [.bonding, .mitm, .secureConnections, .keypress, .ct2]
    features.maximumEncryptionKeySize = 7
    features.initiatorKeyDistribution = [.encKey, .idKey]
    features.responderKeyDistribution = [.signKey, .linkKey]
    return features
  }()

  /// Each code, from the figures of Vol 3, Part H, 3.5 and 3.6.
  static let golden: [(String, SMPPDU)] = [
    ("01 04 01 3d 07 03 0c", SMPPDU.pairingRequest(.init(features))),
    ("02 03 00 00 10 00 00", SMPPDU.pairingResponse(.init(PairingFeatures()))),
    ("03" + keyOnAir, SMPPDU.pairingConfirm(.init(value: key))),
    ("04" + keyOnAir, SMPPDU.pairingRandom(.init(value: key))),
    ("05 05", SMPPDU.pairingFailed(.init(reason: .pairingNotSupported))),
    ("06" + keyOnAir, SMPPDU.encryptionInformation(.init(longTermKey: key))),
    (
      "07 34 12 08 07 06 05 04 03 02 01", SMPPDU.centralIdentification(.init(ediv: 0x1234, rand: 0x0102_0304_0506_0708))
    ),
    ("08" + keyOnAir, SMPPDU.identityInformation(.init(identityResolvingKey: key))),
    (
      "09 01 55 44 33 22 11 c0",
      SMPPDU.identityAddressInformation(.init(DeviceAddress(octets: BD_ADDR(0xC011_2233_4455), kind: .randomIdentity)))
    ),
    ("0a" + keyOnAir, SMPPDU.signingInformation(.init(signatureKey: key))),
    ("0b 09", SMPPDU.securityRequest(.init(authReq: [.bonding, .secureConnections]))),
    (
      "0c" + keyOnAir + keyOnAir + String(repeating: "ab", count: 32),
      SMPPDU.pairingPublicKey(.init(x: key + key, y: Bytes(repeating: 0xAB, count: 32)))
    ),
    ("0d" + keyOnAir, SMPPDU.pairingDHKeyCheck(.init(value: key))),
    ("0e 04", SMPPDU.pairingKeypressNotification(.init(.passkeyEntryCompleted))),
  ]

  @Test(arguments: golden) func decodesAndEncodesEveryPDU(hexadecimal: String, pdu: SMPPDU) throws {
    let octets = try #require([UInt8](hexadecimal: hexadecimal))
    #expect(try SMPPDU(decoding: octets[...]) == pdu)
    #expect(pdu.encoded == octets)
    #expect(pdu.code.rawValue == octets[0])
  }

  @Test(arguments: golden) func rejectsEachOtherLength(hexadecimal: String, pdu: SMPPDU) throws {
    let octets = try #require([UInt8](hexadecimal: hexadecimal))
    for length in octets.indices {
      #expect(throws: CodecError.self) { try SMPPDU(decoding: octets[..<length]) }
    }
    #expect(throws: CodecError.trailing(count: 1)) { try SMPPDU(decoding: octets + [0]) }
  }

  /// Any octets of the right length are a PDU, and its octets are the same.
  @Test(arguments: golden) func keepsReservedValues(hexadecimal: String, pdu: SMPPDU) throws {
    var source = SplitMix64(seed: 1)
    var octets = try #require([UInt8](hexadecimal: hexadecimal))
    for _ in 0..<50 {
      for index in octets.indices.dropFirst() { octets[index] = .random(in: .min ... .max, using: &source) }
      #expect(try SMPPDU(decoding: octets[...]).encoded == octets)
    }
  }

  @Test func rejectsReservedCodes() {
    for code in (UInt8.min ... .max) where !(0x01...0x0E ~= code) {
      #expect(throws: CodecError.invalid(field: "Code")) { try SMPPDU(decoding: [code, 0]) }
    }
    #expect(throws: CodecError.truncated(field: "Code")) { try SMPPDU(decoding: []) }
  }

  @Test func listsEveryCodeOnce() {
    #expect(SMP.packets.map { $0.code.rawValue } == SMPPDU.Kind.allCases.map(\.rawValue))
    #expect(Self.golden.map { $0.1.code } == SMP.packets.map { $0.code })
  }

  @Test func decodesRandomPacketsOfTheList() throws {
    func check<P: SMPPacket>(_ type: P.Type) throws {
      var source = SplitMix64(seed: 1)
      for _ in 0..<20 {
        let packet = P.random(from: &source)
        let pdu = try SMPPDU(decoding: packet.encodedPDU[...])
        #expect(pdu.packet as? P == packet && pdu.encoded == packet.encodedPDU)
      }
    }
    for packet in SMP.packets { try check(packet) }
  }

  @Test func codesAndReasonsPrintTheirNames() {
    #expect("\(SMPCode.pairingRequest)" == "Pairing Request (0x01)")
    #expect("\(SMPCode(rawValue: 0x0F))" == "SMP code 0x0F")
    #expect("\(PairingFailedReason.pairingNotSupported)" == "Pairing Not Supported (0x05)")
    #expect("\(PairingFailedReason(rawValue: 0x11))" == "pairing failure 0x11")
    #expect(Set((UInt8.min ... .max).map { PairingFailedReason(rawValue: $0).description }).count == 256)
    #expect("\([.bonding, .mitm, .ct2] as AuthenticationRequirements)" == "Bonding, MITM, CT2")
    #expect("\(IOCapability.keyboardDisplay)" == "KeyboardDisplay (0x04)")
  }

  @Test func descriptionsOfPDUsShowNoKey() {
    let pdu = SMPPDU.encryptionInformation(.init(longTermKey: Self.key))
    #expect(pdu.description == "Encryption Information (0x06), 17 octets")
  }
}
