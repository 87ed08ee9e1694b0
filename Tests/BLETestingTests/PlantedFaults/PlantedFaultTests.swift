import Testing

@testable import BLETesting

/// Faults that programs really have, planted in small programs: a test on the radio finds each within five seeds, finds
/// it again with the same seed, and shortens what leads to it. The program without the fault passes with all of them.
struct PlantedFaultTests {
  private static let seeds: ClosedRange<UInt64> = 1...5

  @Test(arguments: PlantedFault.all) func isFoundRepeatedAndShortened(_ fault: PlantedFault) async throws {
    let failure = try #require(
      await #expect(throws: TestFailure.self) {
        try await TestRadio.explore(seeds: Self.seeds, incidents: fault.plan, patience: fault.patience) {
          try await fault.test($0, true)
        }
      })
    #expect(failure.incidents.count <= 1, "\(failure)")
    #expect(failure.activity.values.allSatisfy { $0.count <= fault.actionLimit }, "\(failure)")
    let settings = TestRadio.Settings(
      incidents: failure.incidents, pacing: .airtime, timeLimit: .seconds(3600), patience: fault.patience, traces: nil)
    for _ in 1...10 {
      await #expect(throws: (any Error).self) {
        try await TestRadio.run(seed: failure.seed, settings, RunRecord(isTrial: true)) {
          try await fault.test($0, true)
        }
      }
    }
  }

  @Test(arguments: PlantedFault.all) func theProgramWithoutItPasses(_ fault: PlantedFault) async throws {
    try await TestRadio.explore(seeds: Self.seeds, incidents: fault.plan) { try await fault.test($0, false) }
  }
}
