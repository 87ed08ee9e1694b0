import BLEHCI
import BLEWire
import Testing

@testable import BLEHost

/// The advertiser without a host: effects are compared, and the controller's answers are made up.
@Suite("The advertiser, alone") struct AdvertiserTests {
  private let owner = OwnerID(rawValue: 1)
  private let id = AdvertisingID(rawValue: 1)
  private var advertiser = Advertiser(maximum: 2)
  private var radio = RadioContext(isPoweredOn: true)
  private var effects: [Effect<AdvertiserEffect>] = []
  private var events: [HostEvent] = []

  private var intent: AdvertisingIntent { AdvertisingIntent(data: [2, 1, 6], scanResponse: []) }

  private mutating func useExtendedCommands() {
    radio.controller.leFeatures = [.extendedAdvertising]
    for opcode: HCIOpcode in [
      .leSetExtendedAdvertisingParameters, .leSetExtendedAdvertisingData, .leSetExtendedScanResponseData,
      .leSetExtendedAdvertisingEnable,
    ] {
      radio.controller.commands.insert(opcode)
    }
    radio.controller.advertisingSets = 8
  }

  /// Answers the commands until there are no more.
  ///
  /// - Parameters:
  ///   - refused: the step that the controller rejects.
  ///   - times: how often it does.
  ///   - last: the step that is not answered yet.
  private mutating func complete(
    refused: DeclaredAdvertisement.Step? = nil, with refusal: HCIErrorCode = .connectionLimitExceeded,
    times: Int = .max,
    upTo last: DeclaredAdvertisement.Step? = nil
  ) -> [DeclaredAdvertisement.Step] {
    var left = times
    var steps: [DeclaredAdvertisement.Step] = []
    while !effects.isEmpty {
      if let last, case .command(_, for: .radio(.advertising(_, last))) = effects[0] { break }
      switch effects.removeFirst() {
      case .command(_, for: .radio(.advertising(let id, let step))):
        steps.append(step)
        let status: HCIErrorCode = step == refused && left > 0 ? refusal : .success
        if status != .success { left -= 1 }
        advertiser.stepCompleted(id, step, .leSetAdvertisingEnable, status, radio, into: &effects)
      case .event(let event, to: .owner(owner)): events.append(event)
      default: break
      }
    }
    return steps
  }

  private mutating func start(_ intent: AdvertisingIntent? = nil, id: UInt32 = 1) {
    advertiser.start(AdvertisingID(rawValue: id), intent ?? self.intent, for: owner, radio, into: &effects)
  }

  @Test mutating func isConfiguredThenEnabledAndStopped() {
    start()
    #expect(complete() == [.parameters, .data, .scanResponse, .enable] && !advertiser.isOff)
    guard case .advertising(id, .started(.success))? = events.last else { Issue.record("\(events)"); return }
    advertiser.stop(id, of: owner, radio, into: &effects)
    #expect(complete() == [.disable] && advertiser.isOff)
  }

  /// Another program that used the controller has ended without disabling its advertisement (Vol 4, Part E, 7.8.5 and
  /// 7.8.53).
  @Test(arguments: [false, true])
  mutating func disablesAnAdvertisementThatAnotherProgramLeftEnabled(isExtended: Bool) {
    if isExtended { useExtendedCommands() }
    start()
    #expect(complete(refused: .parameters, with: .commandDisallowed, times: 1) == Self.takingOver)
    #expect(!advertiser.isOff)
    guard case .advertising(id, .started(.success))? = events.last else { Issue.record("\(events)"); return }
  }

  private static let takingOver: [DeclaredAdvertisement.Step] = [
    .parameters, .takeOver, .parameters, .data, .scanResponse, .enable,
  ]

  /// Nothing explains the refusal, so it is not repeated for ever.
  @Test mutating func reportsParametersThatStayDisallowed() {
    start()
    #expect(complete(refused: .parameters, with: .commandDisallowed) == [.parameters, .takeOver, .parameters])
    for pause in [1, 2, 4] {
      #expect(events.isEmpty && advertiser.deadline == radio.now + .seconds(pause))
      radio.now = radio.now + .seconds(pause)
      advertiser.tick(radio, into: &effects)
      #expect(complete(refused: .parameters, with: .commandDisallowed) == [.parameters])
    }
    radio.now = radio.now + .seconds(8)
    advertiser.tick(radio, into: &effects)
    _ = complete(refused: .parameters, with: .commandDisallowed)
    guard case .advertising(id, .started(.failure(.controller(_, .commandDisallowed))))? = events.last else {
      Issue.record("\(events)")
      return
    }
    #expect(advertiser.isOff)
  }

