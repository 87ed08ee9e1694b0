public import BLEATT
public import BLEWire

/// The server's end of one ATT bearer: everything that one client's requests need but the database, which all clients
/// share (Vol 3, Part F, 3.3 and 3.4).
///
/// What one request goes through:
///
///     receive ─► decode in place ─► permissions ─┬─► fixed or stored ──────────► response
///                                                └─► dynamic: event ─► pending ─► respond ─► response
///
/// While a request is pending, what else the client sends is kept in order and handled when the answer is there;
/// confirmations are let through. Commands are never answered, requests always are: with a response or an error.
///
/// The host gives each client its own bearer and calls ``tick(now:security:database:into:)`` at ``deadline``.
public struct GATTServer: Sendable {
  public let limits: GATTServer.Limits
  /// The ATT_MTU in force.
  public internal(set) var mtu = ATT.defaultMTU
  /// Whether an indication was never confirmed, after which nothing is sent or received (Vol 3, Part F, 3.3.3).
  public internal(set) var hasFailed = false
  var mtuWasExchanged = false
  /// The Client Characteristic Configuration descriptors that are not zero, by ascending handle.
  var configurations: [ClientRecord.Configuration] = []
  var features: ClientSupportedFeatures = []
  var awareness = ChangeAwareness.aware
  /// The revision of the database that ``awareness`` speaks of; nil before the first PDU.
  var knownRevision: UInt64?
  var prepared = PreparedWrites()
  var pending: UnansweredRequest?
  var nextToken: UInt64 = 0
  /// PDUs that came while a request was pending, in order.
  var waiting = PacketBuffer()
  var indications = IndicationQueue()

  public init(limits: GATTServer.Limits = GATTServer.Limits()) { self.limits = limits }

  /// The client half of the same bearer has exchanged the MTU: it is one for both directions (Vol 3, Part F, 3.4.2).
  public mutating func setMTU(_ mtu: Int) { self.mtu = min(max(mtu, ATT.defaultMTU), limits.maximumMTU) }

  /// When ``tick(now:security:database:into:)`` wants to be called next; nil while nothing can time out.
  public var deadline: Instant? { .nearer(pending?.deadline, indications.deadline) }

  /// Takes one PDU from the client. An empty one says nothing and is passed over.
  public mutating func receive(
    _ pdu: Span<UInt8>, security: SecurityState, database: inout AttributeDatabase, now: Instant,
    into output: inout GATTServer.Output
  ) {
    guard pdu.count > 0, !hasFailed else { return }
    let opcode = pdu[0]
    if opcode == ATTOpcode.handleValueConfirmation.rawValue {
      return confirm(pdu, security, database, now, &output)
    }
    if case .some = pending { return keep(pdu, into: &output) }
    handle(pdu, opcode, security, &database, now, &output)
  }

  /// Lets time pass: answers for an application that took too long, and ends the bearer of a client that did not confirm.
  public mutating func tick(
    now: Instant, security: SecurityState, database: inout AttributeDatabase, into output: inout GATTServer.Output
  ) {
    if let due = indications.deadline, due <= now {
      hasFailed = true
      output.events.append(.indicationTimedOut(indications.finish()))
      pending = nil
      waiting.removeAll()
    }
    if let request = pending, request.deadline <= now {
      output.events.append(.requestTimedOut(request.token))
      finish(request, with: .error(.unlikelyError), security, &database, now, &output)
    }
  }

  /// Takes a request or command while none is pending.
  @inline(__always)
  mutating func handle(
    _ pdu: Span<UInt8>, _ opcode: UInt8, _ security: SecurityState, _ database: inout AttributeDatabase,
    _ now: Instant, _ output: inout GATTServer.Output
  ) {
    if pdu.count > mtu { return refuseTooLong(pdu.count, ATTOpcode(rawValue: opcode), &output) }
    if database.revision != knownRevision || awareness != .aware { reconsiderAwareness(opcode, database) }
    switch opcode {
    case 0x0A, 0x0C: read(pdu, opcode, security, database, now, &output)
    case 0x12, 0x52: write(pdu, opcode, security, &database, now, &output)
    default: handleRarer(pdu, opcode, security, &database, now, &output)
    }
  }

