import BLESMP
import BLEWire
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

  /// Every code, after the figures of Vol 3, Part H, 3.5 and 3.6.
  static let golden: [(String, SMPPDU)] = [
    ("01 04 01 3d 07 03 0c", .pairingRequest(features)),
    ("02 03 00 00 10 00 00", .pairingResponse(PairingFeatures())),
    ("03" + keyOnAir, .pairingConfirm(.init(value: key))),
    ("04" + keyOnAir, .pairingRandom(.init(value: key))),
    ("05 05", .pairingFailed(.init(reason: .pairingNotSupported))),
    ("06" + keyOnAir, .encryptionInformation(.init(longTermKey: key))),
    ("07 34 12 08 07 06 05 04 03 02 01", .centralIdentification(.init(ediv: 0x1234, rand: 0x0102_0304_0506_0708))),
    ("08" + keyOnAir, .identityInformation(.init(identityResolvingKey: key))),
    (
      "09 01 55 44 33 22 11 c0",
      .identityAddressInformation(.init(DeviceAddress(octets: BD_ADDR(0xC011_2233_4455), kind: .randomIdentity)))
    ),
    ("0a" + keyOnAir, .signingInformation(.init(signatureKey: key))),
    ("0b 09", .securityRequest(.init(authReq: [.bonding, .secureConnections]))),
    (
      "0c" + keyOnAir + keyOnAir + String(repeating: "ab", count: 32),
      .pairingPublicKey(.init(x: key + key, y: Bytes(repeating: 0xAB, count: 32)))
    ),
    ("0d" + keyOnAir, .pairingDHKeyCheck(.init(value: key))),
    ("0e 04", .pairingKeypressNotification(.init(.passkeyEntryCompleted))),
  ]

  @Test(arguments: golden) func goldenOctets(hexadecimal: String, pdu: SMPPDU) throws {
    let octets = try #require([UInt8](hexadecimal: hexadecimal))
    #expect(try SMPPDU(decoding: octets[...]) == pdu)
    #expect(pdu.encoded == octets)
    #expect(pdu.code.rawValue == octets[0])
  }

  @Test(arguments: golden) func wrongLengths(hexadecimal: String, pdu: SMPPDU) throws {
    let octets = try #require([UInt8](hexadecimal: hexadecimal))
    for length in octets.indices {
      #expect(throws: CodecError.self) { try SMPPDU(decoding: octets[..<length]) }
    }
    #expect(throws: CodecError.trailing(count: 1)) { try SMPPDU(decoding: octets + [0]) }
  }

  /// Any octets of the right length are a PDU, reserved values included, and go out as they came.
  @Test(arguments: golden) func reservedValuesAreKept(hexadecimal: String, pdu: SMPPDU) throws {
    var source = SystemRandomNumberGenerator()
    var octets = try #require([UInt8](hexadecimal: hexadecimal))
    for _ in 0..<50 {
      for index in octets.indices.dropFirst() { octets[index] = .random(in: .min ... .max, using: &source) }
      #expect(try SMPPDU(decoding: octets[...]).encoded == octets)
    }
  }

  @Test func reservedCodes() {
    for code in (UInt8.min ... .max) where !(0x01...0x0E ~= code) {
      #expect(throws: CodecError.invalid(field: "Code")) { try SMPPDU(decoding: [code, 0]) }
    }
    #expect(throws: CodecError.truncated(field: "Code")) { try SMPPDU(decoding: []) }
  }

  @Test func reasonsSpeak() {
    let texts = (UInt8.min ... .max).map { PairingFailedReason(rawValue: $0).description }
    #expect(Set(texts).count == 256)
    #expect(texts[0x05] == "the device does not pair")
    #expect(texts[0x11] == "reason 0x11")
  }
}
