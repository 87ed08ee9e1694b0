public import BLEGAP
import BLEHost
public import BLEWire

/// The devices that a scan reports.
package struct ScanFilter: Sendable {
  /// Different for each scan of a client: each reports devices anew.
  package var number: UInt64
  package var services: [BluetoothUUID]
  package var solicited: [BluetoothUUID]
  package var allowsDuplicates: Bool

  package init(
    number: UInt64, services: [BluetoothUUID] = [], solicited: [BluetoothUUID] = [], allowsDuplicates: Bool = false
  ) {
    self.number = number
    self.services = services
    self.solicited = solicited
    self.allowsDuplicates = allowsDuplicates
  }

  /// Whether a device is reported: it has any of the services, in its list or in its overflow area, or any of the solicited ones.
  /// Without either, every device is.
  func matches(_ data: AdvertisedData) -> Bool {
    if services.isEmpty, solicited.isEmpty { return true }
    if data.serviceUUIDs.contains(where: services.contains) { return true }
    if data.solicitedServiceUUIDs.contains(where: solicited.contains) { return true }
    return !(data.overflowArea?.matches(of: services) ?? []).isEmpty
  }
}

/// What a device has advertised.
package struct AdvertisementRecord: Sendable {
  /// Advertising data or a scan response, as last received.
  private struct Area: Sendable {
    var octets: [UInt8] = []
    var isTruncated = false

    /// - Returns: whether it is another one now. The beginning of what is there, whose end was lost, is not.
    mutating func replace(by new: [UInt8], isTruncated isNewTruncated: Bool) -> Bool {
      if isNewTruncated, octets.starts(with: new), !octets.isEmpty { return false }
      guard new != octets || isNewTruncated != isTruncated else { return false }
      (octets, isTruncated) = (new, isNewTruncated)
      return true
    }
  }

  private var advertisingData = Area()
  private var scanResponse = Area()
  private var isConnectable = false
  /// The last advertisement, or a scan response where there was none; its octets are in the areas.
  private var latest: Discovery?
  /// Both areas in one view.
  package private(set) var data = AdvertisedData()
  package private(set) var name: String?
  /// What was last reported, and in which scan.
  private var reported: (scan: UInt64, data: AdvertisedData, isTruncated: Bool)?
  /// Whether one of the areas ends before its end.
  private var isTruncated: Bool { advertisingData.isTruncated || scanResponse.isTruncated }

  package init() {}

  /// The PHYs on which the device was last seen, to connect to it with; LE 1M for a device that was not.
  package var phys: Set<LEPHY> {
    guard let latest else { return [.le1M] }
    return Set([LEPHY(latest.primaryPHY) ?? .le1M, LEPHY(latest.secondaryPHY) ?? .le1M])
  }

  /// - Returns: whether something is new.
  mutating func add(_ discovery: Discovery) -> Bool {
    if !discovery.isScanResponse || latest?.isScanResponse ?? true {
      var described = discovery
      (described.data, described.scanResponse) = ([], nil)
      latest = described
    }
    var isNew: Bool
    if discovery.isScanResponse {
      isNew = scanResponse.replace(by: discovery.data, isTruncated: discovery.isTruncated)
    } else {
      isConnectable = discovery.isConnectable
      // Of an advertisement with its scan response, the controller lost the end of the latter.
      let isTruncated = discovery.isTruncated && discovery.scanResponse == nil
      isNew = advertisingData.replace(by: discovery.data, isTruncated: isTruncated)
      if let response = discovery.scanResponse,
        scanResponse.replace(by: response, isTruncated: discovery.isTruncated)
      {
        isNew = true
      }
    }
    guard isNew else { return false }
    data = AdvertisedData(advertisingData: advertisingData.octets[...], scanResponse: scanResponse.octets[...])
    if let name = data.localName { self.name = name.text ?? name.displayText }
    return true
  }

  /// The report of a scan: one for each device, and another one when its scan response adds to it, or when what was truncated is
  /// complete.
  mutating func report(_ discovery: Discovery, isNew: Bool, for filter: ScanFilter) -> DiscoveredDevice? {
    let isReported = reported?.scan == filter.number
    let completes = reported?.isTruncated == true && !isTruncated
    let adds = isNew && (discovery.isScanResponse || completes) && reported?.data != data
    guard filter.allowsDuplicates || !isReported || adds, filter.matches(data) else { return nil }
    reported = (filter.number, data, isTruncated)
    return DiscoveredDevice(
      data: data, isConnectable: isConnectable, isTruncated: isTruncated,
      overflowServiceUUIDs: data.overflowArea?.matches(of: filter.services) ?? [], rssi: Int(discovery.rssi),
      report: AdvertisingReport(
        latest ?? discovery, latest: discovery, advertisingData: advertisingData.octets,
        scanResponse: scanResponse.octets, isTruncated: isTruncated))
  }
}

/// A device that a scan reports, with what it advertises.
public struct DiscoveredDevice: Sendable {
  /// Advertising data and scan response together.
  public let data: AdvertisedData
  /// Whether the device accepts connections, by the type of its advertising PDU.
  public let isConnectable: Bool
  /// Whether the data ends before its end: the controller lost the rest of an extended advertisement, or it has more than
  /// 1650 octets (Vol 4, Part E, 7.7.65.13). ``data`` then holds the AD structures up to the one that is cut.
  public let isTruncated: Bool
  /// Those of the services looked for whose bits are set in the overflow area: the device perhaps has them.
  public let overflowServiceUUIDs: [BluetoothUUID]
  /// In dBm; 127 where the controller has none.
  public let rssi: Int
  /// What the controller reported: addresses, the kind of the PDU, PHYs, the octets.
  public let report: AdvertisingReport
}
