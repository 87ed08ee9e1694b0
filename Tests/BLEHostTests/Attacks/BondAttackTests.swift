import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
import BLESMP
import BLEWire
import Testing

/// Impostors with the address of a bonded device.
@Suite("Attacks on bonds") struct BondAttackTests {
  private static let weak: [UInt8] = [3, 0, 0x01, 7, 1, 1]

  /// Bonded with numeric comparison; the user accepts. The bond of the impostor's side is gone: nobody has its key.
  private static func bonded(
    _ replacement: BondRules.Replacement = .always, io: IOCapability = .displayYesNo, impostor: Int
  ) throws -> (couple: Couple, bond: Bond) {
    let settings = PairingSettings.with(io) { $0.bondRules.replacement = replacement }
    var couple = Couple(peripheral: settings, central: { _ in settings })
    try couple.connect()
    couple.secure()
    let victim = 1 - impostor
    let bond = try #require(couple.bond(victim))
    #expect(bond.strength.isAuthenticated == (io != .noInputNoOutput))
    couple.disconnect()
    let own = couple.world.hosts[victim].ownAddress
    couple.world.ask(impostor, .security(.removeBond(own)))
    couple.forget()
    return (couple, bond)
  }

  private static func replaced(_ couple: Couple, _ host: Int) -> Int {
    couple.events(host).count { if case .bonds(.replaced) = $0 { true } else { false } }
  }

  /// ATT PDUs that a host sent from a packet on.
  private static func attributes(_ couple: Couple, of host: Int, since start: Int) -> [[UInt8]] {
    couple.world.sent[host].dropFirst(start).filter { $0[0] == 2 && $0.count > 9 && $0[7] == 4 && $0[8] == 0 }
      .map { Array($0[9...]) }
  }

  /// The impostor refuses the encryption, asks with a Security Request for what the bond has, and then offers nothing
  /// of it.
  @Test(arguments: [BondRules.Replacement.never, .ask, .always])
  func blerp_peripheralImpersonation(replacement: BondRules.Replacement) throws {
    let (couple, bond) = try Self.bonded(replacement, impostor: 0)
    let start = couple.world.sent[1].count
    var attacker = try Attacker(as: 0, on: couple)
    #expect(attacker.couple.losses(1) == [.forgottenByPeer])
    attacker.send([0x0B, 0x0D])
    #expect(attacker.answers().isEmpty, "no pairing that nobody asked for")
    attacker.send([2] + Self.weak)
    // Security that the application requests is that of the bond; it pairs anew after it has removed the bond.
    attacker.couple.secure()
    attacker.send([2] + Self.weak)
    #expect(attacker.answers().isEmpty)
    #expect(Self.replaced(attacker.couple, 1) == 0)
    attacker.expectNothingGained()
    // Nothing in the clear meanwhile.
    let plain = try #require(attacker.couple.handles[Couple.plain])
    #expect(attacker.couple.perform(.read(plain)) == .failure(.notEncrypted))
    #expect(Self.attributes(attacker.couple, of: 1, since: start).isEmpty)
    // The bond is as it was.
    #expect(attacker.couple.events(1).allSatisfy { if case .bonds(.removed) = $0 { false } else { true } })
    #expect(bond.strength.isAuthenticated)
  }

  /// The impostor pairs anew without encrypting first.
  @Test(arguments: [BondRules.Replacement.never, .ask, .always])
  func blerp_centralImpersonation(replacement: BondRules.Replacement) throws {
    let (couple, bond) = try Self.bonded(replacement, impostor: 1)
    var attacker = try Attacker(as: 1, on: couple)
    for features in [Self.weak, [3, 0, 0x09, 16, 1, 1], [3, 0, 0x05, 16, 1, 1], [1, 0, 0x0D, 15, 1, 1]] {
      _ = attacker.answers()
      attacker.send([1] + features)
      let answers = attacker.answers()
      #expect(answers.count == 1 && answers[0].first == 5 && [0x03, 0x06].contains(answers[0].last), "\(features)")
    }
    #expect(Self.replaced(attacker.couple, 0) == 0)
    #expect(attacker.couple.paired(0).isEmpty && attacker.couple.bond(0) == nil)
    #expect(attacker.couple.events(0).allSatisfy { if case .bonds(.removed) = $0 { false } else { true } })
    // The state of the bond is not the impostor's: neither its subscriptions nor its identity are proven.
    #expect(attacker.couple.security(0)?.isBondProven != true)
    #expect(attacker.couple.read(Couple.encrypted) == .failure(.insufficientEncryption))
    // The owner of the key is served as before.
    attacker.couple.world.deaf = []
    attacker.couple.disconnect()
    attacker.couple.world.ask(1, .security(.setBonds([Self.other(bond, of: attacker.couple)])))
    try attacker.couple.connect()
    attacker.couple.secure()
    #expect(attacker.couple.read(Couple.authenticated) == .success([7]))
  }

