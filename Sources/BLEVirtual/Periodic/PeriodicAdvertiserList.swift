internal import BLEHCI
internal import BLEWire

/// The periodic advertiser list (Vol 6, Part B, 4.3.5; Vol 4, Part E, 7.8.70 to 7.8.73).
///
/// It does not change while LE Periodic Advertising Create Sync is pending.
struct PeriodicAdvertiserList: Sendable {
  private struct Entry: Hashable, Sendable {
    let address: DeviceAddress
    let sid: UInt8
  }

  let capacity: UInt8
  private var entries: [Entry] = []

  init(capacity: UInt8) { self.capacity = capacity }

  /// - Parameter address: an identity address, or the address of a device without one.
  func contains(_ address: DeviceAddress, sid: UInt8) -> Bool { entries.contains(Entry(address: address, sid: sid)) }

  mutating func add(_ command: HCI.LEAddDeviceToPeriodicAdvertiserList, isInUse: Bool) -> HCIErrorCode {
    guard command.advertiserAddress.kind.rawValue <= 1, command.advertisingSID <= 0x0F else {
      return .invalidCommandParameters
    }
    guard !isInUse else { return .commandDisallowed }
    let entry = Entry(address: command.advertiserAddress, sid: command.advertisingSID)
    guard !entries.contains(entry) else { return .invalidCommandParameters }
    guard entries.count < Int(capacity) else { return .memoryCapacityExceeded }
    entries.append(entry)
    return .success
  }

  mutating func remove(_ command: HCI.LERemoveDeviceFromPeriodicAdvertiserList, isInUse: Bool) -> HCIErrorCode {
    guard !isInUse else { return .commandDisallowed }
    let entry = Entry(address: command.advertiserAddress, sid: command.advertisingSID)
    guard let index = entries.firstIndex(of: entry) else { return .unknownAdvertisingIdentifier }
    entries.remove(at: index)
    return .success
  }

  mutating func clear(isInUse: Bool) -> HCIErrorCode {
    guard !isInUse else { return .commandDisallowed }
    entries = []
    return .success
  }
}
