import BLECrypto
import BLEWire
import Foundation

/// A device's identifier: made from its identity address, so that it is the same on every run and on every machine.
///
/// It is AES-CMAC (Vol 3, Part H, 2.2.5) over the type and the six octets of the address, under a fixed key, in the form
/// of a UUID of version 8 (RFC 9562, 5.8). A device with a private address that nobody resolved gets another identifier
/// whenever it changes the address.
enum PeerIdentifier {
  /// "BluetoothLE peer" in ASCII: it keeps these UUIDs apart from other uses of CMAC, and is no secret.
  private static let key: UInt128 = 0x426C_7565_746F_6F74_684C_4520_7065_6572

  static func make(of address: DeviceAddress) -> UUID {
    let identity = address.identity
    let message = [identity.kind.rawValue] + identity.octets.littleEndian.reversed()
    // libcrypto refuses AES-CMAC only where memory is at its end; the address itself is unique then too.
    var value = (try? LibCrypto().cmac(message, key: key)) ?? UInt128(identity.octets.value)
    value = value & ~(0xF << 76) | 0x8 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    let o = value.bigEndianOctets
    return UUID(
      uuid: (
        o[0], o[1], o[2], o[3], o[4], o[5], o[6], o[7], o[8], o[9], o[10], o[11], o[12], o[13], o[14], o[15]
      ))
  }
}
