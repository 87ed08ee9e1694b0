import BLEATT
import BLEGATT
import BLEHost
import BLEWire
import Synchronization

/// Handlers that are called on the thread of the stack (Docs/Decisions/performance.md).
///
/// ```
///   packet ──► stack ──► readSynchronously { } ──► packet        one thread, within the request (ValueProvider)
///   packet ──► stack ──► task: read { } ──► stack ──► packet     two changes of threads
/// ```
extension LocalCharacteristic {
  /// A value that the handler makes for each read on the thread of the stack, and that is sent at once.
  ///
  /// It takes a third of the time of ``read(security:_:)``, because it wakes no other thread.
  /// Until `handler` returns, the stack serves no other client and reads no packet, so the handler has to return within
  /// microseconds. It must not
  ///
  /// - wait: for a file, a device, another thread, or a task,
  /// - take a lock that other code holds while it waits, or while it calls this API,
  /// - run for long: the controller waits with its packets, and links can be lost.
  ///
  /// It may call this API: properties of `device` return at once, and a `Task` can make asynchronous calls.
  ///
  /// The handler gives the whole value, at most 512 octets. The stack cuts it for clients that read in parts, as for
  /// ``read(security:_:)``. The security of the link is checked before the handler is called. If the handler throws an
  /// `ATTErrorCode`, that is the answer; any other error is logged, and the answer is Unlikely Error (0x0E).
  ///
  /// Handlers of one device are called in the order of its requests, except that synchronous ones do not wait for the
  /// others: a Write Command to another characteristic that came before may still wait for its task.
  ///
  /// ```swift
  /// let level = Mutex<UInt8>(97)
  /// let battery = LocalCharacteristic("2A19").readSynchronously { _ in level.withLock { $0 } }
  /// ```
  public func readSynchronously<Value: GATTValue>(
    security: RequiredSecurity = .none, _ handler: @escaping @Sendable (RemoteDevice) throws -> Value
  ) -> Self {
    var copy = read(security: security) { try handler($0) }
    copy.setHandlers { $0.readAtOnce = { @Sendable device in try handler(device).octets } }
    return copy
  }

  /// Takes the values that clients write on the thread of the stack; the answer is sent at once.
  ///
  /// The rules of ``readSynchronously(security:_:)`` apply.
  ///
  /// The handler gets the whole value, like that of ``write(_:kinds:security:_:)``. It is called in a task instead if
  /// the value can be completed only in one: in a write of several characteristics of which one has another kind of
  /// handler, and in a long write that begins after the start of a value with a read handler of another kind.
  ///
  /// - Parameters:
  ///   - type: the type of the value; octets that do not decode are rejected with Invalid Attribute Value Length
  ///     (0x0D).
  ///   - kinds: the procedures that clients may use.
  ///   - security: the security that the link needs.
  ///   - handler: gets the value and the client.
  public func writeSynchronously<Value: GATTValue>(
    _ type: Value.Type, kinds: WriteKinds = .withResponse, security: RequiredSecurity = .none,
    _ handler: @escaping @Sendable (Value, RemoteDevice) throws -> Void
  ) -> Self {
    var copy = write(type, kinds: kinds, security: security) { try handler($0, $1) }
    copy.setHandlers { handlers in
      handlers.writeAtOnce = { @Sendable octets, device in
        guard let value = Value(octets: octets) else { throw ATTErrorCode.invalidAttributeValueLength }
        try handler(value, device)
      }
    }
    return copy
  }

  /// Takes the octets that clients write on the thread of the stack.
  public func writeSynchronously(
    kinds: WriteKinds = .withResponse, security: RequiredSecurity = .none,
    _ handler: @escaping @Sendable ([UInt8], RemoteDevice) throws -> Void
  ) -> Self {
    writeSynchronously([UInt8].self, kinds: kinds, security: security, handler)
  }
}

/// The synchronous handlers of a characteristic.
final class SynchronousHandlers: Sendable {
  let read: (@Sendable (RemoteDevice) throws -> [UInt8])?
  let write: (@Sendable ([UInt8], RemoteDevice) throws -> Void)?
  /// Whether the value can be read with a handler of another kind.
  let readsInTask: Bool

