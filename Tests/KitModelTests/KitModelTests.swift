import ModelFixtures
import Testing

/// The adapters of BLEKit as a whole, against what programs rely on: an end of each call, effects in the order of the
/// calls, and one view of links at both ends (``KitModel``).
///
/// `KIT_RUNS` sets the number of runs, and `KIT_SEED` the first one. A run that fails is printed without the moves that
/// it does not need. A seed repeats a run, because all tasks run on one executor, on the turn of the test and in
/// virtual time. It does not repeat the order in which several readers of one stream go on: they are in a dictionary,
/// whose order is another one in each process.
///
/// Calls that it never makes: `Adapter.open` and `init`, which open a transport; `runProgram` and `shutDownAll`, which
/// end the process; `findDevice` by a name, an address or a condition, which is the search by a service with another
/// condition. Properties are read where the model needs them.
@Suite struct KitModelTests {
  @Test func randomProgramsEndTheirCallsInOrder() async {
    for failure in await ModelRuns.onThread(Self.failures) { Issue.record(Comment(rawValue: failure)) }
  }

  private static func failures() -> [String] {
    var slowest = (name: "", time: Duration.zero)
    let failures = ModelRuns.failures(of: KitModel.self, "KIT", standard: 50) { model in
      if model.slowest.time > slowest.time { slowest = model.slowest }
    }
    print("the slowest call: \(slowest.name), \(slowest.time)")
    return failures
  }

  /// A seed gives the same run again.
  @Test func aRunRepeats() async {
    for seed in 1...5 as ClosedRange<UInt64> {
      let (first, second) = await ModelRuns.onThread { (Self.outcome(seed), Self.outcome(seed)) }
      #expect(first == second)
    }
  }

  private static func outcome(_ seed: UInt64) -> [String] {
    var model = KitModel(KitModel.moves(seed: seed), seed: seed)
    _ = model.run()
    return [
      "\(model.calls.sorted { $0.key < $1.key })", "\(model.outcomes.sorted { $0.key < $1.key })", "\(model.effects)",
    ]
  }

  /// Faults that the model has found, in the runs that are left of those that found them.
  @Test(arguments: Found.allCases) func aFaultThatWasFoundIsGone(_ found: Found) async {
    let (fault, rejections) = await ModelRuns.onThread {
      var model = KitModel(found.moves, seed: 1)
      return (model.run(), model.outcomes["connect: invalidArgument"])
    }
    #expect(fault == nil)
    #expect(rejections == nil)
  }

  enum Found: CaseIterable, Sendable {
    /// The requests and subscriptions of a publication of two services did not end with it.
    case withdrawnServices
    /// A link of the other device was lost to the adapter when its own request for a link was cancelled.
    case cancelledRequest
    /// The request that follows such a one was rejected: the device is connected already.
    case repeatedRequest
    /// A request that the program had not taken, or whose handler had not returned, kept the session alive.
    case untakenRequest, hangingHandler

    var moves: [KitMove] {
      switch self {
      case .withdrawnServices:
        [
          .call(1, task: 0, .publish, 2), .pass(milliseconds: 1000), .call(1, task: 2, .releasePublication, 0),
          .pass(milliseconds: 10), .close(1),
        ]
      case .cancelledRequest:
        [
          .begin(1, .advertise, 0), .call(0, task: 0, .connect, 1), .pass(milliseconds: 1000),
          .call(1, task: 0, .connect, 0), .cancel(1, task: 0),
        ]
      case .repeatedRequest:
        Self.cancelledRequest.moves + [.pass(milliseconds: 10), .call(1, task: 1, .connect, 0)]
      case .untakenRequest:
        [
          .begin(0, .serve, 0), .call(1, task: 0, .connect, 1), .call(1, task: 0, .services, 0),
          .pass(milliseconds: 2000), .call(1, task: 0, .readRequested, 0), .pass(milliseconds: 500), .release(0),
        ]
      case .hangingHandler:
        [
          .begin(0, .serve, 0), .call(1, task: 0, .connect, 1), .call(1, task: 0, .services, 0),
          .handle(0, .hangs), .pass(milliseconds: 2000), .call(1, task: 0, .read, 0), .pass(milliseconds: 500),
          .release(0),
        ]
      }
    }
  }

  @Test(arguments: KitModel.Fault.allCases) func aPlantedFaultIsFound(_ fault: KitModel.Fault) async {
    let isFound = await ModelRuns.onThread {
      (1...400 as ClosedRange<UInt64>).contains { seed in
        var model = KitModel(KitModel.moves(seed: seed), seed: seed, planted: fault)
        return model.run() != nil
      }
    }
    #expect(isFound)
  }
}
