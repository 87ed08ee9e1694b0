import CoreBluetooth
import MockedBluetooth

/// Code under test with mocks instead of managers and peers: no adapter takes part.
final class MockRun: NSObject, CBCentralManagerDelegate, CBPeripheralManagerDelegate {
  func run() {
    let central = MockCentralManager(delegate: self, queue: nil)
    central.change(to: .poweredOff)
    central.change(to: .poweredOn)
    print("scans for \(central.scannedServices.map { $0?.map(\.uuidString) ?? [] }) \(central.isScanning)")
    central.stopScan()
    print("scans \(central.isScanning)")

    let manager = MockPeripheralManager(delegate: self, queue: .main, options: nil)
    let greeting = CBMutableCharacteristic(
      type: CBUUID(string: "2A3D"), properties: .notify, value: nil, permissions: .readable)
    let service = CBMutableService(type: CBUUID(string: "181C"), primary: true)
    service.characteristics = [greeting]
    manager.add(service)
    let sender = ChunkSender(manager: manager, characteristic: greeting)
    sender.send("Hello, world", to: MockCentral(maximumUpdateValueLength: 4))
    print("sent \(manager.sent.map { String(decoding: $0, as: UTF8.self) }) \(sender.isDone)")
    manager.room = 9
    sender.continueSending()
    print("sent \(manager.sent.count) \(sender.isDone)")

    let peripheral = MockPeripheral()
    let seen: any Peripheral = peripheral
    seen.discoverServices([CBUUID(string: "180F")])
    for service in seen.services ?? [] {
      seen.discoverCharacteristics(nil, for: service)
      for characteristic in service.characteristics ?? [] {
        seen.readValue(for: characteristic)
        seen.writeValue(Data([1]), for: characteristic, type: .withResponse)
        print("level \(characteristic.value?.first ?? 0)")
      }
    }
    print(peripheral.calls)
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    print("centralManagerDidUpdateState \(central.state == .poweredOn)")
    if central.state == .poweredOn { central.scanForPeripherals(withServices: [CBUUID(string: "180D")]) }
  }

  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {}

  func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: Error?) {
    print("didAdd \(service.uuid.uuidString)")
    peripheral.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [service.uuid]])
  }

  func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: Error?) {
    print("peripheralManagerDidStartAdvertising \(peripheral.isAdvertising)")
  }
}
