import BLECrypto
import BLESMP
import BLEWire
import TestVectors
import Testing

/// The functions of Vol 3, Part H, 2.2 and the association models, compared with numbers of others.
@Suite(.enabled(if: TestVectors.areHere, Comment(rawValue: TestVectors.whereToPutThem)))
struct SMPFunctionVectors {
  struct Case: Decodable, Sendable {
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
    var kind: String
    var policy: [String]?
    var inputs: Inputs?
    var outputs: Outputs?
  }

  @Test func functionsEqualTheVectors() {
    let report = Self.run(in: TestVectors.folderOrNone)
    report.tell("SMP functions")
    #expect(report.failures == [])
  }

  static let toolbox = SecurityToolbox(LibCrypto())

  /// Notes also the kinds of the file that no suite reads.
  static func run(in folder: VectorFolder) -> VectorReport {
    var report = VectorReport()
    let file = folder.file("smp", cases: Case.self, into: &report)
    for (name, vector) in file.cases(
      of: SMPVectorKinds.functions, notingAllBut: SMPVectorKinds.all, into: &report)
    {
      report.check(name, policy: vector.policy) { checks in
        let inputs = try checks.need(vector.inputs, "inputs")
        let outputs = try checks.need(vector.outputs, "outputs")
        switch vector.kind {
        case "association-model": try checkModel(inputs, outputs, &checks)
        case "att-signature", "att-signature-verify": try checkSignature(vector.kind, inputs, outputs, &checks)
        case "ah", "sih", "sef", "rpa-resolve", "ltk-to-link-key", "link-key-to-ltk":
          try checkPrivacy(vector.kind, inputs, outputs, &checks)
        default: try checkKeyFunction(vector.kind, inputs, outputs, &checks)
        }
      }
    }
    return report
  }

  private static func checkKeyFunction(
    _ kind: String, _ i: Case.Inputs, _ o: Case.Outputs, _ checks: inout VectorChecks
  ) throws {
    func equal(_ result: UInt128) { checks.equal(result, wide(o.result), kind) }
    switch kind {
    case "c1":
      equal(
        try toolbox.c1(
          k: wide(i.k), r: wide(i.r), preq: UInt64(truncatingIfNeeded: wide(i.preq)),
          pres: UInt64(truncatingIfNeeded: wide(i.pres)), ia: address(type: i.iat, i.ia), ra: address(type: i.rat, i.ra)
        ))
    case "s1": equal(try toolbox.s1(k: wide(i.k), r1: wide(i.r1), r2: wide(i.r2)))
    case "f4": equal(try toolbox.f4(u: wider(i.u), v: wider(i.v), x: wide(i.x), z: i.z ?? 0xFF))
    case "f5":
      let keys = try toolbox.f5(
        w: wider(i.w), n1: wide(i.n1), n2: wide(i.n2), a1: address(i.a1), a2: address(i.a2))
      checks.equal(keys.macKey, wide(o.macKey), "the MacKey")
      checks.equal(keys.ltk, wide(o.ltk), "the LTK")
    case "f6":
      equal(
        try toolbox.f6(
          w: wide(i.w), n1: wide(i.n1), n2: wide(i.n2), r: wide(i.r), ioCap: octets(i.ioCap), a1: address(i.a1),
          a2: address(i.a2)))
    case "g2":
      let number = try toolbox.g2(u: wider(i.u), v: wider(i.v), x: wide(i.x), y: wide(i.y))
      checks.equal(number, ifGiven: o.value, "the number")
      checks.equal(Passkey(lowestDigitsOf: number).digits, ifGiven: o.sixDigits, "its digits")
    case "h6": equal(try toolbox.h6(w: wide(i.w), keyID: UInt32(truncatingIfNeeded: wide(i.keyID))))
    default: equal(try toolbox.h7(salt: wide(i.salt), w: wide(i.w)))
    }
  }

