import BLEWire

extension DeviceAddress {
  /// 00:00:00:00:00:00 (public): what an address field holds where it means nothing.
  static let zero = Self(octets: BD_ADDR(), kind: .public)
}

extension FieldVisitor {
  /// An address type octet and, behind it, the six octets of the address.
  mutating func address(_ typeName: FieldName, _ address: inout DeviceAddress) throws(Failure) {
    try value(typeName, &address.kind)
    try address.octets.layout(&self)
  }

  /// An octet that is 0x00 or 0x01; every other value is refused.
  mutating func flag(_ name: FieldName, _ flag: inout Bool) throws(Failure) {
    var raw: Switch = flag ? .on : .off
    try value(name, &raw)
    flag = raw == .on
  }

  /// One octet that counts, then at most `limit` octets: a longer value is cut there, so that the fields around it
  /// still fit the 255 octets of a packet.
  mutating func counted(_ name: FieldName, limit: Int, _ octets: inout Bytes) throws(Failure) {
    if octets.count > limit { octets = octets.prefix(limit) }
    try counted(name, &octets)
  }
}

/// The two values of a flag octet.
private enum Switch: UInt8 { case off, on }
