@_exported public import CCoreBluetooth
public import Foundation

/// The domain of ``CBError`` as an `NSError`.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let CBErrorDomain = "CBErrorDomain"

/// The error of a command or a link.
///
/// `localizedDescription` contains what failed, why, and what to do. It matches in a `catch` clause, even after a
/// conversion to `NSError`, which casts back (`as? CBError`):
///
/// ```swift
/// func explain(_ error: any Error) -> String {
///   do { throw error } catch CBError.alreadyAdvertising { return "stop first" } catch { return "\(error)" }
/// }
/// ```
public struct CBError: CustomNSError, Hashable {
  /// The codes. Any number is a code, as on Apple's systems: `Code(rawValue:)` is never nil, and a `switch` over all
  /// codes needs `@unknown default` (Docs/Decisions/corebluetooth.md#uuids-classes-and-codes).
  public typealias Code = CBErrorCode

  /// The same error as an `NSError`.
  public let _nsError: NSError

  /// An error with the code and the user info of `error`, whose domain has to be ``CBErrorDomain``.
  public init(_nsError error: NSError) { _nsError = error }

  /// - Parameter userInfo: `NSLocalizedDescriptionKey` replaces the text of the code.
  public init(_ code: Code, userInfo: [String: Any] = [:]) {
    _nsError = NSError(domain: CBErrorDomain, code: code.rawValue, userInfo: userInfo)
  }

  init(_ code: Code, _ text: String) { self.init(code, userInfo: [NSLocalizedDescriptionKey: text]) }

  /// ``CBErrorDomain``.
  public static var errorDomain: String { CBErrorDomain }
  /// ``CBErrorDomain``, under the name that Foundation gives it on Apple's systems.
  public static var _nsErrorDomain: String { CBErrorDomain }
  /// The code.
  public var code: Code {
    // Never nil: the enumeration is open.
    Code(rawValue: errorCode) ?? .unknown
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

extension CBError: CustomStringConvertible {
  /// The code by name and number, and the text.
  public var description: String { "\(code.words.name) (CBError \(errorCode)): \(text)" }
}

extension CBError {
  /// An error without a code of its own; the text says more. (0)
  public static var unknown: Code { .unknown }
  /// A parameter is outside its limits; the text names it. (1)
  public static var invalidParameters: Code { .invalidParameters }
  /// The attribute does not belong to this connection. (2)
  public static var invalidHandle: Code { .invalidHandle }
  /// The device is not connected. (3)
  public static var notConnected: Code { .notConnected }
  /// A queue or a table is full; the text names it and its limit. (4)
  public static var outOfSpace: Code { .outOfSpace }
  /// The program, or a change of the adapter's state, cancelled the operation. (5)
  public static var operationCancelled: Code { .operationCancelled }
  /// The link was lost: nothing was received within the supervision timeout. (6)
  public static var connectionTimeout: Code { .connectionTimeout }
  /// The other device ended the link. (7)
  public static var peripheralDisconnected: Code { .peripheralDisconnected }
  /// The UUID belongs to a service of the stack. (8)
  public static var uuidNotAllowed: Code { .uuidNotAllowed }
  /// The manager is advertising. (9)
  public static var alreadyAdvertising: Code { .alreadyAdvertising }
  /// No link could be established. (10)
  public static var connectionFailed: Code { .connectionFailed }
  /// The controller has no room for another link. (11)
  public static var connectionLimitReached: Code { .connectionLimitReached }
  /// The peripheral is not one of this manager, or became invalid. (12)
  public static var unknownDevice: Code { .unknownDevice }
  /// The controller, the kernel or this version does not support the operation. (13)
  public static var operationNotSupported: Code { .operationNotSupported }
  /// The other device no longer has the key of the bond. (14)
  public static var peerRemovedPairingInformation: Code { .peerRemovedPairingInformation }
  /// The link could not be encrypted. (15)
  public static var encryptionTimedOut: Code { .encryptionTimedOut }
  /// Not used by this stack. (16)
  public static var tooManyLEPairedDevices: Code { .tooManyLEPairedDevices }
  /// Not used by this stack. (17)
  public static var leGattExceededBackgroundNotificationLimit: Code { .leGattExceededBackgroundNotificationLimit }
  /// Not used by this stack. (18)
  public static var leGattNearBackgroundNotificationLimit: Code { .leGattNearBackgroundNotificationLimit }
  /// ``unknownDevice`` in its first spelling, which is deprecated.
  public static var unkownDevice: Code { .unknownDevice }
}

extension CBError.Code {
  /// ``CBError/unknownDevice`` in its first spelling, which is deprecated.
  public static var unkownDevice: Self { .unknownDevice }

  /// Whether `error` is a ``CBError`` with this code, or an `NSError` of ``CBErrorDomain`` with it.
  public static func ~= (code: Self, error: any Error) -> Bool {
    if let error = error as? CBError { return error.code == code }
    let error = error as NSError
    return error.domain == CBErrorDomain && error.code == code.rawValue
  }

  /// The name of the code, and the text of an error with it.
  fileprivate var words: (name: String, text: String) {
    switch self {
    case .unknown: ("unknown", "Unknown error.")
    case .invalidParameters: ("invalidParameters", "One or more parameters were invalid.")
    case .invalidHandle: ("invalidHandle", "The handle is not valid.")
    case .notConnected: ("notConnected", "The device is not connected.")
    case .outOfSpace: ("outOfSpace", "There is no space left.")
    case .operationCancelled: ("operationCancelled", "The operation was cancelled.")
    case .connectionTimeout: ("connectionTimeout", "The connection has timed out unexpectedly.")
    case .peripheralDisconnected: ("peripheralDisconnected", "The specified device has disconnected from us.")
    case .uuidNotAllowed: ("uuidNotAllowed", "The specified UUID is not allowed for this operation.")
    case .alreadyAdvertising: ("alreadyAdvertising", "Advertising has already started.")
    case .connectionFailed: ("connectionFailed", "The connection has failed unexpectedly.")
    case .connectionLimitReached:
      ("connectionLimitReached", "The system has reached the maximum number of connections.")
    case .unknownDevice: ("unknownDevice", "The device is not known.")
    case .operationNotSupported: ("operationNotSupported", "The operation is not supported.")
    case .peerRemovedPairingInformation: ("peerRemovedPairingInformation", "Peer removed pairing information")
    case .encryptionTimedOut: ("encryptionTimedOut", "Failed to encrypt the connection in time.")
    case .tooManyLEPairedDevices: ("tooManyLEPairedDevices", "Too many devices are paired.")
    case .leGattExceededBackgroundNotificationLimit:
      ("leGattExceededBackgroundNotificationLimit", "Too many notifications arrived in the background.")
    case .leGattNearBackgroundNotificationLimit:
      ("leGattNearBackgroundNotificationLimit", "Nearly too many notifications arrived in the background.")
    @unknown default: ("Code(rawValue: \(rawValue))", "Unknown error.")
    }
  }
}

// Not `CustomStringConvertible`, which programs add themselves.
extension CBError.Code: @retroactive CustomDebugStringConvertible {
  /// The name of the code.
  public var debugDescription: String { words.name }
}
