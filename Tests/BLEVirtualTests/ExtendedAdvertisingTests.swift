import BLEHCI
import BLEVirtual
import BLEWire
import Testing

/// Extended advertising and scanning: Vol 4, Part E, 7.8.52 to 7.8.66.
struct ExtendedAdvertisingTests {
  typealias Parameters = HCI.LESetExtendedAdvertisingParameters

  func enable(
    _ handle: UInt8, duration: UInt16 = 0, events: UInt8 = 0, _ isOn: Bool = true
  ) -> HCI.LESetExtendedAdvertisingEnable {
    .init {
      $0.enable = isOn
      $0.sets = [
        .init {
          $0.advertisingHandle = handle
          $0.duration = duration
          $0.maxExtendedAdvertisingEvents = events
        }
      ]
    }
  }

  func data(
    _ handle: UInt8, _ octets: Bytes, _ operation: HCI.DataOperation = .complete
  ) -> HCI.LESetExtendedAdvertisingData {
    .init {
      $0.advertisingHandle = handle
      $0.operation = operation
      $0.advertisingData = octets
    }
  }

  func scan(_ stage: inout RadioStage, _ id: ControllerID, _ type: HCI.ScanType = .passive) throws {
    let parameters = HCI.LESetExtendedScanParameters {
      $0.scanningPHYs = .le1M
      $0.scans = [.init { $0.scanType = type }]
    }
    try stage.expect(.success, for: parameters, from: id)
    let enable = HCI.LESetExtendedScanEnable {
      $0.enable = true
      $0.filterDuplicates = .enabled
    }
    try stage.expect(.success, for: enable, from: id)
  }

  /// AUX_ADV_IND of a connectable advertisement has no AuxPtr (Vol 6, Part B, 2.3.4): Vol 4, Part E, 7.8.54 and 7.8.56.
  @Test func connectableDataIsInOnePacket() throws {
    var stage = RadioStage()
    let advertiser = stage.attach()
    for (properties, longest) in [
      (HCI.AdvertisingEventProperties.connectable, 245), ([.connectable, .includeTxPower], 244),
    ] {
      try stage.expect(
        .success, for: Parameters { $0.advertisingEventProperties = properties }, from: advertiser)
      let octets = Bytes(repeating: 1, count: longest + 1)
      try stage.expect(.success, for: data(0, octets), from: advertiser)
      try stage.expect(.packetTooLong, for: enable(0), from: advertiser)
      try stage.expect(.success, for: data(0, octets.dropLast()), from: advertiser)
      try stage.expect(.success, for: enable(0), from: advertiser)
      try stage.expect(.packetTooLong, for: data(0, octets), from: advertiser)
      try stage.expect(.success, for: enable(0, false), from: advertiser)
    }
  }

  /// 600 octets in three fragments, reported in three pieces of at most 229.
  @Test func longData() throws {
    var stage = RadioStage()
    let (advertiser, scanner, legacy) = (stage.attach(), stage.attach(), stage.attach())
    try stage.expect(.success, for: Parameters { $0.advertisingSID = 5 }, from: advertiser)
    let octets = (0..<600).map { UInt8($0 & 0xFF) }
    try stage.expect(.success, for: data(0, octets[0..<250], .first), from: advertiser)
    try stage.expect(.commandDisallowed, for: enable(0), from: advertiser)
    try stage.expect(.success, for: data(0, octets[250..<500], .intermediate), from: advertiser)
    try stage.expect(.success, for: data(0, octets[500...], .last), from: advertiser)
    try stage.expect(.success, for: enable(0), from: advertiser)
    try scan(&stage, scanner)
    try stage.scan(legacy)
    stage.run(for: .seconds(3))
    let reports = try stage.extendedReports(scanner)
    #expect(reports.map(\.data.count) == [229, 229, 142])
    #expect(reports.map(\.eventType.dataStatus) == [.moreToCome, .moreToCome, .complete])
    #expect(reports.flatMap(\.data) == octets)
    #expect(reports.allSatisfy { $0.advertisingSID == 5 && !$0.eventType.contains(.legacy) })
    // A legacy scanner does not hear extended advertisements.
    #expect(stage.take(legacy).isEmpty)
    // New data is a new advertisement, although duplicates are filtered.
    try stage.expect(.success, for: data(0, [0x01]), from: advertiser)
    stage.run(for: .seconds(3))
    #expect(try stage.extendedReports(scanner).count == 1)
  }

