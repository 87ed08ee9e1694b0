import BluetoothLE
import Synchronization

/// A lamp whose level from 0 to 100 clients read and write.
enum LevelledLamp {
  static let service: BluetoothUUID = "7D0A0041-9E47-4C5A-9B1B-3C1E6F2A8D10"
  static let level: BluetoothUUID = "7D0A0042-9E47-4C5A-9B1B-3C1E6F2A8D10"
}

/// The place of `willRead`, `willWrite` and `didWrite` is a handler of the characteristic.
func serveLevel(on adapter: Adapter, changed: @escaping @Sendable (UInt8) -> Void) async throws {
  let stored = Mutex<UInt8>(50)
  let level = LocalCharacteristic(LevelledLamp.level)
    .readSynchronously { _ in stored.withLock { $0 } }
    .write(UInt8.self) { level, _ in
      // The error that `willWrite` returns is thrown here. The client gets it.
      guard level <= 100 else { throw ATTErrorCode.outOfRange }
      stored.withLock { $0 = level }
      changed(level)
    }
  try await adapter.serve([LocalService(LevelledLamp.service, [level])], advertisingAs: "Lamp")
}
