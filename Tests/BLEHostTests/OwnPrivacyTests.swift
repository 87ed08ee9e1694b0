import BLECrypto
import BLEGATT
import BLEHCI
import BLEHost
import BLESMP
import BLEVirtual
import BLEWire
import Testing

/// Our own resolvable private address (Vol 3, Part C, 10.7; Vol 6, Part B, 1.3.2.2).
@Suite("A private address of our own") struct OwnPrivacyTests {
  static let irk = EncryptionTests.irk
  let id = AdvertisingID(rawValue: 7)
  let intent = AdvertisingIntent(data: [2, 1, 6], scanResponse: [])

  private static func settings(_ rotation: Duration = .seconds(900)) -> PrivacySettings {
    PrivacySettings(identityResolvingKey: irk, rotation: rotation, distributesIdentityWhenUnauthenticated: true)
  }

  static let extended: ScriptedController = {
    var controller = ScriptedController()
    controller.leFeatures = [.encryption, .extendedAdvertising]
    let commands: [HCIOpcode] = [
      .leSetExtendedAdvertisingParameters, .leSetExtendedAdvertisingData, .leSetExtendedScanResponseData,
      .leSetExtendedAdvertisingEnable, .leSetExtendedScanParameters, .leSetExtendedScanEnable,
      .leExtendedCreateConnection,
    ]
    for command in commands { controller.supported.insert(command) }
    return controller
  }()

  private func sent(_ bench: Bench, after count: Int) -> [HCIOpcode] {
    bench.controller.commands.dropFirst(count).map(\.opcode)
  }

  /// The addresses that a command has set, in order, each checked to be made with our key.
  private func addresses(_ bench: Bench, _ opcode: HCIOpcode, after count: Int = 0) -> [DeviceAddress] {
    bench.controller.commands.dropFirst(count).filter { $0.opcode == opcode }.map { command in
      let octets = command.parameters.suffix(6).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      let address = DeviceAddress(octets: BD_ADDR(octets), kind: .random)
      #expect((try? SecurityToolbox(LibCrypto()).resolves(address, irk: Self.irk.value)) == true)
      return address
    }
  }

  @Test(arguments: [false, true]) func isShownFromTheStartAndRotated(extended: Bool) throws {
    var bench = Bench(extended ? Self.extended : ScriptedController())
    bench.perform(.privacy(Self.settings()))
    bench.perform(.advertising(.start(id, intent)))
    bench.perform(.scanning(.start(ScanParameters())))
    let setAddress: HCIOpcode = extended ? .leSetAdvertisingSetRandomAddress : .leSetRandomAddress
    let first = try #require(addresses(bench, setAddress).last)
    #expect(first == bench.core.addressOnAir && bench.core.ownAddress.kind == .public)
    let parameters: HCIOpcode = extended ? .leSetExtendedAdvertisingParameters : .leSetAdvertisingParameters
    let ownAddressType = try #require(bench.controller.commands.last { $0.opcode == parameters })
    #expect(ownAddressType.parameters[ownAddressType.parameters.startIndex + (extended ? 10 : 5)] == 1)
    let before = bench.controller.commands.count
    _ = bench.takeEvents()
    bench.run(for: .seconds(899))
    #expect(sent(bench, after: before).isEmpty)
    bench.run(for: .seconds(1))
    // Everything is off when the address changes (Vol 4, Part E, 7.8.4), and on again behind it.
    let legacySteps: [HCIOpcode] = [
      .leSetAdvertisingEnable, .leSetScanEnable, .leSetRandomAddress, .leSetAdvertisingParameters, .leSetScanParameters,
      .leSetAdvertisingData, .leSetScanEnable, .leSetScanResponseData, .leSetAdvertisingEnable,
    ]
    let extendedSteps: [HCIOpcode] = [
      .leSetExtendedAdvertisingEnable, .leSetExtendedScanEnable, .leSetRandomAddress,
      .leSetExtendedAdvertisingParameters, .leSetExtendedScanParameters, .leSetAdvertisingSetRandomAddress,
      .leSetExtendedScanEnable, .leSetExtendedAdvertisingData, .leSetExtendedScanResponseData,
      .leSetExtendedAdvertisingEnable,
    ]
    #expect(sent(bench, after: before) == (extended ? extendedSteps : legacySteps))
    let second = try #require(addresses(bench, setAddress, after: before).last)
    #expect(second != first && second == bench.core.addressOnAir)
    // The application declared an advertisement and a scan: neither has changed.
    #expect(bench.takeEvents().isEmpty)
  }

