public import BLEWire

/// The parameters of one signalling command: the octets after its code, identifier and length (Vol 3, Part A, 4).
///
/// ``SignallingCommand`` has a case for each, and ``SignallingCommand/Kind`` its code.
public protocol SignallingPacket: Packet {
  /// The octet that identifies the command.
  static var code: SignallingCode { get }

  /// The name in plain words, such as `Disconnection Request` for L2CAP_DISCONNECTION_REQ.
  static var name: StaticString { get }
}

extension SignallingPacket {
  /// Appends the PDU to `buffer`: the code, the identifier, the length and the parameters.
  public func encodePDU(identifier: UInt8, to buffer: inout [UInt8]) {
    SignallingPDU.Header(code: Self.code, identifier: identifier, data: encoded).encode(to: &buffer)
  }

  /// The PDU as octets, without the L2CAP header.
  public func encodedPDU(identifier: UInt8) -> [UInt8] {
    var buffer: [UInt8] = []
    encodePDU(identifier: identifier, to: &buffer)
    return buffer
  }
}

/// A C-frame of an LE link: exactly one command with its identifier (Vol 3, Part A, 4).
///
/// ```swift
/// let pdu = try SignallingPDU(decoding: [0x13, 0x07, 0x02, 0x00, 0x00, 0x00])
/// // pdu.identifier == 7, pdu.command == .connectionParameterUpdateResponse(.init(result: .accepted))
/// ```
public struct SignallingPDU: Equatable, Sendable {
  /// The number that a response copies from its request: 1 to 255, zero is not allowed.
  public var identifier: UInt8
  /// The command.
  public var command: SignallingCommand

  /// A PDU with the given command.
  public init(identifier: UInt8, _ command: SignallingCommand) {
    self.identifier = identifier
    self.command = command
  }

  /// Decodes one command that fills `bytes`; an LE link allows only one in a PDU.
  ///
  /// - Throws: ``/BLEWire/CodecError`` if header or parameters are malformed, and for the reserved code 0x00. A code
  ///   without a declaration is not an error.
  public init(decoding bytes: Bytes) throws(CodecError) {
    let header = try Header(decoding: bytes)
    identifier = header.identifier
    command = try SignallingCommand(header.code, decoding: header.data)
  }

  /// Appends code, identifier, length and data to `buffer`.
  public func encode(to buffer: inout [UInt8]) {
    Header(code: command.code, identifier: identifier, data: command.data).encode(to: &buffer)
  }

  /// The octets of the PDU, without the L2CAP header.
  public var encoded: [UInt8] {
    var buffer: [UInt8] = []
    encode(to: &buffer)
    return buffer
  }

