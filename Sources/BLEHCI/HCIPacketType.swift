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
