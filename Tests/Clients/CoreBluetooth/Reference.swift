// Every class, member and constant of CoreBluetooth with its exact type: a key path or a method of another type does
// not compile, nor does a name that is missing. The other files say how programs use them.
import CoreBluetooth

// MARK: - Managers

func managerMembers() {
  let _: KeyPath<CBManager, CBManagerState> = \.state
  let _: KeyPath<CBManager, CBManagerAuthorization> = \.authorization
  let _: KeyPath<CBManager.Type, CBManagerAuthorization> = \.authorization
}

func centralManagerMembers() {
  let _: () -> CBCentralManager = CBCentralManager.init
  let _: ((any CBCentralManagerDelegate)?, DispatchQueue?) -> CBCentralManager = CBCentralManager.init(delegate:queue:)
  let _: ((any CBCentralManagerDelegate)?, DispatchQueue?, [String: Any]?) -> CBCentralManager =
    CBCentralManager.init(delegate:queue:options:)
  let _: ReferenceWritableKeyPath<CBCentralManager, (any CBCentralManagerDelegate)?> = \.delegate
  let _: KeyPath<CBCentralManager, Bool> = \.isScanning
  let _: (CBCentralManager.Feature) -> Bool = CBCentralManager.supports(_:)
  let _: (CBCentralManager) -> ([UUID]) -> [CBPeripheral] = CBCentralManager.retrievePeripherals(withIdentifiers:)
  let _: (CBCentralManager) -> ([CBUUID]) -> [CBPeripheral] =
    CBCentralManager.retrieveConnectedPeripherals(withServices:)
  let _: (CBCentralManager) -> ([CBUUID]?, [String: Any]?) -> Void =
    CBCentralManager.scanForPeripherals(withServices:options:)
  let _: (CBCentralManager) -> () -> Void = CBCentralManager.stopScan
  let _: (CBCentralManager) -> (CBPeripheral, [String: Any]?) -> Void = CBCentralManager.connect(_:options:)
  let _: (CBCentralManager) -> (CBPeripheral) -> Void = CBCentralManager.cancelPeripheralConnection(_:)
  let _: (CBCentralManager) -> ([CBConnectionEventMatchingOption: Any]?) -> Void =
    CBCentralManager.registerForConnectionEvents(options:)
  let _: any OptionSet.Type = CBCentralManager.Feature.self
  let _: (UInt) -> CBCentralManager.Feature = CBCentralManager.Feature.init(rawValue:)
  let _: KeyPath<CBCentralManager.Feature, UInt> = \.rawValue
  let _: KeyPath<CBCentralManager.Feature.Type, CBCentralManager.Feature> = \.extendedScanAndConnect
}

func peripheralManagerMembers() {
  let _: () -> CBPeripheralManager = CBPeripheralManager.init
  let _: ((any CBPeripheralManagerDelegate)?, DispatchQueue?) -> CBPeripheralManager =
    CBPeripheralManager.init(delegate:queue:)
  let _: ((any CBPeripheralManagerDelegate)?, DispatchQueue?, [String: Any]?) -> CBPeripheralManager =
    CBPeripheralManager.init(delegate:queue:options:)
  let _: ReferenceWritableKeyPath<CBPeripheralManager, (any CBPeripheralManagerDelegate)?> = \.delegate
  let _: KeyPath<CBPeripheralManager, Bool> = \.isAdvertising
  let _: (CBPeripheralManager) -> ([String: Any]?) -> Void = CBPeripheralManager.startAdvertising(_:)
  let _: (CBPeripheralManager) -> () -> Void = CBPeripheralManager.stopAdvertising
  let _: (CBPeripheralManager) -> (CBPeripheralManagerConnectionLatency, CBCentral) -> Void =
    CBPeripheralManager.setDesiredConnectionLatency(_:for:)
  let _: (CBPeripheralManager) -> (CBMutableService) -> Void = CBPeripheralManager.add(_:)
  let _: (CBPeripheralManager) -> (CBMutableService) -> Void = CBPeripheralManager.remove(_:)
  let _: (CBPeripheralManager) -> () -> Void = CBPeripheralManager.removeAllServices
  let _: (CBPeripheralManager) -> (CBATTRequest, CBATTError.Code) -> Void =
    CBPeripheralManager.respond(to:withResult:)
  let _: (CBPeripheralManager) -> (Data, CBMutableCharacteristic, [CBCentral]?) -> Bool =
    CBPeripheralManager.updateValue(_:for:onSubscribedCentrals:)
  let _: (CBPeripheralManager) -> (Bool) -> Void = CBPeripheralManager.publishL2CAPChannel(withEncryption:)
  let _: (CBPeripheralManager) -> (CBL2CAPPSM) -> Void = CBPeripheralManager.unpublishL2CAPChannel(_:)
}

