import BLEProfiles
public import BLEWire

/// A characteristic whose value is one number, with its unit.
public struct Quantity: Sendable {
  /// The unit, such as `°C`; nil for none.
  public let unit: String?
  /// The number in the octets of a value; nil for a malformed one and for "value is not known".
  private let decode: @Sendable ([UInt8]) -> Double?

  private init(unit: String, decode: @escaping @Sendable ([UInt8]) -> Double?) {
    self.unit = unit
    self.decode = decode
  }

  private init<Value: ProfileValue>(
    _ value: Value.Type, unit: String?, _ number: @escaping @Sendable (Value) -> Double?
  ) {
    self.unit = unit
    decode = { Value(octets: $0).flatMap(number) }
  }

  private init<Kind: EnvironmentalQuantity>(_ quantity: Kind.Type) {
    let unit = quantity.format.unit
    self.init(EnvironmentalValue<Kind>.self, unit: unit.isEmpty ? nil : unit) { $0.value }
  }

  private static let all = others.merging(
    EnvironmentalSensing.quantities.compactMap { quantity in
      quantity.format.uuid.shortValue.map { ($0, Quantity(quantity)) }
    }, uniquingKeysWith: { other, _ in other })

  private static let others: [UInt32: Quantity] = [
    0x2A07: Quantity(unit: "dBm") { $0.count == 1 ? $0.first.map { Double(Int8(bitPattern: $0)) } : nil },
    0x2A19: Quantity(BatteryLevel.self, unit: "%") { Double($0.percent) },
    0x2A1C: Quantity(TemperatureMeasurement.self, unit: "°C") { $0.celsius },
    0x2A1E: Quantity(TemperatureMeasurement.self, unit: "°C") { $0.celsius },
    0x2A37: Quantity(HeartRateMeasurement.self, unit: "bpm") { Double($0.beatsPerMinute) },
    0x2A8D: Quantity(unit: "bpm") { $0.count == 1 ? $0.first.map { Double($0) } : nil },
  ]

  /// The quantity of a characteristic; nil for one that is not a number, or of no profile of the package.
  public static func of(_ uuid: BluetoothUUID) -> Quantity? { uuid.shortValue.flatMap { all[$0] } }

  /// The number in a value of the characteristic with its unit; nil if ``number(in:)`` is.
  public static func measured(_ octets: [UInt8], of uuid: BluetoothUUID) -> (value: Double, unit: String?)? {
    guard let quantity = of(uuid), let number = quantity.number(in: octets) else { return nil }
    return (number, quantity.unit)
  }

  /// The number in a value; nil for a malformed value, for "value is not known" and for the special values that are not
  /// numbers.
  public func number(in octets: [UInt8]) -> Double? { decode(octets).flatMap { $0.isFinite ? $0 : nil } }
}
