// swift-format-ignore-file: AlwaysUseLowerCamelCase

import BLEAdapter
import BLEHost
import BLEWire
import Foundation

// The keys of the option dictionaries of a central manager; they mirror `CBCentralManager…` and `CBConnectPeripheral…`.

/// `NSNumber`, a Boolean: report each advertisement, instead of each device once. The default is false.
public let CBCentralManagerScanOptionAllowDuplicatesKey = "kCBScanOptionAllowDuplicates"
/// `[CBUUID]`: devices that look for one of these services match too.
public let CBCentralManagerScanOptionSolicitedServiceUUIDsKey = "kCBScanOptionSolicitedServiceUUIDs"

/// `NSNumber`, a Boolean: no scan requests are sent, and scan responses are not received. The default is false.
/// CoreBluetooth has none of the five keys of this group.
public let CBCentralManagerScanOptionPassiveKey = "BLEScanOptionPassive"
/// `NSNumber`, seconds: the time between the beginnings of two windows, 0.0025 to 10.24. The default is 0.06.
public let CBCentralManagerScanOptionIntervalKey = "BLEScanOptionInterval"
/// `NSNumber`, seconds: how long the receiver is on in each interval, 0.0025 up to the interval. The default is 0.03.
public let CBCentralManagerScanOptionWindowKey = "BLEScanOptionWindow"
/// `[LEPHY]` or `Set<LEPHY>`: the PHYs of the primary channels, LE 1M, LE Coded or both. The default is LE 1M.
public let CBCentralManagerScanOptionPHYsKey = "BLEScanOptionPHYs"
/// `NSNumber`, a Boolean: a device with a scan response is reported together with it, or without it if none arrives for
/// 2 s, at the latest with the end of the scan, after ``CBCentralManager/stopScan()``. The default is false.
public let CBCentralManagerScanOptionWaitsForScanResponseKey = "BLEScanOptionWaitsForScanResponse"

/// `ConnectionParameterRequest`: the timing of the new link. CoreBluetooth has neither this key nor the next two.
public let CBConnectPeripheralOptionParametersKey = "BLEConnectOptionParameters"
/// `[LEPHY]` or `Set<LEPHY>`: the PHYs on which the manager looks for the device and may establish the link. The
/// default is the PHYs on which the device was last seen.
public let CBConnectPeripheralOptionPHYsKey = "BLEConnectOptionPHYs"
/// `ConnectionPriority`: the priority of the new link, instead of that of the adapter.
public let CBConnectPeripheralOptionPriorityKey = "BLEConnectOptionPriority"

/// Nothing is shown on Linux, for any value. Read the manager's state.
public let CBCentralManagerOptionShowPowerAlertKey = "kCBInitOptionShowPowerAlert"
/// `String`: the scan of the manager, its links and its pending connections are restored when the program starts again
/// after a kill or a crash, with ``CBCentralManagerDelegate/centralManager(_:willRestoreState:)``. Each manager has an
/// identifier of its own, 1 to 1,024 octets of UTF-8. The state is kept beside the bonds of the adapter
/// (`PairingOptions.Storage`).
public let CBCentralManagerOptionRestoreIdentifierKey = "kCBRestoreIdentifierKey"
/// Without meaning on Linux.
public let CBCentralManagerOptionDeviceAccessForMedia = "kCBInitOptionDeviceAccessForMedia"

/// Accepted, and without effect: Linux shows no alert.
public let CBConnectPeripheralOptionNotifyOnConnectionKey = "kCBConnectOptionNotifyOnConnection"
/// Accepted, and without effect on Linux.
public let CBConnectPeripheralOptionNotifyOnDisconnectionKey = "kCBConnectOptionNotifyOnDisconnection"
/// Accepted, and without effect on Linux.
public let CBConnectPeripheralOptionNotifyOnNotificationKey = "kCBConnectOptionNotifyOnNotification"
/// `NSNumber`, whole seconds: how long to wait before the connection is begun.
public let CBConnectPeripheralOptionStartDelayKey = "kCBConnectOptionStartDelay"
/// Accepted, and without effect on Linux.
public let CBConnectPeripheralOptionEnableTransportBridgingKey = "kCBConnectOptionEnableTransportBridging"
/// `NSNumber`, a Boolean. Linux has no Apple Notification Center Service: a connection that requires it fails with
/// ``CBError/operationNotSupported``.
public let CBConnectPeripheralOptionRequiresANCS = "kCBConnectOptionRequiresANCS"
/// `NSNumber`, a Boolean: reconnect automatically when the link is lost.
public let CBConnectPeripheralOptionEnableAutoReconnect = "kCBConnectOptionEnableAutoReconnect"

