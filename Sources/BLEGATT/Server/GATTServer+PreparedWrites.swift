import BLEATT
import BLEWire

/// Queued writes (Vol 3, Part F, 3.4.6).
///
///     Prepare ─► queue ─► Prepare … ─► Execute(write) ─► every part is tried on copies ─┬─► one fails: error, nothing changed
///                                 └──► Execute(cancel) ─► forgotten                    └─► all fit: written
///
/// Where the application has to accept parts first, the queue is kept and every part is tried again at its answer: services,
/// values and the link's security may have changed while it decided.
extension GATTServer {
  /// Prepare Write (Vol 3, Part F, 3.4.6.1): permissions are looked at now, offset and length at the execution.
  mutating func prepareWrite(
    _ pdu: Span<UInt8>, _ security: SecurityState, _ database: AttributeDatabase, _ output: inout GATTServer.Output
  ) {
    let opcode = pdu[0]
    guard pdu.count >= 5 else { return output.refuse(opcode, .none, .invalidPDU) }
    let handle = AttributeHandle(pdu.uint16(at: 1) ?? 0)
    guard let place = place(of: handle, opcode, database, &output) else { return }
    if let refusal = database.attributes[place].write.refusal(for: security, otherwise: .writeNotPermitted) {
      return output.refuse(opcode, handle, refusal)
    }
    guard prepared.parts.count < limits.maximumPreparedWrites,
      prepared.octets.count + pdu.count - 5 <= limits.maximumPreparedOctets
    else { return output.refuse(opcode, handle, .prepareQueueFull) }
    prepared.append(database.attributes[place], offset: Int(pdu.uint16(at: 3) ?? 0), pdu.extracting(5...))
    output.pdus.append { buffer in
      buffer.append(ATTOpcode.prepareWriteResponse.rawValue)
      buffer.append(copying: pdu.extracting(1...))
    }
  }

  /// Execute Write (Vol 3, Part F, 3.4.6.3): the queue is empty afterwards, whatever comes of it.
  mutating func executeWrite(
    _ pdu: Span<UInt8>, _ security: SecurityState, _ database: inout AttributeDatabase, _ now: Instant,
    _ output: inout GATTServer.Output
  ) {
    let opcode = pdu[0]
    guard pdu.count == 2, pdu[1] <= 1 else { return output.refuse(opcode, .none, .invalidPDU) }
    let queue = prepared
    prepared.removeAll()
    guard pdu[1] == 1 else { return output.pdus.append { $0.append(ATTOpcode.executeWriteResponse.rawValue) } }
    switch plan(queue, security, database) {
    case .failure(let refusal): output.refuse(opcode, refusal.handle, refusal.code)
    case .success(let plan):
      if plan.parts.isEmpty {
        carryOut(plan, &database, &output)
      } else {
        let token = suspend(opcode, .execute(queue), now)
        output.events.append(.write(token, plan.parts, isPrepared: true))
      }
    }
  }

  /// Executes a queue whose parts for the application are accepted: all of it as things are now, or nothing.
  mutating func executeAccepted(
    _ queue: PreparedWrites, _ opcode: UInt8, _ security: SecurityState, _ database: inout AttributeDatabase,
    _ output: inout GATTServer.Output
  ) {
    switch plan(queue, security, database) {
    case .failure(let refusal): output.refuse(opcode, refusal.handle, refusal.code)
    case .success(let plan): carryOut(plan, &database, &output)
    }
  }

  /// Why a queue cannot be executed.
  struct Refusal: Error {
    let handle: AttributeHandle
    let code: ATTErrorCode
  }

  /// Tries each part in the order it came, on copies.
  ///
  /// A handle that another attribute has got since the part was prepared is as invalid as one that no attribute has: the
  /// client meant the attribute that is gone.
  private func plan(
    _ queue: PreparedWrites, _ security: SecurityState, _ database: AttributeDatabase
  ) -> Result<ExecutionPlan, Refusal> {
    var plan = ExecutionPlan()
    for part in queue.parts {
      func refused(_ code: ATTErrorCode) -> Result<ExecutionPlan, Refusal> {
        .failure(Refusal(handle: part.handle, code: code))
      }
      guard let place = database.place(of: part.handle), part.names(database.attributes[place]) else {
        return refused(.invalidHandle)
      }
      let attribute = database.attributes[place]
      if let refusal = attribute.write.refusal(for: security, otherwise: .writeNotPermitted) {
        return refused(refusal)
      }
      let value = queue.octets[part.range]
      if attribute.kind == .dynamic {
        guard part.offset <= ATT.maximumValueLength else { return refused(.invalidOffset) }
        guard part.offset + value.count <= ATT.maximumValueLength else { return refused(.invalidAttributeValueLength) }
        plan.append(value, offset: part.offset, to: attribute)
      } else {
        let write = plan.write(to: part.handle) {
          part.offset == 0 && !attribute.hasFixedLength ? [] : currentValue(of: attribute, database)
        }
        guard part.offset <= plan.writes[write].value.count else { return refused(.invalidOffset) }
        plan.writes[write].overlay(value, at: part.offset)
        guard plan.writes[write].value.count <= ATT.maximumValueLength else {
          return refused(.invalidAttributeValueLength)
        }
      }
    }
    for write in plan.writes {
      guard let place = database.place(of: write.handle) else { continue }
      if let code = refusal(of: write.value, database.attributes[place]) {
        return .failure(Refusal(handle: write.handle, code: code))
      }
    }
    return .success(plan)
  }

