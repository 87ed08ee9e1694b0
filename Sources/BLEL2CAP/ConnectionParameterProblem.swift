/// What is wrong with connection parameters (Vol 3, Part A, 4.20; Vol 6, Part B, 4.5.1 and 4.5.2).
public enum ConnectionParameterProblem: Error, Equatable, Sendable {
  /// An interval lies outside 6 to 3200 units of 1.25 ms.
  case intervalOutOfRange
  /// The smallest interval is larger than the largest.
  case intervalsReversed
  /// More than 499 events.
  case latencyOutOfRange
  /// The supervision timeout lies outside 10 to 3200 units of 10 ms.
  case timeoutOutOfRange
  /// The link would be given up before the peripheral has to be heard twice.
  case timeoutTooShortForLatency
}

extension ConnectionParameterProblem: CustomStringConvertible {
  public var description: String {
    switch self {
    case .intervalOutOfRange: "a connection interval lies outside 6 to 3200 (7.5 ms to 4 s)"
    case .intervalsReversed: "the smallest connection interval is larger than the largest"
    case .latencyOutOfRange: "the peripheral latency is above 499 connection events"
    case .timeoutOutOfRange: "the supervision timeout lies outside 10 to 3200 (100 ms to 32 s)"
    case .timeoutTooShortForLatency:
      "the supervision timeout is not above 2 x (1 + latency) x the largest interval: lengthen it or lower the latency"
    }
  }
}

extension ConnectionParameterUpdateRequest {
  /// The first rule that the parameters break, if any.
  public var problem: ConnectionParameterProblem? {
    guard 6...3200 ~= intervalMin, 6...3200 ~= intervalMax else { return .intervalOutOfRange }
    guard intervalMin <= intervalMax else { return .intervalsReversed }
    guard latency <= 499 else { return .latencyOutOfRange }
    guard 10...3200 ~= timeout else { return .timeoutOutOfRange }
    // timeout x 10 ms > 2 x (1 + latency) x intervalMax x 1.25 ms, divided by 2.5 ms.
    guard UInt32(timeout) * 4 > (1 + UInt32(latency)) * UInt32(intervalMax) else { return .timeoutTooShortForLatency }
    return nil
  }
}
