public import BLEWire

/// A PDU of the Security Manager Protocol: a code, then parameters of fixed length (Vol 3, Part H, 3.3).
///
/// A PDU is registered by its declaration and its entry in ``SMP/packets``. Decoding, the name of the code and the
/// round-trip tests use these.
public protocol SMPPacket: Packet {
  /// The first octet of the PDU.
  static var code: SMPCode { get }

  /// The name in plain words, such as `Pairing Request`.
  static var name: StaticString { get }
}

extension SMPPacket {
  /// Appends the PDU to `buffer`: the code, then the parameters.
  public func encodePDU(to buffer: inout [UInt8]) {
    buffer.append(Self.code.rawValue)
    encode(to: &buffer)
  }
}

/// The list of the PDUs, and the numbers of the protocol.
public enum SMP {
  /// The PDUs in the order of their codes (Vol 3, Part H, 3.3, table 3.3).
  public static let packets: [any SMPPacket.Type] = [
    PairingRequest.self, PairingResponse.self, PairingConfirm.self, PairingRandom.self, PairingFailed.self,
    EncryptionInformation.self, CentralIdentification.self, IdentityInformation.self,
    IdentityAddressInformation.self, SigningInformation.self, SecurityRequest.self, PairingPublicKey.self,
    PairingDHKeyCheck.self, PairingKeypressNotification.self,
  ]
  /// The time in which the peer must send the next PDU of a pairing (Vol 3, Part H, 3.4).
  public static let timeout: Duration = .seconds(30)

  static let packetsByCode: [SMPCode: any SMPPacket.Type] = Dictionary(
    packets.map { ($0.code, $0) }, uniquingKeysWith: { first, _ in first })
}

/// A PDU of the Security Manager Protocol.
///
/// ```swift
/// let pdu = try SMPPDU(decoding: [0x05, 0x05])
/// if let failed = pdu.packet as? PairingFailed { print(failed.reason) }  // Pairing Not Supported (0x05)
/// ```
public struct SMPPDU: Sendable {
  /// The declared packet.
  public let packet: any SMPPacket

  /// The PDU of a declared packet.
  public init(_ packet: some SMPPacket) { self.packet = packet }

  /// Decodes the PDU that fills `bytes` exactly, without the L2CAP header. Reserved values of its fields are kept.
  ///
  /// - Throws: `CodecError.invalid(field: "Code")` for a reserved code, which a receiver ignores (Vol 3, Part H,
  ///   3.3). Any other error is a length that does not fit the code.
  public init(decoding bytes: Bytes) throws(CodecError) {
    guard let code = bytes.first else { throw .truncated(field: "Code") }
    guard let type = SMP.packetsByCode[SMPCode(rawValue: code)] else { throw .invalid(field: "Code") }
    packet = try type.init(decoding: bytes.dropFirst())
  }

  /// The first octet of the PDU.
  public var code: SMPCode { type(of: packet).code }

  /// The PDU as octets, without the L2CAP header.
  public var encoded: [UInt8] {
    var buffer: [UInt8] = []
    packet.encodePDU(to: &buffer)
    return buffer
  }
}

extension SMPPDU: Equatable {
  /// Whether both are the same PDU with equal fields.
  public static func == (a: Self, b: Self) -> Bool { a.packet.isEqual(to: b.packet) }
}

extension SMPPDU: CustomStringConvertible {
  /// The name, the code and the number of octets: `Pairing Random (0x04), 17 octets`. The fields are not shown: some
  /// are keys.
  public var description: String { "\(code), \(encoded.count) octets" }
}

/// The first octet of an SMP PDU (Vol 3, Part H, 3.3, table 3.3).
///
/// The code of each PDU is declared beside the PDU; ``SMP/packets`` lists the declarations.
public struct SMPCode: AssignedNumber {
  public var rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let spaceName: StaticString = "SMP code"
  public static let names: [Self: StaticString] = Dictionary(
    SMP.packets.map { ($0.code, $0.name) }, uniquingKeysWith: { first, _ in first })
}
