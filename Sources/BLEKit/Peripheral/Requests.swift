import BLEATT
import BLEGATT
import BLEHost
import BLEWire

/// The requests of one client for values with a handler, in the order in which they came.
///
/// One task handles them one after the other: a client has one request on its way (Vol 3, Part F, 3.3.2), and commands before
/// it take effect before it. The first request starts it: most clients never use such a value.
struct RequestQueue: Sendable {
  private let continuation: AsyncStream<IncomingRequest>.Continuation
  private let task: Task<Void, Never>
  /// Write Commands that wait; one more is dropped, as the specification allows (Vol 3, Part F, 3.3.2).
  static let commandLimit = 256

  init(of peer: PeerID, in session: AdapterSession) {
    let (stream, continuation) = AsyncStream.makeStream(
      of: IncomingRequest.self, bufferingPolicy: .bufferingOldest(Self.commandLimit))
    self.continuation = continuation
    task = Task { [weak session] in
      for await request in stream {
        guard let session else { return }
        guard let device = session.run({ state, _ in state.device(peer, of: session) }) else { return }
        await session.handle(request, of: device)
      }
    }
  }

  /// - Returns: whether there was room.
  func append(_ request: IncomingRequest) -> Bool {
    if case .enqueued = continuation.yield(request) { true } else { false }
  }

  func finish(into actions: inout Actions) {
    actions.later { [continuation, task] in
      continuation.finish()
      task.cancel()
    }
  }
}

enum IncomingRequest: Sendable {
  case read(RequestToken, AttributeID, offset: Int)
  /// Without a token it is a command.
  case write(RequestToken?, [WritePart])

  var attributes: [AttributeID] {
    switch self {
    case .read(_, let attribute, _): [attribute]
    case .write(_, let parts): parts.map(\.attribute)
    }
  }

  var token: RequestToken? {
    switch self {
    case .read(let token, _, _): token
    case .write(let token, _): token
    }
  }
}

/// The value that the first part of a long read was cut from (Vol 3, Part G, 4.8.3).
struct ValueSnapshot: Sendable {
  var attribute: AttributeID
  var octets: [UInt8]
}

extension AdapterSession.State {
  mutating func keep(_ snapshot: ValueSnapshot, for peer: PeerID) {
    links[peer]?.snapshot = snapshot
    clients[peer]?.snapshot = snapshot.attribute
  }

  mutating func request(
    _ request: IncomingRequest, of peer: PeerID, in session: AdapterSession, into actions: inout Actions
  ) {
    guard let link = links[peer], request.attributes.contains(where: { attributes[$0] != nil }) else { return }
    let queue = link.requests ?? RequestQueue(of: peer, in: session)
    if link.requests == nil { links[peer]?.requests = queue }
    // Yielded under the lock: the order is the host's, and no code of others runs.
    if queue.append(request) { return }
    if let token = request.token {
      actions.commands.append(.respond(peer, token, .failure(.insufficientResources)))
    } else {
      actions.later {
        BluetoothLog.write(.notice, "more than \(RequestQueue.commandLimit) Write Commands wait: one was dropped")
      }
    }
  }

  mutating func requestTimedOut(_ peer: PeerID, _ token: RequestToken, into actions: inout Actions) {
    guard let task = runningRequests.removeValue(forKey: RequestName(peer: peer, token: token)) else { return }
    actions.later {
      task.cancel()
      BluetoothLog.write(.misuse, "a handler took longer than the client waits, and was cancelled: the client got 0x0E")
    }
  }
}

/// One request that a handler is answering.
struct RequestName: Hashable, Sendable {
  var peer: PeerID
  var token: RequestToken
}

// MARK: - Handling

extension AdapterSession {
  fileprivate func handle(_ request: IncomingRequest, of device: RemoteDevice) async {
    guard let token = request.token else { return await perform(request, of: device) }
    let name = RequestName(peer: device.peer, token: token)
    let task = Task { await perform(request, of: device) }
    run { state, _ in if state.links[device.peer] != nil { state.runningRequests[name] = task } }
    await withTaskCancellationHandler {
      await task.value
    } onCancel: {
      task.cancel()
    }
    run { state, _ in state.runningRequests[name] = nil }
  }

  private func perform(_ request: IncomingRequest, of device: RemoteDevice) async {
    switch request {
    case .read(let token, let attribute, let offset):
      respond(device.peer, token, await read(attribute, from: offset, for: device))
    case .write(let token, let parts):
      let answer = await write(parts, isPrepared: token != nil, for: device)
      if let token { respond(device.peer, token, answer) }
    }
  }

