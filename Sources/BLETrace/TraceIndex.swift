package import BLEHCI
package import BLEWire

/// The lines of a whole trace, for a program that shows any of them at any time: `ble log` in a browser.
///
/// It gets the octets of a file in parts of any length, and has no I/O. Of a packet it keeps 24 octets and the text in
/// UTF-8.
package struct TraceIndex {
  /// Some rows with the text of their packets. One array of all rows would be moved again and again while it grows.
  private struct Block {
    static let rows = 4_096

    var rows: [Row] = []
    var text: [UInt8] = []

    /// A copy without room for more.
    var trimmed: Self {
      var copy = Self()
      copy.rows.reserveCapacity(rows.count)
      copy.rows += rows
      copy.text.reserveCapacity(text.count)
      copy.text += text
      return copy
    }
  }

  private struct Row {
    var time: Int64
    var number: UInt32
    /// The place of its text in that of the block.
    var start: UInt32
    /// The place of its link in ``links``.
    var link: UInt32
    var flags: Flags
  }

  private struct Flags: OptionSet {
    let rawValue: UInt8

    static let isFailure = Self(rawValue: 0x01)
    static let isRoutine = Self(rawValue: 0x02)
    static let isReceived = Self(rawValue: 0x04)

    init(rawValue: UInt8) { self.rawValue = rawValue }

    init(_ entry: TraceEntry) {
      let layer = TraceEntry.Layer.allCases.firstIndex(of: entry.layer) ?? 0
      rawValue = UInt8(layer) << 4
      if entry.isFailure { insert(.isFailure) }
      if entry.isRoutine { insert(.isRoutine) }
      if entry.direction == .controllerToHost { insert(.isReceived) }
    }

    var layer: TraceEntry.Layer { TraceEntry.Layer.allCases[Int(rawValue >> 4 & 3)] }
    var direction: HCIPacketDirection { contains(.isReceived) ? .controllerToHost : .hostToController }
  }

  /// The link of some packets, and their device as far as they have it.
  package struct Link: Hashable, Sendable {
    package var handle: ConnectionHandle?
    package var peer: DeviceAddress?
  }

  private var records = TraceFile()
  private var reader = TraceReader()
  private var explainer = TraceExplainer.undecided
  private var blocks: [Block] = []
  /// The rows after those of ``blocks``.
  private var last = Block()
  private var places: [Link: UInt32] = [:]
  private var summary = TraceLinks()
  private var isAtEnd = false

  /// The links of the packets, in the order of the trace, with the numbers of the packets. Those that belong to no link
  /// have one without a handle.
  package private(set) var links: [(link: Link, packets: Int)] = []
  /// The reason why the trace cannot be read further, or why its end is missing; nil if there is none.
  package private(set) var fault: String?
  /// The packets. A fragment of a frame is one with the last fragment.
  package private(set) var count = 0

  package init() {}

  // MARK: Reading

  /// Adds the octets that follow. After a fault, they are ignored.
  package mutating func add(_ octets: Bytes) {
    guard fault == nil, !isAtEnd else { return }
    records.append(octets)
    read()
  }

  /// No octets follow.
  package mutating func finish() {
    guard fault == nil, !isAtEnd else { return }
    isAtEnd = true
    records.end()
    read()
    if fault == nil { fault = records.incompleteness }
  }

  private mutating func read() {
    do throws(TraceFault) {
      while let record = try records.next() {
        let entry = reader.anyEntry(for: record)
        explainer.add(entry)
        if case .fragment = entry.content { continue }
        add(entry)
      }
    } catch { fault = "\(error)" }
  }

  private mutating func add(_ entry: TraceEntry) {
    let link = place(of: Link(handle: entry.link, peer: entry.peer))
    links[Int(link)].packets += 1
    summary.add(entry, isSelected: false)
    if last.rows.count == Block.rows {
      blocks.append(last.trimmed)
      last.rows.removeAll(keepingCapacity: true)
      last.text.removeAll(keepingCapacity: true)
    }
    last.rows.append(
      Row(
        time: entry.time, number: UInt32(truncatingIfNeeded: entry.number),
        start: UInt32(truncatingIfNeeded: last.text.count), link: link, flags: Flags(entry)))
    last.text += entry.text.utf8
    count += 1
  }

  private mutating func place(of link: Link) -> UInt32 {
    if let place = places[link] { return place }
    let place = UInt32(truncatingIfNeeded: links.count)
    places[link] = place
    links.append((link, 0))
    return place
  }

  // MARK: Rows

  private func block(of index: Int) -> Block {
    let place = index / Block.rows
    return place < blocks.count ? blocks[place] : last
  }

  private func row(_ index: Int) -> Row { block(of: index).rows[index % Block.rows] }

  /// The octets of the text of a row: the name of the packet, and its parameters.
  private func text(_ index: Int) -> Bytes {
    let (block, place) = (block(of: index), index % Block.rows)
    let end = place + 1 < block.rows.count ? Int(block.rows[place + 1].start) : block.text.count
    return block.text[Int(block.rows[place].start)..<end]
  }

  /// The place of a packet of ``count`` among the HCI packets of the trace. The first packet has 1, as in Wireshark.
  package func number(at index: Int) -> Int { Int(row(index).number) }

  package func layer(at index: Int) -> TraceEntry.Layer { row(index).flags.layer }

  /// Whether the packet reports a failure, or is malformed.
  package func isFailure(at index: Int) -> Bool { row(index).flags.contains(.isFailure) }

  /// Appends the line of a packet in UTF-8, as `ble log` prints it.
  package func appendLine(at index: Int, to octets: inout [UInt8]) {
    let row = row(index)
    octets += TraceLine.head(row.time, row.flags.direction, row.flags.layer)
    octets += text(index)
  }

  /// What a diagram shows of a packet.
  package func line(at index: Int) -> TraceLine {
    let row = row(index)
    return TraceLine(
      time: row.time, row.flags.direction, row.flags.layer, isFailure: row.flags.contains(.isFailure),
      peer: links[Int(row.link)].link.peer, text: String(decoding: text(index), as: UTF8.self))
  }

  // MARK: Selections

  /// The packets that a filter admits, from one of them on: `indices(0, filter)` are all.
  package func indices(from start: Int, _ filter: TraceFilter) -> [UInt32] {
    let chosen = links.map { filter.isLink($0.link.handle, with: $0.link.peer) }
    var indices: [UInt32] = []
    for index in start..<max(start, count) {
      let row = row(index)
      let (isRoutine, isFailure) = (row.flags.contains(.isRoutine), row.flags.contains(.isFailure))
      guard chosen[Int(row.link)], filter.admits(row.flags.layer, isRoutine: isRoutine, isFailure: isFailure) else {
        continue
      }
      indices.append(UInt32(truncatingIfNeeded: index))
    }
    return indices
  }

  /// The error about a link that the trace does not have; nil if it has it, and without a link in the filter. A device
  /// without a link can have findings: the attempts to connect to it.
  package func absence(of word: String, _ filter: TraceFilter) -> String? {
    guard filter.link != nil,
      !links.contains(where: { filter.isLink($0.link.handle, with: $0.link.peer) }),
      explanation(filter).findings.isEmpty
    else { return nil }
    return summary.absence(of: word)
  }

  /// Why links ended, why connections and pairings failed, what was refused and what was slow.
  package func explanation(_ filter: TraceFilter) -> TraceExplanation { explainer.explanation(of: filter) }
}
