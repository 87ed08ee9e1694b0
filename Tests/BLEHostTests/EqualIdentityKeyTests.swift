import BLECrypto
import BLEGATT
import BLEHCI
import BLESMP
import BLEVirtual
import BLEWire
import Testing

@testable import BLEHost

/// Devices that distribute the same identity resolving key (IRK): each bonded peer of a device has it, so that it
/// proves nothing (Docs/Decisions/pairing-and-bonds.md#identity-keys).
@Suite("Equal identity resolving keys") struct EqualIdentityKeyTests {
  static let key = SecretKey(0xA5A5_0000_1111_2222_3333_4444_5555_6666)
  private static let intent = AdvertisingIntent(data: [2, 1, 6], scanResponse: [])
  private static let privacy = PrivacySettings(
    identityResolvingKey: key, rotation: .seconds(60), distributesIdentityWhenUnauthenticated: true)

  private func device(_ number: UInt64) -> DeviceAddress {
    DeviceAddress(octets: BD_ADDR(0xC0FF_EE00_0000 + number), kind: .random).identity
  }

  private func bond(_ number: UInt64, isAuthenticated: Bool = false, key: SecretKey? = Self.key) -> Bond {
    var bond = Bond(
      identity: device(number),
      strength: KeyStrength(size: 16, isAuthenticated: isAuthenticated, isSecureConnections: true))
    bond.identityResolvingKey = key
    return bond
  }

  /// Connects a central, secures the link, ends it, and advertises again.
  private func pair(_ central: Int, _ couple: inout Couple) throws {
    try couple.connect(central)
    couple.secure(central)
    couple.disconnect(central)
    couple.world.run(for: .seconds(2))
    couple.world.ask(0, .advertising(.start(AdvertisingID(rawValue: UInt32(10 + central)), Self.intent)))
    couple.world.run(for: .seconds(1))
  }

  /// The addresses by which host 0 reported its links.
  private func reported(_ couple: Couple) -> [DeviceAddress] {
    couple.events(0).compactMap { if case .connected(let connection) = $0 { connection.address } else { nil } }
  }

  private func storedKeys(_ couple: Couple, _ host: Int = 0) -> [DeviceAddress: SecretKey] {
    var keys: [DeviceAddress: SecretKey] = [:]
    for bond in couple.world.hosts[host].links.bonds.bonds { keys[bond.identity] = bond.identityResolvingKey }
    return keys
  }

  private func diagnostics(_ couple: Couple, _ host: Int = 0) -> [String] {
    couple.events(host).compactMap { if case .diagnostic(let it) = $0 { "\(it)" } else { nil } }
  }

