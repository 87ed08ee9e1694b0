internal import BLEHCI
internal import BLEWire

/// The anchor points of a link (Vol 6, Part B, 4.5.1 and 5.1.1).
///
/// Events without traffic have no effect on hosts and are not simulated. The schedule computes the next event that both
/// ends attend: for PDUs of the central every (latency + 1)th event, for PDUs of the peripheral any event.
///
/// A subrated link uses one in `subrateFactor` events, and those that follow one with data (continuation events):
///
/// ```
///  event        0   1   2   3   4   5   6   7   8   9  10     factor 4, continuation number 2
///  used         ●               ●   ●   ●       ●
///                             data
/// ```
struct ConnectionSchedule: Sendable {
  /// New connection timing, a new PHY or a new channel map, which takes effect at an instant.
  struct Change: Sendable {
    /// LL_CONNECTION_UPDATE_IND, LL_CONNECTION_RATE_IND, LL_PHY_UPDATE_IND or LL_CHANNEL_MAP_IND.
    var pdu: LinkLayerPDU
    var sender: HCI.Role
    /// The event counter at which it takes effect.
    var instant: Int
  }

  /// The number of events that the peripheral listens to between a PDU and its instant (Vol 6, Part B, 5.1.1).
  static let eventsBeforeInstant = 6

  private(set) var timing: LinkLayerTiming
  /// connEventCounter of the latest simulated event; -1 before the first one. It does not wrap.
  private(set) var counter = -1
  /// The anchor point of that event.
  private(set) var anchor: Instant
  /// The scheduled changes, in the order of their PDUs.
  private(set) var changes: [Change] = []
  /// connSubrateBaseEvent: the event in which the subrating took effect. It is used, and every `subrateFactor`th after.
  private var subrateBase = 0
  /// The last continuation event after the latest event with data.
  private var continuationEnd = -1
  /// The latest event with data.
  private var dataEvent = -1
  /// The events that have been used, the simulated ones and those without traffic.
  private(set) var counts = ConnectionEventCounts()

  /// - Parameter firstAnchor: the anchor point of the first connection event.
  init(timing: LinkLayerTiming, firstAnchor: Instant) {
    self.timing = timing
    anchor = firstAnchor + timing.intervalDuration * -1
  }

  /// The anchor point of the event with the given counter, which is not earlier than the latest event.
  func anchor(of event: Int) -> Instant {
    anchor + timing.intervalDuration * (event - counter)
  }

  /// The first event after `now` in which `sender` can send.
  func nextEvent(after now: Instant, for sender: HCI.Role) -> Int {
    let next = counter + max(1, (now - anchor).wholeMultiples(of: timing.intervalDuration) + 1)
    if timing.subrateFactor > 1 { return nextSubratedEvent(from: next, for: sender) }
    guard sender == .central, counter >= 0 else { return next }
    let step = Int(timing.latency) + 1
    return counter + (next - counter + step - 1) / step * step
  }

  /// The first event from `next` on that a subrated link uses: a continuation event, or a subrated event. For PDUs of
  /// the central, one of the subrated events to which the peripheral listens.
  private func nextSubratedEvent(from next: Int, for sender: HCI.Role) -> Int {
    if next <= continuationEnd { return next }
    let step = Int(timing.subrateFactor) * (sender == .central ? Int(timing.latency) + 1 : 1)
    let last = subrateBase + subratedEvents(until: counter) * Int(timing.subrateFactor)
    return last + (next - last + step - 1) / step * step
  }

  /// The number of subrated events after ``subrateBase``, until an event that is not earlier.
  private func subratedEvents(until event: Int) -> Int {
    max(0, event - subrateBase) / Int(timing.subrateFactor)
  }

  /// The anchor point of the latest event at or before `now` that both ends attended.
  func latestAnchor(at now: Instant) -> Instant {
    guard now > anchor else { return anchor }
    let step = timing.intervalDuration * eventsBetweenAttended
    return anchor + step * (now - anchor).wholeMultiples(of: step)
  }

  /// The number of connection events from one in which the peripheral must listen to the next.
  private var eventsBetweenAttended: Int { (Int(timing.latency) + 1) * Int(timing.subrateFactor) }

  /// Moves on to an event.
  mutating func begin(_ event: Int) {
    counts = counts(until: event - 1)
    counts.used += 1
    counts.attended += 1
    anchor = anchor(of: event)
    counter = event
  }

  /// Records that a PDU that was not empty was exchanged in the current event.
  mutating func exchangedData() {
    continuationEnd = counter + Int(timing.continuation)
    guard dataEvent != counter else { return }
    dataEvent = counter
    counts.withData += 1
  }
  /// The events that the link has used until `now`.
  func counts(at now: Instant) -> ConnectionEventCounts {
    counts(until: counter + max(0, (now - anchor).wholeMultiples(of: timing.intervalDuration)))
  }

  private func counts(until event: Int) -> ConnectionEventCounts {
    guard event > counter else { return counts }
    var counts = counts
    guard timing.subrateFactor > 1 else {
      counts.used += event - counter
      counts.attended += (event - counter) / (Int(timing.latency) + 1)
      return counts
    }
    let continued = max(0, min(event, continuationEnd) - counter)
    let subrated = subratedEvents(until: event) - subratedEvents(until: counter + continued)
    counts.used += continued + subrated
    counts.attended += continued + subrated / (Int(timing.latency) + 1)
    return counts
  }

  /// Schedules a change that was sent in the current event.
  mutating func plan(_ pdu: LinkLayerPDU, from sender: HCI.Role) {
    changes.append(
      Change(pdu: pdu, sender: sender, instant: counter + Self.eventsBeforeInstant * eventsBetweenAttended))
  }

  var nextInstant: Int? { changes.map(\.instant).min() }

  /// Removes and returns the changes whose instant is the current event.
  mutating func takeChanges() -> [Change] {
    let due = changes.filter { $0.instant <= counter }
    changes.removeAll { $0.instant <= counter }
    return due
  }

  /// Applies new timing from the current event on. Its anchor point does not move (WinOffset 0).
  mutating func apply(_ timing: LinkLayerTiming) { self.timing = self.timing.updated(to: timing) }

  /// Applies new subrating from the current event on.
  mutating func apply(_ subrating: LinkLayerSubrating) {
    timing = timing.updated(to: subrating)
    subrateBase = max(0, counter)
  }
}

extension ConnectionSchedule {
  /// Applies a new connection rate from the current event on. Its anchor point does not move.
  mutating func apply(_ rate: LinkLayerRate) {
    apply(rate.subrating)
    timing = timing.updated(to: rate)
  }
}

/// The connection events of a link, from its beginning (Vol 6, Part B, 4.5.1).
package struct ConnectionEventCounts: Equatable, Sendable {
  /// The events in which the central sends.
  package var used = 0
  /// The events in which the peripheral listens: it skips up to its latency of those without a PDU for it.
  package var attended = 0
  /// The events in which a PDU was exchanged that was not empty.
  package var withData = 0
  package init() {}

  /// The events in which the ends exchanged empty PDUs only, or the central sent one that the peripheral did not
  /// receive.
  package var empty: Int { used - withData }
}
