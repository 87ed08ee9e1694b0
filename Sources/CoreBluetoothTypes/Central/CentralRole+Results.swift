import BLEATT
import BLEAdapter
import BLEGATT
import BLEHost
import BLEWire
import Foundation

/// The results of operations, and the values and changes that a peripheral sends.
extension CentralRole {
  mutating func client(_ peer: LinkID, _ event: GATTClient.Event, into effects: inout CentralEffects) {
    switch event {
    case .finished(let id, let result): finished(peer, id, result, into: &effects)
    case .notification(let handle, let value), .indication(let handle, let value):
      guard let connection = connections[peer], let characteristic = connection.characteristics[handle] else { return }
      characteristic.value = Data(value)
      guard let object = devices[connection.address]?.object.object else { return }
      effects.calls.append(.peripheral(object, .updatedValue(characteristic, nil)))
    case .servicesChanged(let range): servicesChanged(peer, range, into: &effects)
    case .violation(let error):
      if let address = connections[peer]?.address { effects.notices.append("\(address): \(error)") }
    case .bearerFailed:
      if let address = connections[peer]?.address { effects.notices.append("\(address): \(GATTClientError.timedOut)") }
    case .mtu: break
    }
  }

  mutating func mtuChanged(_ peer: LinkID, _ mtu: Int) {
    connections[peer]?.mtu = max(ATT.defaultMTU, mtu)
    otherLinks[peer]?.mtu = mtu
  }

  mutating func rssi(_ peer: LinkID, _ result: Result<Int8, HostError>, into effects: inout CentralEffects) {
    guard let connection = connections[peer], connection.rssiReads > 0 else { return }
    connections[peer]?.rssiReads -= 1
    guard let object = devices[connection.address]?.object.object else { return }
    switch result {
    case .success(let rssi):
      object.update(rssi: Int(rssi))
      effects.calls.append(.peripheral(object, .rssi(Int(rssi), nil)))
    case .failure(let error): effects.calls.append(.peripheral(object, .rssi(127, CBError(error))))
    }
  }

  mutating func phyUpdated(
    _ peer: LinkID, _ result: Result<ConnectionPHY, HostError>, into effects: inout CentralEffects
  ) {
    guard let connection = connections[peer] else { return }
    connections[peer]?.phyRequests = max(0, connection.phyRequests - 1)
    guard let object = devices[connection.address]?.object.object else { return }
    switch result {
    case .success(let phy): effects.calls.append(.peripheral(object, .phy(phy, nil)))
    case .failure(let error): effects.calls.append(.peripheral(object, .phy(nil, CBError(error))))
    }
  }

  func rateUpdated(_ peer: LinkID, _ result: Result<LinkRate, HostError>, into effects: inout CentralEffects) {
    guard let connection = connections[peer], let object = devices[connection.address]?.object.object else { return }
    switch result {
    case .success(let rate): effects.calls.append(.peripheral(object, .timing(ConnectionTiming(LinkTiming(rate)), nil)))
    case .failure(let error): effects.calls.append(.peripheral(object, .timing(nil, CBError(error))))
    }
  }

  private mutating func finished(
    _ peer: LinkID, _ id: GATTClient.OperationID, _ result: Result<GATTClient.Outcome, GATTClientError>,
    into effects: inout CentralEffects
  ) {
    // The end of the link follows, with its reason, which is the error of the operations.
    if case .failure(.linkEnded) = result { return }
    if connections[peer]?.nameRead == id { return nameRead(peer, result, into: &effects) }
    if let octets = connections[peer]?.unsentWrites.removeValue(forKey: id) {
      connections[peer]?.waitingOctets -= octets
      return wroteWithoutResponse(peer, result, into: &effects)
    }
    guard let index = connections[peer]?.pending.firstIndex(where: { $0.id == id }) else { return }
    connections[peer]?.pending[index].result = result
    flush(peer, into: &effects)
  }

