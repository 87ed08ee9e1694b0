import BLESMP
import BLEWire
import Foundation
import TestVectors
import Testing

@Suite(.enabled(if: TestVectors.areHere, Comment(rawValue: TestVectors.whereToPutThem)))
struct SMPPDUVectors {
  struct Case: Decodable, CustomTestStringConvertible, Sendable {
    struct Fields: Decodable, Sendable {
      var kind: String
      var value, key, x, y, rand, address: String?
      var ediv: UInt16?
      var ioCapability, oobFlag, authReq, maxKeySize, initiatorKeys, responderKeys, reason, addressType: UInt8?
      var mitm, secureConnections, keypress, ct2: Bool?
      var bonding: UInt8?
    }

    var name, kind: String
    var hex: String?
    var fields: Fields?

    var testDescription: String { name }
    var octets: Bytes { ([UInt8](hexadecimal: hex ?? "") ?? [])[...] }
  }

  static let cases: [Case] = (try? TestVectors.load("smp", as: Case.self).cases) ?? []

  @Test func theyAreRead() { #expect(!Self.cases.isEmpty) }

  @Test(arguments: cases.filter { $0.kind == "pdu" }) func pdus(vector: Case) throws {
    let fields = try #require(vector.fields)
    let pdu = try SMPPDU(decoding: vector.octets)
    #expect(pdu == made(of: fields))
    #expect(pdu.encoded[...] == vector.octets)
    if let authReq = authReq(of: pdu) {
      #expect(authReq.rawValue & 0b11 == fields.bonding)
      #expect(authReq.contains(.mitm) == fields.mitm)
      #expect(authReq.contains(.secureConnections) == fields.secureConnections)
      #expect(authReq.contains(.keypress) == fields.keypress)
      #expect(authReq.contains(.ct2) == fields.ct2)
    }
  }

  @Test(arguments: cases.filter { $0.kind == "pdu-malformed" }) func malformed(vector: Case) {
    #expect(throws: CodecError.self) { try SMPPDU(decoding: vector.octets) }
  }

  private func made(of fields: Case.Fields) -> SMPPDU? {
    func octets(_ text: String?) -> Bytes { (text.flatMap { [UInt8](hexadecimal: $0) } ?? [])[...] }
    switch fields.kind {
    case "pairing-request": return .pairingRequest(features(fields))
    case "pairing-response": return .pairingResponse(features(fields))
    case "pairing-confirm": return .pairingConfirm(.init(value: octets(fields.value)))
    case "pairing-random": return .pairingRandom(.init(value: octets(fields.value)))
    case "pairing-failed": return fields.reason.map { .pairingFailed(.init(reason: .init(rawValue: $0))) }
    case "encryption-information": return .encryptionInformation(.init(longTermKey: octets(fields.key)))
    case "central-identification":
      let rand = octets(fields.rand).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      return fields.ediv.map { .centralIdentification(.init(ediv: $0, rand: rand)) }
    case "identity-information": return .identityInformation(.init(identityResolvingKey: octets(fields.key)))
    case "identity-address-information":
      let kind = DeviceAddress.Kind(rawValue: fields.addressType ?? 0xFE)
      return DeviceAddress(fields.address ?? "", kind: kind).map { .identityAddressInformation(.init($0)) }
    case "signing-information": return .signingInformation(.init(signatureKey: octets(fields.key)))
    case "security-request": return fields.authReq.map { .securityRequest(.init(authReq: .init(rawValue: $0))) }
    case "pairing-public-key": return .pairingPublicKey(.init(x: octets(fields.x), y: octets(fields.y)))
    case "pairing-dhkey-check": return .pairingDHKeyCheck(.init(value: octets(fields.value)))
    default: return nil
    }
  }

  private func features(_ fields: Case.Fields) -> PairingFeatures {
    var features = PairingFeatures()
    features.ioCapability = .init(rawValue: fields.ioCapability ?? 0xFF)
    features.oobDataFlag = .init(rawValue: fields.oobFlag ?? 0xFF)
    features.authReq = .init(rawValue: fields.authReq ?? 0xFF)
    features.maximumEncryptionKeySize = fields.maxKeySize ?? 0xFF
    features.initiatorKeyDistribution = .init(rawValue: fields.initiatorKeys ?? 0xFF)
    features.responderKeyDistribution = .init(rawValue: fields.responderKeys ?? 0xFF)
    return features
  }

  private func authReq(of pdu: SMPPDU) -> AuthenticationRequirements? {
    switch pdu {
    case .pairingRequest(let features), .pairingResponse(let features): features.authReq
    case .securityRequest(let request): request.authReq
    default: nil
    }
  }
}
