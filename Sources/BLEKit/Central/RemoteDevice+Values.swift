import BLEATT
import BLEGATT
import BLEHost
public import BLEWire

// MARK: - Discovery

extension RemoteDevice {
  /// Discovers all primary services with their characteristics (Vol 3, Part G, 4.4.1 and 4.6.1).
  ///
  /// The result is kept until the device reports that its services have changed (Vol 3, Part G, 7.1); if that happens
  /// during the discovery, the discovery begins again. What a device describes wrongly is left out or corrected:
  /// ``discoveryFaults`` has it then, and so has the log.
  public func services() async throws(BLEError) -> [RemoteService] {
    let services = try await discover(.discoverPrimaryServices)
    session.run { [services, peer] state, _ in
      state.links[peer]?.discovered = Dictionary(grouping: services, by: \.uuid)
    }
    return services
  }

  /// Discovers the primary services of a type (Vol 3, Part G, 4.4.2).
  ///
  /// - Throws: ``BLEError/Kind/notFound`` if the device has none.
  public func service(_ uuid: BluetoothUUID) async throws(BLEError) -> RemoteService {
    guard let first = try await services(of: uuid).first else {
      throw BLEError(.notFound, "\(self) has no service \(uuid)")
    }
    return first
  }

  /// The primary services of a type, as they are known or discovered.
  func services(of uuid: BluetoothUUID) async throws(BLEError) -> [RemoteService] {
    if let known = session.run({ [peer] state, _ in state.links[peer]?.discovered[uuid] }) { return known }
    let services = try await discover(.discoverPrimaryServicesByUUID(uuid))
    if !services.isEmpty { session.run { [peer] state, _ in state.links[peer]?.discovered[uuid] = services } }
    return services
  }

  /// How many times a discovery, or a read by UUIDs, begins again because the services have changed meanwhile. The next
  /// time it fails with ``BLEError/Kind/servicesChanged``.
  static let discoveryRestarts = 3

  /// Discovers services and their characteristics. It begins again if the services change meanwhile.
  private func discover(_ kind: GATTClient.Operation.Kind) async throws(BLEError) -> [RemoteService] {
    try await unlessChanged { () throws(BLEError) in try await discoverOnce(kind) }
  }

  /// Performs something that depends on discovered attributes. It begins again if they change meanwhile.
  func unlessChanged<Value>(_ body: () async throws(BLEError) -> Value) async throws(BLEError) -> Value {
    for _ in 0..<Self.discoveryRestarts {
      do throws(BLEError) { return try await body() } catch {
        guard error.kind == .servicesChanged else { throw error }
      }
    }
    return try await body()
  }

  private func discoverOnce(_ kind: GATTClient.Operation.Kind) async throws(BLEError) -> [RemoteService] {
    let number = changeCount
    guard case .services(let found) = try await ask(kind), !found.isEmpty else { return [] }
    try await watchServices()
    var services: [RemoteService] = []
    for service in found {
      services.append(
        RemoteService(service, try await characteristics(of: service), after: services, discovery: number))
    }
    guard changeCount == number else { throw .servicesChanged }
    return services
  }

  /// The number of changes of the services so far.
  private var changeCount: UInt32 { session.run { [peer] state, _ in state.links[peer]?.changes.count ?? 0 } }

  /// Finds a characteristic of a service.
  ///
  /// - Throws: ``BLEError/Kind/notFound`` if the device does not have it.
  public func characteristic(
    _ uuid: BluetoothUUID, in service: BluetoothUUID
  ) async throws(BLEError) -> RemoteCharacteristic {
    let services = try await services(of: service)
    guard !services.isEmpty else { throw BLEError(.notFound, "\(self) has no service \(service)") }
    guard let found = services.lazy.compactMap({ $0[uuid] }).first else {
      throw BLEError(.notFound, "the service \(service) of \(self) has no characteristic \(uuid)")
    }
    return found
  }

  /// Discovers the descriptors of a characteristic (Vol 3, Part G, 4.7.1). If the device describes them wrongly, those
  /// before the fault, and ``discoveryFaults`` has the rest.
  public func descriptors(of characteristic: RemoteCharacteristic) async throws(BLEError) -> [RemoteDescriptor] {
    guard let range = characteristic.descriptors else { return [] }
    try requireCurrent(characteristic.handle, since: characteristic.discovery)
    guard case .descriptors(let found)? = try await part(.discoverDescriptors(range), range) else { return [] }
    return found.map { RemoteDescriptor(uuid: $0.uuid, handle: $0.handle, discovery: characteristic.discovery) }
  }

  private func characteristics(of service: DiscoveredService) async throws(BLEError) -> [DiscoveredCharacteristic] {
    guard case .characteristics(let found)? = try await part(.discoverCharacteristics(service.handles), service.handles)
    else { return [] }
    return found
  }

