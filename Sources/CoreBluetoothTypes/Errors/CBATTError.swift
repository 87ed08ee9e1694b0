public import Foundation

/// What one side of the Attribute Protocol answers when it refuses (Vol 3, Part F, 3.4.1.1); mirrors `CBATTError`.
public struct CBATTError: CustomNSError, LocalizedError, Hashable {
  /// The error codes. The space is open: applications have 0x80…0x9F, profiles 0xE0…0xFF, so any number is a code, and
  /// `Code(rawValue:)` never gives nil (Docs/Decisions/0052).
  ///
  /// ```swift
  /// let tooHot = CBATTError.Code(rawValue: 0x80)!
  /// ```
  public enum Code: RawRepresentable, Hashable, Sendable {
    case success
    case invalidHandle
    case readNotPermitted
    case writeNotPermitted
    case invalidPdu
    case insufficientAuthentication
    case requestNotSupported
    case invalidOffset
    case insufficientAuthorization
    case prepareQueueFull
    case attributeNotFound
    case attributeNotLong
    case insufficientEncryptionKeySize
    case invalidAttributeValueLength
    case unlikelyError
    case insufficientEncryption
    case unsupportedGroupType
    case insufficientResources
    /// Any other code; made by `init(rawValue:)`.
    case _other(Int)

    private static let named: [Self] = [
      .success, .invalidHandle, .readNotPermitted, .writeNotPermitted, .invalidPdu, .insufficientAuthentication,
      .requestNotSupported, .invalidOffset, .insufficientAuthorization, .prepareQueueFull, .attributeNotFound,
      .attributeNotLong, .insufficientEncryptionKeySize, .invalidAttributeValueLength, .unlikelyError,
      .insufficientEncryption, .unsupportedGroupType, .insufficientResources,
    ]

    public init?(rawValue: Int) {
      self = Self.named.indices.contains(rawValue) ? Self.named[rawValue] : ._other(rawValue)
    }

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

    public static func == (a: Self, b: Self) -> Bool { a.rawValue == b.rawValue }
    public func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }

    public static func ~= (code: Self, error: any Error) -> Bool { (error as? CBATTError)?.code == code }
  }

  private let error: NSError

  public init(_ code: Code, userInfo: [String: Any] = [:]) {
    error = NSError(domain: CBATTErrorDomain, code: code.rawValue, userInfo: userInfo)
  }

  public static var errorDomain: String { CBATTErrorDomain }
  public var code: Code { Code(rawValue: error.code) ?? .unlikelyError }
  public var errorCode: Int { error.code }
  public var userInfo: [String: Any] { error.userInfo }
  public var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: text].merging(error.userInfo) { $1 } }
  public var errorDescription: String? { text }

  private var text: String { error.userInfo[NSLocalizedDescriptionKey] as? String ?? code.text }
}

extension CBATTError: CustomStringConvertible {
  public var description: String { "ATT error 0x\(String(errorCode, radix: 16, uppercase: true)): \(text)" }
}

extension CBATTError {
  public static var success: Code { .success }
  public static var invalidHandle: Code { .invalidHandle }
  public static var readNotPermitted: Code { .readNotPermitted }
  public static var writeNotPermitted: Code { .writeNotPermitted }
  public static var invalidPdu: Code { .invalidPdu }
  public static var insufficientAuthentication: Code { .insufficientAuthentication }
  public static var requestNotSupported: Code { .requestNotSupported }
  public static var invalidOffset: Code { .invalidOffset }
  public static var insufficientAuthorization: Code { .insufficientAuthorization }
  public static var prepareQueueFull: Code { .prepareQueueFull }
  public static var attributeNotFound: Code { .attributeNotFound }
  public static var attributeNotLong: Code { .attributeNotLong }
  public static var insufficientEncryptionKeySize: Code { .insufficientEncryptionKeySize }
  public static var invalidAttributeValueLength: Code { .invalidAttributeValueLength }
  public static var unlikelyError: Code { .unlikelyError }
  public static var insufficientEncryption: Code { .insufficientEncryption }
  public static var unsupportedGroupType: Code { .unsupportedGroupType }
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
