package import BLEWire

/// The LE signalling channel of one link (Vol 3, Part A, 4): PDUs in, PDUs and effects out.
///
/// It keeps two conversations, each of one request at a time, and refuses everything else as the specification says.
///
/// ```
///   peripheral                                   central
///   requestParameterUpdate ──── 0x12 ─────────► range checked ── out of range ──► 0x13 rejected
///        │                                        │ fine
///        │                                        ▼
///        │                                     .parameterUpdateRequested
///        │                                        │ answerParameterUpdate(accepted:)
///        ▼                                        ▼
///   .parameterUpdateFinished ◄── 0x13 / 0x01 ── accepted / rejected
///        ▲ 30 s without an answer: .timedOut
/// ```
package struct SignallingChannel: Sendable {
  package enum Role: Sendable { case central, peripheral }

  package enum Effect: Equatable, Sendable {
    /// The peripheral asks for these parameters, which are in range: answer with
    /// ``SignallingChannel/answerParameterUpdate(accepted:into:)``, then have the controller apply them.
    case parameterUpdateRequested(ConnectionParameterUpdateRequest)
    /// What became of ``SignallingChannel/requestParameterUpdate(_:now:into:)``.
    case parameterUpdateFinished(ParameterUpdateOutcome)
  }

  package enum ParameterUpdateOutcome: Equatable, Sendable {
    /// The central takes the parameters; the controller reports when they are in force.
    case accepted
    case rejected
    /// The central answered with a command reject: it knows no such request.
    case notUnderstood(CommandRejectReason)
    /// No answer came within ``SignallingChannel/responseTimeout``.
    case timedOut
  }

  /// Why a request was not sent.
  package enum RequestRefusal: Error, Equatable, Sendable {
    /// Only a peripheral asks; a central tells its controller.
    case notPeripheral
    /// The one before is not answered yet.
    case outstanding
    case outOfRange(ConnectionParameterProblem)
  }

  /// MTUsig of LE: the largest signalling PDU, in octets (Vol 3, Part A, 4).
  package static let mtu = 23
  /// The Response Timeout Expired timer; T_GAP(conn_param_timeout) of Vol 3, Part C, 9.3.9.2 has the same length.
  package static let responseTimeout: Duration = .seconds(30)

  private struct Outstanding {
    var identifier: UInt8
    var deadline: Instant
  }

  private let role: Role
  private var lastIdentifier: UInt8 = 0
  private var outstanding: Outstanding?
  /// The identifier of the request that the owner has yet to answer.
  private var unanswered: UInt8?

  package init(role: Role) { self.role = role }

  /// When ``tick(now:into:)`` next has work, if ever.
  package var deadline: Instant? { outstanding?.deadline }

  /// Handles one PDU from the peer, without its L2CAP header; answers go to `out`, without theirs.
  package mutating func receive(_ pdu: Bytes, into out: inout PacketBuffer, effects: inout [Effect]) {
    // Code and identifier are needed to say anything at all; identifier zero is not allowed.
    guard let first = pdu.first, let identifier = pdu.dropFirst().first, identifier != 0 else { return }
    let code = SignallingCode(rawValue: first)
    guard pdu.count <= Self.mtu else {
      if !code.isResponse { send(.commandReject(.init(mtuExceeded: UInt16(Self.mtu))), identifier, &out) }
      return
    }
    do throws(CodecError) {
      receive(try SignallingPDU(decoding: pdu), into: &out, effects: &effects)
    } catch {
      if !code.isResponse { send(.commandReject(.init()), identifier, &out) }
    }
  }

  /// Asks the central for other connection parameters.
  package mutating func requestParameterUpdate(
    _ parameters: ConnectionParameterUpdateRequest, now: Instant, into out: inout PacketBuffer
  ) throws(RequestRefusal) {
    guard role == .peripheral else { throw .notPeripheral }
    guard outstanding == nil else { throw .outstanding }
    if let problem = parameters.problem { throw .outOfRange(problem) }
    lastIdentifier = lastIdentifier == .max ? 1 : lastIdentifier + 1
    outstanding = Outstanding(identifier: lastIdentifier, deadline: now + Self.responseTimeout)
    send(.connectionParameterUpdateRequest(parameters), lastIdentifier, &out)
  }

  /// Answers ``Effect/parameterUpdateRequested(_:)``; without a request to answer it does nothing.
  package mutating func answerParameterUpdate(accepted: Bool, into out: inout PacketBuffer) {
    guard let identifier = unanswered else { return }
    unanswered = nil
    send(.connectionParameterUpdateResponse(.init(result: accepted ? .accepted : .rejected)), identifier, &out)
  }

  /// Gives up a request whose time is over.
  package mutating func tick(now: Instant, effects: inout [Effect]) {
    guard let outstanding, outstanding.deadline <= now else { return }
    finish(.timedOut, &effects)
  }

  private mutating func receive(_ pdu: SignallingPDU, into out: inout PacketBuffer, effects: inout [Effect]) {
    let identifier = pdu.identifier
    switch pdu.command {
    case .connectionParameterUpdateRequest(let request):
      receive(request, identifier, &out, &effects)
    case .connectionParameterUpdateResponse(let response) where outstanding?.identifier == identifier:
      finish(response.result == .accepted ? .accepted : .rejected, &effects)
    case .commandReject(let reject) where outstanding?.identifier == identifier:
      finish(.notUnderstood(reject.reason), &effects)
    case .leCreditBasedConnectionRequest:
      send(.leCreditBasedConnectionResponse(.init(refused: .spsmNotSupported)), identifier, &out)
    case .creditBasedConnectionRequest(let request):
      send(.creditBasedConnectionResponse(refusal(of: request)), identifier, &out)
    case .creditBasedReconfigureRequest:
      send(.creditBasedReconfigureResponse(.init(result: .invalidDestinationCID)), identifier, &out)
    case .disconnectionRequest(let request):
      let reject = CommandReject(invalidChannel: request.destinationCID, remote: request.sourceCID)
      send(.commandReject(reject), identifier, &out)
    case .unknown(let code, _) where !code.isResponse:
      send(.commandReject(.init()), identifier, &out)
    // An answer that nobody waits for, or credits for a channel that is not there.
    default: break
    }
  }

  private mutating func receive(
    _ request: ConnectionParameterUpdateRequest, _ identifier: UInt8, _ out: inout PacketBuffer,
    _ effects: inout [Effect]
  ) {
    guard role == .central else { return send(.commandReject(.init()), identifier, &out) }
    // The same request sent again is answered once, when the owner has decided.
    if unanswered == identifier { return }
    guard request.problem == nil, unanswered == nil else {
      return send(.connectionParameterUpdateResponse(.init(result: .rejected)), identifier, &out)
    }
    unanswered = identifier
    effects.append(.parameterUpdateRequested(request))
  }

  /// No service listens on any SPSM: every channel of the request is refused. The MTU admits five of them, as many as the
  /// command allows (Vol 3, Part A, 4.25); none at all is no request.
  private func refusal(of request: CreditBasedConnectionRequest) -> CreditBasedConnectionResponse {
    var response = CreditBasedConnectionResponse()
    response.destinationCIDs = request.sourceCIDs.map { _ in .null }
    response.result = request.sourceCIDs.isEmpty ? .invalidParameters : .spsmNotSupported
    return response
  }

  private mutating func finish(_ outcome: ParameterUpdateOutcome, _ effects: inout [Effect]) {
    outstanding = nil
    effects.append(.parameterUpdateFinished(outcome))
  }

  private func send(_ command: SignallingCommand, _ identifier: UInt8, _ out: inout PacketBuffer) {
    out.append { SignallingPDU(identifier: identifier, command).encode(to: &$0) }
  }
}

extension SignallingChannel.RequestRefusal: CustomStringConvertible {
  package var description: String {
    switch self {
    case .notPeripheral: "only the peripheral of a link asks for connection parameters; a central sets them"
    case .outstanding: "the request before this one is not answered yet: wait for its outcome"
    case .outOfRange(let problem): "\(problem)"
    }
  }
}
