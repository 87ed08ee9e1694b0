import BLEHCI
import BLEVirtual
import BLEWire
import Testing

/// Advertising and scanning with airtime: Vol 6, Part B, 4.4.2 to 4.4.4.
struct AdvertisingTimingTests {
  struct Report {
    let time: Instant
    let type: HCI.AdvertisingReportType
    let address: DeviceAddress
  }

  /// In units of 0.625 ms; 0x4000 is 10.24 s.
  func scan(
    _ stage: inout RadioStage, _ id: ControllerID, _ type: HCI.ScanType = .passive, interval: UInt16 = 0x4000,
    window: UInt16 = 0x4000
  ) throws {
    let parameters = HCI.LESetScanParameters {
      $0.scanType = type
      $0.scanInterval = interval
      $0.scanWindow = window
    }
    try stage.expect(.success, for: parameters, from: id)
    try stage.expect(.success, for: HCI.LESetScanEnable { $0.scanEnable = true }, from: id)
    _ = stage.take(id)
  }

  /// The legacy reports of each scanner with their times.
  func reports(_ stage: inout RadioStage, _ ids: [ControllerID], for duration: Duration) throws -> [[Report]] {
    var heard = ids.map { _ in [Report]() }
    let end = stage.now + duration
    while stage.step(until: end) {
      for (index, id) in ids.enumerated() {
        heard[index] += try stage.reports(id).map { Report(time: stage.now, type: $0.eventType, address: $0.address) }
      }
    }
    return heard
  }

  /// An interval of 100 ms is 100 to 110 ms from one event to the next (advDelay, 4.4.2.2.1).
  @Test func intervalAndDelay() throws {
    var stage = RadioStage(pacing: .airtime)
    let (advertiser, scanner) = (stage.attach(), stage.attach())
    try stage.advertise(advertiser, .nonConnectable)
    try scan(&stage, scanner)
    // Less than one scan interval: every event is received on the same channel.
    let times = try reports(&stage, [scanner], for: .seconds(10))[0].map(\.time)
    let gaps = zip(times, times.dropFirst()).map { $1 - $0 }
    #expect((90...99).contains(gaps.count))
    #expect(gaps.allSatisfy { $0 >= .milliseconds(100) && $0 <= .milliseconds(110) })
    #expect(Set(gaps).count > 50)
  }

  /// A window of 30 ms in each 60 ms misses about half of the events.
  @Test(arguments: [(48, 96, 40...60), (96, 96, 95...103), (24, 96, 17...33)] as [(UInt16, UInt16, ClosedRange<Int>)])
  func scanWindow(window: UInt16, interval: UInt16, percent: ClosedRange<Int>) throws {
    var stage = RadioStage(pacing: .airtime)
    let (advertiser, scanner) = (stage.attach(), stage.attach())
    try stage.advertise(advertiser, .nonConnectable)
    try scan(&stage, scanner, interval: interval, window: window)
    let heard = try reports(&stage, [scanner], for: .seconds(105))[0].count
    #expect(percent.contains(heard / 10), "\(heard) of about 1000")
  }

  /// A scanner receives on one channel at a time: an advertiser on channel 38 alone is received in every third
  /// interval.
  @Test func channelRotation() throws {
    var stage = RadioStage(pacing: .airtime)
    let (advertiser, scanner) = (stage.attach(), stage.attach())
    try stage.advertise(advertiser, .nonConnectable) { $0.advertisingChannelMap = .channel38 }
    try scan(&stage, scanner, interval: 0x640, window: 0x640)
    let begin = stage.now
    let times = try reports(&stage, [scanner], for: .seconds(9))[0].map(\.time)
    #expect((25...30).contains(times.count))
    #expect(times.allSatisfy { [1, 4, 7].contains(Int(($0 - begin) / .seconds(1))) })
  }

