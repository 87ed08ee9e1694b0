import BLEHCI
import BLEWire

/// One declared advertisement and how far the controller is with it.
///
/// ```
///   start ─► parameters ─► (address) ─► data ─► scan response ─► enable ─► advertising ─── stop ───► disable ─► removed
///                                                                 ▲             │ a link ended it
///                                                                 ├── resting ◄─┤ or the controller has no room
///                                                                 └──── held ◄──┘ an address is being changed
/// ```
struct Advertisement: Sendable {
  /// The commands that make an advertisement, in order (Vol 6, Part D, 4.1).
  enum Step: Sendable { case parameters, randomAddress, data, scanResponse, enable, hold, disable, remove }

  enum Phase: Equatable, Sendable {
    /// The command of this step is on its way.
    case configuring(Step)
    case advertising
    /// Configured in the controller, but off until a link ends.
    case resting
    /// Configured in the controller, but off while an address or the resolving list is changed.
    case held
    /// The controller has lost it; it is configured anew by the next bring-up.
    case suspended
  }

  let id: AdvertisingID
  let owner: OwnerID
  let intent: AdvertisingIntent
  /// The advertising handle of extended commands.
  let set: UInt8
  var phase = Phase.suspended
  /// The owner wants it stopped as soon as the step under way is done.
  var isStopping = false
  /// Its start has been answered.
  var isAnnounced = false
  /// It was enabled when it was held: no second event reports that it is enabled.
  var wasHeld = false
  /// A link ended it while it was being held.
  var wasTaken = false
  /// Our address that it was configured with.
  var address: DeviceAddress?

  init(id: AdvertisingID, owner: OwnerID, intent: AdvertisingIntent, set: UInt8) {
    self.id = id
    self.owner = owner
    self.intent = intent
    self.set = set
  }

  /// Whether the controller may be sending it.
  var isOnAir: Bool { phase == .advertising || phase == .configuring(.hold) }
  /// Whether the controller may be sending it, or is about to.
  var isActive: Bool { isOnAir || phase == .configuring(.enable) || phase == .configuring(.disable) }

  /// The controller has lost its state.
  mutating func suspend() { (phase, wasHeld, wasTaken) = (.suspended, false, false) }
}

/// The commands of the steps, as legacy and as extended ones (Vol 4, Part E, 7.8.5 and 7.8.53).
extension Advertisement {
  func command(for step: Step, _ radio: RadioContext) -> any HCICommand {
    radio.controller.usesExtendedCommands
      ? extendedCommand(for: step, radio) : legacyCommand(for: step, from: radio.ownAddressType)
  }

  private func legacyCommand(for step: Step, from own: HCI.OwnAddressType) -> any HCICommand {
    switch step {
    case .parameters, .randomAddress:
      HCI.LESetAdvertisingParameters {
        $0.advertisingIntervalMin = intent.interval.lowerBound
        $0.advertisingIntervalMax = intent.interval.upperBound
        $0.advertisingType =
          intent.isConnectable
          ? .connectableUndirected : intent.scanResponse.isEmpty ? .nonConnectable : .scannableUndirected
        $0.ownAddressType = own
      }
    case .data: HCI.LESetAdvertisingData { $0.advertisingData = intent.data[...] }
    case .scanResponse: HCI.LESetScanResponseData { $0.scanResponseData = intent.scanResponse[...] }
    case .enable, .hold, .disable, .remove: HCI.LESetAdvertisingEnable { $0.advertisingEnable = step == .enable }
    }
  }

  private func extendedCommand(for step: Step, _ radio: RadioContext) -> any HCICommand {
    switch step {
    case .parameters: extendedParameters(from: radio.ownAddressType)
    case .randomAddress:
      HCI.LESetAdvertisingSetRandomAddress {
        $0.advertisingHandle = set
        $0.randomAddress = (address ?? radio.address).octets
      }
    case .data:
      HCI.LESetExtendedAdvertisingData {
        $0.advertisingHandle = set
        $0.operation = .complete
        $0.fragmentPreference = .controllerShouldNotFragment
        $0.advertisingData = intent.data[...]
      }
    case .scanResponse:
      HCI.LESetExtendedScanResponseData {
        $0.advertisingHandle = set
        $0.operation = .complete
        $0.fragmentPreference = .controllerShouldNotFragment
        $0.scanResponseData = intent.scanResponse[...]
      }
    case .enable, .hold, .disable:
      HCI.LESetExtendedAdvertisingEnable {
        $0.enable = step == .enable
        $0.sets = [HCI.EnabledAdvertisingSet { $0.advertisingHandle = set }]
      }
    case .remove: HCI.LERemoveAdvertisingSet { $0.advertisingHandle = set }
    }
  }

  private func extendedParameters(from own: HCI.OwnAddressType) -> HCI.LESetExtendedAdvertisingParameters {
    HCI.LESetExtendedAdvertisingParameters {
      $0.advertisingHandle = set
      var properties: HCI.AdvertisingEventProperties = intent.usesExtendedPDUs ? [] : .legacy
      if intent.isConnectable { properties.insert(.connectable) }
      if intent.usesExtendedPDUs {
        if !intent.scanResponse.isEmpty { properties.insert(.scannable) }
      } else if intent.isConnectable || !intent.scanResponse.isEmpty {
        properties.insert(.scannable)
      }
      $0.advertisingEventProperties = properties
      $0.primaryAdvertisingIntervalMin = UInt32(intent.interval.lowerBound)
      $0.primaryAdvertisingIntervalMax = UInt32(intent.interval.upperBound)
      $0.ownAddressType = own
      $0.advertisingTXPower = 127
      $0.primaryAdvertisingPHY = .le1M
      $0.secondaryAdvertisingPHY = .le1M
      $0.advertisingSID = set & 0x0F
    }
  }
}

extension AdvertisingIntent {
  /// Why such an advertisement is not possible with this controller, where it is not.
  func rejection(_ controller: ControllerCapabilities) -> HostError? {
    guard !usesExtendedPDUs || controller.usesExtendedCommands else { return .unsupported("extended advertising") }
    let room =
      usesExtendedPDUs
      ? min(controller.maximumAdvertisingData, HCI.maximumAdvertisingDataFragment)
      : LinkLayerLimits.legacyAdvertisingData
    for (area, octets) in [("advertising data", data.count), ("scan response", scanResponse.count)] where octets > room
    {
      return .invalidParameters("the \(area) has \(octets) octets, \(room) fit")
    }
    if usesExtendedPDUs, isConnectable, !scanResponse.isEmpty {
      return .invalidParameters(
        "extended connectable advertising has no scan response (Vol 6, Part B, 4.4.2): put all into the advertising data"
      )
    }
    guard interval.lowerBound >= 0x20, interval.upperBound <= 0x4000 else {
      return .invalidParameters("the advertising interval lies outside 0x0020 to 0x4000 units of 0.625 ms")
    }
    return nil
  }
}
