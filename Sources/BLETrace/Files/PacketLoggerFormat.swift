import BLEHCI
import BLEWire

/// A file of Apple's PacketLogger (`.pklg`), which has no header.
///
/// ```
/// length (4), without itself │ seconds (4) │ microseconds (4) │ type (1) │ packet without an indicator
/// ```
///
/// The numbers are big-endian in files of older systems and little-endian in those of newer ones.
struct PacketLoggerFormat: TraceFormat {
  /// The octets of length, time and type.
  private static let headerLength = 13
  private static let types: [UInt8: (HCIPacketType, HCIPacketDirection)] = [
    0x00: (.command, .hostToController), 0x01: (.event, .controllerToHost),
    0x02: (.aclData, .hostToController), 0x03: (.aclData, .controllerToHost),
    0x08: (.synchronousData, .hostToController), 0x09: (.synchronousData, .controllerToHost),
  ]
  /// The types of messages: of the Link Manager, of the system log, notes and others.
  private static let messages: [ClosedRange<UInt8>] = [0x0A...0x0B, 0xF7...0xFE]

  private let order: OctetOrder

  /// The format, if the octets are the beginning of such a file: the first record has a possible length and a type.
  init?(beginningOf octets: Bytes) {
    guard let type = octets.dropFirst(12).first,
      Self.types[type] != nil || Self.messages.contains(where: { $0.contains(type) }),
      // A record is shorter than 64 KiB: in one of the orders the upper half is zero.
      let order = OctetOrder.allCases.first(where: { (9...0xFFFF).contains($0.uint32(octets, at: 0) ?? 0) })
    else { return nil }
    self.order = order
  }

  func step(_ octets: Bytes) throws(TraceFault) -> TraceStep {
    guard let type = octets.dropFirst(12).first, let length = order.uint32(octets, at: 0),
      let seconds = order.uint32(octets, at: 4), let microseconds = order.uint32(octets, at: 8)
    else { return .more }
    guard length >= 9 else { throw TraceFault("a record of \(length) octets; the shortest one has 9") }
    guard let (kind, direction) = Self.types[type] else { return .skip(4 + Int64(length)) }
    guard length <= TraceFile.maximumPacketLength else { throw .tooLong(length) }
    let whole = 4 + Int(length)
    guard octets.count >= whole else { return .more }
    let packet: Bytes = [kind.rawValue] + octets.prefix(whole).dropFirst(Self.headerLength)
    let record = BTSnoopRecord(
      packet: packet, direction: direction, microseconds: Int64(seconds) * 1_000_000 + Int64(microseconds))
    return .record(record, length: whole)
  }
}
