import BLEHCI
import BLEVirtual
import BLEWire
import Testing

/// The advertiser of a periodic advertising train: Vol 4, Part E, 7.8.61 to 7.8.63; Vol 6, Part B, 4.4.2.12.
struct PeriodicAdvertisingTests {
  typealias Parameters = HCI.LESetPeriodicAdvertisingParameters

  func parameters(_ handle: UInt8 = 0, _ range: ClosedRange<UInt16> = 6...6, properties: UInt16 = 0) -> Parameters {
    .init {
      $0.advertisingHandle = handle
      $0.periodicAdvertisingIntervalMin = range.lowerBound
      $0.periodicAdvertisingIntervalMax = range.upperBound
      $0.periodicAdvertisingProperties = properties
    }
  }

  func data(_ octets: Bytes, _ operation: HCI.DataOperation = .complete, set handle: UInt8 = 0)
    -> HCI.LESetPeriodicAdvertisingData
  {
    .init {
      $0.advertisingHandle = handle
      $0.operation = operation
      $0.advertisingData = octets
    }
  }

  func enable(_ enable: UInt8 = 1, set handle: UInt8 = 0) -> HCI.LESetPeriodicAdvertisingEnable {
    .init {
      $0.enable = enable
      $0.advertisingHandle = handle
    }
  }

  static let sets: [(HCI.AdvertisingEventProperties, HCIErrorCode)] = [
    ([], .success), ([.includeTxPower], .success), ([.directed], .success),
    ([.connectable], .invalidCommandParameters), ([.scannable], .invalidCommandParameters),
    ([.anonymous], .invalidCommandParameters), (.legacyNonConnectable, .invalidCommandParameters),
  ]

  @Test(arguments: sets) func aTrainNeedsASetThatIsNeitherConnectableNorScannableNorLegacyNorAnonymous(
    properties: HCI.AdvertisingEventProperties, status: HCIErrorCode
  ) throws {
    var stage = RadioStage()
    let id = stage.attach()
    let set = HCI.LESetExtendedAdvertisingParameters { $0.advertisingEventProperties = properties }
    try stage.expect(.success, for: set, from: id)
    try stage.expect(status, for: parameters(), from: id)
  }

  @Test(
    arguments: [
      (0, 5, 6, 0, .invalidCommandParameters), (0, 7, 6, 0, .invalidCommandParameters), (0, 6, 0xFFFF, 0x40, .success),
      (0, 6, 6, 0x01, .invalidCommandParameters), (1, 6, 6, 0, .unknownAdvertisingIdentifier),
    ] as [(UInt8, UInt16, UInt16, UInt16, HCIErrorCode)])
  func parametersAreChecked(set: UInt8, min: UInt16, max: UInt16, properties: UInt16, status: HCIErrorCode) throws {
    var stage = RadioStage()
    let id = stage.attach()
    try stage.expect(.success, for: HCI.LESetExtendedAdvertisingParameters(), from: id)
    let command = Parameters {
      $0.advertisingHandle = set
      $0.periodicAdvertisingIntervalMin = min
      $0.periodicAdvertisingIntervalMax = max
      $0.periodicAdvertisingProperties = properties
    }
    try stage.expect(status, for: command, from: id)
  }

  @Test func aSetWithoutParametersHasNoTrain() throws {
    var stage = RadioStage()
    let id = stage.attach()
    try stage.expect(.unknownAdvertisingIdentifier, for: data([1]), from: id)
    try stage.expect(.unknownAdvertisingIdentifier, for: enable(), from: id)
    try stage.expect(.success, for: HCI.LESetExtendedAdvertisingParameters(), from: id)
    try stage.expect(.commandDisallowed, for: data([1]), from: id)
    try stage.expect(.commandDisallowed, for: enable(), from: id)
  }

  @Test func anEnabledTrainKeepsItsParameters() throws {
    var stage = RadioStage()
    let id = stage.attach()
    try stage.configureTrain(id)
    // Enabled, although the set is not.
    try stage.expect(.success, for: enable(), from: id)
    try stage.expect(.commandDisallowed, for: parameters(), from: id)
    try stage.expect(.success, for: enable(0), from: id)
    try stage.expect(.success, for: parameters(), from: id)
  }

