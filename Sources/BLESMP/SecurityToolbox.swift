public import BLECrypto
public import BLEWire

/// The cryptographic functions of pairing, privacy and signing (Vol 3, Part H, 2.2), made from the primitives of a
/// ``/BLECrypto/Cryptography``.
///
/// The arguments have the names of the specification. Values of 128 and 256 bits are numbers. If an argument has
/// octets, its documentation states their order. Each function throws the ``/BLECrypto/CryptographyError`` of the
/// primitives.
///
/// ```swift
/// let toolbox = SecurityToolbox(LibCrypto())
/// let isOurs = try toolbox.resolves(address, irk: irk)
/// ```
public struct SecurityToolbox: Sendable {
  /// The primitives.
  public let cryptography: AnyCryptography

  /// The functions with these primitives.
  public init(_ cryptography: some Cryptography) { self.cryptography = AnyCryptography(cryptography) }

  /// c1: the confirm value of legacy pairing (Vol 3, Part H, 2.2.3).
  ///
  /// - Parameters:
  ///   - k: the temporary key (TK).
  ///   - r: the random value.
  ///   - preq: the Pairing Request, seven octets as a number; the code is the least significant octet.
  ///   - pres: the Pairing Response, in the same form.
  ///   - ia: the initiator's address with its type, which is the parameter iat.
  ///   - ra: the responder's address with its type, which is the parameter rat.
  public func c1(
    k: UInt128, r: UInt128, preq: UInt64, pres: UInt64, ia: DeviceAddress, ra: DeviceAddress
  ) throws(CryptographyError) -> UInt128 {
    let p1 =
      UInt128(pres & 0xFF_FFFF_FFFF_FFFF) << 72 | UInt128(preq & 0xFF_FFFF_FFFF_FFFF) << 16
      | UInt128(ra.typeOctet) << 8 | UInt128(ia.typeOctet)
    let p2 = UInt128(ia.octets.value) << 48 | UInt128(ra.octets.value)
    return try cryptography.encrypt(try cryptography.encrypt(r ^ p1, key: k) ^ p2, key: k)
  }

  /// s1: the short term key of legacy pairing, from the lower halves of the random values (Vol 3, Part H, 2.2.4).
  public func s1(k: UInt128, r1: UInt128, r2: UInt128) throws(CryptographyError) -> UInt128 {
    let lowerHalf = UInt128(UInt64.max)
    return try cryptography.encrypt((r1 & lowerHalf) << 64 | r2 & lowerHalf, key: k)
  }

  /// f4: the confirm value of LE Secure Connections (Vol 3, Part H, 2.2.6).
  public func f4(u: UInt256, v: UInt256, x: UInt128, z: UInt8) throws(CryptographyError) -> UInt128 {
    try cryptography.cmac(u.bigEndianOctets + v.bigEndianOctets + [z], key: x)
  }

  /// f5: the keys of LE Secure Connections (Vol 3, Part H, 2.2.7).
  public func f5(
    w: UInt256, n1: UInt128, n2: UInt128, a1: DeviceAddress, a2: DeviceAddress
  ) throws(CryptographyError) -> (macKey: UInt128, ltk: UInt128) {
    let t = try cryptography.cmac(w.bigEndianOctets, key: 0x6C88_8391_AAF5_A538_6037_0BDB_5A60_83BE)
    let keyID: [UInt8] = [0x62, 0x74, 0x6C, 0x65]
    let length: [UInt8] = [0x01, 0x00]
    let nonces = n1.bigEndianOctets + n2.bigEndianOctets
    let message = keyID + nonces + a1.typeAndOctets + a2.typeAndOctets + length
    return (try cryptography.cmac([0] + message, key: t), try cryptography.cmac([1] + message, key: t))
  }

  /// f6: the check value of LE Secure Connections (Vol 3, Part H, 2.2.8). `ioCap` is AuthReq, OOB data flag, IO
  /// capability.
  public func f6(
    w: UInt128, n1: UInt128, n2: UInt128, r: UInt128, ioCap: [UInt8], a1: DeviceAddress, a2: DeviceAddress
  ) throws(CryptographyError) -> UInt128 {
    try cryptography.cmac(
      n1.bigEndianOctets + n2.bigEndianOctets + r.bigEndianOctets + ioCap + a1.typeAndOctets + a2.typeAndOctets, key: w)
  }

  /// g2: the number of a numeric comparison, 32 bits (Vol 3, Part H, 2.2.9). Its six lowest decimal digits are shown:
  /// ``Passkey/init(lowestDigitsOf:)``.
  public func g2(u: UInt256, v: UInt256, x: UInt128, y: UInt128) throws(CryptographyError) -> UInt32 {
    UInt32(
      truncatingIfNeeded: try cryptography.cmac(
        u.bigEndianOctets + v.bigEndianOctets + y.bigEndianOctets, key: x))
  }

  /// h6: a key that is derived from a key (Vol 3, Part H, 2.2.10). `keyID` has four octets, the first one most
  /// significant.
  public func h6(w: UInt128, keyID: UInt32) throws(CryptographyError) -> UInt128 {
    try cryptography.cmac((0..<4).map { UInt8(truncatingIfNeeded: keyID >> (24 - 8 * $0)) }, key: w)
  }

  /// h7: a key that is derived from a key and a salt (Vol 3, Part H, 2.2.11).
  public func h7(salt: UInt128, w: UInt128) throws(CryptographyError) -> UInt128 {
    try cryptography.cmac(w.bigEndianOctets, key: salt)
  }

