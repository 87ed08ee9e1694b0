import BLEHCI
import BLEVirtual
import BLEWire
import Testing

@testable import BLEHost

/// Shorter connection intervals (Vol 4, Part E, 7.8.154 to 7.8.156): the bring-up, and requests of owners.
@Suite("Connection rates") struct ConnectionRateTests {
  private let device = DeviceAddress(octets: BD_ADDR(0x00C0_FFEE_0001), kind: .public)
  private let handle = ConnectionHandle(rawValue: 0x40)
  private let peer = LinkID(rawValue: 1)

  private static let commands: [HCIOpcode] = [
    .leReadAllLocalSupportedFeatures, .leReadAllRemoteFeatures, .leSetHostFeatureV2, .leConnectionRateRequest,
    .leSetDefaultRateParameters, .leReadMinimumSupportedConnectionInterval,
  ]

  private func able() -> ScriptedController {
    var controller = ScriptedController()
    controller.leFeatures = [.encryption, .peripheralInitiatedFeaturesExchange, .llExtendedFeatureSet]
    controller.furtherFeatures = .shorterConnectionIntervals
    for command in Self.commands + [.leReadRemoteFeatures, .leConnectionUpdate] { controller.supported.insert(command) }
    return controller
  }

  /// A host with a link at 30 ms.
  private func linked(_ controller: ScriptedController, as role: ConnectedLink.Role = .central) throws -> Bench {
    var bench = Bench(controller)
    switch role {
    case .central:
      bench.receive(ScriptedController.connectedAsCentral(0x40, to: device))
      // The answer to Exchange MTU: a server that does not answer ends the link before.
      _ = bench.att(0x40, [0x03, 0x17, 0x00])
    case .peripheral: bench.receive(ScriptedController.connected(0x40))
    }
    bench.receive(timing(24))
    _ = bench.takeEvents()
    return bench
  }

  private func timing(_ interval: UInt16) -> [UInt8] {
    ScriptedController.packet(
      HCI.LEConnectionUpdateComplete {
        ($0.connectionHandle, $0.connectionInterval, $0.supervisionTimeout) = (handle, interval, 600)
      })
  }

  private func features(_ further: HCI.LEFurtherFeatures, _ status: HCIErrorCode = .success) -> [UInt8] {
    ScriptedController.packet(
      HCI.LEReadAllRemoteFeaturesComplete {
        ($0.status, $0.connectionHandle, $0.maxRemotePage, $0.maxValidPage) = (status, handle, 1, 1)
        $0.features.furtherFeatures = further
      })
  }

  private let both: HCI.LEFurtherFeatures = [.shorterConnectionIntervals, .shorterConnectionIntervalsHostSupport]
  private let feature = "Shorter Connection Intervals"

  private func change(
    _ interval: UInt16, _ factor: UInt16 = 1, latency: UInt16 = 0, status: HCIErrorCode = .success
  ) -> [UInt8] {
    ScriptedController.packet(
      HCI.LEConnectionRateChange {
        ($0.status, $0.connectionHandle, $0.connectionInterval) = (status, handle, interval)
        ($0.subrateFactor, $0.peripheralLatency, $0.supervisionTimeout) = (factor, latency, 500)
      })
  }

  private func ask(_ parameters: LinkRateParameters = LinkRateParameters(interval: 8...16)) -> HostCommand {
    .link(peer, .requestConnectionRate(parameters))
  }

  private func rate(_ interval: UInt16, _ factor: UInt16 = 1, latency: UInt16 = 0) -> LinkRate {
    LinkRate(
      interval: interval,
      subrating: LinkSubrating(factor: factor, latency: latency, continuation: 0, supervisionTimeout: 500))
  }

  private func opcodes(_ bench: Bench) -> [HCIOpcode] {
    bench.controller.commands.map(\.opcode).filter {
      [.leReadAllRemoteFeatures, .leConnectionRateRequest].contains($0)
    }
  }

  private func results(_ events: [HostEvent]) -> [Result<LinkRate, HostError>] {
    events.compactMap { if case .link(_, .connectionRate(let result)) = $0 { result } else { nil } }
  }

  // MARK: Bring-up

