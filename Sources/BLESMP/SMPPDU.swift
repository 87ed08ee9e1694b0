public import BLEWire

/// A PDU of the Security Manager Protocol: a code, then parameters of fixed length (Vol 3, Part H, 3.3).
///
/// ``SMPPDU`` has a case for each, and ``SMPPDU/Kind`` its code.
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

  /// The PDU as octets: the code, then the parameters.
  public var encodedPDU: [UInt8] {
    var buffer: [UInt8] = []
    encodePDU(to: &buffer)
    return buffer
  }
}

/// The numbers of the protocol.
public enum SMP {
  /// The time in which the peer must send the next PDU of a pairing (Vol 3, Part H, 3.4).
  public static let timeout: Duration = .seconds(30)
}

/// A PDU of the Security Manager Protocol.
///
/// ```swift
/// if case .pairingFailed(let failed) = try SMPPDU(decoding: [0x05, 0x05]) {
///   print(failed.reason)  // Pairing Not Supported (0x05)
/// }
/// ```
public enum SMPPDU: Equatable, Sendable {
  /// Pairing Request.
  case pairingRequest(PairingRequest)
  /// Pairing Response.
  case pairingResponse(PairingResponse)
  /// Pairing Confirm.
  case pairingConfirm(PairingConfirm)
  /// Pairing Random.
  case pairingRandom(PairingRandom)
  /// Pairing Failed.
  case pairingFailed(PairingFailed)
  /// Encryption Information.
  case encryptionInformation(EncryptionInformation)
  /// Central Identification.
  case centralIdentification(CentralIdentification)
  /// Identity Information.
  case identityInformation(IdentityInformation)
  /// Identity Address Information.
  case identityAddressInformation(IdentityAddressInformation)
  /// Signing Information.
  case signingInformation(SigningInformation)
  /// Security Request.
  case securityRequest(SecurityRequest)
  /// Pairing Public Key.
  case pairingPublicKey(PairingPublicKey)
  /// Pairing DHKey Check.
  case pairingDHKeyCheck(PairingDHKeyCheck)
  /// Pairing Keypress Notification.
  case pairingKeypressNotification(PairingKeypressNotification)
}

extension SMPPDU {
  /// The PDUs by their codes (Vol 3, Part H, 3.3, table 3.3). Every other code is reserved.
  public enum Kind: UInt8, CaseIterable, Sendable {
    /// Pairing Request.
    case pairingRequest = 0x01
    /// Pairing Response.
    case pairingResponse = 0x02
    /// Pairing Confirm.
    case pairingConfirm = 0x03
    /// Pairing Random.
    case pairingRandom = 0x04
    /// Pairing Failed.
    case pairingFailed = 0x05
    /// Encryption Information.
    case encryptionInformation = 0x06
    /// Central Identification.
    case centralIdentification = 0x07
    /// Identity Information.
    case identityInformation = 0x08
    /// Identity Address Information.
    case identityAddressInformation = 0x09
    /// Signing Information.
    case signingInformation = 0x0A
    /// Security Request.
    case securityRequest = 0x0B
    /// Pairing Public Key.
    case pairingPublicKey = 0x0C
    /// Pairing DHKey Check.
    case pairingDHKeyCheck = 0x0D
    /// Pairing Keypress Notification.
    case pairingKeypressNotification = 0x0E
  }

  /// Decodes the PDU that fills `bytes` exactly, without the L2CAP header. Reserved values of its fields are kept.
  ///
  /// - Throws: `CodecError.invalid(field: "Code")` for a reserved code, which a receiver ignores (Vol 3, Part H,
  ///   3.3). Any other error is a length that does not fit the code.
  public init(decoding bytes: Bytes) throws(CodecError) {
    guard let code = bytes.first else { throw .truncated(field: "Code") }
    guard let kind = Kind(rawValue: code) else { throw .invalid(field: "Code") }
    let fields = bytes.dropFirst()
    switch kind {
    case .pairingRequest: self = .pairingRequest(try .init(decoding: fields))
    case .pairingResponse: self = .pairingResponse(try .init(decoding: fields))
    case .pairingConfirm: self = .pairingConfirm(try .init(decoding: fields))
    case .pairingRandom: self = .pairingRandom(try .init(decoding: fields))
    case .pairingFailed: self = .pairingFailed(try .init(decoding: fields))
    case .encryptionInformation: self = .encryptionInformation(try .init(decoding: fields))
    case .centralIdentification: self = .centralIdentification(try .init(decoding: fields))
    case .identityInformation: self = .identityInformation(try .init(decoding: fields))
    case .identityAddressInformation: self = .identityAddressInformation(try .init(decoding: fields))
    case .signingInformation: self = .signingInformation(try .init(decoding: fields))
    case .securityRequest: self = .securityRequest(try .init(decoding: fields))
    case .pairingPublicKey: self = .pairingPublicKey(try .init(decoding: fields))
    case .pairingDHKeyCheck: self = .pairingDHKeyCheck(try .init(decoding: fields))
    case .pairingKeypressNotification: self = .pairingKeypressNotification(try .init(decoding: fields))
    }
  }

