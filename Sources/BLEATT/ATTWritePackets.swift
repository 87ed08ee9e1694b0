public import BLEWire

extension ATTOpcode {
  /// ATT_WRITE_REQ.
  public static let writeRequest = Self(rawValue: 0x12)
  /// ATT_WRITE_RSP.
  public static let writeResponse = Self(rawValue: 0x13)
  /// ATT_WRITE_CMD.
  public static let writeCommand = Self(rawValue: 0x52)
  /// ATT_SIGNED_WRITE_CMD.
  public static let signedWriteCommand = Self(rawValue: 0xD2)
  /// ATT_PREPARE_WRITE_REQ.
  public static let prepareWriteRequest = Self(rawValue: 0x16)
  /// ATT_PREPARE_WRITE_RSP.
  public static let prepareWriteResponse = Self(rawValue: 0x17)
  /// ATT_EXECUTE_WRITE_REQ.
  public static let executeWriteRequest = Self(rawValue: 0x18)
  /// ATT_EXECUTE_WRITE_RSP.
  public static let executeWriteResponse = Self(rawValue: 0x19)
}

/// ATT_WRITE_REQ: writes a value, with a response (Vol 3, Part F, 3.4.5.1).
public struct WriteRequest: ATTPacket {
  public static let opcode = ATTOpcode.writeRequest
  public static let name: StaticString = "Write Request"
  public static let pduType = ATTPDUType.request

  /// The attribute.
  public var handle = AttributeHandle.none
  /// The attribute value.
  public var value: Bytes = []

  public init() {}

  /// A request with these fields.
  public init(handle: AttributeHandle, value: Bytes) {
    self.handle = handle
    self.value = value
  }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Attribute Handle", &handle)
    try field.rest("Attribute Value", &value)
  }
}

/// ATT_WRITE_RSP: the value has been written (Vol 3, Part F, 3.4.5.2).
public struct WriteResponse: ATTPacket {
  public static let opcode = ATTOpcode.writeResponse
  public static let name: StaticString = "Write Response"
  public static let pduType = ATTPDUType.response

  public init() {}
  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {}
}

/// ATT_WRITE_CMD: writes a value, without a response (Vol 3, Part F, 3.4.5.3).
public struct WriteCommand: ATTPacket {
  public static let opcode = ATTOpcode.writeCommand
  public static let name: StaticString = "Write Command"
  public static let pduType = ATTPDUType.command

  /// The attribute.
  public var handle = AttributeHandle.none
  /// The attribute value.
  public var value: Bytes = []

  public init() {}

  /// A command with these fields.
  public init(handle: AttributeHandle, value: Bytes) {
    self.handle = handle
    self.value = value
  }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Attribute Handle", &handle)
    try field.rest("Attribute Value", &value)
  }
}

/// ATT_SIGNED_WRITE_CMD: writes a value with a signature, without a response (Vol 3, Part F, 3.4.5.4).
public struct SignedWriteCommand: ATTPacket {
  public static let opcode = ATTOpcode.signedWriteCommand
  public static let name: StaticString = "Signed Write Command"
  public static let pduType = ATTPDUType.command

  /// The attribute.
  public var handle = AttributeHandle.none
  /// The attribute value.
  public var value: Bytes = []
  /// The sign counter: the first four octets of the signature (Vol 3, Part H, 2.4.5).
  public var signCounter: UInt32 = 0
  /// The message authentication code: the last eight octets of the signature, least significant octet first.
  public var mac: UInt64 = 0

  public init() {}

  /// A command with these fields.
  public init(handle: AttributeHandle, value: Bytes, signCounter: UInt32, mac: UInt64) {
    self.handle = handle
    self.value = value
    self.signCounter = signCounter
    self.mac = mac
  }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Attribute Handle", &handle)
    try field.rest("Attribute Value", leaving: 12, &value)
    try field.integer("SignCounter", &signCounter)
    try field.integer("MAC", &mac)
  }
}

/// ATT_PREPARE_WRITE_REQ: queues a part of a value (Vol 3, Part F, 3.4.6.1).
public struct PrepareWriteRequest: ATTPacket {
  public static let opcode = ATTOpcode.prepareWriteRequest
  public static let name: StaticString = "Prepare Write Request"
  public static let pduType = ATTPDUType.request

  /// The attribute.
  public var handle = AttributeHandle.none
  /// The offset of the part in octets, from 0.
  public var valueOffset: UInt16 = 0
  /// The part of the attribute value.
  public var partAttributeValue: Bytes = []

  public init() {}

  /// A request with these fields.
  public init(handle: AttributeHandle, valueOffset: UInt16, partAttributeValue: Bytes) {
    self.handle = handle
    self.valueOffset = valueOffset
    self.partAttributeValue = partAttributeValue
  }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Attribute Handle", &handle)
    try field.integer("Value Offset", &valueOffset)
    try field.rest("Part Attribute Value", &partAttributeValue)
  }
}

/// ATT_PREPARE_WRITE_RSP: the queued part, for comparison by the client (Vol 3, Part F, 3.4.6.2).
public struct PrepareWriteResponse: ATTPacket {
  public static let opcode = ATTOpcode.prepareWriteResponse
  public static let name: StaticString = "Prepare Write Response"
  public static let pduType = ATTPDUType.response

  /// The attribute.
  public var handle = AttributeHandle.none
  /// The offset of the part in octets, from 0.
  public var valueOffset: UInt16 = 0
  /// The part of the attribute value.
  public var partAttributeValue: Bytes = []

  public init() {}

  /// A response with these fields.
  public init(handle: AttributeHandle, valueOffset: UInt16, partAttributeValue: Bytes) {
    self.handle = handle
    self.valueOffset = valueOffset
    self.partAttributeValue = partAttributeValue
  }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Attribute Handle", &handle)
    try field.integer("Value Offset", &valueOffset)
    try field.rest("Part Attribute Value", &partAttributeValue)
  }
}

/// ATT_EXECUTE_WRITE_REQ: writes or discards the queued parts (Vol 3, Part F, 3.4.6.3).
public struct ExecuteWriteRequest: ATTPacket {
  public static let opcode = ATTOpcode.executeWriteRequest
  public static let name: StaticString = "Execute Write Request"
  public static let pduType = ATTPDUType.request

  /// Whether the queue is written.
  public struct Flags: RawRepresentable, Hashable, Sendable {
    public var rawValue: UInt8
    @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// 0x00: discard all prepared writes.
    public static let cancel = Self(rawValue: 0x00)
    /// 0x01: write all prepared values.
    public static let write = Self(rawValue: 0x01)
  }

  /// Whether the queue is written or discarded.
  public var flags = Flags.cancel

  public init() {}
  /// An entry with these fields.
  public init(flags: Flags) { self.flags = flags }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Flags", &flags)
  }
}

/// ATT_EXECUTE_WRITE_RSP: the queued parts have been written or discarded (Vol 3, Part F, 3.4.6.4).
public struct ExecuteWriteResponse: ATTPacket {
  public static let opcode = ATTOpcode.executeWriteResponse
  public static let name: StaticString = "Execute Write Response"
  public static let pduType = ATTPDUType.response

  public init() {}
  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {}
}
