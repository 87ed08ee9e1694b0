import BluetoothLE
import Synchronization

/// A light that any device may read, and a paired one may switch.
enum Light {
  static let service: BluetoothUUID = "7D0A0011-9E47-4C5A-9B1B-3C1E6F2A8D10"
  static let isOn: BluetoothUUID = "7D0A0012-9E47-4C5A-9B1B-3C1E6F2A8D10"
}

/// What takes three kinds of exported objects over D-Bus: an application with a service, its characteristics, and an advertisement.
func serveLight(on adapter: Adapter, set: @escaping @Sendable (Bool) -> Void) async throws {
  let stored = Mutex(false)
  let light = LocalService(
    Light.service,
    [
      LocalCharacteristic(Light.isOn)
        .readSynchronously { _ in stored.withLock { $0 } }
        // "encrypt-write" of BlueZ: the central pairs first.
        .write(Bool.self, security: .encrypted) { isOn, device in
          print("\(device): \(isOn ? "on" : "off")")
          stored.withLock { $0 = isOn }
          set(isOn)
        }
    ])
  try await adapter.serve([light], advertisingAs: "Light")
}
