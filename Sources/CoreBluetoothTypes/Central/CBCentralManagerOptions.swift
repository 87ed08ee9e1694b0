// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Foundation

// The keys of the option dictionaries of a central manager; they mirror `CBCentralManager…` and `CBConnectPeripheral…`.

/// `NSNumber`, a Boolean: report each advertisement, not each device once. False where it is missing.
public let CBCentralManagerScanOptionAllowDuplicatesKey = "kCBScanOptionAllowDuplicates"
/// `[CBUUID]`: devices that look for one of these services match too.
public let CBCentralManagerScanOptionSolicitedServiceUUIDsKey = "kCBScanOptionSolicitedServiceUUIDs"

/// Nothing is shown on Linux, for any value. Read the manager's state.
public let CBCentralManagerOptionShowPowerAlertKey = "kCBInitOptionShowPowerAlert"
/// There is no restoration: what a program does ends with it.
public let CBCentralManagerOptionRestoreIdentifierKey = "kCBRestoreIdentifierKey"
/// Without meaning on Linux.
public let CBCentralManagerOptionDeviceAccessForMedia = "kCBInitOptionDeviceAccessForMedia"

/// Accepted, and without effect: Linux shows no alert.
public let CBConnectPeripheralOptionNotifyOnConnectionKey = "kCBConnectOptionNotifyOnConnection"
/// Without meaning on Linux; accepted all the same.
public let CBConnectPeripheralOptionNotifyOnDisconnectionKey = "kCBConnectOptionNotifyOnDisconnection"
/// Without meaning on Linux; accepted all the same.
public let CBConnectPeripheralOptionNotifyOnNotificationKey = "kCBConnectOptionNotifyOnNotification"
/// `NSNumber`, whole seconds: how long to wait before the connection is begun.
public let CBConnectPeripheralOptionStartDelayKey = "kCBConnectOptionStartDelay"
/// Without meaning on Linux; accepted all the same.
public let CBConnectPeripheralOptionEnableTransportBridgingKey = "kCBConnectOptionEnableTransportBridging"
/// Without meaning on Linux; accepted all the same.
public let CBConnectPeripheralOptionRequiresANCS = "kCBConnectOptionRequiresANCS"
/// `NSNumber`, a Boolean: connect again by itself when the link is lost.
public let CBConnectPeripheralOptionEnableAutoReconnect = "kCBConnectOptionEnableAutoReconnect"

/// No effect: there is no restoration.
public let CBCentralManagerRestoredStatePeripheralsKey = "kCBRestoredStatePeripherals"
/// No effect: there is no restoration.
public let CBCentralManagerRestoredStateScanServicesKey = "kCBRestoredStateScanServices"
/// No effect: there is no restoration.
public let CBCentralManagerRestoredStateScanOptionsKey = "kCBRestoredStateScanOptions"

/// What happened to a link that ``CBCentralManager/registerForConnectionEvents(options:)`` asked about; mirrors
/// `CBConnectionEvent`.
public enum CBConnectionEvent: Int, Sendable {
  /// The link ended.
  case peerDisconnected = 0
  /// The link is established.
  case peerConnected = 1
}

/// Which links ``CBCentralManager/registerForConnectionEvents(options:)`` asks about; mirrors
/// `CBConnectionEventMatchingOption`.
public struct CBConnectionEventMatchingOption: RawRepresentable, Hashable, Sendable {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }

  /// `[CBUUID]`, at most four.
  public static let serviceUUIDs = Self(rawValue: "kCBConnectionEventMatchingOptionServiceUUIDs")
  /// `[UUID]`
  public static let peripheralUUIDs = Self(rawValue: "kCBConnectionEventMatchingOptionPeripheralUUIDs")
}

/// The dictionary of ``CBCentralManager/connect(_:options:)``, read.
struct ConnectOptions: Equatable, Sendable {
  var startDelay = 0
  var reconnectsByItself = false

  init() {}

  /// - Throws: `invalidParameters` for a delay that is no whole number of seconds.
  init(_ dictionary: [String: Any]?) throws(CBError) {
    if let delay = dictionary?[CBConnectPeripheralOptionStartDelayKey] {
      guard let seconds = Self.wholeNumber(delay), (0...86_400).contains(seconds) else {
        throw CBError(
          .invalidParameters,
          "the start delay \(delay) is not allowed: a whole number of seconds, a day (86400) at most")
      }
      startDelay = seconds
    }
    reconnectsByItself = isTrue(dictionary?[CBConnectPeripheralOptionEnableAutoReconnect])
  }

  private static func wholeNumber(_ value: Any) -> Int? {
    if let number = value as? Int { return number }
    if let number = value as? Double { return Int(exactly: number) }
    return (value as? NSNumber).flatMap { Int(exactly: $0.doubleValue) }
  }
}

/// Whether a value of an option dictionary is a true Boolean, however it was written.
func isTrue(_ value: Any?) -> Bool { value as? Bool ?? (value as? NSNumber)?.boolValue ?? false }
