import BLEHCI
import BLEVirtual
import BLEWire
import Testing

@testable import BLEHost

/// Connection subrating (Vol 4, Part E, 7.8.123 and 7.8.124): the bring-up, requests of owners, and low power by
/// subrating.
@Suite("Connection subrating") struct SubratingTests {
  private let device = DeviceAddress(octets: BD_ADDR(0x00C0_FFEE_0001), kind: .public)
  private let handle = ConnectionHandle(rawValue: 0x40)
  private let peer = LinkID(rawValue: 1)

  private func able() -> ScriptedController {
    var controller = ScriptedController()
    controller.leFeatures = [.encryption, .connectionSubrating, .peripheralInitiatedFeaturesExchange]
    for command in [
      HCIOpcode.leReadRemoteFeatures, .leConnectionUpdate, .leSetHostFeature, .leSetDefaultSubrate, .leSubrateRequest,
    ] {
      controller.supported.insert(command)
    }
    return controller
  }

  /// A host with a link of which it is the central, at 30 ms.
  private func linked(_ controller: ScriptedController) throws -> Bench {
    var bench = Bench(controller)
    bench.receive(ScriptedController.connectedAsCentral(0x40, to: device))
    // The answer to Exchange MTU: a server that does not answer ends the link before.
    _ = bench.att(0x40, [0x03, 0x17, 0x00])
    bench.receive(timing(24))
    _ = bench.takeEvents()
    return bench
  }

  private func timing(_ interval: UInt16, _ status: HCIErrorCode = .success) -> [UInt8] {
    ScriptedController.packet(
      HCI.LEConnectionUpdateComplete {
        ($0.status, $0.connectionHandle, $0.connectionInterval) = (status, handle, interval)
        $0.supervisionTimeout = 600
      })
  }

  private func features(_ features: HCI.LEFeatures) -> [UInt8] {
    ScriptedController.packet(
      HCI.LEReadRemoteFeaturesComplete { ($0.connectionHandle, $0.features) = (handle, features) })
  }

  private let both: HCI.LEFeatures = [.connectionSubrating, .connectionSubratingHostSupport]

  private func change(_ factor: UInt16, latency: UInt16 = 0, _ status: HCIErrorCode = .success) -> [UInt8] {
    ScriptedController.packet(
      HCI.LESubrateChange {
        ($0.status, $0.connectionHandle, $0.subrateFactor) = (status, handle, factor)
        ($0.peripheralLatency, $0.supervisionTimeout) = (latency, 600)
      })
  }

  private func requests(_ bench: Bench) throws -> [HCI.SubrateParameters] {
    try bench.controller.commands.filter { $0.opcode == .leSubrateRequest }.map {
      try HCI.LESubrateRequest(decoding: $0.parameters).parameters
    }
  }

  private func updates(_ bench: Bench) throws -> [ClosedRange<UInt16>] {
    try bench.controller.commands.filter { $0.opcode == .leConnectionUpdate }.map {
      let parameters = try HCI.LEConnectionUpdate(decoding: $0.parameters).parameters
      return parameters.connectionIntervalMin...parameters.connectionIntervalMax
    }
  }

  private func results(_ events: [HostEvent]) -> [Result<LinkSubrating, HostError>] {
    events.compactMap { if case .link(_, .subrating(let result)) = $0 { result } else { nil } }
  }

  // MARK: Bring-up

  @Test func theHostSaysThatItSupportsSubrating() throws {
    let bench = Bench(able())
    let commands = bench.controller.commands
    let feature = try #require(commands.first { $0.opcode == .leSetHostFeature })
    #expect(feature.parameters == [38, 1])
    let standard = try #require(commands.first { $0.opcode == .leSetDefaultSubrate })
    let accepted = try HCI.LESetDefaultSubrate(decoding: standard.parameters).parameters
    #expect(accepted.isValid && accepted.subrateMin == 1 && accepted.subrateMax == 100 && accepted.maxLatency == 4)
    let mask = try #require(commands.first { $0.opcode == .leSetEventMask })
    #expect(try HCI.LESetEventMask(decoding: mask.parameters).eventMask.contains(.subrateChange))
  }

