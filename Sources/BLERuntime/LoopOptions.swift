/// How patient the event loop is.
package struct LoopOptions: Sendable {
  /// After how long a lost transport is opened again; nil never.
  package var reconnectionInterval: Duration? = .seconds(2)
  /// How long a client waits for the other end at first, and the core is given to shut down.
  package var connectionPatience: Duration = .seconds(5)
  package var shutdownPatience: Duration = .seconds(3)
  /// Commands that may wait for the loop at once; one more is refused.
  package var commandLimit = 4_096
  /// Events handed out and not consumed, above which the transport is read no further.
  package var eventBacklogLimit = 1_024

  package init() {}
}
