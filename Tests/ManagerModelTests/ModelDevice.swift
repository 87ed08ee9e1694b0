import AdapterFixtures
import BLEAdapter
import BLEHost
import BLETesting
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
  static let encrypted = CBUUID(string: "FC04")

  /// The calls that promise an answer.
  enum Promise: String, CaseIterable {
    case connection, services, characteristics, included, descriptors, read, write, readDescriptor, writeDescriptor
    case notification, rssi, phy, channel
    case add, start, publish, unpublish, rssiOfCentral, phyOfCentral
  }

  private let index: Int
  private let radio: ModelRadio
  private let identifier: String?
  private(set) var central: CBCentralManager?
  private(set) var peripheral: CBPeripheralManager?
  private(set) var peer: CBPeripheral?
  var published: [CBMutableService] = []
  /// The PSMs of this device.
  var listeners: [CBL2CAPPSM] = []
  var channels: [ModelChannel] = []
  var other: ModelDevice?
  /// The promises, less the answers.
  private(set) var open: [Promise: Int] = [:]
  var faults: [String] = []
  /// What was asked of the peer, and what has taken effect here, in order.
  var asked: [String] = []
  var effects: [String] = []
  private(set) var calls: [String: Int] = [:]
  /// Calls to be made in the next calls of a delegate.
  private var inCalls: [ModelMove.Action] = []
  private(set) var number = 0
  private let queues = [DispatchQueue(label: "central"), DispatchQueue(label: "peripheral")]
  private var clients: [ModelClient] = []

  /// - Parameter restores: whether the managers have an identifier under which their state is restored.
  init(_ index: Int, _ radio: ModelRadio, restores: Bool) {
    (self.index, self.radio) = (index, radio)
    identifier = restores ? UUID().uuidString : nil
    super.init()
    makeManagers()
  }

  private func makeManagers() {
    clients = [radio.addClient(to: index), radio.addClient(to: index)]
    func store(_ role: RestorationStore.Role) -> RestorationStore? {
      identifier.flatMap { RestorationStore.open($0, role, beside: nil, "model", log: { _ in }) }
    }
    central = CBCentralManager(
      delegate: self, queue: queues[0], link: clients[0].link, restoration: store(.central), log: { _ in })
    peripheral = CBPeripheralManager(
      delegate: self, queue: queues[1], link: clients[1].link, restoration: store(.peripheral), log: { _ in })
  }

  /// Releases the managers and everything that they have given, as the end of a program does, and makes others.
  func restart() {
    forgetInCalls()
    finishAll()
    release()
    for queue in queues { queue.sync {} }
    // What was promised by the managers that are gone has no answer.
    open = [:]
    radio.settle()
    makeManagers()
    for client in clients { radio.attach(client, to: index) }
  }

  /// Waits until a manager has taken every event and made every call.
  func finish(_ client: ModelClient) {
    guard let manager: CBManager = client === clients.first ? central : client === clients.last ? peripheral : nil
    else {
      return
    }
    while !manager.client.queue.sync(execute: { client.link.isSilent && !manager.hasCalls }) {}
  }

  func finishAll() { for client in clients { finish(client) } }

  func promise(_ promise: Promise) { open[promise, default: 0] += 1 }

  func answer(_ promise: Promise) {
    open[promise, default: 0] -= 1
    if open[promise, default: 0] < 0 { faults.append("an answer without a call: \(promise.rawValue)") }
    told()
  }

  /// A delegate is called.
  func told() {
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

  func restore(_ peer: CBPeripheral) {
    self.peer = peer
    peer.delegate = self
    // It is being connected to.
    if peer.state != .disconnected { promise(.connection) }
  }

  /// The adapter was lost: every peripheral is void.
  func forgetPeer() { peer = nil }

  func found(_ uuid: CBUUID) -> CBCharacteristic? {
    for service in peer?.services ?? [] {
      if let found = service.characteristics?.first(where: { $0.uuid == uuid }) { return found }
    }
    return nil
  }

  /// The next call has another number.
  func count(_ action: ModelMove.Action) {
    calls[action.name, default: 0] += 1
    number += 1
  }

  func release() {
    (published, listeners, channels) = ([], [], [])
    (central, peripheral, peer) = (nil, nil, nil)
  }
}
