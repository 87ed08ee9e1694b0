package import BLEHost
package import BLESMP

/// Answers one question, once, on any thread; within 30 seconds, after which the other device ends the pairing.
///
/// It is bound to its question. A second answer, an answer after the pairing has ended, which a manager reports by
/// `CBPairingDelegate.manager(_:didWithdrawQuestion:of:)`, and an answer of another kind than the question asks for
/// change nothing and are logged.
public struct PairingReply: Sendable, Identifiable {
  /// Identifies the question among all questions of the adapter for the life of the process.
  public struct ID: Hashable, Sendable {
    let rawValue: UInt64

    package init(_ question: PairingQuestionID) { rawValue = question.rawValue }
  }

  private let commands: CommandPort
  private let peer: LinkID
  private let question: PairingQuestionID

  package init(commands: CommandPort, peer: LinkID, question: PairingQuestionID) {
    (self.commands, self.peer, self.question) = (commands, peer, question)
  }

  public var id: ID { ID(question) }

  /// Agrees to pair, or confirms that the numbers agree.
  public func accept() { answer(.accept) }

  /// Rejects the question, or ends the pairing whose digits are displayed.
  public func reject() { answer(.reject) }

  /// - Parameter passkey: 0 to 999999; a larger number rejects.
  public func enter(passkey: UInt32) { answer(Passkey(passkey).map { .passkey($0) } ?? .reject) }

  private func answer(_ answer: PairingAnswer) { commands.post(.link(peer, .answerPairing(question, answer))) }
}

/// A question of a pairing, as it is put to the user or the program. Digits are six characters.
package enum PairingPrompt: Equatable, Sendable {
  /// Whether to pair without authentication.
  case consent
  /// Whether a pairing without authentication replaces the bond of the device.
  case replaceBond
  /// The digits are displayed; the user types them on the other device.
  case display(String)
  /// The user types the digits that the other device displays.
  case enterPasskey
  /// Whether the other device displays the same digits.
  case compare(String)

  package init(_ question: PairingQuestion) {
    self =
      switch question {
      case .consent: .consent
      case .replaceBond: .replaceBond
      case .display(let passkey): .display(passkey.digits)
      case .enterPasskey: .enterPasskey
      case .compare(let number): .compare(number.digits)
      }
  }
}

/// A key that the user of the other device presses while typing a passkey (Vol 3, Part H, 3.5.8); the digits themselves
/// are not reported.
public enum PasskeyKeypress: UInt8, Sendable {
  /// Passkey entry started.
  case started = 0
  /// A digit was entered.
  case digitEntered
  /// A digit was erased.
  case digitErased
  /// All digits were erased.
  case cleared
  /// Passkey entry completed.
  case completed

  /// Nil for a type that is not assigned.
  package init?(_ type: KeypressNotificationType) { self.init(rawValue: type.rawValue) }
}
