public import BLEWire

/// The reason of a Command Reject (Vol 3, Part A, 4.1, table 4.4).
public struct CommandRejectReason: AssignedNumber {
  public var rawValue: UInt16
  public init(rawValue: UInt16) { self.rawValue = rawValue }

  /// 0x0000: the command is unknown or malformed. There is no data.
  public static let commandNotUnderstood = Self(rawValue: 0x0000)
  /// 0x0001: the PDU exceeds the MTU of the signalling channel. The data is that MTU, two octets.
  public static let signallingMTUExceeded = Self(rawValue: 0x0001)
  /// 0x0002: a channel of the request does not exist. The data is the local channel, then the remote channel, as seen
  /// from the sender of the reject, two octets each.
  public static let invalidCIDInRequest = Self(rawValue: 0x0002)

  public static let spaceName: StaticString = "reject reason"
  public static let names: [Self: StaticString] = [
    .commandNotUnderstood: "Command not understood", .signallingMTUExceeded: "Signaling MTU exceeded",
    .invalidCIDInRequest: "Invalid CID in request",
  ]
}

/// The answer of a central to requested connection parameters (Vol 3, Part A, 4.21).
public struct ConnectionParameterUpdateResult: AssignedNumber {
  public var rawValue: UInt16
  public init(rawValue: UInt16) { self.rawValue = rawValue }

  /// 0x0000: accepted.
  public static let accepted = Self(rawValue: 0x0000)
  /// 0x0001: rejected.
  public static let rejected = Self(rawValue: 0x0001)

  public static let spaceName: StaticString = "connection parameter update result"
  public static let names: [Self: StaticString] = [
    .accepted: "Connection Parameters accepted", .rejected: "Connection Parameters rejected",
  ]
}

/// The result of a request for credit-based channels (Vol 3, Part A, 4.23 and 4.26).
///
/// The enhanced request also has the numbers from ``invalidParameters`` on.
public struct CreditBasedConnectionResult: AssignedNumber {
  public var rawValue: UInt16
  public init(rawValue: UInt16) { self.rawValue = rawValue }

  /// 0x0000: the channels are open.
  public static let successful = Self(rawValue: 0x0000)
  /// 0x0002: the SPSM has no service.
  public static let spsmNotSupported = Self(rawValue: 0x0002)
  /// 0x0004: no resources are available.
  public static let noResources = Self(rawValue: 0x0004)
  /// 0x0005: the link is not authenticated.
  public static let insufficientAuthentication = Self(rawValue: 0x0005)
  /// 0x0006: the peer is not authorized.
  public static let insufficientAuthorization = Self(rawValue: 0x0006)
  /// 0x0007: the encryption key of the link is too short.
  public static let encryptionKeySizeTooShort = Self(rawValue: 0x0007)
  /// 0x0008: the link is not encrypted.
  public static let insufficientEncryption = Self(rawValue: 0x0008)
  /// 0x0009: the source CID is not a dynamic channel.
  public static let invalidSourceCID = Self(rawValue: 0x0009)
  /// 0x000A: the source CID is already in use.
  public static let sourceCIDAlreadyAllocated = Self(rawValue: 0x000A)
  /// 0x000B: a parameter is unacceptable.
  public static let unacceptableParameters = Self(rawValue: 0x000B)
  /// 0x000C: a parameter is invalid; enhanced request only.
  public static let invalidParameters = Self(rawValue: 0x000C)
  /// 0x000D: a further response follows; enhanced request only.
  public static let pending = Self(rawValue: 0x000D)
  /// 0x000E: a further response follows after authentication; enhanced request only.
  public static let pendingAuthentication = Self(rawValue: 0x000E)
  /// 0x000F: a further response follows after authorization; enhanced request only.
  public static let pendingAuthorization = Self(rawValue: 0x000F)

  public static let spaceName: StaticString = "connection result"
  public static let names: [Self: StaticString] = [
    .successful: "Connection successful", .spsmNotSupported: "SPSM not supported",
    .noResources: "No resources available", .insufficientAuthentication: "Insufficient authentication",
    .insufficientAuthorization: "Insufficient authorization",
    .encryptionKeySizeTooShort: "Encryption key size too short", .insufficientEncryption: "Insufficient encryption",
    .invalidSourceCID: "Invalid Source CID", .sourceCIDAlreadyAllocated: "Source CID already allocated",
    .unacceptableParameters: "Unacceptable parameters", .invalidParameters: "Invalid parameters",
    .pending: "No further information available", .pendingAuthentication: "Authentication pending",
    .pendingAuthorization: "Authorization pending",
  ]
}

/// The result of a request to reconfigure channels (Vol 3, Part A, 4.28).
public struct CreditBasedReconfigureResult: AssignedNumber {
  public var rawValue: UInt16
  public init(rawValue: UInt16) { self.rawValue = rawValue }

  /// 0x0000: the channels have the new parameters.
  public static let successful = Self(rawValue: 0x0000)
  /// 0x0001: the MTU may not be reduced.
  public static let mtuReductionNotAllowed = Self(rawValue: 0x0001)
  /// 0x0002: the MPS may not be reduced for more than one channel at a time.
  public static let mpsReductionNotAllowed = Self(rawValue: 0x0002)
  /// 0x0003: a channel of the request does not exist.
  public static let invalidDestinationCID = Self(rawValue: 0x0003)
  /// 0x0004: another parameter is unacceptable.
  public static let unacceptableParameters = Self(rawValue: 0x0004)

  public static let spaceName: StaticString = "reconfiguration result"
  public static let names: [Self: StaticString] = [
    .successful: "Reconfiguration successful", .mtuReductionNotAllowed: "Reduction in size of MTU not allowed",
    .mpsReductionNotAllowed: "Reduction in size of MPS not allowed",
    .invalidDestinationCID: "Destination CIDs invalid", .unacceptableParameters: "Other unacceptable parameters",
  ]
}
