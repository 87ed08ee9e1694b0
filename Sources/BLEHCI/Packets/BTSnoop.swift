public import BLEWire

/// The direction of an HCI packet.
public enum HCIPacketDirection: Hashable, Sendable {
  /// A command, or data that is sent.
  case hostToController
  /// An event, or data that is received.
  case controllerToHost
}

/// One packet of a btsnoop file.
public struct BTSnoopRecord: Equatable, Sendable {
  /// The HCI packet, packet indicator first. A capture with a length limit contains only its first octets.
  public var packet: Bytes
  /// The length of the packet before a limit was applied, in octets, packet indicator included.
  public var originalLength: Int
  /// The direction of the packet.
  public var direction: HCIPacketDirection
  /// The time of the packet in microseconds since 1970-01-01 00:00 UTC.
  public var microseconds: Int64
  /// The number of packets that were lost between the start of the capture and this packet.
  public var drops: UInt32

  /// A record of a complete packet.
  public init(packet: Bytes, direction: HCIPacketDirection, microseconds: Int64, drops: UInt32 = 0) {
    self.packet = packet
    originalLength = packet.count
    self.direction = direction
    self.microseconds = microseconds
    self.drops = drops
  }
}

/// The content of a btsnoop file, which Wireshark, btmon and Android write and read.
///
/// It decodes octets; the program reads the file. Iteration allocates no memory for captures of the data link type H4,
/// and it ends at the first incomplete record; ``unread`` is not empty in this case.
///
/// | data link type | written by | records |
/// |---|---|---|
/// | 1001 (H1) | hcidump | packets without an indicator, which the flags replace |
/// | 1002 (H4) | Android, this package | packets with an indicator |
/// | 2001 (Linux monitor) | btmon | packets of all controllers and other messages; the latter are skipped |
///
/// ```swift
/// for record in try BTSnoopFile(octets) {
///   let packet = try HCIPacket(decoding: record.packet)
///   print(record.direction, packet)
/// }
/// ```
public struct BTSnoopFile: Sequence, Sendable {
  /// The header of a file with the data link type H4: the octets before the first record.
  public static let header: [UInt8] = identification + [0, 0, 0, 1, 0, 0, 0x03, 0xEA]

  private static let identification = Array("btsnoop\0".utf8)
  private static let headerLength = 16
  /// The octets of a record before its packet.
  package static let recordHeaderLength = 24
  /// Microseconds from 0000-01-01, the origin of btsnoop's time, to 1970-01-01.
  fileprivate static let origin: Int64 = 0x00DC_DDB3_0F2F_8000

  fileprivate enum DataLink: UInt32, Sendable { case h1 = 1001, h4 = 1002, linuxMonitor = 2001 }

  private let dataLink: DataLink
  private let records: Bytes

  /// The content of a file.
  ///
  /// - Throws: ``BTSnoopError`` if the octets are not a btsnoop file, or if it has another data link type.
  public init(_ octets: Bytes) throws(BTSnoopError) {
    guard octets.starts(with: Self.identification) else { throw .notBTSnoop }
    guard octets.count >= Self.headerLength else { throw .truncatedHeader }
    let header = octets.dropFirst(Self.identification.count)
    let version = UInt32(bigEndian: header)
    guard version == 1 else { throw .unsupportedVersion(version) }
    let number = UInt32(bigEndian: header.dropFirst(4))
    guard let dataLink = DataLink(rawValue: number) else { throw .unsupportedDataLink(number) }
    self.dataLink = dataLink
    records = octets.dropFirst(Self.headerLength)
  }

  /// An iterator at the first record.
  public func makeIterator() -> Iterator { Iterator(dataLink, records) }

  /// The octets of an incomplete record at the end; empty for a complete file.
  public var unread: Bytes {
    var iterator = makeIterator()
    while iterator.next() != nil {}
    return iterator.unread
  }

  /// Appends a record for a file with the data link type H4.
  ///
  /// - Parameters:
  ///   - packet: the HCI packet, packet indicator first.
  ///   - direction: the direction of the packet.
  ///   - microseconds: the time in microseconds since 1970-01-01 00:00 UTC.
  ///   - buffer: the buffer to which the record is appended.
  public static func append(
    _ packet: Span<UInt8>, _ direction: HCIPacketDirection, at microseconds: Int64, to buffer: inout [UInt8]
  ) {
    let type = packet.isEmpty ? nil : HCIPacketType(rawValue: packet[0])
    let isCommandOrEvent = type == .command || type == .event
    buffer.append(bigEndian: UInt32(clamping: packet.count))
    buffer.append(bigEndian: UInt32(clamping: packet.count))
    buffer.append(bigEndian: UInt32((direction == .controllerToHost ? 1 : 0) | (isCommandOrEvent ? 2 : 0)))
    buffer.append(bigEndian: UInt32(0))
    buffer.append(bigEndian: microseconds &+ origin)
    buffer.append(copying: packet)
  }

