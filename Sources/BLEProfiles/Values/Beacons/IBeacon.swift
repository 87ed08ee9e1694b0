public import BLEGAP

/// An iBeacon: a region, two numbers and the signal strength at one metre, in the manufacturer data of Apple (Proximity
/// Beacon Specification, R1).
///
/// Numbers are sent most significant octet first.
///
/// ```swift
/// let beacon = IBeacon(region: "E2C56DB5-DFFB-48D2-B060-D0F5A71096E0", major: 1, minor: 2, measuredPower: -59)
/// try await adapter.advertise(beacon.advertisement)
/// for try await result in adapter.scan() {
///   if let found = IBeacon(result.contents) { print(found.region, found.major, found.minor) }
/// }
/// ```
public struct IBeacon: Hashable, Sendable {
  /// The UUID of the region.
  public var region: BluetoothUUID
  /// The group within the region.
  public var major: UInt16
  /// The beacon within the group.
  public var minor: UInt16
  /// The signal strength that a phone receives at a distance of one metre, in dBm.
  public var measuredPower: Int8

  /// A beacon.
  public init(region: BluetoothUUID, major: UInt16, minor: UInt16, measuredPower: Int8) {
    (self.region, self.major, self.minor, self.measuredPower) = (region, major, minor, measuredPower)
  }

  /// The type of the beacon and the length of the rest.
  private static let header: [UInt8] = [0x02, 0x15]

  /// Decodes manufacturer data of 23 octets after the company identifier.
  ///
  /// - Throws: `CodecError` if the data is not an iBeacon.
  public init(decoding data: ManufacturerData) throws(CodecError) {
    guard data.company == .apple else { throw .invalid(field: "Company ID") }
    let octets = Array(data.data)
    guard octets.prefix(2).elementsEqual(Self.header.prefix(octets.count)) else {
      throw .invalid(field: "Beacon Type")
    }
    guard octets.count >= 23, let region = BluetoothUUID(bigEndian: octets[2..<18]) else {
      throw .truncated(field: "Measured Power")
    }
    guard octets.count == 23 else { throw .trailing(count: octets.count - 23) }
    self.init(
      region: region, major: bigEndian(octets[18..<20]), minor: bigEndian(octets[20..<22]),
      measuredPower: Int8(bitPattern: octets[22]))
  }

  /// The first iBeacon of an advertisement; nil if it has none.
  public init?(_ contents: AdvertisedData) {
    for data in contents.manufacturerData {
      if let beacon = try? Self(decoding: data) {
        self = beacon
        return
      }
    }
    return nil
  }

  /// The manufacturer data. A short UUID is sent with 128 bits.
  public var manufacturerData: ManufacturerData {
    let uuid = BluetoothUUID(uuid128: region.value).littleEndian.reversed()
    let octets = Self.header + uuid + octets(major) + octets(minor) + [UInt8(bitPattern: measuredPower)]
    return ManufacturerData(company: .apple, data: octets[...])
  }

  private func octets(_ number: UInt16) -> [UInt8] { number.octets.reversed() }

  /// An advertisement with the flags and the manufacturer data: 30 octets.
  public var advertisement: Advertisement { Advertisement(elements: [.manufacturerData(manufacturerData)]) }
}

/// A number, most significant octet first.
func bigEndian<Number: FixedWidthInteger>(_ octets: some Sequence<UInt8>) -> Number {
  octets.reduce(0) { $0 << 8 | Number(truncatingIfNeeded: $1) }
}
