public import BLEWire

/// A PDU of the Security Manager Protocol: one octet of code, then parameters of fixed length (Vol 3, Part H, 3.3).
///
/// ```swift
/// let pdu = try SMPPDU(decoding: [0x05, 0x05])
/// // pdu == .pairingFailed(PairingFailed(reason: .pairingNotSupported))
/// ```
public enum SMPPDU: Equatable, Sendable {
  case pairingRequest(PairingFeatures)
  case pairingResponse(PairingFeatures)
  case pairingConfirm(PairingConfirm)
  case pairingRandom(PairingRandom)
  case pairingFailed(PairingFailed)
  case encryptionInformation(EncryptionInformation)
  case centralIdentification(CentralIdentification)
  case identityInformation(IdentityInformation)
  case identityAddressInformation(IdentityAddressInformation)
  case signingInformation(SigningInformation)
  case securityRequest(SecurityRequest)
  case pairingPublicKey(PairingPublicKey)
  case pairingDHKeyCheck(PairingDHKeyCheck)
  case pairingKeypressNotification(PairingKeypressNotification)

  /// Reads a PDU that fills `bytes`. Reserved values inside it are kept; what they lead to is for the protocol to say.
  ///
  /// - Throws: `CodecError.invalid(field: "Code")` for a reserved code, which a receiver ignores (3.3); any other error
  ///   is a length that does not fit the code.
  public init(decoding bytes: Bytes) throws(CodecError) {
    guard let code = bytes.first else { throw .truncated(field: "Code") }
    let data = bytes.dropFirst()
    switch SMPCode(rawValue: code) {
    case .pairingRequest: self = .pairingRequest(try .init(decoding: data))
    case .pairingResponse: self = .pairingResponse(try .init(decoding: data))
    case .pairingConfirm: self = .pairingConfirm(try .init(decoding: data))
    case .pairingRandom: self = .pairingRandom(try .init(decoding: data))
    case .pairingFailed: self = .pairingFailed(try .init(decoding: data))
    case .encryptionInformation: self = .encryptionInformation(try .init(decoding: data))
    case .centralIdentification: self = .centralIdentification(try .init(decoding: data))
    case .identityInformation: self = .identityInformation(try .init(decoding: data))
    case .identityAddressInformation: self = .identityAddressInformation(try .init(decoding: data))
    case .signingInformation: self = .signingInformation(try .init(decoding: data))
    case .securityRequest: self = .securityRequest(try .init(decoding: data))
    case .pairingPublicKey: self = .pairingPublicKey(try .init(decoding: data))
    case .pairingDHKeyCheck: self = .pairingDHKeyCheck(try .init(decoding: data))
    case .pairingKeypressNotification: self = .pairingKeypressNotification(try .init(decoding: data))
    default: throw .invalid(field: "Code")
    }
  }

  /// Appends code and parameters to `buffer`.
  public func encode(to buffer: inout [UInt8]) {
    let (code, packet) = parts
    buffer.append(code.rawValue)
    packet.encode(to: &buffer)
  }

  /// The PDU as octets, without the L2CAP header.
  public var encoded: [UInt8] {
    var buffer: [UInt8] = []
    encode(to: &buffer)
    return buffer
  }

  public var code: SMPCode { parts.0 }

  private var parts: (SMPCode, any Packet) {
    switch self {
    case .pairingRequest(let packet): (.pairingRequest, packet)
    case .pairingResponse(let packet): (.pairingResponse, packet)
    case .pairingConfirm(let packet): (.pairingConfirm, packet)
    case .pairingRandom(let packet): (.pairingRandom, packet)
    case .pairingFailed(let packet): (.pairingFailed, packet)
    case .encryptionInformation(let packet): (.encryptionInformation, packet)
    case .centralIdentification(let packet): (.centralIdentification, packet)
    case .identityInformation(let packet): (.identityInformation, packet)
    case .identityAddressInformation(let packet): (.identityAddressInformation, packet)
    case .signingInformation(let packet): (.signingInformation, packet)
    case .securityRequest(let packet): (.securityRequest, packet)
    case .pairingPublicKey(let packet): (.pairingPublicKey, packet)
    case .pairingDHKeyCheck(let packet): (.pairingDHKeyCheck, packet)
    case .pairingKeypressNotification(let packet): (.pairingKeypressNotification, packet)
    }
  }
}
