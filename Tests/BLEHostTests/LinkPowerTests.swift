import BLEHCI
import BLEVirtual
import BLEWire
import Testing

@testable import BLEHost

/// Transmit powers and the path loss of links (Vol 4, Part E, 7.8.117 to 7.8.121): reads, reports by the need of
/// owners, and controllers that do not answer.
@Suite("Power control") struct LinkPowerTests {
  private let device = DeviceAddress(octets: BD_ADDR(0x00C0_FFEE_0001), kind: .public)
  private let handle = ConnectionHandle(rawValue: 0x40)
  private let peer = LinkID(rawValue: 1)
  private let one = OwnerID(rawValue: 1)
  private let two = OwnerID(rawValue: 2)

  private static let commands: [HCIOpcode] = [
    .leEnhancedReadTransmitPowerLevel, .leReadRemoteTransmitPowerLevel, .leSetPathLossReportingParameters,
    .leSetPathLossReportingEnable, .leSetTransmitPowerReportingEnable,
  ]

  private func able() -> ScriptedController {
    var controller = ScriptedController()
    controller.leFeatures = [.encryption, .powerControlRequest, .powerChangeIndication, .pathLossMonitoring]
    for command in Self.commands { controller.supported.insert(command) }
    return controller
  }

  /// A host with two owners and a link of which it is the peripheral.
  private func linked(_ controller: ScriptedController) -> Bench {
    var bench = Bench(controller)
    bench.attach(one)
    bench.attach(two)
    bench.receive(ScriptedController.connected(0x40))
    _ = bench.takeEvents()
    return bench
  }

  private func power(_ reason: UInt8, _ level: Int8, _ status: HCIErrorCode = .success) -> [UInt8] {
    ScriptedController.packet(
      HCI.LETransmitPowerReporting {
        ($0.status, $0.connectionHandle, $0.reason, $0.phy) = (status, handle, reason, 1)
        $0.txPowerLevel = level
      })
  }

  private func pathLoss(_ zone: UInt8, _ loss: UInt8) -> [UInt8] {
    ScriptedController.packet(
      HCI.LEPathLossThreshold { ($0.connectionHandle, $0.zoneEntered, $0.currentPathLoss) = (handle, zone, loss) })
  }

  private func sent(_ bench: Bench, _ opcode: HCIOpcode) -> [Bytes] {
    bench.controller.commands.filter { $0.opcode == opcode }.map(\.parameters)
  }

  /// The events of power, each with its recipient.
  private func take(_ bench: inout Bench) -> [AddressedEvent<LinkPowerEvent>] {
    bench.takeAddressed().compactMap { event, recipient in
      if case .link(_, .power(let power)) = event { AddressedEvent(power, to: recipient) } else { nil }
    }
  }

  private func answers(_ bench: inout Bench) -> [LinkPowerEvent] { take(&bench).map(\.event) }

  private let thresholds = PathLossParameters(low: 50, high: 75, lowHysteresis: 3, highHysteresis: 4, minimumTime: 10)

  // MARK: Bring-up

  @Test func theEventsAreInTheMask() throws {
    let mask = try #require(sent(Bench(able()), .leSetEventMask).first)
    let events = try HCI.LESetEventMask(decoding: mask).eventMask
    #expect(events.contains(.transmitPowerReporting) && events.contains(.pathLossThreshold))
    let plain = try #require(sent(Bench(), .leSetEventMask).first)
    let without = try HCI.LESetEventMask(decoding: plain).eventMask
    #expect(!without.contains(.transmitPowerReporting) && !without.contains(.pathLossThreshold))
  }

  /// It has the features, and rejects the mask with their events: it is used without them.
  @Test func aControllerThatRejectsTheMaskIsUsedWithoutPowerControl() throws {
    var controller = able()
    controller.refusals[.leSetEventMask] = .invalidCommandParameters
    var bench = linked(controller)
    #expect(bench.core.state == .poweredOn && sent(bench, .leSetEventMask).count == 2)
    let last = try #require(sent(bench, .leSetEventMask).last)
    #expect(try HCI.LESetEventMask(decoding: last).eventMask == SetupStep.firstLEEvents)
    bench.perform(.link(peer, .power(.read(.remote))), from: one)
    #expect(answers(&bench) == [.level(.remote, .failure(.unsupported("LE Power Control")))])
  }

