// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The keys of the dictionaries that managers take and give.

/// `String`: see ``AdapterOptions/transport``. Not in CoreBluetooth, as all five of this group.
public let ManagerOptionTransportKey = "BLEManagerOptionTransport"
/// `String`: see ``AdapterOptions/snoop``.
public let ManagerOptionSnoopKey = "BLEManagerOptionSnoop"
/// `String`: see ``AdapterOptions/deviceName``.
public let ManagerOptionDeviceNameKey = "BLEManagerOptionDeviceName"
/// `UInt16`: see ``AdapterOptions/appearance``.
public let ManagerOptionAppearanceKey = "BLEManagerOptionAppearance"
/// `Int`: see ``AdapterOptions/maximumMTU``.
public let ManagerOptionMaximumMTUKey = "BLEManagerOptionMaximumMTU"

/// `NSNumber`: a Boolean. There is nothing to show on Linux: it is accepted and has no effect.
public let PeripheralManagerOptionShowPowerAlertKey = "kCBInitOptionShowPowerAlert"
/// `String`. Nothing is restored, because what a program publishes ends with it: it is accepted and has no effect.
public let PeripheralManagerOptionRestoreIdentifierKey = "kCBInitOptionRestoreIdentifier"
/// `[MutableService]`; never given.
public let PeripheralManagerRestoredStateServicesKey = "kCBRestoredServices"
/// `[String: Any]`; never given.
public let PeripheralManagerRestoredStateAdvertisementDataKey = "kCBRestoredAdvertisement"
