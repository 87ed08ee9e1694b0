import BLECrypto
import BLEHCI
import BLEWire
import Testing

@testable import BLEHost

/// The synchronizer without a host: effects are compared, and the controller's answers are made up.
@Suite("The synchronizer, alone") struct SynchronizerTests {
  private let owner = OwnerID(rawValue: 1)
  private let other = OwnerID(rawValue: 2)
  private var synchronizer = Synchronizer(maximumRequests: 4)
  private var radio = Self.soundRadio
  private var effects: [Effect<SynchronizerEffect>] = []
  private var events: [(SyncID, HostEvent.Synchronizing)] = []

  private static var soundRadio: RadioContext {
    var radio = RadioContext(isPoweredOn: true)
    radio.controller.leFeatures = [
      .extendedAdvertising, .periodicAdvertising, .periodicAdvertisingSyncTransferRecipient,
    ]
    let commands: [any HCICommand.Type] = [
      HCI.LESetExtendedAdvertisingParameters.self, HCI.LESetExtendedAdvertisingData.self,
      HCI.LESetExtendedScanResponseData.self, HCI.LESetExtendedAdvertisingEnable.self,
      HCI.LESetExtendedScanParameters.self, HCI.LESetExtendedScanEnable.self, HCI.LEExtendedCreateConnection.self,
      HCI.LEPeriodicAdvertisingCreateSync.self, HCI.LEPeriodicAdvertisingCreateSyncCancel.self,
      HCI.LEPeriodicAdvertisingTerminateSync.self, HCI.LEAddDeviceToPeriodicAdvertiserList.self,
      HCI.LEClearPeriodicAdvertiserList.self, HCI.LESetPeriodicAdvertisingSyncTransferParameters.self,
    ]
    for command in commands { radio.controller.commands.insert(command.opcode) }
    return radio
  }

  private static func train(_ number: UInt64, set: UInt8 = 1) -> TrainID {
    TrainID(DeviceAddress(octets: BD_ADDR(0xC000_0000_0000 | number), kind: .random), set: set)
  }

  private mutating func start(
    _ id: UInt32, _ source: SyncSource? = nil, _ parameters: SyncParameters = SyncParameters(),
    link: ConnectionHandle? = nil, of owner: OwnerID? = nil
  ) {
    synchronizer.start(
      SyncID(rawValue: id), source ?? .train(Self.train(UInt64(id))), on: link, parameters, for: owner ?? self.owner,
      radio, into: &effects)
  }

  /// The steps whose commands were sent since the last call. Events are kept.
  private mutating func takeSteps() -> [Synchronizer.Step] {
    defer { effects = [] }
    return effects.compactMap { effect in
      switch effect {
      case .command(_, for: .radio(.synchronizing(let step))): return step
      case .event(.synchronizing(let id, let event), _): events.append((id, event))
      default: break
      }
      return nil
    }
  }

  /// Answers commands until there are no more, those of `refused` with an error.
  @discardableResult
  private mutating func complete(
    refusing refused: [Synchronizer.Step] = [], with status: HCIErrorCode = .commandDisallowed
  ) -> [Synchronizer.Step] {
    var all: [Synchronizer.Step] = []
    while true {
      let steps = takeSteps()
      guard !steps.isEmpty else { return all }
      all += steps
      for step in steps {
        synchronizer.stepCompleted(
          step, .lePeriodicAdvertisingCreateSync, refused.contains(step) ? status : .success, radio, into: &effects)
      }
    }
  }

  private mutating func establish(_ number: UInt64, handle: UInt16, _ status: HCIErrorCode = .success) {
    let event = HCI.LEPeriodicAdvertisingSyncEstablished {
      ($0.status, $0.syncHandle, $0.advertisingSID) = (status, handle, 1)
      ($0.advertiserAddress, $0.periodicAdvertisingInterval) = (Self.train(number).advertiser, 8)
    }
    synchronizer.established(event, by: event.advertiserAddress, radio, into: &effects)
  }

  private mutating func report(_ handle: UInt16, _ data: Bytes, _ status: UInt8 = 0, counter: UInt16? = nil) {
    let report = HCI.LEPeriodicAdvertisingReport { ($0.syncHandle, $0.data, $0.dataStatus) = (handle, data, status) }
    synchronizer.receive(report, counter: counter, now: radio.now, into: &effects)
  }

  private mutating func tick(after time: Duration) {
    radio.now = radio.now + time
    synchronizer.tick(radio, into: &effects)
  }