  @Test(arguments: commands) func whatAControllerLacksIsUnsupported(_ missing: HCIOpcode) {
    var controller = able()
    controller.supported.remove(missing)
    var bench = linked(controller)
    let attempts: [(LinkPowerCommand, HCIOpcode)] = [
      (.read(.local), .leEnhancedReadTransmitPowerLevel), (.read(.remote), .leReadRemoteTransmitPowerLevel),
      (.report(true), .leSetTransmitPowerReportingEnable),
      (.monitorPathLoss(thresholds), .leSetPathLossReportingParameters),
    ]
    for (command, opcode) in attempts {
      bench.perform(.link(peer, .power(command)), from: one)
      let isPathLoss = [HCIOpcode.leSetPathLossReportingParameters, .leSetPathLossReportingEnable].contains(missing)
      let lacks = opcode == missing || (isPathLoss && opcode == .leSetPathLossReportingParameters)
      #expect(sent(bench, opcode).isEmpty == lacks)
      let isUnsupported = answers(&bench).contains {
        switch $0 {
        case .level(_, .failure(.unsupported)), .notReported(.unsupported), .pathLoss(.failure(.unsupported)): true
        default: false
        }
      }
      #expect(isUnsupported == lacks, "\(command)")
    }
  }

  @Test func theKernelMasksTheEvents() {
    var configuration = HostConfiguration()
    configuration.ownership = .sharedWithKernel
    var bench = Bench(able(), configuration: configuration)
    bench.attach(one)
    bench.receive(ScriptedController.connected(0x40))
    _ = bench.takeEvents()
    for command in [LinkPowerCommand.read(.remote), .report(true), .monitorPathLoss(thresholds)] {
      bench.perform(.link(peer, .power(command)), from: one)
      #expect(answers(&bench).count == 1)
    }
    #expect(sent(bench, .leReadRemoteTransmitPowerLevel).isEmpty)
    bench.perform(.link(peer, .power(.read(.local))), from: one)
    #expect(sent(bench, .leEnhancedReadTransmitPowerLevel).count == 1)
  }

  // MARK: Reads

  @Test func theOwnPowerIsTheAnswerOfTheCommand() {
    var bench = linked(able())
    bench.controller.silent = [.leEnhancedReadTransmitPowerLevel]
    for (returned, expected) in [
      ([0, 0x40, 0, 1, 0xF8, 20], .success(-8)), ([0, 0x40, 0, 1, 127, 20], .success(nil)),
      (
        [0x02, 0x40, 0, 1, 0, 0], .failure(.controller(.leEnhancedReadTransmitPowerLevel, .unknownConnectionIdentifier))
      ),
      ([0, 0x40], .failure(.malformedAnswer(.leEnhancedReadTransmitPowerLevel))),
    ] as [([UInt8], Result<Int8?, HostError>)] {
      bench.perform(.link(peer, .power(.read(.local))), from: one)
      #expect(sent(bench, .leEnhancedReadTransmitPowerLevel).last == [0x40, 0, 1])
      bench.receive(ScriptedController.complete(.leEnhancedReadTransmitPowerLevel, returned))
      let events = take(&bench)
      #expect(events.map(\.event) == [.level(.local, expected)] && events.first?.recipient == .owner(one))
    }
  }

  /// The PHYs of the link: this device sends on LE 2M, and the peer on LE Coded.
  @Test func thePHYIsTheOneInUse() {
    var bench = linked(able())
    bench.receive(
      ScriptedController.packet(
        HCI.LEPHYUpdateComplete { ($0.connectionHandle, $0.txPHY, $0.rxPHY) = (handle, .le2M, .leCoded) }))
    bench.perform(.link(peer, .power(.read(.local))), from: one)
    bench.perform(.link(peer, .power(.read(.remote))), from: one)
    #expect(sent(bench, .leEnhancedReadTransmitPowerLevel) == [[0x40, 0, 2]])
    #expect(sent(bench, .leReadRemoteTransmitPowerLevel) == [[0x40, 0, 3]])
  }

