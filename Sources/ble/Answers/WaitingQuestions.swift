import BLEWire

/// The questions of pairings that wait for a person, and the persons who are connected. It does no I/O.
///
/// Each question ends once: with an answer, or without one when it is void.
struct WaitingQuestions: Sendable {
  /// The number of a connection of `ble answer`.
  typealias Person = UInt64

  /// What is to be done, in order within each list.
  struct Output: Sendable {
    var lines: [(person: Person, octets: [UInt8])] = []
    var ended: [EndedQuestion] = []
    /// Connections to be closed after their lines.
    var closed: [Person] = []
    var log: [String] = []
  }

  /// A question that has ended, with its answer; without one where it is void.
  struct EndedQuestion: Equatable, Sendable {
    var id: UInt32
    var answer: PersonalAnswer?
  }

  /// Questions that wait at once. A device has one at most; that of one more device is rejected.
  static let questionLimit = 16
  /// Connections of persons at once; one more is refused.
  static let personLimit = 4
  /// The octets of a line of a person; a longer one ends the connection.
  static let lineLimit = 256
  /// After this time the device has ended the pairing (Vol 3, Part H, 3.4).
  static let patience = Duration.seconds(30)

  fileprivate struct Waiting: Sendable {
    var question: AskedQuestion
    var deadline: Instant
  }

  private let proxy: String
  /// In the order in which they were asked.
  private var questions: [Waiting] = []
  /// The beginning of the next line of each person.
  private var persons: [Person: [UInt8]] = [:]
  /// Devices whose question has ended, and whose pairing goes on; the last ones.
  private var pairing: [String] = []

  /// - Parameter proxy: its name.
  init(proxy: String) { self.proxy = proxy }

  var isAttended: Bool { !persons.isEmpty }

  /// A device has asked.
  mutating func ask(_ question: AskedQuestion, now: Instant, into output: inout Output) {
    // A new question means that the earlier pairing is over.
    end(.replaced, into: &output) { $0.device == question.device }
    guard questions.count < Self.questionLimit else {
      output.ended.append(EndedQuestion(id: question.id, answer: .reject))
      output.log.append(
        "\(question.device): the pairing is rejected, because \(questions.count) others wait for answers")
      return
    }
    let waiting = Waiting(question: question, deadline: now + Self.patience)
    questions.append(waiting)
    tell(waiting.notice(now), into: &output)
    output.log.append("\(question.device): the pairing waits for a person" + (isAttended ? "" : ": ble answer"))
  }

  /// A device has disconnected.
  mutating func withdraw(_ id: UInt32, into output: inout Output) {
    end(.disconnected, into: &output) { $0.id == id }
  }

  /// The pairing of a device has ended.
  ///
  /// - Parameter failure: nil for success.
  mutating func pairingEnded(_ device: String, failure: String?, into output: inout Output) {
    guard pairing.contains(device) || questions.contains(where: { $0.question.device == device }) else { return }
    pairing.removeAll { $0 == device }
    end(.over, into: &output) { $0.device == device }
    tell(.result(device: device, failure: failure), into: &output)
  }

  private mutating func end(
    _ reason: AnswerNotice.End, into output: inout Output, where isConcerned: (AskedQuestion) -> Bool
  ) {
    for waiting in questions where isConcerned(waiting.question) {
      output.ended.append(EndedQuestion(id: waiting.question.id, answer: nil))
      tell(.ended(id: waiting.question.id, reason), into: &output)
    }
    questions.removeAll { isConcerned($0.question) }
  }

  private func tell(_ notice: AnswerNotice, into output: inout Output) {
    let line = notice.line
    for person in persons.keys { output.lines.append((person, line)) }
  }
}

/// Persons.
extension WaitingQuestions {
  /// A person has connected: sees the questions that wait.
  mutating func connect(_ person: Person, now: Instant, into output: inout Output) {
    guard persons.count < Self.personLimit else {
      return refuse(person, "\(persons.count) others are connected already: end one of them", into: &output)
    }
    persons[person] = []
    output.lines.append((person, AnswerNotice.greeting(proxy: proxy).line))
    for waiting in questions { output.lines.append((person, waiting.notice(now).line)) }
  }

  mutating func disconnect(_ person: Person) { persons[person] = nil }

  private mutating func refuse(_ person: Person, _ reason: String, into output: inout Output) {
    persons[person] = nil
    output.lines.append((person, AnswerNotice.refusal(reason).line))
    output.closed.append(person)
  }

  /// Octets of a person have arrived.
  mutating func receive(_ octets: some Sequence<UInt8>, from person: Person, into output: inout Output) {
    for octet in octets {
      guard let line = persons[person] else { return }
      if octet == UInt8(ascii: "\n") {
        persons[person] = []
        receive(line: line, from: person, into: &output)
      } else if line.count < Self.lineLimit {
        persons[person]?.append(octet)
      } else {
        refuse(person, "a line has more than \(Self.lineLimit) octets", into: &output)
      }
    }
  }

  private mutating func receive(line: [UInt8], from person: Person, into output: inout Output) {
    guard let line = AnswerLine(line: line) else {
      return refuse(person, "the line is no answer: use the ble of the proxy's version", into: &output)
    }
    guard let index = questions.firstIndex(where: { $0.question.id == line.id }) else {
      output.lines.append((person, AnswerNotice.ended(id: line.id, .over).line))
      return
    }
    let question = questions[index].question
    guard line.answer.fits(question.kind) else {
      return refuse(person, "the answer does not fit the question", into: &output)
    }
    questions.remove(at: index)
    output.ended.append(EndedQuestion(id: line.id, answer: line.answer))
    pairingGoesOn(question.device)
    tell(.ended(id: line.id, .answered), into: &output)
  }

  private mutating func pairingGoesOn(_ device: String) {
    if pairing.count >= Self.questionLimit { pairing.removeFirst() }
    pairing.append(device)
  }
}

/// Time.
extension WaitingQuestions {
  /// When ``tick(now:into:)`` has to be called.
  var deadline: Instant? { questions.map(\.deadline).min() }

  mutating func tick(now: Instant, into output: inout Output) {
    for waiting in questions where waiting.deadline <= now {
      let question = waiting.question
      tell(.ended(id: question.id, .expired), into: &output)
      if question.kind.hasAnswer {
        output.ended.append(EndedQuestion(id: question.id, answer: .reject))
        output.log.append("\(question.device): nobody has answered in time: the pairing is rejected")
      } else {
        // The digits may still be entered on the device.
        output.ended.append(EndedQuestion(id: question.id, answer: nil))
        pairingGoesOn(question.device)
      }
    }
    questions.removeAll { $0.deadline <= now }
  }
}

extension WaitingQuestions.Waiting {
  fileprivate func notice(_ now: Instant) -> AnswerNotice {
    .question(question, seconds: Int(max(.zero, deadline - now).components.seconds))
  }
}

extension AskedQuestion.Kind {
  fileprivate var hasAnswer: Bool {
    switch self {
    case .passkey, .compare: true
    case .display: false
    }
  }
}

extension PersonalAnswer {
  fileprivate func fits(_ question: AskedQuestion.Kind) -> Bool {
    switch (self, question) {
    case (.reject, _), (.passkey, .passkey), (.accept, .compare): true
    default: false  // The answer is of another kind.
    }
  }
}
