public import BLEWire

extension ATTOpcode {
  /// ATT_FIND_INFORMATION_REQ.
  public static let findInformationRequest = Self(rawValue: 0x04)
  /// ATT_FIND_INFORMATION_RSP.
  public static let findInformationResponse = Self(rawValue: 0x05)
  /// ATT_FIND_BY_TYPE_VALUE_REQ.
  public static let findByTypeValueRequest = Self(rawValue: 0x06)
  /// ATT_FIND_BY_TYPE_VALUE_RSP.
  public static let findByTypeValueResponse = Self(rawValue: 0x07)
  /// ATT_READ_BY_TYPE_REQ.
  public static let readByTypeRequest = Self(rawValue: 0x08)
  /// ATT_READ_BY_TYPE_RSP.
  public static let readByTypeResponse = Self(rawValue: 0x09)
  /// ATT_READ_BY_GROUP_TYPE_REQ.
  public static let readByGroupTypeRequest = Self(rawValue: 0x10)
  /// ATT_READ_BY_GROUP_TYPE_RSP.
  public static let readByGroupTypeResponse = Self(rawValue: 0x11)
}

/// ATT_FIND_INFORMATION_REQ: requests the handles and types of the attributes in a range (Vol 3, Part F, 3.4.3.1).
public struct FindInformationRequest: ATTPacket {
  public static let opcode = ATTOpcode.findInformationRequest
  public static let name: StaticString = "Find Information Request"
  public static let pduType = ATTPDUType.request

  /// The first handle of the range.
  public var startingHandle = AttributeHandle.none
  /// The last handle of the range.
  public var endingHandle = AttributeHandle.none

  @inlinable public init() {}

  /// A request with these fields.
  public init(startingHandle: AttributeHandle, endingHandle: AttributeHandle) {
    self.startingHandle = startingHandle
    self.endingHandle = endingHandle
  }

  @inlinable public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Starting Handle", &startingHandle)
    try field.value("Ending Handle", &endingHandle)
  }
}

/// ATT_FIND_INFORMATION_RSP: handles and types; the types have one size (Vol 3, Part F, 3.4.3.2).
public struct FindInformationResponse: ATTPacket {
  public static let opcode = ATTOpcode.findInformationResponse
  public static let name: StaticString = "Find Information Response"
  public static let pduType = ATTPDUType.response

  /// The size of all types in a response.
  public enum Format: UInt8, Sendable {
    /// 16-bit UUIDs.
    case uuid16 = 0x01
    /// 128-bit UUIDs.
    case uuid128 = 0x02
  }

  /// An attribute and its type.
  public struct HandleUUIDPair: FieldGroup {
    /// The attribute.
    public var handle = AttributeHandle.none
    /// Its type.
    public var uuid = BluetoothUUID(0)

    public init() {}

    /// An entry with these fields.
    public init(handle: AttributeHandle, uuid: BluetoothUUID) {
      self.handle = handle
      self.uuid = uuid
    }

    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Handle", &handle)
      try field.rest("UUID", &uuid)
    }
  }

  /// At least one; the size of the first type determines the format of all.
  public var informationData: [HandleUUIDPair] = []

  public init() {}
  /// An entry with these fields.
  public init(informationData: [HandleUUIDPair]) { self.informationData = informationData }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    var format: Format = informationData.first?.uuid.size == .uuid128 ? .uuid128 : .uuid16
    try field.value("Format", &format)
    let size = format == .uuid16 ? 2 + 2 : 2 + 16
    try field.rest("Information Data", atLeast: 1, each: size, &informationData)
  }
}

/// ATT_FIND_BY_TYPE_VALUE_REQ: requests the groups in a range whose declaration has this type and value (Vol 3, Part F,
/// 3.4.3.3).
public struct FindByTypeValueRequest: ATTPacket {
  public static let opcode = ATTOpcode.findByTypeValueRequest
  public static let name: StaticString = "Find By Type Value Request"
  public static let pduType = ATTPDUType.request

