public import BLEWire

/// The client of one ATT bearer: one request at a time waits for its response, the others are queued (Vol 3, Part F,
/// 3.3).
///
/// ```
///            send                     response, error response
///   idle ───────────► waiting (30 s) ───────────────────────────► idle, or waiting for the next in the queue
///                        │ no response
///                        ▼
///                      failed: nothing more is sent, and the queued requests fail (3.3.3)
/// ```
///
/// Commands are not queued. Notifications and indications are accepted at any time; an indication is confirmed at once.
///
/// ```swift
/// var client = ATTClient()
/// var pdus = PacketBuffer()
/// try client.send(.readRequest(.init(handle: 0x0003)), as: .init(rawValue: 1), now: .start, into: &pdus)
/// // pdus[0] == [0x0A, 0x03, 0x00]
/// ```
public struct ATTClient: Sendable {
  /// The limits of a client.
  public struct Limits: Hashable, Sendable {
    /// The longest queue of requests. One more request throws ``ATTClientError/tooManyRequests(limit:)``.
    public var waitingRequests = 64

    /// The default limits.
    public init() {}
  }

  /// A number that the caller assigns to a request, and that identifies its response.
  public struct RequestID: RawRepresentable, Hashable, Sendable {
    public var rawValue: UInt32
    @inlinable public init(rawValue: UInt32) { self.rawValue = rawValue }
  }

  /// The meaning of a received PDU. The caller has its octets; the parameters begin after the opcode.
  public enum ReceivedPDU: Equatable, Sendable {
    /// The response to this request, with its opcode. The parameters have not been decoded.
    case response(RequestID)
    /// The server rejected this request.
    case errorResponse(RequestID, ErrorResponse)
    /// The MTU exchange succeeded: this ATT_MTU is in force, in octets.
    case mtuExchanged(RequestID, Int)
    /// The response to this request is malformed.
    case malformed(RequestID, ATTOpcode, CodecError)
    /// A notification; the value begins at octet 3.
    case notification(AttributeHandle)
    /// A notification of several values; tuples of handle, length and value begin at octet 1.
    case multipleNotification
    /// An indication; the value begins at octet 3. The confirmation is in the output.
    case indication(AttributeHandle)
    /// A response without a request, or a malformed notification. It has no effect.
    case unexpected(ATTOpcode, CodecError?)
    /// A PDU for the server of the bearer, or one with an unknown opcode.
    case notForClient(ATTOpcode)
    /// A PDU without octets.
    case empty
  }

  private enum State: Sendable {
    case idle
    case waiting(RequestID, opcode: ATTOpcode, since: Instant)
    case failed
  }

  private let limits: Limits
  private var state = State.idle
  private var queue: [(id: RequestID, pdu: [UInt8])] = []
  /// The Client Rx MTU of the exchange, once it has been sent.
  private var offeredMTU: UInt16?

  /// The ATT_MTU in force, in octets, at least 23. The owner sets it when the peer's client exchanges the MTU with the
  /// server of the same bearer.
  public var mtu: Int {
    get { agreedMTU }
    set { agreedMTU = max(ATT.defaultMTU, newValue) }
  }
  private var agreedMTU = ATT.defaultMTU

  /// The client of a new link.
  public init(limits: Limits = Limits()) { self.limits = limits }

  /// Whether the bearer has failed: it accepts no more requests.
  public var hasFailed: Bool { if case .failed = state { true } else { false } }

  /// Whether a request has no response yet.
  public var isWaiting: Bool { if case .waiting = state { true } else { false } }

  /// Whether the MTU exchange has been sent.
  public var hasExchangedMTU: Bool { offeredMTU != nil }

  /// The time at which ``tick(now:)`` must be called: 30 seconds after the request was sent; nil without a request.
  public var deadline: Instant? {
    if case .waiting(_, _, let since) = state { since + ATT.transactionTimeout } else { nil }
  }

