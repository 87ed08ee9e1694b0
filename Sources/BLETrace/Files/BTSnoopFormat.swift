import BLEHCI
import BLEWire

/// A btsnoop file in parts: `BTSnoopFile` reads each record.
struct BTSnoopFormat: TraceFormat {
  private static let headerLength = BTSnoopFile.header.count
  private static let recordHeaderLength = 24

  private var header: Bytes?

  init() {}

  mutating func step(_ octets: Bytes) throws(TraceFault) -> TraceStep {
    guard let header else {
      do throws(BTSnoopError) { _ = try BTSnoopFile(octets.prefix(Self.headerLength)) } catch {
        throw TraceFault("\(error)")
      }
      header = octets.prefix(Self.headerLength)
      return .skip(Int64(Self.headerLength))
    }
    guard let included = OctetOrder.big.uint32(octets, at: 4) else { return .more }
    guard included <= TraceFile.maximumPacketLength else { throw .tooLong(included) }
    let length = Self.recordHeaderLength + Int(included)
    guard octets.count >= length else { return .more }
    return .step(Self.record(octets.prefix(length), after: header), length)
  }

  /// The record in `octets`; nil for a message of the Linux monitor that is not an HCI packet.
  private static func record(_ octets: Bytes, after header: Bytes) -> BTSnoopRecord? {
    var records = (try? BTSnoopFile(header + octets))?.makeIterator()
    return records?.next()
  }

  /// The record of a message of the Linux monitor.
  ///
  /// - Parameter code: the opcode of the message.
  static func record(
    ofMonitor code: UInt16, _ payload: Bytes, originalLength: UInt32, microseconds: Int64
  ) -> BTSnoopRecord? {
    // A record of a btsnoop file of the data link type 2001 has the opcode in the flags.
    let lengths = [originalLength, UInt32(payload.count), UInt32(code), 0]
    let fields = lengths.flatMap { number in [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) } }
    let header = BTSnoopFile.header.dropLast(2) + [0x07, 0xD1]
    var found = record((fields + [UInt8](repeating: 0, count: 8) + payload)[...], after: header)
    found?.microseconds = microseconds
    return found
  }
}

extension TraceStep {
  /// A record, if the first `length` octets are one; otherwise they are left out.
  static func step(_ record: BTSnoopRecord?, _ length: Int) -> Self {
    record.map { .record($0, length: length) } ?? .skip(Int64(length))
  }
}

extension TraceFault {
  package static func tooLong(_ length: UInt32) -> Self {
    TraceFault("a packet of \(length) octets; the longest one has \(TraceFile.maximumPacketLength)")
  }
}
