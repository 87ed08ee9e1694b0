/// A step of a pairing (Vol 3, Part H, 2.3 and 2.4).
public enum PairingStep: Hashable, Sendable {
  /// The exchange of features.
  case features
  /// The question whether to pair.
  case consent
  /// The exchange of public keys.
  case publicKeys
  /// The exchange of confirm and random values of Just Works and numeric comparison.
  case confirmValues
  /// The exchange of confirm and random values of a passkey.
  case passkeyEntry
  /// The exchange of values that the out-of-band data confirms.
  case outOfBand
  /// The users compare the numbers.
  case numericComparison
  /// The exchange of DHKey check values.
  case dhKeyCheck
  /// The encryption with the new key.
  case encryption
  /// The distribution of keys.
  case keyDistribution
  /// The question whether to replace a bond.
  case bondReplacement
}

extension PairingStep {
  /// The exchange of values that authenticates the devices.
  static func authentication(by model: AssociationModel) -> Self {
    switch model {
    case .justWorks, .numericComparison: .confirmValues
    case .passkeyEntry: .passkeyEntry
    case .outOfBand: .outOfBand
    }
  }
}

extension PairingStep: CustomStringConvertible {
  public var description: String {
    switch self {
    case .features: "feature exchange"
    case .consent: "consent"
    case .publicKeys: "public key exchange"
    case .confirmValues: "confirm values"
    case .passkeyEntry: "passkey entry"
    case .outOfBand: "out-of-band authentication"
    case .numericComparison: "numeric comparison"
    case .dhKeyCheck: "DHKey check"
    case .encryption: "encryption"
    case .keyDistribution: "key distribution"
    case .bondReplacement: "replacement of a bond"
    }
  }
}

/// The fault for which this device ends a pairing. Several faults share one ``reason`` in the Pairing Failed PDU, so
/// the PDU says less to the peer than the log says to the user.
public enum PairingFault: Error, Hashable, Sendable {
  /// A PDU is out of order or repeated.
  case unexpected(SMPCode)
  /// A PDU has the wrong length, or a field with an invalid value.
  case malformed
  /// A PDU that only the other role may send.
  case wrongRole(SMPCode)
  /// Too little time has passed since failed pairings: ``RepeatedAttempts``.
  case repeatedAttempts

  /// A feature has a reserved value (Vol 3, Part H, 3.5.1).
  case reservedFeature
  /// The response distributes keys that were not requested (Vol 3, Part H, 3.6.1).
  case keysNotRequested
  /// The encryption key would be shorter than ``PairingSettings/minimumKeySize``.
  case keyTooShort
  /// The peer does not support Secure Connections, and ``PairingSettings/allowsLegacy`` is false.
  case legacyNotAllowed
  /// The input and output of the devices permit no authentication, which ``PairingSettings/requiresMITM`` demands.
  case notAuthenticated
  /// The out-of-band data that the features announce is missing.
  case outOfBandDataMissing
  /// The application does not consent to the pairing.
  case consentRefused

  /// The public key of the peer is not on the curve (Docs/Decisions/pairing-and-bonds.md#reasons-of-a-failure).
  case publicKeyNotOnCurve
  /// The public key of the peer is not below the prime of the curve.
  case publicKeyOutOfRange
  /// The peer has sent the public key of this device.
  case publicKeyReflected
  /// The peer has sent the debug key, whose private key is public.
  case publicKeyOfDebugMode
  /// The out-of-band data does not confirm the public key of the peer.
  case outOfBandDataDiffer
  /// The random value of the peer does not match its confirm value.
  case confirmValueDiffers
  /// The random value of the peer does not match its confirm value with the passkey of this device.
  case passkeysDiffer
  /// The peer has sent the confirm value of this device.
  case confirmValueReflected
  /// The user has cancelled the passkey entry.
  case passkeyCancelled
  /// The user says that the numbers differ.
  case numbersDiffer
  /// The user has ended the pairing.
  case cancelled
  /// The DHKey check values of the devices differ.
  case dhKeyCheckDiffers
  /// The cryptographic library has failed.
  case cryptographyFailed
  /// A value from an earlier step is missing.
  case valueMissing