  /// The BR/EDR link key that is derived from an LTK (Vol 3, Part H, 2.4.2.4). `ct2`: both devices have the CT2 bit.
  public func linkKey(fromLTK ltk: UInt128, ct2: Bool) throws(CryptographyError) -> UInt128 {
    try h6(w: try intermediate(ltk, 0x746D_7031, ct2), keyID: 0x6C65_6272)
  }

  /// The LTK that is derived from a BR/EDR link key (Vol 3, Part H, 2.4.2.5). `ct2`: both devices have the CT2 bit.
  public func ltk(fromLinkKey linkKey: UInt128, ct2: Bool) throws(CryptographyError) -> UInt128 {
    try h6(w: try intermediate(linkKey, 0x746D_7032, ct2), keyID: 0x6272_6C65)
  }

  private func intermediate(_ key: UInt128, _ name: UInt32, _ ct2: Bool) throws(CryptographyError) -> UInt128 {
    ct2 ? try h7(salt: UInt128(name), w: key) : try h6(w: key, keyID: name)
  }
}

/// Resolvable private addresses and Resolvable Set Identifiers.
extension SecurityToolbox {
  /// ah: the hash of a resolvable private address (Vol 3, Part H, 2.2.2). `r` and the result have 24 bits.
  public func ah(k: UInt128, r: UInt32) throws(CryptographyError) -> UInt32 {
    UInt32(truncatingIfNeeded: try cryptography.encrypt(UInt128(r & 0xFF_FFFF), key: k)) & 0xFF_FFFF
  }

  /// Whether a resolvable private address was made with this IRK (Vol 6, Part B, 1.3.2.3). False for any other kind of
  /// address.
  public func resolves(_ address: DeviceAddress, irk: UInt128) throws(CryptographyError) -> Bool {
    guard address.randomKind == .resolvablePrivate else { return false }
    let prand = UInt32(truncatingIfNeeded: address.octets.value >> 24)
    return try ah(k: irk, r: prand) == UInt32(truncatingIfNeeded: address.octets.value) & 0xFF_FFFF
  }

  /// A new resolvable private address (Vol 6, Part B, 1.3.2.2). The bits of its random part are not all 0 and not all
  /// 1.
  public func resolvableAddress(
    irk: UInt128, random: inout RandomSource
  ) throws(CryptographyError) -> DeviceAddress {
    var prand: UInt32
    repeat { prand = UInt32(truncatingIfNeeded: random.next()) & 0x3F_FFFF } while prand == 0 || prand == 0x3F_FFFF
    prand |= 0x40_0000
    let value = UInt64(prand) << 24 | UInt64(try ah(k: irk, r: prand))
    return DeviceAddress(octets: BD_ADDR(value), kind: .random)
  }

  /// sih: the hash of a Resolvable Set Identifier (Coordinated Set Identification Service, 4.7).
  public func sih(k: UInt128, r: UInt32) throws(CryptographyError) -> UInt32 { try ah(k: k, r: r) }

  /// sef: encrypts or decrypts the Set Identity Resolving Key (Coordinated Set Identification Service, 4.5).
  public func sef(k: UInt128, sirk: UInt128) throws(CryptographyError) -> UInt128 {
    let salt = try cryptography.cmac(Array("SIRKenc".utf8), key: 0)
    let t = try cryptography.cmac(k.bigEndianOctets, key: salt)
    return try cryptography.cmac(Array("csis".utf8), key: t) ^ sirk
  }
}

/// Signatures of ATT PDUs on links that are not encrypted (Vol 3, Part H, 2.4.5).
extension SecurityToolbox {
  /// The length of a signature, in octets.
  public static var signatureLength: Int { 12 }

  /// The signature of a message, 12 octets: the counter, then the upper half of the MAC, each with its least
  /// significant octet first. The message is the opcode, the handle and the value of a Signed Write Command.
  public func signature(of message: Bytes, csrk: UInt128, signCounter: UInt32) throws(CryptographyError) -> [UInt8] {
    var signed = Array(message)
    signed.append(littleEndian: signCounter)
    let mac = try cryptography.cmac(signed.reversed(), key: csrk)
    var signature: [UInt8] = []
    signature.append(littleEndian: signCounter)
    signature.append(littleEndian: UInt64(truncatingIfNeeded: mac >> 64))
    return signature
  }

  /// The counter of a signed PDU; nil if the signature is not valid.
  ///
  /// The caller must reject a counter that is not higher than the last one, because the PDU is a replay.
  public func verifiedSignCounter(of pdu: Bytes, csrk: UInt128) throws(CryptographyError) -> UInt32? {
    guard pdu.count > Self.signatureLength else { return nil }
    let (message, signature) = (pdu.dropLast(Self.signatureLength), pdu.suffix(Self.signatureLength))
    let counter = signature.prefix(4).reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    let expected = try self.signature(of: message, csrk: csrk, signCounter: counter)
    let (a, b) = (
      UInt128(littleEndian: expected + [0, 0, 0, 0]), UInt128(littleEndian: Array(signature) + [0, 0, 0, 0])
    )
    guard let a, let b, cryptography.areEqual(a, b) else { return nil }
    return counter
  }
}

extension DeviceAddress {
  /// The type in the functions c1, f5 and f6: 0 for a public address, 1 for a random one.
  var typeOctet: UInt8 { identity.kind.rawValue }

  /// The type, then the address with its most significant octet first.
  var typeAndOctets: [UInt8] { [typeOctet] + octets.littleEndian.reversed() }
}
