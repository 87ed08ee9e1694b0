import BLEHCI
import BLEVirtual
import BLEWire
import Testing

/// Legacy advertising and scanning: Vol 4, Part E, 7.8.5 to 7.8.11.
struct AdvertisingTests {
  /// Both reports of an active scan, octet by octet.
  @Test func activeScanOctets() throws {
    var stage = RadioStage()
    let advertiser = stage.attach { $0.publicAddress = BD_ADDR(0xC0FF_EE00_0001) }
    let scanner = stage.attach()
    try stage.advertise(advertiser)
    try stage.scan(scanner, filterDuplicates: true)
    stage.run(for: .seconds(1))
    #expect(
      stage.take(scanner).map(\.hexadecimal) == [
        "043e0f02" + "0100" + "00" + "010000eeffc0" + "03" + "020106" + "ce",
        "043e1002" + "0104" + "00" + "010000eeffc0" + "04" + "03096869" + "ce",
      ])
  }

  static let kinds: [(HCI.AdvertisingType, HCI.AdvertisingReportType, hasResponse: Bool)] = [
    (.connectableUndirected, .connectable, true),
    (.scannableUndirected, .scannable, true),
    (.nonConnectable, .nonConnectable, false),
  ]

  @Test(arguments: kinds) func reportTypes(
    _ type: HCI.AdvertisingType, _ report: HCI.AdvertisingReportType, hasResponse: Bool
  ) throws {
    var stage = RadioStage()
    let (advertiser, active, passive) = (stage.attach(), stage.attach(), stage.attach())
    try stage.advertise(advertiser, type)
    try stage.scan(active, filterDuplicates: true)
    try stage.scan(passive, .passive, filterDuplicates: true)
    stage.run(for: .seconds(1))
    #expect(try stage.reports(active).map(\.eventType) == (hasResponse ? [report, .scanResponse] : [report]))
    #expect(try stage.reports(passive).map(\.eventType) == [report])
  }

  /// Ten a second at 100 ms and up to 10 ms of delay; each with its scan response where duplicates are wanted.
  @Test func intervalAndDuplicates() throws {
    var stage = RadioStage()
    let (advertiser, scanner) = (stage.attach(), stage.attach())
    try stage.advertise(advertiser)
    try stage.scan(scanner)
    stage.run(for: .seconds(10))
    let reports = try stage.reports(scanner)
    let events = reports.filter { $0.eventType == .connectable }.count
    #expect((90...100).contains(events))
    #expect(reports.count == 2 * events)
    // Data that changes is reported with the next event.
    try stage.expect(
      .success, for: HCI.LESetAdvertisingData { $0.advertisingData = [0x02, 0x0A, 0x00] }, from: advertiser)
    stage.run(for: .seconds(1))
    let changed = try stage.reports(scanner).filter { $0.eventType == .connectable }
    #expect(changed.allSatisfy { $0.data.elementsEqual([0x02, 0x0A, 0x00]) } && !changed.isEmpty)
  }

  /// An hour of virtual time: as many events as the interval allows, and no real time to speak of.
  @Test func anHour() throws {
    var stage = RadioStage()
    let (advertiser, scanner) = (stage.attach(), stage.attach())
    try stage.advertise(advertiser)
    try stage.scan(scanner, .passive, filterDuplicates: true)
    stage.run(for: .seconds(3600))
    #expect(try stage.reports(scanner).count == 1)
    stage.send(HCI.LESetScanEnable(), from: scanner)
    try stage.scan(scanner, .passive)
    _ = stage.take(scanner)
    stage.run(for: .seconds(3600))
    let events = stage.take(scanner).count
    #expect((3600 * 1000 / 106...3600 * 1000 / 104).contains(events))
  }

  @Test func sameSeedSameRun() throws {
    func run(_ seed: UInt64) throws -> [[UInt8]] {
      var stage = RadioStage(seed: seed)
      let (advertiser, scanner) = (stage.attach(), stage.attach())
      try stage.advertise(advertiser)
      try stage.scan(scanner)
      stage.run(for: .seconds(10))
      return stage.take(scanner)
    }
    #expect(try run(1) == run(1))
    #expect(try run(1) != run(2))
  }

  @Test func nothingAfterDisable() throws {
    var stage = RadioStage()
    let (advertiser, scanner) = (stage.attach(), stage.attach())
    try stage.advertise(advertiser)
    try stage.scan(scanner)
    try stage.expect(.success, for: HCI.LESetAdvertisingEnable(), from: advertiser)
    try stage.expect(.success, for: HCI.LESetAdvertisingEnable(), from: advertiser)
    stage.run(for: .seconds(1))
    #expect(stage.take(scanner).isEmpty)
    #expect(stage.radio.deadline == nil)
  }

  /// A random address must be there before it is used, and stands while it is.
  @Test func randomAddress() throws {
    var stage = RadioStage()
    let (advertiser, scanner) = (stage.attach(), stage.attach())
    let parameters = HCI.LESetAdvertisingParameters { $0.ownAddressType = .random }
    try stage.expect(.success, for: parameters, from: advertiser)
    let enable = HCI.LESetAdvertisingEnable { $0.advertisingEnable = true }
    try stage.expect(.invalidCommandParameters, for: enable, from: advertiser)
    let address = HCI.LESetRandomAddress { $0.randomAddress = BD_ADDR(0xC111_2233_4455) }
    try stage.expect(.success, for: address, from: advertiser)
    try stage.expect(.success, for: enable, from: advertiser)
    try stage.expect(.commandDisallowed, for: address, from: advertiser)
    try stage.scan(scanner, .passive, filterDuplicates: true)
    stage.run(for: .seconds(3))
    let reports = try stage.reports(scanner)
    #expect(reports.map(\.address) == [DeviceAddress(octets: BD_ADDR(0xC111_2233_4455), kind: .random)])
  }

  @Test func parametersStandWhileEnabled() throws {
    var stage = RadioStage()
    let id = stage.attach()
    try stage.advertise(id)
    try stage.expect(.commandDisallowed, for: HCI.LESetAdvertisingParameters(), from: id)
    try stage.scan(id)
    try stage.expect(.commandDisallowed, for: HCI.LESetScanParameters(), from: id)
    try stage.expect(.success, for: HCI.LESetScanEnable(), from: id)
    try stage.expect(.success, for: HCI.LESetScanParameters(), from: id)
  }

  static let badParameters: [HCI.LESetAdvertisingParameters] = [
    .init { $0.advertisingIntervalMin = 0x1F },
    .init { $0.advertisingIntervalMax = 0x4001 },
    .init {
      $0.advertisingIntervalMin = 0x0801
      $0.advertisingIntervalMax = 0x0800
    },
    .init { $0.advertisingType = .init(rawValue: 5) },
    .init { $0.ownAddressType = .init(rawValue: 4) },
    .init { $0.advertisingChannelMap = [] },
    .init { $0.advertisingChannelMap = .init(rawValue: 8) },
    .init { $0.advertisingFilterPolicy = .init(rawValue: 4) },
    .init { $0.peerAddress.kind = .publicIdentity },
  ]

  @Test(arguments: badParameters) func refused(_ parameters: HCI.LESetAdvertisingParameters) throws {
    var stage = RadioStage()
    let id = stage.attach()
    try stage.expect(.invalidCommandParameters, for: parameters, from: id)
  }

  static let badScans: [HCI.LESetScanParameters] = [
    .init { $0.scanInterval = 3 }, .init { $0.scanWindow = 0x11 }, .init { $0.scanType = .init(rawValue: 2) },
    .init { $0.scanningFilterPolicy = .init(rawValue: 4) }, .init { $0.ownAddressType = .init(rawValue: 4) },
  ]

  @Test(arguments: badScans) func refusedScan(_ parameters: HCI.LESetScanParameters) throws {
    var stage = RadioStage()
    let id = stage.attach()
    try stage.expect(.invalidCommandParameters, for: parameters, from: id)
  }

  /// Directed advertising: the target hears it, nobody else; at the high duty cycle it ends after 1.28 s with status
  /// 0x3C.
  @Test func directed() throws {
    var stage = RadioStage()
    let (advertiser, target, other) = (stage.attach(), stage.attach(), stage.attach())
    let peer = stage.address(of: target)
    try stage.advertise(advertiser, .directedHighDutyCycle) { $0.peerAddress = peer }
    try stage.scan(target, filterDuplicates: true)
    try stage.scan(other, filterDuplicates: true)
    stage.run(for: .milliseconds(1279))
    #expect(try stage.reports(target).map(\.eventType) == [.directed])
    #expect(stage.take(other).isEmpty)
    #expect(stage.take(advertiser).isEmpty)
    stage.run(for: .milliseconds(1))
    guard let event = try stage.metaEvents(advertiser).first as? HCI.LEEnhancedConnectionComplete else {
      Issue.record("Enhanced Connection Complete")
      return
    }
    #expect(event.status == .advertisingTimeout)
    #expect(stage.radio.deadline == nil)
  }

  /// Scan filter policy 1: the accept list only. The list stands while it is used.
  @Test func acceptListScan() throws {
    var stage = RadioStage()
    let (wanted, other, scanner) = (stage.attach(), stage.attach(), stage.attach())
    try stage.advertise(wanted)
    try stage.advertise(other)
    let address = stage.address(of: wanted)
    try stage.expect(.success, for: HCI.LEAddDeviceToFilterAcceptList { $0.address = address }, from: scanner)
    try stage.expect(.success, for: HCI.LESetScanParameters { $0.scanningFilterPolicy = .acceptList }, from: scanner)
    try stage.expect(.success, for: HCI.LESetScanEnable { $0.scanEnable = true }, from: scanner)
    stage.run(for: .seconds(1))
    #expect(Set(try stage.reports(scanner).map(\.address)) == [address])
    try stage.expect(.commandDisallowed, for: HCI.LEClearFilterAcceptList(), from: scanner)
    try stage.expect(.commandDisallowed, for: HCI.LEAddDeviceToFilterAcceptList { $0.address = address }, from: scanner)
  }

  /// Advertising filter policy 1: scan requests of strangers stay unanswered.
  @Test func scanRequestsFromAcceptList() throws {
    var stage = RadioStage()
    let (advertiser, friend, stranger) = (stage.attach(), stage.attach(), stage.attach())
    let address = stage.address(of: friend)
    try stage.expect(.success, for: HCI.LEAddDeviceToFilterAcceptList { $0.address = address }, from: advertiser)
    try stage.advertise(advertiser) { $0.advertisingFilterPolicy = .scanRequestsFromAcceptList }
    try stage.scan(friend, filterDuplicates: true)
    try stage.scan(stranger, filterDuplicates: true)
    stage.run(for: .seconds(1))
    #expect(try stage.reports(friend).count == 2)
    #expect(try stage.reports(stranger).count == 1)
  }

  @Test func acceptListSize() throws {
    var stage = RadioStage()
    let id = stage.attach { $0.filterAcceptListSize = 2 }
    func add(_ number: UInt64) -> HCI.LEAddDeviceToFilterAcceptList {
      .init { $0.address = DeviceAddress(octets: BD_ADDR(number), kind: .random) }
    }
    try stage.expect(.success, for: add(1), from: id)
    try stage.expect(.success, for: add(2), from: id)
    try stage.expect(.success, for: add(2), from: id)
    try stage.expect(.memoryCapacityExceeded, for: add(3), from: id)
    try stage.expect(.success, for: HCI.LERemoveDeviceFromFilterAcceptList { $0.address = add(1).address }, from: id)
    try stage.expect(.success, for: add(3), from: id)
  }
}

extension RadioStage {
  /// The legacy reports that a host has received since the last call.
  mutating func reports(_ id: ControllerID) throws -> [HCI.AdvertisingReport] {
    var reports: [HCI.AdvertisingReport] = []
    for case let event as HCI.LEAdvertisingReport in try metaEvents(id) { reports += event.reports }
    return reports
  }

  /// The extended ones.
  mutating func extendedReports(_ id: ControllerID) throws -> [HCI.ExtendedAdvertisingReport] {
    var reports: [HCI.ExtendedAdvertisingReport] = []
    for case let event as HCI.LEExtendedAdvertisingReport in try metaEvents(id) { reports += event.reports }
    return reports
  }
}
