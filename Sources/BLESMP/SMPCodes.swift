/// Which command an SMP PDU is (Vol 3, Part H, 3.3, table 3.3).
public struct SMPCode: RawRepresentable, Hashable, Sendable {
  public var rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let pairingRequest = Self(rawValue: 0x01)
  public static let pairingResponse = Self(rawValue: 0x02)
  public static let pairingConfirm = Self(rawValue: 0x03)
  public static let pairingRandom = Self(rawValue: 0x04)
  public static let pairingFailed = Self(rawValue: 0x05)
  public static let encryptionInformation = Self(rawValue: 0x06)
  public static let centralIdentification = Self(rawValue: 0x07)
  public static let identityInformation = Self(rawValue: 0x08)
  public static let identityAddressInformation = Self(rawValue: 0x09)
  public static let signingInformation = Self(rawValue: 0x0A)
  public static let securityRequest = Self(rawValue: 0x0B)
  public static let pairingPublicKey = Self(rawValue: 0x0C)
  public static let pairingDHKeyCheck = Self(rawValue: 0x0D)
  public static let pairingKeypressNotification = Self(rawValue: 0x0E)
}

/// What a device has for its user to read from and type on (Vol 3, Part H, 3.5.1, table 3.4).
public struct IOCapability: RawRepresentable, Hashable, Sendable {
  public var rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let displayOnly = Self(rawValue: 0x00)
  public static let displayYesNo = Self(rawValue: 0x01)
  public static let keyboardOnly = Self(rawValue: 0x02)
  public static let noInputNoOutput = Self(rawValue: 0x03)
  public static let keyboardDisplay = Self(rawValue: 0x04)
}

/// Whether a device has got the other's out-of-band data (Vol 3, Part H, 3.5.1, table 3.5).
public struct OOBDataFlag: RawRepresentable, Hashable, Sendable {
  public var rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let notPresent = Self(rawValue: 0x00)
  public static let present = Self(rawValue: 0x01)
}

/// What a device wants of a pairing (Vol 3, Part H, 3.5.1, figure 3.3). Reserved bits are kept as they came.
public struct AuthenticationRequirements: OptionSet, Hashable, Sendable {
  public var rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Keys are stored. The lower bit of two; the upper one is reserved.
  public static let bonding = Self(rawValue: 0x01)
  /// Protection against a man in the middle: passkey, comparison or out of band.
  public static let mitm = Self(rawValue: 0x04)
  public static let secureConnections = Self(rawValue: 0x08)
  public static let keypress = Self(rawValue: 0x10)
  /// The function h7 makes a link key of the LTK.
  public static let ct2 = Self(rawValue: 0x20)
}

/// Which keys a device sends or wants (Vol 3, Part H, 3.6.1, figure 3.11). Reserved bits are kept as they came.
public struct KeyDistribution: OptionSet, Hashable, Sendable {
  public var rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// LTK, EDIV and Rand; of legacy pairing only.
  public static let encKey = Self(rawValue: 0x01)
  /// IRK and identity address.
  public static let idKey = Self(rawValue: 0x02)
  /// CSRK.
  public static let signKey = Self(rawValue: 0x04)
  /// The link key of BR/EDR is made of the LTK; of Secure Connections only.
  public static let linkKey = Self(rawValue: 0x08)
}

/// Why a pairing failed (Vol 3, Part H, 3.5.5, table 3.7).
public struct PairingFailedReason: RawRepresentable, Hashable, Sendable {
  public var rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let passkeyEntryFailed = Self(rawValue: 0x01)
  public static let oobNotAvailable = Self(rawValue: 0x02)
  public static let authenticationRequirements = Self(rawValue: 0x03)
  public static let confirmValueFailed = Self(rawValue: 0x04)
  public static let pairingNotSupported = Self(rawValue: 0x05)
  public static let encryptionKeySize = Self(rawValue: 0x06)
  public static let commandNotSupported = Self(rawValue: 0x07)
  public static let unspecifiedReason = Self(rawValue: 0x08)
  public static let repeatedAttempts = Self(rawValue: 0x09)
  public static let invalidParameters = Self(rawValue: 0x0A)
  public static let dhKeyCheckFailed = Self(rawValue: 0x0B)
  public static let numericComparisonFailed = Self(rawValue: 0x0C)
  public static let brEDRPairingInProgress = Self(rawValue: 0x0D)
  public static let crossTransportKeyDerivationNotAllowed = Self(rawValue: 0x0E)
  public static let keyRejected = Self(rawValue: 0x0F)
  public static let busy = Self(rawValue: 0x10)
}

extension PairingFailedReason: CustomStringConvertible {
  public var description: String {
    switch self {
    case .passkeyEntryFailed: "the user did not enter the passkey, or gave up"
    case .oobNotAvailable: "the out-of-band data is not there"
    case .authenticationRequirements: "the devices cannot pair as securely as one of them requires"
    case .confirmValueFailed: "the confirm value is wrong: another passkey, or somebody in the middle"
    case .pairingNotSupported: "the device does not pair"
    case .encryptionKeySize: "the encryption key would be too short"
    case .commandNotSupported: "the device does not know the command"
    case .unspecifiedReason: "no reason was given"
    case .repeatedAttempts: "too soon after a pairing that failed: wait and try again"
    case .invalidParameters: "a command was malformed or had a value that is not allowed"
    case .dhKeyCheckFailed: "the DHKey check is wrong: the two devices did not arrive at the same key"
    case .numericComparisonFailed: "the user said that the two numbers differ"
    case .brEDRPairingInProgress: "the devices are pairing over BR/EDR at this moment"
    case .crossTransportKeyDerivationNotAllowed: "the key of the one transport may not be made of the other's"
    case .keyRejected: "the device does not take the key it was sent"
    case .busy: "the device is busy: try again later"
    default: "reason 0x" + (rawValue < 16 ? "0" : "") + String(rawValue, radix: 16, uppercase: true)
    }
  }
}

/// What the user does while entering a passkey (Vol 3, Part H, 3.5.8, table 3.8).
public struct KeypressNotificationType: RawRepresentable, Hashable, Sendable {
  public var rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let passkeyEntryStarted = Self(rawValue: 0)
  public static let passkeyDigitEntered = Self(rawValue: 1)
  public static let passkeyDigitErased = Self(rawValue: 2)
  public static let passkeyCleared = Self(rawValue: 3)
  public static let passkeyEntryCompleted = Self(rawValue: 4)
}
