import BLEATT
import BLEAdapter
import BLEGATT
import BLEHost
import BLEWire
import Foundation

/// Operations on a peripheral.
extension CentralRole {
  /// The link of a connected peripheral, with a line in the log where there is none.
  func connection(
    of peripheral: CBPeripheral, for command: StaticString, into effects: inout CentralEffects
  ) -> PeripheralConnection? {
    guard let device = device(of: peripheral, for: command, into: &effects) else { return nil }
    guard case .connected(let peer, _) = device.phase, let connection = connections[peer] else {
      effects.misuses.append("\(command): \(peripheral) can only accept this command while in the connected state")
      return nil
    }
    return connection
  }

  /// Appends an operation to those of the link, or logs why it cannot be performed.
  mutating func ask(
    _ peripheral: CBPeripheral, _ command: StaticString, _ subject: PeripheralConnection.Subject, value: [UInt8] = [],
    into effects: inout CentralEffects
  ) {
    guard let connection = connection(of: peripheral, for: command, into: &effects) else { return }
    if let fault = subject.fault(in: connection) { return effects.misuses.append("\(command): \(fault)") }
    guard connection.pending.count < limits.pendingOperations else {
      let error = CBError(
        .outOfSpace, "\(limits.pendingOperations) operations wait for this peripheral already: wait for an answer")
      return effects.calls.append(.peripheral(peripheral, subject.call(error)))
    }
    let id = HostIDs.operation()
    var operation = PeripheralConnection.PendingOperation(id: id, subject: subject)
    switch subject.kind(value, in: connection) {
    case .success(let kind):
      operation.kind = kind
      effects.commands.append(.client(connection.peer, GATTClient.Operation(id: id, kind)))
    case .failure(let known): operation.result = known.result
    }
    connections[connection.peer]?.pending.append(operation)
    flush(connection.peer, into: &effects)
    watchServices(connection.peer, after: subject, into: &effects)
  }

  /// Subscribes to Service Changed with the first discovery; a server without it rejects it.
  private mutating func watchServices(
    _ peer: LinkID, after subject: PeripheralConnection.Subject, into effects: inout CentralEffects
  ) {
    guard case .services = subject, connections[peer]?.watchesServices == false else { return }
    connections[peer]?.watchesServices = true
    effects.commands.append(.inspect(peer, GATTClient.Operation(id: HostIDs.operation(), .subscribeToServiceChanged)))
  }

  /// Writes without a response.
  mutating func writeWithoutResponse(
    _ peripheral: CBPeripheral, _ characteristic: PeerCharacteristic, _ value: [UInt8],
    into effects: inout CentralEffects
  ) {
    guard let connection = connection(of: peripheral, for: "writeValue", into: &effects) else { return }
    if let fault = PeripheralConnection.Subject.write(characteristic).fault(in: connection) {
      return effects.misuses.append("writeValue: \(fault)")
    }
    guard characteristic.properties.contains(.writeWithoutResponse) else {
      return effects.misuses.append(
        "writeValue: \(characteristic) has no property writeWithoutResponse, so this write is dropped")
    }
    guard value.count <= connection.longestCommand else {
      return effects.misuses.append(
        "writeValue: \(value.count) octets do not fit the \(connection.longestCommand) of maximumWriteValueLength(for: .withoutResponse), so this write is dropped"
      )
    }
    guard connection.unsentWrites.count < limits.droppedWrites else {
      return effects.misuses.append(
        "writeValue: \(limits.droppedWrites) writes without response already wait, so this one is dropped: wait for peripheralIsReady(toSendWriteWithoutResponse:)"
      )
    }
    let id = HostIDs.operation()
    connections[connection.peer]?.unsentWrites.insert(id)
    if connection.unsentWrites.count + 1 >= limits.pendingWrites { connections[connection.peer]?.owesReady = true }
    effects.commands.append(
      .client(
        connection.peer, GATTClient.Operation(id: id, .writeWithoutResponse(characteristic.found.valueHandle, value))))
  }

  func canSend(_ peripheral: CBPeripheral) -> Bool {
    guard let device = device(of: peripheral), case .connected(let peer, _) = device.phase,
      let connection = connections[peer]
    else { return false }
    return connection.unsentWrites.count < limits.pendingWrites
  }

  /// The maximum length of a write without response, in octets.
  func longestCommand(of peripheral: CBPeripheral) -> Int {
    guard let device = device(of: peripheral), case .connected(let peer, _) = device.phase,
      let connection = connections[peer]
    else { return ATT.defaultMTU - 3 }
    return connection.longestCommand
  }

