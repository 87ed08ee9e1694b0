import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
import BLESMP
import BLEVirtual
import BLEWire
import Testing

@Suite("Who is taken for whom, and let in") struct WhoIsTrustedTests {
  /// Authorization comes behind encryption, and goes with the link (Vol 3, Part C, 10.5; Part F, 4).
  @Test func authorization() throws {
    var couple = Couple()
    try couple.connect()
    var link = try #require(couple.links[1])
    couple.world.ask(0, .link(link.peripheral, .authorize(true)))
    #expect(couple.security(0)?.isAuthorized == true)
    #expect(couple.read(Couple.authorized) == .failure(.insufficientAuthentication))
    couple.world.ask(0, .link(link.peripheral, .authorize(false)))
    couple.secure()
    #expect(couple.read(Couple.authorized) == .failure(.insufficientAuthorization))
    couple.world.ask(0, .link(link.peripheral, .authorize(true)))
    #expect(couple.read(Couple.authorized) == .success([7]))
    couple.world.ask(0, .link(link.peripheral, .authorize(false)))
    #expect(couple.read(Couple.authorized) == .failure(.insufficientAuthorization))
    couple.world.ask(0, .link(link.peripheral, .authorize(true)))
    couple.disconnect()
    couple.world.ask(0, .link(link.peripheral, .authorize(true)))
    try couple.connect()
    couple.secure()
    link = try #require(couple.links[1])
    #expect(couple.security(0)?.isAuthorized == false)
    #expect(couple.read(Couple.authorized) == .failure(.insufficientAuthorization))
  }

  /// What takes an authenticated link to read is not notified to another one, where updates demand encryption; where
  /// they do not, anyone may subscribe, which is the application's choice (Docs/Decisions/gatt.md#cccd).
  @Test(arguments: [true, false]) func updatesAreNoEasierToHaveThanReads(encrypted: Bool) throws {
    var couple = Couple()
    let id = AttributeID(rawValue: 77)
    let handle = try Self.publish(
      id, read: .authenticated, updates: encrypted ? .authenticated : .open, in: &couple)
    try couple.connect()
    couple.secure()
    #expect(couple.read(id) == .failure(.insufficientAuthentication))
    let subscribed = couple.perform(.write(AttributeHandle(rawValue: handle.rawValue + 1), [1, 0]))
    if case .failure(.errorResponse(.insufficientAuthentication, _, _)) = subscribed {
      #expect(encrypted)
    } else {
      #expect(!encrypted)
    }
    couple.world.ask(0, .update(UpdateToken(rawValue: 1), id, [42, 43], to: couple.world.peers[0]))
    couple.world.run(for: .seconds(1))
    #expect(Self.notified(couple) == (encrypted ? [] : [[42, 43]]))
    #expect(Self.subscriptions(couple, to: id) == (encrypted ? [] : [.notify]))
  }

