import BLEATT
import BLEGATT
import BLEHost
import BLESMP
import BLEWire
import Testing

/// A device that pairs anew, without authentication, under the identity of a device that is bonded without it
/// (Docs/Decisions/pairing-and-bonds.md#which-bond-a-pairing-replaces).
@Suite("Replacement of unprotected bonds") struct BondReplacementTests {
  /// Bonded by Just Works; the central has forgotten it, and the next link is up.
  private func forgetful(
    _ replacement: BondRules.Replacement, answer: PairingAnswer = .accept,
    central: @escaping (Int) -> PairingSettings = { _ in .with() }
  ) throws -> (couple: Couple, bond: Bond) {
    var couple = Couple(peripheral: .with { $0.bondRules.replacement = replacement }, central: central)
    couple.world.application = { host, event in
      guard host == 0, case .pairing(let peer, .question(let id, .replaceBond)) = event else { return [] }
      return [.link(peer, .answerPairing(id, answer))]
    }
    try couple.connect()
    couple.secure()
    let bond = try #require(couple.bond(0))
    couple.disconnect()
    couple.world.ask(1, .security(.removeBond(couple.world.hosts[0].ownAddress)))
    couple.forget()
    try couple.connect()
    return (couple, bond)
  }

  private func replaced(_ couple: Couple, _ host: Int = 0) -> [DeviceAddress] {
    couple.events(host).compactMap { if case .bonds(.replaced(_, let identity)) = $0 { identity } else { nil } }
  }

  private func questions(_ couple: Couple, _ host: Int = 0) -> [PairingQuestion] {
    couple.events(host).compactMap { if case .pairing(_, .question(_, let question)) = $0 { question } else { nil } }
  }

  @Test func isReportedToTheApplication() throws {
    var (couple, bond) = try forgetful(.always)
    #expect(couple.security(0) == nil && couple.read(Couple.encrypted) == .failure(.insufficientEncryption))
    couple.secure()
    #expect(replaced(couple) == [bond.identity] && questions(couple).isEmpty)
    #expect(couple.bond(0)?.peripheralKey != bond.peripheralKey && couple.paired(0).map(\.isBonded) == [true])
    let lines = couple.events(0).compactMap { if case .diagnostic(let line) = $0 { line.text } else { nil } }
    #expect(lines.contains { $0.contains("was replaced") })
  }

  @Test func canBeRefused() throws {
    var (couple, bond) = try forgetful(.never)
    couple.secure()
    #expect(couple.failures(0) == [PairingFailure(.authenticationRequirements, .local)])
    #expect(couple.losses(0) == [.forgottenByPeer] && couple.bond(0) == nil && replaced(couple).isEmpty)
    // The remedy that the event names.
    couple.world.ask(0, .security(.removeBond(bond.identity)))
    couple.secure()
    #expect(couple.bond(0)?.identity == bond.identity && replaced(couple).isEmpty)
  }

  @Test func canBeAsked() throws {
    var (couple, bond) = try forgetful(.ask)
    couple.secure()
    #expect(questions(couple) == [.replaceBond] && replaced(couple) == [bond.identity])
    var (other, _) = try forgetful(.ask, answer: .reject)
    other.secure()
    #expect(questions(other) == [.replaceBond] && other.failures(0) == [PairingFailure(.unspecifiedReason, .local)])
    #expect(other.bond(0) == nil && replaced(other).isEmpty)
  }

  /// An authenticated pairing says who is at the other end: it replaces the bond whatever the policy is.
  @Test func authenticationNeedsNoPermission() throws {
    for replacement in [BondRules.Replacement.never, .ask] {
      var (couple, bond) = try forgetful(replacement)
      couple.world.ask(0, .security(.setPairing(.with(.displayOnly) { $0.bondRules.replacement = replacement })))
      couple.world.ask(1, .security(.setPairing(.with(.keyboardOnly))))
      couple.world.application = { host, event in
        guard host == 1, case .pairing(let peer, .question(let id, .enterPasskey)) = event else { return [] }
        return Passkey(123_456).map { [.link(peer, .answerPairing(id, .passkey($0)))] } ?? []
      }
      couple.secure()
      #expect(couple.bond(0)?.strength.isAuthenticated == true && replaced(couple) == [bond.identity])
    }
  }