  private static func checkPrivacy(
    _ kind: String, _ i: Case.Inputs, _ o: Case.Outputs, _ checks: inout VectorChecks
  ) throws {
    let result = wide(o.result)
    switch kind {
    case "ah":
      let hash = try toolbox.ah(k: wide(i.irk), r: UInt32(truncatingIfNeeded: wide(i.prand)))
      checks.equal(UInt128(hash), result, kind)
    case "sih":
      let hash = try toolbox.sih(k: wide(i.sirk), r: UInt32(truncatingIfNeeded: wide(i.prand)))
      checks.equal(UInt128(hash), result, kind)
    case "sef": checks.equal(try toolbox.sef(k: wide(i.k), sirk: wide(i.sirk)), result, kind)
    case "rpa-resolve":
      let address = try checks.need(DeviceAddress(i.address ?? "", kind: .random), "address")
      checks.equal(try toolbox.resolves(address, irk: wide(i.irk)), ifGiven: o.resolves, "whether it resolves")
    case "ltk-to-link-key":
      checks.equal(try toolbox.linkKey(fromLTK: wide(i.ltk), ct2: i.ct2 == true), result, kind)
    default: checks.equal(try toolbox.ltk(fromLinkKey: wide(i.linkKey), ct2: i.ct2 == true), result, kind)
    }
  }

  private static func checkSignature(
    _ kind: String, _ i: Case.Inputs, _ o: Case.Outputs, _ checks: inout VectorChecks
  ) throws {
    guard kind == "att-signature" else {
      let counter = try toolbox.verifiedSignCounter(of: octets(i.pdu)[...], csrk: wide(i.csrk))
      return checks.equal(counter != nil, ifGiven: o.valid, "whether it is right")
    }
    let message = octets(i.message)[...]
    let counter = try checks.need(i.signCounter, "signCounter")
    let signature = try toolbox.signature(of: message, csrk: wide(i.csrk), signCounter: counter)
    checks.equal(signature, octets(o.result), "the signature")
    guard !message.isEmpty else { return }
    let signed = message + signature[...]
    checks.equal(try toolbox.verifiedSignCounter(of: signed, csrk: wide(i.csrk)), counter, "the counter in it")
    checks.equal(try toolbox.verifiedSignCounter(of: signed, csrk: wide(i.csrk) ^ 1), nil, "with another key")
  }

  private static func checkModel(_ i: Case.Inputs, _ o: Case.Outputs, _ checks: inout VectorChecks) throws {
    var (request, response) = (PairingFeatures(), PairingFeatures())
    request.ioCapability = .init(rawValue: try checks.need(i.initiatorIO, "initiatorIO"))
    request.authReq = .init(rawValue: try checks.need(i.initiatorAuthReq, "initiatorAuthReq"))
    request.oobDataFlag = .init(rawValue: try checks.need(i.initiatorOOB, "initiatorOOB"))
    response.ioCapability = .init(rawValue: try checks.need(i.responderIO, "responderIO"))
    response.authReq = .init(rawValue: try checks.need(i.responderAuthReq, "responderAuthReq"))
    response.oobDataFlag = .init(rawValue: try checks.need(i.responderOOB, "responderOOB"))
    let (model, isSecure) = AssociationModel.chosen(request: request, response: response)
    checks.equal(isSecure, ifGiven: o.secureConnections, "whether it is Secure Connections")
    let name =
      switch model {
      case .justWorks: "just-works"
      case .numericComparison: "numeric-comparison"
      case .passkeyEntry: "passkey"
      case .outOfBand: "oob"
      }
    checks.equal(name, ifGiven: o.model, "the model")
  }

  /// A missing argument is empty or zero; the results differ then.
  private static func octets(_ text: String?) -> [UInt8] { [UInt8](hexadecimal: text ?? "") ?? [] }
  private static func wide(_ text: String?) -> UInt128 { octets(text).reduce(0) { $0 << 8 | UInt128($1) } }
  private static func wider(_ text: String?) -> UInt256 { UInt256(bigEndian: octets(text)) ?? UInt256(high: 0, low: 0) }
  private static func address(_ text: String?) -> DeviceAddress {
    address(type: octets(text).first, octets(text).dropFirst().hexadecimal)
  }
  private static func address(type: UInt8?, _ text: String?) -> DeviceAddress {
    DeviceAddress(octets: BD_ADDR(UInt64(wide(text))), kind: .init(rawValue: type ?? 0xFE))
  }
}
