import BLEHCI
import BLEVirtual
import BLEWire
import Testing

/// Periodic advertising sync transfer: Vol 4, Part E, 7.8.89 to 7.8.92; Vol 6, Part B, 5.1.13.
struct PeriodicSyncTransferTests {
  typealias Received = HCI.LEPeriodicAdvertisingSyncTransferReceived
  typealias Report = HCI.LEPeriodicAdvertisingReport

  /// An advertiser, a phone that is synchronized with it, and a watch with a link to the phone.
  struct Situation {
    var stage: RadioStage
    let advertiser: ControllerID
    let phone: ControllerID
    let watch: ControllerID
    let handles: (phone: ConnectionHandle, watch: ConnectionHandle)
    let sync: UInt16

    init(
      _ pacing: VirtualRadio.Pacing = .immediate, _ configure: (inout VirtualControllerConfiguration) -> Void = { _ in }
    ) throws {
      var stage = RadioStage(pacing: pacing)
      advertiser = stage.attach()
      phone = stage.attach()
      watch = stage.attach(configure)
      try stage.advertisePeriodically(advertiser, enable: 0x03)
      let link = try stage.connectExtended(phone, to: watch)
      handles = (link.central, link.peripheral)
      sync = try stage.synchronize(phone, with: advertiser)
      self.stage = stage
    }

    /// LE Periodic Advertising Sync Transfer from the phone to the watch.
    var transfer: HCI.LEPeriodicAdvertisingSyncTransfer {
      .init {
        $0.connectionHandle = handles.phone
        $0.serviceData = 0x1234
        $0.syncHandle = sync
      }
    }

    func reception(_ mode: UInt8) -> HCI.LESetPeriodicAdvertisingSyncTransferParameters {
      .init {
        $0.connectionHandle = handles.watch
        $0.mode = mode
        $0.syncTimeout = 100
      }
    }
  }

  /// The modes: ignored, without reports, with reports, and without duplicates.
  @Test(arguments: RadioStage.pacings, [(0, nil), (1, 0), (2, 50), (3, 1)] as [(UInt8, Int?)])
  func aPhoneTransfersATrain(pacing: VirtualRadio.Pacing, mode: (UInt8, reports: Int?)) throws {
    var s = try Situation(pacing)
    try s.stage.expect(.success, for: s.reception(mode.0), from: s.watch)
    try s.stage.expect(.success, for: s.transfer, from: s.phone)
    guard let count = mode.reports else {
      s.stage.run(for: .seconds(5))
      #expect(s.stage.take(s.watch).isEmpty)
      return
    }
    // The packets of the first event are reported together with the event.
    let end = s.stage.now + .seconds(10)
    var events: [any LEEventParameters] = []
    while events.isEmpty, s.stage.step(until: end) { events = try s.stage.metaEvents(s.watch) }
    let event = try #require(events.first as? Received)
    #expect(event.status == .success && event.connectionHandle == s.handles.watch && event.serviceData == 0x1234)
    #expect(event.advertisingSID == 3 && event.advertiserAddress == s.stage.address(of: s.advertiser))
    #expect(event.advertiserPHY == .le1M && event.periodicAdvertisingInterval == 80)
    s.stage.run(for: .milliseconds(4950))
    let reports = events.count { $0 is Report } + (try s.stage.periodicReports(s.watch).count)
    #expect(reports == count)
    // The link may end.
    let disconnect = HCI.Disconnect {
      $0.connectionHandle = s.handles.watch
      $0.reason = .remoteUserTerminatedConnection
    }
    try s.stage.expect(.success, for: disconnect, from: s.watch)
    let enable = HCI.LESetPeriodicAdvertisingReceiveEnable {
      $0.syncHandle = event.syncHandle
      $0.enable = 0x01
    }
    try s.stage.expect(.success, for: enable, from: s.watch)
    s.stage.run(for: .seconds(5))
    #expect(try s.stage.periodicReports(s.watch).count == 50)
  }

  @Test(arguments: RadioStage.pacings) func anAdvertiserTransfersItsOwnTrain(pacing: VirtualRadio.Pacing) throws {
    var stage = RadioStage(pacing: pacing)
    let (advertiser, watch) = (stage.attach(), stage.attach())
    let link = try stage.connectExtended(watch, to: advertiser)
    var command = HCI.LEPeriodicAdvertisingSetInfoTransfer {
      $0.connectionHandle = link.peripheral
      $0.serviceData = 7
      $0.advertisingHandle = 2
    }
    try stage.expect(.unknownAdvertisingIdentifier, for: command, from: advertiser)
    try stage.configureTrain(advertiser, set: 2)
    try stage.expect(.commandDisallowed, for: command, from: advertiser)
    try stage.enableTrain(advertiser, set: 2)
    // The train begins with the set.
    try stage.expect(.commandDisallowed, for: command, from: advertiser)
    try stage.enableSet(advertiser, set: 2)
    let standard = HCI.LESetDefaultPeriodicAdvertisingSyncTransferParameters {
      $0.mode = 2
      $0.syncTimeout = 100
    }
    // The default is for later links.
    try stage.expect(.success, for: standard, from: watch)
    try stage.expect(.success, for: command, from: advertiser)
    stage.run(for: .seconds(5))
    #expect(stage.take(watch).isEmpty)
    let reception = HCI.LESetPeriodicAdvertisingSyncTransferParameters {
      $0.connectionHandle = link.central
      $0.mode = 2
      $0.syncTimeout = 100
    }
    try stage.expect(.success, for: reception, from: watch)
    try stage.expect(.success, for: command, from: advertiser)
    let event = try stage.next(Received.self, at: watch).event
    #expect(event.status == .success && event.serviceData == 7 && event.connectionHandle == link.central)
    #expect(event.advertiserAddress == stage.address(of: advertiser) && event.advertisingSID == 3)
    stage.run(for: .seconds(1))
    #expect(try stage.periodicReports(watch).count >= 10)
    command.connectionHandle = ConnectionHandle(rawValue: 0x0E00)
    try stage.expect(.unknownConnectionIdentifier, for: command, from: advertiser)
  }

