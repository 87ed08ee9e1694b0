import CoreBluetooth

/// The device that has the file.
final class Source: NSObject, CBPeripheralManagerDelegate, @unchecked Sendable {
  private let file: Data
  private let octetsUntilKilled: Int?
  private var manager: CBPeripheralManager?
  private let content = CBMutableCharacteristic(
    type: TransferService.content, properties: [.notify], value: nil, permissions: [.readable])
  private var receiver: CBCentral?
  private var position: Int?
  private var sent = 0

  /// - Parameter octetsUntilKilled: the program is killed when it has sent so many octets.
  init(file: Data, octetsUntilKilled: Int?) {
    self.file = file
    self.octetsUntilKilled = octetsUntilKilled
  }

  func start() { manager = CBPeripheralManager(delegate: self, queue: .main) }

  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
    guard peripheral.state == .poweredOn else { return }
    let length = CBMutableCharacteristic(
      type: TransferService.length, properties: [.read], value: TransferService.data(file.count),
      permissions: [.readable])
    let offset = CBMutableCharacteristic(
      type: TransferService.offset, properties: [.write], value: nil, permissions: [.writeable])
    let service = CBMutableService(type: TransferService.service, primary: true)
    service.characteristics = [length, offset, content]
    peripheral.add(service)
    peripheral.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [TransferService.service]])
  }

  func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: Error?) {
    print("advertising")
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
  ) {
    receiver = central
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic
  ) {
    print("didUnsubscribe")
    (receiver, position) = (nil, nil)
  }

  func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
    guard let request = requests.first, let value = request.value, value.count == 4 else {
      return peripheral.respond(to: requests[0], withResult: .invalidAttributeValueLength)
    }
    let offset = TransferService.number(value)
    guard offset <= file.count, receiver != nil else {
      return peripheral.respond(to: request, withResult: .invalidOffset)
    }
    print("from \(offset)")
    position = offset
    peripheral.respond(to: request, withResult: .success)
    send()
  }

  func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) { send() }

  private func send() {
    guard let manager = manager, let receiver = receiver, var position = position else { return }
    defer { self.position = position }
    while position < file.count {
      let part = file[position..<min(position + receiver.maximumUpdateValueLength, file.count)]
      guard manager.updateValue(part, for: content, onSubscribedCentrals: [receiver]) else { return }
      position += part.count
      sent += part.count
      if let limit = octetsUntilKilled, sent >= limit { kill(getpid(), SIGKILL) }
    }
  }
}
