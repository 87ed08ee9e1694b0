public import BLEWire

/// The bonds that a pairing may make and replace (Docs/Decisions/pairing-and-bonds.md). The host sets them before each
/// pairing.
public struct BondRules: Sendable {
  /// The pairings that make a bond if both devices request one.
  public enum Admission: Hashable, Sendable {
    /// All pairings.
    case all
    /// Authenticated pairings, and pairings that the application has accepted.
    case confirmed
    /// No pairing: no more bonds can be stored.
    case none
  }

  /// Whether an unauthenticated pairing may replace an unauthenticated bond that the link has not proven. Any device
  /// can use the address of such a bond; and a device that has lost the bond can reconnect only by a new pairing.
  public enum Replacement: Hashable, Sendable {
    /// No.
    case never
    /// The application decides: ``PairingQuestion/replaceBond``.
    case ask
    /// Yes.
    case always
  }

  /// The pairings that make a bond.
  public var admission = Admission.all
  /// Whether a pairing may replace a bond that the link has not proven.
  public var replacement = Replacement.always
  /// The key strength of each bond, by identity address. A pairing with one of these identities must make a key that is
  /// no weaker, or it fails.
  public var strengths: [DeviceAddress: KeyStrength] = [:]
  /// The identity resolving key (IRK) of each bond that has one, by identity address. If a peer distributes the key of
  /// another bonded device, the pairing does not accept it: ``PairingOutcome/isIdentityKeyRefused``.
  public var identityKeys: [DeviceAddress: SecretKey] = [:]
  /// The identity of the bonded device that the peer is taken for when the pairing begins: by its address, or because
  /// the link has proven the bond. ``PairingSettings/applyBond(of:_:isProven:)`` sets it.
  public var presumed: DeviceAddress?
  /// Whether the application must decide before an unauthenticated pairing replaces the bond of ``presumed``.
  public var asksReplacement = false
  /// The identities of bonds that another link has proven. An unauthenticated pairing with one of them fails.
  public var inUse: Set<DeviceAddress> = []

  /// The default rules: each pairing may make and replace bonds.
  public init() {}

  /// Whether a device with this identity address must not have this IRK, because it is the key of another bonded
  /// device. The bond of that device keeps the key, unless that bond is unauthenticated and the new one is
  /// authenticated.
  ///
  /// The time depends on the number of bonds and not on the keys.
  func isTaken(_ key: SecretKey, by identity: DeviceAddress, isAuthenticated: Bool) -> Bool {
    var isTaken = false
    for (other, otherKey) in identityKeys where other != identity.identity {
      let isKept = !isAuthenticated || strengths[other]?.isAuthenticated == true
      if otherKey == key, isKept { isTaken = true }
    }
    return isTaken
  }
}

/// The number of bonds that may be made in a period with neither authentication nor the application's consent.
package struct UnconfirmedBondLimit: Hashable, Sendable {
  /// The number of new bonds in one period. The replacement of a bond does not count.
  package var count = 12
  package var period: Duration = .seconds(3600)

  package init() {}
}

extension PairingSettings {
  /// Sets the requirements for a peer with the address of a bonded device: the new key must be no weaker than that of
  /// the bond.
  ///
  /// - Parameters:
  ///   - identity: the identity address of the bond.
  ///   - strength: the strength of its key.
  ///   - isProven: whether the link has proven that the peer is this device.
  public mutating func applyBond(of identity: DeviceAddress, _ strength: KeyStrength, isProven: Bool) {
    if strength.isAuthenticated { requiresMITM = true }
    if strength.isSecureConnections { allowsLegacy = false }
    minimumKeySize = max(minimumKeySize, strength.size)
    bondRules.presumed = identity
    guard !isProven, !strength.isAuthenticated else { return }
    switch bondRules.replacement {
    case .never: requiresMITM = true
    case .ask: bondRules.asksReplacement = true
    case .always: break
    }
  }
}
