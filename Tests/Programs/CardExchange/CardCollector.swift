// swift-format-ignore-file: AlwaysUseLowerCamelCase

import CoreBluetooth

/// The central role: it connects to each peer it finds, subscribes to the peer's outbox and writes its own card into
/// the peer's inbox.
final class CardCollector: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, @unchecked Sendable {
  var received: (Data) -> Void = { _ in }

  private final class Peer {
    let peripheral: CBPeripheral
    var incoming = IncomingCard()
    var inbox: CBCharacteristic?
    var rest = Data()

    init(_ peripheral: CBPeripheral) { self.peripheral = peripheral }
  }

  private let card: Data
  private var manager: CBCentralManager?
  private var peers: [UUID: Peer] = [:]

  init(card: Data) { self.card = card }

  func start() { manager = CBCentralManager(delegate: self, queue: CardService.queue) }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    guard central.state == .poweredOn else { return }
    central.scanForPeripherals(withServices: [CardService.service])
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi RSSI: NSNumber
  ) {
    guard peers[peripheral.identifier] == nil else { return }
    peers[peripheral.identifier] = Peer(peripheral)
    peripheral.delegate = self
    central.connect(peripheral)
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    print("didConnect")
    peripheral.discoverServices([CardService.service])
  }

  func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: Error?) {
    print("didFailToConnect")
    central.connect(peripheral)
  }

  func centralManager(_ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: Error?) {
    print("didDisconnect")
    peers[peripheral.identifier] = Peer(peripheral)
    // As soon as the peer is near again.
    central.connect(peripheral)
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: Error?) {
    guard let service = peripheral.services?.first else { return print("no service") }
    peripheral.discoverCharacteristics([CardService.inbox, CardService.outbox], for: service)
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: Error?) {
    guard let peer = peers[peripheral.identifier] else { return }
    for characteristic in service.characteristics ?? [] {
      switch characteristic.uuid {
      case CardService.outbox: peripheral.setNotifyValue(true, for: characteristic)
      case CardService.inbox: peer.inbox = characteristic
      default: break
      }
    }
    peer.rest = CardService.framed(card)
    writePart(to: peer)
  }

  /// One part; the next one follows its answer.
  private func writePart(to peer: Peer) {
    guard let inbox = peer.inbox, !peer.rest.isEmpty else { return }
    // What fits into one packet: no long writes.
    let part = Data(peer.rest.prefix(peer.peripheral.maximumWriteValueLength(for: .withoutResponse)))
    peer.rest = Data(peer.rest.dropFirst(part.count))
    peer.peripheral.writeValue(part, for: inbox, type: .withResponse)
  }

  func peripheral(_ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: Error?) {
    guard let peer = peers[peripheral.identifier] else { return }
    if let error = error { return print("didWriteValue \(error.localizedDescription)") }
    if peer.rest.isEmpty {
      print("card sent")
    } else {
      writePart(to: peer)
    }
  }

  func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: Error?) {
    guard let peer = peers[peripheral.identifier], let part = characteristic.value else { return }
    peer.incoming.append(part)
    if let card = peer.incoming.card { received(card) }
  }
}
