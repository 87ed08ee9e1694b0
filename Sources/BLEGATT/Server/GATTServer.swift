public import BLEATT
public import BLEWire

/// The server of one client on one ATT bearer (Vol 3, Part F, 3.3 and 3.4; Part G, 4). It has the state of that client:
/// the MTU, the subscriptions, the prepared writes, the unanswered request. All servers share one
/// ``AttributeDatabase``.
///
/// ```
///   receive ─► decode ─► permissions ─┬─► fixed or stored value ─────────────► response
///                                     └─► dynamic value: event ─► respond ──► response
/// ```
///
/// While the application has not answered a request, further PDUs from the client wait in order; confirmations do not
/// wait. A request always gets a response or an Error Response. A command never does.
///
/// Read Request, Read Blob Request, Write Request, Write Command and the notification are decoded and encoded in place,
/// without an allocation; all other requests are decoded as the packets that BLEATT declares
/// (Docs/Decisions/wire-and-codecs.md#a-packet-is-declared-once).
///
/// ```swift
/// var database = AttributeDatabase(services: GenericServices(deviceName: "Lamp"))
/// var server = GATTServer()
/// var output = GATTServer.Output()
/// let request: [UInt8] = [0x0A, 0x03, 0x00]
/// server.receive(request.span, security: .none, database: &database, now: .start, into: &output)
/// // output.pdus[0] == [0x0B, 0x4C, 0x61, 0x6D, 0x70], the Device Name
/// ```
public struct GATTServer: Sendable {
  /// The limits of a server.
  public struct Limits: Hashable, Sendable {
    /// The Server Rx MTU in octets, 23 to 517.
    public var maximumMTU: Int
    /// The number of prepared writes of the client. One more is rejected with Prepare Queue Full (0x09).
    public var maximumPreparedWrites: Int
    /// The number of octets in all prepared writes of the client. More are rejected with Prepare Queue Full (0x09).
    public var maximumPreparedOctets: Int
    /// The number of PDUs that can wait while a request is unanswered. One more is dropped, with
    /// ``GATTServer/Event/pduDropped``.
    public var maximumWaitingPDUs: Int
    /// The number of indications that can wait for the confirmation of the one before. One more is not sent:
    /// ``GATTServer/UpdateResult/queueFull``.
    public var maximumQueuedIndications: Int
    /// The time for the application's answer to a request. After it, the client gets Unlikely Error (0x0E), before its
    /// own timeout of 30 seconds.
    public var applicationTimeout: Duration
    /// The time for the confirmation of an indication (Vol 3, Part F, 3.3.3).
    public var indicationTimeout: Duration

    /// The limits; a value outside its range becomes the nearest one inside.
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

  /// The limits that all servers of a host share.
  package final class SharedLimits: Sendable {
    package let limits: Limits
    package init(_ limits: Limits) { self.limits = limits }
  }

  /// The number of the client for the providers of values (``ValueProvider/Client``).
  package var client: UInt32 = 0
  /// The limits, fixed for the life of the server.
  public var limits: Limits { shared.limits }
  private let shared: SharedLimits
  /// The ATT_MTU in force, in octets.
  public internal(set) var mtu = ATT.defaultMTU
  /// Whether an indication was not confirmed in time: the server neither sends nor receives (Vol 3, Part F, 3.3.3).
  public internal(set) var hasFailed = false
  var hasExchangedMTU = false
  /// Whether the bearer in use is an enhanced one (``exchange(_:)``).
  var isEnhanced = false
  /// Whether the client may set ``ClientSupportedFeatures/enhancedATTBearer``.
  package var allowsEnhancedBearers = false
  /// The Client Characteristic Configuration descriptors that are not zero, in ascending order of their handles.
  var configurations: [ClientRecord.Configuration] = []
  /// The Client Supported Features that the client has set.
  public internal(set) var supportedFeatures: ClientSupportedFeatures = []
  var awareness = ChangeAwareness.aware
  /// The revision of the database that ``awareness`` refers to; nil before the first PDU.
  var knownRevision: UInt64?
  var prepared = PreparedWrites()
  var unanswered: UnansweredRequest? { didSet { updateDeadline() } }
  var lastToken: UInt64 = 0
  /// The PDUs that wait while a request is unanswered, in order.
  var waiting = PacketBuffer()
  var indications = IndicationQueue() { didSet { updateDeadline() } }
  /// The server of a new link.
  public init(limits: Limits = Limits()) { self.init(limits: SharedLimits(limits)) }
  /// The server of a new link, which shares the limits of other servers.
  package init(limits: SharedLimits) { shared = limits }

