import BLECrypto
public import BLEWire

/// A device's identifier: derived from its identity address, so it is the same on every run and on every machine.
///
/// It is AES-CMAC (Vol 3, Part H, 2.2.5) over the type and the six octets of the address, under a fixed key, in the
/// form of a UUID of version 8 (RFC 9562, 5.8). A device with a private address that is not resolved gets another
/// identifier whenever it changes the address.
public struct PeerIdentifier: RawRepresentable, Hashable, Sendable {
  /// The 128 bits of the UUID, the first octet most significant.
  public var rawValue: UInt128 { number.value }
  private let number: UnalignedUInt128
  public init(rawValue: UInt128) { number = UnalignedUInt128(rawValue) }

  /// The 16 octets, most significant first.
  public var octets: [UInt8] { rawValue.bigEndianOctets }

  /// "BluetoothLE peer" in ASCII: it keeps these UUIDs apart from other uses of CMAC, and is not a secret.
  private static let key: UInt128 = 0x426C_7565_746F_6F74_684C_4520_7065_6572

  /// The identifier of the device with this identity address.
  public init(_ address: DeviceAddress) {
    let identity = address.identity
    let message = [identity.kind.rawValue] + identity.octets.littleEndian.reversed()
    // libcrypto refuses AES-CMAC only if memory is exhausted; the address itself is then also unique.
    var value = (try? LibCrypto().cmac(message, key: Self.key)) ?? UInt128(identity.octets.value)
    value = value & ~(0xF << 76) | 0x8 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    self.init(rawValue: value)
  }
}

extension PeerIdentifier: CustomStringConvertible {
  /// As UUIDs are written: `01234567-89AB-8DEF-8123-456789ABCDEF`.
  public var description: String {
    var digits = ""
    for (index, octet) in octets.enumerated() {
      if [4, 6, 8, 10].contains(index) { digits += "-" }
      digits += (octet < 16 ? "0" : "") + String(octet, radix: 16, uppercase: true)
    }
    return digits
  }
}
