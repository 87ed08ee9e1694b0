import BLEHCI
import BLEHost
import BLEWire
import Testing

@Suite("Bringing a controller up (Vol 6, Part D, 2)")
struct BringUpTests {
  @Test func asksWhatTheControllerIsBeforeUsingIt() {
    let bench = Bench()
    #expect(
      bench.controller.commands.map(\.opcode) == [
        .reset, .readLocalVersionInformation, .readLocalSupportedCommands, .readLocalSupportedFeatures, .readBDADDR,
        .leReadLocalSupportedFeatures, .leReadBufferSize, .setEventMask, .leSetEventMask,
      ])
    #expect(bench.core.state == .poweredOn)
    #expect(bench.core.controller.aclLength == 27)
    #expect(bench.core.ownAddress.description == "00:11:22:33:44:55 (public)")
  }

  @Test func usesWhatTheControllerSupports() {
    var controller = ScriptedController()
    controller.leFeatures = [.encryption, .dataPacketLengthExtension]
    controller.supported.insert(.leReadFilterAcceptListSize)
    controller.supported.insert(.leReadMaximumDataLength)
    let bench = Bench(controller)
    let sent = bench.controller.commands.map(\.opcode)
    #expect(sent.contains(.leReadFilterAcceptListSize))
    #expect(sent.contains(.leReadMaximumDataLength))
    #expect(bench.core.controller.acceptListSize == 8)
  }

  @Test func aControllerWithoutAnAddressGetsAStaticRandomOne() {
    var controller = ScriptedController()
    controller.publicAddress = BD_ADDR(0)
    let bench = Bench(controller)
    #expect(bench.core.ownAddress.randomKind == .static)
    #expect(bench.controller.commands.last?.opcode == .leSetRandomAddress)
    #expect(bench.core.state == .poweredOn)
  }

  @Test func aRefusedResetIsUnsupported() {
    var controller = ScriptedController()
    controller.refusals[.reset] = .hardwareFailure
    let bench = Bench(controller)
    #expect(bench.core.state == .unsupported)
    guard case .state(.unsupported, let error) = bench.events.last else { Issue.record("no state event"); return }
    #expect(error == .controller(.reset, .hardwareFailure))
  }

  /// A controller of BR/EDR alone: its answer to the first LE command says so, where its features do not.
  @Test(
    arguments: [
      (0, HCIErrorCode.unknownCommand, "it does not know LE Read Local Supported Features (0x2003)"),
      (1 << 38, .unsupportedFeatureOrParameterValue, "it does not know LE Read Local Supported Features (0x2003)"),
      (1, .unknownCommand, "LE Supported (Controller) is not among its features"),
      (1, .commandDisallowed, "LE Supported (Controller) is not among its features"),
    ] as [(UInt64, HCIErrorCode, String)])
  func aControllerWithoutLEIsCalledThat(_ features: UInt64, _ status: HCIErrorCode, _ why: String) {
    var controller = ScriptedController()
    controller.lmpFeatures = HCI.LMPFeatures(rawValue: features)
    controller.refusals[.leReadLocalSupportedFeatures] = status
    let bench = Bench(controller)
    guard case .state(.unsupported, let error?) = bench.events.last else { Issue.record("\(bench.events)"); return }
    #expect(
      "\(error)"
        == "the controller has no Bluetooth Low Energy: \(why). Use another adapter, of Bluetooth 4.0 or later")
  }

  @Test func aControllerThatListsNoLEGetsNoLECommand() {
    var controller = ScriptedController()
    controller.lmpFeatures = HCI.LMPFeatures(rawValue: 1)
    controller.supported.insert(.reset)
    let bench = Bench(controller)
    #expect(bench.core.state == .unsupported)
    #expect(bench.controller.commands.last?.opcode == .readBDADDR)
  }

  /// A wrong bit of the features does no harm.
  @Test func aControllerThatKnowsTheLECommandsHasLE() {
    var controller = ScriptedController()
    controller.lmpFeatures = HCI.LMPFeatures(rawValue: 1)
    controller.supported.insert(.leReadLocalSupportedFeatures)
    #expect(Bench(controller).core.state == .poweredOn)
    controller.supported = HCI.SupportedCommands()
    #expect(Bench(controller).core.state == .poweredOn)
  }

  /// The answer of a controller that has LE, but fails.
  @Test func anotherRefusalOfALECommandIsItself() {
    var controller = ScriptedController()
    controller.refusals[.leReadBufferSize] = .hardwareFailure
    guard case .state(.unsupported, let error) = Bench(controller).events.last else { Issue.record("no event"); return }
    #expect(error == .controller(.leReadBufferSize, .hardwareFailure))
  }

  @Test func whatTheControllerOnlyNeedNotKnowMayBeRefused() {
    var controller = ScriptedController()
    controller.refusals[.readLocalVersionInformation] = .unknownCommand
    controller.refusals[.readLocalSupportedCommands] = .unknownCommand
    #expect(Bench(controller).core.state == .poweredOn)
  }

  @Test func aSilentControllerIsResetThreeTimesAndGivenUp() {
    var controller = ScriptedController()
    controller.silent = [.reset]
    var bench = Bench(controller)
    #expect(bench.core.state == .unknown)
    bench.run(for: .seconds(60))
    #expect(bench.controller.commands.map(\.opcode) == [.reset, .reset, .reset])
    #expect(bench.core.state == .unsupported)
    #expect(bench.core.deadline == nil)
  }

  @Test func aControllerThatFallsSilentLaterIsResetAndComesBack() {
    var bench = Bench()
    bench.receive(ScriptedController.connected(0x40))
    bench.controller.silent = [.readRSSI]
    bench.perform(.link(LinkID(rawValue: 1), .readRSSI))
    _ = bench.takeEvents()
    bench.run(for: .seconds(3))
    let states = bench.events.compactMap { event -> AdapterState? in
      if case .state(let state, _) = event { state } else { nil }
    }
    #expect(states == [.resetting, .poweredOn])
    let isTold = bench.events.contains {
      if case .link(LinkID(rawValue: 1), .disconnected(_)) = $0 { true } else { false }
    }
    #expect(isTold)
    let ends = bench.events.compactMap { event -> String? in
      switch event {
      case .state(let state, _): "\(state)"
      case .link(_, .disconnected): "disconnected"
      default: nil
      }
    }
    #expect(ends == ["resetting", "disconnected", "poweredOn"], "the state is the cause, and comes first")
    let hasAnswer = bench.events.contains {
      if case .link(LinkID(rawValue: 1), .rssi(.failure)) = $0 { true } else { false }
    }
    #expect(hasAnswer)
  }

  @Test func answersThatComeTwiceAreReportedAndIgnored() {
    var bench = Bench()
    bench.receive(ScriptedController.complete(.reset, [0]))
    guard case .diagnostic(let diagnostic) = bench.events.last else { Issue.record("nothing said"); return }
    #expect(diagnostic.origin == .controller)
    #expect(bench.core.state == .poweredOn)
  }

  @Test(
    arguments: [
      [0x04, 0x0E, 0x02, 0x01],  // an event that ends in its header
      [0x04],
      [0x04, 0x3E, 0x01, 0x01],  // LE Connection Complete without a field
      [0x02, 0x40, 0x20],  // an ACL packet that ends in its header
      [0x02, 0x40, 0x20, 0xFF, 0x00, 0x01],  // one shorter than it says
      [0x07, 0x01, 0x02],  // no packet type
      [0x04, 0x13, 0x05, 0x02, 0x40, 0x00, 0x01, 0x00],  // two entries announced, one there
    ] as [[UInt8]])
  func garbageIsReportedAndSurvived(packet: [UInt8]) {
    var bench = Bench()
    _ = bench.takeEvents()
    bench.receive(packet)
    let isReported = bench.events.contains { if case .diagnostic = $0 { true } else { false } }
    #expect(isReported)
    bench.receive(ScriptedController.connected(0x40))
    #expect(bench.att(0x40, [0x02, 0x17, 0x00]) == [[0x03, 0x05, 0x02]])
  }

  @Test func aHardwareErrorResetsAndRestores() {
    var bench = Bench()
    bench.receive([0x04, 0x10, 0x01, 0x42])
    #expect(bench.core.state == .poweredOn)
    #expect(bench.controller.commands.filter { $0.opcode == .reset }.count == 2)
  }

  @Test func theTransportMayGoAndComeBack() {
    var bench = Bench()
    bench.receive(ScriptedController.connected(0x40))
    bench.failTransport(.transport("the controller closed the pipe"))
    #expect(bench.core.state == .resetting)
    bench.restart()
    #expect(bench.core.state == .poweredOn)
  }
}

