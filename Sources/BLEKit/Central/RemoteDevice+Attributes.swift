public import BLEATT
public import BLEAdapter
import BLEGATT
import BLEHost

/// A value that a device has notified or indicated, from ``RemoteDevice/attributeValues()``.
public struct AttributeValue: Hashable, Sendable {
  /// The handle of the characteristic's value.
  public let handle: AttributeHandle
  /// At most ``RemoteDevice/mtu`` - 3 octets.
  public let octets: [UInt8]
}

/// The values that a device sends, from ``RemoteDevice/attributeValues()``.
public struct AttributeValues: AsyncSequence, Sendable {
  public typealias Element = AttributeValue
  public typealias Failure = BLEError

  let stream: AsyncThrowingStream<AttributeValue, any Error>

  public func makeAsyncIterator() -> Iterator { Iterator(values: stream.makeAsyncIterator()) }

  /// The values in the order in which they arrived.
  public struct Iterator: AsyncIteratorProtocol {
    var values: AsyncThrowingStream<AttributeValue, any Error>.Iterator

    public mutating func next() async throws(BLEError) -> AttributeValue? {
      do { return try await values.next() } catch { throw error as? BLEError ?? .cancelled }
    }
  }
}

/// Attributes by their handles, for programs that get the handles from elsewhere: a gateway or a proxy.
extension RemoteDevice {
  /// Waits until the ATT_MTU of the link is known (Vol 3, Part G, 4.3.1): the stack exchanges it at the beginning.
  ///
  /// - Returns: ``mtu``.
  public func exchangeMTU() async throws(BLEError) -> Int {
    do throws(BLEError) {
      _ = try await ask(.exchangeMTU(ATT.maximumMTU))
    } catch {
      // A device that does not support the request keeps the default.
      guard case .att = error.kind else { throw error }
    }
    return mtu
  }

  /// Reads the whole value of an attribute (Vol 3, Part G, 4.8.3 and 4.12.2).
  ///
  /// - Throws: ``BLEError/Kind/att(_:)`` with the error of the device.
  public func read(_ handle: AttributeHandle) async throws(BLEError) -> [UInt8] {
    guard case .value(let octets) = try await ask(.readLong(handle)) else { return [] }
    return octets
  }

  /// Writes the value of an attribute, a long one in parts, and waits for the answer (Vol 3, Part G, 4.9.3, 4.9.4 and
  /// 4.12.3).
  ///
  /// - Parameters:
  ///   - octets: at most 512.
  ///   - handle: the attribute.
  public func write(_ octets: [UInt8], to handle: AttributeHandle) async throws(BLEError) {
    _ = try await ask(.write(handle, try self.octets(octets)))
  }

  /// Writes the value of an attribute without a response from the device (Vol 3, Part G, 4.9.1).
  ///
  /// - Parameters:
  ///   - octets: at most ``mtu`` - 3.
  ///   - handle: the attribute.
  public func writeWithoutResponse(_ octets: [UInt8], to handle: AttributeHandle) async throws(BLEError) {
    _ = try await ask(.writeWithoutResponse(handle, try octetsWithoutResponse(octets)))
  }

  /// The values that the device notifies and indicates from now on, of all characteristics, in one order. It subscribes
  /// to none: the program writes the Client Characteristic Configuration descriptors (Vol 3, Part G, 3.3.3.3).
  ///
  /// No value is dropped silently: a reader that is 1024 values behind gets the error ``BLEError/Kind/limitExceeded``.
  /// The sequence ends with ``BLEError/Kind/disconnected`` when the link ends, and with
  /// ``BLEError/Kind/servicesChanged`` when the device reports that its services have changed: handles from before may
  /// be those of other attributes then, and have to be discovered again.
  public func attributeValues() throws(BLEError) -> AttributeValues {
    let (stream, continuation) = AsyncThrowingStream.makeStream(
      of: AttributeValue.self, bufferingPolicy: .bufferingOldest(ValueStreams<AttributeValue>.limit))
    let id = HostIDs.next32()
    continuation.onTermination = { [weak session, peer] _ in
      session?.run { state, _ in _ = state.links[peer]?.allValues.remove(id) }
    }
    let refusal: BLEError? = session.run { [peer] state, _ in
      if state.isClosed { return .closed }
      guard state.links[peer] != nil else { return state.endedLinks.error(of: peer) }
      state.links[peer]?.allValues.add(continuation, id)
      return nil
    }
    if let refusal { throw refusal }
    return AttributeValues(stream: stream)
  }

