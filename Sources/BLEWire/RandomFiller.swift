/// Fills the fields of a packet with random values, so that a test can encode and decode every declared packet.
struct RandomFiller<Source: RandomNumberGenerator>: FieldVisitor {
  var source: Source
  /// The remaining octets of the group of a given size that is being filled; nil outside such a group.
  private var remaining: Int?

  init(_ source: Source) { self.source = source }

  mutating func integer<T: FixedWidthInteger>(_ name: FieldName, _ value: inout T) throws(Never) {
    value = .random(in: .min ... .max, using: &source)
    take(T.bitWidth / 8)
  }

  mutating func integer(_ name: FieldName, octets: Int, _ value: inout UInt32) throws(Never) {
    value = .random(in: .min ... .max, using: &source) >> UInt32(32 - octets * 8)
    take(octets)
  }

  /// Draws until the type accepts the number. After 256 rejected numbers the packet's default value stays.
  mutating func value<R: RawRepresentable>(
    _ name: FieldName, _ value: inout R
  ) throws(Never) where R.RawValue: FixedWidthInteger {
    take(R.RawValue.bitWidth / 8)
    for _ in 0..<256 {
      if let drawn = R(rawValue: .random(in: .min ... .max, using: &source)) {
        value = drawn
        return
      }
    }
  }

  mutating func octets(_ name: FieldName, count: Int, _ value: inout Bytes) throws(Never) { value = draw(count) }

  mutating func rest(_ name: FieldName, _ value: inout Bytes) throws(Never) {
    value = draw(remaining ?? .random(in: 0...40, using: &source))
  }

  mutating func counted(_ name: FieldName, _ value: inout Bytes) throws(Never) {
    value = draw(.random(in: 0...40, using: &source))
  }

  mutating func padded(_ name: FieldName, size: Int, _ value: inout Bytes) throws(Never) {
    value = draw(.random(in: 0...size, using: &source))
  }

  mutating func list<Group: FieldGroup>(_ name: FieldName, count: Int, _ groups: inout [Group]) throws(Never) {
    groups = []
    for _ in 0..<max(0, count) {
      var group = Group()
      group.layout(&self)
      groups.append(group)
    }
  }

  mutating func counted<Group: FieldGroup>(_ name: FieldName, _ groups: inout [Group]) throws(Never) {
    list(name, count: .random(in: 0...4, using: &source), &groups)
  }

  mutating func rest<Group: FieldGroup>(_ name: FieldName, _ groups: inout [Group]) throws(Never) {
    list(name, count: .random(in: 0...4, using: &source), &groups)
  }

  mutating func rest<Group: FieldGroup>(
    _ name: FieldName, atLeast minimum: Int, each size: Int?, _ groups: inout [Group]
  ) throws(Never) {
    groups = []
    for _ in 0..<max(minimum, .random(in: 0...4, using: &source)) {
      var group = Group()
      remaining = size
      group.layout(&self)
      groups.append(group)
    }
    remaining = nil
  }

  mutating func rest(_ name: FieldName, leaving count: Int, _ value: inout Bytes) throws(Never) {
    value = draw(.random(in: 0...40, using: &source))
  }

  mutating func rest(_ name: FieldName, _ uuid: inout BluetoothUUID) throws(Never) {
    let short = remaining.map { $0 < 16 } ?? .random(using: &source)
    self.uuid(name, size: short ? .uuid16 : .uuid128, &uuid)
  }

  mutating func uuid(
    _ name: FieldName, size: BluetoothUUID.Size, _ uuid: inout BluetoothUUID
  ) throws(Never) {
    take(size.rawValue)
    switch size {
    case .uuid16: uuid = BluetoothUUID(.random(in: .min ... .max, using: &source))
    case .uuid32: uuid = BluetoothUUID(uuid32: .random(in: .min ... .max, using: &source))
    case .uuid128: uuid = BluetoothUUID(uuid128: .random(in: .min ... .max, using: &source))
    }
  }

  private mutating func take(_ octets: Int) { remaining = remaining.map { max(0, $0 - octets) } }

  private mutating func draw(_ count: Int) -> Bytes {
    var drawn: Bytes = []
    for _ in 0..<count { drawn.append(.random(in: .min ... .max, using: &source)) }
    return drawn
  }
}
