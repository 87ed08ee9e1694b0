public import BLEWire

/// The packet indicator: the octet in front of every packet on a serial or stream transport (Vol 4, Part A, 2).
public enum HCIPacketType: UInt8, Sendable, CaseIterable {
  /// A command, from the host.
  case command = 0x01
  /// Data of an ACL link, in both directions.
  case aclData = 0x02
  /// Data of a synchronous BR/EDR link, in both directions.
  case synchronousData = 0x03
  /// An event, from the controller.
  case event = 0x04
  /// Data of an isochronous stream, in both directions.
  case isoData = 0x05

  /// The length of the header after the packet indicator, in octets. The header contains the length of the rest.
  @inlinable public var headerLength: Int {
    switch self {
    case .command, .synchronousData: 3
    case .event: 2
    case .aclData, .isoData: 4
    }
  }
}

/// An HCI Command packet (Vol 4, Part E, 5.4.1).
///
/// The parameters are octets, so that a command without a declaration is kept; ``decoded()`` decodes the others.
public struct HCICommandPacket: Packet {
  /// The command.
  public var opcode = HCIOpcode.none
  /// The parameters, at most 255 octets.
  public var parameters: Bytes = []
  public init() {}
  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Opcode", &opcode)
    try field.counted("Parameters", &parameters)
  }
}

/// An HCI Event packet (Vol 4, Part E, 5.4.4).
public struct HCIEventPacket: Packet {
  /// The event.
  public var eventCode = HCIEventCode(rawValue: 0)
  /// The parameters, at most 255 octets; those of an LE meta event begin with the subevent code.
  public var parameters: Bytes = []
  public init() {}
  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Event_Code", &eventCode)
    try field.counted("Event_Parameters", &parameters)
  }
}

/// The Packet_Boundary_Flag: the place of an ACL packet in its L2CAP frame (Vol 4, Part E, 5.4.2).
public enum PacketBoundaryFlag: UInt16, Sendable, CaseIterable {
  /// 0b00: the first fragment of a frame that is not flushed automatically, from the host.
  case firstNonFlushable = 0b00
  /// 0b01: a continuing fragment.
  case continuing = 0b01
  /// 0b10: the first fragment of a frame, from the controller.
  case firstFlushable = 0b10
  /// 0b11: a complete L2CAP frame; not used on LE.
  case complete = 0b11
}

/// An HCI ACL Data packet (Vol 4, Part E, 5.4.2). ``ACLHeader`` decodes one without a copy.
public struct HCIACLDataPacket: Packet {
  /// The link.
  public var connectionHandle = ConnectionHandle(rawValue: 0)
  /// The place of the data in its L2CAP frame.
  public var packetBoundaryFlag = PacketBoundaryFlag.firstNonFlushable
  /// The Broadcast_Flag, two bits; zero on LE.
  public var broadcastFlag: UInt8 = 0
  /// A fragment of an L2CAP frame, at most 65,535 octets.
  public var data: Bytes = []
  public init() {}
  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    var head = connectionHandle.rawValue | packetBoundaryFlag.rawValue << 12 | UInt16(broadcastFlag & 0b11) << 14
    try field.integer("Handle, PB_Flag, BC_Flag", &head)
    connectionHandle = ConnectionHandle(rawValue: head)
    packetBoundaryFlag = PacketBoundaryFlag(rawValue: head >> 12 & 0b11) ?? .firstNonFlushable
    broadcastFlag = UInt8(truncatingIfNeeded: head >> 14)
    var length = UInt16(clamping: data.count)
    try field.integer("Data_Total_Length", &length)
    try field.octets("Data", count: Int(length), &data)
  }
}

/// An HCI Synchronous Data packet (Vol 4, Part E, 5.4.3). LE does not use it; its data is kept as octets.
public struct HCISynchronousDataPacket: Packet {
  /// The link.
  public var connectionHandle = ConnectionHandle(rawValue: 0)
  /// The Packet_Status_Flag, two bits.
  public var packetStatusFlag: UInt8 = 0
  /// The two reserved bits, as received.
  public var reserved: UInt8 = 0
  /// The data, at most 255 octets.
  public var data: Bytes = []
  public init() {}
  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    var head = connectionHandle.rawValue | UInt16(packetStatusFlag & 0b11) << 12 | UInt16(reserved & 0b11) << 14
    try field.integer("Connection_Handle, Packet_Status_Flag", &head)
    connectionHandle = ConnectionHandle(rawValue: head)
    packetStatusFlag = UInt8(truncatingIfNeeded: head >> 12 & 0b11)
    reserved = UInt8(truncatingIfNeeded: head >> 14)
    try field.counted("Data", &data)
  }
}

