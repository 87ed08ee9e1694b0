import BLEATT
import BLEGATT
import BLEWire

/// The state of the GATT client of a link: large, and in memory of its own from the first change on. The client of most
/// links to a central is never used (Docs/Decisions/performance.md).
struct LinkClientState: Sendable {
  /// The state of a client that sends or receives.
  struct Used: Sendable {
    var gatt = GATTClient()
    /// The owner of each operation that has not ended.
    var owners: [GATTClient.OperationID: OwnerID] = [:]
    var subscriptions = LinkSubscriptions()
    var parked = ParkedOperations()
    var hasDiscardedCache = false
  }

  /// One, or none. An array is changed in place, the value of an indirect case is copied.
  private var storage: [Used] = []
  /// The MTU before the first use, in octets.
  private var unusedMTU = UInt16(ATT.defaultMTU)

  var isUnused: Bool { storage.isEmpty }

  /// The state; the first change creates it.
  var used: Used {
    _read { if isUnused { yield makeUsed() } else { yield storage[0] } }
    _modify {
      if isUnused { storage.append(makeUsed()) }
      yield &storage[0]
    }
  }

  /// The client; the first change creates it.
  var gatt: GATTClient {
    _read { yield used.gatt }
    _modify { yield &used.gatt }
  }

  private func makeUsed() -> Used {
    var used = Used()
    used.gatt.mtu = Int(unusedMTU)
    return used
  }

  /// A part of the state; nil before the first use.
  @inline(__always)
  func ifUsed<Value>(_ value: (borrowing Used) -> Value?) -> Value? { isUnused ? nil : value(storage[0]) }

  var deadline: Instant? { ifUsed { $0.gatt.deadline } }
  var mtu: Int { ifUsed { $0.gatt.mtu } ?? Int(unusedMTU) }

  mutating func setMTU(_ mtu: Int) {
    if isUnused { unusedMTU = UInt16(clamping: mtu) } else { gatt.mtu = mtu }
  }
}
