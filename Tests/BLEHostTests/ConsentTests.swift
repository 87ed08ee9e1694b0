import BLEATT
import BLEGATT
import BLEHost
import BLESMP
import BLEWire
import Testing

/// `asksConsent` in the central role: who asked for the pairing decides
/// (Docs/Decisions/pairing-and-bonds.md#pairing-is-open-by-default).
@Suite("Consent to pairings of our central") struct ConsentTests {
  /// A central that asks for consent, and nobody who answers.
  private func couple(_ change: (inout PairingSettings) -> Void = { _ in }) throws -> Couple {
    var settings = PairingSettings.with { $0.asksConsent = true }
    change(&settings)
    var couple = Couple(central: { [settings] _ in settings })
    couple.world.application = nil
    try couple.connect()
    return couple
  }

  private func answer(_ answer: PairingAnswer, _ couple: inout Couple) throws {
    let (link, question) = (try #require(couple.links[1]), try #require(couple.questions(1).last))
    #expect(question.question == .consent)
    couple.world.ask(1, .link(link.central, .answerPairing(question.id, answer)))
    couple.world.run(for: .seconds(1))
  }

  @Test(arguments: [true, false]) func aSecurityRequestAsksForConsent(agreed: Bool) throws {
    var couple = try couple()
    couple.world.ask(0, .link(try #require(couple.links[1]).peripheral, .requestSecurity))
    couple.world.run(for: .seconds(1))
    #expect(couple.bond(1) == nil && couple.security(1) == nil)
    try answer(agreed ? .accept : .reject, &couple)
    #expect((couple.bond(1) != nil) == agreed && couple.paired(1).count == (agreed ? 1 : 0))
    #expect(couple.failures(1) == (agreed ? [] : [PairingFailure(.unspecifiedReason, .local)]))
  }

  /// A request for security while pairing is disabled is answered with the remedy and a failed pairing, so that no
  /// caller waits.
  @Test func aRequestWhilePairingIsDisabledIsAnswered() throws {
    var couple = Couple(peripheral: nil, central: { _ in nil })
    try couple.connect()
    let link = try #require(couple.links[1])
    couple.world.ask(1, .link(link.central, .secure(SecurityDemand())))
    couple.world.ask(0, .link(link.peripheral, .requestSecurity))
    couple.world.run(for: .seconds(1))
    for host in 0...1 {
      #expect(couple.failures(host) == [PairingFailure(.pairingNotSupported, .local)])
      let refusals = couple.events(host).compactMap { if case .refused(let error) = $0 { error } else { nil } }
      #expect(refusals == [.disabled("pairing is disabled: set PairingOptions.isEnabled")])
    }
  }

  /// The application has requested the pairing, and wants its user to know that the devices are not authenticated.
  @Test(arguments: [true, false]) func aRequestMayAskForConsentToJustWorks(agreed: Bool) throws {
    var couple = try couple { $0.asksConsent = false }
    let link = try #require(couple.links[1])
    couple.world.ask(1, .link(link.central, .secure(SecurityDemand(asksConsent: true))))
    couple.world.run(for: .seconds(1))
    #expect(couple.bond(1) == nil && couple.security(1) == nil)
    try answer(agreed ? .accept : .reject, &couple)
    #expect((couple.bond(1) != nil) == agreed)
    #expect(couple.failures(1) == (agreed ? [] : [PairingFailure(.unspecifiedReason, .local)]))
  }

  /// Just Works cannot meet the demand (Vol 3, Part H, 2.3.5.1), whatever the settings allow.
  @Test(arguments: [SecurityLevel.authenticated, .secureConnections])
  func aPairingThatCannotHaveTheLevelFails(level: SecurityLevel) throws {
    var couple = Couple()
    try couple.connect()
    couple.world.ask(1, .link(try #require(couple.links[1]).central, .secure(SecurityDemand(level: level))))
    couple.world.run(for: .seconds(1))
    #expect(couple.failures(1) == [PairingFailure(.authenticationRequirements, .local)] && couple.bond(1) == nil)
    // Without the demand the two pair.
    couple.secure()
    #expect(couple.security(1)?.level == .encrypted)
  }

  @Test func aKeyThatDoesNotMeetTheDemandIsReplaced() throws {
    var couple = Couple(
      peripheral: .with(.displayOnly) { $0.requestsMITM = false },
      central: { _ in .with(.keyboardOnly) { $0.requestsMITM = false } })
    try couple.connect()
    couple.secure()
    #expect(couple.security(1)?.level == .encrypted)
    couple.world.ask(1, .link(try #require(couple.links[1]).central, .secure(SecurityDemand(level: .authenticated))))
    couple.world.run(for: .seconds(1))
    #expect(couple.security(1)?.level ?? .none >= .authenticated && couple.paired(1).count == 2)
  }

  @Test(arguments: [true, false]) func aPairingOnDemandAsksForConsent(agreed: Bool) throws {
    var couple = try couple { $0.pairsOnDemand = true }
    let (link, handle) = (try #require(couple.links[1]), try #require(couple.handles[Couple.encrypted]))
    couple.world.ask(
      1, .link(link.central, .client(GATTClient.Operation(id: GATTClient.OperationID(rawValue: 9), .read(handle)))))
    couple.world.run(for: .seconds(5))
    func results() -> [Result<GATTClient.Outcome, GATTClientError>] {
      couple.events(1).compactMap { if case .client(_, .finished(_, let result)) = $0 { result } else { nil } }
    }
    #expect(results().isEmpty && couple.bond(1) == nil)
    try answer(agreed ? .accept : .reject, &couple)
    if agreed {
      #expect(results() == [.success(.value([7]))])
    } else {
      guard case .failure(let error) = results().first else { Issue.record("not refused"); return }
      #expect(error.code == .insufficientAuthentication)
    }
  }

  /// The requests of the device for security do not ask the user again on this link (Vol 3, Part H, 2.3.6).
  @Test func aSecurityRequestAfterAFailedPairingAsksForNothing() throws {
    var couple = try couple()
    let link = try #require(couple.links[1])
    couple.world.ask(0, .link(link.peripheral, .requestSecurity))
    couple.world.run(for: .seconds(1))
    try answer(.reject, &couple)
    couple.world.ask(0, .link(link.peripheral, .requestSecurity))
    couple.world.run(for: .seconds(1))
    #expect(couple.questions(1).count == 1 && couple.failures(1).count == 1)
    // The application may pair.
    couple.secure()
    #expect(couple.paired(1).count == 1)
  }

  @Test func theApplicationsOwnRequestIsConsent() throws {
    var couple = try couple()
    couple.secure()
    #expect(couple.questions(1).isEmpty && couple.paired(1).count == 1)
  }

  /// A pairing that the user takes part in needs no other consent.
  @Test func anAuthenticatedPairingAsksForNoConsent() throws {
    var couple = Couple(
      peripheral: .with(.displayOnly), central: { _ in .with(.keyboardOnly) { $0.asksConsent = true } })
    try couple.connect()
    couple.world.ask(0, .link(try #require(couple.links[1]).peripheral, .requestSecurity))
    couple.world.run(for: .seconds(1))
    #expect(couple.questions(1).map(\.question) == [.enterPasskey] && couple.paired(1).count == 1)
  }

  /// With a bond there is no pairing to agree to.
  @Test func aBondIsConsentEnough() throws {
    var couple = try couple()
    couple.secure()
    couple.disconnect()
    couple.forget()
    try couple.connect()
    couple.world.ask(0, .link(try #require(couple.links[1]).peripheral, .requestSecurity))
    couple.world.run(for: .seconds(1))
    #expect(couple.questions(1).isEmpty && couple.security(1)?.level == .encrypted)
  }
}
