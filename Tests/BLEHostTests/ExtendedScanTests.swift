import BLEHCI
import BLEHost
import BLEVirtual
import BLEWire
import Testing

/// Advertisements that a controller reports in fragments (Vol 4, Part E, 7.7.65.13), up to the host's events.
@Suite("Scanning for long advertisements") struct ExtendedScanTests {
  /// 615 octets of AD structures, none of which ends where a report does: flags, services, and company data 1, 2 and 3.
  static let long: [UInt8] = {
    var octets: [UInt8] = [2, 1, 6, 3, 3, 0x0D, 0x18]
    octets += [201, 0xFF, 1, 0] + Array(repeating: 0xA1, count: 198)
    octets += [201, 0xFF, 2, 0] + Array(repeating: 0xA2, count: 198)
    octets += [203, 0xFF, 3, 0] + Array(repeating: 0xA3, count: 200)
    return octets
  }()

  static func command(_ command: some HCICommand) -> [UInt8] {
    var packet: [UInt8] = []
    packet.append(hci: command)
    return packet
  }

  /// Host 0's controller advertises ``long``, and host 1 scans for two seconds.
  static func scanReports(faults: [VirtualFault] = []) -> [ScanReport] {
    var world = World(
      2,
      controller: {
        var configuration = VirtualControllerConfiguration()
        if $0 == 1 { configuration.faults = faults }
        return configuration
      })
    world.forge(command(HCI.LESetExtendedAdvertisingParameters { $0.advertisingSID = 5 }), from: 0)
    for (operation, range) in [
      (HCI.DataOperation.first, 0..<251), (.intermediate, 251..<502), (.last, 502..<long.count),
    ] {
      let data = HCI.LESetExtendedAdvertisingData {
        $0.operation = operation
        $0.advertisingData = long[range]
      }
      world.forge(command(data), from: 0)
    }
    let enable = HCI.LESetExtendedAdvertisingEnable {
      $0.enable = true
      $0.sets = [.init()]
    }
    world.forge(command(enable), from: 0)
    world.ask(1, .scanning(.start(ScanParameters())))
    world.run(for: .seconds(2))
    return world.heard[1].flatMap { event -> [ScanReport] in
      if case .scanning(.discovered(let found)) = event { found } else { [] }
    }
  }

  @Test func aLongAdvertisementIsOneDiscovery() {
    #expect(Self.long.count == 615)
    let scanReports = Self.scanReports()
    #expect(!scanReports.isEmpty)
    #expect(scanReports.allSatisfy { $0.data == Self.long && !$0.isTruncated && !$0.isScanResponse })
    #expect(Set(scanReports.map(\.address)).count == 1)
  }

  @Test func oneWhoseEndIsLostIsMarked() {
    let scanReports = Self.scanReports(faults: [.losesChains(behind: 300)])
    #expect(!scanReports.isEmpty)
    #expect(scanReports.allSatisfy { $0.data == Array(Self.long.prefix(300)) && $0.isTruncated })
  }

  private static func report(
    _ data: Bytes, _ status: HCI.ExtendedAdvertisingReportType.DataStatus, from number: UInt64 = 1
  ) -> [UInt8] {
    var report = HCI.ExtendedAdvertisingReport()
    report.eventType.dataStatus = status
    report.address = DeviceAddress(octets: BD_ADDR(0xC000_0000_0000 + number), kind: .random)
    report.advertisingSID = 5
    report.data = data
    var packet: [UInt8] = []
    packet.append(hci: HCI.LEExtendedAdvertisingReport { $0.reports = [report] })
    return packet
  }

  private static func scanning() -> Bench {
    var bench = Bench()
    bench.perform(.scanning(.start(ScanParameters())))
    _ = bench.takeEvents()
    return bench
  }

  private static func heard(_ bench: inout Bench) -> [[UInt8]] {
    bench.takeEvents().flatMap { event -> [[UInt8]] in
      if case .scanning(.discovered(let found)) = event { found.map(\.data) } else { [] }
    }
  }

  @Test func reportsOfSeveralAdvertisersMayAlternate() {
    var bench = Self.scanning()
    bench.receive(Self.report([1], .moreToCome, from: 1))
    bench.receive(Self.report([2], .moreToCome, from: 2))
    bench.receive(Self.report([3], .complete, from: 3))
    bench.receive(Self.report([4], .complete, from: 1))
    bench.receive(Self.report([5], .complete, from: 2))
    #expect(Self.heard(&bench) == [[3], [1, 4], [2, 5]])
  }

  @Test func whatIsNeverCompletedIsDroppedInTime() {
    var bench = Self.scanning()
    bench.receive(Self.report([1], .moreToCome))
    #expect(bench.core.deadline == bench.now + .seconds(3))
    bench.run(for: .seconds(3))
    #expect(bench.core.deadline == nil)
    bench.receive(Self.report([2], .complete))
    #expect(Self.heard(&bench) == [[2]])
  }

  @Test func whatIsIncompleteEndsWithItsScan() {
    var bench = Self.scanning()
    bench.receive(Self.report([1], .moreToCome))
    bench.perform(.scanning(.stop))
    #expect(bench.core.deadline == nil)
    bench.perform(.scanning(.start(ScanParameters())))
    bench.receive(Self.report([2], .complete))
    #expect(Self.heard(&bench) == [[2]])
    // And with the controller's state.
    bench.receive(Self.report([1], .moreToCome))
    bench.receive([0x04, 0x10, 0x01, 0x00])
    bench.receive(Self.report([3], .complete))
    #expect(Self.heard(&bench) == [[3]])
  }
}