  /// A device without the characteristic, or with one that it protects, has no name.
  private mutating func nameRead(
    _ peer: LinkID, _ result: Result<GATTClient.Outcome, GATTClientError>, into effects: inout CentralEffects
  ) {
    connections[peer]?.nameRead = nil
    guard case .success(.values(let values)) = result.map(\.found), let octets = values.first?.value,
      let address = connections[peer]?.address
    else { return }
    let name = DeviceText(octets[...]).repaired
    guard !name.isEmpty else { return }
    devices[address]?.name = name
    effects.facts.append(.named(address, name))
    // An advertisement may have given one meanwhile.
    guard let object = devices[address]?.object.object, object.name == nil else { return }
    object.update(name: name)
    effects.calls.append(.peripheral(object, .updatedName))
  }

  private mutating func wroteWithoutResponse(
    _ peer: LinkID, _ result: Result<GATTClient.Outcome, GATTClientError>, into effects: inout CentralEffects
  ) {
    guard let connection = connections[peer] else { return }
    if case .failure(let error) = result {
      effects.notices.append("a write without response to \(connection.address) was dropped: \(error)")
    }
    let hasRoom = connection.unsentWrites.count < limits.pendingWrites
    guard connection.owesReady ? hasRoom : connection.unsentWrites.isEmpty else { return }
    connections[peer]?.owesReady = false
    connections[peer]?.readyCall = connection.owesReady ? .room : connection.readyCall ?? .empty
    guard connection.readyCall == nil, let object = devices[connection.address]?.object.object else { return }
    effects.calls.append(.peripheral(object, .isReady))
  }

  /// The call for more writes is about to be made. The program may have written more since its cause: a burst of writes
  /// has one call, after all of them have left.
  ///
  /// - Returns: false where it is not made; another one follows.
  mutating func takeReadyCall(of peripheral: CBPeripheral) -> Bool {
    guard let device = device(of: peripheral), case .connected(let peer, _) = device.phase,
      let connection = connections[peer]
    else { return false }
    connections[peer]?.readyCall = nil
    return switch connection.readyCall {
    case .room: connection.unsentWrites.count < limits.pendingWrites
    case .empty: connection.unsentWrites.isEmpty
    case nil: false
    }
  }

  /// Reports the results whose turn it is.
  mutating func flush(_ peer: LinkID, into effects: inout CentralEffects) {
    while let operation = connections[peer]?.pending.first, let result = operation.result,
      let address = connections[peer]?.address
    {
      connections[peer]?.pending.removeFirst()
      connections[peer]?.waitingOctets -= operation.octets
      let object = devices[address]?.object.object
      var failure: (any Error)?
      switch result {
      case .success(let complete):
        let outcome = complete.found
        connections[peer]?.take(outcome, for: operation.subject, of: object)
        if case .services(let found) = outcome { effects.facts.append(.discovered(found.map(\.uuid), on: peer)) }
      case .failure(let error): failure = error.facade(connections[peer]?.bondLoss)
      }
      if let object { effects.calls.append(.peripheral(object, operation.subject.call(failure))) }
    }
  }

  private mutating func servicesChanged(
    _ peer: LinkID, _ range: ClosedRange<AttributeHandle>, into effects: inout CentralEffects
  ) {
    guard let void = connections[peer]?.invalidate(range), let connection = connections[peer],
      let object = devices[connection.address]?.object.object
    else { return }
    let before = object.services ?? []
    object.update(services: object.services?.filter { service in !void.contains { $0 === service } })
    // The application has no object of a service that its discovery left out.
    let seen = void.filter { service in !service.type.isServiceOfTheStack || before.contains { $0 === service } }
    effects.calls.append(.peripheral(object, .modifiedServices(seen)))
  }
}

extension PeripheralConnection {
  /// Stores the discovered objects; those that are known already stay the same.
  mutating func take(_ outcome: GATTClient.Outcome, for subject: Subject, of object: CBPeripheral?) {
    switch (subject, outcome) {
    case (.services(let filter), .services(let found)): take(found, filter, of: object)
    case (.includedServices(let service, let filter), .includedServices(let found)):
      let all = found.map { remoteService($0.service, isPrimary: false, of: object) }
      service.includedServices = Self.joined(service.includedServices, all, filter) { $0 }
    case (.characteristics(let service, let filter), .characteristics(let found)): take(found, filter, in: service)
    case (.descriptors(let characteristic), .descriptors(let found)): take(found, of: characteristic)
    case (.value(let characteristic), .value(let value)): characteristic.value = Data(value)
    case (.descriptorValue(let descriptor), .value(let value)): descriptor.keep(value)
    case (.notify(let characteristic, let isOn), let outcome):
      if case .configured(let handle) = outcome { configurations[characteristic.found.valueHandle] = handle }
      characteristic.isNotifying = isOn
    default: break  // No other pair of a subject and an outcome.
    }
  }

