import BLESMP
import BLEWire
import TestVectors
import Testing

@Suite(.enabled(if: TestVectors.areHere, Comment(rawValue: TestVectors.whereToPutThem)))
struct SMPPDUVectors {
  struct Case: Decodable, Sendable {
    struct Fields: Decodable, Sendable {
      var kind: String
      var value, key, x, y, rand, address: String?
      var ediv: UInt16?
      var ioCapability, oobFlag, authReq, maxKeySize, initiatorKeys, responderKeys, reason, addressType: UInt8?
      var notification: UInt8?
      var mitm, secureConnections, keypress, ct2: Bool?
      var bonding: UInt8?
    }

    var kind: String
    var hex: String?
    var policy: [String]?
    var fields: Fields?
  }

  @Test func pdusEqualTheVectors() {
    let report = Self.run(in: TestVectors.folderOrNone)
    report.tell("SMP PDUs")
    #expect(report.failures == [])
  }

  /// Decodes and encodes each PDU, and rejects the malformed ones. A PDU of an unknown kind is a failure only where the
  /// decoder rejects it.
  static func run(in folder: VectorFolder) -> VectorReport {
    var report = VectorReport()
    let file = folder.file("smp", cases: Case.self, into: &report)
    for (name, vector) in file.cases(of: SMPVectorKinds.pdus, into: &report) {
      report.check(name, policy: vector.policy) { checks in
        let octets = try checks.need([UInt8](hexadecimal: vector.hex ?? "?"), "hex")[...]
        guard vector.kind == "pdu" else {
          return checks.refuses(as: CodecError.self) { _ = try SMPPDU(decoding: octets) }
        }
        let pdu = try SMPPDU(decoding: octets)
        checks.equal(pdu.encoded[...], octets, "what is written")
        guard let fields = vector.fields, let made = made(of: fields) else {
          return checks.note("read and written, its fields not compared: kind '\(vector.fields?.kind ?? "")'")
        }
        checks.equal(pdu, made, "the PDU")
        if let authReq = authReq(of: pdu) {
          checks.equal(authReq.rawValue & 0b11, ifGiven: fields.bonding, "bonding")
          checks.equal(authReq.contains(.mitm), ifGiven: fields.mitm, "MITM")
          checks.equal(authReq.contains(.secureConnections), ifGiven: fields.secureConnections, "SC")
          checks.equal(authReq.contains(.keypress), ifGiven: fields.keypress, "keypress")
          checks.equal(authReq.contains(.ct2), ifGiven: fields.ct2, "CT2")
        }
      }
    }
    return report
  }

  private static func made(of fields: Case.Fields) -> SMPPDU? {
    func octets(_ text: String?) -> Bytes { (text.flatMap { [UInt8](hexadecimal: $0) } ?? [])[...] }
    switch fields.kind {
    case "pairing-request": return SMPPDU.pairingRequest(.init(features(fields)))
    case "pairing-response": return SMPPDU.pairingResponse(.init(features(fields)))
    case "pairing-confirm": return SMPPDU.pairingConfirm(.init(value: octets(fields.value)))
    case "pairing-random": return SMPPDU.pairingRandom(.init(value: octets(fields.value)))
    case "pairing-failed": return fields.reason.map { SMPPDU.pairingFailed(.init(reason: .init(rawValue: $0))) }
    case "encryption-information": return SMPPDU.encryptionInformation(.init(longTermKey: octets(fields.key)))
    case "central-identification":
      let rand = octets(fields.rand).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      return fields.ediv.map { SMPPDU.centralIdentification(.init(ediv: $0, rand: rand)) }
    case "identity-information": return SMPPDU.identityInformation(.init(identityResolvingKey: octets(fields.key)))
    case "identity-address-information":
      let kind = DeviceAddress.Kind(rawValue: fields.addressType ?? 0xFE)
      return DeviceAddress(fields.address ?? "", kind: kind).map { SMPPDU.identityAddressInformation(.init($0)) }
    case "signing-information": return SMPPDU.signingInformation(.init(signatureKey: octets(fields.key)))
    case "security-request": return fields.authReq.map { SMPPDU.securityRequest(.init(authReq: .init(rawValue: $0))) }
    case "pairing-public-key": return SMPPDU.pairingPublicKey(.init(x: octets(fields.x), y: octets(fields.y)))
    case "keypress-notification", "pairing-keypress-notification":
      return fields.notification.map { SMPPDU.pairingKeypressNotification(.init(.init(rawValue: $0))) }
    case "pairing-dhkey-check": return SMPPDU.pairingDHKeyCheck(.init(value: octets(fields.value)))
    default: return nil
    }
  }

  private static func features(_ fields: Case.Fields) -> PairingFeatures {
    var features = PairingFeatures()
    features.ioCapability = .init(rawValue: fields.ioCapability ?? 0xFF)
    features.oobDataFlag = .init(rawValue: fields.oobFlag ?? 0xFF)
    features.authReq = .init(rawValue: fields.authReq ?? 0xFF)
    features.maximumEncryptionKeySize = fields.maxKeySize ?? 0xFF
    features.initiatorKeyDistribution = .init(rawValue: fields.initiatorKeys ?? 0xFF)
    features.responderKeyDistribution = .init(rawValue: fields.responderKeys ?? 0xFF)
    return features
  }

  private static func authReq(of pdu: SMPPDU) -> AuthenticationRequirements? {
    switch pdu.packet {
    case let request as PairingRequest: request.features.authReq
    case let response as PairingResponse: response.features.authReq
    case let request as SecurityRequest: request.authReq
    default: nil
    }
  }
}
