// swift-format-ignore-file: AlwaysUseLowerCamelCase

import BLEEngine

// The keys of the dictionaries that managers take and give.

/// `String`: see `AdapterOptions.transport`. Not in CoreBluetooth, as all five of this group.
public let CBManagerOptionTransportKey = "BLEManagerOptionTransport"
/// `String`: see `AdapterOptions.snoop`.
public let CBManagerOptionSnoopKey = "BLEManagerOptionSnoop"
/// `String`: see `AdapterOptions.deviceName`.
public let CBManagerOptionDeviceNameKey = "BLEManagerOptionDeviceName"
/// `UInt16`: see `AdapterOptions.appearance`.
public let CBManagerOptionAppearanceKey = "BLEManagerOptionAppearance"
/// `Int`: see `AdapterOptions.maximumMTU`.
public let CBManagerOptionMaximumMTUKey = "BLEManagerOptionMaximumMTU"

/// `NSNumber`: a Boolean. There is nothing to show on Linux: it is accepted and has no effect.
public let CBPeripheralManagerOptionShowPowerAlertKey = "kCBInitOptionShowPowerAlert"
/// `String`. Nothing is restored, because what a program publishes ends with it: it is accepted and has no effect.
public let CBPeripheralManagerOptionRestoreIdentifierKey = "kCBInitOptionRestoreIdentifier"
/// `[CBMutableService]`; never given.
public let CBPeripheralManagerRestoredStateServicesKey = "kCBRestoredServices"
/// `[String: Any]`; never given.
public let CBPeripheralManagerRestoredStateAdvertisementDataKey = "kCBRestoredAdvertisement"

extension AdapterOptions {
  /// The keys that ``init(_:misuse:)`` reads.
  static let keys = [
    CBManagerOptionTransportKey, CBManagerOptionSnoopKey, CBManagerOptionDeviceNameKey, CBManagerOptionAppearanceKey,
    CBManagerOptionMaximumMTUKey,
  ]

  /// Reads them from the dictionary of `init(delegate:queue:options:)`; values that cannot be used are reported to `misuse`.
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
  }
}
