import BLEHCI
import BLEHost
import BLESMP
import BLEWire
import Testing

/// Which bonds are kept and replaced where the kernel pairs: the rules of ``BondRoomTests``, with other means.
@Suite("Bonds on a controller of the kernel") struct SharedControllerBondTests {
  static let justWorks = LongTermKey(
    value: SecretKey(7), strength: KeyStrength(size: 16, isAuthenticated: false, isSecureConnections: true))

  /// A host with one link for each number, handle 0x0040 and up, from `C0:00:00:00:00:NN`.
  private func bench(
    _ pairing: PairingSettings = .with(), bonds: [Bond] = [], room: Int = 128, links: Int = 1
  ) -> Bench {
    var configuration = HostConfiguration()
    (configuration.pairing, configuration.bonds, configuration.ownership) = (pairing, bonds, .sharedWithKernel)
    configuration.maximumBonds = room
    var bench = Bench(configuration: configuration)
    for number in 0..<links {
      bench.receive(ScriptedController.connected(0x40 + UInt16(number), from: "\(Self.device(number).octets)"))
    }
    _ = (bench.takeEvents(), bench.takeDirectives())
    return bench
  }

  private static func device(_ number: Int) -> DeviceAddress {
    DeviceAddress(octets: BD_ADDR(0xC000_0000_0001 + UInt64(number)), kind: .random)
  }

  private func forgotten(_ bench: inout Bench) -> [DeviceAddress] {
    bench.takeDirectives().compactMap { if case .forget(let device) = $0 { device } else { nil } }
  }

  private func paired(_ bench: Bench) -> [Bool] {
    bench.events.compactMap { if case .pairing(_, .succeeded(let device)) = $0 { device.isBonded } else { nil } }
  }

  private func failures(_ bench: Bench) -> [PairingFailure] {
    bench.events.compactMap { if case .pairing(_, .failed(let failure)) = $0 { failure.withoutCause } else { nil } }
  }

  @Test func unprotectedBondsDoNotRemoveAProtectedOne() {
    var bench = bench(bonds: [BondRoomTests.bond(BondRoomTests.owner)], room: 3, links: 4)
    for number in 0..<4 {
      bench.hear(.longTermKey(Self.device(number), Self.justWorks, .both, isToBeKept: true))
      #expect(forgotten(&bench) == (number < 2 ? [] : [Self.device(number - 2)]))
    }
    let removed = bench.events.compactMap { if case .bonds(.removed(let identity)) = $0 { identity } else { nil } }
    #expect(removed == [Self.device(0), Self.device(1)] && paired(bench) == [true, true, true, true])
  }

  /// The kernel has bonded already; it forgets the key, and the link goes on without a bond.
  @Test func withoutRoomAPairingMakesNoBond() {
    let bonds = [BondRoomTests.bond(BondRoomTests.owner)]
    var bench = bench(bonds: bonds, room: 1)
    bench.hear(.longTermKey(Self.device(0), Self.justWorks, .both, isToBeKept: true))
    #expect(forgotten(&bench) == [Self.device(0)])
    #expect(paired(bench) == [false] && failures(bench).isEmpty && bench.core.linkCount == 1)
    // Nor does one whose link has gone meanwhile.
    bench.receive(ScriptedController.disconnected(0x40))
    bench.hear(.longTermKey(Self.device(1), Self.justWorks, .both, isToBeKept: true))
    #expect(forgotten(&bench) == [Self.device(1)])
  }

  @Test func unconfirmedBondsAreLimitedInTime() {
    var bench = bench(links: 16)
    for number in 0..<13 { bench.hear(.longTermKey(Self.device(number), Self.justWorks, .both, isToBeKept: true)) }
    #expect(paired(bench) == Array(repeating: true, count: 12) + [false])
    #expect(forgotten(&bench) == [Self.device(12)])
    bench.hear(.longTermKey(Self.device(13), SharedControllerSecurityTests.key, .both, isToBeKept: true))
    #expect(paired(bench).last == true, "an authenticated one does not count")
    bench.run(for: .seconds(3600))
    bench.hear(.longTermKey(Self.device(14), Self.justWorks, .both, isToBeKept: true))
    #expect(paired(bench).last == true)
  }

