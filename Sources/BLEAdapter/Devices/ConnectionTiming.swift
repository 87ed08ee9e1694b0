package import BLEHost

/// The timing of a link (Vol 6, Part B, 4.5.1 and 4.5.2).
public struct ConnectionTiming: Hashable, Sendable {
  /// The time between two connection events.
  public var interval: Duration
  /// The number of connection events that the peripheral may skip.
  public var latency: Int
  /// The time without a packet after which the link is lost.
  public var supervisionTimeout: Duration

  /// Creates a timing; the values are not checked.
  public init(interval: Duration, latency: Int, supervisionTimeout: Duration) {
    self.interval = interval
    self.latency = latency
    self.supervisionTimeout = supervisionTimeout
  }

  package init(_ timing: LinkTiming) {
    interval = timing.intervalDuration
    latency = Int(timing.latency)
    supervisionTimeout = .milliseconds(10 * Int(timing.supervisionTimeout))
  }
}
