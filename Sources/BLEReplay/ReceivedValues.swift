import BLEATT
import BLEKit
import BLEWire
import Synchronization

/// The values that the device sends by itself during a replay. One task waits for them.
final class ReceivedValues: Sendable {
  /// The values that are kept. More are counted.
  static let limit = 65_536

  /// What the task waits for.
  private enum Awaited {
    /// So many values of an attribute.
    case values(AttributeHandle, Int)
    case linkEnd
  }

  private struct State {
    var values: [AttributeHandle: [[UInt8]]] = [:]
    var count = 0
    /// Whether the link has ended.
    var isOver = false
    var hasLost = false
    var number = 0
    var waiting: (number: Int, awaited: Awaited, task: CheckedContinuation<Bool, Never>)?

    func has(_ awaited: Awaited) -> Bool {
      switch awaited {
      case .values(let handle, let count): values[handle]?.count ?? 0 >= count
      case .linkEnd: isOver
      }
    }

    /// The task that waits, if its wait is over.
    mutating func takeWaiting() -> CheckedContinuation<Bool, Never>? {
      guard let waiting, isOver || has(waiting.awaited) else { return nil }
      self.waiting = nil
      return waiting.task
    }
  }

  private let state = Mutex(State())
  private let clock: WaitClock

  init(clock: WaitClock) { self.clock = clock }

  /// The values of each attribute, in their order.
  var all: [AttributeHandle: [[UInt8]]] { state.withLock { $0.values } }
  func count(of handle: AttributeHandle) -> Int { state.withLock { $0.values[handle]?.count ?? 0 } }
  var hasLost: Bool { state.withLock { $0.hasLost || $0.count > Self.limit } }
  var isOver: Bool { state.withLock { $0.isOver } }

  func add(_ value: AttributeValue) {
    let task = state.withLock { state in
      state.count += 1
      if state.count <= Self.limit { state.values[value.handle, default: []].append(value.octets) }
      return state.takeWaiting()
    }
    task?.resume(returning: true)
  }

  /// Values do not arrive any more, although the link is up.
  func lost() { state.withLock { $0.hasLost = true } }

  /// The link has ended.
  func end() {
    let (task, hasAll) = state.withLock { state in
      state.isOver = true
      let hasAll = state.waiting.map { state.has($0.awaited) } ?? false
      return (state.takeWaiting(), hasAll)
    }
    task?.resume(returning: hasAll)
  }

  /// Waits until an attribute has had so many values.
  ///
  /// - Returns: whether it has; false after the time, and if the link has ended.
  func wait(for count: Int, of handle: AttributeHandle, atMost time: Duration) async -> Bool {
    await wait(for: .values(handle, count), atMost: time)
  }

  /// Waits until the link has ended.
  func waitForEnd(atMost time: Duration) async -> Bool { await wait(for: .linkEnd, atMost: time) }

  private func wait(for awaited: Awaited, atMost time: Duration) async -> Bool {
    let number = state.withLock { state in
      state.number += 1
      return state.number
    }
    let timer = Task(executorPreference: clock.executor) { [clock] in
      try await clock.sleep(time)
      self.giveUp(number)
    }
    defer { timer.cancel() }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { task in
        let result: Bool? = state.withLock { state in
          if state.has(awaited) { return true }
          if state.isOver || Task.isCancelled || state.number != number { return false }
          state.waiting = (number, awaited, task)
          return nil
        }
        if let result { task.resume(returning: result) }
      }
    } onCancel: {
      giveUp(number)
    }
  }

  private func giveUp(_ number: Int) {
    let task: CheckedContinuation<Bool, Never>? = state.withLock { state in
      // A wait that has not begun does not begin.
      if state.number == number { state.number += 1 }
      guard let waiting = state.waiting, waiting.number == number else { return nil }
      state.waiting = nil
      return waiting.task
    }
    task?.resume(returning: false)
  }
}
