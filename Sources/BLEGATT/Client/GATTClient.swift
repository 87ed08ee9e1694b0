import BLEATT
public import BLEWire

/// The GATT client of one link: the procedures of Vol 3, Part G, 4, one at a time, on one ATT bearer.
///
/// Operations take effect at the server in the order of the calls. A command has no response; it is sent as soon as all
/// operations before it have ended, also if one of them takes several PDUs or waits for security. Commands that follow
/// each other wait only for room in the queue of the link, so that a stream of them fills the link. One between two
/// requests costs a connection event or two.
///
/// ```
///   perform ──► waiting ──► active ──response──► next request … ──► finished
///                  │           │ 30 s without a response
///                  └───────────┴──► all finished(timedOut), bearerFailed
/// ```
///
/// ```swift
/// var client = GATTClient()
/// var output = GATTClient.Output()
/// client.perform(GATTClient.Operation(id: .init(rawValue: 1), .read(0x0003)), now: .start, into: &output)
/// // output.pdus[0] == [0x0A, 0x03, 0x00]
/// let response: [UInt8] = [0x0B, 0x48, 0x69]
/// client.receive(response.span, now: .start, into: &output)
/// // output.events == [.finished(.init(rawValue: 1), .success(.value([0x48, 0x69])))]
/// ```
public struct GATTClient: Sendable {
  /// The limits of a client.
  public struct Limits: Hashable, Sendable {
    /// The size of the operations that can wait: 64 octets for each of them, and the octets that it writes. One that
    /// exceeds the limit ends at once with ``GATTClientError/tooManyOperations(limit:)``.
    public var waitingOctets = 1 << 20
    /// The number of services, characteristics, descriptors or values of one operation. With one more it ends, and its
    /// outcome is ``Outcome/incomplete(_:_:)``.
    public var results = 4096
    /// How many times an operation begins again because the services of the server have changed while it was performed.
    /// The next time it ends with ``GATTClientError/servicesChanged``.
    public var restarts = 3
    /// How long the client waits for the response to a request after the server has sent a response to another one. Then
    /// the request has been answered wrongly.
    public var wrongResponseTime = Duration.seconds(2)
    /// The number of discoveries that an ``AttributeCache`` can have, and of services, characteristics and descriptors
    /// in them (``AttributeCache/count``). Others are discovered again.
    public var cachedResults = 1024

    /// The default limits.
    public init() {}
  }

  /// A signing key and its counter, for commands on a link that is not encrypted (Vol 3, Part H, 2.4.5).
  public struct Signing: Sendable {
    /// The counter of the next signed command. A counter must not be used twice with one key: store ``limit`` with the
    /// key before the client gets it, and use it as the next counter after a restart.
    public var counter: UInt32
    /// The first counter that must not be used. A signed write with this counter waits for
    /// ``GATTClient/allowSigning(_:now:into:)``, and so do the operations after it.
    public var limit: UInt32
    /// The message authentication code of a message and a counter. The message is the opcode, the handle and the value.
    /// The octet of the code that is sent first is its least significant one.
    public var code: @Sendable (_ message: [UInt8], _ counter: UInt32) -> UInt64

    /// A key with its next counter.
    public init(
      counter: UInt32, limit: UInt32 = .max,
      code: @escaping @Sendable (_ message: [UInt8], _ counter: UInt32) -> UInt64
    ) {
      self.counter = counter
      self.limit = limit
      self.code = code
    }
  }

  struct Active {
    /// Nil for a procedure that the client itself began.
    var id: OperationID?
    var kind: Operation.Kind?
    var procedure: AnyClientProcedure
    /// Whether the operation is to be repeated where the server refuses it because the link lacks security.
    var awaitsSecurity = false
    /// Whether attributes that it depends on have changed since its last request.
    var isOutdated = false
    /// How many times it has begun again.
    var restarts = 0
    /// Whether a request of it was repeated, because its response made no sense.
    var hasRepeated = false
  }

  let limits: Limits
  var bearer = ATTClient()
  var active: Active?
  var waiting = WaitingOperations()
  /// The error of all operations after the link or the bearer has ended.
  private var end: GATTClientError?
  /// The value handle of the Service Changed characteristic, once it is discovered.
  var serviceChangedHandle: AttributeHandle?
  /// The state of the cache for a bonded server.
  var caching = Caching.off
  /// What the server has changed, and was not discovered again.
  package var changed = ChangedHandles()
  /// A response of the server to another request than the one in flight, and when the latter counts as answered.
  private var wrongResponse: (opcode: ATTOpcode, deadline: Instant)?

  /// The signing key, nil until one has been distributed.
  public var signing: Signing?
  /// Whether the link is encrypted, set by the owner of the link. On an encrypted link, a signed write is sent without
  /// a signature.
  public var isLinkEncrypted = false
  /// Whether commands wait, because the queue of the link is full.
  public private(set) var isCongested = false
  /// Whether all operations wait, because the link is not yet encrypted.
  public private(set) var isSuspended = false

