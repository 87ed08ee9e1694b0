import BLEWire
import TestSupport
import Testing

@testable import BLEHCI

/// A view of a report reads what the declaration of the event decodes.
@Suite struct AdvertisingReportViewTests {
  /// Every field of the reports of random events.
  @Test(arguments: [false, true]) func everyFieldIsTheDeclaredOne(isExtended: Bool) throws {
    var source = SplitMix64(seed: 1)
    var compared = 0
    while compared < 1000 {
      let event = Self.event(isExtended, &source)
      let packet = HCIEventPacket(event).encoded
      let views = try #require(Self.views(packet))
      compared += views.count
      switch event {
      case let event as HCI.LEAdvertisingReport:
        #expect(views.count == event.reports.count)
        for (view, report) in zip(views, event.reports) { compare(view, packet, report) }
      case let event as HCI.LEExtendedAdvertisingReport:
        #expect(views.count == event.reports.count)
        for (view, report) in zip(views, event.reports) { compare(view, packet, report) }
      default: Issue.record("another event")
      }
    }
  }

  /// The views of the reports of an event; nil where it has none.
  private static func views(_ event: [UInt8]) -> [AdvertisingReportView]? {
    guard var reports = AdvertisingReportViews(in: event.span) else { return nil }
    var views: [AdvertisingReportView] = []
    while let view = reports.next(in: event.span) { views.append(view) }
    return views
  }

  /// An event of up to four reports that fits into a packet.
  private static func event(_ isExtended: Bool, _ source: inout SplitMix64) -> any HCIEventParameters {
    while true {
      var event: any HCIEventParameters
      if isExtended {
        event = HCI.LEExtendedAdvertisingReport.random(from: &source)
      } else {
        var reports = HCI.LEAdvertisingReport.random(from: &source)
        for index in reports.reports.indices { reports.reports[index].eventType.rawValue %= 6 }
        event = reports
      }
      if HCIEventPacket(event).parameters.count <= 255 { return event }
    }
  }

  private func compare(_ view: AdvertisingReportView, _ packet: [UInt8], _ report: HCI.AdvertisingReport) {
    #expect(view.address(in: packet.span) == report.address && view.rssi(in: packet.span) == report.rssi)
    #expect(packet[view.data(in: packet.span)] == report.data[...])
    #expect(view.isComplete(in: packet.span) && view.advertisingSID(in: packet.span) == nil)
    #expect(view.isScanResponse(in: packet.span) == (report.eventType == .scanResponse))
    if case .legacy(let decoded) = view.decoded(in: packet.span) {
      #expect(decoded == report)
    } else {
      Issue.record("not a legacy report")
    }
  }

  private func compare(_ view: AdvertisingReportView, _ packet: [UInt8], _ report: HCI.ExtendedAdvertisingReport) {
    #expect(view.address(in: packet.span) == report.address && view.rssi(in: packet.span) == report.rssi)
    #expect(packet[view.data(in: packet.span)] == report.data[...])
    #expect(view.isComplete(in: packet.span) == (report.eventType.dataStatus == .complete))
    #expect(view.advertisingSID(in: packet.span) == (report.advertisingSID <= 0x0F ? report.advertisingSID : nil))
    #expect(view.isScanResponse(in: packet.span) == report.eventType.contains(.scanResponse))
    if case .extended(let decoded) = view.decoded(in: packet.span) {
      #expect(decoded == report)
    } else {
      Issue.record("not an extended report")
    }
  }

  /// Each field apart from the address, the data and the RSSI makes other ``AdvertisingReportView/Fields``; these three
  /// do not.
  @Test func theFieldsOfAReportAreAllButAddressDataAndRSSI() throws {
    func fields(_ change: (inout HCI.ExtendedAdvertisingReport) -> Void) throws -> AdvertisingReportView.Fields {
      var report = HCI.ExtendedAdvertisingReport()
      change(&report)
      let packet = HCIEventPacket(HCI.LEExtendedAdvertisingReport { $0.reports = [report] }).encoded
      return try #require(Self.views(packet)?.first).fields(in: packet.span)
    }
    let other = DeviceAddress(octets: BD_ADDR(1), kind: .public)
    let plain = try fields { _ in }
    let same = try fields { ($0.address, $0.data, $0.rssi) = (other, [1], -40) }
    #expect(plain == same)
    let changes: [(inout HCI.ExtendedAdvertisingReport) -> Void] = [
      { $0.eventType = .connectable }, { $0.eventType = .init(rawValue: 0x100) }, { $0.address.kind = .random },
      { $0.primaryPHY = .leCoded }, { $0.secondaryPHY = .le2M }, { $0.advertisingSID = 3 }, { $0.txPower = 4 },
      { $0.periodicAdvertisingInterval = 6 }, { $0.periodicAdvertisingInterval = 0x600 }, { $0.directAddress = other },
      { $0.directAddress.kind = .random },
    ]
    for change in changes { #expect(try fields(change) != plain) }
    let legacy = HCIEventPacket(HCI.LEAdvertisingReport { $0.reports = [HCI.AdvertisingReport()] }).encoded
    #expect(try #require(Self.views(legacy)?.first).fields(in: legacy.span) != plain)
  }

  /// Each truncation, a trailing octet, another number of reports and other events have no views.
  @Test(arguments: [false, true]) func anEventWhoseLengthsAreWrongHasNoViews(isExtended: Bool) {
    let whole: [UInt8] =
      isExtended
      ? HCIEventPacket(HCI.LEExtendedAdvertisingReport { $0.reports = [.init(), .init()] }).encoded
      : HCIEventPacket(HCI.LEAdvertisingReport { $0.reports = [.init(), .init()] }).encoded
    #expect(Self.views(whole) != nil)
    for count in 0..<whole.count {
      var cut = Array(whole.prefix(count))
      #expect(Self.views(cut) == nil)
      guard count >= 2 else { continue }
      cut[1] = UInt8(count - 2)
      #expect(Self.views(cut) == nil)
    }
    var longer = whole + [0]
    longer[1] += 1
    #expect(Self.views(longer) == nil)
    for number: UInt8 in [0, 1, 3, 255] {
      var other = whole
      other[3] = number
      #expect(Self.views(other) == nil)
    }
    var event = whole
    event[2] = LESubeventCode.directedAdvertisingReport.rawValue
    #expect(Self.views(event) == nil)
    event = whole
    event[0] = 0x0E
    #expect(Self.views(event) == nil)
  }
}
