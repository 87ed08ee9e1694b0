public import Foundation

/// The domain of ``CBATTError`` as an `NSError`.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let CBATTErrorDomain = "CBATTErrorDomain"

/// The error with which a server answers a request of the Attribute Protocol (Vol 3, Part F, 3.4.1.1).
public struct CBATTError: CustomNSError, LocalizedError, Hashable {
  /// The error codes. Any number is a code: applications have 0x80 to 0x9F, profiles 0xE0 to 0xFF, and `Code(rawValue:)` is
  /// never nil (Docs/Decisions/0030).
  ///
  /// ```swift
  /// let tooHot = CBATTError.Code(rawValue: 0x80)!
  /// ```
  public enum Code: RawRepresentable, Hashable, Sendable {
    /// No error. (0x00)
    case success
    /// The attribute handle is not valid on this server. (0x01)
    case invalidHandle
    /// The attribute cannot be read. (0x02)
    case readNotPermitted
    /// The attribute cannot be written. (0x03)
    case writeNotPermitted
    /// The PDU was invalid. (0x04)
    case invalidPdu
    /// The attribute requires an authenticated link. (0x05)
    case insufficientAuthentication
    /// The server does not support the request. (0x06)
    case requestNotSupported
    /// The offset lies past the end of the value. (0x07)
    case invalidOffset
    /// The attribute requires authorization. (0x08)
    case insufficientAuthorization
    /// Too many prepared writes are queued. (0x09)
    case prepareQueueFull
    /// No attribute was found in the range of handles. (0x0A)
    case attributeNotFound
    /// The attribute cannot be read with Read Blob. (0x0B)
    case attributeNotLong
    /// The encryption key is too short. (0x0C)
    case insufficientEncryptionKeySize
    /// The length of the value is not valid for the attribute. (0x0D)
    case invalidAttributeValueLength
    /// An error that is unlikely. (0x0E)
    case unlikelyError
    /// The attribute requires an encrypted link. (0x0F)
    case insufficientEncryption
    /// The attribute type is not a grouping attribute. (0x10)
    case unsupportedGroupType
    /// The server has no resources for the request. (0x11)
    case insufficientResources
    /// Any other number, made by ``init(rawValue:)``.
    case _other(Int)

    private static let named: [Self] = [
      .success, .invalidHandle, .readNotPermitted, .writeNotPermitted, .invalidPdu, .insufficientAuthentication,
      .requestNotSupported, .invalidOffset, .insufficientAuthorization, .prepareQueueFull, .attributeNotFound,
      .attributeNotLong, .insufficientEncryptionKeySize, .invalidAttributeValueLength, .unlikelyError,
      .insufficientEncryption, .unsupportedGroupType, .insufficientResources,
    ]

    /// The code of a number; never nil.
    public init?(rawValue: Int) {
      self = Self.named.indices.contains(rawValue) ? Self.named[rawValue] : ._other(rawValue)
    }

    /// The number of the code.
    public var rawValue: Int {
      switch self {
      case .success: 0x00
      case .invalidHandle: 0x01
      case .readNotPermitted: 0x02
      case .writeNotPermitted: 0x03
      case .invalidPdu: 0x04
      case .insufficientAuthentication: 0x05
      case .requestNotSupported: 0x06
      case .invalidOffset: 0x07
      case .insufficientAuthorization: 0x08
      case .prepareQueueFull: 0x09
      case .attributeNotFound: 0x0A
      case .attributeNotLong: 0x0B
      case .insufficientEncryptionKeySize: 0x0C
      case .invalidAttributeValueLength: 0x0D
      case .unlikelyError: 0x0E
      case .insufficientEncryption: 0x0F
      case .unsupportedGroupType: 0x10
      case .insufficientResources: 0x11
      case ._other(let code): code
      }
    }

    /// Whether both have the same number.
    public static func == (a: Self, b: Self) -> Bool { a.rawValue == b.rawValue }
    /// Hashes the number.
    public func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }

