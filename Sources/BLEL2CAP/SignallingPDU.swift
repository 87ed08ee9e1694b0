public import BLEWire

/// A C-frame of an LE link: exactly one command with its identifier (Vol 3, Part A, 4).
///
/// ```swift
/// let pdu = try SignallingPDU(decoding: [0x13, 0x07, 0x02, 0x00, 0x00, 0x00])
/// // pdu.identifier == 7, pdu.command == .connectionParameterUpdateResponse(.init(result: .accepted))
/// ```
public struct SignallingPDU: Equatable, Sendable {
  /// Ties a response to its request; 1 to 255, zero is not allowed.
  public var identifier: UInt8
  public var command: SignallingCommand

  public init(identifier: UInt8, _ command: SignallingCommand) {
    self.identifier = identifier
    self.command = command
  }

  /// Reads one command that fills `bytes`; an LE link allows no second one behind it.
  ///
  /// A code that nobody defined is kept with its data; the reserved code 0x00 is an error.
  public init(decoding bytes: Bytes) throws(CodecError) {
    let envelope = try Envelope(decoding: bytes)
    identifier = envelope.identifier
    command = try SignallingCommand(envelope.code, decoding: envelope.data)
  }

  /// Appends code, identifier, length and data to `buffer`.
  public func encode(to buffer: inout [UInt8]) {
    Envelope(code: command.code, identifier: identifier, data: command.data).encode(to: &buffer)
  }

  /// The PDU as octets, without the L2CAP header.
  public var encoded: [UInt8] {
    var buffer: [UInt8] = []
    encode(to: &buffer)
    return buffer
  }

  /// What every command has in front of its parameters.
  struct Envelope: Packet {
    var code = SignallingCode(rawValue: 0)
    var identifier: UInt8 = 0
    var data: Bytes = []

    init() {}
    init(code: SignallingCode, identifier: UInt8, data: [UInt8]) {
      self.code = code
      self.identifier = identifier
      self.data = data[...]
    }

    mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      var length = UInt16(clamping: data.count)
      try field.value("Code", &code)
      try field.integer("Identifier", &identifier)
      try field.integer("Data Length", &length)
      try field.octets("Data", count: Int(length), &data)
    }
  }
}

/// What a signalling PDU says.
public enum SignallingCommand: Equatable, Sendable {
  case commandReject(CommandReject)
  case disconnectionRequest(DisconnectionRequest)
  case disconnectionResponse(DisconnectionResponse)
  case connectionParameterUpdateRequest(ConnectionParameterUpdateRequest)
  case connectionParameterUpdateResponse(ConnectionParameterUpdateResponse)
  case leCreditBasedConnectionRequest(LECreditBasedConnectionRequest)
  case leCreditBasedConnectionResponse(LECreditBasedConnectionResponse)
  case flowControlCredit(FlowControlCredit)
  case creditBasedConnectionRequest(CreditBasedConnectionRequest)
  case creditBasedConnectionResponse(CreditBasedConnectionResponse)
  case creditBasedReconfigureRequest(CreditBasedReconfigureRequest)
  case creditBasedReconfigureResponse(CreditBasedReconfigureResponse)
  /// A command of BR/EDR or of a later version.
  case unknown(SignallingCode, Bytes)

  /// Reads the parameters of the command `code`.
  public init(_ code: SignallingCode, decoding data: Bytes) throws(CodecError) {
    switch code {
    case .commandReject: self = .commandReject(try .init(decoding: data))
    case .disconnectionRequest: self = .disconnectionRequest(try .init(decoding: data))
    case .disconnectionResponse: self = .disconnectionResponse(try .init(decoding: data))
    case .connectionParameterUpdateRequest: self = .connectionParameterUpdateRequest(try .init(decoding: data))
    case .connectionParameterUpdateResponse: self = .connectionParameterUpdateResponse(try .init(decoding: data))
    case .leCreditBasedConnectionRequest: self = .leCreditBasedConnectionRequest(try .init(decoding: data))
    case .leCreditBasedConnectionResponse: self = .leCreditBasedConnectionResponse(try .init(decoding: data))
    case .flowControlCredit: self = .flowControlCredit(try .init(decoding: data))
    case .creditBasedConnectionRequest: self = .creditBasedConnectionRequest(try .init(decoding: data))
    case .creditBasedConnectionResponse: self = .creditBasedConnectionResponse(try .init(decoding: data))
    case .creditBasedReconfigureRequest: self = .creditBasedReconfigureRequest(try .init(decoding: data))
    case .creditBasedReconfigureResponse: self = .creditBasedReconfigureResponse(try .init(decoding: data))
    case SignallingCode(rawValue: 0): throw .invalid(field: "Code")
    default: self = .unknown(code, data)
    }
  }

  public var code: SignallingCode {
    if case .unknown(let code, _) = self { return code }
    return packet.map { type(of: $0).code } ?? SignallingCode(rawValue: 0)
  }

  /// The parameters as octets.
  public var data: [UInt8] {
    if case .unknown(_, let data) = self { return Array(data) }
    return packet?.encoded ?? []
  }

  private var packet: (any SignallingPacket)? {
    switch self {
    case .commandReject(let packet): packet
    case .disconnectionRequest(let packet): packet
    case .disconnectionResponse(let packet): packet
    case .connectionParameterUpdateRequest(let packet): packet
    case .connectionParameterUpdateResponse(let packet): packet
    case .leCreditBasedConnectionRequest(let packet): packet
    case .leCreditBasedConnectionResponse(let packet): packet
    case .flowControlCredit(let packet): packet
    case .creditBasedConnectionRequest(let packet): packet
    case .creditBasedConnectionResponse(let packet): packet
    case .creditBasedReconfigureRequest(let packet): packet
    case .creditBasedReconfigureResponse(let packet): packet
    case .unknown: nil
    }
  }
}
