/// Limits that the Link Layer sets to the layers above it.
public enum LinkLayerLimits {
  /// The longest advertising data or scan response data in a legacy advertising PDU, in octets (Vol 6, Part B, 2.3.1).
  public static let legacyAdvertisingData = 31
  /// The longest data of an extended advertisement, in octets (Vol 6, Part B, 2.3.4.9).
  public static let extendedAdvertisingData = 1650

  /// The connection interval in units of 1.25 ms: 7.5 ms to 4 s (Vol 6, Part B, 4.5.1).
  public static let connectionInterval: ClosedRange<UInt16> = 6...3200
  /// The number of connection events that a peripheral may skip (Vol 6, Part B, 4.5.1).
  public static let peripheralLatency: ClosedRange<UInt16> = 0...499
  /// The supervision timeout in units of 10 ms: 100 ms to 32 s (Vol 6, Part B, 4.5.2).
  public static let supervisionTimeout: ClosedRange<UInt16> = 10...3200
}
