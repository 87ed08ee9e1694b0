public import BLECrypto
public import BLEWire

/// Addresses and identifiers that only those who have a key recognise.
extension SecurityToolbox {
  /// The hash of a resolvable private address (Vol 3, Part H, 2.2.2): 24 bits of 24 bits.
  public func ah(k: UInt128, r: UInt32) throws(CryptographyError) -> UInt32 {
    UInt32(truncatingIfNeeded: try cryptography.encrypt(UInt128(r & 0xFF_FFFF), key: k)) & 0xFF_FFFF
  }

  /// Whether the device with this IRK made the address (Vol 6, Part B, 1.3.2.3); false for any other kind of address.
  public func resolves(_ address: DeviceAddress, irk: UInt128) throws(CryptographyError) -> Bool {
    guard address.randomKind == .resolvablePrivate else { return false }
    let prand = UInt32(truncatingIfNeeded: address.octets.value >> 24)
    return try ah(k: irk, r: prand) == UInt32(truncatingIfNeeded: address.octets.value) & 0xFF_FFFF
  }

  /// A new resolvable private address (Vol 6, Part B, 1.3.2.2): its random part has neither all bits 0 nor all bits 1.
  public func resolvableAddress(
    irk: UInt128, random: inout RandomSource
  ) throws(CryptographyError) -> DeviceAddress {
    var prand: UInt32
    repeat { prand = UInt32(truncatingIfNeeded: random.next()) & 0x3F_FFFF } while prand == 0 || prand == 0x3F_FFFF
    prand |= 0x40_0000
    let value = UInt64(prand) << 24 | UInt64(try ah(k: irk, r: prand))
    return DeviceAddress(octets: BD_ADDR(value), kind: .random)
  }

  /// The hash of a Resolvable Set Identifier (Coordinated Set Identification Service, 4.7).
  public func sih(k: UInt128, r: UInt32) throws(CryptographyError) -> UInt32 { try ah(k: k, r: r) }

  /// Encrypts a set's resolving key for one member's reader, and decrypts it (Coordinated Set Identification Service, 4.5).
  public func sef(k: UInt128, sirk: UInt128) throws(CryptographyError) -> UInt128 {
    let salt = try cryptography.cmac(Array("SIRKenc".utf8), key: 0)
    let t = try cryptography.cmac(k.bigEndianOctets, key: salt)
    return try cryptography.cmac(Array("csis".utf8), key: t) ^ sirk
  }
}
