import BLEATT
import BLEWire

/// Queued writes (Vol 3, Part F, 3.4.6; Docs/Decisions/gatt.md#prepared-writes).
///
/// ```
///   Prepare ─► queue ─► Prepare … ─► Execute (write) ──► each part is applied to copies ─┬─► error: nothing is written
///                                └─► Execute (cancel) ─► the queue is discarded          └─► no error: all is written
/// ```
///
/// If the queue has parts for the application, all parts are applied to copies again after the application has
/// answered: services, values and the security of the link may have changed meanwhile.
extension GATTServer {
  /// Prepare Write (Vol 3, Part F, 3.4.6.1). Permissions are checked now; offset and length are checked on execution.
  mutating func prepareWrite(
    _ pdu: Span<UInt8>, security: SecurityState, database: AttributeDatabase, into output: inout Output
  ) {
    guard let request: PrepareWriteRequest = decode(pdu, into: &output),
      let place = place(of: request.handle, for: .prepareWriteRequest, database: database, into: &output)
    else { return }
    if let error = database.attributes[place].write.error(for: security, otherwise: .writeNotPermitted) {
      return output.reject(.prepareWriteRequest, handle: request.handle, error)
    }
    guard prepared.parts.count < limits.maximumPreparedWrites,
      prepared.octets.count + request.partAttributeValue.count <= limits.maximumPreparedOctets
    else { return output.reject(.prepareWriteRequest, handle: request.handle, .prepareQueueFull) }
    prepared.append(request, to: database.attributes[place], database)
    output.append(
      PrepareWriteResponse(
        handle: request.handle, valueOffset: request.valueOffset, partAttributeValue: request.partAttributeValue))
  }

  /// Execute Write (Vol 3, Part F, 3.4.6.3). The queue is empty afterwards, even after an error.
  mutating func executeWrite(
    _ pdu: Span<UInt8>, security: SecurityState, database: inout AttributeDatabase, now: Instant,
    into output: inout Output
  ) {
    guard let request: ExecuteWriteRequest = decode(pdu, into: &output) else { return }
    guard request.flags == .write || request.flags == .cancel else {
      return output.reject(.executeWriteRequest, .invalidPDU)
    }
    let queue = prepared
    prepared.removeAll()
    guard request.flags == .write else { return output.append(ExecuteWriteResponse()) }
    switch plan(queue, security: security, database: database) {
    case .failure(let error): output.reject(.executeWriteRequest, handle: error.handle, error.code)
    case .success(let plan):
      if plan.parts.isEmpty {
        execute(plan, database: &database, into: &output)
      } else {
        let token = suspend(.executeWriteRequest, .execute(queue), now: now)
        output.events.append(.write(token, plan.parts, isPrepared: true))
      }
    }
  }

  /// Executes a queue after the application has written its dynamic parts.
  mutating func execute(
    _ queue: PreparedWrites, security: SecurityState, database: inout AttributeDatabase, into output: inout Output
  ) {
    switch plan(queue, security: security, database: database) {
    case .failure(let error): output.reject(.executeWriteRequest, handle: error.handle, error.code)
    case .success(let plan): execute(plan, database: &database, into: &output)
    }
  }

  /// The reason why a queue is not executed.
  struct ExecutionError: Error {
    let handle: AttributeHandle
    let code: ATTErrorCode
  }

  /// Applies the parts to copies of the values, in the order of the requests.
  ///
  /// If a handle now belongs to a different attribute than when the part was prepared, it is an invalid handle: the
  /// attribute of the request no longer exists.
  private func plan(
    _ queue: PreparedWrites, security: SecurityState, database: AttributeDatabase
  ) -> Result<ExecutionPlan, ExecutionError> {
    var plan = ExecutionPlan()
    for part in queue.parts {
      func failure(_ code: ATTErrorCode) -> Result<ExecutionPlan, ExecutionError> {
        .failure(ExecutionError(handle: part.handle, code: code))
      }
      guard let place = database.place(of: part.handle), part.isFor(database.attributes[place], in: database) else {
        return failure(.invalidHandle)
      }
      let attribute = database.attributes[place]
      if let error = attribute.write.error(for: security, otherwise: .writeNotPermitted) { return failure(error) }
      let value = queue.octets[part.range]
      if attribute.kind == .dynamic {
        guard part.offset <= ATT.maximumValueLength else { return failure(.invalidOffset) }
        guard part.offset + value.count <= ATT.maximumValueLength else { return failure(.invalidAttributeValueLength) }
        plan.append(value, offset: part.offset, to: attribute)
      } else {
        let write = plan.write(to: part.handle) {
          part.offset == 0 && !attribute.hasFixedLength ? [] : currentValue(of: attribute, database)
        }
        guard part.offset <= plan.writes[write].value.count else { return failure(.invalidOffset) }
        plan.writes[write].overwrite(at: part.offset, with: value)
        guard plan.writes[write].value.count <= ATT.maximumValueLength else {
          return failure(.invalidAttributeValueLength)
        }
      }
    }
    for write in plan.writes {
      guard let place = database.place(of: write.handle) else { continue }
      if let code = error(for: write.value, of: database.attributes[place]) {
        return .failure(ExecutionError(handle: write.handle, code: code))
      }
    }
    return .success(plan)
  }