@available(*, deprecated)
func deprecatedManagerMembers() {
  let _: () -> CBPeripheralManagerAuthorizationStatus = CBPeripheralManager.authorizationStatus
  let _: any RawRepresentable<Int>.Type = CBCentralManagerState.self
  let _: [CBCentralManagerState] = [.unknown, .resetting, .unsupported, .unauthorized, .poweredOff, .poweredOn]
  let _: any RawRepresentable<Int>.Type = CBPeripheralManagerState.self
  let _: [CBPeripheralManagerState] = [.unknown, .resetting, .unsupported, .unauthorized, .poweredOff, .poweredOn]
}

// MARK: - Peers

func peerMembers() {
  let _: KeyPath<CBPeer, UUID> = \.identifier
  let _: KeyPath<CBCentral, Int> = \.maximumUpdateValueLength
  let _: ReferenceWritableKeyPath<CBPeripheral, (any CBPeripheralDelegate)?> = \.delegate
  let _: KeyPath<CBPeripheral, String?> = \.name
  let _: KeyPath<CBPeripheral, NSNumber?> = \.rssi
  let _: KeyPath<CBPeripheral, CBPeripheralState> = \.state
  let _: KeyPath<CBPeripheral, [CBService]?> = \.services
  let _: KeyPath<CBPeripheral, Bool> = \.canSendWriteWithoutResponse
  let _: KeyPath<CBPeripheral, Bool> = \.ancsAuthorized
  let _: (CBPeripheral) -> () -> Void = CBPeripheral.readRSSI
  let _: (CBPeripheral) -> ([CBUUID]?) -> Void = CBPeripheral.discoverServices(_:)
  let _: (CBPeripheral) -> ([CBUUID]?, CBService) -> Void = CBPeripheral.discoverIncludedServices(_:for:)
  let _: (CBPeripheral) -> ([CBUUID]?, CBService) -> Void = CBPeripheral.discoverCharacteristics(_:for:)
  let _: (CBPeripheral) -> (CBCharacteristic) -> Void = CBPeripheral.discoverDescriptors(for:)
  let _: (CBPeripheral) -> (CBCharacteristic) -> Void = CBPeripheral.readValue(for:)
  let _: (CBPeripheral) -> (CBDescriptor) -> Void = CBPeripheral.readValue(for:)
  let _: (CBPeripheral) -> (CBCharacteristicWriteType) -> Int = CBPeripheral.maximumWriteValueLength(for:)
  let _: (CBPeripheral) -> (Data, CBCharacteristic, CBCharacteristicWriteType) -> Void =
    CBPeripheral.writeValue(_:for:type:)
  let _: (CBPeripheral) -> (Data, CBDescriptor) -> Void = CBPeripheral.writeValue(_:for:)
  let _: (CBPeripheral) -> (Bool, CBCharacteristic) -> Void = CBPeripheral.setNotifyValue(_:for:)
  let _: (CBPeripheral) -> (CBL2CAPPSM) -> Void = CBPeripheral.openL2CAPChannel(_:)
}

// MARK: - Attributes

