import BLEHCI
import BLEWire

/// One declared advertisement and its state in the controller.
///
/// ```
///   start ─► parameters ─► (address) ─► data ─► scan response ─► enable ─► advertising ─── stop ───► disable ─► removed
///                                              │         ▲       ▲             │ a link ended it
///                                              ▼         │       ├── resting ◄─┤ or the controller has no room
///                                       (the train) ─────┘       └──── held ◄──┘ an address is being changed
/// ```
///
/// Periodic advertising (the train) has parameters, data and a command that enables it. It goes on while the set that
/// announces it is held. Data that one command takes is exchanged while it goes on, longer data while it is disabled
/// (Vol 4, Part E, 7.8.62).
struct DeclaredAdvertisement: Sendable {
  /// The commands that make an advertisement, in order (Vol 6, Part D, 4.1).
  ///
  /// `takeOver` disables an advertisement that the controller sends for a program that has ended, and is before
  /// `parameters`.
  enum Step: Sendable {
    case parameters, takeOver, randomAddress, data, scanResponse, enable, hold, disable, remove
    case trainParameters, trainData, trainEnable, trainDisable
  }

  enum Phase: Equatable, Sendable {
    /// The command of this step is pending.
    case configuring(Step)
    case advertising
    /// Configured in the controller, but off until a link ends.
    case resting
    /// Configured in the controller, but off while an address or the resolving list is changed.
    case held
    /// The controller has lost it; the next bring-up configures it again.
    case suspended
  }

  let id: AdvertisingID
  let owner: OwnerID
  private(set) var intent: AdvertisingIntent
  /// The advertising handle of extended commands.
  let set: UInt8
  var phase = Phase.suspended
  /// The owner wants it stopped as soon as the current step is done.
  var isStopping = false
  /// Its start has been answered.
  var isAnnounced = false
  /// It was enabled when it was held: no second event reports that it is enabled.
  var wasHeld = false
  /// ``Step/takeOver`` was sent.
  var hasTakenOver = false
  /// A link ended it while a command was pending.
  var wasTaken = false
  /// Whether the owner was told that it is paused.
  var isPaused = false
  /// The controller has refused it for now.
  var retry = Retry()
  /// Our address that it was configured with.
  var address: DeviceAddress?
  /// Whether the controller has enabled the set.
  var isSetOn = false
  /// Whether the controller has enabled the train.
  var isTrainOn = false
  /// The controller has parameters of the train, which have to be removed with the set.
  var hasTrain = false
  /// The train has other data than the controller was given.
  var isTrainOutdated = false
  /// The data that the controller is being given: another one can be wanted meanwhile.
  private var trainData: [UInt8] = []
  /// Changes of the data that have no answer.
  var unansweredUpdates: [UpdateToken] = []
  /// How many octets of the area that is being set the controller has (``Step/data``, ``Step/scanResponse``).
  private(set) var position = 0

  init(id: AdvertisingID, owner: OwnerID, intent: AdvertisingIntent, set: UInt8) {
    self.id = id
    self.owner = owner
    self.intent = intent
    self.set = set
  }

  /// Whether the controller may be sending it.
  var isOnAir: Bool { phase == .advertising || phase == .configuring(.hold) }
  /// As ``isOnAir``, with one that the controller was told to send.
  var mayBeOnAir: Bool { isOnAir || phase == .configuring(.enable) }
  /// Whether the controller may be sending it, or is about to.
  var isActive: Bool {
    switch phase {
    case .configuring(.enable), .configuring(.disable), .configuring(.takeOver): true
    case .configuring(.trainData), .configuring(.trainEnable), .configuring(.trainDisable): isSetOn
    default: isOnAir  // The other phases start nothing.
    }
  }

  /// The controller has lost its state.
  mutating func suspend() {
    (phase, hasTakenOver, wasHeld, wasTaken) = (.suspended, false, false, false)
    (isSetOn, isTrainOn, hasTrain, isTrainOutdated) = (false, false, false, false)
    isPaused = isAnnounced
    retry.accepted()
  }
}

/// Data longer than one command takes, in fragments (Vol 4, Part E, 7.8.54 and 7.8.55).
extension DeclaredAdvertisement {
  /// Begins a step.
  mutating func begin(_ step: Step) {
    (phase, position) = (.configuring(step), 0)
    retry.begin()
  }

  /// The controller has taken the fragment of a step.
  ///
  /// - Returns: whether the step has another one.
  mutating func fragmentAccepted(_ step: Step) -> Bool {
    let length = fragment(of: area(of: step)).octets.count
    position += length
    return position < area(of: step).count
  }

  private func area(of step: Step) -> [UInt8] {
    switch step {
    case .data: intent.data
    case .scanResponse: intent.scanResponse
    case .trainData: trainData
    default: []  // The others send no data.
    }
  }

