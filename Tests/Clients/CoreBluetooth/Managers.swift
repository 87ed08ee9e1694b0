// Every symbol of CoreBluetooth's managers, with the types that Apple's documentation states. Nothing here is run:
// scripts/check-clients compiles it, against CoreBluetooth alone.
import CoreBluetooth

class OwnManager: CBManager, @unchecked Sendable {}
class OwnCentralManager: CBCentralManager, @unchecked Sendable {}
class OwnPeripheralManager: CBPeripheralManager, @unchecked Sendable {}

func managersAreObjects() {
  let _: NSObject.Type = CBManager.self
  let _: CBManager.Type = CBCentralManager.self
  let _: CBManager.Type = CBPeripheralManager.self
}

func manager(_ manager: CBManager) {
  let _: CBManagerState = manager.state
  let _: CBManagerAuthorization = manager.authorization
  let _: CBManagerAuthorization = CBManager.authorization
  let _: CBManagerAuthorization = CBPeripheralManager.authorization
}

func states(_ state: CBManagerState, _ authorization: CBManagerAuthorization) {
  switch state {
  case .unknown, .resetting, .unsupported, .unauthorized, .poweredOff, .poweredOn: break
  @unknown default: break
  }
  switch authorization {
  case .notDetermined, .restricted, .denied, .allowedAlways: break
  @unknown default: break
  }
  let _: CBManagerState? = CBManagerState(rawValue: 5)
  let _: Int = CBManagerState.poweredOn.rawValue
  let _: Int = CBManagerAuthorization.allowedAlways.rawValue
}

@available(*, deprecated)
func deprecatedStates() {
  let _: CBCentralManagerState = .poweredOn
  let _: CBPeripheralManagerState = .poweredOff
  let _: CBPeripheralManagerAuthorizationStatus = CBPeripheralManager.authorizationStatus()
  let all: [CBPeripheralManagerAuthorizationStatus] = [.notDetermined, .restricted, .denied, .authorized]
  let _: Int = all[0].rawValue
}

// The three states are types of their own: a program extends each of them.
@available(*, deprecated)
extension CBCentralManagerState {
  var name: String { "central \(rawValue)" }
}

@available(*, deprecated)
extension CBPeripheralManagerState {
  var name: String { "peripheral \(rawValue)" }
}

extension CBManagerState {
  var name: String { "manager \(rawValue)" }
}

func centralManagersAreMade(_ delegate: any CBCentralManagerDelegate) {
  _ = CBCentralManager()
  _ = CBCentralManager(delegate: nil, queue: nil)
  _ = CBCentralManager(delegate: delegate, queue: DispatchQueue.main)
  _ = CBCentralManager(delegate: delegate, queue: .global(), options: nil)
  _ = CBCentralManager(
    delegate: delegate, queue: nil,
    options: [
      CBCentralManagerOptionShowPowerAlertKey: NSNumber(value: false),
      CBCentralManagerOptionRestoreIdentifierKey: "a", CBCentralManagerOptionDeviceAccessForMedia: true,
    ])
}

func centralManager(_ manager: CBCentralManager, _ peripheral: CBPeripheral) {
  let _: (any CBCentralManagerDelegate)? = manager.delegate
  manager.delegate = nil
  let _: Bool = manager.isScanning
  let _: [CBPeripheral] = manager.retrievePeripherals(withIdentifiers: [UUID()])
  let _: [CBPeripheral] = manager.retrieveConnectedPeripherals(withServices: [CBUUID(string: "180D")])
  manager.scanForPeripherals(withServices: nil)
  manager.scanForPeripherals(
    withServices: [CBUUID(string: "180D")],
    options: [
      CBCentralManagerScanOptionAllowDuplicatesKey: true,
      CBCentralManagerScanOptionSolicitedServiceUUIDsKey: [CBUUID(string: "180A")],
    ])
  manager.stopScan()
  manager.connect(peripheral)
  manager.connect(
    peripheral,
    options: [
      CBConnectPeripheralOptionNotifyOnConnectionKey: true, CBConnectPeripheralOptionNotifyOnDisconnectionKey: true,
      CBConnectPeripheralOptionNotifyOnNotificationKey: true, CBConnectPeripheralOptionStartDelayKey: 1,
      CBConnectPeripheralOptionEnableTransportBridgingKey: true, CBConnectPeripheralOptionRequiresANCS: false,
      CBConnectPeripheralOptionEnableAutoReconnect: true,
    ])
  manager.cancelPeripheralConnection(peripheral)
  manager.registerForConnectionEvents()
  manager.registerForConnectionEvents(
    options: [.serviceUUIDs: [CBUUID(string: "180D")], .peripheralUUIDs: [peripheral.identifier]])
}

func featuresAndMatching() {
  let _: Bool = CBCentralManager.supports(.extendedScanAndConnect)
  let features: CBCentralManager.Feature = [.extendedScanAndConnect]
  let _: UInt = features.rawValue
  let option = CBConnectionEventMatchingOption(rawValue: "a")
  let _: String = option.rawValue
  let _: [CBConnectionEventMatchingOption: Any] = [option: 1]
  let _: [CBConnectionEvent] = [.peerDisconnected, .peerConnected]
  let _: Int = CBConnectionEvent.peerConnected.rawValue
}

func peripheralManagersAreMade(_ delegate: any CBPeripheralManagerDelegate) {
  _ = CBPeripheralManager()
  _ = CBPeripheralManager(delegate: delegate, queue: nil)
  _ = CBPeripheralManager(delegate: nil, queue: DispatchQueue(label: "a"), options: nil)
  _ = CBPeripheralManager(
    delegate: delegate, queue: nil,
    options: [
      CBPeripheralManagerOptionShowPowerAlertKey: false, CBPeripheralManagerOptionRestoreIdentifierKey: "a",
    ])
}

func peripheralManager(
  _ manager: CBPeripheralManager, _ central: CBCentral, _ service: CBMutableService,
  _ characteristic: CBMutableCharacteristic, _ request: CBATTRequest
) {
  let _: (any CBPeripheralManagerDelegate)? = manager.delegate
  manager.delegate = nil
  let _: Bool = manager.isAdvertising
  manager.startAdvertising(nil)
  manager.startAdvertising([
    CBAdvertisementDataLocalNameKey: "a", CBAdvertisementDataServiceUUIDsKey: [CBUUID(string: "180D")],
  ])
  manager.stopAdvertising()
  manager.setDesiredConnectionLatency(.low, for: central)
  let _: [CBPeripheralManagerConnectionLatency] = [.low, .medium, .high]
  let _: Int = CBPeripheralManagerConnectionLatency.high.rawValue
  manager.add(service)
  manager.remove(service)
  manager.removeAllServices()
  manager.respond(to: request, withResult: .success)
  manager.updateValue(Data(), for: characteristic, onSubscribedCentrals: nil)
  let _: Bool = manager.updateValue(Data(), for: characteristic, onSubscribedCentrals: [central])
  manager.publishL2CAPChannel(withEncryption: true)
  manager.unpublishL2CAPChannel(CBL2CAPPSM(0x80))
}

func methodsAreValues(_ manager: CBPeripheralManager, _ peripheral: CBPeripheral) {
  let _: ([String: Any]?) -> Void = manager.startAdvertising
  let _: ([CBUUID]?) -> Void = peripheral.discoverServices
}
