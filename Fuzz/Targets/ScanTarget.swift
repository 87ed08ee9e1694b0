import BLEHCI
import BLEHost
import BLEWire

@testable import BLEAdapter
@testable import BLEGAP
@testable import BLEKit

/// The tables of scans of both APIs, and the devices that managers know together: advertisements and scan responses of
/// up to 1,650 octets, of few devices in turn.
///
/// It requires that
/// - each table keeps its limits of devices and of octets, and counts the octets of its records;
/// - the memory of a device is in proportion to the octets that it sent;
/// - the work of parsing is in proportion to the octets;
/// - each report has the content of its octets;
/// - a reader receives the results in order, and is told how many were dropped.
func fuzzScans(_ input: inout FuzzInput) {
  guard var run = ScanRun() else { return require(false, "the default parameters of a scan are rejected") }
  while !input.isEmpty, run.steps < ScanRun.stepLimit { run.step(&input) }
  run.finish()
}

/// A view as large as CoreBluetooth's dictionaries can be.
private final class FuzzView: AdvertisedView {
  let count: Int
  init(_ content: AdvertisedContent) { count = content.data.serviceUUIDs.count }
  static func allocatedOctets(for data: AdvertisedData) -> Int { 512 + data.serviceUUIDs.count * 80 }
}

private struct ScanRun {
  static let stepLimit = 300
  static let deviceLimit = 8

  var steps = 0
  private var scan: Scan
  private var batch = ScanBuffer<ScanResult>.Batch()
  /// The table of the Swift API, smaller than that of a scan.
  private var table = ScanTable(limit: deviceLimit, maximumOctets: 12_000)
  /// The table of a central manager; the content is whether the application holds the device.
  private var registry = ClientDevices<Bool>(limit: deviceLimit, maximumOctets: 12_000, view: FuzzView.self)
  private let known = AdapterDevices()
  /// The last report of each device, and the longest data that it sent.
  private var last: [Int: ScanReport] = [:]
  private var longest: [Int: Int] = [:]
  /// Results for the reader, in order, and how many there are.
  private var sent = 0
  private var received = 0

  init?() {
    var options = ScanOptions()
    options.allowsDuplicates = true
    guard let parameters = try? options.parameters() else { return nil }
    scan = Scan(options, parameters, ScanBuffer<ScanResult>())
  }

  mutating func step(_ input: inout FuzzInput) {
    steps += 1
    let number = input.index(16)
    switch input.index(8) {
    case 0: read()
    case 1: registry[Self.address(number)] = input.flag()
    case 2: known.note(.named(Self.address(number), String(decoding: input.counted(), as: UTF8.self)))
    case 3: if let scanReport = last[number] { receive(scanReport, from: number, &input) }
    default: receive(scanReport(number, &input), from: number, &input)
    }
  }

  private static func address(_ number: Int) -> DeviceAddress {
    DeviceAddress(octets: BD_ADDR(0xC000_0000_0000 + UInt64(number)), kind: .random)
  }

  private mutating func scanReport(_ number: Int, _ input: inout FuzzInput) -> ScanReport {
    let kind = input.octet()
    var scanReport = ScanReport(
      address: Self.address(number), isConnectable: kind & 1 != 0, isScanResponse: kind & 2 != 0, data: area(&input),
      isTruncated: kind & 4 != 0, rssi: Int8(truncatingIfNeeded: -steps))
    scanReport.isOverdue = kind & 10 == 8
    if kind & 16 != 0 { scanReport.txPower = Int8(bitPattern: kind) }
    return scanReport
  }

  /// Octets of the input, or an area that is full of structures of one type and one length, with other values each.
  private func area(_ input: inout FuzzInput) -> [UInt8] {
    guard input.flag() else { return input.counted() }
    let (type, length, salt) = (input.octet(), input.index(255), input.uint16())
    let count = min(1650, Int(input.octet()) * 8)
    var (octets, value): ([UInt8], UInt16) = ([], salt)
    while octets.count + length + 2 <= count {
      octets += [UInt8(length + 1), type]
      for index in 0..<length {
        octets.append(UInt8(truncatingIfNeeded: index & 1 == 0 ? value : value >> 8))
        if index & 1 == 1 { value &+= 1 }
      }
    }
    return octets
  }

