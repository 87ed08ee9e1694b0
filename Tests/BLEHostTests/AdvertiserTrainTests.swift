import BLECrypto
import BLEHCI
import BLEWire
import Testing

@testable import BLEHost

/// Periodic advertising in the advertiser, without a host.
@Suite("The train of an advertisement") struct AdvertiserTrainTests {
  private let owner = OwnerID(rawValue: 1)
  private let id = AdvertisingID(rawValue: 1)
  private var advertiser = Advertiser(maximum: 2)
  private var radio = Self.soundRadio
  private var effects: [Effect<AdvertiserEffect>] = []
  private var events: [String] = []
  private var commands: [EncodedCommand] = []

  private static var soundRadio: RadioContext {
    var radio = RadioContext(isPoweredOn: true)
    radio.controller.leFeatures = [.extendedAdvertising, .periodicAdvertising]
    for opcode: HCIOpcode in [
      .leSetExtendedAdvertisingParameters, .leSetExtendedAdvertisingData, .leSetExtendedScanResponseData,
      .leSetExtendedAdvertisingEnable, .leSetPeriodicAdvertisingParameters, .leSetPeriodicAdvertisingData,
      .leSetPeriodicAdvertisingEnable,
    ] {
      radio.controller.commands.insert(opcode)
    }
    (radio.controller.advertisingSets, radio.controller.maximumAdvertisingData) = (8, 1650)
    return radio
  }

  private func intent(_ data: [UInt8] = [1, 2, 3]) -> AdvertisingIntent {
    var intent = AdvertisingIntent(data: [], scanResponse: [])
    (intent.usesExtendedPDUs, intent.isConnectable) = (true, false)
    intent.periodic = PeriodicIntent(data: data)
    return intent
  }

  private mutating func start(_ intent: AdvertisingIntent) {
    advertiser.start(id, intent, for: owner, radio, into: &effects)
  }

  private mutating func update(_ data: [UInt8], _ token: UInt64) {
    advertiser.updateTrain(id, data, UpdateToken(rawValue: token), of: owner, radio, into: &effects)
  }

  /// Answers the commands until there are no more, those of one step with an error.
  @discardableResult
  private mutating func complete(
    refusing refused: DeclaredAdvertisement.Step? = nil, with refusal: HCIErrorCode = .invalidCommandParameters,
    upTo last: DeclaredAdvertisement.Step? = nil
  ) -> [DeclaredAdvertisement.Step] {
    var steps: [DeclaredAdvertisement.Step] = []
    while !effects.isEmpty {
      if let last, case .command(_, for: .radio(.advertising(_, last))) = effects[0] { break }
      switch effects.removeFirst() {
      case .command(let command, for: .radio(.advertising(let id, let step))):
        steps.append(step)
        commands.append(command)
        let status = step == refused ? refusal : .success
        advertiser.stepCompleted(id, step, command.opcode, status, radio, into: &effects)
      case .event(.advertising(_, let event), to: .owner(owner)):
        events.append(Self.text(event))
      default: break
      }
    }
    return steps
  }

  private static func text(_ event: HostEvent.Advertising) -> String {
    switch event {
    case .started(.success): "started"
    case .started(.failure(let error)): "not started: \(error)"
    case .trainUpdated(let token, .success): "updated \(token.rawValue)"
    case .trainUpdated(let token, .failure(let error)): "not updated \(token.rawValue): \(error)"
    case .ended(let error): "ended: \(error)"
    case .paused: "paused"
    case .resumed: "resumed"
    case .transferred: "transferred"
    }
  }

  private let configuration: [DeclaredAdvertisement.Step] = [
    .parameters, .data, .scanResponse, .trainParameters, .trainData, .trainEnable, .enable,
  ]

  @Test mutating func theTrainIsEnabledBeforeItsAnnouncementAndDisabledAfterIt() {
    start(intent())
    #expect(complete() == configuration && events == ["started"])
    #expect(advertiser.trainSet(of: id, of: owner) == 0)
    #expect(advertiser.trainSet(of: id, of: OwnerID(rawValue: 2)) == nil)
    advertiser.stop(id, of: owner, radio, into: &effects)
    #expect(complete() == [.disable, .trainDisable, .remove])
    #expect(advertiser.isOff && advertiser.trainSet(of: id, of: owner) == nil)
  }