  /// The victim, central 1, pairs with a passkey and uses private addresses; the stranger, central 2, pairs by Just
  /// Works.
  @Test(arguments: [true, false], [true, false])
  func theStrangerIsNotTakenForTheBondedDevice(resolvesInController: Bool, strangerFirst: Bool) throws {
    var controller = VirtualControllerConfiguration()
    if !resolvesInController { controller.features.remove(.llPrivacy) }
    var couple = Couple(
      centrals: 2, peripheral: .with(.displayOnly),
      central: { number in
        .with(number == 1 ? .keyboardOnly : .noInputNoOutput) { $0.identityResolvingKey = Self.key }
      }, controller: controller)
    couple.world.ask(1, .privacy(Self.privacy))
    for central in strangerFirst ? [2, 1] : [1, 2] { try pair(central, &couple) }
    let (victim, stranger) = (couple.world.hosts[1].ownAddress, couple.world.hosts[2].ownAddress)
    #expect(couple.paired(0).map(\.isBonded) == [true, true])
    #expect(couple.paired(0).contains { $0.identity == victim && $0.strength.isAuthenticated })
    #expect(storedKeys(couple) == [victim: Self.key])
    #expect(diagnostics(couple).count { $0.contains("identity resolving key") } == 1)
    let digits = [Self.key.value.bigEndianOctets.hexadecimal, Self.key.value.littleEndianOctets.hexadecimal]
    #expect(
      !diagnostics(couple).contains { line in
        digits.contains { line.contains($0) } || line.contains("\(Self.key.value)")
      })
    couple.forget()
    couple.world.run(for: .seconds(70))
    // Both return, and each proves its own bond.
    for (central, identity, level) in [(1, victim, SecurityLevel.secureConnections), (2, stranger, .encrypted)] {
      try couple.connect(central)
      couple.secure(central)
      #expect(reported(couple) == [identity])
      #expect(couple.security(0)?.level == level && couple.security(0)?.isBondProven == true)
      #expect(couple.losses(0).isEmpty && couple.losses(central).isEmpty && couple.paired(0).isEmpty)
      couple.disconnect(central)
      couple.forget()
      couple.world.run(for: .seconds(2))
      couple.world.ask(0, .advertising(.start(AdvertisingID(rawValue: UInt32(20 + central)), Self.intent)))
      couple.world.run(for: .seconds(1))
    }
  }

  /// The stranger uses a private address, which resolves to the victim: no bond is made, and the victim's stays.
  @Test func aPairingFromAPrivateAddressOfTheSameKeyIsRejected() throws {
    var couple = Couple(
      centrals: 2, peripheral: .with(), central: { _ in .with { $0.identityResolvingKey = Self.key } })
    for central in 1...2 { couple.world.ask(central, .privacy(Self.privacy)) }
    try pair(1, &couple)
    let victim = try #require(couple.bond(0))
    couple.forget()
    try pair(2, &couple)
    #expect(couple.failures(0) == [PairingFailure(.keyRejected, .local)])
    #expect(couple.paired(0).isEmpty)
    let bonds = couple.world.hosts[0].links.bonds.bonds
    #expect(bonds.map(\.identity) == [victim.identity] && bonds[0].peripheralKey == victim.peripheralKey)
  }

  /// This host as the central of two peripherals.
  @Test(arguments: [true, false]) func asTheCentralToo(strangerFirst: Bool) throws {
    var couple = Couple(
      centrals: 2, peripheral: .with(.keyboardOnly),
      central: { number in
        .with(number == 1 ? .displayOnly : .noInputNoOutput) { $0.identityResolvingKey = Self.key }
      })
    func connect(to peripheral: Int, _ address: DeviceAddress) throws {
      let number = UInt32(peripheral)
      couple.world.ask(peripheral, .advertising(.start(AdvertisingID(rawValue: number), Self.intent)))
      couple.world.ask(0, .initiating(.connect(ConnectID(rawValue: number), address, ConnectionParameters())))
      couple.world.run(for: .seconds(5))
      let links = couple.events(0).compactMap { if case .connected(let it) = $0 { it.peer } else { nil } }
      let link = try #require(links.last)
      couple.world.ask(0, .link(link, .requestSecurity))
      couple.world.run(for: .seconds(2))
      couple.world.ask(0, .link(link, .disconnect(.remoteUserTerminatedConnection)))
      couple.world.ask(peripheral, .advertising(.stop(AdvertisingID(rawValue: number))))
      couple.world.run(for: .seconds(2))
    }
    for peripheral in strangerFirst ? [2, 1] : [1, 2] {
      try connect(to: peripheral, couple.world.hosts[peripheral].addressOnAir)
    }
    let (victim, stranger) = (couple.world.hosts[1].ownAddress, couple.world.hosts[2].ownAddress)
    #expect(couple.paired(0).map(\.isBonded) == [true, true])
    #expect(storedKeys(couple) == [victim: Self.key])
    couple.world.ask(1, .privacy(Self.privacy))
    couple.world.run(for: .seconds(70))
    for (peripheral, identity) in [(1, victim), (2, stranger)] {
      couple.forget()
      try connect(to: peripheral, identity)
      #expect(reported(couple) == [identity])
      #expect(couple.losses(0).isEmpty && couple.paired(0).isEmpty)
      let levels = couple.events(0).compactMap { if case .link(_, .security(let it)) = $0 { it.level } else { nil } }
      #expect(levels.contains(peripheral == 1 ? .secureConnections : .encrypted))
    }
  }

  /// The ordinary pairing anew: the central has lost its bond, and has the same address and key.
  @Test(arguments: [true, false]) func theDeviceItselfPairsAgain(isPrivate: Bool) throws {
    var couple = Couple(central: { _ in .with { $0.identityResolvingKey = Self.key } })
    if isPrivate { couple.world.ask(1, .privacy(Self.privacy)) }
    try pair(1, &couple)
    let identity = couple.world.hosts[1].ownAddress
    let first = try #require(couple.bond(0))
    couple.world.ask(1, .security(.removeBond(couple.world.hosts[0].ownAddress)))
    couple.forget()
    try pair(1, &couple)
    let second = try #require(couple.bond(0))
    #expect(couple.paired(0).map(\.identity) == [identity] && couple.failures(0).isEmpty)
    #expect(second.identityResolvingKey == Self.key && second.peripheralKey != first.peripheralKey)
    #expect(storedKeys(couple) == [identity: Self.key])
  }

  /// Centrals with few different keys, in any order and again: no two bonds have one key, an unauthenticated bond never
  /// takes the key of another one, and each device that returns is itself.
  @Test(arguments: 1...12 as ClosedRange<UInt64>) func manyCentralsWithEqualAndPlantedKeys(seed: UInt64) throws {
    var random = RandomSource.seeded(seed)
    let own = SecretKey(77)
    let keys = [Self.key, SecretKey(1), own]
    let chosen = (0...6).map { _ in keys[Int(random.next() % 3)] }
    let isAuthenticated = (0...6).map { _ in random.next() % 2 == 0 }
    var couple = Couple(
      centrals: 6,
      peripheral: .with(.displayOnly) { ($0.unconfirmedBonds.count, $0.identityResolvingKey) = (100, own) },
      central: { number in
        .with(isAuthenticated[number] ? .keyboardOnly : .noInputNoOutput) { $0.identityResolvingKey = chosen[number] }
      }, seed: seed)
    let numbers = couple.world.hosts.enumerated().map { ($0.element.ownAddress, $0.offset) }
    let number = Dictionary(uniqueKeysWithValues: numbers)
    for _ in 0..<12 {
      let central = Int(random.next() % 6) + 1
      let before = storedKeys(couple)
      couple.world.ask(central, .security(.removeBond(couple.world.hosts[0].ownAddress)))
      try pair(central, &couple)
      let after = storedKeys(couple)
      #expect(Set(after.values).count == after.count && !after.values.contains(own))
      for (identity, key) in before where after[identity] != key {
        let loser = try #require(number[identity])
        #expect(!isAuthenticated[loser] && isAuthenticated[central] && chosen[central] == key)
      }
    }
    for bond in couple.world.hosts[0].links.bonds.bonds {
      let central = try #require(number[bond.identity])
      couple.forget()
      try pair(central, &couple)
      #expect(reported(couple) == [bond.identity] && couple.losses(0).isEmpty && couple.paired(0).isEmpty)
    }
    #expect(couple.world.complaints.isEmpty)
  }
}

