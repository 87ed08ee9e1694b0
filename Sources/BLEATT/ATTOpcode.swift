/// The first octet of an ATT PDU: a method in six bits, the command flag, the authentication signature flag
/// (Vol 3, Part F, 3.3.1 and 3.4.8).
public struct ATTOpcode: RawRepresentable, Hashable, Sendable {
  public var rawValue: UInt8

  @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let errorResponse = Self(rawValue: 0x01)
  public static let exchangeMTURequest = Self(rawValue: 0x02)
  public static let exchangeMTUResponse = Self(rawValue: 0x03)
  public static let findInformationRequest = Self(rawValue: 0x04)
  public static let findInformationResponse = Self(rawValue: 0x05)
  public static let findByTypeValueRequest = Self(rawValue: 0x06)
  public static let findByTypeValueResponse = Self(rawValue: 0x07)
  public static let readByTypeRequest = Self(rawValue: 0x08)
  public static let readByTypeResponse = Self(rawValue: 0x09)
  public static let readRequest = Self(rawValue: 0x0A)
  public static let readResponse = Self(rawValue: 0x0B)
  public static let readBlobRequest = Self(rawValue: 0x0C)
  public static let readBlobResponse = Self(rawValue: 0x0D)
  public static let readMultipleRequest = Self(rawValue: 0x0E)
  public static let readMultipleResponse = Self(rawValue: 0x0F)
  public static let readByGroupTypeRequest = Self(rawValue: 0x10)
  public static let readByGroupTypeResponse = Self(rawValue: 0x11)
  public static let writeRequest = Self(rawValue: 0x12)
  public static let writeResponse = Self(rawValue: 0x13)
  public static let prepareWriteRequest = Self(rawValue: 0x16)
  public static let prepareWriteResponse = Self(rawValue: 0x17)
  public static let executeWriteRequest = Self(rawValue: 0x18)
  public static let executeWriteResponse = Self(rawValue: 0x19)
  public static let handleValueNotification = Self(rawValue: 0x1B)
  public static let handleValueIndication = Self(rawValue: 0x1D)
  public static let handleValueConfirmation = Self(rawValue: 0x1E)
  public static let readMultipleVariableRequest = Self(rawValue: 0x20)
  public static let readMultipleVariableResponse = Self(rawValue: 0x21)
  public static let multipleHandleValueNotification = Self(rawValue: 0x23)
  public static let writeCommand = Self(rawValue: 0x52)
  public static let signedWriteCommand = Self(rawValue: 0xD2)

  /// Bits 0 to 5: what is asked, whatever the flags say.
  @inlinable public var method: UInt8 { rawValue & 0x3F }

  /// Bit 6: a command, which no one ever answers, not even with an error.
  @inlinable public var isCommand: Bool { rawValue & 0x40 != 0 }

  /// Bit 7: twelve octets of signature end the PDU.
  @inlinable public var isSigned: Bool { rawValue & 0x80 != 0 }
}

extension ATTOpcode: CustomStringConvertible {
  public var description: String { Self.names[rawValue] ?? "ATT opcode 0x\(String(rawValue, radix: 16))" }

  private static let names: [UInt8: String] = [
    0x01: "ATT_ERROR_RSP", 0x02: "ATT_EXCHANGE_MTU_REQ", 0x03: "ATT_EXCHANGE_MTU_RSP",
    0x04: "ATT_FIND_INFORMATION_REQ", 0x05: "ATT_FIND_INFORMATION_RSP", 0x06: "ATT_FIND_BY_TYPE_VALUE_REQ",
    0x07: "ATT_FIND_BY_TYPE_VALUE_RSP", 0x08: "ATT_READ_BY_TYPE_REQ", 0x09: "ATT_READ_BY_TYPE_RSP",
    0x0A: "ATT_READ_REQ", 0x0B: "ATT_READ_RSP", 0x0C: "ATT_READ_BLOB_REQ", 0x0D: "ATT_READ_BLOB_RSP",
    0x0E: "ATT_READ_MULTIPLE_REQ", 0x0F: "ATT_READ_MULTIPLE_RSP", 0x10: "ATT_READ_BY_GROUP_TYPE_REQ",
    0x11: "ATT_READ_BY_GROUP_TYPE_RSP", 0x12: "ATT_WRITE_REQ", 0x13: "ATT_WRITE_RSP", 0x16: "ATT_PREPARE_WRITE_REQ",
    0x17: "ATT_PREPARE_WRITE_RSP", 0x18: "ATT_EXECUTE_WRITE_REQ", 0x19: "ATT_EXECUTE_WRITE_RSP",
    0x1B: "ATT_HANDLE_VALUE_NTF", 0x1D: "ATT_HANDLE_VALUE_IND", 0x1E: "ATT_HANDLE_VALUE_CFM",
    0x20: "ATT_READ_MULTIPLE_VARIABLE_REQ", 0x21: "ATT_READ_MULTIPLE_VARIABLE_RSP",
    0x23: "ATT_MULTIPLE_HANDLE_VALUE_NTF", 0x52: "ATT_WRITE_CMD", 0xD2: "ATT_SIGNED_WRITE_CMD",
  ]
}
