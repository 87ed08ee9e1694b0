internal import BLEHCI
internal import BLEWire

/// The reports of a received advertisement to the host (Vol 4, Part E, 7.7.65.2, 7.7.65.11 and 7.7.65.13).
extension AdvertisingPDU {
  /// The number of data octets in one LE Extended Advertising Report.
  private static let dataPerReport = 229

  /// Sends the report of a legacy scan.
  func reportLegacy(from sender: AdvertiserIdentity, _ host: HostInterface, _ context: inout VirtualRadioContext) {
    if sender.isForAnother {
      host.send(
        HCI.LEDirectedAdvertisingReport {
          $0.reports = [
            .init {
              $0.address = sender.address ?? DeviceAddress(octets: BD_ADDR(), kind: .public)
              $0.directAddress = target
              $0.rssi = rssi
            }
          ]
        }, &context)
    } else if let address = sender.address {
      host.send(
        HCI.LEAdvertisingReport {
          $0.reports = [
            .init {
              $0.eventType = legacyReportType
              $0.address = address
              $0.data = data.prefix(LinkLayerLimits.legacyAdvertisingData)
              $0.rssi = rssi
            }
          ]
        }, &context)
    }
  }

  /// Sends the report of an extended scan, or several reports if the data is too long for one.
  ///
  /// - Parameter lengthOfChains: the number of octets after which an extended advertisement is truncated; nil if it is
  ///   complete.
  func reportExtended(
    from address: DeviceAddress?, lengthOfChains: Int?, _ host: HostInterface, _ context: inout VirtualRadioContext
  ) {
    var rest = data
    if !isLegacyPDU, let lengthOfChains { rest = rest.prefix(lengthOfChains) }
    let isTruncated = rest.count < data.count
    repeat {
      let piece = rest.prefix(Self.dataPerReport)
      rest = rest.dropFirst(Self.dataPerReport)
      var report = HCI.ExtendedAdvertisingReport()
      report.eventType = extendedReportType
      report.eventType.dataStatus = rest.isEmpty ? (isTruncated ? .truncated : .complete) : .moreToCome
      report.address = address ?? DeviceAddress(octets: BD_ADDR(), kind: .anonymous)
      report.primaryPHY = isLegacyPDU ? .le1M : parameters.primaryAdvertisingPHY
      report.secondaryPHY = isLegacyPDU ? .none : parameters.secondaryAdvertisingPHY
      report.advertisingSID = isLegacyPDU ? 0xFF : parameters.advertisingSID
      report.txPower = isLegacyPDU ? 127 : txPower
      report.rssi = rssi
      report.periodicAdvertisingInterval = syncInfo?.interval ?? 0
      if properties.contains(.directed) { report.directAddress = target }
      report.data = piece
      host.send(HCI.LEExtendedAdvertisingReport { $0.reports = [report] }, &context)
    } while !rest.isEmpty
  }

  private var legacyReportType: HCI.AdvertisingReportType {
    if isScanResponse { return .scanResponse }
    if properties.contains(.directed) { return .directed }
    if properties.contains(.connectable) { return .connectable }
    return properties.contains(.scannable) ? .scannable : .nonConnectable
  }

  private var extendedReportType: HCI.ExtendedAdvertisingReportType {
    var type: HCI.ExtendedAdvertisingReportType = []
    if properties.contains(.connectable) { type.insert(.connectable) }
    if properties.contains(.scannable) { type.insert(.scannable) }
    if properties.contains(.directed) { type.insert(.directed) }
    if isScanResponse { type.insert(.scanResponse) }
    if isLegacyPDU { type.insert(.legacy) }
    return type
  }
}
