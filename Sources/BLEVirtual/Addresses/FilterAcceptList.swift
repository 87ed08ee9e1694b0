internal import BLEHCI
internal import BLEWire

/// The filter accept list (Vol 6, Part B, 4.3.1; Vol 4, Part E, 7.8.14 to 7.8.17).
///
/// It does not change while advertising, scanning or initiating uses it.
struct FilterAcceptList: Sendable {
  let capacity: UInt8
  private var devices: [DeviceAddress] = []

  init(capacity: UInt8) { self.capacity = capacity }

  /// - Parameter device: an identity address, or the address of a device without one.
  func contains(_ device: DeviceAddress) -> Bool { devices.contains(device) }

  mutating func clear(isInUse: Bool) -> HCIErrorCode {
    guard !isInUse else { return .commandDisallowed }
    devices = []
    return .success
  }

  mutating func add(_ device: DeviceAddress, isInUse: Bool) -> HCIErrorCode {
    guard !isInUse else { return .commandDisallowed }
    guard device.kind.rawValue <= 1 || device.kind == .anonymous else { return .invalidCommandParameters }
    if devices.contains(device) { return .success }
    guard devices.count < Int(capacity) else { return .memoryCapacityExceeded }
    devices.append(device)
    return .success
  }

  mutating func remove(_ device: DeviceAddress, isInUse: Bool) -> HCIErrorCode {
    guard !isInUse else { return .commandDisallowed }
    devices.removeAll { $0 == device }
    return .success
  }
}
