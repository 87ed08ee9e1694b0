import BLEHCI
import BLEWire

/// The content of a btsnoop file, one line for each packet.
func lines(of capture: Bytes) throws -> [String] {
  var lines: [String] = []
  var start: Int64?
  for record in try BTSnoopFile(capture) {
    start = start ?? record.microseconds
    let milliseconds = (record.microseconds - (start ?? 0)) / 1000
    let arrow = record.direction == .hostToController ? "→" : "←"
    lines.append("\(milliseconds) ms \(arrow) \(try text(of: record.packet))")
  }
  return lines
}

/// One packet as text: a command, an event, or the header of data.
func text(of octets: Bytes) throws -> String {
  switch try HCIPacket(decoding: octets) {
  case .command(let packet):
    let fields = try packet.decoded()?.fieldLines ?? [packet.parameters.hexadecimal]
    return "\(packet.opcode) \(fields.joined(separator: ", "))"
  case .event(let packet): return "\(try HCIEvent(packet))"
  case .aclData(let packet): return "ACL data, link \(packet.connectionHandle), \(packet.data.count) octets"
  case .synchronousData, .isoData: return "data of another link type"
  }
}