  /// Each start has one answer.
  @Test(arguments: [DeclaredAdvertisement.Step?.none, .parameters, .data, .enable])
  mutating func aStartThatIsStoppedIsAnswered(during step: DeclaredAdvertisement.Step?) {
    radio.isPoweredOn = step != nil
    radio.isRestarting = step == nil
    start()
    if let step { _ = complete(upTo: step) }
    let id = AdvertisingID(rawValue: 1)
    for _ in 0..<2 { advertiser.stop(id, of: owner, radio, into: &effects) }
    _ = complete()
    guard events.count == 1, case .advertising(id, .started(.failure(.cancelled))) = events[0] else {
      Issue.record("\(events)")
      return
    }
    events = []
    radio.isPoweredOn = true
    start()
    _ = complete()
    guard events.count == 1, case .advertising(id, .started(.success)) = events[0] else {
      Issue.record("\(events)")
      return
    }
  }

  @Test mutating func stopsAnAdvertisementThatIsBeingTakenOver() {
    useExtendedCommands()
    start()
    advertiser.stop(id, of: owner, radio, into: &effects)
    let steps = complete(refused: .parameters, with: .commandDisallowed, times: 1)
    #expect(steps == [.parameters, .takeOver, .parameters, .remove] && advertiser.isOff)
  }

  @Test mutating func anExtendedSetHasItsAddressAndIsRemoved() {
    useExtendedCommands()
    radio.address = DeviceAddress(octets: BD_ADDR(0xC000_0000_0001), kind: .random)
    start()
    #expect(complete() == [.parameters, .randomAddress, .data, .scanResponse, .enable])
    advertiser.stop(id, of: owner, radio, into: &effects)
    #expect(complete() == [.disable, .remove])
  }

  /// Starts an extended advertisement and answers the commands.
  ///
  /// - Returns: the operations and the octets of the commands with data.
  private mutating func fragments(
    of octets: Int, inScanResponse: Bool = false
  ) -> [(operation: HCI.DataOperation, octets: Int)] {
    useExtendedCommands()
    radio.controller.maximumAdvertisingData = LinkLayerLimits.extendedAdvertisingData
    let area = [UInt8](repeating: 1, count: octets)
    var intent = AdvertisingIntent(data: inScanResponse ? [] : area, scanResponse: inScanResponse ? area : [])
    (intent.usesExtendedPDUs, intent.isConnectable) = (true, false)
    start(intent)
    var fragments: [(operation: HCI.DataOperation, octets: Int)] = []
    while !effects.isEmpty {
      let effect = effects.removeFirst()
      if case .event(let event, _) = effect { events.append(event) }
      guard case .command(let command, for: .radio(.advertising(let id, let step))) = effect else { continue }
      if let data = command.decoded(HCI.LESetExtendedAdvertisingData.self), !inScanResponse {
        fragments.append((data.operation, data.advertisingData.count))
      }
      if let data = command.decoded(HCI.LESetExtendedScanResponseData.self), inScanResponse {
        fragments.append((data.operation, data.scanResponseData.count))
      }
      advertiser.stepCompleted(id, step, .leSetExtendedAdvertisingData, .success, radio, into: &effects)
    }
    return fragments
  }

  @Test(arguments: [false, true]) mutating func dataLongerThanACommandIsSetInFragments(inScanResponse: Bool) {
    let expected: [(Int, [(HCI.DataOperation, Int)])] = [
      (251, [(.complete, 251)]), (252, [(.first, 251), (.last, 1)]), (502, [(.first, 251), (.last, 251)]),
      (503, [(.first, 251), (.intermediate, 251), (.last, 1)]),
      (1650, [(.first, 251)] + Array(repeating: (.intermediate, 251), count: 5) + [(.last, 144)]),
    ]
    for (octets, operations) in expected {
      var tests = self
      let fragments = tests.fragments(of: octets, inScanResponse: inScanResponse)
      #expect(fragments.map(\.operation) == operations.map(\.0), "\(octets)")
      #expect(fragments.map(\.octets) == operations.map(\.1), "\(octets)")
      guard case .advertising(_, .started(.success))? = tests.events.last else { Issue.record("\(octets)"); return }
    }
  }