  /// A scanner that loses the rest of a chain says so in the last report (Vol 4, Part E, 7.7.65.13).
  @Test(
    arguments: [
      (300, [229, 71], [.moreToCome, .truncated]), (458, [229, 229], [.moreToCome, .truncated]), (0, [0], [.truncated]),
      (600, [229, 229, 142], [.moreToCome, .moreToCome, .complete]),
    ] as [(Int, [Int], [HCI.ExtendedAdvertisingReportType.DataStatus])])
  func aChainThatIsLost(
    octets: Int, counts: [Int], statuses: [HCI.ExtendedAdvertisingReportType.DataStatus]
  ) throws {
    var stage = RadioStage()
    let advertiser = stage.attach()
    let scanner = stage.attach { $0.faults = [.losesChains(behind: octets)] }
    try stage.expect(.success, for: Parameters(), from: advertiser)
    let sent = (0..<600).map { UInt8($0 & 0xFF) }
    try stage.expect(.success, for: data(0, sent[0..<250], .first), from: advertiser)
    try stage.expect(.success, for: data(0, sent[250..<500], .intermediate), from: advertiser)
    try stage.expect(.success, for: data(0, sent[500...], .last), from: advertiser)
    try stage.expect(.success, for: enable(0), from: advertiser)
    try scan(&stage, scanner)
    stage.run(for: .seconds(3))
    let reports = try stage.extendedReports(scanner)
    #expect(reports.map(\.data.count) == counts)
    #expect(reports.map(\.eventType.dataStatus) == statuses)
    #expect(reports.flatMap(\.data) == Array(sent.prefix(octets)))
  }

  /// Legacy PDUs from an extended set, heard by both kinds of scanner (Vol 4, Part E, 7.7.65.13, table of event types).
  @Test(arguments: [
    (HCI.AdvertisingEventProperties(rawValue: 0x13), [0x13, 0x1B] as [UInt16]), (.init(rawValue: 0x12), [0x12, 0x1A]),
    (.init(rawValue: 0x10), [0x10]),
  ])
  func legacyPDUs(_ properties: HCI.AdvertisingEventProperties, types: [UInt16]) throws {
    var stage = RadioStage()
    let (advertiser, scanner, legacy) = (stage.attach(), stage.attach(), stage.attach())
    try stage.expect(.success, for: Parameters { $0.advertisingEventProperties = properties }, from: advertiser)
    try stage.expect(.success, for: enable(0), from: advertiser)
    try scan(&stage, scanner, .active)
    try stage.scan(legacy, filterDuplicates: true)
    stage.run(for: .seconds(3))
    #expect(try stage.extendedReports(scanner).map(\.eventType.rawValue) == types)
    #expect(try stage.reports(legacy).count == types.count)
  }

  @Test func scannableSet() throws {
    var stage = RadioStage()
    let (advertiser, scanner) = (stage.attach(), stage.attach())
    let parameters = Parameters {
      $0.advertisingEventProperties = .scannable
      $0.scanRequestNotificationEnable = true
    }
    try stage.expect(.success, for: parameters, from: advertiser)
    try stage.expect(.invalidCommandParameters, for: data(0, [1]), from: advertiser)
    try stage.expect(.commandDisallowed, for: enable(0), from: advertiser)
    try stage.expect(
      .success, for: HCI.LESetExtendedScanResponseData { $0.scanResponseData = [0x02, 0x0A, 0x04] }, from: advertiser)
    try stage.expect(.success, for: enable(0), from: advertiser)
    try scan(&stage, scanner, .active)
    stage.run(for: .seconds(2))
    let reports = try stage.extendedReports(scanner)
    #expect(reports.map(\.eventType.rawValue) == [0x02, 0x0A])
    #expect(reports.last?.data.elementsEqual([0x02, 0x0A, 0x04]) == true)
    guard let event = try stage.metaEvents(advertiser).first as? HCI.LEScanRequestReceived else {
      Issue.record("Scan Request Received")
      return
    }
    #expect(event.scannerAddress == stage.address(of: scanner))
  }

  static let endings: [(duration: UInt16, events: UInt8, HCIErrorCode, done: UInt8)] = [
    (50, 0, .advertisingTimeout, 0), (0, 3, .limitReached, 3),
  ]

  @Test(arguments: endings) func endOfASet(
    duration: UInt16, events: UInt8, status: HCIErrorCode, done: UInt8
  ) throws {
    var stage = RadioStage()
    let id = stage.attach()
    let parameters = Parameters {
      $0.advertisingHandle = 7
      $0.primaryAdvertisingIntervalMin = 0xA0
      $0.primaryAdvertisingIntervalMax = 0xA0
    }
    try stage.expect(.success, for: parameters, from: id)
    try stage.expect(.success, for: enable(7, duration: duration, events: events), from: id)
    stage.run(for: .seconds(1))
    guard let event = try stage.metaEvents(id).first as? HCI.LEAdvertisingSetTerminated else {
      Issue.record("Advertising Set Terminated")
      return
    }
    #expect(event.status == status && event.advertisingHandle == 7)
    #expect(event.numCompletedExtendedAdvertisingEvents == done)
    #expect(stage.radio.deadline == nil)
  }

