import ModelFixtures
import Testing

/// The managers of both roles as a whole, against what programs rely on: an answer for each call, effects in the order
/// of the calls, and one view of a link at both ends (``ManagerModel``).
///
/// `MANAGER_RUNS` sets the number of runs, and `MANAGER_SEED` the first one. A run that fails is printed without the
/// moves that it does not need.
///
/// Calls that it never makes: `CBPeripheral.setPreferredPHY` and `requestConnectionPriority` of both roles, because
/// changes of the PHY by either device are reported like answers, which could not be counted then;
/// `requestConnectionParameters`, for the same reason with the timing; `setStoredValue`, `setAuthorized` and
/// `setPairing`, which have no answer and no effect that a peer sees in order; `startAdvertising(_:options:)`, which is
/// the other start with another content; the initializers that open a transport, and `shutDownAll`, which ends the
/// process. Time that is not virtual: a channel that is closed has ten real seconds for what it has not sent.
@Suite struct ManagerModelTests {
  @Test func randomProgramsHaveTheirAnswersAndTheirOrder() async {
    for failure in await ModelRuns.onThread(Self.failures) { Issue.record(Comment(rawValue: failure)) }
  }

  private static func failures() -> [String] {
    ModelRuns.failures(of: ManagerModel.self, "MANAGER", standard: 60)
  }

  /// A seed gives the same run again.
  @Test func aRunRepeats() async {
    for seed in 1...5 as ClosedRange<UInt64> {
      let (first, second) = await ModelRuns.onThread { (Self.outcome(seed), Self.outcome(seed)) }
      #expect(first == second)
    }
  }

  private static func outcome(_ seed: UInt64) -> [String: Int] {
    var model = ManagerModel(ManagerModel.moves(seed: seed), seed: seed)
    _ = model.run()
    return model.calls
  }

  /// Faults that the stack has had.
  @Test(arguments: ManagerModel.Fault.allCases) func aPlantedFaultIsFound(_ fault: ManagerModel.Fault) async {
    let isFound = await ModelRuns.onThread {
      (1...400 as ClosedRange<UInt64>).contains { seed in
        var model = ManagerModel(ManagerModel.moves(seed: seed), seed: seed, planted: fault)
        return model.run() != nil
      }
    }
    #expect(isFound)
  }
}
