package import BLELinux
internal import Synchronization

/// The mailbox of an event loop: commands from any thread, events from the thread of the loop, both in order.
package final class HostMailbox<Command: Sendable, Event: Sendable>: Sendable {
  package typealias Sink = @Sendable ([Event]) -> Void

  /// One thing for the loop to do.
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
    /// Events that each sink has and has not consumed.
    var outstanding: [UInt64: Int] = [:]
    var isHeldBack = false
  }

  /// Commands that can wait for the loop.
  package let commandLimit: Int
  /// Events that a sink can have without consuming them; with more the transport is not read.
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

  /// Appends a command to the queue.
  ///
  /// - Returns: false where it was rejected: the queue is full, which an event reports, too, or the loop has ended.
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

  /// Adds a sink, which is called with every later event: on the thread of the loop, in batches, in order.
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

  /// Removes a sink; it is not called with later batches.
  package func detach(_ sink: UInt64) {
    state.withLock { state in
      state.items.append(.detach(sink))
      state.outstanding[sink] = nil
    }
    waker.wake()
  }

  /// The owner of `sink` has handled `count` of its events.
  package func consumed(_ count: Int, by sink: UInt64) {
    let wakes = state.withLock { state in
      guard let outstanding = state.outstanding[sink] else { return false }
      state.outstanding[sink] = max(0, outstanding - max(0, count))
      return state.isHeldBack && isBelowHalf(state)
    }
    if wakes { waker.wake() }
  }

  /// `count` events were handled, of unknown sinks: those with the most events count as the ones that handled them.
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

  /// Requests an orderly end. Commands are rejected from now on.
  package func shutDown() {
    state.withLock { state in
      guard !state.isEnding else { return }
      state.isEnding = true
      state.items.append(.shutdown)
    }
    waker.wake()
  }

  /// Whether the end was requested, or has come.
  package var isEnding: Bool { state.withLock { $0.isEnding } }

  /// Waits until the loop has closed the transport.
  @discardableResult
  package func waitUntilEnded(atMost patience: Duration) -> Bool { ended.wait(atMost: patience) }
}

/// For the thread of the loop.
extension HostMailbox {
  /// Takes all items, in order.
  ///
  /// - Returns: whether a command was rejected since the last call.
  func take(into items: inout [Item]) -> Bool {
    items.removeAll(keepingCapacity: true)
    return state.withLock { state in
      swap(&items, &state.items)
      state.commandCount = 0
      defer { state.hasRefused = false }
      return state.hasRefused
    }
  }

  /// Counts events that a sink is about to get.
  ///
  /// - Returns: false where the sink was detached.
  func willDeliver(_ count: Int, to sink: UInt64) -> Bool {
    state.withLock { state in
      guard let outstanding = state.outstanding[sink] else { return false }
      state.outstanding[sink] = outstanding + count
      return true
    }
  }

  /// Whether the transport is not to be read: from more than the limit until less than half of it.
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

  /// The loop has ended: nothing is taken any more.
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