/// Bonds with equal keys from a file, and the parts that use the keys.
extension EqualIdentityKeyTests {
  private func keys(of bonds: [Bond], own: SecretKey? = nil) -> [UInt64] {
    var list = BondList()
    _ = list.setOwnKey(own)
    let keyless = list.replaceAll(with: bonds, limit: 8)
    let kept = list.bonds.filter { $0.identityResolvingKey != nil }
    #expect(Set(kept.map(\.identity)) == Set(list.identityKeys.keys))
    let lost = bonds.filter { $0.identityResolvingKey != nil }.map(\.identity).filter { list.identityKeys[$0] == nil }
    #expect(Set(keyless) == Set(lost))
    return kept.map { $0.identity.octets.value & 0xFF }
  }

  @Test func ofTheBondsOfAFileTheAuthenticatedOneThenTheOldestKeepsAKey() {
    #expect(keys(of: [bond(1), bond(2), bond(3, key: SecretKey(3))]) == [1, 3])
    #expect(keys(of: [bond(1), bond(2, isAuthenticated: true), bond(3, isAuthenticated: true)]) == [2])
    #expect(keys(of: [bond(1), bond(2, key: SecretKey(0)), bond(3, key: nil)]) == [1])
    #expect(keys(of: [bond(1), bond(2, isAuthenticated: true), bond(3, key: SecretKey(3))], own: Self.key) == [3])
  }

  @Test func aKeyThatThisHostDistributesIsTakenFromTheBonds() {
    var configuration = HostConfiguration()
    configuration.bonds = [bond(1), bond(2, key: SecretKey(2))]
    var table = BondTable(configuration)
    let revision = table.revision
    #expect(table.setOwnKey(Self.key) == [device(1)])
    #expect(table.bonds.map(\.identityResolvingKey) == [nil, SecretKey(2)] && table.revision > revision)
    #expect(table.setOwnKey(Self.key).isEmpty)
  }

  /// The private address stands for the device that keeps the key, from the first report on.
  @Test func aPrivateAddressResolvesToTheBondThatKeepsTheKey() throws {
    let toolbox = SecurityToolbox(LibCrypto())
    var random = RandomSource.seeded(1)
    let address = try toolbox.resolvableAddress(irk: Self.key.value, random: &random)
    var list = BondList()
    list.replaceAll(with: [bond(1), bond(2, isAuthenticated: true)], limit: 8)
    #expect(list.identity(of: address, toolbox) == device(2))
    #expect(list.setOwnKey(Self.key) == [device(2)])
    #expect(list.identity(of: address, toolbox) == address.identity)
  }