  @Test func dataComesInFragmentsOnlyWhileTheTrainIsDisabled() throws {
    var stage = RadioStage()
    let id = stage.attach()
    try stage.configureTrain(id)
    try stage.expect(.invalidCommandParameters, for: data([], .unchanged), from: id)
    try stage.expect(.invalidCommandParameters, for: data([], .first), from: id)
    try stage.expect(.invalidCommandParameters, for: data([1], .last), from: id)
    try stage.expect(.invalidCommandParameters, for: data([1], .init(rawValue: 5)), from: id)
    try stage.expect(.success, for: data([1], .first), from: id)
    try stage.expect(.commandDisallowed, for: enable(), from: id)
    try stage.expect(.success, for: data([2], .intermediate), from: id)
    try stage.expect(.commandDisallowed, for: enable(), from: id)
    try stage.expect(.success, for: data([3], .last), from: id)
    try stage.expect(.success, for: enable(), from: id)
    try stage.expect(.commandDisallowed, for: data([1], .first), from: id)
    try stage.expect(.success, for: data([1]), from: id)
    try stage.expect(.invalidCommandParameters, for: data([1], .unchanged), from: id)
    try stage.expect(.success, for: data([], .unchanged), from: id)
    try stage.expect(.success, for: data([]), from: id)
    try stage.expect(.invalidCommandParameters, for: data([], .unchanged), from: id)
  }

  @Test func dataHasTheLimitOfTheController() throws {
    var stage = RadioStage()
    let id = stage.attach { $0.maxAdvertisingDataLength = 300 }
    try stage.configureTrain(id)
    let piece = Bytes(repeating: 1, count: 150)
    try stage.expect(.success, for: data(piece, .first), from: id)
    try stage.expect(.success, for: data(piece, .last), from: id)
    try stage.expect(.success, for: data(piece, .first), from: id)
    try stage.expect(.success, for: data(piece, .intermediate), from: id)
    try stage.expect(.memoryCapacityExceeded, for: data([1], .last), from: id)
    // The fragments are discarded.
    try stage.expect(.invalidCommandParameters, for: data([1], .last), from: id)
  }

  /// On LE 1M, 7.5 ms are the time of about 860 octets in four packets.
  @Test func dataFitsTheInterval() throws {
    var stage = RadioStage()
    let id = stage.attach()
    try stage.configureTrain(id, interval: 6)
    let piece = Bytes(repeating: 1, count: 250)
    for operation in [HCI.DataOperation.first, .intermediate, .intermediate] {
      try stage.expect(.success, for: data(piece, operation), from: id)
    }
    try stage.expect(.packetTooLong, for: data(piece, .last), from: id)
    try stage.expect(.success, for: data([1], .last), from: id)
    try stage.expect(.success, for: parameters(0, 6...40), from: id)
    try stage.setTrainData(Bytes(repeating: 1, count: 1650), of: id)
    try stage.expect(.packetTooLong, for: parameters(0, 6...12), from: id)
    try stage.expect(.success, for: enable(), from: id)
  }

  @Test func theIntervalIsTheShortestThatTheDataFits() throws {
    var stage = RadioStage()
    let (advertiser, scanner) = (stage.attach(), stage.attach())
    try stage.configureTrain(advertiser)
    try stage.expect(.success, for: parameters(0, 6...40), from: advertiser)
    try stage.setTrainData(Bytes(repeating: 1, count: 1650), of: advertiser)
    try stage.enableTrain(advertiser)
    try stage.enableSet(advertiser)
    try stage.scanExtended(scanner)
    stage.run(for: .seconds(3))
    let interval = try #require(try stage.extendedReports(scanner).first).periodicAdvertisingInterval
    // Seven packets, of which six have 255 octets: 6 · 2,120 µs, less for the last, and 6 · 300 µs.
    #expect((12...14).contains(interval))
  }

  @Test func enableIsChecked() throws {
    var stage = RadioStage()
    let (id, old) = (stage.attach(), stage.attach { $0.features.remove(.periodicAdvertisingADI) })
    for controller in [id, old] { try stage.configureTrain(controller) }
    try stage.expect(.invalidCommandParameters, for: enable(0x04), from: id)
    try stage.expect(.success, for: enable(0x03), from: id)
    try stage.expect(.success, for: enable(0x01), from: id)
    try stage.expect(.unsupportedFeatureOrParameterValue, for: enable(0x03), from: old)
    try stage.expect(.success, for: enable(0x01), from: old)
    try stage.expect(.success, for: enable(0x00), from: old)
    try stage.expect(.success, for: enable(0x00), from: old)
  }

