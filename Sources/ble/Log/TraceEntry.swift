import BLEHCI
import BLEWire

/// One packet of a trace in plain words.
struct TraceEntry: Sendable {
  /// The protocol of the packet.
  enum Layer: String, Sendable { case hci = "HCI", l2cap = "L2CAP", att = "ATT", smp = "SMP" }

  /// Microseconds since the first packet of the trace.
  var time: Int64
  var direction: HCIPacketDirection
  var layer: Layer
  /// The link; nil for a packet that belongs to none.
  var link: ConnectionHandle?
  /// The other device of the link.
  var peer: DeviceAddress?
  /// The name of the packet.
  var name: String
  /// The parameters in plain words; empty for a packet without any.
  var details: String
  /// Whether the packet reports a failure, or is malformed.
  var isFailure = false
  /// Whether the packet is of the kind that a short log leaves out: an answer that reports success, a count of buffers,
  /// a command that sets the controller up.
  var isRoutine = false

  /// Seconds with six digits.
  var seconds: String {
    // The clock of a trace may jump by any time, in either direction.
    let (whole, fraction) = time.magnitude.quotientAndRemainder(dividingBy: 1_000_000)
    let digits = String(fraction)
    return (time < 0 ? "-" : "") + "\(whole)." + String(repeating: "0", count: 6 - digits.count) + digits
  }

  /// The line of the entry in a terminal: time, direction, layer, name and parameters.
  var line: String {
    let arrow = direction == .hostToController ? ">" : "<"
    let layerName = layer.rawValue.padded(to: 5)
    return "\(seconds.leftPadded(to: 11)) \(arrow) \(layerName) \(name)" + (details.isEmpty ? "" : ": \(details)")
  }
}
