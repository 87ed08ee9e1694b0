import BLEHost
import BLEWire
import Synchronization

/// The batches of events that wait for the queue of a client, usually one. A batch is passed on without copying an
/// event: in exchange, the host gets the memory of a batch that was handled.
final class EventInbox: Sendable {
  private struct State {
    var waiting: [[HostEvent]] = []
    /// Memory of a batch that was handled.
    var spare: [HostEvent] = []
  }
  private let state = Mutex(State())

  /// Takes a batch, unless it is empty; `events` is empty afterwards.
  ///
  /// - Returns: whether the queue is to take a batch.
  func append(_ events: inout [HostEvent]) -> Bool {
    if events.isEmpty { return false }
    state.withLock { state in
      var batch: [HostEvent] = []
      swap(&batch, &state.spare)
      // Several batches wait.
      if batch.capacity == 0 { batch.reserveCapacity(events.count) }
      swap(&batch, &events)
      state.waiting.append(batch)
    }
    return true
  }

  /// Takes the next batch.
  func take() -> [HostEvent] {
    state.withLock { state in
      // Usually there is only one.
      if state.waiting.count > 1 { return state.waiting.removeFirst() }
      return state.waiting.popLast() ?? []
    }
  }

  /// Keeps the memory of events that were handled for the next batch.
  func reuse(_ events: inout [HostEvent]) {
    events.removeFew()
    state.withLock { state in
      if state.spare.capacity == 0 { swap(&state.spare, &events) }
    }
  }
}

/// Passes a batch with events of values that have left to `handler`, and removes these events from it.
///
/// - Returns: the number of these events.
func takeFinishedUpdates(of events: inout [HostEvent], _ handler: ([HostEvent]) -> Void) -> Int {
  let count = finishedUpdates(in: events)
  if count == 0 { return 0 }
  handler(events)
  if count == events.count { events.removeFew() } else { events.removeAll { $0.isUpdateFinished } }
  return count
}

private func finishedUpdates(in events: [HostEvent]) -> Int {
  // In place (Docs/Decisions/performance.md#in-place).
  let events = events.span
  var count = 0
  for index in events.indices where events[index].isUpdateFinished { count += 1 }
  return count
}

extension HostEvent {
  fileprivate var isUpdateFinished: Bool {
    if case .server(_, let event) = self { event.finishedUpdates != nil } else { false }
  }
}