  /// The fragment of an area that the controller is to have next.
  private func fragment(of area: [UInt8]) -> (operation: HCI.DataOperation, octets: Bytes) {
    let octets = area.dropFirst(position).prefix(HCI.maximumAdvertisingDataFragment)
    guard area.count > HCI.maximumAdvertisingDataFragment else { return (.complete, octets) }
    if position == 0 { return (.first, octets) }
    return (octets.endIndex < area.endIndex ? .intermediate : .last, octets)
  }
}

/// The train.
extension DeclaredAdvertisement {
  /// The train is to have other data, which the controller does not have yet.
  mutating func setTrainData(_ data: [UInt8], _ token: UpdateToken) {
    intent.periodic?.data = data
    isTrainOutdated = true
    unansweredUpdates.append(token)
  }

  /// The controller is to be given the data.
  mutating func beginTrainData() {
    trainData = intent.periodic?.data ?? []
    isTrainOutdated = false
  }

  /// The answers to the changes of the data that have none.
  func updateAnswers(_ result: Result<Void, HostError>) -> [Effect<AdvertiserEffect>] {
    unansweredUpdates.map { .event(.advertising(id, .trainUpdated($0, result)), to: owner.recipient) }
  }

  /// Whether the data goes into one command, and can be exchanged while the train is on.
  var isTrainDataShort: Bool { intent.periodic.map { $0.data.count <= HCI.maximumAdvertisingDataFragment } ?? true }
}

/// The commands of the steps, as legacy and as extended ones (Vol 4, Part E, 7.8.5 and 7.8.53).
extension DeclaredAdvertisement {
  func command(for step: Step, _ radio: RadioContext) -> EncodedCommand {
    radio.controller.usesExtendedCommands
      ? extendedCommand(for: step, radio) : legacyCommand(for: step, from: radio.ownAddressType)
  }

  private func legacyCommand(for step: Step, from own: HCI.OwnAddressType) -> EncodedCommand {
    switch step {
    case .parameters, .randomAddress:
      .init(
        HCI.LESetAdvertisingParameters {
          $0.advertisingIntervalMin = intent.interval.lowerBound
          $0.advertisingIntervalMax = intent.interval.upperBound
          $0.advertisingType =
            intent.isConnectable
            ? .connectableUndirected : intent.scanResponse.isEmpty ? .nonConnectable : .scannableUndirected
          $0.ownAddressType = own
        })
    case .data: .init(HCI.LESetAdvertisingData { $0.advertisingData = intent.data[...] })
    case .scanResponse: .init(HCI.LESetScanResponseData { $0.scanResponseData = intent.scanResponse[...] })
    // Legacy commands have no train.
    case .takeOver, .enable, .hold, .disable, .remove, .trainParameters, .trainData, .trainEnable, .trainDisable:
      .init(HCI.LESetAdvertisingEnable { $0.advertisingEnable = step == .enable })
    }
  }

  private func extendedCommand(for step: Step, _ radio: RadioContext) -> EncodedCommand {
    switch step {
    case .parameters: .init(extendedParameters(from: radio.ownAddressType))
    case .randomAddress:
      .init(
        HCI.LESetAdvertisingSetRandomAddress {
          $0.advertisingHandle = set
          $0.randomAddress = (address ?? radio.address).octets
        })
    case .data:
      .init(
        HCI.LESetExtendedAdvertisingData {
          $0.advertisingHandle = set
          $0.fragmentPreference = .controllerShouldNotFragment
          ($0.operation, $0.advertisingData) = fragment(of: intent.data)
        })
    case .scanResponse:
      .init(
        HCI.LESetExtendedScanResponseData {
          $0.advertisingHandle = set
          $0.fragmentPreference = .controllerShouldNotFragment
          ($0.operation, $0.scanResponseData) = fragment(of: intent.scanResponse)
        })
    case .takeOver, .enable, .hold, .disable:
      .init(
        HCI.LESetExtendedAdvertisingEnable {
          $0.enable = step == .enable
          $0.sets = [HCI.EnabledAdvertisingSet { $0.advertisingHandle = set }]
        })
    case .remove: .init(HCI.LERemoveAdvertisingSet { $0.advertisingHandle = set })
    case .trainParameters:
      .init(
        HCI.LESetPeriodicAdvertisingParameters {
          guard let train = intent.periodic else { return }
          $0.advertisingHandle = set
          $0.periodicAdvertisingIntervalMin = train.interval.lowerBound
          $0.periodicAdvertisingIntervalMax = train.interval.upperBound
          $0.periodicAdvertisingProperties = train.includesTXPower ? 1 << 6 : 0
        })
    case .trainData:
      .init(
        HCI.LESetPeriodicAdvertisingData {
          $0.advertisingHandle = set
          ($0.operation, $0.advertisingData) = fragment(of: area(of: step))
        })
    case .trainEnable, .trainDisable:
      .init(
        HCI.LESetPeriodicAdvertisingEnable {
          $0.advertisingHandle = set
          guard step == .trainEnable else { return }
          let numbersData =
            intent.periodic?.numbersData == true && radio.controller.leFeatures.contains(.periodicAdvertisingADI)
          $0.enable = numbersData ? 3 : 1
        })
    }
  }

