package import BLEHost

/// The connection rate that a program requests for a link: an interval, which may be shorter than 7.5 ms, and subrating
/// (Bluetooth 6.2; Vol 4, Part E, 7.8.154).
///
/// Intervals go from 375 us to 4 s in steps of 125 us, as far as the controllers support them. Subrating is as with
/// ``SubrateRequest``: the factor goes from 1, which is none, to 500, the latency from 0 to 499 of the events that are
/// used, the continuation number from 0 to one less than the greatest factor, the timeout from 100 ms to 32 s in steps
/// of 10 ms. The greatest factor times one more than the latency is at most 500, and the timeout must be longer than
/// twice that many of the longest interval.
public struct ConnectionRateRequest: Hashable, Sendable {
  /// The shortest and the longest time between two connection events.
  public var interval: ClosedRange<Duration>
  /// The smallest and the greatest number of connection events for each one that the devices use.
  public var subrateFactor: ClosedRange<Int>
  /// The number of used events that the peripheral may skip.
  public var latency: Int
  /// The number of connection events that the devices use after one with data.
  public var continuationNumber: Int
  /// The time without a packet after which the link counts as lost.
  public var supervisionTimeout: Duration

  /// Creates a request; the values are checked when it is used.
  public init(
    interval: ClosedRange<Duration>, subrateFactor: ClosedRange<Int> = 1...1, latency: Int = 0,
    continuationNumber: Int = 0, supervisionTimeout: Duration = .seconds(6)
  ) {
    self.interval = interval
    self.subrateFactor = subrateFactor
    self.latency = latency
    self.continuationNumber = continuationNumber
    self.supervisionTimeout = supervisionTimeout
  }

  /// In the units of HCI; nil if the values are not allowed.
  package var parameters: LinkRateParameters? {
    func units(_ duration: Duration) -> UInt16? { UInt16(exactly: (duration / .microseconds(125)).rounded()) }
    let subrating = SubrateRequest(
      factor: subrateFactor, latency: latency, continuationNumber: continuationNumber,
      supervisionTimeout: supervisionTimeout)
    guard let low = units(interval.lowerBound), let high = units(interval.upperBound),
      let subrating = subrating.parameters
    else { return nil }
    let parameters = LinkRateParameters(interval: low...high, subrating: subrating)
    return parameters.isValid ? parameters : nil
  }
}
