import BLECrypto
import BLESMP
import BLEWire
import Foundation
import TestVectors
import Testing

/// The functions of Vol 3, Part H, 2.2 and the association models, held against other people's numbers.
@Suite(.enabled(if: TestVectors.areHere, Comment(rawValue: TestVectors.whereToPutThem)))
struct SMPFunctionVectors {
  struct Case: Decodable, CustomTestStringConvertible, Sendable {
    struct Inputs: Decodable, Sendable {
      var k, r, preq, pres, ia, ra, r1, r2, u, v, x, y, w, n1, n2, a1, a2, ioCap, keyID, salt, irk, prand, sirk: String?
      var address, ltk, linkKey, csrk, message, pdu, privateKey, peerX, peerY, key, plaintext: String?
      var iat, rat, z, initiatorIO, responderIO, initiatorAuthReq, responderAuthReq, initiatorOOB, responderOOB: UInt8?
      var ct2: Bool?
      var signCounter: UInt32?
    }
    struct Outputs: Decodable, Sendable {
      var result, macKey, ltk, sixDigits, model, error, x, y: String?
      var value: UInt32?
      var resolves, valid, secureConnections: Bool?
    }
    var name, kind: String
    var inputs: Inputs?
    var outputs: Outputs?
    var testDescription: String { name }
  }

  static let cases: [Case] = (try? TestVectors.load("smp", as: Case.self).cases) ?? []
  static func cases(_ kinds: String...) -> [Case] { cases.filter { kinds.contains($0.kind) } }

  let toolbox = SecurityToolbox(LibCrypto())

