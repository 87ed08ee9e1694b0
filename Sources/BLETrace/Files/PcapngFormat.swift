import BLEHCI
import BLEWire

/// A pcapng file (draft-ietf-opsawg-pcapng): blocks with their length before and after their content. Each section can
/// have another octet order, and its interfaces other link types and clocks.
struct PcapngFormat: TraceFormat {
  static let sectionHeader: UInt32 = 0x0A0D_0D0A
  /// The interfaces of a section, each with its own link type.
  static let interfaceLimit = 256
  /// A packet with its block and its options.
  static let maximumBlockLength = TraceFile.maximumPacketLength + 65_536

  private struct Interface {
    var link: UInt16
    /// Nil for packets that are not those of Bluetooth HCI.
    var packets: CapturedPackets?
    /// The octets of a packet that are captured; 0 for no limit.
    var captureLength: UInt32
    /// The option if_tsresol: a power of 10, or with the highest bit a power of 2.
    var resolution: UInt8 = 6
    /// The option if_tsoffset, in seconds.
    var timeOffset: Int64 = 0

    /// The time of a count of ticks, in microseconds.
    func microseconds(_ ticks: UInt64) -> Int64 {
      let exponent = Int(resolution & 0x7F)
      let time: UInt64
      if resolution & 0x80 != 0 {
        // A product of 128 bits; shifts by more than the width give zero.
        let product = ticks.multipliedFullWidth(by: 1_000_000)
        time = product.high << (64 - exponent) | product.low >> exponent
      } else if exponent <= 6 {
        time = (exponent..<6).reduce(ticks) { time, _ in time &* 10 }
      } else {
        time = (6..<min(exponent, 26)).reduce(ticks) { time, _ in time / 10 }
      }
      return Int64(truncatingIfNeeded: time) &+ timeOffset &* 1_000_000
    }
  }

  private var order = OctetOrder.big
  private var interfaces: [Interface] = []
  private var otherLinkTypes: Set<UInt16> = []
  /// The time of the last packet, for a Simple Packet Block, which has none.
  private var time: Int64 = 0

  init() {}

  /// Why a file without records has none, if it has packets that are not HCI packets.
  var emptiness: String? {
    otherLinkTypes.isEmpty ? nil : CapturedPackets.unsupported(otherLinkTypes.sorted())
  }

  mutating func step(_ octets: Bytes) throws(TraceFault) -> TraceStep {
    guard octets.count >= 12 else { return .more }
    let type = order.uint32(octets, at: 0) ?? 0
    if type == Self.sectionHeader { try beginSection(octets) }
    let length = order.uint32(octets, at: 4) ?? 0
    guard length >= 12, length % 4 == 0 else { throw TraceFault("a block of \(length) octets") }
    guard let kind = BlockType(rawValue: type) else { return .skip(Int64(length)) }
    guard length <= Self.maximumBlockLength else {
      throw TraceFault("a block of \(length) octets; the longest one that is read has \(Self.maximumBlockLength)")
    }
    guard octets.count >= Int(length) else { return .more }
    guard order.uint32(octets, at: Int(length) - 4) == length else {
      throw TraceFault("a block of \(length) octets with another length at its end")
    }
    let content = octets.prefix(Int(length) - 4).dropFirst(8)
    switch kind {
    case .interfaceDescription:
      try addInterface(content)
      return .skip(Int64(length))
    case .enhancedPacket: return .step(try enhancedPacket(content), Int(length))
    case .simplePacket: return .step(try simplePacket(content), Int(length))
    }
  }

  /// The blocks that are read, besides section headers.
  private enum BlockType: UInt32 { case interfaceDescription = 1, simplePacket = 3, enhancedPacket = 6 }

  private mutating func beginSection(_ octets: Bytes) throws(TraceFault) {
    guard let found = OctetOrder.allCases.first(where: { $0.uint32(octets, at: 8) == 0x1A2B_3C4D }) else {
      throw TraceFault("a section without its octet order")
    }
    order = found
    interfaces = []
  }

