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

  private var format = Format.unknown
  /// The octets that are not read, and the place of the first one in the file.
  private var pending: Bytes = []
  private var offset = 0
  /// The octets to leave out before the next record.
  private var skipped: Int64 = 0
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
          skipped = Int64(length)
          hasRecords = true
          return record
        }
      }
    } catch {
      throw TraceFault(error.text, at: offset)
    }
    if isAtEnd, skipped == 0, let notice = hasRecords ? nil : format.emptiness { throw TraceFault(notice) }
    return nil
  }

  private mutating func step() throws(TraceFault) -> TraceStep {
    start = offset
    return try format.step(pending)
  }

  /// The place of a record that the file ends within; nil for a complete file. It is valid after ``next()`` has
  /// returned nil at the end.
  package var incompleteRecord: Int? { pending.isEmpty && skipped == 0 ? nil : start }

  /// The text about a record that the file ends within; nil for a complete file.
  package var incompleteness: String? {
    incompleteRecord.map { "the last packet is incomplete: it begins at octet \($0)" }
  }

  /// Leaves out what was read, and chooses the format.
  ///
  /// - Returns: whether there are octets of a record.
  private mutating func prepare() throws(TraceFault) -> Bool {
    let passed = Int(min(skipped, Int64(pending.count)))
    pending = pending.dropFirst(passed)
    (offset, skipped) = (offset + passed, skipped - Int64(passed))
    if skipped > 0 { return false }
    if case .unknown = format, isAtEnd || pending.count >= Self.identificationLength {
      format = try Format(of: pending)
    }
    if case .unknown = format { return false }
    return !pending.isEmpty
  }
}

/// The format of a file, with what it keeps from record to record.
private enum Format {
  case unknown
  case btsnoop(BTSnoopFormat)
  case pcap(PcapFormat)
  case pcapng(PcapngFormat)
  case packetLogger(PacketLoggerFormat)

  /// The format that the first octets of a file identify.
  init(of octets: Bytes) throws(TraceFault) {
    if octets.isEmpty { throw TraceFault("the file is empty") }
    if octets.starts(with: "btsnoop\0".utf8) {
      self = .btsnoop(BTSnoopFormat())
      return
    }
    for order in OctetOrder.allCases {
      switch order.uint32(octets, at: 0) {
      case 0xA1B2_C3D4: self = .pcap(PcapFormat(order, isInNanoseconds: false))
      case 0xA1B2_3C4D: self = .pcap(PcapFormat(order, isInNanoseconds: true))
      case PcapngFormat.sectionHeader: self = .pcapng(PcapngFormat())
      default: continue  // Another format, or the other order.
      }
      return
    }
    if let format = PacketLoggerFormat(beginningOf: octets) {
      self = .packetLogger(format)
      return
    }
    throw TraceFault("this is not a packet trace: neither btsnoop, pcap, pcapng nor PacketLogger")
  }

  /// Reads the record or the header at the beginning of `octets`.
  mutating func step(_ octets: Bytes) throws(TraceFault) -> TraceStep {
    let format = self
    // The only copy: what it keeps is changed in place.
    self = .unknown
    switch consume format {
    case .unknown: return .more
    case .btsnoop(var format):
      defer { self = .btsnoop(format) }
      return try format.step(octets)
    case .pcap(var format):
      defer { self = .pcap(format) }
      return try format.step(octets)
    case .pcapng(var format):
      defer { self = .pcapng(format) }
      return try format.step(octets)
    case .packetLogger(let format):
      self = .packetLogger(format)
      return try format.step(octets)
    }
  }

  /// Why a file without records has none, if it has packets that are not HCI packets.
  var emptiness: String? { if case .pcapng(let format) = self { format.emptiness } else { nil } }
}

/// A format of packet traces: it reads the record or the header at the beginning of some octets.
protocol TraceFormat {
  /// - Returns: ``TraceStep/more`` if the octets are not enough.
  mutating func step(_ octets: Bytes) throws(TraceFault) -> TraceStep
}

enum TraceStep {
  /// More octets are necessary.
  case more
  /// The record in the first octets, and their number.
  case record(BTSnoopRecord, length: Int)
  /// The first octets, of which some may follow later, have no HCI packet.
  case skip(Int64)
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
