package import BLEWire

/// How long a device has to wait after pairings in which it guessed wrong (Vol 3, Part H, 2.3.6).
///
/// Only failures that tested a guess count: a wrong confirm value, a wrong DHKey check. The first few are free, because
/// users mistype; then the wait doubles with each, and a pairing that succeeds clears the account. Malformed or
/// unsuitable requests teach an attacker nothing, so they cost nothing.
package struct RepeatedAttempts: Sendable {
  private struct Account {
    var peer: DeviceAddress
    var failures: Int
    var blockedUntil: Instant?
  }

  /// Wrong guesses before the first wait.
  package var freeFailures = 4
  package var firstWait: Duration = .seconds(2)
  package var longestWait: Duration = .seconds(512)
  /// Devices remembered; beyond them the oldest is forgotten.
  package var maximumPeers = 64
  private var accounts: [Account] = []

  package init() {}

  /// Whether this device has to wait still.
  package func isBlocked(_ peer: DeviceAddress, now: Instant) -> Bool {
    guard let account = accounts.first(where: { $0.peer == peer }), let until = account.blockedUntil else {
      return false
    }
    return now < until
  }

  package mutating func failed(_ peer: DeviceAddress, _ failure: PairingFailure, now: Instant) {
    guard failure.origin == .local, failure.reason == .confirmValueFailed || failure.reason == .dhKeyCheckFailed else {
      return
    }
    var account = Account(peer: peer, failures: 0)
    if let index = accounts.firstIndex(where: { $0.peer == peer }) { account = accounts.remove(at: index) }
    account.failures = min(account.failures + 1, freeFailures + 16)
    let waits = account.failures - freeFailures
    if waits > 0 {
      var wait = firstWait
      for _ in 1..<waits where wait < longestWait { wait += wait }
      account.blockedUntil = now + min(wait, longestWait)
    }
    if accounts.count >= max(1, maximumPeers) { accounts.removeFirst() }
    accounts.append(account)
  }

  package mutating func succeeded(_ peer: DeviceAddress) { accounts.removeAll { $0.peer == peer } }
}
