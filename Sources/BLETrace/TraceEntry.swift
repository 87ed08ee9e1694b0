package import BLEATT
package import BLEHCI
package import BLEL2CAP
package import BLESMP
package import BLEWire

/// One packet of a trace in plain words.
package struct TraceEntry: Sendable {
  /// The protocol of the packet.
  package enum Layer: String, CaseIterable, Sendable { case hci = "HCI", l2cap = "L2CAP", att = "ATT", smp = "SMP" }

  /// The decoded packet, for an explanation of the trace.
  package enum Content: Sendable {
    /// A command that is declared and well-formed.
    case command(HCICommandPacket)
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
  package var number = 0
  /// Microseconds since the first packet of the trace.
  package var time: Int64
  package var direction: HCIPacketDirection
  package var layer: Layer
  /// The link; nil for a packet that belongs to none.
  package var link: ConnectionHandle?
  /// The other device of the link.
  package var peer: DeviceAddress?
  /// The name of the packet.
  package var name: String
  /// The parameters in plain words; empty for a packet without any.
  package var details: String
  /// Whether the packet reports a failure, or is malformed.
  package var isFailure = false
  /// Whether the packet is of the kind that a short log leaves out: an answer that reports success, a count of buffers,
  /// a command that sets the controller up.
  package var isRoutine = false
  package var content = Content.other
  /// The handle of the attribute that a request or an Error Response is about, with its name if it was discovered.
  package var attribute: String?
  /// The octets of data of an ACL data packet; nil for another packet. For a frame, it is that of its last fragment.
  package var dataLength: Int?

  /// Seconds with six digits.
  package var seconds: String { Self.seconds(time) }

  /// Microseconds as seconds with six digits.
  package static func seconds(_ time: Int64) -> String {
    // The clock of a trace may jump by any time, in either direction.
    let (whole, fraction) = time.magnitude.quotientAndRemainder(dividingBy: 1_000_000)
    let digits = String(fraction)
    return (time < 0 ? "-" : "") + "\(whole)." + String(repeating: "0", count: 6 - digits.count) + digits
  }
}
