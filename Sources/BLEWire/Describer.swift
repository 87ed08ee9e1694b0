/// Describes a packet in one line for each field: its octets, its name, its value.
///
/// `0..<2  Attribute Handle: 0x0003` is a field in the first two octets.
public struct Describer: FieldVisitor {
  /// The lines of the fields so far, in wire order.
  public private(set) var lines: [String] = []
  private var offset = 0

  /// A describer at the first octet of a packet.
  public init() {}

  public mutating func integer<T: FixedWidthInteger>(_ name: FieldName, _ value: inout T) throws(Never) {
    add(name, T.bitWidth / 8, "0x" + String(value, radix: 16, uppercase: true))
  }

  public mutating func integer(_ name: FieldName, octets: Int, _ value: inout UInt32) throws(Never) {
    add(name, octets, "0x" + String(value, radix: 16, uppercase: true))
  }

  public mutating func value<R: RawRepresentable>(
    _ name: FieldName, _ value: inout R
  ) throws(Never) where R.RawValue: FixedWidthInteger {
    add(name, R.RawValue.bitWidth / 8, "\(value)")
  }

  public mutating func octets(_ name: FieldName, count: Int, _ value: inout Bytes) throws(Never) {
    add(name, count, value.hexadecimal)
  }

  public mutating func rest(_ name: FieldName, _ value: inout Bytes) throws(Never) {
    add(name, value.count, value.hexadecimal)
  }

  public mutating func counted(_ name: FieldName, _ value: inout Bytes) throws(Never) {
    add(name, 1 + value.count, value.hexadecimal)
  }

  public mutating func padded(_ name: FieldName, size: Int, _ value: inout Bytes) throws(Never) {
    add(name, 1 + size, value.hexadecimal)
  }

  public mutating func list<Group: FieldGroup>(
    _ name: FieldName, count: Int, _ groups: inout [Group]
  ) throws(Never) {
    for index in groups.indices.prefix(count) { groups[index].layout(&self) }
  }

  public mutating func counted<Group: FieldGroup>(_ name: FieldName, _ groups: inout [Group]) throws(Never) {
    add(name, 1, "\(groups.count) entries")
    list(name, count: groups.count, &groups)
  }

  public mutating func rest<Group: FieldGroup>(_ name: FieldName, _ groups: inout [Group]) throws(Never) {
    list(name, count: groups.count, &groups)
  }

  public mutating func rest<Group: FieldGroup>(
    _ name: FieldName, atLeast minimum: Int, each size: Int?, _ groups: inout [Group]
  ) throws(Never) {
    list(name, count: groups.count, &groups)
  }

  public mutating func rest(_ name: FieldName, leaving count: Int, _ value: inout Bytes) throws(Never) {
    add(name, value.count, value.hexadecimal)
  }

  public mutating func rest(_ name: FieldName, _ uuid: inout BluetoothUUID) throws(Never) {
    add(name, uuid.size.rawValue, uuid.uuidString)
  }

  public mutating func uuid(
    _ name: FieldName, size: BluetoothUUID.Size, _ uuid: inout BluetoothUUID
  ) throws(Never) {
    add(name, uuid.size.rawValue, uuid.uuidString)
  }

  private mutating func add(_ name: FieldName, _ size: Int, _ text: String) {
    lines.append("\(offset)..<\(offset + size)  \(name): \(text)")
    offset += size
  }
}
