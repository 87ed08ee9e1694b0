import BLESMP
import BLEWire

/// The sign counters of peers, of all bonds: which of them are on stable storage as used (Vol 3, Part H, 2.4.5;
/// Docs/Decisions/pairing-and-bonds.md#storage-of-bonds).
struct SignCounters: Sendable {
  private struct Account {
    let identity: DeviceAddress
    var key: SecretKey?
    /// The counters below are stored as used.
    var storedEnd: UInt32
  }

  private var accounts: [Account] = []
  /// Whether the store has not answered in time since it last answered.
  var isFailing = false

  /// Takes over bonds as they are stored.
  mutating func load(_ bonds: [Bond]) {
    accounts = bonds.map { bond in
      let before = account(of: bond.identity).flatMap { $0.key == bond.peerCSRK ? $0.storedEnd : nil }
      return Account(
        identity: bond.identity, key: bond.peerCSRK, storedEnd: max(before ?? 0, bond.peerSignCounter))
    }
  }

  /// Takes a bond that a pairing has made.
  mutating func make(_ bond: Bond) {
    forget(bond.identity)
    accounts.append(Account(identity: bond.identity, key: bond.peerCSRK, storedEnd: 0))
  }

  mutating func forget(_ identity: DeviceAddress) { accounts.removeAll { $0.identity == identity } }

  private func account(of identity: DeviceAddress) -> Account? { accounts.first { $0.identity == identity } }

  /// A bond was stored.
  mutating func wasStored(_ bond: Bond) {
    guard let place = accounts.firstIndex(where: { $0.identity == bond.identity && $0.key == bond.peerCSRK })
    else { return }
    accounts[place].storedEnd = max(accounts[place].storedEnd, bond.peerSignCounter)
  }

  /// How far the store is with the signed writes of one peer.
  struct StoreState: Equatable, Sendable {
    /// The counters below are known as used to a later run.
    var peerEnd: UInt32
    var isFailing: Bool
  }

  func store(of identity: DeviceAddress) -> StoreState {
    StoreState(peerEnd: account(of: identity)?.storedEnd ?? 0, isFailing: isFailing)
  }
}
