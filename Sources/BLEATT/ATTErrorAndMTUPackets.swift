public import BLEWire

extension ATTOpcode {
  /// ATT_ERROR_RSP.
  public static let errorResponse = Self(rawValue: 0x01)
  /// ATT_EXCHANGE_MTU_REQ.
  public static let exchangeMTURequest = Self(rawValue: 0x02)
  /// ATT_EXCHANGE_MTU_RSP.
  public static let exchangeMTUResponse = Self(rawValue: 0x03)
}

/// ATT_ERROR_RSP: the request cannot be carried out (Vol 3, Part F, 3.4.1.1).
public struct ErrorResponse: ATTPacket {
  public static let opcode = ATTOpcode.errorResponse
  public static let name: StaticString = "Error Response"
  public static let pduType = ATTPDUType.response

  public var requestOpcode = ATTOpcode(rawValue: 0)
  /// The handle that the error is about; 0x0000 where the request had none or could not be read.
  public var handle = AttributeHandle.none
  public var code = ATTErrorCode(rawValue: 0)

  public init() {}

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

/// ATT_EXCHANGE_MTU_REQ: how large a PDU the client can receive (Vol 3, Part F, 3.4.2.1).
public struct ExchangeMTURequest: ATTPacket {
  public static let opcode = ATTOpcode.exchangeMTURequest
  public static let name: StaticString = "Exchange MTU Request"
  public static let pduType = ATTPDUType.request

  public var clientRxMTU: UInt16 = 0

  public init() {}
  public init(clientRxMTU: UInt16) { self.clientRxMTU = clientRxMTU }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.integer("Client Rx MTU", &clientRxMTU)
  }
}

/// ATT_EXCHANGE_MTU_RSP: how large a PDU the server can receive (Vol 3, Part F, 3.4.2.2).
public struct ExchangeMTUResponse: ATTPacket {
  public static let opcode = ATTOpcode.exchangeMTUResponse
  public static let name: StaticString = "Exchange MTU Response"
  public static let pduType = ATTPDUType.response

  public var serverRxMTU: UInt16 = 0

  public init() {}
  public init(serverRxMTU: UInt16) { self.serverRxMTU = serverRxMTU }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.integer("Server Rx MTU", &serverRxMTU)
  }
}
