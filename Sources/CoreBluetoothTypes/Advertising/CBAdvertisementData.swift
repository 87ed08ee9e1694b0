// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The keys of the dictionaries that describe an advertisement; they mirror `CBAdvertisementData…`.
// `startAdvertising(_:)` accepts only the first two; `Advertisement` has the others.

/// `String`: the device's name.
public let CBAdvertisementDataLocalNameKey = "kCBAdvDataLocalName"
/// `[CBUUID]`: services the device offers.
public let CBAdvertisementDataServiceUUIDsKey = "kCBAdvDataServiceUUIDs"
/// `Data`: the company identifier, low octet first, and the data of the company.
public let CBAdvertisementDataManufacturerDataKey = "kCBAdvDataManufacturerData"
/// `[CBUUID: Data]`
public let CBAdvertisementDataServiceDataKey = "kCBAdvDataServiceData"
/// `[CBUUID]`: services found in the overflow area.
public let CBAdvertisementDataOverflowServiceUUIDsKey = "kCBAdvDataHashedServiceUUIDs"
/// `NSNumber`: in dBm.
public let CBAdvertisementDataTxPowerLevelKey = "kCBAdvDataTxPowerLevel"
/// `NSNumber`: a Boolean.
public let CBAdvertisementDataIsConnectable = "kCBAdvDataIsConnectable"
/// `NSNumber`: true if the data is incomplete because the controller lost the rest of an extended advertisement; absent
/// otherwise. CoreBluetooth has no such key.
public let CBAdvertisementDataIsTruncatedKey = "BLEAdvDataIsTruncated"
/// `[CBUUID]`: services the device looks for.
public let CBAdvertisementDataSolicitedServiceUUIDsKey = "kCBAdvDataSolicitedServiceUUIDs"
