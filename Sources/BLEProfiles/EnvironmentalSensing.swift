/// The Environmental Sensing Service (ESS 1.0.1).
///
/// A device has a characteristic for each quantity that it measures, and several of one type if it has several sensors.
/// ``EnvironmentalValue`` keeps the decimal resolution of a value.
///
/// ```swift
/// let station = EnvironmentalSensing.localService([
///   EnvironmentalSensing.sensor(Temperature.self) { EnvironmentalValue(21.5) },
///   EnvironmentalSensing.sensor(Humidity.self) { EnvironmentalValue(45) },
/// ])
/// let celsius = try await device.read(EnvironmentalSensing.temperature).value
/// ```
public enum EnvironmentalSensing {
  /// The service, 0x181A.
  public static let service: BluetoothUUID = "181A"

  /// The temperature.
  public static let temperature = characteristic(Temperature.self)
  /// The humidity.
  public static let humidity = characteristic(Humidity.self)
  /// The pressure.
  public static let pressure = characteristic(Pressure.self)

  /// The quantities that are numbers: all of this library but ``BarometricPressureTrend``.
  public static let quantities: [any EnvironmentalQuantity.Type] = {
    var quantities = Quantities()
    visitQuantities(with: &quantities)
    return quantities.types
  }()

  private struct Quantities: EnvironmentalQuantityVisitor {
    var types: [any EnvironmentalQuantity.Type] = []

    mutating func visit<Quantity: EnvironmentalQuantity>(_ quantity: Quantity.Type) { types.append(quantity) }
  }

  /// The error for a write request with a trigger that the server refuses (ESS 1.0.1, 1.6): Write Request Rejected.
  public static let writeRequestRejected = ATTErrorCode(rawValue: 0x80)
  /// The error for a condition that the server does not support (ESS 1.0.1, 1.6): Condition not supported.
  public static let conditionNotSupported = ATTErrorCode(rawValue: 0x81)

  /// The characteristic of a quantity.
  public static func characteristic<Quantity: EnvironmentalQuantity>(
    _ quantity: Quantity.Type
  ) -> ProfileCharacteristic<EnvironmentalValue<Quantity>> {
    ProfileCharacteristic(Quantity.format.uuid, in: service)
  }

  /// The characteristic of a sensor: clients can read it, and it is notified to subscribers if `updates` is given.
  ///
  /// - Parameters:
  ///   - quantity: the quantity that the sensor measures.
  ///   - measurement: how the sensor measures, for the descriptor ES Measurement (0x290C). If a device has several
  ///     characteristics of one type, each has the descriptor.
  ///   - validRange: the values that the sensor can have, for the descriptor Valid Range (0x2906).
  ///   - updates: runs for each subscriber, and sends an ``EnvironmentalValue`` when a trigger condition holds.
  ///   - read: returns the value. It runs in a task, because it may wait for the sensor.
  public static func sensor<Quantity: EnvironmentalQuantity>(
    _ quantity: Quantity.Type, measurement: EnvironmentalMeasurement? = nil,
    validRange: ClosedRange<Double>? = nil, updates: (@Sendable (Subscriber) async throws -> Void)? = nil,
    read: @escaping @Sendable () -> EnvironmentalValue<Quantity>
  ) -> LocalCharacteristic {
    var descriptors: [LocalDescriptor] = []
    if let measurement { descriptors.append(LocalDescriptor("290C", value: measurement.octets)) }
    if let validRange {
      let limits = [validRange.lowerBound, validRange.upperBound].map { EnvironmentalValue<Quantity>($0).octets }
      descriptors.append(LocalDescriptor("2906", value: limits.flatMap { $0 }))
    }
    let characteristic = LocalCharacteristic(Self.characteristic(quantity), descriptors: descriptors)
      .read { _ in read() }
    return updates.map { characteristic.notify($0) } ?? characteristic
  }

  /// The service with the characteristics of its sensors.
  public static func localService(_ sensors: [LocalCharacteristic]) -> LocalService { LocalService(service, sensors) }
}
