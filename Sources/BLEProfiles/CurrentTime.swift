/// The Current Time Service (CTS 1.1).
///
/// ```swift
/// let time = CurrentTime.localService { CurrentTimeValue(ExactTime(DateTime(year: 2026, month: 1, day: 2))) }
/// let now = try await device.read(CurrentTime.currentTime)
/// ```
public enum CurrentTime {
  /// The service, 0x1805.
  public static let service: BluetoothUUID = "1805"
  /// Current Time, 0x2A2B: read, notified, and written if the server permits it.
  public static let currentTime = ProfileCharacteristic<CurrentTimeValue>("2A2B", in: service)
  /// Local Time Information, 0x2A0F.
  public static let localTime = ProfileCharacteristic<LocalTimeInformation>("2A0F", in: service)
  /// Reference Time Information, 0x2A14.
  public static let referenceTime = ProfileCharacteristic<ReferenceTimeInformation>("2A14", in: service)

  /// The error for a write of which the server ignored a field (CTS 1.1, 1.6).
  public static let dataFieldIgnored = ATTErrorCode(rawValue: 0x80)

  /// The service of a time server. Current Time is read and notified; the other characteristics are optional.
  ///
  /// - Parameters:
  ///   - localTime: the time zone and the daylight saving time; nil omits the characteristic.
  ///   - referenceTime: returns the source of the time, in the same way as `now`; nil omits the characteristic.
  ///   - updates: runs for each subscriber. It sends the time after a change by more than a minute, or a change of the
  ///     time zone or of daylight saving time. Unless the user changes the time, it sends at most once every 15 minutes
  ///     (CTS 1.1, 3.1.2). Nil sends nothing.
  ///   - setTime: receives a time that a client writes; nil permits no writes.
  ///   - now: returns the time, on the thread of the stack (``LocalCharacteristic/readSynchronously(security:_:)``).
  public static func localService(
    localTime: LocalTimeInformation? = nil,
    referenceTime: (@Sendable () -> ReferenceTimeInformation)? = nil,
    updates: (@Sendable (Subscriber) async throws -> Void)? = nil,
    setTime: (@Sendable (CurrentTimeValue, RemoteDevice) async throws -> Void)? = nil,
    now: @escaping @Sendable () -> CurrentTimeValue
  ) -> LocalService {
    var time = LocalCharacteristic(currentTime).readSynchronously { _ in now() }.notify { try await updates?($0) }
    if let setTime { time = time.write(CurrentTimeValue.self) { try await setTime($0, $1) } }
    var characteristics = [time]
    if let localTime { characteristics.append(LocalCharacteristic(Self.localTime).value(localTime)) }
    if let referenceTime {
      characteristics.append(LocalCharacteristic(Self.referenceTime).readSynchronously { _ in referenceTime() })
    }
    return LocalService(service, characteristics)
  }
}
