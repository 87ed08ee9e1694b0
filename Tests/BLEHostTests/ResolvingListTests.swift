import BLECrypto
import BLEGATT
import BLEHCI
import BLESMP
import BLEVirtual
import BLEWire
import Testing

@testable import BLEHost

/// The controller resolves the private addresses of bonded peers (Vol 4, Part E, 7.8.38 to 7.8.44 and 7.8.77).
@Suite("The controller's resolving list") struct ResolvingListTests {
  let id = AdvertisingID(rawValue: 7)
  let intent = AdvertisingIntent(data: [2, 1, 6], scanResponse: [])

  private static let listCommands: [HCIOpcode] = [
    .leReadResolvingListSize, .leAddDeviceToResolvingList, .leRemoveDeviceFromResolvingList, .leClearResolvingList,
    .leSetAddressResolutionEnable, .leSetPrivacyMode,
  ]

  static func controller(size: UInt8 = 8, without missing: HCIOpcode? = nil) -> ScriptedController {
    var controller = ScriptedController()
    controller.leFeatures = [.encryption, .llPrivacy]
    controller.resolvingListSize = size
    for command in listCommands where command != missing { controller.supported.insert(command) }
    return controller
  }

  static func bond(_ number: UInt64) -> Bond {
    var bond = EncryptionTests.bond
    bond.identity = DeviceAddress(octets: BD_ADDR(0xC0FF_EE00_0000 + number), kind: .random)
    bond.identityResolvingKey = number == 1 ? EncryptionTests.irk : SecretKey(UInt128(number))
    return bond
  }

  private func bench(_ controller: ScriptedController = Self.controller(), bonds: [Bond]) -> Bench {
    var configuration = HostConfiguration()
    (configuration.pairing, configuration.bonds) = (.with(), bonds)
    return Bench(controller, configuration: configuration)
  }

  private func sent(_ bench: Bench, after count: Int) -> [HCIOpcode] {
    bench.controller.commands.dropFirst(count).map(\.opcode)
  }

  /// The identities named in commands of one kind, by their last octet.
  private func named(_ bench: Bench, _ opcode: HCIOpcode, after count: Int = 0) -> [UInt8] {
    bench.controller.commands.dropFirst(count).filter { $0.opcode == opcode }
      .map { $0.parameters[$0.parameters.startIndex + 1] }
  }

  @Test func holdsTheBondsFromTheStartAndAfterAReset() throws {
    var bench = bench(bonds: [Self.bond(1)])
    let steps: [HCIOpcode] = [.leAddDeviceToResolvingList, .leSetPrivacyMode, .leSetAddressResolutionEnable]
    #expect(bench.controller.commands.suffix(3).map(\.opcode) == steps)
    let add = try #require(bench.controller.commands.first { $0.opcode == .leAddDeviceToResolvingList })
    let identity = EncryptionTests.identity
    // No private address of ours: no key of ours.
    let keys = EncryptionTests.irk.value.littleEndianOctets + [UInt8](repeating: 0, count: 16)
    #expect(Array(add.parameters) == [1] + identity.octets.littleEndian + keys)
    // Device privacy mode: the identity address is heard, too.
    let mode = try #require(bench.controller.commands.first { $0.opcode == .leSetPrivacyMode })
    #expect(Array(mode.parameters) == [1] + identity.octets.littleEndian + [1])
    bench.perform(.advertising(.start(id, intent)))
    let before = bench.controller.commands.count
    bench.receive([0x04, 0x10, 0x01, 0x00])
    let again = sent(bench, after: before).filter { Self.listCommands.dropFirst().contains($0) }
    #expect(again == steps)
    #expect(bench.controller.commands.last?.opcode == .leSetAdvertisingEnable)
  }

