import BLEATT
import BLEHCI
import BLEL2CAP
import BLESMP
import BLEWire

/// One packet of a trace in plain words.
struct TraceEntry: Sendable {
  /// The protocol of the packet.
  enum Layer: String, Sendable { case hci = "HCI", l2cap = "L2CAP", att = "ATT", smp = "SMP" }

  /// The decoded packet, for an explanation of the trace.
  enum Content: Sendable {
    case command(any HCICommand)
    case event(HCIEvent)
    case attribute(ATTPDU)
    case security(SMPPDU)
    case signalling(SignallingPDU)
    /// A frame of another channel.
    case data(ChannelID)
    /// An ACL data packet with a part of a frame that is not complete.
    case fragment
    /// An undeclared command, or a malformed packet.
    case other
  }

  /// The place among the HCI packets of the trace. The first packet has 1, as in Wireshark.
  var number = 0
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
  var content = Content.other
  /// The handle of the attribute that a request or an Error Response is about, with its name if it was discovered.
  var attribute: String?
  /// The octets of data of an ACL data packet; nil for another packet. For a frame, it is that of its last fragment.
  var dataLength: Int?

  /// Seconds with six digits.
  var seconds: String { Self.seconds(time) }

  /// Microseconds as seconds with six digits.
  static func seconds(_ time: Int64) -> String {
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
