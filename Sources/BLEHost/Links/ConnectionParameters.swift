internal import BLEHCI

/// The timing of a link (Vol 4, Part E, 7.8.18): interval in units of 1.25 ms, latency in events, timeout in units of
/// 10 ms.
package struct ConnectionParameters: Equatable, Sendable {
  /// 6 s: the only one that both the older and the newer Accessory Design Guidelines for Apple Devices allow, which
  /// have 2 to 6 s and 6 to 18 s.
  package static let defaultSupervisionTimeout: UInt16 = 600

  package var interval: ClosedRange<UInt16>
  package var latency: UInt16
  package var supervisionTimeout: UInt16

  package init(
    interval: ClosedRange<UInt16> = HCI.ConnectionParameters.defaultInterval, latency: UInt16 = 0,
    supervisionTimeout: UInt16 = Self.defaultSupervisionTimeout
  ) {
    self.interval = interval
    self.latency = latency
    self.supervisionTimeout = supervisionTimeout
  }

  /// Whether Vol 4, Part E, 7.8.18 allows the values.
  package var isValid: Bool { wire.isValid }
}

extension ConnectionParameters {
  /// The parameters as the controller takes them (Vol 4, Part E, 7.8.18).
  var wire: HCI.ConnectionParameters {
    HCI.ConnectionParameters {
      $0.connectionIntervalMin = interval.lowerBound
      $0.connectionIntervalMax = interval.upperBound
      $0.maxLatency = latency
      $0.supervisionTimeout = supervisionTimeout
    }
  }
}

/// The timing in force on a link: latency in events, timeout in units of 10 ms.
package struct LinkTiming: Equatable, Sendable {
  /// The interval in units of 125 us. Without a connection rate (LE Connection Rate Request) it is a multiple of 10.
  package var rateInterval: UInt16
  package var latency: UInt16
  package var supervisionTimeout: UInt16

  /// - Parameter interval: in units of 1.25 ms. One beyond the 4 s of the specification becomes at most 8.19 s.
  package init(interval: UInt16, latency: UInt16, supervisionTimeout: UInt16) {
    self.init(
      rateInterval: UInt16(clamping: UInt32(interval) * 10), latency: latency, supervisionTimeout: supervisionTimeout)
  }

  package init(rateInterval: UInt16, latency: UInt16, supervisionTimeout: UInt16) {
    self.rateInterval = rateInterval
    self.latency = latency
    self.supervisionTimeout = supervisionTimeout
  }

  /// The interval in units of 1.25 ms, rounded up.
  package var interval: UInt16 { rateInterval / 10 + (rateInterval % 10 == 0 ? 0 : 1) }
  package var intervalDuration: Duration { .microseconds(125) * Int(rateInterval) }
}