  /// The events of the requests since the last call, in words.
  private mutating func takeEvents() -> [String] {
    _ = takeSteps()
    defer { events = [] }
    return events.map { id, event in
      switch event {
      case .synchronized: "\(id.rawValue) synchronized"
      case .report(let report): "\(id.rawValue) \(report.completeness) \(report.data.count)"
      case .lost: "\(id.rawValue) lost"
      case .ended(let error): "\(id.rawValue) ended: \(error)"
      case .transferred: "\(id.rawValue) transferred"
      }
    }
  }

  @Test mutating func oneTrainIsSearchedForByItsAddress() {
    start(1)
    #expect(synchronizer.scan != nil && complete() == [.create] && !synchronizer.isOff)
    establish(1, handle: 7)
    report(7, [1, 2, 3])
    #expect(takeEvents() == ["1 synchronized", "1 complete 3"])
    #expect(synchronizer.isOff && synchronizer.scan == nil, "the scan is over")
    synchronizer.stop(SyncID(rawValue: 1), of: owner, radio, into: &effects)
    #expect(complete() == [.terminate(7)])
    report(7, [1])
    #expect(takeEvents() == [])
  }

  @Test mutating func severalTrainsGoThroughTheList() {
    start(1)
    start(2)
    // The search for the first one ends before the list is filled.
    #expect(complete() == [.create, .cancel])
    establish(1, handle: 0, .operationCancelledByHost)
    #expect(complete() == [.clear, .add(0), .add(1), .create])
    establish(2, handle: 3)
    #expect(complete() == [.create], "the other one alone")
    establish(1, handle: 4)
    #expect(takeEvents() == ["2 synchronized", "1 synchronized"])
  }

  @Test mutating func withAShortListTrainsTakeTurns() {
    start(1)
    start(2)
    start(3)
    complete()
    establish(1, handle: 0, .operationCancelledByHost)
    #expect(complete(refusing: [.add(1)], with: .memoryCapacityExceeded) == [.clear, .add(0), .add(1), .create])
    var searched: [UInt64] = [1]
    for _ in 0..<5 {
      tick(after: Synchronizer.turnLength)
      #expect(complete() == [.cancel])
      let last = searched[searched.count - 1]
      establish(last, handle: 0, .operationCancelledByHost)
      let commands = effects.compactMap { effect -> DeviceAddress? in
        guard case .command(let command, _) = effect else { return nil }
        return command.decoded(HCI.LEPeriodicAdvertisingCreateSync.self)?.advertiserAddress
      }
      searched += commands.map { $0.octets.value & 0xF }
      complete()
    }
    #expect(searched == [1, 2, 3, 1, 2, 3])
  }

  @Test mutating func aSearchWhoseEndIsNotReportedIsNotWaitedFor() {
    start(1)
    complete()
    synchronizer.stop(SyncID(rawValue: 1), of: owner, radio, into: &effects)
    #expect(complete() == [.cancel] && !synchronizer.isOff)
    start(2)
    #expect(complete() == [])
    tick(after: Synchronizer.cancelTime)
    #expect(complete() == [.create])
  }

  @Test mutating func theEndOfASearchMayComeBeforeTheAnswer() {
    start(1)
    complete()
    synchronizer.stop(SyncID(rawValue: 1), of: owner, radio, into: &effects)
    #expect(takeSteps() == [.cancel])
    establish(1, handle: 0, .operationCancelledByHost)
    synchronizer.stepCompleted(.cancel, .lePeriodicAdvertisingCreateSyncCancel, .success, radio, into: &effects)
    #expect(synchronizer.isOff)
  }

  @Test mutating func aTrainThatIsFoundWhenItIsNoLongerWantedIsEnded() {
    start(1)
    complete()
    synchronizer.stop(SyncID(rawValue: 1), of: owner, radio, into: &effects)
    #expect(takeSteps() == [.cancel])
    establish(1, handle: 9)
    #expect(takeSteps() == [.terminate(9)])
    synchronizer.stepCompleted(
      .cancel, .lePeriodicAdvertisingCreateSyncCancel, .commandDisallowed, radio, into: &effects)
    #expect(synchronizer.isOff)
  }

  @Test mutating func aLostTrainIsSearchedForAgain() {
    start(1)
    complete()
    establish(1, handle: 7)
    complete()
    synchronizer.lost(7, radio, into: &effects)
    #expect(complete() == [.create] && synchronizer.scan != nil)
    establish(1, handle: 8)
    #expect(takeEvents() == ["1 synchronized", "1 lost", "1 synchronized"])
  }

