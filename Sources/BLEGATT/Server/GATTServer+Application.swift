import BLEATT
public import BLEWire

/// A request that the application has not answered.
struct UnansweredRequest: Sendable {
  var token: RequestToken
  var opcode: ATTOpcode
  var deadline: Instant
  var step: Step

  /// Whether the request is a Read Request or a Read Blob Request.
  var isRead: Bool { opcode == .readRequest || opcode == .readBlobRequest }

  enum Step: Sendable {
    case read(AttributeHandle)
    case readByType(AttributeHandle)
    case readMultiple(PendingMultipleRead)
    case write(AttributeHandle)
    case execute(PreparedWrites)
  }
}

/// Requests that the application answers, and the PDUs that wait meanwhile.
extension GATTServer {
  /// Whether a request is unanswered by the application.
  public var isWaitingForApplication: Bool { unanswered != nil }

  /// Sends the response to a request, and handles the PDUs that have waited.
  ///
  /// For a read, ``ApplicationResponse/success`` is an empty value; for a write, ``ApplicationResponse/value(_:)`` is
  /// success.
  ///
  /// - Returns: false if this server has no such request: the request was answered before, or it timed out.
  @discardableResult
  public mutating func respond(
    to token: RequestToken, with response: ApplicationResponse, security: SecurityState,
    database: inout AttributeDatabase, now: Instant, into output: inout Output
  ) -> Bool {
    guard let request = unanswered, request.token == token else { return false }
    complete(request, with: response, security: security, database: &database, now: now, into: &output)
    return true
  }

  /// Sends the response to a request that has succeeded, as ``respond(to:with:security:database:now:into:)`` does. The
  /// value that was read is encoded in place.
  package mutating func respond(
    to token: RequestToken, withValue value: Span<UInt8>, security: SecurityState,
    database: inout AttributeDatabase, now: Instant, into output: inout Output
  ) -> Bool {
    // In place (Docs/Decisions/performance.md#in-place).
    guard unanswered?.token == token, let opcode = unanswered?.opcode else { return false }
    guard unanswered?.isRead == true else {
      guard let request = unanswered else { return false }
      let response = ApplicationResponse.value([UInt8](copying: value)[...])
      complete(request, with: response, security: security, database: &database, now: now, into: &output)
      return true
    }
    unanswered = nil
    let count = min(value.count, mtu - 1)
    let header: InlineArray<1, UInt8> = [opcode.rawValue &+ 1]
    output.pdus.append(header.span, value.extracting(0..<count))
    if !waiting.isEmpty { handleWaiting(security: security, database: &database, now: now, into: &output) }
    return true
  }

  /// Suspends the server until the application has answered.
  mutating func suspend(_ opcode: ATTOpcode, _ step: UnansweredRequest.Step, now: Instant) -> RequestToken {
    lastToken += 1
    let token = RequestToken(number: lastToken)
    unanswered = UnansweredRequest(token: token, opcode: opcode, deadline: now + limits.applicationTimeout, step: step)
    return token
  }

  /// Stores a PDU that arrives while a request is unanswered; beyond the limit it is dropped. A PDU longer than
  /// any ATT_MTU is truncated to one octet more than the largest ATT_MTU.
  mutating func enqueue(_ pdu: Span<UInt8>, into output: inout Output) {
    if !ATTOpcode(rawValue: pdu[0]).isCommand { output.events.append(.violation(.overlappingRequest)) }
    guard waiting.count < limits.maximumWaitingPDUs else { return output.events.append(.pduDropped) }
    waiting.append { $0.append(copying: pdu.extracting(0..<min(pdu.count, ATT.maximumMTU + 1))) }
  }

  /// Sends the response to an unanswered request.
  mutating func complete(
    _ request: UnansweredRequest, with response: ApplicationResponse, security: SecurityState,
    database: inout AttributeDatabase, now: Instant, into output: inout Output
  ) {
    unanswered = nil
    switch (request.step, response) {
    case (.read(let handle), .error(let code, _)), (.readByType(let handle), .error(let code, _)),
      (.write(let handle), .error(let code, _)):
      output.reject(request.opcode, handle: handle, code.sendable)
    case (.readMultiple(let read), .error(let code, _)):
      output.reject(request.opcode, handle: read.nextHandle ?? .none, code.sendable)
    case (.execute(let queue), .error(let code, let attribute)):
      output.reject(request.opcode, handle: queue.handle(of: attribute), code.sendable)
    case (.read, _):
      let part = response.octets.prefix(mtu - 1)
      output.pdus.append { buffer in
        buffer.append(request.opcode.rawValue &+ 1)
        buffer.append(contentsOf: part)
      }
    case (.readByType(let handle), _):
      let value = response.octets.prefix(min(mtu - 4, 253))
      output.append(ReadByTypeResponse(attributeDataList: [.init(handle: handle, value: value)]))
    case (.readMultiple(var read), _):
      read.append(response.octets.prefix(ATT.maximumValueLength))
      continueReading(
        read, request.opcode, security: security, database: database, now: now, into: &output)
    case (.write, _): output.append(WriteResponse())
    case (.execute(let queue), _):
      execute(queue, security: security, database: &database, into: &output)
    }
    handleWaiting(security: security, database: &database, now: now, into: &output)
  }

  /// Handles the PDUs that have waited, until one of them is a request that the application must answer.
  private mutating func handleWaiting(
    security: SecurityState, database: inout AttributeDatabase, now: Instant, into output: inout Output
  ) {
    guard unanswered == nil, !waiting.isEmpty else { return }
    var pdus = PacketBuffer()
    swap(&pdus, &waiting)
    pdus.forEach { pdu in
      if unanswered == nil {
        handle(pdu, opcode: pdu[0], security: security, database: &database, now: now, into: &output)
      } else {
        waiting.append { $0.append(copying: pdu) }
      }
    }
  }
}

extension ApplicationResponse {
  fileprivate var octets: Bytes {
    if case .value(let octets) = self { octets } else { [] }
  }
}

extension ATTErrorCode {
  /// The code for an Error Response. 0x00 is not an error code.
  var sendable: Self { rawValue == 0 ? .unlikelyError : self }
}
