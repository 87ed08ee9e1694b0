/// A question of a pairing to the user or the application, or a number to show.
package enum PairingQuestion: Hashable, Sendable {
  /// Whether to pair with a device that nothing authenticates. Answers: accept or reject.
  case consent
  /// Whether an unauthenticated pairing may replace the bond of the device that the peer claims to be. Answers: accept or
  /// reject.
  case replaceBond
  /// Show this passkey. There is nothing to answer, but a rejection ends the pairing for as long as it lasts.
  case display(Passkey)
  /// The passkey that the other device shows. Answers: the passkey, or reject.
  case enterPasskey
  /// Whether the other device shows the same number. Answers: accept or reject.
  case compare(Passkey)

  /// Whether an answer is of the kind that the question asks for.
  package func admits(_ answer: PairingAnswer) -> Bool {
    switch (self, answer) {
    case (_, .reject), (.enterPasskey, .passkey): true
    case (.consent, .accept), (.replaceBond, .accept), (.compare, .accept): true
    case (.consent, _), (.replaceBond, _), (.compare, _), (.enterPasskey, _), (.display, _): false
    }
  }
}

package enum PairingAnswer: Hashable, Sendable {
  case accept
  case reject
  case passkey(Passkey)
}

/// The identifier of one question. A host never uses one twice, so that an answer is bound to its question.
package struct PairingQuestionID: RawRepresentable, Hashable, Sendable {
  package var rawValue: UInt64
  package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// Why an answer changed nothing.
package enum PairingAnswerFault: Error, Hashable, Sendable, CustomStringConvertible {
  /// The question was answered before, or its pairing has ended.
  case notOpen
  /// The question is open and asks for an answer of another kind.
  case wrongKind

  package var description: String {
    switch self {
    case .notOpen: "its question was answered before, or the pairing of the question has ended"
    case .wrongKind: "its question asks for another kind of answer and stays open"
    }
  }
}

/// The question of one link that is open, and the rule that an answer is for one question alone.
///
/// An association model asks one question after the other: at most one is open. Without the identifier, a yes to consent
/// would approve the number of a later numeric comparison, and with it a man in the middle (Vol 3, Part H, 2.3.5.6.2).
package struct PairingQuestions: Sendable {
  /// The question that waits for its answer; a passkey that is displayed stays until its pairing ends.
  package private(set) var open: (id: PairingQuestionID, question: PairingQuestion)?

  package init() {}

  /// Opens a question under the next identifier of the host, `last` plus one.
  package mutating func ask(_ question: PairingQuestion, after last: inout UInt64) -> PairingQuestionID {
    // Each question takes a PDU of the peer, so that 2⁶⁴ are never reached.
    last &+= 1
    let id = PairingQuestionID(rawValue: last)
    open = (id, question)
    return id
  }

  /// Closes the question that an answer names.
  ///
  /// - Throws: ``PairingAnswerFault``; nothing has changed then.
  /// - Returns: the question.
  package mutating func close(
    _ id: PairingQuestionID, with answer: PairingAnswer
  ) throws(PairingAnswerFault) -> PairingQuestion {
    guard let open, open.id == id else { throw .notOpen }
    guard open.question.admits(answer) else { throw .wrongKind }
    self.open = nil
    return open.question
  }

  /// Closes the open question without an answer: its pairing has ended, or another question takes its place.
  package mutating func withdraw() -> PairingQuestionID? {
    defer { open = nil }
    return open?.id
  }
}
