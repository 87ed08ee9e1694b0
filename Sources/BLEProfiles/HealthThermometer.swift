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
