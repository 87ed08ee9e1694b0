import BLEGAP
import BLEHCI
import BLEHost
import BLEWire
import Testing

@testable import BLEAdapter

@Suite struct ClientDevicesTests {
  private static func address(_ number: UInt64) -> DeviceAddress {
    DeviceAddress(octets: BD_ADDR(0xC000_0000_0000 + number), kind: .random)
  }

  private static func scanReport(
    _ number: UInt64, _ data: String, isScanResponse: Bool = false, isTruncated: Bool = false
  ) throws -> ScanReport {
    ScanReport(
      address: address(number), isConnectable: true, isScanResponse: isScanResponse,
      data: try #require([UInt8](hexadecimal: data)), isTruncated: isTruncated, rssi: -40)
  }

  /// Of more devices than the limit, the one that was not used for the longest time is removed; one that is needed
  /// stays, beyond the limit too.
  @Test func removesTheDeviceThatIsNotUsed() {
    var registry = ClientDevices<Bool>(limit: 3, maximumOctets: 1 << 20)
    func remember(_ number: UInt64, isNeeded: Bool = false) {
      registry.slot(of: Self.address(number), isNeeded: { $0 }, content: { _ in isNeeded })
    }
    remember(1, isNeeded: true)
    remember(2)
    remember(3)
    #expect(registry.all.count == 3)
    remember(2)
    remember(4)
    #expect(Set(registry.all) == Set([1, 2, 4].map(Self.address)))
    #expect(registry.address(of: PeerIdentifier(Self.address(3))) == nil)
    #expect(registry.address(of: PeerIdentifier(Self.address(4))) == Self.address(4))
    registry[Self.address(2)] = true
    registry[Self.address(4)] = true
    remember(5)
    #expect(Set(registry.all) == Set([1, 2, 4, 5].map(Self.address)), "every other device is needed")
    registry[Self.address(2)] = false
    remember(6)
    #expect(Set(registry.all) == Set([1, 4, 6].map(Self.address)), "as far as there are too many")
    registry[Self.address(7)] = true
    #expect(registry[Self.address(7)] == nil, "unknown")
  }

  /// A client that needs all devices receives reports of new ones; the one that was not used for the longest time loses
  /// its record.
  @Test func aNewDeviceIsReportedWhereAllOthersAreNeeded() throws {
    var registry = ClientDevices<Bool>(limit: 3, maximumOctets: 1 << 20)
    let filter = ScanFilter(number: 1)
    for number in 1...5 as ClosedRange<UInt64> {
      let slot = registry.slot(of: Self.address(number), isNeeded: { $0 }, content: { _ in true })
      #expect(
        registry.add(try Self.scanReport(number, "020941"), at: slot, for: filter, isNeeded: { $0 }).report != nil)
    }
    #expect(registry.all.count == 5)
    #expect((1...5).map { registry.record(of: Self.address($0)).name } == [nil, nil, "A", "A", "A"])
  }

  /// A device that is needed counts as used when its place is wanted, and few are asked for each new device.
  @Test func looksAtFewDevicesForAPlace() {
    let limit = 1000
    var registry = ClientDevices<Bool>(limit: limit, maximumOctets: 1 << 20)
    var asked = 0
    func remember(_ number: Int, isNeeded: Bool) {
      registry.slot(
        of: Self.address(UInt64(number)),
        isNeeded: {
          asked += 1
          return $0
        }, content: { _ in isNeeded })
    }
    for number in 0..<limit { remember(number, isNeeded: number != 500) }
    #expect(asked == 0)
    var added = 0
    while registry[Self.address(500)] != nil, added < 100 {
      remember(limit + added, isNeeded: true)
      added += 1
    }
    #expect(added <= 500 / 50 && asked <= 64 * added)
    #expect(registry.all.count == limit + added - 1)
  }

  private final class View: AdvertisedView {
    init(_ content: AdvertisedContent) {}
    static func allocatedOctets(for data: AdvertisedData) -> Int { 16 }
  }

