/// Walks the fields of a packet in wire order: reads them, writes them, describes them or fills them at random.
///
/// Numbers travel least significant octet first, as everywhere above the link layer of Bluetooth LE.
public protocol FieldVisitor {
  /// What a walk can fail with: `CodecError` for reading, `Never` for the others.
  associatedtype Failure: Error

  /// A number of `T.bitWidth / 8` octets.
  mutating func integer<T: FixedWidthInteger>(_ name: FieldName, _ value: inout T) throws(Failure)

  /// A number of `octets` octets (1 to 4) in a wider Swift type, such as the 24-bit intervals of HCI.
  mutating func integer(_ name: FieldName, octets: Int, _ value: inout UInt32) throws(Failure)

  /// A field whose Swift type wraps a number: a handle, an error code, a set of flags.
  mutating func value<R: RawRepresentable>(_ name: FieldName, _ value: inout R) throws(Failure)
  where R.RawValue: FixedWidthInteger

  /// Exactly `count` octets.
  mutating func octets(_ name: FieldName, count: Int, _ value: inout Bytes) throws(Failure)

  /// Every octet that is left.
  mutating func rest(_ name: FieldName, _ value: inout Bytes) throws(Failure)

  /// One octet that counts, then so many octets.
  mutating func counted(_ name: FieldName, _ value: inout Bytes) throws(Failure)

  /// One octet that counts the significant octets, then a block of `size` octets, zero behind the significant ones.
  mutating func padded(_ name: FieldName, size: Int, _ value: inout Bytes) throws(Failure)

  /// `count` groups of fields, one behind the other.
  mutating func list<Group: FieldGroup>(_ name: FieldName, count: Int, _ groups: inout [Group]) throws(Failure)

  /// One octet that counts, then so many groups of fields.
  mutating func counted<Group: FieldGroup>(_ name: FieldName, _ groups: inout [Group]) throws(Failure)

  /// Groups of fields until the octets end.
  mutating func rest<Group: FieldGroup>(_ name: FieldName, _ groups: inout [Group]) throws(Failure)

  /// Groups of fields until the octets end: `minimum` of them or more, each `size` octets long where a size is given.
  /// Inside a group of given size, `rest` means the rest of that group.
  mutating func rest<Group: FieldGroup>(
    _ name: FieldName, atLeast minimum: Int, each size: Int?, _ groups: inout [Group]
  ) throws(Failure)

  /// Every octet that is left but the last `count`.
  mutating func rest(_ name: FieldName, leaving count: Int, _ value: inout Bytes) throws(Failure)

  /// A UUID of 16 or 128 bits that fills what is left.
  mutating func rest(_ name: FieldName, _ uuid: inout BluetoothUUID) throws(Failure)

  /// A UUID of the given size.
  mutating func uuid(_ name: FieldName, size: BluetoothUUID.Size, _ uuid: inout BluetoothUUID) throws(Failure)
}

/// Fields that belong together, in wire order: a packet, or the part of one that repeats.
public protocol FieldGroup: Equatable, Sendable {
  init()

  /// States the fields once, in wire order; every ``FieldVisitor`` walks them.
  mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure)
}

extension FieldGroup {
  /// Whether `other` has the same type and equal fields.
  public func isEqual(to other: any FieldGroup) -> Bool { other as? Self == self }
}
