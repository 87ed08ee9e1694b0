package import BLEHost
package import BLESMP
import Synchronization

/// The questions of pairings that clients of an adapter have declined to answer.
///
/// A question goes to every client, and the answer of one is enough. It is rejected as soon as every client has
/// declined it, instead of after the 30 seconds that the other device waits, and only if one of the clients uses the
/// link.
package final class DeclinedQuestions: Sendable {
  package struct Question: Sendable {
    package var id: PairingQuestionID
    package var peer: LinkID
    package var kind: PairingQuestion

    package init(id: PairingQuestionID, peer: LinkID, kind: PairingQuestion) {
      (self.id, self.peer, self.kind) = (id, peer, kind)
    }

    /// The purpose, in words that follow "asks".
    var purpose: String {
      switch kind {
      case .consent: "whether to pair"
      case .replaceBond: "whether to replace a bond"
      case .display: "to display a passkey"
      case .enterPasskey: "for a passkey"
      case .compare: "to compare two numbers"
      }
    }
  }

  private struct Declined {
    var question: Question
    var clients: Set<UInt64> = []
    var isConcerned = false
  }

  private struct State {
    var clients: Set<UInt64> = []
    /// The oldest first.
    var declined: [Declined] = []
    var reported: Set<String> = []

    /// Takes the questions that no client is left to answer.
    mutating func takeUnanswered() -> [Question] {
      let unanswered = declined.filter { clients.isSubset(of: $0.clients) }
      declined.removeAll { clients.isSubset(of: $0.clients) }
      return unanswered.filter(\.isConcerned).map(\.question)
    }
  }

  /// The maximum number of questions that some clients have declined and others have not. Of more, the oldest are left
  /// to the limit of 30 seconds (Vol 3, Part H, 3.4).
  static let limit = 64

  private let state = Mutex(State())

  package init() {}

  func joined(_ client: UInt64) { _ = state.withLock { $0.clients.insert(client) } }

  /// - Returns: the questions that no client is left to answer.
  func left(_ client: UInt64) -> [Question] {
    state.withLock { state in
      state.clients.remove(client)
      return state.takeUnanswered()
    }
  }

  /// - Returns: whether no client is left that answers.
  func declined(_ question: Question, by client: UInt64, isConcerned: Bool) -> Bool {
    state.withLock { state in
      func isSame(_ other: Declined) -> Bool {
        other.question.id == question.id && other.question.peer == question.peer
      }
      var index = state.declined.firstIndex(where: isSame)
      if index == nil {
        state.declined = state.declined.suffix(Self.limit - 1) + [Declined(question: question)]
        index = state.declined.count - 1
      }
      guard let index else { return false }
      state.declined[index].clients.insert(client)
      if isConcerned { state.declined[index].isConcerned = true }
      return !state.takeUnanswered().isEmpty
    }
  }

  /// The question is void.
  func withdrawn(_ id: PairingQuestionID, of peer: LinkID) {
    state.withLock { $0.declined.removeAll { $0.question.id == id && $0.question.peer == peer } }
  }

  /// Whether no question of this kind has been reported. Each kind is reported only once, because a peer can cause such
  /// questions.
  func isFirst(_ kind: PairingQuestion) -> Bool {
    let purpose = Question(id: PairingQuestionID(rawValue: 0), peer: LinkID(rawValue: 0), kind: kind).purpose
    return state.withLock { $0.reported.insert(purpose).inserted }
  }
}
