import BLEHCI
import BLEWire

/// What the parts that use the radio take from the others: facts at the time of one input.
struct RadioContext: Sendable {
  var controller = ControllerCapabilities()
  var isPoweredOn = false
  var isShuttingDown = false
  /// Nothing may be switched on: an address or the resolving list is being changed.
  var isHeld = false
  /// Our address, as peers receive it.
  var address = DeviceAddress(octets: BD_ADDR(), kind: .public)
  var hasLinks = false
  /// A device to connect to uses private addresses that the controller does not resolve: a scan finds its address.
  var isSearchWanted = false

  /// Whether something new may be declared.
  var acceptsRequests: Bool { isPoweredOn && !isShuttingDown }

  /// The type of ``address`` in a command. Private addresses that the host makes are random ones (Vol 4, Part E, 7.8.5).
  var ownAddressType: HCI.OwnAddressType { address.kind == .random ? .random : .public }
}
