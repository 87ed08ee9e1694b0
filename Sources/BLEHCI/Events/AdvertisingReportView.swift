package import BLEWire

/// One report of an LE Advertising Report or an LE Extended Advertising Report, read in the packet of its event
/// (Vol 4, Part E, 7.7.65.2 and 7.7.65.13).
///
/// These are the most frequent events while a host scans, and most reports repeat the last one of their device. A view
/// copies nothing, and decodes a report only where ``decoded(in:)`` is called. The packet is an argument of each
/// function; it must be the one in which ``AdvertisingReportViews`` has found the report.
package struct AdvertisingReportView: Sendable {
  /// The event that the report is in: it decides where the fields are.
  @usableFromInline enum Format: Sendable { case legacy, extended }

  /// A report as its declaration decodes it.
  package enum Decoded: Sendable {
    case legacy(HCI.AdvertisingReport)
    case extended(HCI.ExtendedAdvertisingReport)
  }

  /// The fields of a report, apart from Address, Data and RSSI, as numbers: equal where the octets are.
  package struct Fields: Equatable, Sendable {
    @usableFromInline let isExtended: Bool, low: UInt64, high: UInt64

    @inlinable init(isExtended: Bool, low: UInt64, high: UInt64) {
      (self.isExtended, self.low, self.high) = (isExtended, low, high)
    }
  }

  @usableFromInline let format: Format
  /// The first octet of the report in the packet.
  @usableFromInline let start: Int

  @inlinable init(_ format: Format, at start: Int) { (self.format, self.start) = (format, start) }

  /// The octets of a report without data.
  @inlinable var fixedLength: Int { format == .legacy ? 10 : 24 }
  /// The place of Data_Length. The data follows, then in a legacy report the RSSI.
  @inlinable var dataLength: Int { start + (format == .legacy ? 8 : 23) }
  /// The place of Address_Type; the address follows.
  @inlinable var addressType: Int { start + (format == .legacy ? 1 : 2) }

  /// The end of the report in the packet; nil where the packet ends before it.
  @inlinable func end(in event: Span<UInt8>) -> Int? {
    guard start + fixedLength <= event.count else { return nil }
    let end = start + fixedLength + Int(event[dataLength])
    return end <= event.count ? end : nil
  }

  /// Whether the report has all data of the advertisement: the data status of an extended one is "complete".
  @inlinable package func isComplete(in event: Span<UInt8>) -> Bool {
    format == .legacy || event[start] & 0b0110_0000 == 0
  }

  @inlinable package func address(in event: Span<UInt8>) -> DeviceAddress {
    // Address_Type, then Address: one check of the bounds for the seven octets.
    let octets = event.extracting(addressType..<addressType + 7)
    var value: UInt64 = 0
    for index in 0..<6 { value |= UInt64(octets[1 + index]) << (8 * UInt64(index)) }
    return DeviceAddress(octets: BD_ADDR(value), kind: DeviceAddress.Kind(rawValue: octets[0]))
  }

  /// In dBm; 127 where it is not available.
  @inlinable package func rssi(in event: Span<UInt8>) -> Int8 {
    Int8(bitPattern: event[format == .legacy ? dataLength + 1 + Int(event[dataLength]) : start + 13])
  }

  @inlinable package func isScanResponse(in event: Span<UInt8>) -> Bool {
    format == .legacy
      ? HCI.AdvertisingReportType(rawValue: event[start]) == .scanResponse
      : HCI.ExtendedAdvertisingReportType(rawValue: UInt16(event[start])).contains(.scanResponse)
  }

  /// Advertising_SID, 0x00 to 0x0F; nil where the advertisement has none.
  @inlinable package func advertisingSID(in event: Span<UInt8>) -> UInt8? {
    guard format == .extended, event[start + 11] <= 0x0F else { return nil }
    return event[start + 11]
  }

  /// The octets of the data in the packet.
  @inlinable package func data(in event: Span<UInt8>) -> Range<Int> {
    dataLength + 1..<dataLength + 1 + Int(event[dataLength])
  }

  @inlinable package func fields(in event: Span<UInt8>) -> Fields {
    let kinds = UInt64(event[start]) << 8 | UInt64(event[addressType])
    guard format == .extended else { return Fields(isExtended: false, low: kinds, high: 0) }
    let octets = event.extracting(start..<start + 24)
    var low = kinds << 8 | UInt64(octets[1])
    // Primary_PHY to TX_Power, which the RSSI follows; then the interval, and the address of a directed advertisement.
    for index in 9..<13 { low = low << 8 | UInt64(octets[index]) }
    low = low << 8 | UInt64(octets[14])
    var high = UInt64(octets[15])
    for index in 16..<23 { high = high << 8 | UInt64(octets[index]) }
    return Fields(isExtended: true, low: low, high: high)
  }

  /// The report as its declaration decodes it, which copies its octets.
  package func decoded(in event: Span<UInt8>) -> Decoded {
    guard let end = end(in: event) else { return .legacy(HCI.AdvertisingReport()) }
    var decoder = PacketDecoder([UInt8](copying: event.extracting(start..<end))[...])
    // The octets are there: neither declaration rejects any value.
    switch format {
    case .legacy:
      var report = HCI.AdvertisingReport()
      try? report.layout(&decoder)
      return .legacy(report)
    case .extended:
      var report = HCI.ExtendedAdvertisingReport()
      try? report.layout(&decoder)
      return .extended(report)
    }
  }
}

/// The reports of an event, one after the other.
package struct AdvertisingReportViews: Sendable {
  @usableFromInline let format: AdvertisingReportView.Format
  @usableFromInline var remaining: UInt8
  @usableFromInline var offset = 4

  /// The reports in an event packet without its indicator octet: event code, length, subevent code, Num_Reports.
  ///
  /// - Returns: nil for another event, and for one whose lengths are wrong.
  package init?(in event: Span<UInt8>) {
    guard event.count > 3, event[0] == HCIEventCode.leMeta.rawValue, Int(event[1]) == event.count - 2
    else { return nil }
    switch LESubeventCode(rawValue: event[2]) {
    case .advertisingReport: format = .legacy
    case .extendedAdvertisingReport: format = .extended
    default: return nil
    }
    remaining = event[3]
    var reports = self
    while reports.next(in: event) != nil {}
    guard reports.remaining == 0, reports.offset == event.count else { return nil }
  }

  /// The next report; nil after the last one.
  @inlinable package mutating func next(in event: Span<UInt8>) -> AdvertisingReportView? {
    guard remaining > 0 else { return nil }
    let view = AdvertisingReportView(format, at: offset)
    guard let end = view.end(in: event) else { return nil }
    remaining -= 1
    offset = end
    return view
  }
}
