/// The Heart Rate Service (HRS 1.0).
///
/// ```swift
/// let monitor = HeartRate.localService(location: .chest) { subscriber in
///   while true {
///     try await subscriber.send(HeartRateMeasurement(beatsPerMinute: 72))
///     try await Task.sleep(for: .seconds(1))
///   }
/// }
/// ```
public enum HeartRate {
  /// The service, 0x180D.
  public static let service: BluetoothUUID = "180D"
  /// Heart Rate Measurement, 0x2A37: notified.
  public static let measurement = ProfileCharacteristic<HeartRateMeasurement>("2A37", in: service)
  /// Body Sensor Location, 0x2A38: read.
  public static let bodySensorLocation = ProfileCharacteristic<BodySensorLocation>("2A38", in: service)
  /// Heart Rate Control Point, 0x2A39: written. It is present if the measurements contain the energy expended.
  public static let controlPoint = ProfileCharacteristic<HeartRateCommand>("2A39", in: service)

  /// The error for a command that the sensor does not support (HRS 1.0, 1.6).
  public static let controlPointNotSupported = ATTErrorCode(rawValue: 0x80)

  /// The service of a sensor.
  ///
  /// - Parameters:
  ///   - location: where the sensor is worn; nil omits the characteristic.
  ///   - resetEnergyExpended: sets the energy expended to 0. It is required if measurements contain that; nil omits the
  ///     control point. Other commands are answered with ``controlPointNotSupported``.
  ///   - measurements: runs for each subscriber, and sends a measurement about once a second (HRS 1.0, 3.1.1).
  public static func localService(
    location: BodySensorLocation? = nil, resetEnergyExpended: (@Sendable (RemoteDevice) async throws -> Void)? = nil,
    measurements: @escaping @Sendable (Subscriber) async throws -> Void
  ) -> LocalService {
    var characteristics = [LocalCharacteristic(measurement).notify(measurements)]
    if let location { characteristics.append(LocalCharacteristic(bodySensorLocation).value(location)) }
    if let resetEnergyExpended {
      characteristics.append(
        LocalCharacteristic(controlPoint).write(HeartRateCommand.self) { command, device in
          guard command.operation == .resetEnergyExpended else { throw controlPointNotSupported }
          try await resetEnergyExpended(device)
        })
    }
    return LocalService(service, characteristics)
  }
}
