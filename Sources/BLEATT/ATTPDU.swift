public import BLEWire

/// An ATT PDU: an opcode, then the parameters that ``/BLEWire/FieldGroup/layout(_:)`` declares (Vol 3, Part F, 3.3.1).
///
/// ``ATTPDU`` has a case for each, and ``ATTPDU/Kind`` its opcode.
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

/// The constants of ATT on an LE link.
public enum ATT {
  /// The ATT_MTU before any exchange, and the smallest allowed, in octets (Vol 3, Part G, 5.2.1).
  public static let defaultMTU = 23
  /// The largest useful ATT_MTU, in octets: a 512-octet value and the five octets of a Prepare Write header.
  public static let maximumMTU = 517
  /// The longest attribute value, in octets (Vol 3, Part F, 3.2.9).
  public static let maximumValueLength = 512
  /// How long a request or an indication may wait for its answer (Vol 3, Part F, 3.3.3).
  public static let transactionTimeout: Duration = .seconds(30)
}

/// Any PDU of the Attribute Protocol.
///
/// ```swift
/// if case .readRequest(let request) = try ATTPDU(decoding: [0x0A, 0x03, 0x00]) {
///   print(request.handle)  // 0x0003
/// }
/// ```
public enum ATTPDU: Equatable, Sendable {
  /// ATT_ERROR_RSP.
  case errorResponse(ErrorResponse)
  /// ATT_EXCHANGE_MTU_REQ.
  case exchangeMTURequest(ExchangeMTURequest)
  /// ATT_EXCHANGE_MTU_RSP.
  case exchangeMTUResponse(ExchangeMTUResponse)
  /// ATT_FIND_INFORMATION_REQ.
  case findInformationRequest(FindInformationRequest)
  /// ATT_FIND_INFORMATION_RSP.
  case findInformationResponse(FindInformationResponse)
  /// ATT_FIND_BY_TYPE_VALUE_REQ.
  case findByTypeValueRequest(FindByTypeValueRequest)
  /// ATT_FIND_BY_TYPE_VALUE_RSP.
  case findByTypeValueResponse(FindByTypeValueResponse)
  /// ATT_READ_BY_TYPE_REQ.
  case readByTypeRequest(ReadByTypeRequest)
  /// ATT_READ_BY_TYPE_RSP.
  case readByTypeResponse(ReadByTypeResponse)
  /// ATT_READ_REQ.
  case readRequest(ReadRequest)
  /// ATT_READ_RSP.
  case readResponse(ReadResponse)
  /// ATT_READ_BLOB_REQ.
  case readBlobRequest(ReadBlobRequest)
  /// ATT_READ_BLOB_RSP.
  case readBlobResponse(ReadBlobResponse)
  /// ATT_READ_MULTIPLE_REQ.
  case readMultipleRequest(ReadMultipleRequest)
  /// ATT_READ_MULTIPLE_RSP.
  case readMultipleResponse(ReadMultipleResponse)
  /// ATT_READ_BY_GROUP_TYPE_REQ.
  case readByGroupTypeRequest(ReadByGroupTypeRequest)
  /// ATT_READ_BY_GROUP_TYPE_RSP.
  case readByGroupTypeResponse(ReadByGroupTypeResponse)
  /// ATT_WRITE_REQ.
  case writeRequest(WriteRequest)
  /// ATT_WRITE_RSP.
  case writeResponse(WriteResponse)
  /// ATT_PREPARE_WRITE_REQ.
  case prepareWriteRequest(PrepareWriteRequest)
  /// ATT_PREPARE_WRITE_RSP.
  case prepareWriteResponse(PrepareWriteResponse)
  /// ATT_EXECUTE_WRITE_REQ.
  case executeWriteRequest(ExecuteWriteRequest)
  /// ATT_EXECUTE_WRITE_RSP.
  case executeWriteResponse(ExecuteWriteResponse)
  /// ATT_HANDLE_VALUE_NTF.
  case handleValueNotification(HandleValueNotification)
  /// ATT_HANDLE_VALUE_IND.
  case handleValueIndication(HandleValueIndication)
  /// ATT_HANDLE_VALUE_CFM.
  case handleValueConfirmation(HandleValueConfirmation)
  /// ATT_READ_MULTIPLE_VARIABLE_REQ.
  case readMultipleVariableRequest(ReadMultipleVariableRequest)
  /// ATT_READ_MULTIPLE_VARIABLE_RSP.
  case readMultipleVariableResponse(ReadMultipleVariableResponse)
  /// ATT_MULTIPLE_HANDLE_VALUE_NTF.
  case multipleHandleValueNotification(MultipleHandleValueNotification)
  /// ATT_WRITE_CMD.
  case writeCommand(WriteCommand)
  /// ATT_SIGNED_WRITE_CMD.
  case signedWriteCommand(SignedWriteCommand)
}

