import BLESMP
import BLEWire

/// When bonds were made that nobody confirmed: neither by authentication nor by the application's consent.
///
/// The count is the host's, not an address's: a device that invents an identity for each pairing counts as one stranger.
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