  /// Sends a request, or queues it until the previous requests have a response.
  ///
  /// - Throws: ``ATTClientError``; nothing is sent then.
  public mutating func send(
    _ request: ATTPDU, as id: RequestID, now: Instant, into pdus: inout PacketBuffer
  ) throws(ATTClientError) {
    let opcode = request.opcode
    guard opcode.response != nil else { throw .notARequest(opcode) }
    let exchange: ExchangeMTURequest? = if case .exchangeMTURequest(let exchange) = request { exchange } else { nil }
    if exchange != nil, offeredMTU != nil { throw .mtuAlreadyExchanged }
    switch state {
    case .failed: throw .bearerFailed
    case .idle:
      try append(to: &pdus) { request.encode(to: &$0) }
      state = .waiting(id, opcode: opcode, since: now)
    case .waiting:
      guard queue.count < limits.waitingRequests else { throw .tooManyRequests(limit: limits.waitingRequests) }
      let pdu = request.encoded
      guard pdu.count <= mtu else { throw .exceedsMTU(octets: pdu.count, mtu: mtu) }
      queue.append((id, pdu))
    }
    if let exchange { offeredMTU = exchange.clientRxMTU }
  }

  /// Sends a command at once. It has no response.
  ///
  /// - Throws: ``ATTClientError``; nothing is sent then.
  public mutating func send<Command: ATTPacket>(
    command: Command, into pdus: inout PacketBuffer
  ) throws(ATTClientError) {
    guard Command.opcode.isCommand else { throw .notACommand(Command.opcode) }
    guard !hasFailed else { throw .bearerFailed }
    try append(to: &pdus) { command.encodePDU(to: &$0) }
  }

  /// Receives one PDU. After the response to a request, the next request in the queue is sent.
  ///
  /// - Parameters:
  ///   - pdu: the PDU, of at most ATT_MTU octets. The caller cuts a longer one, which no server may send.
  ///   - now: the time.
  ///   - pdus: the buffer to which a confirmation or the next request is appended.
  public mutating func receive(
    _ pdu: Span<UInt8>, now: Instant, into pdus: inout PacketBuffer
  ) -> ReceivedPDU {
    guard !pdu.isEmpty else { return .empty }
    let opcode = ATTOpcode(rawValue: pdu[0])
    let received: ReceivedPDU
    switch ATTPDU.Kind(rawValue: pdu[0]) {
    case .handleValueNotification: return value(of: pdu, opcode) { .notification($0) }
    case .handleValueIndication:
      // A malformed indication is also confirmed: without a confirmation the server closes the link after 30 seconds.
      pdus.append { HandleValueConfirmation().encodePDU(to: &$0) }
      return value(of: pdu, opcode) { .indication($0) }
    case .multipleHandleValueNotification: return .multipleNotification
    case .errorResponse:
      guard case .waiting(let id, let request, _) = state else { return .unexpected(opcode, nil) }
      switch errorResponse(in: pdu) {
      case .success(let error):
        guard error.requestOpcode == request else { return .unexpected(opcode, nil) }
        received = .errorResponse(id, error)
      case .failure(let error): received = .malformed(id, opcode, error)
      }
    case .exchangeMTUResponse:
      guard let id = request(answeredBy: opcode) else { return .unexpected(opcode, nil) }
      received = mtuAgreed(in: pdu, id)
    case .findInformationResponse, .findByTypeValueResponse, .readByTypeResponse, .readResponse, .readBlobResponse,
      .readMultipleResponse, .readByGroupTypeResponse, .writeResponse, .prepareWriteResponse, .executeWriteResponse,
      .readMultipleVariableResponse:
      guard let id = request(answeredBy: opcode) else { return .unexpected(opcode, nil) }
      received = .response(id)
    case .exchangeMTURequest, .findInformationRequest, .findByTypeValueRequest, .readByTypeRequest, .readRequest,
      .readBlobRequest, .readMultipleRequest, .readByGroupTypeRequest, .writeRequest, .prepareWriteRequest,
      .executeWriteRequest, .readMultipleVariableRequest, .handleValueConfirmation, .writeCommand,
      .signedWriteCommand, nil:
      return .notForClient(opcode)
    }
    sendNext(now: now, into: &pdus)
    return received
  }

  /// Fails the bearer if a request has had no response for 30 seconds.
  ///
  /// - Returns: the requests that fail, the sent one first.
  public mutating func tick(now: Instant) -> [RequestID] {
    guard let deadline, now >= deadline else { return [] }
    return end()
  }

  /// Ends the request in flight without its response, because the server has answered it with another PDU. The next
  /// request in the queue is sent.
  public mutating func endRequest(now: Instant, into pdus: inout PacketBuffer) {
    guard case .waiting = state else { return }
    sendNext(now: now, into: &pdus)
  }

