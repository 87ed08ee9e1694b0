import BLEWire

/// A command of any type as a host sends it: its octets, and which event answers it.
package struct EncodedCommand: Equatable, Sendable {
  package let opcode: HCIOpcode
  /// Whether a Command Status event answers the command.
  let isAnsweredByStatus: Bool
  /// The H4 packet.
  package let octets: [UInt8]

  package init<Command: HCICommand>(_ command: Command) {
    (opcode, isAnsweredByStatus) = (Command.opcode, Command.isAnsweredByStatus)
    var octets: [UInt8] = []
    octets.append(hci: command)
    self.octets = octets
  }
}
