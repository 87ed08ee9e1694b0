import BLEHCI
import BLEWire
import Testing

@testable import BLEHost

/// Reports of advertisements that the host reads in the packet of their event (Vol 4, Part E, 7.7.65.2 and 7.7.65.13).
@Suite struct ReportReadingTests {
  private static let owner = OwnerID(rawValue: 1)
  private static let address = DeviceAddress(octets: BD_ADDR(0xC000_0000_0001), kind: .random)
  private static let other = DeviceAddress(octets: BD_ADDR(0x0102_0304_0506), kind: .publicIdentity)

  private func scanReports(of event: some HCIEventParameters, _ change: (inout [UInt8]) -> Void = { _ in })
    -> [ScanReport]
  {
    var bench = Bench()
    var parameters = ScanParameters()
    parameters.allowsDuplicates = true
    bench.perform(.scanning(.start(parameters)), from: Self.owner)
    _ = bench.takeEvents()
    var octets: [UInt8] = []
    octets.append(hci: event)
    change(&octets)
    bench.receive(octets)
    return bench.events.flatMap { event -> [ScanReport] in
      if case .scanning(.discovered(let found)) = event { found } else { [] }
    }
  }

  private static func legacy(_ type: HCI.AdvertisingReportType, _ address: DeviceAddress, _ data: [UInt8])
    -> HCI
    .AdvertisingReport
  {
    HCI.AdvertisingReport {
      ($0.eventType, $0.address, $0.data, $0.rssi) = (type, address, data[...], -40)
    }
  }

  @Test func legacyReportsReadInPlaceAreThoseThatTheDecoderReads() {
    let types = (0...5).map { HCI.AdvertisingReportType(rawValue: $0) }
    let reports = types.flatMap { type in
      [Self.legacy(type, Self.address, [2, 1, 6]), Self.legacy(type, Self.other, [])]
    }
    let found = scanReports(of: HCI.LEAdvertisingReport { $0.reports = reports })
    #expect(found == reports.map { ScanReport($0, by: $0.address.identity) } && found.count == 12)
  }

  private static func extended(_ type: HCI.ExtendedAdvertisingReportType, _ number: UInt8)
    -> HCI.ExtendedAdvertisingReport
  {
    HCI.ExtendedAdvertisingReport {
      ($0.eventType, $0.address, $0.directAddress) = (type, other, address)
      ($0.primaryPHY, $0.secondaryPHY) = (.leCoded, .le2M)
      ($0.advertisingSID, $0.txPower, $0.rssi) = (number, Int8(bitPattern: number), -50)
      ($0.periodicAdvertisingInterval, $0.data) = (UInt16(number) << 4, [UInt8](repeating: number, count: 60)[...])
    }
  }

  @Test func extendedReportsReadInPlaceAreThoseThatTheDecoderReads() {
    let reports = [
      Self.extended([.connectable], 0), Self.extended([.scannable, .directed], 15),
      Self.extended([.scanResponse], 0xFF),
      Self.extended([.legacy, .connectable, .scannable], 127),
    ]
    var assembler = ExtendedReportAssembler()
    let whole = reports.compactMap { assembler.receive($0, now: .start) }
    // One event has room for 255 octets.
    let found = reports.flatMap { report in scanReports(of: HCI.LEExtendedAdvertisingReport { $0.reports = [report] }) }
    #expect(found == whole.map { ScanReport($0, by: $0.report.address.identity) } && found.count == 4)
  }

  @Test func fragmentsAreJoined() {
    var first = Self.extended([], 1)
    first.eventType.dataStatus = .moreToCome
    let found = scanReports(of: HCI.LEExtendedAdvertisingReport { $0.reports = [first, Self.extended([], 1)] })
    #expect(found.map(\.data.count) == [120])
  }

  /// Of an event whose lengths do not agree, no report is used.
  @Test(arguments: 1...20)
  func aCutEventReportsNothing(missing: Int) {
    let event = HCI.LEAdvertisingReport {
      $0.reports = [
        Self.legacy(.connectable, Self.address, [2, 1, 6]), Self.legacy(.connectable, Self.address, [2, 1, 6]),
      ]
    }
    let found = scanReports(of: event) { octets in
      octets.removeLast(missing)
      octets[2] = UInt8(octets.count - 3)
    }
    #expect(found.isEmpty)
    #expect(
      scanReports(of: event) {
        $0 += [UInt8](repeating: 0, count: missing); $0[2] += UInt8(missing)
      }.isEmpty)
  }

  @Test func anOwnerThatHasHadAReportDoesNotReceiveItAgainUntilItChanges() {
    var bench = Bench()
    var parameters = ScanParameters()
    parameters.reportsChanges = true
    bench.perform(.scanning(.start(parameters)), from: Self.owner)
    _ = bench.takeEvents()
    func receive(_ type: HCI.AdvertisingReportType, _ data: [UInt8]) -> Int {
      var octets: [UInt8] = []
      octets.append(hci: HCI.LEAdvertisingReport { $0.reports = [Self.legacy(type, Self.address, data)] })
      bench.receive(octets)
      return bench.takeEvents().count
    }
    let steps: [(HCI.AdvertisingReportType, [UInt8], Int)] = [
      (.connectable, [2, 1, 6], 1), (.connectable, [2, 1, 6], 0), (.connectable, [2, 1, 5], 1),
      (.connectable, [2, 1], 1),
      (.nonConnectable, [2, 1], 1), (.scanResponse, [2, 1], 1), (.scanResponse, [2, 1], 0),
      (.nonConnectable, [2, 1], 0),
    ]
    for (number, step) in steps.enumerated() { #expect(receive(step.0, step.1) == step.2, "step \(number)") }
  }
}
