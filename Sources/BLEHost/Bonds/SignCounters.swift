import BLESMP
import BLEWire

/// The sign counters of peers, of all bonds: which of them are on stable storage as used (Vol 3, Part H, 2.4.5;
/// Docs/Decisions/pairing-and-bonds.md#storage-of-bonds).
struct SignCounters: Sendable {
  private struct Account {
    var key: SecretKey?
    /// The counters below are stored as used.
    var storedEnd: UInt32
  }

  private var accounts: [DeviceAddress: Account] = [:]
  /// Whether the store has not answered in time since it last answered.
  var isFailing = false

  /// Takes over bonds as they are stored.
  mutating func load(_ bonds: [Bond]) {
    var loaded: [DeviceAddress: Account] = [:]
    for bond in bonds {
      var account = Account(key: bond.peerCSRK, storedEnd: bond.peerSignCounter)
      if let before = accounts[bond.identity], before.key == bond.peerCSRK {
        account.storedEnd = max(before.storedEnd, account.storedEnd)
      }
      loaded[bond.identity] = account
    }
    accounts = loaded
  }

  /// Takes a bond that a pairing has made.
  mutating func make(_ bond: Bond) { accounts[bond.identity] = Account(key: bond.peerCSRK, storedEnd: 0) }

  mutating func forget(_ identity: DeviceAddress) { accounts[identity] = nil }

  /// A bond was stored.
  mutating func wasStored(_ bond: Bond) {
    guard let account = accounts[bond.identity], account.key == bond.peerCSRK else { return }
    accounts[bond.identity]?.storedEnd = max(account.storedEnd, bond.peerSignCounter)
  }

  /// How far the store is with the signed writes of one peer.
  struct StoreState: Equatable, Sendable {
    /// The counters below are known as used to a later run.
    var peerEnd: UInt32
    var isFailing: Bool
  }

  func store(of identity: DeviceAddress) -> StoreState {
    StoreState(peerEnd: accounts[identity]?.storedEnd ?? 0, isFailing: isFailing)
  }
}
