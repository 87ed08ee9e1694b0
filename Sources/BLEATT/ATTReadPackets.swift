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

/// ATT_READ_REQ: the value of one attribute (Vol 3, Part F, 3.4.4.3).
public struct ReadRequest: ATTPacket {
  public static let opcode = ATTOpcode.readRequest
  public static let name: StaticString = "Read Request"
  public static let pduType = ATTPDUType.request

  public var handle = AttributeHandle.none

  public init() {}
  public init(handle: AttributeHandle) { self.handle = handle }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Attribute Handle", &handle)
  }
}

/// ATT_READ_RSP: the value, or as much of it as ATT_MTU - 1 octets hold (Vol 3, Part F, 3.4.4.4).
public struct ReadResponse: ATTPacket {
  public static let opcode = ATTOpcode.readResponse
  public static let name: StaticString = "Read Response"
  public static let pduType = ATTPDUType.response

  public var value: Bytes = []

  public init() {}
  public init(value: Bytes) { self.value = value }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.rest("Attribute Value", &value)
  }
}

/// ATT_READ_BLOB_REQ: a part of a value (Vol 3, Part F, 3.4.4.5).
public struct ReadBlobRequest: ATTPacket {
  public static let opcode = ATTOpcode.readBlobRequest
  public static let name: StaticString = "Read Blob Request"
  public static let pduType = ATTPDUType.request

  public var handle = AttributeHandle.none
  /// Counted from 0.
  public var valueOffset: UInt16 = 0

  public init() {}

  public init(handle: AttributeHandle, valueOffset: UInt16) {
    self.handle = handle
    self.valueOffset = valueOffset
  }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Attribute Handle", &handle)
    try field.integer("Value Offset", &valueOffset)
  }
}

/// ATT_READ_BLOB_RSP: the part of the value; empty at its end (Vol 3, Part F, 3.4.4.6).
public struct ReadBlobResponse: ATTPacket {
  public static let opcode = ATTOpcode.readBlobResponse
  public static let name: StaticString = "Read Blob Response"
  public static let pduType = ATTPDUType.response

  public var partAttributeValue: Bytes = []

  public init() {}
  public init(partAttributeValue: Bytes) { self.partAttributeValue = partAttributeValue }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.rest("Part Attribute Value", &partAttributeValue)
  }
}

/// ATT_READ_MULTIPLE_REQ: several values whose lengths the client knows (Vol 3, Part F, 3.4.4.7).
public struct ReadMultipleRequest: ATTPacket {
  public static let opcode = ATTOpcode.readMultipleRequest
  public static let name: StaticString = "Read Multiple Request"
  public static let pduType = ATTPDUType.request

  /// Two or more.
  public var setOfHandles: [AttributeHandle] = []

  public init() {}
  public init(setOfHandles: [AttributeHandle]) { self.setOfHandles = setOfHandles }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.rest("Set Of Handles", atLeast: 2, each: nil, &setOfHandles)
  }
}

/// ATT_READ_MULTIPLE_RSP: the values one behind the other, cut at ATT_MTU - 1 octets (Vol 3, Part F, 3.4.4.8).
public struct ReadMultipleResponse: ATTPacket {
  public static let opcode = ATTOpcode.readMultipleResponse
  public static let name: StaticString = "Read Multiple Response"
  public static let pduType = ATTPDUType.response

  public var setOfValues: Bytes = []

  public init() {}
  public init(setOfValues: Bytes) { self.setOfValues = setOfValues }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.rest("Set Of Values", &setOfValues)
  }
}

/// ATT_READ_MULTIPLE_VARIABLE_REQ: several values of any length (Vol 3, Part F, 3.4.4.11).
public struct ReadMultipleVariableRequest: ATTPacket {
  public static let opcode = ATTOpcode.readMultipleVariableRequest
  public static let name: StaticString = "Read Multiple Variable Request"
  public static let pduType = ATTPDUType.request

  /// Two or more.
  public var setOfHandles: [AttributeHandle] = []

  public init() {}
  public init(setOfHandles: [AttributeHandle]) { self.setOfHandles = setOfHandles }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.rest("Set Of Handles", atLeast: 2, each: nil, &setOfHandles)
  }
}

/// ATT_READ_MULTIPLE_VARIABLE_RSP: the values, each behind its length (Vol 3, Part F, 3.4.4.12).
///
/// The list is cut at ATT_MTU - 1 octets wherever that falls, in a value or between the two octets of a length, so it
/// is kept as octets; ``values`` takes it apart.
public struct ReadMultipleVariableResponse: ATTPacket {
  public static let opcode = ATTOpcode.readMultipleVariableResponse
  public static let name: StaticString = "Read Multiple Variable Response"
  public static let pduType = ATTPDUType.response

  /// A value and the length it has on the server; fewer octets than that means that the response was cut there.
  public struct LengthValueTuple: Hashable, Sendable {
    public var length: UInt16
    public var value: Bytes

    public init(length: UInt16, value: Bytes) {
      self.length = length
      self.value = value
    }
  }

  public var lengthValueTupleList: Bytes = []

  public init() {}
  public init(lengthValueTupleList: Bytes) { self.lengthValueTupleList = lengthValueTupleList }

  public init(values: [LengthValueTuple]) {
    var list: [UInt8] = []
    for tuple in values {
      list.append(littleEndian: tuple.length)
      list.append(contentsOf: tuple.value)
    }
    lengthValueTupleList = list[...]
  }

  /// The tuples; a last one whose length was cut apart is left out.
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
