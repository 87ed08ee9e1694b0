import BLEATT
import BLECrypto
import BLEGATT
import BLEHCI
import BLEHost
import BLESMP
import BLEVirtual
import BLEWire
import Testing

@Suite("Trusted devices on the virtual radio") struct BondTests {
  @Test(arguments: [true, false]) func justWorks(secure: Bool) throws {
    var couple = Couple(central: { _ in .with(secure: secure) })
    try couple.connect()
    #expect(couple.read(Couple.encrypted) == .failure(.insufficientAuthentication))
    #expect(couple.read(Couple.plain) == .success([7]))
    couple.secure()
    for host in 0...1 {
      #expect(couple.paired(host).map(\.isBonded) == [true])
      #expect(
        couple.security(host) == SecurityState(level: .encrypted, keySize: 16, isBonded: true, isBondProven: true))
      #expect(couple.bond(host)?.strength.isSecureConnections == secure)
    }
    #expect(couple.read(Couple.encrypted) == .success([7]))
    // A Just Works key opens nothing that wants more.
    #expect(couple.read(Couple.authenticated) == .failure(.insufficientAuthentication))
    #expect(couple.read(Couple.secure) == .failure(.insufficientAuthentication))
    #expect(couple.world.complaints.isEmpty)
  }

  /// Level 3 by a passkey of legacy pairing, level 4 by one of Secure Connections (Vol 3, Part C, 10.2.1).
  @Test(arguments: [true, false]) func authenticated(secure: Bool) throws {
    var couple = Couple(peripheral: .with(.displayYesNo), central: { _ in .with(.keyboardOnly, secure: secure) })
    try couple.connect()
    couple.secure()
    #expect(couple.security(0)?.level == (secure ? .secureConnections : .authenticated))
    #expect(couple.read(Couple.authenticated) == .success([7]))
    #expect(couple.read(Couple.secure) == (secure ? .success([7]) : .failure(.insufficientAuthentication)))
  }

  /// A client of the host ends the link when its pairing is complete: the keys of both devices are distributed by then.
  @Test(arguments: [true, false]) func aNewPairingIsReportedAsProvenWhenItsKeysAreDistributed(secure: Bool) throws {
    var couple = Couple(peripheral: .with(.displayYesNo), central: { _ in .with(secure: secure) })
    try couple.connect()
    couple.secure()
    #expect(couple.bond(1)?.strength.isAuthenticated == false)
    couple.world.ask(1, .security(.setPairing(.with(.keyboardOnly, secure: secure))))
    couple.forget()
    let link = try #require(couple.links[1])
    couple.world.ask(1, .link(link.central, .secure(SecurityDemand(level: .authenticated))))
    couple.world.run(for: .seconds(1))
    for host in 0...1 {
      let events = couple.events(host).compactMap { event in
        switch event {
        case .link(_, .security(let security)): "level \(security.level) proven \(security.isBondProven)"
        case .bonds(.changed(let bond)): "bond \(bond.strength.isAuthenticated)"
        case .pairing(_, .succeeded(let device)): "paired \(device.isBonded)"
        default: nil
        }
      }
      let level = secure ? SecurityLevel.secureConnections : .authenticated
      #expect(events == ["level \(level) proven false", "bond true", "paired true", "level \(level) proven true"])
    }
    couple.disconnect()
    try couple.connect()
    #expect(couple.read(Couple.authenticated) == .success([7]) && couple.losses(1).isEmpty)
  }

  @Test func shortKeys() throws {
    var couple = Couple(central: { _ in .with(secure: false) { $0.maximumKeySize = 7 } })
    try couple.connect()
    couple.secure()
    #expect(couple.security(0) == SecurityState(level: .encrypted, keySize: 7, isBonded: true, isBondProven: true))
    #expect(couple.read(Couple.encrypted) == .success([7]))
  }

  /// The bond is recognised on the next link: encrypted without a question, what was configured is still there, and
  /// what is sent reaches the subscriber only when it has proved who it is.
  @Test(arguments: [true, false]) func reconnect(secure: Bool) throws {
    var couple = Couple(central: { _ in .with(secure: secure) })
    try couple.connect()
    couple.secure()
    let handle = try #require(couple.handles[Couple.stream])
    let descriptor = AttributeHandle(rawValue: handle.rawValue + 1)
    #expect(couple.perform(.write(descriptor, [1, 0])) == .success(.done))
    let subscribed = try #require(couple.bond(0))
    #expect(subscribed.client.configurations == [.init(descriptor: descriptor, value: .notify)])
    let theirs = try #require(couple.bond(1))
    couple.disconnect()
    couple.forget()

    try couple.connectInTheClear(theirs)
    #expect(couple.read(Couple.encrypted) == .failure(.insufficientEncryption))
    #expect(couple.read(Couple.plain) == .success([7]))
    couple.world.ask(0, .update(UpdateToken(rawValue: 1), Couple.stream, [1], to: couple.world.peers[0]))
    couple.world.run(for: .seconds(1))
    #expect(notifications(couple).isEmpty)
    couple.secure()
    #expect(couple.paired(0).isEmpty && couple.paired(1).isEmpty)
    #expect(couple.security(0) == SecurityState(level: .encrypted, keySize: 16, isBonded: true, isBondProven: true))
    #expect(couple.read(Couple.encrypted) == .success([7]))
    let told = couple.events(0).contains {
      if case .server(_, .subscription(Couple.stream, .notify)) = $0 { true } else { false }
    }
    #expect(told)
    couple.world.ask(0, .update(UpdateToken(rawValue: 2), Couple.stream, [2], to: couple.world.peers[0]))
    couple.world.run(for: .seconds(1))
    #expect(notifications(couple) == [[2]])
  }

  private func notifications(_ couple: Couple) -> [[UInt8]] {
    couple.events(1).compactMap { if case .client(_, .notification(_, let value)) = $0 { Array(value) } else { nil } }
  }

  /// What a bond holds is enough for a new run of the program.
  @Test func aNewRunKnowsTheBond() throws {
    var couple = Couple()
    try couple.connect()
    couple.secure()
    let (ours, theirs) = (try #require(couple.bond(0)), try #require(couple.bond(1)))
    var later = Couple()
    later.world.ask(0, .security(.setBonds([ours])))
    later.world.ask(1, .security(.setBonds([theirs])))
    try later.connect()
    later.secure()
    #expect(later.paired(0).isEmpty && later.failures(0).isEmpty)
    #expect(later.read(Couple.encrypted) == .success([7]))
  }

  @Test func thePeripheralForgot() throws {
    var couple = Couple()
    try couple.connect()
    couple.secure()
    couple.disconnect()
    couple.world.ask(0, .security(.removeBond(try #require(couple.bond(0)).identity)))
    couple.forget()
    try couple.connect()
    couple.secure()
    // Once by itself, once by the application.
    #expect(couple.losses(0) == [.missingHere, .missingHere])
    #expect(couple.losses(1) == [.forgottenByPeer, .forgottenByPeer])
    for attribute in [Couple.encrypted, Couple.plain] {
      #expect(couple.perform(.read(try #require(couple.handles[attribute]))) == .failure(.notEncrypted))
    }
    // The remedy that the events name.
    couple.world.ask(1, .security(.removeBond(couple.world.hosts[0].ownAddress)))
    couple.secure()
    #expect(couple.paired(0).count == 1)
    #expect(couple.read(Couple.encrypted) == .success([7]))
  }

  @Test func theKeysDiffer() throws {
    var couple = Couple()
    try couple.connect()
    couple.secure()
    couple.disconnect()
    var bond = try #require(couple.bond(0))
    bond.peripheralKey?.value.value ^= 1
    couple.world.ask(0, .security(.setBonds([bond])))
    couple.forget()
    try couple.connect()
    couple.secure()
    #expect(couple.losses(0) == [.keysDiffer] && couple.losses(1) == [.keysDiffer])
    couple.world.run(for: .seconds(1))
    couple.world.ask(1, .security(.removeBond(couple.world.hosts[0].ownAddress)))
    couple.world.ask(0, .security(.removeBond(bond.identity)))
    try couple.connect()
    couple.secure()
    #expect(couple.read(Couple.encrypted) == .success([7]))
  }

  /// A name that no key has: the central's bond is another one.
  @Test func anotherKeyIsAskedFor() throws {
    var couple = Couple(central: { _ in .with(secure: false) })
    try couple.connect()
    couple.secure()
    couple.disconnect()
    var bond = try #require(couple.bond(1))
    bond.centralKey?.ediv ^= 1
    couple.world.ask(1, .security(.setBonds([bond])))
    couple.forget()
    try couple.connect()
    #expect(couple.losses(0) == [.keysDiffer] && couple.losses(1) == [.forgottenByPeer])
    #expect(couple.perform(.read(try #require(couple.handles[Couple.plain]))) == .failure(.notEncrypted))
  }

  @Test func withoutBondingNothingIsKept() throws {
    var couple = Couple(peripheral: .with { $0.isBonding = false })
    try couple.connect()
    couple.secure()
    #expect(couple.paired(0).map(\.isBonded) == [false] && couple.bond(0) == nil)
    #expect(couple.read(Couple.encrypted) == .success([7]))
    couple.disconnect()
    couple.forget()
    try couple.connect()
    #expect(couple.read(Couple.encrypted) == .failure(.insufficientAuthentication))
    couple.secure()
    #expect(couple.paired(0).count == 1)
  }

  @Test func withoutSettingsNobodyPairs() throws {
    var couple = Couple(peripheral: nil)
    try couple.connect()
    couple.secure()
    #expect(couple.failures(1) == [PairingFailure(.pairingNotSupported, .peer)])
    couple.world.ask(0, .security(.setPairing(.with())))
    couple.secure()
    #expect(couple.read(Couple.encrypted) == .success([7]))
  }

  /// The peripheral asks, by the application's wish, and the central pairs or encrypts.
  @Test func bySecurityRequest() throws {
    var couple = Couple()
    for _ in 1...2 {
      try couple.connect()
      let link = try #require(couple.links[1])
      couple.world.ask(0, .link(link.peripheral, .requestSecurity))
      couple.world.run(for: .seconds(1))
      #expect(couple.read(Couple.encrypted) == .success([7]))
      couple.disconnect()
    }
    #expect(couple.paired(0).count == 1)
  }

  /// A central whose request is refused for want of security secures the link, with its bond or by pairing, and asks
  /// again; the application hears the value only.
  @Test func onDemand() throws {
    var couple = Couple(
      peripheral: .with(.displayOnly), central: { _ in .with(.keyboardOnly) { $0.pairsOnDemand = true } })
    for _ in 1...2 {
      try couple.connect()
      #expect(couple.read(Couple.encrypted) == .success([7]))
      #expect(couple.read(Couple.authenticated) == .success([7]))
      couple.disconnect()
    }
    #expect(couple.paired(0).count == 1)
    // Just Works is all that these two can: the second refusal is the answer.
    couple = Couple(central: { _ in .with { $0.pairsOnDemand = true } })
    try couple.connect()
    #expect(couple.read(Couple.authenticated) == .failure(.insufficientAuthentication))
    #expect(couple.read(Couple.encrypted) == .success([7]))
    // No pairing to be had: the refusal is the answer.
    couple = Couple(peripheral: nil, central: { _ in .with { $0.pairsOnDemand = true } })
    try couple.connect()
    #expect(couple.read(Couple.encrypted) == .failure(.insufficientAuthentication))
    #expect(couple.read(Couple.encrypted) == .failure(.insufficientAuthentication))
  }

  /// Of several requests that are refused, one pairing is the consequence (Vol 3, Part H, 2.3.6).
  @Test func aFailedPairingOnDemandIsNotFollowedByAnother() throws {
    var couple = Couple(peripheral: nil, central: { _ in .with { $0.pairsOnDemand = true } })
    try couple.connect()
    let (link, handle) = (try #require(couple.links[1]), try #require(couple.handles[Couple.encrypted]))
    couple.world.ask(
      1,
      (0..<6).map { .link(link.central, .client(GATTClient.Operation(id: .init(rawValue: 1000 + $0), .read(handle)))) })
    couple.world.run(for: .seconds(5))
    let refused = couple.events(1).count { if case .client(_, .finished(_, .failure)) = $0 { true } else { false } }
    #expect(refused == 6 && couple.failures(1).count == 1)
    // A request that is made later is another reason to pair.
    #expect(couple.read(Couple.encrypted) == .failure(.insufficientAuthentication))
    #expect(couple.failures(1).count == 2)
  }

  /// A device without input and output has just said so: another pairing with it is not authenticated either.
  @Test func afterJustWorksARefusalForWantOfAuthenticationIsTheResult() throws {
    var couple = Couple(central: { _ in .with(.displayYesNo) { $0.pairsOnDemand = true } })
    try couple.connect()
    #expect(couple.read(Couple.encrypted) == .success([7]))
    #expect(couple.read(Couple.authenticated) == .failure(.insufficientAuthentication))
    #expect(couple.paired(1).count == 1 && couple.failures(1).isEmpty)
  }

  /// Nothing overtakes a request that waits for security.
  @Test func requestsWaitForTheOneThatWaitsForSecurity() throws {
    var couple = Couple(
      peripheral: .with(.displayOnly), central: { _ in .with(.keyboardOnly) { $0.pairsOnDemand = true } })
    couple.world.application = nil
    try couple.connect()
    let (link, handle) = (try #require(couple.links[1]), try #require(couple.handles[Couple.encrypted]))
    for number in 0..<65 as Range<UInt32> {
      let id = GATTClient.OperationID(rawValue: 1000 + number)
      couple.world.ask(1, .link(link.central, .client(GATTClient.Operation(id: id, .read(handle)))))
    }
    couple.world.run(for: .seconds(5))
    func ended() -> Int {
      couple.events(1).count { if case .client(_, .finished) = $0 { true } else { false } }
    }
    #expect(ended() == 0)
    // The user gives up: all have their refusal, and start no other pairing.
    let question = try #require(couple.questions(1).last)
    couple.world.ask(1, .link(link.central, .answerPairing(question.id, .reject)))
    couple.world.run(for: .seconds(1))
    #expect(ended() == 65 && couple.failures(1).count == 1)
    #expect(couple.read(Couple.plain) == .success([7]))
  }

  /// Signed by a bonded client, on a link in the clear: once, and not again.
  @Test func signedWrites() throws {
    var couple = Couple()
    try couple.connect()
    let handle = try #require(couple.handles[Couple.signed])
    couple.secure()
    var theirs = try #require(couple.bond(1))
    theirs.centralKey = nil
    couple.disconnect()
    couple.world.ask(1, .security(.setBonds([theirs])))
    try couple.connect()
    let pdu = try couple.forgeSignedWrite(of: [9], to: handle, key: theirs.ownCSRK, counter: 64)
    #expect(couple.read(Couple.signed) == .success([9]))
    #expect(couple.bond(0)?.peerSignCounter == 65)
    #expect(couple.perform(.write(handle, [3])) == .success(.done))
    couple.forge(pdu, onChannel: 4, from: 1)
    couple.world.run(for: .seconds(1))
    #expect(couple.read(Couple.signed) == .success([3]))
    var forged = pdu
    forged[3] ^= 1
    couple.forge(forged, onChannel: 4, from: 1)
    couple.world.run(for: .seconds(1))
    #expect(couple.read(Couple.signed) == .success([3]))
    try couple.forgeSignedWrite(of: [4], to: handle, key: theirs.ownCSRK, counter: 65)
    #expect(couple.read(Couple.signed) == .success([4]))
  }

  @Test func bondsAreBounded() throws {
    var core = HostCore(configuration: HostConfiguration(), cryptography: LibCrypto(), random: .seeded(1))
    var output = HostOutput()
    let bonds = (0..<130).map { number in
      Bond(
        identity: DeviceAddress(octets: BD_ADDR(UInt64(number)), kind: .public),
        strength: KeyStrength(size: 16, isAuthenticated: false, isSecureConnections: true))
    }
    core.perform(.security(.setBonds(bonds)), from: .process, now: .start, into: &output)
    for bond in bonds {
      core.perform(.security(.removeBond(bond.identity)), from: .process, now: .start, into: &output)
    }
    let removed = output.events.compactMap {
      if case .bonds(.removed(let identity)) = $0.event { identity } else { nil }
    }
    #expect(removed == bonds.suffix(128).map(\.identity))
  }

  /// A peripheral never acts as a client unasked and never asks for pairing unless it is told to.
  @Test func aPeripheralAsksForNothing() throws {
    var couple = Couple(centrals: 2)
    for central in 1...2 {
      try couple.connect(central)
      _ = couple.read(Couple.encrypted, by: central)
      if central == 1 { couple.secure(central) }
      couple.disconnect(central)
      try couple.connect(central)
      if central == 1 { couple.secure(central) }
      couple.world.run(for: .seconds(60))
    }
    for packet in couple.world.sent[0] where packet[0] == 2 && packet.count > 9 {
      let (channel, code) = (UInt16(packet[7]) | UInt16(packet[8]) << 8, packet[9])
      // Responses, errors, notifications, indications; of SMP everything but a Security Request.
      if channel == 4 { #expect(ATTOpcode(rawValue: code).isSentByServer, "ATT 0x\(String(code, radix: 16))") }
      if channel == 6 { #expect(code != SMPCode.securityRequest.rawValue && code != SMPCode.pairingRequest.rawValue) }
    }
  }
}