  /// The identity address of the peer is neither public nor static random (Vol 3, Part H, 3.6.5).
  case identityAddressInvalid
  /// The peer distributes the identity address of this device.
  case identityAddressReflected
  /// A connected device has proven the bond with this identity.
  case identityInUse
  /// The identity resolving key belongs to another device, and the peer cannot be recognized without it
  /// (Docs/Decisions/pairing-and-bonds.md#identity-keys).
  case identityKeyTaken
  /// The key is weaker than that of the bond that it would replace
  /// (Docs/Decisions/pairing-and-bonds.md#which-bond-a-pairing-replaces): the reason is one of
  /// ``KeyStrength/error(replacing:)``.
  case weakerThanBond(PairingFailedReason)
  /// ``BondRules/Replacement-swift.enum/never`` forbids replacing the bond.
  case bondNotReplaceable
  /// The application has refused to replace the bond.
  case replacementRefused
}

extension PairingFault {
  /// The reason in the Pairing Failed PDU (Vol 3, Part H, 3.5.5).
  public var reason: PairingFailedReason {
    switch self {
    case .unexpected, .consentRefused, .cancelled, .cryptographyFailed, .valueMissing: .unspecifiedReason
    case .malformed, .reservedFeature, .keysNotRequested, .publicKeyOutOfRange, .publicKeyReflected,
      .publicKeyOfDebugMode, .identityAddressInvalid:
      .invalidParameters
    case .wrongRole: .commandNotSupported
    case .repeatedAttempts: .repeatedAttempts
    case .keyTooShort: .encryptionKeySize
    case .legacyNotAllowed, .notAuthenticated, .bondNotReplaceable: .authenticationRequirements
    case .outOfBandDataMissing: .oobNotAvailable
    case .outOfBandDataDiffer, .confirmValueDiffers, .passkeysDiffer, .confirmValueReflected: .confirmValueFailed
    case .passkeyCancelled: .passkeyEntryFailed
    case .numbersDiffer: .numericComparisonFailed
    case .publicKeyNotOnCurve, .dhKeyCheckDiffers: .dhKeyCheckFailed
    case .identityAddressReflected, .identityInUse, .identityKeyTaken, .replacementRefused: .keyRejected
    case .weakerThanBond(let reason): reason
    }
  }

  /// The fault if a random value does not match the confirm value of the peer.
  static func mismatch(_ model: AssociationModel) -> Self {
    switch model {
    case .justWorks, .numericComparison: .confirmValueDiffers
    case .passkeyEntry: .passkeysDiffer
    case .outOfBand: .outOfBandDataDiffer
    }
  }
}

extension PairingFault: CustomStringConvertible {
  public var description: String {
    switch self {
    case .unexpected(let code): "unexpected \(code)"
    case .malformed: "a malformed PDU"
    case .wrongRole(let code): "\(code) from a device of the wrong role"
    case .repeatedAttempts: "too soon after failed pairings"
    case .reservedFeature: "a feature with a reserved value"
    case .keysNotRequested: "the response distributes keys that were not requested"
    case .keyTooShort: "the key would be shorter than the minimum"
    case .legacyNotAllowed: "the peer has no LE Secure Connections, and legacy pairing is not allowed"
    case .notAuthenticated: "authentication is required, and the input and output of the devices do not permit it"
    case .outOfBandDataMissing: "out-of-band data is missing"
    case .consentRefused: "the application refused the pairing"
    case .publicKeyNotOnCurve: "the peer's public key is not on the curve"
    case .publicKeyOutOfRange: "the peer's public key is out of range"
    case .publicKeyReflected: "the peer sent this device's public key"
    case .publicKeyOfDebugMode: "the peer sent the public key of the debug mode"
    case .outOfBandDataDiffer: "the out-of-band data does not match"
    case .confirmValueDiffers: "the peer's random value does not match its confirm value"
    case .passkeysDiffer: "the passkeys differ"
    case .confirmValueReflected: "the peer sent this device's confirm value"
    case .passkeyCancelled: "the passkey entry was cancelled"
    case .numbersDiffer: "the user says that the numbers differ"
    case .cancelled: "the pairing was cancelled"
    case .dhKeyCheckDiffers: "the check values differ"
    case .cryptographyFailed: "a cryptographic function failed"
    case .valueMissing: "a value of an earlier step is missing"
    case .identityAddressInvalid: "the peer's identity address is neither public nor static random"
    case .identityAddressReflected: "the peer claims this device's identity address"
    case .identityInUse: "the peer claims the identity of a bonded device that is connected"
    case .identityKeyTaken: "the peer's identity resolving key is that of another device"
    case .weakerThanBond: "the key is weaker than that of the existing bond"
    case .bondNotReplaceable: "the existing bond must not be replaced"
    case .replacementRefused: "the application refused to replace the existing bond"
    }
  }
}
