import ModelFixtures
import Testing

/// The managers of both roles as a whole, against what programs rely on: an answer for each call, effects in the order
/// of the calls, and one view of a link at both ends (``ManagerModel``).
///
/// `MANAGER_RUNS` sets the number of runs, and `MANAGER_SEED` the first one. A run that fails is printed without the
/// moves that it does not need.
@Suite struct ManagerModelTests {
  @Test func randomProgramsHaveTheirAnswersAndTheirOrder() {
    let first = ModelRuns.number("MANAGER_SEED", 1)
    for seed in first..<first + ModelRuns.number("MANAGER_RUNS", 100) {
      let moves = ManagerModel.moves(seed: seed)
      var model = ManagerModel(moves, seed: seed)
      guard model.run() != nil else { continue }
      let needed = ManagerModel.reduced(moves, seed: seed)
      var again = ManagerModel(needed, seed: seed)
      Issue.record("MANAGER_SEED=\(seed): \(again.run() ?? "it passes when it is repeated"): \(needed)")
    }
  }

  /// A seed gives the same run again.
  @Test func aRunRepeats() {
    func effects(_ seed: UInt64) -> [String: Int] {
      var model = ManagerModel(ManagerModel.moves(seed: seed), seed: seed)
      _ = model.run()
      return model.calls
    }
    for seed in 1...5 as ClosedRange<UInt64> { #expect(effects(seed) == effects(seed)) }
  }

  /// Faults that the stack has had.
  @Test(arguments: ManagerModel.Fault.allCases) func aPlantedFaultIsFound(_ fault: ManagerModel.Fault) {
    let found = (1...400 as ClosedRange<UInt64>).first { seed in
      var model = ManagerModel(ManagerModel.moves(seed: seed), seed: seed, planted: fault)
      return model.run() != nil
    }
    #expect(found != nil)
  }
}
