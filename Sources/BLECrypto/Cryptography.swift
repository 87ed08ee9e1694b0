/// The few primitives that Bluetooth LE security stands on; everything else (c1, f4, ah, …) is written with them.
///
/// Keys, blocks and coordinates are numbers here (`UInt128`, ``UInt256``), so no call has to say an octet order. The
/// specification prints its samples most significant octet first; HCI and SMP carry the same numbers least significant
/// octet first. Messages of ``cmac(_:key:)`` are octets and go in most significant octet first, as RFC 4493 and
/// Vol 3, Part H, 2.2 write them.
///
/// ```swift
/// let crypto: any Cryptography = LibCrypto()
/// let mine = try crypto.keyPair(privateKey: P256PrivateKey(scalar))
/// let dhKey = try crypto.sharedSecret(mine.privateKey, with: theirs)  // throws .notOnCurve for a forged key
/// ```
public protocol Cryptography: Sendable {
  /// AES-128 of one block, the function e of Vol 3, Part H, 2.2.1 (FIPS-197).
  func encrypt(_ plaintext: UInt128, key: UInt128) throws(CryptographyError) -> UInt128

  /// AES-CMAC of a message of any length, most significant octet first (RFC 4493; Vol 3, Part H, 2.2.5).
  func cmac(_ message: Span<UInt8>, key: UInt128) throws(CryptographyError) -> UInt128

  /// The public key that belongs to a private one: its multiple of the generator of P-256 (Vol 2, Part H, 7.6).
  func publicKey(of privateKey: P256PrivateKey) throws(CryptographyError) -> P256PublicKey

  /// The x coordinate of `privateKey * peer`, called DHKey (Vol 3, Part H, 2.3.5.6.1).
  ///
  /// - Throws: ``CryptographyError/notOnCurve`` when `peer` is no point of P-256.
  func sharedSecret(_ privateKey: P256PrivateKey, with peer: P256PublicKey) throws(CryptographyError) -> UInt256

  /// Compares secrets in a time that does not depend on where they differ.
  func areEqual(_ a: UInt128, _ b: UInt128) -> Bool
}

extension Cryptography {
  /// AES-CMAC of a message in an array, most significant octet first.
  public func cmac(_ message: [UInt8], key: UInt128) throws(CryptographyError) -> UInt128 {
    try cmac(message.span, key: key)
  }

  /// The key pair of an injected private key: a stored one, or a debug key of a test.
  public func keyPair(privateKey: P256PrivateKey) throws(CryptographyError) -> P256KeyPair {
    P256KeyPair(privateKey: privateKey, publicKey: try publicKey(of: privateKey))
  }

  /// A new key pair, drawn from `random`.
  public func keyPair(from random: inout RandomSource) throws(CryptographyError) -> P256KeyPair {
    try keyPair(privateKey: .random(from: &random))
  }
}

/// Why a cryptographic operation gave no result.
public enum CryptographyError: Error, Equatable, Sendable {
  /// The peer's public key is no point of P-256: it is forged or damaged, and must not be used (Vol 3, Part H, 2.3.5.6.1).
  case notOnCurve
  /// The private key is zero, or not below the order of the curve.
  case privateKeyOutOfRange
  /// libcrypto refused a call that cannot fail on sound input: memory is short, or the library lacks the algorithm.
  case library(function: String, code: UInt)
}

extension CryptographyError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .notOnCurve:
      "the peer's public key is no point of the curve P-256: the peer is faulty or attacks; refuse the pairing"
    case .privateKeyOutOfRange:
      "the private key is zero or not below the order of P-256: draw another one"
    case .library(let function, let code):
      "libcrypto's \(function) failed with error 0x\(String(code, radix: 16)): see `openssl errstr`; "
        + "an installation without AES-128 or P-256 (a FIPS or trimmed build) gives this"
    }
  }
}