  @Test mutating func aLossThatIsNotReportedIsNoticed() {
    var parameters = SyncParameters()
    parameters.timeout = 100
    start(1, nil, parameters)
    complete()
    establish(1, handle: 7)
    complete()
    tick(after: .milliseconds(1_900))
    report(7, [1])
    tick(after: .milliseconds(1_900))
    #expect(takeEvents() == ["1 synchronized", "1 complete 1"])
    tick(after: .milliseconds(200))
    #expect(complete() == [.terminate(7), .create])
    #expect(takeEvents() == ["1 lost"])
  }

  @Test mutating func reportsOfOneEventAreJoined() {
    start(1)
    complete()
    establish(1, handle: 7)
    _ = takeEvents()
    report(7, Bytes(repeating: 1, count: 247), 1)
    report(7, Bytes(repeating: 1, count: 247), 1)
    #expect(takeEvents() == [])
    report(7, [1], 0)
    #expect(takeEvents() == ["1 complete 495"])
    report(7, [1, 2], 1)
    report(7, [], 2)
    #expect(takeEvents() == ["1 truncated 2"])
    for _ in 0..<9 { report(7, Bytes(repeating: 1, count: 247), 1) }
    report(7, [], 0)
    #expect(takeEvents() == ["1 truncated 1650"], "no more than the longest data")
    report(7, [], 0xFF, counter: 5)
    #expect(takeEvents() == ["1 missed 0"])
  }

  @Test mutating func anEventWhoseEndIsMissingIsDeliveredAsTruncated() {
    start(1)
    complete()
    establish(1, handle: 7)
    _ = takeEvents()
    report(7, [1, 2], 1, counter: 1)
    report(7, [1, 2, 3], 0, counter: 2)
    #expect(takeEvents() == ["1 truncated 2", "1 complete 3"], "by the number of the event")
    report(7, [1], 1)
    tick(after: .seconds(1))
    #expect(takeEvents() == [])
    report(7, [2], 1)
    tick(after: .seconds(2))
    #expect(takeEvents() == ["1 truncated 2"], "by the clock")
    report(7, [1], 1)
    synchronizer.lost(7, radio, into: &effects)
    #expect(takeEvents() == ["1 truncated 1", "1 lost"], "before the loss")
  }

  @Test mutating func ownersShareATrain() {
    let train = SyncSource.train(Self.train(1))
    var filtering = SyncParameters()
    filtering.filtersDuplicates = true
    start(1, train, filtering)
    complete()
    establish(1, handle: 7)
    report(7, [1])
    report(7, [1])
    #expect(takeEvents() == ["1 synchronized", "1 complete 1"])
    start(2, train, of: other)
    #expect(takeEvents() == ["2 synchronized", "2 complete 1"], "with the last report")
    report(7, [1])
    #expect(takeEvents() == ["2 complete 1"])
    report(7, [2])
    #expect(takeEvents() == ["1 complete 1", "2 complete 1"])
    synchronizer.stop(SyncID(rawValue: 1), of: owner, radio, into: &effects)
    #expect(complete() == [])
    synchronizer.stop(SyncID(rawValue: 2), of: owner, radio, into: &effects)
    #expect(complete() == [], "of another owner")
    synchronizer.stop(SyncID(rawValue: 2), of: other, radio, into: &effects)
    #expect(complete() == [.terminate(7)])
  }

  @Test mutating func theFilterOfTheControllerIsUsedWhileEachOwnerWantsIt() {
    radio.controller.leFeatures.insert(.periodicAdvertisingADI)
    var filtering = SyncParameters()
    filtering.filtersDuplicates = true
    start(1, .train(Self.train(1)), filtering)
    let options = effects.compactMap { effect -> UInt8? in
      guard case .command(let command, _) = effect else { return nil }
      return command.decoded(HCI.LEPeriodicAdvertisingCreateSync.self)?.options
    }
    #expect(options == [4])
    complete()
    establish(1, handle: 7)
    #expect(synchronizer.deadline == nil, "no report is due from a controller that filters")
    start(2, .train(Self.train(1)), of: other)
    #expect(complete() == [.unfilter(7)])
    #expect(synchronizer.deadline != nil)
  }