  private func extendedParameters(from own: HCI.OwnAddressType) -> HCI.LESetExtendedAdvertisingParameters {
    HCI.LESetExtendedAdvertisingParameters {
      $0.advertisingHandle = set
      var properties: HCI.AdvertisingEventProperties = intent.usesExtendedPDUs ? [] : .legacy
      if intent.isConnectable { properties.insert(.connectable) }
      if intent.usesExtendedPDUs {
        if !intent.scanResponse.isEmpty { properties.insert(.scannable) }
        if intent.includesTXPower { properties.insert(.includeTxPower) }
      } else if intent.isConnectable || !intent.scanResponse.isEmpty {
        properties.insert(.scannable)
      }
      $0.advertisingEventProperties = properties
      $0.primaryAdvertisingIntervalMin = UInt32(intent.interval.lowerBound)
      $0.primaryAdvertisingIntervalMax = UInt32(intent.interval.upperBound)
      $0.ownAddressType = own
      $0.advertisingTXPower = 127
      $0.primaryAdvertisingPHY = intent.primaryPHY
      $0.secondaryAdvertisingPHY = intent.secondaryPHY
      $0.advertisingSID = set & 0x0F
    }
  }
}

extension AdvertisingIntent {
  /// Why such an advertisement is not possible with this controller; nil if it is.
  func rejection(_ controller: ControllerCapabilities) -> HostError? {
    guard !usesExtendedPDUs || controller.usesExtendedCommands else { return .unsupported("extended advertising") }
    let limit = usesExtendedPDUs ? controller.maximumAdvertisingData : LinkLayerLimits.legacyAdvertisingData
    for (area, octets) in [("advertising data", data.count), ("scan response", scanResponse.count)] where octets > limit
    {
      return .invalidParameters("the \(area) has \(octets) octets, the limit is \(limit)")
    }
    if usesExtendedPDUs, let rejection = extendedRejection { return rejection }
    if let rejection = trainRejection(controller) { return rejection }
    guard LinkLayerLimits.advertisingInterval.contains(interval.lowerBound),
      LinkLayerLimits.advertisingInterval.contains(interval.upperBound)
    else {
      return .invalidParameters(
        "the advertising interval is outside 20 ms to 10.24 s (0x0020 to 0x4000 units of 0.625 ms)")
    }
    return rejectionOfPHYs(controller)
  }

  /// Why its periodic advertising is not possible; nil if it is, or if it has none.
  private func trainRejection(_ controller: ControllerCapabilities) -> HostError? {
    guard let periodic else { return nil }
    guard usesExtendedPDUs, !isConnectable, scanResponse.isEmpty else {
      return .invalidParameters(
        "periodic advertising belongs to an extended advertisement that is neither connectable nor scannable "
          + "(Vol 4, Part E, 7.8.61)"
      )
    }
    return periodic.rejection(controller)
  }

  /// Why an extended advertisement of its kind is not possible; nil if it is.
  private var extendedRejection: HostError? {
    if isConnectable, !scanResponse.isEmpty {
      return .invalidParameters(
        "extended connectable advertising has no scan response (Vol 6, Part B, 4.4.2): put all into the advertising data"
      )
    }
    let limit = LinkLayerLimits.connectableAdvertisingData - (includesTXPower ? 1 : 0)
    if isConnectable, data.count > limit {
      return .invalidParameters(
        "the advertising data has \(data.count) octets, the limit of a connectable extended advertisement is \(limit): it has no chain of packets (Vol 6, Part B, 2.3.4.1)"
      )
    }
    if !scanResponse.isEmpty, !data.isEmpty {
      return .invalidParameters(
        "an extended advertisement with a scan response has no advertising data (Vol 4, Part E, 7.8.54): put all into the scan response"
      )
    }
    return nil
  }

  private func rejectionOfPHYs(_ controller: ControllerCapabilities) -> HostError? {
    guard primaryPHY == .le1M || primaryPHY == .leCoded, [.le1M, .le2M, .leCoded].contains(secondaryPHY) else {
      return .invalidParameters(
        "advertising has LE 1M or LE Coded as the primary PHY, and LE 1M, LE 2M or LE Coded as the secondary PHY")
    }
    guard usesExtendedPDUs || (primaryPHY == .le1M && secondaryPHY == .le1M) else {
      return .invalidParameters(
        "legacy advertising has LE 1M only: use extended PDUs for \(primaryPHY), \(secondaryPHY)")
    }
    return controller.lacking(HCI.PHYs(of: [primaryPHY, secondaryPHY]))
  }
}
