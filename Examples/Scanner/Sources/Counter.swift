import BLEProfiles
import Synchronization

/// Counts devices by their addresses.
final class Counter: Sendable {
  private let addresses = Mutex<Set<DeviceAddress>>([])

  var count: Int { addresses.withLock { $0.count } }

  /// - Returns: whether the device is new.
  func add(_ address: DeviceAddress) -> Bool { addresses.withLock { $0.insert(address).inserted } }
}
