/// The primitives of Bluetooth LE security: AES-128, AES-CMAC and P-256. The functions of the Security Manager (c1, f4,
/// ah and the others) are defined in terms of them.
///
/// Keys, blocks and coordinates are numbers (`UInt128`, ``UInt256``), which have no octet order. The specification
/// prints its samples most significant octet first; HCI and SMP carry the same numbers least significant octet first.
/// The messages of ``cmac(_:key:)-(Span<UInt8>,_)`` are octets, most significant first, as in RFC 4493 and Vol 3, Part
/// H, 2.2.
///
/// ``LibCrypto`` is the implementation of the stack. A program can supply another one, for a secure element or for
/// tests. A conforming type has no state that its calls change, because calls may come from any thread.
///
/// ```swift
/// let crypto: any Cryptography = LibCrypto()
/// let mine = try crypto.keyPair(privateKey: P256PrivateKey(scalar))
/// let dhKey = try crypto.sharedSecret(mine.privateKey, with: theirs)  // throws .notOnCurve for an invalid key
/// ```
public protocol Cryptography: Sendable {
  /// AES-128 of one block: the security function e (Vol 3, Part H, 2.2.1; FIPS-197).
  func encrypt(_ plaintext: UInt128, key: UInt128) throws(CryptographyError) -> UInt128

  /// AES-CMAC of a message of any length, most significant octet first (Vol 3, Part H, 2.2.5; RFC 4493).
  func cmac(_ message: Span<UInt8>, key: UInt128) throws(CryptographyError) -> UInt128

  /// The public key of a private key: the product of the private key and the generator of P-256 (Vol 2, Part H, 7.6).
  func publicKey(of privateKey: P256PrivateKey) throws(CryptographyError) -> P256PublicKey

  /// The x coordinate of `privateKey * peer`, the DHKey (Vol 3, Part H, 2.3.5.6.1).
  ///
  /// - Throws: ``CryptographyError/notOnCurve`` if `peer` is not a point of P-256.
  func sharedSecret(_ privateKey: P256PrivateKey, with peer: P256PublicKey) throws(CryptographyError) -> UInt256

  /// Compares two secrets in a time that does not depend on their values.
  func areEqual(_ a: UInt128, _ b: UInt128) -> Bool
}

extension Cryptography {
  /// AES-CMAC of a message in an array, most significant octet first.
  public func cmac(_ message: [UInt8], key: UInt128) throws(CryptographyError) -> UInt128 {
    try cmac(message.span, key: key)
  }

  /// The key pair of a given private key: a stored one, or the debug key in a test.
  public func keyPair(privateKey: P256PrivateKey) throws(CryptographyError) -> P256KeyPair {
    P256KeyPair(privateKey: privateKey, publicKey: try publicKey(of: privateKey))
  }

  /// A new key pair from random numbers.
  public func keyPair(from random: inout RandomSource) throws(CryptographyError) -> P256KeyPair {
    try keyPair(privateKey: .random(from: &random))
  }
}

/// The reason why a cryptographic operation has no result.
public enum CryptographyError: Error, Equatable, Sendable {
  /// The peer's public key is not a point of P-256: it is forged or damaged, and must not be used (Vol 3, Part H,
  /// 2.3.5.6.1).
  case notOnCurve
  /// The private key is zero, or not below the order of the curve.
  case privateKeyOutOfRange
  /// A call of the cryptographic library failed: memory is exhausted, or the library does not have the algorithm.
  case library(function: String, code: UInt)
}

extension CryptographyError: CustomStringConvertible {
  /// What failed, why, and what to do.
  public var description: String {
    switch self {
    case .notOnCurve:
      "the peer's public key is not a point of P-256: the peer is faulty, or this is an attack. Reject the pairing"
    case .privateKeyOutOfRange:
      "the private key is zero or not below the order of P-256. Generate another one"
    case .library(let function, let code):
      "\(function) of libcrypto failed with error 0x\(String(code, radix: 16)) (`openssl errstr` prints its text). "
        + "Install a build of OpenSSL 3 with AES-128, AES-CMAC and P-256"
    }
  }
}
