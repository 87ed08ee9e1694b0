public import BLEATT
public import BLEWire

/// The client half of GATT on one link: the procedures of Vol 3, Part G, 4, one at a time, over one ATT bearer.
///
/// Operations are carried out in the order they were asked for. A command needs no answer, so it goes out as soon as
/// everything before it has begun.
///
/// ```
///   perform ──► waiting ──► active ──response──► next request … ──► finished
///                  │           │ 30 s without an answer
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
  /// What is bounded, and how far.
  public struct Limits: Hashable, Sendable {
    /// Operations that wait for their turn. One more ends at once with ``GATTClientError/tooManyOperations(limit:)``.
    public var waitingOperations = 256
    /// Services, characteristics, descriptors or values of one operation. One more ends it with
    /// ``GATTClientError/tooManyResults(limit:)``.
    public var results = 4096

    public init() {}
  }

  /// Signs commands on a link that is not encrypted (Vol 3, Part H, 2.4.5).
  public struct Signing: Sendable {
    /// The counter of the next signed command. It must never be used twice with one key: store ``limit`` with the key
    /// before the client gets it, and begin there the next time.
    public var counter: UInt32
    /// The first counter that may not be used yet. A signed write that needs it waits, and the operations behind it, until
    /// ``GATTClient/allowSigning(_:now:into:)``.
    public var limit: UInt32
    /// The message authentication code, in the order it travels, of the PDU's octets (opcode, handle, value) and a counter.
    public var code: @Sendable (_ message: [UInt8], _ counter: UInt32) -> UInt64

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
    var id: GATTClient.OperationID
    var procedure: any ClientProcedure
  }

  let limits: Limits
  var bearer = ATTClient()
  var active: Active?
  var waiting: [GATTClient.Operation] = []
  /// Why nothing more can be asked, once that is so.
  private var end: GATTClientError?
  /// Where the server tells of changed services, once we know.
  var serviceChangedHandle: AttributeHandle?

  /// Present once a signing key was distributed to us.
  public var signing: Signing?
  /// Whether the link is encrypted; the host keeps it up to date. A signed write travels as a plain one then.
  public var isLinkEncrypted = false
  /// Whether commands are held back, because the link's queue is full.
  public private(set) var isCongested = false
  /// Whether nothing is sent, because the link is not encrypted yet.
  public private(set) var isSuspended = false

  public init(limits: Limits = Limits(), signing: Signing? = nil) {
    self.limits = limits
    self.signing = signing
  }

  /// The ATT_MTU in force on the link, in octets; the server half of the same bearer sets it when the peer asks for an
  /// exchange.
  public var mtu: Int {
    get { bearer.mtu }
    set { bearer.mtu = newValue }
  }

  /// When ``tick(now:into:)`` must be called, if at all.
  public var deadline: Instant? { bearer.deadline }

  /// Whether a PDU with this opcode is meant for the client half of a bearer: responses, notifications, indications.
  public static func takes(_ opcode: ATTOpcode) -> Bool { opcode.isSentByServer }

  /// Begins an operation, or keeps it for its turn.
  public mutating func perform(_ operation: GATTClient.Operation, now: Instant, into output: inout GATTClient.Output) {
    if let end {
      output.events.append(.finished(operation.id, .failure(end)))
    } else if waiting.count >= limits.waitingOperations {
      output.events.append(.finished(operation.id, .failure(.tooManyOperations(limit: limits.waitingOperations))))
    } else {
      waiting.append(operation)
      advance(now: now, into: &output)
    }
  }

  /// Takes one PDU of the server. Octets behind the first ATT_MTU ones, which no server may send, count as not there.
  public mutating func receive(_ pdu: Span<UInt8>, now: Instant, into output: inout GATTClient.Output) {
    let pdu = pdu.extracting(first: mtu)
    switch bearer.receive(pdu, now: now, into: &output.pdus) {
    case .response:
      guard !isSuspended else { return endActive(.failure(.notEncrypted), into: &output) }
      guard var current = active else { break }
      active = nil
      let next = Result { () throws(GATTClientError) in try current.procedure.take(pdu, mtu: bearer.mtu) }
      follow(next, of: current, now: now, into: &output)
    case .mtuExchanged(_, let mtu):
      output.events.append(.mtu(mtu))
      endActive(.success(.mtu(mtu)), into: &output)
    case .errorResponse(_, let error):
      guard var current = active else { break }
      active = nil
      let next = Result { () throws(GATTClientError) in try current.procedure.refused(error) }
      follow(next, of: current, now: now, into: &output)
    case .malformed(_, let opcode, let error):
      endActive(.failure(.malformedResponse(opcode, reason: error.description)), into: &output)
    case .notification(let handle):
      output.events.append(.notification(handle, [UInt8](copying: pdu.extracting(3...))))
    case .multipleNotification: notifyEach(pdu, into: &output)
    case .indication(let handle): indicate(handle, pdu.extracting(3...), into: &output)
    case .unexpected(let opcode, let error?):
      output.events.append(.violation(.malformedResponse(opcode, reason: error.description)))
    case .unexpected(let opcode, nil), .notForClient(let opcode):
      output.events.append(.violation(.unexpectedPDU(opcode)))
    case .empty: break
    }
    advance(now: now, into: &output)
  }

  /// Whether the next operation is a signed write, and no counter may be used for it.
  public var awaitsSignCounter: Bool {
    guard !isLinkEncrypted, let signing, signing.counter >= signing.limit, signing.limit < .max else { return false }
    guard case .signedWrite = waiting.first?.kind else { return false }
    return true
  }

  /// Allows signed writes with these counters, in place of those that were allowed before.
  public mutating func allowSigning(_ counters: Range<UInt32>, now: Instant, into output: inout GATTClient.Output) {
    signing?.counter = counters.lowerBound
    signing?.limit = counters.upperBound
    advance(now: now, into: &output)
  }

  /// Ends each signed write that waits for its counter, and goes on behind it.
  public mutating func refuseSigning(now: Instant, into output: inout GATTClient.Output) {
    while awaitsSignCounter {
      let refused = waiting.removeFirst()
      output.events.append(.finished(refused.id, .failure(.signCounterNotStored)))
      advance(now: now, into: &output)
    }
  }

  /// Says whether the link's queue is full: commands wait then, and what was asked after them.
  public mutating func setCongested(_ isCongested: Bool, now: Instant, into output: inout GATTClient.Output) {
    self.isCongested = isCongested
    advance(now: now, into: &output)
  }

  /// Suspends or resumes the client. While it is suspended, operations wait, within
  /// ``Limits-swift.struct/waitingOperations``, and a procedure that is active ends with ``GATTClientError/notEncrypted`` when its
  /// response arrives.
  public mutating func setSuspended(_ isSuspended: Bool, now: Instant, into output: inout GATTClient.Output) {
    self.isSuspended = isSuspended
    advance(now: now, into: &output)
  }

  /// Ends every operation that waits for its turn.
  public mutating func failWaiting(_ error: GATTClientError, into output: inout GATTClient.Output) {
    for operation in waiting { output.events.append(.finished(operation.id, .failure(error))) }
    waiting = []
  }

  /// Ends what has waited too long.
  public mutating func tick(now: Instant, into output: inout GATTClient.Output) {
    guard !bearer.tick(now: now).isEmpty else { return }
    failEverything(.timedOut, into: &output)
    output.events.append(.bearerFailed)
  }

  /// The link is gone: everything that waits ends with ``GATTClientError/linkEnded``.
  public mutating func linkEnded(into output: inout GATTClient.Output) {
    _ = bearer.end()
    failEverything(.linkEnded, into: &output)
  }

  private mutating func failEverything(_ error: GATTClientError, into output: inout GATTClient.Output) {
    end = error
    endActive(.failure(error), into: &output)
    failWaiting(error, into: &output)
  }

  private mutating func endActive(
    _ result: Result<GATTClient.Outcome, GATTClientError>, into output: inout GATTClient.Output
  ) {
    guard let ended = active else { return }
    active = nil
    finish(ended, result, into: &output)
  }

  /// Starts what can start: the next operation where none is active, and the commands at the head of the line.
  private mutating func advance(now: Instant, into output: inout GATTClient.Output) {
    while end == nil, !isSuspended, let next = waiting.first {
      if next.kind.isCommand {
        guard !isCongested, !awaitsSignCounter else { return }
        waiting.removeFirst()
        let result = Result { () throws(GATTClientError) in try sendCommand(next.kind, into: &output.pdus) }
        output.events.append(.finished(next.id, result.map { .done }))
      } else {
        guard active == nil else { return }
        waiting.removeFirst()
        begin(next, now: now, into: &output)
      }
    }
  }
}
