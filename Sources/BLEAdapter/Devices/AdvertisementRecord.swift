package import BLEGAP
package import BLEHost
package import BLEWire

/// The devices that a scan reports. Each report of a device is compared with the conditions, not the first one alone:
/// names come later, data changes, a device comes nearer.
package struct ScanFilter: Sendable {
  /// Different for each scan of a client, and above 0: each scan reports devices again.
  package var number: UInt64
  package var services: [BluetoothUUID]
  package var solicited: [BluetoothUUID]
  package var allowsDuplicates: Bool
  /// Text that the name contains, in lower case; nil for any name, or none.
  package var nameText: String?
  /// In dBm; nil for any strength, or none.
  package var minimumRSSI: Int8?
  /// Whether an advertisement is kept back until its scan response has come, or is overdue (``ScanReport/isOverdue``).
  package var waitsForScanResponse = false
  /// Whether a device is reported again when its name becomes known or changes.
  package var reportsNames = false

  package init(
    number: UInt64, services: [BluetoothUUID] = [], solicited: [BluetoothUUID] = [], allowsDuplicates: Bool = false
  ) {
    self.number = number
    self.services = services
    self.solicited = solicited
    self.allowsDuplicates = allowsDuplicates
  }

  /// Whether a device is reported: it has any of the services, in its list or in its overflow area, or any of the
  /// solicited ones. Without either, every device is.
  ///
  /// - Parameter name: the last name that the device has advertised.
  func matches(_ data: AdvertisedData, name: String?) -> Bool {
    if let nameText, name?.lowercased().contains(nameText) != true { return false }
    if services.isEmpty, solicited.isEmpty { return true }
    if !services.isEmpty, data.serviceUUIDs.contains(where: services.contains) { return true }
    if !solicited.isEmpty, data.solicitedServiceUUIDs.contains(where: solicited.contains) { return true }
    return !(data.overflowArea?.matches(of: services) ?? []).isEmpty
  }

  /// Whether a report is strong enough.
  func admits(_ rssi: Int8) -> Bool { minimumRSSI.map { rssi != 127 && rssi >= $0 } ?? true }
}

/// Advertising data or a scan response of a device, as last received.
struct AdvertisedArea: Sendable {
  /// The report with the octets; nil for none.
  private(set) var source: ScanReport.Shared?
  /// Whether the data is incomplete.
  private(set) var isTruncated = false

  var octets: [UInt8] { source?.content.data ?? [] }

  /// - Returns: whether the octets have changed. The beginning of the present octets, whose end the controller has
  ///   lost, is not a change.
  mutating func replace(by report: ScanReport.Shared, isTruncated isNewTruncated: Bool) -> Bool {
    let (new, old) = (report.content.data, octets)
    if isNewTruncated, old.starts(with: new), !old.isEmpty { return false }
    guard new != old || isNewTruncated != isTruncated else { return false }
    (source, isTruncated) = (report, isNewTruncated)
    return true
  }
}

