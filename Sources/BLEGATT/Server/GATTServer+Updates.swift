public import BLEATT
public import BLEWire

/// Values the client did not ask for: notifications and indications (Vol 3, Part F, 3.4.7).
extension GATTServer {
  /// Sends a characteristic value the way the client configured: as a notification, else as an indication. What does
  /// not fit into ATT_MTU - 3 octets is cut off.
  ///
  /// An indication waits while another one is unconfirmed; notifications go out at once.
  public mutating func sendUpdate(
    of attribute: AttributeID, value: Span<UInt8>, security: SecurityState, database: AttributeDatabase, now: Instant,
    into output: inout GATTServer.Output
  ) -> GATTServer.UpdateResult {
    guard let handle = database.handles[attribute] else { return .unknownAttribute }
    return sendUpdate(of: handle, value: value, security: security, database: database, now: now, into: &output)
  }

  /// The same for a caller that knows the handle of the characteristic value.
  public mutating func sendUpdate(
    of handle: AttributeHandle, value: Span<UInt8>, security: SecurityState, database: AttributeDatabase, now: Instant,
    into output: inout GATTServer.Output
  ) -> GATTServer.UpdateResult {
    guard !hasFailed else { return .bearerFailed }
    guard let place = database.place(of: handle) else { return .unknownAttribute }
    let descriptor = AttributeHandle(database.attributes[place].configuration)
    let configuration = configuration(of: descriptor)
    guard !configuration.isEmpty, database.attributes[place].kind != .clientConfiguration else { return .notSubscribed }
    guard let descriptorPlace = database.place(of: descriptor),
      database.attributes[descriptorPlace].write.refusal(for: security, otherwise: .writeNotPermitted) == nil
    else { return .insufficientSecurity }
    if configuration.contains(.notify) {
      let count = min(value.count, maximumUpdateLength)
      output.pdus.append { buffer in
        buffer.append(ATTOpcode.handleValueNotification.rawValue)
        buffer.append(handle)
        buffer.append(copying: value.extracting(0..<count))
      }
      return .sent
    }
    let indication = IndicationQueue.Indication(
      handle: handle, id: database.attributes[place].id, value: [UInt8](copying: value))
    return indicate(indication, now, &output)
  }

  /// Sends several values in one PDU, in the order given, to a client that said it understands that
  /// (``ClientSupportedFeatures/multipleHandleValueNotifications``; Vol 3, Part F, 3.4.7.4).
  ///
  /// - Returns: false where nothing was sent: the client does not understand it, has not subscribed to notifications of
  ///   each value, there are fewer than two, or they do not fit into one PDU. Each can still be sent by itself.
  public mutating func sendMultipleNotification(
    of values: [(attribute: AttributeID, value: Bytes)], security: SecurityState, database: AttributeDatabase,
    into output: inout GATTServer.Output
  ) -> Bool {
    guard !hasFailed, features.contains(.multipleHandleValueNotifications), values.count >= 2 else { return false }
    var tuples: [MultipleHandleValueNotification.HandleLengthValueTuple] = []
    for (attribute, value) in values {
      guard let handle = database.handles[attribute], let place = database.place(of: handle) else { return false }
      let descriptor = AttributeHandle(database.attributes[place].configuration)
      guard configuration(of: descriptor).contains(.notify), let descriptorPlace = database.place(of: descriptor),
        database.attributes[descriptorPlace].write.refusal(for: security, otherwise: .writeNotPermitted) == nil
      else { return false }
      tuples.append(.init(handle: handle, value: value))
    }
    guard tuples.reduce(1, { $0 + 4 + $1.value.count }) <= mtu else { return false }
    let pdu = MultipleHandleValueNotification(tuples: tuples)
    output.pdus.append { pdu.encodePDU(to: &$0) }
    return true
  }

  /// How many octets of a value an update can carry to this client.
  public var maximumUpdateLength: Int { min(mtu - 3, ATT.maximumValueLength) }

  private mutating func indicate(
    _ indication: IndicationQueue.Indication, _ now: Instant, _ output: inout GATTServer.Output
  ) -> GATTServer.UpdateResult {
    if indications.isIdle {
      send(indication, now, &output)
    } else {
      guard indications.queued.count < limits.maximumQueuedIndications else { return .queueFull }
      indications.queued.append(indication)
    }
    return .sent
  }