  @Test func theHostSaysThatItSupportsShorterIntervals() throws {
    let bench = Bench(able())
    let commands = bench.controller.commands
    let feature = try #require(commands.first { $0.opcode == .leSetHostFeatureV2 })
    #expect(feature.parameters == [73, 0, 1])
    let standard = try #require(commands.first { $0.opcode == .leSetDefaultRateParameters })
    let accepted = try HCI.LESetDefaultRateParameters(decoding: standard.parameters).parameters
    #expect(accepted.isValid && accepted.connectionIntervalMin == 8 && accepted.connectionIntervalMax == 400)
    #expect(accepted.subrateMin == 1 && accepted.subrateMax == 50 && accepted.maxLatency == 4)
    let mask = try #require(commands.first { $0.opcode == .leSetEventMask })
    let events = try HCI.LESetEventMask(decoding: mask.parameters).eventMask
    #expect(events.contains(.connectionRateChange) && events.contains(.readAllRemoteFeaturesComplete))
  }

  /// Without the bit of further pages, without the feature, without a command, or where another step is refused.
  @Test(arguments: 0..<6) func aControllerThatLacksItGetsNoSuchCommand(_ way: Int) throws {
    var controller = able()
    switch way {
    case 0: controller.leFeatures.remove(.llExtendedFeatureSet)
    case 1: controller.furtherFeatures = .frameSpaceUpdate
    case 2: controller.supported.remove(.leReadAllLocalSupportedFeatures)
    case 3: controller.supported.remove(.leConnectionRateRequest)
    case 4: controller.supported.remove(.leSetHostFeatureV2)
    default: controller.refusals[.leReadAllLocalSupportedFeatures] = .unknownCommand
    }
    var bench = try linked(controller)
    let sent = bench.controller.commands.map(\.opcode).filter { Self.commands.contains($0) }
    #expect(sent == ([0, 2].contains(way) ? [] : [.leReadAllLocalSupportedFeatures]))
    let mask = try #require(bench.controller.commands.first { $0.opcode == .leSetEventMask })
    #expect(!(try HCI.LESetEventMask(decoding: mask.parameters).eventMask.contains(.connectionRateChange)))
    bench.perform(ask())
    #expect(results(bench.takeEvents()) == [.failure(.unsupported(feature))])
    #expect(opcodes(bench).isEmpty)
  }

  @Test(arguments: [
    HCIOpcode.leSetDefaultRateParameters, .leReadMinimumSupportedConnectionInterval, .leSetHostFeatureV2,
  ])
  func aRefusedStepLeavesTheControllerUsable(_ refused: HCIOpcode) throws {
    var controller = able()
    controller.refusals[refused] = .commandDisallowed
    var bench = try linked(controller)
    #expect(bench.core.linkCount == 1)
    // One that does not report its intervals has those of LE Connection Update; one that does not know of the host's
    // support has no rates.
    bench.perform(ask())
    let error = results(bench.takeEvents()).last?.error
    switch refused {
    case .leSetDefaultRateParameters: #expect(error == nil)
    case .leSetHostFeatureV2: #expect(error == .unsupported(feature))
    default:
      guard case .invalidParameters = error else { throw CancellationError() }
      bench.perform(ask(LinkRateParameters(interval: 60...60)))
      #expect(opcodes(bench) == [.leReadAllRemoteFeatures])
    }
  }

  /// A controller that rejects the mask of events is used without the feature.
  @Test func aRefusedMaskWithdrawsTheFeature() throws {
    var controller = able()
    controller.refusals[.leSetEventMask] = .invalidCommandParameters
    var bench = try linked(controller)
    #expect(!bench.controller.commands.contains { $0.opcode == .leSetHostFeatureV2 })
    bench.perform(ask())
    #expect(results(bench.takeEvents()) == [.failure(.unsupported(feature))])
  }

  /// An adapter that the kernel runs is asked for nothing.
  @Test func anAdapterOfTheKernelHasNoRates() throws {
    var configuration = HostConfiguration()
    configuration.ownership = .sharedWithKernel
    var bench = Bench(able(), configuration: configuration)
    bench.receive(ScriptedController.connected(0x40))
    _ = bench.takeEvents()
    bench.perform(ask())
    guard case .failure(.disabled) = results(bench.takeEvents()).last else {
      Issue.record("not disabled")
      return
    }
    #expect(!bench.controller.commands.contains { Self.commands.contains($0.opcode) })
  }

  // MARK: Requests of owners