  /// Gives the packet, with its type, to `visitor`, for code that treats all PDUs alike.
  public func visit<Visitor: SMPPacketVisitor>(with visitor: inout Visitor) -> Visitor.Output {
    switch self {
    case .pairingRequest(let packet): visitor.visit(packet)
    case .pairingResponse(let packet): visitor.visit(packet)
    case .pairingConfirm(let packet): visitor.visit(packet)
    case .pairingRandom(let packet): visitor.visit(packet)
    case .pairingFailed(let packet): visitor.visit(packet)
    case .encryptionInformation(let packet): visitor.visit(packet)
    case .centralIdentification(let packet): visitor.visit(packet)
    case .identityInformation(let packet): visitor.visit(packet)
    case .identityAddressInformation(let packet): visitor.visit(packet)
    case .signingInformation(let packet): visitor.visit(packet)
    case .securityRequest(let packet): visitor.visit(packet)
    case .pairingPublicKey(let packet): visitor.visit(packet)
    case .pairingDHKeyCheck(let packet): visitor.visit(packet)
    case .pairingKeypressNotification(let packet): visitor.visit(packet)
    }
  }

  /// The first octet of the PDU.
  public var code: SMPCode {
    var code = Code()
    return visit(with: &code)
  }

  /// The PDU as octets, without the L2CAP header.
  public var encoded: [UInt8] {
    var octets = Octets()
    return visit(with: &octets)
  }

  private struct Code: SMPPacketVisitor {
    func visit<Declared: SMPPacket>(_ packet: Declared) -> SMPCode { Declared.code }
  }

  private struct Octets: SMPPacketVisitor {
    func visit(_ packet: some SMPPacket) -> [UInt8] { packet.encodedPDU }
  }
}

/// What is done with a packet of any type.
///
/// ```swift
/// struct Length: SMPPacketVisitor {
///   func visit(_ packet: some SMPPacket) -> Int { packet.encodedPDU.count }
/// }
/// ```
public protocol SMPPacketVisitor {
  /// What comes of it.
  associatedtype Output

  /// Takes the packet.
  mutating func visit(_ packet: some SMPPacket) -> Output
}

extension SMPPDU: CustomStringConvertible {
  /// The name, the code and the number of octets: `Pairing Random (0x04), 17 octets`. The fields are not shown: some
  /// are keys.
  public var description: String { "\(code), \(encoded.count) octets" }
}

/// The first octet of an SMP PDU (Vol 3, Part H, 3.3, table 3.3).
///
/// The code of each PDU is declared beside the PDU; ``SMPPDU/Kind`` has all of them.
public struct SMPCode: AssignedNumber {
  public var rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let spaceName: StaticString = "SMP code"
}

extension SMPPDU {
  /// A PDU of each case, in the order of the codes (Vol 3, Part H, 3.3, table 3.3).
  fileprivate static let all: [Self] = [
    .pairingRequest(.init()), .pairingResponse(.init()), .pairingConfirm(.init()), .pairingRandom(.init()),
    .pairingFailed(.init()), .encryptionInformation(.init()), .centralIdentification(.init()),
    .identityInformation(.init()), .identityAddressInformation(.init()), .signingInformation(.init()),
    .securityRequest(.init()), .pairingPublicKey(.init()), .pairingDHKeyCheck(.init()),
    .pairingKeypressNotification(.init()),
  ]

  private struct Name: SMPPacketVisitor {
    func visit<Declared: SMPPacket>(_ packet: Declared) -> StaticString { Declared.name }
  }

  /// The name in plain words.
  package var name: StaticString {
    var name = Name()
    return visit(with: &name)
  }
}

// Embedded Swift has no existential types; what they serve is for tools.
#if !hasFeature(Embedded)
  extension SMP {
    /// The packet of each case of ``SMPPDU``, for tools and tests, in the order of the codes (Vol 3, Part H, 3.3,
    /// table 3.3).
    public static let packets: [any SMPPacket.Type] = SMPPDU.all.map { type(of: $0.packet) }
  }

  extension SMPPDU {
    private struct Box: SMPPacketVisitor {
      func visit(_ packet: some SMPPacket) -> any SMPPacket { packet }
    }

    /// The packet, without its type, for tools that treat all PDUs alike.
    public var packet: any SMPPacket {
      var box = Box()
      return visit(with: &box)
    }
  }
#endif

// A firmware prints numbers instead of names. `-D NAMES` gives them to other programs in Embedded Swift.
#if !hasFeature(Embedded) || NAMES
  extension SMPCode {
    public static let names: [Self: StaticString] =
      SMPPDU.all.reduce(into: [:]) { $0[$1.code] = $1.name }
  }
#endif
