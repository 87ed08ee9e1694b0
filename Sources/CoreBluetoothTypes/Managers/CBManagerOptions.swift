// swift-format-ignore-file: AlwaysUseLowerCamelCase

import BLEAdapter
import BLELinux
import Foundation

// The keys of the dictionaries that managers accept and return.

/// `String`: see `AdapterOptions.transport`. CoreBluetooth has none of the seven keys of this group.
public let CBManagerOptionTransportKey = "BLEManagerOptionTransport"
/// `String`: see `AdapterOptions.snoop`.
public let CBManagerOptionSnoopKey = "BLEManagerOptionSnoop"
/// `String`: see `AdapterOptions.deviceName`.
public let CBManagerOptionDeviceNameKey = "BLEManagerOptionDeviceName"
/// `UInt16`: see `AdapterOptions.appearance`.
public let CBManagerOptionAppearanceKey = "BLEManagerOptionAppearance"
/// `Int`: see `AdapterOptions.maximumMTU`.
public let CBManagerOptionMaximumMTUKey = "BLEManagerOptionMaximumMTU"
/// `ConnectionPriority`: see `AdapterOptions.connectionPriority`.
public let CBManagerOptionConnectionPriorityKey = "BLEManagerOptionConnectionPriority"
/// `Bool` or `String`: false stores no devices between runs; a `String` is the path of the file that stores them. See
/// `AdapterOptions.deviceStorage`.
public let CBManagerOptionDeviceStorageKey = "BLEManagerOptionDeviceStorage"

/// `NSNumber`: a Boolean. There is nothing to show on Linux: it is accepted and has no effect.
public let CBPeripheralManagerOptionShowPowerAlertKey = "kCBInitOptionShowPowerAlert"
/// `String`: what the manager publishes and advertises is restored when the program starts again after a kill or a
/// crash, with ``CBPeripheralManagerDelegate/peripheralManager(_:willRestoreState:)``. Each manager has an identifier
/// of its own, 1 to 1,024 octets of UTF-8. The state is kept beside the bonds of the adapter
/// (`PairingOptions.Storage`).
public let CBPeripheralManagerOptionRestoreIdentifierKey = "kCBInitOptionRestoreIdentifier"
/// `[CBMutableService]`: the services, which are published again. Absent where there are none.
public let CBPeripheralManagerRestoredStateServicesKey = "kCBRestoredServices"
/// `[String: Any]`: the dictionary of ``CBPeripheralManager/startAdvertising(_:)``; the advertisement starts again.
/// Absent where there is none.
public let CBPeripheralManagerRestoredStateAdvertisementDataKey = "kCBRestoredAdvertisement"

extension AdapterOptions {
  /// The keys that ``init(_:misuse:)`` reads.
  static let keys = [
    CBManagerOptionTransportKey, CBManagerOptionSnoopKey, CBManagerOptionDeviceNameKey, CBManagerOptionAppearanceKey,
    CBManagerOptionMaximumMTUKey, CBManagerOptionConnectionPriorityKey, CBManagerOptionDeviceStorageKey,
  ]

  /// Reads them from the dictionary of `init(delegate:queue:options:)`; values that cannot be used are reported to
  /// `misuse`.
  init(_ dictionary: [String: Any]?, misuse: (String) -> Void) {
    self.init()
    func value<Value>(_ key: String, _ wanted: String) -> Value? {
      guard let found = dictionary?[key] else { return nil }
      if let value = found as? Value { return value }
      misuse("the option \(key) takes \(wanted), not \(type(of: found)), and is ignored")
      return nil
    }
    transport = value(CBManagerOptionTransportKey, "a String")
    snoop = value(CBManagerOptionSnoopKey, "a String")
    deviceName = value(CBManagerOptionDeviceNameKey, "a String")
    appearance = value(CBManagerOptionAppearanceKey, "a UInt16")
    maximumMTU = value(CBManagerOptionMaximumMTUKey, "an Int")
    connectionPriority = value(CBManagerOptionConnectionPriorityKey, "a ConnectionPriority")
    switch dictionary?[CBManagerOptionDeviceStorageKey] {
    case nil: break
    case let path as String: deviceStorage = .file(path)
    case let value? where value is Bool || value is NSNumber: deviceStorage = isTrue(value) ? .standard : .memory
    case let value?:
      misuse(
        "the option \(CBManagerOptionDeviceStorageKey) takes a Bool or a String, not \(type(of: value)), and is ignored"
      )
    }
  }
}

extension RestorationStore {
  /// The store of the identifier in an option dictionary; nil where there is none, and where it cannot be used.
  static func open(option value: Any?, _ key: String, _ role: Role, _ options: AdapterOptions) -> RestorationStore? {
    guard let value else { return nil }
    guard let identifier = value as? String ?? (value as? NSString).map({ String(describing: $0) }) else {
      BluetoothLog.write(
        .misuse("API MISUSE: the option \(key) takes a String, not \(type(of: value)), and nothing is restored"))
      return nil
    }
    return open(identifier, role, options)
  }
}
