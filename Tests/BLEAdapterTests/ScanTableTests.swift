import AdapterFixtures
import BLEGAP
import BLEHCI
import BLEHost
import BLEWire
import Testing

@testable import BLEAdapter

/// The memory of what devices have advertised is limited in octets.
@Suite struct ScanTableTests {
  private static func address(_ number: Int) -> DeviceAddress {
    DeviceAddress(octets: BD_ADDR(0xC000_0000_0000 + UInt64(number)), kind: .random)
  }

  private static func scanReport(_ number: Int, _ data: [UInt8], isScanResponse: Bool = false) -> ScanReport {
    ScanReport(address: address(number), isConnectable: true, isScanResponse: isScanResponse, data: data, rssi: -40)
  }

  private static let filter = ScanFilter(number: 1, allowsDuplicates: true)
  /// One array, whose capacity counts, for all devices.
  private static let long = LongAdvertisement.uuids.octets

  /// What the record of a device refers to.
  private static func octets(of data: [UInt8], scanResponse: [UInt8]? = nil) -> Int {
    var record = AdvertisementRecord()
    _ = record.add(scanReport(0, data), for: filter, view: nil)
    if let scanResponse {
      _ = record.add(scanReport(0, scanResponse, isScanResponse: true), for: filter, view: nil)
    }
    return record.allocatedOctets
  }

  /// The longest advertisement takes its octets, and little more.
  @Test(arguments: LongAdvertisement.allCases)
  func theMemoryOfADeviceIsInProportionToItsOctets(kind: LongAdvertisement) {
    let short = Self.octets(of: [2, 1, 6])
    #expect(short < 1000)
    let long = Self.octets(of: kind.octets)
    #expect(long >= kind.octets.count && long <= short + kind.octets.count + 2304)
    // Where both areas are long, their octets are there once.
    let both = Self.octets(of: kind.octets, scanResponse: kind.octets)
    #expect(both >= 2 * kind.octets.count && both <= short + 2 * kind.octets.count + 2600)
  }

  /// With room for three devices the fourth one removes the one that was not received for the longest time.
  @Test(arguments: [(0, 3), (-1, 2)]) func theDeviceNotReceivedForTheLongestTimeMakesRoom(more: Int, count: Int) {
    let each = Self.octets(of: Self.long)
    var table = ScanTable(limit: 100, maximumOctets: 3 * each + more)
    let scanReports = (0...10).map { Self.scanReport($0, Self.long) }
    for number in 0..<10 {
      let addition = table.add(scanReports[number], for: Self.filter)
      #expect(addition.report?.data.serviceUUIDs.count == 818)
      #expect(table.allocatedOctets <= table.maximumOctets && table.count == min(number + 1, count))
    }
    #expect(table.all == (10 - count..<10).map(Self.address))
    // The one that is received stays.
    for number in [10 - count, 10] { _ = table.add(scanReports[number], for: Self.filter) }
    #expect(table.slot(of: Self.address(10 - count)) != nil && table.count == count)
    table.removeRecords()
    #expect(table.allocatedOctets == 0)
  }

  /// Devices that are in the table make room for the longer data of one of them.
  @Test func memoryIsLimitedForDevicesThatAreThere() {
    let limit = 100 * Self.octets(of: [2, 1, 6])
    var table = ScanTable(limit: 100, maximumOctets: limit)
    for number in 0..<100 { _ = table.add(Self.scanReport(number, [2, 1, 6]), for: Self.filter) }
    #expect(table.count == 100 && table.allocatedOctets == limit)
    for number in 50..<100 {
      _ = table.add(Self.scanReport(number, Self.long), for: Self.filter)
      #expect(table.allocatedOctets <= limit && table.slot(of: Self.address(number)) != nil)
    }
    for number in 0..<200 { _ = table.add(Self.scanReport(number, [2, 1, UInt8(number & 7)]), for: Self.filter) }
    #expect(table.count <= 100 && table.allocatedOctets <= limit)
  }

