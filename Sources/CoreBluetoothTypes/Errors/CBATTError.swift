package import BLEATT
public import CCoreBluetooth
public import Foundation

/// The domain of ``CBATTError`` as an `NSError`.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let CBATTErrorDomain = "CBATTErrorDomain"

/// The error with which a server answers a request of the Attribute Protocol (Vol 3, Part F, 3.4.1.1). A handler of the
/// Swift API that throws it answers with its code.
public struct CBATTError: CustomNSError, Hashable {
  /// The error codes. Any number is a code: applications have 0x80 to 0x9F, profiles 0xE0 to 0xFF. `Code(rawValue:)`
  /// is never nil, and a `switch` over all codes needs `@unknown default`
  /// (Docs/Decisions/corebluetooth.md#uuids-classes-and-codes).
  ///
  /// ```swift
  /// let tooHot = CBATTError.Code(rawValue: 0x80)!
  /// ```
  public typealias Code = CBATTErrorCode

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
  /// ``CBATTErrorDomain``, under the name that Foundation gives it on Apple's systems.
  public static var _nsErrorDomain: String { CBATTErrorDomain }
  /// The code.
  public var code: Code {
    // Never nil: the enumeration is open.
    Code(rawValue: errorCode) ?? .unlikelyError
  }
  /// The number of the code.
  public var errorCode: Int { _nsError.code }
  /// The user info that the error was made with.
  public var userInfo: [String: Any] { _nsError.userInfo }
  /// ``userInfo``, and the text that `localizedDescription` returns: what failed, why, and what to do, where the stack
  /// knows it; otherwise the text of the code.
  public var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: text].merging(userInfo) { $1 } }

  private var text: String { userInfo[NSLocalizedDescriptionKey] as? String ?? code.words.text }
}

extension CBATTError: CustomStringConvertible {
  /// The number of the code, and the text.
  public var description: String { "ATT error 0x\(String(errorCode, radix: 16, uppercase: true)): \(text)" }
}

extension CBATTError {
  /// No error. (0x00)
  public static var success: Code { .success }
  /// The attribute handle is not valid on this server. (0x01)
  public static var invalidHandle: Code { .invalidHandle }
  /// The attribute cannot be read. (0x02)
  public static var readNotPermitted: Code { .readNotPermitted }
  /// The attribute cannot be written. (0x03)
  public static var writeNotPermitted: Code { .writeNotPermitted }
  /// The PDU was invalid. (0x04)
  public static var invalidPdu: Code { .invalidPdu }
  /// The attribute requires an authenticated link. (0x05)
  public static var insufficientAuthentication: Code { .insufficientAuthentication }
  /// The server does not support the request. (0x06)
  public static var requestNotSupported: Code { .requestNotSupported }
  /// The offset lies past the end of the value. (0x07)
  public static var invalidOffset: Code { .invalidOffset }
  /// The attribute requires authorization. (0x08)
  public static var insufficientAuthorization: Code { .insufficientAuthorization }
  /// Too many prepared writes are queued. (0x09)
  public static var prepareQueueFull: Code { .prepareQueueFull }
  /// No attribute was found in the range of handles. (0x0A)
  public static var attributeNotFound: Code { .attributeNotFound }
  /// The attribute cannot be read with Read Blob. (0x0B)
  public static var attributeNotLong: Code { .attributeNotLong }
  /// The encryption key is too short. (0x0C)
  public static var insufficientEncryptionKeySize: Code { .insufficientEncryptionKeySize }
  /// The length of the value is not valid for the attribute. (0x0D)
  public static var invalidAttributeValueLength: Code { .invalidAttributeValueLength }
  /// An unlikely error occurred. (0x0E)
  public static var unlikelyError: Code { .unlikelyError }
  /// The attribute requires an encrypted link. (0x0F)
  public static var insufficientEncryption: Code { .insufficientEncryption }
  /// The attribute type is not a grouping attribute. (0x10)
  public static var unsupportedGroupType: Code { .unsupportedGroupType }
  /// The server has no resources for the request. (0x11)
  public static var insufficientResources: Code { .insufficientResources }
}

extension CBATTError.Code {
  /// Whether `error` is a ``CBATTError`` with this code, or an `NSError` of ``CBATTErrorDomain`` with it.
  public static func ~= (code: Self, error: any Error) -> Bool {
    if let error = error as? CBATTError { return error.code == code }
    let error = error as NSError
    return error.domain == CBATTErrorDomain && error.code == code.rawValue
  }

  /// The name of the code, and the text of an error with it.
  fileprivate var words: (name: String, text: String) {
    switch self {
    case .success: ("success", "The operation succeeded.")
    case .invalidHandle: ("invalidHandle", "The handle is invalid.")
    case .readNotPermitted: ("readNotPermitted", "Reading is not permitted.")
    case .writeNotPermitted: ("writeNotPermitted", "Writing is not permitted.")
    case .invalidPdu: ("invalidPdu", "The command is invalid.")
    case .insufficientAuthentication: ("insufficientAuthentication", "Authentication is insufficient.")
    case .requestNotSupported: ("requestNotSupported", "The request is not supported.")
    case .invalidOffset: ("invalidOffset", "The offset is invalid.")
    case .insufficientAuthorization: ("insufficientAuthorization", "Authorization is insufficient.")
    case .prepareQueueFull: ("prepareQueueFull", "The prepare queue is full.")
    case .attributeNotFound: ("attributeNotFound", "The attribute could not be found.")
    case .attributeNotLong: ("attributeNotLong", "The attribute is not long.")
    case .insufficientEncryptionKeySize: ("insufficientEncryptionKeySize", "The encryption key size is insufficient.")
    case .invalidAttributeValueLength: ("invalidAttributeValueLength", "The value's length is invalid.")
    case .unlikelyError: ("unlikelyError", "Unlikely error.")
    case .insufficientEncryption: ("insufficientEncryption", "Encryption is insufficient.")
    case .unsupportedGroupType: ("unsupportedGroupType", "The group type is not supported.")
    case .insufficientResources: ("insufficientResources", "Resources are insufficient.")
    @unknown default: ("Code(rawValue: \(rawValue))", "Unknown ATT error.")
    }
  }
}

// Not `CustomStringConvertible`, which programs add themselves.
extension CBATTError.Code: @retroactive CustomDebugStringConvertible {
  /// The name of the code.
  public var debugDescription: String { words.name }
}

extension CBATTError: ATTErrorCodeConvertible {
  /// The code that a client receives if a handler of BLEKit throws the error.
  package var attErrorCode: ATTErrorCode {
    // Neither success nor a number of more than one octet is the code of an error.
    guard let code = UInt8(exactly: errorCode), code != 0 else { return .unlikelyError }
    return ATTErrorCode(rawValue: code)
  }
}
