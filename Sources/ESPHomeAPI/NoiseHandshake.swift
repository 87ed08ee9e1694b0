internal import BLECrypto

/// The state of `Noise_NNpsk0_25519_ChaChaPoly_SHA256` that both ends of a handshake have (Noise Protocol Framework,
/// revision 34, 5.2).
struct NoiseSymmetricState: Sendable {
  private var chainingKey: UInt256
  private(set) var hash: UInt256
  private var cipher: NoiseCipher?

  init(prologue: [UInt8]) throws(NoiseError) {
    // The name is longer than a hash, so that it is hashed.
    hash = try libcrypto { () throws(CryptographyError) in
      try LibCrypto().sha256(Array("Noise_NNpsk0_25519_ChaChaPoly_SHA256".utf8).span)
    }
    chainingKey = hash
    try mixHash(prologue)
  }

  mutating func mixHash(_ octets: [UInt8]) throws(NoiseError) {
    let message = hash.bigEndianOctets + octets
    hash = try libcrypto { () throws(CryptographyError) in try LibCrypto().sha256(message.span) }
  }

  /// A public key. In a handshake with a pre-shared key it is also mixed into the key (9.2).
  mutating func mixPublicKey(_ key: UInt256) throws(NoiseError) {
    try mixHash(key.bigEndianOctets)
    try mixKey(key)
  }

  mutating func mixKey(_ key: UInt256) throws(NoiseError) {
    let outputs = try keys(from: key.bigEndianOctets, count: 2)
    chainingKey = outputs[0]
    cipher = NoiseCipher(key: outputs[1])
  }

  mutating func mixKeyAndHash(_ key: UInt256) throws(NoiseError) {
    let outputs = try keys(from: key.bigEndianOctets, count: 3)
    chainingKey = outputs[0]
    try mixHash(outputs[1].bigEndianOctets)
    cipher = NoiseCipher(key: outputs[2])
  }

  mutating func sealAndHash(_ payload: [UInt8]) throws(NoiseError) -> [UInt8] {
    guard var cipher else { throw .malformed }
    var sealed: [UInt8] = []
    try cipher.seal(payload.span, authenticating: hash.bigEndianOctets, to: &sealed)
    self.cipher = cipher
    try mixHash(sealed)
    return sealed
  }

  mutating func openAndHash(_ sealed: [UInt8]) throws(NoiseError) -> [UInt8] {
    guard var cipher else { throw .malformed }
    let payload = try cipher.open(sealed.span, authenticating: hash.bigEndianOctets)
    self.cipher = cipher
    try mixHash(sealed)
    return payload
  }

  /// The ciphers of both directions: that of the initiator first.
  func split() throws(NoiseError) -> (initiator: NoiseCipher, responder: NoiseCipher) {
    let outputs = try keys(from: [], count: 2)
    return (NoiseCipher(key: outputs[0]), NoiseCipher(key: outputs[1]))
  }

  private func keys(from input: [UInt8], count: Int) throws(NoiseError) -> [UInt256] {
    let salt = chainingKey.bigEndianOctets
    return try libcrypto { () throws(CryptographyError) in
      try LibCrypto().hkdfSHA256(input.span, salt: salt.span, count: count)
    }
  }
}

/// The server's end of a handshake `Noise_NNpsk0_25519_ChaChaPoly_SHA256`.
///
/// ```
///   -> psk, e
///   <- e, ee
/// ```
struct NoiseResponder: Sendable {
  /// The octets of a message without a payload: a public key and a tag.
  static let messageLength = 48

  private var symmetric: NoiseSymmetricState
  private let key: NoiseKey
  private let ephemeralKey: X25519PrivateKey

  init(key: NoiseKey, prologue: [UInt8], ephemeralKey: X25519PrivateKey) throws(NoiseError) {
    symmetric = try NoiseSymmetricState(prologue: prologue)
    self.key = key
    self.ephemeralKey = ephemeralKey
  }

  /// The answer to the message of the initiator, and the ciphers of the session.
  ///
  /// - Returns: the payload of the initiator, which ESPHome does not use, the answer, and the ciphers.
  /// - Throws: ``NoiseError/notAuthentic`` if the initiator has another key, or another prologue.
  mutating func respond(
    to message: [UInt8], payload: [UInt8] = []
  ) throws(NoiseError) -> (payload: [UInt8], answer: [UInt8], session: NoiseSession) {
    guard message.count >= Self.messageLength, let peer = UInt256(bigEndian: message.prefix(32)) else {
      throw .malformed
    }
    try symmetric.mixKeyAndHash(key.octets)
    try symmetric.mixPublicKey(peer)
    let received = try symmetric.openAndHash(Array(message.dropFirst(32)))

    let (own, shared) = try libcrypto { () throws(CryptographyError) in
      (try LibCrypto().publicKey(of: ephemeralKey), try LibCrypto().sharedSecret(ephemeralKey, with: peer))
    }
    guard let shared else { throw .malformed }
    try symmetric.mixPublicKey(own)
    try symmetric.mixKey(shared)
    let answer = own.bigEndianOctets + (try symmetric.sealAndHash(payload))
    let ciphers = try symmetric.split()
    return (received, answer, NoiseSession(receiving: ciphers.initiator, sending: ciphers.responder))
  }
}

/// The ciphers of both directions.
struct NoiseSession: Sendable {
  var receiving: NoiseCipher
  var sending: NoiseCipher
}

/// A key and the number of the next message (5.1).
struct NoiseCipher: Sendable {
  private let key: UInt256
  /// The last number, 2^64 - 1, is reserved.
  var nonce: UInt64 = 0

  init(key: UInt256) { self.key = key }

  mutating func seal(
    _ plaintext: Span<UInt8>, authenticating data: [UInt8] = [], to buffer: inout [UInt8]
  ) throws(NoiseError) {
    let nonce = try number()
    do throws(CryptographyError) {
      try LibCrypto().seal(plaintext, key: key, nonce: nonce, authenticating: data, to: &buffer)
    } catch {
      throw .cryptography(error)
    }
    self.nonce += 1
  }

  mutating func open(_ sealed: Span<UInt8>, authenticating data: [UInt8] = []) throws(NoiseError) -> [UInt8] {
    let nonce = try number()
    let opened: [UInt8]?
    do throws(CryptographyError) {
      opened = try LibCrypto().open(sealed, key: key, nonce: nonce, authenticating: data)
    } catch {
      throw .cryptography(error)
    }
    guard let opened else { throw .notAuthentic }
    self.nonce += 1
    return opened
  }

  private func number() throws(NoiseError) -> ChaChaPolyNonce {
    guard nonce < .max else { throw .nonceExhausted }
    return ChaChaPolyNonce(counter: nonce)
  }
}

enum NoiseError: Error, Equatable {
  case malformed
  case notAuthentic
  case nonceExhausted
  case cryptography(CryptographyError)
}

/// Calls libcrypto, with its errors as those of a handshake.
private func libcrypto<Value>(_ body: () throws(CryptographyError) -> Value) throws(NoiseError) -> Value {
  do throws(CryptographyError) { return try body() } catch { throw .cryptography(error) }
}
