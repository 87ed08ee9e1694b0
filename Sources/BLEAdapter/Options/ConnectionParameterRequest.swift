package import BLEHost

/// The timing that a peripheral requests from a central; the central decides (Vol 3, Part A, 4.20).
///
/// Intervals go from 7.5 ms to 4 s in steps of 1.25 ms, latency from 0 to 499 events, the timeout from 100 ms to 32 s
/// in steps of 10 ms; the timeout must be longer than twice the interval times one more than the latency.
public struct ConnectionParameterRequest: Hashable, Sendable {
  /// The shortest and the longest time between two connection events.
  public var interval: ClosedRange<Duration>
  /// The number of connection events that the peripheral may skip.
  public var latency: Int
  /// The time without a packet after which the link counts as lost.
  public var supervisionTimeout: Duration

  /// Creates a request; the values are checked when it is used.
  public init(
    interval: ClosedRange<Duration> = .milliseconds(30)...Duration.milliseconds(50), latency: Int = 0,
    supervisionTimeout: Duration = .seconds(6)
  ) {
    self.interval = interval
    self.latency = latency
    self.supervisionTimeout = supervisionTimeout
  }

  /// In the units of HCI; nil if the values are not allowed.
  package var parameters: ConnectionParameters? {
    func units(_ duration: Duration, of microseconds: Int) -> UInt16? {
      UInt16(exactly: (duration / .microseconds(microseconds)).rounded())
    }
    guard let low = units(interval.lowerBound, of: 1250), let high = units(interval.upperBound, of: 1250),
      let latency = UInt16(exactly: latency), let timeout = units(supervisionTimeout, of: 10_000)
    else { return nil }
    let parameters = ConnectionParameters(interval: low...high, latency: latency, supervisionTimeout: timeout)
    return parameters.isValid ? parameters : nil
  }
}
