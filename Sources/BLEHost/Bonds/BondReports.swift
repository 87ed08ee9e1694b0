import BLEWire

/// Bonds that have changed since ``HostEvent/Bonds/changed(_:)`` last reported them.
///
/// A change that the peer causes by itself, usually a subscription, is reported immediately if the bond was not
/// reported within the interval, otherwise at the end of the interval: a peer that toggles a descriptor costs one event
/// in each interval.
struct BondReports: Sendable {
  private var reported: [DeviceAddress: Instant] = [:]
  /// In the order in which they changed.
  private var pending: [DeviceAddress] = []

  /// When ``takeDue(now:interval:)`` has something.
  func deadline(_ interval: Duration) -> Instant? {
    guard !pending.isEmpty else { return nil }
    return pending.lazy.compactMap { reported[$0] }.min().map { $0 + interval }
  }

  /// Notes a change.
  ///
  /// - Returns: whether it is to be reported now.
  mutating func changed(_ identity: DeviceAddress, now: Instant, interval: Duration) -> Bool {
    if let last = reported[identity], now < last + interval {
      if !pending.contains(identity) { pending.append(identity) }
      return false
    }
    reported[identity] = now
    return true
  }

  /// A bond is reported with all its changes, because of one that does not wait.
  mutating func wasReported(_ identity: DeviceAddress) { pending.removeAll { $0 == identity } }

  mutating func takeDue(now: Instant, interval: Duration) -> [DeviceAddress] {
    let due = pending.filter { reported[$0].map { $0 + interval <= now } ?? true }
    for identity in due { reported[identity] = now }
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
    reported[identity] = nil
    pending.removeAll { $0 == identity }
  }
}
