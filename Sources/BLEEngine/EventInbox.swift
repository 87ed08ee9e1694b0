import BLEHost
import BLEWire
import Synchronization

/// The batches of events that wait for the queue of a client, nearly always one. The memory of those that were handled is used again.
final class EventInbox: Sendable {
  private struct State {
    var waiting: [HostEvent] = []
    /// The number of events in each batch.
    var counts: [Int] = []
    var spare: [HostEvent] = []
  }
  private let state = Mutex(State())

  /// Appends a batch.
  ///
  /// - Parameter keepingUpdates: whether ``HostEvent/updateFinished(_:)`` is among the events that wait; else they are only counted.
  /// - Returns: the number of those that were counted, and whether there are others, which the queue is to take as one batch.
  func append(_ events: [HostEvent], keepingUpdates: Bool) -> (finished: Int, waits: Bool) {
    state.withLock { state in
      let before = state.waiting.count
      var finished = 0
      for event in events {
        if !keepingUpdates, case .updateFinished = event { finished += 1 } else { state.waiting.append(event) }
      }
      let count = state.waiting.count - before
      if count > 0 { state.counts.append(count) }
      return (finished, count > 0)
    }
  }

  /// Takes the next batch.
  func take() -> [HostEvent] {
    state.withLock { state in
      guard let count = state.counts.first else { return [] }
      guard state.counts.count == 1 else {
        state.counts.removeFirst()
        let taken = Array(state.waiting.prefix(count))
        state.waiting.removeFirst(count)
        return taken
      }
      state.counts.removeLast()
      var taken: [HostEvent] = []
      swap(&taken, &state.spare)
      swap(&taken, &state.waiting)
      return taken
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
