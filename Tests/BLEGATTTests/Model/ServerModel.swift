/// An ATT server as Vol 3, Part F, 3.3 and 3.4, and Part G, 3 and 4, describe it: a table of attributes, a table of
/// requests, and arrays of octets. It is written from the specification and has no declaration in common with the
/// server that it is compared with; it is slow and has one client.
///
/// Where the specification leaves a choice, the model follows Docs/Decisions/gatt.md: CCCD, prepared writes,
/// permissions. The application answers at once: it accepts each write, and it has the values.
struct ServerModel {
  /// What a permission demands of the link.
  struct Access {
    var level = 0
    var keySize = 0
    var authorization = false
  }

  /// The link as the server knows it.
  struct Link {
    var level = 0
    var keySize = 0
    var isBonded = false
    var isAuthorized = false
  }

  enum Rule {
    case constant
    /// The server keeps the value.
    case stored(lengths: ClosedRange<Int>)
    /// The application has the value.
    case application
    /// The bits that the properties of the characteristic allow.
    case clientConfiguration(allowed: UInt8)
  }

  struct Attribute {
    var handle: Int
    /// The UUID as in a PDU: 2 or 16 octets, least significant first.
    var type: [UInt8]
    var value: [UInt8]
    var read: Access?
    var write: Access?
    var rule: Rule
    /// The last handle of the group, where it is the declaration of a service or of a characteristic.
    var groupEnd: Int?
  }

  struct Part {
    var handle: Int
    var offset: Int
    var value: [UInt8]
  }

  var attributes: [Attribute]
  var link = Link()
  let serverMTU: Int
  let maximumParts: Int
  let maximumOctets: Int
  private(set) var mtu = 23
  private var hasExchangedMTU = false
  private var parts: [Part] = []

  init(_ attributes: [Attribute], serverMTU: Int, maximumParts: Int, maximumOctets: Int) {
    self.attributes = attributes
    (self.serverMTU, self.maximumParts, self.maximumOctets) = (serverMTU, maximumParts, maximumOctets)
  }

  /// The reason of an Error Response (Vol 3, Part F, 3.4.1.1, table 3.4).
  struct Fault: Error {
    var code: UInt8
    var handle = 0

    static func invalidPDU() -> Fault { Fault(code: 0x04) }
  }

  /// The requests: the allowed lengths of the PDU, and the answer to it (Vol 3, Part F, 3.4.8).
  private static let requests: [UInt8: (lengths: @Sendable (Int) -> Bool, answer: Answer)] = [
    0x02: ({ $0 == 3 }, { try $0.exchangeMTU($1) }),
    0x04: ({ $0 == 5 }, { try $0.findInformation($1) }),
    0x06: ({ $0 >= 7 }, { try $0.findByTypeValue($1) }),
    0x08: ({ $0 == 7 || $0 == 21 }, { try $0.readByType($1) }),
    0x0A: ({ $0 == 3 }, { try $0.read($1, offset: 0) }),
    0x0C: ({ $0 == 5 }, { try $0.read($1, offset: word($1, 3)) }),
    0x0E: ({ $0 >= 5 && $0 % 2 == 1 }, { try $0.readMultiple($1, hasLengths: false) }),
    0x10: ({ $0 == 7 || $0 == 21 }, { try $0.readByGroupType($1) }),
    0x12: ({ $0 >= 3 }, { try $0.write($1) }),
    0x16: ({ $0 >= 5 }, { try $0.prepare($1) }),
    0x18: ({ $0 == 2 }, { try $0.execute($1) }),
    0x20: ({ $0 >= 5 && $0 % 2 == 1 }, { try $0.readMultiple($1, hasLengths: true) }),
  ]

  private typealias Answer = @Sendable (inout ServerModel, [UInt8]) throws -> [UInt8]