  @Test(arguments: [0, 1, 251, 252, 502, 503, 1650]) mutating func dataGoesInFragments(count: Int) {
    start(intent((0..<count).map { UInt8(truncatingIfNeeded: $0) }))
    complete()
    let sent = commands.compactMap { $0.decoded(HCI.LESetPeriodicAdvertisingData.self) }
    #expect(sent.flatMap { $0.advertisingData } == (0..<count).map { UInt8(truncatingIfNeeded: $0) })
    #expect(sent.count == max(1, (count + 250) / 251))
    #expect(sent.first?.operation == (sent.count == 1 ? .complete : .first))
    #expect(sent.last?.operation == (sent.count == 1 ? .complete : .last))
  }

  @Test mutating func shortDataIsExchangedWhileTheTrainGoesOn() {
    start(intent())
    complete()
    update([9], 1)
    #expect(complete() == [.trainData] && events.last == "updated 1" && !advertiser.isOff)
  }

  @Test mutating func longDataIsExchangedWhileTheTrainIsOff() {
    start(intent())
    complete()
    update([UInt8](repeating: 1, count: 600), 1)
    #expect(complete() == [.trainDisable, .trainData, .trainData, .trainData, .trainEnable])
    #expect(events.last == "updated 1")
    update([1], 2)
    #expect(complete() == [.trainData])
  }

  @Test mutating func ofSeveralChangesTheLastIsSent() {
    start(intent())
    complete(upTo: .trainData)
    for number in UInt64(1)...3 { update([UInt8(number)], number) }
    complete()
    let sent = commands.compactMap { $0.decoded(HCI.LESetPeriodicAdvertisingData.self)?.advertisingData }
    #expect(sent == [[1, 2, 3], [3]])
    #expect(events == ["updated 1", "updated 2", "updated 3", "started"])
    update([UInt8](repeating: 1, count: 600), 4)
    complete(upTo: .trainData)
    update([7], 5)
    complete()
    #expect(commands.compactMap { $0.decoded(HCI.LESetPeriodicAdvertisingData.self)?.advertisingData }.last == [7])
    #expect(Array(events.suffix(2)) == ["updated 4", "updated 5"])
  }

  @Test mutating func aChangeThatIsRefusedLeavesTheOldData() {
    start(intent())
    complete()
    update([9], 1)
    complete(refusing: .trainData)
    #expect(events.last?.hasPrefix("not updated 1") == true && !advertiser.isOff)
    update([UInt8](repeating: 0, count: 1651), 2)
    complete()
    #expect(events.last?.contains("1651 octets") == true)
    update([8], 3)
    complete()
    #expect(events.last == "updated 3")
  }

  @Test mutating func aSetWhoseTrainCannotGoOnIsRemoved() {
    start(intent())
    complete()
    update([UInt8](repeating: 1, count: 600), 1)
    #expect(complete(refusing: .trainData) == [.trainDisable, .trainData, .disable, .remove])
    #expect(events.dropFirst().map { $0.prefix(5) } == ["not u", "ended"] && advertiser.isOff)
  }

  @Test mutating func aSetThatCannotBeEnabledIsRemovedWithItsTrain() {
    start(intent())
    #expect(complete(refusing: .enable) == configuration + [.trainDisable, .remove])
    #expect(events.map { $0.prefix(12) } == ["not started:"])
    start(intent())
    #expect(complete(refusing: .trainParameters) == Array(configuration.prefix(4)), "nothing of a train is there")
  }

  @Test mutating func theTrainGoesOnWhileTheSetIsHeld() {
    start(intent())
    complete()
    radio.isHeld = true
    advertiser.hold(radio, into: &effects)
    #expect(complete() == [.hold] && advertiser.isOff)
    update([5], 1)
    #expect(complete() == [.trainData] && events.last == "updated 1" && advertiser.isOff)
    radio.isHeld = false
    radio.address = DeviceAddress(octets: BD_ADDR(7), kind: .random)
    advertiser.release(radio, into: &effects)
    #expect(complete() == [.parameters, .randomAddress, .data, .scanResponse, .enable], "the train is not touched")
  }

  @Test mutating func aSetThatIsUpdatedIsHeldAfterwards() {
    start(intent())
    complete()
    update([5], 1)
    radio.isHeld = true
    advertiser.hold(radio, into: &effects)
    #expect(!advertiser.isOff)
    #expect(complete() == [.trainData, .hold] && advertiser.isOff)
  }

