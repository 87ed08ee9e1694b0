import Foundation

/// A model that is run with random moves.
package protocol RandomModel {
  associatedtype Move

  /// The moves of a seed.
  static func moves(seed: UInt64) -> [Move]
  init(_ moves: [Move], seed: UInt64)
  /// - Returns: what did not hold; nil if everything has.
  mutating func run() -> String?
  /// The number of calls that the run has made, by their names.
  var calls: [String: Int] { get }
}

/// The random runs of a model.
package enum ModelRuns {
  /// Runs a model with one seed after the other: NAME_SEED is the first one, and NAME_RUNS their number. With NAME_RUNS
  /// the calls are printed.
  ///
  /// - Parameter inspect: called after each run.
  /// - Returns: a line for each run that fails, with the moves that it needs.
  package static func failures<Model: RandomModel>(
    of _: Model.Type, _ name: String, standard: UInt64, _ inspect: (Model) -> Void = { _ in }
  ) -> [String] {
    var (failures, calls): ([String], [String: Int]) = ([], [:])
    let first = number("\(name)_SEED", 1)
    for seed in first..<first + number("\(name)_RUNS", standard) {
      let moves = Model.moves(seed: seed)
      var model = Model(moves, seed: seed)
      let fault = model.run()
      calls.merge(model.calls) { $0 + $1 }
      inspect(model)
      guard fault != nil else { continue }
      let needed = reduced(moves) { fewer in
        var model = Model(fewer, seed: seed)
        return model.run() != nil
      }
      var again = Model(needed, seed: seed)
      failures.append("\(name)_SEED=\(seed): \(again.run() ?? "it passes when it is repeated"): \(needed)")
    }
    if number("\(name)_RUNS", 0) > 0 {
      print("\(calls.values.reduce(0, +)) calls")
      for (name, count) in calls.sorted(by: { $0.key < $1.key }) { print("  \(name): \(count)") }
    }
    return failures
  }

  /// A number of the environment, for the count of the runs and the first seed.
  private static func number(_ name: String, _ standard: UInt64) -> UInt64 {
    ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) } ?? standard
  }

  /// Runs models on a thread of their own: they do not suspend, and other tests of the process need the threads of
  /// tasks in real time.
  package static func onThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
      let thread = Thread { continuation.resume(returning: body()) }
      // As the main thread has.
      thread.stackSize = 8 << 20
      thread.start()
    }
  }

  /// Removes moves without which a run still fails, from the last one on, until none can be removed.
  private static func reduced<Move>(_ moves: [Move], fails: ([Move]) -> Bool) -> [Move] {
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
