public import BLEWire

/// The output of a ``PairingMachine``, in order. The owner of the link performs it.
public enum PairingEffect: Equatable, Sendable {
  /// Send this PDU on the channel of the Security Manager.
  case send(SMPPDU)
  /// Ask the user or the application this question. Pass the answer to ``PairingMachine/answer(_:_:now:into:)``.
  case ask(PairingQuestionID, PairingQuestion)
  /// Withdraw this question: it has not been answered, and its pairing has ended.
  case withdraw(PairingQuestionID)
  /// An answer had no effect.
  case ignoredAnswer(PairingAnswerError)
  /// Encrypt the link with this key, as the central (Vol 4, Part E, 7.8.24).
  case encrypt(LongTermKey)
  /// The peripheral requests security from this device, which is the central (Vol 3, Part H, 2.4.6).
  case securityRequested(AuthenticationRequirements)
  /// The peer's user enters the passkey (Vol 3, Part H, 3.5.8).
  case keypress(KeypressNotificationType)
  /// The pairing has succeeded.
  case completed(PairingOutcome)
  /// The pairing has failed.
  case failed(PairingFailure)
}

/// The result of a pairing that succeeded: the distributed keys. A key that was not distributed is nil.
public struct PairingOutcome: Hashable, Sendable {
  /// Whether both devices store the keys.
  public var isBonded: Bool
  /// Whether ``BondRules/admission-swift.property`` prevented a bond.
  public var isBondDeclined = false
  /// Whether the application accepted an unauthenticated pairing (``PairingQuestion/consent``,
  /// ``PairingQuestion/replaceBond``).
  public var hasConsent = false
  /// The security properties of the encryption key.
  public var strength: KeyStrength
  /// The key for links on which this device is the peripheral: its own key of legacy pairing, or the common key of
  /// Secure Connections.
  public var peripheralKey: LongTermKey?
  /// The key for links on which this device is the central: the peer's key of legacy pairing, or the common key of
  /// Secure Connections.
  public var centralKey: LongTermKey?
  /// The key that resolves the peer's private addresses. Nil also if the peer has none (all zeros; Vol 3, Part H,
  /// 3.6.4), or if ``isIdentityKeyRefused`` is true.
  public var peerIRK: SecretKey?
  /// Whether the peer distributed an IRK that is not its own: that of this device or of another bonded device
  /// (Docs/Decisions/pairing-and-bonds.md#identity-keys).
  public var isIdentityKeyRefused = false
  /// The peer's identity address.
  public var peerIdentity: DeviceAddress?
  /// The key that verifies the peer's signatures.
  public var peerCSRK: SecretKey?
  /// The key that makes this device's signatures.
  public var ownCSRK: SecretKey?

  /// The outcome without keys.
  public init(isBonded: Bool, strength: KeyStrength) {
    self.isBonded = isBonded
    self.strength = strength
  }
}
