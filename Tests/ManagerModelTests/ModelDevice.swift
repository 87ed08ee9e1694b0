import AdapterFixtures
import BLEAdapter
import BLEHost
import BLEWire
import Dispatch
import Foundation
import ModelFixtures

@testable import CoreBluetoothTypes

/// A program on one device of the model: a central manager, a peripheral manager, and what their delegates are told.
///
/// It is used on one turn at a time (``ModelRadio``).
final class ModelDevice: NSObject, @unchecked Sendable {
  static let services = ["FA00", "FB00"].map { CBUUID(string: $0) }
  static let (stored, notified, command) = (CBUUID(string: "FC01"), CBUUID(string: "FC02"), CBUUID(string: "FC03"))

  /// The calls that promise an answer.
  enum Promise: String, CaseIterable {
    case connection, services, characteristics, read, write, notification, rssi, phy, add, start, publish, unpublish
  }

  private(set) var central: CBCentralManager?
  private(set) var peripheral: CBPeripheralManager?
  private(set) var peer: CBPeripheral?
  private(set) var published: [CBMutableService] = []
  private var channels: [CBL2CAPPSM] = []
  /// The promises, less the answers.
  private(set) var open: [Promise: Int] = [:]
  private(set) var faults: [String] = []
  /// What was asked of the peer, and what has taken effect here, in order.
  private(set) var asked: [String] = []
  private(set) var effects: [String] = []
  private(set) var calls: [String: Int] = [:]
  /// Calls to be made in the next calls of a delegate.
  private var inCalls: [ModelMove.Action] = []
  private var number = 0
  private let queues = [DispatchQueue(label: "central"), DispatchQueue(label: "peripheral")]
  private let clients: [ModelClient]

  init(_ clients: [ModelClient]) {
    self.clients = clients
    super.init()
    central = CBCentralManager(delegate: self, queue: queues[0], link: clients[0].link, log: { _, _ in })
    peripheral = CBPeripheralManager(delegate: self, queue: queues[1], link: clients[1].link, log: { _, _ in })
  }

  /// Waits until a manager has taken every event and made every call.
  func finish(_ client: Int) {
    guard let manager: CBManager = client == 0 ? central : peripheral else { return }
    let link = clients[client].link
    while !manager.client.queue.sync(execute: { link.isSilent && !manager.hasCalls }) {}
  }

  func finishAll() { for client in 0...1 { finish(client) } }

  private func promise(_ promise: Promise) { open[promise, default: 0] += 1 }

  private func answer(_ promise: Promise) {
    open[promise, default: 0] -= 1
    if open[promise, default: 0] < 0 { faults.append("an answer without a call: \(promise.rawValue)") }
    told()
  }

  /// A delegate is called.
  private func told() {
    guard !inCalls.isEmpty else { return }
    perform(inCalls.removeFirst())
  }

  func performInCall(_ action: ModelMove.Action) { inCalls.append(action) }
  func forgetInCalls() { inCalls = [] }

  func meet(_ address: DeviceAddress) {
    guard peer == nil, central?.state == .poweredOn else { return }
    peer = central?.retrievePeripheral(withAddress: "\(address.octets)", isRandom: address.kind == .random)
    peer?.delegate = self
  }

  /// The adapter was lost: every peripheral is void.
  func forgetPeer() { peer = nil }

  private func found(_ uuid: CBUUID) -> CBCharacteristic? {
    for service in peer?.services ?? [] {
      if let found = service.characteristics?.first(where: { $0.uuid == uuid }) { return found }
    }
    return nil
  }