  @Test func connectionEndsTheSet() throws {
    var stage = RadioStage()
    let (central, peripheral) = (stage.attach(), stage.attach())
    let address = BD_ADDR(0xC000_0000_0001)
    let parameters = Parameters {
      $0.advertisingHandle = 2
      $0.advertisingEventProperties = .connectable
      $0.ownAddressType = .random
    }
    try stage.expect(.success, for: parameters, from: peripheral)
    try stage.expect(.invalidCommandParameters, for: enable(2), from: peripheral)
    let own = HCI.LESetAdvertisingSetRandomAddress {
      $0.advertisingHandle = 2
      $0.randomAddress = address
    }
    try stage.expect(.success, for: own, from: peripheral)
    try stage.expect(.success, for: enable(2), from: peripheral)
    try stage.expect(.commandDisallowed, for: own, from: peripheral)
    let create = HCI.LEExtendedCreateConnection {
      $0.peerAddress = DeviceAddress(octets: address, kind: .random)
      $0.initiatingPHYs = [.le1M, .leCoded]
      $0.initiations = [.init(), .init()]
    }
    try stage.expect(.success, for: create, from: central)
    stage.run(for: .seconds(2))
    #expect(try stage.metaEvents(central).count == 2)
    let events = try stage.metaEvents(peripheral)
    guard events.count == 3, let connection = events[0] as? HCI.LEEnhancedConnectionComplete,
      let end = events[1] as? HCI.LEAdvertisingSetTerminated
    else {
      Issue.record("Connection Complete, then Advertising Set Terminated, but it is \(events)")
      return
    }
    #expect(end.status == .success && end.advertisingHandle == 2 && end.connectionHandle == connection.connectionHandle)
  }

  /// An initiator of the legacy command does not connect to extended advertisements.
  @Test func legacyInitiatorIsDeaf() throws {
    var stage = RadioStage()
    let (central, peripheral) = (stage.attach(), stage.attach())
    try stage.expect(.success, for: Parameters { $0.advertisingEventProperties = .connectable }, from: peripheral)
    try stage.expect(.success, for: enable(0), from: peripheral)
    let peer = stage.address(of: peripheral)
    try stage.expect(.success, for: HCI.LECreateConnection { $0.peerAddress = peer }, from: central)
    stage.run(for: .seconds(5))
    #expect(stage.take(central).isEmpty)
  }

  /// Vol 4, Part E, 3.1.1: whoever began with one kind of command may not use the other until a reset.
  @Test func legacyAndExtendedDoNotMix() throws {
    var stage = RadioStage()
    let id = stage.attach()
    try stage.expect(.success, for: HCI.LESetAdvertisingParameters(), from: id)
    #expect(try stage.ask(HCI.LEReadNumberOfSupportedAdvertisingSets(), from: id).numSupportedAdvertisingSets == 8)
    try stage.expect(.commandDisallowed, for: Parameters(), from: id)
    try stage.expect(.commandDisallowed, for: HCI.LEExtendedCreateConnection(), from: id)
    stage.send(HCI.Reset(), from: id)
    _ = stage.take(id)
    try stage.expect(.success, for: Parameters(), from: id)
    try stage.expect(.commandDisallowed, for: HCI.LESetScanEnable(), from: id)
    try stage.expect(.commandDisallowed, for: HCI.LECreateConnection(), from: id)
  }

  static let badParameters: [(Parameters, HCIErrorCode)] = [
    (.init { $0.advertisingHandle = 0xF0 }, .invalidCommandParameters),
    (.init { $0.advertisingEventProperties = [.connectable, .scannable] }, .invalidCommandParameters),
    (.init { $0.advertisingEventProperties = [.connectable, .anonymous] }, .invalidCommandParameters),
    (.init { $0.advertisingEventProperties = [.legacy, .connectable] }, .invalidCommandParameters),
    (.init { $0.advertisingEventProperties = [.highDutyCycle] }, .invalidCommandParameters),
    (.init { $0.advertisingEventProperties = .init(rawValue: 0x80) }, .invalidCommandParameters),
    (.init { $0.primaryAdvertisingIntervalMin = 0x1F }, .invalidCommandParameters),
    (.init { $0.primaryAdvertisingIntervalMax = 0x7FF }, .invalidCommandParameters),
    (.init { $0.advertisingSID = 0x10 }, .invalidCommandParameters),
    (.init { $0.advertisingTXPower = 21 }, .invalidCommandParameters),
    (.init { $0.primaryAdvertisingPHY = .le2M }, .invalidCommandParameters),
    (.init { $0.secondaryAdvertisingPHY = .init(rawValue: 4) }, .invalidCommandParameters),
    (.init { $0.primaryAdvertisingChannelMap = [] }, .invalidCommandParameters),
    (.init { $0.primaryAdvertisingPHY = .leCoded }, .unsupportedFeatureOrParameterValue),
  ]

