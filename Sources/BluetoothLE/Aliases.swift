public import CoreBluetoothTypes

// The names of the façade's types without their prefix. A program whose own module declares one of these names means
// its own; beside another library that declares one, `OtherLibrary.Peripheral` or `CBPeripheral` says which is meant.

// MARK: - Managers

/// ``CBManager`` without its prefix.
public typealias Manager = CBManager
/// ``CBManagerState`` without its prefix.
public typealias ManagerState = CBManagerState
/// ``CBManagerAuthorization`` without its prefix.
public typealias ManagerAuthorization = CBManagerAuthorization
/// ``CBCentralManager`` without its prefix.
public typealias CentralManager = CBCentralManager
/// ``CBCentralManagerDelegate`` without its prefix.
public typealias CentralManagerDelegate = CBCentralManagerDelegate
/// ``CBPeripheralManager`` without its prefix.
public typealias PeripheralManager = CBPeripheralManager
/// ``CBPeripheralManagerDelegate`` without its prefix.
public typealias PeripheralManagerDelegate = CBPeripheralManagerDelegate
/// ``CBPeripheralManagerAuthorizationStatus`` without its prefix.
public typealias PeripheralManagerAuthorizationStatus = CBPeripheralManagerAuthorizationStatus
/// ``CBPeripheralManagerConnectionLatency`` without its prefix.
public typealias PeripheralManagerConnectionLatency = CBPeripheralManagerConnectionLatency
/// ``CBPairingDelegate`` without its prefix.
public typealias PairingDelegate = CBPairingDelegate

// MARK: - Peers

/// ``CBPeer`` without its prefix.
public typealias Peer = CBPeer
/// ``CBCentral`` without its prefix.
public typealias Central = CBCentral
/// ``CBPeripheral`` without its prefix.
public typealias Peripheral = CBPeripheral
/// ``CBPeripheralDelegate`` without its prefix.
public typealias PeripheralDelegate = CBPeripheralDelegate
/// ``CBPeripheralState`` without its prefix.
public typealias PeripheralState = CBPeripheralState
/// ``CBConnectionEvent`` without its prefix.
public typealias ConnectionEvent = CBConnectionEvent
/// ``CBConnectionEventMatchingOption`` without its prefix.
public typealias ConnectionEventMatchingOption = CBConnectionEventMatchingOption
/// ``CBL2CAPChannel`` without its prefix.
public typealias L2CAPChannel = CBL2CAPChannel
/// ``CBL2CAPPSM`` without its prefix.
public typealias L2CAPPSM = CBL2CAPPSM

// MARK: - Attributes

/// ``CBAttribute`` without its prefix.
public typealias Attribute = CBAttribute
/// ``CBService`` without its prefix.
public typealias Service = CBService
/// ``CBMutableService`` without its prefix.
public typealias MutableService = CBMutableService
/// ``CBCharacteristic`` without its prefix.
public typealias Characteristic = CBCharacteristic
/// ``CBMutableCharacteristic`` without its prefix.
public typealias MutableCharacteristic = CBMutableCharacteristic
/// ``CBDescriptor`` without its prefix.
public typealias Descriptor = CBDescriptor
/// ``CBMutableDescriptor`` without its prefix.
public typealias MutableDescriptor = CBMutableDescriptor
/// ``CBATTRequest`` without its prefix.
public typealias ATTRequest = CBATTRequest
/// ``CBCharacteristicProperties`` without its prefix.
public typealias CharacteristicProperties = CBCharacteristicProperties
/// ``CBAttributePermissions`` without its prefix.
public typealias AttributePermissions = CBAttributePermissions
/// ``CBCharacteristicWriteType`` without its prefix.
public typealias CharacteristicWriteType = CBCharacteristicWriteType

// MARK: - Errors

/// ``CBError`` under a name that does not equal `Swift.Error`.
public typealias BluetoothError = CBError
/// ``CBATTError`` without its prefix.
public typealias ATTError = CBATTError
