public import BLEWire

/// The client half of one ATT bearer: one request in flight, the others in line behind it (Vol 3, Part F, 3.3).
///
/// ```
///            send                     response, error response
///   idle ───────────► waiting (30 s) ───────────────────────────► idle, or waiting for the next in line
///                        │ no answer
///                        ▼
///                      failed: nothing more is sent; what was in line fails too (3.3.3)
/// ```
///
/// Commands pass the line, notifications and indications come whenever they come; an indication is confirmed at once.
///
/// ```swift
/// var client = ATTClient()
/// var pdus = PacketBuffer()
/// try client.send(ReadRequest(handle: 0x0003), as: .init(rawValue: 1), now: .start, into: &pdus)
/// // pdus[0] == [0x0A, 0x03, 0x00]
/// ```
public struct ATTClient: Sendable {
  /// What is bounded, and how far.
  public struct Limits: Hashable, Sendable {
    /// Requests in line behind the one in flight; one more throws ``ATTClientError/tooManyRequests(limit:)``.
    public var waitingRequests = 64

    public init() {}
  }

  /// The caller's name for one request; what answers the request carries it back.
  public struct RequestID: RawRepresentable, Hashable, Sendable {
    public var rawValue: UInt32
    @inlinable public init(rawValue: UInt32) { self.rawValue = rawValue }
  }

  /// What a PDU was. The caller still has its octets: parameters begin behind the opcode.
  public enum Reception: Equatable, Sendable {
    /// The response to this request, of the opcode that belongs to it. Its parameters are not looked at here.
    case response(RequestID)
    case refused(RequestID, ErrorResponse)
    /// The MTU exchange succeeded; this ATT_MTU is in force.
    case mtuExchanged(RequestID, Int)
    /// The answer to this request, but not in the form it must have.
    case malformed(RequestID, ATTOpcode, CodecError)
    /// The value begins at octet 3.
    case notification(AttributeHandle)
    /// Tuples of handle, length and value begin at octet 1.
    case multipleNotification
    /// The value begins at octet 3; the confirmation is in the output.
    case indication(AttributeHandle)
    /// A PDU of a server that answers nothing, or a notification that breaks its form; nothing was done about it.
    case unexpected(ATTOpcode, CodecError?)
    /// A PDU for the server half of the bearer, or an opcode that no one knows.
    case notForClient(ATTOpcode)
    /// No octets at all.
    case empty
  }

  private enum State: Sendable {
    case idle
    case waiting(RequestID, opcode: ATTOpcode, since: Instant)
    case failed
  }

  private let limits: Limits
  private var state = State.idle
  private var line: [(id: RequestID, pdu: [UInt8])] = []
  /// What we offered in the exchange of MTUs, once it was sent.
  private var offeredMTU: UInt16?

  /// The ATT_MTU in force, in octets, never below 23. The server half of the same bearer sets it when the peer asks for an
  /// exchange.
  public var mtu: Int {
    get { agreedMTU }
    set { agreedMTU = max(ATT.defaultMTU, newValue) }
  }
  private var agreedMTU = ATT.defaultMTU

  public init(limits: Limits = Limits()) { self.limits = limits }

  /// Whether the bearer still takes requests.
  public var hasFailed: Bool { if case .failed = state { true } else { false } }

  /// Whether a request is in flight.
  public var isWaiting: Bool { if case .waiting = state { true } else { false } }

  public var hasExchangedMTU: Bool { offeredMTU != nil }

  /// When ``tick(now:)`` must be called: 30 seconds after the request in flight was sent.
  public var deadline: Instant? {
    if case .waiting(_, _, let since) = state { since + ATT.transactionTimeout } else { nil }
  }

  /// Sends a request, or puts it in line behind the one in flight.
  public mutating func send(
    _ request: some ATTPacket, as id: RequestID, now: Instant, into pdus: inout PacketBuffer
  ) throws(ATTClientError) {
    let opcode = type(of: request).opcode
    guard opcode.response != nil else { throw .notARequest(opcode) }
    let exchange = request as? ExchangeMTURequest
    if exchange != nil, offeredMTU != nil { throw .mtuExchangedAlready }
    switch state {
    case .failed: throw .bearerFailed
    case .idle:
      try append(request, to: &pdus)
      state = .waiting(id, opcode: opcode, since: now)
    case .waiting:
      guard line.count < limits.waitingRequests else { throw .tooManyRequests(limit: limits.waitingRequests) }
      let pdu = request.encodedPDU
      guard pdu.count <= mtu else { throw .exceedsMTU(octets: pdu.count, mtu: mtu) }
      line.append((id, pdu))
    }
    if let exchange { offeredMTU = exchange.clientRxMTU }
  }

  /// Sends a command; it passes the line and is never answered.
  public mutating func send(command: some ATTPacket, into pdus: inout PacketBuffer) throws(ATTClientError) {
    let opcode = type(of: command).opcode
    guard opcode.isCommand else { throw .notACommand(opcode) }
    guard !hasFailed else { throw .bearerFailed }
    try append(command, to: &pdus)
  }

