import AdapterFixtures
import BLEHCI
import BLEWire
import Testing

@testable import BLEHost
@testable import BLEKit

/// The memory of a scan, by the octets that its tables count.
@Suite struct ScanMemoryTests {
  private static func address(_ number: Int) -> DeviceAddress {
    DeviceAddress(octets: BD_ADDR(0xC000_0000_0000 | UInt64(number)), kind: .random)
  }

  private func scan() throws -> Scan { Scan(ScanOptions(), try ScanOptions().parameters(), ScanBuffer<ScanResult>()) }

  /// A device with the longest advertisement, from the reports of the controller to the table of the scan: of 16-bit
  /// UUIDs, which take 24 octets each when they are parsed, and of the other values.
  @Test(arguments: LongAdvertisement.allCases)
  func aDeviceTakesLittleMoreThanItsOctets(kind: LongAdvertisement) throws {
    let devices = 100
    var scanner = Scanner()
    var effects: [Effect<ScannerEffect>] = []
    scanner.start(ScanParameters(), for: OwnerID(rawValue: 1), RadioContext(isPoweredOn: true), into: &effects)
    effects = []
    var scan = try scan()
    for number in 0..<devices {
      let whole = kind.octets(UInt16(number))[...]
      // The controller reports it in pieces of 229 octets.
      for start in stride(from: 0, to: whole.count, by: 229) {
        var report = HCI.ExtendedAdvertisingReport()
        report.address = Self.address(number)
        report.advertisingSID = 0
        report.data = whole[start..<min(start + 229, whole.count)]
        report.eventType.dataStatus = start + 229 < whole.count ? .moreToCome : .complete
        scanner.receive(report, by: Self.address(number), now: .start, into: &effects)
      }
      for case .event(.scanning(.discovered(let found)), _) in effects { _ = scan.receive(found) }
      effects.removeAll()
    }
    #expect(scan.devices.count == devices)
    let each = scan.devices.allocatedOctets / devices
    #expect(each >= 1648 && each < 4096, "\(each) octets for each device")
  }

  /// Devices that were not received for the longest time are forgotten, and a scan that reports each once reports them
  /// anew.
  @Test func theMemoryOfDevicesIsBounded() throws {
    var scan = try scan()
    let data = LongAdvertisement.longData
    func receive(_ number: Int) -> Bool {
      let scanReport = ScanReport(
        address: Self.address(number), isConnectable: true, isScanResponse: false, data: data, rssi: -40)
      _ = scan.receive([scanReport])
      return true
    }
    _ = receive(0)
    let count = Scan.maximumOctets / scan.devices.allocatedOctets
    for number in 1..<count { _ = receive(number) }
    #expect(count < Scan.deviceLimit && scan.devices.count == count)
    #expect(scan.devices.slot(of: Self.address(0)) != nil)
    _ = receive(count)
    #expect(scan.devices.count == count && scan.devices.allocatedOctets <= Scan.maximumOctets)
    #expect(scan.devices.slot(of: Self.address(0)) == nil && scan.devices.slot(of: Self.address(count)) != nil)
  }

  @Test func theNumberOfDevicesIsBounded() throws {
    var scan = try scan()
    func receive(_ number: Int) {
      let scanReport = ScanReport(
        address: Self.address(number), isConnectable: true, isScanResponse: false, data: [2, 1, 6], rssi: -40)
      _ = scan.receive([scanReport])
    }
    for number in 0..<Scan.deviceLimit { receive(number) }
    #expect(scan.devices.count == Scan.deviceLimit && scan.devices.slot(of: Self.address(0)) != nil)
    receive(Scan.deviceLimit)
    #expect(scan.devices.count == Scan.deviceLimit && scan.devices.slot(of: Self.address(0)) == nil)
    #expect(scan.devices.allocatedOctets < Scan.maximumOctets)
  }

  /// Results whose devices sent the longest advertisement and the longest scan response.
  @Test func theMemoryOfWaitingResultsIsBounded() throws {
    var options = ScanOptions()
    options.waitsForScanResponse = true
    var scan = Scan(options, try options.parameters(), ScanBuffer<ScanResult>())
    var batch = ScanBuffer<ScanResult>.Batch()
    func receive(_ number: Int) {
      let scanReports = [false, true].map { isScanResponse in
        var scanReport = ScanReport(
          address: Self.address(number), isConnectable: true, isScanResponse: isScanResponse,
          data: LongAdvertisement.longData, rssi: -40)
        scanReport.isScannable = true
        return scanReport
      }
      _ = scan.receive(scanReports)
    }
    receive(0)
    var isReady = try scan.results.take(into: &batch)
    #expect(isReady)
    let each = batch.allocatedOctets
    #expect(each > 3300 && batch.next()?.address == Self.address(0) && batch.next() == nil)
    let count = ScanBuffer<ScanResult>.maximumOctets / each
    for number in 1...count { receive(number) }
    isReady = try scan.results.take(into: &batch)
    #expect(isReady)
    #expect(batch.count == count && batch.next()?.droppedBefore == 0)
    for number in 0..<3000 { receive(count + 1 + number) }
    isReady = try scan.results.take(into: &batch)
    #expect(isReady)
    #expect(batch.count == count && batch.allocatedOctets <= ScanBuffer<ScanResult>.maximumOctets)
    var found: [ScanResult] = []
    while let result = batch.next() { found.append(result) }
    #expect(found.first?.droppedBefore == 3000 - count && found.count == count)
    #expect(found.map(\.address) == (0..<3000).suffix(count).map { Self.address(count + 1 + $0) })
  }
}
