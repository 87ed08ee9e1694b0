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
    let id = HostIDs.operation()
    var pending = PeripheralConnection.PendingOperation(id: id, subject: subject)
    switch subject.kind(value, in: connection) {
    case .success(let kind):
      let operation = GATTClient.Operation(id: id, kind)
      pending.octets = operation.waitingOctets
      guard connection.waitingOctets + pending.octets <= limits.pendingOctets else {
        let error = CBError(
          .outOfSpace,
          "the operations that wait for this peripheral exceed \(limits.pendingOctets) octets: wait for answers")
        return effects.calls.append(.peripheral(peripheral, subject.call(error)))
      }
      effects.commands.append(.link(connection.peer, .client(operation)))
    case .failure(let known): pending.result = known.result
    }
    connections[connection.peer]?.waitingOctets += pending.octets
    connections[connection.peer]?.pending.append(pending)
    flush(connection.peer, into: &effects)
    watchServices(connection.peer, after: subject, into: &effects)
  }

  /// Subscribes to Service Changed with the first discovery; a server without it rejects it.
  private mutating func watchServices(
    _ peer: LinkID, after subject: PeripheralConnection.Subject, into effects: inout CentralEffects
  ) {
    guard case .services = subject, connections[peer]?.watchesServices == false else { return }
    connections[peer]?.watchesServices = true
    effects.commands.append(
      .link(peer, .inspect(GATTClient.Operation(id: HostIDs.operation(), .subscribeToServiceChanged))))
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
    let id = HostIDs.operation()
    let operation = GATTClient.Operation(id: id, .writeWithoutResponse(characteristic.found.valueHandle, value))
    let octets = operation.waitingOctets
    guard connection.waitingOctets + octets <= limits.pendingOctets else {
      return effects.misuses.append(
        "writeValue: what waits for this peripheral exceeds \(limits.pendingOctets) octets, so this write is dropped: wait for peripheralIsReady(toSendWriteWithoutResponse:)"
      )
    }
    let (peer, isFull) = (connection.peer, connection.unsentWrites.count + 1 >= limits.pendingWrites)
    // A second reference to the writes would have them copied.
    _ = consume connection
    connections[peer]?.unsentWrites[id] = octets
    connections[peer]?.waitingOctets += octets
    if isFull { connections[peer]?.owesReady = true }
    effects.commands.append(.link(peer, .client(operation)))
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

  /// A request about the PHYs of a link.
  mutating func phy(
    _ peripheral: CBPeripheral, _ name: StaticString, _ command: HostCommand.Link,
    into effects: inout CentralEffects
  ) {
    guard let connection = connection(of: peripheral, for: name, into: &effects) else { return }
    guard connection.phyRequests < limits.pendingRequests else {
      return effects.calls.append(.peripheral(peripheral, .phy(nil, tooManyRequests)))
    }
    connections[connection.peer]?.phyRequests += 1
    effects.commands.append(.link(connection.peer, command))
  }

  func prioritize(
    _ peripheral: CBPeripheral, _ priority: ConnectionPriority, into effects: inout CentralEffects
  ) {
    guard let connection = connection(of: peripheral, for: "requestConnectionPriority", into: &effects) else { return }
    effects.commands.append(.link(connection.peer, .prioritize(priority)))
  }

  /// The host answers at once while another request is outstanding.
  func requestRate(
    _ peripheral: CBPeripheral, _ request: ConnectionRateRequest, into effects: inout CentralEffects
  ) {
    guard let connection = connection(of: peripheral, for: "requestConnectionRate", into: &effects) else { return }
    guard let parameters = request.parameters else {
      return effects.calls.append(.peripheral(peripheral, .timing(nil, CBError(outside: request))))
    }
    effects.commands.append(.link(connection.peer, .requestConnectionRate(parameters)))
  }

  private var tooManyRequests: CBError {
    CBError(.outOfSpace, "\(limits.pendingRequests) such requests wait for this peripheral already: wait for an answer")
  }

  mutating func readRSSI(_ peripheral: CBPeripheral, into effects: inout CentralEffects) {
    guard let connection = connection(of: peripheral, for: "readRSSI", into: &effects) else { return }
    guard connection.rssiReads < limits.pendingRequests else {
      return effects.calls.append(.peripheral(peripheral, .rssi(127, tooManyRequests)))
    }
    connections[connection.peer]?.rssiReads += 1
    effects.commands.append(.link(connection.peer, .readRSSI))
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
