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
  /// A command is done, and this is what it returns (HCI_Command_Complete, Vol 4, Part E, 7.7.14).
  public struct CommandComplete: HCIEventParameters {
    public static let eventCode = HCIEventCode.commandComplete
    public static let name: StaticString = "Command Complete"
    /// How many commands the controller takes from now on.
    public var numHCICommandPackets: UInt8 = 1
    /// ``HCIOpcode/none`` where the event only gives credits.
    public var opcode = HCIOpcode.none
    /// What the command returns, undecoded: ``response(to:)`` reads it.
    public var returnParameters: Bytes = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Num_HCI_Command_Packets", &numHCICommandPackets)
      try field.value("Command_Opcode", &opcode)
      try field.rest("Return_Parameters", &returnParameters)
    }
  }

  /// A command is under way, or refused (HCI_Command_Status, Vol 4, Part E, 7.7.15).
  public struct CommandStatus: HCIEventParameters {
    public static let eventCode = HCIEventCode.commandStatus
    public static let name: StaticString = "Command Status"
    public var status = HCIErrorCode.success
    /// How many commands the controller takes from now on.
    public var numHCICommandPackets: UInt8 = 1
    /// ``HCIOpcode/none`` where the event only gives credits.
    public var opcode = HCIOpcode.none
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Status", &status)
      try field.integer("Num_HCI_Command_Packets", &numHCICommandPackets)
      try field.value("Command_Opcode", &opcode)
    }
  }

  /// The controller has failed; a reset may mend it (HCI_Hardware_Error, Vol 4, Part E, 7.7.16).
  public struct HardwareError: HCIEventParameters {
    public static let eventCode = HCIEventCode.hardwareError
    public static let name: StaticString = "Hardware Error"
    /// The vendor's number for what failed.
    public var hardwareCode: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Hardware_Code", &hardwareCode)
    }
  }

  /// Data packets have left the controller, and their buffers are free (HCI_Number_Of_Completed_Packets, Vol 4, Part
  /// E, 7.7.19).
  public struct NumberOfCompletedPackets: HCIEventParameters {
    public static let eventCode = HCIEventCode.numberOfCompletedPackets
    public static let name: StaticString = "Number Of Completed Packets"
    public var links: [CompletedPackets] = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.counted("Num_Handles", &links)
    }
  }

  /// The part of Number Of Completed Packets that repeats: Vol 4, Part E, 7.7.19.
  public struct CompletedPackets: FieldGroup {
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// How many data packets have left the controller since the last event.
    public var numCompletedPackets: UInt16 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle[i]", &connectionHandle)
      try field.integer("Num_Completed_Packets[i]", &numCompletedPackets)
    }
  }

  /// The host has sent more than the controller's buffers hold (HCI_Data_Buffer_Overflow, Vol 4, Part E, 7.7.26).
  public struct DataBufferOverflow: HCIEventParameters {
    public static let eventCode = HCIEventCode.dataBufferOverflow
    public static let name: StaticString = "Data Buffer Overflow"
    /// 0x00 synchronous, 0x01 ACL, 0x02 ISO.
    public var linkType: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Link_Type", &linkType)
    }
  }
}