extension ATTPDU {
  /// The PDUs by their opcodes (Vol 3, Part F, 3.4.8). Every other opcode is reserved.
  public enum Kind: UInt8, CaseIterable, Sendable {
    /// ATT_ERROR_RSP.
    case errorResponse = 0x01
    /// ATT_EXCHANGE_MTU_REQ.
    case exchangeMTURequest = 0x02
    /// ATT_EXCHANGE_MTU_RSP.
    case exchangeMTUResponse = 0x03
    /// ATT_FIND_INFORMATION_REQ.
    case findInformationRequest = 0x04
    /// ATT_FIND_INFORMATION_RSP.
    case findInformationResponse = 0x05
    /// ATT_FIND_BY_TYPE_VALUE_REQ.
    case findByTypeValueRequest = 0x06
    /// ATT_FIND_BY_TYPE_VALUE_RSP.
    case findByTypeValueResponse = 0x07
    /// ATT_READ_BY_TYPE_REQ.
    case readByTypeRequest = 0x08
    /// ATT_READ_BY_TYPE_RSP.
    case readByTypeResponse = 0x09
    /// ATT_READ_REQ.
    case readRequest = 0x0A
    /// ATT_READ_RSP.
    case readResponse = 0x0B
    /// ATT_READ_BLOB_REQ.
    case readBlobRequest = 0x0C
    /// ATT_READ_BLOB_RSP.
    case readBlobResponse = 0x0D
    /// ATT_READ_MULTIPLE_REQ.
    case readMultipleRequest = 0x0E
    /// ATT_READ_MULTIPLE_RSP.
    case readMultipleResponse = 0x0F
    /// ATT_READ_BY_GROUP_TYPE_REQ.
    case readByGroupTypeRequest = 0x10
    /// ATT_READ_BY_GROUP_TYPE_RSP.
    case readByGroupTypeResponse = 0x11
    /// ATT_WRITE_REQ.
    case writeRequest = 0x12
    /// ATT_WRITE_RSP.
    case writeResponse = 0x13
    /// ATT_PREPARE_WRITE_REQ.
    case prepareWriteRequest = 0x16
    /// ATT_PREPARE_WRITE_RSP.
    case prepareWriteResponse = 0x17
    /// ATT_EXECUTE_WRITE_REQ.
    case executeWriteRequest = 0x18
    /// ATT_EXECUTE_WRITE_RSP.
    case executeWriteResponse = 0x19
    /// ATT_HANDLE_VALUE_NTF.
    case handleValueNotification = 0x1B
    /// ATT_HANDLE_VALUE_IND.
    case handleValueIndication = 0x1D
    /// ATT_HANDLE_VALUE_CFM.
    case handleValueConfirmation = 0x1E
    /// ATT_READ_MULTIPLE_VARIABLE_REQ.
    case readMultipleVariableRequest = 0x20
    /// ATT_READ_MULTIPLE_VARIABLE_RSP.
    case readMultipleVariableResponse = 0x21
    /// ATT_MULTIPLE_HANDLE_VALUE_NTF.
    case multipleHandleValueNotification = 0x23
    /// ATT_WRITE_CMD.
    case writeCommand = 0x52
    /// ATT_SIGNED_WRITE_CMD.
    case signedWriteCommand = 0xD2
  }

