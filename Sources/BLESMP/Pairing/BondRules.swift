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

  package var admission = Admission.all
  /// The key strength of each bond, by identity. A pairing that names one of these identities makes a key that is no
  /// weaker, or fails.
  package var strengths: [DeviceAddress: KeyStrength] = [:]

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
  /// Demands a key that may replace one of this strength.
  package mutating func demand(_ strength: KeyStrength) {
    if strength.isAuthenticated { requiresMITM = true }
    if strength.isSecureConnections { allowsLegacy = false }
    minimumKeySize = max(minimumKeySize, strength.size)
  }
}