  @Test mutating func aTransferIsTakenFromTheLinkThatItIsExpectedOn() {
    let (peer, handle) = (LinkID(rawValue: 5), ConnectionHandle(rawValue: 0x40))
    start(1, .transfer(from: peer), link: handle)
    #expect(complete() == [.expect(peer)] && synchronizer.scan == nil, "without a scan")
    var event = HCI.LEPeriodicAdvertisingSyncTransferReceived {
      ($0.connectionHandle, $0.serviceData, $0.syncHandle, $0.advertisingSID) = (handle, 0xBEEF, 3, 1)
      ($0.advertiserAddress, $0.status) = (Self.train(9).advertiser, .connectionFailedToBeEstablished)
    }
    synchronizer.transferred(event, by: event.advertiserAddress, from: peer, radio, into: &effects)
    #expect(takeEvents() == [], "another one is awaited")
    event.status = .success
    synchronizer.transferred(event, by: event.advertiserAddress, from: LinkID(rawValue: 6), radio, into: &effects)
    #expect(complete() == [.terminate(3)], "of another link")
    synchronizer.transferred(event, by: event.advertiserAddress, from: peer, radio, into: &effects)
    #expect(complete() == [.expect(peer)], "no further one")
    guard case .synchronized(let train)? = events.first?.1 else { Issue.record("\(events)"); return }
    #expect(train.train == Self.train(9) && train.serviceData == 0xBEEF)
    synchronizer.lost(3, radio, into: &effects)
    #expect(complete() == [.create], "by its address from now on")
  }

  @Test mutating func theEndOfALinkEndsTheWaitForItsTransfer() {
    let peer = LinkID(rawValue: 5)
    start(1, .transfer(from: peer), link: ConnectionHandle(rawValue: 0x40))
    complete()
    synchronizer.linkEnded(peer, into: &effects)
    #expect(takeEvents() == ["1 ended: \(HostError.notConnected)"])
    start(2, .transfer(from: peer))
    #expect(takeEvents() == ["2 ended: \(HostError.notConnected)"])
  }

  @Test mutating func whatTheControllerLacksIsAnError() {
    radio.controller.leFeatures.remove(.periodicAdvertising)
    start(1)
    radio.controller.leFeatures.remove(.periodicAdvertisingSyncTransferRecipient)
    start(2, .transfer(from: LinkID(rawValue: 5)), link: ConnectionHandle(rawValue: 0x40))
    #expect(takeEvents().allSatisfy { $0.contains("ended: the controller has no ") })
    radio = Self.soundRadio
    radio.isExclusive = false
    start(3)
    radio.isExclusive = true
    radio.isPoweredOn = false
    start(4)
    radio = Self.soundRadio
    var parameters = SyncParameters()
    parameters.timeout = 9
    start(5, nil, parameters)
    start(6, .train(Self.train(1, set: 16)))
    #expect(takeEvents().count == 4 && synchronizer.requests.isEmpty)
  }

  @Test mutating func requestsAreBounded() {
    for id in 10...13 { start(UInt32(id)) }
    #expect(takeEvents() == [] && synchronizer.requests.count == 4)
    start(14)
    #expect(takeEvents() == ["14 ended: \(HostError.tooMany("synchronizations", limit: 4))"])
  }

  @Test mutating func theLimitOfTheControllerIsAnErrorOfTheTrainThatHasNoRoom() {
    start(1)
    complete()
    establish(1, handle: 7)
    _ = takeEvents()
    start(2)
    complete(refusing: [.create], with: .memoryCapacityExceeded)
    #expect(takeEvents().map { $0.prefix(8) } == ["2 ended:"])
    report(7, [1])
    #expect(takeEvents() == ["1 complete 1"])
    synchronizer.lost(7, radio, into: &effects)
    complete(refusing: [.create], with: .memoryCapacityExceeded)
    #expect(takeEvents() == ["1 lost"], "one that was received has its place again")
    tick(after: .seconds(10))
    #expect(complete() == [.create])
  }

  @Test mutating func aRefusalThatMayPassIsTriedAgainAndThenAnError() {
    start(1)
    var attempts = 0
    for _ in 0..<10 {
      attempts += complete(refusing: [.create]).count
      tick(after: .seconds(10))
    }
    #expect(attempts == 1 + Retry.attempts)
    #expect(takeEvents().map { $0.prefix(8) } == ["1 ended:"])
  }

  @Test mutating func attemptsThatFailAreRepeatedByTheClock() {
    start(1)
    complete()
    establish(1, handle: 0, .connectionFailedToBeEstablished)
    #expect(complete() == [.create], "the first time at once")
    establish(1, handle: 0, .connectionFailedToBeEstablished)
    #expect(complete() == [])
    tick(after: .seconds(10))
    #expect(complete() == [.create])
    establish(1, handle: 2)
    #expect(takeEvents() == ["1 synchronized"])
  }

