import BLEHCI
import BLEWire
import ToolCore

/// A ladder diagram of a trace as SVG: a line for the host, the controller and each other device, an arrow for each
/// entry.
///
/// Commands and events are arrows between host and controller; L2CAP, ATT and SMP are arrows between the host and the
/// device.
package struct LadderDiagram {
  private let entries: [TraceLine]
  private let peers: [DeviceAddress]

  private static let top = 70, step = 27, timeWidth = 90, columnWidth = 420
  private static let colours: [TraceEntry.Layer: String] = [
    .hci: "#5b6770", .l2cap: "#8a5a00", .att: "#0b5cad", .smp: "#8b1a62",
  ]

  package init(_ entries: [TraceEntry]) { self.init(entries.map { TraceLine($0) }) }

  package init(_ entries: [TraceLine]) {
    self.entries = entries
    peers = entries.reduce(into: []) { peers, entry in
      if let peer = entry.peer, !peers.contains(peer) { peers.append(peer) }
    }
  }

  /// The lines from left to right: host, controller, other devices.
  private var titles: [String] { ["Host", "Controller"] + peers.map { $0.description } }

  /// The document.
  package var svg: String {
    let width = Self.timeWidth + Self.columnWidth * max(1, titles.count - 1) + 120
    let height = Self.top + Self.step * entries.count + 30
    var lines = [
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"\(width)\" height=\"\(height)\" viewBox=\"0 0 \(width) \(height)\" "
        + "font-family=\"sans-serif\" font-size=\"12\">",
      "<title>\(entries.count) packets between a host and \(peers.count) devices</title>",
      "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>",
      legend(width),
    ]
    for (column, title) in titles.enumerated() {
      let x = Self.x(column)
      lines.append(
        "<line x1=\"\(x)\" y1=\"\(Self.top - 14)\" x2=\"\(x)\" y2=\"\(height - 16)\" stroke=\"#c4cbd1\" stroke-width=\"1.5\"/>"
      )
      lines.append(
        "<text x=\"\(x)\" y=\"\(Self.top - 22)\" text-anchor=\"middle\" font-weight=\"bold\">\(Self.escaped(title))</text>"
      )
    }
    for (index, entry) in entries.enumerated() { lines += arrow(entry, y: Self.top + Self.step * index + 18) }
    return (lines + ["</svg>", ""]).joined(separator: "\n")
  }

  private func arrow(_ entry: TraceLine, y: Int) -> [String] {
    let other = entry.layer == .hci ? 1 : entry.peer.flatMap { peers.firstIndex(of: $0) }.map { $0 + 2 } ?? 1
    let (left, right) = (Self.x(0), Self.x(other))
    let (from, to) = entry.direction == .hostToController ? (left, right) : (right, left)
    // The two strokes of the head begin behind the tip of the arrow.
    let back = to > from ? -8 : 8
    let colour = entry.isFailure ? "#c01c28" : Self.colours[entry.layer] ?? "#000000"
    let room = (right - left - 30) * 10 / 68
    return [
      "<g><title>\(Self.escaped(entry.line))</title>",
      "<text x=\"\(Self.timeWidth - 20)\" y=\"\(y + 4)\" text-anchor=\"end\" fill=\"#6b7680\">\(entry.seconds)</text>",
      "<path d=\"M\(from),\(y) H\(to) m\(back),-4 L\(to),\(y) l\(back),4\" fill=\"none\" stroke=\"\(colour)\" stroke-width=\"1.5\"/>",
      "<text x=\"\(left + 14)\" y=\"\(y - 4)\" fill=\"\(colour)\">"
        + "\(Self.escaped(entry.text.shortened(to: room)))</text></g>",
    ]
  }

  private func legend(_ width: Int) -> String {
    let names: [TraceEntry.Layer] = [.hci, .l2cap, .att, .smp]
    let entries = names.enumerated().map { index, layer in
      "<text x=\"\(20 + 70 * index)\" y=\"20\" fill=\"\(Self.colours[layer] ?? "#000000")\" font-weight=\"bold\">"
        + "\(layer.rawValue)</text>"
    }
    return (entries + ["<text x=\"300\" y=\"20\" fill=\"#c01c28\" font-weight=\"bold\">failure</text>"]).joined()
  }

  private static func x(_ column: Int) -> Int { timeWidth + columnWidth * column }

  /// Text in an element of XML.
  private static func escaped(_ text: String) -> String {
    text.map { $0 == "&" ? "&amp;" : $0 == "<" ? "&lt;" : $0 == ">" ? "&gt;" : String($0) }.joined()
  }
}
