public import BLEWire

/// The error code of an Error Response: the reason why a server rejects a request (Vol 3, Part F, 3.4.1.1; the common
/// profile codes: Core Specification Supplement, Part B, 1.2).
///
/// The description has the name and the number: `Insufficient Encryption (0x0F)`. The application of a server answers a
/// request with a code; the request of a client throws it.
public struct ATTErrorCode: AssignedNumber, Error {
  public var rawValue: UInt8

  @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Invalid Handle (0x01): the server has no attribute with this handle.
  public static let invalidHandle = Self(rawValue: 0x01)
  /// Read Not Permitted (0x02): the attribute cannot be read.
  public static let readNotPermitted = Self(rawValue: 0x02)
  /// Write Not Permitted (0x03): the attribute cannot be written.
  public static let writeNotPermitted = Self(rawValue: 0x03)
  /// Invalid PDU (0x04): the request is malformed.
  public static let invalidPDU = Self(rawValue: 0x04)
  /// Insufficient Authentication (0x05): the link must be encrypted with a key of a pairing, or of an authenticated
  /// pairing.
  public static let insufficientAuthentication = Self(rawValue: 0x05)
  /// Request Not Supported (0x06): the server does not support the request.
  public static let requestNotSupported = Self(rawValue: 0x06)
  /// Invalid Offset (0x07): the offset is past the end of the value.
  public static let invalidOffset = Self(rawValue: 0x07)
  /// Insufficient Authorization (0x08): the user has not authorized the client.
  public static let insufficientAuthorization = Self(rawValue: 0x08)
  /// Prepare Queue Full (0x09): too many prepared writes are queued.
  public static let prepareQueueFull = Self(rawValue: 0x09)
  /// Attribute Not Found (0x0A): no attribute in the range matches.
  public static let attributeNotFound = Self(rawValue: 0x0A)
  /// Attribute Not Long (0x0B): the attribute cannot be read with Read Blob.
  public static let attributeNotLong = Self(rawValue: 0x0B)
  /// Encryption Key Size Too Short (0x0C): the encryption key of the link is too short.
  public static let insufficientEncryptionKeySize = Self(rawValue: 0x0C)
  /// Invalid Attribute Value Length (0x0D): the attribute does not accept a value of this length.
  public static let invalidAttributeValueLength = Self(rawValue: 0x0D)
  /// Unlikely Error (0x0E): the request failed for a reason that no other code names.
  public static let unlikelyError = Self(rawValue: 0x0E)
  /// Insufficient Encryption (0x0F): the link must be encrypted.
  public static let insufficientEncryption = Self(rawValue: 0x0F)
  /// Unsupported Group Type (0x10): the type is not that of a group.
  public static let unsupportedGroupType = Self(rawValue: 0x10)
  /// Insufficient Resources (0x11): the server has no resources for the request.
  public static let insufficientResources = Self(rawValue: 0x11)
  /// Database Out Of Sync (0x12): the database has changed, and the client must discover it again.
  public static let databaseOutOfSync = Self(rawValue: 0x12)
  /// Value Not Allowed (0x13): the attribute does not accept this value.
  public static let valueNotAllowed = Self(rawValue: 0x13)

  /// Write Request Rejected (0xFC): the write cannot be carried out, for a reason other than permissions.
  public static let writeRequestRejected = Self(rawValue: 0xFC)
  /// Client Characteristic Configuration Descriptor Improperly Configured (0xFD): the descriptor does not have the
  /// value that the profile requires.
  public static let clientCharacteristicConfigurationImproperlyConfigured = Self(rawValue: 0xFD)
  /// Procedure Already in Progress (0xFE): a procedure of the profile has not ended.
  public static let procedureAlreadyInProgress = Self(rawValue: 0xFE)
  /// Out of Range (0xFF): the value is outside the range of the profile.
  public static let outOfRange = Self(rawValue: 0xFF)

  /// A code with a meaning that the application's profile defines.
  ///
  /// - Returns: nil for a code outside 0x80 to 0x9F.
  public static func application(_ code: UInt8) -> Self? {
    applicationRange.contains(code) ? Self(rawValue: code) : nil
  }

  /// 0x80 to 0x9F, defined by applications.
  public static let applicationRange: ClosedRange<UInt8> = 0x80...0x9F
  /// 0xE0 to 0xFF, common to all profiles.
  public static let commonProfileRange: ClosedRange<UInt8> = 0xE0...0xFF

  /// Whether an application defines the code: 0x80 to 0x9F.
  @inlinable public var isApplicationDefined: Bool { rawValue >= 0x80 && rawValue <= 0x9F }
}

extension ATTErrorCode {
  public static let spaceName: StaticString = "ATT error"

  public static let names: [Self: StaticString] = [
    .invalidHandle: "Invalid Handle", .readNotPermitted: "Read Not Permitted",
    .writeNotPermitted: "Write Not Permitted", .invalidPDU: "Invalid PDU",
    .insufficientAuthentication: "Insufficient Authentication", .requestNotSupported: "Request Not Supported",
    .invalidOffset: "Invalid Offset", .insufficientAuthorization: "Insufficient Authorization",
    .prepareQueueFull: "Prepare Queue Full", .attributeNotFound: "Attribute Not Found",
    .attributeNotLong: "Attribute Not Long", .insufficientEncryptionKeySize: "Encryption Key Size Too Short",
    .invalidAttributeValueLength: "Invalid Attribute Value Length", .unlikelyError: "Unlikely Error",
    .insufficientEncryption: "Insufficient Encryption", .unsupportedGroupType: "Unsupported Group Type",
    .insufficientResources: "Insufficient Resources", .databaseOutOfSync: "Database Out Of Sync",
    .valueNotAllowed: "Value Not Allowed", .writeRequestRejected: "Write Request Rejected",
    .clientCharacteristicConfigurationImproperlyConfigured:
      "Client Characteristic Configuration Descriptor Improperly Configured",
    .procedureAlreadyInProgress: "Procedure Already in Progress", .outOfRange: "Out of Range",
  ]

  /// The name and the number; a number without a name is printed as `application error 0x85`, `common profile error
  /// 0xE1` or `ATT error 0x00`.
  public var description: String {
    if let name { return "\(name) (\(rawValue.hexadecimalNumber))" }
    if isApplicationDefined { return "application error \(rawValue.hexadecimalNumber)" }
    if Self.commonProfileRange.contains(rawValue) { return "common profile error \(rawValue.hexadecimalNumber)" }
    return "\(Self.spaceName) \(rawValue.hexadecimalNumber)"
  }
}

/// An error of another API that has an ATT error code. A handler that throws it answers the request with the code.
package protocol ATTErrorCodeConvertible: Error {
  /// The code for the Error Response.
  var attErrorCode: ATTErrorCode { get }
}
