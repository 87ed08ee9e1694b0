public import BLEWire

/// The octet in front of every packet on a serial or stream transport (Vol 4, Part A, 2).
public enum HCIPacketType: UInt8, Sendable, CaseIterable {
  case command = 0x01
  case aclData = 0x02
  case synchronousData = 0x03
  case event = 0x04
  case isoData = 0x05

  /// How many octets of header follow the indicator before the length is known.
  @inlinable public var headerLength: Int {
    switch self {
    case .command, .synchronousData: 3
    case .event: 2
    case .aclData, .isoData: 4
    }
  }
}

/// HCI Command packet: Vol 4, Part E, 5.4.1.
///
/// It keeps the parameters as octets, so that a command without a declaration here passes through unharmed.
public struct HCICommandPacket: Packet {
  public var opcode = HCIOpcode.none
  public var parameters: Bytes = []
  public init() {}
  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Opcode", &opcode)
    try field.counted("Parameters", &parameters)
  }
}

/// HCI Event packet: Vol 4, Part E, 5.4.4.
public struct HCIEventPacket: Packet {
  public var eventCode = HCIEventCode(rawValue: 0)
  public var parameters: Bytes = []
  public init() {}
  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Event_Code", &eventCode)
    try field.counted("Event_Parameters", &parameters)
  }
}

/// What the two bits above the handle of an ACL packet say about the L2CAP frame (Vol 4, Part E, 5.4.2).
public enum PacketBoundaryFlag: UInt16, Sendable, CaseIterable {
  /// The first fragment of a frame that is not flushed automatically; from host to controller.
  case firstNonFlushable = 0b00
  case continuing = 0b01
  /// The first fragment of a frame; from controller to host.
  case firstFlushable = 0b10
  /// A whole L2CAP frame; on no LE link.
  case complete = 0b11
}

/// HCI ACL Data packet: Vol 4, Part E, 5.4.2.
public struct HCIACLDataPacket: Packet {
  public var connectionHandle = ConnectionHandle(rawValue: 0)
  public var packetBoundaryFlag = PacketBoundaryFlag.firstNonFlushable
  /// Two bits; zero on an LE link, where nothing is broadcast.
  public var broadcastFlag: UInt8 = 0
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

/// HCI Synchronous Data packet: Vol 4, Part E, 5.4.3. No LE link carries one; it is framed and kept as octets.
public struct HCISynchronousDataPacket: Packet {
  public var connectionHandle = ConnectionHandle(rawValue: 0)
  /// Two bits.
  public var packetStatusFlag: UInt8 = 0
  /// The two upper bits, reserved for future use, as they came.
  public var reserved: UInt8 = 0
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

/// HCI ISO Data packet: Vol 4, Part E, 5.4.5. The load (time stamp, sequence number, SDU) is kept as octets.
public struct HCIISODataPacket: Packet {
  public var connectionHandle = ConnectionHandle(rawValue: 0)
  /// Two bits: first, continuing, complete or last fragment of an SDU.
  public var packetBoundaryFlag: UInt8 = 0
  /// Whether the load begins with a time stamp.
  public var hasTimeStamp = false
  /// The bits that are reserved for future use, as they came.
  public var reserved: UInt8 = 0
  /// At most 16383 octets.
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

/// One whole HCI packet with its type, as a stream transport carries it (Vol 4, Part A, 2).
public enum HCIPacket: Equatable, Sendable {
  case command(HCICommandPacket)
  case aclData(HCIACLDataPacket)
  case synchronousData(HCISynchronousDataPacket)
  case event(HCIEventPacket)
  case isoData(HCIISODataPacket)

  /// Reads a packet that fills `octets` exactly, the type octet first.
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

  public var type: HCIPacketType {
    switch self {
    case .command: .command
    case .aclData: .aclData
    case .synchronousData: .synchronousData
    case .event: .event
    case .isoData: .isoData
    }
  }

  /// Appends the packet to `buffer`, the type octet first.
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

  public var encoded: [UInt8] {
    var buffer: [UInt8] = []
    encode(to: &buffer)
    return buffer
  }
}