  @Test(arguments: [ConnectedLink.Role.central, .peripheral]) func aRequestIsAnsweredByTheChange(
    _ role: ConnectedLink.Role
  ) throws {
    var bench = try linked(able(), as: role)
    let subrating = SubratingParameters(factor: 2...8, latency: 1, continuation: 5)
    bench.perform(ask(LinkRateParameters(interval: 8...16, subrating: subrating)))
    #expect(opcodes(bench) == [.leReadAllRemoteFeatures])
    // One request at a time.
    bench.perform(ask())
    let outstanding = "a request for another connection rate or other subrating is outstanding"
    #expect(results(bench.takeEvents()) == [.failure(.invalidParameters(outstanding))])
    bench.receive(features(both))
    let command = try #require(bench.controller.commands.last)
    let request = try HCI.LEConnectionRateRequest(decoding: command.parameters)
    #expect(request.connectionHandle == handle)
    let sent = request.parameters
    #expect(sent.connectionIntervalMin == 8 && sent.connectionIntervalMax == 16)
    #expect(sent.subrateMin == 2 && sent.subrateMax == 8 && sent.maxLatency == 1 && sent.continuationNumber == 5)
    #expect(sent.supervisionTimeout == 600)
    bench.receive(change(9, 8, latency: 1))
    #expect(results(bench.takeEvents()) == [.success(rate(9, 8, latency: 1))])
    // The features are known; a change by the peer is an event, too.
    bench.perform(ask())
    bench.receive(change(8))
    bench.receive(change(10))
    #expect(results(bench.takeEvents()) == [.success(rate(8)), .success(rate(10))])
    #expect(opcodes(bench) == [.leReadAllRemoteFeatures, .leConnectionRateRequest, .leConnectionRateRequest])
  }

  /// Another interval by LE Connection Update ends the subrating of the rate.
  @Test func aConnectionUpdateEndsTheRate() throws {
    var bench = try linked(able())
    bench.receive(change(9, 4))
    bench.receive(timing(24))
    let events = bench.takeEvents()
    let timings = events.compactMap { if case .link(_, .connectionUpdated(let timing)) = $0 { timing } else { nil } }
    #expect(timings == [LinkTiming(interval: 24, latency: 0, supervisionTimeout: 600)])
    let factors = events.compactMap {
      if case .link(_, .subrating(.success(let subrating))) = $0 { subrating.factor } else { nil }
    }
    #expect(factors == [1])
  }

  @Test(arguments: [
    LinkRateParameters(interval: 2...8), LinkRateParameters(interval: 8...32_001),
    // Below the shortest interval of the controller.
    LinkRateParameters(interval: 3...7),
    LinkRateParameters(interval: 8...8, subrating: SubratingParameters(factor: 0...1)),
    LinkRateParameters(interval: 8...8, subrating: SubratingParameters(factor: 1...501)),
    LinkRateParameters(interval: 8...8, subrating: SubratingParameters(factor: 1...4, continuation: 4)),
    LinkRateParameters(interval: 8...8, subrating: SubratingParameters(factor: 1...100, latency: 5)),
    // 100 ms are not longer than twice 50 ms.
    LinkRateParameters(interval: 8...400, subrating: SubratingParameters(factor: 1...1, supervisionTimeout: 10)),
  ]) func parametersOutsideTheLimitsAreRejected(_ parameters: LinkRateParameters) throws {
    var bench = try linked(able())
    bench.perform(ask(parameters))
    guard case .failure(.invalidParameters) = results(bench.takeEvents()).last else {
      Issue.record("not rejected")
      return
    }
    #expect(opcodes(bench).isEmpty)
  }

  @Test(arguments: [HCI.LEFurtherFeatures.shorterConnectionIntervals, .shorterConnectionIntervalsHostSupport, []])
  func aDeviceWithoutItIsNamed(_ found: HCI.LEFurtherFeatures) throws {
    var bench = try linked(able())
    for _ in 0..<2 {
      bench.perform(ask())
      bench.receive(features(found))
      #expect(results(bench.takeEvents()) == [.failure(.unsupportedByPeer(feature))])
    }
    #expect(opcodes(bench) == [.leReadAllRemoteFeatures])
    #expect("\(HostError.unsupportedByPeer(feature))" == "the device has no Shorter Connection Intervals")
  }

