import BLEHCI
import BLEWire

/// Discoveries from the reports of a controller.
extension ScanReport {
  /// A report of legacy scanning (Vol 4, Part E, 7.7.65.2).
  ///
  /// - Parameter identity: the device that uses the address of the report.
  init(_ report: HCI.AdvertisingReport, by identity: DeviceAddress) {
    self.init(Shared(Content(report, by: identity)), rssi: report.rssi)
  }

  /// The reports of one extended advertisement (Vol 4, Part E, 7.7.65.13).
  init(_ advertisement: ExtendedReportAssembler.Advertisement, by identity: DeviceAddress) {
    var content = Content(advertisement.report, by: identity)
    content.isTruncated = advertisement.isTruncated
    self.init(Shared(content), rssi: advertisement.report.rssi)
  }
}

extension ScanReport.Content {
  /// A complete report in the packet of its event, of a device that is known by the address in the report.
  init(_ view: AdvertisingReportView, in event: Span<UInt8>) {
    switch view.decoded(in: event) {
    case .legacy(let report): self.init(report, by: report.address.identity)
    case .extended(let report): self.init(report, by: report.address.identity)
    }
  }

  fileprivate init(_ report: HCI.AdvertisingReport, by identity: DeviceAddress) {
    let type = report.eventType
    self.init(
      address: identity, reportedAddress: report.address, isConnectable: type == .connectable || type == .directed,
      isScannable: type == .connectable || type == .scannable || type == .scanResponse,
      isScanResponse: type == .scanResponse, isDirected: type == .directed, data: Array(report.data), isTruncated: false
    )
  }

  fileprivate init(_ report: HCI.ExtendedAdvertisingReport, by identity: DeviceAddress) {
    let type = report.eventType
    self.init(
      address: identity, reportedAddress: report.address, isConnectable: type.contains(.connectable),
      isScannable: type.contains(.scannable), isScanResponse: type.contains(.scanResponse),
      isLegacy: type.contains(.legacy), isDirected: type.contains(.directed), data: Array(report.data),
      isTruncated: false)
    if isDirected { target = report.directAddress }
    (primaryPHY, secondaryPHY) = (report.primaryPHY, report.secondaryPHY)
    if report.advertisingSID <= 0x0F { advertisingSet = report.advertisingSID }
    if report.txPower != 127 { txPower = report.txPower }
    if report.periodicAdvertisingInterval > 0 { periodicInterval = report.periodicAdvertisingInterval }
  }
}