  @Test func aSetWithATrainStays() throws {
    var stage = RadioStage()
    let id = stage.attach()
    try stage.advertisePeriodically(id)
    try stage.enableSet(id, false)
    let set = HCI.LESetExtendedAdvertisingParameters { $0.advertisingSID = 3 }
    for properties in [HCI.AdvertisingEventProperties.connectable, .scannable, .anonymous, .legacyNonConnectable] {
      var changed = set
      changed.advertisingEventProperties = properties
      try stage.expect(.invalidCommandParameters, for: changed, from: id)
    }
    var onAnotherPHY = set
    onAnotherPHY.secondaryAdvertisingPHY = .le2M
    try stage.expect(.commandDisallowed, for: onAnotherPHY, from: id)
    try stage.expect(.success, for: set, from: id)
    try stage.expect(.commandDisallowed, for: HCI.LERemoveAdvertisingSet(), from: id)
    try stage.expect(.commandDisallowed, for: HCI.LEClearAdvertisingSets(), from: id)
    try stage.expect(.success, for: enable(0), from: id)
    try stage.expect(.success, for: onAnotherPHY, from: id)
    try stage.expect(.success, for: HCI.LERemoveAdvertisingSet(), from: id)
    // A set with the same handle is another one.
    try stage.expect(.success, for: set, from: id)
    try stage.expect(.commandDisallowed, for: enable(), from: id)
    try stage.expect(.success, for: parameters(), from: id)
    try stage.expect(.success, for: HCI.LEClearAdvertisingSets(), from: id)
    try stage.expect(.success, for: set, from: id)
    try stage.expect(.commandDisallowed, for: enable(), from: id)
  }

  @Test(arguments: RadioStage.pacings) func reportsOfTheSetHaveTheInterval(pacing: VirtualRadio.Pacing) throws {
    var stage = RadioStage(pacing: pacing)
    let (advertiser, scanner) = (stage.attach(), stage.attach())
    try stage.configureTrain(advertiser, interval: 80)
    try stage.enableSet(advertiser)
    try stage.scanExtended(scanner)
    stage.run(for: .seconds(5))
    #expect(try stage.extendedReports(scanner).map(\.periodicAdvertisingInterval) == [0])
    try stage.stopScan(scanner)
    try stage.enableTrain(advertiser)
    try stage.scanExtended(scanner)
    stage.run(for: .seconds(5))
    // The auxiliary packet has no data.
    let report = try #require(try stage.extendedReports(scanner).first)
    #expect(report.periodicAdvertisingInterval == 80 && report.data.isEmpty && report.advertisingSID == 3)
    #expect(report.secondaryPHY == .le1M && report.eventType.dataStatus == .complete)
    try stage.stopScan(scanner)
    try stage.enableTrain(advertiser, 0)
    try stage.scanExtended(scanner)
    stage.run(for: .seconds(5))
    #expect(try stage.extendedReports(scanner).map(\.periodicAdvertisingInterval) == [0])
  }

  @Test func aTrainWithoutListenersHasNoDeadline() throws {
    var stage = RadioStage()
    let id = stage.attach()
    try stage.advertisePeriodically(id)
    #expect(stage.radio.deadline != nil)
    try stage.enableSet(id, false)
    #expect(stage.radio.deadline == nil)
  }

  /// Vol 4, Part E, 3.1.1.
  @Test func periodicCommandsBelongToExtendedAdvertising() throws {
    var stage = RadioStage()
    let id = stage.attach()
    try stage.expect(.success, for: HCI.LESetAdvertisingParameters(), from: id)
    try stage.expect(.commandDisallowed, for: enable(), from: id)
    try stage.expect(.commandDisallowed, for: HCI.LEClearPeriodicAdvertiserList(), from: id)
    #expect(try stage.ask(HCI.LEReadPeriodicAdvertiserListSize(), from: id).periodicAdvertiserListSize == 16)
  }

  @Test(arguments: [HCI.LEFeatures.periodicAdvertising, .extendedAdvertising])
  func aControllerWithoutTheFeatureHasNoCommands(feature: HCI.LEFeatures) throws {
    var stage = RadioStage()
    let id = stage.attach { $0.features.remove(feature) }
    let features = try stage.ask(HCI.LEReadLocalSupportedFeatures(), from: id).features
    #expect(
      features.isDisjoint(with: [
        .periodicAdvertising, .periodicAdvertisingSyncTransferSender, .periodicAdvertisingSyncTransferRecipient,
        .periodicAdvertisingADI,
      ]))
    let commands = try stage.ask(HCI.ReadLocalSupportedCommands(), from: id).supportedCommands
    let periodic: [HCIOpcode] = [
      .leSetPeriodicAdvertisingParameters, .lePeriodicAdvertisingCreateSync, .lePeriodicAdvertisingSyncTransfer,
      .leSetDefaultPeriodicAdvertisingSyncTransferParameters,
    ]
    #expect(!periodic.contains { commands.contains($0) })
    stage.send(parameters(), from: id)
    #expect(stage.take(id).last?.last == HCIErrorCode.unknownCommand.rawValue)
  }
}
