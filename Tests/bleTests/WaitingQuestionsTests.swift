import BLEWire
import Testing

@testable import ble

/// The questions of a proxy's pairings that wait for a person.
@Suite struct WaitingQuestionsTests {
  private var questions = WaitingQuestions(proxy: "attic")

  private static func question(_ id: UInt32, _ kind: AskedQuestion.Kind = .passkey) -> AskedQuestion {
    AskedQuestion(id: id, device: "C0:00:00:00:00:\(id < 10 ? "0" : "")\(id)", kind: kind)
  }

  private static func notices(_ output: WaitingQuestions.Output, for person: UInt64) -> [AnswerNotice?] {
    output.lines.filter { $0.person == person }.map { AnswerNotice(line: Array($0.octets.dropLast())) }
  }

  private mutating func output(_ change: (inout WaitingQuestions, inout WaitingQuestions.Output) -> Void)
    -> WaitingQuestions.Output
  {
    var output = WaitingQuestions.Output()
    change(&questions, &output)
    return output
  }

  private mutating func answer(
    _ id: UInt32, _ answer: PersonalAnswer, from person: UInt64 = 1
  ) -> WaitingQuestions.Output {
    output { $0.receive(AnswerLine(id: id, answer: answer).line, from: person, into: &$1) }
  }

  // MARK: Lines

  @Test(
    arguments: [
      .greeting(proxy: "attic"), .question(question(1), seconds: 30),
      .question(question(2, .compare("012345")), seconds: 1),
      .question(question(3, .display("999999")), seconds: 0), .ended(id: 4, .expired),
      .result(device: "C0:11:22:33:44:55", failure: nil), .result(device: "C0:11:22:33:44:55", failure: "no"),
      .refusal("\"\n"),
    ] as [AnswerNotice])
  func aNoticeIsALine(notice: AnswerNotice) {
    let line = notice.line
    #expect(line.last == UInt8(ascii: "\n") && !line.dropLast().contains(UInt8(ascii: "\n")))
    #expect(AnswerNotice(line: Array(line.dropLast())) == notice)
  }