  /// Iterates over the records in order.
  public struct Iterator: IteratorProtocol, Sendable {
    private let dataLink: DataLink
    /// The octets from the first incomplete record. It is valid after ``next()`` has returned nil.
    public private(set) var unread: Bytes

    fileprivate init(_ dataLink: DataLink, _ records: Bytes) {
      self.dataLink = dataLink
      unread = records
    }

    /// The next record; nil at the end.
    public mutating func next() -> BTSnoopRecord? {
      while unread.count >= BTSnoopFile.recordHeaderLength {
        let included = Int(UInt32(bigEndian: unread.dropFirst(4)))
        let packet = unread.dropFirst(BTSnoopFile.recordHeaderLength)
        guard packet.count >= included else { return nil }
        let header = unread.prefix(BTSnoopFile.recordHeaderLength)
        unread = packet.dropFirst(included)
        if let record = record(header, packet.prefix(included)) { return record }
      }
      return nil
    }

    /// Nil for a message of the Linux monitor that is not an HCI packet.
    private func record(_ header: Bytes, _ octets: Bytes) -> BTSnoopRecord? {
      let flags = UInt32(bigEndian: header.dropFirst(8))
      guard let (type, direction) = kind(flags) else { return nil }
      var record = BTSnoopRecord(
        packet: type.map { [$0.rawValue] + octets } ?? octets, direction: direction,
        microseconds: Int64(bitPattern: UInt64(bigEndian: header.dropFirst(16))) &- BTSnoopFile.origin,
        drops: UInt32(bigEndian: header.dropFirst(12)))
      record.originalLength = Int(truncatingIfNeeded: UInt32(bigEndian: header)) &+ (type == nil ? 0 : 1)
      return record
    }

    /// The packet type (nil if the packet has an indicator) and the direction.
    private func kind(_ flags: UInt32) -> (HCIPacketType?, HCIPacketDirection)? {
      let isReceived = flags & 1 == 1
      switch dataLink {
      case .h4: return (nil, isReceived ? .controllerToHost : .hostToController)
      case .h1:
        let isCommandOrEvent = flags & 2 == 2
        if isReceived { return (isCommandOrEvent ? .event : .aclData, .controllerToHost) }
        return (isCommandOrEvent ? .command : .aclData, .hostToController)
      case .linuxMonitor:
        // The lower half is the type of the message, the upper half the number of the controller.
        switch flags & 0xFFFF {
        case 2: return (.command, .hostToController)
        case 3: return (.event, .controllerToHost)
        case 4: return (.aclData, .hostToController)
        case 5: return (.aclData, .controllerToHost)
        case 6: return (.synchronousData, .hostToController)
        case 7: return (.synchronousData, .controllerToHost)
        case 18: return (.isoData, .hostToController)
        case 19: return (.isoData, .controllerToHost)
        default: return nil
        }
      }
    }
  }
}

/// The reason why octets cannot be decoded as a btsnoop file.
public enum BTSnoopError: Error, Equatable, Sendable {
  /// The octets do not begin with the identification of the format.
  case notBTSnoop
  /// The octets end inside the header.
  case truncatedHeader
  /// The version of the format is not 1.
  case unsupportedVersion(UInt32)
  /// The data link type is not 1001, 1002 or 2001.
  case unsupportedDataLink(UInt32)
}

extension BTSnoopError: CustomStringConvertible {
  /// What failed and why.
  public var description: String {
    switch self {
    case .notBTSnoop: "not a btsnoop file: the first octets are not 'btsnoop' and a zero"
    case .truncatedHeader: "the btsnoop file ends inside its header of 16 octets"
    case .unsupportedVersion(let version):
      "version \(version) of the btsnoop format is not supported. Convert the file to version 1"
    case .unsupportedDataLink(let number):
      "the data link type \(number) is not supported. Convert the file to type 1002 (HCI UART)"
    }
  }
}

extension [UInt8] {
  /// Appends `value`, most significant octet first, the octet order of all numbers in a btsnoop file.
  fileprivate mutating func append(bigEndian value: some FixedWidthInteger) {
    for shift in stride(from: value.bitWidth - 8, through: 0, by: -8) {
      append(UInt8(truncatingIfNeeded: value >> shift))
    }
  }
}

extension FixedWidthInteger where Self: UnsignedInteger {
  /// The number in the first octets, most significant octet first; missing octets count as zero.
  fileprivate init(bigEndian octets: Bytes) {
    var number: Self = 0
    var remaining = octets.prefix(Self.bitWidth / 8)
    for _ in 0..<Self.bitWidth / 8 { number = number << 8 | Self(truncatingIfNeeded: remaining.popFirst() ?? 0) }
    self = number
  }
}
