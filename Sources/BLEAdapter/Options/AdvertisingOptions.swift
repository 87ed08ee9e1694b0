public import BLEGAP
public import BLEHost

/// How an advertisement is sent, as opposed to its content (``Advertisement``).
///
/// An advertisement is a declared intent: it is kept, through connections and resets, until it is stopped.
public struct AdvertisingOptions: Equatable, Sendable {
  /// The division of the data: Apple's layouts, all 62 octets, or extended advertising.
  public var policy: AdvertisingPolicy
  /// The time between two events: 20 ms to 10.24 s, in steps of 0.625 ms (Vol 4, Part E, 7.8.5).
  public var interval: ClosedRange<Duration>
  /// False for a beacon.
  public var isConnectable = true
  /// Whether it continues while a central is connected, if the controller supports that.
  public var continuesWhileConnected = true
  /// Whether it starts again when a link that stopped it has ended.
  public var resumesAfterDisconnection = true
  /// The PHY of the primary channels: LE 1M, or LE Coded with ``AdvertisingPolicy/extended(limit:)``.
  public var primaryPHY = LEPHY.le1M
  /// The PHY of the secondary channels, which extended advertising uses; a link to a connectable device begins on it.
  public var secondaryPHY = LEPHY.le1M
  /// Whether extended advertising puts the transmit power into its header, for receivers that estimate a distance.
  public var includesTXPower = false

  /// Creates options for connectable advertising that continues during and after connections.
  ///
  /// - Parameters:
  ///   - policy: the division of the data between the areas of the packets.
  ///   - interval: the shortest and the longest time between two events, 20 ms to 10.24 s.
  public init(
    policy: AdvertisingPolicy = .full,
    interval: ClosedRange<Duration> = .milliseconds(100)...Duration.milliseconds(150)
  ) {
    self.policy = policy
    self.interval = interval
  }

  /// The options of CoreBluetooth's dictionary.
  package static let coreBluetooth = Self(policy: .coreBluetooth)

  /// The options, with the payload of an advertisement, in the type of the host; nil if the interval is not allowed.
  package func intent(_ payload: AdvertisingPayload, of advertisement: Advertisement) -> AdvertisingIntent? {
    let lower = (interval.lowerBound / .microseconds(625)).rounded()
    let upper = (interval.upperBound / .microseconds(625)).rounded()
    guard let lower = UInt16(exactly: lower), let upper = UInt16(exactly: upper), lower >= 0x20, upper <= 0x4000 else {
      return nil
    }
    var intent = AdvertisingIntent(data: payload.advertisingData, scanResponse: payload.scanResponse)
    intent.isConnectable = isConnectable
    intent.interval = lower...upper
    intent.continuesWhileConnected = continuesWhileConnected
    intent.resumesAfterDisconnection = resumesAfterDisconnection
    if case .extended = policy { intent.usesExtendedPDUs = true }
    (intent.primaryPHY, intent.secondaryPHY) = (primaryPHY.phy, secondaryPHY.phy)
    intent.includesTXPower = includesTXPower
    intent.localName = advertisement.localName
    return intent
  }
}
