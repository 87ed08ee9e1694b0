public import BLEATT
public import BLEWire

/// Notifications and indications (Vol 3, Part F, 3.4.7).
extension GATTServer {
  /// Sends a characteristic value as the client has configured it: as a notification, or else as an indication. The
  /// value is cut after ``maximumUpdateLength`` octets.
  ///
  /// A notification is sent at once. An indication waits for the confirmation of the one before.
  ///
  /// - Parameters:
  ///   - attribute: the characteristic value.
  ///   - value: its octets.
  ///   - security: the security of the link now.
  ///   - database: the database.
  ///   - now: the current time.
  ///   - output: gets the PDU.
  public mutating func sendUpdate(
    of attribute: AttributeID, value: Span<UInt8>, security: SecurityState, database: AttributeDatabase, now: Instant,
    into output: inout Output
  ) -> UpdateResult {
    guard let handle = database.handles[attribute] else { return .unknownAttribute }
    return sendUpdate(of: handle, value: value, security: security, database: database, now: now, into: &output)
  }

  /// Sends a characteristic value, as ``sendUpdate(of:value:security:database:now:into:)-(AttributeID,_,_,_,_,_)``, by
  /// the handle of the value.
  public mutating func sendUpdate(
    of handle: AttributeHandle, value: Span<UInt8>, security: SecurityState, database: AttributeDatabase, now: Instant,
    into output: inout Output
  ) -> UpdateResult {
    switch delivery(of: handle, security: security, database: database) {
    case .nothing(let reason): return reason
    case .notification:
      // Encoded in place (Docs/Decisions/wire-and-codecs.md#a-packet-is-declared-once).
      let count = min(value.count, maximumUpdateLength)
      output.pdus.append(Self.notificationHeader(of: handle).span, value.extracting(0..<count))
      return .sent
    case .indication(let attribute):
      return indicate(value, of: handle, attribute, now: now, into: &output)
    }
  }

  /// The octets of a Handle Value Notification before the value (Vol 3, Part F, 3.4.7.1).
  @inlinable package static func notificationHeader(of handle: AttributeHandle) -> InlineArray<3, UInt8> {
    let number = handle.rawValue
    return [0x1B, UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: number >> 8)]
  }

  /// How a client gets the values of a characteristic.
  package enum UpdateDelivery: Equatable, Sendable {
    /// It does not get them.
    case nothing(UpdateResult)
    case notification
    /// By indications of the attribute.
    case indication(AttributeID)
  }

  /// Decides how the client currently gets the values of a characteristic.
  ///
  /// It changes nothing. It is mutating to be called in place (Docs/Decisions/performance.md#in-place).
  package mutating func delivery(
    of handle: AttributeHandle, security: SecurityState, database: AttributeDatabase
  ) -> UpdateDelivery {
    guard !hasFailed else { return .nothing(.bearerFailed) }
    guard let place = database.place(of: handle) else { return .nothing(.unknownAttribute) }
    let descriptor = AttributeHandle(database.attributes[place].configuration)
    let configuration = configuration(of: descriptor)
    guard !configuration.isEmpty, database.attributes[place].kind != .clientConfiguration else {
      return .nothing(.notSubscribed)
    }
    guard database.allowsUpdates(to: descriptor, security: security) else { return .nothing(.insufficientSecurity) }
    // A value follows the indications of its characteristic that wait from an earlier configuration.
    let isNotified = configuration.contains(.notify) && !indications.isQueued(handle)
    return isNotified ? .notification : .indication(database.attributes[place].id)
  }

  /// Sends several values in one PDU, in their order (Multiple Handle Value Notification; Vol 3, Part F, 3.4.7.4).
  ///
  /// - Returns: false if nothing was sent: the client does not have
  ///   ``ClientSupportedFeatures/multipleHandleValueNotifications``, or has not subscribed to notifications of each
  ///   value; there are fewer than two values; or they do not fit in one PDU. The caller then sends each value in a PDU
  ///   of its own.
  public mutating func sendMultipleNotification(
    of values: [(attribute: AttributeID, value: Bytes)], security: SecurityState, database: AttributeDatabase,
    into output: inout Output
  ) -> Bool {
    guard !hasFailed, supportedFeatures.contains(.multipleHandleValueNotifications), values.count >= 2 else {
      return false
    }
    var tuples: [MultipleHandleValueNotification.HandleLengthValueTuple] = []
    for (attribute, value) in values {
      guard let handle = database.handles[attribute], let place = database.place(of: handle) else { return false }
      let descriptor = AttributeHandle(database.attributes[place].configuration)
      guard configuration(of: descriptor).contains(.notify),
        database.allowsUpdates(to: descriptor, security: security)
      else { return false }
      tuples.append(.init(handle: handle, value: value))
    }
    guard tuples.reduce(1, { $0 + 4 + $1.value.count }) <= mtu else { return false }
    output.append(MultipleHandleValueNotification(tuples: tuples))
    return true
  }

  /// The longest value of a notification or an indication to this client, in octets: ATT_MTU - 3, at most 512.
  public var maximumUpdateLength: Int { min(mtu - 3, ATT.maximumValueLength) }

  /// Indicates a value of a characteristic, or queues it until the indication before it is confirmed.
  package mutating func indicate(
    _ value: Span<UInt8>, of handle: AttributeHandle, _ attribute: AttributeID, now: Instant, into output: inout Output
  ) -> UpdateResult {
    let indication = IndicationQueue.Indication(handle: handle, id: attribute, value: [UInt8](copying: value))
    if indications.isIdle {
      send(indication, now: now, into: &output)
    } else {
      guard indications.queued.count < limits.maximumQueuedIndications else { return .queueFull }
      indications.queued.append(indication)
    }
    return .sent
  }

  private mutating func send(_ indication: IndicationQueue.Indication, now: Instant, into output: inout Output) {
    let value = indication.value.prefix(maximumUpdateLength)
    output.append(HandleValueIndication(handle: indication.handle, value: value))
    indications.unconfirmed = .init(indication: indication, deadline: now + limits.indicationTimeout)
  }

  /// Handle Value Confirmation (Vol 3, Part F, 3.4.7.3): sends the next indication.
  mutating func confirm(
    _ pdu: Span<UInt8>, security: SecurityState, database: AttributeDatabase, now: Instant, into output: inout Output
  ) {
    guard pdu.count == 1, let confirmed = indications.unconfirmed?.indication else {
      return output.events.append(.violation(.unexpectedConfirmation))
    }
    indications.unconfirmed = nil
    if confirmed.id != .stack {
      output.events.append(.indicationConfirmed(confirmed.id))
    } else if indications.changedRange == nil {
      awareness = .aware
    }
    sendServiceChanged(now: now, into: &output)
    while indications.isIdle, !indications.queued.isEmpty {
      let next = indications.queued.removeFirst()
      // The security of the link may have changed since the indication was queued.
      guard isAllowed(next, security: security, database: database) else {
        output.events.append(.indicationDiscarded(next.id))
        continue
      }
      guard isNotified(next.handle, database) else {
        send(next, now: now, into: &output)
        continue
      }
      // The client has changed its configuration since: the value needs no confirmation.
      let value = next.value.prefix(maximumUpdateLength)
      output.append(HandleValueNotification(handle: next.handle, value: value))
      output.events.append(.indicationConfirmed(next.id))
    }
  }

  private func isNotified(_ handle: AttributeHandle, _ database: AttributeDatabase) -> Bool {
    guard let place = database.place(of: handle) else { return false }
    return configuration(of: AttributeHandle(database.attributes[place].configuration)).contains(.notify)
  }

  private func isAllowed(
    _ indication: IndicationQueue.Indication, security: SecurityState, database: AttributeDatabase
  ) -> Bool {
    guard let place = database.place(of: indication.handle) else { return false }
    return database.allowsUpdates(
      to: AttributeHandle(database.attributes[place].configuration), security: security)
  }

  mutating func sendServiceChanged(now: Instant, into output: inout Output) {
    guard indications.isIdle, let changed = indications.changedRange else { return }
    indications.changedRange = nil
    send(.serviceChanged(changed.handle, changed.range), now: now, into: &output)
  }

  /// Discards queued indications that must no longer be sent.
  mutating func discardIndications(
    into output: inout Output, where isDiscarded: (AttributeID, AttributeHandle) -> Bool
  ) {
    for indication in indications.queued where isDiscarded(indication.id, indication.handle) {
      output.events.append(.indicationDiscarded(indication.id))
    }
    indications.queued.removeAll { isDiscarded($0.id, $0.handle) }
  }
}