  /// Discovers a part of the database. If the device rejects that, or answers with nonsense, the part is left out.
  ///
  /// - Returns: nil if it is left out.
  private func part(
    _ kind: GATTClient.Operation.Kind, _ range: ClosedRange<AttributeHandle>
  ) async throws(BLEError) -> GATTClient.Outcome? {
    do throws(BLEError) { return try await ask(kind) } catch {
      switch error.kind {
      case .att, .invalidResponse:
        let fault = DiscoveryFault(handles: range, error: error)
        session.run { [peer] state, _ in state.links[peer]?.note([fault]) }
        BluetoothLog.write(
          .notice("\(self): its database is faulty: \(fault)", .peer, metadata: ["device": "\(address)"]))
        return nil
      default: throw error  // The link or the adapter is at fault.
      }
    }
  }

  /// - Throws: ``BLEError/Kind/servicesChanged`` if an attribute may be another one than at its discovery.
  func requireCurrent(_ handle: AttributeHandle, since number: UInt32) throws(BLEError) {
    let isOutdated = session.run { [peer] state, _ in
      state.links[peer]?.changes.includes(handle, since: number) ?? false
    }
    if isOutdated { throw .servicesChanged }
  }

  /// Subscribes to Service Changed. A device whose services never change does not have it.
  private func watchServices() async throws(BLEError) {
    let isNew = session.run { [peer] state, _ in
      guard state.links[peer]?.watchesServices == false else { return false }
      state.links[peer]?.watchesServices = true
      return true
    }
    guard isNew else { return }
    do throws(BLEError) {
      _ = try await ask(.subscribeToServiceChanged)
    } catch {
      guard case .att = error.kind else { throw error }
    }
  }
}

// MARK: - Values

extension RemoteDevice {
  /// Reads the octets of a whole value (Vol 3, Part G, 4.8.1 and 4.8.3).
  ///
  /// - Throws: ``BLEError/Kind/att(_:)`` with the error of the device.
  public func read(_ characteristic: RemoteCharacteristic) async throws(BLEError) -> [UInt8] {
    try await read(characteristic, as: [UInt8].self)
  }

  /// Reads a whole value of a type (Vol 3, Part G, 4.8.1 and 4.8.3).
  ///
  /// - Parameters:
  ///   - characteristic: the characteristic.
  ///   - type: the type of the value; by default the one that the result is used as.
  /// - Throws: ``BLEError/Kind/att(_:)`` with the error of the device, ``BLEError/Kind/invalidValue`` if the octets are
  ///   not a `Value`.
  public func read<Value: GATTValue>(
    _ characteristic: RemoteCharacteristic, as type: Value.Type = Value.self
  ) async throws(BLEError) -> Value {
    try requireCurrent(characteristic.handle, since: characteristic.discovery)
    return try decode(
      try await value(at: characteristic.handle, named: "characteristic \(characteristic.uuid)"), characteristic.uuid)
  }

  /// Discovers a characteristic, unless it is known, and reads its octets.
  public func read(
    _ characteristic: BluetoothUUID, in service: BluetoothUUID
  ) async throws(BLEError) -> [UInt8] {
    try await read(characteristic, in: service, as: [UInt8].self)
  }

  /// Discovers a characteristic, unless it is known, and reads its value.
  ///
  /// ```swift
  /// let level: UInt8 = try await device.read("2A19", in: "180F")
  /// print(try await device.read("2A19", in: "180F", as: UInt8.self))
  /// ```
  ///
  /// - Parameters:
  ///   - characteristic: the type of the characteristic.
  ///   - service: the type of its service.
  ///   - type: the type of the value; by default the one that the result is used as.
  /// - Throws: ``BLEError/Kind/notFound`` if the device does not have it, and the errors of ``read(_:as:)``.
  public func read<Value: GATTValue>(
    _ characteristic: BluetoothUUID, in service: BluetoothUUID, as type: Value.Type = Value.self
  ) async throws(BLEError) -> Value {
    try await unlessChanged { () throws(BLEError) in
      try await read(try await self.characteristic(characteristic, in: service), as: type)
    }
  }

  /// Reads a descriptor (Vol 3, Part G, 4.12.1 and 4.12.2).
  public func read(_ descriptor: RemoteDescriptor) async throws(BLEError) -> [UInt8] {
    try requireCurrent(descriptor.handle, since: descriptor.discovery)
    return try await value(at: descriptor.handle, named: "descriptor \(descriptor.uuid)")
  }

  /// Writes a value, a long one in parts, and waits for the answer (Vol 3, Part G, 4.9.3 and 4.9.4).
  public func write(
    _ value: some GATTValue, to characteristic: RemoteCharacteristic
  ) async throws(BLEError) {
    try requireCurrent(characteristic.handle, since: characteristic.discovery)
    _ = try await ask(
      .write(characteristic.handle, try octets(value)), about: "characteristic \(characteristic.uuid)",
      at: characteristic.handle)
  }

  /// Discovers a characteristic, unless it is known, and writes it.
  public func write(
    _ value: some GATTValue, to characteristic: BluetoothUUID, in service: BluetoothUUID
  ) async throws(BLEError) {
    try await write(value, to: try await self.characteristic(characteristic, in: service))
  }

