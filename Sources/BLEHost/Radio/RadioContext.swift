import BLECrypto
import BLEHCI
import BLEWire

/// Facts that the advertiser, the scanner and the initiator take from other parts, at the time of one input.
struct RadioContext: Sendable {
  var controller = ControllerCapabilities()
  /// The controller takes commands.
  var isPoweredOn = false
  /// The controller is being reset: what is declared waits for that.
  var isRestarting = false
  /// The controller can be reset, to use legacy commands.
  var isExclusive = true
  var isShuttingDown = false
  /// Nothing may be enabled: an address or the resolving list is being changed.
  var isHeld = false
  /// Our address, as peers receive it.
  var address = DeviceAddress(octets: BD_ADDR(), kind: .public)
  var links = LinkRoles()
  var now = Instant.start
  /// Where the controller cannot connect and scan or advertise at once: it is the turn of the others, or they are not
  /// off yet.
  var isInitiatingHeld = false
  /// As ``isInitiatingHeld``, for scans and connectable advertisements.
  var areOthersHeld = false
  /// The controller does something beside connecting that it may be unable to do beside it.
  var areOthersActive = false
  /// The controller connects.
  var isInitiating = false
  /// A device to connect to uses private addresses that the controller does not resolve: a scan finds its address.
  var isSearchWanted = false
  /// The scan that finds the trains that are searched for; nil without one.
  var trainScan: ScanParameters?

  var hasLinks: Bool { links.hasAny }
  /// Whether the controller says that it advertises beside the links that are up.
  var mayAdvertiseBesideLinks: Bool { controller.states.allow(.connectableAdvertising, beside: links) }
  /// Whether something new may be declared.
  var acceptsRequests: Bool { (isPoweredOn || isRestarting) && !isShuttingDown }

  /// The type of ``address`` in a command. Private addresses that the host makes are random ones (Vol 4, Part E,
  /// 7.8.5).
  var ownAddressType: HCI.OwnAddressType { address.kind == .random ? .random : .public }
}

/// Our roles on the links that are up.
struct LinkRoles: Equatable, Sendable {
  var hasCentral = false
  var hasPeripheral = false

  var hasAny: Bool { hasCentral || hasPeripheral }
}

/// The bonded devices, for the resolving list and for connections.
struct BondedDevices: Sendable {
  /// Changes when another device can be resolved.
  var revision = 0
  /// The newest last.
  var bonds: [Bond] = []
  /// The private address of the last report or link of each device, by identity.
  var lastAddresses: [DeviceAddress: DeviceAddress] = [:]

  subscript(identity: DeviceAddress) -> Bond? { bonds.first { $0.identity == identity } }
}

/// An extended command that a controller has rejected and reports as supported.
struct MissingCommand: Equatable, Sendable {
  var opcode: HCIOpcode
  var status: HCIErrorCode

  /// - Parameter hasLegacy: whether a legacy command would do the same. The rejection of its parameters then says that
  ///   the controller does not know the new ones either.
  /// - Returns: nil if the rejection has another reason.
  init?(_ opcode: HCIOpcode, _ status: HCIErrorCode, hasLegacy: Bool) {
    let isUnknown = status == .unknownCommand
    let isUnsupported = status == .unsupportedFeatureOrParameterValue || status == .invalidCommandParameters
    guard isUnknown || (hasLegacy && isUnsupported) else { return nil }
    (self.opcode, self.status) = (opcode, status)
  }
}

/// One input of the ``Radio``: the facts that it may use, and what it has caused.
struct RadioTurn: Sendable {
  var controller = ControllerCapabilities()
  var isPoweredOn = false
  var isRestarting = false
  var isExclusive = true
  var isShuttingDown = false
  var links = LinkRoles()
  /// The devices, by identity, whose links were asked to end and are still up.
  var disconnecting: [DeviceAddress] = []
  var devices = BondedDevices()
  var now = Instant.start
  var random: RandomSource
  /// The controller has something that the host does not know: it is to be reset when that costs no link.
  var needsReset = false
  /// The controller lacks an extended command that it reports.
  var missing: MissingCommand?
  var effects: [Effect<Never>] = []
}

/// An event of the controller that is for the ``Radio`` alone.
enum RadioEvent: Sendable {
  case advertisingReport(HCI.LEAdvertisingReport)
  case extendedAdvertisingReport(HCI.LEExtendedAdvertisingReport)
  case advertisingSetTerminated(HCI.LEAdvertisingSetTerminated)
  case syncEstablished(HCI.LEPeriodicAdvertisingSyncEstablished)
  case syncLost(UInt16)
  /// A synchronization that the device of a link has transferred.
  case syncTransferred(HCI.LEPeriodicAdvertisingSyncTransferReceived, from: LinkID?)
  /// A report of a train, with the number of its event where the controller has it.
  case periodicReport(HCI.LEPeriodicAdvertisingReport, counter: UInt16?)
}
