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
      if address == 2, packet[offset] & 0b0110_0000 != 0 { return nil }
      return whole
    }

    /// The address of a report that ``length(in:at:)`` has measured.
    func address(in packet: Span<UInt8>, at offset: Int) -> DeviceAddress {
      DeviceAddress(reading: packet, at: offset + address)
    }

    /// Where the data is of a report that ``length(in:at:)`` has measured.
    func data(in packet: Span<UInt8>, at offset: Int) -> Range<Int> {
      let start = offset + dataLength + 1
      return start..<start + Int(packet[offset + dataLength])
    }
  }

  /// A report that ``ReportLayout/length(in:at:)`` has measured, without its data.
  init(_ layout: ReportLayout, in packet: Span<UInt8>, at offset: Int) {
    let reported = layout.address(in: packet, at: offset)
    guard layout.address == 2 else {
      let type = HCI.AdvertisingReportType(rawValue: packet[offset])
      let rssi = Int8(bitPattern: packet[offset + 9 + Int(packet[offset + 8])])
      self.init(
        address: reported.identity, isConnectable: type == .connectable || type == .directed,
        isScanResponse: type == .scanResponse, data: [], rssi: rssi)
      reportedAddress = reported
      isScannable = type == .connectable || type == .scannable || type == .scanResponse
      isDirected = type == .directed
      return
    }
    let type = HCI.ExtendedAdvertisingReportType(rawValue: UInt16(packet[offset]) | UInt16(packet[offset + 1]) << 8)
    self.init(
      address: reported.identity, isConnectable: type.contains(.connectable),
      isScanResponse: type.contains(.scanResponse),
      data: [], rssi: Int8(bitPattern: packet[offset + 13]))
    reportedAddress = reported
    (isScannable, isLegacy) = (type.contains(.scannable), type.contains(.legacy))
    isDirected = type.contains(.directed)
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