  /// The central's side of a bond of the peripheral: with Secure Connections both have one key.
  private static func other(_ bond: Bond, of couple: Couple) -> Bond {
    var other = Bond(identity: couple.world.hosts[0].ownAddress, strength: bond.strength)
    (other.centralKey, other.peripheralKey) = (bond.peripheralKey ?? bond.centralKey, bond.peripheralKey)
    return other
  }

  /// A relay between two bonded devices refuses encryption at both ends, and begins weak pairings with both.
  @Test func blerp_bothAtOnce() throws {
    for impostor in 0...1 {
      let (couple, _) = try Self.bonded(impostor: impostor)
      var attacker = try Attacker(as: impostor, on: couple)
      if impostor == 0 { attacker.send([0x0B, 0x0D]) }
      attacker.beginPairing(Self.weak)
      // Our central begins no pairing; our peripheral rejects the weaker key.
      #expect(attacker.answers() == (impostor == 0 ? [] : [[5, 0x06]]))
      #expect(attacker.couple.paired(attacker.victim).isEmpty && attacker.couple.bond(attacker.victim) == nil)
      #expect(Self.replaced(attacker.couple, attacker.victim) == 0)
    }
  }

  /// Just Works replaces Just Works of equal strength: the policy decides, and the application is told.
  @Test(arguments: [BondRules.Replacement.never, .ask, .always])
  func cve_2026_8676_bondReplacement(replacement: BondRules.Replacement) throws {
    var (couple, _) = try Self.bonded(replacement, io: .noInputNoOutput, impostor: 1)
    couple.world.application = { host, event in
      guard host == 0, case .pairing(let peer, .question(let id, .replaceBond)) = event else { return [] }
      return [.link(peer, .answerPairing(id, .reject))]
    }
    try couple.connect()
    couple.secure()
    let isReplaced = replacement == .always
    #expect(Self.replaced(couple, 0) == (isReplaced ? 1 : 0))
    #expect((couple.bond(0) != nil) == isReplaced && couple.failures(0).isEmpty == isReplaced)
    #expect(couple.questions(0).map(\.question) == (replacement == .ask ? [.replaceBond] : []))
    if !isReplaced { #expect(couple.security(0)?.level ?? SecurityLevel.none == SecurityLevel.none) }
  }

  /// BLESA: the impostor answers every request in the clear; our central encrypts first and asks nothing of it.
  @Test(arguments: [nil, 0x05, 0x06, 0x1A, 0x3D] as [UInt8?]) func cve_2020_9770_blesa(status: UInt8?) throws {
    var configuration = HostConfiguration()
    configuration.pairing = .with()
    configuration.bonds = [EncryptionTests.bond]
    var bench = Bench(configuration: configuration)
    bench.perform(.initiating(.connect(ConnectID(rawValue: 1), EncryptionTests.bond.identity, ConnectionParameters())))
    bench.receive(ScriptedController.connectedAsCentral(0x40, to: EncryptionTests.bond.identity))
    let peer = LinkID(rawValue: 1)
    let read = GATTClient.Operation(id: GATTClient.OperationID(rawValue: 1), .read(AttributeHandle(rawValue: 3)))
    bench.perform(.link(peer, .client(read)))
    if let status { bench.receive([0x04, 0x08, 4, status, 0x40, 0, 0]) }
    // Values and responses that nobody asked for.
    for pdu: [UInt8] in [[0x0B, 9, 9], [0x1B, 3, 0, 9], [0x1D, 3, 0, 9]] {
      bench.receive(ScriptedController.frame(0x40, cid: 4, pdu))
    }
    bench.run(for: .seconds(60))
    #expect(bench.attPayloads(from: 0).allSatisfy { $0 == [0x1E] }, "no request leaves")
    let results = bench.events.compactMap { event -> Result<GATTClient.Outcome, GATTClientError>? in
      if case .client(_, .finished(_, let result)) = event { result } else { nil }
    }
    #expect(results == [.failure(.notEncrypted)])
    #expect(bench.events.contains { if case .bonds(.lost) = $0 { true } else { false } })
    #expect(bench.events.allSatisfy { if case .bonds(.removed) = $0 { false } else { true } })
    let values = bench.events.count { if case .client(_, .notification) = $0 { true } else { false } }
    #expect(values == 0, "values of an impostor")
  }
}
