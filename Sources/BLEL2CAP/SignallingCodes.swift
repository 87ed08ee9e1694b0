/// Which command a signalling PDU is (Vol 3, Part A, 4, table 4.2).
public struct SignallingCode: RawRepresentable, Hashable, Sendable {
  public var rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let commandReject = Self(rawValue: 0x01)
  public static let disconnectionRequest = Self(rawValue: 0x06)
  public static let disconnectionResponse = Self(rawValue: 0x07)
  public static let connectionParameterUpdateRequest = Self(rawValue: 0x12)
  public static let connectionParameterUpdateResponse = Self(rawValue: 0x13)
  public static let leCreditBasedConnectionRequest = Self(rawValue: 0x14)
  public static let leCreditBasedConnectionResponse = Self(rawValue: 0x15)
  public static let flowControlCredit = Self(rawValue: 0x16)
  public static let creditBasedConnectionRequest = Self(rawValue: 0x17)
  public static let creditBasedConnectionResponse = Self(rawValue: 0x18)
  public static let creditBasedReconfigureRequest = Self(rawValue: 0x19)
  public static let creditBasedReconfigureResponse = Self(rawValue: 0x1A)

  /// Whether it answers another command, those of BR/EDR included. A response is never answered, not even with a
  /// command reject (Vol 3, Part A, 4.1).
  public var isResponse: Bool {
    switch rawValue {
    case 0x01, 0x03, 0x05, 0x07, 0x09, 0x0B, 0x0D, 0x0F, 0x11, 0x13, 0x15, 0x18, 0x1A: true
    default: false
    }
  }
}

/// Why a command was rejected (Vol 3, Part A, 4.1, table 4.4).
public struct CommandRejectReason: RawRepresentable, Hashable, Sendable {
  public var rawValue: UInt16
  public init(rawValue: UInt16) { self.rawValue = rawValue }

  public static let commandNotUnderstood = Self(rawValue: 0x0000)
  /// The data is the MTU of the signalling channel, two octets.
  public static let signallingMTUExceeded = Self(rawValue: 0x0001)
  /// The data is the local, then the remote channel, as the sender of the reject sees them, two octets each.
  public static let invalidCIDInRequest = Self(rawValue: 0x0002)
}

/// What a central says to new connection parameters (Vol 3, Part A, 4.21).
public struct ConnectionParameterUpdateResult: RawRepresentable, Hashable, Sendable {
  public var rawValue: UInt16
  public init(rawValue: UInt16) { self.rawValue = rawValue }

  public static let accepted = Self(rawValue: 0x0000)
  public static let rejected = Self(rawValue: 0x0001)
}

/// What became of a request for credit based channels (Vol 3, Part A, 4.23 and 4.26).
///
/// The enhanced request shares the numbers and has a few more, from ``invalidParameters`` on.
public struct CreditBasedConnectionResult: RawRepresentable, Hashable, Sendable {
  public var rawValue: UInt16
  public init(rawValue: UInt16) { self.rawValue = rawValue }

  public static let successful = Self(rawValue: 0x0000)
  public static let spsmNotSupported = Self(rawValue: 0x0002)
  public static let noResources = Self(rawValue: 0x0004)
  public static let insufficientAuthentication = Self(rawValue: 0x0005)
  public static let insufficientAuthorization = Self(rawValue: 0x0006)
  public static let encryptionKeySizeTooShort = Self(rawValue: 0x0007)
  public static let insufficientEncryption = Self(rawValue: 0x0008)
  public static let invalidSourceCID = Self(rawValue: 0x0009)
  public static let sourceCIDAlreadyAllocated = Self(rawValue: 0x000A)
  public static let unacceptableParameters = Self(rawValue: 0x000B)
  public static let invalidParameters = Self(rawValue: 0x000C)
  public static let pending = Self(rawValue: 0x000D)
  public static let pendingAuthentication = Self(rawValue: 0x000E)
  public static let pendingAuthorization = Self(rawValue: 0x000F)
}

/// What became of a request to reconfigure channels (Vol 3, Part A, 4.28).
public struct CreditBasedReconfigureResult: RawRepresentable, Hashable, Sendable {
  public var rawValue: UInt16
  public init(rawValue: UInt16) { self.rawValue = rawValue }

  public static let successful = Self(rawValue: 0x0000)
  public static let mtuReductionNotAllowed = Self(rawValue: 0x0001)
  public static let mpsReductionNotAllowed = Self(rawValue: 0x0002)
  public static let invalidDestinationCID = Self(rawValue: 0x0003)
  public static let unacceptableParameters = Self(rawValue: 0x0004)
}
