import Testing

@testable import ble

/// The lines that answer questions of a pairing.
struct PairingQuestionsTests {
  @Test(arguments: [("012345", 12345), ("000000", 0), ("999 999", 999_999), (" 123456 ", 123_456)])
  func takesSixDigits(line: String, passkey: UInt32) {
    #expect(PairingQuestions.passkey(line) == .value(passkey))
  }

  @Test(arguments: ["12", "1234567", "12345a", "+12345", "-12345", "١٢٣٤٥٦", "１２３４５６"])
  func asksAgainForWhatIsNoPasskey(line: String) {
    #expect(PairingQuestions.passkey(line) == .again("A passkey has six digits."))
  }

  @Test func anEmptyLineRejects() {
    #expect(PairingQuestions.passkey("") == .value(nil) && PairingQuestions.passkey("  ") == .value(nil))
    #expect(PairingQuestions.confirmation("") == .value(false))
  }

  @Test(arguments: [("y", true), ("Yes", true), ("n", false), ("NO", false), (" y ", true)])
  func takesYesAndNo(line: String, answer: Bool) { #expect(PairingQuestions.confirmation(line) == .value(answer)) }

  @Test(arguments: ["yep", "1", "да"])
  func asksAgainForAnyOtherAnswer(line: String) {
    #expect(PairingQuestions.confirmation(line) == .again("Please answer y or n."))
  }

  /// The program ends, or the device asks anew: no answer is sent.
  @Test func aQuestionThatIsCancelledIsVoid() async {
    let end = await Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return await PairingQuestions.ask("?", answer: PairingQuestions.confirmation, until: {})
    }.value
    #expect(end == .void)
    #expect(!PairingQuestions.rejectAll())
  }
}
