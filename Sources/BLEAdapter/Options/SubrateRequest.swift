package import BLEHost

/// The subrating that a program requests for a link: of so many connection events the devices use one, and those that
/// follow one with data (Vol 6, Part B, 4.5.1).
///
/// The factor goes from 1, which ends subrating, to 500; the latency from 0 to 499 of the events that are used; the
/// continuation number from 0 to one less than the greatest factor; the timeout from 100 ms to 32 s in steps of 10 ms.
/// The greatest factor times one more than the latency is at most 500, and the timeout must be longer than twice that
/// many connection intervals.
public struct SubrateRequest: Hashable, Sendable {
  /// The smallest and the greatest number of connection events for each one that the devices use.
  public var factor: ClosedRange<Int>
  /// The number of used events that the peripheral may skip.
  public var latency: Int
  /// The number of connection events that the devices use after one with data: a burst that goes on is sent at the
  /// connection interval.
  public var continuationNumber: Int
  /// The time without a packet after which the link counts as lost.
  public var supervisionTimeout: Duration

  /// Creates a request; the values are checked when it is used.
  public init(
    factor: ClosedRange<Int>, latency: Int = 0, continuationNumber: Int = 0, supervisionTimeout: Duration = .seconds(6)
  ) {
    self.factor = factor
    self.latency = latency
    self.continuationNumber = continuationNumber
    self.supervisionTimeout = supervisionTimeout
  }

  /// In the units of HCI; nil if the values are not allowed.
  package var parameters: SubratingParameters? {
    guard let least = UInt16(exactly: factor.lowerBound), let greatest = UInt16(exactly: factor.upperBound),
      let latency = UInt16(exactly: latency), let continuation = UInt16(exactly: continuationNumber),
      let timeout = UInt16(exactly: (supervisionTimeout / .milliseconds(10)).rounded())
    else { return nil }
    let parameters = SubratingParameters(
      factor: least...greatest, latency: latency, continuation: continuation, supervisionTimeout: timeout)
    return parameters.isValid ? parameters : nil
  }
}

/// The subrating in force on a link (Vol 6, Part B, 4.5.1).
public struct ConnectionSubrating: Hashable, Sendable {
  /// The number of connection events for each one that the devices use; 1 without subrating.
  public let factor: Int
  /// The number of connection events that the devices use after one with data.
  public let continuationNumber: Int

  /// The subrating of a link without a request.
  package static let none = Self(factor: 1, continuationNumber: 0)

  private init(factor: Int, continuationNumber: Int) {
    (self.factor, self.continuationNumber) = (factor, continuationNumber)
  }

  package init(_ subrating: LinkSubrating) {
    self.init(factor: Int(subrating.factor), continuationNumber: Int(subrating.continuation))
  }
}