  /// Whether operations wait, because one before them was refused because the link lacks security and may be repeated.
  package private(set) var isHeld = false

  /// The client of a new link.
  public init(limits: Limits = Limits(), signing: Signing? = nil) {
    self.limits = limits
    self.signing = signing
  }

  /// The ATT_MTU in force, in octets. The owner sets it when the client on the peer exchanges the MTU with the server
  /// on the same bearer.
  public var mtu: Int {
    get { bearer.mtu }
    set { bearer.mtu = newValue }
  }

  /// The time at which ``tick(now:into:)`` must be called; nil while nothing can time out.
  public var deadline: Instant? { .nearer(bearer.deadline, wrongResponse?.deadline) }

  /// Begins an operation, or queues it after the others.
  public mutating func perform(_ operation: Operation, now: Instant, into output: inout Output) {
    if let end {
      output.events.append(.finished(operation.id, .failure(end)))
    } else if waiting.octets + operation.waitingOctets > limits.waitingOctets {
      output.events.append(.finished(operation.id, .failure(.tooManyOperations(limit: limits.waitingOctets))))
    } else {
      waiting.append(operation)
      advance(now: now, into: &output)
    }
  }

  /// Receives one PDU from the server: a response, a notification or an indication
  /// (``/BLEATT/ATTOpcode/isSentByServer``).
  ///
  /// Octets after the ATT_MTU, which a server must not send, are ignored.
  public mutating func receive(_ pdu: Span<UInt8>, now: Instant, into output: inout Output) {
    let pdu = pdu.extracting(first: mtu)
    switch bearer.receive(pdu, now: now, into: &output.pdus) {
    case .response:
      wrongResponse = nil
      guard !isSuspended else { return endActive(.failure(.notEncrypted), into: &output) }
      guard var current = active else { break }
      active = nil
      if current.isOutdated {
        beginAgain(current, now: now, into: &output)
      } else {
        let next = Result { () throws(GATTClientError) in try current.procedure.receive(pdu, mtu: bearer.mtu) }
        follow(next, of: current, now: now, into: &output)
      }
    case .mtuExchanged(_, let mtu):
      wrongResponse = nil
      output.events.append(.mtu(mtu))
      let isPlain = if case .request? = active?.kind { true } else { false }
      endActive(.success(isPlain ? .value([UInt8](copying: pdu)) : .mtu(mtu)), into: &output)
    case .errorResponse(_, let error):
      wrongResponse = nil
      guard var current = active else { break }
      active = nil
      if error.code == .databaseOutOfSync, current.kind?.beginsAgain == true, current.restarts < limits.restarts {
        databaseChanged(.first ... .last, into: &output)
        current.isOutdated = true
      }
      if current.isOutdated {
        beginAgain(current, now: now, into: &output)
      } else {
        let next = Result { () throws(GATTClientError) in try current.procedure.receive(error) }
        follow(next, of: current, now: now, into: &output)
      }
    case .malformed(_, let opcode, let error):
      wrongResponse = nil
      activeFailed(.malformedResponse(opcode, reason: error.description), now: now, into: &output)
    case .notification(let handle): reportNotification(of: handle, pdu.extracting(3...), into: &output)
    case .multipleNotification: reportValues(of: pdu, into: &output)
    case .indication(let handle): reportIndication(of: handle, pdu.extracting(3...), into: &output)
    case .unexpected(let opcode, let error?):
      output.events.append(.violation(.malformedResponse(opcode, reason: error.description)))
    case .unexpected(let opcode, nil): receivedWrongResponse(opcode, now: now, into: &output)
    case .notForClient(let opcode):
      output.events.append(.violation(.unexpectedPDU(opcode)))
    case .empty: if active != nil { receivedWrongResponse(ATTOpcode(rawValue: 0), now: now, into: &output) }
    }
    advance(now: now, into: &output)
  }

  /// The server has sent a response to another request, or nothing. The right response may follow, for example after one
  /// that was sent twice.
  private mutating func receivedWrongResponse(_ opcode: ATTOpcode, now: Instant, into output: inout Output) {
    output.events.append(.violation(.unexpectedPDU(opcode)))
    if active != nil, wrongResponse == nil { wrongResponse = (opcode, now + limits.wrongResponseTime) }
  }

  /// Whether the next operation is a signed write that waits for ``allowSigning(_:now:into:)``.
  public var awaitsSignCounter: Bool {
    guard !isLinkEncrypted, let signing, signing.counter >= signing.limit, signing.limit < .max else { return false }
    guard case .signedWrite = waiting.first?.kind else { return false }
    return true
  }

