import BLEATT
import BLEGATT
import BLEHost
import BLEWire
import Synchronization

/// The requests of one client for values with a handler, in the order in which they came.
///
/// One task handles them one after the other: a client has one pending request (Vol 3, Part F, 3.3.2), and commands
/// before it take effect before it. The first request starts the task, which then waits for the next one until the link
/// ends (Docs/Decisions/performance.md). A request that takes too long cancels its task; those that follow get a new
/// one.
///
/// ```
///   none ──append──▶ busy ──nothing waits──▶ idle ──append──▶ busy      finish: the task ends, and what waits is dropped
///     ▲               │cancel
///     └─nothing waits─┴── the handler has returned, and requests wait ──▶ busy, in a new task
/// ```
final class RequestQueue: Sendable {
  private enum Phase {
    /// There is no task.
    case none
    /// The task handles a request for this attribute; the token is nil for a command.
    case busy(RequestToken?, AttributeID?)
    /// The handler was cancelled, and has not returned.
    case cancelled
    /// The task waits for a request, in ``suspension``.
    case idle
    case finished
  }

  private struct Contents {
    var phase = Phase.none
    var waiting: [IncomingRequest] = []
    /// The requests of ``waiting`` that were taken out.
    var taken = 0
    /// The number of the last task that was started.
    var run = 0
    /// The task, as soon as it is known.
    var task: Task<Void, Never>?

    var waitingCount: Int { waiting.count - taken }

    /// Begins a task.
    mutating func start() -> Int {
      run += 1
      (phase, task) = (.busy(nil, nil), nil)
      return run
    }