  private func currentValue(of attribute: AttributeEntry, _ database: AttributeDatabase) -> [UInt8] {
    var value: [UInt8] = []
    appendValue(of: attribute, in: database, from: 0, count: valueLength(of: attribute), to: &value)
    return value
  }

  /// The error for a whole value, for an attribute that is not dynamic.
  private func error(for value: [UInt8], of attribute: AttributeEntry) -> ATTErrorCode? {
    switch attribute.kind {
    case .stored: return attribute.allowedLengths.contains(value.count) ? nil : .invalidAttributeValueLength
    case .clientConfiguration:
      guard value.count == 2, let bits = value.span.uint16(at: 0) else { return .invalidAttributeValueLength }
      return error(for: Subscription(rawValue: bits), in: attribute)
    case .clientFeatures:
      guard let first = value.first else { return .invalidAttributeValueLength }
      return supportedFeatures.isSubset(of: ClientSupportedFeatures(rawValue: first)) ? nil : .valueNotAllowed
    default: return .writeNotPermitted  // The stack alone sets the others.
    }
  }

  /// Writes the values of a plan without errors, and sends the response.
  private mutating func execute(
    _ plan: ExecutionPlan, database: inout AttributeDatabase, into output: inout Output
  ) {
    for write in plan.writes {
      guard let place = database.place(of: write.handle) else { continue }
      let attribute = database.attributes[place]
      switch attribute.kind {
      case .stored:
        database.replace(at: place, with: write.value.span)
        if attribute.id != .stack, database.reportsStoredWrites { output.events.append(.stored(attribute.id)) }
      case .clientConfiguration:
        configure(attribute, Subscription(rawValue: write.value.span.uint16(at: 0) ?? 0), into: &output)
      case .clientFeatures: _ = setFeatures(ClientSupportedFeatures(rawValue: write.value.first ?? 0))
      default: break  // Nobody writes the others, and dynamic ones are the application's.
      }
    }
    output.append(ExecuteWriteResponse())
  }
}

/// The prepared writes of one client, in the order of the requests.
struct PreparedWrites: Sendable {
  struct Part: Sendable {
    var handle: AttributeHandle
    /// The type of the attribute that had this handle when the part was prepared.
    var type: UInt128
    var id: AttributeID
    var kind: AttributeEntry.Kind
    var offset: Int
    /// The place of the value in the octets of the queue.
    var range: Range<Int>

    /// Whether this is the attribute that had the handle when the part was prepared.
    func isFor(_ attribute: AttributeEntry, in database: AttributeDatabase) -> Bool {
      attribute.id == id && attribute.kind == kind && database.type(of: attribute) == type
    }
  }

  private(set) var parts: [Part] = []
  private(set) var octets: [UInt8] = []

  mutating func append(_ request: PrepareWriteRequest, to attribute: AttributeEntry, _ database: AttributeDatabase) {
    let start = octets.count
    octets.append(contentsOf: request.partAttributeValue)
    parts.append(
      Part(
        handle: attribute.handle, type: database.type(of: attribute), id: attribute.id, kind: attribute.kind,
        offset: Int(request.valueOffset), range: start..<octets.count))
  }

  /// The handle of a dynamic attribute. If it is nil or not in the queue, the handle of the first dynamic one.
  func handle(of attribute: AttributeID?) -> AttributeHandle {
    let dynamic = parts.filter { $0.kind == .dynamic }
    return (dynamic.first { $0.id == attribute } ?? dynamic.first)?.handle ?? .none
  }

  mutating func removeAll() {
    parts.removeAll()
    octets.removeAll()
  }
}

/// The result of the parts of a queue, applied to copies.
struct ExecutionPlan: Sendable {
  struct Write: Sendable {
    var handle: AttributeHandle
    /// The whole value after the execution.
    var value: [UInt8]

    mutating func overwrite(at offset: Int, with part: Bytes) {
      value.replaceSubrange(offset..<min(value.count, offset + part.count), with: part)
    }
  }

  /// The values that are not dynamic, each attribute once.
  var writes: [Write] = []
  /// The writes for the application. Consecutive parts of one value are one.
  private(set) var parts: [WritePart] = []
  private var lastHandle = AttributeHandle.none

  /// The index in `writes` of this attribute. A new entry gets the value of `first`.
  mutating func write(to handle: AttributeHandle, beginningWith first: () -> [UInt8]) -> Int {
    if let index = writes.firstIndex(where: { $0.handle == handle }) { return index }
    writes.append(Write(handle: handle, value: first()))
    return writes.count - 1
  }

  mutating func append(_ value: Bytes, offset: Int, to attribute: AttributeEntry) {
    if let last = parts.indices.last, lastHandle == attribute.handle,
      parts[last].offset + parts[last].value.count == offset
    {
      parts[last].value.append(contentsOf: value)
    } else {
      parts.append(WritePart(attribute: attribute.id, offset: offset, value: Array(value)))
      lastHandle = attribute.handle
    }
  }
}
