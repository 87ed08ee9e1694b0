public import BLEWire

/// The first octet of an ATT PDU: a method in six bits, the command flag, the authentication signature flag
/// (Vol 3, Part F, 3.3.1 and 3.4.8).
///
/// The opcode of each PDU is beside the PDU's declaration; ``ATTPDU/Kind`` has all of them.
public struct ATTOpcode: AssignedNumber {
  public var rawValue: UInt8

  @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Bits 0 to 5: the method, without the flags.
  @inlinable public var method: UInt8 { rawValue & 0x3F }

  /// Bit 6: a command. No command is answered, not even with an Error Response.
  @inlinable public var isCommand: Bool { rawValue & 0x40 != 0 }

  /// Bit 7: the PDU ends with a signature of twelve octets.
  @inlinable public var isSigned: Bool { rawValue & 0x80 != 0 }
}

extension ATTOpcode {
  public static let spaceName: StaticString = "ATT opcode"

  /// Whether a server sends the PDU to a client: a response, a notification or an indication. Every other opcode,
  /// unknown ones included, is for the server.
  @inlinable public var isSentByServer: Bool { isMember(of: Self.sentByServers) }

  /// The opcode of the response to this request; nil for an opcode that is not a request (Vol 3, Part F, 3.4.8).
  ///
  /// The specification numbers each response one above its request.
  public var response: ATTOpcode? { isMember(of: Self.requests) ? ATTOpcode(rawValue: rawValue + 1) : nil }

  // One bit for each opcode below 64: no request, response, notification or indication has a flag. They are read for
  // every PDU, and stored constants would be initialized on demand. Tests compare them with the declared packets.
  private static var requests: UInt64 { 0x1_0145_5554 }
  @usableFromInline static var sentByServers: UInt64 { 0xA_2A8A_AAAA }

  @inlinable func isMember(of mask: UInt64) -> Bool { rawValue < 64 && mask >> UInt64(rawValue) & 1 == 1 }
}