  @Test(arguments: badParameters) func refused(_ parameters: Parameters, _ status: HCIErrorCode) throws {
    var stage = RadioStage()
    let id = stage.attach { $0.features.remove(.leCodedPHY) }
    try stage.expect(status, for: parameters, from: id)
  }

  /// The number of sets at its limit and one past it; data at its limit and one past it.
  @Test func limits() throws {
    var stage = RadioStage()
    let id = stage.attach {
      $0.numSupportedAdvertisingSets = 2
      $0.maxAdvertisingDataLength = 300
    }
    for handle: UInt8 in [0, 1] {
      try stage.expect(.success, for: Parameters { $0.advertisingHandle = handle }, from: id)
    }
    try stage.expect(.memoryCapacityExceeded, for: Parameters { $0.advertisingHandle = 2 }, from: id)
    let piece = Bytes(repeating: 1, count: 150)
    try stage.expect(.success, for: data(0, piece, .first), from: id)
    try stage.expect(.success, for: data(0, piece, .last), from: id)
    try stage.expect(.success, for: data(0, piece, .first), from: id)
    try stage.expect(.success, for: data(0, piece, .intermediate), from: id)
    try stage.expect(.memoryCapacityExceeded, for: data(0, [1], .last), from: id)
    try stage.expect(.invalidCommandParameters, for: data(0, [1], .last), from: id)
    try stage.expect(.unknownAdvertisingIdentifier, for: data(9, [1]), from: id)
    try stage.expect(.unknownAdvertisingIdentifier, for: enable(9), from: id)
    try stage.expect(.invalidCommandParameters, for: HCI.LESetExtendedAdvertisingEnable { $0.enable = true }, from: id)
  }

  @Test func setsComeAndGo() throws {
    var stage = RadioStage()
    let id = stage.attach()
    for handle: UInt8 in [0, 1] {
      try stage.expect(.success, for: Parameters { $0.advertisingHandle = handle }, from: id)
    }
    try stage.expect(.success, for: enable(0), from: id)
    try stage.expect(.commandDisallowed, for: Parameters(), from: id)
    try stage.expect(.commandDisallowed, for: data(0, [1], .first), from: id)
    try stage.expect(.success, for: data(0, [1]), from: id)
    try stage.expect(.success, for: data(0, [], .unchanged), from: id)
    try stage.expect(.commandDisallowed, for: HCI.LERemoveAdvertisingSet(), from: id)
    try stage.expect(.commandDisallowed, for: HCI.LEClearAdvertisingSets(), from: id)
    try stage.expect(.success, for: HCI.LERemoveAdvertisingSet { $0.advertisingHandle = 1 }, from: id)
    try stage.expect(
      .unknownAdvertisingIdentifier, for: HCI.LERemoveAdvertisingSet { $0.advertisingHandle = 1 }, from: id)
    try stage.expect(.success, for: HCI.LESetExtendedAdvertisingEnable(), from: id)
    try stage.expect(.success, for: HCI.LEClearAdvertisingSets(), from: id)
  }

  @Test func anonymous() throws {
    var stage = RadioStage()
    let (advertiser, scanner) = (stage.attach(), stage.attach())
    try stage.expect(.success, for: Parameters { $0.advertisingEventProperties = .anonymous }, from: advertiser)
    try stage.expect(.success, for: enable(0), from: advertiser)
    try scan(&stage, scanner)
    stage.run(for: .seconds(2))
    #expect(try stage.extendedReports(scanner).map(\.address.kind) == [.anonymous])
  }

  /// A scan of 500 ms ends with Scan Timeout; with a period it goes on and forgets its duplicates.
  @Test func scanDurationAndPeriod() throws {
    var stage = RadioStage()
    let (advertiser, scanner) = (stage.attach(), stage.attach())
    try stage.advertise(advertiser, .nonConnectable)
    try stage.expect(
      .success,
      for: HCI.LESetExtendedScanParameters {
        $0.scanningPHYs = .le1M
        $0.scans = [.init()]
      }, from: scanner)
    let once = HCI.LESetExtendedScanEnable {
      $0.enable = true
      $0.filterDuplicates = .enabled
      $0.duration = 50
    }
    try stage.expect(.success, for: once, from: scanner)
    stage.run(for: .seconds(1))
    let events = try stage.metaEvents(scanner)
    #expect(events.count == 2 && events.last is HCI.LEScanTimeout)
    var again = once
    again.filterDuplicates = .resetEachPeriod
    try stage.expect(.invalidCommandParameters, for: again, from: scanner)
    again.period = 1
    try stage.expect(.success, for: again, from: scanner)
    stage.run(for: .milliseconds(3 * 1280))
    #expect(try stage.extendedReports(scanner).count == 3)
  }
}
