import CoreBluetooth

/// The peripheral role: it takes cards in its inbox, and sends its own card to each central that subscribes to the
/// outbox.
final class CardPublisher: NSObject, CBPeripheralManagerDelegate, @unchecked Sendable {
  var received: (Data) -> Void = { _ in }

  private let card: Data
  private let octetsUntilKilled: Int?
  private var manager: CBPeripheralManager?
  private let outbox = CBMutableCharacteristic(
    type: CardService.outbox, properties: [.notify], value: nil, permissions: [.readable])
  private var pending: [(central: CBCentral, part: Data)] = []
  private var incoming: [UUID: IncomingCard] = [:]
  private var octets = 0

  init(card: Data, octetsUntilKilled: Int?) {
    self.card = card
    self.octetsUntilKilled = octetsUntilKilled
  }

  func start() { manager = CBPeripheralManager(delegate: self, queue: CardService.queue) }

  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
    guard peripheral.state == .poweredOn else { return }
    let inbox = CBMutableCharacteristic(
      type: CardService.inbox, properties: [.write], value: nil, permissions: [.writeable])
    let service = CBMutableService(type: CardService.service, primary: true)
    service.characteristics = [inbox, outbox]
    peripheral.removeAllServices()
    peripheral.add(service)
  }

  func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: Error?) {
    peripheral.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [CardService.service]])
  }

  func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: Error?) {
    print("advertising")
  }

  func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
    for request in requests {
      let identifier = request.central.identifier
      let part = request.value ?? Data()
      octets += part.count
      if let limit = octetsUntilKilled, octets >= limit { kill(getpid(), SIGKILL) }
      incoming[identifier, default: IncomingCard()].append(part)
      guard let card = incoming[identifier]?.card else { continue }
      incoming[identifier] = nil
      received(card)
    }
    peripheral.respond(to: requests[0], withResult: .success)
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
  ) {
    print("didSubscribe")
    // A central that comes back after its link was lost begins anew.
    incoming[central.identifier] = nil
    pending.removeAll { $0.central.identifier == central.identifier }
    let framed = CardService.framed(card)
    let length = central.maximumUpdateValueLength
    for start in stride(from: 0, to: framed.count, by: length) {
      pending.append((central, framed.subdata(in: start..<min(start + length, framed.count))))
    }
    send()
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic
  ) {
    print("didUnsubscribe")
    incoming[central.identifier] = nil
    pending.removeAll { $0.central.identifier == central.identifier }
  }

  func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) { send() }

  private func send() {
    while let next = pending.first {
      guard manager?.updateValue(next.part, for: outbox, onSubscribedCentrals: [next.central]) == true else { return }
      pending.removeFirst()
    }
  }
}