  /// The first handle of the range.
  public var startingHandle = AttributeHandle.none
  /// The last handle of the range.
  public var endingHandle = AttributeHandle.none
  /// The type of the attribute, a 16-bit UUID.
  public var attributeType: UInt16 = 0
  /// The value of the attribute.
  public var attributeValue: Bytes = []

  @inlinable public init() {}

  /// A request with these fields.
  public init(
    startingHandle: AttributeHandle, endingHandle: AttributeHandle, attributeType: UInt16, attributeValue: Bytes
  ) {
    self.startingHandle = startingHandle
    self.endingHandle = endingHandle
    self.attributeType = attributeType
    self.attributeValue = attributeValue
  }

  @inlinable public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Starting Handle", &startingHandle)
    try field.value("Ending Handle", &endingHandle)
    try field.integer("Attribute Type", &attributeType)
    try field.rest("Attribute Value", &attributeValue)
  }
}

/// ATT_FIND_BY_TYPE_VALUE_RSP: the first and the last handle of each group (Vol 3, Part F, 3.4.3.4).
public struct FindByTypeValueResponse: ATTPacket {
  public static let opcode = ATTOpcode.findByTypeValueResponse
  public static let name: StaticString = "Find By Type Value Response"
  public static let pduType = ATTPDUType.response

  /// The range of handles of one group.
  public struct HandlesInformation: FieldGroup {
    /// The declaration of the group.
    public var foundAttributeHandle = AttributeHandle.none
    /// The last attribute of the group.
    public var groupEndHandle = AttributeHandle.none

    public init() {}

    /// An entry with these fields.
    public init(foundAttributeHandle: AttributeHandle, groupEndHandle: AttributeHandle) {
      self.foundAttributeHandle = foundAttributeHandle
      self.groupEndHandle = groupEndHandle
    }

    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Found Attribute Handle", &foundAttributeHandle)
      try field.value("Group End Handle", &groupEndHandle)
    }
  }

  /// At least one group.
  public var handlesInformationList: [HandlesInformation] = []

  public init() {}
  /// An entry with these fields.
  public init(handlesInformationList: [HandlesInformation]) { self.handlesInformationList = handlesInformationList }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.rest("Handles Information List", atLeast: 1, each: nil, &handlesInformationList)
  }
}

/// ATT_READ_BY_TYPE_REQ: requests the values of the attributes of this type in a range (Vol 3, Part F, 3.4.4.1).
public struct ReadByTypeRequest: ATTPacket {
  public static let opcode = ATTOpcode.readByTypeRequest
  public static let name: StaticString = "Read By Type Request"
  public static let pduType = ATTPDUType.request

  /// The first handle of the range.
  public var startingHandle = AttributeHandle.none
  /// The last handle of the range.
  public var endingHandle = AttributeHandle.none
  /// The type of the attributes, 16 or 128 bits.
  public var attributeType = BluetoothUUID(0)

  @inlinable public init() {}

  /// A request with these fields.
  public init(startingHandle: AttributeHandle, endingHandle: AttributeHandle, attributeType: BluetoothUUID) {
    self.startingHandle = startingHandle
    self.endingHandle = endingHandle
    self.attributeType = attributeType.attributeType
  }

  @inlinable public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Starting Handle", &startingHandle)
    try field.value("Ending Handle", &endingHandle)
    try field.rest("Attribute Type", &attributeType)
  }
}

/// ATT_READ_BY_TYPE_RSP: handles and values; the values have one length (Vol 3, Part F, 3.4.4.2).
public struct ReadByTypeResponse: ATTPacket {
  public static let opcode = ATTOpcode.readByTypeResponse
  public static let name: StaticString = "Read By Type Response"
  public static let pduType = ATTPDUType.response