  @Test(arguments: cases("c1", "s1", "f4", "f5", "f6", "g2", "h6", "h7"))
  func keyFunctions(vector: Case) throws {
    let (i, o) = (try #require(vector.inputs), try #require(vector.outputs))
    switch vector.kind {
    case "c1":
      let result = try toolbox.c1(
        k: wide(i.k), r: wide(i.r), preq: UInt64(wide(i.preq)), pres: UInt64(wide(i.pres)),
        ia: address(type: i.iat, i.ia), ra: address(type: i.rat, i.ra))
      #expect(result == wide(o.result))
    case "s1": #expect(try toolbox.s1(k: wide(i.k), r1: wide(i.r1), r2: wide(i.r2)) == wide(o.result))
    case "f4":
      #expect(try toolbox.f4(u: wider(i.u), v: wider(i.v), x: wide(i.x), z: i.z ?? 0xFF) == wide(o.result))
    case "f5":
      let keys = try toolbox.f5(
        w: wider(i.w), n1: wide(i.n1), n2: wide(i.n2), a1: address(i.a1), a2: address(i.a2))
      #expect(keys.macKey == wide(o.macKey))
      #expect(keys.ltk == wide(o.ltk))
    case "f6":
      let result = try toolbox.f6(
        w: wide(i.w), n1: wide(i.n1), n2: wide(i.n2), r: wide(i.r), ioCap: octets(i.ioCap), a1: address(i.a1),
        a2: address(i.a2))
      #expect(result == wide(o.result))
    case "g2":
      let number = try toolbox.g2(u: wider(i.u), v: wider(i.v), x: wide(i.x), y: wide(i.y))
      #expect(number == o.value)
      #expect(Passkey(lowestDigitsOf: number).digits == o.sixDigits)
    case "h6": #expect(try toolbox.h6(w: wide(i.w), keyID: UInt32(wide(i.keyID))) == wide(o.result))
    default: #expect(try toolbox.h7(salt: wide(i.salt), w: wide(i.w)) == wide(o.result))
    }
  }

  @Test(arguments: cases("ah", "sih", "sef", "rpa-resolve", "ltk-to-link-key", "link-key-to-ltk"))
  func privacyAndDerivation(vector: Case) throws {
    let (i, o) = (try #require(vector.inputs), try #require(vector.outputs))
    switch vector.kind {
    case "ah": #expect(try toolbox.ah(k: wide(i.irk), r: UInt32(wide(i.prand))) == UInt32(wide(o.result)))
    case "sih": #expect(try toolbox.sih(k: wide(i.sirk), r: UInt32(wide(i.prand))) == UInt32(wide(o.result)))
    case "sef": #expect(try toolbox.sef(k: wide(i.k), sirk: wide(i.sirk)) == wide(o.result))
    case "rpa-resolve":
      let address = try #require(DeviceAddress(i.address ?? "", kind: .random))
      #expect(try toolbox.resolves(address, irk: wide(i.irk)) == o.resolves)
    case "ltk-to-link-key":
      #expect(try toolbox.linkKey(fromLTK: wide(i.ltk), ct2: i.ct2 == true) == wide(o.result))
    default: #expect(try toolbox.ltk(fromLinkKey: wide(i.linkKey), ct2: i.ct2 == true) == wide(o.result))
    }
  }

  @Test(arguments: cases("att-signature", "att-signature-verify")) func signatures(vector: Case) throws {
    let (i, o) = (try #require(vector.inputs), try #require(vector.outputs))
    if vector.kind == "att-signature" {
      let message = octets(i.message)[...]
      let counter = try #require(i.signCounter)
      let signature = try toolbox.signature(of: message, csrk: wide(i.csrk), signCounter: counter)
      #expect(signature == octets(o.result))
      if !message.isEmpty {
        #expect(try toolbox.verifiedSignCounter(of: message + signature[...], csrk: wide(i.csrk)) == counter)
        #expect(try toolbox.verifiedSignCounter(of: message + signature[...], csrk: wide(i.csrk) ^ 1) == nil)
      }
    } else {
      let counter = try toolbox.verifiedSignCounter(of: octets(i.pdu)[...], csrk: wide(i.csrk))
      #expect((counter != nil) == o.valid)
    }
  }

  @Test(arguments: cases("association-model")) func associationModels(vector: Case) throws {
    let (i, o) = (try #require(vector.inputs), try #require(vector.outputs))
    var (request, response) = (PairingFeatures(), PairingFeatures())
    request.ioCapability = .init(rawValue: try #require(i.initiatorIO))
    request.authReq = .init(rawValue: try #require(i.initiatorAuthReq))
    request.oobDataFlag = .init(rawValue: try #require(i.initiatorOOB))
    response.ioCapability = .init(rawValue: try #require(i.responderIO))
    response.authReq = .init(rawValue: try #require(i.responderAuthReq))
    response.oobDataFlag = .init(rawValue: try #require(i.responderOOB))
    let (model, isSecure) = AssociationModel.chosen(request: request, response: response)
    #expect(isSecure == o.secureConnections)
    switch model {
    case .justWorks: #expect(o.model == "just-works")
    case .numericComparison: #expect(o.model == "numeric-comparison")
    case .passkeyEntry: #expect(o.model == "passkey")
    case .outOfBand: #expect(o.model == "oob")
    }
  }

  /// Every kind in the file is read by one of the suites.
  @Test func everyKindHasATest() {
    let known: Set = [
      "c1", "s1", "f4", "f5", "f6", "g2", "h6", "h7", "ah", "sih", "sef", "rpa-resolve", "ltk-to-link-key",
      "link-key-to-ltk", "att-signature", "att-signature-verify", "association-model", "pairing", "pairing-refused",
      "pdu", "pdu-malformed",
      // Held by CryptoVectors of BLECryptoTests.
      "aes-128", "aes-cmac", "p256-public-key", "ecdh",
    ]
    #expect(Set(Self.cases.map(\.kind)) == known)
  }

  /// What a case lacks is empty or zero, and then no result fits.
  private func octets(_ text: String?) -> [UInt8] { [UInt8](hexadecimal: text ?? "") ?? [] }
  private func wide(_ text: String?) -> UInt128 { octets(text).reduce(0) { $0 << 8 | UInt128($1) } }
  private func wider(_ text: String?) -> UInt256 { UInt256(bigEndian: octets(text)) ?? UInt256(high: 0, low: 0) }
  private func address(_ text: String?) -> DeviceAddress {
    address(type: octets(text).first, octets(text).dropFirst().hexadecimal)
  }
  private func address(type: UInt8?, _ text: String?) -> DeviceAddress {
    DeviceAddress(octets: BD_ADDR(UInt64(wide(text))), kind: .init(rawValue: type ?? 0xFE))
  }
}
