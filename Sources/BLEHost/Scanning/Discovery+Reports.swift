import BLEHCI
import BLEWire

/// What the reports of a controller say.
extension Discovery {
  /// A report of legacy scanning (Vol 4, Part E, 7.7.65.2).
  ///
  /// - Parameter identity: the device that uses the address of the report.
  init(_ report: HCI.AdvertisingReport, by identity: DeviceAddress) {
    let type = report.eventType
    self.init(
      address: identity, isConnectable: type == .connectable || type == .directed,
      isScanResponse: type == .scanResponse, data: Array(report.data), rssi: report.rssi)
    reportedAddress = report.address
    isScannable = type == .connectable || type == .scannable || type == .scanResponse
    isDirected = type == .directed
  }

  /// The reports of one extended advertisement (Vol 4, Part E, 7.7.65.13).
  init(_ advertisement: ExtendedReportAssembler.Advertisement, by identity: DeviceAddress) {
    let report = advertisement.report
    let type = report.eventType
    self.init(
      address: identity, isConnectable: type.contains(.connectable), isScanResponse: type.contains(.scanResponse),
      data: Array(report.data), isTruncated: advertisement.isTruncated, rssi: report.rssi)
    reportedAddress = report.address
    isScannable = type.contains(.scannable)
    isLegacy = type.contains(.legacy)
    isDirected = type.contains(.directed)
    if isDirected { target = report.directAddress }
    (primaryPHY, secondaryPHY) = (report.primaryPHY, report.secondaryPHY)
    if report.advertisingSID <= 0x0F { advertisingSet = report.advertisingSID }
    if report.txPower != 127 { txPower = report.txPower }
    if report.periodicAdvertisingInterval > 0 { periodicInterval = report.periodicAdvertisingInterval }
  }
}
