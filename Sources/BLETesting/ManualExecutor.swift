package import BLEWire
import Dispatch
import Synchronization

/// Runs tasks on the thread of the test, when the test lets them.
package final class ManualExecutor: TaskExecutor {
  private struct State: Sendable {
    var jobs: [UnownedJob] = []
    var isOver = false
  }
  private let state = Mutex(State())
  private let added: @Sendable () -> Void

  /// - Parameter added: is called after a task was added, on any thread.
  package init(added: @escaping @Sendable () -> Void = {}) { self.added = added }

  /// The tasks that can run now.
  package var waitingCount: Int { state.withLock { $0.jobs.count } }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let isOver = state.withLock { state in
      if !state.isOver { state.jobs.append(job) }
      return state.isOver
    }
    if isOver { run(job) } else { added() }
  }

  /// From now on tasks run on a queue of the system: nobody calls ``drain()`` any more.
  package func end() {
    let rest = state.withLock { state in
      state.isOver = true
      return state.jobs.take()
    }
    for job in rest { run(job) }
  }

  private func run(_ job: UnownedJob) {
    DispatchQueue.global().async { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }

  /// Runs all tasks until each waits for something.
  ///
  /// - Returns: whether there were any.
  @discardableResult
  package func drain() -> Bool {
    var hasRun = false
    while true {
      let taken = state.withLock { $0.jobs.take() }
      if taken.isEmpty { return hasRun }
      hasRun = true
      for job in taken { unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
  }
}

extension [UnownedJob] {
  fileprivate mutating func take() -> Self {
    defer { self = [] }
    return self
  }
}

/// A clock that the test moves.
package final class ManualClock: Sendable {
  private struct State: Sendable {
    var now = Instant.start
    var number = 0
    var isOver = false
    var sleeping: [Int: (until: Instant, task: CheckedContinuation<Bool, Never>)] = [:]
  }
  private let state = Mutex(State())

  package init() {}

  package var now: Instant { state.withLock { $0.now } }
  package var deadline: Instant? { state.withLock { $0.sleeping.values.map(\.until).min() } }

  package func advance(to now: Instant) {
    let due = state.withLock { state in
      state.now = max(state.now, now)
      let due = state.sleeping.filter { $0.value.until <= state.now }.sorted { $0.key < $1.key }
      for (number, _) in due { state.sleeping[number] = nil }
      return due.map(\.value.task)
    }
    for task in due { task.resume(returning: true) }
  }

  /// From now on nobody moves the clock: who sleeps is woken, and who would sleep is not held.
  package func end() {
    state.withLock { $0.isOver = true }
    advance(to: Instant(nanoseconds: .max))
  }

  /// - Throws: `CancellationError` if the task is cancelled before the time has passed.
  package func sleep(for duration: Duration) async throws {
    let number = state.withLock { state in
      state.number += 1
      return state.number
    }
    let isOver = await withTaskCancellationHandler {
      await withCheckedContinuation { task in
        let isOver: Bool? = state.withLock { state in
          if Task.isCancelled { return false }
          if state.isOver || duration <= .zero { return true }
          state.sleeping[number] = (state.now + duration, task)
          return nil
        }
        if let isOver { task.resume(returning: isOver) }
      }
    } onCancel: {
      let task = state.withLock { $0.sleeping.removeValue(forKey: number)?.task }
      task?.resume(returning: false)
    }
    if !isOver { throw CancellationError() }
  }
}
