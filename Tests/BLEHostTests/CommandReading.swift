import BLEHCI
import BLEHost
import BLEWire

extension EncodedCommand {
  /// The command, if it is of this type.
  func decoded<Command: HCICommand>(_ type: Command.Type) -> Command? {
    guard opcode == Command.opcode, let packet = try? HCICommandPacket(decoding: octets.dropFirst()) else { return nil }
    return try? packet.decoded() as? Command
  }
}

extension UsableCommands {
  mutating func insert(_ opcode: HCIOpcode) { reported.insert(opcode) }
}