  @Test func reportsWithoutAChangeShareTheirContent() throws {
    var registry = ClientDevices<Bool>(limit: 3, maximumOctets: 1 << 20, view: View.self)
    let filter = ScanFilter(number: 1, allowsDuplicates: true)
    registry.slot(of: Self.address(1), isNeeded: { $0 }, content: { _ in false })
    let first = registry.add(try Self.scanReport(1, "020106"), for: filter, isNeeded: { $0 })
    var louder = try Self.scanReport(1, "020106")
    louder.rssi = -30
    let second = registry.add(louder, for: filter, isNeeded: { $0 })
    let content = try #require(first.report?.content)
    #expect(!first.isRepeated && second.isRepeated && second.report?.content === content)
    #expect(second.report?.rssi == -30 && second.report?.report.rssi == -30)
    #expect(second.report?.content.view(as: View.self) === content.view(as: View.self), "made once")
    let response = registry.add(try Self.scanReport(1, "020941", isScanResponse: true), for: filter, isNeeded: { $0 })
    #expect(!response.isRepeated && response.report?.content !== content)
    var directed = louder
    directed.isDirected = true
    #expect(registry.add(directed, for: filter, isNeeded: { $0 }).report?.report.isDirected == true)
    #expect(
      !registry.add(directed, for: ScanFilter(number: 2, allowsDuplicates: true), isNeeded: { $0 }).isRepeated,
      "another scan")
  }

  @Test func reportsADeviceOnceAndAgainForItsScanResponse() throws {
    var registry = ClientDevices<Bool>(limit: 3, maximumOctets: 1 << 20)
    let filter = ScanFilter(number: 1)
    #expect(registry.add(try Self.scanReport(1, "020106"), for: filter, isNeeded: { $0 }).report == nil, "unknown")
    registry.slot(of: Self.address(1), isNeeded: { $0 }, content: { _ in false })
    #expect(registry.add(try Self.scanReport(1, "020106"), for: filter, isNeeded: { $0 }).report?.rssi == -40)
    #expect(registry.add(try Self.scanReport(1, "020106"), for: filter, isNeeded: { $0 }).report == nil)
    let answered = registry.add(try Self.scanReport(1, "03094142", isScanResponse: true), for: filter, isNeeded: { $0 })
    #expect(answered.name?.new == "AB" && answered.name?.isChange == false)
    #expect(answered.report?.data.localName?.text == "AB")
    let renamed = registry.add(try Self.scanReport(1, "03094143", isScanResponse: true), for: filter, isNeeded: { $0 })
    #expect(renamed.name?.new == "AC" && renamed.name?.isChange == true)
    #expect(
      registry.add(try Self.scanReport(1, "020106"), for: ScanFilter(number: 2), isNeeded: { $0 }).report != nil,
      "another scan")
    let all = ScanFilter(number: 3, allowsDuplicates: true)
    for _ in 0..<2 { #expect(registry.add(try Self.scanReport(1, "020106"), for: all, isNeeded: { $0 }).report != nil) }
    registry.removeRecords()
    #expect(registry.record(of: Self.address(1)).name == nil && registry.all.count == 1)
  }

  @Test(arguments: [("180D", true), ("180F", false)])
  func reportsWhatTheFilterWants(uuid: String, isReported: Bool) throws {
    var registry = ClientDevices<Bool>(limit: 3, maximumOctets: 1 << 20)
    registry.slot(of: Self.address(1), isNeeded: { $0 }, content: { _ in false })
    let filter = ScanFilter(number: 1, services: [try #require(BluetoothUUID(uuid))])
    #expect(
      (registry.add(try Self.scanReport(1, "03030d18"), for: filter, isNeeded: { $0 }).report != nil) == isReported)
  }

  /// What the controller reported stays with the device, and the scan response joins it.
  @Test func aReportSaysWhatTheControllerSaid() throws {
    var registry = ClientDevices<Bool>(limit: 3, maximumOctets: 1 << 20)
    let filter = ScanFilter(number: 1, allowsDuplicates: true)
    var advertisement = try Self.scanReport(1, "020106")
    advertisement.reportedAddress = DeviceAddress(octets: BD_ADDR(0x4000_0000_0001), kind: .random)
    (advertisement.isLegacy, advertisement.isScannable, advertisement.isDirected) = (false, true, true)
    (advertisement.primaryPHY, advertisement.secondaryPHY, advertisement.advertisingSet) = (.leCoded, .le2M, 5)
    (advertisement.txPower, advertisement.periodicInterval) = (-3, 80)
    advertisement.target = Self.address(9)
    registry.slot(of: Self.address(1), isNeeded: { $0 }, content: { _ in false })
    #expect(registry.record(of: Self.address(1)).phys == [.le1M])
    let first = try #require(registry.add(advertisement, for: filter, isNeeded: { $0 }).report?.report)
    #expect(first.address == Self.address(1) && first.reportedAddress == advertisement.reportedAddress)
    #expect(!first.isLegacy && first.isConnectable && first.isScannable && first.isDirected)
    #expect(first.target == Self.address(9) && first.primaryPHY == .leCoded && first.secondaryPHY == .le2M)
    #expect(first.advertisingSet == 5 && first.txPower == -3 && first.periodicInterval == .milliseconds(100))
    #expect(first.advertisingData == [2, 1, 6] && first.scanResponse.isEmpty && first.rssi == -40)
    #expect(first.phys == [.leCoded, .le2M] && registry.record(of: Self.address(1)).phys == first.phys)
    var response = try Self.scanReport(1, "020941", isScanResponse: true)
    response.rssi = 127
    let second = try #require(registry.add(response, for: filter, isNeeded: { $0 }).report?.report)
    #expect(second.scanResponse == [2, 9, 0x41] && second.advertisingData == [2, 1, 6] && second.rssi == nil)
    #expect(second.primaryPHY == .leCoded && second.isDirected, "of the advertisement, not of its scan response")
  }

  private static func waiting() -> ScanFilter {
    var filter = ScanFilter(number: 1)
    filter.waitsForScanResponse = true
    return filter
  }

  /// An advertisement of a device that answers scan requests.
  private static func scannable(_ number: UInt64, _ data: String, rssi: Int8 = -40) throws -> ScanReport {
    var scanReport = try scanReport(number, data)
    (scanReport.isScannable, scanReport.rssi) = (true, rssi)
    return scanReport
  }

  /// A scan that waits reports both at once (``ScanParameters/waitsForScanResponse``).
  @Test func anAdvertisementWithItsScanResponseIsOneReport() throws {
    var table = ScanTable(limit: 3, maximumOctets: 1 << 20)
    #expect(table.add(try Self.scannable(1, "020106"), for: Self.waiting()).report == nil)
    #expect(table.add(try Self.scannable(1, "020106"), for: Self.waiting()).report == nil)
    let addition = table.add(try Self.scanReport(1, "020941", isScanResponse: true), for: Self.waiting())
    #expect(addition.name?.new == "A" && addition.report?.data.localName?.text == "A" && addition.report?.name == "A")
    #expect(addition.report?.report.scanResponse == [2, 9, 0x41])
    #expect(addition.report?.report.advertisingData == [2, 1, 6])
    for isScanResponse in [false, true] {
      let again = try Self.scanReport(1, isScanResponse ? "020941" : "020106", isScanResponse: isScanResponse)
      #expect(table.add(again, for: Self.waiting()).report == nil)
    }
    #expect(table.takeWaiting(for: Self.waiting()).isEmpty)
    // A device that answers no scan request is not waited for.
    #expect(table.add(try Self.scanReport(2, "020106"), for: Self.waiting()).report != nil)
  }

  @Test func anOverdueAdvertisementIsReportedWithoutItsScanResponse() throws {
    var table = ScanTable(limit: 3, maximumOctets: 1 << 20)
    let advertisement = try Self.scannable(1, "020941", rssi: -50)
    var overdue = advertisement
    overdue.isOverdue = true
    #expect(table.add(advertisement, for: Self.waiting()).report == nil)
    let report = table.add(overdue, for: Self.waiting()).report
    #expect(report?.name == "A" && report?.rssi == -50 && report?.report.scanResponse == [])
    #expect(table.add(overdue, for: Self.waiting()).report == nil)
    // A late scan response adds to it.
    #expect(table.add(try Self.scanReport(1, "020a00", isScanResponse: true), for: Self.waiting()).report != nil)
    // A scan that does not wait has had it as an advertisement.
    #expect(table.add(overdue, for: ScanFilter(number: 2, allowsDuplicates: true)).report == nil)
  }

  @Test func whatWaitsIsReportedAtTheEndOfTheScan() throws {
    var table = ScanTable(limit: 3, maximumOctets: 1 << 20)
    var filter = Self.waiting()
    filter.nameText = "a"
    for (number, name) in [(1, "020941"), (2, "020942"), (3, "020961")] as [(UInt64, String)] {
      #expect(table.add(try Self.scannable(number, name, rssi: -50), for: filter).report == nil)
    }
    let waiting = table.takeWaiting(for: filter)
    #expect(waiting.map(\.name) == ["A", "a"] && waiting.map(\.rssi) == [-50, -50])
    #expect(waiting.map(\.content.address) == [Self.address(1), Self.address(3)])
    #expect(table.takeWaiting(for: filter).isEmpty, "once")
    #expect(table.takeWaiting(for: ScanFilter(number: 2)).isEmpty, "another scan")
  }

  /// Each report is compared with the conditions, not the first one of a device alone.
  @Test func aNameThatComesLaterMeetsTheCondition() throws {
    var table = ScanTable(limit: 3, maximumOctets: 1 << 20)
    var filter = ScanFilter(number: 1)
    filter.nameText = "de"
    for other in ["020106", "1aff4c000215", "0409416263", "020106"] {
      #expect(table.add(try Self.scanReport(1, other), for: filter).report == nil)
    }
    #expect(table.add(try Self.scanReport(1, "0409446576"), for: filter).report?.name == "Dev")
    #expect(table.add(try Self.scanReport(1, "0409446576"), for: filter).report == nil)
  }

  @Test func aDeviceThatComesNearerMeetsTheCondition() throws {
    var table = ScanTable(limit: 3, maximumOctets: 1 << 20)
    var filter = ScanFilter(number: 1)
    filter.minimumRSSI = -60
    func report(_ rssi: Int8) throws -> DiscoveredDevice? {
      var scanReport = try Self.scanReport(1, "020106")
      scanReport.rssi = rssi
      return table.add(scanReport, for: filter).report
    }
    #expect(try report(-61) == nil && report(127) == nil && report(-90) == nil)
    #expect(try report(-60)?.rssi == -60)
    #expect(try report(-30) == nil, "once")
  }

  /// The name and the strength come with different advertisements.
  @Test func theLastNameOfADeviceStays() throws {
    var table = ScanTable(limit: 3, maximumOctets: 1 << 20)
    var filter = ScanFilter(number: 1)
    (filter.minimumRSSI, filter.nameText) = (-60, "polar")
    var named = try Self.scanReport(1, "0609506f6c6172")
    named.rssi = -61
    #expect(table.add(named, for: filter).report == nil)
    let report = table.add(try Self.scanReport(1, "020106"), for: filter).report
    #expect(report?.name == "Polar" && report?.data.localName == nil)
  }

  /// One report of the pair is strong enough.
  @Test func aStrongAdvertisementWithAWeakScanResponseIsReported() throws {
    var table = ScanTable(limit: 3, maximumOctets: 1 << 20)
    var filter = Self.waiting()
    filter.minimumRSSI = -60
    #expect(table.add(try Self.scannable(1, "020106", rssi: -60), for: filter).report == nil)
    var response = try Self.scanReport(1, "020941", isScanResponse: true)
    response.rssi = -62
    let report = table.add(response, for: filter).report
    #expect(report?.name == "A" && report?.rssi == -60)
  }

  /// A device that alternates advertisements with and without its name is not reported each time.
  @Test func aScanThatReportsNamesReportsEachNewName() throws {
    var table = ScanTable(limit: 3, maximumOctets: 1 << 20)
    var filter = ScanFilter(number: 1)
    filter.reportsNames = true
    var names: [String?] = []
    for data in ["020106", "0409446576", "020106", "0409446576", "0409416263", "020107"] {
      if let report = table.add(try Self.scanReport(1, data), for: filter).report { names.append(report.name) }
    }
    #expect(names == [nil, "Dev", "Abc"])
    filter = ScanFilter(number: 2)
    for data in ["020106", "0409446576"] {
      if table.add(try Self.scanReport(1, data), for: filter).report != nil { names.append("another") }
    }
    #expect(names == [nil, "Dev", "Abc", "another"])
  }
}
