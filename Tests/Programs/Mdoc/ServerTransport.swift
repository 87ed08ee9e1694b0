import CoreBluetooth

/// The end that advertises and has the characteristics.
final class ServerTransport: NSObject, MdocTransport, @unchecked Sendable {
  weak var delegate: MdocTransportDelegate?

  private let profile: MdocProfile
  private let offersChannel: Bool
  private var manager: CBPeripheralManager?
  private let state: CBMutableCharacteristic
  private let serverToClient: CBMutableCharacteristic
  private var chunks = MdocChunks()
  private var client: CBCentral?
  private var channel: ChannelMessages?
  private var isEnding = false
  private var isEnded = false

  init(profile: MdocProfile, offersChannel: Bool) {
    self.profile = profile
    self.offersChannel = offersChannel
    state = CBMutableCharacteristic(
      type: profile.state, properties: [.notify, .writeWithoutResponse], value: nil, permissions: .writeable)
    serverToClient = CBMutableCharacteristic(
      type: profile.serverToClient, properties: .notify, value: nil, permissions: [])
  }

  func open() { manager = CBPeripheralManager(delegate: self, queue: .main) }

  func send(_ message: Data) {
    if let channel = channel { return channel.send(message) }
    // The MTU is 3 octets more than what fits.
    chunks.append(message, length: client?.maximumUpdateValueLength ?? 20)
    sendChunks()
  }

  func end() {
    if let channel = channel { return channel.end() }
    isEnding = true
    sendChunks()
  }

  private func sendChunks() {
    guard let manager = manager, let client = client else { return }
    while let chunk = chunks.next {
      guard manager.updateValue(chunk, for: serverToClient, onSubscribedCentrals: [client]) else { return }
      chunks.removeNext()
    }
    if isEnding, !isEnded, manager.updateValue(MdocState.end, for: state, onSubscribedCentrals: [client]) {
      isEnded = true
    }
  }

  private func reset() {
    let wasEnded = isEnded
    (client, channel) = (nil, nil)
    chunks = MdocChunks()
    (isEnding, isEnded) = (false, false)
    delegate?.transport(self, didEndInGoodOrder: wasEnded)
  }

  private func publish(channel psm: CBL2CAPPSM?) {
    let clientToServer = CBMutableCharacteristic(
      type: profile.clientToServer, properties: .writeWithoutResponse, value: nil, permissions: .writeable)
    let service = CBMutableService(type: profile.service, primary: true)
    var characteristics: [CBMutableCharacteristic] = [state, clientToServer, serverToClient]
    if let ident = profile.ident {
      characteristics.append(
        CBMutableCharacteristic(
          type: ident, properties: .read, value: MdocProfile.identValue, permissions: .readable))
    }
    if let psm = psm {
      let value = Data([UInt8(psm & 0xFF), UInt8(psm >> 8)])
      characteristics.append(
        CBMutableCharacteristic(type: profile.channel, properties: .read, value: value, permissions: .readable))
    }
    service.characteristics = characteristics
    manager?.add(service)
  }
}

extension ServerTransport: CBPeripheralManagerDelegate {
  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
    guard peripheral.state == .poweredOn else { return }
    if offersChannel {
      peripheral.publishL2CAPChannel(withEncryption: false)
    } else {
      publish(channel: nil)
    }
  }

  func peripheralManager(_ peripheral: CBPeripheralManager, didPublishL2CAPChannel psm: CBL2CAPPSM, error: Error?) {
    if let error = error { return print("no channel: \(error.localizedDescription)") }
    publish(channel: psm)
  }

  func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: Error?) {
    if let error = error { return print("didAdd \(error.localizedDescription)") }
    peripheral.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [profile.service]])
  }

  func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: Error?) {
    print("advertising")
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
  ) {
    client = central
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic
  ) {
    guard central.identifier == client?.identifier else { return }
    // A client also unsubscribes when it leaves in good order.
    reset()
  }

  func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
    for request in requests {
      guard let value = request.value else { continue }
      switch (request.characteristic.uuid, value) {
      case (profile.state, MdocState.start): delegate?.transportDidStart(self)
      case (profile.state, MdocState.end): isEnded = true
      case (profile.clientToServer, _):
        let message = chunks.receive(value)
        delegate?.transport(self, didReceivePartOf: message?.count ?? chunks.incomingLength)
        if let message = message { delegate?.transport(self, didReceive: message) }
      default: print("unexpected \(value.count) octets for \(request.characteristic.uuid)")
      }
    }
  }

  func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) { sendChunks() }

  func peripheralManager(_ peripheral: CBPeripheralManager, didOpen channel: CBL2CAPChannel?, error: Error?) {
    guard let channel = channel else { return print("didOpen \(error?.localizedDescription ?? "")") }
    self.channel = ChannelMessages(channel, of: self) { [weak self] in self?.channelEnded(isInGoodOrder: $0) }
    delegate?.transportDidStart(self)
  }

  private func channelEnded(isInGoodOrder: Bool) {
    isEnded = isInGoodOrder
    reset()
  }
}
