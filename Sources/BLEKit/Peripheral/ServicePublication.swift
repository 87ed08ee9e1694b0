public import BLEATT
package import BLEGATT
import BLEHost
public import BLEWire
import Synchronization

/// Services that ``Adapter/publish(_:)`` made visible. They are withdrawn with ``remove()``, or when nothing refers to
/// the publication any longer.
public final class ServicePublication: Sendable {
  let session: AdapterSession
  private let ids: [ServiceID]
  /// The characteristics that clients can subscribe to, in the order of the identifiers.
  private let attributes: [PublishedAttribute]
  private let requestStream: AttributeRequests

  init(session: AdapterSession, ids: [ServiceID], attributes: [PublishedAttribute], requests: AttributeRequests) {
    self.session = session
    self.ids = ids
    self.attributes = attributes
    requestStream = requests
  }

  deinit { session.withdraw(ids) }

  /// Withdraws the services: handlers are cancelled, and clients that are bonded or subscribed to Service Changed
  /// receive it (Vol 3, Part G, 7.1).
  public func remove() async {
    for id in ids {
      try? await session.wait(for: .serviceRemoval(id)) { state, actions throws(BLEError) in
        guard state.services[id] != nil else { return () }
        state.withdraw([id], into: &actions)
        return nil
      }
    }
    // A task that was cancelled does not wait, and has withdrawn nothing.
    session.withdraw(ids)
  }

  /// The reads and writes of characteristics that are ``LocalCharacteristic/readable(security:)`` or
  /// ``LocalCharacteristic/writable(kinds:security:)`` and have no handler.
  ///
  /// If the program does not answer, the stack answers with Unlikely Error (0x0E): at once if the request is released,
  /// otherwise before the client stops waiting. Read the sequence in one task at a time.
  public var requests: AsyncStream<AttributeRequest> { requestStream.stream }

  /// The clients that subscribe from now on, to any characteristic of the publication.
  public var subscriptions: AsyncStream<Subscriber> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: Subscriber.self, bufferingPolicy: .bufferingNewest(Streams<Subscriber>.limit))
    requestStream.addSubscriptions(continuation)
    return stream
  }

  /// Sends a value to the clients that are subscribed to a characteristic.
  ///
  /// It returns when the first of them has it: its notification was handed to the controller, or its indication
  /// confirmed. Each has room for 16 values. A client that has taken none of them when another one has taken all no
  /// longer delays the others: it misses values while it has no room. To lose none, send to each with
  /// ``Subscriber/send(_:)``.
  ///
  /// - Parameters:
  ///   - value: cut to what the ATT_MTU of each link holds (``RemoteDevice/mtu`` - 3).
  ///   - characteristic: the first one of this type in the publication.
  public func send(_ value: some GATTValue, for characteristic: BluetoothUUID) async throws(BLEError) {
    guard let attribute = attributes.first(where: { $0.uuid == characteristic })?.id else {
      throw BLEError(.notFound, "no characteristic \(characteristic) with notify or indicate was published here")
    }
    try await session.sendUpdate(of: attribute, value.octets)
  }
}

/// A read or a write that waits for an answer, from ``ServicePublication/requests``. Answer it once.
public final class AttributeRequest: Sendable {
  /// The kind of the request.
  public enum Kind: Hashable, Sendable {
    /// A client reads; answer with the whole value.
    case read
    /// A client has written this value.
    case write([UInt8])
  }

  /// The kind of the request.
  public let kind: Kind
  /// The client.
  public let device: RemoteDevice
  /// The type of the service.
  public let service: BluetoothUUID
  /// The type of the characteristic.
  public let characteristic: BluetoothUUID
  private let answer: Mutex<CheckedContinuation<Result<[UInt8], ATTErrorCode>, Never>?>

  fileprivate init(
    _ kind: Kind, of device: RemoteDevice, _ published: PublishedCharacteristic,
    answer: CheckedContinuation<Result<[UInt8], ATTErrorCode>, Never>
  ) {
    self.kind = kind
    self.device = device
    service = published.service
    characteristic = published.characteristic.uuid
    self.answer = Mutex(answer)
  }

  deinit { reject(.unlikelyError) }

  /// Answers a read with the whole value, at most 512 octets. The second answer has no effect.
  public func respond(with value: some GATTValue) { resume(.success(value.octets)) }
  /// Accepts a write.
  public func accept() { resume(.success([])) }
  /// Answers with an error.
  public func reject(_ code: ATTErrorCode) { resume(.failure(code)) }

  private func resume(_ result: Result<[UInt8], ATTErrorCode>) {
    let waiting = answer.withLock { answer in
      defer { answer = nil }
      return answer
    }
    waiting?.resume(returning: result)
  }
}

