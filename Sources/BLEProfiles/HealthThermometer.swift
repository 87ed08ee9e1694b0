/// The Health Thermometer Service (HTS 1.0).
///
/// ```swift
/// let thermometer = HealthThermometer.localService(type: .ear) { subscriber in
///   try await subscriber.send(TemperatureMeasurement(.celsius(MedicalFloat(36.6, decimals: 1))))
/// }
/// for try await measurement in try await device.values(of: HealthThermometer.measurement) { print(measurement.celsius) }
/// ```
public enum HealthThermometer {
  /// The service, 0x1809.
  public static let service: BluetoothUUID = "1809"
  /// Temperature Measurement, 0x2A1C: indicated.
  public static let measurement = ProfileCharacteristic<TemperatureMeasurement>("2A1C", in: service)
  /// Temperature Type, 0x2A1D: read. The type of temperature, if measurements do not contain it.
  public static let type = ProfileCharacteristic<TemperatureType>("2A1D", in: service)
  /// Intermediate Temperature, 0x2A1E: notified while a measurement is made.
  public static let intermediate = ProfileCharacteristic<TemperatureMeasurement>("2A1E", in: service)
  /// Measurement Interval, 0x2A21: read; written and indicated if the server permits it. In seconds, 1 to 65535; 0
  /// means no periodic measurement.
  public static let interval = ProfileCharacteristic<UInt16>("2A21", in: service)

  /// The error for an interval outside the valid range (HTS 1.0, 1.6).
  public static let outOfRange = ATTErrorCode(rawValue: 0x80)

  /// A measurement interval that clients may write.
  public struct Interval: Sendable {
    /// The intervals that are accepted, in seconds. The Valid Range descriptor (0x2906) contains them.
    public var validRange: ClosedRange<UInt16>
    /// Returns the interval in seconds.
    public var get: @Sendable () -> UInt16
    /// Receives an interval of the valid range, or 0. Others are answered with ``HealthThermometer/outOfRange``.
    public var set: @Sendable (UInt16, RemoteDevice) async throws -> Void

    /// An interval.
    public init(
      validRange: ClosedRange<UInt16>, get: @escaping @Sendable () -> UInt16,
      set: @escaping @Sendable (UInt16, RemoteDevice) async throws -> Void
    ) {
      (self.validRange, self.get, self.set) = (validRange, get, set)
    }
  }

  /// The service of a thermometer.
  ///
  /// - Parameters:
  ///   - type: where the temperature is measured, if that is constant; nil omits the characteristic, and measurements
  ///     contain the type.
  ///   - intermediate: runs for each subscriber of intermediate temperatures; nil omits the characteristic.
  ///   - interval: the interval of the measurements; nil omits the characteristic. The profile requires an
  ///     authenticated link to write it (HTP 1.0, 6.1); `writeSecurity` sets the requirement.
  ///   - writeSecurity: the security that the link must have to write the interval.
  ///   - measurements: runs for each subscriber of the measurements, which are indicated.
  public static func localService(
    type: TemperatureType? = nil, intermediate: (@Sendable (Subscriber) async throws -> Void)? = nil,
    interval: Interval? = nil, writeSecurity: RequiredSecurity = .authenticated,
    measurements: @escaping @Sendable (Subscriber) async throws -> Void
  ) -> LocalService {
    var characteristics = [LocalCharacteristic(measurement).indicate(measurements)]
    if let type { characteristics.append(LocalCharacteristic(Self.type).value(type)) }
    if let intermediate { characteristics.append(LocalCharacteristic(Self.intermediate).notify(intermediate)) }
    if let interval {
      let range = interval.validRange
      let descriptor = LocalDescriptor("2906", value: range.lowerBound.octets + range.upperBound.octets)
      characteristics.append(
        LocalCharacteristic(Self.interval, descriptors: [descriptor])
          .readSynchronously { _ in interval.get() }
          .write(UInt16.self, security: writeSecurity) { seconds, device in
            guard seconds == 0 || range.contains(seconds) else { throw outOfRange }
            try await interval.set(seconds, device)
          })
    }
    return LocalService(service, characteristics)
  }
}

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