/// An HCI ISO Data packet (Vol 4, Part E, 5.4.5). The load (time stamp, sequence number, SDU) is kept as octets.
public struct HCIISODataPacket: Packet {
  /// The stream.
  public var connectionHandle = ConnectionHandle(rawValue: 0)
  /// The PB_Flag, two bits: first, continuing, complete or last fragment of an SDU.
  public var packetBoundaryFlag: UInt8 = 0
  /// The TS_Flag: whether the load begins with a time stamp.
  public var hasTimeStamp = false
  /// The reserved bits, as received.
  public var reserved: UInt8 = 0
  /// ISO_Data_Load, at most 16,383 octets.
  public var data: Bytes = []
  public init() {}
  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    var head = connectionHandle.rawValue | UInt16(packetBoundaryFlag & 0b11) << 12
    head |= (hasTimeStamp ? 1 : 0) << 14 | UInt16(reserved & 0b1) << 15
    try field.integer("Connection_Handle, PB_Flag, TS_Flag", &head)
    connectionHandle = ConnectionHandle(rawValue: head)
    packetBoundaryFlag = UInt8(truncatingIfNeeded: head >> 12 & 0b11)
    hasTimeStamp = head >> 14 & 1 == 1
    var length = UInt16(min(data.count, 0x3FFF)) | UInt16(reserved >> 1 & 0b11) << 14
    try field.integer("Data_Total_Length", &length)
    reserved = UInt8(truncatingIfNeeded: head >> 15) | UInt8(truncatingIfNeeded: length >> 14) << 1
    try field.octets("ISO_Data_Load", count: Int(length & 0x3FFF), &data)
  }
}

/// An HCI packet with its type, as a stream transport carries it (Vol 4, Part A, 2).
public enum HCIPacket: Equatable, Sendable {
  /// A command.
  case command(HCICommandPacket)
  /// Data of an ACL link.
  case aclData(HCIACLDataPacket)
  /// Data of a synchronous BR/EDR link.
  case synchronousData(HCISynchronousDataPacket)
  /// An event.
  case event(HCIEventPacket)
  /// Data of an isochronous stream.
  case isoData(HCIISODataPacket)

  /// Decodes a packet that fills `octets` exactly, the packet indicator first.
  ///
  /// - Throws: ``/BLEWire/CodecError`` for an unknown packet indicator, and if the length field does not match the
  ///   octets.
  public init(decoding octets: Bytes) throws(CodecError) {
    guard let first = octets.first else { throw .truncated(field: "HCI packet indicator") }
    guard let type = HCIPacketType(rawValue: first) else { throw .invalid(field: "HCI packet indicator") }
    let rest = octets.dropFirst()
    switch type {
    case .command: self = .command(try HCICommandPacket(decoding: rest))
    case .aclData: self = .aclData(try HCIACLDataPacket(decoding: rest))
    case .synchronousData: self = .synchronousData(try HCISynchronousDataPacket(decoding: rest))
    case .event: self = .event(try HCIEventPacket(decoding: rest))
    case .isoData: self = .isoData(try HCIISODataPacket(decoding: rest))
    }
  }

  /// The packet indicator.
  public var type: HCIPacketType {
    switch self {
    case .command: .command
    case .aclData: .aclData
    case .synchronousData: .synchronousData
    case .event: .event
    case .isoData: .isoData
    }
  }

  /// Appends the packet to `buffer`, the packet indicator first.
  public func encode(to buffer: inout [UInt8]) {
    buffer.append(type.rawValue)
    switch self {
    case .command(let packet): packet.encode(to: &buffer)
    case .aclData(let packet): packet.encode(to: &buffer)
    case .synchronousData(let packet): packet.encode(to: &buffer)
    case .event(let packet): packet.encode(to: &buffer)
    case .isoData(let packet): packet.encode(to: &buffer)
    }
  }

  /// The octets of the packet, the packet indicator first.
  public var encoded: [UInt8] {
    var buffer: [UInt8] = []
    encode(to: &buffer)
    return buffer
  }
}

/// The 12 bits that identify a link between host and controller (Vol 4, Part E, 5.3).
///
/// The two octets of a handle have four more bits: flags in data packets, reserved elsewhere. They are masked here,
/// because a receiver ignores reserved bits: a Connection Complete event that reports a failure often has 0xFFFF.
public struct ConnectionHandle: RawRepresentable, Hashable, Sendable {
  public let rawValue: UInt16

  @inlinable public init(rawValue: UInt16) { self.rawValue = rawValue & 0x0FFF }

  /// 0x0EFF: the largest handle that a controller may assign.
  public static let greatest = Self(rawValue: 0x0EFF)
}

extension ConnectionHandle: Comparable {
  /// Whether `a` is the lower handle.
  @inlinable public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

extension ConnectionHandle: CustomStringConvertible {
  /// The number with four hexadecimal digits: `0x0040`.
  public var description: String { rawValue.hexadecimalNumber }
}

/// The header of an ACL packet, decoded without a copy of the data. ``HCIACLDataPacket`` declares the same fields.
public struct ACLHeader: Equatable, Sendable {
  /// The length of packet indicator and header, in octets.
  public static let length = 5