  @Test func consentIsAConfirmation() throws {
    var bench = bench(
      .with {
        $0.asksConsent = true
        $0.unconfirmedBonds.count = 0
      })
    bench.hear(.asked(Self.device(0), .consent))
    guard case .pairing(let peer, .question(let id, .consent)) = bench.events.last else {
      Issue.record("not asked"); return
    }
    bench.perform(.link(peer, .answerPairing(id, .accept)))
    bench.hear(.longTermKey(Self.device(0), Self.justWorks, .both, isToBeKept: true))
    #expect(paired(bench) == [true])
  }

  /// Authentication, Secure Connections and key size, each for itself; the bond gets its own key back.
  @Test func aBondIsNotReplacedByAWeakerKey() throws {
    var weaker = [
      SharedControllerSecurityTests.key, SharedControllerSecurityTests.key, SharedControllerSecurityTests.key,
    ]
    weaker[0].strength.isAuthenticated = false
    weaker[1].strength.isSecureConnections = false
    weaker[2].strength.size = 15
    for (key, reason) in zip(
      weaker, [PairingFailedReason.authenticationRequirements, .authenticationRequirements, .encryptionKeySize])
    {
      var bench = bench(bonds: [BondRoomTests.bond(Self.device(0))])
      bench.hear(.longTermKey(Self.device(0), key, .both, isToBeKept: true))
      let directives = bench.takeDirectives()
      try #require(directives.count == 2)
      guard case .forget(Self.device(0)) = directives[0], case .loadKeys(let keys) = directives[1] else {
        Issue.record("\(directives)")
        return
      }
      #expect(keys.first?.peripheralKey == BondRoomTests.protected)
      #expect(failures(bench) == [PairingFailure(reason, .local)] && paired(bench).isEmpty)
    }
  }

  @Test func ourOwnIdentityIsNoDevices() {
    var bench = bench()
    let own = bench.core.ownAddress
    bench.hear(.identity(own, usedAs: Self.device(0), SecretKey(1)))
    bench.hear(.longTermKey(own, Self.justWorks, .both, isToBeKept: true))
    #expect(forgotten(&bench) == [own] && paired(bench).isEmpty)
    #expect(failures(bench) == [PairingFailure(.keyRejected, .local)])
  }

  private func replaced(_ bench: Bench) -> [DeviceAddress] {
    bench.events.compactMap { if case .bonds(.replaced(_, let identity)) = $0 { identity } else { nil } }
  }

  private func bonds(_ bench: Bench) -> [DeviceAddress] {
    bench.events.compactMap { if case .bonds(.changed(let bond)) = $0 { bond.identity } else { nil } }
  }

  /// The kernel asks, as it does for a device that it has a key of; the policy decides.
  @Test(arguments: [BondRules.Replacement.never, .ask, .always], [PairingAnswer.accept, .reject])
  func anUnprotectedBondIsReplacedByThePolicy(_ replacement: BondRules.Replacement, answer: PairingAnswer) throws {
    let device = Self.device(0)
    var bench = bench(
      .with { $0.bondRules.replacement = replacement }, bonds: [BondRoomTests.bond(device, isProtected: false)])
    bench.hear(.asked(device, .consent))
    if replacement == .ask {
      guard case .pairing(let peer, .question(let id, .replaceBond)) = bench.events.last else {
        Issue.record("not asked"); return
      }
      #expect(bench.takeDirectives().isEmpty)
      bench.perform(.link(peer, .answerPairing(id, answer)))
    }
    let isAccepted = replacement == .always || replacement == .ask && answer == .accept
    guard case .answer(device, _, let given) = bench.takeDirectives().first else { Issue.record("no answer"); return }
    #expect(given == (isAccepted ? .accept : .reject))
    guard isAccepted else {
      bench.hear(.failed(device))
      let reason: PairingFailedReason = replacement == .never ? .authenticationRequirements : .unspecifiedReason
      return #expect(failures(bench) == [PairingFailure(reason, .local)] && replaced(bench).isEmpty)
    }
    bench.hear(.longTermKey(device, Self.justWorks, .both, isToBeKept: true))
    #expect(replaced(bench) == [device] && bonds(bench) == [device] && paired(bench) == [true])
  }

