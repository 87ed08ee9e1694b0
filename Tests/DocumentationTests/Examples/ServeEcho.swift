import BluetoothLE
import Synchronization

/// bleno's example "echo": a value that is read, written and notified.
func serveEcho() async throws {
  let stored = Mutex<[UInt8]>([])
  let echo = LocalService(
    "EC00",
    [
      LocalCharacteristic("EC0E")
        .readSynchronously { _ in stored.withLock { $0 } }
        .write([UInt8].self) { value, device in
          print("\(device) writes \(value)")
          stored.withLock { $0 = value }
        }
    ])
  try await Adapter.open().serve([echo], advertisingAs: "echo")
}
