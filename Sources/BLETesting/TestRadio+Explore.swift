import BLELinux
public import BLEVirtual
import BLEWire
import Synchronization

extension TestRadio {
  /// The runs of a test that shorten one failure at most.
  static let trialLimit = 64

  /// Runs a test with many seeds, each with incidents of its own, until one fails; then it looks for the fewest and
  /// earliest incidents with which the test fails in the same way.
  ///
  /// ```swift
  /// import BLEKit
  /// import BLETesting
  /// import Testing
  ///
  /// @Test func theReaderGoesOn() async throws {
  ///   let plan = IncidentPlan(
  ///     of: ["sensor"], [.losesLinks, .leaves(for: .seconds(20))], count: 1...3, within: .seconds(30))
  ///   try await TestRadio.explore(seeds: 1...5, incidents: plan) { radio in
  ///     let sensor = try await radio.device("sensor")
  ///     let battery = LocalService("180F", [LocalCharacteristic("2A19").value(UInt8(80))])
  ///     let adapter = try await sensor.adapter()
  ///     async let _ = adapter.serve([battery], advertisingAs: "Sensor")
  ///     let phone = try await radio.device("phone").adapter()
  ///     try await radio.wait(atMost: .seconds(120)) {
  ///       let level = try? await phone.withConnection(to: sensor.address, timeout: .seconds(30)) {
  ///         try await $0.read("2A19", in: "180F", as: UInt8.self)
  ///       }
  ///       return level == 80
  ///     }
  ///   }
  /// }
  /// ```
  ///
  /// The incidents name the devices of ``device(_:_:controller:)``, and happen within a time that should be about as
  /// long as the program works: see that they happen while it has a link.
  ///
  /// A run fails as that of ``run(seed:incidents:pacing:timeLimit:patience:traces:_:)`` does. Expectations of Swift
  /// Testing that a run does not meet are recorded as known issues; the error of this function fails the test.
  ///
  /// The radio repeats its part packet by packet with the same seed and incidents. A program that does not do the same
  /// each time, because it runs on several threads or by the real time, may pass in a repetition.
  ///
  /// - Parameters:
  ///   - seeds: of the radio and the incidents, one run each.
  ///   - plan: which incidents are possible. With ``IncidentPlan/none``, only delays and addresses differ.
  ///   - pacing: when PDUs move; by default with the timing of a real radio.
  ///   - timeLimit: the time of the radio after which one run is cancelled and has failed.
  ///   - patience: the real time without any event after which a run that waits counts as stuck.
  ///   - traces: a folder, which exists, for the packets of the failure.
  ///   - body: the test. It makes its devices anew in each run.
  /// - Throws: ``TestFailure``.
  public static func explore(
    seeds: ClosedRange<UInt64>, incidents plan: IncidentPlan, pacing: VirtualRadio.Pacing = .airtime,
    timeLimit: Duration = .seconds(3600), patience: Duration = .seconds(20), traces: String? = nil,
    _ body: @escaping @Sendable (TestRadio) async throws -> Void
  ) async throws {
    let settings = Settings(incidents: [], pacing: pacing, timeLimit: timeLimit, patience: patience, traces: nil)
    for seed in seeds {
      try Task.checkCancellation()
      let incidents = plan.incidents(seed: seed)
      guard let first = await failure(seed, incidents, settings, body) else { continue }
      let simplest = plan.kinds.contains(.losesLinks) ? Incident.Kind.losesLinks : nil
      throw await shorten(
        first, seed, incidents, simplest, settings, body, traces ?? Environment.value("BLE_TEST_TRACES"))
    }
  }

  /// How a run has failed.
  private struct Failure {
    var reason: String
    /// Failures of the same kind are the same for the shortening.
    var kind: String
    var record: RunRecord
  }

  /// One run; nil if it passes.
  private static func failure(
    _ seed: UInt64, _ incidents: [Incident], _ settings: Settings,
    _ body: @escaping @Sendable (TestRadio) async throws -> Void
  ) async -> Failure? {
    var settings = settings
    settings.incidents = incidents
    let record = RunRecord(isTrial: true)
    do {
      try await run(seed: seed, settings, record, body)
    } catch {
      let issues = record.issues
      let kind = issues.first?.place ?? "\(type(of: error)) \("\(error)".prefix { $0 != ":" && $0 != "(" })"
      return Failure(
        reason: (issues.map(\.text) + (issues.isEmpty ? ["\(error)"] : [])).joined(separator: "; "), kind: kind,
        record: record)
    }
    guard let issue = record.issues.first else { return nil }
    return Failure(reason: record.issues.map(\.text).joined(separator: "; "), kind: issue.place, record: record)
  }

  /// Leaves incidents out, lets them happen earlier and take less time, as long as the test fails in the same way.
  ///
  /// - Parameter simplest: the kind that is tried instead of each other one; nil for none.
  private static func shorten(
    _ first: Failure, _ seed: UInt64, _ incidents: [Incident], _ simplest: Incident.Kind?, _ settings: Settings,
    _ body: @escaping @Sendable (TestRadio) async throws -> Void, _ traces: String?
  ) async -> TestFailure {
    var (failure, kept, runs) = (first, incidents, 0)
    func fails(_ incidents: [Incident]) async -> Bool {
      guard runs < trialLimit, !Task.isCancelled else { return false }
      runs += 1
      guard let found = await Self.failure(seed, incidents, settings, body), found.kind == first.kind else {
        return false
      }
      (failure, kept) = (found, incidents)
      return true
    }
    if !kept.isEmpty, await !fails([]) {
      var index = kept.count - 1
      while index >= 0 {
        var fewer = kept
        fewer.remove(at: index)
        _ = fewer.isEmpty ? false : await fails(fewer)
        index -= 1
      }
      for index in kept.indices {
        if let simplest, kept[index].kind != simplest {
          var simpler = kept
          simpler[index].kind = simplest
          _ = await fails(simpler)
        }
        var shorter = kept
        while let time = shorter[index].kind.duration, time > .milliseconds(100) {
          shorter[index].kind = shorter[index].kind.lasting(time.half)
          if await !fails(shorter) { break }
        }
        var earlier = kept
        while earlier[index].time > .milliseconds(10) {
          earlier[index].time = earlier[index].time.half
          if await !fails(earlier) { break }
        }
      }
    }
    failure.record.publish(in: traces)
    let devices = failure.record.packets
    return TestFailure(
      seed: seed, incidents: kept, firstCount: incidents.count, reason: failure.reason, runs: runs,
      activity: Dictionary(devices.map { ($0.device, $0.activity) }) { $1 },
      packets: Dictionary(devices.map { ($0.device, $0.frames) }) { $1 }, files: failure.record.files)
  }
}

extension Duration {
  /// Half of it, in milliseconds.
  fileprivate var half: Duration { .milliseconds(wholeMicroseconds / 2_000) }
}
