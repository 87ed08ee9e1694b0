import BLEATT
public import BLEWire

/// A request that waits for the application.
struct UnansweredRequest: Sendable {
  var token: RequestToken
  var opcode: UInt8
  var deadline: Instant
  var step: Step

  enum Step: Sendable {
    case read(AttributeHandle)
    case readByType(AttributeHandle)
    case readMultiple(GatheredValues)
    case write(AttributeHandle)
    case execute(PreparedWrites)
  }
}

/// Requests that the application answers, and what waits behind them.
extension GATTServer {
  /// Whether a request waits for the application.
  public var isWaitingForApplication: Bool { pending != nil }

  /// Takes the application's answer to a request, sends the response, and goes on with what the client sent meanwhile.
  ///
  /// A read answered with `.success` is an empty value; a write answered with a value counts as success.
  ///
  /// - Returns: false where the request was answered before, timed out, or never was one of this bearer's.
  @discardableResult
  public mutating func respond(
    to token: RequestToken, with response: ApplicationResponse, security: SecurityState,
    database: inout AttributeDatabase, now: Instant, into output: inout GATTServer.Output
  ) -> Bool {
    guard let request = pending, request.token == token else { return false }
    finish(request, with: response, security, &database, now, &output)
    return true
  }

  /// Asks the application for a dynamic value.
  mutating func ask(
    _ attribute: AttributeEntry, offset: Int, _ opcode: UInt8, _ step: UnansweredRequest.Step, _ now: Instant,
    _ output: inout GATTServer.Output
  ) {
    let token = suspend(opcode, step, now)
    output.events.append(.read(token, attribute.id, offset: offset))
  }

  mutating func suspend(_ opcode: UInt8, _ step: UnansweredRequest.Step, _ now: Instant) -> RequestToken {
    nextToken += 1
    let token = RequestToken(number: nextToken)
    pending = UnansweredRequest(token: token, opcode: opcode, deadline: now + limits.applicationTimeout, step: step)
    return token
  }

  /// Keeps a PDU that came while a request is pending; past the limit it is dropped. Of one that is too long for any
  /// ATT_MTU only so much is kept as shows that.
  mutating func keep(_ pdu: Span<UInt8>, into output: inout GATTServer.Output) {
    let opcode = ATTOpcode(rawValue: pdu[0])
    if !opcode.isCommand { output.events.append(.violation(.requestWhileOneIsPending)) }
    guard waiting.count < limits.maximumWaitingPDUs else { return output.events.append(.pduDropped) }
    waiting.append { $0.append(copying: pdu.extracting(0..<min(pdu.count, ATT.maximumMTU + 1))) }
  }

  mutating func finish(
    _ request: UnansweredRequest, with response: ApplicationResponse, _ security: SecurityState,
    _ database: inout AttributeDatabase, _ now: Instant, _ output: inout GATTServer.Output
  ) {
    pending = nil
    switch (request.step, response) {
    case (.read(let handle), .error(let code, _)), (.readByType(let handle), .error(let code, _)),
      (.write(let handle), .error(let code, _)):
      output.refuse(request.opcode, handle, code.speakable)
    case (.readMultiple(let gathered), .error(let code, _)):
      output.refuse(request.opcode, gathered.handles[gathered.next], code.speakable)
    case (.execute(let queue), .error(let code, let attribute)):
      output.refuse(request.opcode, queue.handle(of: attribute), code.speakable)
    case (.read, _):
      let part = response.octets.prefix(mtu - 1)
      output.pdus.append { buffer in
        buffer.append(request.opcode &+ 1)
        buffer.append(contentsOf: part)
      }
    case (.readByType(let handle), _):
      let value = response.octets.prefix(min(mtu - 4, 253))
      output.pdus.append { buffer in
        buffer.append(ATTOpcode.readByTypeResponse.rawValue)
        buffer.append(UInt8(truncatingIfNeeded: 2 + value.count))
        buffer.append(handle)
        buffer.append(contentsOf: value)
      }
    case (.readMultiple(var gathered), _):
      gathered.append(response.octets.prefix(ATT.maximumValueLength))
      gather(gathered, request.opcode, security, database, now, &output)
    case (.write, _): output.pdus.append { $0.append(ATTOpcode.writeResponse.rawValue) }
    case (.execute(let queue), _): executeAccepted(queue, request.opcode, security, &database, &output)
    }
    goOn(security, &database, now, &output)
  }

  /// Handles what came while a request was pending, until the next one is.
  private mutating func goOn(
    _ security: SecurityState, _ database: inout AttributeDatabase, _ now: Instant, _ output: inout GATTServer.Output
  ) {
    guard pending == nil, !waiting.isEmpty else { return }
    var kept = PacketBuffer()
    swap(&kept, &waiting)
    kept.forEach { pdu in
      if pending == nil {
        handle(pdu, pdu[0], security, &database, now, &output)
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
  /// 0x00 would tell the client that nothing is wrong.
  fileprivate var speakable: Self { rawValue == 0 ? .unlikelyError : self }
}
