import BLEHCI
import BLEHost
import BLEWire
import Testing

/// Controllers that report what they cannot do: the commands before them are used (Vol 4, Part E, 3.1.1).
@Suite("Controllers without a command that they report") struct FallbackTests {
  private let device = DeviceAddress(octets: BD_ADDR(0xC000_0000_0001), kind: .random)
  private static let statuses: [HCIErrorCode] = [
    .unknownCommand, .unsupportedFeatureOrParameterValue, .invalidCommandParameters,
  ]

  /// A controller of Bluetooth 5 which says so, and refuses this command.
  ///
  /// - Parameter isUp: whether the events of its set-up are left out.
  private func bench(without opcode: HCIOpcode? = nil, _ status: HCIErrorCode = .unknownCommand, isUp: Bool = true)
    -> Bench
  {
    var controller = ScriptedController()
    controller.leFeatures = [.encryption, .extendedAdvertising]
    controller.supported = .all
    controller.publicAddress = BD_ADDR(0x0011_2233_4455)
    if let opcode { controller.refusals[opcode] = status }
    var bench = Bench(controller)
    if isUp { _ = bench.takeEvents() }
    return bench
  }

  private func faults(_ bench: Bench) -> [String] {
    bench.events.compactMap {
      if case .diagnostic(let line) = $0, line.origin == .controller { line.text } else { nil }
    }
  }

  /// The opcodes of scanning, advertising and connecting since the last reset.
  private func sent(_ bench: Bench) -> [HCIOpcode] {
    let all = bench.controller.commands.map(\.opcode)
    return all.suffix(from: all.lastIndex(of: .reset) ?? 0).filter(Self.ofRadio.contains)
  }

  private static let ofRadio: Set<HCIOpcode> = [
    .leSetScanParameters, .leSetScanEnable, .leSetExtendedScanParameters, .leSetExtendedScanEnable,
    .leSetAdvertisingParameters, .leSetAdvertisingData, .leSetScanResponseData, .leSetAdvertisingEnable,
    .leSetExtendedAdvertisingParameters, .leSetExtendedAdvertisingData, .leSetExtendedScanResponseData,
    .leSetExtendedAdvertisingEnable, .leCreateConnection, .leExtendedCreateConnection,
  ]

  @Test(arguments: [HCIOpcode.leSetExtendedScanParameters, .leSetExtendedScanEnable], statuses)
  func scanningGoesByLegacyCommands(without opcode: HCIOpcode, status: HCIErrorCode) {
    var bench = bench(without: opcode, status)
    bench.perform(.scanning(.start(ScanParameters())))
    #expect(sent(bench).suffix(2) == [.leSetScanParameters, .leSetScanEnable])
    #expect(faults(bench).filter { $0.contains("\(opcode)") }.count == 1)
    #expect(bench.core.state == .poweredOn && bench.controller.commands.filter { $0.opcode == .reset }.count == 2)
    let told = bench.events.contains { event in
      switch event {
      case .scanning(.stopped), .state(.resetting, _): true
      default: false
      }
    }
    #expect(!told, "the owner's scan goes on")
    // One choice for the whole set, which stays.
    bench.perform(
      .advertising(.start(AdvertisingID(rawValue: 1), AdvertisingIntent(data: [2, 1, 6], scanResponse: []))))
    bench.perform(.initiating(.connect(ConnectID(rawValue: 1), device, ConnectionParameters())))
    #expect(sent(bench).contains(.leSetAdvertisingEnable) && sent(bench).contains(.leCreateConnection))
    #expect(bench.controller.commands.filter { $0.opcode == opcode }.count == 1)
  }