  /// Sets the ATT_MTU, in octets, after the client on the same bearer has exchanged it: it applies to both directions
  /// (Vol 3, Part F, 3.4.2). A value outside 23 to ``Limits/maximumMTU`` becomes the nearest one inside.
  public mutating func setMTU(_ mtu: Int) { self.mtu = min(max(mtu, ATT.defaultMTU), limits.maximumMTU) }

  /// The time at which ``tick(now:security:database:into:)`` must be called; nil while nothing can time out.
  ///
  /// It is stored, because a host reads it after each PDU.
  public private(set) var deadline: Instant?

  private mutating func updateDeadline() { deadline = .nearer(unanswered?.deadline, indications.deadline) }

  /// Receives one PDU from the client. A PDU without octets has no effect.
  ///
  /// - Parameters:
  ///   - pdu: the PDU, from the opcode on.
  ///   - security: the security of the link now.
  ///   - database: the database; a write to a stored value changes it.
  ///   - now: the current time.
  ///   - output: gets the PDUs for the client and the events for the application.
  public mutating func receive(
    _ pdu: Span<UInt8>, security: SecurityState, database: inout AttributeDatabase, now: Instant,
    into output: inout Output
  ) {
    guard pdu.count > 0, !hasFailed else { return }
    let opcode = pdu[0]
    if opcode == ATTPDU.Kind.handleValueConfirmation.rawValue {
      return confirm(pdu, security: security, database: database, now: now, into: &output)
    }
    if case .some = unanswered { return enqueue(pdu, into: &output) }
    handle(pdu, opcode: opcode, security: security, database: &database, now: now, into: &output)
  }

  /// Handles timeouts. A request that the application has not answered is rejected. The server fails if the client has
  /// not confirmed an indication.
  public mutating func tick(
    now: Instant, security: SecurityState, database: inout AttributeDatabase, into output: inout Output
  ) {
    if let due = indications.deadline, due <= now {
      hasFailed = true
      output.events.append(.indicationTimedOut(indications.fail()))
      unanswered = nil
      waiting.removeAll()
    }
    if let request = unanswered, request.deadline <= now {
      output.events.append(.requestTimedOut(request.token))
      complete(
        request, with: .error(.unlikelyError), security: security, database: &database, now: now, into: &output)
    }
  }

  /// Handles a PDU while no request is unanswered.
  @inline(__always)
  mutating func handle(
    _ pdu: Span<UInt8>, opcode: UInt8, security: SecurityState, database: inout AttributeDatabase, now: Instant,
    into output: inout Output
  ) {
    if pdu.count > mtu { return rejectTooLong(pdu.count, ATTOpcode(rawValue: opcode), into: &output) }
    if database.revision != knownRevision || awareness != .aware { updateAwareness(opcode, database) }
    switch opcode {
    // The most frequent ones are found without their kind. Read Request and Read Blob Request.
    case 0x0A, 0x0C: read(pdu, opcode: opcode, security: security, database: database, now: now, into: &output)
    // Write Request and Write Command.
    case 0x12, 0x52: write(pdu, opcode: opcode, security: security, database: &database, now: now, into: &output)
    default: handleAny(pdu, opcode: opcode, security: security, database: &database, now: now, into: &output)
    }
  }

