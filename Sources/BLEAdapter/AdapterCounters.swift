/// What an adapter has counted since its transport was opened, for all users of the adapter in this process together.
///
/// A metrics library reads the counters at an interval. They continue when the transport is opened again.
public struct AdapterCounters: Hashable, Sendable {
  /// The links that are up.
  public var links = 0
  /// HCI packets from the controller: events, and data of links.
  public var receivedPackets: UInt64 = 0
  /// HCI packets to the controller: commands, and data of links.
  public var sentPackets: UInt64 = 0
  /// Calls that were refused because too many commands waited for the stack.
  public var refusedCommands: UInt64 = 0
  /// How often the controller had to wait because a program had not taken its events.
  public var readingPauses: UInt64 = 0

  /// Counters of an adapter that is not open.
  public init() {}
}
