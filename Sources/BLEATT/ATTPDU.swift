public import BLEWire

/// An ATT PDU: an opcode, then the parameters that ``/BLEWire/FieldGroup/layout(_:)`` declares (Vol 3, Part F, 3.3.1).
///
/// A PDU is registered by its declaration and its entry in ``ATT/packets``: decoding, the opcode's name and direction,
/// the description and the round-trip tests derive from these.
public protocol ATTPacket: Packet {
  /// The first octet of the PDU.
  static var opcode: ATTOpcode { get }

  /// The name in plain words, such as `Read Request` for ATT_READ_REQ.
  static var name: StaticString { get }

  /// Who sends the PDU, and whether it is answered.
  static var pduType: ATTPDUType { get }
}

extension ATTPacket {
  /// Appends the PDU to `buffer`: the opcode, then the parameters.
  @inlinable public func encodePDU(to buffer: inout [UInt8]) {
    buffer.append(Self.opcode.rawValue)
    encode(to: &buffer)
  }

  /// The PDU as octets: the opcode, then the parameters.
  @inlinable public var encodedPDU: [UInt8] {
    var buffer: [UInt8] = []
    encodePDU(to: &buffer)
    return buffer
  }
}

/// The six types of ATT PDUs (Vol 3, Part F, 3.3, table 3.1).
public enum ATTPDUType: Sendable {
  /// From the client; the server does not answer.
  case command
  /// From the client; the server answers with a response.
  case request
  /// From the server, the answer to a request. The Error Response is one.
  case response
  /// From the server; the client does not answer.
  case notification
  /// From the server; the client answers with a confirmation.
  case indication
  /// From the client, the answer to an indication.
  case confirmation
}

/// The constants of ATT on an LE link, and the list of its PDUs.
public enum ATT {
  /// The ATT_MTU before any exchange, and the smallest allowed, in octets (Vol 3, Part G, 5.2.1).
  public static let defaultMTU = 23
  /// The largest useful ATT_MTU, in octets: a 512-octet value and the five octets of a Prepare Write header.
  public static let maximumMTU = 517
  /// The longest attribute value, in octets (Vol 3, Part F, 3.2.9).
  public static let maximumValueLength = 512
  /// How long a request or an indication may wait for its answer (Vol 3, Part F, 3.3.3).
  public static let transactionTimeout: Duration = .seconds(30)

  /// Every PDU of the Attribute Protocol, in the order of the opcodes (Vol 3, Part F, 3.4.8).
  public static let packets: [any ATTPacket.Type] = [
    ErrorResponse.self,
    ExchangeMTURequest.self, ExchangeMTUResponse.self,
    FindInformationRequest.self, FindInformationResponse.self,
    FindByTypeValueRequest.self, FindByTypeValueResponse.self,
    ReadByTypeRequest.self, ReadByTypeResponse.self,
    ReadRequest.self, ReadResponse.self,
    ReadBlobRequest.self, ReadBlobResponse.self,
    ReadMultipleRequest.self, ReadMultipleResponse.self,
    ReadByGroupTypeRequest.self, ReadByGroupTypeResponse.self,
    WriteRequest.self, WriteResponse.self,
    PrepareWriteRequest.self, PrepareWriteResponse.self,
    ExecuteWriteRequest.self, ExecuteWriteResponse.self,
    HandleValueNotification.self,
    HandleValueIndication.self, HandleValueConfirmation.self,
    ReadMultipleVariableRequest.self, ReadMultipleVariableResponse.self,
    MultipleHandleValueNotification.self,
    WriteCommand.self, SignedWriteCommand.self,
  ]

  static let packetsByOpcode: [ATTOpcode: any ATTPacket.Type] = Dictionary(
    packets.map { ($0.opcode, $0) }, uniquingKeysWith: { first, _ in first })
}

/// Any PDU of the Attribute Protocol.
///
/// ```swift
/// let pdu = try ATTPDU(decoding: [0x0A, 0x03, 0x00])
/// if let request = pdu.packet as? ReadRequest { print(request.handle) }  // 0x0003
/// ```
public struct ATTPDU: Sendable {
  /// The declared packet.
  public let packet: any ATTPacket

  /// The PDU of a declared packet.
  public init(_ packet: some ATTPacket) { self.packet = packet }

  /// Reads the PDU that fills `bytes` exactly.
  ///
  /// - Throws: ``/BLEWire/CodecError``; an opcode that the specification does not define is invalid.
  public init(decoding bytes: Bytes) throws(CodecError) {
    guard let opcode = bytes.first else { throw .truncated(field: "Attribute Opcode") }
    guard let type = ATT.packetsByOpcode[ATTOpcode(rawValue: opcode)] else { throw .invalid(field: "Attribute Opcode") }
    packet = try type.init(decoding: bytes.dropFirst())
  }

  /// The first octet of the PDU.
  public var opcode: ATTOpcode { type(of: packet).opcode }

  /// The PDU as octets: the opcode, then the parameters.
  public var encoded: [UInt8] { packet.encodedPDU }
}

extension ATTPDU: Equatable {
  /// Whether both are the same PDU with equal fields.
  public static func == (a: Self, b: Self) -> Bool { a.packet.isEqual(to: b.packet) }
}

extension ATTPDU: CustomStringConvertible {
  /// The name and each field: `Read Request (0x0A) (0..<2  Attribute Handle: 0x0003)`.
  public var description: String {
    let lines = packet.fieldLines
    return lines.isEmpty ? "\(opcode)" : "\(opcode) (\(lines.joined(separator: ", ")))"
  }
}

/// The first octet of an ATT PDU: a method in six bits, the command flag, the authentication signature flag
/// (Vol 3, Part F, 3.3.1 and 3.4.8).
///
/// The opcode of each PDU is beside the PDU's declaration; ``ATT/packets`` lists the declarations.
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

  public static let names: [Self: StaticString] = Dictionary(
    ATT.packets.map { ($0.opcode, $0.name) }, uniquingKeysWith: { first, _ in first })

  /// Whether a server sends the PDU to a client: a response, a notification or an indication. Every other opcode,
  /// unknown ones included, is for the server.
  @inlinable public var isSentByServer: Bool { isMember(of: Self.sentByServers) }

  /// The opcode of the response to this request; nil for an opcode that is not a request (Vol 3, Part F, 3.4.8).
  ///
  /// The specification numbers each response one above its request.
  public var response: ATTOpcode? { isMember(of: Self.requests) ? ATTOpcode(rawValue: rawValue + 1) : nil }

  /// One bit for each opcode below 64: no request, response, notification or indication has a flag.
  private static let requests = mask(of: [.request])
  // It is read for every PDU, and a stored constant would be initialized on demand. A test compares it with the
  // declared packets.
  @usableFromInline static var sentByServers: UInt64 { 0xA_2A8A_AAAA }

  private static func mask(of types: [ATTPDUType]) -> UInt64 {
    ATT.packets.reduce(0) { mask, packet in
      types.contains(packet.pduType) && packet.opcode.rawValue < 64 ? mask | 1 << UInt64(packet.opcode.rawValue) : mask
    }
  }

  @inlinable func isMember(of mask: UInt64) -> Bool { rawValue < 64 && mask >> UInt64(rawValue) & 1 == 1 }
}