  @Test func aWishToConnectIsTakenBackAndMadeAgain() throws {
    var bench = Bench()
    bench.perform(.privacy(Self.settings(.seconds(1))))
    let peer = DeviceAddress(octets: BD_ADDR(0xC000_0000_0001), kind: .random)
    bench.perform(.initiating(.connect(ConnectID(rawValue: 1), peer, ConnectionParameters())))
    let create = try #require(bench.controller.commands.last)
    #expect(create.parameters[create.parameters.startIndex + 12] == 1, "own address type")
    let before = bench.controller.commands.count
    bench.run(for: .seconds(1))
    #expect(sent(bench, after: before) == [.leCreateConnectionCancel])
    var ended: [UInt8] = []
    ended.append(hci: HCI.LEConnectionComplete { $0.status = .unknownConnectionIdentifier })
    bench.receive(ended)
    #expect(sent(bench, after: before) == [.leCreateConnectionCancel, .leSetRandomAddress, .leCreateConnection])
    for event in bench.events { if case .connectionFailed = event { Issue.record("\(event)") } }
  }

  /// A link takes the advertisement in the moment in which it is being switched off.
  @Test(arguments: [false, true]) func aLinkMadeWhileTheAddressIsChangedRestsTheAdvertisement(continues: Bool) throws {
    var bench = Bench()
    var intent = intent
    intent.continuesWhileConnected = continues
    bench.perform(.privacy(Self.settings(.seconds(1))))
    bench.perform(.advertising(.start(id, intent)))
    bench.controller.silent = [.leSetAdvertisingEnable]
    bench.run(for: .seconds(1))
    bench.receive(ScriptedController.connected(0x40))
    let before = bench.controller.commands.count
    bench.controller.silent = []
    bench.receive(ScriptedController.complete(.leSetAdvertisingEnable, [0]))
    #expect(addresses(bench, .leSetRandomAddress, after: before).count == 1)
    #expect(sent(bench, after: before).contains(.leSetAdvertisingEnable) == continues)
    bench.receive(ScriptedController.disconnected(0x40))
    #expect(bench.controller.commands.last?.opcode == .leSetAdvertisingEnable)
  }

  @Test func stoppingWhileTheAddressIsChangedStopsForGood() {
    var bench = Bench(Self.extended)
    bench.perform(.privacy(Self.settings(.seconds(1))))
    bench.perform(.advertising(.start(id, intent)))
    bench.controller.silent = [.leSetRandomAddress]
    bench.run(for: .seconds(1))
    bench.perform(.advertising(.stop(id)))
    bench.controller.silent = []
    bench.receive(ScriptedController.complete(.leSetRandomAddress, [0]))
    #expect(bench.controller.commands.last?.opcode == .leRemoveAdvertisingSet)
    bench.perform(.advertising(.start(id, intent)))
    guard case .advertising(id, .started(.success)) = bench.events.last else { Issue.record("not started"); return }
  }

  @Test func aRefusedChangeKeepsTheAddressAndIsTriedAgain() throws {
    var bench = Bench()
    bench.perform(.privacy(Self.settings(.seconds(10))))
    bench.perform(.advertising(.start(id, intent)))
    let first = bench.core.addressOnAir
    bench.controller.refusals = [.leSetRandomAddress: .commandDisallowed]
    bench.run(for: .seconds(10))
    #expect(bench.core.addressOnAir == first)
    #expect(bench.controller.commands.last?.opcode == .leSetAdvertisingEnable)
    bench.controller.refusals = [:]
    bench.run(for: .seconds(10))
    #expect(bench.core.addressOnAir != first)
  }

  @Test func aResetGivesAnotherAddressAndNoneIsTheIdentityAgain() throws {
    var bench = Bench()
    bench.perform(.privacy(Self.settings()))
    bench.perform(.advertising(.start(id, intent)))
    let first = bench.core.addressOnAir
    let before = bench.controller.commands.count
    bench.receive([0x04, 0x10, 0x01, 0x00])
    let second = try #require(addresses(bench, .leSetRandomAddress, after: before).first)
    #expect(second != first && second == bench.core.addressOnAir)
    bench.perform(.privacy(nil))
    #expect(bench.core.addressOnAir == bench.core.ownAddress)
    let parameters = try #require(bench.controller.commands.last { $0.opcode == .leSetAdvertisingParameters })
    #expect(parameters.parameters[parameters.parameters.startIndex + 5] == 0)
    #expect(bench.controller.commands.last?.opcode == .leSetAdvertisingEnable)
    let after = bench.controller.commands.count
    bench.run(for: .seconds(7200))
    #expect(sent(bench, after: after).isEmpty)
  }

