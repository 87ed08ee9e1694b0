import BLEKit
import Synchronization

/// A dimmer: a brightness from 0 to 1, which clients read and write.
enum Dimmer {
  static let service: BluetoothUUID = "7D0A0041-9E47-4C5A-9B1B-3C1E6F2A8D10"
  static let brightness: BluetoothUUID = "7D0A0042-9E47-4C5A-9B1B-3C1E6F2A8D10"

  static func localService() -> LocalService {
    let stored = Mutex<Float>(0)
    let brightness = LocalCharacteristic(brightness)
      .readSynchronously { _ in stored.withLock { $0 } }
      .writeSynchronously(Float.self) { value, _ in
        guard (0...1).contains(value) else { throw ATTErrorCode.valueNotAllowed }
        stored.withLock { $0 = value }
      }
    return LocalService(service, [brightness])
  }
}

/// Sets the brightness of a dimmer, and returns the one that it has then.
func setBrightness(_ value: Float, of name: String, with adapter: Adapter) async throws -> Float {
  try await adapter.withConnection(to: .named(name)) { device in
    do {
      try await device.write(value, to: Dimmer.brightness, in: Dimmer.service)
    } catch let error as BLEError where error.kind == .att(.valueNotAllowed) {
      print("\(value) is not between 0 and 1")
      throw error
    }
    return try await device.read(Dimmer.brightness, in: Dimmer.service)
  }
}