  @Test mutating func dataBeyondTheLimitsIsRejected() {
    useExtendedCommands()
    radio.controller.maximumAdvertisingData = LinkLayerLimits.extendedAdvertisingData
    func extended(_ data: Int, _ scanResponse: Int, isConnectable: Bool, power: Bool = false) -> AdvertisingIntent {
      var intent = AdvertisingIntent(
        data: [UInt8](repeating: 1, count: data), scanResponse: [UInt8](repeating: 1, count: scanResponse))
      (intent.usesExtendedPDUs, intent.isConnectable, intent.includesTXPower) = (true, isConnectable, power)
      return intent
    }
    let controller = radio.controller
    for (intent, isAccepted) in [
      (extended(1650, 0, isConnectable: false), true), (extended(1651, 0, isConnectable: false), false),
      (extended(0, 1650, isConnectable: false), true), (extended(0, 1651, isConnectable: false), false),
      (extended(1, 1, isConnectable: false), false), (extended(1, 1, isConnectable: true), false),
      (extended(245, 0, isConnectable: true), true), (extended(246, 0, isConnectable: true), false),
      (extended(244, 0, isConnectable: true, power: true), true),
      (extended(245, 0, isConnectable: true, power: true), false),
    ] {
      #expect((intent.rejection(controller) == nil) == isAccepted, "\(intent.data.count), \(intent.scanResponse.count)")
    }
    // A controller with room for less than the specification allows.
    radio.controller.maximumAdvertisingData = 300
    #expect(extended(300, 0, isConnectable: false).rejection(radio.controller) == nil)
    #expect(extended(301, 0, isConnectable: false).rejection(radio.controller) != nil)
  }

  @Test mutating func aRefusedFragmentEndsTheAdvertisement() {
    useExtendedCommands()
    radio.controller.maximumAdvertisingData = LinkLayerLimits.extendedAdvertisingData
    var intent = AdvertisingIntent(data: [UInt8](repeating: 1, count: 600), scanResponse: [])
    (intent.usesExtendedPDUs, intent.isConnectable) = (true, false)
    start(intent)
    advertiser.stepCompleted(id, .parameters, .leSetExtendedAdvertisingParameters, .success, radio, into: &effects)
    advertiser.stepCompleted(id, .data, .leSetExtendedAdvertisingData, .success, radio, into: &effects)
    advertiser.stepCompleted(id, .data, .leSetExtendedAdvertisingData, .invalidCommandParameters, radio, into: &effects)
    guard case .event(.advertising(id, .started(.failure)), to: .owner(owner))? = effects.last else {
      Issue.record("\(effects)"); return
    }
    #expect(advertiser.isOff)
  }

  @Test mutating func advertisementsAreBounded() {
    useExtendedCommands()
    for number in 1...2 as ClosedRange<UInt32> { start(id: number) }
    _ = complete()
    start(id: 3)
    _ = complete()
    guard case .advertising(_, .started(.failure(.tooMany(_, limit: 2))))? = events.last else {
      Issue.record("\(events)")
      return
    }
  }

  @Test mutating func aLinkPausesAndItsEndResumes() {
    var intent = intent
    intent.continuesWhileConnected = false
    start(intent)
    _ = complete()
    radio.links.hasPeripheral = true
    advertiser.linkAdded(radio, into: &effects)
    #expect(complete().isEmpty && advertiser.isOff)
    radio.links.hasPeripheral = false
    advertiser.linkEnded(radio, into: &effects)
    #expect(complete() == [.enable])
    guard case .advertising(id, .paused(nil)) = events[1], case .advertising(id, .resumed) = events[2] else {
      Issue.record("\(events)")
      return
    }
  }

  @Test mutating func aControllerWithoutRoomBesideALinkIsAskedAgainAfterIt() {
    radio.links.hasPeripheral = true
    start()
    #expect(complete(refused: .enable).last == .enable)
    guard case .advertising(id, .paused(.connectionLimitExceeded))? = events.last else {
      Issue.record("\(events)"); return
    }
    advertiser.linkEnded(radio, into: &effects)
    #expect(complete() == [.enable])
  }