func attributeMembers() {
  let _: KeyPath<CBAttribute, CBUUID> = \.uuid
  let _: KeyPath<CBService, CBPeripheral?> = \.peripheral
  let _: KeyPath<CBService, Bool> = \.isPrimary
  let _: KeyPath<CBService, [CBService]?> = \.includedServices
  let _: KeyPath<CBService, [CBCharacteristic]?> = \.characteristics
  let _: (CBUUID, Bool) -> CBMutableService = CBMutableService.init(type:primary:)
  let _: ReferenceWritableKeyPath<CBMutableService, [CBService]?> = \.includedServices
  let _: ReferenceWritableKeyPath<CBMutableService, [CBCharacteristic]?> = \.characteristics
  let _: KeyPath<CBCharacteristic, CBService?> = \.service
  let _: KeyPath<CBCharacteristic, CBCharacteristicProperties> = \.properties
  let _: KeyPath<CBCharacteristic, Data?> = \.value
  let _: KeyPath<CBCharacteristic, [CBDescriptor]?> = \.descriptors
  let _: KeyPath<CBCharacteristic, Bool> = \.isBroadcasted
  let _: KeyPath<CBCharacteristic, Bool> = \.isNotifying
  let _: (CBUUID, CBCharacteristicProperties, Data?, CBAttributePermissions) -> CBMutableCharacteristic =
    CBMutableCharacteristic.init(type:properties:value:permissions:)
  let _: ReferenceWritableKeyPath<CBMutableCharacteristic, CBAttributePermissions> = \.permissions
  let _: KeyPath<CBMutableCharacteristic, [CBCentral]?> = \.subscribedCentrals
  let _: ReferenceWritableKeyPath<CBMutableCharacteristic, CBCharacteristicProperties> = \.properties
  let _: ReferenceWritableKeyPath<CBMutableCharacteristic, Data?> = \.value
  let _: ReferenceWritableKeyPath<CBMutableCharacteristic, [CBDescriptor]?> = \.descriptors
  let _: KeyPath<CBDescriptor, CBCharacteristic?> = \.characteristic
  let _: KeyPath<CBDescriptor, Any?> = \.value
  let _: (CBUUID, Any?) -> CBMutableDescriptor = CBMutableDescriptor.init(type:value:)
  let _: KeyPath<CBATTRequest, CBCentral> = \.central
  let _: KeyPath<CBATTRequest, CBCharacteristic> = \.characteristic
  let _: KeyPath<CBATTRequest, Int> = \.offset
  let _: ReferenceWritableKeyPath<CBATTRequest, Data?> = \.value
  let _: UInt16.Type = CBL2CAPPSM.self
  let _: () -> CBL2CAPChannel = CBL2CAPChannel.init
  let _: KeyPath<CBL2CAPChannel, CBPeer?> = \.peer
  let _: KeyPath<CBL2CAPChannel, InputStream?> = \.inputStream
  let _: KeyPath<CBL2CAPChannel, OutputStream?> = \.outputStream
  let _: KeyPath<CBL2CAPChannel, CBL2CAPPSM> = \.psm
}

func uuidMembers() {
  let _: KeyPath<CBUUID, Data> = \.data
  let _: KeyPath<CBUUID, String> = \.uuidString
  let _: () -> CBUUID = CBUUID.init
  let _: (String) -> CBUUID = CBUUID.init(string:)
  let _: (Data) -> CBUUID = CBUUID.init(data:)
  let _: (UUID) -> CBUUID = CBUUID.init(nsuuid:)
}

@available(*, deprecated)
func deprecatedUUIDMembers() { let _: (CFUUID) -> CBUUID = CBUUID.init(cfuuid:) }

// MARK: - Enumerations and option sets

func enumerations() {
  let _: any RawRepresentable<Int>.Type = CBManagerState.self
  let _: [CBManagerState] = [.unknown, .resetting, .unsupported, .unauthorized, .poweredOff, .poweredOn]
  let _: any RawRepresentable<Int>.Type = CBManagerAuthorization.self
  let _: [CBManagerAuthorization] = [.notDetermined, .restricted, .denied, .allowedAlways]
  let _: any RawRepresentable<Int>.Type = CBPeripheralManagerAuthorizationStatus.self
  let _: [CBPeripheralManagerAuthorizationStatus] = [.notDetermined, .restricted, .denied, .authorized]
  let _: any RawRepresentable<Int>.Type = CBPeripheralManagerConnectionLatency.self
  let _: [CBPeripheralManagerConnectionLatency] = [.low, .medium, .high]
  let _: any RawRepresentable<Int>.Type = CBPeripheralState.self
  let _: [CBPeripheralState] = [.disconnected, .connecting, .connected, .disconnecting]
  let _: any RawRepresentable<Int>.Type = CBCharacteristicWriteType.self
  let _: [CBCharacteristicWriteType] = [.withResponse, .withoutResponse]
  let _: any RawRepresentable<Int>.Type = CBConnectionEvent.self
  let _: [CBConnectionEvent] = [.peerDisconnected, .peerConnected]
  let _: any RawRepresentable<Int>.Type = CBError.Code.self
  let _: any RawRepresentable<Int>.Type = CBATTError.Code.self
}