  private mutating func send(
    _ indication: IndicationQueue.Indication, _ now: Instant, _ output: inout GATTServer.Output
  ) {
    let value = indication.value.prefix(maximumUpdateLength)
    output.pdus.append { buffer in
      buffer.append(ATTOpcode.handleValueIndication.rawValue)
      buffer.append(indication.handle)
      buffer.append(contentsOf: value)
    }
    indications.outstanding = .init(indication: indication, deadline: now + limits.indicationTimeout)
  }

  /// Handle Value Confirmation (Vol 3, Part F, 3.4.7.3): the next indication may go.
  mutating func confirm(
    _ pdu: Span<UInt8>, _ security: SecurityState, _ database: AttributeDatabase, _ now: Instant,
    _ output: inout GATTServer.Output
  ) {
    guard pdu.count == 1, let confirmed = indications.outstanding?.indication else {
      return output.events.append(.violation(.unexpectedConfirmation))
    }
    indications.outstanding = nil
    if confirmed.id != .stack {
      output.events.append(.indicationConfirmed(confirmed.id))
    } else if indications.changedRange == nil {
      awareness = .aware
    }
    sendServiceChanged(now, &output)
    while indications.isIdle, !indications.queued.isEmpty {
      let next = indications.queued.removeFirst()
      // The link may be worth less than when the value was handed over.
      if isAllowed(next, security, database) {
        send(next, now, &output)
      } else {
        output.events.append(.indicationDiscarded(next.id))
      }
    }
  }

  private func isAllowed(
    _ indication: IndicationQueue.Indication, _ security: SecurityState, _ database: AttributeDatabase
  ) -> Bool {
    guard let place = database.place(of: indication.handle) else { return false }
    let descriptor = AttributeHandle(database.attributes[place].configuration)
    guard let place = database.place(of: descriptor) else { return false }
    return database.attributes[place].write.refusal(for: security, otherwise: .writeNotPermitted) == nil
  }

  mutating func sendServiceChanged(_ now: Instant, _ output: inout GATTServer.Output) {
    guard indications.isIdle, let changed = indications.changedRange else { return }
    indications.changedRange = nil
    send(.serviceChanged(changed.handle, changed.range), now, &output)
  }

  /// Takes back indications that wait and must not be sent any more.
  mutating func withdrawIndications(
    _ output: inout GATTServer.Output, where isWithdrawn: (AttributeID, AttributeHandle) -> Bool
  ) {
    for indication in indications.queued where isWithdrawn(indication.id, indication.handle) {
      output.events.append(.indicationDiscarded(indication.id))
    }
    indications.queued.removeAll { isWithdrawn($0.id, $0.handle) }
  }
}

/// Indications go one at a time: the next one leaves when the client has confirmed the one before
/// (Vol 3, Part F, 3.3.2).
struct IndicationQueue: Sendable {
  struct Indication: Sendable {
    var handle: AttributeHandle
    var id: AttributeID
    var value: [UInt8]

    static func serviceChanged(_ handle: AttributeHandle, _ range: ClosedRange<AttributeHandle>) -> Self {
      var value: [UInt8] = []
      value.append(range.lowerBound)
      value.append(range.upperBound)
      return Self(handle: handle, id: .stack, value: value)
    }
  }

  struct Outstanding: Sendable {
    var indication: Indication
    var deadline: Instant
  }

  var outstanding: Outstanding?
  var queued: [Indication] = []
  /// A Service Changed that waits: later changes widen it, so it needs no place in the queue.
  var changedRange: (handle: AttributeHandle, range: ClosedRange<AttributeHandle>)?

  var isIdle: Bool { outstanding == nil }
  var deadline: Instant? { outstanding?.deadline }

  /// Whether the client has yet to confirm that services changed.
  var isTellingOfChange: Bool { changedRange != nil || outstanding?.indication.id == .stack }

  /// Forgets what was to be sent, and tells which value was not confirmed; nil for the stack's own. That the client does
  /// not know of a change is kept, for its record.
  mutating func finish() -> AttributeID? {
    let (last, isTellingOfChange) = (outstanding?.indication, isTellingOfChange)
    self = Self()
    if isTellingOfChange, let last { changedRange = (last.handle, .first ... .last) }
    return last?.id == .stack ? nil : last?.id
  }
}
