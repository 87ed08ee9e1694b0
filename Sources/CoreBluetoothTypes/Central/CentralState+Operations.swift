import BLEATT
import BLEEngine
import BLEGATT
import BLEHost
import BLEWire
import Foundation

/// Asking a peripheral.
extension CentralState {
  /// The link of a connected peripheral, with a line in the log where there is none.
  func session(
    of peripheral: CBPeripheral, for command: StaticString, into effects: inout CentralEffects
  ) -> Session? {
    guard let device = device(of: peripheral, for: command, into: &effects) else { return nil }
    guard case .connected(let peer, _) = device.phase, let session = sessions[peer] else {
      effects.misuses.append("\(command): \(peripheral) can only accept this command while in the connected state")
      return nil
    }
    return session
  }

  /// Puts a question in line.
  ///
  /// - Returns: an error where it was not taken; the log has a line then.
  @discardableResult
  mutating func ask(
    _ peripheral: CBPeripheral, _ command: StaticString, _ subject: Session.Subject, value: [UInt8] = [],
    answerTo: Session.AnswerTo = .delegate, into effects: inout CentralEffects
  ) -> CBError? {
    guard let session = session(of: peripheral, for: command, into: &effects) else {
      return CBError(.notConnected)
    }
    if let fault = subject.fault(in: session) {
      effects.misuses.append("\(command): \(fault)")
      return CBError(.invalidHandle, fault)
    }
    guard session.pending.count < limits.pendingOperations else {
      let error = CBError(
        .outOfSpace, "\(limits.pendingOperations) operations wait for this peripheral already: wait for an answer")
      answer(answerTo, subject.call(error), error, peripheral, &effects)
      return nil
    }
    let id = HostNames.operation()
    var operation = Session.PendingOperation(id: id, subject: subject, answerTo: answerTo)
    switch subject.kind(value, in: session) {
    case .success(let kind):
      operation.kind = kind
      effects.commands.append(.client(session.peer, GATTClient.Operation(id: id, kind)))
    case .failure(let known): operation.result = known.result
    }
    sessions[session.peer]?.pending.append(operation)
    flush(session.peer, into: &effects)
    watchServices(session.peer, after: subject, into: &effects)
    return nil
  }

  /// With the first discovery the server is asked to tell when its services change; one that never does
  /// refuses, and that is all.
  private mutating func watchServices(
    _ peer: PeerID, after subject: Session.Subject, into effects: inout CentralEffects
  ) {
    guard case .services = subject, sessions[peer]?.watchesServices == false else { return }
    sessions[peer]?.watchesServices = true
    effects.commands.append(.client(peer, GATTClient.Operation(id: HostNames.operation(), .subscribeToServiceChanged)))
  }

  /// Writes without an answer: best effort.
  mutating func writeWithoutResponse(
    _ peripheral: CBPeripheral, _ characteristic: RemoteCharacteristic, _ value: [UInt8],
    into effects: inout CentralEffects
  ) {
    guard let session = session(of: peripheral, for: "writeValue", into: &effects) else { return }
    if let fault = Session.Subject.write(characteristic).fault(in: session) {
      return effects.misuses.append("writeValue: \(fault)")
    }
    guard characteristic.properties.contains(.writeWithoutResponse) else {
      return effects.misuses.append(
        "writeValue: \(characteristic) has no property writeWithoutResponse, so this write is dropped")
    }
    guard value.count <= session.mtu - 3 else {
      return effects.misuses.append(
        "writeValue: \(value.count) octets do not fit the \(session.mtu - 3) of maximumWriteValueLength(for: .withoutResponse), so this write is dropped"
      )
    }
    guard session.unsentWrites.count < limits.droppedWrites else {
      return effects.misuses.append(
        "writeValue: \(limits.droppedWrites) writes without response are on their way, so this one is dropped: wait for peripheralIsReady(toSendWriteWithoutResponse:)"
      )
    }
    let id = HostNames.operation()
    sessions[session.peer]?.unsentWrites.insert(id)
    if session.unsentWrites.count + 1 >= limits.pendingWrites { sessions[session.peer]?.owesReady = true }
    effects.commands.append(
      .client(
        session.peer, GATTClient.Operation(id: id, .writeWithoutResponse(characteristic.found.valueHandle, value))))
  }

  func canSend(_ peripheral: CBPeripheral) -> Bool {
    guard let device = device(of: peripheral), case .connected(let peer, _) = device.phase,
      let session = sessions[peer]
    else { return false }
    return session.unsentWrites.count < limits.pendingWrites
  }

  func mtu(of peripheral: CBPeripheral) -> Int {
    guard let device = device(of: peripheral), case .connected(let peer, _) = device.phase else {
      return ATT.defaultMTU
    }
    return sessions[peer]?.mtu ?? ATT.defaultMTU
  }

  /// Not supported; the delegate receives an error.
  func openChannel(_ peripheral: CBPeripheral, into effects: inout CentralEffects) {
    guard session(of: peripheral, for: "openL2CAPChannel", into: &effects) != nil else { return }
    effects.calls.append(.peripheral(peripheral, .openedChannel(CBError.noL2CAPChannels)))
  }

  @discardableResult
  mutating func readRSSI(
    _ peripheral: CBPeripheral, answerTo: Session.AnswerTo = .delegate, into effects: inout CentralEffects
  ) -> CBError? {
    guard let session = session(of: peripheral, for: "readRSSI", into: &effects) else {
      return CBError(.notConnected)
    }
    guard session.rssiReads.count < limits.pendingOperations else { return CBError(.outOfSpace) }
    sessions[session.peer]?.rssiReads.append(answerTo)
    effects.commands.append(.readRSSI(session.peer))
    return nil
  }
}

/// A result that needs no question.
struct KnownResult: Error {
  let result: Result<GATTClient.Outcome, GATTClientError>

  static func refused(_ code: ATTErrorCode, _ request: ATTOpcode, _ handle: AttributeHandle) -> Self {
    Self(result: .failure(.errorResponse(code, request: request, handle: handle)))
  }
}

extension Session.Subject {
  /// Why the question cannot be asked on this link.
  func fault(in session: Session) -> String? {
    switch self {
    case .services: nil
    case .includedServices(let service, _), .characteristics(let service, _):
      session.has(service) ? nil : "\(service) is not a service of this connection: discover it again"
    case .descriptors(let it), .value(let it), .write(let it), .notify(let it, _):
      session.has(it) ? nil : "\(it) is not a characteristic of this connection: discover it again"
    case .writeDescriptor(let descriptor) where descriptor.type == "2902":
      "the Client Characteristic Configuration is not written with writeValue: use setNotifyValue(_:for:)"
    case .descriptorValue(let descriptor), .writeDescriptor(let descriptor):
      session.has(descriptor) ? nil : "\(descriptor) is not a descriptor of this connection: discover it again"
    }
  }

  /// The procedure that answers it; a failure is a result that is known without asking.
  func kind(_ value: [UInt8], in session: Session) -> Result<GATTClient.Operation.Kind, KnownResult> {
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
    case .notify(let characteristic, let isOn): return configure(characteristic, isOn, in: session)
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
    _ characteristic: RemoteCharacteristic, _ isOn: Bool, in session: Session
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
    if let configuration = session.configurations[handle] {
      return .success(.write(configuration, [UInt8(truncatingIfNeeded: subscription.rawValue), 0]))
    }
    guard let range = characteristic.descriptorRange else {
      return .failure(.refused(.attributeNotFound, .findInformationRequest, handle))
    }
    return .success(.configure(subscription, in: range))
  }
}