  /// Allows these counters, which have been stored, instead of those that were allowed before.
  public mutating func allowSigning(_ counters: Range<UInt32>, now: Instant, into output: inout Output) {
    signing?.counter = counters.lowerBound
    signing?.limit = counters.upperBound
    advance(now: now, into: &output)
  }

  /// Ends each signed write that waits for its counter with ``GATTClientError/signCounterNotStored``, and continues
  /// with the operations after it.
  public mutating func rejectSignedWrites(now: Instant, into output: inout Output) {
    while awaitsSignCounter, let rejected = waiting.removeFirst() {
      output.events.append(.finished(rejected.id, .failure(.signCounterNotStored)))
      advance(now: now, into: &output)
    }
  }

  /// Sets whether the queue of the link is full. While it is full, commands and the operations after them wait.
  public mutating func setCongested(_ isCongested: Bool, now: Instant, into output: inout Output) {
    self.isCongested = isCongested
    advance(now: now, into: &output)
  }

  /// Suspends or resumes the client. While it is suspended, operations wait, up to
  /// ``Limits-swift.struct/waitingOctets``. An active procedure ends with ``GATTClientError/notEncrypted`` when its
  /// response arrives.
  public mutating func setSuspended(_ isSuspended: Bool, now: Instant, into output: inout Output) {
    self.isSuspended = isSuspended
    advance(now: now, into: &output)
  }

  /// Lets operations wait until ``release(repeating:now:into:)``: one before them is to be repeated.
  package mutating func hold() { isHeld = true }

  /// Continues after operations were refused because the link lacks security.
  ///
  /// - Parameter operations: those that are repeated, before all that wait.
  package mutating func release(repeating operations: [Operation] = [], now: Instant, into output: inout Output) {
    isHeld = false
    guard end == nil else {
      for operation in operations { perform(operation, now: now, into: &output) }
      return
    }
    waiting.insertFirst(operations)
    advance(now: now, into: &output)
  }

  /// Ends each operation that waits with this error.
  public mutating func failWaiting(_ error: GATTClientError, into output: inout Output) {
    for operation in waiting.removeAll() { output.events.append(.finished(operation.id, .failure(error))) }
  }

  /// Ends the bearer if a request has had no response for 30 seconds (Vol 3, Part F, 3.3.3).
  public mutating func tick(now: Instant, into output: inout Output) {
    if let wrong = wrongResponse, wrong.deadline <= now {
      wrongResponse = nil
      bearer.endRequest(now: now, into: &output.pdus)
      activeFailed(.unexpectedPDU(wrong.opcode), now: now, into: &output)
      advance(now: now, into: &output)
    }
    guard !bearer.tick(now: now).isEmpty else { return }
    // What came before counts.
    if let found = active?.procedure.result(endedBy: .timedOut) { endActive(.success(found), into: &output) }
    failEverything(.timedOut, into: &output)
    output.events.append(.bearerFailed)
  }

  /// Ends all operations with ``GATTClientError/linkEnded``. Call it when the link has ended.
  public mutating func linkEnded(into output: inout Output) {
    _ = bearer.end()
    failEverything(.linkEnded, into: &output)
  }

  private mutating func failEverything(_ error: GATTClientError, into output: inout Output) {
    end = error
    wrongResponse = nil
    endActive(.failure(error), into: &output)
    failWaiting(error, into: &output)
  }

  private mutating func endActive(
    _ result: Result<Outcome, GATTClientError>, into output: inout Output
  ) {
    guard let ended = active else { return }
    active = nil
    finish(ended, result, into: &output)
  }

  /// The request in flight was answered wrongly.
  private mutating func activeFailed(_ error: GATTClientError, now: Instant, into output: inout Output) {
    guard let current = active else { return }
    active = nil
    if current.isOutdated {
      beginAgain(current, now: now, into: &output)
    } else {
      failed(current, error, now: now, into: &output)
    }
  }

  /// Sends the commands at the front of the queue and begins the next operation, if none is active.
  private mutating func advance(now: Instant, into output: inout Output) {
    while end == nil, !isSuspended, !isHeld, active == nil, let next = waiting.first {
      if !changed.isEmpty, next.kind.uses(changed) {
        waiting.removeFirst()
        output.events.append(.finished(next.id, .failure(.servicesChanged)))
      } else if next.kind.isCommand {
        guard !isCongested, !awaitsSignCounter else { return }
        waiting.removeFirst()
        let result = Result { () throws(GATTClientError) in try sendCommand(next.kind, into: &output.pdus) }
        output.events.append(.finished(next.id, result.map { .done }))
      } else if needsVerification(before: next.kind) {
        verifyCache(now: now, into: &output)
      } else {
        waiting.removeFirst()
        begin(next, now: now, into: &output)
      }
    }
  }
}