  /// One request is outstanding, and answers all owners.
  @Test func thePowerOfThePeerIsTheEvent() {
    var bench = linked(able())
    for owner in [one, two, one] { bench.perform(.link(peer, .power(.read(.remote))), from: owner) }
    #expect(sent(bench, .leReadRemoteTransmitPowerLevel) == [[0x40, 0, 1]])
    // Changes of others do not answer.
    bench.receive(power(0, 1))
    bench.receive(power(1, 2))
    #expect(take(&bench).isEmpty)
    bench.receive(power(2, -12))
    let events = take(&bench)
    #expect(events.map(\.event) == [.level(.remote, .success(-12))] && events.first?.recipient == .owners([one, two]))
    bench.receive(power(2, -13))
    #expect(take(&bench).isEmpty)
    for (level, expected) in [(Int8(126), Int8?.none), (127, nil), (20, 20)] {
      bench.perform(.link(peer, .power(.read(.remote))), from: one)
      bench.receive(power(2, level))
      #expect(answers(&bench) == [.level(.remote, .success(expected))])
    }
    bench.perform(.link(peer, .power(.read(.remote))), from: one)
    bench.receive(power(2, 127, .unsupportedRemoteFeature))
    let error = HostError.controller(.leReadRemoteTransmitPowerLevel, .unsupportedRemoteFeature)
    #expect(answers(&bench) == [.level(.remote, .failure(error))])
  }

  @Test func aRefusalAnswersAllOwners() {
    var controller = able()
    controller.silent = [.leReadRemoteTransmitPowerLevel]
    var bench = linked(controller)
    for owner in [one, two] { bench.perform(.link(peer, .power(.read(.remote))), from: owner) }
    bench.receive(ScriptedController.status(.leReadRemoteTransmitPowerLevel, .commandDisallowed))
    let error = HostError.controller(.leReadRemoteTransmitPowerLevel, .commandDisallowed)
    let events = take(&bench)
    #expect(events.map(\.event) == [.level(.remote, .failure(error))])
    #expect(events.first?.recipient == .owners([one, two]))
  }

  /// The controller accepts the request and reports nothing; its late event answers nobody.
  @Test func aRequestEndsByTheClockOfTheHost() {
    var bench = linked(able())
    bench.perform(.link(peer, .power(.read(.remote))), from: one)
    bench.run(for: HostConfiguration().procedureTimeout)
    let error = HostError.controller(.leReadRemoteTransmitPowerLevel, .linkLayerResponseTimeout)
    #expect(answers(&bench) == [.level(.remote, .failure(error))])
    bench.receive(power(2, 4))
    #expect(answers(&bench).isEmpty && bench.core.linkCount == 1)
    // The next request is a new one.
    bench.perform(.link(peer, .power(.read(.remote))), from: one)
    #expect(sent(bench, .leReadRemoteTransmitPowerLevel).count == 2)
    // A change is not the answer, and does not stop the clock.
    bench.receive(power(1, 4))
    bench.run(for: HostConfiguration().procedureTimeout)
    #expect(answers(&bench) == [.level(.remote, .failure(error))])
  }

  @Test func theEndOfTheLinkEndsEverything() {
    var bench = linked(able())
    for command in [LinkPowerCommand.read(.remote), .report(true), .monitorPathLoss(thresholds)] {
      bench.perform(.link(peer, .power(command)), from: one)
    }
    bench.receive(ScriptedController.disconnected(0x40))
    bench.receive(power(2, 4))
    bench.receive(pathLoss(1, 60))
    bench.run(for: HostConfiguration().procedureTimeout)
    #expect(answers(&bench).isEmpty)
    for command in [LinkPowerCommand.read(.local), .read(.remote), .report(true), .monitorPathLoss(thresholds)] {
      bench.perform(.link(peer, .power(command)), from: one)
      #expect(answers(&bench) == [command.failure(.notConnected)].compactMap { $0 })
    }
    for command in [LinkPowerCommand.report(false), .monitorPathLoss(nil)] {
      bench.perform(.link(peer, .power(command)), from: one)
      #expect(answers(&bench).isEmpty)
    }
  }

  // MARK: Reports