  @Test mutating func aHeldSearchGoesOffAndComesBack() {
    start(1)
    complete()
    radio.isHeld = true
    synchronizer.reconcile(radio, into: &effects)
    #expect(complete() == [.cancel])
    establish(1, handle: 0, .operationCancelledByHost)
    #expect(complete() == [] && synchronizer.isOff)
    radio.isHeld = false
    synchronizer.reconcile(radio, into: &effects)
    #expect(complete() == [.create])
  }

  @Test mutating func aResetLosesTheTrainsAndTheTransfers() {
    start(1)
    complete()
    establish(1, handle: 7)
    start(2, .transfer(from: LinkID(rawValue: 5)), link: ConnectionHandle(rawValue: 0x40))
    complete()
    _ = takeEvents()
    synchronizer.suspend(into: &effects)
    #expect(takeEvents() == ["2 ended: \(HostError.notConnected)", "1 lost"])
    synchronizer.restore(radio, into: &effects)
    #expect(complete() == [.create])
    radio.controller.leFeatures.remove(.periodicAdvertising)
    synchronizer.suspend(into: &effects)
    synchronizer.restore(radio, into: &effects)
    #expect(takeEvents().map { $0.prefix(8) } == ["1 ended:"], "a controller that lacks it")
  }

  @Test mutating func aCommandWithoutAnAnswerEndsTheRequestsThatNeedIt() {
    start(1)
    complete()
    establish(1, handle: 7)
    start(2)
    complete()
    _ = takeEvents()
    synchronizer.timedOut(.create, .lePeriodicAdvertisingCreateSync, into: &effects)
    #expect(takeEvents().map { $0.prefix(8) } == ["2 ended:"])
    #expect(synchronizer.requests.count == 1)
  }

  /// Whatever a controller answers and reports in whatever order: nothing traps, and when it is sound again the trains
  /// that are wanted are received, and no others.
  @Test(arguments: 0..<300) mutating func aControllerThatErrsIsRecoveredFrom(seed: UInt64) {
    var random = RandomSource.seeded(seed)
    var pending: [Synchronizer.Step] = []
    let statuses: [HCIErrorCode] = [
      .success, .commandDisallowed, .memoryCapacityExceeded, .unspecifiedError, .connectionFailedToBeEstablished,
      .operationCancelledByHost, .unknownAdvertisingIdentifier,
    ]
    for _ in 0..<60 {
      let number = UInt64.random(in: 1...4, using: &random)
      let status = statuses[Int.random(in: 0..<statuses.count, using: &random)]
      let handle = UInt16.random(in: 0...5, using: &random)
      switch Int.random(in: 0..<11, using: &random) {
      case 0: start(UInt32(number))
      case 1: synchronizer.stop(SyncID(rawValue: UInt32(number)), of: owner, radio, into: &effects)
      case 2...4 where !pending.isEmpty:
        let step = pending.removeFirst()
        synchronizer.stepCompleted(step, .lePeriodicAdvertisingCreateSync, status, radio, into: &effects)
      case 5: establish(number, handle: handle, status)
      case 6: synchronizer.lost(handle, radio, into: &effects)
      case 7: report(handle, Bytes(repeating: 0, count: Int(number)), UInt8.random(in: 0...4, using: &random))
      case 8: tick(after: .milliseconds(Int64.random(in: 0...3_000, using: &random)))
      case 9:
        radio.isHeld = Bool.random(using: &random)
        synchronizer.reconcile(radio, into: &effects)
      default:
        synchronizer.start(
          SyncID(rawValue: 20), .transfer(from: LinkID(rawValue: 5)), on: ConnectionHandle(rawValue: 1),
          SyncParameters(), for: owner, radio, into: &effects)
      }
      pending += takeSteps()
    }
    radio.isHeld = false
    synchronizer.linkEnded(LinkID(rawValue: 5), into: &effects)
    var handle: UInt16 = 100
    for _ in 0..<40 {
      pending += takeSteps()
      while !pending.isEmpty {
        let step = pending.removeFirst()
        synchronizer.stepCompleted(step, .lePeriodicAdvertisingCreateSync, .success, radio, into: &effects)
        pending += takeSteps()
        if step == .cancel { establish(1, handle: 0, .operationCancelledByHost) }
        pending += takeSteps()
      }
      if !synchronizer.isOff, let wanted = synchronizer.requests.first(where: \.isSearching)?.train {
        handle += 1
        establish(wanted.advertiser.octets.value & 0xFF, handle: handle)
      }
      tick(after: .seconds(1))
      for handle in 0...handle { report(handle, [1]) }
    }
    #expect(synchronizer.requests.allSatisfy { if case .synchronized = $0.state { true } else { false } })
    #expect(synchronizer.isOff && synchronizer.scan == nil)
  }
}
