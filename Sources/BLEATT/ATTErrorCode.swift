/// Why a server refused a request (Vol 3, Part F, 3.4.1.1; the common profile codes: Core Specification Supplement,
/// Part B, 1.2).
///
/// It is thrown and sent: the application answers a request with one, and a client's failed request throws one.
public struct ATTErrorCode: RawRepresentable, Error, Hashable, Sendable {
  public var rawValue: UInt8

  @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let invalidHandle = Self(rawValue: 0x01)
  public static let readNotPermitted = Self(rawValue: 0x02)
  public static let writeNotPermitted = Self(rawValue: 0x03)
  public static let invalidPDU = Self(rawValue: 0x04)
  public static let insufficientAuthentication = Self(rawValue: 0x05)
  public static let requestNotSupported = Self(rawValue: 0x06)
  public static let invalidOffset = Self(rawValue: 0x07)
  public static let insufficientAuthorization = Self(rawValue: 0x08)
  public static let prepareQueueFull = Self(rawValue: 0x09)
  public static let attributeNotFound = Self(rawValue: 0x0A)
  public static let attributeNotLong = Self(rawValue: 0x0B)
  public static let insufficientEncryptionKeySize = Self(rawValue: 0x0C)
  public static let invalidAttributeValueLength = Self(rawValue: 0x0D)
  public static let unlikelyError = Self(rawValue: 0x0E)
  public static let insufficientEncryption = Self(rawValue: 0x0F)
  public static let unsupportedGroupType = Self(rawValue: 0x10)
  public static let insufficientResources = Self(rawValue: 0x11)
  public static let databaseOutOfSync = Self(rawValue: 0x12)
  public static let valueNotAllowed = Self(rawValue: 0x13)

  /// 0xFC: the write cannot be carried out, for a reason that has nothing to do with permissions.
  public static let writeRequestRejected = Self(rawValue: 0xFC)
  /// 0xFD: a Client Characteristic Configuration descriptor is not set as the profile demands.
  public static let clientCharacteristicConfigurationImproperlyConfigured = Self(rawValue: 0xFD)
  /// 0xFE: a procedure of the profile is under way already.
  public static let procedureAlreadyInProgress = Self(rawValue: 0xFE)
  /// 0xFF: the value lies outside the range that the profile sets.
  public static let outOfRange = Self(rawValue: 0xFF)

  /// A code that the application's profile gives its own meaning: 0x80 to 0x9F.
  ///
  /// - Returns: nil when `code` lies outside of that range.
  public static func application(_ code: UInt8) -> Self? {
    applicationRange.contains(code) ? Self(rawValue: code) : nil
  }

  /// 0x80 to 0x9F, left to applications.
  public static let applicationRange: ClosedRange<UInt8> = 0x80...0x9F
  /// 0xE0 to 0xFF, common to all profiles.
  public static let commonProfileRange: ClosedRange<UInt8> = 0xE0...0xFF

  @inlinable public var isApplicationDefined: Bool { rawValue >= 0x80 && rawValue <= 0x9F }
}

extension ATTErrorCode: CustomStringConvertible {
  public var description: String {
    if let text = Self.texts[rawValue] { return text }
    let code = "0x" + String(rawValue, radix: 16, uppercase: true)
    if isApplicationDefined { return "application error \(code)" }
    if Self.commonProfileRange.contains(rawValue) { return "common profile error \(code)" }
    return "ATT error \(code.count == 3 ? "0x0" + code.suffix(1) : code)"
  }

  private static let texts: [UInt8: String] = [
    0x01: "Invalid Handle: the server has no attribute with this handle",
    0x02: "Read Not Permitted: the attribute cannot be read",
    0x03: "Write Not Permitted: the attribute cannot be written",
    0x04: "Invalid PDU: the request was malformed",
    0x05: "Insufficient Authentication: the link must be paired, or paired against eavesdroppers, first",
    0x06: "Request Not Supported: the server does not know this request",
    0x07: "Invalid Offset: the offset lies past the end of the value",
    0x08: "Insufficient Authorization: the user has not allowed this client",
    0x09: "Prepare Queue Full: too many prepared writes wait for their execution",
    0x0A: "Attribute Not Found: no attribute in the range matches",
    0x0B: "Attribute Not Long: the attribute cannot be read in parts",
    0x0C: "Insufficient Encryption Key Size: the key of this link is too short",
    0x0D: "Invalid Attribute Value Length: the attribute takes no value of this length",
    0x0E: "Unlikely Error: the request could not be carried out",
    0x0F: "Insufficient Encryption: the link must be encrypted first",
    0x10: "Unsupported Group Type: the type given groups no attributes",
    0x11: "Insufficient Resources: the server has no room for the request",
    0x12: "Database Out Of Sync: the client must discover the changed database first",
    0x13: "Value Not Allowed: the attribute does not take this value",
    0xFC: "Write Request Rejected: the write cannot be carried out now",
    0xFD: "Client Characteristic Configuration Descriptor Improperly Configured",
    0xFE: "Procedure Already in Progress",
    0xFF: "Out of Range: the value lies outside the range the profile allows",
  ]
}
