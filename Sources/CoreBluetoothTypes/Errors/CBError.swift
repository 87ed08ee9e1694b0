public import Foundation

/// The domain of ``CBError`` as an `NSError`.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let CBErrorDomain = "CBErrorDomain"

/// The error of a command or a link.
///
/// `localizedDescription` contains what failed, why, and what to do. It matches in a `catch` clause, also where it has become
/// an `NSError` on the way:
///
/// ```swift
/// func explain(_ error: any Error) -> String {
///   do { throw error } catch CBError.alreadyAdvertising { return "stop first" } catch { return "\(error)" }
/// }
/// ```
public struct CBError: CustomNSError, LocalizedError, Hashable {
  /// The codes. Any number is a code, as in Apple's imported enumeration: `Code(rawValue:)` is never nil.
  public enum Code: RawRepresentable, Hashable, Sendable {
    /// An error without a code of its own; the text says more. (0)
    case unknown
    /// A parameter is outside its limits; the text names it. (1)
    case invalidParameters
    /// The attribute does not belong to this connection. (2)
    case invalidHandle
    /// The device is not connected. (3)
    case notConnected
    /// A queue or a table is full; the text names it and its limit. (4)
    case outOfSpace
    /// The program, or a change of the adapter's state, cancelled the operation. (5)
    case operationCancelled
    /// The link was lost: nothing was received within the supervision timeout. (6)
    case connectionTimeout
    /// The other device ended the link. (7)
    case peripheralDisconnected
    /// The UUID belongs to a service of the stack. (8)
    case uuidNotAllowed
    /// The manager is advertising. (9)
    case alreadyAdvertising
    /// No link could be established. (10)
    case connectionFailed
    /// The controller has no room for another link. (11)
    case connectionLimitReached
    /// The peripheral is not one of this manager, or became invalid. (12)
    case unknownDevice
    /// The controller, the kernel or this version does not support the operation. (13)
    case operationNotSupported
    /// The other device no longer has the key of the bond. (14)
    case peerRemovedPairingInformation
    /// The link could not be encrypted. (15)
    case encryptionTimedOut
    /// Not used by this stack. (16)
    case tooManyLEPairedDevices
    /// Not used by this stack. (17)
    case leGattExceededBackgroundNotificationLimit
    /// Not used by this stack. (18)
    case leGattNearBackgroundNotificationLimit
    /// Any other number, made by ``init(rawValue:)``.
    case _other(Int)

    /// ``unknownDevice`` in its first spelling, which is deprecated.
    public static var unkownDevice: Self { .unknownDevice }

    private static let named: [Self] = [
      .unknown, .invalidParameters, .invalidHandle, .notConnected, .outOfSpace, .operationCancelled, .connectionTimeout,
      .peripheralDisconnected, .uuidNotAllowed, .alreadyAdvertising, .connectionFailed, .connectionLimitReached,
      .unknownDevice, .operationNotSupported, .peerRemovedPairingInformation, .encryptionTimedOut,
      .tooManyLEPairedDevices, .leGattExceededBackgroundNotificationLimit, .leGattNearBackgroundNotificationLimit,
    ]

    /// The code of a number; never nil.
    public init?(rawValue: Int) {
      self = Self.named.indices.contains(rawValue) ? Self.named[rawValue] : ._other(rawValue)
    }

    /// The number of the code.
    public var rawValue: Int {
      switch self {
      case .unknown: 0
      case .invalidParameters: 1
      case .invalidHandle: 2
      case .notConnected: 3
      case .outOfSpace: 4
      case .operationCancelled: 5
      case .connectionTimeout: 6
      case .peripheralDisconnected: 7
      case .uuidNotAllowed: 8
      case .alreadyAdvertising: 9
      case .connectionFailed: 10
      case .connectionLimitReached: 11
      case .unknownDevice: 12
      case .operationNotSupported: 13
      case .peerRemovedPairingInformation: 14
      case .encryptionTimedOut: 15
      case .tooManyLEPairedDevices: 16
      case .leGattExceededBackgroundNotificationLimit: 17
      case .leGattNearBackgroundNotificationLimit: 18
      case ._other(let code): code
      }
    }

    /// Whether both have the same number.
    public static func == (a: Self, b: Self) -> Bool { a.rawValue == b.rawValue }
    /// Hashes the number.
    public func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }

