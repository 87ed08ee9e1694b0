public import BLEWire

/// An error code of the controller: the status of commands and events, and the reason of a disconnection
/// (Vol 1, Part F, 1.3).
public struct HCIErrorCode: AssignedNumber, Error {
  public var rawValue: UInt8
  @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Success (0x00).
  public static let success = Self(rawValue: 0x00)
  /// Unknown HCI Command (0x01).
  public static let unknownCommand = Self(rawValue: 0x01)
  /// Unknown Connection Identifier (0x02).
  public static let unknownConnectionIdentifier = Self(rawValue: 0x02)
  /// Hardware Failure (0x03).
  public static let hardwareFailure = Self(rawValue: 0x03)
  /// Page Timeout (0x04).
  public static let pageTimeout = Self(rawValue: 0x04)
  /// Authentication Failure (0x05).
  public static let authenticationFailure = Self(rawValue: 0x05)
  /// PIN or Key Missing (0x06).
  public static let pinOrKeyMissing = Self(rawValue: 0x06)
  /// Memory Capacity Exceeded (0x07).
  public static let memoryCapacityExceeded = Self(rawValue: 0x07)
  /// Connection Timeout (0x08).
  public static let connectionTimeout = Self(rawValue: 0x08)
  /// Connection Limit Exceeded (0x09).
  public static let connectionLimitExceeded = Self(rawValue: 0x09)
  /// Synchronous Connection Limit To A Device Exceeded (0x0A).
  public static let synchronousConnectionLimitExceeded = Self(rawValue: 0x0A)
  /// Connection Already Exists (0x0B).
  public static let connectionAlreadyExists = Self(rawValue: 0x0B)
  /// Command Disallowed (0x0C).
  public static let commandDisallowed = Self(rawValue: 0x0C)
  /// Connection Rejected due to Limited Resources (0x0D).
  public static let rejectedLimitedResources = Self(rawValue: 0x0D)
  /// Connection Rejected Due To Security Reasons (0x0E).
  public static let rejectedSecurityReasons = Self(rawValue: 0x0E)
  /// Connection Rejected due to Unacceptable BD_ADDR (0x0F).
  public static let rejectedUnacceptableAddress = Self(rawValue: 0x0F)
  /// Connection Accept Timeout Exceeded (0x10).
  public static let connectionAcceptTimeoutExceeded = Self(rawValue: 0x10)
  /// Unsupported Feature or Parameter Value (0x11).
  public static let unsupportedFeatureOrParameterValue = Self(rawValue: 0x11)
  /// Invalid HCI Command Parameters (0x12).
  public static let invalidCommandParameters = Self(rawValue: 0x12)
  /// Remote User Terminated Connection (0x13).
  public static let remoteUserTerminatedConnection = Self(rawValue: 0x13)
  /// Remote Device Terminated Connection due to Low Resources (0x14).
  public static let remoteDeviceTerminatedLowResources = Self(rawValue: 0x14)
  /// Remote Device Terminated Connection due to Power Off (0x15).
  public static let remoteDeviceTerminatedPowerOff = Self(rawValue: 0x15)
  /// Connection Terminated By Local Host (0x16).
  public static let terminatedByLocalHost = Self(rawValue: 0x16)
  /// Repeated Attempts (0x17).
  public static let repeatedAttempts = Self(rawValue: 0x17)
  /// Pairing Not Allowed (0x18).
  public static let pairingNotAllowed = Self(rawValue: 0x18)
  /// Unknown LMP PDU (0x19).
  public static let unknownLMPPDU = Self(rawValue: 0x19)
  /// Unsupported Remote Feature (0x1A).
  public static let unsupportedRemoteFeature = Self(rawValue: 0x1A)
  /// SCO Offset Rejected (0x1B).
  public static let scoOffsetRejected = Self(rawValue: 0x1B)
  /// SCO Interval Rejected (0x1C).
  public static let scoIntervalRejected = Self(rawValue: 0x1C)
  /// SCO Air Mode Rejected (0x1D).
  public static let scoAirModeRejected = Self(rawValue: 0x1D)
  /// Invalid LMP Parameters / Invalid LL Parameters (0x1E).
  public static let invalidLinkLayerParameters = Self(rawValue: 0x1E)
  /// Unspecified Error (0x1F).
  public static let unspecifiedError = Self(rawValue: 0x1F)
  /// Unsupported LMP Parameter Value / Unsupported LL Parameter Value (0x20).
  public static let unsupportedLinkLayerParameterValue = Self(rawValue: 0x20)
  /// Role Change Not Allowed (0x21).
  public static let roleChangeNotAllowed = Self(rawValue: 0x21)
  /// LMP Response Timeout / LL Response Timeout (0x22).
  public static let linkLayerResponseTimeout = Self(rawValue: 0x22)
  /// LMP Error Transaction Collision / LL Procedure Collision (0x23).
  public static let linkLayerProcedureCollision = Self(rawValue: 0x23)
  /// LMP PDU Not Allowed (0x24).
  public static let lmpPDUNotAllowed = Self(rawValue: 0x24)
  /// Encryption Mode Not Acceptable (0x25).
  public static let encryptionModeNotAcceptable = Self(rawValue: 0x25)
  /// Link Key cannot be Changed (0x26).
  public static let linkKeyCannotBeChanged = Self(rawValue: 0x26)
  /// Requested QoS Not Supported (0x27).
  public static let requestedQoSNotSupported = Self(rawValue: 0x27)
  /// Instant Passed (0x28).
  public static let instantPassed = Self(rawValue: 0x28)
  /// Pairing With Unit Key Not Supported (0x29).
  public static let pairingWithUnitKeyNotSupported = Self(rawValue: 0x29)
  /// Different Transaction Collision (0x2A).
  public static let differentTransactionCollision = Self(rawValue: 0x2A)
  /// QoS Unacceptable Parameter (0x2C).
  public static let qosUnacceptableParameter = Self(rawValue: 0x2C)
  /// QoS Rejected (0x2D).
  public static let qosRejected = Self(rawValue: 0x2D)
  /// Channel Classification Not Supported (0x2E).
  public static let channelClassificationNotSupported = Self(rawValue: 0x2E)
  /// Insufficient Security (0x2F).
  public static let insufficientSecurity = Self(rawValue: 0x2F)
  /// Parameter Out Of Mandatory Range (0x30).
  public static let parameterOutOfMandatoryRange = Self(rawValue: 0x30)
  /// Role Switch Pending (0x32).
  public static let roleSwitchPending = Self(rawValue: 0x32)
  /// Reserved Slot Violation (0x34).
  public static let reservedSlotViolation = Self(rawValue: 0x34)
  /// Role Switch Failed (0x35).
  public static let roleSwitchFailed = Self(rawValue: 0x35)
  /// Extended Inquiry Response Too Large (0x36).
  public static let extendedInquiryResponseTooLarge = Self(rawValue: 0x36)
  /// Secure Simple Pairing Not Supported By Host (0x37).
  public static let simplePairingNotSupportedByHost = Self(rawValue: 0x37)
  /// Host Busy - Pairing (0x38).
  public static let hostBusyPairing = Self(rawValue: 0x38)
  /// Connection Rejected due to No Suitable Channel Found (0x39).
  public static let rejectedNoSuitableChannel = Self(rawValue: 0x39)
  /// Controller Busy (0x3A).
  public static let controllerBusy = Self(rawValue: 0x3A)
  /// Unacceptable Connection Parameters (0x3B).
  public static let unacceptableConnectionParameters = Self(rawValue: 0x3B)
  /// Advertising Timeout (0x3C).
  public static let advertisingTimeout = Self(rawValue: 0x3C)
  /// Connection Terminated due to MIC Failure (0x3D).
  public static let terminatedMICFailure = Self(rawValue: 0x3D)
  /// Connection Failed to be Established / Synchronization Timeout (0x3E).
  public static let connectionFailedToBeEstablished = Self(rawValue: 0x3E)
  /// Coarse Clock Adjustment Rejected but Will Try to Adjust Using Clock Dragging (0x40).
  public static let coarseClockAdjustmentRejected = Self(rawValue: 0x40)
  /// Type0 Submap Not Defined (0x41).
  public static let type0SubmapNotDefined = Self(rawValue: 0x41)
  /// Unknown Advertising Identifier (0x42).
  public static let unknownAdvertisingIdentifier = Self(rawValue: 0x42)
  /// Limit Reached (0x43).
  public static let limitReached = Self(rawValue: 0x43)
  /// Operation Cancelled by Host (0x44).
  public static let operationCancelledByHost = Self(rawValue: 0x44)
  /// Packet Too Long (0x45).
  public static let packetTooLong = Self(rawValue: 0x45)
  /// Too Late (0x46).
  public static let tooLate = Self(rawValue: 0x46)
  /// Too Early (0x47).
  public static let tooEarly = Self(rawValue: 0x47)

