public import BLEWire

extension ATTOpcode {
  /// ATT_ERROR_RSP.
  public static let errorResponse = Self(rawValue: 0x01)
  /// ATT_EXCHANGE_MTU_REQ.
  public static let exchangeMTURequest = Self(rawValue: 0x02)
  /// ATT_EXCHANGE_MTU_RSP.
  public static let exchangeMTUResponse = Self(rawValue: 0x03)
}

/// ATT_ERROR_RSP: the request is rejected (Vol 3, Part F, 3.4.1.1).
public struct ErrorResponse: ATTPacket {
  public static let opcode = ATTOpcode.errorResponse
  public static let name: StaticString = "Error Response"
  public static let pduType = ATTPDUType.response

  /// The opcode of the request.
  public var requestOpcode = ATTOpcode(rawValue: 0)
  /// The attribute at fault; 0x0000 if the request has no handle or is malformed.
  /// The attribute.
  public var handle = AttributeHandle.none
  /// The reason.
  public var code = ATTErrorCode(rawValue: 0)

  public init() {}

  /// A response that rejects a request.
  public init(to requestOpcode: ATTOpcode, handle: AttributeHandle, code: ATTErrorCode) {
    self.requestOpcode = requestOpcode
    self.handle = handle
    self.code = code
  }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Request Opcode In Error", &requestOpcode)
    try field.value("Attribute Handle In Error", &handle)
    try field.value("Error Code", &code)
  }
}

/// ATT_EXCHANGE_MTU_REQ: the largest PDU that the client accepts (Vol 3, Part F, 3.4.2.1).
public struct ExchangeMTURequest: ATTPacket {
  public static let opcode = ATTOpcode.exchangeMTURequest
  public static let name: StaticString = "Exchange MTU Request"
  public static let pduType = ATTPDUType.request

  /// The largest PDU that the client accepts, in octets.
  public var clientRxMTU: UInt16 = 0

  public init() {}
  /// A request with these fields.
  public init(clientRxMTU: UInt16) { self.clientRxMTU = clientRxMTU }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.integer("Client Rx MTU", &clientRxMTU)
  }
}

/// ATT_EXCHANGE_MTU_RSP: the largest PDU that the server accepts (Vol 3, Part F, 3.4.2.2).
public struct ExchangeMTUResponse: ATTPacket {
  public static let opcode = ATTOpcode.exchangeMTUResponse
  public static let name: StaticString = "Exchange MTU Response"
  public static let pduType = ATTPDUType.response

  /// The largest PDU that the server accepts, in octets.
  public var serverRxMTU: UInt16 = 0

  public init() {}
  /// A response with these fields.
  public init(serverRxMTU: UInt16) { self.serverRxMTU = serverRxMTU }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.integer("Server Rx MTU", &serverRxMTU)
  }
}