  /// Ends the bearer, after the end of its link.
  ///
  /// - Returns: the requests without a response, the sent one first.
  public mutating func end() -> [RequestID] {
    var ended: [RequestID] = []
    if case .waiting(let id, _, _) = state { ended.append(id) }
    ended += queue.map { $0.id }
    queue = []
    state = .failed
    return ended
  }

  private func append(
    to pdus: inout PacketBuffer, _ encode: (inout [UInt8]) -> Void
  ) throws(ATTClientError) {
    var count = 0
    let fits = pdus.appendIf { [mtu] buffer in
      let start = buffer.count
      encode(&buffer)
      count = buffer.count - start
      return count <= mtu
    }
    guard fits else { throw .exceedsMTU(octets: count, mtu: mtu) }
  }

  /// The request that waits for this response.
  private func request(answeredBy response: ATTOpcode) -> RequestID? {
    if case .waiting(let id, let request, _) = state, request.response == response { id } else { nil }
  }

  private mutating func sendNext(now: Instant, into pdus: inout PacketBuffer) {
    guard let next = queue.first else {
      state = .idle
      return
    }
    queue.removeFirst()
    pdus.append { $0 += next.pdu }
    state = .waiting(next.id, opcode: ATTOpcode(rawValue: next.pdu[0]), since: now)
  }

  /// Decodes an Error Response in place (3.4.1.1). Octets after the error code mean nothing.
  private func errorResponse(in pdu: Span<UInt8>) -> Result<ErrorResponse, CodecError> {
    guard pdu.count > 1 else { return .failure(.truncated(field: "Request Opcode In Error")) }
    guard let handle = pdu.uint16(at: 2) else { return .failure(.truncated(field: "Attribute Handle In Error")) }
    guard pdu.count > 4 else { return .failure(.truncated(field: "Error Code")) }
    return .success(
      ErrorResponse(
        to: ATTOpcode(rawValue: pdu[1]), handle: AttributeHandle(handle), code: ATTErrorCode(rawValue: pdu[4])))
  }

  /// The smaller of the two sizes is in force, but at least 23 (3.4.2.2). Octets after the size mean nothing.
  private mutating func mtuAgreed(in pdu: Span<UInt8>, _ id: RequestID) -> ReceivedPDU {
    guard let serverRxMTU = pdu.uint16(at: 1) else {
      return .malformed(id, .exchangeMTUResponse, .truncated(field: "Server Rx MTU"))
    }
    mtu = Int(min(serverRxMTU, offeredMTU ?? serverRxMTU))
    return .mtuExchanged(id, mtu)
  }

  /// The value in a notification or an indication.
  private func value(
    of pdu: Span<UInt8>, _ opcode: ATTOpcode, _ received: (AttributeHandle) -> ReceivedPDU
  ) -> ReceivedPDU {
    guard let handle = pdu.uint16(at: 1) else { return .unexpected(opcode, .truncated(field: "Attribute Handle")) }
    return received(AttributeHandle(handle))
  }
}

/// The reason why an ATT client did not send a PDU.
public enum ATTClientError: Error, Equatable, Sendable {
  /// The PDU is not a request: it has no response.
  case notARequest(ATTOpcode)
  /// The PDU is not a command: a server would answer it.
  case notACommand(ATTOpcode)
  /// The PDU is longer than the ATT_MTU.
  case exceedsMTU(octets: Int, mtu: Int)
  /// The queue of requests is full.
  case tooManyRequests(limit: Int)
  /// The MTU has already been exchanged; a client does that once on a link (Vol 3, Part F, 3.4.2.1).
  case mtuAlreadyExchanged
  /// A request had no response within 30 seconds, or the link has ended.
  case bearerFailed
}

extension ATTClientError: CustomStringConvertible {
  /// What failed and what to do.
  public var description: String {
    switch self {
    case .notARequest(let opcode): "\(opcode) is not a request. Send it as a command"
    case .notACommand(let opcode): "\(opcode) is not a command. Send it as a request"
    case .exceedsMTU(let octets, let mtu):
      "a PDU of \(octets) octets exceeds the ATT_MTU of \(mtu). Exchange a larger MTU, or send the value in parts"
    case .tooManyRequests(let limit): "\(limit) requests are already queued. Wait for a response"
    case .mtuAlreadyExchanged: "the MTU has already been exchanged on this link. Use the MTU in force"
    case .bearerFailed: "the ATT bearer has failed. Disconnect and connect again"
    }
  }
}
