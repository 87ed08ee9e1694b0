package import BLEWire

/// Which bonds a pairing may make, and which it may replace (Docs/Decisions/0067 and 0084).
///
/// The host fills it in from its bonds before each pairing.
package struct BondRules: Sendable {
  /// Which pairings make a bond where both devices want one.
  package enum Admission: Hashable, Sendable {
    case all
    /// Authenticated ones, and those that the application agreed to.
    case confirmed
    /// None: there is no room.
    case none
  }

  /// Whether an unauthenticated pairing may replace an unprotected bond that the link has not proven. Any device can use
  /// the address of such a bond; and a device that has lost the bond can reconnect only by a new pairing.
  package enum Replacement: Hashable, Sendable {
    case never
    /// The application decides (``PairingQuestion/replaceBond``).
    case ask
    case always
  }

  package var admission = Admission.all
  package var replacement = Replacement.always
  /// The key strength of each bond, by identity. A pairing that names one of these identities makes a key that is no
  /// weaker, or fails.
  package var strengths: [DeviceAddress: KeyStrength] = [:]
  /// The bonded device that the peer is known to be from the beginning, by its address or because the link has proven it:
  /// its bond is in the other settings already.
  package var presumed: DeviceAddress?
  /// Whether the application is asked before an unauthenticated pairing replaces the bond of ``presumed``.
  package var asksReplacement = false
  /// Identities whose bond another link has proven and uses. A pairing that authenticates nobody takes none of them.
  package var inUse: Set<DeviceAddress> = []

  package init() {}
}

/// How many bonds may be made in a period without authentication and without the application's consent.
package struct UnconfirmedBondLimit: Hashable, Sendable {
  /// New bonds in one period; the replacement of a bond is none.
  package var count = 12
  package var period: Duration = .seconds(3600)

  package init() {}
}

extension KeyStrength {
  /// Why a key of this strength may not replace one of another strength, if it may not: authentication, Secure Connections
  /// and size must each be no weaker.
  package func refusal(replacing other: KeyStrength) -> PairingFailedReason? {
    if other.isAuthenticated && !isAuthenticated || other.isSecureConnections && !isSecureConnections {
      return .authenticationRequirements
    }
    return size < other.size ? .encryptionKeySize : nil
  }
}

extension PairingSettings {
  /// Applies the bond of the device that the peer claims to be by its address.
  ///
  /// - Parameter isProven: whether the link has proven that it is this device.
  package mutating func respectBond(of identity: DeviceAddress, _ strength: KeyStrength, isProven: Bool) {
    demand(strength)
    bondRules.presumed = identity
    guard !isProven, !strength.isAuthenticated else { return }
    switch bondRules.replacement {
    case .never: requiresMITM = true
    case .ask: bondRules.asksReplacement = true
    case .always: break
    }
  }

  /// Demands a key that may replace one of this strength.
  private mutating func demand(_ strength: KeyStrength) {
    if strength.isAuthenticated { requiresMITM = true }
    if strength.isSecureConnections { allowsLegacy = false }
    minimumKeySize = max(minimumKeySize, strength.size)
  }
}
