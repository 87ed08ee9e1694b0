internal import BLEWire

/// How the octets of a field are delimited.
enum ProtobufWireType: UInt64 {
  case varint = 0
  case fixed64 = 1
  case delimited = 2
  case fixed32 = 5
}

/// Decodes the fields of a message, in any order.
///
/// A pass over the declaration decodes each field whose turn has come in the octets. Senders write fields by ascending
/// number, so that one pass decodes all of them. A pass that decodes none means that the next field is unknown, and
/// skips it.
struct ProtobufDecoder: ProtobufVisitor {
  private var remaining: Bytes
  /// The number and the wire type of the next field, whose value begins at `remaining`; nil at the end.
  private var next: (number: Int, type: ProtobufWireType)?

  init(_ bytes: Bytes) throws(ProtobufError) {
    remaining = bytes
    try readTag()
  }

  mutating func decode<Message: ProtobufMessage>(_ message: inout Message) throws(ProtobufError) {
    while next != nil {
      let before = remaining.startIndex
      try message.fields(&self)
      if remaining.startIndex == before { try skip() }
    }
  }

  mutating func uint32(_ number: Int, _ value: inout UInt32) throws(ProtobufError) {
    while isNext(number, .varint) { value = UInt32(truncatingIfNeeded: try fieldVarint()) }
  }
  mutating func uint64(_ number: Int, _ value: inout UInt64) throws(ProtobufError) {
    while isNext(number, .varint) { value = try fieldVarint() }
  }
  mutating func int32(_ number: Int, _ value: inout Int32) throws(ProtobufError) {
    while isNext(number, .varint) { value = Int32(truncatingIfNeeded: try fieldVarint()) }
  }
  mutating func sint32(_ number: Int, _ value: inout Int32) throws(ProtobufError) {
    while isNext(number, .varint) {
      let raw = UInt32(truncatingIfNeeded: try fieldVarint())
      value = Int32(bitPattern: raw >> 1) ^ -Int32(bitPattern: raw & 1)
    }
  }
  mutating func bool(_ number: Int, _ value: inout Bool) throws(ProtobufError) {
    while isNext(number, .varint) { value = try fieldVarint() != 0 }
  }
  mutating func fixed32(_ number: Int, _ value: inout UInt32) throws(ProtobufError) {
    while isNext(number, .fixed32) {
      value = try take(4).reversed().reduce(0) { $0 << 8 | UInt32($1) }
      try readTag()
    }
  }
  mutating func float(_ number: Int, _ value: inout Float) throws(ProtobufError) {
    var bits = value.bitPattern
    try fixed32(number, &bits)
    value = Float(bitPattern: bits)
  }
  mutating func string(_ number: Int, _ value: inout String) throws(ProtobufError) {
    while isNext(number, .delimited) {
      guard let text = String(validating: try delimited(), as: UTF8.self) else { throw .invalidText(field: number) }
      value = text
      try readTag()
    }
  }
  mutating func bytes(_ number: Int, _ value: inout Bytes) throws(ProtobufError) {
    while isNext(number, .delimited) {
      value = try delimited()
      try readTag()
    }
  }
  mutating func enumeration<Value: RawRepresentable<UInt32>>(
    _ number: Int, _ value: inout Value
  ) throws(ProtobufError) {
    while isNext(number, .varint) {
      value = Value(rawValue: UInt32(truncatingIfNeeded: try fieldVarint())) ?? value
    }
  }
  mutating func uint64s(_ number: Int, _ values: inout [UInt64]) throws(ProtobufError) {
    while true {
      if isNext(number, .varint) {
        values.append(try fieldVarint())
      } else if isNext(number, .delimited) {
        var list = Self(untagged: try delimited())
        while !list.remaining.isEmpty { values.append(try list.varint()) }
        try readTag()
      } else {
        return
      }
    }
  }
  mutating func messages<Message: ProtobufMessage>(
    _ number: Int, _ values: inout [Message]
  ) throws(ProtobufError) {
    while isNext(number, .delimited) {
      values.append(try Message(decoding: try delimited()))
      try readTag()
    }
  }

  // MARK: Parts of a field

  private init(untagged bytes: Bytes) { remaining = bytes }

  private func isNext(_ number: Int, _ type: ProtobufWireType) -> Bool {
    guard let next else { return false }
    return next.number == number && next.type == type
  }

  private mutating func readTag() throws(ProtobufError) {
    guard !remaining.isEmpty else { return next = nil }
    let tag = try varint()
    let number = tag >> 3
    guard let type = ProtobufWireType(rawValue: tag & 7), number > 0, number < 1 << 29 else { throw .invalidTag(tag) }
    next = (Int(number), type)
  }

  private mutating func skip() throws(ProtobufError) {
    switch next?.type {
    case .varint?: _ = try varint()
    case .fixed64?: _ = try take(8)
    case .delimited?: _ = try delimited()
    case .fixed32?: _ = try take(4)
    case nil: return
    }
    try readTag()
  }

