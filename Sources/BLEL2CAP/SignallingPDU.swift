public import BLEWire

/// The parameters of one signalling command: the octets after its code, identifier and length (Vol 3, Part A, 4).
///
/// A command is registered by its declaration and its entry in ``SignallingPDU/packets``.
public protocol SignallingPacket: Packet {
  /// The octet that identifies the command.
  static var code: SignallingCode { get }

  /// The name in plain words, such as `Disconnection Request` for L2CAP_DISCONNECTION_REQ.
  static var name: StaticString { get }
}

/// A C-frame of an LE link: exactly one command with its identifier (Vol 3, Part A, 4).
///
/// ```swift
/// let pdu = try SignallingPDU(decoding: [0x13, 0x07, 0x02, 0x00, 0x00, 0x00])
/// // pdu.identifier == 7, pdu.command.packet is ConnectionParameterUpdateResponse
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

  /// A PDU with a declared command.
  public init(identifier: UInt8, _ packet: some SignallingPacket) {
    self.init(identifier: identifier, .declared(packet))
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

  /// Every command that is declared here, in the order of the codes (Vol 3, Part A, 4, table 4.2).
  public static let packets: [any SignallingPacket.Type] = [
    CommandReject.self, DisconnectionRequest.self, DisconnectionResponse.self, ConnectionParameterUpdateRequest.self,
    ConnectionParameterUpdateResponse.self, LECreditBasedConnectionRequest.self, LECreditBasedConnectionResponse.self,
    FlowControlCredit.self, CreditBasedConnectionRequest.self, CreditBasedConnectionResponse.self,
    CreditBasedReconfigureRequest.self, CreditBasedReconfigureResponse.self,
  ]

  /// The fields of every signalling PDU.
  private struct Header: Packet {
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
public enum SignallingCommand: Sendable {
  /// A command whose parameters are declared here.
  case declared(any SignallingPacket)
  /// A command of BR/EDR or of a later version of the specification: its parameters are kept as octets.
  case undeclared(SignallingCode, Bytes)

  /// Decodes the parameters of the command `code`.
  ///
  /// - Throws: ``/BLEWire/CodecError`` if the parameters are malformed, and for the reserved code 0x00.
  public init(_ code: SignallingCode, decoding data: Bytes) throws(CodecError) {
    guard code.rawValue != 0 else { throw .invalid(field: "Code") }
    if let type = SignallingCode.packets[code] {
      self = .declared(try type.init(decoding: data))
    } else {
      self = .undeclared(code, data)
    }
  }

  /// The declared parameters; nil for a command without a declaration.
  public var packet: (any SignallingPacket)? {
    if case .declared(let packet) = self { packet } else { nil }
  }

  /// The octet that identifies the command.
  public var code: SignallingCode {
    switch self {
    case .declared(let packet): type(of: packet).code
    case .undeclared(let code, _): code
    }
  }

  /// The parameters as octets.
  public var data: [UInt8] {
    switch self {
    case .declared(let packet): packet.encoded
    case .undeclared(_, let data): Array(data)
    }
  }
}

extension SignallingCommand: Equatable {
  /// Whether both are the same command with equal parameters.
  public static func == (a: Self, b: Self) -> Bool {
    switch (a, b) {
    case (.declared(let a), .declared(let b)): a.isEqual(to: b)
    case (.undeclared(let a, let aData), .undeclared(let b, let bData)): a == b && aData == bData
    default: false
    }
  }
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
  public static let names: [Self: StaticString] = packets.mapValues { $0.name }

  fileprivate static let packets: [Self: any SignallingPacket.Type] = Dictionary(
    SignallingPDU.packets.map { ($0.code, $0) }, uniquingKeysWith: { first, _ in first })
}
