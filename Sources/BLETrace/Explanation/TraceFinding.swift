package import BLEHCI
package import BLEWire
import ToolCore

/// One fact that explains a trace: a failure, a refusal, or why a link was slow.
package struct TraceFinding: Equatable, Sendable {
  package enum Kind: String, Sendable {
    /// How a link ended.
    case disconnection
    /// A connection that was not established.
    case connection
    case pairing
    case encryption
    /// What makes a link slow.
    case speed
    /// A request or a command that was refused.
    case refusal
    /// An answer that was late or is missing.
    case answer
    /// Periodic advertising that was not received.
    case periodicAdvertising
    /// A failure of the controller.
    case controller
  }

  /// What shows it: a packet of the trace, or a value that follows from several.
  package struct Evidence: Equatable, Sendable {
    /// The place of the packet in the trace; nil for a value.
    package var number: Int?
    package var text: String

    /// A packet: the line of `ble log`.
    package init(_ entry: TraceEntry) {
      number = entry.number
      text = entry.line.shortened(to: Self.columns)
    }

    package init(_ text: String) { self.text = text }

    /// The width of a line of evidence: values can have 512 octets.
    private static let columns = 160
  }

  package var kind: Kind
  /// Whether something is wrong; false for information, such as an end of a link that the user has asked for.
  package var isProblem = true
  /// The link; nil for a connection that was not established, and for the controller.
  package var link: LinkName?
  /// The device, if it is known.
  package var peer: DeviceAddress?
  /// Microseconds since the first packet of the trace.
  package var time: Int64
  package var headline: String
  package var evidence: [Evidence] = []
  /// What is usually done about it; nil if nothing has to be done.
  package var remedy: String?

  /// The lines in a terminal: the headline, the evidence, the remedy.
  package var lines: [String] {
    [headline] + evidence.map { "    \($0.number.map { "packet \($0):" } ?? "-") \($0.text)" }
      + (remedy.map { ["    => \($0)"] } ?? [])
  }
}

/// A link of a trace. A handle is used again after its link has ended.
package struct LinkName: Hashable, Sendable {
  /// The place among the links of the trace.
  package var place: Int
  package var handle: ConnectionHandle
  package var peer: DeviceAddress?
  /// The role of this host; nil for a link that was open when the trace began.
  package var role: HCI.Role?

  /// `Link 0x0040 with C0:11:22:33:44:55 (random), this host is the central`.
  package var title: String {
    let device = peer.map { " with \($0)" } ?? ""
    return "Link \(handle)\(device), "
      + (role.map { "this host is the \($0.name?.lowercased() ?? "\($0)")" } ?? "open when the trace begins")
  }
}

/// Seconds between two times of a trace. The clock of a trace may jump by any time, in either direction.
func elapsed(_ start: Int64, _ end: Int64) -> Double { max(0, (Double(end) - Double(start)) / 1e6) }

extension Double {
  /// Seconds as text: `320 ms`, `30.4 s`.
  var duration: String {
    self < 0.9995 ? "\(Int((max(0, self) * 1_000).rounded())) ms" : "\(text(decimals: 1)) s"
  }
}