    /// Whether `error` is a ``CBATTError`` with this code, or an `NSError` of ``CBATTErrorDomain`` with it.
    public static func ~= (code: Self, error: any Error) -> Bool {
      if let error = error as? CBATTError { return error.code == code }
      let error = error as NSError
      return error.domain == CBATTErrorDomain && error.code == code.rawValue
    }
  }

  /// The same error as an `NSError`.
  public let _nsError: NSError

  /// An error with the code and the user info of `error`, whose domain has to be ``CBATTErrorDomain``.
  public init(_nsError error: NSError) { _nsError = error }

  /// - Parameter userInfo: `NSLocalizedDescriptionKey` replaces the text of the code.
  public init(_ code: Code, userInfo: [String: Any] = [:]) {
    _nsError = NSError(domain: CBATTErrorDomain, code: code.rawValue, userInfo: userInfo)
  }

  /// ``CBATTErrorDomain``.
  public static var errorDomain: String { CBATTErrorDomain }
  /// The code.
  public var code: Code { Code(rawValue: errorCode) ?? ._other(errorCode) }
  /// The number of the code.
  public var errorCode: Int { _nsError.code }
  /// The user info that the error was made with.
  public var userInfo: [String: Any] { _nsError.userInfo }
  /// ``userInfo``, and the text under `NSLocalizedDescriptionKey`.
  public var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: text].merging(userInfo) { $1 } }
  /// What failed, why, and what to do, where the stack knows it; otherwise the text of the code.
  public var errorDescription: String? { text }

  private var text: String { userInfo[NSLocalizedDescriptionKey] as? String ?? code.text }
}

extension CBATTError: CustomStringConvertible {
  /// The number of the code, and the text.
  public var description: String { "ATT error 0x\(String(errorCode, radix: 16, uppercase: true)): \(text)" }
}

extension CBATTError {
  /// ``Code/success``
  public static var success: Code { .success }
  /// ``Code/invalidHandle``
  public static var invalidHandle: Code { .invalidHandle }
  /// ``Code/readNotPermitted``
  public static var readNotPermitted: Code { .readNotPermitted }
  /// ``Code/writeNotPermitted``
  public static var writeNotPermitted: Code { .writeNotPermitted }
  /// ``Code/invalidPdu``
  public static var invalidPdu: Code { .invalidPdu }
  /// ``Code/insufficientAuthentication``
  public static var insufficientAuthentication: Code { .insufficientAuthentication }
  /// ``Code/requestNotSupported``
  public static var requestNotSupported: Code { .requestNotSupported }
  /// ``Code/invalidOffset``
  public static var invalidOffset: Code { .invalidOffset }
  /// ``Code/insufficientAuthorization``
  public static var insufficientAuthorization: Code { .insufficientAuthorization }
  /// ``Code/prepareQueueFull``
  public static var prepareQueueFull: Code { .prepareQueueFull }
  /// ``Code/attributeNotFound``
  public static var attributeNotFound: Code { .attributeNotFound }
  /// ``Code/attributeNotLong``
  public static var attributeNotLong: Code { .attributeNotLong }
  /// ``Code/insufficientEncryptionKeySize``
  public static var insufficientEncryptionKeySize: Code { .insufficientEncryptionKeySize }
  /// ``Code/invalidAttributeValueLength``
  public static var invalidAttributeValueLength: Code { .invalidAttributeValueLength }
  /// ``Code/unlikelyError``
  public static var unlikelyError: Code { .unlikelyError }
  /// ``Code/insufficientEncryption``
  public static var insufficientEncryption: Code { .insufficientEncryption }
  /// ``Code/unsupportedGroupType``
  public static var unsupportedGroupType: Code { .unsupportedGroupType }
  /// ``Code/insufficientResources``
  public static var insufficientResources: Code { .insufficientResources }
}

extension CBATTError.Code {
  fileprivate var text: String {
    switch self {
    case .success: "The operation succeeded."
    case .invalidHandle: "The handle is invalid."
    case .readNotPermitted: "Reading is not permitted."
    case .writeNotPermitted: "Writing is not permitted."
    case .invalidPdu: "The command is invalid."
    case .insufficientAuthentication: "Authentication is insufficient."
    case .requestNotSupported: "The request is not supported."
    case .invalidOffset: "The offset is invalid."
    case .insufficientAuthorization: "Authorization is insufficient."
    case .prepareQueueFull: "The prepare queue is full."
    case .attributeNotFound: "The attribute could not be found."
    case .attributeNotLong: "The attribute is not long."
    case .insufficientEncryptionKeySize: "The encryption key size is insufficient."
    case .invalidAttributeValueLength: "The value's length is invalid."
    case .unlikelyError: "Unlikely error."
    case .insufficientEncryption: "Encryption is insufficient."
    case .unsupportedGroupType: "The group type is not supported."
    case .insufficientResources: "Resources are insufficient."
    case ._other: "Unknown ATT error."
    }
  }
}
