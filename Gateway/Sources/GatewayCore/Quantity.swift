public import BLEWire

/// A characteristic whose value is one number, with its unit (GATT Specification Supplement; Assigned Numbers, 3.8).
public struct Quantity: Sendable {
  /// How the number is encoded, least significant octet first.
  public enum Format: Equatable, Sendable {
    /// An unsigned or signed integer of 1 to 4 octets.
    case unsigned(octets: Int)
    case signed(octets: Int)
    /// Temperature Measurement: flags, then an IEEE 11073 number of 4 octets; degrees Fahrenheit become Celsius.
    case temperatureMeasurement
    /// Heart Rate Measurement: flags, then the rate in 1 or 2 octets.
    case heartRateMeasurement
  }

  public let characteristic: UInt16
  public let format: Format
  /// The value of the number 1, as a power of ten.
  public let exponent: Int
  /// The unit as Home Assistant writes it.
  public let unit: String?
  /// The device class of Home Assistant's sensors; nil where none applies.
  public let deviceClass: String?

  init(_ characteristic: UInt16, _ format: Format, exponent: Int = 0, unit: String?, deviceClass: String?) {
    self.characteristic = characteristic
    self.format = format
    self.exponent = exponent
    self.unit = unit
    self.deviceClass = deviceClass
  }

  /// The quantities that are decoded.
  public static let all: [Quantity] = [
    Quantity(0x2A07, .signed(octets: 1), unit: "dBm", deviceClass: "signal_strength"),
    Quantity(0x2A19, .unsigned(octets: 1), unit: "%", deviceClass: "battery"),
    Quantity(0x2A1C, .temperatureMeasurement, unit: "°C", deviceClass: "temperature"),
    Quantity(0x2A37, .heartRateMeasurement, unit: "bpm", deviceClass: nil),
    Quantity(0x2A6C, .signed(octets: 3), exponent: -2, unit: "m", deviceClass: "distance"),
    Quantity(0x2A6D, .unsigned(octets: 4), exponent: -1, unit: "Pa", deviceClass: "atmospheric_pressure"),
    Quantity(0x2A6E, .signed(octets: 2), exponent: -2, unit: "°C", deviceClass: "temperature"),
    Quantity(0x2A6F, .unsigned(octets: 2), exponent: -2, unit: "%", deviceClass: "humidity"),
    Quantity(0x2A70, .unsigned(octets: 2), exponent: -2, unit: "m/s", deviceClass: "wind_speed"),
    Quantity(0x2A76, .unsigned(octets: 1), unit: nil, deviceClass: nil),
    Quantity(0x2A77, .unsigned(octets: 2), exponent: -1, unit: "W/m²", deviceClass: "irradiance"),
    Quantity(0x2A78, .unsigned(octets: 2), exponent: -3, unit: "m", deviceClass: "precipitation"),
    Quantity(0x2A7B, .signed(octets: 1), unit: "°C", deviceClass: "temperature"),
    Quantity(0x2AFB, .unsigned(octets: 3), exponent: -2, unit: "lx", deviceClass: "illuminance"),
    Quantity(0x2B8C, .unsigned(octets: 2), unit: "ppm", deviceClass: "carbon_dioxide"),
  ]

  /// The quantity of a characteristic; nil for one that is not a number, or that is not in ``all``.
  public static func of(_ uuid: BluetoothUUID) -> Quantity? {
    guard let short = uuid.shortValue else { return nil }
    return all.first { UInt32($0.characteristic) == short }
  }

  /// The number in a value; nil for a value of another length, and for "value is not known".
  public func number(in octets: [UInt8]) -> Double? {
    switch format {
    case .unsigned(let count): return octets.count == count ? integer(octets, isSigned: false) : nil
    case .signed(let count): return octets.count == count ? integer(octets, isSigned: true) : nil
    case .heartRateMeasurement:
      guard let flags = octets.first else { return nil }
      let count = flags & 1 == 0 ? 1 : 2
      return octets.count > count ? integer(Array(octets[1...count]), isSigned: false) : nil
    case .temperatureMeasurement:
      guard octets.count >= 5 else { return nil }
      let mantissa = Self.bits(octets[1...3])
      let signed = mantissa >= 0x80_0000 ? mantissa - 0x100_0000 : mantissa
      // NaN, not at this resolution, reserved, and the two infinities (IEEE 11073-20601).
      guard !(0x7F_FFFE...0x80_0002 ~= mantissa) else { return nil }
      let value = Self.scaled(signed, exponent: Int(Int8(bitPattern: octets[4])))
      return octets[0] & 1 == 0 ? value : (value - 32) * 5 / 9
    }
  }

  private func integer(_ octets: [UInt8], isSigned: Bool) -> Double? {
    let bits = Self.bits(octets[...])
    let width = octets.count * 8
    if isSigned {
      let isNegative = bits >> (width - 1) & 1 == 1
      let value = isNegative ? bits - 1 << width : bits
      // The most negative number means "value is not known".
      if value == -(1 << (width - 1)) { return nil }
      return Self.scaled(value, exponent: exponent)
    }
    // All bits set means "value is not known" in the quantities with more than one octet.
    if width > 8, format != .heartRateMeasurement, bits == 1 << width - 1 { return nil }
    return Self.scaled(bits, exponent: exponent)
  }

  private static func bits(_ octets: ArraySlice<UInt8>) -> Int {
    octets.reversed().reduce(0) { $0 << 8 | Int($1) }
  }

  /// `number` · 10^`exponent`, by one division so that 2150 · 10^-2 is the number nearest to 21.5.
  private static func scaled(_ number: Int, exponent: Int) -> Double {
    let power = (0..<min(abs(exponent), 128)).reduce(1.0) { value, _ in value * 10 }
    return exponent < 0 ? Double(number) / power : Double(number) * power
  }
}
