import BLEHCI
import BLESMP
import BLEWire

/// An effect of the pairings of the kernel.
enum KernelEffect: Sendable {
  /// A report for the security manager of one link.
  case report(KernelLinkReport, LinkID)
  /// A pairing has made another key for a bond.
  case bondChanged(Bond)
  /// A pairing has made a bond, and its link has ended since.
  case bondMade(Bond, hasConsent: Bool)
  /// The link is to be ended: Authentication Failure.
  case close(LinkID)
}

/// Facts about one link that a report of the kernel may concern.
struct KernelLinkFacts: Sendable {
  var peer: LinkID
  var handle: ConnectionHandle
  var isCentral = false
  /// The peer's address as it is on the radio.
  var address: DeviceAddress
  /// The address by which the kernel knows the device.
  var kernelAddress: DeviceAddress
  /// The device that the peer is taken for, and whether the link has proven its bond.
  var identity: DeviceAddress
  var isBondProven = false
  /// The kernel is securing the link; a pairing is known to be in progress.
  var isUnderWay = false
  var isPairing = false
  /// The controller says that the link is encrypted.
  var isEncrypted = false
  /// The application agreed to an unauthenticated pairing, and to the replacement of this device's bond.
  var hasConsent = false
  var agreedReplacement: DeviceAddress?
  /// The devices whose keys wait for the application.
  var withheldKeys: [DeviceAddress] = []
}

/// Facts that the pairings of the kernel take from other parts, at the time of one input.
struct KernelContext: Sendable {
  /// Nil if pairing is disabled.
  var settings: PairingSettings?
  var ownIdentity: DeviceAddress
  var bonds: [Bond] = []
  /// The controller is up: the kernel takes commands.
  var isPoweredOn = true
  var links: [KernelLinkFacts] = []

  func bond(of device: DeviceAddress) -> Bond? { bonds.first { $0.identity == device.identity } }
  func link(_ peer: LinkID?) -> KernelLinkFacts? { links.first { $0.peer == peer } }
  /// Whether the kernel calls a link other than `peer` by this identity.
  func isUsed(_ identity: DeviceAddress, except peer: LinkID?) -> Bool {
    links.contains { $0.peer != peer && $0.kernelAddress == identity.identity }
  }
  /// How the bond of this device may be replaced if an unauthenticated pairing on `link` names it.
  func replacement(of device: DeviceAddress, on link: KernelLinkFacts?) -> BondRules.Replacement? {
    let isProven = link.map { $0.isBondProven && $0.identity == device.identity } ?? false
    return settings?.replacement(of: bond(of: device), isProven: isProven)
  }
}
