import BLEWire
import Testing

@testable import BLECrypto

/// The primitives of encrypted connections on a network, with the vectors of their specifications.
struct SecureChannelTests {
  let crypto = LibCrypto()

  private func octets(_ text: String) throws -> [UInt8] { try #require([UInt8](hexadecimal: text)) }
  private func number(_ text: String) throws -> UInt256 { try #require(UInt256(bigEndian: try octets(text))) }

  /// RFC 7748, 5.2.
  @Test(arguments: [
    (
      "a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4",
      "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c",
      "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552"
    ),
    (
      "4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d",
      "e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493",
      "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957"
    ),
  ])
  func computesTheSecretsOfRFC7748(key: String, peer: String, secret: String) throws {
    let key = X25519PrivateKey(try number(key))
    #expect(try crypto.sharedSecret(key, with: number(peer)) == number(secret))
    #expect("\(key)" == "(secret)")
  }

  /// RFC 7748, 6.1.
  @Test func computesThePublicKeyOfRFC7748() throws {
    let bob = X25519PrivateKey(try number("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb"))
    let publicKey = try number("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f")
    #expect(try crypto.publicKey(of: bob) == publicKey)
    let alice = try number("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a")
    let secret = try number("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742")
    #expect(try crypto.sharedSecret(bob, with: alice) == secret)
  }

  /// The points of order 1, 2 and 8: the secret would be zero (RFC 7748, 6.1).
  @Test(arguments: [
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  ])
  func rejectsPublicKeysOfLowOrder(peer: String) throws {
    var random = RandomSource.seeded(1)
    #expect(try crypto.sharedSecret(.random(from: &random), with: number(peer)) == nil)
  }

  /// FIPS 180-4.
  @Test(arguments: [
    ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
  ])
  func computesHashes(message: String, hash: String) throws {
    let message = Array(message.utf8)
    let computed = try crypto.sha256(message.span)
    #expect(try computed == number(hash))
  }

  /// RFC 4231, 4.3, and a key without octets.
  @Test(arguments: [
    (
      "Jefe", "what do ya want for nothing?", "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    ),
    ("", "", "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"),
  ])
  func computesMACs(key: String, message: String, mac: String) throws {
    let (message, key) = (Array(message.utf8), Array(key.utf8))
    let computed = try crypto.hmacSHA256(message.span, key: key.span)
    #expect(try computed == number(mac))
  }

  /// RFC 5869, A.1 and A.3.
  @Test(arguments: [
    (
      "000102030405060708090a0b0c", "f0f1f2f3f4f5f6f7f8f9",
      "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
    ),
    ("", "", "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"),
  ])
  func derivesTheKeysOfRFC5869(salt: String, info: String, key: String) throws {
    let input = [UInt8](repeating: 0x0B, count: 22)
    let salt = try octets(salt)
    let blocks = try crypto.hkdfSHA256(input.span, salt: salt.span, info: octets(info), count: 2)
    #expect(blocks.flatMap(\.bigEndianOctets).prefix(42).elementsEqual(try octets(key)))
  }

  /// RFC 8439, 2.8.2.
  @Test func encryptsTheTextOfRFC8439() throws {
    let key = try number("808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f")
    let nonce = ChaChaPolyNonce(prefix: 7, counter: 0x4746_4544_4342_4140)
    let data = try octets("50515253c0c1c2c3c4c5c6c7")
    let text = Array(
      "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be it."
        .utf8)
    let sealed = try octets(
      """
      d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d63dbea45e8ca9671282fafb69da92728b\
      1a71de0a9e060b2905d6a5b67ecd3b3692ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc\
      3ff4def08e4b7a9de576d26586cec64b61161ae10b594f09e26a7e902ecbd0600691
      """)
    var buffer: [UInt8] = [1, 2, 3]
    try crypto.seal(text.span, key: key, nonce: nonce, authenticating: data, to: &buffer)
    #expect(Array(buffer.dropFirst(3)) == sealed)
    func opened(_ octets: [UInt8]) throws -> [UInt8]? {
      try crypto.open(octets.span, key: key, nonce: nonce, authenticating: data)
    }
    #expect(try opened(sealed) == text)

    for index in sealed.indices {
      var changed = sealed
      changed[index] ^= 1
      #expect(try opened(changed) == nil)
      #expect(try opened(Array(sealed.prefix(index))) == nil)
    }
    let withoutData = try crypto.open(sealed.span, key: key, nonce: nonce)
    #expect(withoutData == nil)
  }

  @Test func encryptsNothing() throws {
    let (key, nonce) = (UInt256(high: 1, low: 2), ChaChaPolyNonce(counter: 3))
    var sealed: [UInt8] = []
    let nothing: [UInt8] = []
    try crypto.seal(nothing.span, key: key, nonce: nonce, to: &sealed)
    #expect(sealed.count == LibCrypto.chaChaPolyTagLength)
    let opened = try crypto.open(sealed.span, key: key, nonce: nonce)
    #expect(opened == [])
  }
}