extension AttributeDatabase {
  /// Whether the values of a characteristic with this Client Characteristic Configuration descriptor may be sent on a
  /// link with this security.
  @inline(__always)
  fileprivate func allowsUpdates(to descriptor: AttributeHandle, security: SecurityState) -> Bool {
    guard let place = place(of: descriptor) else { return false }
    return attributes[place].write.error(for: security, otherwise: .writeNotPermitted) == nil
  }
}

/// The indications of one client. An indication is sent after the confirmation of the one before (Vol 3, Part F,
/// 3.3.2).
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

  struct Unconfirmed: Sendable {
    var indication: Indication
    var deadline: Instant
  }

  /// The indication that was sent last, until it is confirmed.
  var unconfirmed: Unconfirmed?
  var queued: [Indication] = []
  /// A waiting Service Changed indication. A later change extends its range, so it is not in the queue.
  var changedRange: (handle: AttributeHandle, range: ClosedRange<AttributeHandle>)?

  var isIdle: Bool { unconfirmed == nil }

  /// Whether an indication of a value waits.
  @inline(__always)
  func isQueued(_ handle: AttributeHandle) -> Bool { !queued.isEmpty && queued.contains { $0.handle == handle } }
  var deadline: Instant? { unconfirmed?.deadline }

  /// Whether the client has not confirmed a Service Changed indication.
  var hasUnconfirmedChange: Bool { changedRange != nil || unconfirmed?.indication.id == .stack }

  /// Discards all indications. An unconfirmed Service Changed is kept for the record of the client.
  ///
  /// - Returns: the characteristic value of the unconfirmed indication, nil for Service Changed.
  mutating func fail() -> AttributeID? {
    let (last, hasUnconfirmedChange) = (unconfirmed?.indication, hasUnconfirmedChange)
    self = Self()
    if hasUnconfirmedChange, let last { changedRange = (last.handle, .first ... .last) }
    return last?.id == .stack ? nil : last?.id
  }
}