  /// Reads the PDU that fills `bytes` exactly.
  ///
  /// - Throws: ``/BLEWire/CodecError``; an opcode that the specification does not define is invalid.
  public init(decoding bytes: Bytes) throws(CodecError) {
    guard let opcode = bytes.first else { throw .truncated(field: "Attribute Opcode") }
    guard let kind = Kind(rawValue: opcode) else { throw .invalid(field: "Attribute Opcode") }
    let fields = bytes.dropFirst()
    switch kind {
    case .errorResponse: self = .errorResponse(try .init(decoding: fields))
    case .exchangeMTURequest: self = .exchangeMTURequest(try .init(decoding: fields))
    case .exchangeMTUResponse: self = .exchangeMTUResponse(try .init(decoding: fields))
    case .findInformationRequest: self = .findInformationRequest(try .init(decoding: fields))
    case .findInformationResponse: self = .findInformationResponse(try .init(decoding: fields))
    case .findByTypeValueRequest: self = .findByTypeValueRequest(try .init(decoding: fields))
    case .findByTypeValueResponse: self = .findByTypeValueResponse(try .init(decoding: fields))
    case .readByTypeRequest: self = .readByTypeRequest(try .init(decoding: fields))
    case .readByTypeResponse: self = .readByTypeResponse(try .init(decoding: fields))
    case .readRequest: self = .readRequest(try .init(decoding: fields))
    case .readResponse: self = .readResponse(try .init(decoding: fields))
    case .readBlobRequest: self = .readBlobRequest(try .init(decoding: fields))
    case .readBlobResponse: self = .readBlobResponse(try .init(decoding: fields))
    case .readMultipleRequest: self = .readMultipleRequest(try .init(decoding: fields))
    case .readMultipleResponse: self = .readMultipleResponse(try .init(decoding: fields))
    case .readByGroupTypeRequest: self = .readByGroupTypeRequest(try .init(decoding: fields))
    case .readByGroupTypeResponse: self = .readByGroupTypeResponse(try .init(decoding: fields))
    case .writeRequest: self = .writeRequest(try .init(decoding: fields))
    case .writeResponse: self = .writeResponse(try .init(decoding: fields))
    case .prepareWriteRequest: self = .prepareWriteRequest(try .init(decoding: fields))
    case .prepareWriteResponse: self = .prepareWriteResponse(try .init(decoding: fields))
    case .executeWriteRequest: self = .executeWriteRequest(try .init(decoding: fields))
    case .executeWriteResponse: self = .executeWriteResponse(try .init(decoding: fields))
    case .handleValueNotification: self = .handleValueNotification(try .init(decoding: fields))
    case .handleValueIndication: self = .handleValueIndication(try .init(decoding: fields))
    case .handleValueConfirmation: self = .handleValueConfirmation(try .init(decoding: fields))
    case .readMultipleVariableRequest: self = .readMultipleVariableRequest(try .init(decoding: fields))
    case .readMultipleVariableResponse: self = .readMultipleVariableResponse(try .init(decoding: fields))
    case .multipleHandleValueNotification: self = .multipleHandleValueNotification(try .init(decoding: fields))
    case .writeCommand: self = .writeCommand(try .init(decoding: fields))
    case .signedWriteCommand: self = .signedWriteCommand(try .init(decoding: fields))
    }
  }