func optionSets() {
  let _: any OptionSet.Type = CBCharacteristicProperties.self
  let _: (UInt) -> CBCharacteristicProperties = CBCharacteristicProperties.init(rawValue:)
  let _: KeyPath<CBCharacteristicProperties, UInt> = \.rawValue
  let _: [KeyPath<CBCharacteristicProperties.Type, CBCharacteristicProperties>] = [
    \.broadcast, \.read, \.writeWithoutResponse, \.write, \.notify, \.indicate, \.authenticatedSignedWrites,
    \.extendedProperties, \.notifyEncryptionRequired, \.indicateEncryptionRequired,
  ]
  let _: any OptionSet.Type = CBAttributePermissions.self
  let _: (UInt) -> CBAttributePermissions = CBAttributePermissions.init(rawValue:)
  let _: KeyPath<CBAttributePermissions, UInt> = \.rawValue
  let _: [KeyPath<CBAttributePermissions.Type, CBAttributePermissions>] = [
    \.readable, \.writeable, \.readEncryptionRequired, \.writeEncryptionRequired,
  ]
}

func connectionEventOptions() {
  let _: (String) -> CBConnectionEventMatchingOption = CBConnectionEventMatchingOption.init(rawValue:)
  let _: KeyPath<CBConnectionEventMatchingOption, String> = \.rawValue
  let _: [KeyPath<CBConnectionEventMatchingOption.Type, CBConnectionEventMatchingOption>] = [
    \.serviceUUIDs, \.peripheralUUIDs,
  ]
  let _: Set<CBConnectionEventMatchingOption> = [.serviceUUIDs]
}

// MARK: - Constants

func constants() {
  let _: [String] = [
    CBAdvertisementDataLocalNameKey, CBAdvertisementDataManufacturerDataKey, CBAdvertisementDataServiceDataKey,
    CBAdvertisementDataServiceUUIDsKey, CBAdvertisementDataOverflowServiceUUIDsKey,
    CBAdvertisementDataTxPowerLevelKey, CBAdvertisementDataIsConnectable, CBAdvertisementDataSolicitedServiceUUIDsKey,
  ]
  let _: [String] = [
    CBCentralManagerOptionShowPowerAlertKey, CBCentralManagerOptionRestoreIdentifierKey,
    CBCentralManagerOptionDeviceAccessForMedia, CBCentralManagerScanOptionAllowDuplicatesKey,
    CBCentralManagerScanOptionSolicitedServiceUUIDsKey, CBCentralManagerRestoredStatePeripheralsKey,
    CBCentralManagerRestoredStateScanServicesKey, CBCentralManagerRestoredStateScanOptionsKey,
  ]
  let _: [String] = [
    CBConnectPeripheralOptionNotifyOnConnectionKey, CBConnectPeripheralOptionNotifyOnDisconnectionKey,
    CBConnectPeripheralOptionNotifyOnNotificationKey, CBConnectPeripheralOptionStartDelayKey,
    CBConnectPeripheralOptionEnableTransportBridgingKey, CBConnectPeripheralOptionRequiresANCS,
    CBConnectPeripheralOptionEnableAutoReconnect,
  ]
  let _: [String] = [
    CBPeripheralManagerOptionShowPowerAlertKey, CBPeripheralManagerOptionRestoreIdentifierKey,
    CBPeripheralManagerRestoredStateServicesKey, CBPeripheralManagerRestoredStateAdvertisementDataKey,
  ]
  let _: [String] = [CBErrorDomain, CBATTErrorDomain]
}

// MARK: - Errors

func errorMembers() {
  let _: any Error.Type = CBError.self
  let _: [KeyPath<CBError.Type, String>] = [\.errorDomain, \._nsErrorDomain]
  let _: (CBError.Code, [String: Any]) -> CBError = CBError.init(_:userInfo:)
  let _: KeyPath<CBError, CBError.Code> = \.code
  let _: KeyPath<CBError, Int> = \.errorCode
  let _: [KeyPath<CBError, [String: Any]>] = [\.userInfo, \.errorUserInfo]
  let _: (Int) -> CBError.Code? = CBError.Code.init(rawValue:)
  let _: any Error.Type = CBATTError.self
  let _: [KeyPath<CBATTError.Type, String>] = [\.errorDomain, \._nsErrorDomain]
  let _: (CBATTError.Code, [String: Any]) -> CBATTError = CBATTError.init(_:userInfo:)
  let _: KeyPath<CBATTError, CBATTError.Code> = \.code
  let _: KeyPath<CBATTError, Int> = \.errorCode
  let _: [KeyPath<CBATTError, [String: Any]>] = [\.userInfo, \.errorUserInfo]
  let _: (Int) -> CBATTError.Code? = CBATTError.Code.init(rawValue:)
}