  @Test func whatCannotBeIsRefused() {
    func refusal(_ bench: Bench) -> HostError? {
      if case .refused(let error) = bench.events.last { error } else { nil }
    }
    for rotation in [Duration.milliseconds(999), .seconds(3601)] {
      var bench = Bench()
      bench.perform(.privacy(Self.settings(rotation)))
      guard case .invalidParameters = refusal(bench) else { Issue.record("\(rotation) was taken"); continue }
      #expect(bench.core.addressOnAir == bench.core.ownAddress)
    }
    var configuration = HostConfiguration()
    configuration.ownership = .sharedWithKernel
    var bench = Bench(configuration: configuration)
    let before = bench.controller.commands.count
    bench.perform(.privacy(Self.settings()))
    guard case .disabled = refusal(bench) else { Issue.record("not refused"); return }
    bench.run(for: .seconds(7200))
    #expect(bench.controller.commands.count == before)
  }

  /// Both ends are private: they pair, know each other by their identities through new addresses, and a link is not
  /// torn by a rotation.
  @Test(arguments: [true, false]) func bondedPeersKnowEachOther(extended: Bool) throws {
    var controller = VirtualControllerConfiguration()
    if !extended { controller.features.remove(.extendedAdvertising) }
    var couple = Couple(
      peripheral: .with { $0.identityResolvingKey = Self.irk }, central: { _ in .with() }, controller: controller)
    couple.world.ask(0, .privacy(Self.settings(.seconds(60))))
    var settings = Self.settings(.seconds(60))
    settings.identityResolvingKey = World.identityKey(of: 1)
    couple.world.ask(1, .privacy(settings))
    couple.world.run(for: .seconds(1))
    try couple.connect()
    couple.secure()
    #expect(couple.security(0)?.level == .encrypted)
    let (shown, identity) = (couple.world.hosts[0].addressOnAir, couple.world.hosts[0].ownAddress)
    #expect(shown.randomKind == .resolvablePrivate && identity.kind == .public)
    #expect(couple.bond(1)?.identity == identity && couple.bond(1)?.identityResolvingKey == Self.irk)
    #expect(couple.bond(0)?.identity == couple.world.hosts[1].ownAddress)
    couple.world.run(for: .seconds(200))
    #expect(couple.world.hosts[0].addressOnAir != shown)
    #expect(couple.read(Couple.encrypted) == .success([7]))
    for event in couple.events(0) + couple.events(1) {
      if case .link(_, .disconnected) = event { Issue.record("\(event)") }
    }
    couple.disconnect()
    couple.forget()
    couple.world.run(for: .seconds(60))
    try couple.connect()
    couple.secure()
    for (host, other) in [(0, 1), (1, 0)] {
      let connections = couple.events(host).compactMap { event -> ConnectedLink? in
        if case .connected(let connection) = event { connection } else { nil }
      }
      #expect(connections.map(\.address) == [couple.world.hosts[other].ownAddress])
      #expect(couple.security(host)?.level == .encrypted && couple.paired(host).isEmpty)
      for event in couple.events(host) {
        if case .diagnostic(let diagnostic) = event { Issue.record("\(diagnostic)") }
      }
    }
    #expect(couple.world.complaints.isEmpty)
  }

  /// The key and the identity go to those that pair with authentication, unless the option says otherwise.
  @Test(arguments: [(false, false), (false, true), (true, false)])
  func anUnauthenticatedPairingDoesNotGiveOurIdentity(isAuthenticated: Bool, distributes: Bool) throws {
    var settings = Self.settings()
    settings.distributesIdentityWhenUnauthenticated = distributes
    let isGiven = isAuthenticated || distributes
    for role in [0, 1] {
      let keys = role == 0 ? [Self.irk, SecretKey(1)] : [SecretKey(1), Self.irk]
      var couple = Couple(
        peripheral: .with(isAuthenticated ? .displayOnly : .noInputNoOutput) { $0.identityResolvingKey = keys[0] },
        central: { _ in .with(.keyboardOnly) { $0.identityResolvingKey = keys[1] } })
      couple.world.ask(role, .privacy(settings))
      couple.world.run(for: .seconds(1))
      try couple.connect()
      couple.secure()
      #expect(couple.security(role)?.level ?? .none >= .encrypted && couple.bond(role) != nil)
      let bond = couple.bond(1 - role)
      #expect(bond?.identityResolvingKey == (isGiven ? Self.irk : nil))
      #expect(bond?.identity == (isGiven ? couple.world.hosts[role].ownAddress : nil))
      // Identity Information and Identity Address Information.
      let sent = couple.world.sent[role].filter { $0[0] == 2 && $0.count > 9 && $0[7] == 6 && [8, 9].contains($0[9]) }
      #expect(sent.count == (isGiven ? 2 : 0))
    }
  }

  /// A change of what is distributed draws no new address.
  @Test func theAddressStaysWhereOnlyTheDistributionChanges() {
    var bench = Bench()
    bench.perform(.privacy(Self.settings()))
    let before = bench.controller.commands.count
    var settings = Self.settings()
    settings.distributesIdentityWhenUnauthenticated = false
    bench.perform(.privacy(settings))
    #expect(bench.controller.commands.count == before)
  }
}
