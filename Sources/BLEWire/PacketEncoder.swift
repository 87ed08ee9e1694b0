/// Encodes the fields of a packet as octets.
///
/// A value that is longer than its field (255 octets in a counted field, the block in a padded field) is cut there. The
/// encoder never traps; the packet types state their limits.
public struct PacketEncoder: FieldVisitor {
  @usableFromInline var buffer: [UInt8]

  /// An encoder that appends to `buffer` in place, without a copy; ``returnBuffer(to:)`` returns the buffer.
  @inlinable public init(taking buffer: inout [UInt8]) {
    self.buffer = []
    swap(&self.buffer, &buffer)
  }

  /// Returns the buffer with the octets that were appended.
  @inlinable public mutating func returnBuffer(to buffer: inout [UInt8]) { swap(&self.buffer, &buffer) }

  @inlinable public mutating func integer<T: FixedWidthInteger>(
    _ name: FieldName, _ value: inout T
  ) throws(Never) {
    buffer.append(littleEndian: value)
  }

  @inlinable public mutating func integer(_ name: FieldName, octets: Int, _ value: inout UInt32) throws(Never) {
    for index in 0..<octets { buffer.append(UInt8(truncatingIfNeeded: value &>> UInt32(index * 8))) }
  }

  @inlinable public mutating func value<R: RawRepresentable>(
    _ name: FieldName, _ value: inout R
  ) throws(Never) where R.RawValue: FixedWidthInteger {
    buffer.append(littleEndian: value.rawValue)
  }

  @inlinable public mutating func octets(_ name: FieldName, count: Int, _ value: inout Bytes) throws(Never) {
    block(value, size: count)
  }

  @inlinable public mutating func rest(_ name: FieldName, _ value: inout Bytes) throws(Never) {
    buffer.append(contentsOf: value)
  }

  @inlinable public mutating func counted(_ name: FieldName, _ value: inout Bytes) throws(Never) {
    let kept = value.prefix(255)
    buffer.append(UInt8(kept.count))
    buffer.append(contentsOf: kept)
  }

  @inlinable public mutating func padded(_ name: FieldName, size: Int, _ value: inout Bytes) throws(Never) {
    buffer.append(UInt8(clamping: min(value.count, size)))
    block(value, size: size)
  }

  @inlinable public mutating func list<Group: FieldGroup>(
    _ name: FieldName, count: Int, _ groups: inout [Group]
  ) throws(Never) {
    for index in groups.indices.prefix(count) { groups[index].layout(&self) }
  }

  @inlinable public mutating func counted<Group: FieldGroup>(
    _ name: FieldName, _ groups: inout [Group]
  ) throws(Never) {
    let count = min(groups.count, 255)
    buffer.append(UInt8(count))
    list(name, count: count, &groups)
  }

  @inlinable public mutating func rest<Group: FieldGroup>(
    _ name: FieldName, _ groups: inout [Group]
  ) throws(Never) {
    list(name, count: groups.count, &groups)
  }

  @inlinable public mutating func rest<Group: FieldGroup>(
    _ name: FieldName, atLeast minimum: Int, each size: Int?, _ groups: inout [Group]
  ) throws(Never) {
    list(name, count: groups.count, &groups)
  }

  @inlinable public mutating func rest(_ name: FieldName, leaving count: Int, _ value: inout Bytes) throws(Never) {
    buffer.append(contentsOf: value)
  }

  @inlinable public mutating func rest(_ name: FieldName, _ uuid: inout BluetoothUUID) throws(Never) {
    uuid.append(to: &buffer)
  }

  @inlinable public mutating func uuid(
    _ name: FieldName, size: BluetoothUUID.Size, _ uuid: inout BluetoothUUID
  ) throws(Never) {
    uuid.append(to: &buffer)
  }

  @inlinable mutating func block(_ value: Bytes, size: Int) {
    let kept = value.prefix(size)
    buffer.append(contentsOf: kept)
    buffer.append(contentsOf: repeatElement(0, count: size - kept.count))
  }
}