  @Test(arguments: [
    (PersonalAnswer.passkey(7), #"{"id":5,"passkey":"000007"}"#), (.accept, #"{"accept":true,"id":5}"#),
  ])
  func anAnswerIsALine(answer: PersonalAnswer, text: String) {
    let line = AnswerLine(id: 5, answer: answer)
    #expect(String(decoding: line.line, as: UTF8.self) == text + "\n")
    #expect(AnswerLine(line: Array(text.utf8)) == line)
  }

  @Test(arguments: [
    "", "{}", "[]", "7", #"{"id":5}"#, #"{"id":-1,"accept":true}"#, #"{"id":4294967296,"accept":true}"#,
    #"{"id":5,"passkey":123456}"#, #"{"id":5,"passkey":"12345"}"#, #"{"id":5,"passkey":""}"#,
    #"{"id":5,"passkey":"123456","accept":true}"#, #"{"id":5,"accept":1}"#, #"{"accept":true}"#, "\u{0}",
  ])
  func otherLinesAreNoAnswers(text: String) { #expect(AnswerLine(line: Array(text.utf8)) == nil) }

  @Test(arguments: [
    "", "{}", #"{"id":1,"ended":"soon"}"#, #"{"id":1,"device":"x","seconds":1,"question":"compare"}"#,
    #"{"id":1,"device":"x","seconds":1,"question":"passkey","number":"1"}"#, #"{"device":"x"}"#,
  ])
  func otherLinesAreNoNotices(text: String) { #expect(AnswerNotice(line: Array(text.utf8)) == nil) }

  // MARK: Questions

  @Test mutating func aQuestionIsAnsweredOnce() {
    for person in 1...2 {
      let output = output { $0.connect(UInt64(person), now: .start, into: &$1) }
      #expect(Self.notices(output, for: UInt64(person)) == [.greeting(proxy: "attic")])
    }
    let asked = output { $0.ask(Self.question(1), now: .start, into: &$1) }
    for person in 1...2 {
      #expect(Self.notices(asked, for: UInt64(person)) == [.question(Self.question(1), seconds: 30)])
    }
    let answered = answer(1, .passkey(123_456), from: 2)
    #expect(answered.ended == [.init(id: 1, answer: .passkey(123_456))])
    #expect(Self.notices(answered, for: 1) == [.ended(id: 1, .answered)])
    let late = answer(1, .passkey(1))
    #expect(late.ended.isEmpty && Self.notices(late, for: 1) == [.ended(id: 1, .over)])
    #expect(Self.notices(late, for: 2) == [] && questions.deadline == nil)
  }

  @Test mutating func aPersonSeesTheQuestionsThatWait() {
    _ = output { $0.ask(Self.question(1, .compare("123456")), now: .start, into: &$1) }
    let connected = output { $0.connect(1, now: .start + .seconds(10), into: &$1) }
    #expect(
      Self.notices(connected, for: 1)
        == [.greeting(proxy: "attic"), .question(Self.question(1, .compare("123456")), seconds: 20)])
    let answered = answer(1, .accept)
    #expect(answered.ended == [.init(id: 1, answer: .accept)])
  }

  @Test mutating func aQuestionWithoutAnAnswerIsRejectedAfterThirtySeconds() {
    _ = output { $0.connect(1, now: .start, into: &$1) }
    _ = output { $0.ask(Self.question(1), now: .start, into: &$1) }
    _ = output { $0.ask(Self.question(2, .display("123456")), now: .start + .seconds(1), into: &$1) }
    #expect(questions.deadline == .start + WaitingQuestions.patience)
    let early = output { $0.tick(now: .start + .milliseconds(29_999), into: &$1) }
    #expect(early.ended.isEmpty)
    let expired = output { $0.tick(now: .start + .seconds(30), into: &$1) }
    #expect(expired.ended == [.init(id: 1, answer: .reject)])
    #expect(Self.notices(expired, for: 1) == [.ended(id: 1, .expired)])
    // Digits that are displayed may still be entered.
    let last = output { $0.tick(now: .start + .seconds(31), into: &$1) }
    #expect(last.ended == [.init(id: 2, answer: nil)])
    #expect(questions.deadline == nil)
    let result = output { $0.pairingEnded(Self.question(2).device, failure: nil, into: &$1) }
    #expect(Self.notices(result, for: 1) == [.result(device: Self.question(2).device, failure: nil)])
  }

  @Test mutating func aQuestionIsVoidWithItsPairing() {
    _ = output { $0.connect(1, now: .start, into: &$1) }
    for id in 1...3 { _ = output { $0.ask(Self.question(UInt32(id)), now: .start, into: &$1) } }
    let left = output { $0.withdraw(1, into: &$1) }
    #expect(left.ended == [.init(id: 1, answer: nil)])
    #expect(Self.notices(left, for: 1) == [.ended(id: 1, .disconnected)])

    let over = output { $0.pairingEnded(Self.question(2).device, failure: "cancelled", into: &$1) }
    #expect(
      Self.notices(over, for: 1)
        == [.ended(id: 2, .over), .result(device: Self.question(2).device, failure: "cancelled")])

    var again = Self.question(3, .compare("123456"))
    again.id = 4
    let replaced = output { $0.ask(again, now: .start, into: &$1) }
    #expect(replaced.ended == [.init(id: 3, answer: nil)])
    #expect(Self.notices(replaced, for: 1) == [.ended(id: 3, .replaced), .question(again, seconds: 30)])
  }

  @Test mutating func theOutcomeIsReportedForPairingsWithQuestionsOnly() {
    _ = output { $0.connect(1, now: .start, into: &$1) }
    let other = output { $0.pairingEnded("C0:00:00:00:00:09", failure: nil, into: &$1) }
    #expect(other.lines.isEmpty)
    _ = output { $0.ask(Self.question(1), now: .start, into: &$1) }
    _ = answer(1, .reject)
    let result = output { $0.pairingEnded(Self.question(1).device, failure: "rejected", into: &$1) }
    #expect(Self.notices(result, for: 1) == [.result(device: Self.question(1).device, failure: "rejected")])
    let again = output { $0.pairingEnded(Self.question(1).device, failure: nil, into: &$1) }
    #expect(again.lines.isEmpty)
  }

  @Test mutating func theNumberOfQuestionsIsLimited() {
    for id in 1...WaitingQuestions.questionLimit {
      let asked = output { $0.ask(Self.question(UInt32(id)), now: .start, into: &$1) }
      #expect(asked.ended.isEmpty)
    }
    let more = output { $0.ask(Self.question(77), now: .start, into: &$1) }
    #expect(more.ended == [.init(id: 77, answer: .reject)] && more.log.count == 1)
    // A device that asks anew takes no other place.
    var again = Self.question(1)
    again.id = 78
    let replaced = output { $0.ask(again, now: .start, into: &$1) }
    #expect(replaced.ended == [.init(id: 1, answer: nil)])
  }

  // MARK: Persons

  @Test mutating func theNumberOfPersonsIsLimited() {
    for person in 1...WaitingQuestions.personLimit {
      let connected = output { $0.connect(UInt64(person), now: .start, into: &$1) }
      #expect(connected.closed.isEmpty)
    }
    let more = output { $0.connect(77, now: .start, into: &$1) }
    #expect(more.closed == [77])
    guard case .refusal? = Self.notices(more, for: 77).last else {
      Issue.record("no reason")
      return
    }
    for person in 1...WaitingQuestions.personLimit { questions.disconnect(UInt64(person)) }
    #expect(!questions.isAttended)
  }

  @Test mutating func aLineHasALimit() {
    _ = output { $0.connect(1, now: .start, into: &$1) }
    let line = AnswerLine(id: 1, answer: .accept).line
    // The line feed does not count.
    let longest = [UInt8](repeating: UInt8(ascii: " "), count: WaitingQuestions.lineLimit + 1 - line.count) + line
    let accepted = output { $0.receive(longest, from: 1, into: &$1) }
    #expect(accepted.closed.isEmpty)
    let rejected = output { $0.receive([UInt8(ascii: " ")] + longest, from: 1, into: &$1) }
    #expect(rejected.closed == [1] && rejected.lines.count == 1 && !questions.isAttended)
  }

  @Test mutating func anAnswerOfAnotherKindEndsTheConnection() {
    let lines = [
      AnswerLine(id: 1, answer: .accept).line, AnswerLine(id: 2, answer: .passkey(1)).line,
      AnswerLine(id: 3, answer: .accept).line, Array("hello\n".utf8),
    ]
    let kinds: [AskedQuestion.Kind] = [.passkey, .compare("123456"), .display("123456")]
    for (index, kind) in kinds.enumerated() {
      _ = output { $0.ask(Self.question(UInt32(index + 1), kind), now: .start, into: &$1) }
    }
    for (index, line) in lines.enumerated() {
      let person = UInt64(index)
      _ = output { $0.connect(person, now: .start, into: &$1) }
      let refused = output { $0.receive(line + line, from: person, into: &$1) }
      #expect(refused.closed == [person] && refused.ended.isEmpty)
    }
  }

  @Test mutating func aLineArrivesInPieces() {
    _ = output { $0.connect(1, now: .start, into: &$1) }
    _ = output { $0.ask(Self.question(1), now: .start, into: &$1) }
    let line = AnswerLine(id: 1, answer: .passkey(0)).line
    for octet in line.dropLast() {
      let output = output { $0.receive([octet], from: 1, into: &$1) }
      #expect(output.ended.isEmpty)
    }
    let answered = output { $0.receive(line.suffix(1), from: 1, into: &$1) }
    #expect(answered.ended == [.init(id: 1, answer: .passkey(0))])
  }

  @Test mutating func noDigitsAreLogged() {
    var log: [String] = []
    for (id, kind) in [AskedQuestion.Kind.compare("654321"), .display("654321"), .passkey].enumerated() {
      log += output { $0.ask(Self.question(UInt32(id), kind), now: .start, into: &$1) }.log
    }
    log += output { $0.connect(1, now: .start, into: &$1) }.log
    log += answer(2, .passkey(654_321)).log + answer(0, .accept).log
    log += output { $0.tick(now: .start + .seconds(60), into: &$1) }.log
    #expect(log.count == 3 && !log.contains { $0.contains("654321") || $0.contains("654 321") })
  }
}
