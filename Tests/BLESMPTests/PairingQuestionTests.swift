import BLESMP
import BLEWire
import Testing

/// An answer is bound to its question (Vol 3, Part H, 2.3.5.6.2).
@Suite struct PairingQuestionTests {
  /// A pair whose responder leaves its questions open.
  private func pair(_ initiator: PairingSettings, _ responder: PairingSettings) -> PairingPair {
    var pair = PairingPair(initiator, responder)
    pair.answer = { side, question, _ in side == .initiator && question.admits(.accept) ? .accept : nil }
    return pair
  }

  /// The initiator aborts with Pairing Failed and begins anew.
  private func restart(_ pair: inout PairingPair) {
    pair.inject([0x05, 0x08], to: .responder)
    pair.inject([0x05, 0x08], to: .initiator)
    pair.pair()
  }

  @Test func ignoresAConsentAsAnswerToAComparison() throws {
    var pair = pair(.with(), .with(.displayYesNo) { $0.asksConsent = true })
    pair.pair()
    let consent = try #require(pair.names[.responder]?.last)
    pair.initiator.settings = .with(.displayYesNo) { $0.identityResolvingKey = SecretKey(1) }
    restart(&pair)
    #expect(pair.withdrawn[.responder] == [consent])
    guard case .compare = pair.questions[.responder]?.last else { Issue.record("no comparison"); return }
    pair.reply(.accept, to: consent, at: .responder)
    #expect(pair.faults == [.notOpen] && pair.outcomes.isEmpty && pair.responder.isPairing)
    (pair.failures, pair.faults) = ([:], [])
    pair.reply(.accept, at: .responder)
    pair.expectPaired()
    #expect(pair.faults.isEmpty)
  }

  @Test func ignoresAnAnswerToAnEarlierNumber() throws {
    var pair = pair(.with(.displayYesNo), .with(.displayYesNo))
    pair.pair()
    let first = try #require(pair.names[.responder]?.last)
    restart(&pair)
    let second = try #require(pair.names[.responder]?.last)
    #expect(first != second && pair.questions[.responder]?.first != pair.questions[.responder]?.last)
    pair.reply(.accept, to: first, at: .responder)
    // A rejection of the first one does not end the second.
    pair.reply(.reject, to: first, at: .responder)
    #expect(pair.faults == [.notOpen, .notOpen] && pair.outcomes.isEmpty && pair.responder.isPairing)
  }

  /// Questions, and answers of another kind.
  static let mismatches: [(PairingQuestion, [PairingAnswer])] = [
    (.consent, [.passkey(number)]), (.compare(number), [.passkey(number)]), (.enterPasskey, [.accept]),
    (.display(number), [.accept, .passkey(number)]),
  ]
  static let number = Passkey(lowestDigitsOf: 31_415)

  @Test(arguments: mismatches) func ignoresAnAnswerOfAnotherKind(
    question: PairingQuestion, answers: [PairingAnswer]
  ) throws {
    var last: UInt64 = 6
    var questions = PairingQuestions()
    let id = questions.ask(question, after: &last)
    #expect(id == PairingQuestionID(rawValue: 7) && last == 7)
    for answer in answers {
      #expect(throws: PairingAnswerError.wrongKind) { try questions.close(id, with: answer) }
      #expect(questions.open?.id == id)
    }
    #expect(throws: PairingAnswerError.notOpen) { try questions.close(PairingQuestionID(rawValue: 6), with: .reject) }
    #expect(try questions.close(id, with: .reject) == question)
    #expect(throws: PairingAnswerError.notOpen) { try questions.close(id, with: .reject) }
    #expect(questions.withdraw() == nil)
  }

  @Test(arguments: [true, false]) func ignoresAcceptInPlaceOfAPasskey(secure: Bool) {
    var pair = pair(.with(.displayOnly, secure: secure), .with(.keyboardOnly, secure: secure))
    pair.pair()
    pair.reply(.accept, at: .responder)
    #expect(pair.faults == [.wrongKind] && pair.failures.isEmpty && pair.responder.isPairing)
    pair.reply(.passkey(pair.displayed ?? Self.number), at: .responder)
    pair.expectPaired()
  }

  /// The first answer has effect; later ones, also a rejection, do not.
  @Test func ignoresASecondAnswer() {
    var pair = pair(.with(.displayYesNo), .with(.displayYesNo))
    pair.tamper = { side, octets, _ in side == .initiator && octets[0] == 0x0D ? [] : [octets] }
    pair.pair()
    pair.reply(.accept, at: .responder)
    pair.reply(.reject, at: .responder)
    pair.reply(.accept, at: .responder)
    #expect(pair.faults == [.notOpen, .notOpen] && pair.failures.isEmpty && pair.responder.isPairing)
  }

  /// A passkey that is shown can be rejected until the pairing ends, and has no other answer.
  @Test(arguments: [true, false]) func allowsRejectionOfAShownPasskey(secure: Bool) throws {
    let pair = pair(.with(.keyboardOnly, secure: secure), .with(.displayOnly, secure: secure))
    var whole = pair
    whole.answer = { _, question, pair in question == .enterPasskey ? .passkey(pair.displayed ?? Self.number) : nil }
    whole.pair()
    whole.expectPaired()
    let shown = try #require(whole.names[.responder]?.last)
    #expect(whole.withdrawn[.responder] == [shown] && whole.withdrawn[.initiator] == nil)
    whole.reply(.reject, to: shown, at: .responder)
    #expect(whole.faults == [.notOpen] && whole.failures.isEmpty)
    // Rejected before each PDU that the responder sends once it shows the passkey.
    for position in 3...whole.air.count where whole.air[position - 1].from == .responder {
      var cut = pair
      cut.answer = whole.answer
      cut.tamper = { _, octets, number in number >= position ? [] : [octets] }
      cut.pair()
      cut.reply(.reject, at: .responder)
      #expect(cut.failures[.responder]?.origin == .local && cut.withdrawn[.responder] == nil, "before \(position)")
      #expect(cut.air.last?.octets.first == 0x05)
    }
  }

  @Test func withdrawsTheQuestionWithThePairing() throws {
    var pair = pair(.with(.displayYesNo), .with(.displayYesNo))
    pair.pair()
    let open = try #require(pair.names[.responder]?.last)
    var silent = pair
    silent.on(.responder) { machine, now, effects in machine.tick(now: now + .seconds(30), into: &effects) }
    silent.run()
    #expect(silent.withdrawn[.responder] == [open] && silent.failures[.responder]?.origin == .timeout)
    pair.on(.responder) { machine, _, effects in machine.linkEnded(into: &effects) }
    pair.run()
    #expect(pair.withdrawn[.responder] == [open] && pair.failures[.responder]?.origin == .linkLost)
  }
}
