/// A value of the Environmental Sensing Service: an integer with the decimal resolution of its quantity.
///
/// ```swift
/// let temperature = EnvironmentalValue<Temperature>(21.5)
/// print(temperature.octets, temperature)  // [102, 8] 21.50 °C
/// ```
public struct EnvironmentalValue<Quantity: EnvironmentalQuantity>: ProfileValue, CustomStringConvertible {
  /// The integer that is sent, in units of the resolution; nil for "value is not known".
  public var rawValue: Int? {
    get { number.map { Int(clamping: $0) } }
    set { number = newValue.map { Int64($0) } }
  }

  private var number: Int64?

  /// An unknown value if the quantity has one, otherwise 0.
  public init() { number = Quantity.format.unknown == nil ? 0 : nil }

  /// An integer in units of the resolution.
  public init(rawValue: Int?) { number = rawValue.map { Int64($0) } }

  /// A value in the unit of the quantity, rounded to its resolution and limited to its range.
  public init(_ value: Double) {
    let scaled = (value * power(Quantity.format.decimals)).rounded()
    let range = Quantity.format.limits
    self.init()
    if !scaled.isNaN {
      number = Int64(Swift.min(Swift.max(scaled, Double(range.lowerBound)), Double(range.upperBound)))
    }
  }

  /// Decodes a value that fills `bytes` exactly.
  ///
  /// - Throws: `CodecError` for the wrong length, or an integer that the quantity does not allow.
  public init(decoding bytes: Bytes) throws(CodecError) {
    self.init()
    var decoder = PacketDecoder(bytes)
    try layout(&decoder)
    guard decoder.remaining.isEmpty else { throw .trailing(count: decoder.remaining.count) }
    if let number, !Quantity.format.limits.contains(number) { throw .invalid(field: "Value") }
  }

  /// The value in the unit of the quantity; nil if it is not known.
  public var value: Double? { number.map { Double($0) / power(Quantity.format.decimals) } }

  /// The digits and the unit: `21.50 °C`.
  public var description: String {
    guard let number else { return "unknown" }
    return decimalText(number, exponent: -Quantity.format.decimals) + Quantity.format.unit.suffix
  }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    let format = Quantity.format
    let sent = number.map { Swift.min(Swift.max($0, format.limits.lowerBound), format.limits.upperBound) }
    var octets = UInt32(truncatingIfNeeded: sent ?? format.unknown.map { Int64($0) } ?? 0)
    try field.integer("Value", octets: format.octets, &octets)
    number = format.integer(octets)
  }
}

/// The value of the descriptor ES Measurement (0x290C), eleven octets (ESS 1.0.1, 3.1.2.1).
public struct EnvironmentalMeasurement: ProfileValue {
  /// Reserved for future use; 0.
  public var flags: UInt16 = 0
  /// How the values of a period are combined.
  public var samplingFunction = SamplingFunction.unspecified
  /// The time over which values are combined, in seconds, 24 bits; 0 means not used.
  public var measurementPeriod: UInt32 = 0
  /// The internal time between updates, in seconds, 24 bits; 0 means not used.
  public var updateInterval: UInt32 = 0
  /// The place of the sensor (GATT Assigned Numbers, ES Measurement application), such as 0x01 air or 0x04 indoor; 0
  /// means unspecified.
  public var application: UInt8 = 0
  /// The uncertainty in units of 0.5 %; 0xFF means unknown.
  public var uncertainty: UInt8 = 0xFF

  /// How the values of a period are combined.
  public struct SamplingFunction: AssignedNumber {
    public var rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    /// Unspecified (0).
    public static let unspecified = Self(rawValue: 0)
    /// Instantaneous (1).
    public static let instantaneous = Self(rawValue: 1)
    /// Arithmetic Mean (2).
    public static let arithmeticMean = Self(rawValue: 2)
    /// RMS (3).
    public static let rootMeanSquare = Self(rawValue: 3)
    /// Maximum (4).
    public static let maximum = Self(rawValue: 4)
    /// Minimum (5).
    public static let minimum = Self(rawValue: 5)
    /// Accumulated (6).
    public static let accumulated = Self(rawValue: 6)
    /// Count (7).
    public static let count = Self(rawValue: 7)
    public static let spaceName: StaticString = "sampling function"
    public static let names: [Self: StaticString] = [
      .unspecified: "Unspecified", .instantaneous: "Instantaneous", .arithmeticMean: "Arithmetic Mean",
      .rootMeanSquare: "RMS", .maximum: "Maximum", .minimum: "Minimum", .accumulated: "Accumulated", .count: "Count",
    ]
  }

  /// Unspecified.
  public init() {}

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.integer("Flags", &flags)
    try field.value("Sampling Function", &samplingFunction)
    try field.integer("Measurement Period", octets: 3, &measurementPeriod)
    try field.integer("Update Interval", octets: 3, &updateInterval)
    try field.integer("Application", &application)
    try field.integer("Measurement Uncertainty", &uncertainty)
  }
}

/// The value of the descriptor ES Trigger Setting (0x290D): a condition, and the seconds or the value that it is
/// compared with (ESS 1.0.1, 3.1.2.2).
public struct EnvironmentalTrigger: ProfileValue {
  /// The condition.
  public var condition = Condition.inactive
  /// The operand: nothing, seconds in three octets, or a value of the characteristic.
  public var operand: Bytes = []

  /// The condition under which a value is notified.
  public struct Condition: AssignedNumber {
    public var rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    /// Trigger inactive (0).
    public static let inactive = Self(rawValue: 0)
    /// Use a fixed time interval between transmissions (1); the operand has seconds.
    public static let fixedInterval = Self(rawValue: 1)
    /// No less than the specified time between transmissions (2); the operand has seconds.
    public static let minimumInterval = Self(rawValue: 2)
    /// When value changes compared to previous value (3).
    public static let changed = Self(rawValue: 3)
    /// While less than the specified value (4).
    public static let less = Self(rawValue: 4)
    /// While less than or equal to the specified value (5).
    public static let lessOrEqual = Self(rawValue: 5)
    /// While greater than the specified value (6).
    public static let greater = Self(rawValue: 6)
    /// While greater than or equal to the specified value (7).
    public static let greaterOrEqual = Self(rawValue: 7)
    /// While equal to the specified value (8).
    public static let equal = Self(rawValue: 8)
    /// While not equal to the specified value (9).
    public static let notEqual = Self(rawValue: 9)
    public static let spaceName: StaticString = "trigger condition"
  }

  /// An inactive trigger.
  public init() {}

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Condition", &condition)
    switch condition {
    case .inactive, .changed: operand = []
    case .fixedInterval, .minimumInterval: try field.octets("Operand", count: 3, &operand)
    default: try field.rest("Operand", &operand)
    }
  }
}
