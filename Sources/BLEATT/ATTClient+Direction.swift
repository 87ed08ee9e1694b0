extension ATTOpcode {
  /// The opcode that answers this request, or nil where it is none (Vol 3, Part F, 3.4.8, table 3.2).
  public var response: ATTOpcode? {
    switch self {
    case .exchangeMTURequest, .findInformationRequest, .findByTypeValueRequest, .readByTypeRequest, .readRequest,
      .readBlobRequest, .readMultipleRequest, .readByGroupTypeRequest, .writeRequest, .prepareWriteRequest,
      .executeWriteRequest, .readMultipleVariableRequest:
      ATTOpcode(rawValue: rawValue + 1)
    default: nil
    }
  }

  /// Whether a server sends it to a client: responses, notifications, indications. Everything else on a bearer, unknown
  /// opcodes included, is for the server half.
  public var isForClient: Bool {
    switch self {
    case .errorResponse, .exchangeMTUResponse, .findInformationResponse, .findByTypeValueResponse,
      .readByTypeResponse, .readResponse, .readBlobResponse, .readMultipleResponse, .readByGroupTypeResponse,
      .writeResponse, .prepareWriteResponse, .executeWriteResponse, .readMultipleVariableResponse,
      .handleValueNotification, .handleValueIndication, .multipleHandleValueNotification:
      true
    default: false
    }
  }
}
