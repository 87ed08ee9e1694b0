/// Fills the fields of a packet at random, so that every declared packet can be round-tripped by a test.
struct RandomFiller<Source: RandomNumberGenerator>: FieldVisitor {
  var source: Source

  init(_ source: Source) { self.source = source }

  mutating func integer<T: FixedWidthInteger>(_ name: FieldName, _ value: inout T) throws(Never) {
    value = .random(in: .min ... .max, using: &source)
  }

  mutating func integer(_ name: FieldName, octets: Int, _ value: inout UInt32) throws(Never) {
    value = .random(in: .min ... .max, using: &source) >> UInt32(32 - octets * 8)
  }

  /// Draws until the type takes the number; the packet's own default stays where none of 256 draws fits.
  mutating func value<R: RawRepresentable>(
    _ name: FieldName, _ value: inout R
  ) throws(Never) where R.RawValue: FixedWidthInteger {
    for _ in 0..<256 {
      if let drawn = R(rawValue: .random(in: .min ... .max, using: &source)) {
        value = drawn
        return
      }
    }
  }

  mutating func octets(_ name: FieldName, count: Int, _ value: inout Bytes) throws(Never) { value = draw(count) }

  mutating func rest(_ name: FieldName, _ value: inout Bytes) throws(Never) {
    value = draw(.random(in: 0...40, using: &source))
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

  private mutating func draw(_ count: Int) -> Bytes {
    var drawn: Bytes = []
    for _ in 0..<count { drawn.append(.random(in: .min ... .max, using: &source)) }
    return drawn
  }
}