/// `[CBPeripheral]`: the peripherals that the manager was connected to, or connecting; their connections are pending.
/// Absent where there are none.
public let CBCentralManagerRestoredStatePeripheralsKey = "kCBRestoredStatePeripherals"
/// `[CBUUID]`: the services of the scan, which has started again. Absent where there was no scan, or one for all
/// devices.
public let CBCentralManagerRestoredStateScanServicesKey = "kCBRestoredStateScanServices"
/// `[String: Any]`: the options of the scan. Absent where there was no scan.
public let CBCentralManagerRestoredStateScanOptionsKey = "kCBRestoredStateScanOptions"

/// An event of a link that ``CBCentralManager/registerForConnectionEvents(options:)`` registered for; mirrors
/// `CBConnectionEvent`.
public enum CBConnectionEvent: Int, Sendable {
  /// The link ended.
  case peerDisconnected = 0
  /// The link is established.
  case peerConnected = 1
}

/// A key of the options of ``CBCentralManager/registerForConnectionEvents(options:)``; mirrors
/// `CBConnectionEventMatchingOption`.
public struct CBConnectionEventMatchingOption: RawRepresentable, Hashable, Sendable {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }

  /// `[CBUUID]`, at most four.
  public static let serviceUUIDs = Self(rawValue: "kCBConnectionEventMatchingOptionServiceUUIDs")
  /// `[UUID]`
  public static let peripheralUUIDs = Self(rawValue: "kCBConnectionEventMatchingOptionPeripheralUUIDs")
}

/// The parsed options of ``CBCentralManager/connect(_:options:)``.
struct ConnectOptions: Equatable, Sendable {
  var startDelay = 0
  var reconnectsByItself = false
  var parameters = ConnectionParameters()
  /// Nil: those on which the device was last seen.
  var phys: Set<LEPHY>?
  /// Nil: that of the adapter.
  var priority: ConnectionPriority?

  init() {}

  /// - Throws: `invalidParameters` for a delay that is not a whole number of seconds, for a timing that is not allowed,
  ///   and for PHYs without a primary channel; `operationNotSupported` where ANCS is required.
  init(_ dictionary: [String: Any]?) throws(CBError) {
    if isTrue(dictionary?[CBConnectPeripheralOptionRequiresANCS]) {
      throw CBError(
        .operationNotSupported,
        "the option \(CBConnectPeripheralOptionRequiresANCS) cannot be met, because Linux has no Apple Notification Center Service: connect without it"
      )
    }
    if let delay = dictionary?[CBConnectPeripheralOptionStartDelayKey] {
      guard let seconds = Self.wholeNumber(delay), (0...86_400).contains(seconds) else {
        throw CBError(
          .invalidParameters,
          "the start delay \(delay) is not allowed: a whole number of seconds, a day (86400) at most")
      }
      startDelay = seconds
    }
    reconnectsByItself = isTrue(dictionary?[CBConnectPeripheralOptionEnableAutoReconnect])
    if let value = dictionary?[CBConnectPeripheralOptionParametersKey] {
      guard let parameters = (value as? ConnectionParameterRequest)?.parameters else {
        throw CBError(.invalidParameters, "\(value) is not a ConnectionParameterRequest within its limits")
      }
      self.parameters = parameters
    }
    if let value = dictionary?[CBConnectPeripheralOptionPHYsKey] {
      guard let phys = Set<LEPHY>(option: value), !phys.isDisjoint(with: [.le1M, .leCoded]) else {
        throw CBError(.invalidParameters, "\(value) is not a set of LEPHY with LE 1M or LE Coded")
      }
      self.phys = phys
    }
    if let value = dictionary?[CBConnectPeripheralOptionPriorityKey] {
      guard let priority = value as? ConnectionPriority else {
        throw CBError(.invalidParameters, "\(value) is not a ConnectionPriority")
      }
      self.priority = priority
    }
  }

