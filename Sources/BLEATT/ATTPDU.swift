public import BLEWire

/// Any PDU of the Attribute Protocol, in opcode order (Vol 3, Part F, 3.4.8).
///
/// ```swift
/// let pdu = try ATTPDU(decoding: [0x0A, 0x03, 0x00])  // .readRequest(ReadRequest(handle: 0x0003))
/// ```
public enum ATTPDU: Equatable, Sendable {
  case errorResponse(ErrorResponse)
  case exchangeMTURequest(ExchangeMTURequest)
  case exchangeMTUResponse(ExchangeMTUResponse)
  case findInformationRequest(FindInformationRequest)
  case findInformationResponse(FindInformationResponse)
  case findByTypeValueRequest(FindByTypeValueRequest)
  case findByTypeValueResponse(FindByTypeValueResponse)
  case readByTypeRequest(ReadByTypeRequest)
  case readByTypeResponse(ReadByTypeResponse)
  case readRequest(ReadRequest)
  case readResponse(ReadResponse)
  case readBlobRequest(ReadBlobRequest)
  case readBlobResponse(ReadBlobResponse)
  case readMultipleRequest(ReadMultipleRequest)
  case readMultipleResponse(ReadMultipleResponse)
  case readByGroupTypeRequest(ReadByGroupTypeRequest)
  case readByGroupTypeResponse(ReadByGroupTypeResponse)
  case writeRequest(WriteRequest)
  case writeResponse(WriteResponse)
  case prepareWriteRequest(PrepareWriteRequest)
  case prepareWriteResponse(PrepareWriteResponse)
  case executeWriteRequest(ExecuteWriteRequest)
  case executeWriteResponse(ExecuteWriteResponse)
  case handleValueNotification(HandleValueNotification)
  case handleValueIndication(HandleValueIndication)
  case handleValueConfirmation(HandleValueConfirmation)
  case readMultipleVariableRequest(ReadMultipleVariableRequest)
  case readMultipleVariableResponse(ReadMultipleVariableResponse)
  case multipleHandleValueNotification(MultipleHandleValueNotification)
  case writeCommand(WriteCommand)
  case signedWriteCommand(SignedWriteCommand)