  /// The response to a PDU of the client; nil for a command, and for a PDU that a client does not send.
  mutating func answer(_ pdu: [UInt8]) -> [UInt8]? {
    guard let opcode = pdu.first else { return nil }
    if opcode & 0x40 != 0 {
      if opcode == 0x52, pdu.count >= 3, pdu.count <= mtu { _ = try? write(pdu) }
      return nil
    }
    let ofServers: [UInt8] = [
      0x01, 0x03, 0x05, 0x07, 0x09, 0x0B, 0x0D, 0x0F, 0x11, 0x13, 0x17, 0x19, 0x1B, 0x1D, 0x21, 0x23,
    ]
    if ofServers.contains(opcode) || opcode == 0x1E { return nil }
    do throws {
      guard pdu.count <= mtu else { throw Fault.invalidPDU() }
      guard let request = Self.requests[opcode] else { throw Fault(code: 0x06) }
      guard request.lengths(pdu.count) else { throw Fault.invalidPDU() }
      return try request.answer(&self, pdu)
    } catch let error as Fault {
      return [0x01, opcode] + Self.octets(error.handle) + [error.code]
    } catch {
      return nil
    }
  }
}

/// Discovery (Vol 3, Part F, 3.4.2, 3.4.3 and 3.4.4.9).
extension ServerModel {
  private mutating func exchangeMTU(_ pdu: [UInt8]) throws -> [UInt8] {
    // Once in a connection; the smaller of both, and 23 at least.
    if !hasExchangedMTU { mtu = max(23, min(serverMTU, Self.word(pdu, 1))) }
    hasExchangedMTU = true
    return [0x03] + Self.octets(serverMTU)
  }

  /// The attributes of the range in the request.
  private func range(_ pdu: [UInt8]) throws -> [Attribute] {
    let (first, last) = (Self.word(pdu, 1), Self.word(pdu, 3))
    guard first > 0, first <= last else { throw Fault(code: 0x01, handle: first) }
    return attributes.filter { (first...last).contains($0.handle) }
  }

  private mutating func findInformation(_ pdu: [UInt8]) throws -> [UInt8] {
    let found = try range(pdu)
    guard let first = found.first else { throw Fault(code: 0x0A, handle: Self.word(pdu, 1)) }
    var response: [UInt8] = [0x05, first.type.count == 2 ? 1 : 2]
    for attribute in found.prefix(while: { $0.type.count == first.type.count }) {
      let pair = Self.octets(attribute.handle) + attribute.type
      guard response.count + pair.count <= mtu else { break }
      response += pair
    }
    return response
  }

  private mutating func findByTypeValue(_ pdu: [UInt8]) throws -> [UInt8] {
    let (type, value) = (Self.whole([pdu[5], pdu[6]]), Array(pdu[7...]))
    var response: [UInt8] = [0x07]
    for attribute in try range(pdu) where Self.whole(attribute.type) == type && attribute.value == value {
      // Values that the client may not read are passed over, and so are those of the application.
      if case .application = attribute.rule { continue }
      guard fault(attribute.read, otherwise: 0x02) == nil, response.count + 4 <= mtu else { continue }
      response += Self.octets(attribute.handle) + Self.octets(attribute.groupEnd ?? attribute.handle)
    }
    guard response.count > 1 else { throw Fault(code: 0x0A, handle: Self.word(pdu, 1)) }
    return response
  }

  private mutating func readByGroupType(_ pdu: [UInt8]) throws -> [UInt8] {
    let (type, found) = (Self.whole(Array(pdu[5...])), try range(pdu))
    let groups: [[UInt8]] = [[0x00, 0x28], [0x01, 0x28]]
    guard groups.map(Self.whole).contains(type) else { throw Fault(code: 0x10, handle: Self.word(pdu, 1)) }
    let services = found.filter { Self.whole($0.type) == type }
    guard let first = services.first else { throw Fault(code: 0x0A, handle: Self.word(pdu, 1)) }
    var response: [UInt8] = [0x11, UInt8(4 + first.value.count)]
    for service in services.prefix(while: { $0.value.count == first.value.count }) {
      let group = Self.octets(service.handle) + Self.octets(service.groupEnd ?? service.handle) + service.value
      guard response.count + group.count <= mtu else { break }
      response += group
    }
    return response
  }
}

/// Reading (Vol 3, Part F, 3.4.4).
extension ServerModel {
  private func attribute(_ handle: Int) throws -> Attribute {
    guard let attribute = attributes.first(where: { $0.handle == handle }) else {
      throw Fault(code: 0x01, handle: handle)
    }
    return attribute
  }

