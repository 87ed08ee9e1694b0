import Foundation

/// The random runs of a model.
package enum ModelRuns {
  /// A number of the environment, for the count of the runs and the first seed.
  package static func number(_ name: String, _ standard: UInt64) -> UInt64 {
    ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) } ?? standard
  }

  /// Runs models on a thread of their own: they do not suspend, and other tests of the process need the threads of tasks
  /// in real time.
  package static func onThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
      let thread = Thread { continuation.resume(returning: body()) }
      // As the main thread has.
      thread.stackSize = 8 << 20
      thread.start()
    }
  }

  /// Removes moves without which a run still fails, from the last one on, until none can be removed.
  package static func reduced<Move>(_ moves: [Move], fails: ([Move]) -> Bool) -> [Move] {
    var moves = moves
    while true {
      let count = moves.count
      for index in moves.indices.reversed() {
        var fewer = moves
        fewer.remove(at: index)
        if fails(fewer) { moves = fewer }
      }
      if moves.count == count { return moves }
    }
  }
}