  @Test func theControllerGetsAKeyForItsOwnerOnly() {
    var configuration = HostConfiguration()
    configuration.pairing = .with()
    configuration.bonds = [bond(1, isAuthenticated: true), bond(2), bond(3, key: SecretKey(3))]
    var bench = Bench(ResolvingListTests.controller(), configuration: configuration)
    func added(after count: Int = 0) -> [UInt8] {
      bench.controller.commands.dropFirst(count).filter { $0.opcode == .leAddDeviceToResolvingList }
        .map { $0.parameters[$0.parameters.startIndex + 1] }
    }
    #expect(added() == [3, 1])
    // A key of ours makes our private addresses, not a peer's.
    let before = bench.controller.commands.count
    bench.perform(.privacy(PrivacySettings(identityResolvingKey: SecretKey(3))))
    #expect(added(after: before) == [1])
    bench.perform(.security(.setBonds(configuration.bonds.reversed())))
    let lines = bench.events.compactMap { if case .diagnostic(let it) = $0 { "\(it)" } else { nil } }
    #expect(lines.count { $0.contains("\(device(2))") } == 1)
  }
}

/// The kernel pairs: it is given no key of another device, and forgets those that it has received.
extension EqualIdentityKeyTests {
  private static let strong = LongTermKey(
    value: SecretKey(8), strength: KeyStrength(size: 16, isAuthenticated: true, isSecureConnections: true))

  /// A host with the bonds, and a link from `C0:FF:EE:00:00:02` or from a private address.
  private func bench(_ bonds: [Bond], isPrivate: Bool = false, isBonding: Bool = true) -> Bench {
    var configuration = HostConfiguration()
    (configuration.pairing, configuration.bonds) = (.with { $0.isBonding = isBonding }, bonds)
    configuration.ownership = .sharedWithKernel
    var bench = Bench(configuration: configuration)
    let address = isPrivate ? "40:00:00:00:00:01" : "\(device(2).octets)"
    bench.receive(ScriptedController.connected(0x40, from: address))
    _ = (bench.takeEvents(), bench.takeDirectives())
    return bench
  }

  /// The devices whose identity resolving keys the kernel was given last.
  private func loaded(_ directives: [KernelCommand]) -> [DeviceAddress]? {
    for case .loadKeys(let keys) in directives.reversed() {
      return keys.filter { $0.identityResolvingKey != nil }.map(\.identity)
    }
    return nil
  }

  private func pair(_ bench: inout Bench, _ key: LongTermKey, used: DeviceAddress? = nil, irk: SecretKey = Self.key) {
    bench.hear(.identity(device(2), usedAs: used ?? device(2), irk))
    bench.hear(.longTermKey(device(2), key, .both, isToBeKept: true))
  }

  @Test func theKernelGetsTheKeyOfItsOwnerOnly() {
    var bench = bench([bond(1)])
    pair(&bench, SharedControllerBondTests.justWorks)
    #expect(loaded(bench.takeDirectives()) == [device(1)])
    #expect(
      bench.core.links.bonds[device(2)]?.identityResolvingKey == nil
        && bench.core.links.bonds.bonds.count == 2)
    // The same device authenticates.
    bench.hear(.asked(device(2), .consent))
    pair(&bench, Self.strong)
    #expect(loaded(bench.takeDirectives()) == [device(2)])
    bench.perform(.security(.setBonds([bond(1), bond(3, isAuthenticated: true)])))
    #expect(loaded(bench.takeDirectives()) == [device(3)])
  }

  @Test func theKernelForgetsAPairingFromAPrivateAddressWithTheKeyOfAnother() throws {
    var bench = bench([bond(1, isAuthenticated: true)], isPrivate: true)
    let used = try #require(DeviceAddress("40:00:00:00:00:01", kind: .random)).identity
    pair(&bench, Self.strong, used: used)
    let forgotten = bench.takeDirectives().compactMap { if case .forget(let it) = $0 { it } else { nil } }
    #expect(forgotten == [device(2)])
    let failures = bench.events.compactMap {
      if case .pairing(_, .failed(let it)) = $0 { it.withoutCause } else { nil }
    }
    #expect(failures == [PairingFailure(.keyRejected, .local)])
    #expect(bench.core.links.bonds.bonds.map(\.identity) == [device(1)])
  }

  /// Without a bond the kernel has received the key nevertheless.
  @Test func theKernelForgetsTheKeyOfAPairingWithoutABond() {
    var bench = bench([bond(1)], isBonding: false)
    pair(&bench, SharedControllerBondTests.justWorks)
    #expect(loaded(bench.takeDirectives()) == [device(1)])
    #expect(bench.core.links.bonds.bonds.map(\.identity) == [device(1)])
  }

  @Test(arguments: [SecretKey(0), World.identityKey(of: 0)])
  func theKernelsReportOfZerosOrOfOurKeyGivesNoKey(_ irk: SecretKey) {
    var bench = bench([])
    pair(&bench, SharedControllerBondTests.justWorks, irk: irk)
    #expect(bench.core.links.bonds.bonds.map(\.identityResolvingKey) == [nil])
    #expect(loaded(bench.takeDirectives()) == (irk.value == 0 ? nil : []))
  }
}
