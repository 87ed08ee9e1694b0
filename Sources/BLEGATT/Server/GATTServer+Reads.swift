import BLEATT
import BLEWire

/// Reads (Vol 3, Part F, 3.4.4).
extension GATTServer {
  /// Read Request and Read Blob Request (Vol 3, Part F, 3.4.4.3 and 3.4.4.5), decoded in place
  /// (Docs/Decisions/wire-and-codecs.md#a-packet-is-declared-once).
  ///
  /// Read Blob of a value that fits in one PDU succeeds. Attribute Not Long (0x0B) is for attributes that cannot be
  /// read in parts, and the database has none.
  @inline(__always)
  mutating func read(
    _ pdu: Span<UInt8>, opcode: UInt8, security: SecurityState, database: AttributeDatabase, now: Instant,
    into output: inout Output
  ) {
    let isBlob = opcode == 0x0C
    let opcode = ATTOpcode(rawValue: opcode)
    guard pdu.count == (isBlob ? 5 : 3) else { return output.reject(opcode, .invalidPDU) }
    let handle = AttributeHandle(pdu.uint16(at: 1) ?? 0)
    let offset = isBlob ? Int(pdu.uint16(at: 3) ?? 0) : 0
    guard let place = place(of: handle, for: opcode, database: database, into: &output) else { return }
    let attribute = database.attributes[place]
    if let error = attribute.read.error(for: security, otherwise: .readNotPermitted) {
      return output.reject(opcode, handle: handle, error)
    }
    if attribute.kind == .dynamic {
      if answer(attribute, from: offset, for: opcode, database, into: &output) { return }
      return requestValue(of: attribute, offset: offset, for: opcode, .read(handle), now: now, into: &output)
    }
    recordRead(of: attribute)
    let length = valueLength(of: attribute)
    guard offset <= length else { return output.reject(opcode, handle: handle, .invalidOffset) }
    let count = min(length - offset, mtu - 1)
    switch attribute.kind {
    case .clientConfiguration, .clientFeatures, .databaseHash:
      output.pdus.append { buffer in
        buffer.append(opcode.rawValue &+ 1)
        appendValue(of: attribute, in: database, from: offset, count: count, to: &buffer)
      }
    // The value is in the database.
    default:
      let header: InlineArray<1, UInt8> = [opcode.rawValue &+ 1]
      let start = Int(attribute.start) &+ offset
      output.pdus.append(header.span, database.octets.span.extracting(start..<start &+ count))
    }
  }

  /// Answers a read of a dynamic value that has a provider.
  ///
  /// - Returns: false if the application must answer.
  private func answer(
    _ attribute: AttributeEntry, from offset: Int, for opcode: ATTOpcode, _ database: AttributeDatabase,
    into output: inout Output
  ) -> Bool {
    // The first conditions are a few instructions; most values have no provider.
    guard database.callsProviders, database.providers.contains(attribute.id), output.hasNoEvents,
      let read = database.providers[attribute.id]?.read,
      let result = read(offset, ValueProvider.Client(number: client, mtu: mtu))
    else { return false }
    switch result {
    case .success(let value) where offset <= value.count:
      let end = min(value.count, offset + mtu - 1)
      let header: InlineArray<1, UInt8> = [opcode.rawValue &+ 1]
      output.pdus.append(header.span, value.span.extracting(offset..<end))
    case .success: output.reject(opcode, handle: attribute.handle, .invalidOffset)
    case .failure(let code): output.reject(opcode, handle: attribute.handle, code.sendable)
    }
    return true
  }

  /// Requests a dynamic value from the application.
  mutating func requestValue(
    of attribute: AttributeEntry, offset: Int, for opcode: ATTOpcode, _ step: UnansweredRequest.Step, now: Instant,
    into output: inout Output
  ) {
    let token = suspend(opcode, step, now: now)
    output.events.append(.read(token, attribute.id, offset: offset))
  }

