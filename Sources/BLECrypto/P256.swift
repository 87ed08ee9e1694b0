/// A 256-bit number: a coordinate or a scalar of P-256.
public struct UInt256: Hashable, Sendable {
  /// The upper 128 bits.
  public var high: UInt128
  /// The lower 128 bits.
  public var low: UInt128

  /// A number from its halves.
  public init(high: UInt128, low: UInt128) {
    self.high = high
    self.low = low
  }

  /// Reads 32 octets, most significant first, as the specification prints its samples.
  ///
  /// - Returns: nil for any other number of octets.
  public init?(bigEndian octets: some Collection<UInt8>) {
    guard octets.count == 32, let high = UInt128(bigEndian: octets.prefix(16)),
      let low = UInt128(bigEndian: octets.dropFirst(16))
    else { return nil }
    self.init(high: high, low: low)
  }

  /// Reads 32 octets, least significant first, as HCI and SMP carry them.
  ///
  /// - Returns: nil for any other number of octets.
  public init?(littleEndian octets: some Collection<UInt8>) {
    guard octets.count == 32, let low = UInt128(littleEndian: octets.prefix(16)),
      let high = UInt128(littleEndian: octets.dropFirst(16))
    else { return nil }
    self.init(high: high, low: low)
  }

  /// The 32 octets, most significant first.
  public var bigEndianOctets: [UInt8] { high.bigEndianOctets + low.bigEndianOctets }

  /// The 32 octets, least significant first.
  public var littleEndianOctets: [UInt8] { low.littleEndianOctets + high.littleEndianOctets }
}

extension UInt256: Comparable {
  /// Whether `a` is the smaller number.
  public static func < (a: Self, b: Self) -> Bool { (a.high, a.low) < (b.high, b.low) }
}

extension UInt128 {
  /// Reads 16 octets, most significant first.
  ///
  /// - Returns: nil for any other number of octets.
  public init?(bigEndian octets: some Collection<UInt8>) {
    guard octets.count == 16 else { return nil }
    self = octets.reduce(0) { $0 << 8 | UInt128($1) }
  }

  /// Reads 16 octets, least significant first.
  ///
  /// - Returns: nil for any other number of octets.
  public init?(littleEndian octets: some Collection<UInt8>) {
    guard octets.count == 16 else { return nil }
    var number: UInt128 = 0
    var shift: UInt128 = 0
    for octet in octets {
      number |= UInt128(octet) << shift
      shift += 8
    }
    self = number
  }

  /// The 16 octets, most significant first.
  public var bigEndianOctets: [UInt8] { (0..<16).map { UInt8(truncatingIfNeeded: self >> (120 - 8 * $0)) } }

  /// The 16 octets, least significant first.
  public var littleEndianOctets: [UInt8] { (0..<16).map { UInt8(truncatingIfNeeded: self >> (8 * $0)) } }
}

/// A private key of P-256: a scalar from 1 to the order of the curve minus 1 (Vol 2, Part H, 7.6).
public struct P256PrivateKey: Hashable, Sendable {
  /// The number, which is secret.
  public let scalar: UInt256

  /// The order of the generator of P-256 (FIPS 186-4, D.1.2.3).
  static let order = UInt256(
    high: 0xFFFF_FFFF_0000_0000_FFFF_FFFF_FFFF_FFFF, low: 0xBCE6_FAAD_A717_9E84_F3B9_CAC2_FC63_2551)

  /// A private key with the given number.
  ///
  /// - Throws: ``CryptographyError/privateKeyOutOfRange`` for zero, and for a number that is not below the order of the
  ///   curve.
  public init(_ scalar: UInt256) throws(CryptographyError) {
    guard scalar > UInt256(high: 0, low: 0), scalar < Self.order else { throw .privateKeyOutOfRange }
    self.scalar = scalar
  }

  private init(inRange scalar: UInt256) { self.scalar = scalar }

  /// The debug key, with which a sniffer can decrypt a link (Vol 3, Part H, 2.3.5.6.1). It protects nothing.
  public static let debug = Self(
    inRange: UInt256(high: 0x3F49_F6D4_A3C5_5F38_74C9_B3E3_D210_3F50, low: 0x4AFF_607B_EB40_B799_5899_B8A6_CD3C_1ABD))

  /// A random private key. Numbers outside the range are discarded, so that all keys have the same probability.
  public static func random(from source: inout RandomSource) -> Self {
    while true {
      if let key = try? Self(UInt256(high: source.uint128(), low: source.uint128())) { return key }
    }
  }
}

extension P256PrivateKey: CustomStringConvertible {
  /// The name of the type, without the scalar: descriptions are written to logs.
  public var description: String { "P256PrivateKey" }
}

/// A public key of P-256 as a peer sends it. ``Cryptography/sharedSecret(_:with:)`` checks that it is a point of the
/// curve.
public struct P256PublicKey: Hashable, Sendable {
  /// The x coordinate.
  public var x: UInt256
  /// The y coordinate.
  public var y: UInt256

  /// A public key from its coordinates.
  public init(x: UInt256, y: UInt256) {
    self.x = x
    self.y = y
  }

  /// Reads 64 octets as HCI and SMP carry them: x, then y, each least significant octet first.
  ///
  /// - Returns: nil for any other number of octets.
  public init?(littleEndian octets: some Collection<UInt8>) {
    guard octets.count == 64, let x = UInt256(littleEndian: octets.prefix(32)),
      let y = UInt256(littleEndian: octets.dropFirst(32))
    else { return nil }
    self.init(x: x, y: y)
  }

  /// The 64 octets as HCI and SMP carry them: x, then y, each least significant octet first.
  public var littleEndianOctets: [UInt8] { x.littleEndianOctets + y.littleEndianOctets }
}

/// A private key and its public key.
public struct P256KeyPair: Hashable, Sendable {
  /// The private key.
  public let privateKey: P256PrivateKey
  /// The public key.
  public let publicKey: P256PublicKey

  /// A key pair. The public key must belong to the private key.
  public init(privateKey: P256PrivateKey, publicKey: P256PublicKey) {
    self.privateKey = privateKey
    self.publicKey = publicKey
  }
}
