import BLEATT
import BLEAdapter
import BLEGATT
import BLEHost
public import BLEWire

/// The values that a device notifies or indicates, from ``RemoteDevice/values(of:as:)`` or
/// ``RemoteDevice/values(of:in:as:)``. The subscription lasts for as long as an iterator exists.
public struct CharacteristicValues<Element: GATTValue>: AsyncSequence, Sendable {
  public typealias Failure = BLEError

  let device: RemoteDevice
  let source: ValueSource

  public func makeAsyncIterator() -> Iterator { Iterator(device: device, source: source, values: nil) }

  /// Subscribes at once, and returns when the device has answered: for a request whose answer is a notification. The
  /// iterator receives the values from then on.
  ///
  /// ```swift
  /// var answers = try await device.values(of: answer).subscribed()
  /// try await device.write(request, to: controlPoint)
  /// let first = try await answers.next()
  /// ```
  public func subscribed() async throws(BLEError) -> Iterator {
    Iterator(device: device, source: source, values: try await device.valueStream(of: source))
  }

  /// Subscribes with the first element.
  public struct Iterator: AsyncIteratorProtocol {
    let device: RemoteDevice
    let source: ValueSource
    /// Nil before the first element is requested.
    var values: AsyncThrowingStream<[UInt8], any Error>?

    public mutating func next() async throws(BLEError) -> Element? {
      let stream: AsyncThrowingStream<[UInt8], any Error>
      if let values {
        stream = values
      } else {
        stream = try await device.valueStream(of: source)
        values = stream
      }
      // All iterators of a stream share its elements.
      var iterator = stream.makeAsyncIterator()
      let octets: [UInt8]?
      do {
        octets = try await iterator.next()
      } catch {
        throw error as? BLEError ?? .cancelled
      }
      guard let octets else { return nil }
      return try device.decode(octets, source.uuid)
    }
  }
}

extension RemoteDevice {
  /// Subscribes to a characteristic for as long as the sequence is read: to notifications if the device offers them,
  /// otherwise to indications (Vol 3, Part G, 4.10 and 4.11).
  ///
  /// ```swift
  /// let measurement = try await device.characteristic("2A37", in: "180D")
  /// for try await value in device.values(of: measurement) {
  ///   print("\(value.last ?? 0) beats per minute")
  /// }
  /// ```
  ///
  /// A bonded device keeps the subscriptions of an earlier link that was lost, and may send a value before the program
  /// subscribes: the last such value is the first element.
  ///
  /// No value is dropped silently: a reader that is 1024 values behind gets the error ``BLEError/Kind/limitExceeded``.
  /// The sequence ends with ``BLEError/Kind/disconnected`` when the link ends.
  ///
  /// If the services of the device change, the characteristic is discovered again by its service and its type, and
  /// subscribed to again; if it is gone, the sequence ends with ``BLEError/Kind/servicesChanged``. A characteristic
  /// without a Client Characteristic Configuration cannot be subscribed to: its values arrive if the device sends them
  /// nevertheless, as some devices do, and the log has a line.
  public func values<Value: GATTValue>(
    of characteristic: RemoteCharacteristic, as type: Value.Type = [UInt8].self
  ) -> CharacteristicValues<Value> {
    CharacteristicValues(device: self, source: .characteristic(characteristic))
  }

  /// Discovers a characteristic, unless it is known, and subscribes to it for as long as the sequence is read, as
  /// ``values(of:as:)`` does.
  ///
  /// ```swift
  /// for try await level in device.values(of: "2A19", in: "180F", as: UInt8.self) {
  ///   print("\(level) %")
  /// }
  /// ```
  ///
  /// The sequence ends with ``BLEError/Kind/notFound`` at its first element if the device does not have the
  /// characteristic.
  public func values<Value: GATTValue>(
    of characteristic: BluetoothUUID, in service: BluetoothUUID, as type: Value.Type = [UInt8].self
  ) -> CharacteristicValues<Value> {
    CharacteristicValues(device: self, source: .type(characteristic, service: service))
  }

  fileprivate func valueStream(
    of source: ValueSource
  ) async throws(BLEError) -> AsyncThrowingStream<[UInt8], any Error> {
    switch source {
    case .characteristic(let characteristic): return try await valueStream(of: characteristic)
    case .type(let uuid, let service):
      return try await unlessChanged { () throws(BLEError) in
        try await valueStream(of: try await characteristic(uuid, in: service))
      }
    }
  }

