public import Foundation

/// What went wrong with a command or a link; mirrors `CBError`.
///
/// ``localizedDescription`` says what failed and what mends it.
///
/// ```swift
/// func explain(_ error: any Error) -> String {
///   do { throw error } catch CBError.alreadyAdvertising { return "stop first" } catch { return "\(error)" }
/// }
/// ```
public struct CBError: CustomNSError, LocalizedError, Hashable {
  public enum Code: Int, Sendable {
    case unknown = 0
    case invalidParameters = 1
    case invalidHandle = 2
    case notConnected = 3
    case outOfSpace = 4
    case operationCancelled = 5
    case connectionTimeout = 6
    case peripheralDisconnected = 7
    case uuidNotAllowed = 8
    case alreadyAdvertising = 9
    case connectionFailed = 10
    case connectionLimitReached = 11
    case unknownDevice = 12
    case operationNotSupported = 13
    case peerRemovedPairingInformation = 14
    case encryptionTimedOut = 15
    case tooManyLEPairedDevices = 16
    case leGattExceededBackgroundNotificationLimit = 17
    case leGattNearBackgroundNotificationLimit = 18

    /// The first spelling, which CoreBluetooth still accepts.
    public static var unkownDevice: Self { .unknownDevice }

    public static func ~= (code: Self, error: any Error) -> Bool { (error as? CBError)?.code == code }
  }

  private let error: NSError

  public init(_ code: Code, userInfo: [String: Any] = [:]) {
    error = NSError(domain: CBErrorDomain, code: code.rawValue, userInfo: userInfo)
  }

  init(_ code: Code, _ text: String) { self.init(code, userInfo: [NSLocalizedDescriptionKey: text]) }

  public static var errorDomain: String { CBErrorDomain }
  public var code: Code { Code(rawValue: error.code) ?? .unknown }
  public var errorCode: Int { error.code }
  public var userInfo: [String: Any] { error.userInfo }
  public var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: text].merging(error.userInfo) { $1 } }
  public var errorDescription: String? { text }

  private var text: String { error.userInfo[NSLocalizedDescriptionKey] as? String ?? code.text }
}

extension CBError: CustomStringConvertible {
  public var description: String { "\(code) (CBError \(errorCode)): \(text)" }
}

extension CBError {
  public static var unknown: Code { .unknown }
  public static var invalidParameters: Code { .invalidParameters }
  public static var invalidHandle: Code { .invalidHandle }
  public static var notConnected: Code { .notConnected }
  public static var outOfSpace: Code { .outOfSpace }
  public static var operationCancelled: Code { .operationCancelled }
  public static var connectionTimeout: Code { .connectionTimeout }
  public static var peripheralDisconnected: Code { .peripheralDisconnected }
  public static var uuidNotAllowed: Code { .uuidNotAllowed }
  public static var alreadyAdvertising: Code { .alreadyAdvertising }
  public static var connectionFailed: Code { .connectionFailed }
  public static var connectionLimitReached: Code { .connectionLimitReached }
  public static var unknownDevice: Code { .unknownDevice }
  public static var unkownDevice: Code { .unknownDevice }
  public static var operationNotSupported: Code { .operationNotSupported }
  public static var peerRemovedPairingInformation: Code { .peerRemovedPairingInformation }
  public static var encryptionTimedOut: Code { .encryptionTimedOut }
  public static var tooManyLEPairedDevices: Code { .tooManyLEPairedDevices }
  public static var leGattExceededBackgroundNotificationLimit: Code { .leGattExceededBackgroundNotificationLimit }
  public static var leGattNearBackgroundNotificationLimit: Code { .leGattNearBackgroundNotificationLimit }
}

extension CBError.Code {
  fileprivate var text: String {
    switch self {
    case .unknown: "Unknown error."
    case .invalidParameters: "One or more parameters were invalid."
    case .invalidHandle: "The handle is not valid."
    case .notConnected: "The device is not connected."
    case .outOfSpace: "There is no room left."
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
    }
  }
}
