import CoreBluetooth

/// A thermometer: the delegate answers reads, and subscribers receive each new value.
final class ThermometerPeripheral: NSObject, CBPeripheralManagerDelegate {
  private let temperature = CBMutableCharacteristic(
    type: CBUUID(string: "2A6E"), properties: [.read, .notify], value: nil, permissions: [.readable])
  private var manager: CBPeripheralManager?
  /// In 0.01 degrees Celsius, two octets, least significant first.
  private var value = Data([0x66, 0x08])

  func start(on queue: DispatchQueue, options: [String: Any]? = nil) {
    manager = CBPeripheralManager(delegate: self, queue: queue, options: options)
  }

  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
    guard peripheral.state == .poweredOn else { return }
    let service = CBMutableService(type: CBUUID(string: "181A"), primary: true)
    service.characteristics = [temperature]
    peripheral.add(service)
    peripheral.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [service.uuid]])
  }

  func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
    guard request.offset <= value.count else {
      return peripheral.respond(to: request, withResult: .invalidOffset)
    }
    request.value = value.dropFirst(request.offset)
    peripheral.respond(to: request, withResult: .success)
  }

  /// Call it on the queue of the manager.
  func measured(_ octets: Data) {
    value = octets
    manager?.updateValue(octets, for: temperature, onSubscribedCentrals: nil)
  }
}
