package import BLEGAP
import BLEHost
package import BLEWire

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
  /// What the reports of a scan have in common for as long as nothing changes.
  private var content: (scan: UInt64, value: AdvertisedContent)?
  /// What was last reported, and in which scan.
  private var reported: (scan: UInt64, content: AdvertisedContent)?
  /// Whether one of the areas ends before its end.
  private var isTruncated: Bool { advertisingData.isTruncated || scanResponse.isTruncated }

  package init() {}

  /// The PHYs on which the device was last seen, to connect to it with; LE 1M for a device that was not.
  package var phys: Set<LEPHY> {
    guard let latest else { return [.le1M] }
    return Set([LEPHY(latest.primaryPHY) ?? .le1M, LEPHY(latest.secondaryPHY) ?? .le1M])
  }

  /// Adds an advertisement or a scan response.
  mutating func add(_ discovery: Discovery, for filter: ScanFilter) -> DeviceTable.Addition {
    var addition = DeviceTable.Addition()
    let isNew = replace(by: discovery)
    if isNew {
      data = AdvertisedData(advertisingData: advertisingData.octets[...], scanResponse: scanResponse.octets[...])
      content = nil
      if let name = data.localName?.text ?? data.localName?.displayText, name != self.name {
        addition.name = (name, isChange: self.name != nil)
        self.name = name
      }
    }
    report(discovery, isNew: isNew, for: filter, into: &addition)
    return addition
  }

  /// - Returns: whether the octets are new.
  private mutating func replace(by discovery: Discovery) -> Bool {
    if !discovery.isScanResponse || latest?.isScanResponse ?? true, latest?.describes(discovery) != true {
      var described = discovery
      (described.data, described.scanResponse) = ([], nil)
      latest = described
      content = nil
    }
    if discovery.isScanResponse {
      return scanResponse.replace(by: discovery.data, isTruncated: discovery.isTruncated)
    }
    if isConnectable != discovery.isConnectable {
      isConnectable = discovery.isConnectable
      content = nil
    }
    // Of an advertisement with its scan response, the controller lost the end of the latter.
    let isTruncated = discovery.isTruncated && discovery.scanResponse == nil
    var isNew = advertisingData.replace(by: discovery.data, isTruncated: isTruncated)
    if let response = discovery.scanResponse, scanResponse.replace(by: response, isTruncated: discovery.isTruncated) {
      isNew = true
    }
    return isNew
  }

  /// The report of a scan: one for each device, and another one when its scan response adds to it, or when what was truncated is
  /// complete.
  private mutating func report(
    _ discovery: Discovery, isNew: Bool, for filter: ScanFilter, into addition: inout DeviceTable.Addition
  ) {
    if !filter.allowsDuplicates, let reported, reported.scan == filter.number {
      let completes = reported.content.isTruncated && !isTruncated
      guard isNew, discovery.isScanResponse || completes, reported.content.data != data else { return }
    }
    let common: AdvertisedContent
    if let content, content.scan == filter.number {
      common = content.value
    } else {
      common = AdvertisedContent(
        data, isConnectable: isConnectable, for: filter, latest: latest ?? discovery,
        areas: (advertisingData.octets, scanResponse.octets), isTruncated: isTruncated)
      content = (filter.number, common)
    }
    guard common.isWanted else { return }
    if let reported, reported.scan == filter.number, reported.content === common {
      addition.isRepeated = true
    } else {
      reported = (filter.number, common)
    }
    addition.report = DiscoveredDevice(common, rssi: Int(discovery.rssi))
  }
}

extension Discovery {
  /// Whether another report says the same, apart from its octets and its strength.
  fileprivate func describes(_ other: Discovery) -> Bool {
    address == other.address && reportedAddress == other.reportedAddress && isConnectable == other.isConnectable
      && isScannable == other.isScannable && isScanResponse == other.isScanResponse && isLegacy == other.isLegacy
      && isDirected == other.isDirected && target == other.target && primaryPHY == other.primaryPHY
      && secondaryPHY == other.secondaryPHY && advertisingSet == other.advertisingSet && txPower == other.txPower
      && periodicInterval == other.periodicInterval && isTruncated == other.isTruncated
  }
}
