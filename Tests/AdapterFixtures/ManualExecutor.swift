package import BLEWire
import Synchronization

/// Runs tasks on the thread of the test, when the test lets them.
package final class ManualExecutor: TaskExecutor {
  private let jobs = Mutex<[UnownedJob]>([])

  package init() {}

  /// The tasks that can run now.
  package var waitingCount: Int { jobs.withLock { $0.count } }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    jobs.withLock { $0.append(job) }
  }

  /// Runs all tasks until each waits for something.
  ///
  /// - Returns: whether there were any.
  @discardableResult
  package func drain() -> Bool {
    var hasRun = false
    while true {
      let taken = jobs.withLock { jobs in
        defer { jobs = [] }
        return jobs
      }
      if taken.isEmpty { return hasRun }
      hasRun = true
      for job in taken { unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
  }
}

/// A clock that the test moves.
package final class ManualClock: Sendable {
  private struct State: Sendable {
    var now = Instant.start
    var number = 0
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

  package func sleep(for duration: Duration) async throws {
    let number = state.withLock { state in
      state.number += 1
      return state.number
    }
    let isOver = await withTaskCancellationHandler {
      await withCheckedContinuation { task in
        let isCancelled = state.withLock { state in
          if Task.isCancelled { return true }
          state.sleeping[number] = (state.now + duration, task)
          return false
        }
        if isCancelled { task.resume(returning: false) }
      }
    } onCancel: {
      let task = state.withLock { $0.sleeping.removeValue(forKey: number)?.task }
      task?.resume(returning: false)
    }
    if !isOver { throw CancellationError() }
  }
}