  private func respond(_ peer: PeerID, _ token: RequestToken, _ answer: RequestAnswer) {
    run { state, actions in
      guard state.links[peer] != nil, !state.isClosed else { return }
      actions.commands.append(.respond(peer, token, answer))
    }
  }

  /// The value of an attribute from `offset` on.
  private func read(_ attribute: AttributeID, from offset: Int, for device: RemoteDevice) async -> RequestAnswer {
    do {
      var octets: [UInt8]
      let snapshot = run { state, _ in state.links[device.peer]?.snapshot }
      if offset > 0, let snapshot, snapshot.attribute == attribute {
        octets = snapshot.octets
      } else {
        octets = try await value(of: attribute, for: device)
        run { [octets] state, _ in
          state.keep(ValueSnapshot(attribute: attribute, octets: octets), for: device.peer)
        }
      }
      guard offset <= octets.count else { return .failure(.invalidOffset) }
      octets.removeFirst(offset)
      return .success(octets)
    } catch {
      return .failure(code(of: error, "read", attribute))
    }
  }

  /// The whole value, as its handler makes it.
  private func value(of attribute: AttributeID, for device: RemoteDevice) async throws -> [UInt8] {
    guard let published = published(attribute), published.characteristic.readRequirement != nil else {
      throw ATTErrorCode.readNotPermitted
    }
    let octets =
      if let handler = published.characteristic.handlers?.read {
        try await handler(device)
      } else {
        try await published.requests.ask(.read, of: device, published)
      }
    guard octets.count <= ATT.maximumValueLength else {
      throw BLEError(.invalidArgument, "the value has \(octets.count) octets, at most 512 are allowed")
    }
    return octets
  }

  /// Writes parts, which a prepared write has several of: those of one attribute are joined (Vol 3, Part F, 3.4.6.3).
  private func write(_ parts: [WritePart], isPrepared: Bool, for device: RemoteDevice) async -> RequestAnswer {
    var attribute = parts.first?.attribute
    do {
      for (written, parts) in joined(parts) {
        attribute = written
        let octets = try await join(parts, of: written, for: device)
        try await write(octets, to: written, for: device)
      }
      return .success([])
    } catch {
      return .failure(code(of: error, "write", attribute), attribute: attribute)
    }
  }

  /// The parts by attribute, in the order in which each attribute is written first.
  func joined(_ parts: [WritePart]) -> [(AttributeID, [WritePart])] {
    var result: [(AttributeID, [WritePart])] = []
    for part in parts {
      if let index = result.firstIndex(where: { $0.0 == part.attribute }) {
        result[index].1.append(part)
      } else {
        result.append((part.attribute, [part]))
      }
    }
    return result
  }

  private func join(_ parts: [WritePart], of attribute: AttributeID, for device: RemoteDevice) async throws -> [UInt8] {
    var octets: [UInt8] = []
    if let first = parts.first, first.offset > 0 {
      guard published(attribute)?.characteristic.readRequirement != nil else { throw ATTErrorCode.invalidOffset }
      octets = try await value(of: attribute, for: device)
    }
    return try joining(parts, to: octets)
  }

  /// The value with the parts that were written (Vol 3, Part F, 3.4.6.3).
  func joining(_ parts: [WritePart], to value: [UInt8]) throws(ATTErrorCode) -> [UInt8] {
    var octets = value
    for part in parts {
      guard part.offset <= octets.count else { throw .invalidOffset }
      octets.replaceSubrange(part.offset..., with: part.value)
    }
    guard octets.count <= ATT.maximumValueLength else { throw .invalidAttributeValueLength }
    return octets
  }

  private func write(_ octets: [UInt8], to attribute: AttributeID, for device: RemoteDevice) async throws {
    guard let published = published(attribute), published.characteristic.writeRequirement != nil else {
      throw ATTErrorCode.writeNotPermitted
    }
    if let handler = published.characteristic.handlers?.write {
      try await handler(octets, device)
    } else {
      _ = try await published.requests.ask(.write(octets), of: device, published)
    }
  }

  private func published(_ attribute: AttributeID) -> PublishedCharacteristic? {
    run { state, _ in state.attributes[attribute] }
  }

  /// The error that the client receives where a handler throws.
  func code(of error: any Error, _ verb: String, _ attribute: AttributeID?) -> ATTErrorCode {
    if let code = error as? ATTErrorCode { return code }
    if !(error is CancellationError) {
      let uuid = attribute.flatMap { published($0)?.characteristic.uuid }
      let text =
        "the \(verb) handler of characteristic \(uuid.map { "\($0)" } ?? "?") threw: \(error); the client gets 0x0E"
      BluetoothLog.write(.notice, text)
    }
    return .unlikelyError
  }
}
