import BLECrypto
import BLESMP
import BLEWire
import Testing

/// Pairings of two machines that succeed.
@Suite struct PairingMachineTests {
  static let capabilities: [IOCapability] = [
    .displayOnly, .displayYesNo, .keyboardOnly, .noInputNoOutput, .keyboardDisplay,
  ]
  static let matrix = capabilities.flatMap { a in capabilities.map { (a, $0) } }

  /// Vol 3, Part H, table 2.8, rows by responder; J: Just Works, I: initiator displays, R: responder displays,
  /// B: both enter, N: numeric comparison (of Secure Connections; in legacy pairing the model after the slash).
  static let table: [[String]] = [
    ["J", "J", "R", "J", "R"],
    ["J", "N/J", "R", "J", "N/R"],
    ["I", "I", "B", "J", "I"],
    ["J", "J", "J", "J", "J"],
    ["I", "N/I", "R", "J", "N/I"],
  ]

  @Test(arguments: matrix, [true, false])
  func pairsWithEachCombinationOfCapabilities(_ io: (IOCapability, IOCapability), secure: Bool) throws {
    var pair = PairingPair(.with(io.0, secure: secure), .with(io.1))
    pair.pair()
    pair.expectPaired()
    let cell = Self.table[Int(io.1.rawValue)][Int(io.0.rawValue)].split(separator: "/")
    let expected = try #require(secure ? cell.first : cell.last)
    let questions = (pair.questions[.initiator] ?? [], pair.questions[.responder] ?? [])
    switch expected {
    case "J": #expect(questions.0.isEmpty && questions.1.isEmpty)
    case "B": #expect(questions.0 == [.enterPasskey] && questions.1 == [.enterPasskey])
    case "I": #expect(questions.1 == [.enterPasskey] && pair.displayed.map { questions.0 == [.display($0)] } == true)
    case "R": #expect(questions.0 == [.enterPasskey] && pair.displayed.map { questions.1 == [.display($0)] } == true)
    default:
      guard case .compare(let a) = questions.0.first, case .compare(let b) = questions.1.first else {
        Issue.record("no comparison: \(questions)")
        return
      }
      #expect(a == b)
    }
    let strength = try #require(pair.outcomes[.initiator]).strength
    #expect(strength == KeyStrength(size: 16, isAuthenticated: expected != "J", isSecureConnections: secure))
  }

  /// SM/CEN/PROT: neither device requests MITM protection, so there is no question.
  @Test func usesJustWorksWithoutMITM() {
    var pair = PairingPair(.with(.keyboardDisplay, mitm: false), .with(.keyboardDisplay, mitm: false))
    pair.pair()
    pair.expectPaired()
    #expect(pair.questions.isEmpty)
  }

  /// Keys have the smaller of the two maximum sizes; the octets above it are zero.
  @Test(arguments: UInt8(7)...16) func shortensTheKeyToTheSmallerSize(size: UInt8) throws {
    var pair = PairingPair(.with(secure: false, size: size), .with(secure: false))
    pair.pair()
    pair.expectPaired()
    let outcome = try #require(pair.outcomes[.responder])
    #expect(outcome.strength.size == size)
    for key in [outcome.peripheralKey, outcome.centralKey, pair.link] {
      let value = try #require(key).value.value
      #expect(value >> (8 * UInt128(size)) == 0 || size == 16)
      #expect(value >> (8 * UInt128(size) - 16) != 0)
    }
  }

  /// Vol 3, Part H, 3.6.1: the responder's keys, then the initiator's, each in the order of the codes, only those
  /// agreed.
  @Test(arguments: 0..<64) func distributesTheKeysOfTheAgreement(bits: Int) throws {
    let (initiators, responders) = (
      KeyDistribution(rawValue: UInt8(bits & 7)), KeyDistribution(rawValue: UInt8(bits >> 3))
    )
    for secure in [true, false] {
      var pair = PairingPair(
        .with(secure: secure) {
          $0.initiatorKeys = initiators
          $0.responderKeys = [.encKey, .idKey, .signKey, .linkKey]
        },
        .with { $0.responderKeys = responders })
      pair.pair()
      let usable: KeyDistribution = secure ? [.idKey, .signKey] : [.encKey, .idKey, .signKey]
      let expected =
        codes(responders.intersection(usable)).map { ("responder", $0) }
        + codes(initiators.intersection(usable)).map { ("initiator", $0) }
      let seen = pair.air.filter { (6...10).contains($0.octets[0]) }.map { ("\($0.from)", $0.octets[0]) }
      #expect(seen.map(\.0) == expected.map(\.0))
      #expect(seen.map(\.1) == expected.map(\.1))
      let outcome = try #require(pair.outcomes[.responder])
      #expect((outcome.peerIRK != nil) == initiators.contains(.idKey))
      #expect((outcome.peerIdentity != nil) == initiators.contains(.idKey))
      #expect((outcome.peerCSRK != nil) == initiators.contains(.signKey))
    }
  }