/// The requests without a handler, for the reader of ``ServicePublication/requests``.
final class AttributeRequests: Sendable {
  let stream: AsyncStream<AttributeRequest>
  private let continuation: AsyncStream<AttributeRequest>.Continuation
  private let subscriptions = Mutex<[AsyncStream<Subscriber>.Continuation]>([])
  /// Requests that may wait for a reader; one more is answered with Insufficient Resources (0x11).
  static let limit = 64

  init() {
    (stream, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.limit))
  }

  /// Waits for the answer of the application. A request for which there is no room, or whose task is cancelled, is
  /// rejected.
  func ask(
    _ kind: AttributeRequest.Kind, of device: RemoteDevice, _ published: PublishedCharacteristic
  ) async throws(ATTErrorCode) -> [UInt8] {
    let request = Mutex<WeakRequest>(WeakRequest())
    let result: Result<[UInt8], ATTErrorCode> = await withTaskCancellationHandler {
      await withCheckedContinuation { waiting in
        let made = AttributeRequest(kind, of: device, published, answer: waiting)
        request.withLock { $0.object = made }
        // A request that is dropped here answers itself when it is released.
        switch continuation.yield(made) {
        case .enqueued: if Task.isCancelled { made.reject(.unlikelyError) }
        case .dropped: made.reject(.insufficientResources)
        case .terminated: made.reject(.unlikelyError)
        @unknown default: made.reject(.unlikelyError)
        }
      }
    } onCancel: {
      request.withLock { $0.object }?.reject(.unlikelyError)
    }
    return try result.get()
  }

  private struct WeakRequest: Sendable { weak var object: AttributeRequest? }

  func addSubscriptions(_ continuation: AsyncStream<Subscriber>.Continuation) {
    subscriptions.withLock { $0.append(continuation) }
  }

  func subscribed(_ subscriber: Subscriber) {
    subscriptions.withLock { list in
      list.removeAll { if case .terminated = $0.yield(subscriber) { true } else { false } }
    }
  }

  func finish() {
    continuation.finish()
    for subscription in subscriptions.withLock({ $0 }) { subscription.finish() }
  }
}

/// The name of a characteristic that is published and that clients can subscribe to.
struct PublishedAttribute: Sendable {
  var id: AttributeID
  var uuid: BluetoothUUID
}

/// A characteristic with requests or subscriptions, with the service it is in.
final class PublishedCharacteristic: Sendable {
  let characteristic: LocalCharacteristic
  let service: BluetoothUUID
  let requests: AttributeRequests

  init(_ characteristic: LocalCharacteristic, service: BluetoothUUID, requests: AttributeRequests) {
    (self.characteristic, self.service, self.requests) = (characteristic, service, requests)
  }
}

/// A service that is published, or whose withdrawal the host has not confirmed.
struct PublishedService: Sendable {
  var attributes: [AttributeID]
  /// Nil after the withdrawal.
  var requests: AttributeRequests?

  func end(into actions: inout Actions) { actions.later { [requests] in requests?.finish() } }
}

// MARK: - Publishing

extension Adapter {
  /// Makes services visible to clients, in this order. They are published again after the adapter was switched off or
  /// lost.
  ///
  /// - Returns: the publication; keep it for as long as the services are to be published.
  /// - Throws: ``BLEError/Kind/invalidArgument`` with the service or characteristic that cannot be published; then none
  ///   is published. ``BLEError/Kind/adapterUnavailable`` if the transport could not be opened.
  public func publish(_ services: [LocalService]) async throws(BLEError) -> ServicePublication {
    let requests = AttributeRequests()
    var ids: [ServiceID] = []
    var attributes: [PublishedAttribute] = []
    for service in services {
      do {
        _ = try await publish(service, requests, &ids, &attributes)
      } catch {
        session.withdraw(ids)
        throw error
      }
    }
    return ServicePublication(session: session, ids: ids, attributes: attributes, requests: requests)
  }

