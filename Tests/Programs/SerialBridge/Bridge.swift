import CoreBluetooth

/// The bridge: it sends its banner at the subscription, answers `hello` with `ready`, and returns all that follows.
final class Bridge: NSObject, CBPeripheralManagerDelegate, @unchecked Sendable {
  private let octetsUntilKilled: Int?
  private lazy var manager = CBPeripheralManager(delegate: self, queue: nil)
  private let transmit = CBMutableCharacteristic(
    type: NordicUART.transmit, properties: .notify, value: nil, permissions: .readable)
  private var terminal: CBCentral?
  private var isGreeted = false
  private var outgoing = Data()
  private var received = 0

  /// - Parameter octetsUntilKilled: the program is killed when so many octets have arrived.
  init(octetsUntilKilled: Int?) { self.octetsUntilKilled = octetsUntilKilled }

  func start() { _ = manager.state }

  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
    guard peripheral.state == .poweredOn else { return }
    let receive = CBMutableCharacteristic(
      type: NordicUART.receive, properties: [.write, .writeWithoutResponse], value: nil, permissions: .writeable)
    let service = CBMutableService(type: NordicUART.service, primary: true)
    service.characteristics = [receive, transmit]
    peripheral.add(service)
    peripheral.startAdvertising([
      CBAdvertisementDataLocalNameKey: "Bridge", CBAdvertisementDataServiceUUIDsKey: [NordicUART.service],
    ])
  }

  func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: Error?) {
    print("advertising")
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
  ) {
    print("didSubscribe")
    terminal = central
    // Before what may already have been written.
    outgoing = NordicUART.banner + outgoing
    send()
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic
  ) {
    print("didUnsubscribe")
    terminal = nil
    outgoing = Data()
    isGreeted = false
  }

  func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
    for request in requests {
      let value = request.value ?? Data()
      received += value.count
      if let limit = octetsUntilKilled, received >= limit { kill(getpid(), SIGKILL) }
      if isGreeted {
        outgoing += value
      } else if value == NordicUART.hello {
        print("hello")
        isGreeted = true
        outgoing += NordicUART.ready
      } else {
        print("\(value.count) octets before hello")
      }
    }
    peripheral.respond(to: requests[0], withResult: .success)
    send()
  }

  func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) { send() }

  private func send() {
    guard let terminal = terminal else { return }
    while !outgoing.isEmpty {
      let part = outgoing.prefix(terminal.maximumUpdateValueLength)
      if !manager.updateValue(part, for: transmit, onSubscribedCentrals: nil) { return }
      outgoing = outgoing.dropFirst(part.count)
    }
  }
}