  @Test(
    arguments: [
      HCIOpcode.leSetExtendedAdvertisingParameters, .leSetExtendedAdvertisingData, .leSetExtendedScanResponseData,
      .leSetExtendedAdvertisingEnable,
    ], statuses)
  func advertisingGoesByLegacyCommands(without opcode: HCIOpcode, status: HCIErrorCode) {
    var bench = bench(without: opcode, status)
    bench.perform(
      .advertising(.start(AdvertisingID(rawValue: 1), AdvertisingIntent(data: [2, 1, 6], scanResponse: []))))
    #expect(
      sent(bench) == [
        .leSetAdvertisingParameters, .leSetAdvertisingData, .leSetScanResponseData, .leSetAdvertisingEnable,
      ])
    let starts = bench.events.compactMap { event -> Bool? in
      if case .advertising(_, .started(let result)) = event { (try? result.get()) != nil } else { nil }
    }
    #expect(starts == [true] && faults(bench).filter { $0.contains("\(opcode)") }.count == 1)
  }

  @Test(arguments: statuses)
  func connectingGoesByTheLegacyCommand(status: HCIErrorCode) {
    var bench = bench(without: .leExtendedCreateConnection, status)
    bench.perform(.initiating(.connect(ConnectID(rawValue: 1), device, ConnectionParameters())))
    #expect(sent(bench) == [.leCreateConnection])
    #expect(faults(bench).filter { $0.contains("\(HCIOpcode.leExtendedCreateConnection)") }.count == 1)
    bench.receive(ScriptedController.connectedAsCentral(0x40, to: device))
    guard case .connected(let link) = bench.events.last(where: { if case .connected = $0 { true } else { false } })
    else {
      Issue.record("\(bench.events)"); return
    }
    #expect(link.request == ConnectID(rawValue: 1))
  }

  /// What only the extended commands can do ends with an error; what the legacy ones can do goes on.
  @Test(arguments: [true, false]) func whatIsImpossibleThenIsGivenUp(isExtended: Bool) {
    var bench = bench(without: .leSetExtendedScanEnable)
    let id = AdvertisingID(rawValue: 1)
    var intent = AdvertisingIntent(data: [2, 1, 6], scanResponse: [])
    intent.usesExtendedPDUs = isExtended
    bench.perform(.advertising(.start(id, intent)))
    bench.perform(.scanning(.start(ScanParameters())))
    let isGivenUp = bench.events.contains {
      if case .advertising(id, .ended(.unsupported)) = $0 { true } else { false }
    }
    #expect(isGivenUp == isExtended)
    #expect(sent(bench).contains(.leSetScanEnable) && sent(bench).contains(.leSetAdvertisingEnable) != isExtended)
  }

  /// The reset that a change of the commands begins with would end a link: it waits for that.
  @Test func aLinkIsNotLostForIt() {
    var bench = bench(without: .leSetExtendedScanParameters)
    bench.receive(ScriptedController.connected(0x40))
    bench.perform(.scanning(.start(ScanParameters())))
    #expect(sent(bench).last == .leSetExtendedScanParameters && bench.core.linkCount == 1)
    bench.receive(ScriptedController.disconnected(0x40))
    #expect(sent(bench).suffix(2) == [.leSetScanParameters, .leSetScanEnable])
  }

  @Test(arguments: [HCIErrorCode.unknownCommand, .invalidCommandParameters])
  func theEventsOfTheFirstGenerationWhereOthersAreRefused(status: HCIErrorCode) {
    var bench = bench(without: .leSetEventMask, status)
    let masks = bench.controller.commands.filter { $0.opcode == .leSetEventMask }.map(\.parameters)
    #expect(masks.count == 2 && masks.last == [0x1F, 0, 0, 0, 0, 0, 0, 0][...])
    #expect(bench.core.state == .poweredOn)
    bench.perform(.scanning(.start(ScanParameters())))
    #expect(sent(bench).suffix(2) == [.leSetScanParameters, .leSetScanEnable])
  }

  @Test func anAddressThatCannotBeReadIsReplacedByAStaticRandomOne() {
    let bench = bench(without: .readBDADDR, .hardwareFailure, isUp: false)
    #expect(bench.core.state == .poweredOn && bench.core.ownAddress.randomKind == .static)
    #expect(faults(bench).contains { $0.contains("\(HCIOpcode.readBDADDR)") })
  }

  @Test func everyStepThatIsRefusedHasALine() {
    let needed: Set<HCIOpcode> = [.reset, .leReadLocalSupportedFeatures, .leReadBufferSize]
    for opcode in bench().controller.commands.map(\.opcode) {
      for status in [HCIErrorCode.unknownCommand, .commandDisallowed, .controllerBusy] {
        let bench = bench(without: opcode, status, isUp: false)
        let isLoss = bench.core.state != .poweredOn
        #expect(isLoss || faults(bench).contains { $0.contains("\(opcode)") }, "\(opcode), \(status)")
        #expect(!isLoss || needed.contains(opcode), "\(opcode), \(status)")
      }
    }
  }
}
