import BLESMP
import BLEWire

/// The times at which bonds were made without authentication and without the application's consent.
///
/// They are counted for the host and not for an address: a device can invent an identity for each pairing.
struct UnconfirmedBonds: Sendable {
  private var times: [Instant] = []

  /// Whether one more is within the limit at this time.
  func admits(_ limit: UnconfirmedBondLimit, now: Instant) -> Bool {
    times.count { now < $0 + limit.period } < limit.count
  }

  mutating func add(_ limit: UnconfirmedBondLimit, now: Instant) {
    times.removeAll { $0 + limit.period <= now }
    times.append(now)
  }
}