  /// Subscribes.
  private func valueStream(
    of characteristic: RemoteCharacteristic
  ) async throws(BLEError) -> AsyncThrowingStream<[UInt8], any Error> {
    let subscription: Subscription
    if characteristic.properties.contains(.notify) {
      subscription = .notify
    } else if characteristic.properties.contains(.indicate) {
      subscription = .indicate
    } else {
      throw BLEError(.notFound, "characteristic \(characteristic.uuid) offers neither notifications nor indications")
    }
    try requireCurrent(characteristic.handle, since: characteristic.discovery)
    let stream = try addValueStream(characteristic, subscription)
    do throws(BLEError) {
      try await configure(characteristic, subscription)
    } catch {
      // It is being found again.
      guard error.kind == .servicesChanged else { throw error }
    }
    return stream
  }

  /// Writes the Client Characteristic Configuration. Each reader does: the device may have lost the configuration, and
  /// writing it again does no harm.
  private func configure(
    _ characteristic: RemoteCharacteristic, _ subscription: Subscription
  ) async throws(BLEError) {
    guard let range = characteristic.configurationRange else { return }
    _ = try await ask(
      .configure(subscription, in: range), about: "the subscription to characteristic \(characteristic.uuid)")
  }

  /// Adds the stream before the subscription, so that it receives the first value.
  private func addValueStream(
    _ characteristic: RemoteCharacteristic, _ subscription: Subscription
  ) throws(BLEError) -> AsyncThrowingStream<[UInt8], any Error> {
    let (stream, continuation) = AsyncThrowingStream.makeStream(
      of: [UInt8].self, bufferingPolicy: .bufferingOldest(ValueStreams<[UInt8]>.limit))
    let id = HostIDs.next32()
    continuation.onTermination = { [weak session, peer] _ in
      session?.run { state, actions in
        guard let range = state.links[peer]?.removeReader(id), !state.isClosed else { return }
        let operation = GATTClient.Operation(id: HostIDs.operation(), .configure([], in: range))
        state.links[peer]?.withdrawals.insert(operation.id)
        actions.commands.append(.link(peer, .client(operation)))
      }
    }
    let refusal: BLEError? = session.run { [peer] state, _ in
      if state.isClosed { return .closed }
      guard state.links[peer] != nil else { return state.endedLinks.error(of: peer) }
      let new = SubscribedCharacteristic(characteristic, subscription)
      state.links[peer]?.values[characteristic.handle, default: new].readers.add(continuation, id)
      if let early = state.links[peer]?.earlyValues.claim(characteristic.handle) { continuation.yield(early) }
      return nil
    }
    if let refusal { throw refusal }
    return stream
  }

  /// Finds a characteristic again whose handles have changed, and subscribes to it for its readers. If it is gone, their
  /// sequences end.
  fileprivate func subscribeAgain(to displaced: RemoteCharacteristic) async {
    let text = "the services of \(self) have changed: characteristic \(displaced.uuid)"
    let found: RemoteCharacteristic
    do throws(BLEError) {
      let same = try await services(of: displaced.place.service).flatMap(\.characteristics)
        .first { $0.uuid == displaced.uuid && $0.place == displaced.place }
      guard let same else { throw BLEError(.servicesChanged, "\(text) is gone. Discover the services again") }
      found = same
    } catch {
      return session.run { [peer] state, actions in
        state.links[peer]?.takeDisplaced(displaced)?.readers.finish(throwing: error, into: &actions)
      }
    }
    let subscription = session.run { [peer] state, _ in state.links[peer]?.replace(displaced, by: found) }
    guard let subscription else { return }
    do throws(BLEError) {
      try await configure(found, subscription)
    } catch {
      // After another change it is being found again.
      guard error.kind != .servicesChanged else { return }
      session.run { [peer] state, actions in
        state.links[peer]?.values.removeValue(forKey: found.handle)?.readers.finish(throwing: error, into: &actions)
      }
    }
  }
}

/// The characteristic of a sequence of values.
enum ValueSource: Sendable {
  case characteristic(RemoteCharacteristic)
  /// One that is discovered when the sequence is read.
  case type(BluetoothUUID, service: BluetoothUUID)

  var uuid: BluetoothUUID {
    switch self {
    case .characteristic(let characteristic): characteristic.uuid
    case .type(let uuid, _): uuid
    }
  }
}

