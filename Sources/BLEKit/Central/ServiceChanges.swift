import BLEATT
import BLEGATT
import BLEHost

/// The changes of a device's services during one link (Vol 3, Part G, 7.1). What was discovered before a change of its
/// handle is not used: another attribute may have the handle by now.
struct ServiceChanges: Sendable {
  /// The number of changes so far. A discovery has the number at its beginning.
  private(set) var count: UInt32 = 0
  /// The latest changes, each with its number.
  private var latest: [(range: ClosedRange<AttributeHandle>, number: UInt32)] = []

  /// Changes whose ranges are remembered. Before them, everything counts as changed.
  static let limit = 32

  mutating func add(_ range: ClosedRange<AttributeHandle>) {
    count &+= 1
    latest.append((range, count))
    if latest.count > Self.limit { latest.removeFirst() }
  }

  /// Whether an attribute has changed since the discovery with this number.
  func includes(_ handle: AttributeHandle, since number: UInt32) -> Bool {
    guard number != count else { return false }
    if let oldest = latest.first, number < oldest.number - 1 { return true }
    return latest.contains { $0.number > number && $0.range.contains(handle) }
  }
}

extension RemoteDevice {
  /// A part of the device's database that a discovery left out or corrected, because the device has described it
  /// wrongly. Everything else was discovered.
  public struct DiscoveryFault: Hashable, Sendable, CustomStringConvertible {
    /// The attributes concerned.
    public let handles: ClosedRange<AttributeHandle>
    /// What the device has answered.
    public let error: BLEError

    public var description: String {
      let (first, last) = (handles.lowerBound, handles.upperBound)
      return "\(first == last ? "handle \(first)" : "handles \(first) to \(last)"): \(error)"
    }
  }

  /// What the discoveries on this link left out or corrected; empty if the device has made no mistake. At most 64.
  public var discoveryFaults: [DiscoveryFault] {
    session.run { [peer] state, _ in state.links[peer]?.discoveryFaults ?? [] }
  }
}

extension LinkState {
  static let discoveryFaultLimit = 64

  mutating func note(_ faults: [RemoteDevice.DiscoveryFault]) {
    for fault in faults where discoveryFaults.count < Self.discoveryFaultLimit && !discoveryFaults.contains(fault) {
      discoveryFaults.append(fault)
    }
  }
}