  /// Handles a PDU of any kind.
  private mutating func handleAny(
    _ pdu: Span<UInt8>, opcode: UInt8, security: SecurityState, database: inout AttributeDatabase, now: Instant,
    into output: inout Output
  ) {
    switch ATTPDU.Kind(rawValue: opcode) {
    case .readRequest, .readBlobRequest:
      read(pdu, opcode: opcode, security: security, database: database, now: now, into: &output)
    case .writeRequest, .writeCommand:
      write(pdu, opcode: opcode, security: security, database: &database, now: now, into: &output)
    case .exchangeMTURequest: exchangeMTU(pdu, into: &output)
    case .findInformationRequest: findInformation(pdu, database: database, into: &output)
    case .findByTypeValueRequest: findByTypeValue(pdu, security: security, database: &database, into: &output)
    case .readByTypeRequest: readByType(pdu, security: security, database: &database, now: now, into: &output)
    case .readByGroupTypeRequest: readByGroupType(pdu, database: database, into: &output)
    case .readMultipleRequest:
      guard let request: ReadMultipleRequest = decode(pdu, into: &output) else { return }
      readMultiple(
        request.setOfHandles, .readMultipleRequest, security: security, database: database, now: now, into: &output)
    case .readMultipleVariableRequest:
      guard let request: ReadMultipleVariableRequest = decode(pdu, into: &output) else { return }
      readMultiple(
        request.setOfHandles, .readMultipleVariableRequest, security: security, database: database, now: now,
        into: &output)
    case .prepareWriteRequest: prepareWrite(pdu, security: security, database: database, into: &output)
    case .executeWriteRequest: executeWrite(pdu, security: security, database: &database, now: now, into: &output)
    case .signedWriteCommand: break  // Without a signing key no signature can be verified (Vol 3, Part F, 3.4.5.4).
    case .handleValueConfirmation: break  // It never waits: `receive` has handled it.
    case .errorResponse, .exchangeMTUResponse, .findInformationResponse, .findByTypeValueResponse, .readByTypeResponse,
      .readResponse, .readBlobResponse, .readMultipleResponse, .readByGroupTypeResponse, .writeResponse,
      .prepareWriteResponse, .executeWriteResponse, .readMultipleVariableResponse, .handleValueNotification,
      .handleValueIndication, .multipleHandleValueNotification:
      output.events.append(.violation(.unexpectedPDU(ATTOpcode(rawValue: opcode))))
    case nil:
      let unknown = ATTOpcode(rawValue: opcode)
      if !unknown.isCommand { output.reject(unknown, .requestNotSupported) }
    }
  }

  /// Decodes a request as a declared packet; a malformed one is rejected with Invalid PDU.
  mutating func decode<Request: ATTPacket>(_ pdu: Span<UInt8>, into output: inout Output) -> Request? {
    output.request.removeAll(keepingCapacity: true)
    output.request.append(copying: pdu.extracting(1...))
    do throws(CodecError) {
      return try Request(decoding: output.request[...])
    } catch {
      output.reject(Request.opcode, .invalidPDU)
      return nil
    }
  }

  private func rejectTooLong(_ count: Int, _ opcode: ATTOpcode, into output: inout Output) {
    output.events.append(.violation(.exceedsMTU(octets: count)))
    if !opcode.isCommand, !opcode.isSentByServer { output.reject(opcode, .invalidPDU) }
  }

  /// Exchange MTU (Vol 3, Part F, 3.4.2). Only the first exchange has an effect; a repeated one gets the same response.
  private mutating func exchangeMTU(_ pdu: Span<UInt8>, into output: inout Output) {
    // An enhanced bearer has the MTU of its channel (Vol 3, Part F, 3.4.2).
    guard !isEnhanced else { return output.reject(.exchangeMTURequest, .requestNotSupported) }
    guard let request: ExchangeMTURequest = decode(pdu, into: &output) else { return }
    let offered = limits.maximumMTU
    output.append(ExchangeMTUResponse(serverRxMTU: UInt16(truncatingIfNeeded: offered)))
    guard !hasExchangedMTU else { return output.events.append(.violation(.repeatedMTUExchange)) }
    hasExchangedMTU = true
    let agreed = max(ATT.defaultMTU, min(offered, Int(request.clientRxMTU)))
    guard agreed != mtu else { return }
    mtu = agreed
    output.events.append(.mtuChanged(agreed))
  }
}

extension GATTServer.Output {
  /// Appends a PDU.
  mutating func append(_ packet: some ATTPacket) { pdus.append { packet.encodePDU(to: &$0) } }

  /// Appends an Error Response.
  ///
  /// - Parameter handle: the attribute at fault; 0x0000 if the request has no handle or is malformed.
  mutating func reject(_ opcode: ATTOpcode, handle: AttributeHandle = .none, _ code: ATTErrorCode) {
    append(ErrorResponse(to: opcode, handle: handle, code: code))
  }
}

extension [UInt8] {
  @inline(__always)
  mutating func append(_ handle: AttributeHandle) {
    append(UInt8(truncatingIfNeeded: handle.rawValue))
    append(UInt8(truncatingIfNeeded: handle.rawValue >> 8))
  }
}
