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
  /// - Parameter refused: the step that the controller rejects.
  private mutating func complete(refused: Advertisement.Step? = nil) -> [Advertisement.Step] {
    var steps: [Advertisement.Step] = []
    while !effects.isEmpty {
      switch effects.removeFirst() {
      case .command(_, for: .advertising(let id, let step)):
        steps.append(step)
        let status: HCIErrorCode = step == refused ? .connectionLimitExceeded : .success
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

  @Test mutating func anExtendedSetHasItsAddressAndIsRemoved() {
    useExtendedCommands()
    radio.address = DeviceAddress(octets: BD_ADDR(0xC000_0000_0001), kind: .random)
    start()
    #expect(complete() == [.parameters, .randomAddress, .data, .scanResponse, .enable])
    advertiser.stop(id, of: owner, radio, into: &effects)
    #expect(complete() == [.disable, .remove])
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
