public import BLEWire

extension ATTOpcode {
  /// ATT_READ_REQ.
  public static let readRequest = Self(rawValue: 0x0A)
  /// ATT_READ_RSP.
  public static let readResponse = Self(rawValue: 0x0B)
  /// ATT_READ_BLOB_REQ.
  public static let readBlobRequest = Self(rawValue: 0x0C)
  /// ATT_READ_BLOB_RSP.
  public static let readBlobResponse = Self(rawValue: 0x0D)
  /// ATT_READ_MULTIPLE_REQ.
  public static let readMultipleRequest = Self(rawValue: 0x0E)
  /// ATT_READ_MULTIPLE_RSP.
  public static let readMultipleResponse = Self(rawValue: 0x0F)
  /// ATT_READ_MULTIPLE_VARIABLE_REQ.
  public static let readMultipleVariableRequest = Self(rawValue: 0x20)
  /// ATT_READ_MULTIPLE_VARIABLE_RSP.
  public static let readMultipleVariableResponse = Self(rawValue: 0x21)
}

/// ATT_READ_REQ: requests the value of one attribute (Vol 3, Part F, 3.4.4.3).
public struct ReadRequest: ATTPacket {
  public static let opcode = ATTOpcode.readRequest
  public static let name: StaticString = "Read Request"
  public static let pduType = ATTPDUType.request

  /// The attribute.
  public var handle = AttributeHandle.none

  public init() {}
  /// A request with these fields.
  public init(handle: AttributeHandle) { self.handle = handle }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Attribute Handle", &handle)
  }
}

/// ATT_READ_RSP: the value, or its first ATT_MTU - 1 octets (Vol 3, Part F, 3.4.4.4).
public struct ReadResponse: ATTPacket {
  public static let opcode = ATTOpcode.readResponse
  public static let name: StaticString = "Read Response"
  public static let pduType = ATTPDUType.response

  /// The attribute value.
  public var value: Bytes = []

  public init() {}
  /// A response with these fields.
  public init(value: Bytes) { self.value = value }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.rest("Attribute Value", &value)
  }
}

/// ATT_READ_BLOB_REQ: requests a part of a value (Vol 3, Part F, 3.4.4.5).
public struct ReadBlobRequest: ATTPacket {
  public static let opcode = ATTOpcode.readBlobRequest
  public static let name: StaticString = "Read Blob Request"
  public static let pduType = ATTPDUType.request

  /// The attribute.
  public var handle = AttributeHandle.none
  /// The offset of the part in octets, from 0.
  public var valueOffset: UInt16 = 0

  public init() {}

  /// A request with these fields.
  public init(handle: AttributeHandle, valueOffset: UInt16) {
    self.handle = handle
    self.valueOffset = valueOffset
  }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Attribute Handle", &handle)
    try field.integer("Value Offset", &valueOffset)
  }
}

/// ATT_READ_BLOB_RSP: the part of the value, at most ATT_MTU - 1 octets; empty at the end of the value (Vol 3, Part F,
/// 3.4.4.6).
public struct ReadBlobResponse: ATTPacket {
  public static let opcode = ATTOpcode.readBlobResponse
  public static let name: StaticString = "Read Blob Response"
  public static let pduType = ATTPDUType.response

  /// The part of the attribute value.
  public var partAttributeValue: Bytes = []

  public init() {}
  /// A response with these fields.
  public init(partAttributeValue: Bytes) { self.partAttributeValue = partAttributeValue }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.rest("Part Attribute Value", &partAttributeValue)
  }
}

/// ATT_READ_MULTIPLE_REQ: requests several values whose lengths the client knows (Vol 3, Part F, 3.4.4.7).
public struct ReadMultipleRequest: ATTPacket {
  public static let opcode = ATTOpcode.readMultipleRequest
  public static let name: StaticString = "Read Multiple Request"
  public static let pduType = ATTPDUType.request

  /// Two or more attributes.
  public var setOfHandles: [AttributeHandle] = []

  public init() {}
  /// A request with these fields.
  public init(setOfHandles: [AttributeHandle]) { self.setOfHandles = setOfHandles }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.rest("Set Of Handles", atLeast: 2, each: nil, &setOfHandles)
  }
}

/// ATT_READ_MULTIPLE_RSP: the values one after the other, cut after ATT_MTU - 1 octets (Vol 3, Part F, 3.4.4.8).
public struct ReadMultipleResponse: ATTPacket {
  public static let opcode = ATTOpcode.readMultipleResponse
  public static let name: StaticString = "Read Multiple Response"
  public static let pduType = ATTPDUType.response

  /// The values one after the other.
  public var setOfValues: Bytes = []

  public init() {}
  /// A response with these fields.
  public init(setOfValues: Bytes) { self.setOfValues = setOfValues }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.rest("Set Of Values", &setOfValues)
  }
}

/// ATT_READ_MULTIPLE_VARIABLE_REQ: requests several values of any length (Vol 3, Part F, 3.4.4.11).
public struct ReadMultipleVariableRequest: ATTPacket {
  public static let opcode = ATTOpcode.readMultipleVariableRequest
  public static let name: StaticString = "Read Multiple Variable Request"
  public static let pduType = ATTPDUType.request

  /// Two or more attributes.
  public var setOfHandles: [AttributeHandle] = []

  public init() {}
  /// A request with these fields.
  public init(setOfHandles: [AttributeHandle]) { self.setOfHandles = setOfHandles }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.rest("Set Of Handles", atLeast: 2, each: nil, &setOfHandles)
  }
}

/// ATT_READ_MULTIPLE_VARIABLE_RSP: the lengths and values (Vol 3, Part F, 3.4.4.12).
///
/// The server cuts the list after ATT_MTU - 1 octets, even inside a value or a length. The list is therefore kept as
/// octets; ``values`` decodes it.
public struct ReadMultipleVariableResponse: ATTPacket {
  public static let opcode = ATTOpcode.readMultipleVariableResponse
  public static let name: StaticString = "Read Multiple Variable Response"
  public static let pduType = ATTPDUType.response

  /// A value and its length on the server. If the value has fewer octets, the response was cut inside it.
  public struct LengthValueTuple: Hashable, Sendable {
    /// The length of the value on the server, in octets.
    public var length: UInt16
    /// The value, or its beginning.
    public var value: Bytes

    /// A value and its length on the server.
    public init(length: UInt16, value: Bytes) {
      self.length = length
      self.value = value
    }
  }

  /// The tuples of length and value as octets.
  public var lengthValueTupleList: Bytes = []

  public init() {}
  /// A value and its length on the server.
  public init(lengthValueTupleList: Bytes) { self.lengthValueTupleList = lengthValueTupleList }

  /// A value and its length on the server.
  public init(values: [LengthValueTuple]) {
    var list: [UInt8] = []
    for tuple in values {
      list.append(littleEndian: tuple.length)
      list.append(contentsOf: tuple.value)
    }
    lengthValueTupleList = list[...]
  }

  /// The tuples. A last one whose length was cut is omitted.
  public var values: [LengthValueTuple] {
    var rest = lengthValueTupleList
    var values: [LengthValueTuple] = []
    while let low = rest.popFirst(), let high = rest.popFirst() {
      let length = UInt16(high) << 8 | UInt16(low)
      values.append(LengthValueTuple(length: length, value: rest.prefix(Int(length))))
      rest = rest.dropFirst(Int(length))
    }
    return values
  }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.rest("Length Value Tuple List", &lengthValueTupleList)
  }
}