func errorCodes() {
  let _: [KeyPath<CBError.Type, CBError.Code>] = [
    \.unknown, \.invalidParameters, \.invalidHandle, \.notConnected, \.outOfSpace, \.operationCancelled,
    \.connectionTimeout, \.peripheralDisconnected, \.uuidNotAllowed, \.alreadyAdvertising, \.connectionFailed,
    \.connectionLimitReached, \.unkownDevice, \.unknownDevice, \.operationNotSupported,
    \.peerRemovedPairingInformation, \.encryptionTimedOut, \.tooManyLEPairedDevices,
    \.leGattExceededBackgroundNotificationLimit, \.leGattNearBackgroundNotificationLimit,
  ]
  let _: [KeyPath<CBATTError.Type, CBATTError.Code>] = [
    \.success, \.invalidHandle, \.readNotPermitted, \.writeNotPermitted, \.invalidPdu, \.insufficientAuthentication,
    \.requestNotSupported, \.invalidOffset, \.insufficientAuthorization, \.prepareQueueFull, \.attributeNotFound,
    \.attributeNotLong, \.insufficientEncryptionKeySize, \.invalidAttributeValueLength, \.unlikelyError,
    \.insufficientEncryption, \.unsupportedGroupType, \.insufficientResources,
  ]
}

/// Codes and options as patterns and in switches, also against an NSError of the domain.
func patterns(_ error: Error, _ object: NSError) -> Bool {
  switch object {
  case CBError.connectionTimeout, CBATTError.invalidOffset: return true
  default: break
  }
  do {
    throw error
  } catch CBError.peripheralDisconnected {
    return true
  } catch CBATTError.invalidOffset {
    return true
  } catch {
    return CBError.connectionTimeout ~= object || CBError.Code.unknown ~= error
      || CBATTError.Code.invalidHandle ~= object
  }
}

// MARK: - Delegates

/// Each requirement as a method of a delegate, with the types of its parameters.
func centralManagerDelegateMembers<Delegate: CBCentralManagerDelegate>(_ delegate: Delegate) {
  let _: (CBCentralManager) -> Void = delegate.centralManagerDidUpdateState(_:)
  let _: (CBCentralManager, [String: Any]) -> Void = delegate.centralManager(_:willRestoreState:)
  let _: (CBCentralManager, CBPeripheral, [String: Any], NSNumber) -> Void =
    delegate.centralManager(_:didDiscover:advertisementData:rssi:)
  let _: (CBCentralManager, CBPeripheral) -> Void = delegate.centralManager(_:didConnect:)
  let _: (CBCentralManager, CBPeripheral, (any Error)?) -> Void = delegate.centralManager(_:didFailToConnect:error:)
  let _: (CBCentralManager, CBPeripheral, (any Error)?) -> Void =
    delegate.centralManager(_:didDisconnectPeripheral:error:)
  let _: (CBCentralManager, CBPeripheral, CFAbsoluteTime, Bool, (any Error)?) -> Void =
    delegate.centralManager(_:didDisconnectPeripheral:timestamp:isReconnecting:error:)
  let _: (CBCentralManager, CBConnectionEvent, CBPeripheral) -> Void =
    delegate.centralManager(_:connectionEventDidOccur:for:)
  let _: (CBCentralManager, CBPeripheral) -> Void = delegate.centralManager(_:didUpdateANCSAuthorizationFor:)
}