  /// The fields of every signalling PDU.
  fileprivate struct Header: Packet {
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

/// The command of a signalling PDU.
public enum SignallingCommand: Equatable, Sendable {
  /// L2CAP_COMMAND_REJECT_RSP.
  case commandReject(CommandReject)
  /// L2CAP_DISCONNECTION_REQ.
  case disconnectionRequest(DisconnectionRequest)
  /// L2CAP_DISCONNECTION_RSP.
  case disconnectionResponse(DisconnectionResponse)
  /// L2CAP_CONNECTION_PARAMETER_UPDATE_REQ.
  case connectionParameterUpdateRequest(ConnectionParameterUpdateRequest)
  /// L2CAP_CONNECTION_PARAMETER_UPDATE_RSP.
  case connectionParameterUpdateResponse(ConnectionParameterUpdateResponse)
  /// L2CAP_LE_CREDIT_BASED_CONNECTION_REQ.
  case leCreditBasedConnectionRequest(LECreditBasedConnectionRequest)
  /// L2CAP_LE_CREDIT_BASED_CONNECTION_RSP.
  case leCreditBasedConnectionResponse(LECreditBasedConnectionResponse)
  /// L2CAP_FLOW_CONTROL_CREDIT_IND.
  case flowControlCredit(FlowControlCredit)
  /// L2CAP_CREDIT_BASED_CONNECTION_REQ.
  case creditBasedConnectionRequest(CreditBasedConnectionRequest)
  /// L2CAP_CREDIT_BASED_CONNECTION_RSP.
  case creditBasedConnectionResponse(CreditBasedConnectionResponse)
  /// L2CAP_CREDIT_BASED_RECONFIGURE_REQ.
  case creditBasedReconfigureRequest(CreditBasedReconfigureRequest)
  /// L2CAP_CREDIT_BASED_RECONFIGURE_RSP.
  case creditBasedReconfigureResponse(CreditBasedReconfigureResponse)
  /// A command of BR/EDR or of a later version of the specification: its parameters are kept as octets.
  case undeclared(SignallingCode, Bytes)
}

extension SignallingCommand {
  /// The commands that are declared here, by their codes (Vol 3, Part A, 4, table 4.2).
  public enum Kind: UInt8, CaseIterable, Sendable {
    /// L2CAP_COMMAND_REJECT_RSP.
    case commandReject = 0x01
    /// L2CAP_DISCONNECTION_REQ.
    case disconnectionRequest = 0x06
    /// L2CAP_DISCONNECTION_RSP.
    case disconnectionResponse = 0x07
    /// L2CAP_CONNECTION_PARAMETER_UPDATE_REQ.
    case connectionParameterUpdateRequest = 0x12
    /// L2CAP_CONNECTION_PARAMETER_UPDATE_RSP.
    case connectionParameterUpdateResponse = 0x13
    /// L2CAP_LE_CREDIT_BASED_CONNECTION_REQ.
    case leCreditBasedConnectionRequest = 0x14
    /// L2CAP_LE_CREDIT_BASED_CONNECTION_RSP.
    case leCreditBasedConnectionResponse = 0x15
    /// L2CAP_FLOW_CONTROL_CREDIT_IND.
    case flowControlCredit = 0x16
    /// L2CAP_CREDIT_BASED_CONNECTION_REQ.
    case creditBasedConnectionRequest = 0x17
    /// L2CAP_CREDIT_BASED_CONNECTION_RSP.
    case creditBasedConnectionResponse = 0x18
    /// L2CAP_CREDIT_BASED_RECONFIGURE_REQ.
    case creditBasedReconfigureRequest = 0x19
    /// L2CAP_CREDIT_BASED_RECONFIGURE_RSP.
    case creditBasedReconfigureResponse = 0x1A
  }

  /// Decodes the parameters of the command `code`.
  ///
  /// - Throws: ``/BLEWire/CodecError`` if the parameters are malformed, and for the reserved code 0x00.
  public init(_ code: SignallingCode, decoding data: Bytes) throws(CodecError) {
    guard code.rawValue != 0 else { throw .invalid(field: "Code") }
    guard let kind = Kind(rawValue: code.rawValue) else {
      self = .undeclared(code, data)
      return
    }
    switch kind {
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
    }
  }

  /// Gives the declared parameters, with their type, to `visitor`, for code that treats all commands alike.
  ///
  /// - Returns: nil for a command without a declaration.
  public func visit<Visitor: SignallingPacketVisitor>(with visitor: inout Visitor) -> Visitor.Output? {
    switch self {
    case .commandReject(let packet): visitor.visit(packet)
    case .disconnectionRequest(let packet): visitor.visit(packet)
    case .disconnectionResponse(let packet): visitor.visit(packet)
    case .connectionParameterUpdateRequest(let packet): visitor.visit(packet)
    case .connectionParameterUpdateResponse(let packet): visitor.visit(packet)
    case .leCreditBasedConnectionRequest(let packet): visitor.visit(packet)
    case .leCreditBasedConnectionResponse(let packet): visitor.visit(packet)
    case .flowControlCredit(let packet): visitor.visit(packet)
    case .creditBasedConnectionRequest(let packet): visitor.visit(packet)
    case .creditBasedConnectionResponse(let packet): visitor.visit(packet)
    case .creditBasedReconfigureRequest(let packet): visitor.visit(packet)
    case .creditBasedReconfigureResponse(let packet): visitor.visit(packet)
    case .undeclared: nil
    }
  }

  /// The octet that identifies the command.
  public var code: SignallingCode {
    if case .undeclared(let code, _) = self { return code }
    var code = Code()
    return visit(with: &code) ?? SignallingCode(rawValue: 0)
  }

  /// The parameters as octets.
  public var data: [UInt8] {
    if case .undeclared(_, let data) = self { return Array(data) }
    var parameters = Parameters()
    return visit(with: &parameters) ?? []
  }

  private struct Code: SignallingPacketVisitor {
    func visit<Declared: SignallingPacket>(_ packet: Declared) -> SignallingCode { Declared.code }
  }

  private struct Parameters: SignallingPacketVisitor {
    func visit(_ packet: some SignallingPacket) -> [UInt8] { packet.encoded }
  }
}

/// What is done with the parameters of a signalling command of any type.
///
/// ```swift
/// struct Length: SignallingPacketVisitor {
///   func visit(_ packet: some SignallingPacket) -> Int { packet.encoded.count }
/// }
/// ```
public protocol SignallingPacketVisitor {
  /// What comes of it.
  associatedtype Output

  /// Takes the parameters.
  mutating func visit(_ packet: some SignallingPacket) -> Output
}

/// The octet that identifies a signalling command (Vol 3, Part A, 4, table 4.2).
///
/// The code of each command is beside the command's declaration.
public struct SignallingCode: AssignedNumber {
  public var rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Whether the command is a response, those of BR/EDR included. A response is never answered, not even with a Command
  /// Reject (Vol 3, Part A, 4.1).
  public var isResponse: Bool {
    switch rawValue {
    case 0x01, 0x03, 0x05, 0x07, 0x09, 0x0B, 0x0D, 0x0F, 0x11, 0x13, 0x15, 0x18, 0x1A: true
    default: false
    }
  }

  public static let spaceName: StaticString = "signalling code"
}

extension SignallingCommand {
  /// A command of each declared case, in the order of the codes (Vol 3, Part A, 4, table 4.2).
  fileprivate static let all: [Self] = [
    .commandReject(.init()), .disconnectionRequest(.init()), .disconnectionResponse(.init()),
    .connectionParameterUpdateRequest(.init()), .connectionParameterUpdateResponse(.init()),
    .leCreditBasedConnectionRequest(.init()), .leCreditBasedConnectionResponse(.init()), .flowControlCredit(.init()),
    .creditBasedConnectionRequest(.init()), .creditBasedConnectionResponse(.init()),
    .creditBasedReconfigureRequest(.init()), .creditBasedReconfigureResponse(.init()),
  ]

  private struct Name: SignallingPacketVisitor {
    func visit<Declared: SignallingPacket>(_ packet: Declared) -> StaticString { Declared.name }
  }

  /// The name in plain words; nil for a command without a declaration.
  package var name: StaticString? {
    var name = Name()
    return visit(with: &name)
  }
}

// Embedded Swift has no existential types; what they serve is for tools.
#if !hasFeature(Embedded)
  extension SignallingPDU {
    /// The packet of each declared case of ``SignallingCommand``, for tools and tests, in the order of the codes
    /// (Vol 3, Part A, 4, table 4.2).
    public static let packets: [any SignallingPacket.Type] =
      SignallingCommand.all.compactMap(\.packet).map { type(of: $0) }
  }

  extension SignallingCommand {
    private struct Box: SignallingPacketVisitor {
      func visit(_ packet: some SignallingPacket) -> any SignallingPacket { packet }
    }

    /// The declared parameters, without their type, for tools that treat all commands alike; nil for a command without a
    /// declaration.
    public var packet: (any SignallingPacket)? {
      var box = Box()
      return visit(with: &box)
    }
  }
#endif

// A firmware prints numbers instead of names. `-D NAMES` gives them to other programs in Embedded Swift.
#if !hasFeature(Embedded) || NAMES
  extension SignallingCode {
    public static let names: [Self: StaticString] =
      SignallingCommand.all.reduce(into: [:]) { $0[$1.code] = $1.name }
  }
#endif
