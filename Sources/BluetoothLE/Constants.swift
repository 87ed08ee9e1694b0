// swift-format-ignore-file: AlwaysUseLowerCamelCase

import CoreBluetoothTypes

// The façade's constants without their prefix.

// MARK: - Advertisement data

/// ``CBAdvertisementDataLocalNameKey`` without its prefix.
public let AdvertisementDataLocalNameKey = CBAdvertisementDataLocalNameKey
/// ``CBAdvertisementDataServiceUUIDsKey`` without its prefix.
public let AdvertisementDataServiceUUIDsKey = CBAdvertisementDataServiceUUIDsKey
/// ``CBAdvertisementDataManufacturerDataKey`` without its prefix.
public let AdvertisementDataManufacturerDataKey = CBAdvertisementDataManufacturerDataKey
/// ``CBAdvertisementDataServiceDataKey`` without its prefix.
public let AdvertisementDataServiceDataKey = CBAdvertisementDataServiceDataKey
/// ``CBAdvertisementDataOverflowServiceUUIDsKey`` without its prefix.
public let AdvertisementDataOverflowServiceUUIDsKey = CBAdvertisementDataOverflowServiceUUIDsKey
/// ``CBAdvertisementDataTxPowerLevelKey`` without its prefix.
public let AdvertisementDataTxPowerLevelKey = CBAdvertisementDataTxPowerLevelKey
/// ``CBAdvertisementDataIsConnectable`` without its prefix.
public let AdvertisementDataIsConnectable = CBAdvertisementDataIsConnectable
/// ``CBAdvertisementDataIsTruncatedKey`` without its prefix.
public let AdvertisementDataIsTruncatedKey = CBAdvertisementDataIsTruncatedKey
/// ``CBAdvertisementDataSolicitedServiceUUIDsKey`` without its prefix.
public let AdvertisementDataSolicitedServiceUUIDsKey = CBAdvertisementDataSolicitedServiceUUIDsKey

// MARK: - Options of both managers

/// ``CBManagerOptionTransportKey`` without its prefix.
public let ManagerOptionTransportKey = CBManagerOptionTransportKey
/// ``CBManagerOptionSnoopKey`` without its prefix.
public let ManagerOptionSnoopKey = CBManagerOptionSnoopKey
/// ``CBManagerOptionDeviceNameKey`` without its prefix.
public let ManagerOptionDeviceNameKey = CBManagerOptionDeviceNameKey
/// ``CBManagerOptionAppearanceKey`` without its prefix.
public let ManagerOptionAppearanceKey = CBManagerOptionAppearanceKey
/// ``CBManagerOptionMaximumMTUKey`` without its prefix.
public let ManagerOptionMaximumMTUKey = CBManagerOptionMaximumMTUKey
/// ``CBManagerOptionConnectionPriorityKey`` without its prefix.
public let ManagerOptionConnectionPriorityKey = CBManagerOptionConnectionPriorityKey
/// ``CBManagerOptionDeviceStorageKey`` without its prefix.
public let ManagerOptionDeviceStorageKey = CBManagerOptionDeviceStorageKey

// MARK: - Options of a central manager