func peripheralManagerDelegateMembers<Delegate: CBPeripheralManagerDelegate>(_ delegate: Delegate) {
  let _: (CBPeripheralManager) -> Void = delegate.peripheralManagerDidUpdateState(_:)
  let _: (CBPeripheralManager, [String: Any]) -> Void = delegate.peripheralManager(_:willRestoreState:)
  let _: (CBPeripheralManager, (any Error)?) -> Void = delegate.peripheralManagerDidStartAdvertising(_:error:)
  let _: (CBPeripheralManager, CBService, (any Error)?) -> Void = delegate.peripheralManager(_:didAdd:error:)
  let _: (CBPeripheralManager, CBCentral, CBCharacteristic) -> Void =
    delegate.peripheralManager(_:central:didSubscribeTo:)
  let _: (CBPeripheralManager, CBCentral, CBCharacteristic) -> Void =
    delegate.peripheralManager(_:central:didUnsubscribeFrom:)
  let _: (CBPeripheralManager, CBATTRequest) -> Void = delegate.peripheralManager(_:didReceiveRead:)
  let _: (CBPeripheralManager, [CBATTRequest]) -> Void = delegate.peripheralManager(_:didReceiveWrite:)
  let _: (CBPeripheralManager) -> Void = delegate.peripheralManagerIsReady(toUpdateSubscribers:)
  let _: (CBPeripheralManager, CBL2CAPPSM, (any Error)?) -> Void =
    delegate.peripheralManager(_:didPublishL2CAPChannel:error:)
  let _: (CBPeripheralManager, CBL2CAPPSM, (any Error)?) -> Void =
    delegate.peripheralManager(_:didUnpublishL2CAPChannel:error:)
  let _: (CBPeripheralManager, CBL2CAPChannel?, (any Error)?) -> Void = delegate.peripheralManager(_:didOpen:error:)
}

func peripheralDelegateMembers<Delegate: CBPeripheralDelegate>(_ delegate: Delegate) {
  let _: (CBPeripheral) -> Void = delegate.peripheralDidUpdateName(_:)
  let _: (CBPeripheral, [CBService]) -> Void = delegate.peripheral(_:didModifyServices:)
  let _: (CBPeripheral, (any Error)?) -> Void = delegate.peripheralDidUpdateRSSI(_:error:)
  let _: (CBPeripheral, NSNumber, (any Error)?) -> Void = delegate.peripheral(_:didReadRSSI:error:)
  let _: (CBPeripheral, (any Error)?) -> Void = delegate.peripheral(_:didDiscoverServices:)
  let _: (CBPeripheral, CBService, (any Error)?) -> Void =
    delegate.peripheral(_:didDiscoverIncludedServicesFor:error:)
  let _: (CBPeripheral, CBService, (any Error)?) -> Void =
    delegate.peripheral(_:didDiscoverCharacteristicsFor:error:)
  let _: (CBPeripheral, CBCharacteristic, (any Error)?) -> Void = delegate.peripheral(_:didUpdateValueFor:error:)
  let _: (CBPeripheral, CBDescriptor, (any Error)?) -> Void = delegate.peripheral(_:didUpdateValueFor:error:)
  let _: (CBPeripheral, CBCharacteristic, (any Error)?) -> Void = delegate.peripheral(_:didWriteValueFor:error:)
  let _: (CBPeripheral, CBDescriptor, (any Error)?) -> Void = delegate.peripheral(_:didWriteValueFor:error:)
  let _: (CBPeripheral, CBCharacteristic, (any Error)?) -> Void =
    delegate.peripheral(_:didUpdateNotificationStateFor:error:)
  let _: (CBPeripheral, CBCharacteristic, (any Error)?) -> Void =
    delegate.peripheral(_:didDiscoverDescriptorsFor:error:)
  let _: (CBPeripheral) -> Void = delegate.peripheralIsReady(toSendWriteWithoutResponse:)
  let _: (CBPeripheral, CBL2CAPChannel?, (any Error)?) -> Void = delegate.peripheral(_:didOpen:error:)
}

// MARK: - The check of this check

// scripts/check-clients defines each of these names once, and expects an error.
#if WITHOUT_SYMBOL
  func withoutSymbol() { let _: KeyPath<CBPeripheral, Bool> = \.hasSymbolThatIsMissing }
#endif
#if OTHER_TYPE
  func otherType() { let _: KeyPath<CBPeripheral, String> = \.name }
#endif
#if OTHER_PARAMETER
  func otherParameter() { let _: (CBPeripheral) -> ([CBUUID]) -> Void = CBPeripheral.discoverIncludedServices(_:for:) }
#endif
#if NOT_WRITABLE
  func notWritable() { let _: ReferenceWritableKeyPath<CBCharacteristic, Data?> = \.value }
#endif