  @Test func theDefaultHoldsForLaterLinks() throws {
    var stage = RadioStage()
    let (advertiser, watch) = (stage.attach(), stage.attach())
    try stage.advertisePeriodically(advertiser)
    let standard = HCI.LESetDefaultPeriodicAdvertisingSyncTransferParameters {
      $0.mode = 1
      $0.syncTimeout = 100
    }
    try stage.expect(.success, for: standard, from: watch)
    let link = try stage.connectExtended(watch, to: advertiser)
    let command = HCI.LEPeriodicAdvertisingSetInfoTransfer { $0.connectionHandle = link.peripheral }
    try stage.expect(.success, for: command, from: advertiser)
    #expect(try stage.next(Received.self, at: watch).event.status == .success)
  }

  @Test func errors() throws {
    var s = try Situation()
    var transfer = s.transfer
    transfer.syncHandle &+= 1
    try s.stage.expect(.unknownAdvertisingIdentifier, for: transfer, from: s.phone)
    transfer.connectionHandle = ConnectionHandle(rawValue: 0x0E00)
    try s.stage.expect(.unknownConnectionIdentifier, for: transfer, from: s.phone)
    var reception = s.reception(4)
    try s.stage.expect(.invalidCommandParameters, for: reception, from: s.watch)
    reception = s.reception(1)
    reception.skip = 0x1F4
    try s.stage.expect(.invalidCommandParameters, for: reception, from: s.watch)
    reception = s.reception(1)
    reception.syncTimeout = 9
    try s.stage.expect(.invalidCommandParameters, for: reception, from: s.watch)
    reception.connectionHandle = ConnectionHandle(rawValue: 0x0E00)
    try s.stage.expect(.unknownConnectionIdentifier, for: reception, from: s.watch)
    let standard = HCI.LESetDefaultPeriodicAdvertisingSyncTransferParameters { $0.mode = 2 }
    try s.stage.expect(.invalidCommandParameters, for: standard, from: s.watch)
  }

  @Test func filteredReportsNeedTheADIField() throws {
    var s = try Situation { $0.features.remove(.periodicAdvertisingADI) }
    try s.stage.expect(.unsupportedFeatureOrParameterValue, for: s.reception(3), from: s.watch)
    try s.stage.expect(.success, for: s.reception(2), from: s.watch)
  }

  @Test func aPeerWithoutTheFeatureReceivesNoTrain() throws {
    var s = try Situation { $0.features.remove(.periodicAdvertisingSyncTransferRecipient) }
    try s.stage.expect(.unsupportedRemoteFeature, for: s.transfer, from: s.phone)
  }

  @Test func aTrainThatIsReceivedAlreadyIsIgnored() throws {
    var s = try Situation()
    _ = try s.stage.synchronize(s.watch, with: s.advertiser)
    try s.stage.expect(.success, for: s.reception(2), from: s.watch)
    try s.stage.expect(.success, for: s.transfer, from: s.phone)
    s.stage.run(for: .seconds(2))
    #expect(try s.stage.events(Received.self, s.watch).isEmpty)
  }

  @Test func aTrainThatIsOutOfRangeFails() throws {
    var s = try Situation()
    try s.stage.expect(.success, for: s.reception(2), from: s.watch)
    s.stage.radio.setInRange(false, s.advertiser, now: s.stage.now)
    let begin = s.stage.now
    try s.stage.expect(.success, for: s.transfer, from: s.phone)
    let (time, event) = try s.stage.next(Received.self, at: s.watch)
    #expect(event.status == .connectionFailedToBeEstablished && event.serviceData == 0x1234)
    #expect(time - begin > .milliseconds(500) && time - begin <= .milliseconds(600))
  }

  @Test func beyondTheLimitATransferFails() throws {
    var s = try Situation { $0.maximumPeriodicSyncs = 0 }
    try s.stage.expect(.success, for: s.reception(2), from: s.watch)
    try s.stage.expect(.success, for: s.transfer, from: s.phone)
    #expect(try s.stage.next(Received.self, at: s.watch).event.status == .memoryCapacityExceeded)
  }

  /// The transfer was faster than the search: the search ends.
  @Test func aPendingSearchEndsWithATransfer() throws {
    var s = try Situation()
    try s.stage.expect(.success, for: s.reception(1), from: s.watch)
    try s.stage.expect(.success, for: s.stage.createSync(to: s.advertiser), from: s.watch)
    try s.stage.expect(.success, for: s.transfer, from: s.phone)
    s.stage.run(for: .seconds(1))
    #expect(try s.stage.events(Received.self, s.watch).map(\.status) == [.success])
    try s.stage.scanExtended(s.watch)
    let event = try s.stage.next(HCI.LEPeriodicAdvertisingSyncEstablished.self, at: s.watch).event
    #expect(event.status == .connectionAlreadyExists)
  }
}