  @Test mutating func afterAResetTheNewestDataIsSent() {
    start(intent())
    complete()
    update([9], 1)
    effects = []
    advertiser.suspend()
    advertiser.restore(radio, into: &effects)
    #expect(complete() == configuration && events == ["started", "updated 1", "resumed"])
    #expect(commands.compactMap { $0.decoded(HCI.LESetPeriodicAdvertisingData.self)?.advertisingData }.last == [9])
  }

  @Test mutating func oneThatIsStoppedIsNotRestored() {
    start(intent())
    complete()
    update([9], 1)
    advertiser.stop(id, of: owner, radio, into: &effects)
    complete(upTo: .disable)
    #expect(events.last?.hasPrefix("not updated 1") == true)
    advertiser.suspend()
    effects = []
    advertiser.restore(radio, into: &effects)
    #expect(complete() == [])
  }

  @Test mutating func theNumberOfTheDataIsSentWhereTheControllerHasIt() {
    for hasIt in [false, true] {
      if hasIt { radio.controller.leFeatures.insert(.periodicAdvertisingADI) }
      start(intent())
      complete()
      #expect(
        commands.compactMap { $0.decoded(HCI.LESetPeriodicAdvertisingEnable.self)?.enable }.last == (hasIt ? 3 : 1))
      advertiser.stop(id, of: owner, radio, into: &effects)
      complete()
    }
  }

  @Test mutating func whatIsNotAllowedIsRefused() {
    let changes: [(inout AdvertisingIntent) -> Void] = [
      { $0.isConnectable = true }, { $0.scanResponse = [1] }, { $0.usesExtendedPDUs = false },
      { $0.periodic?.interval = 5...5 }, { $0.periodic?.data = [UInt8](repeating: 0, count: 1651) },
    ]
    for change in changes {
      var intent = intent()
      change(&intent)
      start(intent)
      #expect(complete() == [] && events.last?.hasPrefix("not started") == true)
    }
    radio.controller.leFeatures.remove(.periodicAdvertising)
    start(intent())
    complete()
    #expect(events.last == "not started: the controller has no periodic advertising")
    update([1], 1)
    complete()
    #expect(events.last?.hasPrefix("not updated 1") == true)
  }

  /// Whatever a controller answers in whatever order: each update has one answer, and what is stopped is off.
  @Test(arguments: 0..<300) mutating func eachChangeHasOneAnswer(seed: UInt64) {
    var random = RandomSource.seeded(seed)
    let statuses: [HCIErrorCode] = [
      .success, .success, .success, .commandDisallowed, .invalidCommandParameters, .memoryCapacityExceeded,
    ]
    var token: UInt64 = 0
    for _ in 0..<50 {
      switch Int.random(in: 0..<8, using: &random) {
      case 0: start(intent([UInt8](repeating: 0, count: Int.random(in: 0...700, using: &random))))
      case 1:
        token += 1
        update([UInt8](repeating: 1, count: Int.random(in: 0...700, using: &random)), token)
      case 2: advertiser.stop(id, of: owner, radio, into: &effects)
      case 3:
        radio.isHeld.toggle()
        advertiser.hold(radio, into: &effects)
        advertiser.release(radio, into: &effects)
      case 4:
        radio.now = radio.now + .seconds(2)
        advertiser.tick(radio, into: &effects)
      case 5 where Int.random(in: 0..<4, using: &random) == 0:
        effects.removeAll { if case .command = $0 { true } else { false } }
        advertiser.suspend()
        advertiser.restore(radio, into: &effects)
      default:
        guard
          let index = effects.firstIndex(where: { if case .command = $0 { true } else { false } }),
          case .command(let command, for: .radio(.advertising(let id, let step))) = effects.remove(at: index)
        else { continue }
        let status = statuses[Int.random(in: 0..<statuses.count, using: &random)]
        advertiser.stepCompleted(id, step, command.opcode, status, radio, into: &effects)
      }
    }
    radio.isHeld = false
    advertiser.release(radio, into: &effects)
    advertiser.stop(id, of: owner, radio, into: &effects)
    complete()
    #expect(advertiser.isOff && advertiser.trainSet(of: id, of: owner) == nil)
    for token in 1..<token + 1 {
      let answers = events.count { $0 == "updated \(token)" || $0.hasPrefix("not updated \(token):") }
      #expect(answers == 1, "\(token): \(events)")
    }
  }
}