  @Test func aRecordThatDoesNotFitAtAllIsReportedAndNotKept() {
    var table = ScanTable(limit: 100, maximumOctets: 1024)
    #expect(table.add(Self.scanReport(1, Self.long), for: Self.filter).report != nil)
    #expect(table.count == 0 && table.allocatedOctets == 0)
    #expect(table.add(Self.scanReport(1, [2, 1, 6]), for: Self.filter).report != nil && table.count == 1)
  }

  /// Devices that the client needs stay; what they have advertised makes room.
  @Test(arguments: [false, true]) func neededDevicesStayWithoutTheirRecords(isNeeded: Bool) {
    let each = Self.octets(of: Self.long)
    var registry = ClientDevices<Bool>(limit: 1000, maximumOctets: 3 * each)
    for number in 0..<200 {
      let slot = registry.slot(of: Self.address(number), isNeeded: { $0 }, content: { _ in isNeeded })
      let scanReport = Self.scanReport(number, Self.long)
      #expect(registry.add(scanReport, at: slot, for: Self.filter, isNeeded: { $0 }).report != nil)
      #expect(registry.allocatedOctets <= registry.maximumOctets)
    }
    #expect(registry.all.count == (isNeeded ? 200 : 3) && registry.allocatedOctets == 3 * each)
    #expect(registry.record(of: Self.address(199)).data.serviceUUIDs.count == 818)
    #expect(registry.record(of: Self.address(0)).data == AdvertisedData())
    // The first devices are received again.
    for number in 0..<200 {
      let slot = registry.slot(of: Self.address(number), isNeeded: { $0 }, content: { _ in isNeeded })
      let scanReport = Self.scanReport(number, Self.long)
      #expect(registry.add(scanReport, at: slot, for: Self.filter, isNeeded: { $0 }).report != nil)
      #expect(registry.allocatedOctets <= registry.maximumOctets)
    }
  }

  private final class View: AdvertisedView {
    let count: Int
    init(_ content: AdvertisedContent) { count = content.data.serviceUUIDs.count }
    static func allocatedOctets(for data: AdvertisedData) -> Int { 1000 * data.serviceUUIDs.count }
  }

  /// The view of a content counts, and one of long lists is made for each report.
  @Test func viewsCount() throws {
    var records = (AdvertisementRecord(), AdvertisementRecord())
    let scanReport = Self.scanReport(1, [3, 3, 0x0D, 0x18])
    let content = try #require(records.0.add(scanReport, for: Self.filter, view: View.self).report?.content)
    _ = records.1.add(scanReport, for: Self.filter, view: nil)
    // The capacity of equal arrays can differ by what the allocator rounds.
    #expect((936...1064).contains(records.0.allocatedOctets - records.1.allocatedOctets))
    #expect(content.view(as: View.self) === content.view(as: View.self))
    let long = Self.scanReport(1, Self.long)
    let other = try #require(records.0.add(long, for: Self.filter, view: View.self).report?.content)
    _ = records.1.add(long, for: Self.filter, view: nil)
    #expect(records.0.allocatedOctets == records.1.allocatedOctets)
    #expect(other.view(as: View.self) !== other.view(as: View.self) && other.view(as: View.self).count == 818)
  }

  /// A scan that reports devices once keeps the reported content beside the present one.
  @Test func allContentsOfARecordCount() {
    var record = AdvertisementRecord()
    let filter = ScanFilter(number: 1)
    #expect(record.add(Self.scanReport(1, Self.long), for: filter, view: nil).report != nil)
    let first = record.allocatedOctets
    #expect(record.add(Self.scanReport(1, LongAdvertisement.addresses.octets), for: filter, view: nil).report == nil)
    #expect(record.allocatedOctets >= first + LongAdvertisement.addresses.octets.count)
    // What is received again adds nothing.
    let both = record.allocatedOctets
    for _ in 0..<10 {
      _ = record.add(Self.scanReport(1, LongAdvertisement.addresses.octets), for: filter, view: nil)
    }
    #expect(record.allocatedOctets <= both + 2 * LongAdvertisement.addresses.octets.count)
  }
}