  /// A bonded client's subscription is restored with its link, and counts once the link may have it.
  @Test func aRestoredSubscriptionWaitsForAuthorization() throws {
    var couple = Couple()
    let id = AttributeID(rawValue: 77)
    let authorized = AccessRequirement(security: .encrypted, authorization: true)
    let handle = try Self.publish(id, read: authorized, updates: authorized, in: &couple)
    try couple.connect()
    couple.secure()
    couple.world.ask(0, .link(try #require(couple.links[1]).peripheral, .authorize(true)))
    _ = couple.perform(.write(AttributeHandle(rawValue: handle.rawValue + 1), [1, 0]))
    #expect(Self.subscriptions(couple, to: id) == [.notify])
    couple.disconnect()
    #expect(Self.subscriptions(couple, to: id) == [.notify, []])
    couple.forget()

    try couple.connect()
    couple.secure()
    couple.world.ask(0, .update(UpdateToken(rawValue: 1), id, [1], to: couple.world.peers[0]))
    couple.world.run(for: .seconds(1))
    #expect(Self.subscriptions(couple, to: id) == [] && Self.notified(couple) == [])
    let peer = try #require(couple.links[1]).peripheral
    couple.world.ask(0, .link(peer, .authorize(true)))
    couple.world.ask(0, .update(UpdateToken(rawValue: 2), id, [2], to: couple.world.peers[0]))
    couple.world.run(for: .seconds(1))
    couple.world.ask(0, .link(peer, .authorize(false)))
    couple.world.ask(0, .update(UpdateToken(rawValue: 3), id, [3], to: couple.world.peers[0]))
    couple.world.run(for: .seconds(1))
    #expect(Self.subscriptions(couple, to: id) == [.notify, []])
    #expect(Self.notified(couple) == [[2]])
    // The subscription itself is the client's, and outlives the link that could not have it.
    couple.disconnect()
    #expect(Self.subscriptions(couple, to: id) == [.notify, []])
    #expect(couple.bond(0)?.client.configurations.count ?? 1 == 1)
  }

  static func publish(
    _ id: AttributeID, read: AccessRequirement, updates: AccessRequirement, in couple: inout Couple
  ) throws -> AttributeHandle {
    let characteristic = CharacteristicDefinition(
      id: id, uuid: BluetoothUUID(0xFFE1), properties: [.read, .notify],
      permissions: GATTAttributePermissions(read: read),
      updateRequirement: updates, value: .stored([42], length: 0...20))
    couple.world.ask(
      0,
      .services(
        .add(
          ServiceDefinition(
            id: ServiceID(rawValue: 9), uuid: BluetoothUUID(0xFFE0), characteristics: [characteristic]))))
    for event in couple.world.takeHeard(0) {
      if case .services(.added(_, .success(let added))) = event { couple.handles[id] = added.attributes[id] }
    }
    return try #require(couple.handles[id])
  }

  static func notified(_ couple: Couple) -> [[UInt8]] {
    couple.events(1).compactMap {
      if case .client(_, .notification(_, let value)) = $0 { Array(value) } else { nil }
    }
  }

  static func subscriptions(_ couple: Couple, to id: AttributeID) -> [Subscription] {
    couple.events(0).compactMap {
      if case .server(_, .subscription(id, let subscription)) = $0 { subscription } else { nil }
    }
  }

  /// Whoever takes a bonded device's address, or claims its identity, does not get the place of a protected bond by a
  /// pairing that nobody vouches for; a protected pairing does, and so does any once the bond was removed.
  @Test func aProtectedBondIsNotReplacedByAnUnprotectedOne() throws {
    var couple = Couple(peripheral: .with(.displayOnly), central: { _ in .with(.keyboardOnly) })
    try couple.connect()
    couple.secure()
    let bond = try #require(couple.bond(0))
    #expect(bond.strength.isAuthenticated)
    func pairAgain(_ couple: inout Couple, _ settings: PairingSettings) throws {
      couple.disconnect()
      couple.world.ask(1, .security(.setPairing(settings)))
      couple.world.ask(1, .security(.removeBond(couple.world.hosts[0].ownAddress)))
      couple.forget()
      try couple.connect()
      couple.secure()
    }
    try pairAgain(&couple, .with())
    #expect(couple.failures(0) == [PairingFailure(.authenticationRequirements, .local)])
    #expect(couple.losses(0) == [.forgottenByPeer] && couple.paired(0).isEmpty && couple.bond(0) == nil)
    #expect(couple.security(0) == nil)
    try pairAgain(&couple, .with(.keyboardOnly))
    #expect(couple.paired(0).count == 1 && couple.bond(0)?.peripheralKey != bond.peripheralKey)
    couple.disconnect()
    couple.world.ask(0, .security(.removeBond(bond.identity)))
    try pairAgain(&couple, .with())
    #expect(couple.bond(0)?.strength.isAuthenticated == false)
  }

  /// Authentication, Secure Connections and key size each must be no weaker than those of the bond; the address tells
  /// at the beginning whose bond it would be.
  @Test func aBondIsNotReplacedByAWeakerKey() throws {
    func replace(
      _ first: PairingSettings, _ second: PairingSettings, _ check: (KeyStrength, Couple) throws -> Void
    ) throws {
      var couple = Couple(peripheral: .with(.displayYesNo), central: { _ in first })
      try couple.connect()
      couple.secure()
      let strength = try #require(couple.bond(0)).strength
      couple.disconnect()
      couple.world.ask(1, .security(.setPairing(second)))
      couple.world.ask(1, .security(.removeBond(couple.world.hosts[0].ownAddress)))
      couple.forget()
      try couple.connect()
      couple.secure()
      try check(strength, couple)
    }
    func refused(_ reason: PairingFailedReason) -> (KeyStrength, Couple) -> Void {
      { _, couple in
        #expect(couple.bond(0) == nil && couple.paired(0).isEmpty)
        #expect(couple.failures(0) == [PairingFailure(reason, .local)])
        #expect(couple.losses(0) == [.forgottenByPeer])
      }
    }
    let legacy = PairingSettings.with(.keyboardOnly, secure: false)
    // Numeric comparison, 16 octets, and then legacy passkey entry, with 7 octets and with 16.
    try replace(
      .with(.keyboardDisplay), .with(.keyboardOnly, secure: false) { $0.maximumKeySize = 7 },
      refused(.encryptionKeySize))
    try replace(.with(.keyboardDisplay), legacy, refused(.authenticationRequirements))
    // Just Works: Secure Connections, then legacy pairing.
    try replace(.with(), .with(secure: false), refused(.authenticationRequirements))
    // Authentication alone does not make up for it.
    try replace(.with(), legacy, refused(.authenticationRequirements))
    try replace(legacy, .with(.keyboardOnly, secure: false) { $0.maximumKeySize = 15 }, refused(.encryptionKeySize))
    // A key that is as strong, or stronger.
    for (first, second) in [(legacy, legacy), (legacy, .with(.keyboardOnly)), (.with(secure: false), .with())] {
      try replace(first, second) { strength, couple in
        let bond = try #require(couple.bond(0))
        #expect(bond.strength.error(replacing: strength) == nil && couple.losses(0).isEmpty)
      }
    }
  }

  /// A device that names its identity at the end of the pairing (Vol 3, Part H, 3.6.5): Pairing Failed goes to it.
  @Test func aClaimedIdentityDoesNotWeakenItsBond() throws {
    var couple = Couple(central: { _ in .with(secure: false) })
    let identity = DeviceAddress(octets: BD_ADDR(0x0011_2233_4455), kind: .public)
    couple.world.ask(0, .security(.setBonds([BondRoomTests.bond(identity, isProtected: false)])))
    couple.world.claimed = { host, packet in
      host == 1 && packet.count == 17 && packet[9] == 9
        ? Array(packet.prefix(10)) + [0] + identity.octets.littleEndian : packet
    }
    try couple.connect()
    couple.secure()
    #expect(couple.failures(0) == [PairingFailure(.authenticationRequirements, .local)])
    #expect(couple.losses(0) == [.forgottenByPeer] && couple.bond(0) == nil)
    let refusal: [UInt8] = [5, PairingFailedReason.authenticationRequirements.rawValue]
    #expect(couple.world.sent[0].contains { $0[0] == 2 && $0.count > 9 && $0[7] == 6 && Array($0[9...]) == refusal })
  }

  /// The device gives the identity of another one only when the pairing is through (Vol 3, Part H, 3.6.5).
  @Test func aClaimedIdentityIsNotBelievedOverAProtectedBond() throws {
    var couple = Couple()
    let key = LongTermKey(
      value: SecretKey(1), strength: KeyStrength(size: 16, isAuthenticated: true, isSecureConnections: true))
    var bond = Bond(identity: couple.world.hosts[1].ownAddress, strength: key.strength)
    bond.peripheralKey = key
    couple.world.ask(0, .security(.setBonds([bond])))
    // Its address on the air is another one, so that nobody suspects it before it tells.
    let privacy = PrivacySettings(identityResolvingKey: SecretKey(2), distributesIdentityWhenUnauthenticated: true)
    couple.world.ask(1, .privacy(privacy))
    couple.world.run(for: .seconds(1))
    try couple.connect()
    couple.secure()
    #expect(couple.failures(0) == [PairingFailure(.authenticationRequirements, .local)])
    #expect(couple.losses(0) == [.forgottenByPeer] && couple.paired(0).isEmpty && couple.bond(0) == nil)
    #expect(couple.security(0)?.isBonded == false)
  }

  /// What a central claims for its identity (Vol 3, Part H, 3.6.5): neither a private address nor ours makes a bond.
  @Test func anIdentityIsPublicOrStaticAndNotOurs() throws {
    let own = Couple().world.hosts[0].ownAddress
    let claims: [([UInt8], PairingFailedReason)] = [
      ([1, 1, 2, 3, 4, 5, 0x06], .invalidParameters), ([1, 1, 2, 3, 4, 5, 0x46], .invalidParameters),
      ([own.kind.rawValue] + own.octets.littleEndian, .keyRejected),
    ]
    for (claim, reason) in claims {
      var couple = Couple()
      couple.world.claimed = { host, packet in
        host == 1 && packet.count == 17 && packet[9] == 9 ? Array(packet.prefix(10)) + claim : packet
      }
      try couple.connect()
      couple.secure()
      #expect(couple.bond(0) == nil && couple.paired(0).isEmpty)
      #expect(couple.failures(0) == [PairingFailure(reason, .local)])
      #expect(couple.failures(1).isEmpty || couple.failures(1) == [PairingFailure(reason, .peer)])
      #expect(couple.security(0)?.isBonded == false)
    }
  }

  /// A device that gives a public identity and goes by a static address: known by either the next time, and called by
  /// the one it uses.
  @Test(arguments: [true, false]) func aFixedAddressBesideTheIdentity(resolves: Bool) throws {
    var controller = VirtualControllerConfiguration()
    if !resolves { controller.features.remove(.llPrivacy) }
    var couple = Couple(controller: controller)
    let identity = DeviceAddress(octets: BD_ADDR(0x0011_2233_4455), kind: .public)
    let used = couple.world.hosts[1].ownAddress
    couple.world.claimed = { host, packet in
      // Identity Address Information (3.6.5) of the central.
      host == 1 && packet.count == 17 && packet[9] == 9
        ? Array(packet.prefix(10)) + [0] + identity.octets.littleEndian : packet
    }
    try couple.connect()
    couple.secure()
    #expect(couple.bond(0)?.identity == identity && couple.bond(0)?.addressOnAir == used)
    couple.disconnect()
    couple.forget()
    try couple.connect()
    couple.secure()
    let connections = couple.events(0).compactMap {
      if case .connected(let connection) = $0 { connection } else { nil }
    }
    #expect(connections.map(\.address) == [identity])
    #expect(couple.security(0)?.level == .encrypted && couple.paired(0).isEmpty)
    // The other way round: our peripheral calls it.
    couple.disconnect()
    couple.forget()
    couple.world.ask(
      1, .advertising(.start(AdvertisingID(rawValue: 9), AdvertisingIntent(data: [2, 1, 6], scanResponse: []))))
    couple.world.ask(0, .scanning(.start(ScanParameters())))
    couple.world.run(for: .seconds(1))
    let heard = couple.events(0).flatMap { event -> [DeviceAddress] in
      if case .scanning(.discovered(let found)) = event { found.map(\.address) } else { [] }
    }
    #expect(heard.contains(identity))
    couple.world.ask(0, .initiating(.connect(ConnectID(rawValue: 5), identity, ConnectionParameters())))
    couple.world.run(for: .seconds(1))
    let calls = couple.events(0).compactMap { if case .connected(let connection) = $0 { connection } else { nil } }
    #expect(calls.map(\.request) == [ConnectID(rawValue: 5)])
  }
}