  /// Writes a value without a response from the device (Vol 3, Part G, 4.9.1), at most ``mtu`` - 3 octets.
  ///
  /// It returns when the value was handed to the controller, so a loop that writes goes as fast as the link.
  public func writeWithoutResponse(
    _ value: some GATTValue, to characteristic: RemoteCharacteristic
  ) async throws(BLEError) {
    try requireCurrent(characteristic.handle, since: characteristic.discovery)
    _ = try await ask(
      .writeWithoutResponse(characteristic.handle, try octetsWithoutResponse(value)),
      about: "characteristic \(characteristic.uuid)",
      at: characteristic.handle)
  }

  /// Discovers a characteristic, unless it is known, and writes a value without a response from the device, at most
  /// ``mtu`` - 3 octets.
  public func writeWithoutResponse(
    _ value: some GATTValue, to characteristic: BluetoothUUID, in service: BluetoothUUID
  ) async throws(BLEError) {
    try await writeWithoutResponse(value, to: try await self.characteristic(characteristic, in: service))
  }

  private func value(
    at handle: AttributeHandle, named name: @autoclosure () -> String
  ) async throws(BLEError) -> [UInt8] {
    guard case .value(let octets) = try await ask(.readLong(handle), about: name(), at: handle) else { return [] }
    return octets
  }

  func octetsWithoutResponse(_ value: some GATTValue) throws(BLEError) -> [UInt8] {
    let octets = try octets(value)
    guard octets.count <= mtu - 3 else {
      throw BLEError(
        .invalidArgument, "\(octets.count) octets are too long for a write without response: at most \(mtu - 3) here")
    }
    return octets
  }

  func octets(_ value: some GATTValue) throws(BLEError) -> [UInt8] {
    let octets = value.octets
    guard octets.count <= ATT.maximumValueLength else {
      throw BLEError(.invalidArgument, "the value has \(octets.count) octets; an attribute holds at most 512")
    }
    return octets
  }

  func decode<Value: GATTValue>(_ octets: [UInt8], _ uuid: BluetoothUUID) throws(BLEError) -> Value {
    guard let value = Value(octets: octets) else {
      throw BLEError(
        .invalidValue,
        "the value of characteristic \(uuid) is not a \(Value.self): \(octets.count) octets, \(octets.prefix(16).map { String($0, radix: 16) }.joined(separator: " "))"
      )
    }
    return value
  }

  /// Runs one procedure of the GATT client for an attribute, and waits for its end. An error names the attribute.
  func ask(
    _ kind: GATTClient.Operation.Kind, about name: @autoclosure () -> String, at handle: AttributeHandle? = nil
  ) async throws(BLEError) -> GATTClient.Outcome {
    do throws(BLEError) { return try await ask(kind) } catch {
      throw error.kind == .cancelled ? error : error.naming(name(), at: handle)
    }
  }

  /// Runs one procedure of the GATT client and waits for its end. What the device describes wrongly is noted.
  func ask(_ kind: GATTClient.Operation.Kind) async throws(BLEError) -> GATTClient.Outcome {
    let id = HostIDs.operation()
    let outcome = try await session.wait(for: .operation(peer, id)) { [peer] state, actions throws(BLEError) in
      try state.requireLink(peer)
      actions.commands.append(.link(peer, .client(GATTClient.Operation(id: id, kind))))
      return nil
    }
    let faults = outcome.faults.map {
      DiscoveryFault(handles: $0.handles, error: BLEError($0.error, bondLoss: nil, pairingFailure: nil))
    }
    if !faults.isEmpty { session.run { [peer] state, _ in state.links[peer]?.note(faults) } }
    return outcome.found
  }
}

extension AdapterSession.State {
  mutating func client(
    _ peer: LinkID, _ event: GATTClient.Event, of session: AdapterSession, into actions: inout Actions
  ) {
    switch event {
    // The end of the link follows, with its reason, which is the error of the operation.
    case .finished(_, .failure(.linkEnded)) where links[peer] != nil: break
    case .finished(let id, let result):
      proven(peer, into: &actions)
      if links.lend(peer, { $0.withdrawals.isEmpty }) == false { links[peer]?.withdrawals.remove(id) }
      let (loss, failure) = (links[peer]?.bondLoss, links[peer]?.pairingFailure)
      waits.answer(
        .operation(peer, id),
        result.mapError { BLEError($0, bondLoss: loss, pairingFailure: failure) }, into: &actions)
    case .notification(let handle, let value), .indication(let handle, let value):
      if let readers = links.lend(peer, { $0.values[handle]?.readers }) {
        readers.yield(value, into: &actions)
      } else {
        links[peer]?.earlyValues.add(value, at: handle)
      }
      links[peer]?.allValues.yield(AttributeValue(handle: handle, octets: value), into: &actions)
    case .servicesChanged(let range): servicesChanged(peer, range, of: session, into: &actions)
    case .mtu, .violation, .bearerFailed: break
    }
  }
}
