import BLECrypto
import BLEWire
import TestVectors
import Testing

/// The primitives against the vectors of other projects and of the specification.
@Suite(.enabled(if: TestVectors.areHere, Comment(rawValue: TestVectors.whereToPutThem)))
struct CryptoVectors {
  struct Case: Decodable {
    struct Inputs: Decodable {
      var key, plaintext, message, privateKey, peerX, peerY: String?
    }
    struct Outputs: Decodable {
      var result, x, y, error: String?
    }
    var name: String
    var kind: String
    var inputs: Inputs?
    var outputs: Outputs?
  }

  let crypto = LibCrypto()

  func cases(_ kind: String) throws -> [(name: String, inputs: Case.Inputs, outputs: Case.Outputs)] {
    let kept = try TestVectors.load("smp", as: Case.self).cases.filter { $0.kind == kind }
    return try kept.map { ($0.name, try #require($0.inputs), try #require($0.outputs)) }
  }

  func octets(_ text: String?) throws -> [UInt8] { try #require(text.flatMap { [UInt8](hexadecimal: $0) }) }
  func number(_ text: String?) throws -> UInt128 { try #require(UInt128(bigEndian: octets(text))) }
  func coordinate(_ text: String?) throws -> UInt256 { try #require(UInt256(bigEndian: octets(text))) }

  @Test func blocks() throws {
    let cases = try cases("aes-128")
    #expect(cases.count >= 2)
    for (name, inputs, outputs) in cases {
      let result = try crypto.encrypt(number(inputs.plaintext), key: number(inputs.key))
      #expect(try result == number(outputs.result), "\(name)")
    }
  }

  @Test func messageAuthenticationCodes() throws {
    let cases = try cases("aes-cmac")
    #expect(cases.count >= 6)
    for (name, inputs, outputs) in cases {
      let result = try crypto.cmac(octets(inputs.message), key: number(inputs.key))
      #expect(try result == number(outputs.result), "\(name)")
    }
  }

  @Test func publicKeys() throws {
    let cases = try cases("p256-public-key")
    #expect(cases.count >= 6)
    for (name, inputs, outputs) in cases {
      let key = try crypto.publicKey(of: P256PrivateKey(coordinate(inputs.privateKey)))
      #expect(try key.x == coordinate(outputs.x), "\(name)")
      #expect(try key.y == coordinate(outputs.y), "\(name)")
    }
  }

  @Test func sharedSecrets() throws {
    let cases = try cases("ecdh")
    #expect(cases.count >= 6)
    for (name, inputs, outputs) in cases {
      let mine = try P256PrivateKey(coordinate(inputs.privateKey))
      let theirs = try P256PublicKey(x: coordinate(inputs.peerX), y: coordinate(inputs.peerY))
      if outputs.error != nil {
        #expect(throws: CryptographyError.notOnCurve, "\(name)") { try crypto.sharedSecret(mine, with: theirs) }
      } else {
        #expect(try crypto.sharedSecret(mine, with: theirs) == coordinate(outputs.result), "\(name)")
      }
    }
  }
}