  /// Gives the packet, with its type, to `visitor`, for code that treats all PDUs alike.
  @inlinable public func visit<Visitor: ATTPacketVisitor>(with visitor: inout Visitor) -> Visitor.Output {
    switch self {
    case .errorResponse(let packet): visitor.visit(packet)
    case .exchangeMTURequest(let packet): visitor.visit(packet)
    case .exchangeMTUResponse(let packet): visitor.visit(packet)
    case .findInformationRequest(let packet): visitor.visit(packet)
    case .findInformationResponse(let packet): visitor.visit(packet)
    case .findByTypeValueRequest(let packet): visitor.visit(packet)
    case .findByTypeValueResponse(let packet): visitor.visit(packet)
    case .readByTypeRequest(let packet): visitor.visit(packet)
    case .readByTypeResponse(let packet): visitor.visit(packet)
    case .readRequest(let packet): visitor.visit(packet)
    case .readResponse(let packet): visitor.visit(packet)
    case .readBlobRequest(let packet): visitor.visit(packet)
    case .readBlobResponse(let packet): visitor.visit(packet)
    case .readMultipleRequest(let packet): visitor.visit(packet)
    case .readMultipleResponse(let packet): visitor.visit(packet)
    case .readByGroupTypeRequest(let packet): visitor.visit(packet)
    case .readByGroupTypeResponse(let packet): visitor.visit(packet)
    case .writeRequest(let packet): visitor.visit(packet)
    case .writeResponse(let packet): visitor.visit(packet)
    case .prepareWriteRequest(let packet): visitor.visit(packet)
    case .prepareWriteResponse(let packet): visitor.visit(packet)
    case .executeWriteRequest(let packet): visitor.visit(packet)
    case .executeWriteResponse(let packet): visitor.visit(packet)
    case .handleValueNotification(let packet): visitor.visit(packet)
    case .handleValueIndication(let packet): visitor.visit(packet)
    case .handleValueConfirmation(let packet): visitor.visit(packet)
    case .readMultipleVariableRequest(let packet): visitor.visit(packet)
    case .readMultipleVariableResponse(let packet): visitor.visit(packet)
    case .multipleHandleValueNotification(let packet): visitor.visit(packet)
    case .writeCommand(let packet): visitor.visit(packet)
    case .signedWriteCommand(let packet): visitor.visit(packet)
    }
  }

  /// The opcode of the PDU.
  public var kind: Kind {
    switch self {
    case .errorResponse: .errorResponse
    case .exchangeMTURequest: .exchangeMTURequest
    case .exchangeMTUResponse: .exchangeMTUResponse
    case .findInformationRequest: .findInformationRequest
    case .findInformationResponse: .findInformationResponse
    case .findByTypeValueRequest: .findByTypeValueRequest
    case .findByTypeValueResponse: .findByTypeValueResponse
    case .readByTypeRequest: .readByTypeRequest
    case .readByTypeResponse: .readByTypeResponse
    case .readRequest: .readRequest
    case .readResponse: .readResponse
    case .readBlobRequest: .readBlobRequest
    case .readBlobResponse: .readBlobResponse
    case .readMultipleRequest: .readMultipleRequest
    case .readMultipleResponse: .readMultipleResponse
    case .readByGroupTypeRequest: .readByGroupTypeRequest
    case .readByGroupTypeResponse: .readByGroupTypeResponse
    case .writeRequest: .writeRequest
    case .writeResponse: .writeResponse
    case .prepareWriteRequest: .prepareWriteRequest
    case .prepareWriteResponse: .prepareWriteResponse
    case .executeWriteRequest: .executeWriteRequest
    case .executeWriteResponse: .executeWriteResponse
    case .handleValueNotification: .handleValueNotification
    case .handleValueIndication: .handleValueIndication
    case .handleValueConfirmation: .handleValueConfirmation
    case .readMultipleVariableRequest: .readMultipleVariableRequest
    case .readMultipleVariableResponse: .readMultipleVariableResponse
    case .multipleHandleValueNotification: .multipleHandleValueNotification
    case .writeCommand: .writeCommand
    case .signedWriteCommand: .signedWriteCommand
    }
  }

  /// The first octet of the PDU.
  public var opcode: ATTOpcode { ATTOpcode(rawValue: kind.rawValue) }

  /// Appends the PDU to `buffer`: the opcode, then the parameters.
  public func encode(to buffer: inout [UInt8]) {
    var appender = Appender(taking: &buffer)
    visit(with: &appender)
    swap(&buffer, &appender.buffer)
  }

  /// The PDU as octets: the opcode, then the parameters.
  public var encoded: [UInt8] {
    var buffer: [UInt8] = []
    encode(to: &buffer)
    return buffer
  }
}