  /// ADV_IND, T_IFS, SCAN_REQ of 176 µs, T_IFS, SCAN_RSP with 4 octets of data: 160 µs.
  @Test func scanResponseTakesAirtime() throws {
    var stage = RadioStage(pacing: .airtime)
    let (advertiser, scanner) = (stage.attach(), stage.attach())
    try stage.advertise(advertiser)
    try scan(&stage, scanner, .active)
    let heard = try reports(&stage, [scanner], for: .seconds(5))[0]
    #expect(heard.count > 80 && heard.count % 2 == 0)
    for index in stride(from: 0, to: heard.count, by: 2) {
      #expect(heard[index].type == .connectable && heard[index + 1].type == .scanResponse)
      #expect(heard[index + 1].time - heard[index].time == .microseconds(150 + 176 + 150 + 160))
    }
  }

  /// An advertisement has room for one request: two active scanners share the scan responses.
  @Test func scannersShareResponses() throws {
    var stage = RadioStage(pacing: .airtime)
    let (advertiser, first, second) = (stage.attach(), stage.attach(), stage.attach())
    try stage.advertise(advertiser)
    for id in [first, second] { try scan(&stage, id, .active) }
    let heard = try reports(&stage, [first, second], for: .seconds(10))
    let events = heard.map { $0.filter { $0.type == .connectable }.count }
    let responses = heard.map { $0.filter { $0.type == .scanResponse }.count }
    #expect(events[0] == events[1] && responses[0] + responses[1] == events[0])
    #expect(responses.allSatisfy { $0 > events[0] / 4 })
  }

  /// An hour of advertising takes little real time, with a scanner and without one.
  @Test func anHour() throws {
    var stage = RadioStage(pacing: .airtime)
    let (advertiser, scanner) = (stage.attach(), stage.attach())
    try stage.advertise(advertiser)
    stage.run(for: .seconds(3600))
    try scan(&stage, scanner, interval: 96, window: 96)
    stage.run(for: .seconds(3600))
    let heard = stage.take(scanner).count
    #expect((33_000...35_500).contains(heard))
  }

  @Test func sameSeedSameRun() throws {
    func run(_ seed: UInt64) throws -> [Instant] {
      var stage = RadioStage(seed: seed, pacing: .airtime)
      let (advertiser, first, second) = (stage.attach(), stage.attach(), stage.attach())
      try stage.advertise(advertiser)
      for id in [first, second] { try scan(&stage, id, .active, interval: 96, window: 48) }
      return try reports(&stage, [first, second], for: .seconds(20))[0].map(\.time)
    }
    #expect(try run(1) == run(1))
    #expect(try run(1) != run(2))
  }

  // MARK: Initiating

  /// An initiator connects to what it receives in its windows: 2.5 ms in 10.24 s need many advertisements.
  @Test func initiatorWindow() throws {
    func wait(window: UInt16) throws -> Duration {
      var stage = RadioStage(pacing: .airtime)
      let (central, peripheral) = (stage.attach(), stage.attach())
      try stage.advertise(peripheral)
      let peer = stage.address(of: peripheral)
      stage.run(for: .milliseconds(500))
      let create = HCI.LECreateConnection {
        $0.peerAddress = peer
        $0.scanInterval = 0x4000
        $0.scanWindow = window
      }
      try stage.expect(.success, for: create, from: central)
      let begin = stage.now
      while stage.step(until: begin + .seconds(7200)) {
        if try !stage.metaEvents(central).isEmpty { return stage.now - begin }
      }
      return .seconds(7200)
    }
    #expect(try wait(window: 0x4000) < .milliseconds(111))
    let long = try wait(window: 4)
    #expect(long > .seconds(10) && long < .seconds(7200))
  }