  /// - Returns: nil if there is none.
  init?(_ characteristic: LocalCharacteristic) {
    guard let handlers = characteristic.handlers?.values, handlers.readAtOnce != nil || handlers.writeAtOnce != nil
    else {
      return nil
    }
    (read, write) = (handlers.readAtOnce, handlers.writeAtOnce)
    readsInTask = characteristic.readRequirement != nil && handlers.readAtOnce == nil
  }
}

/// The state of a link that a synchronous handler needs; small, because it is copied for each request.
struct ServedClient: Sendable {
  var address: DeviceAddress
  var isCentral: Bool
  /// The attribute whose value is kept for the other parts of a long read.
  var snapshot: AttributeID?
}

/// Requests for values with synchronous handlers, on the thread of the host and without the lock.
extension AdapterSession {
  private func device(_ peer: LinkID, _ client: ServedClient) -> RemoteDevice {
    RemoteDevice(session: self, peer: peer, address: client.address, isCentral: client.isCentral)
  }

  /// Answers a read of a value whose handler may be synchronous; another kind gets it in its task.
  func read(_ attribute: AttributeID, from offset: Int, as token: RequestToken, by peer: LinkID) {
    let (handlers, queue) = state.withLock { state -> (SynchronousHandlers?, RequestQueue?) in
      if let handlers = state.synchronousHandlers[attribute], handlers.read != nil { return (handlers, nil) }
      return (nil, state.queue(of: peer, for: attribute))
    }
    guard let handlers else { return self.queue(.read(token, attribute, offset: offset), in: queue, of: peer) }
    switch value(of: attribute, handlers, from: offset, by: peer) {
    case .success(let octets): answer(token, of: peer, with: octets, from: offset)
    case .failure(let code): client.commands.post(.respond(peer, token, .failure(code)))
    // The value is no longer published, or the link has ended: the host has answered.
    case nil: break
    }
  }

  /// Answers a read with a value from an offset on.
  func answer(_ token: RequestToken, of peer: LinkID, with octets: [UInt8], from offset: Int) {
    guard offset <= octets.count else {
      client.commands.post(.respond(peer, token, .failure(.invalidOffset)))
      return
    }
    client.commands.post(.respond(peer, token, .success([])), octets: octets.span.extracting(offset...))
  }

  /// The whole value, for a read from an offset on.
  ///
  /// - Parameter mtu: that of the bearer; nil if it is unknown: then no value that a bearer may carry in parts is
  ///   taken for a short one (Vol 3, Part F, 3.2.8).
  /// - Returns: nil if no synchronous handler makes it.
  private func value(
    of attribute: AttributeID, _ handlers: SynchronousHandlers, from offset: Int, by peer: LinkID, mtu: Int? = nil
  ) -> Result<[UInt8], ATTErrorCode>? {
    guard let handler = handlers.read, let client = servedClient(peer, attribute) else { return nil }
    var snapshot: [UInt8]?
    if offset > 0, client.snapshot == attribute { snapshot = state.withLock { $0.links[peer]?.snapshot?.octets } }
    do {
      let octets = try snapshot ?? limited(handler(device(peer, client)))
      // The parts of a long read are cut from one value (Vol 3, Part G, 4.8.3).
      let isLong = octets.count >= (mtu ?? ATT.defaultMTU) - 1 || offset > 0
      if snapshot == nil, isLong || client.snapshot == attribute { keep(octets, of: attribute, for: peer) }
      return .success(octets)
    } catch {
      return .failure(code(of: error, "read", attribute))
    }
  }

  /// A client, while a value with synchronous handlers is published.
  private func servedClient(_ peer: LinkID, _ attribute: AttributeID) -> ServedClient? {
    state.withLock { state in
      guard !state.isClosed, state.synchronousHandlers.contains(attribute) else { return nil }
      return state.clients[peer]
    }
  }

