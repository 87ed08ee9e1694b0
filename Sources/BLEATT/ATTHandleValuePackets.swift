public import BLEWire

extension ATTOpcode {
  /// ATT_HANDLE_VALUE_NTF.
  public static let handleValueNotification = Self(rawValue: 0x1B)
  /// ATT_HANDLE_VALUE_IND.
  public static let handleValueIndication = Self(rawValue: 0x1D)
  /// ATT_HANDLE_VALUE_CFM.
  public static let handleValueConfirmation = Self(rawValue: 0x1E)
  /// ATT_MULTIPLE_HANDLE_VALUE_NTF.
  public static let multipleHandleValueNotification = Self(rawValue: 0x23)
}

/// ATT_HANDLE_VALUE_NTF: a value from the server, without a confirmation (Vol 3, Part F, 3.4.7.1).
public struct HandleValueNotification: ATTPacket {
  public static let opcode = ATTOpcode.handleValueNotification
  public static let name: StaticString = "Handle Value Notification"
  public static let pduType = ATTPDUType.notification

  /// The attribute.
  public var handle = AttributeHandle.none
  /// The attribute value.
  public var value: Bytes = []

  public init() {}

  /// A value of an attribute.
  public init(handle: AttributeHandle, value: Bytes) {
    self.handle = handle
    self.value = value
  }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Attribute Handle", &handle)
    try field.rest("Attribute Value", &value)
  }
}

/// ATT_HANDLE_VALUE_IND: a value from the server, to be confirmed (Vol 3, Part F, 3.4.7.2).
public struct HandleValueIndication: ATTPacket {
  public static let opcode = ATTOpcode.handleValueIndication
  public static let name: StaticString = "Handle Value Indication"
  public static let pduType = ATTPDUType.indication

  /// The attribute.
  public var handle = AttributeHandle.none
  /// The attribute value.
  public var value: Bytes = []

  public init() {}

  /// A value of an attribute.
  public init(handle: AttributeHandle, value: Bytes) {
    self.handle = handle
    self.value = value
  }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Attribute Handle", &handle)
    try field.rest("Attribute Value", &value)
  }
}

/// ATT_HANDLE_VALUE_CFM: confirms an indication (Vol 3, Part F, 3.4.7.3).
public struct HandleValueConfirmation: ATTPacket {
  public static let opcode = ATTOpcode.handleValueConfirmation
  public static let name: StaticString = "Handle Value Confirmation"
  public static let pduType = ATTPDUType.confirmation

  public init() {}
  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {}
}

/// ATT_MULTIPLE_HANDLE_VALUE_NTF: two or more values from the server, without a confirmation (Vol 3, Part F, 3.4.7.4).
public struct MultipleHandleValueNotification: ATTPacket {
  public static let opcode = ATTOpcode.multipleHandleValueNotification
  public static let name: StaticString = "Multiple Handle Value Notification"
  public static let pduType = ATTPDUType.notification

  /// An attribute and its value; the length field is the length of the value.
  public struct HandleLengthValueTuple: FieldGroup {
    /// The attribute.
    public var handle = AttributeHandle.none
    /// The attribute value.
    public var value: Bytes = []

    public init() {}

    /// An entry with these fields.
    public init(handle: AttributeHandle, value: Bytes) {
      self.handle = handle
      self.value = value
    }

    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      var length = UInt16(clamping: value.count)
      try field.value("Attribute Handle", &handle)
      try field.integer("Attribute Value Length", &length)
      try field.octets("Attribute Value", count: Int(length), &value)
    }
  }

  /// Two or more values.
  public var tuples: [HandleLengthValueTuple] = []

  public init() {}
  /// An entry with these fields.
  public init(tuples: [HandleLengthValueTuple]) { self.tuples = tuples }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.rest("Handle Length Value Tuple List", atLeast: 2, each: nil, &tuples)
  }
}
