// swift-format-ignore-file: AlwaysUseLowerCamelCase

import CoreBluetooth

/// The end that scans and connects. It uses the channel where the server has one and the program wants it.
final class ClientTransport: NSObject, MdocTransport, @unchecked Sendable {
  weak var delegate: MdocTransportDelegate?

  private let profile: MdocProfile
  private let wantsChannel: Bool
  private var manager: CBCentralManager?
  private var server: CBPeripheral?
  private var state: CBCharacteristic?
  private var clientToServer: CBCharacteristic?
  private var serverToClient: CBCharacteristic?
  private var chunks = MdocChunks()
  private var channel: ChannelMessages?
  private var isWriting = false
  private var isEnded = false

  init(profile: MdocProfile, wantsChannel: Bool) {
    self.profile = profile
    self.wantsChannel = wantsChannel
  }

  func open() { manager = CBCentralManager(delegate: self, queue: nil) }

  func send(_ message: Data) {
    if let channel = channel { return channel.send(message) }
    guard let server = server else { return }
    chunks.append(message, length: server.maximumWriteValueLength(for: .withoutResponse))
    if !isWriting { sendChunk() }
  }

  /// One chunk; the next one is sent when the server is ready for it.
  private func sendChunk() {
    guard let server = server, let clientToServer = clientToServer, let chunk = chunks.next else {
      isWriting = false
      return
    }
    isWriting = true
    chunks.removeNext()
    server.writeValue(chunk, for: clientToServer, type: .withoutResponse)
  }

  func end() {
    if let channel = channel { return channel.end() }
    guard let server = server, let state = state else { return }
    isEnded = true
    server.writeValue(MdocState.end, for: state, type: .withoutResponse)
    // A write without response has no answer. This has one, after the server has received the write.
    server.setNotifyValue(false, for: state)
  }

  private func disconnect() {
    if let server = server { manager?.cancelPeripheralConnection(server) }
  }
}

extension ClientTransport: CBCentralManagerDelegate {
  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    guard central.state == .poweredOn else { return }
    central.scanForPeripherals(withServices: [profile.service], options: nil)
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi RSSI: NSNumber
  ) {
    guard server == nil else { return }
    central.stopScan()
    server = peripheral
    peripheral.delegate = self
    central.connect(peripheral, options: nil)
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    peripheral.discoverServices([profile.service])
  }

  func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: Error?) {
    print("didFailToConnect")
    central.connect(peripheral, options: nil)
  }

  func centralManager(_ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: Error?) {
    let wasEnded = isEnded
    (server, state, clientToServer, serverToClient, channel) = (nil, nil, nil, nil, nil)
    chunks = MdocChunks()
    (isWriting, isEnded) = (false, false)
    delegate?.transport(self, didEndInGoodOrder: wasEnded)
    central.scanForPeripherals(withServices: [profile.service], options: nil)
  }
}

extension ClientTransport: CBPeripheralDelegate {
  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: Error?) {
    guard let service = peripheral.services?.first(where: { $0.uuid == profile.service }) else {
      print("didDiscoverServices \(error?.localizedDescription ?? "none")")
      return disconnect()
    }
    peripheral.discoverCharacteristics(nil, for: service)
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: Error?) {
    func characteristic(_ uuid: CBUUID) -> CBCharacteristic? {
      service.characteristics?.first { $0.uuid == uuid }
    }
    state = characteristic(profile.state)
    clientToServer = characteristic(profile.clientToServer)
    serverToClient = characteristic(profile.serverToClient)
    if let ident = profile.ident {
      guard let ident = characteristic(ident) else { return disconnect() }
      peripheral.readValue(for: ident)
    }
    if wantsChannel {
      guard let psm = characteristic(profile.channel) else { return disconnect() }
      peripheral.readValue(for: psm)
    } else if let state = state, let serverToClient = serverToClient {
      peripheral.setNotifyValue(true, for: state)
      peripheral.setNotifyValue(true, for: serverToClient)
    }
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic, error: Error?
  ) {
    if characteristic == state, !characteristic.isNotifying { return disconnect() }
    guard characteristic == serverToClient, characteristic.isNotifying, let state = state else { return }
    peripheral.writeValue(MdocState.start, for: state, type: .withoutResponse)
    delegate?.transportDidStart(self)
  }

  func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: Error?) {
    guard let value = characteristic.value else { return print("no value: \(error?.localizedDescription ?? "")") }
    switch characteristic.uuid {
    case profile.ident:
      guard value == MdocProfile.identValue else { return disconnect() }
      print("ident")
    case profile.channel:
      peripheral.openL2CAPChannel(CBL2CAPPSM(value[value.startIndex]) | CBL2CAPPSM(value[value.startIndex + 1]) << 8)
    case profile.state where value == MdocState.end:
      isEnded = true
      disconnect()
    case profile.serverToClient:
      let message = chunks.receive(value)
      delegate?.transport(self, didReceivePartOf: message?.count ?? chunks.incomingLength)
      if let message = message { delegate?.transport(self, didReceive: message) }
    default:
      print("unexpected value of \(characteristic.uuid)")
    }
  }

  func peripheralIsReady(toSendWriteWithoutResponse peripheral: CBPeripheral) { sendChunk() }

  func peripheral(_ peripheral: CBPeripheral, didOpen channel: CBL2CAPChannel?, error: Error?) {
    guard let channel = channel else {
      print("didOpen \(error?.localizedDescription ?? "")")
      return disconnect()
    }
    self.channel = ChannelMessages(channel, of: self) { [weak self] in self?.channelEnded(isInGoodOrder: $0) }
    delegate?.transportDidStart(self)
  }

  private func channelEnded(isInGoodOrder: Bool) {
    isEnded = isInGoodOrder
    disconnect()
  }
}
