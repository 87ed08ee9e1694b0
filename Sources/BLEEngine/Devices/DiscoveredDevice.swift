public import BLEGAP
import BLEHost
public import BLEWire
import Synchronization

/// A device that a scan reports, with what it advertises.
///
/// Reports of a device whose advertisements do not change share their content.
public struct DiscoveredDevice: Sendable {
  /// What the reports of the device have in common.
  package let content: AdvertisedContent
  private let strength: Int8

  init(_ content: AdvertisedContent, rssi: Int8) { (self.content, strength) = (content, rssi) }

  /// In dBm; 127 where the controller has none.
  public var rssi: Int { Int(strength) }

  /// Advertising data and scan response together.
  public var data: AdvertisedData {
    // Lent to the reader of one of its properties, which copies only that one.
    _read { yield content.data }
  }
  /// Whether the device accepts connections, by the type of its advertising PDU.
  public var isConnectable: Bool { content.isConnectable }
  /// Whether the data ends before its end: the controller lost the rest of an extended advertisement, or it has more than
  /// 1650 octets (Vol 4, Part E, 7.7.65.13). ``data`` then holds the AD structures up to the one that is cut.
  public var isTruncated: Bool { content.isTruncated }
  /// Those of the services looked for whose bits are set in the overflow area: the device perhaps has them.
  public var overflowServiceUUIDs: [BluetoothUUID] { content.overflowServiceUUIDs }
  /// What the controller reported: addresses, the kind of the PDU, PHYs, the octets.
  public var report: AdvertisingReport { content.report(rssi: rssi) }
}

/// What a device has advertised, as one scan reports it until something changes: all but the strength.
package final class AdvertisedContent: Sendable {
  /// The number of the scan.
  package let scan: UInt64
  package let data: AdvertisedData
  package let isConnectable: Bool
  package let isTruncated: Bool
  package let overflowServiceUUIDs: [BluetoothUUID]
  /// Whether the scan reports such a device.
  let isWanted: Bool
  private let latest: Discovery.Shared
  private let areas: (advertisingData: [UInt8], scanResponse: [UInt8])
  private let view = Mutex<(any AnyObject & Sendable)?>(nil)

  init(
    _ data: AdvertisedData, isConnectable: Bool, for filter: ScanFilter, latest: Discovery.Shared,
    areas: (advertisingData: [UInt8], scanResponse: [UInt8]), isTruncated: Bool
  ) {
    (self.data, self.isConnectable, self.isTruncated) = (data, isConnectable, isTruncated)
    (self.latest, self.areas) = (latest, areas)
    scan = filter.number
    overflowServiceUUIDs = data.overflowArea?.matches(of: filter.services) ?? []
    isWanted = filter.matches(data)
  }

  /// - Parameter rssi: in dBm; 127 where the controller has none.
  func report(rssi: Int) -> AdvertisingReport {
    AdvertisingReport(
      latest.content, rssi: rssi == 127 ? nil : rssi, advertisingData: areas.advertisingData,
      scanResponse: areas.scanResponse, isTruncated: isTruncated)
  }

  /// What a client has made of the content for its own interface: made once, and kept with the content.
  ///
  /// - Returns: nil where a view of another type is kept.
  package func view<View: AnyObject & Sendable>(_ make: (AdvertisedContent) -> View) -> View? {
    if let known = view.withLock({ $0 }) { return known as? View }
    let made = make(self)
    view.withLock { $0 = made }
    return made
  }
}
