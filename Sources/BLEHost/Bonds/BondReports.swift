import BLEWire

/// Bonds that have changed since ``HostEvent/Bonds/changed(_:)`` last reported them.
///
/// A change that the peer causes by itself, usually a subscription, is reported immediately if the bond was not
/// reported within the interval, otherwise at the end of the interval: a peer that toggles a descriptor costs one event
/// in each interval.
struct BondReports: Sendable {
  /// When each bond was last reported.
  private var reported: [(identity: DeviceAddress, at: Instant)] = []
  /// In the order in which they changed.
  private var pending: [DeviceAddress] = []

  /// When ``takeDue(now:interval:)`` has something.
  func deadline(_ interval: Duration) -> Instant? {
    guard !pending.isEmpty else { return nil }
    return pending.lazy.compactMap { lastReport(of: $0) }.min().map { $0 + interval }
  }

  /// Notes a change.
  ///
  /// - Returns: whether it is to be reported now.
  mutating func changed(_ identity: DeviceAddress, now: Instant, interval: Duration) -> Bool {
    if let last = lastReport(of: identity), now < last + interval {
      if !pending.contains(identity) { pending.append(identity) }
      return false
    }
    note(identity, now)
    return true
  }

  private func lastReport(of identity: DeviceAddress) -> Instant? { reported.first { $0.identity == identity }?.at }

  private mutating func note(_ identity: DeviceAddress, _ now: Instant) {
    reported.removeAll { $0.identity == identity }
    reported.append((identity, now))
  }

  /// A bond is reported with all its changes, because of one that does not wait.
  mutating func wasReported(_ identity: DeviceAddress) { pending.removeAll { $0 == identity } }

  mutating func takeDue(now: Instant, interval: Duration) -> [DeviceAddress] {
    let due = pending.filter { lastReport(of: $0).map { $0 + interval <= now } ?? true }
    for identity in due { note(identity, now) }
    pending.removeAll(where: due.contains)
    return due
  }

  func isPending(_ identity: DeviceAddress) -> Bool { pending.contains(identity) }

  /// Takes the bonds that have not been reported; they count as reported afterwards.
  mutating func takeAll() -> [DeviceAddress] {
    defer { pending = [] }
    return pending
  }

  mutating func forget(_ identity: DeviceAddress) {
    reported.removeAll { $0.identity == identity }
    pending.removeAll { $0 == identity }
  }
}