  /// The index of the attribute in a request. Nil if the request was rejected: the database does not have the handle,
  /// or the client is change-unaware (Vol 3, Part G, 2.5.2.1).
  @inline(__always)
  mutating func place(
    of handle: AttributeHandle, for opcode: ATTOpcode, database: AttributeDatabase, into output: inout Output
  ) -> Int? {
    if awareness == .unaware {
      awareness = .outOfSyncSent
      output.reject(opcode, handle: handle, .databaseOutOfSync)
      return nil
    }
    guard let place = database.place(of: handle) else {
      output.reject(opcode, handle: handle, .invalidHandle)
      return nil
    }
    return place
  }

  /// Read By Type (Vol 3, Part F, 3.4.4.1). All values in the response have the length of the first. The list ends
  /// before a value of another length, before an attribute that the client may not read, and before a dynamic value.
  mutating func readByType(
    _ pdu: Span<UInt8>, security: SecurityState, database: inout AttributeDatabase, now: Instant,
    into output: inout Output
  ) {
    guard let request: ReadByTypeRequest = decode(pdu, into: &output),
      let range = range(request.startingHandle, request.endingHandle, for: .readByTypeRequest, into: &output)
    else { return }
    let type = request.attributeType.value
    database.updateIndex()
    var entry = database.firstEntry(ofType: type, fromPlace: database.firstPlace(from: range.lowerBound))
    guard let first = database.attribute(atEntry: entry, ofType: type, upTo: range.upperBound) else {
      return output.reject(.readByTypeRequest, handle: range.lowerBound, .attributeNotFound)
    }
    if let error = first.read.error(for: security, otherwise: .readNotPermitted) {
      return output.reject(.readByTypeRequest, handle: first.handle, error)
    }
    if first.kind == .dynamic {
      return requestValue(
        of: first, offset: 0, for: .readByTypeRequest, .readByType(first.handle), now: now, into: &output)
    }
    recordRead(of: first)
    let longest = min(mtu - 4, 253)
    let count = min(valueLength(of: first), longest)
    var capacity = (mtu - 2) / (2 + count)
    output.pdus.append { buffer in
      buffer.append(ATTOpcode.readByTypeResponse.rawValue)
      buffer.append(UInt8(truncatingIfNeeded: 2 + count))
      while capacity > 0, let attribute = database.attribute(atEntry: entry, ofType: type, upTo: range.upperBound),
        attribute.kind != .dynamic, min(valueLength(of: attribute), longest) == count,
        attribute.read.error(for: security, otherwise: .readNotPermitted) == nil
      {
        buffer.append(attribute.handle)
        appendValue(of: attribute, in: database, from: 0, count: count, to: &buffer)
        entry += 1
        capacity -= 1
      }
    }
  }

  /// Read Multiple and Read Multiple Variable (Vol 3, Part F, 3.4.4.7 and 3.4.4.11). All values are read or none. The
  /// Error Response has the first handle that cannot be read.
  mutating func readMultiple(
    _ handles: [AttributeHandle], _ opcode: ATTOpcode, security: SecurityState, database: AttributeDatabase,
    now: Instant, into output: inout Output
  ) {
    for handle in handles {
      guard let place = place(of: handle, for: opcode, database: database, into: &output) else { return }
      if let error = database.attributes[place].read.error(for: security, otherwise: .readNotPermitted) {
        return output.reject(opcode, handle: handle, error)
      }
    }
    let read = PendingMultipleRead(handles: handles, hasLengths: opcode == .readMultipleVariableRequest)
    continueReading(read, opcode, security: security, database: database, now: now, into: &output)
  }

