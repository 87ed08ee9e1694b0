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

/// ATT_FIND_INFORMATION_REQ: the handles and types in a range (Vol 3, Part F, 3.4.3.1).
public struct FindInformationRequest: ATTPacket {
  public static let opcode = ATTOpcode.findInformationRequest
  public static let name: StaticString = "Find Information Request"
  public static let pduType = ATTPDUType.request

  public var startingHandle = AttributeHandle.none
  public var endingHandle = AttributeHandle.none

  public init() {}

  public init(startingHandle: AttributeHandle, endingHandle: AttributeHandle) {
    self.startingHandle = startingHandle
    self.endingHandle = endingHandle
  }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Starting Handle", &startingHandle)
    try field.value("Ending Handle", &endingHandle)
  }
}

/// ATT_FIND_INFORMATION_RSP: handles with their types, all of one size (Vol 3, Part F, 3.4.3.2).
public struct FindInformationResponse: ATTPacket {
  public static let opcode = ATTOpcode.findInformationResponse
  public static let name: StaticString = "Find Information Response"
  public static let pduType = ATTPDUType.response

  /// Which size the types in one response have.
  public enum Format: UInt8, Sendable { case uuid16 = 0x01, uuid128 = 0x02 }

  public struct HandleUUIDPair: FieldGroup {
    public var handle = AttributeHandle.none
    public var uuid = BluetoothUUID(0)

    public init() {}

    public init(handle: AttributeHandle, uuid: BluetoothUUID) {
      self.handle = handle
      self.uuid = uuid
    }

    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Handle", &handle)
      try field.rest("UUID", &uuid)
    }
  }

  /// At least one; the first says by its size what the format is.
  public var informationData: [HandleUUIDPair] = []

  public init() {}
  public init(informationData: [HandleUUIDPair]) { self.informationData = informationData }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    var format: Format = informationData.first?.uuid.size == .uuid128 ? .uuid128 : .uuid16
    try field.value("Format", &format)
    let size = format == .uuid16 ? 2 + 2 : 2 + 16
    try field.rest("Information Data", atLeast: 1, each: size, &informationData)
  }
}

/// ATT_FIND_BY_TYPE_VALUE_REQ: the groups in a range whose attribute has this type and value (Vol 3, Part F, 3.4.3.3).
public struct FindByTypeValueRequest: ATTPacket {
  public static let opcode = ATTOpcode.findByTypeValueRequest
  public static let name: StaticString = "Find By Type Value Request"
  public static let pduType = ATTPDUType.request

  public var startingHandle = AttributeHandle.none
  public var endingHandle = AttributeHandle.none
  /// A 16-bit UUID.
  public var attributeType: UInt16 = 0
  public var attributeValue: Bytes = []

  public init() {}

  public init(
    startingHandle: AttributeHandle, endingHandle: AttributeHandle, attributeType: UInt16, attributeValue: Bytes
  ) {
    self.startingHandle = startingHandle
    self.endingHandle = endingHandle
    self.attributeType = attributeType
    self.attributeValue = attributeValue
  }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Starting Handle", &startingHandle)
    try field.value("Ending Handle", &endingHandle)
    try field.integer("Attribute Type", &attributeType)
    try field.rest("Attribute Value", &attributeValue)
  }
}

/// ATT_FIND_BY_TYPE_VALUE_RSP: where each group begins and ends (Vol 3, Part F, 3.4.3.4).
public struct FindByTypeValueResponse: ATTPacket {
  public static let opcode = ATTOpcode.findByTypeValueResponse
  public static let name: StaticString = "Find By Type Value Response"
  public static let pduType = ATTPDUType.response

  public struct HandlesInformation: FieldGroup {
    public var foundAttributeHandle = AttributeHandle.none
    public var groupEndHandle = AttributeHandle.none

    public init() {}

    public init(foundAttributeHandle: AttributeHandle, groupEndHandle: AttributeHandle) {
      self.foundAttributeHandle = foundAttributeHandle
      self.groupEndHandle = groupEndHandle
    }

    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Found Attribute Handle", &foundAttributeHandle)
      try field.value("Group End Handle", &groupEndHandle)
    }
  }

  /// At least one.
  public var handlesInformationList: [HandlesInformation] = []

  public init() {}
  public init(handlesInformationList: [HandlesInformation]) { self.handlesInformationList = handlesInformationList }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.rest("Handles Information List", atLeast: 1, each: nil, &handlesInformationList)
  }
}