/// A characteristic whose values are read.
struct SubscribedCharacteristic: Sendable {
  let characteristic: RemoteCharacteristic
  let subscription: Subscription
  var readers = ValueStreams<[UInt8]>()

  init(_ characteristic: RemoteCharacteristic, _ subscription: Subscription) {
    (self.characteristic, self.subscription) = (characteristic, subscription)
  }
}

extension RemoteCharacteristic {
  /// Where its Client Characteristic Configuration is searched; nil at the last handle.
  fileprivate var configurationRange: ClosedRange<AttributeHandle>? { descriptors ?? handle.attributeBehind }
}

extension LinkState {
  /// Removes a reader of values.
  ///
  /// - Returns: where to write that the characteristic has no readers any more, if that is so.
  fileprivate mutating func removeReader(_ id: UInt32) -> ClosedRange<AttributeHandle>? {
    for index in displaced.indices where displaced[index].readers.contains(id) {
      if displaced[index].readers.remove(id) { displaced.remove(at: index) }
      return nil
    }
    guard let handle = values.first(where: { $0.value.readers.contains(id) })?.key,
      values[handle]?.readers.remove(id) == true
    else { return nil }
    return values.removeValue(forKey: handle)?.characteristic.configurationRange
  }

  /// Takes out a characteristic that was to be found again.
  fileprivate mutating func takeDisplaced(_ characteristic: RemoteCharacteristic) -> SubscribedCharacteristic? {
    displaced.firstIndex { $0.characteristic == characteristic }.map { displaced.remove(at: $0) }
  }

  /// Gives the readers of a characteristic that was found again the values of its handle from now on.
  ///
  /// - Returns: their subscription; nil if none is left.
  fileprivate mutating func replace(
    _ old: RemoteCharacteristic, by new: RemoteCharacteristic
  ) -> Subscription? {
    guard let moved = takeDisplaced(old) else { return nil }
    let entry = SubscribedCharacteristic(new, moved.subscription)
    values[new.handle, default: entry].readers.add(moved.readers)
    return moved.subscription
  }
}

extension AdapterSession.State {
  /// Attributes of a device have changed. Characteristics that are subscribed to are found again.
  mutating func servicesChanged(
    _ peer: LinkID, _ range: ClosedRange<AttributeHandle>, of session: AdapterSession, into actions: inout Actions
  ) {
    guard var link = links[peer] else { return }
    link.discovered = [:]
    link.changes.add(range)
    link.allValues.finish(throwing: .servicesChanged, into: &actions)
    link.earlyValues.remove(in: range)
    let device = RemoteDevice(session: session, peer: peer, address: link.address, isCentral: link.isCentral)
    for handle in link.values.keys.sorted() where range.contains(handle) {
      guard let entry = link.values.removeValue(forKey: handle) else { continue }
      link.displaced.append(entry)
      actions.later {
        Task(executorPreference: session.clock.executor) { await device.subscribeAgain(to: entry.characteristic) }
      }
    }
    links[peer] = link
  }
}

/// The readers of the values of one characteristic, or of all.
struct ValueStreams<Value: Sendable>: Sendable {
  private var continuations: [UInt32: AsyncThrowingStream<Value, any Error>.Continuation] = [:]

  /// Values that wait for a reader; with one more its sequence ends with an error.
  static var limit: Int { 1024 }

  mutating func add(_ continuation: AsyncThrowingStream<Value, any Error>.Continuation, _ id: UInt32) {
    continuations[id] = continuation
  }

  var isEmpty: Bool { continuations.isEmpty }

  func contains(_ id: UInt32) -> Bool { continuations[id] != nil }

  mutating func add(_ others: Self) { continuations.merge(others.continuations) { $1 } }

  /// - Returns: whether it was the last one.
  mutating func remove(_ id: UInt32) -> Bool {
    continuations.removeValue(forKey: id) != nil && continuations.isEmpty
  }

  func yield(_ value: Value, into actions: inout Actions) {
    for continuation in continuations.values {
      actions.later {
        guard case .dropped = continuation.yield(value) else { return }
        continuation.finish(
          throwing: BLEError(.limitExceeded, "more than \(Self.limit) values wait to be read: read them faster"))
      }
    }
  }

  func finish(throwing error: BLEError, into actions: inout Actions) {
    for continuation in continuations.values { actions.later { continuation.finish(throwing: error) } }
  }
}
