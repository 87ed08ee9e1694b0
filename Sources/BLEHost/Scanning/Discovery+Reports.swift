import BLEHCI
import BLEWire

/// What the reports of a controller say.
extension Discovery {
  /// A report of legacy scanning (Vol 4, Part E, 7.7.65.2).
  ///
  /// - Parameter identity: the device that uses the address of the report.
  init(_ report: HCI.AdvertisingReport, by identity: DeviceAddress) {
    var content = Content(report.eventType, by: identity, data: Array(report.data))
    content.reportedAddress = report.address
    self.init(Shared(content), rssi: report.rssi)
  }

  /// The reports of one extended advertisement (Vol 4, Part E, 7.7.65.13).
  init(_ advertisement: ExtendedReportAssembler.Advertisement, by identity: DeviceAddress) {
    let report = advertisement.report
    var content = Content(report.eventType, by: identity, data: Array(report.data))
    content.isTruncated = advertisement.isTruncated
    content.reportedAddress = report.address
    if content.isDirected { content.target = report.directAddress }
    (content.primaryPHY, content.secondaryPHY) = (report.primaryPHY, report.secondaryPHY)
    if report.advertisingSID <= 0x0F { content.advertisingSet = report.advertisingSID }
    if report.txPower != 127 { content.txPower = report.txPower }
    if report.periodicAdvertisingInterval > 0 { content.periodicInterval = report.periodicAdvertisingInterval }
    self.init(Shared(content), rssi: report.rssi)
  }
}

extension Discovery.Content {
  /// A legacy report of a type (Vol 4, Part E, 7.7.65.2).
  fileprivate init(_ type: HCI.AdvertisingReportType, by identity: DeviceAddress, data: [UInt8]) {
    self.init(
      address: identity, reportedAddress: identity, isConnectable: type == .connectable || type == .directed,
      isScannable: type == .connectable || type == .scannable || type == .scanResponse,
      isScanResponse: type == .scanResponse, isDirected: type == .directed, data: data, isTruncated: false)
  }

  /// An extended report of a type (Vol 4, Part E, 7.7.65.13).
  fileprivate init(_ type: HCI.ExtendedAdvertisingReportType, by identity: DeviceAddress, data: [UInt8]) {
    self.init(
      address: identity, reportedAddress: identity, isConnectable: type.contains(.connectable),
      isScannable: type.contains(.scannable), isScanResponse: type.contains(.scanResponse),
      isLegacy: type.contains(.legacy), isDirected: type.contains(.directed), data: data, isTruncated: false)
  }
}

/// Reports in the packet of their event.
extension Discovery {
  /// The layout of one report of an event.
  struct ReportLayout: Sendable {
    /// HCI_LE_Advertising_Report: kind, address, length and data, RSSI (Vol 4, Part E, 7.7.65.2).
    static let legacy = Self(length: 10, dataLength: 8, address: 1)
    /// HCI_LE_Extended_Advertising_Report, which ends with length and data (Vol 4, Part E, 7.7.65.13).
    static let extended = Self(length: 24, dataLength: 23, address: 2)

    /// The octets of a report without data.
    let length: Int
    /// Where Data_Length is, and Address_Type.
    let dataLength: Int, address: Int

    /// The layout of the reports of an LE meta event.
    init?(_ subevent: UInt8) {
      switch LESubeventCode(rawValue: subevent) {
      case .advertisingReport: self = .legacy
      case .extendedAdvertisingReport: self = .extended
      default: return nil
      }
    }

    private init(length: Int, dataLength: Int, address: Int) {
      (self.length, self.dataLength, self.address) = (length, dataLength, address)
    }

    /// The length of the report that begins at `offset`; nil where the packet ends before it, and for a report whose data is not
    /// complete.
    func length(in packet: Span<UInt8>, at offset: Int) -> Int? {
      guard offset + length <= packet.count else { return nil }
      let whole = length + Int(packet[offset + dataLength])
      guard offset + whole <= packet.count else { return nil }
      if isExtended, packet[offset] & 0b0110_0000 != 0 { return nil }
      return whole
    }

    /// The address of a report that ``length(in:at:)`` has measured.
    func address(in packet: Span<UInt8>, at offset: Int) -> DeviceAddress {
      DeviceAddress(reading: packet, at: offset + address)
    }

    var isExtended: Bool { address == 2 }

    /// The RSSI of a report that ``length(in:at:)`` has measured, in dBm: the last octet of a legacy report.
    func rssi(in packet: Span<UInt8>, at offset: Int) -> Int8 {
      let place = isExtended ? 13 : 9 + Int(packet[offset + dataLength])
      return Int8(bitPattern: packet[offset + place])
    }

    /// The octets of a report, apart from the data, the RSSI and the address itself, as numbers that are equal where the octets are.
    func head(in packet: Span<UInt8>, at offset: Int) -> ReportTable.Head {
      let kinds = UInt64(packet[offset]) << 8 | UInt64(packet[offset + address])
      guard isExtended else { return ReportTable.Head(isExtended: false, low: kinds, high: 0) }
      var low = kinds << 8 | UInt64(packet[offset + 1])
      // PHYs, set and transmit power, before the RSSI; then the interval, and the address of a directed advertisement.
      for index in 9..<13 { low = low << 8 | UInt64(packet[offset + index]) }
      low = low << 8 | UInt64(packet[offset + 14])
      var high = UInt64(packet[offset + 15])
      for index in 16..<23 { high = high << 8 | UInt64(packet[offset + index]) }
      return ReportTable.Head(isExtended: true, low: low, high: high)
    }

    /// Where the data is of a report that ``length(in:at:)`` has measured.
    func data(in packet: Span<UInt8>, at offset: Int) -> Range<Int> {
      let start = offset + dataLength + 1
      return start..<start + Int(packet[offset + dataLength])
    }
  }
}

extension Discovery.Content {
  /// A report that ``Discovery/ReportLayout/length(in:at:)`` has measured.
  init(_ layout: Discovery.ReportLayout, in packet: Span<UInt8>, at offset: Int) {
    let reported = layout.address(in: packet, at: offset)
    let data = [UInt8](copying: packet.extracting(layout.data(in: packet, at: offset)))
    guard layout.isExtended else {
      self.init(HCI.AdvertisingReportType(rawValue: packet[offset]), by: reported.identity, data: data)
      reportedAddress = reported
      return
    }
    let type = UInt16(packet[offset]) | UInt16(packet[offset + 1]) << 8
    self.init(HCI.ExtendedAdvertisingReportType(rawValue: type), by: reported.identity, data: data)
    reportedAddress = reported
    if isDirected { target = DeviceAddress(reading: packet, at: offset + 16) }
    (primaryPHY, secondaryPHY) = (HCI.PHY(rawValue: packet[offset + 9]), HCI.PHY(rawValue: packet[offset + 10]))
    if packet[offset + 11] <= 0x0F { advertisingSet = packet[offset + 11] }
    if packet[offset + 12] != 127 { txPower = Int8(bitPattern: packet[offset + 12]) }
    let interval = UInt16(packet[offset + 14]) | UInt16(packet[offset + 15]) << 8
    if interval > 0 { periodicInterval = interval }
  }
}

extension DeviceAddress {
  /// Address type and address, seven octets that are there.
  fileprivate init(reading packet: Span<UInt8>, at offset: Int) {
    var value: UInt64 = 0
    for index in 0..<6 { value |= UInt64(packet[offset + 1 + index]) << (8 * UInt64(index)) }
    self.init(octets: BD_ADDR(value), kind: Kind(rawValue: packet[offset]))
  }
}
