public import BLEWire

extension HCIEventCode {
  /// HCI_Command_Complete.
  public static let commandComplete = Self(rawValue: 0x0E)
  /// HCI_Command_Status.
  public static let commandStatus = Self(rawValue: 0x0F)
  /// HCI_Hardware_Error.
  public static let hardwareError = Self(rawValue: 0x10)
  /// HCI_Number_Of_Completed_Packets.
  public static let numberOfCompletedPackets = Self(rawValue: 0x13)
  /// HCI_Data_Buffer_Overflow.
  public static let dataBufferOverflow = Self(rawValue: 0x1A)
}

extension HCI {
  /// A command is complete, with its return parameters (HCI_Command_Complete, Vol 4, Part E, 7.7.14).
  public struct CommandComplete: HCIEventParameters {
    public static let eventCode = HCIEventCode.commandComplete
    public static let name: StaticString = "Command Complete"
    /// Num_HCI_Command_Packets: the number of commands that the host may send.
    public var numHCICommandPackets: UInt8 = 1
    /// Command_Opcode; ``HCIOpcode/none`` in an event that only returns command credits.
    public var opcode = HCIOpcode.none
    /// Return_Parameters: the octets of the return parameters; ``response(to:)`` decodes them.
    public var returnParameters: Bytes = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Num_HCI_Command_Packets", &numHCICommandPackets)
      try field.value("Command_Opcode", &opcode)
      try field.rest("Return_Parameters", &returnParameters)
    }
  }

  /// A command has started or is rejected (HCI_Command_Status, Vol 4, Part E, 7.7.15).
  public struct CommandStatus: HCIEventParameters {
    public static let eventCode = HCIEventCode.commandStatus
    public static let name: StaticString = "Command Status"
    /// Status: success, or the reason of the failure.
    public var status = HCIErrorCode.success
    /// Num_HCI_Command_Packets: the number of commands that the host may send.
    public var numHCICommandPackets: UInt8 = 1
    /// Command_Opcode; ``HCIOpcode/none`` in an event that only returns command credits.
    public var opcode = HCIOpcode.none
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Status", &status)
      try field.integer("Num_HCI_Command_Packets", &numHCICommandPackets)
      try field.value("Command_Opcode", &opcode)
    }
  }

  /// The controller has failed (HCI_Hardware_Error, Vol 4, Part E, 7.7.16).
  public struct HardwareError: HCIEventParameters {
    public static let eventCode = HCIEventCode.hardwareError
    public static let name: StaticString = "Hardware Error"
    /// Hardware_Code: the number of the failure, defined by the vendor.
    public var hardwareCode: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Hardware_Code", &hardwareCode)
    }
  }

  /// The controller has sent data packets, and their buffers are free (HCI_Number_Of_Completed_Packets, Vol 4, Part E,
  /// 7.7.19).
  public struct NumberOfCompletedPackets: HCIEventParameters {
    public static let eventCode = HCIEventCode.numberOfCompletedPackets
    public static let name: StaticString = "Number Of Completed Packets"
    /// Num_Handles: the links and their numbers of packets.
    public var links: [CompletedPackets] = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.counted("Num_Handles", &links)
    }
  }

  /// The number of completed packets of one link (Vol 4, Part E, 7.7.19).
  public struct CompletedPackets: FieldGroup {
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// Num_Completed_Packets: the number of packets since the previous event.
    public var numCompletedPackets: UInt16 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle[i]", &connectionHandle)
      try field.integer("Num_Completed_Packets[i]", &numCompletedPackets)
    }
  }

  /// The host has sent more data than the controller has buffers for (HCI_Data_Buffer_Overflow, Vol 4, Part E, 7.7.26).
  public struct DataBufferOverflow: HCIEventParameters {
    public static let eventCode = HCIEventCode.dataBufferOverflow
    public static let name: StaticString = "Data Buffer Overflow"
    /// Link_Type: 0x00 for synchronous, 0x01 for ACL, 0x02 for ISO data.
    public var linkType: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Link_Type", &linkType)
    }
  }
}
