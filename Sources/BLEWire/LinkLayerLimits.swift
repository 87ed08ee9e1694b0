/// Limits that the Link Layer imposes on the layers above it.
public enum LinkLayerLimits {
  /// The longest advertising data or scan response data in a legacy advertising PDU, in octets (Vol 6, Part B, 2.3.1).
  public static let legacyAdvertisingData = 31
  /// The longest data of an extended advertisement, in octets (Vol 6, Part B, 2.3.4.9).
  public static let extendedAdvertisingData = 1650
  /// The longest data of a connectable extended advertisement, in octets: its AUX_ADV_IND has no AuxPtr, so that all
  /// data is in one packet of 255 octets, of which the header, AdvA and ADI take ten (Vol 6, Part B, 2.3.1.5 and
  /// 2.3.4). The transmit power takes one more.
  public static let connectableAdvertisingData = 245

  /// The connection interval in units of 1.25 ms: 7.5 ms to 4 s (Vol 6, Part B, 4.5.1).
  public static let connectionInterval: ClosedRange<UInt16> = 6...3200
  /// The number of connection events that a peripheral may skip (Vol 6, Part B, 4.5.1).
  public static let peripheralLatency: ClosedRange<UInt16> = 0...499
  /// The supervision timeout in units of 10 ms: 100 ms to 32 s (Vol 6, Part B, 4.5.2).
  public static let supervisionTimeout: ClosedRange<UInt16> = 10...3200

  /// Whether a supervision timeout is longer than twice the time from one event in which the peripheral must listen to
  /// the next (Vol 6, Part B, 4.5.2).
  ///
  /// - Parameters:
  ///   - supervisionTimeout: in units of 10 ms.
  ///   - latency: the peripheral latency in connection events.
  ///   - interval: the connection interval in units of 1.25 ms.
  public static func allows(supervisionTimeout: UInt16, latency: UInt16, interval: UInt16) -> Bool {
    // timeout x 10 ms > 2 x (1 + latency) x interval x 1.25 ms, divided by 2.5 ms.
    UInt32(supervisionTimeout) * 4 > (1 + UInt32(latency)) * UInt32(interval)
  }

  /// The subrate factor: how many connection events there are for each that both devices use (Vol 6, Part B, 4.5.1).
  public static let subrateFactor: ClosedRange<UInt16> = 1...500
  /// The connection interval of links with shorter connection intervals, in units of 125 us: 375 us to 4 s (Vol 4,
  /// Part E, 7.8.154).
  public static let connectionRateInterval: ClosedRange<UInt16> = 3...32_000

  /// Whether the peripheral listens at least every 500 connection events: the factor times the latency plus one is at
  /// most 500 (Vol 4, Part E, 7.8.123).
  ///
  /// - Parameters:
  ///   - subrateFactor: in connection events.
  ///   - latency: the peripheral latency in subrated connection events.
  public static func allows(subrateFactor: UInt16, latency: UInt16) -> Bool {
    UInt32(subrateFactor) * (1 + UInt32(latency)) <= 500
  }

  /// Whether a supervision timeout is longer than twice the time from one event in which the peripheral must listen to
  /// the next, on a link with a subrate factor (Vol 6, Part B, 4.5.2).
  ///
  /// - Parameters:
  ///   - supervisionTimeout: in units of 10 ms.
  ///   - latency: the peripheral latency in subrated connection events.
  ///   - subrateFactor: in connection events.
  ///   - rateInterval: the connection interval in units of 125 us; ten for each unit of 1.25 ms.
  public static func allows(
    supervisionTimeout: UInt16, latency: UInt16, subrateFactor: UInt16, rateInterval: UInt32
  ) -> Bool {
    // timeout x 10 ms > 2 x (1 + latency) x factor x interval x 125 us, divided by 250 us.
    UInt64(supervisionTimeout) * 40 > (1 + UInt64(latency)) * UInt64(subrateFactor) * UInt64(rateInterval)
  }

  /// The interval of legacy advertising in units of 0.625 ms: 20 ms to 10.24 s (Vol 4, Part E, 7.8.5).
  public static let advertisingInterval: ClosedRange<UInt16> = 0x0020...0x4000
  /// The interval and the window of legacy scanning in units of 0.625 ms: 2.5 ms to 10.24 s (Vol 4, Part E, 7.8.10).
  public static let scanInterval: ClosedRange<UInt16> = 0x0004...0x4000

  /// The interval of periodic advertising in units of 1.25 ms: 7.5 ms to 81.92 s (Vol 4, Part E, 7.8.61).
  public static let periodicAdvertisingInterval: ClosedRange<UInt16> = 0x0006...0xFFFF
  /// The number of periodic advertising events that a synchronized device may skip (Vol 4, Part E, 7.8.67).
  public static let periodicSyncSkip: UInt16 = 0x01F3
  /// The timeout of a synchronization in units of 10 ms: 100 ms to 163.84 s (Vol 4, Part E, 7.8.67).
  public static let periodicSyncTimeout: ClosedRange<UInt16> = 0x000A...0x4000
}
