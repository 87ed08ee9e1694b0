import BLEHCI
import BLEWire

/// A pcap file (draft-ietf-opsawg-pcap): a header of 24 octets, then records with a header of 16.
struct PcapFormat: TraceFormat {
  private static let headerLength = 24
  private static let recordHeaderLength = 16

  private let order: OctetOrder
  private let isInNanoseconds: Bool
  private var packets: CapturedPackets?

  init(_ order: OctetOrder, isInNanoseconds: Bool) { (self.order, self.isInNanoseconds) = (order, isInNanoseconds) }

  mutating func step(_ octets: Bytes) throws(TraceFault) -> TraceStep {
    guard packets != nil else {
      // The upper half has the length of a frame check sequence.
      guard octets.count >= Self.headerLength, let number = order.uint32(octets, at: 20) else { return .more }
      guard let link = CapturedPackets.LinkType(rawValue: UInt16(truncatingIfNeeded: number)) else {
        throw TraceFault(CapturedPackets.unsupported([UInt16(truncatingIfNeeded: number)]))
      }
      packets = CapturedPackets(link)
      return .skip(Int64(Self.headerLength))
    }
    guard let seconds = order.uint32(octets, at: 0), let fraction = order.uint32(octets, at: 4),
      let included = order.uint32(octets, at: 8), let original = order.uint32(octets, at: 12)
    else { return .more }
    guard included <= TraceFile.maximumPacketLength else { throw .tooLong(included) }
    let length = Self.recordHeaderLength + Int(included)
    guard octets.count >= length else { return .more }
    let time = Int64(seconds) * 1_000_000 + Int64(isInNanoseconds ? fraction / 1_000 : fraction)
    let record = try packets?.record(
      octets.prefix(length).dropFirst(Self.recordHeaderLength), originalLength: original, nil, at: time)
    return .step(record, length)
  }
}

/// The packets of a capture by libpcap, by their link type (https://www.tcpdump.org/linktypes.html).
struct CapturedPackets {
  enum LinkType: UInt16 {
    /// LINKTYPE_BLUETOOTH_HCI_H4: packets with an indicator.
    case h4 = 187
    /// LINKTYPE_BLUETOOTH_HCI_H4_WITH_PHDR: the direction in four octets, then a packet with an indicator.
    case h4WithDirection = 201
    /// LINKTYPE_BLUETOOTH_LINUX_MONITOR: the number of the controller, the opcode of the message, the message.
    case linuxMonitor = 254
  }

  private let link: LinkType
  /// The direction of the last fragment of each link.
  private var directions: [UInt16: HCIPacketDirection] = [:]

  init(_ link: LinkType) { self.link = link }

  /// The text about other link types.
  static func unsupported(_ types: [UInt16]) -> String {
    let numbers = types.map(String.init).joined(separator: ", ")
    return "the packets are not those of Bluetooth HCI: their link type is \(numbers), not 187, 201 or 254"
  }

  /// The record of a captured packet; nil for a message that is not an HCI packet.
  ///
  /// - Parameter direction: that which the file states beside the packet.
  mutating func record(
    _ octets: Bytes, originalLength: UInt32, _ direction: HCIPacketDirection?, at microseconds: Int64
  ) throws(TraceFault) -> BTSnoopRecord? {
    guard link != .h4 else {
      return record(octets, originalLength, direction ?? impliedDirection(octets), microseconds)
    }
    let payload = octets.dropFirst(4)
    guard let head = OctetOrder.big.uint32(octets, at: 0) else {
      throw TraceFault("a packet of \(octets.count) octets, without the header of its link type")
    }
    let original = originalLength - min(4, originalLength)
    guard link == .linuxMonitor else {
      return record(payload, original, head & 1 == 1 ? .controllerToHost : .hostToController, microseconds)
    }
    return BTSnoopFormat.record(
      ofMonitor: UInt16(truncatingIfNeeded: head), payload, originalLength: original, microseconds: microseconds)
  }

  private func record(
    _ packet: Bytes, _ originalLength: UInt32, _ direction: HCIPacketDirection, _ microseconds: Int64
  ) -> BTSnoopRecord {
    var record = BTSnoopRecord(packet: packet, direction: direction, microseconds: microseconds)
    record.originalLength = Int(truncatingIfNeeded: originalLength)
    return record
  }

  /// The direction of a packet without one. Commands and events have one only. The first fragment of a frame has
  /// another packet boundary flag for each direction on an LE link, and the next ones have that of the fragment before
  /// (Vol 4, Part E, 5.4.2).
  private mutating func impliedDirection(_ packet: Bytes) -> HCIPacketDirection {
    switch packet.first.flatMap(HCIPacketType.init(rawValue:)) {
    case .command: return .hostToController
    case .aclData:
      guard let field = OctetOrder.little.uint16(packet, at: 1) else { return .controllerToHost }
      let link = field & 0x0FFF
      switch field >> 12 & 3 {
      case 0: directions[link] = .hostToController
      case 1: break
      default: directions[link] = .controllerToHost
      }
      return directions[link] ?? .controllerToHost
    // Nothing tells the direction of the other kinds of data, which have no part in a conversation of ATT.
    case .event, .synchronousData, .isoData, nil: return .controllerToHost
    }
  }
}
