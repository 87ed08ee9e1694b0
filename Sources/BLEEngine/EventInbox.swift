import BLEHost
import BLEWire
import Synchronization

/// The batches of events that wait for the queue of a client, nearly always one. A batch changes its owner without a copy of an event: the
/// host gets the memory of one that was handled in exchange.
final class EventInbox: Sendable {
  private struct State {
    var waiting: [[HostEvent]] = []
    /// Memory of a batch that was handled.
    var spare: [HostEvent] = []
  }
  private let state = Mutex(State())

  /// Takes a batch over, unless it is empty; `events` is empty then.
  ///
  /// - Parameter keepingUpdates: whether the ends of values are among the events that wait; else they are only counted.
  /// - Returns: the number of values that have left, the number of their events, and whether there are other events, which the queue is
  ///   to take as one batch.
  func append(_ events: inout [HostEvent], keepingUpdates: Bool) -> (finished: Int, counted: Int, waits: Bool) {
    let (finished, counted) = keepingUpdates ? (0, 0) : Self.updates(in: events)
    guard counted < events.count else { return (finished, counted, false) }
    if counted > 0 { events.removeAll { $0.finishedUpdates > 0 } }
    state.withLock { state in
      var batch: [HostEvent] = []
      swap(&batch, &state.spare)
      // Several batches wait: at once, because an array that grows moves its events again and again.
      if batch.capacity == 0 { batch.reserveCapacity(events.count) }
      swap(&batch, &events)
      state.waiting.append(batch)
    }
    return (finished, counted, true)
  }

  /// The number of values that have left, and of their events.
  private static func updates(in events: [HostEvent]) -> (finished: Int, counted: Int) {
    let events = events.span
    var (finished, counted) = (0, 0)
    for index in events.indices {
      let values = events[index].finishedUpdates
      finished += values
      if values > 0 { counted += 1 }
    }
    return (finished, counted)
  }

  /// Takes the next batch.
  func take() -> [HostEvent] {
    state.withLock { state in
      // The only one, as nearly always, needs no move of others.
      if state.waiting.count > 1 { return state.waiting.removeFirst() }
      return state.waiting.popLast() ?? []
    }
  }

  /// Keeps the memory of events that were handled.
  func reuse(_ events: inout [HostEvent]) {
    events.removeFew()
    state.withLock { state in
      if state.spare.capacity == 0 { swap(&state.spare, &events) }
    }
  }
}

extension HostEvent {
  /// The number of values that have left by this event.
  fileprivate var finishedUpdates: Int {
    switch self {
    case .updateFinished: 1
    case .updatesFinished(let count): count
    default: 0
    }
  }
}
