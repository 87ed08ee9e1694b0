/// The primitives of any implementation, as a host stores them. In Embedded Swift, which has no existential types,
/// copies share a box.
///
/// ```swift
/// let crypto = AnyCryptography(LibCrypto())
/// ```
public struct AnyCryptography: Cryptography {
  // With an existential, a host is not loadable: the compiler passes it by address. Without one it copies the whole
  // host before it calls a getter, which costs 1,100 instructions for each read.
  #if hasFeature(Embedded)
    private let box: Box
  #else
    private let box: any Cryptography
  #endif

  /// The primitives of `cryptography`.
  public init(_ cryptography: some Cryptography) {
    #if hasFeature(Embedded)
      box = BoxOf(cryptography)
    #else
      box = cryptography
    #endif
  }

  public func encrypt(_ plaintext: UInt128, key: UInt128) throws(CryptographyError) -> UInt128 {
    try box.encrypt(plaintext, key: key)
  }

  public func cmac(_ message: Span<UInt8>, key: UInt128) throws(CryptographyError) -> UInt128 {
    try box.cmac(message, key: key)
  }

  public func publicKey(of privateKey: P256PrivateKey) throws(CryptographyError) -> P256PublicKey {
    try box.publicKey(of: privateKey)
  }

  public func sharedSecret(
    _ privateKey: P256PrivateKey, with peer: P256PublicKey
  ) throws(CryptographyError) -> UInt256 {
    try box.sharedSecret(privateKey, with: peer)
  }

  public func areEqual(_ a: UInt128, _ b: UInt128) -> Bool { box.areEqual(a, b) }
}

#if hasFeature(Embedded)
  // Unchecked, because a class with subclasses cannot be checked: it has constants alone.
  private class Box: @unchecked Sendable {
    private static let none = CryptographyError.library(function: "none", code: 0)

    func encrypt(_ plaintext: UInt128, key: UInt128) throws(CryptographyError) -> UInt128 { throw Self.none }
    func cmac(_ message: Span<UInt8>, key: UInt128) throws(CryptographyError) -> UInt128 { throw Self.none }
    func publicKey(of privateKey: P256PrivateKey) throws(CryptographyError) -> P256PublicKey { throw Self.none }
    func sharedSecret(
      _ privateKey: P256PrivateKey, with peer: P256PublicKey
    ) throws(CryptographyError) -> UInt256 { throw Self.none }
    func areEqual(_ a: UInt128, _ b: UInt128) -> Bool { false }
  }

  private final class BoxOf<Primitives: Cryptography>: Box, @unchecked Sendable {
    private let primitives: Primitives

    init(_ primitives: Primitives) { self.primitives = primitives }

    override func encrypt(_ plaintext: UInt128, key: UInt128) throws(CryptographyError) -> UInt128 {
      try primitives.encrypt(plaintext, key: key)
    }
    override func cmac(_ message: Span<UInt8>, key: UInt128) throws(CryptographyError) -> UInt128 {
      try primitives.cmac(message, key: key)
    }
    override func publicKey(of privateKey: P256PrivateKey) throws(CryptographyError) -> P256PublicKey {
      try primitives.publicKey(of: privateKey)
    }
    override func sharedSecret(
      _ privateKey: P256PrivateKey, with peer: P256PublicKey
    ) throws(CryptographyError) -> UInt256 { try primitives.sharedSecret(privateKey, with: peer) }
    override func areEqual(_ a: UInt128, _ b: UInt128) -> Bool { primitives.areEqual(a, b) }
  }
#endif
