import BLEATT
import BLEGATT
import BLEHost
import BLEWire

/// The values that a device notifies or indicates, from ``RemoteDevice/values(of:as:)``. The subscription lasts for as
/// long as an iterator exists.
public struct CharacteristicValues<Element: GATTValue>: AsyncSequence, Sendable {
  public typealias Failure = BLEError

  let device: RemoteDevice
  let characteristic: RemoteCharacteristic

  public func makeAsyncIterator() -> Iterator {
    Iterator(device: device, characteristic: characteristic, values: nil)
  }

  /// Subscribes at once, and returns when the device has answered: for a request whose answer is a notification. The
  /// iterator receives the values from then on.
  ///
  /// ```swift
  /// var answers = try await device.values(of: answer).subscribed()
  /// try await device.write(request, to: controlPoint)
  /// let first = try await answers.next()
  /// ```
  public func subscribed() async throws(BLEError) -> Iterator {
    Iterator(device: device, characteristic: characteristic, values: try await device.subscribe(to: characteristic))
  }

  /// Subscribes with the first element.
  public struct Iterator: AsyncIteratorProtocol {
    let device: RemoteDevice
    let characteristic: RemoteCharacteristic
    /// Nil before the first element is requested.
    var values: AsyncThrowingStream<[UInt8], any Error>?

    public mutating func next() async throws(BLEError) -> Element? {
      let stream: AsyncThrowingStream<[UInt8], any Error>
      if let values {
        stream = values
      } else {
        stream = try await device.subscribe(to: characteristic)
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
      return try device.decode(octets, characteristic.uuid)
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
  /// No value is dropped silently: a reader that is 1024 values behind gets the error ``BLEError/Kind/limitExceeded``.
  /// The sequence ends with ``BLEError/Kind/disconnected`` when the link ends.
  public func values<Value: GATTValue>(
    of characteristic: RemoteCharacteristic, as type: Value.Type = [UInt8].self
  ) -> CharacteristicValues<Value> {
    CharacteristicValues(device: self, characteristic: characteristic)
  }

  fileprivate func subscribe(
    to characteristic: RemoteCharacteristic
  ) async throws(BLEError) -> AsyncThrowingStream<[UInt8], any Error> {
    let subscription: Subscription
    if characteristic.properties.contains(.notify) {
      subscription = .notify
    } else if characteristic.properties.contains(.indicate) {
      subscription = .indicate
    } else {
      throw BLEError(.notFound, "characteristic \(characteristic.uuid) offers neither notifications nor indications")
    }
    guard let range = characteristic.descriptors else {
      throw BLEError(.notFound, "characteristic \(characteristic.uuid) has no Client Characteristic Configuration")
    }
    let stream = try addValueStream(characteristic.handle, range)
    // Each reader configures it: the device may have lost the configuration, and writing it again does no harm.
    _ = try await ask(
      .configure(subscription, in: range), about: "the subscription to characteristic \(characteristic.uuid)")
    return stream
  }

  /// Adds the stream before the subscription, so that it receives the first value.
  private func addValueStream(
    _ handle: AttributeHandle, _ range: ClosedRange<AttributeHandle>
  ) throws(BLEError) -> AsyncThrowingStream<[UInt8], any Error> {
    let (stream, continuation) = AsyncThrowingStream.makeStream(
      of: [UInt8].self, bufferingPolicy: .bufferingOldest(ValueStreams<[UInt8]>.limit))
    let id = HostIDs.next32()
    continuation.onTermination = { [weak session, peer] _ in
      session?.run { state, actions in
        guard state.links[peer]?.values[handle]?.remove(id) == true, !state.isClosed else { return }
        state.links[peer]?.values[handle] = nil
        let operation = GATTClient.Operation(id: HostIDs.operation(), .configure([], in: range))
        actions.commands.append(.client(peer, operation))
      }
    }
    let refusal: BLEError? = session.run { [peer] state, _ in
      if state.isClosed { return .closed }
      guard state.links[peer] != nil else { return state.endedLinks.error(of: peer) }
      state.links[peer]?.values[handle, default: ValueStreams()].add(continuation, id)
      return nil
    }
    if let refusal { throw refusal }
    return stream
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
