import BLESMP
import BLEWire

/// The sign counters of all bonds: which of ours may be used, and which of the peers' are on stable storage
/// (Vol 3, Part H, 2.4.5; Docs/Decisions/0055).
///
/// A bond's ``Bond/ownSignCounter`` is the end of what is reserved. What lies below the stored end and was not handed
/// out may be used: a later run begins at the stored end, and so never uses a counter twice.
struct SignCounters: Sendable {
  /// Counters that are reserved at a time.
  static let block: UInt32 = 64
  /// Counters that one link gets at a time.
  static let share: UInt32 = 16

  private struct Account {
    var ownKey: SecretKey?
    var peerKey: SecretKey?
    /// The next of our counters to hand out, and the end of those that may be.
    var next: UInt32
    var storedEnd: UInt32
    /// The peer's counters below are stored as used.
    var storedPeer: UInt32
  }

  private var accounts: [DeviceAddress: Account] = [:]
  /// Whether the store has not answered in time since it last answered.
  var isFailing = false

  /// Takes over bonds as they are stored. Counters that this run has handed out stay used.
  mutating func load(_ bonds: [Bond]) {
    var loaded: [DeviceAddress: Account] = [:]
    for bond in bonds {
      var account = Account(
        ownKey: bond.ownCSRK, peerKey: bond.peerCSRK, next: bond.ownSignCounter, storedEnd: bond.ownSignCounter,
        storedPeer: bond.peerSignCounter)
      if let before = accounts[bond.identity], before.ownKey == bond.ownCSRK {
        account.next = max(before.next, account.next)
        account.storedEnd = max(before.storedEnd, account.storedEnd)
      }
      if let before = accounts[bond.identity], before.peerKey == bond.peerCSRK {
        account.storedPeer = max(before.storedPeer, account.storedPeer)
      }
      loaded[bond.identity] = account
    }
    accounts = loaded
  }

  /// Takes a bond that a pairing has made. Its first block is stored with its key, or neither is.
  mutating func make(_ bond: Bond) {
    accounts[bond.identity] = Account(
      ownKey: bond.ownCSRK, peerKey: bond.peerCSRK, next: 0, storedEnd: bond.ownSignCounter, storedPeer: 0)
  }

  mutating func forget(_ identity: DeviceAddress) { accounts[identity] = nil }

  /// A bond was stored.
  mutating func wasStored(_ bond: Bond) {
    guard var account = accounts[bond.identity] else { return }
    if account.ownKey == bond.ownCSRK { account.storedEnd = max(account.storedEnd, bond.ownSignCounter) }
    if account.peerKey == bond.peerCSRK { account.storedPeer = max(account.storedPeer, bond.peerSignCounter) }
    accounts[bond.identity] = account
  }

  /// Counters for one link to sign with; nil where none is stored as reserved.
  mutating func take(_ identity: DeviceAddress) -> Range<UInt32>? {
    guard var account = accounts[identity], account.next < account.storedEnd else { return nil }
    let share = min(Self.share, account.storedEnd - account.next)
    let range = account.next..<account.next + share
    account.next = range.upperBound
    accounts[identity] = account
    return range
  }

  /// Takes back what a link has not used, where nothing was handed out since.
  mutating func giveBack(_ counters: Range<UInt32>, _ identity: DeviceAddress, key: SecretKey?) {
    guard let account = accounts[identity], account.ownKey == key, account.next == counters.upperBound else { return }
    accounts[identity]?.next = counters.lowerBound
  }

  /// Whether another block is to be reserved.
  func isShort(_ bond: Bond) -> Bool {
    guard let account = accounts[bond.identity], bond.ownSignCounter < .max else { return false }
    return bond.ownSignCounter < account.next || bond.ownSignCounter - account.next < Self.block / 2
  }

  /// How far the store is with the signed writes of one peer.
  struct StoreState: Equatable, Sendable {
    /// The counters below are known as used to a later run.
    var peerEnd: UInt32
    var isFailing: Bool
  }

  func store(of identity: DeviceAddress) -> StoreState {
    StoreState(peerEnd: accounts[identity]?.storedPeer ?? 0, isFailing: isFailing)
  }
}