  private mutating func take(_ found: [DiscoveredService], _ filter: [BluetoothUUID]?, of object: CBPeripheral?) {
    let all = found.map { remoteService($0, isPrimary: true, of: object) }
    guard let object else { return }
    let known = object.services?.filter { service in all.contains { $0 === service } }
    // Without a filter the services of GAP and GATT are left out (Docs/Decisions/corebluetooth.md#the-central).
    let wanted = filter ?? all.map(\.type).filter { !$0.isServiceOfTheStack }
    object.update(services: Self.joined(known, all, wanted) { $0 })
  }

  private mutating func take(
    _ found: [DiscoveredCharacteristic], _ filter: [BluetoothUUID]?, in service: PeerService
  ) {
    service.layout = found
    let known = (service.characteristics ?? []).compactMap { $0 as? PeerCharacteristic }
    let all = found.map { found in known.first { $0.found == found } ?? PeerCharacteristic(found) }
    let joined = Self.joined(service.characteristics, all, filter) { $0 }
    for case let characteristic as PeerCharacteristic in joined {
      characteristics[characteristic.found.valueHandle] = characteristic
    }
    service.characteristics = joined
  }

  private mutating func take(_ found: [DiscoveredDescriptor], of characteristic: PeerCharacteristic) {
    characteristic.descriptors = found.map { found in
      let known = descriptors[found.handle].flatMap { $0.type == found.uuid ? $0 : nil }
      let descriptor = known ?? PeerDescriptor(found)
      descriptors[found.handle] = descriptor
      if found.uuid == "2902" { configurations[characteristic.found.valueHandle] = found.handle }
      return descriptor
    }
  }

  /// The object of a service; a service that lies elsewhere now, or has become another one, is a new object.
  private mutating func remoteService(
    _ found: DiscoveredService, isPrimary: Bool, of object: CBPeripheral?
  ) -> PeerService {
    if let known = services[found.handles.lowerBound], known.handles == found.handles, known.type == found.uuid {
      return known
    }
    _ = invalidate(found.handles)
    let service = PeerService(found, isPrimary: isPrimary, of: object)
    services[found.handles.lowerBound] = service
    return service
  }

  /// The known objects, and those of `all` that the filter accepts, in the order of `all`.
  private static func joined<Found: CBAttribute, Known: CBAttribute>(
    _ known: [Known]?, _ all: [Found], _ filter: [BluetoothUUID]?, _ convert: (Found) -> Known
  ) -> [Known] {
    all.filter { found in
      filter?.contains(found.type) ?? true || known?.contains { $0 === found } ?? false
    }.map(convert)
  }
}

extension GATTClientError {
  /// The error as CoreBluetooth has it: a ``CBATTError`` if the peripheral rejected a request, otherwise a ``CBError``.
  ///
  /// - Parameter loss: how the link lost its bond, if it did.
  func facade(_ loss: BondLoss? = nil) -> any Error {
    switch self {
    // The code 0x00 would be a success.
    case .errorResponse(let code, _, _) where code.rawValue == 0: CBATTError(.unlikelyError)
    case .errorResponse(let code, _, _): CBATTError(CBATTError.Code(rawValue: Int(code.rawValue)) ?? .unlikelyError)
    case .servicesChanged: CBError(.invalidHandle, "\(self)")
    case .notEncrypted:
      CBError(
        loss?.isOfPeer == true ? .peerRemovedPairingInformation : .encryptionTimedOut,
        "\(loss?.description ?? "\(self)")")
    case .timedOut: CBError(.connectionTimeout, "\(self)")
    case .linkEnded, .bearerClosed: CBError(.peripheralDisconnected)
    case .tooManyOperations, .tooManyResults: CBError(.outOfSpace, "\(self)")
    case .invalidParameters: CBError(.invalidParameters, "\(self)")
    case .cannotSign, .signCounterNotStored: CBError(.operationNotSupported, "\(self)")
    case .malformedResponse, .unexpectedPDU, .echoDiffers: CBError(.unknown, "\(self)")
    }
  }
}
