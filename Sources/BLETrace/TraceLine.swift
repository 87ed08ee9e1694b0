package import BLEHCI
package import BLEWire

/// What a list of packets or a diagram shows of one.
package struct TraceLine: Sendable {
  /// Microseconds since the first packet of the trace.
  package var time: Int64
  package var direction: HCIPacketDirection
  package var layer: TraceEntry.Layer
  package var isFailure: Bool
  /// The other device of the link.
  package var peer: DeviceAddress?
  /// The name of the packet, and its parameters in plain words.
  package var text: String

  package init(_ entry: TraceEntry) {
    (time, direction, layer) = (entry.time, entry.direction, entry.layer)
    (isFailure, peer, text) = (entry.isFailure, entry.peer, entry.text)
  }

  init(
    time: Int64, _ direction: HCIPacketDirection, _ layer: TraceEntry.Layer, isFailure: Bool, peer: DeviceAddress?,
    text: String
  ) {
    (self.time, self.direction, self.layer) = (time, direction, layer)
    (self.isFailure, self.peer, self.text) = (isFailure, peer, text)
  }

  /// Seconds with six digits.
  package var seconds: String { TraceEntry.seconds(time) }

  /// The line in a terminal: time, direction, layer, name and parameters.
  package var line: String {
    var line = Self.head(time, direction, layer)
    line += text.utf8
    return String(decoding: line, as: UTF8.self)
  }

  /// The octets of a line before its text: `   0.001500 > ATT   `.
  static func head(_ time: Int64, _ direction: HCIPacketDirection, _ layer: TraceEntry.Layer) -> [UInt8] {
    let seconds = TraceEntry.seconds(time).utf8
    var line = [UInt8](repeating: UInt8(ascii: " "), count: max(0, 11 - seconds.count))
    line.reserveCapacity(128)
    line += seconds
    line += (direction == .hostToController ? " > " : " < ").utf8
    let name = layer.rawValue.utf8
    line += name
    line += repeatElement(UInt8(ascii: " "), count: 6 - name.count)
    return line
  }
}

extension TraceEntry {
  /// The name of the packet, and its parameters in plain words.
  package var text: String { details.isEmpty ? name : "\(name): \(details)" }

  /// The line of the entry in a terminal: time, direction, layer, name and parameters.
  package var line: String { TraceLine(self).line }
}
