package import BLEAdapter
package import BLEGATT
package import BLEHost
import Foundation
import Synchronization

/// The connection of one client to a host whose part a test plays. Commands are performed when the client wakes the
/// host, as by the loop of a real one: a client that enqueues a command and does not wake the host has posted none.
package final class ScriptedConnection: AdapterLink {
  package let failure: AdapterError?
  package let hub: AdapterHub?
  private let state = Mutex(State())
  private let firstEvents: @Sendable () -> [HostEvent]
  private let perform: @Sendable (HostCommand) -> Void
  /// One thread performs commands at a time. What a command causes may wake the host once more, on that thread.
  private let performing = NSRecursiveLock()

  private struct State: Sendable {
    var sink: (@Sendable (inout [HostEvent]) -> Int)?
    /// Commands that were enqueued, and not performed.
    var waiting: [HostCommand] = []
    var room: Int?
    var woken: (@Sendable () -> Void)?
    var (said, taken, detachments) = (0, 0, 0)
    /// Tasks that wait until so many events have been taken.
    var awaited: [(count: Int, task: CheckedContinuation<Void, Never>)] = []
  }

  /// - Parameters:
  ///   - firstEvents: the events that a client gets when it attaches.
  ///   - perform: performs a command, on the thread that has woken the host.
  package init(
    hub: AdapterHub? = nil, failure: AdapterError? = nil,
    firstEvents: @escaping @Sendable () -> [HostEvent] = { [] },
    perform: @escaping @Sendable (HostCommand) -> Void
  ) {
    (self.hub, self.failure, self.firstEvents, self.perform) = (hub, failure, firstEvents, perform)
  }

  package var commands: CommandPort { CommandPort(to: self) }

  package func attach(_ sink: @escaping @Sendable (inout [HostEvent]) -> Int) {
    state.withLock { $0.sink = sink }
    say(firstEvents())
  }

  package func detach() {
    let sink = state.withLock { state in
      state.detachments += 1
      return state.sink.take()
    }
    // Released here, outside of the lock.
    _ = consume sink
  }

  package func consumed(_ count: Int) {
    let tasks = state.withLock { state in
      state.taken += count
      let reached = state.awaited.filter { $0.count <= state.taken }
      state.awaited.removeAll { $0.count <= state.taken }
      return reached.map(\.task)
    }
    for task in tasks { task.resume() }
  }
}

/// For the test.
extension ScriptedConnection {
  /// Reports events to the client, as one batch.
  package func say(_ events: [HostEvent]) {
    let sink = state.withLock { state in
      if state.sink != nil { state.said += events.count }
      return state.sink
    }
    guard let sink, !events.isEmpty else { return }
    var batch = events
    let taken = sink(&batch)
    if taken > 0 { consumed(taken) }
  }

  /// How many events the client has taken.
  package var taken: Int { state.withLock { $0.taken } }
  package var isAttached: Bool { state.withLock { $0.sink != nil } }
  package var detachments: Int { state.withLock { $0.detachments } }
  /// Whether the client has taken every event, or receives no more.
  package var isSilent: Bool { state.withLock { $0.sink == nil || $0.taken >= $0.said } }

  /// Waits until the client has taken so many events.
  package func untilTaken(_ count: Int) async {
    await withCheckedContinuation { task in
      let isReached = state.withLock { state in
        if state.taken < count { state.awaited.append((count, task)) }
        return state.taken >= count
      }
      if isReached { task.resume() }
    }
  }

  /// Sets how many commands are taken before the next ones are refused; nil takes all.
  package func makeRoom(_ room: Int?) { state.withLock { $0.room = room } }

  /// Sets what happens when the host is woken.
  package func whenWoken(_ action: @escaping @Sendable () -> Void) { state.withLock { $0.woken = action } }
}

extension ScriptedConnection: CommandReceiver {
  package func enqueue(_ command: HostCommand, octets: Span<UInt8>) -> CommandAdmission {
    state.withLock { state in
      guard state.room != 0 else { return CommandAdmission(isTaken: false, wakesHost: false) }
      state.room = state.room.map { $0 - 1 }
      state.waiting.append(octets.isEmpty ? command : command.value(octets))
      return CommandAdmission(isTaken: true, wakesHost: true)
    }
  }

  package func enqueueUpdate(of attribute: AttributeID, octets: Span<UInt8>, to peers: [LinkID]) -> CommandAdmission {
    enqueue(.update(HostIDs.update(), attribute, [], to: peers), octets: octets)
  }

  package func wake() {
    state.withLock { $0.woken }?()
    performing.withLock {
      while let command = next() { perform(command) }
    }
  }

  private func next() -> HostCommand? {
    state.withLock { state in state.waiting.isEmpty ? nil : state.waiting.removeFirst() }
  }
}
