internal import BLEHCI
internal import BLEWire

/// When the connection events of a link take place (Vol 6, Part B, 4.5.1 and 5.1.1).
///
/// Events without traffic have no effect on hosts and are not simulated. The schedule computes the next event that both
/// ends attend: each one for the central's PDUs where the latency is 0, every (latency + 1)th one otherwise; any one for
/// the peripheral's PDUs.
struct ConnectionSchedule: Sendable {
  /// New connection timing, a new PHY or a new channel map, at an event that both ends have agreed on.
  struct Change: Sendable {
    /// LL_CONNECTION_UPDATE_IND, LL_PHY_UPDATE_IND or LL_CHANNEL_MAP_IND, as the sender sent it.
    var pdu: LinkLayerPDU
    var sender: HCI.Role
    /// The event counter at which it takes effect.
    var instant: Int
  }

  /// An instant is at least so many events after the PDU that announces it, each of which the peripheral listens to
  /// (Vol 6, Part B, 5.1.1).
  static let eventsBeforeInstant = 6

  private(set) var timing: LinkTiming
  /// connEventCounter of the latest event that took place; -1 before the first one. It does not wrap.
  private(set) var counter = -1
  /// The anchor point of that event.
  private(set) var anchor: Instant
  /// The agreed changes, in the order of their PDUs.
  private(set) var changes: [Change] = []

  /// - Parameter firstAnchor: the anchor point of the first connection event.
  init(timing: LinkTiming, firstAnchor: Instant) {
    self.timing = timing
    anchor = firstAnchor + timing.intervalDuration * -1
  }

  /// The anchor point of the event with the given counter, a later one than the latest.
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

  /// Event `event` takes place.
  mutating func begin(_ event: Int) {
    anchor = anchor(of: event)
    counter = event
  }

  /// Agrees on a change by a PDU of the current event.
  mutating func plan(_ pdu: LinkLayerPDU, from sender: HCI.Role) {
    let distance = Self.eventsBeforeInstant * (Int(timing.latency) + 1)
    changes.append(Change(pdu: pdu, sender: sender, instant: counter + distance))
  }

  var nextInstant: Int? { changes.map(\.instant).min() }

  /// The changes whose instant the current event is; they are no longer planned.
  mutating func takeChanges() -> [Change] {
    let due = changes.filter { $0.instant <= counter }
    changes.removeAll { $0.instant <= counter }
    return due
  }

  /// The current event is the first one of new timing; its anchor point stays (WinOffset 0).
  mutating func apply(_ timing: LinkTiming) { self.timing = timing }
}
