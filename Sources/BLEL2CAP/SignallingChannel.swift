public import BLEWire

/// The LE signalling channel of one link (Vol 3, Part A, 4): PDUs in, PDUs and effects out.
///
/// A peripheral requests connection parameters, and a central answers such requests, one at a time. Both open, use and
/// close credit-based channels (``CreditBasedChannels``). All other requests are rejected with the response that the
/// specification prescribes.
///
/// ```
///   peripheral                                   central
///   requestParameterUpdate ──── 0x12 ─────────► range checked ── out of range ──► 0x13 rejected
///        │                                        │ in range
///        │                                        ▼
///        │                                     .parameterUpdateRequested
///        │                                        │ answerParameterUpdate(accepted:)
///        ▼                                        ▼
///   .parameterUpdateFinished ◄── 0x13 / 0x01 ── accepted / rejected
///        ▲ 30 s without an answer: .timedOut
/// ```
public struct SignallingChannel: Sendable {
  /// The role of this end of the link.
  public enum Role: Sendable {
    /// The central.
    case central
    /// The peripheral.
    case peripheral
  }

  /// An event for the owner of the channel.
  public enum Effect: Equatable, Sendable {
    /// The peripheral requests these parameters, which are in range. The owner answers with
    /// ``SignallingChannel/answerParameterUpdate(accepted:into:)``, then sends accepted parameters to the controller.
    case parameterUpdateRequested(ConnectionParameterUpdateRequest)
    /// The result of ``SignallingChannel/requestParameterUpdate(_:now:into:)``.
    case parameterUpdateFinished(ParameterUpdateOutcome)
    /// An event of credit-based channels.
    case channel(CreditBasedChannels.Effect)
  }

  /// The result of a request for connection parameters.
  public enum ParameterUpdateOutcome: Equatable, Sendable {
    /// The central accepts the parameters. The controller reports the update.
    case accepted
    /// The central rejects the parameters.
    case rejected
    /// The central answered with a Command Reject: it does not support the request.
    case notUnderstood(CommandRejectReason)
    /// No response was received within ``SignallingChannel/responseTimeout``.
    case timedOut
  }

  /// The reason why a request was not sent.
  public enum RequestRefusal: Error, Equatable, Sendable {
    /// Only a peripheral sends the request. A central uses a command of its controller.
    case notPeripheral
    /// The previous request has no response yet.
    case outstanding
    /// A parameter is out of range.
    case outOfRange(ConnectionParameterProblem)
  }

  /// MTUsig on LE: the largest signalling PDU in octets (Vol 3, Part A, 4).
  public static let mtu = 23
  /// The time for a response: the RTX timer of Vol 3, Part A, 6.2.1 and T_GAP(conn_param_timeout) of Vol 3, Part C,
  /// 9.3.9.2.
  public static let responseTimeout: Duration = .seconds(30)

  struct Outstanding {
    var identifier: UInt8
    var deadline: Instant
  }

  private let role: Role
  var lastIdentifier: UInt8 = 0
  private(set) var outstanding: Outstanding?
  /// The identifier of the request that the owner has not answered yet.
  private var unanswered: UInt8?
  /// The credit-based channels of the link.
  public var channels: CreditBasedChannels

  /// A channel of a new link.
  public init(role: Role, channels limits: CreditBasedChannels.Limits = .init()) {
    self.role = role
    channels = CreditBasedChannels(limits: limits)
  }

  /// The time at which ``tick(now:effects:)`` must be called; nil while no response is awaited.
  public var deadline: Instant? { .nearer(outstanding?.deadline, channels.deadline) }

  /// Receives one PDU without its L2CAP header, and appends the response, without a header, to `out`.
  public mutating func receive(_ pdu: Bytes, now: Instant, into out: inout PacketBuffer, effects: inout [Effect]) {
    // A response needs an identifier; identifier zero is not allowed.
    guard let first = pdu.first, let identifier = pdu.dropFirst().first, identifier != 0 else { return }
    let code = SignallingCode(rawValue: first)
    guard pdu.count <= Self.mtu else {
      if !code.isResponse { send(CommandReject(mtuExceeded: UInt16(Self.mtu)), identifier, &out) }
      return
    }
    do throws(CodecError) {
      receive(try SignallingPDU(decoding: pdu), now: now, into: &out, effects: &effects)
    } catch {
      if !code.isResponse { send(CommandReject(), identifier, &out) }
    }
  }

  /// Requests other connection parameters from the central.
  ///
  /// - Throws: ``RequestRefusal``; nothing is sent then.
  public mutating func requestParameterUpdate(
    _ parameters: ConnectionParameterUpdateRequest, now: Instant, into out: inout PacketBuffer
  ) throws(RequestRefusal) {
    guard role == .peripheral else { throw .notPeripheral }
    guard outstanding == nil else { throw .outstanding }
    if let problem = parameters.problem { throw .outOfRange(problem) }
    guard let identifier = takeIdentifier() else { throw .outstanding }
    outstanding = Outstanding(identifier: identifier, deadline: now + Self.responseTimeout)
    send(parameters, identifier, &out)
  }

  /// Answers ``Effect/parameterUpdateRequested(_:)``. Does nothing if there is no request.
  public mutating func answerParameterUpdate(accepted: Bool, into out: inout PacketBuffer) {
    guard let identifier = unanswered else { return }
    unanswered = nil
    send(ConnectionParameterUpdateResponse(result: accepted ? .accepted : .rejected), identifier, &out)
  }

