// swift-format-ignore-file: AlwaysUseLowerCamelCase

// The UUIDs that CoreBluetooth names (`CBUUID….h`), as strings.
public let UUIDCharacteristicExtendedPropertiesString = "2900"
public let UUIDCharacteristicUserDescriptionString = "2901"
public let UUIDClientCharacteristicConfigurationString = "2902"
public let UUIDServerCharacteristicConfigurationString = "2903"
public let UUIDCharacteristicFormatString = "2904"
public let UUIDCharacteristicAggregateFormatString = "2905"
public let UUIDCharacteristicValidRangeString = "2906"
public let UUIDCharacteristicObservationScheduleString = "2910"
/// The characteristic in which a peripheral tells the PSM of an L2CAP channel, as a UInt16 with its low octet first.
public let UUIDL2CAPPSMCharacteristicString = "ABDD3056-28FA-441D-A470-55A75A52553A"
