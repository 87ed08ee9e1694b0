/// The value of Temperature Measurement (0x2A1C) and Intermediate Temperature (0x2A1E): flags, the temperature, two
/// optional fields (HTS 1.0, 3.1.1).
public struct TemperatureMeasurement: ProfileValue {
  /// The temperature with its unit.
  public var temperature = Temperature.celsius(MedicalFloat(.notANumber))
  /// When the temperature was measured; nil if the value does not contain it.
  public var timeStamp: DateTime?
  /// Where the temperature was measured; nil if the value does not contain it.
  public var type: TemperatureType?

  /// A temperature with its unit.
  public enum Temperature: Hashable, Sendable {
    /// In degrees Celsius.
    case celsius(MedicalFloat)
    /// In degrees Fahrenheit.
    case fahrenheit(MedicalFloat)
  }

  /// Not a number, in degrees Celsius.
  public init() {}

  /// A measurement.
  public init(_ temperature: Temperature, timeStamp: DateTime? = nil, type: TemperatureType? = nil) {
    (self.temperature, self.timeStamp, self.type) = (temperature, timeStamp, type)
  }

  /// The temperature in degrees Celsius; NaN or infinite for the special values.
  public var celsius: Double {
    switch temperature {
    case .celsius(let number): number.value
    case .fahrenheit(let number): (number.value - 32) * 5 / 9
    }
  }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    var flags: UInt8 = (timeStamp == nil ? 0 : 2) | (type == nil ? 0 : 4)
    var number: MedicalFloat
    switch temperature {
    case .celsius(let value): number = value
    case .fahrenheit(let value):
      number = value
      flags |= 1
    }
    try field.integer("Flags", &flags)
    try field.value("Temperature Measurement Value", &number)
    temperature = flags & 1 == 0 ? .celsius(number) : .fahrenheit(number)
    try field.optional(&timeStamp, if: flags & 2 != 0)
    try field.optional(&type, if: flags & 4 != 0)
    try field.ignoreRest(if: flags & 0xF8 != 0)
  }
}

/// The value of Temperature Type (0x2A1D), one octet (HTS 1.0, 3.2.1).
public struct TemperatureType: AssignedNumber, ProfileValue {
  public var rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }
  /// Body (general).
  public init() { self = .body }

  /// Armpit (1).
  public static let armpit = Self(rawValue: 1)
  /// Body, general (2).
  public static let body = Self(rawValue: 2)
  /// Ear, usually the lobe (3).
  public static let ear = Self(rawValue: 3)
  /// Finger (4).
  public static let finger = Self(rawValue: 4)
  /// Gastro-intestinal tract (5).
  public static let gastrointestinalTract = Self(rawValue: 5)
  /// Mouth (6).
  public static let mouth = Self(rawValue: 6)
  /// Rectum (7).
  public static let rectum = Self(rawValue: 7)
  /// Toe (8).
  public static let toe = Self(rawValue: 8)
  /// Tympanum, the ear drum (9).
  public static let tympanum = Self(rawValue: 9)

  public static let spaceName: StaticString = "temperature type"
  public static let names: [Self: StaticString] = [
    .armpit: "Armpit", .body: "Body (general)", .ear: "Ear (usually lobe)", .finger: "Finger",
    .gastrointestinalTract: "Gastro-intestinal Tract", .mouth: "Mouth", .rectum: "Rectum", .toe: "Toe",
    .tympanum: "Tympanum (ear drum)",
  ]

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.integer("Temperature Type", &rawValue)
  }
}
