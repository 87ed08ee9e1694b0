/// Fields in wire order: a packet, or a part of a packet that repeats.
public protocol FieldGroup: Equatable, Sendable {
  /// The group with the default value in each field.
  init()

  /// Declares the fields once, in wire order; a ``FieldVisitor`` decodes, encodes or describes them.
  mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure)
}

/// An operation on the fields of a packet, in wire order: decoding, encoding, description or random values.
///
/// Numbers are sent least significant octet first, as in every layer above the Link Layer of Bluetooth LE.
public protocol FieldVisitor {
  /// The error of the operation: ``CodecError`` for decoding, `Never` for the others.
  associatedtype Failure: Error

  /// A number of `T.bitWidth / 8` octets.
  mutating func integer<T: FixedWidthInteger>(_ name: FieldName, _ value: inout T) throws(Failure)

  /// A number of `octets` octets (1 to 4) in a wider Swift type, such as the 24-bit intervals of HCI.
  mutating func integer(_ name: FieldName, octets: Int, _ value: inout UInt32) throws(Failure)

  /// A field whose Swift type wraps a number of `R.RawValue.bitWidth / 8` octets: a handle, an error code, a set of
  /// flags.
  mutating func value<R: RawRepresentable>(_ name: FieldName, _ value: inout R) throws(Failure)
  where R.RawValue: FixedWidthInteger

  /// Such a field whose type describes its values. A visitor for which the description does not matter treats it as
  /// any other.
  mutating func value<R: RawRepresentable & CustomStringConvertible>(
    _ name: FieldName, _ value: inout R
  ) throws(Failure) where R.RawValue: FixedWidthInteger

  /// Exactly `count` octets.
  mutating func octets(_ name: FieldName, count: Int, _ value: inout Bytes) throws(Failure)

  /// All remaining octets.
  mutating func rest(_ name: FieldName, _ value: inout Bytes) throws(Failure)

  /// One octet with a count, then that number of octets.
  mutating func counted(_ name: FieldName, _ value: inout Bytes) throws(Failure)

  /// One octet with the count of significant octets, then a block of `size` octets, zero after the significant ones.
  mutating func padded(_ name: FieldName, size: Int, _ value: inout Bytes) throws(Failure)

  /// `count` groups of fields, one after the other.
  mutating func list<Group: FieldGroup>(_ name: FieldName, count: Int, _ groups: inout [Group]) throws(Failure)

  /// One octet with a count, then that number of groups of fields.
  mutating func counted<Group: FieldGroup>(_ name: FieldName, _ groups: inout [Group]) throws(Failure)

  /// Groups of fields up to the last octet.
  mutating func rest<Group: FieldGroup>(_ name: FieldName, _ groups: inout [Group]) throws(Failure)

  /// Groups of fields up to the last octet: at least `minimum` of them, each of `size` octets if a size is given.
  ///
  /// In a group of a given size, the `rest` methods mean the rest of that group.
  mutating func rest<Group: FieldGroup>(
    _ name: FieldName, atLeast minimum: Int, each size: Int?, _ groups: inout [Group]
  ) throws(Failure)

  /// All remaining octets but the last `count`.
  mutating func rest(_ name: FieldName, leaving count: Int, _ value: inout Bytes) throws(Failure)

  /// A UUID of 16 or 128 bits in all remaining octets.
  mutating func rest(_ name: FieldName, _ uuid: inout BluetoothUUID) throws(Failure)

  /// A UUID of the given size.
  mutating func uuid(_ name: FieldName, size: BluetoothUUID.Size, _ uuid: inout BluetoothUUID) throws(Failure)
}

extension FieldVisitor {
  @inlinable public mutating func value<R: RawRepresentable & CustomStringConvertible>(
    _ name: FieldName, _ value: inout R
  ) throws(Failure) where R.RawValue: FixedWidthInteger {
    try number(name, &value)
  }

  @inlinable mutating func number<R: RawRepresentable>(_ name: FieldName, _ value: inout R) throws(Failure)
  where R.RawValue: FixedWidthInteger {
    try self.value(name, &value)
  }
}
