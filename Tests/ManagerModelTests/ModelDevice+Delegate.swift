import BLEHost
import Foundation

@testable import CoreBluetoothTypes

extension ModelDevice: CBCentralManagerDelegate, CBPeripheralDelegate {
  func centralManagerDidUpdateState(_ central: CBCentralManager) { told() }
  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) { told() }
  func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?) {
    answer(.connection)
  }
  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
  ) {
    answer(.connection)
  }
  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) { answer(.services) }
  func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?) {
    answer(.characteristics)
  }
  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverIncludedServicesFor service: CBService, error: (any Error)?
  ) { answer(.included) }
  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverDescriptorsFor characteristic: CBCharacteristic, error: (any Error)?
  ) { answer(.descriptors) }
  func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor descriptor: CBDescriptor, error: (any Error)?) {
    answer(.readDescriptor)
  }
  func peripheral(_ peripheral: CBPeripheral, didWriteValueFor descriptor: CBDescriptor, error: (any Error)?) {
    answer(.writeDescriptor)
  }
  func peripheral(_ peripheral: CBPeripheral, didOpen channel: CBL2CAPChannel?, error: (any Error)?) {
    if let channel { add(channel) }
    answer(.channel)
  }
  func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
    if let peer = (dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral])?.first { restore(peer) }
    told()
  }
  func centralManager(
    _ central: CBCentralManager, connectionEventDidOccur event: CBConnectionEvent, for peripheral: CBPeripheral
  ) { told() }
  func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?) {
    if [Self.stored, Self.encrypted].contains(characteristic.uuid) { answer(.read) } else { told() }
  }
  func peripheral(_ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?) {
    answer(.write)
  }
  func peripheral(
    _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic, error: (any Error)?
  ) { answer(.notification) }
  func peripheral(_ peripheral: CBPeripheral, didReadRSSI rssi: NSNumber, error: (any Error)?) { answer(.rssi) }
  func peripheral(_ peripheral: CBPeripheral, didUpdatePHY phy: ConnectionPHY?, error: (any Error)?) { answer(.phy) }
  func peripheral(_ peripheral: CBPeripheral, didModifyServices invalidatedServices: [CBService]) { told() }
  func peripheralIsReady(toSendWriteWithoutResponse peripheral: CBPeripheral) { told() }
}

extension ModelDevice: CBPeripheralManagerDelegate {
  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
    // Below powered off everything that was published is gone.
    if peripheral.state.rawValue < CBManagerState.poweredOff.rawValue { (published, listeners) = ([], []) }
    told()
  }
  func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {
    answer(.add)
  }
  func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: (any Error)?) { answer(.start) }
  func peripheralManager(_ peripheral: CBPeripheralManager, didPublishL2CAPChannel psm: CBL2CAPPSM, error: (any Error)?)
  {
    if error == nil { listeners.append(psm) }
    answer(.publish)
  }
  func peripheralManager(
    _ peripheral: CBPeripheralManager, didUnpublishL2CAPChannel psm: CBL2CAPPSM, error: (any Error)?
  ) { answer(.unpublish) }
  func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
    request.value = Data([7]).dropFirst(request.offset)
    peripheral.respond(to: request, withResult: request.offset <= 1 ? .success : .invalidOffset)
    told()
  }
  func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
    for request in requests where request.offset == 0 {
      let octets = [UInt8](request.value ?? Data())
      effects.append(octets.count < 2 ? "write -" : "write \(Int(octets[0]) << 8 | Int(octets[1]))")
    }
    if let first = requests.first { peripheral.respond(to: first, withResult: .success) }
    told()
  }
  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
  ) {
    effects.append("subscribe")
    told()
  }
  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic
  ) { told() }
  func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) { told() }
  func peripheralManager(_ peripheral: CBPeripheralManager, didOpen channel: CBL2CAPChannel?, error: (any Error)?) {
    if let channel { add(channel) }
    told()
  }
  func peripheralManager(_ peripheral: CBPeripheralManager, willRestoreState dict: [String: Any]) {
    published = dict[CBPeripheralManagerRestoredStateServicesKey] as? [CBMutableService] ?? []
    told()
  }
  func peripheralManager(
    _ peripheral: CBPeripheralManager, didReadRSSI rssi: Int?, of central: CBCentral, error: (any Error)?
  ) { answer(.rssiOfCentral) }
  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral, didUpdatePHY phy: ConnectionPHY?, error: (any Error)?
  ) { answer(.phyOfCentral) }
}
