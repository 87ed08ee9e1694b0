import BLEAdapter
import BLEHost
import BLEWire
import Dispatch
import Foundation

@testable import CoreBluetoothTypes

/// A program over a peripheral manager, or over a central manager.
final class ManagerProgram: NSObject, Program {
  let link: ScriptedLink
  private let role: FairnessRole
  private let managers = Shared<(peripheral: CBPeripheralManager?, central: CBCentralManager?)>((nil, nil))
  private let characteristics: [CBMutableCharacteristic]
  /// What everyone is to get, and there was no room for it.
  private let waiting = Shared<[ValueKind]>([])
  private let devices = Shared<[DeviceAddress: CBPeripheral]>([:])
  private let connected = Shared<Set<DeviceAddress>>([])
  private let tally = Shared(Tally())

  init(_ link: ScriptedLink, _ role: FairnessRole) {
    (self.link, self.role) = (link, role)
    let properties: [CBCharacteristicProperties] = [.notify, .indicate, [.read, .write]]
    characteristics = zip(ProgramService.values + [ProgramService.stored], properties).map { uuid, properties in
      CBMutableCharacteristic(
        type: CBUUID(string: "\(uuid)"), properties: properties, value: nil, permissions: [.readable, .writeable])
    }
    super.init()
    let queue = DispatchQueue(label: "program")
    switch role {
    case .peripheral:
      let manager = CBPeripheralManager(delegate: self, queue: queue, link: link.connection, log: { _ in })
      managers.change { $0.peripheral = manager }
    case .central:
      let manager = CBCentralManager(delegate: self, queue: queue, link: link.connection, log: { _ in })
      managers.change { $0.central = manager }
    }
  }

  /// The queue is serial: a block on it runs when no event is handled and no call is made.
  func settle() async {
    guard let manager: CBManager = managers.value.peripheral ?? managers.value.central else { return }
    while !manager.client.queue.sync(execute: { link.isSilent && !manager.hasCalls }) {}
  }

  func publish() {
    let service = CBMutableService(type: CBUUID(string: "\(ProgramService.uuid)"), primary: true)
    service.characteristics = characteristics
    managers.value.peripheral?.add(service)
  }

  func isSubscribed(_ peer: LinkID) -> Bool {
    characteristics.prefix(2).allSatisfy { $0.subscribedCentrals?.contains { $0.peer == peer } == true }
  }

  func send(_ kind: ValueKind, to peer: LinkID?) {
    guard let manager = managers.value.peripheral else { return }
    let centrals = peer.map { peer in manager.connectedCentrals.filter { $0.peer == peer } }
    let isTaken = manager.updateValue(
      Data(ProgramService.value), for: characteristics[kind.rawValue], onSubscribedCentrals: centrals)
    if peer == nil, !isTaken { waiting.change { $0.append(kind) } }
  }

  func connect(to address: DeviceAddress) {
    guard let manager = managers.value.central else { return }
    let text = "\(address.octets)"
    guard let device = manager.retrievePeripheral(withAddress: text, isRandom: address.kind == .random) else { return }
    devices.change { $0[address] = device }
    device.delegate = self
    manager.connect(device)
  }

  var isConnected: Set<DeviceAddress> { connected.value }

  private func address(of device: CBPeripheral) -> DeviceAddress? {
    devices.value.first { $0.value === device }?.key
  }

  func begin(_ procedure: Procedure, with address: DeviceAddress) {
    guard let device = devices.value[address],
      let stored = device.services?.first?.characteristics?.first(where: { $0.uuid == characteristics[2].uuid })
    else { return }
    switch procedure {
    case .read: device.readValue(for: stored)
    case .write: device.writeValue(Data(ProgramService.value), for: stored, type: .withResponse)
    case .readRSSI: device.readRSSI()
    case .discover: device.discoverServices(nil)
    case .receive: break
    }
  }

  func count(of procedure: Procedure, with device: DeviceAddress) -> Int { tally.value[procedure, device] }

  private func ended(_ procedure: Procedure, with device: CBPeripheral, _ error: (any Error)?) {
    guard error == nil, let address = address(of: device) else { return }
    tally.change { $0.add(procedure, address) }
  }

  func close() { managers.change { $0 = (nil, nil) } }
}

extension ManagerProgram: CBPeripheralManagerDelegate {
  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {}

  func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
    request.value = Data(ProgramService.value)
    peripheral.respond(to: request, withResult: .success)
  }

  func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
    guard let first = requests.first else { return }
    peripheral.respond(to: first, withResult: .success)
  }

  func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) {
    let again = waiting.value
    waiting.change { $0 = [] }
    for kind in again { send(kind, to: nil) }
  }
}

extension ManagerProgram: CBCentralManagerDelegate, CBPeripheralDelegate {
  func centralManagerDidUpdateState(_ central: CBCentralManager) {}

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    peripheral.discoverServices([CBUUID(string: "\(ProgramService.uuid)")])
  }

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
  ) { if let address = address(of: peripheral) { connected.change { $0.remove(address) } } }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    if let address = address(of: peripheral), connected.value.contains(address) {
      return ended(.discover, with: peripheral, error)
    }
    guard let service = peripheral.services?.first else { return }
    peripheral.discoverCharacteristics(nil, for: service)
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?) {
    guard let value = service.characteristics?.first(where: { $0.uuid == characteristics[0].uuid }) else { return }
    peripheral.setNotifyValue(true, for: value)
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic, error: (any Error)?
  ) { if let address = address(of: peripheral), error == nil { connected.change { $0.insert(address) } } }

  func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?) {
    ended(characteristic.uuid == characteristics[2].uuid ? .read : .receive, with: peripheral, error)
  }

  func peripheral(_ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?) {
    ended(.write, with: peripheral, error)
  }

  func peripheral(_ peripheral: CBPeripheral, didReadRSSI rssi: NSNumber, error: (any Error)?) {
    ended(.readRSSI, with: peripheral, error)
  }
}