  /// The first anchor point: 1.25 ms after CONNECT_IND, and transmitWindowOffset of at most one interval (4.5.3).
  @Test func firstAnchorPoint() throws {
    var offsets: Set<Int> = []
    for seed: UInt64 in 0..<20 {
      var stage = RadioStage(seed: seed, pacing: .airtime)
      let (central, peripheral) = (stage.attach(), stage.attach())
      try stage.advertise(peripheral)
      let peer = stage.address(of: peripheral)
      try stage.expect(.success, for: HCI.LECreateConnection { $0.peerAddress = peer }, from: central)
      var connected: Instant?
      var arrived: Instant?
      while arrived == nil, stage.step(until: .start + .seconds(10)) {
        for case let event as HCI.LEEnhancedConnectionComplete in try stage.metaEvents(central) {
          connected = stage.now
          stage.send(
            [0x02] + event.connectionHandle.octets + [20, 0] + [UInt8](repeating: 0, count: 20), from: central)
        }
        if stage.take(peripheral).contains(where: { $0[0] == 0x02 }) { arrived = stage.now }
      }
      let delay = try #require(arrived) - #require(connected)
      let offset = delay - .microseconds(1250 + 240)
      let units = Int((offset / .microseconds(1250)).rounded())
      #expect(offset == .microseconds(1250 * Int64(units)) && (0...24).contains(units))
      offsets.insert(units)
    }
    #expect(offsets.count > 5)
  }

  // MARK: Extended advertising

  func advertise(
    _ stage: inout RadioStage, _ id: ControllerID, count: Int,
    _ configure: (inout HCI.LESetExtendedAdvertisingParameters) -> Void
  ) throws {
    var parameters = HCI.LESetExtendedAdvertisingParameters {
      $0.primaryAdvertisingIntervalMin = 160
      $0.primaryAdvertisingIntervalMax = 160
    }
    configure(&parameters)
    try stage.expect(.success, for: parameters, from: id)
    if count > 0 {
      let data = HCI.LESetExtendedAdvertisingData {
        $0.operation = .complete
        $0.advertisingData = Bytes(repeating: 0x01, count: count)
      }
      try stage.expect(.success, for: data, from: id)
    }
    let enable = HCI.LESetExtendedAdvertisingEnable {
      $0.enable = true
      $0.sets = [.init()]
    }
    try stage.expect(.success, for: enable, from: id)
  }

  func scanExtended(_ stage: inout RadioStage, _ id: ControllerID, on phys: HCI.PHYs) throws {
    let parameters = HCI.LESetExtendedScanParameters {
      $0.scanningPHYs = phys
      $0.scans = (0..<phys.count).map { _ in
        .init {
          $0.scanInterval = 0x4000
          $0.scanWindow = 0x4000
        }
      }
    }
    try stage.expect(.success, for: parameters, from: id)
    try stage.expect(.success, for: HCI.LESetExtendedScanEnable { $0.enable = true }, from: id)
  }

  /// A scanner on the primary PHY of the set receives its auxiliary packet; one on another PHY receives nothing.
  @Test(arguments: [HCI.PHY.le1M, .leCoded]) func primaryPHY(_ phy: HCI.PHY) throws {
    var stage = RadioStage(pacing: .airtime)
    let (advertiser, onOneMegabit, onCoded) = (stage.attach(), stage.attach(), stage.attach())
    try advertise(&stage, advertiser, count: 40) {
      $0.primaryAdvertisingPHY = phy
      $0.secondaryAdvertisingPHY = phy == .le1M ? .le2M : .leCoded
    }
    try scanExtended(&stage, onOneMegabit, on: .le1M)
    try scanExtended(&stage, onCoded, on: .leCoded)
    stage.run(for: .seconds(10))
    let (first, second) = (try stage.extendedReports(onOneMegabit), try stage.extendedReports(onCoded))
    #expect((90...100).contains(phy == .le1M ? first.count : second.count))
    #expect((phy == .le1M ? second : first).isEmpty)
    #expect((first + second).allSatisfy { $0.data.count == 40 && $0.primaryPHY == phy })
  }

  /// A scanner without LE 2M does not receive an auxiliary packet on LE 2M.
  @Test func secondaryPHYThatTheScannerLacks() throws {
    var stage = RadioStage(pacing: .airtime)
    let (advertiser, scanner) = (stage.attach(), stage.attach { $0.features.remove(.le2MPHY) })
    try advertise(&stage, advertiser, count: 40) { $0.secondaryAdvertisingPHY = .le2M }
    try scanExtended(&stage, scanner, on: .le1M)
    stage.run(for: .seconds(3))
    #expect(try stage.extendedReports(scanner).isEmpty)
  }

