package import BLEGATT

extension HostEvent {
  /// What the client of our server does on one link. ``LinkServer`` reports it.
  package enum Server: Sendable {
    /// The client reads a dynamic value; answer with ``HostCommand/respond(_:_:_:)``.
    case read(RequestToken, AttributeID, offset: Int)
    /// The client writes dynamic values; several parts only for a queued write, which is all or nothing.
    case write(RequestToken, [WritePart])
    /// The client writes a dynamic value with a Write Command, which has no answer.
    case command(AttributeID, [UInt8])
    /// The client changed a value that the stack keeps.
    case stored(AttributeID, [UInt8])
    /// The application did not answer in time; the client got Unlikely Error.
    case requestTimedOut(RequestToken)
    /// The client's subscription changed: by a write, by its bond or by the end of its link.
    case subscription(AttributeID, Subscription)
    /// A value has left: its notification was sent, or its indication confirmed. Or it does not leave: the client has
    /// not subscribed, or the link has ended.
    case updateFinished(UpdateToken)
    /// As ``updateFinished(_:)``, for so many values of ``UpdateRun``.
    case updatesFinished(Int)
  }
}

extension HostEvent.Server {
  /// The number of values that have left; nil for other events.
  package var finishedUpdates: Int? {
    switch self {
    case .updateFinished: 1
    case .updatesFinished(let count): count
    case .read, .write, .command, .stored, .requestTimedOut, .subscription: nil
    }
  }
}