@Suite("A controller that the kernel runs")
struct SharedControllerTests {
  private func bench() -> Bench {
    var configuration = HostConfiguration()
    configuration.ownership = .sharedWithKernel
    return Bench(ScriptedController(), configuration: configuration)
  }

  @Test func isAskedAndNeverChanged() {
    let bench = bench()
    #expect(
      bench.controller.commands.map(\.opcode) == [
        .readLocalVersionInformation, .readLocalSupportedCommands, .readLocalSupportedFeatures, .readBDADDR,
        .leReadLocalSupportedFeatures, .leReadBufferSize,
      ])
    #expect(bench.core.state == .poweredOn)
  }

  @Test func answersToOtherProgramsPassBy() {
    var bench = bench()
    _ = bench.takeEvents()
    bench.receive(ScriptedController.complete(.leSetScanEnable, [0]))
    #expect(bench.events.isEmpty)
  }

  @Test func anotherProgramsLinkAsACentralIsNotOurs() {
    var bench = bench()
    _ = bench.takeEvents()
    var event: [UInt8] = []
    event.append(
      hci: HCI.LEConnectionComplete {
        $0.connectionHandle = ConnectionHandle(rawValue: 0x40)
        $0.role = .central
      })
    bench.receive(event)
    #expect(bench.core.linkCount == 0 && !bench.events.contains { if case .connected = $0 { true } else { false } })
    bench.receive(ScriptedController.connected(0x41))
    #expect(bench.core.linkCount == 1)
  }
}