  @Test(arguments: [HCIOpcode.leSetHostFeature, .leSubrateRequest]) func aControllerThatLacksACommandIsNotAsked(
    _ missing: HCIOpcode
  ) throws {
    var controller = able()
    controller.supported.remove(missing)
    var bench = try linked(controller)
    #expect(!bench.controller.commands.contains { [.leSetHostFeature, .leSetDefaultSubrate].contains($0.opcode) })
    bench.perform(.link(peer, .requestSubrating(SubratingParameters(factor: 4...4))))
    #expect(results(bench.takeEvents()) == [.failure(.unsupported("Connection Subrating"))])
    bench.perform(.link(peer, .prioritize(.lowPower)))
    #expect(try updates(bench) == [84...100] && requests(bench).isEmpty)
  }

  @Test(arguments: [HCIOpcode.leSetHostFeature, .leSetDefaultSubrate]) func aRefusedStepLeavesTheControllerUsable(
    _ refused: HCIOpcode
  ) throws {
    var controller = able()
    controller.refusals[refused] = .commandDisallowed
    let bench = try linked(controller)
    #expect(bench.core.linkCount == 1)
  }

  // MARK: Requests of owners

  @Test func aRequestIsAnsweredByTheChange() throws {
    var bench = try linked(able())
    let parameters = SubratingParameters(factor: 2...8, latency: 1, continuation: 5)
    bench.perform(.link(peer, .requestSubrating(parameters)))
    let request = try #require(try requests(bench).last)
    #expect(request.subrateMin == 2 && request.subrateMax == 8 && request.maxLatency == 1)
    #expect(request.continuationNumber == 5 && request.supervisionTimeout == 600)
    // One request at a time.
    bench.perform(.link(peer, .requestSubrating(parameters)))
    let outstanding = results(bench.takeEvents())
    #expect(outstanding == [.failure(.invalidParameters("a request for other subrating is outstanding"))])
    #expect(try requests(bench).count == 1)
    bench.receive(change(8, latency: 1))
    let subrating = LinkSubrating(factor: 8, latency: 1, continuation: 0, supervisionTimeout: 600)
    #expect(results(bench.takeEvents()) == [.success(subrating)])
    // A change by the peer.
    bench.receive(change(4))
    #expect(results(bench.takeEvents()).count == 1)
    // Another interval ends it, and the same one does not.
    bench.receive(timing(24))
    #expect(results(bench.takeEvents()).isEmpty)
    bench.receive(timing(40))
    guard case .success(let ended)? = results(bench.takeEvents()).last else { throw CancellationError() }
    #expect(ended.factor == 1)
  }

  @Test(arguments: [
    SubratingParameters(factor: 0...1), SubratingParameters(factor: 1...501),
    SubratingParameters(factor: 1...4, continuation: 4), SubratingParameters(factor: 1...100, latency: 5),
    // 6 s are not longer than twice 100 events of 30 ms.
    SubratingParameters(factor: 1...100),
  ]) func parametersOutsideTheLimitsAreRejected(_ parameters: SubratingParameters) throws {
    var bench = try linked(able())
    bench.perform(.link(peer, .requestSubrating(parameters)))
    guard case .failure(.invalidParameters) = results(bench.takeEvents()).last else {
      Issue.record("not rejected")
      return
    }
    #expect(try requests(bench).isEmpty)
  }

  @Test func aRefusalIsAnError() throws {
    var controller = able()
    controller.refusals[.leSubrateRequest] = .commandDisallowed
    var bench = try linked(controller)
    for _ in 0..<2 {
      bench.perform(.link(peer, .requestSubrating(SubratingParameters(factor: 4...4))))
      #expect(results(bench.takeEvents()) == [.failure(.controller(.leSubrateRequest, .commandDisallowed))])
    }
  }

