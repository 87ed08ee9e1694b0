public import BLECrypto
public import BLEWire

/// The functions that LE pairing, privacy and signing are made of (Vol 3, Part H, 2.2), over a few primitives.
///
/// Arguments carry the specification's names. Everything of 128 bits and more is a number, so no octet order has to be
/// remembered here; where a function takes octets, their order is said.
///
/// ```swift
/// let toolbox = SecurityToolbox(LibCrypto())
/// let isOurs = try toolbox.resolves(address, irk: irk)
/// ```
public struct SecurityToolbox: Sendable {
  public let cryptography: any Cryptography

  public init(_ cryptography: any Cryptography) { self.cryptography = cryptography }

  /// The confirm value of legacy pairing (2.2.3).
  ///
  /// - Parameters:
  ///   - preq: the Pairing Request with its code, seven octets as a number of which the code is the lowest octet.
  ///   - pres: the Pairing Response, likewise.
  ///   - ia: the initiator's address, whose type is the parameter iat of the specification.
  ///   - ra: the responder's address.
  public func c1(
    k: UInt128, r: UInt128, preq: UInt64, pres: UInt64, ia: DeviceAddress, ra: DeviceAddress
  ) throws(CryptographyError) -> UInt128 {
    let p1 =
      UInt128(pres & 0xFF_FFFF_FFFF_FFFF) << 72 | UInt128(preq & 0xFF_FFFF_FFFF_FFFF) << 16
      | UInt128(ra.typeOctet) << 8 | UInt128(ia.typeOctet)
    let p2 = UInt128(ia.octets.value) << 48 | UInt128(ra.octets.value)
    return try cryptography.encrypt(try cryptography.encrypt(r ^ p1, key: k) ^ p2, key: k)
  }

  /// The short term key of legacy pairing (2.2.4): of both random values the lower half counts.
  public func s1(k: UInt128, r1: UInt128, r2: UInt128) throws(CryptographyError) -> UInt128 {
    let lowerHalf = UInt128(UInt64.max)
    return try cryptography.encrypt((r1 & lowerHalf) << 64 | r2 & lowerHalf, key: k)
  }

  /// The confirm value of Secure Connections (2.2.6).
  public func f4(u: UInt256, v: UInt256, x: UInt128, z: UInt8) throws(CryptographyError) -> UInt128 {
    try cryptography.cmac(u.bigEndianOctets + v.bigEndianOctets + [z], key: x)
  }

  /// The keys of Secure Connections (2.2.7).
  public func f5(
    w: UInt256, n1: UInt128, n2: UInt128, a1: DeviceAddress, a2: DeviceAddress
  ) throws(CryptographyError) -> (macKey: UInt128, ltk: UInt128) {
    let t = try cryptography.cmac(w.bigEndianOctets, key: 0x6C88_8391_AAF5_A538_6037_0BDB_5A60_83BE)
    let keyID: [UInt8] = [0x62, 0x74, 0x6C, 0x65]
    let message =
      keyID + n1.bigEndianOctets + n2.bigEndianOctets + a1.typeAndOctets + a2.typeAndOctets + [0x01, 0x00]
    return (try cryptography.cmac([0] + message, key: t), try cryptography.cmac([1] + message, key: t))
  }

  /// The check value of Secure Connections (2.2.8). `ioCap`: AuthReq, OOB data flag, IO capability.
  public func f6(
    w: UInt128, n1: UInt128, n2: UInt128, r: UInt128, ioCap: [UInt8], a1: DeviceAddress, a2: DeviceAddress
  ) throws(CryptographyError) -> UInt128 {
    try cryptography.cmac(
      n1.bigEndianOctets + n2.bigEndianOctets + r.bigEndianOctets + ioCap + a1.typeAndOctets + a2.typeAndOctets, key: w)
  }

  /// The number that two users compare (2.2.9): 32 bits, of which the six lowest decimal digits are shown.
  public func g2(u: UInt256, v: UInt256, x: UInt128, y: UInt128) throws(CryptographyError) -> UInt32 {
    UInt32(
      truncatingIfNeeded: try cryptography.cmac(
        u.bigEndianOctets + v.bigEndianOctets + y.bigEndianOctets, key: x))
  }

  /// Derives a key from a key (2.2.10). `keyID`: four octets, most significant first.
  public func h6(w: UInt128, keyID: UInt32) throws(CryptographyError) -> UInt128 {
    try cryptography.cmac((0..<4).map { UInt8(truncatingIfNeeded: keyID >> (24 - 8 * $0)) }, key: w)
  }

  /// Derives a key from a key with a salt (2.2.11).
  public func h7(salt: UInt128, w: UInt128) throws(CryptographyError) -> UInt128 {
    try cryptography.cmac(w.bigEndianOctets, key: salt)
  }

  /// The BR/EDR link key that an LTK stands for (2.4.2.4). `ct2`: both devices set the CT2 bit.
  public func linkKey(fromLTK ltk: UInt128, ct2: Bool) throws(CryptographyError) -> UInt128 {
    try h6(w: try intermediate(ltk, 0x746D_7031, ct2), keyID: 0x6C65_6272)
  }

  /// The LTK that a BR/EDR link key stands for (2.4.2.5).
  public func ltk(fromLinkKey linkKey: UInt128, ct2: Bool) throws(CryptographyError) -> UInt128 {
    try h6(w: try intermediate(linkKey, 0x746D_7032, ct2), keyID: 0x6272_6C65)
  }

  private func intermediate(_ key: UInt128, _ name: UInt32, _ ct2: Bool) throws(CryptographyError) -> UInt128 {
    ct2 ? try h7(salt: UInt128(name), w: key) : try h6(w: key, keyID: name)
  }
}

extension DeviceAddress {
  /// 0 for a public address, 1 for a random one, as c1, f5 and f6 take it.
  var typeOctet: UInt8 { identity.kind.rawValue }

  /// The type octet, then the address most significant octet first.
  var typeAndOctets: [UInt8] { [typeOctet] + octets.littleEndian.reversed() }
}
