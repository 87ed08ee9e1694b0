package import BLEHost

/// One manager's way to the host; it ends when it is let go. Tests play the host behind it with a script.
package protocol AdapterLink: AnyObject, Sendable {
  /// Hands a command over; commands are performed in the order they were posted.
  func post(_ command: HostCommand)
  /// Hears the host's events, in batches and in order, on a thread of the host's. The newest state of the adapter comes
  /// first. Called once.
  func attach(_ sink: @escaping @Sendable ([HostEvent]) -> Void)
  /// So many of the events handed out have been taken by the application.
  func consumed(_ count: Int)
  /// Why there is no host, where there is none.
  var failure: AdapterError? { get }
  /// Whether this manager is the one of its host's that writes the host's own lines into the log.
  var isSpeaker: Bool { get }
  /// Who keeps the host's bonds; nil before there is a host.
  var keeper: BondStorage? { get }
}

extension AdapterLink {
  package var keeper: BondStorage? { nil }
}
