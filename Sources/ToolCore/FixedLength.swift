import BLEProfiles
public import BLEWire

/// The lengths of the values of characteristics whose values all have the same one (GATT Specification Supplement).
public enum FixedLength {
  /// The number of octets; nil for a characteristic whose values differ in length, or whose format is not known here.
  public static func octets(of uuid: BluetoothUUID) -> Int? { uuid.shortValue.flatMap { lengths[$0] } }

  private static let lengths = others.merging(
    EnvironmentalSensing.quantities.compactMap { quantity in
      quantity.format.uuid.shortValue.map { ($0, quantity.format.octets) }
    }, uniquingKeysWith: { other, _ in other })

  /// Appearance, Peripheral Preferred Connection Parameters, Alert Level, Tx Power Level, Date Time, Battery Level,
  /// Temperature Type, Measurement Interval, Current Time, Body Sensor Location, Analog, Heart Rate Max.
  private static let others: [UInt32: Int] = [
    0x2A01: 2, 0x2A04: 8, 0x2A06: 1, 0x2A07: 1, 0x2A08: 7, 0x2A19: 1, 0x2A1D: 1, 0x2A21: 2, 0x2A2B: 10, 0x2A38: 1,
    0x2A58: 2, 0x2A8D: 1,
  ]

  /// `1 octet`, `2 octets`.
  public static func text(_ count: Int) -> String { count == 1 ? "1 octet" : "\(count) octets" }
}