  /// The code of the first demand that the link does not meet.
  private func fault(_ access: Access?, otherwise notPermitted: UInt8) -> UInt8? {
    guard let access else { return notPermitted }
    if access.level > 0 {
      // A bonded client only has to encrypt (Vol 3, Part C, 10.3.1).
      if link.level == 0 { return link.isBonded ? 0x0F : 0x05 }
      if link.level < access.level { return 0x05 }
      if link.keySize < access.keySize { return 0x0C }
    }
    return access.authorization && !link.isAuthorized ? 0x08 : nil
  }

  private func checkRead(_ attribute: Attribute) throws {
    if let code = fault(attribute.read, otherwise: 0x02) { throw Fault(code: code, handle: attribute.handle) }
  }

  private mutating func read(_ pdu: [UInt8], offset: Int) throws -> [UInt8] {
    let attribute = try attribute(Self.word(pdu, 1))
    try checkRead(attribute)
    guard offset <= attribute.value.count else { throw Fault(code: 0x07, handle: attribute.handle) }
    return [pdu[0] + 1] + attribute.value.dropFirst(offset).prefix(mtu - 1)
  }

  private mutating func readByType(_ pdu: [UInt8]) throws -> [UInt8] {
    let type = Self.whole(Array(pdu[5...]))
    let found = try range(pdu).filter { Self.whole($0.type) == type }
    guard let first = found.first else { throw Fault(code: 0x0A, handle: Self.word(pdu, 1)) }
    try checkRead(first)
    let longest = min(mtu - 4, 253)
    let length = min(first.value.count, longest)
    var response: [UInt8] = [0x09, UInt8(2 + length)]
    for attribute in found {
      var isAlone = false
      // A value of the application is in a response of its own.
      if case .application = attribute.rule { isAlone = true }
      guard !isAlone || attribute.handle == first.handle, fault(attribute.read, otherwise: 0x02) == nil,
        min(attribute.value.count, longest) == length, response.count + 2 + length <= mtu
      else { break }
      response += Self.octets(attribute.handle) + attribute.value.prefix(length)
      if isAlone { break }
    }
    return response
  }

  private mutating func readMultiple(_ pdu: [UInt8], hasLengths: Bool) throws -> [UInt8] {
    var values: [UInt8] = []
    for place in stride(from: 1, to: pdu.count, by: 2) {
      let attribute = try attribute(Self.word(pdu, place))
      try checkRead(attribute)
      values += (hasLengths ? Self.octets(attribute.value.count) : []) + attribute.value
    }
    return [pdu[0] + 1] + values.prefix(mtu - 1)
  }
}

/// Writing (Vol 3, Part F, 3.4.5 and 3.4.6).
extension ServerModel {
  private func checkWrite(_ attribute: Attribute) throws {
    if let code = fault(attribute.write, otherwise: 0x03) { throw Fault(code: code, handle: attribute.handle) }
  }

  private mutating func store(_ value: [UInt8], _ handle: Int) {
    for index in attributes.indices where attributes[index].handle == handle { attributes[index].value = value }
  }

  /// The value of a Client Characteristic Configuration descriptor after a write.
  private func configuration(_ value: [UInt8], allowed: UInt8, _ handle: Int) throws -> [UInt8] {
    guard value.count == 2 else { throw Fault(code: 0x0D, handle: handle) }
    guard value[0] & 0x03 & ~allowed == 0 else { throw Fault(code: 0xFD, handle: handle) }
    return [value[0] & 0x03, 0]
  }

  private mutating func write(_ pdu: [UInt8]) throws -> [UInt8] {
    let (attribute, value) = (try attribute(Self.word(pdu, 1)), Array(pdu[3...]))
    try checkWrite(attribute)
    switch attribute.rule {
    case .constant: throw Fault(code: 0x03, handle: attribute.handle)
    case .application:
      guard value.count <= 512 else { throw Fault(code: 0x0D, handle: attribute.handle) }
      store(value, attribute.handle)
    case .clientConfiguration(let allowed):
      store(try configuration(value, allowed: allowed, attribute.handle), attribute.handle)
    case .stored(let lengths):
      if lengths.lowerBound == lengths.upperBound, value.count < lengths.lowerBound {
        // Of a value of fixed length the first octets are written.
        store(value + attribute.value.dropFirst(value.count), attribute.handle)
      } else {
        guard lengths.contains(value.count) else { throw Fault(code: 0x0D, handle: attribute.handle) }
        store(value, attribute.handle)
      }
    }
    return [0x13]
  }

