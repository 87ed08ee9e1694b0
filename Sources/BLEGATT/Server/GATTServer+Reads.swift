import BLEATT
import BLEWire

/// Reads (Vol 3, Part F, 3.4.4).
extension GATTServer {
  /// Read Request and Read Blob Request (Vol 3, Part F, 3.4.4.3 and 3.4.4.5).
  ///
  /// A blob of a short value is answered too: Attribute Not Long is for attributes that cannot be read in parts, and
  /// there are none here.
  @inline(__always)
  mutating func read(
    _ pdu: Span<UInt8>, _ opcode: UInt8, _ security: SecurityState, _ database: AttributeDatabase, _ now: Instant,
    _ output: inout GATTServer.Output
  ) {
    let isBlob = opcode == ATTOpcode.readBlobRequest.rawValue
    guard pdu.count == (isBlob ? 5 : 3) else { return output.refuse(opcode, .none, .invalidPDU) }
    let handle = AttributeHandle(pdu.uint16(at: 1) ?? 0)
    let offset = isBlob ? Int(pdu.uint16(at: 3) ?? 0) : 0
    guard let place = place(of: handle, opcode, database, &output) else { return }
    let attribute = database.attributes[place]
    if let refusal = attribute.read.refusal(for: security, otherwise: .readNotPermitted) {
      return output.refuse(opcode, handle, refusal)
    }
    if attribute.kind == .dynamic {
      return ask(attribute, offset: offset, opcode, .read(handle), now, &output)
    }
    noteRead(of: attribute)
    let length = valueLength(of: attribute, database)
    guard offset <= length else { return output.refuse(opcode, handle, .invalidOffset) }
    let count = min(length - offset, mtu - 1)
    output.pdus.append { buffer in
      buffer.append(opcode &+ 1)
      appendValue(of: attribute, database, from: offset, count: count, to: &buffer)
    }
  }

  /// The place of the attribute that a request names, or nil when the request was answered: there is no such handle, or
  /// the client does not know how the database has changed (Vol 3, Part G, 2.5.2.1).
  @inline(__always)
  mutating func place(
    of handle: AttributeHandle, _ opcode: UInt8, _ database: AttributeDatabase, _ output: inout GATTServer.Output
  ) -> Int? {
    if awareness == .unaware {
      awareness = .toldOutOfSync
      output.refuse(opcode, handle, .databaseOutOfSync)
      return nil
    }
    guard let place = database.place(of: handle) else {
      output.refuse(opcode, handle, .invalidHandle)
      return nil
    }
    return place
  }

  /// Read By Type (Vol 3, Part F, 3.4.4.1): the first value sets the length, and the list ends where another length, an
  /// attribute that this client may not read, or a value that the application must be asked for follows.
  mutating func readByType(
    _ pdu: Span<UInt8>, _ security: SecurityState, _ database: inout AttributeDatabase, _ now: Instant,
    _ output: inout GATTServer.Output
  ) {
    let opcode = pdu[0]
    guard pdu.count == 7 || pdu.count == 21 else { return output.refuse(opcode, .none, .invalidPDU) }
    guard let range = handleRange(pdu, &output) else { return }
    let type = pdu.attributeType(at: 5)
    database.bringIndexUpToDate()
    var entry = database.firstEntry(ofType: type, fromPlace: database.firstPlace(from: range.lowerBound))
    guard let first = database.attribute(atEntry: entry, ofType: type, upTo: range.upperBound) else {
      return output.refuse(opcode, range.lowerBound, .attributeNotFound)
    }
    if let refusal = first.read.refusal(for: security, otherwise: .readNotPermitted) {
      return output.refuse(opcode, first.handle, refusal)
    }
    if first.kind == .dynamic {
      return ask(first, offset: 0, opcode, .readByType(first.handle), now, &output)
    }
    noteRead(of: first)
    let longest = min(mtu - 4, 253)
    let count = min(valueLength(of: first, database), longest)
    var room = (mtu - 2) / (2 + count)
    output.pdus.append { buffer in
      buffer.append(ATTOpcode.readByTypeResponse.rawValue)
      buffer.append(UInt8(truncatingIfNeeded: 2 + count))
      while room > 0, let attribute = database.attribute(atEntry: entry, ofType: type, upTo: range.upperBound),
        attribute.kind != .dynamic, min(valueLength(of: attribute, database), longest) == count,
        attribute.read.refusal(for: security, otherwise: .readNotPermitted) == nil
      {
        buffer.append(attribute.handle)
        appendValue(of: attribute, database, from: 0, count: count, to: &buffer)
        entry += 1
        room -= 1
      }
    }
  }

