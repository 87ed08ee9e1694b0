/// The Battery Service (BAS 1.1).
///
/// ```swift
/// let battery = Battery.localService { BatteryLevel(percent: 87) }
/// let level = try await device.read(Battery.level).percent
/// ```
public enum Battery {
  /// The service, 0x180F.
  public static let service: BluetoothUUID = "180F"
  /// Battery Level, 0x2A19: read, and optionally notified.
  public static let level = ProfileCharacteristic<BatteryLevel>("2A19", in: service)
  /// Battery Level Status, 0x2BED: read, notified.
  public static let levelStatus = ProfileCharacteristic<BatteryLevelStatus>("2BED", in: service)

  /// The service of a battery.
  ///
  /// A device with several batteries has a service for each. The ``level`` of each has a Characteristic Presentation
  /// Format descriptor (0x2904) that distinguishes it from the others (BAS 1.1, 3.1).
  ///
  /// - Parameters:
  ///   - descriptors: the descriptors of the level, such as the Characteristic Presentation Format.
  ///   - security: the security that the link must have.
  ///   - updates: runs for each subscriber of the level, and sends a ``BatteryLevel`` when the level has changed; nil
  ///     for no notifications.
  ///   - status: returns the status, in the same way as `level`; nil omits the characteristic.
  ///   - level: returns the level, on the thread of the stack (``LocalCharacteristic/readSynchronously(security:_:)``).
  ///     A program that has to ask its hardware keeps the last answer.
  public static func localService(
    descriptors: [LocalDescriptor] = [], security: RequiredSecurity = .none,
    updates: (@Sendable (Subscriber) async throws -> Void)? = nil,
    status: (@Sendable () -> BatteryLevelStatus)? = nil, level: @escaping @Sendable () -> BatteryLevel
  ) -> LocalService {
    var characteristic = LocalCharacteristic(Self.level, descriptors: descriptors)
      .readSynchronously(security: security) { _ in level() }
    if let updates { characteristic = characteristic.notify(security: security, updates) }
    var characteristics = [characteristic]
    if let status {
      characteristics.append(
        LocalCharacteristic(levelStatus).readSynchronously(security: security) { _ in status() }
          .notify(security: security) { try await $0.send(status()) })
    }
    return LocalService(service, characteristics)
  }
}
