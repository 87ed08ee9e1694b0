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
  private mutating func complete(
    refused: DeclaredAdvertisement.Step? = nil, with refusal: HCIErrorCode = .connectionLimitExceeded, times: Int = .max
  ) -> [DeclaredAdvertisement.Step] {
    var left = times
    var steps: [DeclaredAdvertisement.Step] = []
    while !effects.isEmpty {
      switch effects.removeFirst() {
      case .command(_, for: .advertising(let id, let step)):
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
    guard case .advertisingStarted(id, .success)? = events.last else { Issue.record("\(events)"); return }
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
    guard case .advertisingStarted(id, .success)? = events.last else { Issue.record("\(events)"); return }
  }

  private static let takingOver: [DeclaredAdvertisement.Step] = [
    .parameters, .takeOver, .parameters, .data, .scanResponse, .enable,
  ]

  @Test mutating func reportsParametersThatAreDisallowedTwice() {
    start()
    #expect(complete(refused: .parameters, with: .commandDisallowed) == [.parameters, .takeOver, .parameters])
    guard case .advertisingStarted(id, .failure(.controller(_, .commandDisallowed)))? = events.last else {
      Issue.record("\(events)")
      return
    }
    #expect(advertiser.isOff)
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
      guard case .command(let command, for: .advertising(let id, let step)) = effect else { continue }
      if let data = command as? HCI.LESetExtendedAdvertisingData, !inScanResponse {
        fragments.append((data.operation, data.advertisingData.count))
      }
      if let data = command as? HCI.LESetExtendedScanResponseData, inScanResponse {
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
      guard case .advertisingStarted(_, .success)? = tests.events.last else { Issue.record("\(octets)"); return }
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
    advertiser.stepCompleted(id, .data, .leSetExtendedAdvertisingData, .memoryCapacityExceeded, radio, into: &effects)
    guard case .event(.advertisingStarted(id, .failure), to: .owner(owner))? = effects.last else {
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
    guard case .advertisingStarted(_, .failure(.tooMany(_, limit: 2)))? = events.last else {
      Issue.record("\(events)")
      return
    }
  }

  @Test mutating func aLinkPausesAndItsEndResumes() {
    var intent = intent
    intent.continuesWhileConnected = false
    start(intent)
    _ = complete()
    advertiser.linkAdded(radio, into: &effects)
    #expect(complete().isEmpty && advertiser.isOff)
    advertiser.linkEnded(radio, into: &effects)
    #expect(complete() == [.enable])
    guard case .advertisingPaused(id, nil) = events[1], case .advertisingResumed(id) = events[2] else {
      Issue.record("\(events)")
      return
    }
  }

  @Test mutating func aControllerWithoutRoomBesideALinkIsAskedAgainAfterIt() {
    radio.hasLinks = true
    start()
    #expect(complete(refused: .enable).last == .enable)
    guard case .advertisingPaused(id, .connectionLimitExceeded)? = events.last else {
      Issue.record("\(events)"); return
    }
    advertiser.linkEnded(radio, into: &effects)
    #expect(complete() == [.enable])
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