  private func publish(
    _ service: LocalService, _ requests: AttributeRequests, _ ids: inout [ServiceID],
    _ attributes: inout [PublishedAttribute]
  ) async throws(BLEError) -> ServiceID {
    guard service.uuid != "1800", service.uuid != "1801" else {
      throw BLEError(.invalidArgument, "the stack publishes the service \(service.uuid) itself: leave it out")
    }
    for characteristic in service.characteristics { try characteristic.validate() }
    var included: [ServiceID] = []
    for other in service.includedServices { included.append(try await publish(other, requests, &ids, &attributes)) }

    let id = HostIDs.service()
    var definition = ServiceDefinition(id: id, uuid: service.uuid, isPrimary: service.isPrimary, includes: included)
    var entry = PublishedService(attributes: [], requests: requests)
    var published: [(AttributeID, PublishedCharacteristic)] = []
    for characteristic in service.characteristics {
      let name = HostIDs.attribute()
      definition.characteristics.append(characteristic.definition(name, descriptorID: HostIDs.attribute))
      // The stack alone serves the others.
      guard characteristic.needsSession else { continue }
      definition.providers[name] = session.provider(of: name, characteristic)
      if characteristic.updateRequirement != nil {
        attributes.append(PublishedAttribute(id: name, uuid: characteristic.uuid))
      }
      entry.attributes.append(name)
      published.append((name, PublishedCharacteristic(characteristic, service: service.uuid, requests: requests)))
    }
    try await session.wait(for: .serviceAdd(id)) {
      [definition, published, entry] state, actions throws(BLEError) in
      try state.requireHost()
      state.services[id] = entry
      for (name, characteristic) in published {
        state.attributes[name] = characteristic
        state.synchronousHandlers[name] = SynchronousHandlers(characteristic.characteristic)
      }
      actions.commands.append(.services(.add(definition)))
      return nil
    } abandon: { state, actions in
      state.withdraw([id], into: &actions)
    }
    ids.append(id)
    return id
  }
}

/// An attribute with its handle, for ``Adapter/publish(database:)``.
package struct PlacedAttribute: Sendable {
  /// Handle, type, permissions and value; `publish` chooses the identifier.
  package var definition: AttributeDefinition
  /// The handlers of a dynamic value; nil for a fixed one.
  package var handlers: LocalCharacteristic?

  package init(_ definition: AttributeDefinition, handlers: LocalCharacteristic? = nil) {
    (self.definition, self.handlers) = (definition, handlers)
  }
}

extension Adapter {
  /// Publishes a whole database with given handles, instead of all services of the adapter: Generic Access and Generic
  /// Attribute have to be among the attributes, if clients are to find them. When the publication is withdrawn, the
  /// adapter has those of its own again.
  ///
  /// - Parameter placed: in ascending order of the handles.
  /// - Throws: ``BLEError/Kind/invalidArgument`` if the attributes are no database, or if services are published.
  package func publish(database placed: [PlacedAttribute]) async throws(BLEError) -> ServicePublication {
    let requests = AttributeRequests()
    let id = HostIDs.service()
    var entry = PublishedService(attributes: [], requests: requests)
    var definitions: [AttributeDefinition] = []
    var published: [(AttributeID, PublishedCharacteristic)] = []
    var updated: [PublishedAttribute] = []
    var service: BluetoothUUID = "1800"
    for attribute in placed {
      var definition = attribute.definition
      if definition.type == .primaryService || definition.type == .secondaryService,
        case .fixed(let octets) = definition.value
      {
        service = BluetoothUUID(littleEndian: octets[...]) ?? service
      }
      if let handlers = attribute.handlers {
        let name = HostIDs.attribute()
        definition.id = name
        entry.attributes.append(name)
        published.append((name, PublishedCharacteristic(handlers, service: service, requests: requests)))
        if handlers.updateRequirement != nil { updated.append(PublishedAttribute(id: name, uuid: handlers.uuid)) }
      }
      definitions.append(definition)
    }
    try await session.wait(for: .serviceAdd(id)) {
      [definitions, published, entry] state, actions throws(BLEError) in
      try state.requireHost()
      state.services[id] = entry
      for (name, characteristic) in published { state.attributes[name] = characteristic }
      actions.commands.append(.services(.replaceAll(id, definitions)))
      return nil
    } abandon: { state, actions in
      state.withdraw([id], into: &actions)
    }
    return ServicePublication(session: session, ids: [id], attributes: updated, requests: requests)
  }
}

extension AdapterSession {
  func withdraw(_ ids: [ServiceID]) { run { state, actions in state.withdraw(ids, into: &actions) } }
}

extension AdapterSession.State {
  /// Withdraws services: from now on the host answers requests for them.
  mutating func withdraw(_ ids: [ServiceID], into actions: inout Actions) {
    // In reverse order, because a service may include an earlier one.
    for id in ids.reversed() {
      guard let service = services[id] else { continue }
      actions.commands.append(.services(.remove(id)))
      guard let requests = service.requests else { continue }
      for attribute in service.attributes {
        attributes[attribute] = nil
        synchronousHandlers[attribute] = nil
        for peer in links.keys { links[peer]?.subscriptions.removeValue(forKey: attribute)?.end(into: &actions) }
      }
      for queue in requestQueues.values { actions.later { queue.cancel(for: service.attributes) } }
      services[id] = PublishedService(attributes: [], requests: nil)
      let isLast = !services.values.contains { $0.requests === requests }
      if isLast { service.end(into: &actions) }
    }
  }

  mutating func serviceRemoved(_ id: ServiceID, into actions: inout Actions) {
    services[id] = nil
    waits.answer(.serviceRemoval(id), .success(()), into: &actions)
  }
}
