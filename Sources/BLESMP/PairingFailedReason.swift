public import BLEWire

/// The reason in a ``PairingFailed`` PDU (Vol 3, Part H, 3.5.5, table 3.7).
public struct PairingFailedReason: AssignedNumber, Error {
  public var rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Passkey Entry Failed (0x01): the user cancelled the entry of the passkey.
  public static let passkeyEntryFailed = Self(rawValue: 0x01)
  /// OOB Not Available (0x02): the device does not have the out-of-band data.
  public static let oobNotAvailable = Self(rawValue: 0x02)
  /// Authentication Requirements (0x03): the input and output of the devices do not permit the required security.
  public static let authenticationRequirements = Self(rawValue: 0x03)
  /// Confirm Value Failed (0x04): the confirm value does not match, for example because the passkeys differ.
  public static let confirmValueFailed = Self(rawValue: 0x04)
  /// Pairing Not Supported (0x05).
  public static let pairingNotSupported = Self(rawValue: 0x05)
  /// Encryption Key Size (0x06): the encryption key would be too short.
  public static let encryptionKeySize = Self(rawValue: 0x06)
  /// Command Not Supported (0x07): the device does not support the PDU.
  public static let commandNotSupported = Self(rawValue: 0x07)
  /// Unspecified Reason (0x08).
  public static let unspecifiedReason = Self(rawValue: 0x08)
  /// Repeated Attempts (0x09): too little time has passed since a failed pairing.
  public static let repeatedAttempts = Self(rawValue: 0x09)
  /// Invalid Parameters (0x0A): a PDU is malformed or has a value that is not allowed.
  public static let invalidParameters = Self(rawValue: 0x0A)
  /// DHKey Check Failed (0x0B): the devices have different keys.
  public static let dhKeyCheckFailed = Self(rawValue: 0x0B)
  /// Numeric Comparison Failed (0x0C): the user said that the numbers differ.
  public static let numericComparisonFailed = Self(rawValue: 0x0C)
  /// BR/EDR Pairing in Progress (0x0D).
  public static let brEDRPairingInProgress = Self(rawValue: 0x0D)
  /// Cross-transport Key Derivation/Generation Not Allowed (0x0E).
  public static let crossTransportKeyDerivationNotAllowed = Self(rawValue: 0x0E)
  /// Key Rejected (0x0F): the device does not accept a distributed key.
  public static let keyRejected = Self(rawValue: 0x0F)
  /// Busy (0x10): the device is not ready for a pairing.
  public static let busy = Self(rawValue: 0x10)

  public static let spaceName: StaticString = "pairing failure"
  public static let names: [Self: StaticString] = [
    .passkeyEntryFailed: "Passkey Entry Failed", .oobNotAvailable: "OOB Not Available",
    .authenticationRequirements: "Authentication Requirements", .confirmValueFailed: "Confirm Value Failed",
    .pairingNotSupported: "Pairing Not Supported", .encryptionKeySize: "Encryption Key Size",
    .commandNotSupported: "Command Not Supported", .unspecifiedReason: "Unspecified Reason",
    .repeatedAttempts: "Repeated Attempts", .invalidParameters: "Invalid Parameters",
    .dhKeyCheckFailed: "DHKey Check Failed", .numericComparisonFailed: "Numeric Comparison Failed",
    .brEDRPairingInProgress: "BR/EDR Pairing in Progress",
    .crossTransportKeyDerivationNotAllowed: "Cross-transport Key Derivation/Generation Not Allowed",
    .keyRejected: "Key Rejected", .busy: "Busy",
  ]
}

/// The end of a failed pairing: the reason, the device or event that ended the pairing, and the step in which it ended.
public struct PairingFailure: Hashable, Sendable {
  /// The device or event that ended the pairing.
  public enum Origin: Hashable, Sendable {
    /// This device; the peer got Pairing Failed.
    case local
    /// The peer, by Pairing Failed.
    case peer
    /// The peer did not send the next PDU in time. No further pairing is possible on this link (Vol 3, Part H, 3.4).
    case timeout
    /// The link could not be encrypted with the new key.
    case encryption
    /// The link ended.
    case linkLost
    /// The security manager of the operating system's kernel, which reports no reason.
    case kernel
  }

  /// The reason; Unspecified Reason if the origin is not one of the two devices.
  public var reason: PairingFailedReason
  /// The device or event that ended the pairing.
  public var origin: Origin
  /// The step in which the pairing ended; nil if the kernel pairs.
  public var step: PairingStep?
  /// The fault for which this device ended the pairing; several faults have one reason. Nil if another device or event
  /// ended the pairing, or if the kernel pairs.
  public var fault: PairingFault?

  /// A failure with these fields.
  public init(_ reason: PairingFailedReason, _ origin: Origin, at step: PairingStep? = nil) {
    (self.reason, self.origin, self.step) = (reason, origin, step)
  }

  /// A failure that this device has detected.
  public init(_ fault: PairingFault, at step: PairingStep) {
    (reason, origin) = (fault.reason, .local)
    (self.step, self.fault) = (step, fault)
  }
}

extension PairingFailure: CustomStringConvertible {
  /// Who ended the pairing in which step, why, and what to do: `rejected by this device in the step passkey entry:
  /// Confirm Value Failed (0x04), the passkeys differ. Pair again with the digits that are shown`.
  public var description: String {
    let place = step.map { " in the step \($0)" } ?? ""
    return switch origin {
    case .local: "rejected by this device\(place): \(reason)\(fault.map { ", \($0)" } ?? "")\(advice)"
    case .peer: "rejected by the peer\(place): \(reason)\(advice)"
    case .timeout: "no PDU from the peer within 30 seconds\(place). Connect again, then pair"
    case .encryption: "the link could not be encrypted with the new key. Pair again"
    case .linkLost: "the link ended\(place). Connect again, then pair"
    case .kernel:
      "rejected by the kernel's security manager or by the peer; the kernel reports no reason. Check the passkey and pair again"
    }
  }

  private var advice: String {
    switch reason {
    // The user has not typed anything.
    case .confirmValueFailed where step == .confirmValues || step == .outOfBand || step == .publicKeys:
      ". Pair again"
    case .passkeyEntryFailed, .confirmValueFailed, .numericComparisonFailed:
      ". Pair again with the digits that are shown"
    case .authenticationRequirements: ". Pair where a passkey can be displayed or entered, or lower the requirements"
    case .repeatedAttempts: ". Wait, then pair again"
    case .busy: ". Pair again later"
    default: ""
    }
  }
}