  /// A chain of auxiliary packets that lasts longer than the interval delays the next event; nothing overlaps.
  @Test func longChainsOnSlowPHYs() throws {
    var stage = RadioStage(pacing: .airtime)
    let (advertiser, scanner) = (stage.attach(), stage.attach())
    try advertise(&stage, advertiser, count: 240) {
      $0.primaryAdvertisingPHY = .leCoded
      $0.secondaryAdvertisingPHY = .leCoded
      $0.primaryAdvertisingIntervalMin = 0x20
      $0.primaryAdvertisingIntervalMax = 0x20
    }
    try scanExtended(&stage, scanner, on: .leCoded)
    stage.run(for: .seconds(5))
    // 3 * 1168 + 2 * 400 µs, T_MAFS, then 720 + 64 * 250 µs are 21.3 ms; the interval is 20 to 30 ms.
    let reports = try stage.extendedReports(scanner).filter { $0.data.count > 200 }
    #expect((185...215).contains(reports.count))
  }

  /// A link begins on the PHY of the auxiliary packet, with the parameters for that PHY.
  @Test func connectionOnTheSecondaryPHY() throws {
    var stage = RadioStage(pacing: .airtime)
    let (central, peripheral) = (stage.attach(), stage.attach())
    try advertise(&stage, peripheral, count: 0) {
      $0.advertisingEventProperties = .connectable
      $0.secondaryAdvertisingPHY = .le2M
    }
    let peer = stage.address(of: peripheral)
    func create(_ phys: HCI.PHYs) -> HCI.LEExtendedCreateConnection {
      .init {
        $0.peerAddress = peer
        $0.initiatingPHYs = phys
        $0.initiations = (0..<phys.count).map { number in
          .init {
            $0.parameters.connectionIntervalMin = UInt16(24 + number)
            $0.parameters.connectionIntervalMax = UInt16(24 + number)
          }
        }
      }
    }
    // Without LE 2M among the initiating PHYs there is no link.
    try stage.expect(.success, for: create([.le1M, .leCoded]), from: central)
    stage.run(for: .seconds(2))
    #expect(stage.take(central).isEmpty)
    try stage.expect(.success, for: HCI.LECreateConnectionCancel(), from: central)
    _ = stage.take(central)
    try stage.expect(.success, for: create([.le1M, .le2M]), from: central)
    stage.run(for: .seconds(2))
    guard let event = try stage.metaEvents(central).first as? HCI.LEEnhancedConnectionComplete else {
      Issue.record("Enhanced Connection Complete")
      return
    }
    #expect(event.connectionInterval == 25)
    let read = try stage.ask(HCI.LEReadPHY { $0.connectionHandle = event.connectionHandle }, from: central)
    #expect(read.txPHY == .le2M && read.rxPHY == .le2M)
  }

  /// A set that is limited to three events ends when the third is over, with its scan response.
  @Test func limitOfEvents() throws {
    var stage = RadioStage(pacing: .airtime)
    let (advertiser, scanner) = (stage.attach(), stage.attach())
    try stage.expect(
      .success,
      for: HCI.LESetExtendedAdvertisingParameters {
        $0.primaryAdvertisingIntervalMin = 160
        $0.primaryAdvertisingIntervalMax = 160
        $0.advertisingEventProperties = .legacyScannableUndirected
      }, from: advertiser)
    try scan(&stage, scanner, .active)
    let enable = HCI.LESetExtendedAdvertisingEnable {
      $0.enable = true
      $0.sets = [.init { $0.maxExtendedAdvertisingEvents = 3 }]
    }
    try stage.expect(.success, for: enable, from: advertiser)
    stage.run(for: .seconds(1))
    let types = try stage.reports(scanner).map(\.eventType)
    #expect(types == [.scannable, .scanResponse, .scannable, .scanResponse, .scannable, .scanResponse])
    guard let event = try stage.metaEvents(advertiser).first as? HCI.LEAdvertisingSetTerminated else {
      Issue.record("Advertising Set Terminated")
      return
    }
    #expect(event.status == .limitReached && event.numCompletedExtendedAdvertisingEvents == 3)
    #expect(stage.radio.deadline == nil)
  }
}
