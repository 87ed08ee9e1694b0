// swift-format-ignore-file: AlwaysUseLowerCamelCase

// The UUIDs that CoreBluetooth names, as text for `CBUUID(string:)`.

/// The descriptor Characteristic Extended Properties.
public let CBUUIDCharacteristicExtendedPropertiesString = "2900"
/// The descriptor Characteristic User Description.
public let CBUUIDCharacteristicUserDescriptionString = "2901"
/// The descriptor Client Characteristic Configuration.
public let CBUUIDClientCharacteristicConfigurationString = "2902"
/// The descriptor Server Characteristic Configuration.
public let CBUUIDServerCharacteristicConfigurationString = "2903"
/// The descriptor Characteristic Presentation Format.
public let CBUUIDCharacteristicFormatString = "2904"
/// The descriptor Characteristic Aggregate Format.
public let CBUUIDCharacteristicAggregateFormatString = "2905"
/// The descriptor Valid Range.
public let CBUUIDCharacteristicValidRangeString = "2906"
/// The descriptor Observation Schedule.
public let CBUUIDCharacteristicObservationScheduleString = "2910"
/// The characteristic whose value is the PSM of an L2CAP channel, two octets, least significant first.
public let CBUUIDL2CAPPSMCharacteristicString = "ABDD3056-28FA-441D-A470-55A75A52553A"

// Obsolete names, which Apple's headers keep and older Swift programs use.

/// The service Generic Access.
@available(*, deprecated, message: "Write \"1800\".")
public let CBUUIDGenericAccessProfileString = "1800"
/// The service Generic Attribute.
@available(*, deprecated, message: "Write \"1801\".")
public let CBUUIDGenericAttributeProfileString = "1801"
/// The characteristic Device Name.
@available(*, deprecated, message: "Write \"2A00\".")
public let CBUUIDDeviceNameString = "2A00"
/// The characteristic Appearance.
@available(*, deprecated, message: "Write \"2A01\".")
public let CBUUIDAppearanceString = "2A01"
/// The characteristic Peripheral Privacy Flag.
@available(*, deprecated, message: "Write \"2A02\".")
public let CBUUIDPeripheralPrivacyFlagString = "2A02"
/// The characteristic Reconnection Address.
@available(*, deprecated, message: "Write \"2A03\".")
public let CBUUIDReconnectionAddressString = "2A03"
/// The characteristic Peripheral Preferred Connection Parameters.
@available(*, deprecated, message: "Write \"2A04\".")
public let CBUUIDPeripheralPreferredConnectionParametersString = "2A04"
/// The characteristic Service Changed.
@available(*, deprecated, message: "Write \"2A05\".")
public let CBUUIDServiceChangedString = "2A05"
