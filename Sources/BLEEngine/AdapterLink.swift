package import BLEHost

/// The way of one client to the host of its adapter. ``HostConnection`` is the real one; tests have another, with a script in the
/// place of the host.
///
/// ``AdapterClient`` is its only user.
package protocol AdapterLink: AnyObject, Sendable {
  /// Posts a command; commands are performed in the order in which they were posted.
  func post(_ command: HostCommand)
  /// Has `sink` called with the host's events, in batches and in order, on a thread of the host's. The newest state of the adapter
  /// comes first. Called once.
  func attach(_ sink: @escaping @Sendable ([HostEvent]) -> Void)
  /// The client has taken so many of the events that `sink` was called with.
  func consumed(_ count: Int)
  /// Ends the attachment: `sink` is called no more, and the host withdraws what the client declared.
  func detach()
  /// Why there is no host, where there is none.
  var failure: AdapterError? { get }
  /// What the clients of the adapter share; nil before there is a host.
  var hub: AdapterHub? { get }
}