  /// A command about the PHYs of a link.
  func phy(
    _ peripheral: CBPeripheral, _ name: StaticString, _ command: (LinkID) -> HostCommand,
    into effects: inout CentralEffects
  ) {
    guard let connection = connection(of: peripheral, for: name, into: &effects) else { return }
    effects.commands.append(command(connection.peer))
  }

  mutating func readRSSI(_ peripheral: CBPeripheral, into effects: inout CentralEffects) {
    guard let connection = connection(of: peripheral, for: "readRSSI", into: &effects) else { return }
    guard connection.rssiReads < limits.pendingOperations else { return }
    connections[connection.peer]?.rssiReads += 1
    effects.commands.append(.readRSSI(connection.peer))
  }
}

/// A result that needs no request.
struct KnownResult: Error {
  let result: Result<GATTClient.Outcome, GATTClientError>

  static func refused(_ code: ATTErrorCode, _ request: ATTOpcode, _ handle: AttributeHandle) -> Self {
    Self(result: .failure(.errorResponse(code, request: request, handle: handle)))
  }
}

extension PeripheralConnection.Subject {
  /// Why the operation cannot be performed on this link.
  func fault(in connection: PeripheralConnection) -> String? {
    switch self {
    case .services: nil
    case .includedServices(let service, _), .characteristics(let service, _):
      connection.has(service) ? nil : "\(service) is not a service of this connection: discover it again"
    case .descriptors(let it), .value(let it), .write(let it), .notify(let it, _):
      connection.has(it) ? nil : "\(it) is not a characteristic of this connection: discover it again"
    case .writeDescriptor(let descriptor) where descriptor.type == "2902":
      "the Client Characteristic Configuration is not written with writeValue: use setNotifyValue(_:for:)"
    case .descriptorValue(let descriptor), .writeDescriptor(let descriptor):
      connection.has(descriptor) ? nil : "\(descriptor) is not a descriptor of this connection: discover it again"
    }
  }

  /// The procedure that performs it; a failure is a result that needs no request.
  func kind(_ value: [UInt8], in connection: PeripheralConnection) -> Result<GATTClient.Operation.Kind, KnownResult> {
    switch self {
    case .services: return .success(.discoverPrimaryServices)
    case .includedServices(let service, _): return .success(.findIncludedServices(service.handles))
    case .characteristics(let service, _): return .success(.discoverCharacteristics(service.handles))
    case .descriptors(let characteristic):
      guard let range = characteristic.descriptorRange else {
        return .failure(KnownResult(result: .success(.descriptors([]))))
      }
      return .success(.discoverDescriptors(range))
    case .value(let characteristic): return .success(.readLong(characteristic.found.valueHandle))
    case .descriptorValue(let descriptor): return .success(.readLong(descriptor.handle))
    case .write(let characteristic): return write(characteristic.found.valueHandle, value)
    case .writeDescriptor(let descriptor): return write(descriptor.handle, value)
    case .notify(let characteristic, let isOn): return configure(characteristic, isOn, in: connection)
    }
  }

  private func write(_ handle: AttributeHandle, _ value: [UInt8]) -> Result<GATTClient.Operation.Kind, KnownResult> {
    guard value.count <= ATT.maximumValueLength else {
      return .failure(.refused(.invalidAttributeValueLength, .writeRequest, handle))
    }
    return .success(.write(handle, value))
  }

  /// Notifications where the characteristic has them, else indications.
  private func configure(
    _ characteristic: PeerCharacteristic, _ isOn: Bool, in connection: PeripheralConnection
  ) -> Result<GATTClient.Operation.Kind, KnownResult> {
    let handle = characteristic.found.valueHandle
    var subscription = Subscription()
    if characteristic.properties.contains(.notify) {
      subscription = .notify
    } else if characteristic.properties.contains(.indicate) {
      subscription = .indicate
    } else {
      return .failure(.refused(.requestNotSupported, .writeRequest, handle))
    }
    if !isOn { subscription = Subscription() }
    if let configuration = connection.configurations[handle] {
      return .success(.write(configuration, [UInt8(truncatingIfNeeded: subscription.rawValue), 0]))
    }
    guard let range = characteristic.descriptorRange ?? handle.attributeBehind else {
      return .failure(KnownResult(result: .success(.noConfiguration(in: handle...handle))))
    }
    return .success(.configure(subscription, in: range))
  }
}