  /// Makes a call if it is one that has an answer, or an effect.
  func perform(_ action: ModelMove.Action) {
    guard let central, let peripheral else { return }
    calls["\(action)", default: 0] += 1
    number += 1
    if action.isOfPeripheral {
      guard peripheral.state == .poweredOn else { return }
      return performAsPeripheral(action, peripheral)
    }
    guard central.state == .poweredOn, let peer else { return }
    switch action {
    case .connect:
      guard peer.state == .disconnected else { return }
      promise(.connection)
      return central.connect(peer)
    case .cancel: return central.cancelPeripheralConnection(peer)
    case .scan: return central.scanForPeripherals(withServices: nil)
    case .stopScan: return central.stopScan()
    default: break
    }
    guard peer.state == .connected else { return }
    switch action {
    case .discoverServices:
      promise(.services)
      peer.discoverServices(nil)
    case .readRSSI:
      promise(.rssi)
      peer.readRSSI()
    case .readPHY:
      promise(.phy)
      peer.readPHY()
    case .discoverCharacteristics:
      guard let service = peer.services?.first else { return }
      promise(.characteristics)
      peer.discoverCharacteristics(nil, for: service)
    case .read:
      guard let value = found(Self.stored) else { return }
      promise(.read)
      peer.readValue(for: value)
    case .write(let length):
      guard let value = found(Self.stored) else { return }
      promise(.write)
      asked.append("write \(number)")
      peer.writeValue(octets(length), for: value, type: .withResponse)
    case .command:
      guard let value = found(Self.command) else { return }
      asked.append("write \(number)")
      peer.writeValue(octets(8), for: value, type: .withoutResponse)
    case .notify(let isOn):
      guard let value = found(Self.notified) else { return }
      promise(.notification)
      asked.append(isOn ? "subscribe" : "unsubscribe")
      peer.setNotifyValue(isOn, for: value)
    default: break
    }
  }

  private func octets(_ length: Int) -> Data {
    var octets = Data(count: max(2, length))
    (octets[0], octets[1]) = (UInt8(number >> 8 & 0xFF), UInt8(number & 0xFF))
    return octets
  }

  private func performAsPeripheral(_ action: ModelMove.Action, _ manager: CBPeripheralManager) {
    switch action {
    case .add(let index):
      let service = CBMutableService(type: Self.services[index], primary: true)
      service.characteristics = [
        CBMutableCharacteristic(
          type: Self.stored, properties: [.read, .write], value: nil, permissions: [.readable, .writeable]),
        CBMutableCharacteristic(type: Self.notified, properties: .notify, value: nil, permissions: .readable),
        CBMutableCharacteristic(
          type: Self.command, properties: .writeWithoutResponse, value: nil, permissions: .writeable),
      ]
      guard published.count < 4 else { return }
      promise(.add)
      published.append(service)
      manager.add(service)
    case .remove:
      guard !published.isEmpty else { return }
      manager.remove(published.removeFirst())
    case .removeAll:
      published = []
      manager.removeAllServices()
    case .start:
      promise(.start)
      manager.startAdvertising([CBAdvertisementDataLocalNameKey: "m\(number)"])
    case .stop: manager.stopAdvertising()
    case .update:
      for service in published {
        guard let value = service.characteristics?[1] as? CBMutableCharacteristic else { continue }
        manager.updateValue(Data([1]), for: value, onSubscribedCentrals: nil)
      }
    case .publish:
      guard channels.count + open[.publish, default: 0] < 4 else { return }
      promise(.publish)
      manager.publishL2CAPChannel(withEncryption: false)
    case .unpublish:
      guard let psm = channels.popLast() else { return }
      promise(.unpublish)
      manager.unpublishL2CAPChannel(psm)
    default: break
    }
  }

  func release() { (central, peripheral, peer) = (nil, nil, nil) }
}

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
  func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?) {
    if characteristic.uuid == Self.stored { answer(.read) } else { told() }
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
    if peripheral.state.rawValue < CBManagerState.poweredOff.rawValue { (published, channels) = ([], []) }
    told()
  }
  func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {
    answer(.add)
  }
  func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: (any Error)?) { answer(.start) }
  func peripheralManager(_ peripheral: CBPeripheralManager, didPublishL2CAPChannel psm: CBL2CAPPSM, error: (any Error)?)
  {
    if error == nil { channels.append(psm) }
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
}
