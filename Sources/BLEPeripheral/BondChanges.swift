import BLEHost
import BLEWire

/// The changes of bonds that found the queue of events full: of each device the last one. None is discarded, because
/// the program's store would keep what the host no longer has.
///
/// They need few places: at most one for each bond of the host, and one for each that the program has. A bond that the
/// program has never had leaves nothing when it is removed.
struct BondChanges {
  private enum Change {
    indirect case changed(Bond)
    case removed(DeviceAddress)

    var identity: DeviceAddress {
      switch self {
      case .changed(let bond): bond.identity
      case .removed(let identity): identity
      }
    }
  }

  /// The devices whose bonds the program has, or will have with the events of its queue.
  private var delivered: [DeviceAddress]
  private var waiting: [Change] = []

  init(_ bonds: [Bond]) { delivered = bonds.map { $0.identity } }

  var isEmpty: Bool { waiting.isEmpty }

  /// The event of a change is in the queue of events.
  mutating func queued(_ event: HostEvent.Bonds) {
    switch event {
    case .changed(let bond): deliver(bond.identity)
    case .removed(let identity): delivered.removeAll { $0 == identity }
    case .replaced, .lost: break
    }
  }

  /// Keeps a change until ``next()``.
  mutating func append(_ event: HostEvent.Bonds) {
    switch event {
    case .changed(let bond): replace(bond.identity, with: .changed(bond))
    case .removed(let identity): replace(identity, with: delivered.contains(identity) ? .removed(identity) : nil)
    case .replaced, .lost: break
    }
  }

  /// The event of the change that has waited longest.
  mutating func next() -> PeripheralEvent? {
    guard !waiting.isEmpty else { return nil }
    switch waiting.removeFirst() {
    case .changed(let bond):
      deliver(bond.identity)
      return .bondChanged(bond)
    case .removed(let identity):
      delivered.removeAll { $0 == identity }
      return .bondRemoved(identity)
    }
  }

  private mutating func deliver(_ identity: DeviceAddress) {
    if !delivered.contains(identity) { delivered.append(identity) }
  }

  private mutating func replace(_ identity: DeviceAddress, with change: Change?) {
    waiting.removeAll { $0.identity == identity }
    if let change { waiting.append(change) }
  }
}