/// What is done with a packet of any type.
///
/// ```swift
/// struct Length: ATTPacketVisitor {
///   func visit(_ packet: some ATTPacket) -> Int { packet.encodedPDU.count }
/// }
/// ```
public protocol ATTPacketVisitor {
  /// What comes of it.
  associatedtype Output

  /// Takes the packet.
  mutating func visit(_ packet: some ATTPacket) -> Output
}

extension ATTPDU {
  private struct Appender: ATTPacketVisitor {
    var buffer: [UInt8] = []

    init(taking buffer: inout [UInt8]) { swap(&self.buffer, &buffer) }

    mutating func visit(_ packet: some ATTPacket) { packet.encodePDU(to: &buffer) }
  }

  private struct FieldLines: ATTPacketVisitor {
    func visit(_ packet: some ATTPacket) -> [String] { packet.fieldLines }
  }
}

extension ATTPDU: CustomStringConvertible {
  /// The name and each field: `Read Request (0x0A) (0..<2  Attribute Handle: 0x0003)`.
  public var description: String {
    var fields = FieldLines()
    let lines = visit(with: &fields)
    return lines.isEmpty ? "\(opcode)" : "\(opcode) (\(lines.joined(separator: ", ")))"
  }
}

extension ATTPDU {
  /// A PDU of each case, in the order of the opcodes (Vol 3, Part F, 3.4.8).
  fileprivate static let all: [Self] = [
    .errorResponse(.init()), .exchangeMTURequest(.init()), .exchangeMTUResponse(.init()),
    .findInformationRequest(.init()), .findInformationResponse(.init()), .findByTypeValueRequest(.init()),
    .findByTypeValueResponse(.init()), .readByTypeRequest(.init()), .readByTypeResponse(.init()), .readRequest(.init()),
    .readResponse(.init()), .readBlobRequest(.init()), .readBlobResponse(.init()), .readMultipleRequest(.init()),
    .readMultipleResponse(.init()), .readByGroupTypeRequest(.init()), .readByGroupTypeResponse(.init()),
    .writeRequest(.init()), .writeResponse(.init()), .prepareWriteRequest(.init()), .prepareWriteResponse(.init()),
    .executeWriteRequest(.init()), .executeWriteResponse(.init()), .handleValueNotification(.init()),
    .handleValueIndication(.init()), .handleValueConfirmation(.init()), .readMultipleVariableRequest(.init()),
    .readMultipleVariableResponse(.init()), .multipleHandleValueNotification(.init()), .writeCommand(.init()),
    .signedWriteCommand(.init()),
  ]

  private struct Name: ATTPacketVisitor {
    func visit<Declared: ATTPacket>(_ packet: Declared) -> StaticString { Declared.name }
  }

  private struct TypeOfPDU: ATTPacketVisitor {
    func visit<Declared: ATTPacket>(_ packet: Declared) -> ATTPDUType { Declared.pduType }
  }

  /// Who sends the PDU, and whether it is answered.
  package var type: ATTPDUType {
    var type = TypeOfPDU()
    return visit(with: &type)
  }

  /// The name in plain words.
  package var name: StaticString {
    var name = Name()
    return visit(with: &name)
  }
}

// Embedded Swift has no existential types; what they serve is for tools.
#if !hasFeature(Embedded)
  extension ATT {
    /// The packet of each case of ``ATTPDU``, for tools and tests, in the order of the opcodes (Vol 3, Part F, 3.4.8).
    public static let packets: [any ATTPacket.Type] = ATTPDU.all.map { type(of: $0.packet) }
  }

  extension ATTPDU {
    private struct Box: ATTPacketVisitor {
      func visit(_ packet: some ATTPacket) -> any ATTPacket { packet }
    }

    /// The packet, without its type, for tools that treat all PDUs alike.
    public var packet: any ATTPacket {
      var box = Box()
      return visit(with: &box)
    }
  }
#endif

// A firmware prints numbers instead of names. `-D NAMES` gives them to other programs in Embedded Swift.
#if !hasFeature(Embedded) || NAMES
  extension ATTOpcode {
    public static let names: [Self: StaticString] =
      ATTPDU.all.reduce(into: [:]) { $0[$1.opcode] = $1.name }
  }
#endif