  private mutating func addInterface(_ content: Bytes) throws(TraceFault) {
    guard let link = order.uint16(content, at: 0), let captureLength = order.uint32(content, at: 4) else {
      throw TraceFault("an Interface Description Block of \(content.count + 12) octets")
    }
    guard interfaces.count < Self.interfaceLimit else {
      throw TraceFault("a section with more than \(Self.interfaceLimit) interfaces")
    }
    let packets = CapturedPackets.LinkType(rawValue: link).map { CapturedPackets($0) }
    var interface = Interface(link: link, packets: packets, captureLength: captureLength)
    try readOptions(content.dropFirst(8)) { code, value in
      if code == 9, let resolution = value.first { interface.resolution = resolution }
      if code == 14, value.count == 8 {
        let halves = [0, 4].map { UInt64(order.uint32(value, at: $0) ?? 0) }
        let (high, low) = order == .big ? (halves[0], halves[1]) : (halves[1], halves[0])
        interface.timeOffset = Int64(bitPattern: high << 32 | low)
      }
    }
    interfaces.append(interface)
  }

  private mutating func enhancedPacket(_ content: Bytes) throws(TraceFault) -> BTSnoopRecord? {
    guard let number = order.uint32(content, at: 0), let high = order.uint32(content, at: 4),
      let low = order.uint32(content, at: 8), let included = order.uint32(content, at: 12),
      let original = order.uint32(content, at: 16), content.count - 20 >= included
    else { throw TraceFault("an Enhanced Packet Block that is shorter than its packet") }
    guard included <= TraceFile.maximumPacketLength else { throw .tooLong(included) }
    guard number < interfaces.count else { throw .noInterface(number) }
    let packet = content.dropFirst(20).prefix(Int(included))
    var direction: HCIPacketDirection?
    try readOptions(content.dropFirst(20 + (Int(included) + 3) / 4 * 4)) { code, value in
      // The option epb_flags.
      guard code == 2, let flags = order.uint32(value, at: 0) else { return }
      direction = flags & 3 == 1 ? .controllerToHost : flags & 3 == 2 ? .hostToController : nil
    }
    time = interfaces[Int(number)].microseconds(UInt64(high) << 32 | UInt64(low))
    return try record(packet, originalLength: original, direction, of: Int(number))
  }

  private mutating func simplePacket(_ content: Bytes) throws(TraceFault) -> BTSnoopRecord? {
    guard let interface = interfaces.first else { throw .noInterface(0) }
    guard let original = order.uint32(content, at: 0) else {
      throw TraceFault("a Simple Packet Block of \(content.count + 12) octets")
    }
    let included = interface.captureLength == 0 ? original : min(original, interface.captureLength)
    guard content.count - 4 >= included else {
      throw TraceFault("a Simple Packet Block that is shorter than its packet")
    }
    return try record(content.dropFirst(4).prefix(Int(included)), originalLength: original, nil, of: 0)
  }

  /// - Parameter number: that of an interface of the section.
  private mutating func record(
    _ packet: Bytes, originalLength: UInt32, _ direction: HCIPacketDirection?, of number: Int
  ) throws(TraceFault) -> BTSnoopRecord? {
    guard
      let record = try interfaces[number].packets?.record(
        packet, originalLength: originalLength, direction, at: time)
    else {
      if interfaces[number].packets == nil { otherLinkTypes.insert(interfaces[number].link) }
      return nil
    }
    return record
  }

  /// Calls `body` with the code and the value of each option.
  private func readOptions(_ octets: Bytes, _ body: (UInt16, Bytes) -> Void) throws(TraceFault) {
    var rest = octets
    while let code = order.uint16(rest, at: 0), let length = order.uint16(rest, at: 2) {
      if code == 0 { return }
      rest = rest.dropFirst(4)
      guard rest.count >= Int(length) else { throw TraceFault("an option that is longer than its block") }
      body(code, rest.prefix(Int(length)))
      rest = rest.dropFirst((Int(length) + 3) / 4 * 4)
    }
  }
}

extension TraceFault {
  fileprivate static func noInterface(_ number: UInt32) -> Self {
    TraceFault("a packet of interface \(number), which the section does not describe")
  }
}
