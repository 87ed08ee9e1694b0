import BLEHCI
import BLEKit
import Synchronization
import Testing

@testable import BLETesting

/// Many seeds, incidents at random, and the shortening of what fails.
struct ExploreTests {
  private struct Fault: Error {}

  private static let plan = IncidentPlan(
    of: ["a", "b"], [.losesLinks, .leaves(for: .seconds(20)), .losesPower(for: .seconds(10)), .forgetsBonds],
    count: 2...6, within: .seconds(30))

  @Test func aSeedHasTheSameIncidents() {
    for seed in 1...50 as ClosedRange<UInt64> {
      let incidents = Self.plan.incidents(seed: seed)
      #expect(incidents == Self.plan.incidents(seed: seed) && (2...6).contains(incidents.count))
      #expect(incidents.allSatisfy { $0.time < .seconds(30) && $0.kind.duration.map { $0 <= .seconds(20) } ?? true })
      #expect(incidents.map(\.time) == incidents.map(\.time).sorted())
    }
    #expect(Set((1...50).map { Self.plan.incidents(seed: $0) }).count == 50)
    #expect(IncidentPlan(of: [], [.losesLinks], count: 1...1, within: .seconds(1)).incidents(seed: 1).isEmpty)
  }

  /// Times and counts that no clock and no memory has room for.
  @Test func absurdPlansAndExpectationsDoNotTrap() async throws {
    let longest = Duration(secondsComponent: .max, attosecondsComponent: 0)
    let plan = IncidentPlan(of: ["a"], [.leaves(for: longest)], count: 0...Int.max, within: longest)
    for seed in 1...5 as ClosedRange<UInt64> {
      let incidents = plan.incidents(seed: seed)
      #expect(incidents.count <= IncidentPlan.countLimit && incidents.allSatisfy { !$0.description.isEmpty })
    }
    #expect(
      IncidentPlan(of: ["a"], [.losesLinks], count: 1_000...1_000, within: .zero).incidents(seed: 1).count == 1_000)
    let incidents = [
      Incident("a", .leaves(for: longest), at: .milliseconds(-500)), Incident("a", .losesLinks, at: longest),
      Incident("a", .leaves(for: .zero - longest), at: .zero - longest), Incident("nobody", .losesLinks, at: .zero),
    ]
    let texts = Course.lines(of: "a", [], incidents)
    #expect(texts.contains { $0.hasPrefix("  -0.500000 s: INCIDENT .leaves(for: ") }, "\(texts)")
    await #expect(throws: TestRadioError.self) {
      try await TestRadio.run(incidents: incidents, timeLimit: .seconds(100)) { radio in
        let device = try await radio.device("a")
        try await radio.addAdvertisers(1, interval: longest)
        try await device.expect(.connected, within: longest)
      }
    }
  }

  /// A program that fails as soon as its device has lost its power while it is connected: one incident is left.
  @Test func aFailureIsShortened() async throws {
    let failure = try #require(
      await #expect(throws: TestFailure.self) {
        try await TestRadio.explore(seeds: 1...20, incidents: Self.plan) { radio in
          let device = try await radio.device("a")
          _ = try await radio.device("b")
          let adapter = try await device.adapter()
          for _ in 1...300 {
            try await radio.clock.sleep(for: .milliseconds(100))
            if adapter.state == .poweredOff { throw Fault() }
          }
        }
      })
    #expect(failure.firstCount >= 2)
    let incident = try #require(failure.incidents.first)
    #expect(failure.incidents.count == 1 && incident.device == "a", "\(failure)")
    // It happens at once, and takes little more than one look of the program.
    #expect(incident.time < .milliseconds(20), "\(failure)")
    #expect(try #require(incident.kind.duration) < .milliseconds(400), "\(failure)")
    #expect(failure.code.contains("Incident(\"a\", .losesPower(for: "))
    #expect(failure.reason.contains("Fault"))
  }

  /// A lost link is the simplest incident: another one is kept only if the test needs it.
  @Test func aSimplerKindOfIncidentIsTried() async throws {
    let plan = IncidentPlan(
      of: ["a"], [.losesPower(for: .seconds(10)), .losesLinks], count: 3...3, within: .seconds(30))
    let failure = try #require(
      await #expect(throws: TestFailure.self) {
        try await TestRadio.explore(seeds: 1...20, incidents: plan) { radio in
          let phone = try await radio.device("phone").adapter()
          let device = try await radio.device("a")
          let adapter = try await device.adapter()
          async let _ = adapter.advertise(Advertisement(localName: "A"))
          let link = try await phone.connect(to: device.address)
          try await radio.clock.sleep(for: .seconds(60))
          // The values of an expectation do not matter for what counts as the same failure.
          #expect(link.isConnected, "after \(radio.clock.now)")
        }
      })
    #expect(failure.incidents.map(\.kind) == [.losesLinks], "\(failure)")
    #expect("\(failure)".contains("INCIDENT .losesLinks\n"), "\(failure)")
    #expect("\(failure)".contains("s: disconnected: Connection Timeout (0x08)"), "\(failure)")
  }

  /// A reader that tries again reads a value whatever the controllers do, and as soon as they do it no more.
  @Test func controllersErrForATime() async throws {
    let faults: [VirtualFault] = [
      .losesReports(percent: 50), .packets(PacketFault(.delay(.milliseconds(200)), .data, .toHost)),
      .packets(PacketFault(.drop, .data, .toHost, percent: 10)), .disconnects(afterPackets: 40, .connectionTimeout),
    ]
    let plan = IncidentPlan(
      of: ["sensor", "phone"], faults.map { .faults([$0], for: .seconds(60)) }, count: 2...4, within: .seconds(60))
    try await TestRadio.explore(seeds: 1...3, incidents: plan) { radio in
      let sensor = try await radio.device("sensor")
      let adapter = try await sensor.adapter()
      let battery = LocalService("180F", [LocalCharacteristic("2A19").value(UInt8(80))])
      async let _ = adapter.serve([battery], advertisingAs: "Sensor")
      let phone = try await radio.device("phone").adapter()
      func read() async throws -> UInt8 {
        try await phone.withConnection(to: sensor.address, timeout: .seconds(30)) {
          try await $0.read("2A19", in: "180F", as: UInt8.self)
        }
      }
      while radio.clock.now.sinceStart < .seconds(120) {
        _ = try? await read()
        try await radio.clock.sleep(for: .seconds(1))
      }
      let level = try await read()
      #expect(level == 80)
    }
  }

  @Test func repeatedActionsAreOneLineAndTheMiddleIsLeftOut() {
    func activity(_ action: LinkAction, at second: Int) -> LinkActivity {
      LinkActivity(time: .seconds(second), action: action, peer: nil, isOfPeer: false, packet: second)
    }
    let updates = (1...30).map { activity(.updated("2A19", [UInt8($0)]), at: $0) }
    #expect(
      Course.lines(
        of: "a", updates + [activity(.disconnected(), at: 40)], [Incident("a", .losesLinks, at: .seconds(35))])
        == [
          "a:", "  1.000000 s: updated 2A19 = 01 (30 times, until 30.000000 s)", "  35.000000 s: INCIDENT .losesLinks",
          "  40.000000 s: disconnected",
        ])
    for count in [Course.lineLimit, Course.lineLimit + 1] {
      let mixed = (1...count).map { activity($0 % 2 == 0 ? .read("2A19") : .connected, at: $0) }
      let lines = Course.lines(of: "a", mixed, [])
      #expect(lines.count == Course.lineLimit + 1)
      #expect(lines.contains("  …") == (count > Course.lineLimit) && lines.last?.hasPrefix("  \(count).") == true)
    }
    #expect(Course.lines(of: "a", [], []) == ["a:", "  nothing on its links"])
  }

  /// Without incidents nothing is left to shorten.
  @Test func aFailureWithoutIncidentsNamesItsSeed() async throws {
    let failure = try #require(
      await #expect(throws: TestFailure.self) {
        try await TestRadio.explore(seeds: 3...9, incidents: .none) { radio in if radio.seed >= 5 { throw Fault() } }
      })
    #expect(failure.seed == 5 && failure.incidents.isEmpty && failure.files.isEmpty)
    #expect(failure.code == "try await TestRadio.run(seed: 5) { radio in … }")
  }

  /// Each run of the shortening fails but the one without incidents: it ends at its limit.
  @Test func theShorteningHasALimit() async throws {
    let calls = Mutex(0)
    let plan = IncidentPlan(of: ["a"], [.leaves(for: .seconds(20))], count: 80...80, within: .seconds(30))
    let failure = try #require(
      await #expect(throws: TestFailure.self) {
        try await TestRadio.explore(seeds: 1...1, incidents: plan) { _ in
          let number = calls.withLock { calls in
            calls += 1
            return calls
          }
          if number != 2 { throw Fault() }
        }
      })
    #expect(failure.runs == TestRadio.trialLimit && failure.incidents.count == 81 - TestRadio.trialLimit)
    #expect(calls.withLock { $0 } == TestRadio.trialLimit + 1)
  }

  /// Expectations of Swift Testing count as failures, too; in the runs they are known issues.
  @Test func anExpectationThatIsNotMetIsAFailure() async throws {
    let failure = try #require(
      await #expect(throws: TestFailure.self) {
        try await TestRadio.explore(seeds: 1...2, incidents: .none) { radio in
          #expect(radio.seed != 2, "the seed is two")
        }
      })
    #expect(failure.seed == 2 && failure.reason.contains("the seed is two"), "\(failure)")
  }

  /// A delegate that never returns does not stop the test.
  @Test func whatTheShortenedRunLeavesCanBeRead() async throws {
    let failure = try #require(
      await #expect(throws: TestFailure.self) {
        try await TestRadio.explore(seeds: 1...1, incidents: .none) { radio in
          let sensor = try await radio.device("sensor/1")
          let adapter = try await sensor.adapter()
          async let _ = adapter.serve(
            [LocalService("180F", [LocalCharacteristic("2A19").value(UInt8(1))])], advertisingAs: "Sensor")
          let device = try await radio.device("phone").adapter().connect(to: sensor.address)
          _ = try await device.read("2A19", in: "180F")
          throw Fault()
        }
      })
    #expect(
      failure.files.map { $0.split(separator: "/").last ?? "" }.sorted() == [
        "phone.btsnoop", "phone.svg", "sensor_1.btsnoop", "sensor_1.svg",
      ])
    // One of them may not have received the last packet of the other.
    let counts = failure.packets.values.sorted()
    #expect(counts.count == 2 && counts[0] > 10 && counts[1] - counts[0] <= 2, "\(failure)")
  }
}