  /// Read Multiple and Read Multiple Variable (Vol 3, Part F, 3.4.4.7 and 3.4.4.11): all or nothing, and the first
  /// handle that cannot be read is the one in the error. The Set Of Handles is two or more: fewer make no such request.
  mutating func readMultiple(
    _ pdu: Span<UInt8>, _ opcode: UInt8, _ security: SecurityState, _ database: AttributeDatabase, _ now: Instant,
    _ output: inout GATTServer.Output
  ) {
    guard pdu.count >= 5, pdu.count % 2 == 1 else { return output.refuse(opcode, .none, .invalidPDU) }
    var gathered = GatheredValues(hasLengths: opcode == ATTOpcode.readMultipleVariableRequest.rawValue)
    for index in stride(from: 1, to: pdu.count, by: 2) {
      let handle = AttributeHandle(pdu.uint16(at: index) ?? 0)
      guard let place = place(of: handle, opcode, database, &output) else { return }
      if let refusal = database.attributes[place].read.refusal(for: security, otherwise: .readNotPermitted) {
        return output.refuse(opcode, handle, refusal)
      }
      gathered.handles.append(handle)
    }
    gather(gathered, opcode, security, database, now, &output)
  }

  /// Reads on where `gathered` stands; asks the application where a value is dynamic, and sends the response when all
  /// are there or no more fit.
  mutating func gather(
    _ gathered: GatheredValues, _ opcode: UInt8, _ security: SecurityState, _ database: AttributeDatabase,
    _ now: Instant, _ output: inout GATTServer.Output
  ) {
    var gathered = gathered
    while gathered.next < gathered.handles.count, gathered.octets.count < mtu - 1 {
      let handle = gathered.handles[gathered.next]
      guard let place = database.place(of: handle) else { return output.refuse(opcode, handle, .invalidHandle) }
      let attribute = database.attributes[place]
      if let refusal = attribute.read.refusal(for: security, otherwise: .readNotPermitted) {
        return output.refuse(opcode, handle, refusal)
      }
      if attribute.kind == .dynamic {
        return ask(attribute, offset: 0, opcode, .readMultiple(gathered), now, &output)
      }
      noteRead(of: attribute)
      var value: [UInt8] = []
      appendValue(of: attribute, database, from: 0, count: valueLength(of: attribute, database), to: &value)
      gathered.append(value[...])
    }
    let values = gathered.octets.prefix(mtu - 1)
    output.pdus.append { buffer in
      buffer.append(opcode &+ 1)
      buffer.append(contentsOf: values)
    }
  }

  /// How many octets the value has, of a kind that the stack answers.
  @inline(__always)
  func valueLength(of attribute: AttributeEntry, _ database: AttributeDatabase) -> Int {
    switch attribute.kind {
    case .clientConfiguration: 2
    case .clientFeatures: 1
    case .databaseHash: 16
    default: Int(attribute.length)
    }
  }

  /// Appends `count` octets of the value, which has so many from `offset` on.
  @inline(__always)
  func appendValue(
    of attribute: AttributeEntry, _ database: AttributeDatabase, from offset: Int, count: Int, to buffer: inout [UInt8]
  ) {
    switch attribute.kind {
    case .clientConfiguration, .clientFeatures, .databaseHash:
      let value = clientValue(of: attribute, database)
      buffer.append(contentsOf: value.dropFirst(offset).prefix(count))
    default:
      let start = Int(attribute.start) &+ offset
      buffer.append(copying: database.octets.span.extracting(start..<start &+ count))
    }
  }

  /// The value of an attribute that each client sees differently, or that is computed.
  private func clientValue(of attribute: AttributeEntry, _ database: AttributeDatabase) -> [UInt8] {
    switch attribute.kind {
    case .clientConfiguration:
      let bits = configuration(of: attribute.handle).rawValue
      return [UInt8(truncatingIfNeeded: bits), UInt8(truncatingIfNeeded: bits >> 8)]
    case .clientFeatures: return [features.rawValue]
    case .databaseHash: return database.databaseHash() ?? []
    default: return []
    }
  }
}

extension AttributeDatabase {
  /// The attribute at an entry of the index, if it has this type and does not lie above `last`.
  @inline(__always)
  fileprivate func attribute(atEntry entry: Int, ofType type: UInt128, upTo last: AttributeHandle) -> AttributeEntry? {
    guard entry < index.byType.count else { return nil }
    let attribute = attributes[Int(index.byType[entry])]
    return attribute.type == type && attribute.handle <= last ? attribute : nil
  }
}

/// The values of a Read Multiple request as far as they are known.
struct GatheredValues: Sendable {
  /// Whether each value follows its length.
  let hasLengths: Bool
  var handles: [AttributeHandle] = []
  /// Which of the handles is read next.
  var next = 0
  var octets: [UInt8] = []

  init(hasLengths: Bool) { self.hasLengths = hasLengths }

  mutating func append(_ value: Bytes) {
    if hasLengths { octets.append(littleEndian: UInt16(clamping: value.count)) }
    octets.append(contentsOf: value)
    next += 1
  }
}