  /// The controller accepts the request and reports nothing, or the peer rejects it.
  @Test func aRequestEndsByTheClockOfTheHost() throws {
    var bench = try linked(able())
    bench.perform(.link(peer, .requestSubrating(SubratingParameters(factor: 4...4))))
    bench.run(for: HostConfiguration().procedureTimeout)
    #expect(
      results(bench.takeEvents()) == [.failure(.controller(.leSubrateRequest, .linkLayerResponseTimeout))])
    bench.perform(.link(peer, .requestSubrating(SubratingParameters(factor: 4...4))))
    bench.receive(change(1, .unsupportedRemoteFeature))
    #expect(
      results(bench.takeEvents()) == [.failure(.controller(.leSubrateRequest, .unsupportedRemoteFeature))])
    #expect(bench.core.linkCount == 1)
  }

  // MARK: Priorities

  @Test func lowPowerIsSubratingWhereBothEndsHaveIt() throws {
    var bench = try linked(able())
    bench.perform(.link(peer, .prioritize(.lowPower)))
    bench.receive(features(both))
    let request = try #require(try requests(bench).last)
    // 4 x 30 ms, and all events after one with data.
    #expect(request.subrateMin == 4 && request.subrateMax == 4 && request.maxLatency == 2)
    #expect(request.continuationNumber == 3 && request.supervisionTimeout == 600)
    bench.receive(change(4, latency: 2))
    #expect(try updates(bench).isEmpty)
    // The same priority again changes nothing; another one ends subrating before its timing.
    bench.perform(.link(peer, .prioritize(.lowPower)))
    #expect(try requests(bench).count == 1)
    bench.perform(.link(peer, .prioritize(.balanced)))
    #expect(try requests(bench).last?.subrateMax == 1 && requests(bench).count == 2)
    bench.receive(change(1))
    #expect(try updates(bench).isEmpty)
  }

  /// A long interval is shortened first.
  @Test func aLongIntervalIsShortenedFirst() throws {
    var bench = try linked(able())
    bench.receive(timing(100))
    bench.perform(.link(peer, .prioritize(.lowPower)))
    bench.receive(features(both))
    #expect(try updates(bench) == [24...40] && requests(bench).isEmpty)
    bench.receive(timing(40))
    #expect(try requests(bench).last?.subrateMax == 2)
  }

  @Test(arguments: [HCI.LEFeatures.connectionSubrating, .connectionSubratingHostSupport, []])
  func lowPowerIsALongIntervalWhereThePeerLacksIt(_ found: HCI.LEFeatures) throws {
    var bench = try linked(able())
    bench.perform(.link(peer, .prioritize(.lowPower)))
    bench.receive(features(found))
    #expect(try updates(bench) == [84...100] && requests(bench).isEmpty)
  }

  /// The controller refuses, the peer rejects, or nobody answers: the timing follows as without subrating.
  @Test(arguments: 0..<3) func lowPowerFallsBackWithoutSubrating(_ way: Int) throws {
    var controller = able()
    if way == 0 { controller.refusals[.leSubrateRequest] = .commandDisallowed }
    var bench = try linked(controller)
    bench.perform(.link(peer, .prioritize(.lowPower)))
    bench.receive(features(both))
    if way == 1 { bench.receive(change(1, .unsupportedRemoteFeature)) }
    if way == 2 { bench.run(for: HostConfiguration().procedureTimeout) }
    #expect(try requests(bench).count == 1 && updates(bench) == [84...100])
    let lines = bench.takeEvents().compactMap { if case .diagnostic(let line) = $0 { line.text } else { nil } }
    #expect(lines.contains { $0.contains("lowPower") })
  }

  /// A controller that answers with another factor is not asked again and again.
  @Test func anotherFactorIsAccepted() throws {
    var bench = try linked(able())
    bench.perform(.link(peer, .prioritize(.lowPower)))
    bench.receive(features(both))
    bench.receive(change(2, latency: 2))
    #expect(try requests(bench).count == 1 && updates(bench).isEmpty)
  }

  // MARK: Both hosts

  /// Low power of either end, on our controllers.
  @Test(arguments: [0, 1]) func lowPowerWorksInBothRoles(_ host: Int) throws {
    var world = World(2)
    world.ask(
      0, .advertising(.start(AdvertisingID(rawValue: 1), AdvertisingIntent(data: [2, 1, 6], scanResponse: []))))
    world.ask(1, .initiating(.connect(ConnectID(rawValue: 1), world.hosts[0].addressOnAir, ConnectionParameters())))
    world.run(for: .seconds(1))
    let links = world.heard.map { events in
      events.compactMap { if case .connected(let link) = $0 { link.peer } else { nil } }.last
    }
    let link = try #require(links[host])
    for (priority, factor) in [(ConnectionPriority.lowPower, UInt16(4)), (.balanced, 1), (.lowPower, 4)] {
      world.ask(host, .link(link, .prioritize(priority)))
      world.run(for: .seconds(2))
      for end in 0...1 {
        guard case .success(let subrating)? = results(world.heard[end]).last else {
          Issue.record("no subrating at \(end)")
          continue
        }
        #expect(subrating.factor == factor, "\(priority) at \(end)")
      }
    }
    world.ask(host, .link(link, .prioritize(.throughput)))
    world.run(for: .seconds(2))
    guard case .success(let last)? = results(world.heard[host]).last else { throw CancellationError() }
    #expect(last.factor == 1)
    #expect(world.complaints.isEmpty, "\(world.complaints)")
  }
}