  /// The handlers of a characteristic for the host, which calls them while it handles a request.
  ///
  /// - Returns: nil where there are none.
  func provider(of attribute: AttributeID, _ characteristic: LocalCharacteristic) -> ValueProvider? {
    guard let handlers = SynchronousHandlers(characteristic) else { return nil }
    var provider = ValueProvider()
    if handlers.read != nil {
      provider.read = { [weak self] offset, client in
        self?.value(of: attribute, handlers, from: offset, by: LinkID(rawValue: client.number), mtu: client.mtu)
      }
    }
    if let write = handlers.write {
      provider.write = { [weak self] value, client in
        self?.write([UInt8](copying: value), to: attribute, write, by: LinkID(rawValue: client.number))
      }
    }
    return provider
  }

  /// Keeps a value for the other parts of a long read.
  func keep(_ octets: [UInt8], of attribute: AttributeID, for peer: LinkID) {
    state.withLock { $0.keep(ValueSnapshot(attribute: attribute, octets: octets), for: peer) }
  }

  func limited(_ octets: [UInt8]) throws(BLEError) -> [UInt8] {
    guard octets.count <= ATT.maximumValueLength else {
      throw BLEError(.invalidArgument, "the value has \(octets.count) octets, at most 512 are allowed")
    }
    return octets
  }

  /// One value that is written, and what is needed to complete it.
  private struct SynchronousWrite {
    var attribute: AttributeID
    var parts: [WritePart]
    var write: @Sendable ([UInt8], RemoteDevice) throws -> Void
    var read: (@Sendable (RemoteDevice) throws -> [UInt8])?
  }

  /// Takes a write, and answers a request.
  ///
  /// - Returns: false if a task has to do it.
  func writeAtOnce(_ parts: [WritePart], as token: RequestToken?, by peer: LinkID) -> Bool {
    if parts.count == 1, let part = parts.first, part.offset == 0 { return writeAtOnce(part, as: token, by: peer) }
    let joined = joined(parts)
    let found = run { state, _ -> ([SynchronousWrite], ServedClient)? in
      guard !state.isClosed, let client = state.clients[peer] else { return nil }
      var writes: [SynchronousWrite] = []
      for (attribute, parts) in joined {
        guard let handlers = state.synchronousHandlers[attribute], let write = handlers.write, let first = parts.first,
          first.offset == 0 || !handlers.readsInTask
        else { return nil }
        writes.append(SynchronousWrite(attribute: attribute, parts: parts, write: write, read: handlers.read))
      }
      return (writes, client)
    }
    guard let (writes, client) = found else { return false }
    let device = device(peer, client)
    var answer = RequestAnswer.success([])
    for entry in writes {
      do {
        try entry.write(try join(entry, for: device), device)
      } catch {
        answer = .failure(code(of: error, "write", entry.attribute), attribute: entry.attribute)
        break
      }
    }
    if let token { self.client.commands.post(.respond(peer, token, answer)) }
    return true
  }

  /// A whole value in one part, the usual case.
  private func writeAtOnce(_ part: WritePart, as token: RequestToken?, by peer: LinkID) -> Bool {
    guard let handler = state.withLock({ $0.synchronousHandlers[part.attribute]?.write }),
      let result = write(part.value, to: part.attribute, handler, by: peer)
    else { return false }
    guard let token else { return true }
    switch result {
    case .success: client.commands.post(.respond(peer, token, .success([])))
    case .failure(let code): client.commands.post(.respond(peer, token, .failure(code, attribute: part.attribute)))
    }
    return true
  }

  /// Gives a whole value to its handler.
  ///
  /// - Returns: nil if the value is no longer published, or there is no such link.
  private func write(
    _ octets: [UInt8], to attribute: AttributeID, _ handler: @Sendable ([UInt8], RemoteDevice) throws -> Void,
    by peer: LinkID
  ) -> Result<Void, ATTErrorCode>? {
    guard let client = servedClient(peer, attribute) else { return nil }
    do {
      try handler(octets, device(peer, client))
      return .success(())
    } catch {
      return .failure(code(of: error, "write", attribute))
    }
  }

  private func join(_ entry: SynchronousWrite, for device: RemoteDevice) throws -> [UInt8] {
    var octets: [UInt8] = []
    if let first = entry.parts.first, first.offset > 0 {
      guard let read = entry.read else { throw ATTErrorCode.invalidOffset }
      octets = try limited(read(device))
    }
    return try joining(entry.parts, to: octets)
  }
}