  @Test func changesAreReportedWhileAnOwnerNeedsThem() {
    var bench = linked(able())
    let opcode = HCIOpcode.leSetTransmitPowerReportingEnable
    for owner in [one, two, one] { bench.perform(.link(peer, .power(.report(true))), from: owner) }
    #expect(sent(bench, opcode) == [[0x40, 0, 1, 1]])
    bench.receive(power(0, 8))
    bench.receive(power(1, -8))
    // A failure is no change, and a reason of a later version neither.
    bench.receive(power(0, 9, .unspecifiedError))
    bench.receive(power(3, 9))
    let events = take(&bench)
    #expect(events.map(\.event) == [.level(.local, .success(8)), .level(.remote, .success(-8))])
    #expect(events.allSatisfy { $0.recipient == .owners([two, one]) })
    bench.perform(.link(peer, .power(.report(false))), from: two)
    #expect(sent(bench, opcode).count == 1)
    bench.receive(power(0, 7))
    #expect(take(&bench).map(\.recipient) == [.owner(one)])
    // An owner that detaches needs nothing.
    bench.detach(one)
    #expect(sent(bench, opcode).last == [0x40, 0, 0, 0])
    bench.receive(power(0, 6))
    #expect(take(&bench).isEmpty)
  }

  @Test func aRefusalEndsTheReports() {
    var controller = able()
    controller.refusals[.leSetTransmitPowerReportingEnable] = .commandDisallowed
    var bench = linked(controller)
    for _ in 0..<2 {
      bench.perform(.link(peer, .power(.report(true))), from: one)
      let error = HostError.controller(.leSetTransmitPowerReportingEnable, .commandDisallowed)
      #expect(answers(&bench) == [.notReported(error)])
    }
  }

  // MARK: Path loss

  @Test func thePathLossIsMonitoredWhileAnOwnerNeedsIt() {
    var bench = linked(able())
    let (parameters, enable) = (HCIOpcode.leSetPathLossReportingParameters, HCIOpcode.leSetPathLossReportingEnable)
    bench.perform(.link(peer, .power(.monitorPathLoss(thresholds))), from: one)
    #expect(sent(bench, parameters) == [[0x40, 0, 75, 4, 50, 3, 10, 0]])
    #expect(sent(bench, enable) == [[0x40, 0, 1]])
    bench.receive(pathLoss(1, 60))
    #expect(answers(&bench) == [.pathLoss(.success(LinkPathLoss(zone: 1, loss: 60)))])
    // Another owner has the zone at once, without a command.
    bench.perform(.link(peer, .power(.monitorPathLoss(thresholds))), from: two)
    let first = take(&bench)
    #expect(first.map(\.event) == [.pathLoss(.success(LinkPathLoss(zone: 1, loss: 60)))])
    #expect(first.map(\.recipient) == [.owner(two)] && sent(bench, enable).count == 1)
    // One set of thresholds for each link.
    let other = PathLossParameters(low: 10, high: 20)
    bench.perform(.link(peer, .power(.monitorPathLoss(other))), from: two)
    guard case .pathLoss(.failure(.invalidParameters))? = answers(&bench).last else {
      Issue.record("accepted")
      return
    }
    // A zone of a later version is not reported.
    bench.receive(pathLoss(3, 90))
    bench.receive(pathLoss(2, 90))
    #expect(take(&bench).map(\.recipient) == [.owners([one, two])])
    bench.perform(.link(peer, .power(.monitorPathLoss(nil))), from: one)
    #expect(sent(bench, enable).count == 1)
    // The only owner chooses others.
    bench.perform(.link(peer, .power(.monitorPathLoss(other))), from: two)
    #expect(sent(bench, parameters).count == 2 && sent(bench, enable).count == 2)
    bench.detach(two)
    #expect(sent(bench, enable).last == [0x40, 0, 0])
    bench.receive(pathLoss(0, 5))
    #expect(take(&bench).isEmpty)
  }

  @Test func aPeerThatDoesNotReportItsPowerIsAnError() {
    var bench = linked(able())
    bench.perform(.link(peer, .power(.monitorPathLoss(thresholds))), from: one)
    bench.receive(pathLoss(0, 0xFF))
    guard case .pathLoss(.failure(.unsupportedByPeer))? = answers(&bench).last else {
      Issue.record("a path loss of 255 dB")
      return
    }
  }

  /// It reads its own power alone: the kernel masks the events.
  @Test func anAdapterOfTheKernelReadsItsOwnPowerAlone() {
    var configuration = HostConfiguration()
    configuration.ownership = .sharedWithKernel
    var bench = Bench(able(), configuration: configuration)
    bench.receive(ScriptedController.connected(0x40))
    for command: LinkPowerCommand in [.read(.remote), .report(true), .monitorPathLoss(thresholds)] {
      bench.perform(.link(peer, .power(command)))
      switch answers(&bench).last {
      case .level(.remote, .failure(.disabled)), .notReported(.disabled), .pathLoss(.failure(.disabled)): break
      case let other: Issue.record("\(command): \(String(describing: other))")
      }
    }
    bench.perform(.link(peer, .power(.read(.local))))
    #expect(sent(bench, .leEnhancedReadTransmitPowerLevel).count == 1)
    #expect(sent(bench, .leReadRemoteTransmitPowerLevel).isEmpty)
  }