  /// Reads the PDU that fills `bytes` exactly.
  ///
  /// - Throws: ``BLEWire/CodecError``; an opcode that the specification does not define is an invalid one.
  public init(decoding bytes: Bytes) throws(CodecError) {
    guard let opcode = bytes.first else { throw .truncated(field: "Attribute Opcode") }
    let parameters = bytes.dropFirst()
    switch ATTOpcode(rawValue: opcode) {
    case .errorResponse: self = .errorResponse(try ErrorResponse(decoding: parameters))
    case .exchangeMTURequest: self = .exchangeMTURequest(try ExchangeMTURequest(decoding: parameters))
    case .exchangeMTUResponse: self = .exchangeMTUResponse(try ExchangeMTUResponse(decoding: parameters))
    case .findInformationRequest: self = .findInformationRequest(try FindInformationRequest(decoding: parameters))
    case .findInformationResponse: self = .findInformationResponse(try FindInformationResponse(decoding: parameters))
    case .findByTypeValueRequest: self = .findByTypeValueRequest(try FindByTypeValueRequest(decoding: parameters))
    case .findByTypeValueResponse: self = .findByTypeValueResponse(try FindByTypeValueResponse(decoding: parameters))
    case .readByTypeRequest: self = .readByTypeRequest(try ReadByTypeRequest(decoding: parameters))
    case .readByTypeResponse: self = .readByTypeResponse(try ReadByTypeResponse(decoding: parameters))
    case .readRequest: self = .readRequest(try ReadRequest(decoding: parameters))
    case .readResponse: self = .readResponse(try ReadResponse(decoding: parameters))
    case .readBlobRequest: self = .readBlobRequest(try ReadBlobRequest(decoding: parameters))
    case .readBlobResponse: self = .readBlobResponse(try ReadBlobResponse(decoding: parameters))
    case .readMultipleRequest: self = .readMultipleRequest(try ReadMultipleRequest(decoding: parameters))
    case .readMultipleResponse: self = .readMultipleResponse(try ReadMultipleResponse(decoding: parameters))
    case .readByGroupTypeRequest: self = .readByGroupTypeRequest(try ReadByGroupTypeRequest(decoding: parameters))
    case .readByGroupTypeResponse: self = .readByGroupTypeResponse(try ReadByGroupTypeResponse(decoding: parameters))
    case .writeRequest: self = .writeRequest(try WriteRequest(decoding: parameters))
    case .writeResponse: self = .writeResponse(try WriteResponse(decoding: parameters))
    case .prepareWriteRequest: self = .prepareWriteRequest(try PrepareWriteRequest(decoding: parameters))
    case .prepareWriteResponse: self = .prepareWriteResponse(try PrepareWriteResponse(decoding: parameters))
    case .executeWriteRequest: self = .executeWriteRequest(try ExecuteWriteRequest(decoding: parameters))
    case .executeWriteResponse: self = .executeWriteResponse(try ExecuteWriteResponse(decoding: parameters))
    case .handleValueNotification: self = .handleValueNotification(try HandleValueNotification(decoding: parameters))
    case .handleValueIndication: self = .handleValueIndication(try HandleValueIndication(decoding: parameters))
    case .handleValueConfirmation: self = .handleValueConfirmation(try HandleValueConfirmation(decoding: parameters))
    case .readMultipleVariableRequest:
      self = .readMultipleVariableRequest(try ReadMultipleVariableRequest(decoding: parameters))
    case .readMultipleVariableResponse:
      self = .readMultipleVariableResponse(try ReadMultipleVariableResponse(decoding: parameters))
    case .multipleHandleValueNotification:
      self = .multipleHandleValueNotification(try MultipleHandleValueNotification(decoding: parameters))
    case .writeCommand: self = .writeCommand(try WriteCommand(decoding: parameters))
    case .signedWriteCommand: self = .signedWriteCommand(try SignedWriteCommand(decoding: parameters))
    default: throw .invalid(field: "Attribute Opcode")
    }
  }

  /// The declared packet inside.
  public var packet: any ATTPacket {
    switch self {
    case .errorResponse(let packet): packet
    case .exchangeMTURequest(let packet): packet
    case .exchangeMTUResponse(let packet): packet
    case .findInformationRequest(let packet): packet
    case .findInformationResponse(let packet): packet
    case .findByTypeValueRequest(let packet): packet
    case .findByTypeValueResponse(let packet): packet
    case .readByTypeRequest(let packet): packet
    case .readByTypeResponse(let packet): packet
    case .readRequest(let packet): packet
    case .readResponse(let packet): packet
    case .readBlobRequest(let packet): packet
    case .readBlobResponse(let packet): packet
    case .readMultipleRequest(let packet): packet
    case .readMultipleResponse(let packet): packet
    case .readByGroupTypeRequest(let packet): packet
    case .readByGroupTypeResponse(let packet): packet
    case .writeRequest(let packet): packet
    case .writeResponse(let packet): packet
    case .prepareWriteRequest(let packet): packet
    case .prepareWriteResponse(let packet): packet
    case .executeWriteRequest(let packet): packet
    case .executeWriteResponse(let packet): packet
    case .handleValueNotification(let packet): packet
    case .handleValueIndication(let packet): packet
    case .handleValueConfirmation(let packet): packet
    case .readMultipleVariableRequest(let packet): packet
    case .readMultipleVariableResponse(let packet): packet
    case .multipleHandleValueNotification(let packet): packet
    case .writeCommand(let packet): packet
    case .signedWriteCommand(let packet): packet
    }
  }

  public var opcode: ATTOpcode { type(of: packet).opcode }

  /// The PDU as octets: the opcode, then the parameters.
  public var encoded: [UInt8] { packet.encodedPDU }
}

extension ATTPDU: CustomStringConvertible {
  /// The name of the specification and each field: `ATT_READ_REQ (0..<2  Attribute Handle: 0x0003)`.
  public var description: String {
    let lines = packet.fieldLines
    return lines.isEmpty ? "\(opcode)" : "\(opcode) (\(lines.joined(separator: ", ")))"
  }
}
