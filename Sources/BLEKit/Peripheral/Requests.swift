import BLEATT
import BLEGATT
import BLEHost
import BLEWire
import Synchronization

/// The requests of one client for values with a handler, in the order in which they came.
///
/// One task handles them one after the other: a client has one pending request (Vol 3, Part F, 3.3.2), and commands
/// before it take effect before it. The first request starts the task, and it ends when none waits. A request that
/// takes too long cancels its task; those that follow get a new one.
///
/// ```
///   idle ──append──▶ running ──append──▶ running     finish: the task is cancelled, and what waits is dropped
///     ▲── none waits ───┘ └── cancel ──▶ running, in a new task after the cancelled request
/// ```
final class RequestQueue: Sendable {
  private struct Contents {
    var waiting: [IncomingRequest] = []
    /// The requests of ``waiting`` that were taken out.
    var taken = 0
    /// The number of the running task; nil for none.
    var run: Int?
    var lastRun = 0
    /// The task of ``run``, as soon as it is known.
    var task: Task<Void, Never>?
    /// The request that the task handles; nil for a command.
    var current: RequestToken?
    var isFinished = false

    /// Begins a run.
    mutating func start() -> Int {
      lastRun += 1
      (run, task, current) = (lastRun, nil, nil)
      return lastRun
    }

    mutating func take() -> IncomingRequest? {
      guard taken < waiting.count else {
        waiting.removeAll(keepingCapacity: true)
        taken = 0
        return nil
      }
      // Early enough that a queue that is never empty is also bounded.
      if taken >= RequestQueue.commandLimit {
        waiting.removeFirst(taken)
        taken = 0
      }
      defer { taken += 1 }
      return waiting[taken]
    }
  }

  private let contents = Mutex(Contents())
  private let peer: LinkID
  /// Write Commands that wait; one more is dropped, as the specification allows (Vol 3, Part F, 3.3.2).
  static let commandLimit = 256

  init(of peer: LinkID) { self.peer = peer }

  /// - Returns: whether there was room.
  func append(_ request: IncomingRequest, of session: AdapterSession) -> Bool {
    let (hasRoom, run) = contents.withLock { contents -> (Bool, Int?) in
      guard !contents.isFinished, contents.waiting.count - contents.taken < Self.commandLimit else {
        return (contents.isFinished, nil)
      }
      contents.waiting.append(request)
      return (true, contents.run == nil ? contents.start() : nil)
    }
    if let run { start(run, of: session) }
    return hasRoom
  }

  /// Starts the task of a run; not under a lock, because it may begin at once.
  private func start(_ run: Int, of session: AdapterSession) {
    let task = Task { [weak session] in
      while let request = next(of: run) {
        guard let session else { return finish() }
        await session.handle(request, of: peer)
        guard Task.isCancelled else { continue }
        if let next = contents.withLock({ $0.isFinished ? nil : $0.start() }) { start(next, of: session) }
        return
      }
    }
    let isOver = contents.withLock { contents in
      if contents.run == run { contents.task = task }
      return contents.isFinished
    }
    if isOver { task.cancel() }
  }

  /// The next request of a run; the run ends if there is none.
  private func next(of run: Int) -> IncomingRequest? {
    contents.withLock { contents in
      guard contents.run == run else { return nil }
      let request = contents.isFinished ? nil : contents.take()
      contents.current = request?.token
      if request == nil { (contents.run, contents.task) = (nil, nil) }
      return request
    }
  }

  /// Cancels the handler of a request.
  ///
  /// - Returns: false if it does not run.
  func cancel(_ token: RequestToken) -> Bool {
    let task = contents.withLock { $0.current == token ? $0.task : nil }
    task?.cancel()
    return task != nil
  }

  /// Drops the waiting requests and cancels the running handler.
  func finish() {
    let task = contents.withLock { contents in
      contents.isFinished = true
      contents.waiting = []
      contents.taken = 0
      return contents.task
    }
    task?.cancel()
  }
}

enum IncomingRequest: Sendable {
  case read(RequestToken, AttributeID, offset: Int)
  /// Without a token it is a command.
  case write(RequestToken?, [WritePart])

  var token: RequestToken? {
    switch self {
    case .read(let token, _, _): token
    case .write(let token, _): token
    }
  }
}

