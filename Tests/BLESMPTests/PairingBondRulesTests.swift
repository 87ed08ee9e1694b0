import BLESMP
import BLEWire
import Testing

/// The bonds that a pairing makes, and the distribution of the identity.
@Suite("Rules of bonds in a pairing") struct PairingBondRulesTests {
  typealias Side = PairingPair.Side

  /// AuthReq and the two key distributions of each Pairing Request and Response, in order (Vol 3, Part H, 3.5.1).
  private func features(_ pair: PairingPair) -> [[UInt8]] {
    pair.air.map(\.octets).filter { $0[0] <= 2 }.map { [$0[3] & 3, $0[5] & 7, $0[6] & 7] }
  }

  private func pair(
    _ initiator: BondRules.Admission, _ responder: BondRules.Admission, io: IOCapability = .noInputNoOutput,
    change: (inout PairingSettings) -> Void = { _ in }
  ) -> PairingPair {
    var pair = PairingPair(
      .with(io) { $0.bondRules.admission = initiator },
      .with(io == .noInputNoOutput ? io : .keyboardOnly) {
        $0.bondRules.admission = responder
        change(&$0)
      })
    pair.pair(isConsented: false)
    return pair
  }

  private func bonds(_ pair: PairingPair) -> [Bool?] { Side.allCases.map { pair.outcomes[$0]?.isBonded } }
  private func isDeclined(_ pair: PairingPair) -> [Bool?] { Side.allCases.map { pair.outcomes[$0]?.isBondDeclined } }

  @Test func makesNoBondWithoutConfirmation() {
    for admission in [BondRules.Admission.confirmed, .none] {
      let responder = pair(.all, admission)
      #expect(features(responder) == [[1, 7, 7], [0, 0, 0]])
      #expect(bonds(responder) == [false, false] && isDeclined(responder) == [false, true])
      let initiator = pair(admission, .all)
      #expect(features(initiator).first == [0, 0, 0])
      #expect(bonds(initiator) == [false, false] && isDeclined(initiator) == [true, false])
    }
  }

  /// An initiator with a display and a keyboard has the association model only after the response; without
  /// authentication it makes no bond.
  @Test func decidesOnTheBondAfterTheModelIsKnown() {
    let authenticated = pair(.confirmed, .confirmed, io: .displayOnly)
    #expect(bonds(authenticated) == [true, true] && isDeclined(authenticated) == [false, false])
    var unauthenticated = PairingPair(.with(.displayOnly) { $0.bondRules.admission = .confirmed }, .with())
    unauthenticated.pair(isConsented: false)
    #expect(bonds(unauthenticated) == [false, true] && isDeclined(unauthenticated) == [true, false])
    let full = pair(.all, .none, io: .displayOnly)
    #expect(bonds(full) == [false, false] && full.outcomes[.responder]?.strength.isAuthenticated == true)
  }

  @Test func acceptsConsentAsConfirmation() {
    let asked = pair(.all, .confirmed) { $0.asksConsent = true }
    #expect(bonds(asked) == [true, true] && asked.outcomes[.responder]?.hasConsent == true)
    #expect(pair(.all, .all).outcomes[.responder]?.hasConsent == false)
    // A pairing that the application has begun has its consent.
    var begun = PairingPair(.with { $0.bondRules.admission = .confirmed }, .with())
    begun.pair(isConsented: true)
    #expect(bonds(begun) == [true, true] && begun.outcomes[.initiator]?.hasConsent == true)
  }

  @Test func replacesOnlyKeysThatAreNoStronger() {
    let all = [(7, false, false), (16, false, false), (16, true, false), (16, false, true), (16, true, true)].map {
      KeyStrength(size: UInt8($0), isAuthenticated: $1, isSecureConnections: $2)
    }
    /// Rows: the new key, columns: the bond. A: Authentication Requirements, S: Encryption Key Size.
    let table = ["-SAAA", "--AAA", "---AA", "--A-A", "-----"]
    for (new, row) in zip(all, table) {
      for (old, cell) in zip(all, row) {
        let reason: PairingFailedReason? = ["A": .authenticationRequirements, "S": .encryptionKeySize][cell]
        #expect(new.error(replacing: old) == reason, "\(new) for \(old)")
      }
    }
  }

  /// An unauthenticated pairing distributes no identity, in both roles.
  @Test(arguments: [true, false]) func withholdsTheIdentityFromUnauthenticatedPeers(secure: Bool) {
    var responder = PairingPair(.with(secure: secure), .with { $0.withholdsIdentity = true })
    responder.pair()
    #expect(features(responder) == [[1, 7, 7], [1, 7, 5]])
    var initiator = PairingPair(.with(secure: secure) { $0.withholdsIdentity = true }, .with())
    initiator.pair()
    #expect(features(initiator) == [[1, 5, 7], [1, 5, 7]])
    for (pair, side) in [(responder, Side.responder), (initiator, .initiator)] {
      #expect(bonds(pair) == [true, true])
      #expect(!pair.air.contains { $0.from == side && ($0.octets[0] == 8 || $0.octets[0] == 9) })
      #expect(pair.air.contains { $0.from != side && $0.octets[0] == 9 })
    }
  }

  @Test func distributesTheIdentityToAuthenticatedPeers() {
    var pair = PairingPair(
      .with(.displayOnly) { $0.withholdsIdentity = true }, .with(.keyboardOnly) { $0.withholdsIdentity = true })
    pair.pair()
    pair.expectPaired()
    #expect(features(pair) == [[1, 7, 7], [1, 7, 7]])
  }

  /// An initiator that has offered its identity begins anew without it, once, after a response that leads to an
  /// unauthenticated pairing.
  @Test func beginsAnewWithoutItsIdentity() {
    var pair = PairingPair(.with(.displayOnly) { $0.withholdsIdentity = true }, .with())
    pair.pair()
    #expect(features(pair) == [[1, 7, 7], [1, 7, 7], [1, 5, 7], [1, 5, 7]])
    #expect(pair.air.map(\.octets).filter { $0[0] == 5 } == [[5, 3]])
    #expect(bonds(pair) == [true, true] && !pair.air.contains { $0.from == .initiator && $0.octets[0] == 9 })
    // A response with more keys than the request is invalid.
    var greedy = PairingPair(.with(.displayOnly) { $0.withholdsIdentity = true }, .with())
    greedy.tamper = { side, octets, _ in side == .responder && octets[0] == 2 ? [octets.prefix(5) + [7, 7]] : [octets] }
    greedy.pair()
    #expect(greedy.failures[.initiator] == PairingFailure(.invalidParameters, .local))
  }
}
