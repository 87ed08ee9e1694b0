import BLEHCI
import BLETrace
import BLEWire
import ToolCore

/// The trace of the page, what the page has selected of it, and the memory that both sides use.
///
/// A page is one thread, so that nothing else reads or writes this memory at the same time.
struct Log {
  private var trace = TraceIndex()
  private var filter = TraceFilter()
  /// The packets that the filter admits, of the first ``seen`` ones.
  private var rows: [UInt32] = []
  private var seen = 0
  /// The error about the link that the page has asked for.
  private var absence: String?
  /// The octets of the last text.
  private(set) var text: [UInt8] = []

  var packets: Int { trace.count }

  // MARK: Reading

  /// - Returns: whether a fault ends the reading.
  mutating func add(_ octets: Bytes) -> Bool {
    trace.add(octets)
    return trace.fault != nil
  }

  mutating func finish() { trace.finish() }

  // MARK: The view

  /// - Parameters:
  ///   - layers: a bit for each layer; 0 for all.
  ///   - word: the link, as `ble log --link` takes it; empty for all.
  /// - Returns: the number of rows; nil if the trace does not have the link.
  mutating func select(all: Bool, layers: UInt32, _ word: String) -> Int? {
    absence = nil
    var next = TraceFilter()
    next.showsAll = all
    for (layer, bit) in Self.layers where layers & bit != 0 { next.layers.insert(layer) }
    if !word.isEmpty {
      guard let link = TraceFilter.Link(word) else {
        absence = "a link is \(TraceFilter.Link.rule(word))"
        return nil
      }
      next.link = link
      absence = trace.absence(of: word, next)
      if absence != nil { return nil }
    }
    if next != filter { (filter, rows, seen) = (next, [], 0) }
    rows += trace.indices(from: seen, filter)
    seen = trace.count
    return rows.count
  }

  private static let layers: [(TraceEntry.Layer, UInt32)] = [(.hci, 1), (.l2cap, 2), (.att, 4), (.smp, 8)]

  func number(_ row: Int) -> Int? { index(row).map { trace.number(at: $0) } }

  /// Bit 0 for a failure, then two bits for the layer.
  func style(_ row: Int) -> Int32 {
    guard let index = index(row) else { return 0 }
    let layer = Self.layers.firstIndex { $0.0 == trace.layer(at: index) } ?? 0
    return (trace.isFailure(at: index) ? 1 : 0) | Int32(layer) << 1
  }

  private func index(_ row: Int) -> Int? { rows.indices.contains(row) ? Int(rows[row]) : nil }

  // MARK: Texts

  /// Writes a text into ``text``.
  mutating func write(_ kind: TextKind, _ first: Int, _ end: Int) {
    text.removeAll(keepingCapacity: true)
    let chosen = rows[min(max(0, first), rows.count)...].prefix(max(0, end - first))
    switch kind {
    case .line: if let index = index(first) { trace.appendLine(at: index, to: &text) }
    case .lines:
      for (place, index) in chosen.enumerated() {
        if place > 0 { text.append(UInt8(ascii: "\n")) }
        trace.appendLine(at: Int(index), to: &text)
      }
    case .explanation:
      for (line, _) in trace.explanation(filter).lines { text += "\(line)\n".utf8 }
    case .diagram: text += LadderDiagram(chosen.map { trace.line(at: Int($0)) }).svg.utf8
    case .fault: text += (absence ?? trace.fault ?? "").utf8
    case .links:
      let lines = trace.links.compactMap { link, packets in
        link.handle.map { "\($0)\t\(link.peer.map { $0.word } ?? "")\t\(packets)" }
      }
      text += lines.joined(separator: "\n").utf8
    case .findings:
      let lines = trace.explanation(filter).lines.map { "\(Self.kind($0))\t\($1 ? 1 : 0)\t\($0)" }
      text += lines.joined(separator: "\n").utf8
    }
  }

  /// What a line of an explanation is, by its beginning.
  private static func kind(_ line: String) -> String {
    if line.isEmpty { return "empty" }
    if line.hasPrefix("      =>") { return "remedy" }
    if line.hasPrefix("      ") { return "evidence" }
    return line.hasPrefix("  ") ? "headline" : "section"
  }
}

/// The texts that the page asks for; the numbers are those of `log_text`.
enum TextKind: Int32 {
  /// The line of one row.
  case line
  /// The lines of some rows.
  case lines
  /// The output of `ble log --explain`.
  case explanation
  /// The ladder diagram of some rows.
  case diagram
  /// The sentence about the last fault.
  case fault
  /// The links: handle, address and number of packets.
  case links
  /// The lines of the explanation, with their kinds.
  case findings
}
