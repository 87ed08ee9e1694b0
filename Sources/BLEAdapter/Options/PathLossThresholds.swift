package import BLEHost

/// The zones of the path loss of a link, in dB: how much of the signal of the device is lost on the way (Vol 6, Part B,
/// 4.5.16).
///
/// ```
///   low zone │ middle zone │ high zone
/// ───────────┼─────────────┼──────────► path loss in dB
///           low           high
/// ```
///
/// A zone is left when the path loss is beyond the threshold by more than its hysteresis, and stays there for the
/// minimum time. The values go from 0 to 255 dB. `low` is at least its hysteresis, `high` plus its hysteresis at most
/// 255, and the two ranges around the thresholds do not overlap (Vol 4, Part E, 7.8.119).
///
/// ```swift
/// // Near below 50 dB, far above 75 dB; at the limits nothing changes within 3 dB.
/// let thresholds = PathLossThresholds(low: 50, high: 75, hysteresis: 3, minimumEvents: 10)
/// ```
public struct PathLossThresholds: Hashable, Sendable {
  /// Between the low and the middle zone, in dB.
  public var low: Int
  /// Between the middle and the high zone, in dB.
  public var high: Int
  /// The hysteresis of ``low``, in dB.
  public var lowHysteresis: Int
  /// The hysteresis of ``high``, in dB.
  public var highHysteresis: Int
  /// How long the path loss stays in another zone before that is reported, in connection events: 0 to 65,535.
  public var minimumEvents: Int

  /// Creates thresholds with one hysteresis for both; the values are checked when they are used.
  public init(low: Int, high: Int, hysteresis: Int = 0, minimumEvents: Int = 0) {
    (self.low, self.high, self.minimumEvents) = (low, high, minimumEvents)
    (lowHysteresis, highHysteresis) = (hysteresis, hysteresis)
  }

  /// In the units of HCI; nil if the values are not allowed.
  package var parameters: PathLossParameters? {
    guard let low = UInt8(exactly: low), let high = UInt8(exactly: high),
      let lowHysteresis = UInt8(exactly: lowHysteresis), let highHysteresis = UInt8(exactly: highHysteresis),
      let time = UInt16(exactly: minimumEvents)
    else { return nil }
    let parameters = PathLossParameters(
      low: low, high: high, lowHysteresis: lowHysteresis, highHysteresis: highHysteresis, minimumTime: time)
    return parameters.isValid ? parameters : nil
  }
}

/// A zone of ``PathLossThresholds`` (Vol 4, Part E, 7.7.65.32).
public enum PathLossZone: Hashable, Sendable, CaseIterable {
  /// Below the low threshold: the device is near, or sends without obstacles.
  case low
  /// Between the thresholds.
  case middle
  /// Above the high threshold: the link may soon be lost.
  case high
}

/// The path loss of a link when it entered a zone.
public struct PathLoss: Hashable, Sendable {
  /// The zone that was entered.
  public let zone: PathLossZone
  /// The path loss in dB, 0 to 254: the transmit power of the device less its RSSI.
  public let decibels: Int

  /// Creates a path loss.
  public init(zone: PathLossZone, decibels: Int) { (self.zone, self.decibels) = (zone, decibels) }

  package init(_ loss: LinkPathLoss) {
    self.init(zone: loss.zone == 0 ? .low : loss.zone == 1 ? .middle : .high, decibels: Int(loss.loss))
  }
}

/// The transmit powers of a link, on the PHYs on which they were read or reported (Vol 4, Part E, 7.8.117 and 7.8.118).
public struct ConnectionTransmitPower: Hashable, Sendable {
  /// The power at which this device sends, in dBm from -127 to 20; nil if it is not known, or not managed.
  public let local: Int?
  /// The power at which the other device sends, in dBm from -127 to 20; nil if it is not known, or not managed.
  public let remote: Int?

  /// Creates a pair of powers.
  public init(local: Int? = nil, remote: Int? = nil) { (self.local, self.remote) = (local, remote) }

  /// These powers with another one for one end.
  package func with(_ level: Int?, of end: LinkPowerEnd) -> Self {
    switch end {
    case .local: Self(local: level, remote: remote)
    case .remote: Self(local: local, remote: level)
    }
  }
}
