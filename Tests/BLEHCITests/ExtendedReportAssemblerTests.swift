import BLEHCI
import BLEWire
import TestSupport
import Testing

/// Extended advertisements in fragments: Vol 4, Part E, 7.7.65.13.
@Suite("Fragments of extended advertisements")
struct ExtendedReportAssemblerTests {
  typealias Report = HCI.ExtendedAdvertisingReport
  typealias Status = HCI.ExtendedAdvertisingReportType.DataStatus

  static let alice = DeviceAddress(octets: BD_ADDR(0xC000_0000_000A), kind: .random)
  static let bob = DeviceAddress(octets: BD_ADDR(0xC000_0000_000B), kind: .random)

  static func report(
    _ data: Bytes, _ status: Status, of address: DeviceAddress = Self.alice, set: UInt8 = 1,
    type: HCI.ExtendedAdvertisingReportType = [.connectable]
  ) -> Report {
    var report = Report()
    report.eventType = type
    report.eventType.dataStatus = status
    report.address = address
    report.advertisingSID = set
    report.secondaryPHY = .le1M
    report.data = data
    return report
  }

  @Test func deliversAnAdvertisementOfOneReportUnchanged() {
    var assembler = ExtendedReportAssembler()
    let report = Self.report([2, 1, 6], .complete)
    let advertisement = assembler.receive(report, now: .start)
    #expect(advertisement?.report == report && advertisement?.isTruncated == false)
    #expect(assembler.incompleteCount == 0 && assembler.deadline == nil)
  }

  /// 615 octets: 229, 229 and 157.
  @Test func joinsFragments() {
    var assembler = ExtendedReportAssembler()
    let octets = Bytes((0..<615).map { UInt8(truncatingIfNeeded: $0) })
    #expect(assembler.receive(Self.report(octets[..<229], .moreToCome), now: .start) == nil)
    #expect(assembler.receive(Self.report(octets[229..<458], .moreToCome), now: .start) == nil)
    #expect(assembler.incompleteCount == 1)
    let advertisement = assembler.receive(Self.report(octets[458...], .complete), now: .start)
    #expect(advertisement?.report.data == octets && advertisement?.isTruncated == false)
    #expect(advertisement?.report.eventType == [.connectable])
    #expect(assembler.incompleteCount == 0 && assembler.deadline == nil)
    // The next advertisement is a new one.
    #expect(assembler.receive(Self.report([9], .complete), now: .start)?.report.data == [9])
  }

  @Test(arguments: [Status.truncated, .reserved]) func marksAnAdvertisementWithoutItsEnd(status: Status) {
    var assembler = ExtendedReportAssembler()
    #expect(assembler.receive(Self.report([1, 2], .moreToCome), now: .start) == nil)
    let advertisement = assembler.receive(Self.report([], status), now: .start)
    #expect(advertisement?.report.data == [1, 2] && advertisement?.isTruncated == true)
    #expect(advertisement?.report.eventType.dataStatus == .truncated)
    // In one report, too.
    #expect(assembler.receive(Self.report([3], status), now: .start)?.isTruncated == true)
    #expect(assembler.incompleteCount == 0)
  }

  /// Address, address type, set, scan response and directed separate advertisements, in any order of reports.
  @Test func separatesFragmentsOfSeveralAdvertisements() {
    var assembler = ExtendedReportAssembler()
    let samePublic = DeviceAddress(octets: Self.alice.octets, kind: .public)
    let variants: [(DeviceAddress, UInt8, HCI.ExtendedAdvertisingReportType)] = [
      (Self.alice, 1, [.connectable]), (Self.bob, 1, [.connectable]), (samePublic, 1, [.connectable]),
      (Self.alice, 2, [.connectable]), (Self.alice, 0xFF, [.connectable]),
      (Self.alice, 1, [.scannable, .scanResponse]), (Self.alice, 1, [.connectable, .directed]),
      (DeviceAddress(octets: BD_ADDR(), kind: .anonymous), 1, []),
    ]
    for part in 0..<3 as Range<UInt8> {
      for (number, variant) in variants.enumerated() {
        let report = Self.report(
          [UInt8(number), part], part == 2 ? .complete : .moreToCome, of: variant.0, set: variant.1, type: variant.2)
        let advertisement = assembler.receive(report, now: .start)
        let number = UInt8(number)
        #expect(advertisement?.report.data == (part == 2 ? [number, 0, number, 1, number, 2] : nil))
      }
      #expect(assembler.incompleteCount == (part == 2 ? 0 : variants.count))
    }
  }