    /// Whether `error` is a ``CBError`` with this code, or an `NSError` of ``CBErrorDomain`` with it.
    public static func ~= (code: Self, error: any Error) -> Bool {
      if let error = error as? CBError { return error.code == code }
      let error = error as NSError
      return error.domain == CBErrorDomain && error.code == code.rawValue
    }
  }

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

extension CBError: CustomStringConvertible {
  /// The code by name and number, and the text.
  public var description: String { "\(code) (CBError \(errorCode)): \(text)" }
}

extension CBError {
  /// ``Code/unknown``
  public static var unknown: Code { .unknown }
  /// ``Code/invalidParameters``
  public static var invalidParameters: Code { .invalidParameters }
  /// ``Code/invalidHandle``
  public static var invalidHandle: Code { .invalidHandle }
  /// ``Code/notConnected``
  public static var notConnected: Code { .notConnected }
  /// ``Code/outOfSpace``
  public static var outOfSpace: Code { .outOfSpace }
  /// ``Code/operationCancelled``
  public static var operationCancelled: Code { .operationCancelled }
  /// ``Code/connectionTimeout``
  public static var connectionTimeout: Code { .connectionTimeout }
  /// ``Code/peripheralDisconnected``
  public static var peripheralDisconnected: Code { .peripheralDisconnected }
  /// ``Code/uuidNotAllowed``
  public static var uuidNotAllowed: Code { .uuidNotAllowed }
  /// ``Code/alreadyAdvertising``
  public static var alreadyAdvertising: Code { .alreadyAdvertising }
  /// ``Code/connectionFailed``
  public static var connectionFailed: Code { .connectionFailed }
  /// ``Code/connectionLimitReached``
  public static var connectionLimitReached: Code { .connectionLimitReached }
  /// ``Code/unknownDevice``
  public static var unknownDevice: Code { .unknownDevice }
  /// ``Code/operationNotSupported``
  public static var operationNotSupported: Code { .operationNotSupported }
  /// ``Code/peerRemovedPairingInformation``
  public static var peerRemovedPairingInformation: Code { .peerRemovedPairingInformation }
  /// ``Code/encryptionTimedOut``
  public static var encryptionTimedOut: Code { .encryptionTimedOut }
  /// ``Code/tooManyLEPairedDevices``
  public static var tooManyLEPairedDevices: Code { .tooManyLEPairedDevices }
  /// ``Code/leGattExceededBackgroundNotificationLimit``
  public static var leGattExceededBackgroundNotificationLimit: Code { .leGattExceededBackgroundNotificationLimit }
  /// ``Code/leGattNearBackgroundNotificationLimit``
  public static var leGattNearBackgroundNotificationLimit: Code { .leGattNearBackgroundNotificationLimit }
  /// ``Code/unknownDevice``
  public static var unkownDevice: Code { .unknownDevice }
}

extension CBError.Code {
  fileprivate var text: String {
    switch self {
    case .unknown: "Unknown error."
    case .invalidParameters: "One or more parameters were invalid."
    case .invalidHandle: "The handle is not valid."
    case .notConnected: "The device is not connected."
    case .outOfSpace: "There is no space left."
    case .operationCancelled: "The operation was cancelled."
    case .connectionTimeout: "The connection has timed out unexpectedly."
    case .peripheralDisconnected: "The specified device has disconnected from us."
    case .uuidNotAllowed: "The specified UUID is not allowed for this operation."
    case .alreadyAdvertising: "Advertising has already started."
    case .connectionFailed: "The connection has failed unexpectedly."
    case .connectionLimitReached: "The system has reached the maximum number of connections."
    case .unknownDevice: "The device is not known."
    case .operationNotSupported: "The operation is not supported."
    case .peerRemovedPairingInformation: "Peer removed pairing information"
    case .encryptionTimedOut: "Failed to encrypt the connection in time."
    case .tooManyLEPairedDevices: "Too many devices are paired."
    case .leGattExceededBackgroundNotificationLimit: "Too many notifications arrived in the background."
    case .leGattNearBackgroundNotificationLimit: "Nearly too many notifications arrived in the background."
    case ._other: "Unknown error."
    }
  }
}