/// ATT_READ_BY_TYPE_REQ: the values in a range whose attribute has this type (Vol 3, Part F, 3.4.4.1).
public struct ReadByTypeRequest: ATTPacket {
  public static let opcode = ATTOpcode.readByTypeRequest
  public static let name: StaticString = "Read By Type Request"
  public static let pduType = ATTPDUType.request

  public var startingHandle = AttributeHandle.none
  public var endingHandle = AttributeHandle.none
  /// 16 or 128 bits.
  public var attributeType = BluetoothUUID(0)

  public init() {}

  public init(startingHandle: AttributeHandle, endingHandle: AttributeHandle, attributeType: BluetoothUUID) {
    self.startingHandle = startingHandle
    self.endingHandle = endingHandle
    self.attributeType = attributeType.attributeType
  }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Starting Handle", &startingHandle)
    try field.value("Ending Handle", &endingHandle)
    try field.rest("Attribute Type", &attributeType)
  }
}

/// ATT_READ_BY_TYPE_RSP: handles with their values, all of one length (Vol 3, Part F, 3.4.4.2).
public struct ReadByTypeResponse: ATTPacket {
  public static let opcode = ATTOpcode.readByTypeResponse
  public static let name: StaticString = "Read By Type Response"
  public static let pduType = ATTPDUType.response

  public struct AttributeData: FieldGroup {
    public var handle = AttributeHandle.none
    /// At most 253 octets: Length is one octet and counts the handle too.
    public var value: Bytes = []

    public init() {}

    public init(handle: AttributeHandle, value: Bytes) {
      self.handle = handle
      self.value = value
    }

    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Attribute Handle", &handle)
      try field.rest("Attribute Value", &value)
    }
  }

  /// At least one; the first says by its length what Length is.
  public var attributeDataList: [AttributeData] = []

  public init() {}
  public init(attributeDataList: [AttributeData]) { self.attributeDataList = attributeDataList }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    var length = UInt8(clamping: 2 + (attributeDataList.first?.value.count ?? 0))
    try field.integer("Length", &length)
    try field.rest("Attribute Data List", atLeast: 1, each: Int(length), &attributeDataList)
  }
}

/// ATT_READ_BY_GROUP_TYPE_REQ: the groups in a range, with the value of what begins them (Vol 3, Part F, 3.4.4.9).
public struct ReadByGroupTypeRequest: ATTPacket {
  public static let opcode = ATTOpcode.readByGroupTypeRequest
  public static let name: StaticString = "Read By Group Type Request"
  public static let pduType = ATTPDUType.request

  public var startingHandle = AttributeHandle.none
  public var endingHandle = AttributeHandle.none
  /// 16 or 128 bits; GATT allows only Primary Service and Secondary Service.
  public var attributeGroupType = BluetoothUUID(0)

  public init() {}

  public init(startingHandle: AttributeHandle, endingHandle: AttributeHandle, attributeGroupType: BluetoothUUID) {
    self.startingHandle = startingHandle
    self.endingHandle = endingHandle
    self.attributeGroupType = attributeGroupType.attributeType
  }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Starting Handle", &startingHandle)
    try field.value("Ending Handle", &endingHandle)
    try field.rest("Attribute Group Type", &attributeGroupType)
  }
}

/// ATT_READ_BY_GROUP_TYPE_RSP: where each group begins and ends, and its value (Vol 3, Part F, 3.4.4.10).
public struct ReadByGroupTypeResponse: ATTPacket {
  public static let opcode = ATTOpcode.readByGroupTypeResponse
  public static let name: StaticString = "Read By Group Type Response"
  public static let pduType = ATTPDUType.response

  public struct AttributeData: FieldGroup {
    public var handle = AttributeHandle.none
    public var endGroupHandle = AttributeHandle.none
    /// At most 251 octets: Length is one octet and counts the handles too.
    public var value: Bytes = []

    public init() {}

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

  /// At least one; the first says by its length what Length is.
  public var attributeDataList: [AttributeData] = []

  public init() {}
  public init(attributeDataList: [AttributeData]) { self.attributeDataList = attributeDataList }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    var length = UInt8(clamping: 4 + (attributeDataList.first?.value.count ?? 0))
    try field.integer("Length", &length)
    try field.rest("Attribute Data List", atLeast: 1, each: Int(length), &attributeDataList)
  }
}