  /// Requests another timing of the link and waits for the outcome; the central decides (Vol 3, Part A, 4.20).
  ///
  /// - Returns: the timing that is in force then.
  /// - Throws: ``BLEError/Kind/invalidArgument`` for values that ``ConnectionParameterRequest`` does not allow, the
  ///   error of the controller or of the device if it rejects the request.
  @discardableResult
  public func updateConnectionParameters(
    _ request: ConnectionParameterRequest, timeout: Duration? = .seconds(30)
  ) async throws(BLEError) -> ConnectionTiming {
    guard let parameters = request.parameters else {
      throw BLEError(.invalidArgument, "\(request) is outside the limits of ConnectionParameterRequest")
    }
    return try await session.wait(
      for: .timing(peer), timeout: timeout,
      missing: "no other timing of the link to \(self)"
    ) { [peer] state, actions throws(BLEError) in
      try state.requireLink(peer)
      actions.commands.append(.link(peer, .updateConnection(parameters)))
      return nil
    }
  }

  /// Requests other subrating of the link, as its central or as its peripheral, and waits for the outcome (Vol 4,
  /// Part E, 7.8.124). ``timing`` has the latency and the supervision timeout then.
  ///
  /// ```swift
  /// // One in eight connection events, and all of them while values follow each other.
  /// try await device.requestSubrate(SubrateRequest(factor: 8...8, continuationNumber: 7))
  /// ```
  ///
  /// ``ConnectionPriority/lowPower`` requests subrating by itself.
  ///
  /// - Parameters:
  ///   - request: the subrating. A factor of 1 ends it.
  ///   - timeout: the time for the controllers; nil waits until they have answered or given up, after 42 s at the
  ///     latest.
  /// - Returns: the subrating that is in force then.
  /// - Throws: ``BLEError/Kind/invalidArgument`` for values that ``SubrateRequest`` does not allow, and while another
  ///   request for the link is outstanding; ``BLEError/Kind/unsupported`` if the controller has no subrating, or the
  ///   kernel runs the adapter; the error of the controller if the device has none or rejects the request.
  @discardableResult
  public func requestSubrate(
    _ request: SubrateRequest, timeout: Duration? = .seconds(30)
  ) async throws(BLEError) -> ConnectionSubrating {
    guard let parameters = request.parameters else {
      throw BLEError(.invalidArgument, "\(request) is outside the limits of SubrateRequest")
    }
    return try await session.wait(
      for: .subrating(peer), timeout: timeout,
      missing: "no other subrating of the link to \(self)"
    ) { [peer] state, actions throws(BLEError) in
      try state.requireLink(peer)
      try state.waits.requireNone(.subrating(peer), "other subrating")
      actions.commands.append(.link(peer, .requestSubrating(parameters)))
      return nil
    }
  }

  /// Requests an interval that may be shorter than 7.5 ms, with subrating, as the central of the link or as its
  /// peripheral, and waits for the outcome (Bluetooth 6.2; Vol 4, Part E, 7.8.154). ``timing`` and ``subrate`` have it
  /// then.
  ///
  /// ```swift
  /// // A question and its answer in a few milliseconds.
  /// let request = ConnectionRateRequest(interval: .milliseconds(1)...Duration.milliseconds(2))
  /// try await device.requestConnectionRate(request)
  /// ```
  ///
  /// The rate ends with ``updateConnectionParameters(_:timeout:)`` or another priority. The radio is on more often
  /// the shorter the interval is, and one adapter may have time for a few such links only.
  ///
  /// - Parameters:
  ///   - request: the interval and the subrating.
  ///   - timeout: the time for the controllers; nil waits until they have answered or given up: after 42 s at the
  ///     latest, or 84 s for the first request of a link.
  /// - Returns: the timing that is in force then.
  /// - Throws: ``BLEError/Kind/invalidArgument`` for values that ``ConnectionRateRequest`` or the controller does not
  ///   allow, and while another request for the link is outstanding; ``BLEError/Kind/unsupported`` if the adapter or
  ///   the device has no shorter connection intervals, which the text says, or if the kernel runs the adapter; the
  ///   error of the controller if it or the device rejects the request.
  @discardableResult
  public func requestConnectionRate(
    _ request: ConnectionRateRequest, timeout: Duration? = .seconds(30)
  ) async throws(BLEError) -> ConnectionTiming {
    guard let parameters = request.parameters else {
      throw BLEError(.invalidArgument, "\(request) is outside the limits of ConnectionRateRequest")
    }
    return try await session.wait(
      for: .connectionRate(peer), timeout: timeout,
      missing: "no other connection rate of the link to \(self)"
    ) { [peer] state, actions throws(BLEError) in
      try state.requireLink(peer)
      try state.waits.requireNone(.connectionRate(peer), "another connection rate")
      actions.commands.append(.link(peer, .requestConnectionRate(parameters)))
      return nil
    }
  }

  /// Forgets what was discovered of the device's services, here and with its bond. The next ``services()`` discovers
  /// them anew.
  public func forgetServices() throws(BLEError) {
    session.run { [peer] state, _ in state.links[peer]?.discovered = [:] }
    try session.command(peer, .discardAttributeCache)
  }
}
