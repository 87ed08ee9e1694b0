import CoreBluetooth

/// A device that waits for its provisioner: it answers each message, and sends its segments as notifications while
/// there is room for them.
final class UnprovisionedDevice: NSObject, CBPeripheralManagerDelegate, @unchecked Sendable {
  private let publicKey: Data
  private let certificate: Data
  private let segmentLength: Int?
  /// After how many messages the device loses its power.
  private let messagesUntilKilled: Int?

  private var manager: CBPeripheralManager?
  private let dataOut = CBMutableCharacteristic(
    type: Mesh.dataOut, properties: .notify, value: nil, permissions: .readable)
  private var segments: [Data] = []
  private var reassembler = ProxyPDU.Reassembler()
  private var central: CBCentral?
  private var received = 0

  init(publicKey: Data, certificate: Data, segmentLength: Int?, messagesUntilKilled: Int?) {
    self.publicKey = publicKey
    self.certificate = certificate
    self.segmentLength = segmentLength
    self.messagesUntilKilled = messagesUntilKilled
  }

  func start() { manager = CBPeripheralManager(delegate: self, queue: .main) }

  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
    guard peripheral.state == .poweredOn else { return }
    let dataIn = CBMutableCharacteristic(
      type: Mesh.dataIn, properties: .writeWithoutResponse, value: nil, permissions: .writeable)
    let service = CBMutableService(type: Mesh.provisioningService, primary: true)
    service.characteristics = [dataIn, dataOut]
    peripheral.add(service)
    peripheral.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [Mesh.provisioningService]])
  }

  func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: Error?) {
    print("unprovisioned")
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
  ) {
    print("didSubscribe")
    self.central = central
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic
  ) {
    print("didUnsubscribe")
    self.central = nil
    segments = []
    reassembler = ProxyPDU.Reassembler()
  }

  func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
    for request in requests {
      guard let segment = request.value, let message = reassembler.receive(segment) else { continue }
      answer(message)
    }
  }

  func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) { sendSegments() }

  private func answer(_ message: Data) {
    received += 1
    if received == messagesUntilKilled { kill(getpid(), SIGKILL) }
    switch message.first {
    case Mesh.invite:
      print("invite")
      send(Data([Mesh.capabilities, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]))
    case Mesh.recordRequest:
      let offset = message.number(at: 3)
      let fragment = certificate.dropFirst(offset).prefix(message.number(at: 5))
      let fields = [1, offset, certificate.count].map { Data(number: $0) }
      send(Data([Mesh.recordResponse, 0]) + fields.joined() + fragment)
    case Mesh.start:
      print("start")
    case Mesh.publicKey:
      print("publicKey \(message.dropFirst().hex)")
      send(Data([Mesh.publicKey]) + publicKey)
    case Mesh.confirmation:
      send(Data([Mesh.confirmation]) + publicKey.prefix(16))
    case Mesh.random:
      send(Data([Mesh.random]) + publicKey.suffix(16))
    case Mesh.data:
      print("data \(message.dropFirst().hex)")
      send(Data([Mesh.complete]))
    default:
      print("unexpected \(message.hex)")
    }
  }

  private func send(_ message: Data) {
    guard let central = central else { return }
    segments += ProxyPDU.segments(of: message, length: segmentLength ?? central.maximumUpdateValueLength)
    sendSegments()
  }

  private func sendSegments() {
    while let segment = segments.first {
      guard manager?.updateValue(segment, for: dataOut, onSubscribedCentrals: nil) == true else { return }
      segments.removeFirst()
    }
  }
}
