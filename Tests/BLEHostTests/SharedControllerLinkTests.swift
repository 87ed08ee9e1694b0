import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
import BLESMP
import BLEWire
import Testing

/// The kernel names devices by address, and a peer claims any identity in a pairing: its link is found by the address
/// on the radio and by the pairing that is under way (Docs/Decisions/kernel.md#pairing).
@Suite("Links on a controller of the kernel") struct SharedControllerLinkTests {
  static let victim = DeviceAddress(octets: BD_ADDR(0xC011_2233_4455), kind: .random)
  static let attacker = DeviceAddress(octets: BD_ADDR(0xC066_6666_6666), kind: .random)
  static let unauthenticated = KeyStrength(size: 16, isAuthenticated: false, isSecureConnections: true)
  static let key = LongTermKey(value: SecretKey(0x666), strength: unauthenticated)
  static let encrypted: [UInt8] = [0x04, 0x08, 4, 0, 0x41, 0, 1]
  static let (victims, attackers) = (LinkID(rawValue: 1), LinkID(rawValue: 2))

  static var bond: Bond {
    var bond = Bond(identity: victim, strength: unauthenticated)
    (bond.peripheralKey, bond.centralKey) = (key, key)
    bond.peripheralKey?.value = SecretKey(1)
    return bond
  }

  /// The victim's link, handle 0x0040, and the attacker's, 0x0041.
  private func bench(
    bonds: [Bond] = [Self.bond], second: String = "C0:66:66:66:66:66",
    _ change: (inout PairingSettings) -> Void = { _ in }
  ) -> Bench {
    var configuration = HostConfiguration()
    configuration.pairing = .with(.noInputNoOutput, secure: true, change)
    (configuration.bonds, configuration.ownership) = (bonds, .sharedWithKernel)
    var bench = Bench(configuration: configuration)
    bench.perform(.services(.add(Couple.service)))
    bench.receive(ScriptedController.connected(0x40, from: "C0:11:22:33:44:55"))
    bench.receive(ScriptedController.connected(0x41, from: second))
    return bench
  }

  private func paired(_ bench: Bench) -> [LinkID] {
    bench.events.compactMap { if case .pairing(let peer, .succeeded(_)) = $0 { peer } else { nil } }
  }
  private func failed(_ bench: Bench) -> [LinkID] {
    bench.events.compactMap { if case .pairing(let peer, .failed(_)) = $0 { peer } else { nil } }
  }
  private func bondChanges(_ bench: Bench) -> [Bond] {
    bench.events.compactMap { if case .bonds(.changed(let bond)) = $0 { bond } else { nil } }
  }
  /// Bonds that were reported with the attacker's key. That of the victim is reported when it is used.
  private func stolen(_ bench: Bench) -> Int { bondChanges(bench).count { $0.peripheralKey?.value == Self.key.value } }
  private func closed(_ bench: Bench) -> [UInt8] {
    bench.controller.commands.compactMap { $0.opcode == .disconnect ? $0.parameters.first : nil }
  }
  private func questions(_ bench: Bench) -> [(LinkID, PairingQuestionID, PairingQuestion)] {
    bench.events.compactMap {
      if case .pairing(let peer, .question(let id, let question)) = $0 { (peer, id, question) } else { nil }
    }
  }

  /// What the kernel knows of the attacker's pairing when its keys come.
  enum Evidence: CaseIterable { case asked, encrypted, none }

