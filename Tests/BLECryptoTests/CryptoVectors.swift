import BLECrypto
import BLEWire
import TestVectors
import Testing

/// The primitives with the vectors of other projects and of the specification.
@Suite(.enabled(if: TestVectors.areHere, Comment(rawValue: TestVectors.whereToPutThem)))
struct CryptoVectors {
  struct Case: Decodable, Sendable {
    struct Inputs: Decodable, Sendable {
      var key, plaintext, message, privateKey, peerX, peerY: String?
    }
    struct Outputs: Decodable, Sendable {
      var result, x, y, error: String?
    }
    var kind: String
    var policy: [String]?
    var inputs: Inputs?
    var outputs: Outputs?
  }

  @Test func everyPrimitiveGivesTheResultOfItsVector() {
    let report = Self.run(in: TestVectors.folderOrNone)
    report.tell("Crypto")
    #expect(report.failures == [])
  }

  static func run(in folder: VectorFolder) -> VectorReport {
    var report = VectorReport()
    let file = folder.file("smp", cases: Case.self, into: &report)
    for (name, vector) in file.cases(of: SMPVectorKinds.primitives, into: &report) {
      report.check(name, policy: vector.policy) { checks in
        let inputs = try checks.need(vector.inputs, "inputs")
        let outputs = try checks.need(vector.outputs, "outputs")
        switch vector.kind {
        case "aes-128":
          let result = try LibCrypto().encrypt(number(inputs.plaintext), key: number(inputs.key))
          checks.equal(result, try number(outputs.result), "the block")
        case "aes-cmac":
          let result = try LibCrypto().cmac(octets(inputs.message), key: number(inputs.key))
          checks.equal(result, try number(outputs.result), "the code")
        case "p256-public-key":
          let key = try LibCrypto().publicKey(of: P256PrivateKey(coordinate(inputs.privateKey)))
          checks.equal(key.x, try coordinate(outputs.x), "x")
          checks.equal(key.y, try coordinate(outputs.y), "y")
        default:
          let mine = try P256PrivateKey(coordinate(inputs.privateKey))
          let theirs = try P256PublicKey(x: coordinate(inputs.peerX), y: coordinate(inputs.peerY))
          guard outputs.error == nil else {
            let secret = Result { try LibCrypto().sharedSecret(mine, with: theirs) }
            guard case .failure(CryptographyError.notOnCurve) = secret else {
              return checks.fail("a point that is not on the curve gives \(secret)")
            }
            return
          }
          checks.equal(try LibCrypto().sharedSecret(mine, with: theirs), try coordinate(outputs.result), "the secret")
        }
      }
    }
    return report
  }

  private static func octets(_ text: String?) throws -> [UInt8] {
    try VectorChecks().need(text.flatMap { [UInt8](hexadecimal: $0) }, "octets")
  }
  private static func number(_ text: String?) throws -> UInt128 {
    try VectorChecks().need(UInt128(bigEndian: octets(text)), "number of 16 octets")
  }
  private static func coordinate(_ text: String?) throws -> UInt256 {
    try VectorChecks().need(UInt256(bigEndian: octets(text)), "number of 32 octets")
  }
}