  /// The controller or the device ends the procedure of the features with an error.
  @Test func featuresThatCannotBeReadEndTheRequest() throws {
    var bench = try linked(able())
    bench.perform(ask())
    bench.receive(features([], .unsupportedRemoteFeature))
    bench.perform(ask())
    bench.receive(features([], .connectionTimeout))
    let expected: [Result<LinkRate, HostError>] = [
      .failure(.unsupportedByPeer(feature)), .failure(.controller(.leReadAllRemoteFeatures, .connectionTimeout)),
    ]
    #expect(results(bench.takeEvents()) == expected)
  }

  /// Where the features cannot be asked for, the request itself shows whether the device has it.
  @Test(arguments: 0..<3) func aRequestIsSentWithoutTheFeaturesOfThePeer(_ way: Int) throws {
    var controller = able()
    switch way {
    case 0: controller.supported.remove(.leReadAllRemoteFeatures)
    case 1: controller.refusals[.leReadAllRemoteFeatures] = .commandDisallowed
    default: controller.leFeatures.remove(.peripheralInitiatedFeaturesExchange)
    }
    var bench = try linked(controller, as: way == 2 ? .peripheral : .central)
    bench.perform(ask())
    #expect(opcodes(bench).last == .leConnectionRateRequest)
    bench.receive(change(240, status: .unsupportedRemoteFeature))
    #expect(results(bench.takeEvents()) == [.failure(.unsupportedByPeer(feature))])
  }

  @Test func aRefusalIsAnError() throws {
    var controller = able()
    controller.refusals[.leConnectionRateRequest] = .commandDisallowed
    var bench = try linked(controller)
    for _ in 0..<2 {
      bench.perform(ask())
      bench.receive(features(both))
      #expect(results(bench.takeEvents()) == [.failure(.controller(.leConnectionRateRequest, .commandDisallowed))])
    }
  }

  /// The controller accepts a command and reports nothing, or the device rejects the request.
  @Test func aRequestEndsByTheClockOfTheHost() throws {
    var bench = try linked(able())
    bench.perform(ask())
    bench.run(for: HostConfiguration().procedureTimeout)
    let noFeatures = HostError.controller(.leReadAllRemoteFeatures, .linkLayerResponseTimeout)
    #expect(results(bench.takeEvents()) == [.failure(noFeatures)])
    // A late answer changes nothing.
    bench.receive(features(both))
    #expect(opcodes(bench) == [.leReadAllRemoteFeatures])
    bench.perform(ask())
    bench.receive(features(both))
    bench.run(for: HostConfiguration().procedureTimeout)
    let noChange = HostError.controller(.leConnectionRateRequest, .linkLayerResponseTimeout)
    #expect(results(bench.takeEvents()) == [.failure(noChange)])
    bench.perform(ask())
    bench.receive(change(240, status: .unsupportedLinkLayerParameterValue))
    let rejected = HostError.controller(.leConnectionRateRequest, .unsupportedLinkLayerParameterValue)
    #expect(results(bench.takeEvents()) == [.failure(rejected)])
    #expect(bench.core.linkCount == 1)
  }

  /// The link ends while the features or the change are awaited: its end answers.
  @Test(arguments: [false, true]) func theEndOfTheLinkEndsTheRequest(_ areFeaturesRead: Bool) throws {
    var bench = try linked(able())
    bench.perform(ask())
    if areFeaturesRead { bench.receive(features(both)) }
    bench.receive(ScriptedController.disconnected(0x40))
    // Too late, for a link that is no longer there.
    bench.receive(features(both))
    bench.receive(change(8))
    bench.run(for: HostConfiguration().procedureTimeout)
    let events = bench.takeEvents()
    #expect(results(events).isEmpty && bench.core.linkCount == 0)
    #expect(events.contains { if case .link(_, .disconnected) = $0 { true } else { false } })
    bench.perform(ask())
    #expect(results(bench.takeEvents()) == [.failure(.notConnected)])
  }

  /// A change by the peer while the features are awaited does not answer the request.
  @Test func aChangeByThePeerLeavesTheRequest() throws {
    var bench = try linked(able())
    bench.perform(ask())
    bench.receive(change(40))
    #expect(results(bench.takeEvents()) == [.success(rate(40))])
    bench.receive(features(both))
    #expect(opcodes(bench).last == .leConnectionRateRequest)
    bench.receive(change(8))
    #expect(results(bench.takeEvents()) == [.success(rate(8))])
  }