  /// Reads from the next handle on. A dynamic value is requested from the application. The response is sent after the
  /// last value, or when it is full.
  mutating func continueReading(
    _ read: PendingMultipleRead, _ opcode: ATTOpcode, security: SecurityState, database: AttributeDatabase,
    now: Instant, into output: inout Output
  ) {
    var read = read
    while let handle = read.nextHandle, read.octets.count < mtu - 1 {
      guard let place = database.place(of: handle) else {
        return output.reject(opcode, handle: handle, .invalidHandle)
      }
      let attribute = database.attributes[place]
      if let error = attribute.read.error(for: security, otherwise: .readNotPermitted) {
        return output.reject(opcode, handle: handle, error)
      }
      if attribute.kind == .dynamic {
        return requestValue(of: attribute, offset: 0, for: opcode, .readMultiple(read), now: now, into: &output)
      }
      recordRead(of: attribute)
      var value: [UInt8] = []
      appendValue(of: attribute, in: database, from: 0, count: valueLength(of: attribute), to: &value)
      read.append(value[...])
    }
    let values = read.octets.prefix(mtu - 1)
    if read.hasLengths {
      output.append(ReadMultipleVariableResponse(lengthValueTupleList: values))
    } else {
      output.append(ReadMultipleResponse(setOfValues: values))
    }
  }

  /// The length of a value that is not dynamic, in octets.
  @inline(__always)
  func valueLength(of attribute: AttributeEntry) -> Int {
    switch attribute.kind {
    case .clientConfiguration: 2
    case .clientFeatures: 1
    case .databaseHash: 16
    default: Int(attribute.length)  // The value is in the database.
    }
  }

  /// Appends `count` octets of a value, from `offset` on. The value must have them.
  @inline(__always)
  func appendValue(
    of attribute: AttributeEntry, in database: AttributeDatabase, from offset: Int, count: Int,
    to buffer: inout [UInt8]
  ) {
    switch attribute.kind {
    case .clientConfiguration, .clientFeatures, .databaseHash:
      let value = clientValue(of: attribute, database)
      buffer.append(contentsOf: value.dropFirst(offset).prefix(count))
    // The value is in the database.
    default:
      let start = Int(attribute.start) &+ offset
      buffer.append(copying: database.octets.span.extracting(start..<start &+ count))
    }
  }

  /// The value of an attribute that each client has for itself, or that is computed.
  private func clientValue(of attribute: AttributeEntry, _ database: AttributeDatabase) -> [UInt8] {
    switch attribute.kind {
    case .clientConfiguration:
      let bits = configuration(of: attribute.handle).rawValue
      return [UInt8(truncatingIfNeeded: bits), UInt8(truncatingIfNeeded: bits >> 8)]
    case .clientFeatures: return [supportedFeatures.rawValue]
    case .databaseHash: return database.databaseHash() ?? []
    default: return []  // The others are the same for all clients.
    }
  }
}

extension AttributeDatabase {
  /// The attribute at an entry of the index, nil if it has another type, or a handle above `last`.
  @inline(__always)
  fileprivate func attribute(atEntry entry: Int, ofType type: UInt128, upTo last: AttributeHandle) -> AttributeEntry? {
    guard entry < index.byType.count else { return nil }
    let attribute = attributes[Int(index.byType[entry])]
    return self.type(of: attribute) == type && attribute.handle <= last ? attribute : nil
  }
}

/// A Read Multiple Request, and the values that have been read.
struct PendingMultipleRead: Sendable {
  let handles: [AttributeHandle]
  /// Whether each value follows its length: Read Multiple Variable.
  let hasLengths: Bool
  private var count = 0
  private(set) var octets: [UInt8] = []

  init(handles: [AttributeHandle], hasLengths: Bool) {
    self.handles = handles
    self.hasLengths = hasLengths
  }

  /// The first handle whose value has not been read, nil after the last.
  var nextHandle: AttributeHandle? { count < handles.count ? handles[count] : nil }

  mutating func append(_ value: Bytes) {
    if hasLengths { octets.append(littleEndian: UInt16(clamping: value.count)) }
    octets.append(contentsOf: value)
    count += 1
  }
}