  /// The link.
  public let connectionHandle: ConnectionHandle
  /// The place of the data in its L2CAP frame.
  public let packetBoundaryFlag: PacketBoundaryFlag
  /// The Broadcast_Flag, two bits; zero on LE.
  public let broadcastFlag: UInt8
  /// The length of the data after the header, in octets.
  public let dataLength: Int

  /// Decodes the header of a complete packet, the packet indicator first.
  ///
  /// - Throws: ``/BLEWire/CodecError`` if the octets are not an ACL packet, and if the length field does not match the
  ///   data.
  @inlinable public init(reading packet: Span<UInt8>) throws(CodecError) {
    guard packet.count > 0 else { throw .truncated(field: "HCI packet indicator") }
    guard packet[0] == HCIPacketType.aclData.rawValue else { throw .invalid(field: "HCI packet indicator") }
    guard packet.count >= 3 else { throw .truncated(field: "Handle, PB_Flag, BC_Flag") }
    guard packet.count >= Self.length else { throw .truncated(field: "Data_Total_Length") }
    let head = UInt16(packet[1]) | UInt16(packet[2]) << 8
    let length = Int(packet[3]) | Int(packet[4]) << 8
    guard packet.count >= Self.length + length else { throw .truncated(field: "Data") }
    guard packet.count == Self.length + length else { throw .trailing(count: packet.count - Self.length - length) }
    connectionHandle = ConnectionHandle(rawValue: head)
    packetBoundaryFlag = PacketBoundaryFlag(rawValue: head >> 12 & 0b11) ?? .firstNonFlushable
    broadcastFlag = UInt8(truncatingIfNeeded: head >> 14)
    dataLength = length
  }
}

extension HCI.NumberOfCompletedPackets {
  /// Calls `body` with each link and its number of packets, in order, without decoding the parameters into a packet.
  ///
  /// - Throws: ``/BLEWire/CodecError`` if the number of links does not match the octets; `body` is not called then.
  @inlinable public static func forEach(
    in parameters: Span<UInt8>, _ body: (ConnectionHandle, Int) -> Void
  ) throws(CodecError) {
    guard parameters.count > 0 else { throw .truncated(field: "Num_Handles") }
    let links = Int(parameters[0])
    let length = 1 + 4 * links
    guard parameters.count >= length else {
      throw .truncated(
        field: (parameters.count - 1) % 4 < 2 ? "Connection_Handle[i]" : "Num_Completed_Packets[i]")
    }
    guard parameters.count == length else { throw .trailing(count: parameters.count - length) }
    for index in 0..<links {
      let at = 1 + 4 * index
      body(
        ConnectionHandle(rawValue: UInt16(parameters[at]) | UInt16(parameters[at + 1]) << 8),
        Int(parameters[at + 2]) | Int(parameters[at + 3]) << 8)
    }
  }
}

extension PacketBuffer {
  /// Appends a Number Of Completed Packets event of one link as an H4 packet, without an allocation.
  package mutating func append(completedPackets count: UInt16, on handle: ConnectionHandle) {
    append { octets in
      octets.append(HCIPacketType.event.rawValue)
      octets.append(HCI.NumberOfCompletedPackets.eventCode.rawValue)
      // The length of the parameters; then Num_Handles and one link of four octets.
      octets.append(5)
      octets.append(1)
      octets.append(littleEndian: handle.rawValue)
      octets.append(littleEndian: count)
    }
  }
}

/// The header of an event packet, decoded without copying the parameters.
package struct EventHeader: Equatable, Sendable {
  /// The length of packet indicator and header, in octets.
  package static let length = 3

  package let eventCode: HCIEventCode
  /// The first octet of the parameters of an LE meta event; nil for other events.
  package let subeventCode: LESubeventCode?

  /// Decodes the header of a complete packet, the packet indicator first.
  ///
  /// - Throws: ``CodecError`` if the octets are not an event packet, and if the length field does not match the
  ///   parameters.
  package init(reading packet: Span<UInt8>) throws(CodecError) {
    guard packet.count > 0 else { throw .truncated(field: "HCI packet indicator") }
    guard packet[0] == HCIPacketType.event.rawValue else { throw .invalid(field: "HCI packet indicator") }
    guard packet.count >= Self.length else { throw .truncated(field: "Event_Code") }
    let excess = packet.count - Self.length - Int(packet[2])
    guard excess >= 0 else { throw .truncated(field: "Event_Parameters") }
    guard excess == 0 else { throw .trailing(count: excess) }
    eventCode = HCIEventCode(rawValue: packet[1])
    if eventCode == .leMeta {
      guard packet.count > Self.length else { throw .truncated(field: "Subevent_Code") }
      subeventCode = LESubeventCode(rawValue: packet[Self.length])
    } else {
      subeventCode = nil
    }
  }
}
