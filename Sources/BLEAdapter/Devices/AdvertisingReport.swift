import BLEHCI
public import BLEHost
public import BLEWire

/// The controller's report of an advertisement (Vol 4, Part E, 7.7.65.2 and 7.7.65.13).
///
/// ``DiscoveredDevice/data`` has the decoded data.
public struct AdvertisingReport: Hashable, Sendable {
  /// The address of the device: its identity address if the controller or a bond resolved a private one. The kind
  /// `anonymous` is that of an advertisement without an address.
  public let address: DeviceAddress
  /// The address in the report. Its kind is public, random, or that of an identity which the controller resolved.
  public let reportedAddress: DeviceAddress
  /// Whether it was a legacy PDU.
  public let isLegacy: Bool
  /// Whether the device accepts connections.
  public let isConnectable: Bool
  /// Whether the device answers scan requests.
  public let isScannable: Bool
  /// Whether the advertisement is meant for one device.
  public let isDirected: Bool
  /// The address of that device, if the controller reported it.
  public let target: DeviceAddress?
  /// The PHY of the primary channels.
  public let primaryPHY: LEPHY
  /// The PHY of the secondary channels; nil for legacy PDUs, and where there was no packet on one.
  public let secondaryPHY: LEPHY?
  /// The number of the advertising set, 0 to 15; nil where the advertisement has none.
  public let advertisingSet: Int?
  /// The transmit power in dBm from the header of an extended PDU; nil where it has none.
  public let txPower: Int?
  /// The interval of the periodic advertising that belongs to the advertisement; nil where there is none.
  public let periodicInterval: Duration?
  /// Whether the data is incomplete (``DiscoveredDevice/isTruncated``).
  public let isTruncated: Bool
  /// The octets of the advertising data, as received.
  public let advertisingData: [UInt8]
  /// The octets of the scan response; empty where none was received.
  public let scanResponse: [UInt8]
  /// In dBm; nil where the controller has none.
  public let rssi: Int?

  /// The PHYs to connect to the device with.
  public var phys: Set<LEPHY> { Set([primaryPHY, secondaryPHY ?? .le1M]) }

  /// - Parameters:
  ///   - advertisement: the last advertisement of the device, or a scan response where none was received.
  ///   - rssi: of the last report.
  init(
    _ advertisement: ScanReport.Content, rssi: Int?, advertisingData: [UInt8], scanResponse: [UInt8], isTruncated: Bool
  ) {
    (address, reportedAddress) = (advertisement.address, advertisement.reportedAddress)
    (isLegacy, isConnectable) = (advertisement.isLegacy, advertisement.isConnectable)
    (isScannable, isDirected) = (advertisement.isScannable, advertisement.isDirected)
    target = advertisement.target
    primaryPHY = LEPHY(advertisement.primaryPHY) ?? .le1M
    secondaryPHY = LEPHY(advertisement.secondaryPHY)
    advertisingSet = advertisement.advertisingSet.map(Int.init)
    txPower = advertisement.txPower.map(Int.init)
    periodicInterval = advertisement.periodicInterval.map { .microseconds(1250 * Int($0)) }
    (self.advertisingData, self.scanResponse, self.isTruncated) = (advertisingData, scanResponse, isTruncated)
    self.rssi = rssi
  }
}