  private static func wholeNumber(_ value: Any) -> Int? {
    if let number = value as? Int { return number }
    if let number = value as? Double { return Int(exactly: number) }
    return (value as? NSNumber).flatMap { Int(exactly: $0.doubleValue) }
  }
}

extension Set<LEPHY> {
  /// A value of an option dictionary.
  init?(option value: Any) {
    if let set = value as? Set<LEPHY> {
      self = set
    } else if let list = value as? [LEPHY] {
      self = Set(list)
    } else {
      return nil
    }
  }
}

extension ScanParameters {
  /// Parses the options of ``CBCentralManager/scanForPeripherals(withServices:options:)``; the default replaces an
  /// invalid value.
  ///
  /// - Parameter misuse: receives a line for each such value.
  init(_ dictionary: [String: Any]?, misuse: (String) -> Void) {
    self.init()
    func seconds(_ key: String, _ standard: UInt16) -> Duration {
      guard let value = dictionary?[key] else { return .microseconds(625 * Int(standard)) }
      guard let number = value as? Double ?? (value as? NSNumber)?.doubleValue, (0...100).contains(number) else {
        misuse("scanForPeripherals: the option \(key) takes seconds, not \(value), and is ignored")
        return .microseconds(625 * Int(standard))
      }
      return .seconds(number)
    }
    let (interval, window) = (
      seconds(CBCentralManagerScanOptionIntervalKey, self.interval),
      seconds(CBCentralManagerScanOptionWindowKey, self.window)
    )
    if let timed = ScanParameters(interval: interval, window: min(window, interval)) {
      self = timed
    } else {
      misuse("scanForPeripherals: an interval of \(interval) is not allowed (2.5 ms to 10.24 s) and is ignored")
    }
    if window > interval {
      misuse("scanForPeripherals: the window of \(window) is longer than the interval, and is shortened to it")
    }
    isActive = !isTrue(dictionary?[CBCentralManagerScanOptionPassiveKey])
    waitsForScanResponse = isTrue(dictionary?[CBCentralManagerScanOptionWaitsForScanResponseKey])
    if let value = dictionary?[CBCentralManagerScanOptionPHYsKey] {
      if let phys = Set<LEPHY>(option: value), !phys.isEmpty, phys.isSubset(of: [.le1M, .leCoded]) {
        self.phys = phys.phys
      } else {
        misuse("scanForPeripherals: \(value) is not a set of LE 1M and LE Coded, and is ignored")
      }
    }
  }
}

/// Whether a value of an option dictionary is true, as a `Bool` or as an `NSNumber`.
func isTrue(_ value: Any?) -> Bool { value as? Bool ?? (value as? NSNumber)?.boolValue ?? false }

extension CentralRole.WatchedEvents {
  /// Parses the options of ``CBCentralManager/registerForConnectionEvents(options:)``.
  ///
  /// - Parameter misuse: receives a line for each option that cannot be used.
  init(_ dictionary: [CBConnectionEventMatchingOption: Any], misuse: (String) -> Void) {
    self.init()
    for (option, value) in dictionary.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      let key = option.rawValue
      switch option {
      case .serviceUUIDs:
        if let uuids = BluetoothUUID.list(value) {
          services = uuids
        } else {
          misuse("the option \(key) takes an array of CBUUID, not \(type(of: value)), and is ignored")
        }
      case .peripheralUUIDs:
        if let uuids = value as? [UUID] {
          peripherals = uuids
        } else {
          misuse("the option \(key) takes an array of UUID, not \(type(of: value)), and is ignored")
        }
      default: misuse("the option \(key) is not known, and is ignored")
      }
    }
  }
}
