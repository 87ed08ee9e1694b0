/// Decodes the fields of a packet from octets.
public struct PacketDecoder: FieldVisitor {
  /// The octets after the fields that have been decoded.
  public var remaining: Bytes

  /// A decoder at the first of `bytes`.
  @inlinable public init(_ bytes: Bytes) { remaining = bytes }

  @inlinable public mutating func integer<T: FixedWidthInteger>(
    _ name: FieldName, _ value: inout T
  ) throws(CodecError) {
    let size = T.bitWidth / 8
    guard remaining.count >= size else { throw .truncated(field: name) }
    let start = remaining.startIndex
    var result: T = 0
    for index in 0..<size {
      result |= T(truncatingIfNeeded: remaining[start + index]) &<< T(truncatingIfNeeded: index * 8)
    }
    value = result
    remaining = remaining[(start + size)...]
  }

  @inlinable public mutating func integer(
    _ name: FieldName, octets: Int, _ value: inout UInt32
  ) throws(CodecError) {
    let taken = try take(octets, name)
    value = taken.reversed().reduce(0) { $0 << 8 | UInt32($1) }
  }

  @inlinable public mutating func value<R: RawRepresentable>(
    _ name: FieldName, _ value: inout R
  ) throws(CodecError) where R.RawValue: FixedWidthInteger {
    var raw = value.rawValue
    try integer(name, &raw)
    guard let new = R(rawValue: raw) else { throw .invalid(field: name) }
    value = new
  }

  @inlinable public mutating func octets(
    _ name: FieldName, count: Int, _ value: inout Bytes
  ) throws(CodecError) {
    value = try take(count, name)
  }

  @inlinable public mutating func rest(_ name: FieldName, _ value: inout Bytes) throws(CodecError) {
    value = remaining
    remaining = []
  }

  @inlinable public mutating func counted(_ name: FieldName, _ value: inout Bytes) throws(CodecError) {
    var count: UInt8 = 0
    try integer(name, &count)
    value = try take(Int(count), name)
  }

  @inlinable public mutating func padded(
    _ name: FieldName, size: Int, _ value: inout Bytes
  ) throws(CodecError) {
    var count: UInt8 = 0
    try integer(name, &count)
    let block = try take(size, name)
    guard Int(count) <= size else { throw .invalid(field: name) }
    value = block.prefix(Int(count))
  }

  @inlinable public mutating func list<Group: FieldGroup>(
    _ name: FieldName, count: Int, _ groups: inout [Group]
  ) throws(CodecError) {
    groups = []
    for _ in 0..<max(0, count) { groups.append(try group()) }
  }

  @inlinable public mutating func counted<Group: FieldGroup>(
    _ name: FieldName, _ groups: inout [Group]
  ) throws(CodecError) {
    var count: UInt8 = 0
    try integer(name, &count)
    try list(name, count: Int(count), &groups)
  }

  @inlinable public mutating func rest<Group: FieldGroup>(
    _ name: FieldName, _ groups: inout [Group]
  ) throws(CodecError) {
    groups = []
    while !remaining.isEmpty {
      let before = remaining.count
      groups.append(try group())
      guard remaining.count < before else { throw .invalid(field: name) }
    }
  }

  @inlinable public mutating func rest<Group: FieldGroup>(
    _ name: FieldName, atLeast minimum: Int, each size: Int?, _ groups: inout [Group]
  ) throws(CodecError) {
    groups = []
    while !remaining.isEmpty || groups.count < minimum {
      let before = remaining.count
      if let size {
        var part = Self(try take(size, name))
        groups.append(try part.group())
        guard part.remaining.isEmpty else { throw .trailing(count: part.remaining.count) }
      } else {
        groups.append(try group())
      }
      guard remaining.count < before else { throw .invalid(field: name) }
    }
  }

  @inlinable public mutating func rest(
    _ name: FieldName, leaving count: Int, _ value: inout Bytes
  ) throws(CodecError) {
    guard remaining.count >= count else { throw .truncated(field: name) }
    value = try take(remaining.count - count, name)
  }

  @inlinable public mutating func rest(_ name: FieldName, _ uuid: inout BluetoothUUID) throws(CodecError) {
    switch remaining.count {
    case 2: try self.uuid(name, size: .uuid16, &uuid)
    case 16: try self.uuid(name, size: .uuid128, &uuid)
    case 0, 1: throw .truncated(field: name)
    default: throw .invalid(field: name)
    }
  }

  @inlinable public mutating func uuid(
    _ name: FieldName, size: BluetoothUUID.Size, _ uuid: inout BluetoothUUID
  ) throws(CodecError) {
    guard let read = BluetoothUUID(littleEndian: try take(size.rawValue, name)) else { throw .invalid(field: name) }
    uuid = read
  }

  @inlinable mutating func group<Group: FieldGroup>() throws(CodecError) -> Group {
    var group = Group()
    try group.layout(&self)
    return group
  }

  @inlinable mutating func take(_ count: Int, _ name: FieldName) throws(CodecError) -> Bytes {
    guard count >= 0, remaining.count >= count else { throw .truncated(field: name) }
    let taken = remaining.prefix(count)
    remaining = remaining.dropFirst(count)
    return taken
  }
}