  private mutating func handleRarer(
    _ pdu: Span<UInt8>, _ opcode: UInt8, _ security: SecurityState, _ database: inout AttributeDatabase,
    _ now: Instant, _ output: inout GATTServer.Output
  ) {
    switch ATTOpcode(rawValue: opcode) {
    case .exchangeMTURequest: exchangeMTU(pdu, &output)
    case .findInformationRequest: findInformation(pdu, database, &output)
    case .findByTypeValueRequest: findByTypeValue(pdu, security, &database, &output)
    case .readByTypeRequest: readByType(pdu, security, &database, now, &output)
    case .readByGroupTypeRequest: readByGroupType(pdu, database, &output)
    case .readMultipleRequest, .readMultipleVariableRequest:
      readMultiple(pdu, opcode, security, database, now, &output)
    case .prepareWriteRequest: prepareWrite(pdu, security, database, &output)
    case .executeWriteRequest: executeWrite(pdu, security, &database, now, &output)
    case let other where other.isCommand:
      // Signed writes among them: without a signing key nothing can be verified (Vol 3, Part F, 3.4.5.4).
      break
    case let other where other.isSentByServer: output.events.append(.violation(.unexpectedPDU(other)))
    default: output.refuse(opcode, .none, .requestNotSupported)
    }
  }

  private func refuseTooLong(_ count: Int, _ opcode: ATTOpcode, _ output: inout GATTServer.Output) {
    output.events.append(.violation(.exceedsMTU(octets: count)))
    if !opcode.isCommand, !opcode.isSentByServer { output.refuse(opcode.rawValue, .none, .invalidPDU) }
  }

  /// Vol 3, Part F, 3.4.2. The exchange happens once; a client that repeats it gets the same answer, and what is in
  /// force stays, so that both ends keep one idea of it.
  private mutating func exchangeMTU(_ pdu: Span<UInt8>, _ output: inout GATTServer.Output) {
    guard pdu.count == 3, let client = pdu.uint16(at: 1) else {
      return output.refuse(pdu[0], .none, .invalidPDU)
    }
    let offered = limits.maximumMTU
    output.pdus.append {
      $0.append(ATTOpcode.exchangeMTUResponse.rawValue)
      $0.append(littleEndian: UInt16(truncatingIfNeeded: offered))
    }
    guard !mtuWasExchanged else { return output.events.append(.violation(.repeatedMTUExchange)) }
    mtuWasExchanged = true
    let agreed = max(ATT.defaultMTU, min(offered, Int(client)))
    guard agreed != mtu else { return }
    mtu = agreed
    output.events.append(.mtuChanged(agreed))
  }
}

extension GATTServer.Output {
  /// Appends an error response (Vol 3, Part F, 3.4.1.1).
  mutating func refuse(_ opcode: UInt8, _ handle: AttributeHandle, _ code: ATTErrorCode) {
    pdus.append {
      $0.append(ATTOpcode.errorResponse.rawValue)
      $0.append(opcode)
      $0.append(UInt8(truncatingIfNeeded: handle.rawValue))
      $0.append(UInt8(truncatingIfNeeded: handle.rawValue >> 8))
      $0.append(code.rawValue)
    }
  }
}

extension [UInt8] {
  @inline(__always)
  mutating func append(_ handle: AttributeHandle) {
    append(UInt8(truncatingIfNeeded: handle.rawValue))
    append(UInt8(truncatingIfNeeded: handle.rawValue >> 8))
  }
}

extension GATTServer {
  /// What one client can make the server keep, and how long the server waits.
  public struct Limits: Hashable, Sendable {
    /// The largest ATT_MTU offered; 23 to 517 make sense, others are brought into that range.
    public var maximumMTU: Int
    /// Prepared writes of one client; one more is answered Prepare Queue Full (0x09).
    public var maximumPreparedWrites: Int
    /// Octets in all prepared writes of one client; more are answered Prepare Queue Full (0x09).
    public var maximumPreparedOctets: Int
    /// PDUs kept while the application answers a request; the next one is dropped, with ``GATTServer/Event/pduDropped``.
    public var maximumWaitingPDUs: Int
    /// Indications waiting for the confirmation of the one before.
    public var maximumQueuedIndications: Int
    /// How long the application may take over a request before the client is answered Unlikely Error (0x0E): just under
    /// the 30 seconds after which the client gives the link up.
    public var applicationTimeout: Duration
    /// How long the client may take to confirm an indication (Vol 3, Part F, 3.3.3).
    public var indicationTimeout: Duration

    public init(
      maximumMTU: Int = ATT.maximumMTU, maximumPreparedWrites: Int = 64, maximumPreparedOctets: Int = 4096,
      maximumWaitingPDUs: Int = 32, maximumQueuedIndications: Int = 16, applicationTimeout: Duration = .seconds(29),
      indicationTimeout: Duration = ATT.transactionTimeout
    ) {
      self.maximumMTU = min(max(maximumMTU, ATT.defaultMTU), ATT.maximumMTU)
      self.maximumPreparedWrites = max(0, maximumPreparedWrites)
      self.maximumPreparedOctets = max(0, maximumPreparedOctets)
      self.maximumWaitingPDUs = max(0, maximumWaitingPDUs)
      self.maximumQueuedIndications = max(0, maximumQueuedIndications)
      self.applicationTimeout = applicationTimeout
      self.indicationTimeout = indicationTimeout
    }
  }
}
