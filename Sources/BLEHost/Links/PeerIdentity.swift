import BLECrypto
import BLEGATT
import BLESMP
import BLEWire

/// The device that the peer of one link is taken for, and the security that the link has.
///
/// ```
///   claimed, by the peer's address ── encrypted with the key of the bond, or bonded ──► proven
///        ▲                                                                                │
///        └── not encrypted, bond removed, or replaced by a pairing on another link ───────┘
/// ```
struct PeerIdentity: Sendable {
  /// The address that the peer uses on this link.
  let address: DeviceAddress
  /// The identity of the bond that matches the peer's address, otherwise the address itself. It is a claim until the
  /// link has proven the bond.
  private(set) var identity: DeviceAddress
  /// The address that the application receives: ``identity``, or one that was drawn for this link, because another link
  /// was reported by that identity when this one came up.
  private(set) var reportedAddress: DeviceAddress
  private(set) var security = SecurityState.none
  /// Whether the link is encrypted with the key of a pairing that has not made a bond (yet).
  private var usesKeyOfPairing = false
  /// How the pairings on the link have ended.
  var pairings = LinkPairings()

  /// - Parameter drawn: an address by which the link is reported, instead of its identity.
  init(address: DeviceAddress, identity: DeviceAddress, reportedAs drawn: DeviceAddress? = nil) {
    (self.address, self.identity, reportedAddress) = (address, identity, drawn ?? identity)
  }

  /// The security that is reported. A new pairing with a device that has proven its bond encrypts the link before the
  /// keys are distributed (Vol 3, Part H, 2.4.3): until then the link has no key of a bond, and the pairing does not
  /// count as complete.
  var reportedSecurity: SecurityState {
    var reported = security
    if usesKeyOfPairing { reported.isBondProven = false }
    return reported
  }

  /// Whether this identity is reported, or has been proven.
  func isReported(as identity: DeviceAddress) -> Bool {
    reportedAddress == identity || (self.identity == identity && security.isBondProven)
  }

  /// There is a bond of the identity, or none.
  mutating func setBonded(_ isBonded: Bool) { security.isBonded = isBonded }

  /// The link is encrypted with a key of known strength.
  ///
  /// - Returns: whether that proves the bond, which was not proven.
  mutating func encrypted(_ start: KeyStart, hasBond: Bool) -> Bool {
    (security.level, security.keySize) = (start.strength.level, start.strength.size)
    usesKeyOfPairing = start.origin == .pairing
    guard start.origin == .bond, hasBond, !security.isBondProven else { return false }
    (security.isBonded, security.isBondProven) = (true, true)
    return true
  }

  /// The link counts as unencrypted.
  mutating func loseLevel() {
    (security.level, security.keySize, security.isBondProven) = (.none, 0, false)
    usesKeyOfPairing = false
  }

  /// A pairing on the link has made a bond of this identity.
  mutating func bonded(as identity: DeviceAddress) {
    self.identity = identity
    (security.isBonded, security.isBondProven) = (true, true)
    usesKeyOfPairing = false
  }

  mutating func bondRemoved() { (security.isBonded, security.isBondProven) = (false, false) }

  /// The bond was replaced by a pairing on another link.
  ///
  /// - Returns: whether the link had proven it.
  mutating func loseProof() -> Bool {
    defer { security.isBondProven = false }
    return security.isBondProven
  }

  /// Reports the link by its identity from now on, where it was reported by a drawn address.
  ///
  /// - Returns: whether it was.
  mutating func confirm() -> Bool {
    guard reportedAddress.randomKind == .nonResolvablePrivate, reportedAddress != address.identity else { return false }
    reportedAddress = identity
    // The application authorized an unknown device.
    security.isAuthorized = false
    return true
  }

  /// Takes the peer for the device that its address resolves to, unless the link has proven a bond that still exists.
  mutating func identify(with bonds: inout BondTable, _ toolbox: SecurityToolbox) {
    if security.isBondProven, bonds.contains(identity) { return }
    identity = bonds.identity(of: address, toolbox)
    (security.isBonded, security.isBondProven) = (bonds.contains(identity), false)
  }

  /// The application has authorized the client, or no longer does.
  ///
  /// - Returns: whether that is a change.
  mutating func authorize(_ isAuthorized: Bool) -> Bool {
    defer { security.isAuthorized = isAuthorized }
    return security.isAuthorized != isAuthorized
  }
}
