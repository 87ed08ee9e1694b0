package import BLELinux
internal import Synchronization

/// Where the application's threads and the stack's one thread meet: commands go in, events come out, both in order.
package final class HostMailbox<Command: Sendable, Event: Sendable>: Sendable {
  package typealias Sink = @Sendable ([Event]) -> Void

  /// One thing for the loop to do, in the order in which it was asked for.
  enum Item: Sendable {
    case command(Command)
    case attach(UInt64, Sink)
    case detach(UInt64)
    case shutdown
  }

  private struct State {
    var items: [Item] = []
    var commandCount = 0
    var hasRefused = false
    var isEnding = false
    var nextSink: UInt64 = 0
    /// Events handed to each sink that it has not consumed.
    var outstanding: [UInt64: Int] = [:]
    var isHeldBack = false
  }

  /// So many commands wait for the loop at most.
  package let commandLimit: Int
  /// The transport is read no further while one sink has more than so many events before it.
  package let eventBacklogLimit: Int
  let waker: Waker
  private let ended: Latch
  private let state = Mutex(State())

  package init(commandLimit: Int, eventBacklogLimit: Int) throws(SystemError) {
    self.commandLimit = max(1, commandLimit)
    self.eventBacklogLimit = max(1, eventBacklogLimit)
    waker = try Waker()
    ended = try Latch()
  }

  /// Puts a command at the end of the queue.
  ///
  /// - Returns: false where it was refused: the queue is full, which an event says too, or the stack has ended.
  package func post(_ command: Command) -> Bool {
    let (isTaken, wakes) = state.withLock { state in
      guard !state.isEnding else { return (false, false) }
      guard state.commandCount < commandLimit else {
        defer { state.hasRefused = true }
        return (false, !state.hasRefused)
      }
      state.commandCount += 1
      state.items.append(.command(command))
      return (true, state.items.count == 1)
    }
    if wakes { waker.wake() }
    return isTaken
  }

  /// Lets `sink` hear every event from now on, called on the stack's thread with batches in order.
  package func attach(_ sink: @escaping Sink) -> UInt64 {
    let id = state.withLock { state in
      state.nextSink += 1
      state.outstanding[state.nextSink] = 0
      state.items.append(.attach(state.nextSink, sink))
      return state.nextSink
    }
    waker.wake()
    return id
  }

  /// The sink hears no event of a later batch.
  package func detach(_ sink: UInt64) {
    state.withLock { state in
      state.items.append(.detach(sink))
      state.outstanding[sink] = nil
    }
    waker.wake()
  }

  /// The owner of `sink` has really taken so many of its events.
  package func consumed(_ count: Int, by sink: UInt64) {
    let wakes = state.withLock { state in
      guard let outstanding = state.outstanding[sink] else { return false }
      state.outstanding[sink] = max(0, outstanding - max(0, count))
      return state.isHeldBack && isBelowHalf(state)
    }
    if wakes { waker.wake() }
  }

  /// So many events were taken, whichever sink they went to: the ones with the most before them are thought to have.
  package func consumed(_ count: Int) {
    let wakes = state.withLock { state in
      var rest = count
      while rest > 0, let (sink, most) = state.outstanding.max(by: { $0.value < $1.value }), most > 0 {
        let taken = min(rest, most)
        state.outstanding[sink] = most - taken
        rest -= taken
      }
      return state.isHeldBack && isBelowHalf(state)
    }
    if wakes { waker.wake() }
  }

  /// Asks the stack to end in good order; commands are refused from now on.
  package func shutDown() {
    state.withLock { state in
      guard !state.isEnding else { return }
      state.isEnding = true
      state.items.append(.shutdown)
    }
    waker.wake()
  }

  /// Whether it was asked to end, or has ended.
  package var isEnding: Bool { state.withLock { $0.isEnding } }

  /// Waits until the stack's thread has let go of the transport.
  @discardableResult
  package func waitUntilEnded(atMost patience: Duration) -> Bool { ended.wait(atMost: patience) }
}

/// What the stack's own thread asks.
extension HostMailbox {
  /// Takes all that waits, in order.
  ///
  /// - Returns: whether a command was refused since the last time.
  func take(into items: inout [Item]) -> Bool {
    items.removeAll(keepingCapacity: true)
    return state.withLock { state in
      swap(&items, &state.items)
      state.commandCount = 0
      defer { state.hasRefused = false }
      return state.hasRefused
    }
  }

  /// Counts events that are about to be handed to a sink; false where it has been detached.
  func willDeliver(_ count: Int, to sink: UInt64) -> Bool {
    state.withLock { state in
      guard let outstanding = state.outstanding[sink] else { return false }
      state.outstanding[sink] = outstanding + count
      return true
    }
  }

  /// Whether the transport is to be left unread: from above the limit until below half of it.
  func isHeldBack() -> Bool {
    state.withLock { state in
      if state.isHeldBack {
        state.isHeldBack = !isBelowHalf(state)
      } else {
        state.isHeldBack = state.outstanding.values.contains { $0 > eventBacklogLimit }
      }
      return state.isHeldBack
    }
  }

  /// The thread ends: nothing more is taken.
  func close() {
    state.withLock { state in
      state.isEnding = true
      state.items = []
      state.outstanding = [:]
    }
    ended.open()
  }

  private func isBelowHalf(_ state: borrowing State) -> Bool {
    state.outstanding.values.allSatisfy { $0 < max(1, eventBacklogLimit / 2) }
  }
}