  private mutating func receive(_ scanReport: ScanReport, from number: Int, _ input: inout FuzzInput) {
    last[number] = scanReport
    let octets = scanReport.content.data.count
    longest[number] = max(longest[number] ?? 0, octets)
    check(scanReport.content.data[...])

    let choice = input.octet()
    let filter = ScanFilter(
      number: UInt64(choice & 1), services: choice & 2 == 0 ? [] : ["180D"], allowsDuplicates: input.flag())
    check(table.add(scanReport, for: filter))
    let isNew = registry[scanReport.address] == nil
    let slot = registry.slot(of: scanReport.address, isNeeded: { $0 }, content: { _ in input.flag() })
    let needed = registry.all.count { registry[$0] == true }
    require(
      !isNew || registry.all.count <= Self.deviceLimit + needed, "\(registry.all.count) devices, \(needed) needed")
    let addition = registry.add(scanReport, at: slot, for: filter, isNeeded: { $0 })
    check(addition)
    if let content = addition.report?.content {
      require(content.view(as: FuzzView.self).count == content.data.serviceUUIDs.count, "the view of another content")
      known.note(.seen(scanReport.address, name: registry.name(at: slot), services: content.data.serviceUUIDs))
      let services = known.services(of: scanReport.address)
      require(content.data.serviceUUIDs.isEmpty || services == content.data.serviceUUIDs, "other services are known")
    }
    // One that is overdue was reported before.
    if !scanReport.isOverdue {
      _ = scan.receive([scanReport])
      sent += 1
    }
    checkTables()
    let bare = registry.all.count { registry[$0] == true && registry.record(of: $0).allocatedOctets == 0 }
    plantedFault(
      bare > 2 && octets > 1500 && addition.report != nil && known.allocatedOctets > 1000,
      "\(bare) devices that are needed have made room for one of \(octets) octets")
  }

  /// What is parsed, of any octets.
  private func check(_ octets: Bytes) {
    var parser = AdvertisedListParser()
    for structure in ADStructures(octets) { parser.add(structure) }
    let lists = parser.finish()
    require(parser.comparisons <= 17 * octets.count, "\(parser.comparisons) comparisons for \(octets.count) octets")
    let bound = AdvertisedLists.memoryBound(of: octets)
    require(lists.allocatedOctets <= bound, "\(lists.allocatedOctets) octets, and \(bound) were expected at most")
    let data = AdvertisedData(advertisingData: octets)
    require(data.allocatedOctets <= AdvertisedListStorage.maximumOctets, "\(data.allocatedOctets) octets of lists")
    require(data.withParsedLists == data && data.serviceUUIDs == lists.serviceUUIDs, "other lists")
    require(Set(data.serviceUUIDs).count == data.serviceUUIDs.count, "a service twice")
    require(Set(data.serviceData.map(\.uuid)).count == data.serviceData.count, "data of a service twice")
  }

  private func check(_ addition: ScanTable.Addition) {
    guard let device = addition.report else { return }
    let report = device.report
    let data = AdvertisedData(advertisingData: report.advertisingData[...], scanResponse: report.scanResponse[...])
    require(device.data == data, "a report has other content than its octets")
  }

  private func checkTables() {
    require(table.count <= table.limit && table.allocatedOctets <= table.maximumOctets, "the table is too large")
    require(registry.allocatedOctets <= registry.maximumOctets, "\(registry.allocatedOctets) octets of records")
    require(known.allocatedOctets <= AdapterDevices.maximumOctets, "the known devices take too much")
    var sum = 0
    for number in 0..<16 {
      let record = registry.record(of: Self.address(number))
      sum += record.allocatedOctets
      // The present content and the reported one, each of two areas and their description.
      let bound = 14_000 + 8 * (longest[number] ?? 0)
      require(record.allocatedOctets <= bound, "\(record.allocatedOctets) octets of a device, and \(bound) at most")
    }
    require(sum == registry.allocatedOctets, "the records take \(sum) octets, and \(registry.allocatedOctets) count")
  }

  /// The reader takes what waits.
  private mutating func read() {
    guard (try? scan.results.take(into: &batch)) == true else { return }
    require(
      batch.count <= ScanBuffer<ScanResult>.limit && batch.allocatedOctets <= ScanBuffer<ScanResult>.maximumOctets,
      "too many results")
    while let result = batch.next() { received += 1 + result.droppedBefore }
    require(received == sent, "\(received) of \(sent) results are accounted for")
  }

  mutating func finish() {
    read()
    table.removeRecords()
    registry.removeRecords()
    require(table.allocatedOctets == 0 && registry.allocatedOctets == 0, "removed records count")
  }
}