  @Test func followsTheBondsWhileNothingIsOn() {
    var bench = bench(bonds: [])
    bench.perform(.advertising(.start(id, intent)))
    bench.perform(.scanning(.start(ScanParameters())))
    var before = bench.controller.commands.count
    _ = bench.takeEvents()
    bench.perform(.security(.setBonds([Self.bond(1)])))
    let off: [HCIOpcode] = [.leSetAdvertisingEnable, .leSetScanEnable]
    let on: [HCIOpcode] = [.leSetAdvertisingEnable, .leSetScanParameters, .leSetScanEnable]
    #expect(
      sent(bench, after: before) == off
        + [.leAddDeviceToResolvingList, .leSetPrivacyMode, .leSetAddressResolutionEnable] + on)
    // What a client configured is no reason.
    before = bench.controller.commands.count
    bench.perform(.security(.setBonds([Self.bond(1)])))
    #expect(sent(bench, after: before).isEmpty)
    bench.perform(.security(.removeBond(EncryptionTests.identity)))
    #expect(
      sent(bench, after: before) == off + [.leRemoveDeviceFromResolvingList, .leSetAddressResolutionEnable] + on)
    let told = bench.takeEvents()
    guard told.count == 1, case .bonds(.removed) = told[0] else { Issue.record("\(told)"); return }
  }

  /// The reason is gone before everything is off: it is switched on again all the same.
  @Test func aBondThatGoesAtOnceHoldsNothingUp() {
    var bench = bench(bonds: [])
    bench.perform(.advertising(.start(id, intent)))
    bench.perform(.scanning(.start(ScanParameters())))
    bench.controller.silent = [.leSetAdvertisingEnable]
    bench.perform(.security(.setBonds([Self.bond(1)])))
    bench.perform(.security(.removeBond(EncryptionTests.identity)))
    let before = bench.controller.commands.count
    bench.controller.silent = []
    bench.receive(ScriptedController.complete(.leSetAdvertisingEnable, [0]))
    let after = sent(bench, after: before)
    #expect(Set(after).isDisjoint(with: Self.listCommands) && after.contains(.leSetScanEnable))
    #expect(bench.controller.commands.last { $0.opcode == .leSetAdvertisingEnable }?.parameters == [1])
    #expect(bench.controller.commands.last { $0.opcode == .leSetScanEnable }?.parameters == [1, 1])
  }

  @Test func takesTheNewestBondsOfAsManyAsFit() {
    var bench = bench(Self.controller(size: 2), bonds: [Self.bond(1), Self.bond(2), Self.bond(3)])
    #expect(named(bench, .leAddDeviceToResolvingList) == [3, 2])
    let before = bench.controller.commands.count
    bench.perform(.security(.removeBond(Self.bond(3).identity)))
    #expect(named(bench, .leRemoveDeviceFromResolvingList, after: before) == [3])
    #expect(named(bench, .leAddDeviceToResolvingList, after: before) == [1])
  }

  @Test func aBondWithoutAKeyAndAKeyThatIsThereAlreadyAreLeftOut() {
    var keyless = Self.bond(2)
    keyless.identityResolvingKey = nil
    var twin = Self.bond(3)
    twin.identityResolvingKey = Self.bond(4).identityResolvingKey
    let bench = bench(bonds: [keyless, twin, Self.bond(4)])
    #expect(named(bench, .leAddDeviceToResolvingList) == [3], "the bond that was made first keeps the key")
  }

  /// A controller without device privacy mode would not hear a bonded peer that shows its identity address.
  @Test(arguments: [HCIOpcode.leSetPrivacyMode, .leAddDeviceToResolvingList, .leSetAddressResolutionEnable])
  func isLeftAloneWhereACommandIsMissing(_ missing: HCIOpcode) {
    let bench = bench(Self.controller(without: missing), bonds: [Self.bond(1)])
    #expect(Set(bench.controller.commands.map(\.opcode)).isDisjoint(with: Self.listCommands.dropFirst()))
  }

  /// Peripherals read whether they may direct advertisements at a private address of ours (Vol 3, Part C, 12.4).
  @Test(arguments: [0, 8] as [UInt8]) func peersCanReadWhetherItIsThere(size: UInt8) {
    var bench = bench(Self.controller(size: size), bonds: [])
    bench.receive(ScriptedController.connected(0x40))
    let answer = bench.att(0x40, [0x08, 1, 0, 0xFF, 0xFF, 0xA6, 0x2A])
    #expect(answer.map { Array($0.suffix(1)) } == [[size > 0 ? 1 : 0]] && answer.first?.prefix(2) == [0x09, 3])
  }

  @Test func ourKeyGoesWithTheEntriesWhereWeArePrivate() throws {
    var bench = bench(bonds: [Self.bond(1)])
    let before = bench.controller.commands.count
    bench.perform(.privacy(PrivacySettings(identityResolvingKey: SecretKey(7))))
    #expect(
      sent(bench, after: before) == [
        .leSetRandomAddress, .leRemoveDeviceFromResolvingList, .leAddDeviceToResolvingList, .leSetPrivacyMode,
      ])
    let add = try #require(bench.controller.commands.last { $0.opcode == .leAddDeviceToResolvingList })
    #expect(Array(add.parameters.suffix(16)) == [7] + [UInt8](repeating: 0, count: 15))
  }

  @Test func aRefusedEntryIsResolvedByTheHost() throws {
    var controller = Self.controller()
    controller.refusals = [.leAddDeviceToResolvingList: .memoryCapacityExceeded]
    var bench = bench(controller, bonds: [Self.bond(1)])
    #expect(named(bench, .leSetPrivacyMode).isEmpty)
    bench.receive(ScriptedController.connected(0x40, from: EncryptionTests.privateAddress))
    guard case .connected(let connection) = bench.events.last else { Issue.record("no link"); return }
    #expect(connection.address == EncryptionTests.identity)
  }

  /// A link whose peer the controller has resolved (Vol 4, Part E, 7.7.65.10).
  @Test func theControllersWordOnAnIdentityIsTaken() throws {
    var bench = bench(bonds: [Self.bond(1), Self.bond(2)])
    let identity = Self.bond(2).identity
    var packet: [UInt8] = []
    packet.append(
      hci: HCI.LEEnhancedConnectionComplete {
        $0.connectionHandle = ConnectionHandle(rawValue: 0x40)
        $0.role = .peripheral
        $0.peerAddress = DeviceAddress(octets: identity.octets, kind: .randomIdentity)
        $0.peerResolvablePrivateAddress = BD_ADDR(0x4000_0000_0001)
        ($0.connectionInterval, $0.supervisionTimeout) = (24, 500)
      })
    bench.receive(packet)
    guard case .connected(let connection) = bench.events.last else { Issue.record("no link"); return }
    #expect(connection.address == identity)
    bench.perform(.scanning(.start(ScanParameters())))
    bench.receive([0x04, 0x3E, 12, 0x02, 1, 0x00, 0x03] + identity.octets.littleEndian + [0, 0xC0])
    guard case .scanning(.discovered(let found)) = bench.events.last, let discovery = found.last else {
      Issue.record("not heard"); return
    }
    #expect(discovery.address == identity)
    // A resolved device is called by its identity, and nothing needs to be scanned for it.
    bench.perform(.scanning(.stop))
    let before = bench.controller.commands.count
    let other = Self.bond(1).identity
    bench.perform(.initiating(.connect(ConnectID(rawValue: 1), other, ConnectionParameters())))
    #expect(sent(bench, after: before) == [.leCreateConnection])
    let create = try #require(bench.controller.commands.last)
    #expect(Array(create.parameters.dropFirst(5).prefix(7)) == [1] + other.octets.littleEndian)
  }

  /// The security manager computes with the address on the air (Vol 3, Part H, 2.2.7): the private one, with or without
  /// the mark of a resolution; an address that the peer's key did not make is none.
  @Test(arguments: [
    (DeviceAddress.Kind.randomIdentity, EncryptionTests.privateAddress, EncryptionTests.privateAddress),
    (.random, EncryptionTests.privateAddress, EncryptionTests.privateAddress),
    (.random, "70:81:94:0D:FB:AB", "C0:FF:EE:00:00:01"), (.randomIdentity, "00:00:00:00:00:00", "C0:FF:EE:00:00:01"),
  ])
  func theAddressOnTheAirIsKept(kind: DeviceAddress.Kind, said: String, onAir: String) throws {
    var bench = bench(bonds: [Self.bond(1)])
    var packet: [UInt8] = []
    let privateAddress = try #require(DeviceAddress(said, kind: .random))
    packet.append(
      hci: HCI.LEEnhancedConnectionComplete {
        $0.connectionHandle = ConnectionHandle(rawValue: 0x40)
        $0.role = .peripheral
        $0.peerAddress = DeviceAddress(octets: EncryptionTests.identity.octets, kind: kind)
        $0.peerResolvablePrivateAddress = privateAddress.octets
        ($0.connectionInterval, $0.supervisionTimeout) = (24, 500)
      })
    bench.receive(packet)
    let link = try #require(bench.core.links.table.first)
    #expect(link.identity == EncryptionTests.identity && link.address == DeviceAddress(onAir, kind: .random))
  }

  @Test func aControllerThatResolvesNothingIsNotTrusted() throws {
    var bench = bench(bonds: [Self.bond(1)])
    bench.perform(.scanning(.start(ScanParameters())))
    let octets = try #require(DeviceAddress(EncryptionTests.privateAddress, kind: .random)).octets.littleEndian
    let report: [UInt8] = [0x04, 0x3E, 12, 0x02, 1, 0x00, 0x01] + octets + [0, 0xC0]
    let before = bench.controller.commands.count
    bench.receive(report)
    #expect(named(bench, .leRemoveDeviceFromResolvingList, after: before) == [1])
    guard case .scanning(.discovered(let found)) = bench.events.last, let discovery = found.last else {
      Issue.record("not heard"); return
    }
    #expect(discovery.address == EncryptionTests.identity)
    bench.perform(.initiating(.connect(ConnectID(rawValue: 1), EncryptionTests.identity, ConnectionParameters())))
    let create = try #require(bench.controller.commands.last { $0.opcode == .leCreateConnection })
    #expect(Array(create.parameters.dropFirst(5).prefix(7)) == [1] + octets)
    bench.receive(report)
    #expect(bench.events.filter { if case .diagnostic = $0 { true } else { false } }.count == 1)
  }

  /// The device has changed its address since it was last heard, and is called by its identity: by the controller where
  /// that resolves, else by a host that listens for the new address while it waits.
  @Test(arguments: [true, false], [true, false])
  func aBondedPeripheralIsFoundUnderItsNewAddress(resolves: Bool, extended: Bool) throws {
    var controller = VirtualControllerConfiguration()
    if !extended { controller.features.remove(.extendedAdvertising) }
    if !resolves { controller.features.remove(.llPrivacy) }
    var couple = Couple(controller: controller)
    let key = try #require(PairingSettings.with().identityResolvingKey)
    let settings = PrivacySettings(
      identityResolvingKey: key, rotation: .seconds(60), distributesIdentityWhenUnauthenticated: true)
    couple.world.ask(0, .privacy(settings))
    try couple.connect()
    couple.secure()
    let (identity, first) = (couple.world.hosts[0].ownAddress, couple.world.hosts[0].addressOnAir)
    for round in 1...3 {
      couple.disconnect()
      couple.forget()
      couple.world.run(for: .seconds(60))
      #expect(couple.world.hosts[0].addressOnAir != first)
      couple.world.ask(1, .initiating(.connect(ConnectID(rawValue: 9), identity, ConnectionParameters())))
      // One more while it is waiting.
      if round == 3 { couple.world.ask(0, .advertising(.stop(AdvertisingID(rawValue: 1)))) }
      couple.world.run(for: .seconds(5))
      if round == 3 {
        couple.world.run(for: .seconds(60))
        couple.world.ask(0, .advertising(.start(AdvertisingID(rawValue: 2), intent)))
        couple.world.run(for: .seconds(5))
      }
      let connections = couple.events(1).compactMap { event -> ConnectedLink? in
        if case .connected(let connection) = event { connection } else { nil }
      }
      #expect(connections.map(\.address) == [identity] && connections.first?.request == ConnectID(rawValue: 9))
      couple.links[1]?.central = try #require(connections.first).peer
      couple.secure()
      #expect(couple.security(0)?.level == .encrypted && couple.paired(1).isEmpty)
      for event in couple.events(1) {
        if case .scanning(.discovered) = event { Issue.record("nobody asked for \(event)") }
      }
    }
    for event in couple.events(0) + couple.events(1) {
      if case .diagnostic(let diagnostic) = event { Issue.record("\(diagnostic)") }
    }
    #expect(couple.world.complaints.isEmpty)
  }
}