  private func codes(_ keys: KeyDistribution) -> [UInt8] {
    (keys.contains(.encKey) ? [6, 7] : []) + (keys.contains(.idKey) ? [8, 9] : [])
      + (keys.contains(.signKey) ? [10] : [])
  }

  @Test(arguments: [true, false]) func pairsWithOutOfBandDataOfBothDevices(secure: Bool) throws {
    let toolbox = SecurityToolbox(LibCrypto())
    var source = RandomSource.seeded(9)
    let (a, b) = (
      try OutOfBandData.OwnData.make(toolbox, random: &source), try OutOfBandData.OwnData.make(toolbox, random: &source)
    )
    let key = SecretKey(source.uint128())
    var pair = PairingPair(
      .with(secure: secure) {
        $0.outOfBand.temporaryKey = key
        $0.outOfBand.own = a.own
        $0.outOfBand.peer = b.forPeer
      },
      .with {
        $0.outOfBand.temporaryKey = key
        $0.outOfBand.own = b.own
        $0.outOfBand.peer = a.forPeer
      })
    pair.pair()
    pair.expectPaired()
    #expect(pair.outcomes[.initiator]?.strength.isAuthenticated == true)
  }

  /// Secure Connections needs the data on one of the devices (2.3.5.1, table 2.7).
  @Test(arguments: PairingPair.Side.allCases) func pairsWithOutOfBandDataOfOneDevice(reader: PairingPair.Side) throws {
    var source = RandomSource.seeded(9)
    let data = try OutOfBandData.OwnData.make(SecurityToolbox(LibCrypto()), random: &source)
    let knows = PairingSettings.with { $0.outOfBand.peer = data.forPeer }
    let gave = PairingSettings.with { $0.outOfBand.own = data.own }
    var pair = reader == .initiator ? PairingPair(knows, gave) : PairingPair(gave, knows)
    pair.pair()
    pair.expectPaired()
    #expect(pair.outcomes[.initiator]?.strength.isAuthenticated == true)
  }

  @Test func distributesNoKeysWithoutBonding() throws {
    for (a, b) in [(true, false), (false, true), (false, false)] {
      var pair = PairingPair(.with { $0.isBonding = a }, .with { $0.isBonding = b })
      pair.pair()
      pair.expectPaired()
      #expect(pair.outcomes[.responder]?.isBonded == false)
      #expect(!pair.air.contains { (6...10).contains($0.octets[0]) })
    }
  }

  /// The application of each device is asked for Just Works, unless it has begun the pairing.
  @Test(arguments: [true, false], [true, false]) func asksConsentForPairingsOfThePeer(
    isConsented: Bool, secure: Bool
  ) {
    for answer in [PairingAnswer.accept, .reject] {
      var pair = PairingPair(.with(secure: secure) { $0.asksConsent = true }, .with { $0.asksConsent = true })
      pair.answer = { side, _, _ in side == .initiator || isConsented ? answer : .accept }
      pair.pair(isConsented: isConsented)
      if isConsented {
        #expect(pair.questions == [.responder: [.consent]])
      } else {
        #expect(pair.questions == [.initiator: [.consent], .responder: [.consent]])
      }
      let side: PairingPair.Side = isConsented ? .responder : .initiator
      if answer == .accept { pair.expectPaired() } else { pair.expectFailed(.unspecifiedReason, at: side) }
    }
    var passkey = PairingPair(
      .with(.keyboardOnly, secure: secure) { $0.asksConsent = true }, .with(.displayOnly) { $0.asksConsent = true })
    passkey.pair(isConsented: isConsented)
    #expect(passkey.questions.values.joined().allSatisfy { $0 != .consent })
    passkey.expectPaired()
  }

  /// A pairing that waits for consent continues when the application requests it, and the question is withdrawn.
  @Test func takesTheApplicationsRequestAsConsent() throws {
    var pair = PairingPair(.with { $0.asksConsent = true }, .with())
    pair.answer = { _, _, _ in nil }
    pair.pair(isConsented: false)
    let asked = try #require(pair.names[.initiator]?.last)
    pair.pair(isConsented: false)
    #expect(pair.outcomes.isEmpty && pair.withdrawn.isEmpty)
    pair.pair(isConsented: true)
    #expect(pair.withdrawn[.initiator] == [asked])
    pair.expectPaired()
    pair.reply(.reject, to: asked, at: .initiator)
    #expect(pair.faults == [.notOpen])
    // The consent is for one pairing.
    pair.forget()
    pair.pair(isConsented: false)
    #expect(pair.questions == [.initiator: [.consent]])
  }