  @Test func reportsTheNewestRSSI() {
    var assembler = ExtendedReportAssembler()
    for (rssi, power) in [(Int8(-60), Int8(127)), (-40, 4), (127, 127)] {
      var report = Self.report([1], rssi == 127 ? .complete : .moreToCome)
      (report.rssi, report.txPower) = (rssi, power)
      let advertisement = assembler.receive(report, now: .start)
      if rssi == 127 { #expect(advertisement?.report.rssi == -40 && advertisement?.report.txPower == 4) }
    }
  }

  /// At the limit complete, one octet above truncated; the rest is not another advertisement.
  @Test(arguments: [1650, 1651, 1879, 5000]) func limitsTheOctets(count: Int) {
    var assembler = ExtendedReportAssembler()
    let octets = Bytes((0..<count).map { UInt8(truncatingIfNeeded: $0) })
    var delivered: [ExtendedReportAssembler.Advertisement] = []
    for start in stride(from: 0, to: count, by: 229) {
      let end = min(count, start + 229)
      let report = Self.report(octets[start..<end], end == count ? .complete : .moreToCome)
      if let advertisement = assembler.receive(report, now: .start) { delivered.append(advertisement) }
    }
    #expect(delivered.count == 1)
    #expect(delivered.first?.report.data == octets.prefix(1650))
    #expect(delivered.first?.isTruncated == (count > 1650))
  }

  @Test func dropsAnAdvertisementWithoutAnEnd() {
    var assembler = ExtendedReportAssembler()
    #expect(assembler.receive(Self.report([1], .moreToCome), now: .start) == nil)
    let second = Instant.start + .seconds(2)
    #expect(assembler.receive(Self.report([2], .moreToCome), now: second) == nil)
    #expect(assembler.receive(Self.report([3], .moreToCome, of: Self.bob), now: second + .milliseconds(1)) == nil)
    // Each fragment restarts the timeout.
    #expect(assembler.deadline == second + .seconds(3))
    assembler.tick(now: second + .milliseconds(2999))
    #expect(assembler.incompleteCount == 2)
    assembler.tick(now: second + .seconds(3))
    #expect(assembler.incompleteCount == 1 && assembler.deadline == second + .milliseconds(3001))
    // Later reports are another advertisement, also without a tick.
    let later = second + .seconds(60)
    #expect(assembler.receive(Self.report([4], .complete), now: later)?.report.data == [4])
    #expect(assembler.receive(Self.report([5], .complete, of: Self.bob), now: later)?.report.data == [5])
    #expect(assembler.deadline == nil)
  }

  private static func address(_ number: Int) -> DeviceAddress {
    DeviceAddress(octets: BD_ADDR(0xC000_0000_0000 + UInt64(number)), kind: .random)
  }

  @Test func limitsTheAdvertisements() {
    var assembler = ExtendedReportAssembler(limits: .init(advertisements: 3))
    for number in 0..<3 {
      #expect(assembler.receive(Self.report([1], .moreToCome, of: Self.address(number)), now: .start) == nil)
    }
    #expect(assembler.incompleteCount == 3)
    // The first one continues, so that the second has the oldest fragment at the fourth.
    #expect(assembler.receive(Self.report([2], .moreToCome, of: Self.address(0)), now: .start) == nil)
    #expect(assembler.receive(Self.report([1], .moreToCome, of: Self.address(3)), now: .start) == nil)
    #expect(assembler.incompleteCount == 3)
    for (number, expected) in [(0, [1, 2, 9]), (1, nil), (2, [1, 9]), (3, [1, 9])] as [(Int, Bytes?)] {
      let advertisement = assembler.receive(Self.report([9], .complete, of: Self.address(number)), now: .start)
      #expect(advertisement?.report.data == expected, "\(number)")
    }
    #expect(assembler.incompleteCount == 0 && assembler.deadline == nil)
    // After the end of the dropped one, its advertiser is accepted again.
    let again = assembler.receive(Self.report([7], .complete, of: Self.address(1)), now: .start)
    #expect(again?.report.data == [7])
  }

  @Test func ignoresFragmentsOfADroppedAdvertisement() {
    var assembler = ExtendedReportAssembler(limits: .init(advertisements: 1))
    #expect(assembler.receive(Self.report([1], .moreToCome), now: .start) == nil)
    #expect(assembler.receive(Self.report([1], .moreToCome, of: Self.bob), now: .start) == nil)
    for status in [Status.moreToCome, .moreToCome, .complete] {
      #expect(assembler.receive(Self.report([2], status), now: .start) == nil)
    }
    #expect(assembler.receive(Self.report([2], .complete, of: Self.bob), now: .start)?.report.data == [1, 2])
  }

  @Test func limitsTheDroppedAdvertisements() {
    var assembler = ExtendedReportAssembler(limits: .init(advertisements: 1, discarded: 2))
    for number in 0..<4 {
      #expect(assembler.receive(Self.report([1], .moreToCome, of: Self.address(number)), now: .start) == nil)
    }
    // 0, 1 and 2 were dropped, and 0 was removed from the dropped ones.
    for (number, expected) in [(0, [9]), (1, nil), (2, nil), (3, [1, 9])] as [(Int, Bytes?)] {
      let advertisement = assembler.receive(Self.report([9], .complete, of: Self.address(number)), now: .start)
      #expect(advertisement?.report.data == expected, "\(number)")
    }
    // A dropped one times out as well.
    _ = assembler.receive(Self.report([1], .moreToCome, of: Self.address(0)), now: .start)
    _ = assembler.receive(Self.report([1], .moreToCome, of: Self.address(1)), now: .start)
    assembler.tick(now: .start + .seconds(3))
    #expect(assembler.deadline == nil)
    #expect(assembler.receive(Self.report([9], .complete, of: Self.address(0)), now: .start)?.report.data == [9])
  }

  @Test func removeAllRemovesAllFragments() {
    var assembler = ExtendedReportAssembler()
    #expect(assembler.receive(Self.report([1], .moreToCome), now: .start) == nil)
    assembler.removeAll()
    #expect(assembler.deadline == nil)
    #expect(assembler.receive(Self.report([2], .complete), now: .start)?.report.data == [2])
  }

  /// Any reports of a controller keep the limits.
  @Test(arguments: 0..<20 as Range<UInt64>) func anyReportsKeepTheLimits(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var assembler = ExtendedReportAssembler(limits: .init(octets: 50, advertisements: 4, discarded: 3))
    var now = Instant.start
    for _ in 0..<2000 {
      now = now + .milliseconds(Int64.random(in: 0...400, using: &random))
      let data = Bytes(repeating: 7, count: Int.random(in: 0...30, using: &random))
      let status = Status(rawValue: UInt16.random(in: 0...3, using: &random)) ?? .complete
      let address = Self.address(Int.random(in: 0...9, using: &random))
      let advertisement = assembler.receive(Self.report(data, status, of: address), now: now)
      #expect(assembler.incompleteCount <= 4 && advertisement?.report.data.count ?? 0 <= 50)
      #expect(status != .moreToCome || advertisement == nil)
      #expect(assembler.deadline.map { $0 > now && $0 <= now + .seconds(3) } ?? true)
    }
  }
}
