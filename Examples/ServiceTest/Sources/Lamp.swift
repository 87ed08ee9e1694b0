public import BLEKit
import Synchronization

/// A lamp with a service of its own: the brightness is read, and written from 0 to 100 percent.
public final class Lamp: Sendable {
  public static let service: BluetoothUUID = "7A3C00B0-52D6-4C1E-9B0F-6D1E2F3A4B5C"
  public static let brightness: BluetoothUUID = "7A3C00B1-52D6-4C1E-9B0F-6D1E2F3A4B5C"

  private let percent = Mutex<UInt8>(0)

  public init() {}

  /// The service, for `Adapter.serve(_:advertisingAs:)`.
  public var localService: LocalService {
    LocalService(
      Self.service,
      [
        LocalCharacteristic(Self.brightness)
          .readSynchronously { [self] _ in percent.withLock { $0 } }
          .write(UInt8.self) { [self] value, _ in
            guard value <= 100 else { throw ATTErrorCode.valueNotAllowed }
            percent.withLock { $0 = value }
          }
      ])
  }
}
