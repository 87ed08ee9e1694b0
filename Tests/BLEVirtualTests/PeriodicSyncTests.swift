import BLEHCI
import BLEVirtual
import BLEWire
import Testing

/// The receiver of a periodic advertising train: Vol 4, Part E, 7.8.67 to 7.8.73 and 7.8.88; Vol 6, Part B, 4.4.3.4.
struct PeriodicSyncTests {
  typealias Established = HCI.LEPeriodicAdvertisingSyncEstablished
  typealias Report = HCI.LEPeriodicAdvertisingReport
  typealias Lost = HCI.LEPeriodicAdvertisingSyncLost

  static let long = Bytes((0..<1650).map { UInt8(truncatingIfNeeded: $0 ^ $0 >> 8) })

  @Test(arguments: RadioStage.pacings) func aScannerSynchronizesWithATrain(pacing: VirtualRadio.Pacing) throws {
    var stage = RadioStage(pacing: pacing)
    let advertiser = stage.attach { $0.rssi = -42 }
    let scanner = stage.attach()
    try stage.advertisePeriodically(advertiser)
    try stage.expect(.success, for: stage.createSync(to: advertiser), from: scanner)
    // Without a scan there is no AUX_ADV_IND.
    stage.run(for: .seconds(60))
    #expect(stage.take(scanner).isEmpty)
    try stage.scanExtended(scanner)
    let event = try stage.next(Established.self, at: scanner).event
    #expect(event.status == .success && event.advertisingSID == 3 && event.advertiserPHY == .le1M)
    #expect(event.advertiserAddress == stage.address(of: advertiser) && event.periodicAdvertisingInterval == 80)
    try stage.stopScan(scanner)
    stage.run(for: .seconds(10))
    let reports = try stage.periodicReports(scanner)
    #expect(reports.count == 100)
    #expect(
      reports.allSatisfy {
        $0.syncHandle == event.syncHandle && $0.data == [0x02, 0x0A, 0x00] && $0.dataStatus == 0 && $0.rssi == -42
          && $0.txPower == 127
      })
    // The train goes on without its set.
    try stage.enableSet(advertiser, false)
    stage.run(for: .seconds(10))
    #expect(try stage.periodicReports(scanner).count == 100)
  }

  @Test(arguments: RadioStage.pacings) func longDataArrivesWhole(pacing: VirtualRadio.Pacing) throws {
    var stage = RadioStage(pacing: pacing)
    let (advertiser, scanner) = (stage.attach(), stage.attach())
    try stage.advertisePeriodically(advertiser, data: Self.long)
    _ = try stage.synchronize(scanner, with: advertiser)
    _ = stage.take(scanner)
    stage.run(for: .milliseconds(200))
    let reports = try stage.periodicReports(scanner)
    try #require(reports.count == 14)
    #expect(reports.prefix(7).map(\.data.count) == [247, 247, 247, 247, 247, 247, 168])
    #expect(reports.prefix(7).map(\.dataStatus) == [1, 1, 1, 1, 1, 1, 0])
    #expect(reports.prefix(7).flatMap(\.data) == Array(Self.long))
  }

  @Test(
    arguments: [
      (300, [247, 53], [1, 2]), (494, [247, 247], [1, 2]), (0, [0], [2]), (600, [247, 247, 106], [1, 1, 0]),
    ] as [(Int, [Int], [UInt8])])
  func aChainThatIsLostIsTruncated(octets: Int, counts: [Int], statuses: [UInt8]) throws {
    var stage = RadioStage()
    let advertiser = stage.attach()
    let scanner = stage.attach { $0.faults = [.losesChains(behind: octets)] }
    try stage.advertisePeriodically(advertiser, data: Self.long.prefix(600))
    _ = try stage.synchronize(scanner, with: advertiser)
    _ = stage.take(scanner)
    stage.run(for: .milliseconds(100))
    let reports = try stage.periodicReports(scanner)
    #expect(reports.map(\.data.count) == counts && reports.map(\.dataStatus) == statuses)
    #expect(reports.flatMap(\.data) == Array(Self.long.prefix(min(octets, 600))))
  }

  /// Truncated data is not in the duplicate filter: the next complete data is reported.
  @Test func truncatedDataIsReportedAgain() throws {
    var stage = RadioStage()
    let (advertiser, scanner) = (stage.attach(), stage.attach())
    try stage.advertisePeriodically(advertiser, data: Self.long.prefix(200), enable: 0x03)
    _ = try stage.synchronize(scanner, with: advertiser) { $0.options = 0x04 }
    stage.radio.setFaults([.losesChains(behind: 100)], of: scanner)
    _ = stage.take(scanner)
    try stage.setTrainData(Self.long.prefix(240), of: advertiser)
    stage.run(for: .milliseconds(200))
    #expect(try stage.periodicReports(scanner).map(\.dataStatus) == [2, 2])
    stage.radio.setFaults([], of: scanner)
    stage.run(for: .seconds(1))
    #expect(try stage.periodicReports(scanner).map(\.dataStatus) == [0])
  }

  @Test(arguments: RadioStage.pacings) func aTrainThatVanishesIsLostAndFoundAgain(pacing: VirtualRadio.Pacing) throws {
    var stage = RadioStage(pacing: pacing)
    let (advertiser, scanner) = (stage.attach(), stage.attach())
    try stage.advertisePeriodically(advertiser)
    let handle = try stage.synchronize(scanner, with: advertiser)
    // Shorter than the timeout of 1 s.
    stage.radio.setInRange(false, advertiser, now: stage.now)
    stage.run(for: .milliseconds(800))
    stage.radio.setInRange(true, advertiser, now: stage.now)
    stage.run(for: .milliseconds(100))
    _ = stage.take(scanner)
    stage.run(for: .seconds(1))
    #expect(try stage.periodicReports(scanner).count == 10)

    _ = try stage.next(Report.self, at: scanner)
    let received = stage.now
    stage.radio.setInRange(false, advertiser, now: stage.now)
    let (time, event) = try stage.next(Lost.self, at: scanner)
    #expect(event.syncHandle == handle)
    // From the anchor point of the last packet on.
    let elapsed = time - received
    #expect(elapsed <= .seconds(1) && elapsed > .milliseconds(990))
    let terminate = HCI.LEPeriodicAdvertisingTerminateSync { $0.syncHandle = handle }
    try stage.expect(.unknownAdvertisingIdentifier, for: terminate, from: scanner)
    stage.radio.setInRange(true, advertiser, now: stage.now)
    stage.run(for: .seconds(2))
    #expect(stage.take(scanner).isEmpty)
    #expect(try stage.synchronize(scanner, with: advertiser) != handle)
  }

  /// A reset, power off, a train that is disabled, and a listener that is out of range.
  @Test(arguments: 0..<4) func theEndOfATrainIsALoss(kind: Int) throws {
    var stage = RadioStage()
    let (advertiser, scanner) = (stage.attach(), stage.attach())
    try stage.advertisePeriodically(advertiser)
    _ = try stage.synchronize(scanner, with: advertiser)
    let received = try stage.next(Report.self, at: scanner).time
    switch kind {
    case 0: stage.send(HCI.Reset(), from: advertiser)
    case 1: stage.detach(advertiser)
    case 2:
      // The next train of the set is another one.
      try stage.enableTrain(advertiser, 0)
      try stage.enableTrain(advertiser, 1)
    default: stage.radio.setInRange(false, scanner, now: stage.now)
    }
    #expect(try stage.next(Lost.self, at: scanner).time == received + .seconds(1))
  }

  @Test func aResetEndsEverySynchronizationWithoutAnEvent() throws {
    var stage = RadioStage()
    let (advertiser, scanner) = (stage.attach(), stage.attach())
    try stage.advertisePeriodically(advertiser)
    let handle = try stage.synchronize(scanner, with: advertiser)
    stage.send(HCI.Reset(), from: scanner)
    stage.unmask(scanner)
    stage.run(for: .seconds(5))
    #expect(stage.take(scanner).isEmpty)
    let terminate = HCI.LEPeriodicAdvertisingTerminateSync { $0.syncHandle = handle }
    try stage.expect(.unknownAdvertisingIdentifier, for: terminate, from: scanner)
  }

  @Test func sixEventsWithoutAPacketAreAFailure() throws {
    var stage = RadioStage()
    let (advertiser, scanner) = (stage.attach(), stage.attach())
    try stage.configureTrain(advertiser, interval: 800)
    try stage.enableTrain(advertiser)
    try stage.enableSet(advertiser)
    let start = stage.now
    try stage.expect(.success, for: stage.createSync(to: advertiser), from: scanner)
    try stage.scanExtended(scanner)
    // AUX_ADV_IND is received within the first second, AUX_SYNC_IND after 1 s, …, 6 s is not.
    stage.run(for: .milliseconds(500))
    stage.radio.setFaults([.losesReports(percent: 100)], of: scanner)
    let (time, event) = try stage.next(Established.self, at: scanner)
    #expect(event.status == .connectionFailedToBeEstablished && time == start + .seconds(6))
    stage.radio.setFaults([], of: scanner)
    try stage.stopScan(scanner)
    _ = try stage.synchronize(scanner, with: advertiser)
  }

  @Test func aLostPacketIsAMissedEvent() throws {
    var stage = RadioStage(seed: 7)
    let (advertiser, scanner) = (stage.attach(), stage.attach())
    try stage.advertisePeriodically(advertiser)
    _ = try stage.synchronize(scanner, with: advertiser)
    stage.radio.setFaults([.losesReports(percent: 30)], of: scanner)
    _ = stage.take(scanner)
    stage.run(for: .seconds(100))
    let events = try stage.metaEvents(scanner)
    #expect(!events.contains { $0 is Lost } && (600..<800).contains(events.count))
  }

  @Test(arguments: [(4, 20), (0, 100), (0x1F3, 100 / 5)] as [(UInt16, Int)])
  func eventsAreSkipped(skip: UInt16, count: Int) throws {
    var stage = RadioStage()
    let (advertiser, scanner) = (stage.attach(), stage.attach())
    try stage.advertisePeriodically(advertiser)
    // Six of ten events before the timeout of 1 s are not skipped.
    _ = try stage.synchronize(scanner, with: advertiser) { $0.skip = skip }
    _ = stage.take(scanner)
    stage.run(for: .seconds(10))
    #expect(try stage.periodicReports(scanner).count == count)
  }

  @Test func noEventIsSkippedUntilAMissedOneIsReplaced() throws {
    var stage = RadioStage()
    let (advertiser, scanner) = (stage.attach(), stage.attach())
    try stage.advertisePeriodically(advertiser)
    _ = try stage.synchronize(scanner, with: advertiser) { $0.skip = 4 }
    let received = try stage.next(Report.self, at: scanner).time
    stage.radio.setFaults([.losesReports(percent: 100)], of: scanner)
    stage.run(for: .milliseconds(500))
    stage.radio.setFaults([], of: scanner)
    #expect(try stage.next(Report.self, at: scanner).time == received + .milliseconds(600))
    #expect(try stage.next(Report.self, at: scanner).time == received + .milliseconds(1100))
  }

  @Test func duplicatesAreFilteredByTheirIdentifier() throws {
    var stage = RadioStage()
    let (advertiser, scanner) = (stage.attach(), stage.attach())
    try stage.advertisePeriodically(advertiser, enable: 0x03)
    let handle = try stage.synchronize(scanner, with: advertiser) { $0.options = 0x04 }
    _ = stage.take(scanner)
    stage.run(for: .seconds(5))
    #expect(stage.take(scanner).isEmpty)
    // The same octets with a new identifier.
    let unchanged = HCI.LESetPeriodicAdvertisingData { $0.operation = .unchanged }
    try stage.expect(.success, for: unchanged, from: advertiser)
    stage.run(for: .seconds(5))
    #expect(try stage.periodicReports(scanner).map(\.data) == [[0x02, 0x0A, 0x00]])
    try stage.setTrainData([0x02, 0x0A, 0x01], of: advertiser)
    stage.run(for: .seconds(5))
    #expect(try stage.periodicReports(scanner).map(\.data) == [[0x02, 0x0A, 0x01]])
    // Without the ADI field nothing is a duplicate.
    try stage.enableTrain(advertiser, 0x01)
    stage.run(for: .seconds(1))
    #expect(try stage.periodicReports(scanner).count == 10)
    // Without the filter everything is reported.
    try stage.enableTrain(advertiser, 0x03)
    let enable = HCI.LESetPeriodicAdvertisingReceiveEnable {
      $0.syncHandle = handle
      $0.enable = 0x01
    }
    try stage.expect(.success, for: enable, from: scanner)
    stage.run(for: .seconds(1))
    #expect(try stage.periodicReports(scanner).count == 10)
  }

  @Test func reportsAreEnabledAndDisabled() throws {
    var stage = RadioStage()
    let (advertiser, scanner) = (stage.attach(), stage.attach())
    try stage.advertisePeriodically(advertiser, enable: 0x03)
    let handle = try stage.synchronize(scanner, with: advertiser) { $0.options = 0x02 }
    stage.run(for: .seconds(5))
    #expect(stage.take(scanner).isEmpty)
    let enable = HCI.LESetPeriodicAdvertisingReceiveEnable {
      $0.syncHandle = handle
      $0.enable = 0x03
    }
    for _ in 0..<2 {
      try stage.expect(.success, for: enable, from: scanner)
      stage.run(for: .seconds(5))
      #expect(try stage.periodicReports(scanner).count == 1)
    }
    var changed = enable
    changed.enable = 0
    try stage.expect(.success, for: changed, from: scanner)
    try stage.setTrainData([1], of: advertiser)
    stage.run(for: .seconds(5))
    #expect(stage.take(scanner).isEmpty)
    changed.enable = 0x04
    try stage.expect(.invalidCommandParameters, for: changed, from: scanner)
    changed.enable = 0x01
    changed.syncHandle = handle + 1
    try stage.expect(.unknownAdvertisingIdentifier, for: changed, from: scanner)
    let terminate = HCI.LEPeriodicAdvertisingTerminateSync { $0.syncHandle = handle }
    try stage.expect(.success, for: terminate, from: scanner)
    try stage.expect(.unknownAdvertisingIdentifier, for: terminate, from: scanner)
    try stage.expect(.unknownAdvertisingIdentifier, for: enable, from: scanner)
    try stage.enableSet(advertiser, false)
    #expect(stage.radio.deadline == nil)
  }

  @Test(
    arguments: [
      (0x08, 3, 0, 100, 0, .invalidCommandParameters), (0, 0x10, 0, 100, 0, .invalidCommandParameters),
      (0, 3, 0x1F4, 100, 0, .invalidCommandParameters), (0, 3, 0x1F3, 9, 0, .invalidCommandParameters),
      (0, 3, 0, 0x4001, 0, .invalidCommandParameters), (0, 3, 0, 100, 0x20, .invalidCommandParameters),
      (0, 3, 0, 100, 0x1F, .commandDisallowed), (0x04, 3, 0, 100, 0, .unsupportedFeatureOrParameterValue),
      (0x01, 0xFF, 0, 10, 0, .success), (0, 3, 0x1F3, 0x4000, 0x0F, .success),
    ] as [(UInt8, UInt8, UInt16, UInt16, UInt8, HCIErrorCode)])
  func createSyncIsChecked(
    options: UInt8, sid: UInt8, skip: UInt16, timeout: UInt16, cteType: UInt8, status: HCIErrorCode
  ) throws {
    var stage = RadioStage()
    let id = stage.attach { $0.features.remove(.periodicAdvertisingADI) }
    let command = HCI.LEPeriodicAdvertisingCreateSync {
      $0.options = options
      $0.advertisingSID = sid
      $0.skip = skip
      $0.syncTimeout = timeout
      $0.syncCTEType = cteType
    }
    try stage.expect(status, for: command, from: id)
  }

  @Test func oneCreateSyncIsPendingAndCanBeCancelled() throws {
    var stage = RadioStage()
    let (advertiser, scanner) = (stage.attach(), stage.attach())
    let cancel = HCI.LEPeriodicAdvertisingCreateSyncCancel()
    try stage.expect(.commandDisallowed, for: cancel, from: scanner)
    let create = stage.createSync(to: advertiser)
    try stage.expect(.success, for: create, from: scanner)
    try stage.expect(.commandDisallowed, for: create, from: scanner)
    try stage.expect(.success, for: cancel, from: scanner)
    #expect(try stage.events(Established.self, scanner).map(\.status) == [.operationCancelledByHost])
    // After SyncInfo and before the first AUX_SYNC_IND.
    try stage.configureTrain(advertiser, interval: 8000)
    try stage.enableTrain(advertiser)
    try stage.enableSet(advertiser)
    try stage.expect(.success, for: create, from: scanner)
    try stage.scanExtended(scanner)
    stage.run(for: .seconds(5))
    try stage.expect(.success, for: cancel, from: scanner)
    #expect(try stage.events(Established.self, scanner).map(\.status) == [.operationCancelledByHost])
    try stage.expect(.commandDisallowed, for: cancel, from: scanner)
    stage.run(for: .seconds(30))
    #expect(try stage.metaEvents(scanner).isEmpty)
  }

  @Test func aTrainIsReceivedOnce() throws {
    var stage = RadioStage()
    let (advertiser, scanner) = (stage.attach(), stage.attach())
    try stage.advertisePeriodically(advertiser)
    try stage.advertisePeriodically(advertiser, set: 1, sid: 4)
    let first = try stage.synchronize(scanner, with: advertiser)
    try stage.expect(.connectionAlreadyExists, for: stage.createSync(to: advertiser), from: scanner)
    let second = try stage.synchronize(scanner, with: advertiser, sid: 4)
    #expect(first != second)
    _ = stage.take(scanner)
    stage.run(for: .seconds(1))
    let handles = try stage.periodicReports(scanner).map(\.syncHandle)
    #expect(handles.count { $0 == first } == 10 && handles.count { $0 == second } == 10)
  }

  @Test func theNumberOfSynchronizationsIsLimited() throws {
    var stage = RadioStage()
    let advertiser = stage.attach()
    let scanner = stage.attach { $0.maximumPeriodicSyncs = 2 }
    for sid: UInt8 in 1...3 { try stage.advertisePeriodically(advertiser, set: sid, sid: sid) }
    let first = try stage.synchronize(scanner, with: advertiser, sid: 1)
    _ = try stage.synchronize(scanner, with: advertiser, sid: 2)
    try stage.expect(.memoryCapacityExceeded, for: stage.createSync(to: advertiser, sid: 3), from: scanner)
    let terminate = HCI.LEPeriodicAdvertisingTerminateSync { $0.syncHandle = first }
    try stage.expect(.success, for: terminate, from: scanner)
    _ = try stage.synchronize(scanner, with: advertiser, sid: 3)
  }

  // MARK: The periodic advertiser list

  func entry(_ address: DeviceAddress, _ sid: UInt8) -> HCI.LEAddDeviceToPeriodicAdvertiserList {
    .init {
      $0.advertiserAddress = address
      $0.advertisingSID = sid
    }
  }

  func removal(_ address: DeviceAddress, _ sid: UInt8) -> HCI.LERemoveDeviceFromPeriodicAdvertiserList {
    .init {
      $0.advertiserAddress = address
      $0.advertisingSID = sid
    }
  }

  @Test func aListOfAdvertisers() throws {
    var stage = RadioStage()
    let (advertiser, other, scanner) = (stage.attach(), stage.attach(), stage.attach())
    try stage.advertisePeriodically(advertiser, sid: 5)
    try stage.advertisePeriodically(other, sid: 5)
    let address = stage.address(of: advertiser)
    try stage.expect(.success, for: entry(address, 4), from: scanner)
    let create = stage.createSync(to: scanner) { $0.options = 0x01 }
    try stage.expect(.success, for: create, from: scanner)
    try stage.scanExtended(scanner)
    stage.run(for: .seconds(5))
    #expect(try stage.events(Established.self, scanner).isEmpty)
    try stage.expect(.success, for: HCI.LEPeriodicAdvertisingCreateSyncCancel(), from: scanner)
    try stage.expect(.success, for: entry(address, 5), from: scanner)
    try stage.expect(.success, for: create, from: scanner)
    _ = stage.take(scanner)
    let event = try stage.next(Established.self, at: scanner).event
    #expect(event.status == .success && event.advertiserAddress == address && event.advertisingSID == 5)
    // The train of the list that is received already is not another one.
    try stage.expect(.success, for: create, from: scanner)
    stage.run(for: .seconds(5))
    #expect(try stage.events(Established.self, scanner).isEmpty)
  }

  @Test func theListIsLimitedAndDoesNotChangeInUse() throws {
    var stage = RadioStage()
    let id = stage.attach { $0.periodicAdvertiserListSize = 2 }
    let address = stage.address(of: id)
    #expect(try stage.ask(HCI.LEReadPeriodicAdvertiserListSize(), from: id).periodicAdvertiserListSize == 2)
    try stage.expect(.success, for: entry(address, 1), from: id)
    try stage.expect(.invalidCommandParameters, for: entry(address, 1), from: id)
    try stage.expect(.invalidCommandParameters, for: entry(address, 16), from: id)
    let anonymous = DeviceAddress(octets: address.octets, kind: .anonymous)
    try stage.expect(.invalidCommandParameters, for: entry(anonymous, 2), from: id)
    try stage.expect(.success, for: entry(address, 2), from: id)
    try stage.expect(.memoryCapacityExceeded, for: entry(address, 3), from: id)
    try stage.expect(.unknownAdvertisingIdentifier, for: removal(address, 3), from: id)
    let create = stage.createSync(to: id) { $0.options = 0x01 }
    try stage.expect(.success, for: create, from: id)
    try stage.expect(.commandDisallowed, for: entry(address, 3), from: id)
    try stage.expect(.commandDisallowed, for: removal(address, 1), from: id)
    try stage.expect(.commandDisallowed, for: HCI.LEClearPeriodicAdvertiserList(), from: id)
    try stage.expect(.success, for: HCI.LEPeriodicAdvertisingCreateSyncCancel(), from: id)
    try stage.expect(.success, for: removal(address, 1), from: id)
    try stage.expect(.success, for: entry(address, 3), from: id)
    try stage.expect(.success, for: HCI.LEClearPeriodicAdvertiserList(), from: id)
    try stage.expect(.success, for: entry(address, 1), from: id)
  }

  // MARK: Addresses, PHYs, power

  @Test func theAdvertisersPrivateAddressIsResolved() throws {
    var stage = RadioStage()
    let (advertiser, scanner) = (stage.attach(), stage.attach())
    try stage.configureTrain(advertiser) { $0.ownAddressType = .random }
    let random = HCI.LESetAdvertisingSetRandomAddress { $0.randomAddress = PrivacyTests.privateAddress.octets }
    try stage.expect(.success, for: random, from: advertiser)
    try stage.enableTrain(advertiser)
    try stage.enableSet(advertiser)
    let add = HCI.LEAddDeviceToResolvingList {
      $0.peerIdentityAddress = PrivacyTests.identity
      $0.peerIRK = PrivacyTests.irk
    }
    try stage.expect(.success, for: add, from: scanner)
    let enable = HCI.LESetAddressResolutionEnable { $0.addressResolutionEnable = true }
    try stage.expect(.success, for: enable, from: scanner)
    let create = stage.createSync(to: advertiser) { $0.advertiserAddress = PrivacyTests.identity }
    try stage.expect(.success, for: create, from: scanner)
    // A pending command uses the resolving list.
    try stage.expect(.commandDisallowed, for: HCI.LEClearResolvingList(), from: scanner)
    try stage.scanExtended(scanner)
    let event = try stage.next(Established.self, at: scanner).event
    #expect(
      event.advertiserAddress == DeviceAddress(octets: PrivacyTests.identity.octets, kind: .randomIdentity))
  }

  /// The packets of 100 octets end 896 µs after the anchor point on LE 1M, 452 µs on LE 2M.
  @Test(arguments: [(HCI.PHY.le1M, 896), (.le2M, 452)] as [(HCI.PHY, Int64)])
  func withAirtimeAReportFollowsThePackets(phy: HCI.PHY, airtime: Int64) throws {
    var stage = RadioStage(pacing: .airtime)
    let (advertiser, scanner) = (stage.attach(), stage.attach())
    try stage.configureTrain(advertiser) { $0.secondaryAdvertisingPHY = phy }
    try stage.setTrainData(Bytes(repeating: 1, count: 100), of: advertiser)
    try stage.enableTrain(advertiser)
    try stage.enableSet(advertiser)
    let start = stage.now
    _ = try stage.synchronize(scanner, with: advertiser)
    let elapsed = try stage.next(Report.self, at: scanner).time - start
    let interval = Duration.milliseconds(100)
    #expect(elapsed - interval * Int(elapsed / interval) == .microseconds(airtime))
  }

  @Test func aTrainOnAPHYThatTheScannerLacksIsNotReceived() throws {
    var stage = RadioStage()
    let (advertiser, scanner) = (stage.attach(), stage.attach { $0.features.remove(.le2MPHY) })
    try stage.configureTrain(advertiser) { $0.secondaryAdvertisingPHY = .le2M }
    try stage.enableTrain(advertiser)
    try stage.enableSet(advertiser)
    try stage.expect(.success, for: stage.createSync(to: advertiser), from: scanner)
    try stage.scanExtended(scanner)
    stage.run(for: .seconds(10))
    #expect(stage.take(scanner).isEmpty)
  }

  @Test func theTransmitPowerIsIncluded() throws {
    var stage = RadioStage()
    let (advertiser, scanner) = (stage.attach { $0.txPower = 7 }, stage.attach())
    try stage.configureTrain(advertiser, properties: 0x0040)
    try stage.enableTrain(advertiser)
    try stage.enableSet(advertiser)
    _ = try stage.synchronize(scanner, with: advertiser)
    #expect(try stage.next(Report.self, at: scanner).event.txPower == 7)
  }

  /// The packets of this radio have no Constant Tone Extension.
  @Test func aSynchronizationThatNeedsAToneFails() throws {
    var stage = RadioStage()
    let (advertiser, scanner) = (stage.attach(), stage.attach())
    try stage.advertisePeriodically(advertiser)
    let create = stage.createSync(to: advertiser) { $0.syncCTEType = 0x10 }
    try stage.expect(.success, for: create, from: scanner)
    try stage.scanExtended(scanner)
    #expect(try stage.next(Established.self, at: scanner).event.status == .unsupportedRemoteFeature)
  }

  @Test func aTrainKeepsItsPhase() throws {
    var stage = RadioStage()
    let (advertiser, scanner) = (stage.attach(), stage.attach())
    try stage.advertisePeriodically(advertiser, interval: 8)
    let start = stage.now
    stage.run(for: .seconds(3603))
    for _ in 0..<2 {
      let handle = try stage.synchronize(scanner, with: advertiser)
      let elapsed = try stage.next(Report.self, at: scanner).time - start
      #expect(elapsed == .milliseconds(10) * Int((elapsed / .milliseconds(10)).rounded()))
      let terminate = HCI.LEPeriodicAdvertisingTerminateSync { $0.syncHandle = handle }
      try stage.expect(.success, for: terminate, from: scanner)
      stage.run(for: .milliseconds(3333))
    }
    // No event is left out.
    let handle = try stage.synchronize(scanner, with: advertiser)
    _ = stage.take(scanner)
    stage.run(for: .seconds(60))
    let reports = try stage.periodicReports(scanner)
    #expect(reports.count == 6000 && reports.allSatisfy { $0.syncHandle == handle })
  }
}