/// The value from which the parts of a long read are cut (Vol 3, Part G, 4.8.3).
struct ValueSnapshot: Sendable {
  var attribute: AttributeID
  var octets: [UInt8]
}

extension AdapterSession.State {
  mutating func keep(_ snapshot: ValueSnapshot, for peer: LinkID) {
    links[peer]?.snapshot = snapshot
    clients[peer]?.snapshot = snapshot.attribute
  }

  /// The queue for a request, which the first request of a client creates; nil if the request concerns no published
  /// value.
  mutating func queue(of peer: LinkID, for attributes: some Sequence<AttributeID>) -> RequestQueue? {
    guard !isClosed, clients.contains(peer), attributes.contains(where: { self.attributes.contains($0) }) else {
      return nil
    }
    if let queue = requestQueues[peer] { return queue }
    let queue = RequestQueue(of: peer)
    requestQueues[peer] = queue
    return queue
  }

  func requestTimedOut(_ peer: LinkID, _ token: RequestToken, into actions: inout Actions) {
    guard let queue = requestQueues[peer] else { return }
    actions.later {
      guard queue.cancel(token) else { return }
      BluetoothLog.write(
        .misuse, "a handler took longer than the client waits, and was cancelled: the client got Unlikely Error (0x0E)")
    }
  }
}

// MARK: - Handling

extension AdapterSession {
  /// Gives a request to the task of its client, on the thread of the host and without the lock, because the task begins
  /// at once.
  func queue(_ request: IncomingRequest, in queue: RequestQueue?, of peer: LinkID) {
    guard let queue, !queue.append(request, of: self) else { return }
    if let token = request.token {
      client.commands.post(.respond(peer, token, .failure(.insufficientResources)))
    } else {
      BluetoothLog.write(.notice, "more than \(RequestQueue.commandLimit) Write Commands wait: one was dropped")
    }
  }

  func handle(_ request: IncomingRequest, of peer: LinkID) async {
    guard let device = run({ state, _ in state.device(peer, of: self) }) else { return }
    switch request {
    case .read(let token, let attribute, let offset):
      let (answer, snapshot) = await read(attribute, from: offset, for: device)
      respond(peer, token, answer, keeping: snapshot)
    case .write(let token, let parts):
      let answer = await write(parts, isPrepared: token != nil, for: device)
      if let token { respond(peer, token, answer) }
    }
  }

  private func respond(
    _ peer: LinkID, _ token: RequestToken, _ answer: RequestAnswer, keeping snapshot: ValueSnapshot? = nil
  ) {
    run { state, actions in
      guard state.clients.contains(peer), !state.isClosed else { return }
      if let snapshot { state.keep(snapshot, for: peer) }
      actions.commands.append(.respond(peer, token, answer))
    }
  }

  /// The value of an attribute from `offset` on, and the whole value if it has to be kept.
  private func read(
    _ attribute: AttributeID, from offset: Int, for device: RemoteDevice
  ) async -> (RequestAnswer, ValueSnapshot?) {
    do {
      var octets: [UInt8]
      var new: ValueSnapshot?
      let kept = offset > 0 ? run { state, _ in state.links[device.peer]?.snapshot } : nil
      if let kept, kept.attribute == attribute {
        octets = kept.octets
      } else {
        octets = try await value(of: attribute, for: device)
        new = ValueSnapshot(attribute: attribute, octets: octets)
      }
      guard offset <= octets.count else { return (.failure(.invalidOffset), new) }
      if offset > 0 { octets.removeFirst(offset) }
      return (.success(octets), new)
    } catch {
      return (.failure(code(of: error, "read", attribute)), nil)
    }
  }

  /// The whole value, from its handler.
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

  /// Writes parts, of which a prepared write has several: those of one attribute are joined (Vol 3, Part F, 3.4.6.3).
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

  /// The error that the client receives if a handler throws.
  func code(of error: any Error, _ verb: String, _ attribute: AttributeID?) -> ATTErrorCode {
    if let code = error as? ATTErrorCode { return code }
    if !(error is CancellationError) {
      let uuid = attribute.flatMap { published($0)?.characteristic.uuid }
      let text =
        "the \(verb) handler of characteristic \(uuid.map { "\($0)" } ?? "?") threw: \(error); the client gets Unlikely Error (0x0E)"
      BluetoothLog.write(.notice, text)
    }
    return .unlikelyError
  }
}