  /// Without an answer the pairing ends after 30 seconds (3.4).
  @Test func endsThePairingWithoutConsent() {
    var pair = PairingPair(.with { $0.asksConsent = true }, .with())
    pair.answer = { _, _, _ in nil }
    pair.pair(isConsented: false)
    pair.inject([0x03] + [UInt8](repeating: 1, count: 16), to: .initiator)
    pair.expectFailed(.unspecifiedReason, at: .initiator)
    pair.forget()
    pair.pair(isConsented: false)
    pair.on(.initiator) { machine, now, effects in machine.tick(now: now + .seconds(30), into: &effects) }
    pair.run()
    #expect(pair.failures[.initiator]?.origin == .timeout && pair.withdrawn[.initiator]?.count == 1)
  }

  /// PDUs of the peer before the user's answer are kept, and the pairing continues with the answer.
  @Test(arguments: [true, false]) func waitsForBothUsers(secure: Bool) {
    for io in [(IOCapability.keyboardOnly, IOCapability.keyboardOnly), (.keyboardDisplay, .displayYesNo)] {
      for order in [[PairingPair.Side.initiator, .responder], [.responder, .initiator]] {
        var pair = PairingPair(.with(io.0, secure: secure), .with(io.1, secure: secure))
        pair.answer = { _, _, _ in nil }
        pair.pair()
        for side in order {
          guard let question = pair.questions[side]?.first else { continue }
          let answer: PairingAnswer =
            question == .enterPasskey ? .passkey(pair.displayed ?? Passkey(lowestDigitsOf: 7)) : .accept
          pair.reply(answer, to: pair.names[side]?.first, at: side)
        }
        pair.expectPaired()
      }
    }
  }

  /// Keypress notifications (3.5.8) are reported where both devices have the bit; reserved types are ignored, others
  /// are rejected.
  @Test(arguments: [true, false], [true, false]) func reportsKeypressesWhereBothAgree(secure: Bool, agreed: Bool) {
    var pair = PairingPair(
      .with(.keyboardOnly, secure: secure) { $0.keypress = true },
      .with(.displayOnly, secure: secure) { $0.keypress = agreed })
    pair.answer = { _, _, _ in nil }
    pair.pair()
    for type in [0, 1, 2, 1, 3, 5, 4] as [UInt8] { pair.inject([0x0E, type], to: .responder) }
    if agreed {
      #expect(pair.keypresses.map(\.rawValue) == [0, 1, 2, 1, 3, 4])
      let answer = PairingAnswer.passkey(pair.displayed ?? Passkey(lowestDigitsOf: 7))
      pair.reply(answer, at: .initiator)
      pair.expectPaired()
    } else {
      #expect(pair.keypresses.isEmpty && pair.failures[.responder]?.reason == .unspecifiedReason)
    }
  }

  @Test func reportsASecurityRequest() {
    var pair = PairingPair(.with(), .with(.displayYesNo))
    pair.on(.responder) { machine, _, effects in machine.requestSecurity(into: &effects) }
    pair.run()
    #expect(pair.air.map(\.octets) == [[0x0B, 0x0D]])
    // The owner of the machine pairs or encrypts.
    var effects: [PairingEffect] = []
    pair.initiator.receive([0x0B, 0x0D], now: .start, into: &effects)
    #expect(effects == [.securityRequested([.bonding, .mitm, .secureConnections])])
    pair.pair()
    pair.expectPaired()
  }

  /// Descriptions can be in logs: they have no key and no passkey.
  @Test(arguments: [true, false]) func showsNoSecretsInDescriptions(secure: Bool) throws {
    var pair = PairingPair(.with(.displayOnly, secure: secure), .with(.keyboardOnly))
    pair.pair()
    pair.expectPaired()
    let outcome = try #require(pair.outcomes[.responder])
    var text = "\(outcome) \(pair.questions)"
    dump(outcome, to: &text)
    dump(pair.questions, to: &text)
    dump(pair.responder.settings, to: &text)
    let keys = [
      outcome.peripheralKey?.value, outcome.centralKey?.value, outcome.peerIRK, outcome.peerCSRK, outcome.ownCSRK,
      pair.responder.settings.identityResolvingKey,
    ]
    for key in keys.compactMap(\.self) {
      for form in ["\(key.value)", key.value.littleEndianOctets.hexadecimal, key.value.bigEndianOctets.hexadecimal] {
        #expect(!text.contains(form))
      }
    }
    let passkey = try #require(pair.displayed)
    #expect(!text.contains(passkey.digits) && !text.contains(": \(passkey.value)"))
  }
}