  /// A device that names its identity at the end: the kernel has made the key, and the host decides.
  @Test(arguments: [BondRules.Replacement.never, .ask, .always], [PairingAnswer.accept, .reject])
  func holdsForAClaimedIdentity(_ replacement: BondRules.Replacement, answer: PairingAnswer) throws {
    let bonded = DeviceAddress(octets: BD_ADDR(0x00AA_BBCC_DDEE), kind: .public)
    var bench = bench(
      .with { $0.bondRules.replacement = replacement }, bonds: [BondRoomTests.bond(bonded, isProtected: false)])
    bench.hear(.asked(Self.device(0), .consent))
    bench.hear(.identity(bonded, usedAs: Self.device(0), SecretKey(1)))
    _ = bench.takeDirectives()
    bench.hear(.longTermKey(bonded, Self.justWorks, .both, isToBeKept: true))
    if replacement == .ask {
      guard case .pairing(let peer, .question(let id, .replaceBond)) = bench.events.last else {
        Issue.record("not asked"); return
      }
      #expect(bonds(bench).isEmpty && bench.takeDirectives().isEmpty)
      bench.perform(.link(peer, .answerPairing(id, answer)))
    }
    let isReplaced = replacement == .always || replacement == .ask && answer == .accept
    #expect(replaced(bench) == (isReplaced ? [bonded] : []) && bonds(bench) == (isReplaced ? [bonded] : []))
    guard !isReplaced else { return #expect(bench.takeDirectives().isEmpty) }
    // The bond gets its own key back.
    let directives = bench.takeDirectives()
    try #require(directives.count == 2)
    guard case .forget(bonded) = directives[0], case .loadKeys(let keys) = directives[1] else {
      Issue.record("\(directives)")
      return
    }
    #expect(keys.first?.peripheralKey == BondRoomTests.bond(bonded, isProtected: false).peripheralKey)
    let losses = bench.events.compactMap { if case .bonds(.lost(_, let identity, _)) = $0 { identity } else { nil } }
    #expect(losses == (replacement == .never ? [bonded] : []) && failures(bench).count == 1)
  }

  /// The link ends while the application is asked: the kernel must not keep a key that nobody agreed to
  /// instead of the bond's.
  @Test func aKeyThatWaitsIsForgottenWithItsLink() throws {
    let device = Self.device(0)
    var bench = bench(
      .with { $0.bondRules.replacement = .ask }, bonds: [BondRoomTests.bond(device, isProtected: false)])
    bench.hear(.longTermKey(device, Self.justWorks, .both, isToBeKept: true))
    guard case .pairing(_, .question(let id, .replaceBond)) = bench.events.last else {
      Issue.record("not asked"); return
    }
    #expect(bench.takeDirectives().isEmpty)
    bench.receive(ScriptedController.disconnected(0x40))
    let directives = bench.takeDirectives()
    try #require(directives.count == 2)
    guard case .forget(device) = directives[0], case .loadKeys = directives[1] else { Issue.record("-"); return }
    let isWithdrawn = bench.events.contains { if case .pairing(_, .questionWithdrawn(id)) = $0 { true } else { false } }
    #expect(isWithdrawn && bonds(bench).isEmpty)
  }

  /// The link ended before the application could agree.
  @Test(arguments: [BondRules.Replacement.never, .ask, .always])
  func aKeyOfALinkThatHasGoneReplacesOnlyWhatItMay(_ replacement: BondRules.Replacement) {
    let device = Self.device(0)
    var bench = bench(
      .with { $0.bondRules.replacement = replacement }, bonds: [BondRoomTests.bond(device, isProtected: false)])
    bench.receive(ScriptedController.disconnected(0x40))
    bench.hear(.longTermKey(device, Self.justWorks, .both, isToBeKept: true))
    #expect(bonds(bench) == (replacement == .always ? [device] : []))
    #expect(forgotten(&bench) == (replacement == .always ? [] : [device]))
  }
}
