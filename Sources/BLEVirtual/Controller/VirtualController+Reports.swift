internal import BLEHCI
internal import BLEWire

/// Received advertisements, and their reports to the host (Vol 4, Part E, 7.7.65.2, 7.7.65.11 and 7.7.65.13).
extension VirtualController {
  /// The number of data octets in one LE Extended Advertising Report.
  private static let dataPerReport = 229

  /// Receives an advertisement or a scan response.
  ///
  /// - Returns: the own address of a scan request; nil if the scanner sends none.
  mutating func receiveAdvertisement(_ advertisement: Advertisement, _ context: inout RadioContext) -> DeviceAddress? {
    guard scanner.isListening, advertisement.isLegacyPDU || scanner.isExtended, !faults.losesReport(&random) else {
      return nil
    }
    let resolved = advertisement.address.flatMap { resolvingList.resolve($0, context.cryptography) }
    let address = resolved ?? advertisement.address
    if let address {
      if resolved == nil, resolvingList.rejects(address) { return nil }
      if scanner.filterPolicy.rawValue & 1 == 1, !acceptList.contains(address.identity) { return nil }
    } else if scanner.filterPolicy.rawValue & 1 == 1 {
      return nil
    }
    let isUnresolvedTarget =
      advertisement.properties.contains(.directed) && !isOwnAddress(advertisement.target, context)
    if isUnresolvedTarget {
      let admitsUnresolved = scanner.filterPolicy.rawValue & 2 == 2
      guard admitsUnresolved, advertisement.target.randomKind == .resolvablePrivate else { return nil }
    }

    var pdu = Scanner.ReceivedPDU(
      address: address, isScanResponse: advertisement.isScanResponse, isLegacyPDU: advertisement.isLegacyPDU,
      sid: advertisement.isLegacyPDU ? 0xFF : advertisement.parameters.advertisingSID,
      dataIdentifier: advertisement.isLegacyPDU ? 0 : advertisement.dataIdentifier)
    if scanner.isNew(pdu) { report(advertisement, from: address, isUnresolvedTarget: isUnresolvedTarget, &context) }

    guard !advertisement.isScanResponse, scanner.type == .active, advertisement.properties.contains(.scannable) else {
      return nil
    }
    if advertisement.isLegacyPDU {
      pdu.isScanResponse = true
      if scanner.isDuplicate(pdu) { return nil }
    }
    let request = OwnAddressRequest(type: scanner.ownAddressType, random: addresses.random, peer: address?.identity)
    return ownAddress(for: request, context)
  }

  private mutating func report(
    _ advertisement: Advertisement, from address: DeviceAddress?, isUnresolvedTarget: Bool,
    _ context: inout RadioContext
  ) {
    if scanner.isExtended {
      reportExtended(advertisement, from: address, &context)
    } else if isUnresolvedTarget {
      host.send(
        HCI.LEDirectedAdvertisingReport {
          $0.reports = [
            .init {
              $0.address = address ?? DeviceAddress(octets: BD_ADDR(), kind: .public)
              $0.directAddress = advertisement.target
              $0.rssi = advertisement.rssi
            }
          ]
        }, &context)
    } else if let address {
      host.send(
        HCI.LEAdvertisingReport {
          $0.reports = [
            .init {
              $0.eventType = advertisement.legacyReportType
              $0.address = address
              $0.data = advertisement.data.prefix(LinkLayerLimits.legacyAdvertisingData)
              $0.rssi = advertisement.rssi
            }
          ]
        }, &context)
    }
  }

  /// Sends one report, or several if the data is longer than one can hold.
  private mutating func reportExtended(
    _ advertisement: Advertisement, from address: DeviceAddress?, _ context: inout RadioContext
  ) {
    var rest = advertisement.data
    if !advertisement.isLegacyPDU, let length = faults.lengthOfChains { rest = rest.prefix(length) }
    let isTruncated = rest.count < advertisement.data.count
    repeat {
      let piece = rest.prefix(Self.dataPerReport)
      rest = rest.dropFirst(Self.dataPerReport)
      var report = HCI.ExtendedAdvertisingReport()
      report.eventType = advertisement.extendedReportType
      report.eventType.dataStatus = rest.isEmpty ? (isTruncated ? .truncated : .complete) : .moreToCome
      report.address = address ?? DeviceAddress(octets: BD_ADDR(), kind: .anonymous)
      report.primaryPHY = advertisement.isLegacyPDU ? .le1M : advertisement.parameters.primaryAdvertisingPHY
      report.secondaryPHY = advertisement.isLegacyPDU ? .none : advertisement.parameters.secondaryAdvertisingPHY
      report.advertisingSID = advertisement.isLegacyPDU ? 0xFF : advertisement.parameters.advertisingSID
      report.txPower = advertisement.isLegacyPDU ? 127 : advertisement.txPower
      report.rssi = advertisement.rssi
      if advertisement.properties.contains(.directed) { report.directAddress = advertisement.target }
      report.data = piece
      host.send(HCI.LEExtendedAdvertisingReport { $0.reports = [report] }, &context)
    } while !rest.isEmpty
  }
}

extension Advertisement {
  fileprivate var legacyReportType: HCI.AdvertisingReportType {
    if isScanResponse { return .scanResponse }
    if properties.contains(.directed) { return .directed }
    if properties.contains(.connectable) { return .connectable }
    return properties.contains(.scannable) ? .scannable : .nonConnectable
  }

  fileprivate var extendedReportType: HCI.ExtendedAdvertisingReportType {
    var type: HCI.ExtendedAdvertisingReportType = []
    if properties.contains(.connectable) { type.insert(.connectable) }
    if properties.contains(.scannable) { type.insert(.scannable) }
    if properties.contains(.directed) { type.insert(.directed) }
    if isScanResponse { type.insert(.scanResponse) }
    if isLegacyPDU { type.insert(.legacy) }
    return type
  }
}