/// ``CBCentralManagerScanOptionAllowDuplicatesKey`` without its prefix.
public let CentralManagerScanOptionAllowDuplicatesKey = CBCentralManagerScanOptionAllowDuplicatesKey
/// ``CBCentralManagerScanOptionSolicitedServiceUUIDsKey`` without its prefix.
public let CentralManagerScanOptionSolicitedServiceUUIDsKey = CBCentralManagerScanOptionSolicitedServiceUUIDsKey
/// ``CBCentralManagerScanOptionPassiveKey`` without its prefix.
public let CentralManagerScanOptionPassiveKey = CBCentralManagerScanOptionPassiveKey
/// ``CBCentralManagerScanOptionIntervalKey`` without its prefix.
public let CentralManagerScanOptionIntervalKey = CBCentralManagerScanOptionIntervalKey
/// ``CBCentralManagerScanOptionWindowKey`` without its prefix.
public let CentralManagerScanOptionWindowKey = CBCentralManagerScanOptionWindowKey
/// ``CBCentralManagerScanOptionPHYsKey`` without its prefix.
public let CentralManagerScanOptionPHYsKey = CBCentralManagerScanOptionPHYsKey
/// ``CBCentralManagerScanOptionWaitsForScanResponseKey`` without its prefix.
public let CentralManagerScanOptionWaitsForScanResponseKey = CBCentralManagerScanOptionWaitsForScanResponseKey
/// ``CBConnectPeripheralOptionParametersKey`` without its prefix.
public let ConnectPeripheralOptionParametersKey = CBConnectPeripheralOptionParametersKey
/// ``CBConnectPeripheralOptionPHYsKey`` without its prefix.
public let ConnectPeripheralOptionPHYsKey = CBConnectPeripheralOptionPHYsKey
/// ``CBConnectPeripheralOptionPriorityKey`` without its prefix.
public let ConnectPeripheralOptionPriorityKey = CBConnectPeripheralOptionPriorityKey
/// ``CBCentralManagerOptionShowPowerAlertKey`` without its prefix.
public let CentralManagerOptionShowPowerAlertKey = CBCentralManagerOptionShowPowerAlertKey
/// ``CBCentralManagerOptionRestoreIdentifierKey`` without its prefix.
public let CentralManagerOptionRestoreIdentifierKey = CBCentralManagerOptionRestoreIdentifierKey
/// ``CBCentralManagerOptionDeviceAccessForMedia`` without its prefix.
public let CentralManagerOptionDeviceAccessForMedia = CBCentralManagerOptionDeviceAccessForMedia
/// ``CBConnectPeripheralOptionNotifyOnConnectionKey`` without its prefix.
public let ConnectPeripheralOptionNotifyOnConnectionKey = CBConnectPeripheralOptionNotifyOnConnectionKey
/// ``CBConnectPeripheralOptionNotifyOnDisconnectionKey`` without its prefix.
public let ConnectPeripheralOptionNotifyOnDisconnectionKey = CBConnectPeripheralOptionNotifyOnDisconnectionKey
/// ``CBConnectPeripheralOptionNotifyOnNotificationKey`` without its prefix.
public let ConnectPeripheralOptionNotifyOnNotificationKey = CBConnectPeripheralOptionNotifyOnNotificationKey
/// ``CBConnectPeripheralOptionStartDelayKey`` without its prefix.
public let ConnectPeripheralOptionStartDelayKey = CBConnectPeripheralOptionStartDelayKey
/// ``CBConnectPeripheralOptionEnableTransportBridgingKey`` without its prefix.
public let ConnectPeripheralOptionEnableTransportBridgingKey = CBConnectPeripheralOptionEnableTransportBridgingKey
/// ``CBConnectPeripheralOptionRequiresANCS`` without its prefix.
public let ConnectPeripheralOptionRequiresANCS = CBConnectPeripheralOptionRequiresANCS
/// ``CBConnectPeripheralOptionEnableAutoReconnect`` without its prefix.
public let ConnectPeripheralOptionEnableAutoReconnect = CBConnectPeripheralOptionEnableAutoReconnect
/// ``CBCentralManagerRestoredStatePeripheralsKey`` without its prefix.
public let CentralManagerRestoredStatePeripheralsKey = CBCentralManagerRestoredStatePeripheralsKey
/// ``CBCentralManagerRestoredStateScanServicesKey`` without its prefix.
public let CentralManagerRestoredStateScanServicesKey = CBCentralManagerRestoredStateScanServicesKey
/// ``CBCentralManagerRestoredStateScanOptionsKey`` without its prefix.
public let CentralManagerRestoredStateScanOptionsKey = CBCentralManagerRestoredStateScanOptionsKey

// MARK: - Options of a peripheral manager

/// ``CBPeripheralManagerOptionShowPowerAlertKey`` without its prefix.
public let PeripheralManagerOptionShowPowerAlertKey = CBPeripheralManagerOptionShowPowerAlertKey
/// ``CBPeripheralManagerOptionRestoreIdentifierKey`` without its prefix.
public let PeripheralManagerOptionRestoreIdentifierKey = CBPeripheralManagerOptionRestoreIdentifierKey
/// ``CBPeripheralManagerRestoredStateServicesKey`` without its prefix.
public let PeripheralManagerRestoredStateServicesKey = CBPeripheralManagerRestoredStateServicesKey
/// ``CBPeripheralManagerRestoredStateAdvertisementDataKey`` without its prefix.
public let PeripheralManagerRestoredStateAdvertisementDataKey = CBPeripheralManagerRestoredStateAdvertisementDataKey

// MARK: - UUIDs

/// ``CBUUIDCharacteristicExtendedPropertiesString`` without its prefix.
public let UUIDCharacteristicExtendedPropertiesString = CBUUIDCharacteristicExtendedPropertiesString
/// ``CBUUIDCharacteristicUserDescriptionString`` without its prefix.
public let UUIDCharacteristicUserDescriptionString = CBUUIDCharacteristicUserDescriptionString
/// ``CBUUIDClientCharacteristicConfigurationString`` without its prefix.
public let UUIDClientCharacteristicConfigurationString = CBUUIDClientCharacteristicConfigurationString
/// ``CBUUIDServerCharacteristicConfigurationString`` without its prefix.
public let UUIDServerCharacteristicConfigurationString = CBUUIDServerCharacteristicConfigurationString
/// ``CBUUIDCharacteristicFormatString`` without its prefix.
public let UUIDCharacteristicFormatString = CBUUIDCharacteristicFormatString
/// ``CBUUIDCharacteristicAggregateFormatString`` without its prefix.
public let UUIDCharacteristicAggregateFormatString = CBUUIDCharacteristicAggregateFormatString
/// ``CBUUIDCharacteristicValidRangeString`` without its prefix.
public let UUIDCharacteristicValidRangeString = CBUUIDCharacteristicValidRangeString
/// ``CBUUIDCharacteristicObservationScheduleString`` without its prefix.
public let UUIDCharacteristicObservationScheduleString = CBUUIDCharacteristicObservationScheduleString
/// ``CBUUIDL2CAPPSMCharacteristicString`` without its prefix.
public let UUIDL2CAPPSMCharacteristicString = CBUUIDL2CAPPSMCharacteristicString

// MARK: - Error domains

/// ``CBErrorDomain`` without its prefix.
public let BluetoothErrorDomain = CBErrorDomain
/// ``CBATTErrorDomain`` without its prefix.
public let ATTErrorDomain = CBATTErrorDomain
