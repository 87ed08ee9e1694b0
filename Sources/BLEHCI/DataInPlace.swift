public import BLEWire

/// The header of an ACL packet, read in place: what ``HCIACLDataPacket`` declares, without copying the data.
public struct ACLHeader: Equatable, Sendable {
  /// The type octet and the header.
  public static let length = 5

  public let connectionHandle: ConnectionHandle
  public let packetBoundaryFlag: PacketBoundaryFlag
  public let broadcastFlag: UInt8
  /// Octets of data behind the header.
  public let dataLength: Int

  /// Reads the header of a whole H4 packet, the type octet first.
  ///
  /// - Throws: ``CodecError`` where the octets are no ACL packet, or its length is not that of its data.
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
  /// Reads the event's parameters in place and hands each link and its count to `body`, in order.
  ///
  /// - Throws: ``CodecError`` before the first call of `body`, where the count of links is not that of the octets.
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