/// The advertisements of a device.
package struct AdvertisementRecord: Sendable {
  private var advertisingData = AdvertisedArea()
  private var scanResponse = AdvertisedArea()
  private var isConnectable = false
  /// The last additions of either kind: adding one of them again changes nothing.
  private var added: (advertisement: ScanReport.Shared?, scanResponse: ScanReport.Shared?)
  /// The last name that the device has advertised. Not every advertisement has one.
  package private(set) var name: String?
  /// The name when the device was last reported.
  private var reportedName: String?
  /// The wait of a scan for the scan response of the device.
  private var wait = Wait()
  /// The content that the reports of a scan share for as long as nothing changes.
  private var content: AdvertisedContent?
  /// The content that was last reported.
  private var reported: AdvertisedContent?
  /// The octets of memory that the record refers to. Octets that two contents share count for both.
  package private(set) var allocatedOctets = 0
  /// The last advertisement, or a scan response if there was none.
  private var latest: ScanReport.Shared? { added.advertisement ?? added.scanResponse }
  /// Whether the data of one of the areas is incomplete.
  private var isTruncated: Bool { advertisingData.isTruncated || scanResponse.isTruncated }

  /// How far a scan is that waits for the scan response of the device.
  private struct Wait: Sendable {
    /// The number of the scan.
    var scan: UInt64 = 0
    /// Whether the scan response has come, or is overdue.
    var isOver = false
    /// The signal strength of the last advertisement that was kept back; nil for none.
    var rssi: Int8?
  }

  package init() {}

  /// Whether nothing was received.
  var isEmpty: Bool { latest == nil }

  /// Both areas in one view.
  package var data: AdvertisedData { content?.data ?? parsed }

  private var parsed: AdvertisedData {
    AdvertisedData(advertisingData: advertisingData.octets[...], scanResponse: scanResponse.octets[...])
  }

  /// The PHYs on which the device was last seen, to connect to it with; LE 1M for a device that was not seen.
  package var phys: Set<LEPHY> {
    guard let latest = latest?.content else { return [.le1M] }
    return Set([LEPHY(latest.primaryPHY) ?? .le1M, LEPHY(latest.secondaryPHY) ?? .le1M])
  }

  /// Adds an advertisement or a scan response.
  ///
  /// - Parameter view: the client's view of contents, if it has one.
  mutating func add(
    _ scanReport: ScanReport, for filter: ScanFilter, view: (any AdvertisedView.Type)?
  ) -> ScanTable.Addition {
    var addition = ScanTable.Addition()
    if wait.scan != filter.number { wait = Wait(scan: filter.number) }
    if scanReport.isOverdue {
      // The advertisement itself was received before.
      guard filter.waitsForScanResponse, !wait.isOver else { return addition }
      wait.isOver = true
    } else if scanReport.shared.content.isScanResponse {
      wait.isOver = true
    }
    if scanReport.shared === added.advertisement || scanReport.shared === added.scanResponse {
      if let content, content.scan == filter.number {
        report(content, scanReport, isNew: false, for: filter, into: &addition)
        return addition
      }
    }
    let isNew = replace(by: scanReport)
    var data: AdvertisedData?
    if isNew {
      let new = parsed
      if let name = new.name, name != self.name {
        addition.name = (name, isChange: self.name != nil)
        self.name = name
      }
      (data, content) = (new, nil)
    }
    let common: AdvertisedContent
    if let content, content.scan == filter.number {
      common = content
    } else {
      common = AdvertisedContent(
        data ?? self.data, name: name, isConnectable: isConnectable, for: filter, latest: latest ?? scanReport.shared,
        areas: (advertisingData, scanResponse), view: view)
      content = common
    }
    report(common, scanReport, isNew: isNew, for: filter, into: &addition)
    allocatedOctets = measured(common)
    return addition
  }

  private func measured(_ content: AdvertisedContent) -> Int {
    var octets = content.allocatedOctets + (name?.allocatedOctets ?? 0)
    if let reported, reported !== content { octets += reported.allocatedOctets }
    if let report = added.advertisement, !content.refers(to: report) { octets += report.allocatedOctets }
    if let report = added.scanResponse, !content.refers(to: report) { octets += report.allocatedOctets }
    return octets
  }

  /// - Returns: whether the octets are new.
  private mutating func replace(by scanReport: ScanReport) -> Bool {
    let new = scanReport.shared.content
    if !new.isScanResponse || added.advertisement == nil, latest?.content.describes(new) != true { content = nil }
    if new.isScanResponse {
      added.scanResponse = scanReport.shared
      return scanResponse.replace(by: scanReport.shared, isTruncated: new.isTruncated)
    }
    added.advertisement = scanReport.shared
    if isConnectable != new.isConnectable {
      isConnectable = new.isConnectable
      content = nil
    }
    return advertisingData.replace(by: scanReport.shared, isTruncated: new.isTruncated)
  }

  /// The report of a scan: one for each device, and another one when its scan response adds to it, when truncated data
  /// is complete, or when a name is new that the scan reports.
  private mutating func report(
    _ common: AdvertisedContent, _ scanReport: ScanReport, isNew: Bool, for filter: ScanFilter,
    into addition: inout ScanTable.Addition
  ) {
    if !filter.allowsDuplicates, let reported, reported.scan == filter.number {
      let completes = reported.isTruncated && !isTruncated
      let adds = isNew && (scanReport.shared.content.isScanResponse || completes) && reported.data != common.data
      guard adds || filter.reportsNames && reportedName != name else { return }
    }
    guard common.isWanted else { return }
    // One strong report is enough: the scan response of a strong advertisement may be a little weaker.
    guard let rssi = filter.admits(scanReport.rssi) ? scanReport.rssi : wait.rssi else { return }
    if filter.waitsForScanResponse, scanReport.shared.content.isScannable, !wait.isOver {
      wait.rssi = rssi
      return
    }
    wait.rssi = nil
    // Another name comes with another content.
    if reported === common { addition.isRepeated = true } else { (reported, reportedName) = (common, name) }
    addition.report = DiscoveredDevice(common, rssi: rssi)
  }

  /// The report that a scan has kept back for the scan response of the device; nil for none. It is reported then.
  mutating func takeWaiting(for filter: ScanFilter) -> DiscoveredDevice? {
    guard wait.scan == filter.number, let rssi = wait.rssi, let content, content.scan == filter.number,
      content.isWanted
    else { return nil }
    wait.rssi = nil
    (reported, reportedName) = (content, name)
    return DiscoveredDevice(content, rssi: rssi)
  }
}

extension ScanReport.Content {
  /// Whether another report is equal, apart from its octets.
  fileprivate func describes(_ other: Self) -> Bool {
    address == other.address && reportedAddress == other.reportedAddress && isConnectable == other.isConnectable
      && isScannable == other.isScannable && isScanResponse == other.isScanResponse && isLegacy == other.isLegacy
      && isDirected == other.isDirected && target == other.target && primaryPHY == other.primaryPHY
      && secondaryPHY == other.secondaryPHY && advertisingSet == other.advertisingSet && txPower == other.txPower
      && periodicInterval == other.periodicInterval && isTruncated == other.isTruncated
  }
}