  /// Ends a request whose response is overdue.
  public mutating func tick(now: Instant, effects: inout [Effect]) {
    tickChannels(now: now, &effects)
    guard let outstanding, outstanding.deadline <= now else { return }
    finish(.timedOut, &effects)
  }

  private mutating func receive(
    _ pdu: SignallingPDU, now: Instant, into out: inout PacketBuffer, effects: inout [Effect]
  ) {
    let identifier = pdu.identifier
    switch pdu.command {
    case .connectionParameterUpdateRequest(let request): receive(request, identifier, &out, &effects)
    case .connectionParameterUpdateResponse(let response):
      // Without a request it is ignored.
      guard outstanding?.identifier == identifier else { return }
      finish(response.result == .accepted ? .accepted : .rejected, &effects)
    case .commandReject(let reject):
      guard !receive(reject, identifier, &effects), outstanding?.identifier == identifier else { return }
      finish(.notUnderstood(reject.reason), &effects)
    case .leCreditBasedConnectionRequest(let request): receive(request, identifier, &out, &effects)
    case .leCreditBasedConnectionResponse(let response): receive(response, identifier, now, &out, &effects)
    case .creditBasedConnectionRequest(let request): receive(request, identifier, &out, &effects)
    case .creditBasedConnectionResponse(let response): receive(response, identifier, now, &out, &effects)
    case .flowControlCredit(let indication): receive(indication, now, &out, &effects)
    case .disconnectionRequest(let request): receive(request, identifier, &out, &effects)
    case .disconnectionResponse(let response): receive(response, identifier)
    case .creditBasedReconfigureRequest(let request): receive(request, identifier, &out, &effects)
    case .creditBasedReconfigureResponse(let response): receive(response, identifier, &effects)
    case .undeclared(let code, _):
      if !code.isResponse { send(CommandReject(), identifier, &out) }
    }
  }

  private mutating func receive(
    _ request: ConnectionParameterUpdateRequest, _ identifier: UInt8, _ out: inout PacketBuffer,
    _ effects: inout [Effect]
  ) {
    guard role == .central else { return send(CommandReject(), identifier, &out) }
    // A repeated request has one response, once the owner has decided.
    if unanswered == identifier { return }
    guard request.problem == nil, unanswered == nil else {
      return send(ConnectionParameterUpdateResponse(result: .rejected), identifier, &out)
    }
    unanswered = identifier
    effects.append(.parameterUpdateRequested(request))
  }

  private mutating func finish(_ outcome: ParameterUpdateOutcome, _ effects: inout [Effect]) {
    outstanding = nil
    effects.append(.parameterUpdateFinished(outcome))
  }

  func send(_ packet: some SignallingPacket, _ identifier: UInt8, _ out: inout PacketBuffer) {
    out.append { packet.encodePDU(identifier: identifier, to: &$0) }
  }
}

extension SignallingChannel.RequestRefusal: CustomStringConvertible {
  /// What failed and what to do.
  public var description: String {
    switch self {
    case .notPeripheral: "only the peripheral of a link requests connection parameters. A central sets them"
    case .outstanding: "the previous request has no response yet. Wait for its result"
    case .outOfRange(let problem): "\(problem)"
    }
  }
}

/// The rule that connection parameters violate (Vol 3, Part A, 4.20; Vol 6, Part B, 4.5.1 and 4.5.2).
public enum ConnectionParameterProblem: Error, Equatable, Sendable {
  /// A connection interval is outside 6 to 3200 units of 1.25 ms.
  case intervalOutOfRange
  /// The smallest connection interval is larger than the largest.
  case intervalsReversed
  /// The peripheral latency exceeds 499 connection events.
  case latencyOutOfRange
  /// The supervision timeout is outside 10 to 3200 units of 10 ms.
  case timeoutOutOfRange
  /// The supervision timeout is not longer than 2 x (1 + latency) x the largest interval: the latency alone could
  /// exceed it.
  case timeoutTooShortForLatency
}

extension ConnectionParameterProblem: CustomStringConvertible {
  /// The rule, with the allowed range.
  public var description: String {
    switch self {
    case .intervalOutOfRange: "a connection interval is outside 6 to 3200 (7.5 ms to 4 s)"
    case .intervalsReversed: "the smallest connection interval is larger than the largest"
    case .latencyOutOfRange: "the peripheral latency exceeds 499 connection events"
    case .timeoutOutOfRange: "the supervision timeout is outside 10 to 3200 (100 ms to 32 s)"
    case .timeoutTooShortForLatency:
      "the supervision timeout is not above 2 x (1 + latency) x the largest interval. Increase it or reduce the latency"
    }
  }
}

extension ConnectionParameterUpdateRequest {
  /// The first rule that the parameters violate; nil for valid parameters.
  public var problem: ConnectionParameterProblem? {
    let intervals = LinkLayerLimits.connectionInterval
    guard intervals.contains(intervalMin), intervals.contains(intervalMax) else { return .intervalOutOfRange }
    guard intervalMin <= intervalMax else { return .intervalsReversed }
    guard LinkLayerLimits.peripheralLatency.contains(latency) else { return .latencyOutOfRange }
    guard LinkLayerLimits.supervisionTimeout.contains(timeout) else { return .timeoutOutOfRange }
    guard LinkLayerLimits.allows(supervisionTimeout: timeout, latency: latency, interval: intervalMax) else {
      return .timeoutTooShortForLatency
    }
    return nil
  }
}
