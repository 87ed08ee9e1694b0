// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The keys of the dictionaries that describe an advertisement; they mirror `CBAdvertisementData…`.
// An advertisement of one's own takes the first two only; `Advertisement` has room for the rest.

/// `String`: the device's name.
public let AdvertisementDataLocalNameKey = "kCBAdvDataLocalName"
/// `[BluetoothUUID]`: services the device offers.
public let AdvertisementDataServiceUUIDsKey = "kCBAdvDataServiceUUIDs"
/// `Data`: the company identifier, low octet first, and what the company says.
public let AdvertisementDataManufacturerDataKey = "kCBAdvDataManufacturerData"
/// `[BluetoothUUID: Data]`
public let AdvertisementDataServiceDataKey = "kCBAdvDataServiceData"
/// `[BluetoothUUID]`: services found in the overflow area.
public let AdvertisementDataOverflowServiceUUIDsKey = "kCBAdvDataHashedServiceUUIDs"
/// `NSNumber`: in dBm.
public let AdvertisementDataTxPowerLevelKey = "kCBAdvDataTxPowerLevel"
/// `NSNumber`: a Boolean.
public let AdvertisementDataIsConnectable = "kCBAdvDataIsConnectable"
/// `NSNumber`: true where the data ends before its end, because the controller lost the rest of an extended advertisement;
/// absent otherwise. CoreBluetooth has no such key.
public let AdvertisementDataIsTruncatedKey = "BLEAdvDataIsTruncated"
/// `[BluetoothUUID]`: services the device looks for.
public let AdvertisementDataSolicitedServiceUUIDsKey = "kCBAdvDataSolicitedServiceUUIDs"
