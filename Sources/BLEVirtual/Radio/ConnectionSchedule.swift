internal import BLEHCI
internal import BLEWire

/// The anchor points of a link (Vol 6, Part B, 4.5.1 and 5.1.1).
///
/// Events without traffic have no effect on hosts and are not simulated. The schedule computes the next event that both
/// ends attend: for PDUs of the central every (latency + 1)th event, for PDUs of the peripheral any event.
struct ConnectionSchedule: Sendable {
  /// New connection timing, a new PHY or a new channel map, which takes effect at an instant.
  struct Change: Sendable {
    /// LL_CONNECTION_UPDATE_IND, LL_PHY_UPDATE_IND or LL_CHANNEL_MAP_IND.
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
    guard sender == .central, counter >= 0 else { return next }
    let step = Int(timing.latency) + 1
    return counter + (next - counter + step - 1) / step * step
  }

  /// The anchor point of the latest event at or before `now` that both ends attended.
  func latestAnchor(at now: Instant) -> Instant {
    guard now > anchor else { return anchor }
    let step = timing.intervalDuration * (Int(timing.latency) + 1)
    return anchor + step * (now - anchor).wholeMultiples(of: step)
  }

  /// Moves on to an event.
  mutating func begin(_ event: Int) {
    anchor = anchor(of: event)
    counter = event
  }

  /// Schedules a change that was sent in the current event.
  mutating func plan(_ pdu: LinkLayerPDU, from sender: HCI.Role) {
    let distance = Self.eventsBeforeInstant * (Int(timing.latency) + 1)
    changes.append(Change(pdu: pdu, sender: sender, instant: counter + distance))
  }

  var nextInstant: Int? { changes.map(\.instant).min() }

  /// Removes and returns the changes whose instant is the current event.
  mutating func takeChanges() -> [Change] {
    let due = changes.filter { $0.instant <= counter }
    changes.removeAll { $0.instant <= counter }
    return due
  }

  /// Applies new timing from the current event on. Its anchor point does not move (WinOffset 0).
  mutating func apply(_ timing: LinkLayerTiming) { self.timing = timing }
}
