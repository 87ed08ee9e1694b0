public import BLEWire

/// The overflow area: 128 bits in Apple's manufacturer data; each service UUID without space in the lists sets one of
/// them.
///
/// iOS uses it for the services of applications in the background, and ``AdvertisingPolicy/coreBluetooth`` and
/// ``AdvertisingPolicy/background`` do the same. A 7-bit hash of the UUID selects the bit, so several UUIDs share each
/// bit: a set bit means that the service may be there.
///
/// The hash is a CRC with the polynomial x^7 + x^3 + 1 in an 8-bit register (0x09), most significant bit first, from
/// zero, over the 16 octets of the UUID, most significant first; the bit is the low seven bits of the register.
public struct OverflowArea: Hashable, Sendable {
  private var number = UnalignedUInt128(0)

  /// The 128 bits. The first octet that is sent has bits 0 to 7.
  public var mask: UInt128 {
    get { number.value }
    set { number = UnalignedUInt128(newValue) }
  }

  /// The octet before the mask: the type of this data among Apple's.
  static let appleType: UInt8 = 0x01
  /// The length of the AD structure in octets: length, type, company, Apple's type, mask.
  static let structureLength = 21

  /// An area with no service.
  public init() {}

  /// An area with the bits of these services.
  public init(_ uuids: some Sequence<BluetoothUUID>) {
    for uuid in uuids { insert(uuid) }
  }

  /// Reads the mask.
  ///
  /// - Returns: nil for manufacturer data that is not an overflow area.
  public init?(_ data: ManufacturerData) {
    guard data.company == .apple, data.data.count == 17, data.data.first == Self.appleType else { return nil }
    for octet in data.data.dropFirst().reversed() { mask = mask << 8 | UInt128(octet) }
  }

  /// The area as manufacturer data.
  public var manufacturerData: ManufacturerData {
    var octets: [UInt8] = [Self.appleType]
    octets.append(littleEndian: mask)
    return ManufacturerData(company: .apple, data: octets[...])
  }

  /// Sets the bit of a service.
  public mutating func insert(_ uuid: BluetoothUUID) { mask |= 1 << UInt128(Self.bit(of: uuid)) }

  /// Whether the sender may have the service. Another service with the same bit gives the same result.
  public func contains(_ uuid: BluetoothUUID) -> Bool { mask >> UInt128(Self.bit(of: uuid)) & 1 == 1 }

  /// The services among `uuids` that the sender may have, in the same order.
  public func matches(of uuids: some Sequence<BluetoothUUID>) -> [BluetoothUUID] { uuids.filter(contains) }

  /// The number of the bit that a UUID sets, 0 to 127.
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
