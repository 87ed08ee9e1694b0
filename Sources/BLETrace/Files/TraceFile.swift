package import BLEHCI
package import BLEWire

/// The records of a packet trace whose octets arrive in parts: a file of any length, or the output of a program that
/// still captures.
///
/// | format | written by | first octets |
/// |---|---|---|
/// | btsnoop | this package, btmon, Android | `btsnoop` and a zero |
/// | pcap | tcpdump, Wireshark | A1B2C3D4 or A1B23C4D, in either octet order |
/// | pcapng | Wireshark, dumpcap | 0A0D0D0A |
/// | PacketLogger (`.pklg`) | Apple's PacketLogger, BTstack | the length of a record, in either octet order |
package struct TraceFile {
  /// The longest packet that is read, in octets with all headers; that of Wireshark. A greater length is that of a
  /// malformed file.
  package static let maximumPacketLength = 262_144
  /// The octets that identify a format: PacketLogger's are those before the first packet.
  private static let identificationLength = 16

  private var format: (any TraceFormat)?
  /// The octets that are not read, and the place of the first one in the file.
  private var pending: Bytes = []
  private var offset = 0
  /// The octets to leave out before the next record.
  private var skipped = 0
  /// The place of the record or the header that was read last.
  private var start = 0
  private var isAtEnd = false
  private var hasRecords = false

  package init() {}

  /// Adds the octets that follow.
  package mutating func append(_ octets: Bytes) {
    // A new array: one that grows keeps the octets that were read.
    pending = Bytes(Array(pending) + octets)
  }

  /// No octets follow.
  package mutating func end() { isAtEnd = true }

  /// The next record; nil until more octets are added, and at the end.
  ///
  /// - Throws: ``TraceFault``. No record follows it.
  package mutating func next() throws(TraceFault) -> BTSnoopRecord? {
    do throws(TraceFault) {
      while try prepare() {
        switch try step() {
        case .more: return nil
        case .skip(let length): skipped = length
        case .record(let record, let length):
          skipped = length
          hasRecords = true
          return record
        }
      }
    } catch {
      throw TraceFault(error.text, at: offset)
    }
    if isAtEnd, skipped == 0, let notice = hasRecords ? nil : format?.emptiness { throw TraceFault(notice) }
    return nil
  }

  private mutating func step() throws(TraceFault) -> TraceStep {
    guard var format else { return .more }
    start = offset
    // The only copy: what it keeps is changed in place.
    self.format = nil
    defer { self.format = format }
    return try format.step(pending)
  }

  /// The place of a record that the file ends within; nil for a complete file. It is valid after ``next()`` has
  /// returned nil at the end.
  package var incompleteRecord: Int? { pending.isEmpty && skipped == 0 ? nil : start }

  /// Leaves out what was read, and chooses the format.
  ///
  /// - Returns: whether there are octets of a record.
  private mutating func prepare() throws(TraceFault) -> Bool {
    let passed = min(skipped, pending.count)
    pending = pending.dropFirst(passed)
    (offset, skipped) = (offset + passed, skipped - passed)
    if skipped > 0 { return false }
    if format == nil, isAtEnd || pending.count >= Self.identificationLength { format = try Self.format(of: pending) }
    return format != nil && !pending.isEmpty
  }

  private static func format(of octets: Bytes) throws(TraceFault) -> any TraceFormat {
    if octets.isEmpty { throw TraceFault("the file is empty") }
    if octets.starts(with: "btsnoop\0".utf8) { return BTSnoopFormat() }
    for order in OctetOrder.allCases {
      switch order.uint32(octets, at: 0) {
      case 0xA1B2_C3D4: return PcapFormat(order, isInNanoseconds: false)
      case 0xA1B2_3C4D: return PcapFormat(order, isInNanoseconds: true)
      case PcapngFormat.sectionHeader: return PcapngFormat()
      default: break  // Another format, or the other order.
      }
    }
    if let format = PacketLoggerFormat(beginningOf: octets) { return format }
    throw TraceFault("this is not a packet trace: neither btsnoop, pcap, pcapng nor PacketLogger")
  }
}

/// A format of packet traces: it reads the record or the header at the beginning of some octets.
protocol TraceFormat {
  /// - Returns: ``TraceStep/more`` if the octets are not enough.
  mutating func step(_ octets: Bytes) throws(TraceFault) -> TraceStep
  /// Why a file without records has none, if it has packets that are not HCI packets.
  var emptiness: String? { get }
}

extension TraceFormat {
  var emptiness: String? { nil }
}

enum TraceStep {
  /// More octets are necessary.
  case more
  /// The record in the first octets, and their number.
  case record(BTSnoopRecord, length: Int)
  /// The first octets, of which some may follow later, have no HCI packet.
  case skip(Int)
}

/// The reason why a trace cannot be read further, and the place in the file.
package struct TraceFault: Error, Equatable, CustomStringConvertible {
  package var text: String
  /// The place of the record, in octets from the beginning of the file.
  package var offset: Int

  package init(_ text: String, at offset: Int = 0) { (self.text, self.offset) = (text, offset) }

  package var description: String { offset == 0 ? text : "at octet \(offset): \(text)" }
}

/// The order of the octets in a number.
enum OctetOrder: CaseIterable {
  case big, little

  /// The number in `count` octets; nil past the end.
  private func number(_ octets: Bytes, at offset: Int, _ count: Int) -> UInt32? {
    guard offset >= 0, octets.count >= offset + count else { return nil }
    let field = octets.dropFirst(offset).prefix(count)
    switch self {
    case .big: return field.reduce(0) { $0 << 8 | UInt32($1) }
    case .little: return field.reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }
  }

  func uint32(_ octets: Bytes, at offset: Int) -> UInt32? { number(octets, at: offset, 4) }

  func uint16(_ octets: Bytes, at offset: Int) -> UInt16? { number(octets, at: offset, 2).map(UInt16.init) }
}
