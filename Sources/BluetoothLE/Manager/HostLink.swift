import BLEHost

/// A manager's way to the host. The host of the running process is one; tests play it with a script.
protocol HostLink: Sendable {
  /// Hands a command over; commands are performed in the order they were posted.
  func post(_ command: HostCommand)
  /// Hears the host's events, in batches and in order, on a thread of the host's, until the object returned is let go.
  /// The newest state of the adapter comes first.
  func attach(_ sink: @escaping @Sendable ([HostEvent]) -> Void) -> any Sendable
  /// So many of the events handed out have been taken by the application.
  func consumed(_ count: Int)
}