  private mutating func prepare(_ pdu: [UInt8]) throws -> [UInt8] {
    let attribute = try attribute(Self.word(pdu, 1))
    try checkWrite(attribute)
    let value = Array(pdu[5...])
    guard parts.count < maximumParts, parts.reduce(value.count, { $0 + $1.value.count }) <= maximumOctets else {
      throw Fault(code: 0x09, handle: attribute.handle)
    }
    parts.append(Part(handle: attribute.handle, offset: Self.word(pdu, 3), value: value))
    return [0x17] + pdu.dropFirst()
  }

  private mutating func execute(_ pdu: [UInt8]) throws -> [UInt8] {
    guard pdu[1] <= 1 else { throw Fault.invalidPDU() }
    let queue = parts
    parts = []
    guard pdu[1] == 1 else { return [0x19] }
    // The queue is executed as a whole: on a copy, which replaces the table at the end.
    var (table, begun) = (self, Set<Int>())
    for part in queue { try table.apply(part, isFirst: begun.insert(part.handle).inserted) }
    for handle in queue.map(\.handle).unique { try table.checkWhole(handle) }
    self = table
    return [0x19]
  }

  private mutating func apply(_ part: Part, isFirst: Bool) throws {
    let attribute = try attribute(part.handle)
    try checkWrite(attribute)
    var value = attribute.value
    switch attribute.rule {
    case .constant: throw Fault(code: 0x03, handle: part.handle)
    case .application:
      guard part.offset <= 512 else { throw Fault(code: 0x07, handle: part.handle) }
      if part.offset == 0 { value = [] }
      // The application fills a gap with zeros.
      value = value.prefix(part.offset) + [UInt8](repeating: 0, count: max(0, part.offset - value.count)) + part.value
    case .stored(let lengths):
      if isFirst, part.offset == 0, lengths.count > 1 { value = [] }
      guard part.offset <= value.count else { throw Fault(code: 0x07, handle: part.handle) }
      value = value.prefix(part.offset) + part.value + value.dropFirst(part.offset + part.value.count)
    case .clientConfiguration:
      if isFirst, part.offset == 0 { value = [] }
      guard part.offset <= value.count else { throw Fault(code: 0x07, handle: part.handle) }
      value = value.prefix(part.offset) + part.value + value.dropFirst(part.offset + part.value.count)
    }
    guard part.offset + part.value.count <= 512, value.count <= 512 else {
      throw Fault(code: 0x0D, handle: part.handle)
    }
    store(value, part.handle)
  }

  /// The rules for the whole value after all parts.
  private mutating func checkWhole(_ handle: Int) throws {
    let attribute = try attribute(handle)
    switch attribute.rule {
    case .stored(let lengths):
      guard lengths.contains(attribute.value.count) else { throw Fault(code: 0x0D, handle: handle) }
    case .clientConfiguration(let allowed):
      store(try configuration(attribute.value, allowed: allowed, handle), handle)
    case .constant, .application: break
    }
  }
}

extension ServerModel {
  static func word(_ octets: [UInt8], _ place: Int) -> Int { Int(octets[place]) | Int(octets[place + 1]) << 8 }

  static func octets(_ number: Int) -> [UInt8] { [UInt8(number & 0xFF), UInt8(number >> 8 & 0xFF)] }

  /// A UUID of two octets as one of 16 octets (Vol 3, Part B, 2.5.1).
  static func whole(_ uuid: [UInt8]) -> [UInt8] {
    let base: [UInt8] = [0xFB, 0x34, 0x9B, 0x5F, 0x80, 0x00, 0x00, 0x80, 0x00, 0x10, 0x00, 0x00]
    return uuid.count == 2 ? base + uuid + [0, 0] : uuid
  }
}

extension [Int] {
  /// The elements in order, each once.
  fileprivate var unique: [Int] { reduce(into: []) { if !$0.contains($1) { $0.append($1) } } }
}
