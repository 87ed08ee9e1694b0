public import BLEWire

extension PacketBuffer {
  /// Appends a command as an H4 packet: packet indicator, opcode, length, parameters.
  public mutating func append(_ command: some HCICommand) {
    append { $0.append(hci: command) }
  }

  /// Appends an event as an H4 packet: packet indicator, event code, length, parameters.
  public mutating func append(_ event: some HCIEventParameters) {
    append { $0.append(hci: event) }
  }

  /// Appends the Command Complete event that answers a `Command`.
  public mutating func append<Command: HCICommand>(
    completing command: Command.Type, with response: Command.Response, credits: UInt8 = 1
  ) {
    append(
      HCI.CommandComplete {
        $0.numHCICommandPackets = credits
        $0.opcode = Command.opcode
        $0.returnParameters = response.encoded[...]
      })
  }
}

extension Array where Element == UInt8 {
  /// Appends a command as an H4 packet.
  public mutating func append<Command: HCICommand>(hci command: Command) {
    append(HCIPacketType.command.rawValue)
    append(littleEndian: Command.opcode.rawValue)
    appendCounted { command.encode(to: &$0) }
  }

  /// Appends an event as an H4 packet.
  public mutating func append<Event: HCIEventParameters>(hci event: Event) {
    append(HCIPacketType.event.rawValue)
    append(Event.eventCode.rawValue)
    appendCounted { event.encodeEventParameters(to: &$0) }
  }

  /// Appends a length octet and the octets that `write` appends. Octets after the 255th are cut, so that the length is
  /// always correct and the next packet of the stream is found; the receiver rejects the packet.
  private mutating func appendCounted(_ write: (inout [UInt8]) -> Void) {
    let length = count
    append(0)
    write(&self)
    let excess = count - length - 1 - 255
    if excess > 0 { removeLast(excess) }
    self[length] = UInt8(clamping: count - length - 1)
  }
}

extension DeviceAddress {
  /// 00:00:00:00:00:00 (public): the value of an address field without a meaning.
  static let zero = Self(octets: BD_ADDR(), kind: .public)
}

extension FieldVisitor {
  /// An octet with the address type, then the six octets of the address.
  mutating func address(_ typeName: FieldName, _ address: inout DeviceAddress) throws(Failure) {
    try value(typeName, &address.kind)
    try address.octets.layout(&self)
  }

  /// An octet with the value 0x00 or 0x01; any other value is an error.
  mutating func flag(_ name: FieldName, _ flag: inout Bool) throws(Failure) {
    var raw: Switch = flag ? .on : .off
    try value(name, &raw)
    flag = raw == .on
  }

  /// One octet with a count, then at most `limit` octets. A longer value is cut when it is encoded, so that all fields
  /// fit in the 255 octets of a packet; when it is decoded, it is an error.
  mutating func counted(_ name: FieldName, limit: Int, _ octets: inout Bytes) throws(Failure) {
    if octets.count > limit { octets = octets.prefix(limit) }
    try counted(name, &octets)
    if octets.count > limit {
      var refused = NoValue()
      try value(name, &refused)
    }
  }
}

/// A field that accepts no octet.
private struct NoValue: RawRepresentable {
  var rawValue: UInt8 { 0 }
  init() {}
  init?(rawValue: UInt8) { nil }
}

/// The two values of a flag octet.
private enum Switch: UInt8, CustomStringConvertible {
  case off, on

  var description: String { self == .on ? "on" : "off" }
}