  /// An attribute and its value.
  public struct AttributeData: FieldGroup {
    /// The attribute.
    public var handle = AttributeHandle.none
    /// Its value, at most 253 octets: the Length field has one octet and also counts the handle. The attribute value.
    public var value: Bytes = []

    public init() {}

    /// An entry with these fields.
    public init(handle: AttributeHandle, value: Bytes) {
      self.handle = handle
      self.value = value
    }

    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Attribute Handle", &handle)
      try field.rest("Attribute Value", &value)
    }
  }

  /// At least one; the length of the first value determines the length of all.
  public var attributeDataList: [AttributeData] = []

  public init() {}
  /// An entry with these fields.
  public init(attributeDataList: [AttributeData]) { self.attributeDataList = attributeDataList }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    var length = UInt8(clamping: 2 + (attributeDataList.first?.value.count ?? 0))
    try field.integer("Length", &length)
    try field.rest("Attribute Data List", atLeast: 1, each: Int(length), &attributeDataList)
  }
}

/// ATT_READ_BY_GROUP_TYPE_REQ: requests the groups in a range and the values of their declarations (Vol 3, Part F,
/// 3.4.4.9).
public struct ReadByGroupTypeRequest: ATTPacket {
  public static let opcode = ATTOpcode.readByGroupTypeRequest
  public static let name: StaticString = "Read By Group Type Request"
  public static let pduType = ATTPDUType.request

  /// The first handle of the range.
  public var startingHandle = AttributeHandle.none
  /// The last handle of the range.
  public var endingHandle = AttributeHandle.none
  /// The type of the groups, 16 or 128 bits. GATT allows Primary Service and Secondary Service only.
  public var attributeGroupType = BluetoothUUID(0)

  @inlinable public init() {}

  /// A request with these fields.
  public init(startingHandle: AttributeHandle, endingHandle: AttributeHandle, attributeGroupType: BluetoothUUID) {
    self.startingHandle = startingHandle
    self.endingHandle = endingHandle
    self.attributeGroupType = attributeGroupType.attributeType
  }

  @inlinable public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Starting Handle", &startingHandle)
    try field.value("Ending Handle", &endingHandle)
    try field.rest("Attribute Group Type", &attributeGroupType)
  }
}

/// ATT_READ_BY_GROUP_TYPE_RSP: the first and the last handle of each group, and the value of its declaration (Vol 3,
/// Part F, 3.4.4.10).
public struct ReadByGroupTypeResponse: ATTPacket {
  public static let opcode = ATTOpcode.readByGroupTypeResponse
  public static let name: StaticString = "Read By Group Type Response"
  public static let pduType = ATTPDUType.response

  /// A group and the value of its declaration.
  public struct AttributeData: FieldGroup {
    /// The attribute.
    public var handle = AttributeHandle.none
    /// The last attribute of the group.
    public var endGroupHandle = AttributeHandle.none
    /// The value of the declaration, at most 251 octets: the Length field has one octet and also counts the handles.
    /// The attribute value.
    public var value: Bytes = []

    public init() {}

    /// An entry with these fields.
    public init(handle: AttributeHandle, endGroupHandle: AttributeHandle, value: Bytes) {
      self.handle = handle
      self.endGroupHandle = endGroupHandle
      self.value = value
    }

    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Attribute Handle", &handle)
      try field.value("End Group Handle", &endGroupHandle)
      try field.rest("Attribute Value", &value)
    }
  }

  /// At least one; the length of the first value determines the length of all.
  public var attributeDataList: [AttributeData] = []

  public init() {}
  /// An entry with these fields.
  public init(attributeDataList: [AttributeData]) { self.attributeDataList = attributeDataList }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    var length = UInt8(clamping: 4 + (attributeDataList.first?.value.count ?? 0))
    try field.integer("Length", &length)
    try field.rest("Attribute Data List", atLeast: 1, each: Int(length), &attributeDataList)
  }
}
