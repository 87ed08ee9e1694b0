public import BLEWire

/// The overflow area: 128 bits in manufacturer data of Apple's, one for each service UUID that found no place.
///
/// It is how a backgrounded iPhone says which services it has, and how ``AdvertisingPolicy/coreBluetooth`` and
/// ``AdvertisingPolicy/background`` say it. A UUID sets the bit that a 7-bit hash of it names, so a set bit means
/// "perhaps": other UUIDs share it.
///
/// The hash is a CRC with the polynomial x^7 + x^3 + 1 in an 8-bit register (0x09), most significant bit first, from zero,
/// over the 16 octets of the UUID, most significant first; the bit is the low seven bits of the register.
public struct OverflowArea: Hashable, Sendable {
  /// Bit n of the area; octet 0 of the mask on the air holds bits 0 to 7.
  public var mask: UInt128 = 0

  /// What comes before the mask: the type of Apple's data that this is.
  static let appleType: UInt8 = 0x01
  /// Octets of the whole AD structure: length, type, company, Apple's type, mask.
  static let structureLength = 21

  public init() {}

  public init(_ uuids: some Sequence<BluetoothUUID>) {
    for uuid in uuids { insert(uuid) }
  }

  /// Reads the mask, if the manufacturer data is an overflow area.
  public init?(_ data: ManufacturerData) {
    guard data.company == .apple, data.data.count == 17, data.data.first == Self.appleType else { return nil }
    for octet in data.data.dropFirst().reversed() { mask = mask << 8 | UInt128(octet) }
  }

  /// The area as it travels.
  public var manufacturerData: ManufacturerData {
    var octets: [UInt8] = [Self.appleType]
    octets.append(littleEndian: mask)
    return ManufacturerData(company: .apple, data: octets[...])
  }

  public mutating func insert(_ uuid: BluetoothUUID) { mask |= 1 << UInt128(Self.bit(of: uuid)) }

  /// Whether the service may be among those of the sender; another one with the same bit looks alike.
  public func contains(_ uuid: BluetoothUUID) -> Bool { mask >> UInt128(Self.bit(of: uuid)) & 1 == 1 }

  /// Those of `uuids` that the sender may have, in the same order.
  public func matches(of uuids: some Sequence<BluetoothUUID>) -> [BluetoothUUID] { uuids.filter(contains) }

  /// Which of the 128 bits a UUID sets.
  public static func bit(of uuid: BluetoothUUID) -> Int {
    var register: UInt8 = 0
    for shift in stride(from: 127, through: 0, by: -1) {
      let bit = UInt8(truncatingIfNeeded: uuid.value >> UInt128(shift)) & 1
      let feedback = register >> 7 ^ bit
      register = register << 1
      if feedback == 1 { register ^= 0x09 }
    }
    return Int(register & 0x7F)
  }
}