  /// A stranger that claims the identity of a connected device gets neither its link nor its bond.
  @Test(arguments: Evidence.allCases, [true, false]) func aClaimedIdentityDoesNotTouchAnothersLink(
    evidence: Evidence, isProven: Bool
  ) throws {
    var bench = bench()
    if isProven { bench.hear(.level(handle: 0x40, Self.bond.strength)) }
    if evidence == .asked { bench.hear(.asked(Self.attacker, .consent)) }
    if evidence != .none {
      bench.receive(Self.encrypted)
      bench.hear(.level(handle: 0x41, Self.unauthenticated))
    }
    _ = bench.takeDirectives()
    bench.hear(.identity(Self.victim, usedAs: Self.victim, SecretKey(0x66)))
    bench.hear(.signatureKey(Self.victim, SecretKey(0x67), isOurs: false))
    bench.hear(.longTermKey(Self.victim, Self.key, .both, isToBeKept: true))
    // In the clear, and without a sign of another pairing, it can only be the one with that address on the radio.
    if evidence == .none, !isProven { return #expect(!paired(bench).contains(Self.attackers)) }
    #expect(paired(bench).isEmpty && stolen(bench) == 0)
    #expect(closed(bench) == (evidence == .none ? [] : [0x41]))
    #expect(failed(bench) == (evidence == .none ? [] : [Self.attackers]))
    let directives = bench.takeDirectives()
    guard case .forget(Self.victim) = directives.first, case .loadKeys(let keys) = directives.last else {
      Issue.record("\(directives)")
      return
    }
    #expect(keys.map(\.peripheralKey?.value) == [SecretKey(1)], "the bond's key is put back")
  }

  /// Its own identity, which nobody else has, it may give.
  @Test func anIdentityThatIsFreeIsTheDevices() throws {
    var bench = bench()
    let own = DeviceAddress(octets: BD_ADDR(0x00AA_BBCC_DDEE), kind: .public)
    bench.hear(.asked(Self.attacker, .consent))
    bench.hear(.level(handle: 0x41, Self.unauthenticated))
    bench.hear(.identity(own, usedAs: own, SecretKey(0x66)))
    bench.hear(.longTermKey(own, Self.key, .both, isToBeKept: true))
    #expect(paired(bench) == [Self.attackers] && bondChanges(bench).map(\.identity) == [own])
    // The kernel calls it by that name from then on.
    bench.hear(.asked(own, .compare(Passkey(lowestDigitsOf: 7))))
    #expect(questions(bench).map(\.0) == [Self.attackers])
    bench.hear(.failed(own))
    #expect(failed(bench) == [Self.attackers])
  }

  /// Two pairings at once, and keys that either may have made: neither gets them.
  @Test func keysThatMayBeOfEitherLinkAreRefused() throws {
    var bench = bench(bonds: [])
    for device in [Self.victim, Self.attacker] { bench.hear(.asked(device, .consent)) }
    bench.hear(.identity(Self.victim, usedAs: Self.victim, SecretKey(0x66)))
    bench.hear(.longTermKey(Self.victim, Self.key, .both, isToBeKept: true))
    #expect(paired(bench).isEmpty && bondChanges(bench).isEmpty)
    // With private addresses the kernel says which one it was.
    var hidden = self.bench(bonds: [], second: EncryptionTests.privateAddress)
    let used = try #require(DeviceAddress(EncryptionTests.privateAddress, kind: .random))
    for device in [Self.victim, used] { hidden.hear(.asked(device, .consent)) }
    hidden.hear(.identity(EncryptionTests.identity, usedAs: used, EncryptionTests.irk))
    hidden.hear(.longTermKey(EncryptionTests.identity, Self.key, .both, isToBeKept: true))
    #expect(paired(hidden) == [Self.attackers] && bondChanges(hidden).map(\.identity) == [EncryptionTests.identity])
  }

  /// Keys that come when their link has gone are for nobody whose link is up.
  @Test func keysOfALinkThatHasGone() throws {
    var bench = bench()
    bench.hear(.level(handle: 0x40, Self.bond.strength))
    bench.hear(.asked(Self.attacker, .consent))
    bench.receive(ScriptedController.disconnected(0x41))
    bench.hear(.identity(Self.victim, usedAs: Self.victim, SecretKey(0x66)))
    bench.hear(.longTermKey(Self.victim, Self.key, .both, isToBeKept: true))
    #expect(paired(bench).isEmpty && stolen(bench) == 0 && closed(bench).isEmpty)
  }

  /// A kernel that pairs anew as the central asks nobody: the link that had proven the bond is ended, for its key is
  /// another one now (BLERP).
  @Test func aKeyMadeWithoutAQuestionEndsTheLinkOfOurCentral() throws {
    var configuration = HostConfiguration()
    (configuration.pairing, configuration.bonds, configuration.ownership) = (
      .with(), [Self.bond], .sharedWithKernel
    )
    var bench = Bench(configuration: configuration)
    bench.perform(.initiating(.connect(ConnectID(rawValue: 1), Self.victim, ConnectionParameters())))
    bench.receive(ScriptedController.connectedAsCentral(0x40, to: Self.victim))
    bench.receive([0x04, 0x08, 4, 0, 0x40, 0, 1])
    bench.hear(.level(handle: 0x40, Self.unauthenticated))
    bench.hear(.longTermKey(Self.victim, Self.key, .both, isToBeKept: true))
    #expect(paired(bench).isEmpty && stolen(bench) == 0 && closed(bench) == [0x40])
  }

  /// Two links that the kernel calls by one name: a question that may be of either is rejected.
  @Test func aQuestionThatMayBeOfEitherLinkIsRejected() throws {
    var bench = bench(bonds: [EncryptionTests.bond], second: EncryptionTests.privateAddress)
    bench.receive(ScriptedController.connected(0x42, from: "C0:FF:EE:00:00:01"))
    _ = bench.takeDirectives()
    bench.hear(.asked(EncryptionTests.identity, .compare(Passkey(lowestDigitsOf: 7))))
    guard case .answer(_, .compare, .reject) = bench.takeDirectives().first else { Issue.record("answered"); return }
    #expect(questions(bench).isEmpty)
  }

  // Consent to what the kernel pairs without a question.

  private func level(_ bench: Bench) -> SecurityLevel {
    bench.events.reversed().lazy.compactMap {
      if case .link(_, .security(let security)) = $0 { security.level } else { nil }
    }
    .first ?? .none
  }

  /// The key before the level, and after it.
  @Test(arguments: [true, false], [true, false]) func aPairingWithoutAQuestionWaitsForConsent(
    keyFirst: Bool, isAccepted: Bool
  ) throws {
    var bench = bench(bonds: []) { $0.asksConsent = true }
    let reports: [KernelReport] = [
      .level(handle: 0x41, Self.unauthenticated), .longTermKey(Self.attacker, Self.key, .both, isToBeKept: true),
    ]
    bench.receive(Self.encrypted)
    for report in keyFirst ? reports.reversed() : reports { bench.hear(report) }
    #expect(questions(bench).map(\.2) == [.consent] && level(bench) == .none && paired(bench).isEmpty)
    let asked = try #require(questions(bench).first)
    _ = bench.takeDirectives()
    bench.perform(.link(asked.0, .answerPairing(asked.1, isAccepted ? .accept : .reject)))
    if isAccepted {
      #expect(paired(bench) == [Self.attackers] && level(bench) == .encrypted && bondChanges(bench).count == 1)
      #expect(bench.takeDirectives().isEmpty, "the kernel has asked nothing")
      // The next level is of the same pairing.
      bench.hear(.level(handle: 0x41, Self.unauthenticated))
      #expect(questions(bench).count == 1)
    } else {
      #expect(paired(bench).isEmpty && level(bench) == .none && bondChanges(bench).isEmpty)
      guard case .forget(Self.attacker) = bench.takeDirectives().first else { Issue.record("kept"); return }
      #expect(closed(bench) == [0x41] && failed(bench) == [Self.attackers])
    }
  }

  /// The kernel of today asks in both roles; the application is asked unless it began the pairing.
  @Test(arguments: [true, false]) func consentHoldsForTheCentral(isRequested: Bool) throws {
    var configuration = HostConfiguration()
    configuration.pairing = .with { $0.asksConsent = true }
    configuration.ownership = .sharedWithKernel
    var bench = Bench(configuration: configuration)
    bench.perform(.initiating(.connect(ConnectID(rawValue: 1), Self.victim, ConnectionParameters())))
    bench.receive(ScriptedController.connectedAsCentral(0x40, to: Self.victim))
    if isRequested { bench.perform(.link(Self.victims, .requestSecurity)) }
    _ = bench.takeDirectives()
    bench.hear(.asked(Self.victim, .consent))
    if isRequested {
      guard case .answer(_, .consent, .accept) = bench.takeDirectives().first else { Issue.record("asked"); return }
      bench.hear(.level(handle: 0x40, Self.unauthenticated))
      bench.hear(.longTermKey(Self.victim, Self.key, .both, isToBeKept: true))
      #expect(questions(bench).isEmpty && paired(bench).count == 1)
    } else {
      #expect(bench.takeDirectives().isEmpty && questions(bench).map(\.2) == [.consent])
      // pair(with:) answers it.
      bench.perform(.link(Self.victims, .requestSecurity))
      guard case .answer(_, .consent, .accept) = bench.takeDirectives().first else {
        Issue.record("not answered"); return
      }
    }
  }

  /// A kernel that begins a legacy pairing, because the peripheral asked for security, asks nobody.
  @Test(arguments: [true, false]) func aSecurityRequestThatTheKernelObeysWaitsForConsent(isRequested: Bool) throws {
    var configuration = HostConfiguration()
    configuration.pairing = .with { $0.asksConsent = true }
    configuration.ownership = .sharedWithKernel
    var bench = Bench(configuration: configuration)
    bench.perform(.initiating(.connect(ConnectID(rawValue: 1), Self.victim, ConnectionParameters())))
    bench.receive(ScriptedController.connectedAsCentral(0x40, to: Self.victim))
    if isRequested { bench.perform(.link(Self.victims, .requestSecurity)) }
    bench.receive([0x04, 0x08, 4, 0, 0x40, 0, 1])
    bench.hear(.level(handle: 0x40, Self.unauthenticated))
    #expect(questions(bench).count == (isRequested ? 0 : 1))
    #expect(level(bench) == (isRequested ? .encrypted : .none))
    if !isRequested { bench.perform(.link(Self.victims, .requestSecurity)) }
    #expect(level(bench) == .encrypted)
  }
}
