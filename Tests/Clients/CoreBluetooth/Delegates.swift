// swift-format-ignore-file: AlwaysUseLowerCamelCase

// The delegates' methods as programs implement and call them, with every parameter's type.
import CoreBluetooth

class CentralDelegate: NSObject, CBCentralManagerDelegate {
  func centralManagerDidUpdateState(_ central: CBCentralManager) {}
  func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
    _ = dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral]
    _ = dict[CBCentralManagerRestoredStateScanServicesKey] as? [CBUUID]
    _ = dict[CBCentralManagerRestoredStateScanOptionsKey] as? [String: Any]
  }
  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi RSSI: NSNumber
  ) {
    _ = advertisementData[CBAdvertisementDataLocalNameKey] as? String
    _ = advertisementData[CBAdvertisementDataManufacturerDataKey] as? Data
    _ = advertisementData[CBAdvertisementDataServiceDataKey] as? [CBUUID: Data]
    _ = advertisementData[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID]
    _ = advertisementData[CBAdvertisementDataOverflowServiceUUIDsKey] as? [CBUUID]
    _ = advertisementData[CBAdvertisementDataSolicitedServiceUUIDsKey] as? [CBUUID]
    _ = advertisementData[CBAdvertisementDataTxPowerLevelKey] as? NSNumber
    _ = (advertisementData[CBAdvertisementDataIsConnectable] as? NSNumber)?.boolValue
  }
  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {}
  func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: Error?) {}
  func centralManager(_ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: Error?) {}
  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, timestamp: CFAbsoluteTime,
    isReconnecting: Bool, error: Error?
  ) {
    let _: Double = timestamp - CFAbsoluteTimeGetCurrent()
  }
  func centralManager(
    _ central: CBCentralManager, connectionEventDidOccur event: CBConnectionEvent, for peripheral: CBPeripheral
  ) {}
  func centralManager(_ central: CBCentralManager, didUpdateANCSAuthorizationFor peripheral: CBPeripheral) {}
}

/// Of each delegate only this much is required.
class SmallCentralDelegate: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate {
  func centralManagerDidUpdateState(_ central: CBCentralManager) {}
}
class SmallPeripheralManagerDelegate: NSObject, CBPeripheralManagerDelegate {
  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {}
}

class PeripheralManagerDelegate: NSObject, CBPeripheralManagerDelegate {
  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {}
  func peripheralManager(_ peripheral: CBPeripheralManager, willRestoreState dict: [String: Any]) {
    _ = dict[CBPeripheralManagerRestoredStateServicesKey] as? [CBMutableService]
    _ = dict[CBPeripheralManagerRestoredStateAdvertisementDataKey] as? [String: Any]
  }
  func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: Error?) {}
  func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: Error?) {}
  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
  ) {}
  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic
  ) {}
  func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {}
  func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {}
  func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) {}
  func peripheralManager(_ peripheral: CBPeripheralManager, didPublishL2CAPChannel PSM: CBL2CAPPSM, error: Error?) {}
  func peripheralManager(_ peripheral: CBPeripheralManager, didUnpublishL2CAPChannel PSM: CBL2CAPPSM, error: Error?) {}
  func peripheralManager(_ peripheral: CBPeripheralManager, didOpen channel: CBL2CAPChannel?, error: Error?) {}
}

class PeripheralDelegate: NSObject, CBPeripheralDelegate {
  func peripheralDidUpdateName(_ peripheral: CBPeripheral) {}
  func peripheral(_ peripheral: CBPeripheral, didModifyServices invalidatedServices: [CBService]) {}
  func peripheralDidUpdateRSSI(_ peripheral: CBPeripheral, error: Error?) {}
  func peripheral(_ peripheral: CBPeripheral, didReadRSSI RSSI: NSNumber, error: Error?) {}
  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: Error?) {}
  func peripheral(_ peripheral: CBPeripheral, didDiscoverIncludedServicesFor service: CBService, error: Error?) {}
  func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: Error?) {}
  func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: Error?) {}
  func peripheral(_ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: Error?) {}
  func peripheral(
    _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic, error: Error?
  ) {}
  func peripheral(_ peripheral: CBPeripheral, didDiscoverDescriptorsFor characteristic: CBCharacteristic, error: Error?)
  {}
  func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor descriptor: CBDescriptor, error: Error?) {}
  func peripheral(_ peripheral: CBPeripheral, didWriteValueFor descriptor: CBDescriptor, error: Error?) {}
  func peripheralIsReady(toSendWriteWithoutResponse peripheral: CBPeripheral) {}
  func peripheral(_ peripheral: CBPeripheral, didOpen channel: CBL2CAPChannel?, error: Error?) {}
}

func delegatesAreObjects(
  _ central: any CBCentralManagerDelegate, _ manager: any CBPeripheralManagerDelegate,
  _ peripheral: any CBPeripheralDelegate
) {
  let _: [any NSObjectProtocol] = [central, manager, peripheral]
}

/// Every requirement can be called through the protocol.
func calls(_ delegate: any CBCentralManagerDelegate, _ central: CBCentralManager, _ peripheral: CBPeripheral) {
  delegate.centralManagerDidUpdateState(central)
  delegate.centralManager(central, willRestoreState: [:])
  delegate.centralManager(central, didDiscover: peripheral, advertisementData: [:], rssi: NSNumber(value: -40))
  delegate.centralManager(central, didConnect: peripheral)
  delegate.centralManager(central, didFailToConnect: peripheral, error: nil)
  delegate.centralManager(central, didDisconnectPeripheral: peripheral, error: nil)
  delegate.centralManager(
    central, didDisconnectPeripheral: peripheral, timestamp: 0, isReconnecting: false, error: nil)
  delegate.centralManager(central, connectionEventDidOccur: .peerConnected, for: peripheral)
  delegate.centralManager(central, didUpdateANCSAuthorizationFor: peripheral)
}

func calls(_ delegate: any CBPeripheralManagerDelegate, _ manager: CBPeripheralManager, _ request: CBATTRequest) {
  delegate.peripheralManagerDidUpdateState(manager)
  delegate.peripheralManager(manager, willRestoreState: [:])
  delegate.peripheralManagerDidStartAdvertising(manager, error: nil)
  delegate.peripheralManager(manager, didAdd: request.characteristic.service, error: nil)
  delegate.peripheralManager(manager, central: request.central, didSubscribeTo: request.characteristic)
  delegate.peripheralManager(manager, central: request.central, didUnsubscribeFrom: request.characteristic)
  delegate.peripheralManager(manager, didReceiveRead: request)
  delegate.peripheralManager(manager, didReceiveWrite: [request])
  delegate.peripheralManagerIsReady(toUpdateSubscribers: manager)
  delegate.peripheralManager(manager, didPublishL2CAPChannel: 0x80, error: nil)
  delegate.peripheralManager(manager, didUnpublishL2CAPChannel: 0x80, error: nil)
  delegate.peripheralManager(manager, didOpen: nil, error: nil)
}