  /// A value, and the tag behind it.
  private mutating func fieldVarint() throws(ProtobufError) -> UInt64 {
    let value = try varint()
    try readTag()
    return value
  }

  private mutating func varint() throws(ProtobufError) -> UInt64 {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while let octet = remaining.popFirst() {
      // The tenth octet has bit 63 alone.
      guard shift < 63 || octet <= 1 else { throw .numberTooLong }
      value |= UInt64(octet & 0x7F) &<< shift
      if octet & 0x80 == 0 { return value }
      shift += 7
    }
    throw .truncated
  }

  private mutating func delimited() throws(ProtobufError) -> Bytes {
    let count = try varint()
    guard count <= UInt64(remaining.count) else { throw .truncated }
    return try take(Int(count))
  }

  private mutating func take(_ count: Int) throws(ProtobufError) -> Bytes {
    guard remaining.count >= count else { throw .truncated }
    defer { remaining = remaining.dropFirst(count) }
    return remaining.prefix(count)
  }
}

/// Appends the fields of a message to a buffer.
struct ProtobufEncoder: ProtobufVisitor {
  typealias Failure = Never

  private var octets: [UInt8]

  /// Takes the buffer, so that appending does not copy it.
  init(taking buffer: inout [UInt8]) {
    octets = []
    swap(&octets, &buffer)
  }

  mutating func returnBuffer(to buffer: inout [UInt8]) { swap(&octets, &buffer) }

  mutating func uint32(_ number: Int, _ value: inout UInt32) {
    if value != 0 { field(number, UInt64(value)) }
  }
  mutating func uint64(_ number: Int, _ value: inout UInt64) {
    if value != 0 { field(number, value) }
  }
  mutating func int32(_ number: Int, _ value: inout Int32) {
    if value != 0 { field(number, UInt64(bitPattern: Int64(value))) }
  }
  mutating func sint32(_ number: Int, _ value: inout Int32) {
    if value != 0 { field(number, UInt64(UInt32(bitPattern: value << 1 ^ value >> 31))) }
  }
  mutating func bool(_ number: Int, _ value: inout Bool) {
    if value { field(number, 1) }
  }
  mutating func fixed32(_ number: Int, _ value: inout UInt32) {
    guard value != 0 else { return }
    tag(number, .fixed32)
    octets.append(littleEndian: value)
  }
  mutating func float(_ number: Int, _ value: inout Float) {
    // Minus zero is not the default value.
    var bits = value.bitPattern
    fixed32(number, &bits)
  }
  mutating func string(_ number: Int, _ value: inout String) {
    guard !value.isEmpty else { return }
    delimited(number, value.utf8)
  }
  mutating func bytes(_ number: Int, _ value: inout Bytes) {
    if !value.isEmpty { delimited(number, value) }
  }
  mutating func enumeration<Value: RawRepresentable<UInt32>>(_ number: Int, _ value: inout Value) {
    if value.rawValue != 0 { field(number, UInt64(value.rawValue)) }
  }
  mutating func uint64s(_ number: Int, _ values: inout [UInt64]) {
    guard !values.isEmpty else { return }
    tag(number, .delimited)
    let start = beginDelimited()
    for value in values { varint(value) }
    endDelimited(from: start)
  }
  mutating func messages<Message: ProtobufMessage>(_ number: Int, _ values: inout [Message]) {
    for index in values.indices {
      tag(number, .delimited)
      let start = beginDelimited()
      values[index].fields(&self)
      endDelimited(from: start)
    }
  }

  // MARK: Parts of a field

  private mutating func tag(_ number: Int, _ type: ProtobufWireType) {
    varint(UInt64(number) << 3 | type.rawValue)
  }

  private mutating func field(_ number: Int, _ value: UInt64) {
    tag(number, .varint)
    varint(value)
  }

  private mutating func delimited(_ number: Int, _ value: some Collection<UInt8>) {
    tag(number, .delimited)
    varint(UInt64(value.count))
    octets.append(contentsOf: value)
  }

  private mutating func varint(_ value: UInt64) { octets.append(varint: value) }

  /// Leaves one octet for the length, which is enough below 128.
  private mutating func beginDelimited() -> Int {
    octets.append(0)
    return octets.count
  }

  private mutating func endDelimited(from start: Int) {
    let count = octets.count - start
    octets[start - 1] = UInt8(count & 0x7F) | (count > 0x7F ? 0x80 : 0)
    guard count > 0x7F else { return }
    var rest: [UInt8] = []
    rest.append(varint: UInt64(count >> 7))
    octets.insert(contentsOf: rest, at: start)
  }
}

extension [UInt8] {
  /// Appends a number of variable length: seven bits an octet, the least significant ones first.
  mutating func append(varint value: UInt64) {
    var value = value
    while value > 0x7F {
      append(UInt8(truncatingIfNeeded: value) | 0x80)
      value >>= 7
    }
    append(UInt8(value))
  }
}
