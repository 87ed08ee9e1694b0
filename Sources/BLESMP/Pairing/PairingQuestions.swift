/// A question of a pairing to the user or to the application, or a passkey to show.
public enum PairingQuestion: Hashable, Sendable {
  /// Whether to pair without authentication. Answers: accept or reject.
  case consent
  /// Whether an unauthenticated pairing may replace the bond of the device that the peer claims to be. Answers: accept
  /// or reject.
  case replaceBond
  /// Show this passkey until the pairing ends. The answer is optional: reject ends the pairing.
  case display(Passkey)
  /// The passkey that the other device shows. Answers: the passkey, or reject.
  case enterPasskey
  /// Whether the other device shows this number. Answers: accept or reject.
  case compare(Passkey)

  /// Whether the question has an answer of this kind.
  public func admits(_ answer: PairingAnswer) -> Bool {
    switch (self, answer) {
    case (_, .reject), (.enterPasskey, .passkey): true
    case (.consent, .accept), (.replaceBond, .accept), (.compare, .accept): true
    case (.consent, _), (.replaceBond, _), (.compare, _), (.enterPasskey, _), (.display, _): false
    }
  }
}

/// The answer to a ``PairingQuestion``.
public enum PairingAnswer: Hashable, Sendable {
  /// Yes.
  case accept
  /// No: the pairing ends.
  case reject
  /// The passkey that the user has entered.
  case passkey(Passkey)
}

/// The identifier of a question. A host uses each one only once, which ties an answer to its question.
public struct PairingQuestionID: RawRepresentable, Hashable, Sendable {
  public var rawValue: UInt64
  public init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// The reason why an answer had no effect.
public enum PairingAnswerError: Error, Hashable, Sendable {
  /// The question has been answered, or its pairing has ended.
  case notOpen
  /// The question is open and needs an answer of another kind.
  case wrongKind
}

extension PairingAnswerError: CustomStringConvertible {
  /// The reason in words.
  public var description: String {
    switch self {
    case .notOpen: "its question has been answered before, or the pairing of the question has ended"
    case .wrongKind: "its question needs an answer of another kind, and is still open"
    }
  }
}

/// The open question of one link. An answer is for one question only
/// (Docs/Decisions/pairing-and-bonds.md#answers-to-questions).
///
/// An association model has one open question at a time. Without the identifier, the answer to a question for consent
/// could confirm the number of a later numeric comparison, and so accept a man in the middle (Vol 3, Part H,
/// 2.3.5.6.2).
package struct PairingQuestions: Sendable {
  /// The question without an answer. A passkey that is shown stays open until its pairing ends.
  package private(set) var open: (id: PairingQuestionID, question: PairingQuestion)?

  package init() {}

  /// Opens a question with the next identifier of the host, `last` plus one.
  package mutating func ask(_ question: PairingQuestion, after last: inout UInt64) -> PairingQuestionID {
    // Each question needs a PDU from the peer, so the identifier does not overflow.
    last &+= 1
    let id = PairingQuestionID(rawValue: last)
    open = (id, question)
    return id
  }

  /// Closes a question with its answer.
  ///
  /// - Returns: the question.
  /// - Throws: ``PairingAnswerError``; nothing has changed.
  package mutating func close(
    _ id: PairingQuestionID, with answer: PairingAnswer
  ) throws(PairingAnswerError) -> PairingQuestion {
    guard let open, open.id == id else { throw .notOpen }
    guard open.question.admits(answer) else { throw .wrongKind }
    self.open = nil
    return open.question
  }

  /// Closes the open question without an answer: its pairing has ended, or another question replaces it.
  package mutating func withdraw() -> PairingQuestionID? {
    defer { open = nil }
    return open?.id
  }
}