  /// Low power subrates a short interval, and another priority asks for its own timing.
  @Test func aPriorityReplacesTheRate() throws {
    var controller = able()
    controller.leFeatures.insert(.connectionSubrating)
    for command in [HCIOpcode.leSetHostFeature, .leSubrateRequest] { controller.supported.insert(command) }
    var bench = try linked(controller)
    bench.receive(change(3))
    bench.perform(.link(peer, .prioritize(.lowPower)))
    let supporting: HCI.LEFeatures = [.connectionSubrating, .connectionSubratingHostSupport]
    bench.receive(
      ScriptedController.packet(
        HCI.LEReadRemoteFeaturesComplete { ($0.connectionHandle, $0.features) = (handle, supporting) }))
    let command = try #require(bench.controller.commands.last)
    let request = try HCI.LESubrateRequest(decoding: command.parameters).parameters
    #expect(request.isValid && request.subrateMax == 166 && request.continuationNumber == 165)
    bench.receive(
      ScriptedController.packet(
        HCI.LESubrateChange {
          ($0.connectionHandle, $0.subrateFactor, $0.peripheralLatency) = (handle, 166, 2)
          ($0.continuationNumber, $0.supervisionTimeout) = (165, 600)
        }))
    bench.perform(.link(peer, .prioritize(.balanced)))
    bench.receive(
      ScriptedController.packet(
        HCI.LESubrateChange {
          ($0.connectionHandle, $0.subrateFactor, $0.supervisionTimeout) = (handle, 1, 600)
        }))
    let update = try #require(bench.controller.commands.last { $0.opcode == .leConnectionUpdate })
    #expect(try HCI.LEConnectionUpdate(decoding: update.parameters).parameters.connectionIntervalMin == 24)
  }

  /// Intervals in units of 125 us, and those of 1.25 ms rounded up.
  @Test(
    arguments: [(8, 1, 1000), (10, 1, 1250), (11, 2, 1375), (60, 6, 7500), (32_000, 3200, 4_000_000)]
      as [(
        UInt16, UInt16, Int
      )]) func aTimingHasUnitsOf125Microseconds(_ interval: UInt16, _ rounded: UInt16, _ microseconds: Int)
  {
    let timing = LinkTiming(rateInterval: interval, latency: 0, supervisionTimeout: 100)
    #expect(timing.interval == rounded && timing.intervalDuration == .microseconds(microseconds))
  }

  /// What a controller reports beyond the limits does not trap.
  @Test func anIntervalBeyondTheLimitsIsHeld() throws {
    #expect(LinkTiming(interval: .max, latency: 0, supervisionTimeout: 100).rateInterval == .max)
    var bench = try linked(able())
    bench.receive(timing(.max))
    bench.receive(change(.max, .max, latency: .max))
    bench.receive(change(0, 0))
    #expect(results(bench.takeEvents()).last == .success(rate(0)))
    #expect(bench.core.linkCount == 1)
  }

  // MARK: Both hosts

  /// Requests of either end, on our controllers.
  @Test(arguments: [0, 1]) func aRequestWorksInBothRoles(_ host: Int) throws {
    var configuration = VirtualControllerConfiguration()
    configuration.connectionIntervals = VirtualConnectionIntervals()
    var world = World(2, controller: { [configuration] _ in configuration })
    world.ask(
      0, .advertising(.start(AdvertisingID(rawValue: 1), AdvertisingIntent(data: [2, 1, 6], scanResponse: []))))
    world.ask(1, .initiating(.connect(ConnectID(rawValue: 1), world.hosts[0].addressOnAir, ConnectionParameters())))
    world.run(for: .seconds(1))
    let links = world.heard.map { events in
      events.compactMap { if case .connected(let link) = $0 { link.peer } else { nil } }.last
    }
    let link = try #require(links[host])
    for (interval, factor): (UInt16, UInt16) in [(8, 1), (12, 4), (9, 1)] {
      let subrating = SubratingParameters(factor: factor...factor)
      world.ask(
        host, .link(link, .requestConnectionRate(LinkRateParameters(interval: interval...16, subrating: subrating))))
      world.run(for: .seconds(2))
      for end in 0...1 {
        guard case .success(let rate)? = results(world.heard[end]).last else {
          Issue.record("no rate at \(end)")
          continue
        }
        #expect(rate.interval == interval && rate.subrating.factor == factor)
      }
    }
    #expect(world.complaints.isEmpty, "\(world.complaints)")
  }
}

extension Result {
  fileprivate var error: Failure? { if case .failure(let error) = self { error } else { nil } }
}
