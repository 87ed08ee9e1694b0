public import BLEWire

/// The waiting times of devices after failed pairings (Vol 3, Part H, 2.3.6;
/// Docs/Decisions/pairing-and-bonds.md#wrong-guesses).
///
/// A failure counts if a guess was wrong: a confirm value or a DHKey check. The first failures have no waiting time,
/// because users mistype digits. After them the waiting time doubles with each failure. A successful pairing removes
/// the failures of the device. Malformed requests do not count: an attacker learns nothing from them.
///
/// ```swift
/// var attempts = RepeatedAttempts()
/// attempts.failed(peer, failure, now: now)
/// machine.rejectsAttempts = attempts.isBlocked(peer, now: now)
/// ```
public struct RepeatedAttempts: Sendable {
  private struct Record {
    var peer: DeviceAddress
    var failures: Int
    var blockedUntil: Instant?
  }

  /// The number of failures without a waiting time.
  public var freeFailures = 4
  /// The first waiting time.
  public var firstWait: Duration = .seconds(2)
  /// The longest waiting time.
  public var longestWait: Duration = .seconds(512)
  /// The number of devices with a record. One more replaces the oldest.
  public var maximumPeers = 64
  private var records: [Record] = []

  /// No failures.
  public init() {}

  /// Whether the waiting time of this device has not ended.
  public func isBlocked(_ peer: DeviceAddress, now: Instant) -> Bool {
    guard let record = records.first(where: { $0.peer == peer }), let until = record.blockedUntil else {
      return false
    }
    return now < until
  }

  /// Records a failed pairing with this device.
  public mutating func failed(_ peer: DeviceAddress, _ failure: PairingFailure, now: Instant) {
    guard failure.origin == .local, failure.reason == .confirmValueFailed || failure.reason == .dhKeyCheckFailed else {
      return
    }
    var record = Record(peer: peer, failures: 0)
    if let index = records.firstIndex(where: { $0.peer == peer }) { record = records.remove(at: index) }
    record.failures = min(record.failures + 1, freeFailures + 16)
    let waits = record.failures - freeFailures
    if waits > 0 {
      var wait = firstWait
      for _ in 1..<waits where wait < longestWait { wait += wait }
      record.blockedUntil = now + min(wait, longestWait)
    }
    if records.count >= max(1, maximumPeers) { records.removeFirst() }
    records.append(record)
  }

  /// Records a successful pairing with this device.
  public mutating func succeeded(_ peer: DeviceAddress) { records.removeAll { $0.peer == peer } }
}
