package import BLESMP

extension HostEvent {
  /// An event of the pairing of one link (Vol 3, Part H). ``LinkSecurityManager`` reports it.
  package enum Pairing: Sendable {
    /// The pairing needs the user or the application; answer with ``HostCommand/Link/answerPairing(_:_:)``.
    indirect case question(PairingQuestionID, PairingQuestion)
    /// A question is void: its pairing has ended without an answer to it, or another question has taken its place. A
    /// passkey that was displayed is void when its pairing ends, with success or without.
    case questionWithdrawn(PairingQuestionID)
    /// The other device's user is typing the passkey that is displayed here (Vol 3, Part H, 3.5.8).
    case keypress(KeypressNotificationType)
    indirect case succeeded(PairedDevice)
    indirect case failed(PairingFailure)
  }
}