    mutating func take() -> IncomingRequest? {
      guard taken < waiting.count else {
        if taken > 0 {
          waiting.removeAll(keepingCapacity: true)
          taken = 0
        }
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

    var isCancelled: Bool {
      switch phase {
      case .cancelled, .finished: true
      case .none, .busy, .idle: false
      }
    }

    /// The task has ended.
    ///
    /// - Returns: the number of the task that is to be started for the requests that wait.
    mutating func end() -> Int? {
      if case .finished = phase { return nil }
      if waitingCount > 0 { return start() }
      (phase, task) = (.none, nil)
      return nil
    }

    /// The next step of the task.
    mutating func advance() -> Step {
      if isCancelled { return .end }
      guard let request = take() else { return .wait }
      phase = .busy(request.token, request.attribute)
      return .handle(request)
    }
  }

  private enum Step {
    case handle(IncomingRequest)
    case wait
    case end
  }

  private enum Appended {
    case resume
    case start(Int)
    case waits
    case dropped
  }

  private let contents = Mutex(Contents())
  /// The task while it waits. It is not in ``contents``, because the compiler does not know the size of a continuation,
  /// which makes each access to a value that contains one slow.
  private let suspension = Mutex<CheckedContinuation<IncomingRequest?, Never>?>(nil)
  private let peer: LinkID
  /// Write Commands that wait; one more is dropped, as the specification allows (Vol 3, Part F, 3.3.2).
  static let commandLimit = 256

  init(of peer: LinkID) { self.peer = peer }

  /// - Returns: whether there was room.
  func append(_ request: IncomingRequest, of session: AdapterSession) -> Bool {
    let appended = contents.withLock { contents -> Appended in
      switch contents.phase {
      case .finished: return .waits
      case .idle:
        contents.phase = .busy(request.token, request.attribute)
        return .resume
      case .none:
        contents.waiting.append(request)
        return .start(contents.start())
      case .busy, .cancelled:
        guard contents.waitingCount < Self.commandLimit else { return .dropped }
        contents.waiting.append(request)
        return .waits
      }
    }
    // Not under the lock, because the task may continue at once.
    switch appended {
    case .resume: resume(with: request)
    case .start(let run): start(run, of: session)
    case .waits: break
    case .dropped: return false
    }
    return true
  }

  private func start(_ run: Int, of session: AdapterSession) {
    let task = Task(executorPreference: session.clock.executor) { [self, weak session] in
      while let request = await next() {
        guard let session else { return finish() }
        await session.handle(request, of: peer)
        if Task.isCancelled { break }
      }
      guard let run = contents.withLock({ $0.end() }) else { return }
      guard let session else { return finish() }
      start(run, of: session)
    }
    let isCancelled = contents.withLock { contents in
      guard contents.run == run else { return false }
      contents.task = task
      return contents.isCancelled
    }
    if isCancelled { task.cancel() }
  }

  /// The next request for the task; nil if the task is to end.
  private func next() async -> IncomingRequest? {
    switch contents.withLock({ $0.advance() }) {
    case .handle(let request): return request
    case .end: return nil
    case .wait: break
    }
    return await withCheckedContinuation { continuation in
      suspension.withLock { $0 = continuation }
      let step = contents.withLock { contents in
        let step = contents.advance()
        if case .wait = step { contents.phase = .idle }
        return step
      }
      switch step {
      case .handle(let request): resume(with: request)
      case .end: resume(with: nil)
      case .wait: break
      }
    }
  }

  /// Called once for each time that the task waits.
  private func resume(with request: IncomingRequest?) {
    suspension.withLock { $0.take() }?.resume(returning: request)
  }

  /// Cancels the handler of a request.
  ///
  /// - Returns: false if it does not run.
  func cancel(_ token: RequestToken) -> Bool { cancel { busy, _ in busy == token } }

  /// Cancels the handler of a request for an attribute that is withdrawn.
  func cancel(for attributes: [AttributeID]) {
    _ = cancel { _, attribute in attribute.map { attributes.contains($0) } ?? false }
  }

  private func cancel(where isMeant: (RequestToken?, AttributeID?) -> Bool) -> Bool {
    let (isCancelled, task) = contents.withLock { contents -> (Bool, Task<Void, Never>?) in
      guard case .busy(let token, let attribute) = contents.phase, isMeant(token, attribute) else {
        return (false, nil)
      }
      contents.phase = .cancelled
      return (true, contents.task)
    }
    task?.cancel()
    return isCancelled
  }

  /// Drops the waiting requests and cancels the running handler.
  func finish() {
    let (waits, task) = contents.withLock { contents in
      let waits = if case .idle = contents.phase { true } else { false }
      contents.phase = .finished
      contents.waiting = []
      contents.taken = 0
      return (waits, contents.task)
    }
    task?.cancel()
    if waits { resume(with: nil) }
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

  /// The attribute, or the first of several.
  var attribute: AttributeID? {
    switch self {
    case .read(_, let attribute, _): attribute
    case .write(_, let parts): parts.first?.attribute
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
  mutating func queue(of peer: LinkID, for attribute: AttributeID) -> RequestQueue? {
    guard !isClosed, clients.contains(peer), attributes.contains(attribute) else { return nil }
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
        .misuse("a handler took longer than the client waits, and was cancelled: the client got Unlikely Error (0x0E)"))
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
      let device = run { state, _ in state.links[peer].map { "\($0.address)" } }
      BluetoothLog.write(
        .notice(
          "\(device.map { "\($0): " } ?? "")more than \(RequestQueue.commandLimit) Write Commands wait: one was "
            + "dropped",
          .peer, metadata: device.map { ["device": $0] } ?? [:]))
    }
  }

  func handle(_ request: IncomingRequest, of peer: LinkID) async {
    switch request {
    case .read(let token, let attribute, let offset): await read(attribute, from: offset, as: token, by: peer)
    case .write(let token, let parts):
      var written: [Use] = []
      guard let answer = await write(parts, by: peer, &written) else { return }
      if let token { client.commands.post(.respond(peer, token, answer)) }
      for use in written { use.published?.characteristic.handlers?.values.written?(use.device) }
    }
  }

  /// A client, and the characteristic that it uses.
  private struct Use: Sendable {
    let device: RemoteDevice
    /// Nil if it is no longer published.
    let published: PublishedCharacteristic?
    /// Whether its value is kept for the other parts of a long read.
    let hasSnapshot: Bool

    /// Whether a handler is called after the answer to a write.
    var reportsWrites: Bool { published?.characteristic.handlers?.values.written != nil }
  }

  /// - Returns: nil if the link has ended.
  private func use(of attribute: AttributeID, by peer: LinkID) -> Use? {
    state.withLock { state in
      guard let client = state.clients[peer] else { return nil }
      return Use(
        device: RemoteDevice(session: self, peer: peer, address: client.address, isCentral: client.isCentral),
        published: state.attributes[attribute], hasSnapshot: client.snapshot == attribute)
    }
  }

  private func snapshot(for peer: LinkID) -> [UInt8]? {
    state.withLock { state in state.links.lend(peer) { $0.snapshot?.octets } }
  }

  private func read(_ attribute: AttributeID, from offset: Int, as token: RequestToken, by peer: LinkID) async {
    guard let use = use(of: attribute, by: peer) else { return }
    do {
      let octets: [UInt8]
      if offset > 0, use.hasSnapshot, let kept = snapshot(for: peer) {
        octets = kept
      } else {
        // The usual handler is called here: each asynchronous function in between would have a frame of its own.
        octets =
          if let handler = use.published?.characteristic.handlers?.values.read {
            try limited(await handler(use.device))
          } else {
            try await value(of: use)
          }
        // No bearer carries a shorter value in parts (Vol 3, Part F, 3.2.8).
        let isLong = octets.count >= ATT.defaultMTU - 1 || offset > 0
        if isLong || use.hasSnapshot { keep(octets, of: attribute, for: peer) }
      }
      answer(token, of: peer, with: octets, from: offset)
    } catch {
      client.commands.post(.respond(peer, token, .failure(code(of: error, "read", attribute))))
    }
  }

  /// The whole value, from its handler.
  private func value(of use: Use) async throws -> [UInt8] {
    guard let published = use.published, published.characteristic.readRequirement != nil else {
      throw ATTErrorCode.readNotPermitted
    }
    let octets =
      if let handler = published.characteristic.handlers?.values.read {
        try await handler(use.device)
      } else {
        try await published.requests.ask(.read, of: use.device, published)
      }
    return try limited(octets)
  }

  /// Writes parts, of which a prepared write has several: those of one attribute are joined (Vol 3, Part F, 3.4.6.3).
  ///
  /// - Parameter written: gets the uses whose handlers are to be called after the answer.
  /// - Returns: nil if the link has ended.
  private func write(_ parts: [WritePart], by peer: LinkID, _ written: inout [Use]) async -> RequestAnswer? {
    var failing = parts.first?.attribute
    do {
      if parts.count == 1, let part = parts.first, part.offset == 0 {
        guard let use = use(of: part.attribute, by: peer) else { return nil }
        if use.reportsWrites { written.append(use) }
        try await write(part.value, with: use)
      } else {
        for (attribute, parts) in joined(parts) {
          failing = attribute
          guard let use = use(of: attribute, by: peer) else { return nil }
          if use.reportsWrites { written.append(use) }
          try await write(try await join(parts, for: use), with: use)
        }
      }
      return .success([])
    } catch {
      return .failure(code(of: error, "write", failing), attribute: failing)
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

  private func join(_ parts: [WritePart], for use: Use) async throws -> [UInt8] {
    var octets: [UInt8] = []
    if let first = parts.first, first.offset > 0 {
      guard use.published?.characteristic.readRequirement != nil else { throw ATTErrorCode.invalidOffset }
      octets = try await value(of: use)
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

  private func write(_ octets: [UInt8], with use: Use) async throws {
    guard let published = use.published, published.characteristic.writeRequirement != nil else {
      throw ATTErrorCode.writeNotPermitted
    }
    if let handler = published.characteristic.handlers?.values.write {
      try await handler(octets, use.device)
    } else {
      _ = try await published.requests.ask(.write(octets), of: use.device, published)
    }
  }

  private func published(_ attribute: AttributeID) -> PublishedCharacteristic? {
    run { state, _ in state.attributes[attribute] }
  }

  /// The error that the client receives if a handler throws.
  func code(of error: any Error, _ verb: String, _ attribute: AttributeID?) -> ATTErrorCode {
    if let code = error as? ATTErrorCode { return code }
    if let error = error as? any ATTErrorCodeConvertible { return error.attErrorCode }
    if !(error is CancellationError) {
      let uuid = attribute.flatMap { published($0)?.characteristic.uuid }
      let text =
        "the \(verb) handler of characteristic \(uuid.map { "\($0)" } ?? "?") threw: \(error); the client gets Unlikely Error (0x0E)"
      BluetoothLog.write(.notice(text))
    }
    return .unlikelyError
  }
}
