package import BLEWire

/// What a pairing machine wants done, in order.
package enum PairingEffect: Equatable, Sendable {
  case send(SMPPDU)
  case ask(PairingQuestionID, PairingQuestion)
  /// The pairing has ended, and with it this question, which had no answer.
  case withdraw(PairingQuestionID)
  /// An answer changed nothing.
  case ignoredAnswer(PairingAnswerFault)
  /// The initiator encrypts the link with this key (Vol 4, Part E, 7.8.24).
  case encrypt(LongTermKey)
  /// A peripheral asks its central, us, for security (Vol 3, Part H, 2.4.6).
  case securityRequested(AuthenticationRequirements)
  /// The peer's user types the passkey (3.5.8).
  case keypress(KeypressNotificationType)
  case completed(PairingOutcome)
  case failed(PairingFailure)
}

/// A key to encrypt links with, and what names it on the air; both names are zero for Secure Connections.
package struct LongTermKey: Hashable, Sendable {
  package var value: SecretKey
  package var ediv: UInt16
  package var rand: UInt64
  package var strength: KeyStrength

  package init(value: SecretKey, ediv: UInt16 = 0, rand: UInt64 = 0, strength: KeyStrength) {
    self.value = value
    self.ediv = ediv
    self.rand = rand
    self.strength = strength
  }
}

/// How much a key is worth.
package struct KeyStrength: Hashable, Sendable {
  /// In octets, 7 to 16.
  package var size: UInt8
  /// Made with protection against a man in the middle.
  package var isAuthenticated: Bool
  package var isSecureConnections: Bool

  package init(size: UInt8, isAuthenticated: Bool, isSecureConnections: Bool) {
    self.size = size
    self.isAuthenticated = isAuthenticated
    self.isSecureConnections = isSecureConnections
  }
}

/// What a pairing that succeeded has given.
package struct PairingOutcome: Hashable, Sendable {
  /// Whether both devices keep their keys.
  package var isBonded: Bool
  /// Whether a bond was wanted that ``BondRules/admission`` does not admit.
  package var isBondDeclined = false
  /// Whether the application agreed to an unauthenticated pairing (``PairingQuestion/consent``,
  /// ``PairingQuestion/replaceBond``).
  package var hasConsent = false
  package var strength: KeyStrength
  /// The key for links where we are the peripheral: ours of legacy pairing, the common one of Secure Connections.
  package var peripheralKey: LongTermKey?
  /// The key for links where we are the central: the peer's of legacy pairing, the common one of Secure Connections.
  package var centralKey: LongTermKey?
  package var peerIRK: SecretKey?
  package var peerIdentity: DeviceAddress?
  /// What the peer signs with, and what we sign with.
  package var peerCSRK: SecretKey?
  package var ownCSRK: SecretKey?

  package init(isBonded: Bool, strength: KeyStrength) {
    self.isBonded = isBonded
    self.strength = strength
  }
}

/// Why a pairing did not succeed, and who ended it.
package struct PairingFailure: Hashable, Sendable, CustomStringConvertible {
  package enum Origin: Hashable, Sendable {
    /// We found the fault and told the peer.
    case local
    /// The peer sent Pairing Failed.
    case peer
    /// The peer was silent for too long; nothing of the kind is possible on this link any more (Vol 3, Part H, 3.4).
    case timeout
    /// The key was made, but the link could not be encrypted with it.
    case encryption
    case linkLost
    /// The system's security manager ended it and gives no reason.
    case system
  }

  package var reason: PairingFailedReason
  package var origin: Origin

  package init(_ reason: PairingFailedReason, _ origin: Origin) {
    self.reason = reason
    self.origin = origin
  }

  package var description: String {
    switch origin {
    case .local: "refused here: \(reason)"
    case .peer: "refused by the device: \(reason)"
    case .timeout: "the device was silent for 30 seconds: connect again, then pair"
    case .encryption: "the link could not be encrypted with the new key"
    case .linkLost: "the link ended during the pairing"
    case .system: "the system's security manager ended it and does not say why: a wrong passkey, or the device refused"
    }
  }
}