  @Test(arguments: [
    PathLossParameters(low: 50, high: 40), PathLossParameters(low: 50, high: 60, lowHysteresis: 6, highHysteresis: 5),
    PathLossParameters(low: 2, high: 60, lowHysteresis: 3), PathLossParameters(low: 2, high: 250, highHysteresis: 6),
  ]) func thresholdsOutsideTheLimitsAreRejected(_ parameters: PathLossParameters) {
    var bench = linked(able())
    bench.perform(.link(peer, .power(.monitorPathLoss(parameters))), from: one)
    guard case .pathLoss(.failure(.invalidParameters))? = answers(&bench).last else {
      Issue.record("accepted")
      return
    }
    #expect(sent(bench, .leSetPathLossReportingParameters).isEmpty)
  }

  @Test(arguments: [HCIOpcode.leSetPathLossReportingParameters, .leSetPathLossReportingEnable])
  func aRefusalEndsTheMonitoring(_ refused: HCIOpcode) {
    var controller = able()
    controller.refusals[refused] = .commandDisallowed
    var bench = linked(controller)
    for number in 1...2 {
      bench.perform(.link(peer, .power(.monitorPathLoss(thresholds))), from: one)
      #expect(answers(&bench) == [.pathLoss(.failure(.controller(refused, .commandDisallowed)))])
      #expect(sent(bench, .leSetPathLossReportingParameters).count == number)
    }
  }

  /// The owner has gone before the controller has the thresholds: nothing is enabled.
  @Test func monitoringThatIsWithdrawnIsNotEnabled() {
    var controller = able()
    controller.silent = [.leSetPathLossReportingParameters]
    var bench = linked(controller)
    bench.perform(.link(peer, .power(.monitorPathLoss(thresholds))), from: one)
    bench.perform(.link(peer, .power(.monitorPathLoss(nil))), from: one)
    bench.receive(ScriptedController.complete(.leSetPathLossReportingParameters, [0, 0x40, 0]))
    #expect(sent(bench, .leSetPathLossReportingEnable).isEmpty)
  }

  // MARK: Both hosts

  /// Our hosts on our controllers, in both roles.
  @Test(arguments: [0, 1]) func powersAndZonesWorkInBothRoles(_ host: Int) throws {
    var world = World(2, pacing: .airtime)
    world.ask(
      0, .advertising(.start(AdvertisingID(rawValue: 1), AdvertisingIntent(data: [2, 1, 6], scanResponse: []))))
    world.ask(1, .initiating(.connect(ConnectID(rawValue: 1), world.hosts[0].addressOnAir, ConnectionParameters())))
    world.run(for: .seconds(5))
    let links = world.heard.map { events in
      events.compactMap { if case .connected(let link) = $0 { link.peer } else { nil } }.last
    }
    let link = try #require(links[host])
    func events(_ world: inout World) -> [LinkPowerEvent] {
      world.run(for: .seconds(2))
      return world.takeHeard(host).compactMap { if case .link(_, .power(let event)) = $0 { event } else { nil } }
    }
    for end in [LinkPowerEnd.local, .remote] { world.ask(host, .link(link, .power(.read(end)))) }
    #expect(events(&world) == [.level(.local, .success(0)), .level(.remote, .success(0))])
    world.ask(host, .link(link, .power(.report(true))))
    world.setTransmitPower(-12, of: 1 - host)
    world.setTransmitPower(6, of: host)
    let changes = events(&world)
    #expect(changes.contains(.level(.local, .success(6))) && changes.contains(.level(.remote, .success(-12))))
    world.ask(host, .link(link, .power(.monitorPathLoss(thresholds))))
    #expect(events(&world) == [.pathLoss(.success(LinkPathLoss(zone: 1, loss: 50)))])
    world.setPathLoss(90)
    #expect(events(&world) == [.pathLoss(.success(LinkPathLoss(zone: 2, loss: 90)))])
    #expect(world.complaints.isEmpty, "\(world.complaints)")
  }
}