  private func currentValue(of attribute: AttributeEntry, _ database: AttributeDatabase) -> [UInt8] {
    var value: [UInt8] = []
    appendValue(of: attribute, database, from: 0, count: valueLength(of: attribute, database), to: &value)
    return value
  }

  private func refusal(of value: [UInt8], _ attribute: AttributeEntry) -> ATTErrorCode? {
    switch attribute.kind {
    case .stored: return attribute.allowedLengths.contains(value.count) ? nil : .invalidAttributeValueLength
    case .clientConfiguration:
      guard value.count == 2, let bits = value.span.uint16(at: 0) else { return .invalidAttributeValueLength }
      return refusal(of: Subscription(rawValue: bits), attribute)
    case .clientFeatures:
      guard let first = value.first else { return .invalidAttributeValueLength }
      return features.isSubset(of: ClientSupportedFeatures(rawValue: first)) ? nil : .valueNotAllowed
    default: return .writeNotPermitted
    }
  }

  /// Writes what was found right, and answers.
  private mutating func carryOut(
    _ plan: ExecutionPlan, _ database: inout AttributeDatabase, _ output: inout GATTServer.Output
  ) {
    for write in plan.writes {
      guard let place = database.place(of: write.handle) else { continue }
      let attribute = database.attributes[place]
      switch attribute.kind {
      case .stored:
        database.replace(at: place, with: write.value.span)
        if attribute.id != .stack { output.events.append(.stored(attribute.id)) }
      case .clientConfiguration:
        configure(attribute, Subscription(rawValue: write.value.span.uint16(at: 0) ?? 0), &output)
      case .clientFeatures: _ = setFeatures(ClientSupportedFeatures(rawValue: write.value.first ?? 0))
      default: break
      }
    }
    output.pdus.append { $0.append(ATTOpcode.executeWriteResponse.rawValue) }
  }
}

/// The prepared writes of one client, in the order they came.
struct PreparedWrites: Sendable {
  struct Part: Sendable {
    var handle: AttributeHandle
    /// What the handle named when the part was prepared.
    var type: UInt128
    var id: AttributeID
    var kind: AttributeEntry.Kind
    var offset: Int
    /// Where its octets lie in those of the queue.
    var range: Range<Int>

    /// Whether `attribute`, which has the part's handle now, is the one that had it then.
    func names(_ attribute: AttributeEntry) -> Bool {
      attribute.id == id && attribute.kind == kind && attribute.type == type
    }
  }

  private(set) var parts: [Part] = []
  private(set) var octets: [UInt8] = []

  mutating func append(_ attribute: AttributeEntry, offset: Int, _ value: Span<UInt8>) {
    let start = octets.count
    octets.append(copying: value)
    parts.append(
      Part(
        handle: attribute.handle, type: attribute.type, id: attribute.id, kind: attribute.kind, offset: offset,
        range: start..<octets.count))
  }

  /// The handle to name in an error about `attribute`; where it is nil or not in the queue, that of the first part which
  /// the application has to accept.
  func handle(of attribute: AttributeID?) -> AttributeHandle {
    let asked = parts.filter { $0.kind == .dynamic }
    return (asked.first { $0.id == attribute } ?? asked.first)?.handle ?? .none
  }

  mutating func removeAll() {
    parts.removeAll()
    octets.removeAll()
  }
}

/// What an execution will write once nothing stands against it.
struct ExecutionPlan: Sendable {
  struct Write: Sendable {
    var handle: AttributeHandle
    /// The whole value as it will be.
    var value: [UInt8]

    mutating func overlay(_ part: Bytes, at offset: Int) {
      value.replaceSubrange(offset..<min(value.count, offset + part.count), with: part)
    }
  }

  /// Values that the stack keeps, each attribute once.
  var writes: [Write] = []
  /// What the application must write; parts that continue each other are one.
  private(set) var parts: [WritePart] = []
  private var lastHandle = AttributeHandle.none

  /// The place in `writes` of this attribute, which begins with the value that `first` gives.
  mutating func write(to handle: AttributeHandle, beginningWith first: () -> [UInt8]) -> Int {
    if let known = writes.firstIndex(where: { $0.handle == handle }) { return known }
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

extension AttributeEntry {
  /// Whether a shorter write leaves the rest of the value as it is (Vol 3, Part F, 3.4.5.1).
  var hasFixedLength: Bool { kind == .stored && minimumLength == maximumLength }
}