  /// Whether the code is ``success``.
  @inlinable public var isSuccess: Bool { rawValue == 0 }
}

extension HCIErrorCode {
  public static let spaceName: StaticString = "HCI error"

  public static let names: [Self: StaticString] = [
    .success: "Success",
    .unknownCommand: "Unknown HCI Command",
    .unknownConnectionIdentifier: "Unknown Connection Identifier",
    .hardwareFailure: "Hardware Failure",
    .pageTimeout: "Page Timeout",
    .authenticationFailure: "Authentication Failure",
    .pinOrKeyMissing: "PIN or Key Missing",
    .memoryCapacityExceeded: "Memory Capacity Exceeded",
    .connectionTimeout: "Connection Timeout",
    .connectionLimitExceeded: "Connection Limit Exceeded",
    .synchronousConnectionLimitExceeded: "Synchronous Connection Limit To A Device Exceeded",
    .connectionAlreadyExists: "Connection Already Exists",
    .commandDisallowed: "Command Disallowed",
    .rejectedLimitedResources: "Connection Rejected due to Limited Resources",
    .rejectedSecurityReasons: "Connection Rejected Due To Security Reasons",
    .rejectedUnacceptableAddress: "Connection Rejected due to Unacceptable BD_ADDR",
    .connectionAcceptTimeoutExceeded: "Connection Accept Timeout Exceeded",
    .unsupportedFeatureOrParameterValue: "Unsupported Feature or Parameter Value",
    .invalidCommandParameters: "Invalid HCI Command Parameters",
    .remoteUserTerminatedConnection: "Remote User Terminated Connection",
    .remoteDeviceTerminatedLowResources: "Remote Device Terminated Connection due to Low Resources",
    .remoteDeviceTerminatedPowerOff: "Remote Device Terminated Connection due to Power Off",
    .terminatedByLocalHost: "Connection Terminated By Local Host",
    .repeatedAttempts: "Repeated Attempts",
    .pairingNotAllowed: "Pairing Not Allowed",
    .unknownLMPPDU: "Unknown LMP PDU",
    .unsupportedRemoteFeature: "Unsupported Remote Feature",
    .scoOffsetRejected: "SCO Offset Rejected",
    .scoIntervalRejected: "SCO Interval Rejected",
    .scoAirModeRejected: "SCO Air Mode Rejected",
    .invalidLinkLayerParameters: "Invalid LMP Parameters / Invalid LL Parameters",
    .unspecifiedError: "Unspecified Error",
    .unsupportedLinkLayerParameterValue: "Unsupported LMP Parameter Value / Unsupported LL Parameter Value",
    .roleChangeNotAllowed: "Role Change Not Allowed",
    .linkLayerResponseTimeout: "LMP Response Timeout / LL Response Timeout",
    .linkLayerProcedureCollision: "LMP Error Transaction Collision / LL Procedure Collision",
    .lmpPDUNotAllowed: "LMP PDU Not Allowed",
    .encryptionModeNotAcceptable: "Encryption Mode Not Acceptable",
    .linkKeyCannotBeChanged: "Link Key cannot be Changed",
    .requestedQoSNotSupported: "Requested QoS Not Supported",
    .instantPassed: "Instant Passed",
    .pairingWithUnitKeyNotSupported: "Pairing With Unit Key Not Supported",
    .differentTransactionCollision: "Different Transaction Collision",
    .qosUnacceptableParameter: "QoS Unacceptable Parameter",
    .qosRejected: "QoS Rejected",
    .channelClassificationNotSupported: "Channel Classification Not Supported",
    .insufficientSecurity: "Insufficient Security",
    .parameterOutOfMandatoryRange: "Parameter Out Of Mandatory Range",
    .roleSwitchPending: "Role Switch Pending",
    .reservedSlotViolation: "Reserved Slot Violation",
    .roleSwitchFailed: "Role Switch Failed",
    .extendedInquiryResponseTooLarge: "Extended Inquiry Response Too Large",
    .simplePairingNotSupportedByHost: "Secure Simple Pairing Not Supported By Host",
    .hostBusyPairing: "Host Busy - Pairing",
    .rejectedNoSuitableChannel: "Connection Rejected due to No Suitable Channel Found",
    .controllerBusy: "Controller Busy",
    .unacceptableConnectionParameters: "Unacceptable Connection Parameters",
    .advertisingTimeout: "Advertising Timeout",
    .terminatedMICFailure: "Connection Terminated due to MIC Failure",
    .connectionFailedToBeEstablished: "Connection Failed to be Established / Synchronization Timeout",
    .coarseClockAdjustmentRejected: "Coarse Clock Adjustment Rejected but Will Try to Adjust Using Clock Dragging",
    .type0SubmapNotDefined: "Type0 Submap Not Defined",
    .unknownAdvertisingIdentifier: "Unknown Advertising Identifier",
    .limitReached: "Limit Reached",
    .operationCancelledByHost: "Operation Cancelled by Host",
    .packetTooLong: "Packet Too Long",
    .tooLate: "Too Late",
    .tooEarly: "Too Early",
  ]
}