  /// An advertisement that was on the air is enabled again as soon as the controller allows it.
  @Test(arguments: [0x07, 0x0C, 0x0D, 0x1F, 0x3A, 0x43] as [UInt8])
  mutating func aRefusalThatMayPassIsTriedAgainForEver(status: UInt8) {
    start()
    _ = complete()
    radio.links.hasPeripheral = true
    advertiser.linkAdded(radio, into: &effects)
    radio.links.hasPeripheral = false
    #expect(complete(refused: .enable, with: HCIErrorCode(rawValue: status)) == [.enable])
    for pause in [1, 2, 4, 8, 8, 8] {
      guard case .advertising(id, .paused(HCIErrorCode(rawValue: status))) = events.last, events.count == 2 else {
        Issue.record("\(events)")
        return
      }
      #expect(advertiser.deadline == radio.now + .seconds(pause))
      radio.now = radio.now + .seconds(pause)
      advertiser.tick(radio, into: &effects)
      #expect(complete(refused: .enable, with: HCIErrorCode(rawValue: status)) == [.enable])
    }
    // The end of a link is another reason to try.
    advertiser.linkEnded(radio, into: &effects)
    #expect(complete() == [.enable] && advertiser.deadline == nil)
    guard case .advertising(id, .resumed)? = events.last else { Issue.record("\(events)"); return }
  }

  @Test mutating func aRefusalThatDoesNotPassEndsIt() {
    start()
    _ = complete()
    advertiser.suspend()
    advertiser.restore(radio, into: &effects)
    _ = complete(refused: .data, with: .invalidCommandParameters)
    guard case .advertising(id, .ended(.controller(_, .invalidCommandParameters)))? = events.last else {
      Issue.record("\(events)")
      return
    }
    #expect(advertiser.isOff && advertiser.deadline == nil)
  }

  /// The controller has stopped a legacy advertisement when it reports a connection as the peripheral, also a failed
  /// one.
  @Test mutating func aFailedConnectionEnablesItAgain() {
    start()
    _ = complete()
    advertiser.connectionFailed(radio, into: &effects)
    #expect(complete() == [.enable] && events.count == 1, "the owner does not notice")
  }

  /// The link comes up, or fails, before the answer to the command that allowed it.
  @Test mutating func aConnectionMayOvertakeTheAnswerToTheEnable() {
    start()
    #expect(complete(upTo: .enable) == [.parameters, .data, .scanResponse])
    radio.links.hasPeripheral = true
    advertiser.linkAdded(radio, into: &effects)
    #expect(complete() == [.enable, .enable] && !advertiser.isOff)
  }

  /// With extended commands the controller says which advertisement a link has ended. One that does not is asked to
  /// send all of them.
  @Test mutating func aMissingTerminationIsNotWaitedFor() {
    useExtendedCommands()
    start()
    start(id: 2)
    _ = complete()
    advertiser.linkAdded(radio, into: &effects)
    #expect(advertiser.deadline == radio.now + Advertiser.terminationTime)
    advertiser.setTerminated(0, radio, into: &effects)
    #expect(complete() == [.enable] && advertiser.deadline == nil)
    advertiser.connectionFailed(radio, into: &effects)
    radio.now = radio.now + Advertiser.terminationTime
    advertiser.tick(radio, into: &effects)
    #expect(complete() == [.enable, .enable] && advertiser.deadline == nil)
  }

  @Test mutating func aHeldAdvertisementComesBackUnnoticed() {
    start()
    _ = complete()
    let count = events.count
    radio.isHeld = true
    advertiser.hold(radio, into: &effects)
    #expect(complete() == [.hold] && advertiser.isOff)
    radio.isHeld = false
    advertiser.release(radio, into: &effects)
    #expect(complete() == [.enable] && events.count == count)
  }

  @Test mutating func anotherAddressConfiguresItAnew() {
    start()
    _ = complete()
    radio.isHeld = true
    advertiser.hold(radio, into: &effects)
    _ = complete()
    (radio.isHeld, radio.address) = (false, DeviceAddress(octets: BD_ADDR(7), kind: .random))
    advertiser.release(radio, into: &effects)
    #expect(complete() == [.parameters, .data, .scanResponse, .enable])
  }

  @Test mutating func aLostControllerIsConfiguredAnew() {
    start()
    _ = complete()
    advertiser.suspend()
    #expect(advertiser.isOff)
    advertiser.restore(radio, into: &effects)
    #expect(complete() == [.parameters, .data, .scanResponse, .enable])
  }

  @Test mutating func everyAnswerSaysThatTheActivityMayHaveChanged() {
    start()
    effects = []
    advertiser.stepCompleted(id, .parameters, .leSetAdvertisingParameters, .success, radio, into: &effects)
    guard case .own(.activityChanged) = effects.first else { Issue.record("\(effects)"); return }
  }
}
