public import BLEWire

extension PacketBuffer {
  /// Appends a command as a whole H4 packet: type octet, opcode, length, parameters.
  public mutating func append(_ command: some HCICommand) {
    append { $0.append(hci: command) }
  }

  /// Appends an event as a whole H4 packet: packet indicator, event code, length, parameters.
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
  /// Appends a command as a whole H4 packet.
  public mutating func append(hci command: some HCICommand) {
    append(HCIPacketType.command.rawValue)
    append(littleEndian: type(of: command).opcode.rawValue)
    appendCounted { command.encode(to: &$0) }
  }

  /// Appends an event as a whole H4 packet.
  public mutating func append(hci event: some HCIEventParameters) {
    append(HCIPacketType.event.rawValue)
    append(type(of: event).eventCode.rawValue)
    appendCounted { event.encodeEventParameters(to: &$0) }
  }

  /// Writes a length octet and what it counts. Parameters past 255 octets are cut, so that the length is always true
  /// and the stream stays in step; the receiver refuses the packet.
  private mutating func appendCounted(_ write: (inout [UInt8]) -> Void) {
    let length = count
    append(0)
    write(&self)
    let excess = count - length - 1 - 255
    if excess > 0 { removeLast(excess) }
    self[length] = UInt8(clamping: count - length - 1)
  }
}
