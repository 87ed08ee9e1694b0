import BLEHCI
import BLEWire
import Testing

@testable import BLEHost

/// The reports that the host remembers while it scans (Vol 6, Part B, 4.4.3.5).
@Suite struct ReportTableTests {
  private static let owner = OwnerID(rawValue: 1)

  private static func scanReport(_ number: Int, _ data: [UInt8] = [2, 1, 6], rssi: Int8 = -40) -> ScanReport {
    ScanReport(
      address: DeviceAddress(octets: BD_ADDR(UInt64(number)), kind: .public), isConnectable: true,
      isScanResponse: false, data: data, rssi: rssi)
  }

  @Test func reportsThatSayTheSameShareTheirContent() {
    var table = ReportTable()
    let first = table.entry(Self.scanReport(1))
    let again = table.entry(Self.scanReport(1, rssi: -90))
    #expect(first.content === again.content && first.number == again.number)
    let changed = table.entry(Self.scanReport(1, [2, 1, 4]))
    #expect(changed.content !== first.content && changed.number > first.number)
    #expect(changed.firstNumber == first.firstNumber)
    var response = Self.scanReport(1)
    response.isScanResponse = true
    #expect(table.entry(response).firstNumber > changed.number, "apart from the advertisement")
  }

  /// With one report more than the limit, the one that was not received for the longest time is forgotten, and no
  /// other.
  @Test func theReportThatWasNotReceivedForTheLongestTimeMakesRoom() {
    var table = ReportTable()
    for number in 0..<ReportTable.limit { _ = table.receive(Self.scanReport(number)) }
    let first = table.entry(Self.scanReport(0)).firstNumber
    _ = table.receive(Self.scanReport(ReportTable.limit))
    #expect(table.entry(Self.scanReport(0)).firstNumber == first)
    #expect(table.entry(Self.scanReport(2)).firstNumber == 3)
    #expect(table.entry(Self.scanReport(1)).firstNumber > UInt64(ReportTable.limit), "forgotten")
  }

  @Test func theOctetsOfDataAreBounded() {
    var table = ReportTable()
    let long = [UInt8](repeating: 0, count: 1650)
    let fitting = ReportTable.maximumOctets / long.count
    for number in 0..<fitting { _ = table.receive(Self.scanReport(number, long)) }
    #expect(table.entry(Self.scanReport(0, long)).firstNumber == 1)
    _ = table.receive(Self.scanReport(fitting, long))
    #expect(table.entry(Self.scanReport(0, long)).firstNumber == 1)
    #expect(table.entry(Self.scanReport(1, long)).firstNumber > UInt64(fitting))
  }

  /// An owner that wants each device once receives one again only after the table has forgotten it.
  @Test func aDeviceIsReportedAnewWhenItWasForgotten() {
    var table = ReportTable()
    var request = ScanRequest(owner: Self.owner, parameters: ScanParameters())
    func admits(_ number: Int) -> Bool {
      let slot = table.receive(Self.scanReport(number))
      return request.admits(table[slot], at: slot)
    }
    for number in 0..<ReportTable.limit { #expect(admits(number)) }
    #expect(!admits(0) && admits(ReportTable.limit) && !admits(0) && !admits(2) && admits(1))
  }

  @Test func discoveriesForTheSameOwnersAreOneEvent() {
    var output = HostOutput()
    let limit = HostOutput.maximumDiscoveries
    for number in 0...limit { output.append(Self.scanReport(number), to: .owner(Self.owner)) }
    output.append(Self.scanReport(40), to: .everyone)
    output.append(.advertising(AdvertisingID(rawValue: 1), .resumed), to: .everyone)
    output.append(Self.scanReport(41), to: .everyone)
    let numbers = output.events.map { event -> [UInt64] in
      guard case .scanning(.discovered(let found)) = event.event else { return [] }
      return found.map(\.address.octets.value)
    }
    #expect(numbers == [(0..<UInt64(limit)).map { $0 }, [UInt64(limit)], [40], [], [41]])
  }
}

extension ReportTable {
  fileprivate mutating func entry(_ scanReport: ScanReport) -> Entry {
    let slot = receive(scanReport)
    return self[slot]
  }
}