  /// The peer names the bonded device at the end of the pairing (Vol 3, Part H, 3.6.5): the rule is the same.
  @Test(arguments: [BondRules.Replacement.never, .ask, .always], [PairingAnswer.accept, .reject])
  func holdsForAClaimedIdentity(_ replacement: BondRules.Replacement, answer: PairingAnswer) throws {
    for role in [0, 1] {
      var couple = Couple(
        peripheral: .with { $0.bondRules.replacement = replacement },
        central: { _ in .with { $0.bondRules.replacement = replacement } })
      let identity = DeviceAddress(octets: BD_ADDR(0x0011_2233_4455), kind: .public)
      couple.world.ask(role, .security(.setBonds([BondRoomTests.bond(identity, isProtected: false)])))
      couple.world.claimed = { host, packet in
        host == 1 - role && packet.count == 17 && packet[9] == 9
          ? Array(packet.prefix(10)) + [0] + identity.octets.littleEndian : packet
      }
      couple.world.application = { host, event in
        guard host == role, case .pairing(let peer, .question(let id, .replaceBond)) = event else { return [] }
        return [.link(peer, .answerPairing(id, answer))]
      }
      try couple.connect()
      couple.secure()
      #expect(questions(couple, role) == (replacement == .ask ? [.replaceBond] : []))
      let isReplaced = replacement == .always || replacement == .ask && answer == .accept
      #expect(replaced(couple, role) == (isReplaced ? [identity] : []))
      #expect(couple.bond(role)?.identity == (isReplaced ? identity : nil))
      #expect(couple.failures(role).isEmpty == isReplaced)
      #expect(couple.losses(role) == (replacement == .never ? [.forgottenByPeer] : []))
    }
  }

  /// While the application decides, nothing but the end of the pairing is possible; after 30 seconds it is over.
  @Test func aQuestionAtTheEndOfAPairingTimesOut() throws {
    var couple = Couple(peripheral: .with { $0.bondRules.replacement = .ask })
    let identity = DeviceAddress(octets: BD_ADDR(0x0011_2233_4455), kind: .public)
    couple.world.ask(0, .security(.setBonds([BondRoomTests.bond(identity, isProtected: false)])))
    couple.world.claimed = { host, packet in
      host == 1 && packet.count == 17 && packet[9] == 9
        ? Array(packet.prefix(10)) + [0] + identity.octets.littleEndian : packet
    }
    couple.world.application = nil
    try couple.connect()
    couple.secure()
    couple.world.run(for: .seconds(31))
    #expect(couple.failures(0) == [PairingFailure(.unspecifiedReason, .timeout)] && couple.bond(0) == nil)
  }

  /// A link that has proven the bond may make a new key for it: nothing is asked, nothing is reported.
  @Test func aProvenDeviceMakesANewKey() throws {
    var couple = Couple(
      peripheral: .with { $0.bondRules.replacement = .never }, central: { _ in .with { $0.pairsOnDemand = true } })
    try couple.connect()
    couple.secure()
    let bond = try #require(couple.bond(0))
    couple.disconnect()
    couple.forget()
    try couple.connect()
    couple.secure()
    #expect(couple.security(0)?.isBondProven == true)
    // The central forgets the bond, but not that the link is encrypted.
    couple.world.ask(1, .security(.removeBond(couple.world.hosts[0].ownAddress)))
    couple.secure()
    #expect(couple.paired(0).count == 1 && couple.bond(0)?.peripheralKey != bond.peripheralKey)
    #expect(replaced(couple).isEmpty && couple.failures(0).isEmpty)
  }

  /// "A bond exists" is what an address says; "this link has proven it" is said by the key.
  @Test func aBondExistsBeforeItIsProven() throws {
    var (couple, _) = try forgetful(.always)
    let link = try #require(couple.links[1])
    couple.world.ask(0, .link(link.peripheral, .authorize(true)))
    #expect(couple.security(0).map { [$0.isBonded, $0.isBondProven] } == [true, false])
    couple.secure()
    #expect(couple.security(0).map { [$0.isBonded, $0.isBondProven] } == [true, true])
    couple.world.ask(0, .security(.removeBond(couple.world.hosts[1].ownAddress)))
    couple.world.ask(0, .link(link.peripheral, .authorize(false)))
    #expect(couple.security(0).map { [$0.isBonded, $0.isBondProven] } == [false, false])
  }
}