  /// Takes one PDU and says what it was; sends the next request in line where it was an answer.
  ///
  /// No server may send more than ATT_MTU octets; what lies behind them is not looked at, here or by the caller.
  public mutating func receive(
    _ pdu: Span<UInt8>, now: Instant, into pdus: inout PacketBuffer
  ) -> Reception {
    guard !pdu.isEmpty else { return .empty }
    let opcode = ATTOpcode(rawValue: pdu[0])
    guard opcode.isSentByServer else { return .notForClient(opcode) }
    switch opcode {
    case .handleValueNotification, .handleValueIndication, .multipleHandleValueNotification:
      return receiveValue(pdu, opcode, into: &pdus)
    default: break
    }
    guard case .waiting(let id, let request, _) = state else { return .unexpected(opcode, nil) }
    let answer: Reception
    if opcode == .errorResponse {
      switch refusal(in: pdu) {
      case .success(let error):
        guard error.requestOpcode == request else { return .unexpected(opcode, nil) }
        answer = .refused(id, error)
      case .failure(let error): answer = .malformed(id, opcode, error)
      }
    } else if opcode != request.response {
      return .unexpected(opcode, nil)
    } else if opcode == .exchangeMTUResponse {
      answer = mtuAgreed(in: pdu, id)
    } else {
      answer = .response(id)
    }
    sendNext(now: now, into: &pdus)
    return answer
  }

  /// Fails the bearer where the request in flight has waited for 30 seconds.
  ///
  /// - Returns: the requests that failed with it, the one in flight first.
  public mutating func tick(now: Instant) -> [RequestID] {
    guard let deadline, now >= deadline else { return [] }
    return end()
  }

  /// The link is gone.
  ///
  /// - Returns: the requests that will have no answer, the one in flight first.
  public mutating func end() -> [RequestID] {
    var ended: [RequestID] = []
    if case .waiting(let id, _, _) = state { ended.append(id) }
    ended += line.map(\.id)
    line = []
    state = .failed
    return ended
  }

  private func append(_ packet: some ATTPacket, to pdus: inout PacketBuffer) throws(ATTClientError) {
    var count = 0
    let fits = pdus.appendIf { [mtu] buffer in
      let start = buffer.count
      packet.encodePDU(to: &buffer)
      count = buffer.count - start
      return count <= mtu
    }
    guard fits else { throw .exceedsMTU(octets: count, mtu: mtu) }
  }

  private mutating func sendNext(now: Instant, into pdus: inout PacketBuffer) {
    guard let next = line.first else {
      state = .idle
      return
    }
    line.removeFirst()
    pdus.append { $0 += next.pdu }
    state = .waiting(next.id, opcode: ATTOpcode(rawValue: next.pdu[0]), since: now)
  }

  /// Decodes an Error Response in place (3.4.1.1).
  private func refusal(in pdu: Span<UInt8>) -> Result<ErrorResponse, CodecError> {
    guard pdu.count <= 5 else { return .failure(.trailing(count: pdu.count - 5)) }
    guard pdu.count > 1 else { return .failure(.truncated(field: "Request Opcode In Error")) }
    guard let handle = pdu.uint16(at: 2) else { return .failure(.truncated(field: "Attribute Handle In Error")) }
    guard pdu.count == 5 else { return .failure(.truncated(field: "Error Code")) }
    return .success(
      ErrorResponse(
        to: ATTOpcode(rawValue: pdu[1]), handle: AttributeHandle(handle), code: ATTErrorCode(rawValue: pdu[4])))
  }

  /// The lesser of both sides' sizes is in force from now on, and never less than 23 (3.4.2.2).
  private mutating func mtuAgreed(in pdu: Span<UInt8>, _ id: RequestID) -> Reception {
    guard let serverRxMTU = pdu.uint16(at: 1) else {
      return .malformed(id, .exchangeMTUResponse, .truncated(field: "Server Rx MTU"))
    }
    guard pdu.count == 3 else { return .malformed(id, .exchangeMTUResponse, .trailing(count: pdu.count - 3)) }
    mtu = Int(min(serverRxMTU, offeredMTU ?? serverRxMTU))
    return .mtuExchanged(id, mtu)
  }

  private func receiveValue(
    _ pdu: Span<UInt8>, _ opcode: ATTOpcode, into pdus: inout PacketBuffer
  ) -> Reception {
    // An indication is confirmed whatever is in it: a server that waits 30 seconds for nothing closes the link.
    if opcode == .handleValueIndication { pdus.append { HandleValueConfirmation().encodePDU(to: &$0) } }
    if opcode == .multipleHandleValueNotification { return .multipleNotification }
    guard let handle = pdu.uint16(at: 1) else { return .unexpected(opcode, .truncated(field: "Attribute Handle")) }
    return opcode == .handleValueIndication
      ? .indication(AttributeHandle(handle)) : .notification(AttributeHandle(handle))
  }
}
