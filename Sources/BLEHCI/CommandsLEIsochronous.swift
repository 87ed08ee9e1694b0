public import BLEWire

extension HCIOpcode {
  /// HCI_LE_Read_ISO_TX_Sync.
  public static let leReadISOTXSync = Self(rawValue: 0x2061)
  /// HCI_LE_Setup_ISO_Data_Path.
  public static let leSetupISODataPath = Self(rawValue: 0x206E)
  /// HCI_LE_Remove_ISO_Data_Path.
  public static let leRemoveISODataPath = Self(rawValue: 0x206F)
  /// HCI_LE_ISO_Transmit_Test.
  public static let leISOTransmitTest = Self(rawValue: 0x2070)
  /// HCI_LE_ISO_Receive_Test.
  public static let leISOReceiveTest = Self(rawValue: 0x2071)
  /// HCI_LE_ISO_Read_Test_Counters.
  public static let leISOReadTestCounters = Self(rawValue: 0x2072)
  /// HCI_LE_ISO_Test_End.
  public static let leISOTestEnd = Self(rawValue: 0x2073)
  /// HCI_LE_Read_ISO_Link_Quality.
  public static let leReadISOLinkQuality = Self(rawValue: 0x2075)
}

extension HCI {
  /// Reads when a stream's SDU was sent (HCI_LE_Read_ISO_TX_Sync, Vol 4, Part E, 7.8.96).
  public struct LEReadISOTXSync: LinkCommand {
    public static let opcode = HCIOpcode.leReadISOTXSync
    public static let name: StaticString = "LE Read ISO TX Sync"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 41, bit: 6)
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    public init() {}

    public struct Response: ReturnParameters {
      public var status = HCIErrorCode.success
      public var connectionHandle = ConnectionHandle(rawValue: 0)
      public var packetSequenceNumber: UInt16 = 0
      /// In microseconds.
      public var txTimeStamp: UInt32 = 0
      /// In microseconds.
      public var timeOffset: UInt32 = 0
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try field.value("Connection_Handle", &connectionHandle)
        try field.integer("Packet_Sequence_Number", &packetSequenceNumber)
        try field.integer("TX_Time_Stamp", &txTimeStamp)
        try field.integer("Time_Offset", octets: 3, &timeOffset)
      }
    }
  }

  /// Makes the path that a stream's data takes (HCI_LE_Setup_ISO_Data_Path, Vol 4, Part E, 7.8.109).
  public struct LESetupISODataPath: HCICommand {
    public typealias Response = LinkResponse
    public static let opcode = HCIOpcode.leSetupISODataPath
    public static let name: StaticString = "LE Setup ISO Data Path"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 43, bit: 3)
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// 0x00 host to controller, 0x01 controller to host.
    public var dataPathDirection: UInt8 = 0
    /// 0x00 for HCI.
    public var dataPathID: UInt8 = 0
    /// Coding format, company identifier, vendor's number.
    public var codecID: Bytes = []
    /// In microseconds.
    public var controllerDelay: UInt32 = 0
    public var codecConfiguration: Bytes = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try field.integer("Data_Path_Direction", &dataPathDirection)
      try field.integer("Data_Path_ID", &dataPathID)
      try field.octets("Codec_ID", count: 5, &codecID)
      try field.integer("Controller_Delay", octets: 3, &controllerDelay)
      try field.counted("Codec_Configuration", limit: 242, &codecConfiguration)
    }
  }

  /// Removes the path that a stream's data takes (HCI_LE_Remove_ISO_Data_Path, Vol 4, Part E, 7.8.110).
  public struct LERemoveISODataPath: HCICommand {
    public typealias Response = LinkResponse
    public static let opcode = HCIOpcode.leRemoveISODataPath
    public static let name: StaticString = "LE Remove ISO Data Path"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 43, bit: 4)
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// Bit 0: host to controller; bit 1: controller to host.
    public var dataPathDirection: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try field.integer("Data_Path_Direction", &dataPathDirection)
    }
  }

  /// Begins a test that sends on a stream (HCI_LE_ISO_Transmit_Test, Vol 4, Part E, 7.8.111).
  public struct LEISOTransmitTest: HCICommand {
    public typealias Response = LinkResponse
    public static let opcode = HCIOpcode.leISOTransmitTest
    public static let name: StaticString = "LE ISO Transmit Test"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 43, bit: 5)
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// 0x00 empty, 0x01 of any length, 0x02 of the greatest length.
    public var payloadType: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try field.integer("Payload_Type", &payloadType)
    }
  }

  /// Begins a test that receives on a stream (HCI_LE_ISO_Receive_Test, Vol 4, Part E, 7.8.112).
  public struct LEISOReceiveTest: HCICommand {
    public typealias Response = LinkResponse
    public static let opcode = HCIOpcode.leISOReceiveTest
    public static let name: StaticString = "LE ISO Receive Test"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 43, bit: 6)
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// 0x00 empty, 0x01 of any length, 0x02 of the greatest length.
    public var payloadType: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try field.integer("Payload_Type", &payloadType)
    }
  }

  /// Reads how a receive test goes (HCI_LE_ISO_Read_Test_Counters, Vol 4, Part E, 7.8.113).
  public struct LEISOReadTestCounters: LinkCommand {
    public typealias Response = ISOTestCounters
    public static let opcode = HCIOpcode.leISOReadTestCounters
    public static let name: StaticString = "LE ISO Read Test Counters"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 43, bit: 7)
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    public init() {}
  }

  /// Ends a test of a stream (HCI_LE_ISO_Test_End, Vol 4, Part E, 7.8.114).
  public struct LEISOTestEnd: LinkCommand {
    public typealias Response = ISOTestCounters
    public static let opcode = HCIOpcode.leISOTestEnd
    public static let name: StaticString = "LE ISO Test End"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 44, bit: 0)
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    public init() {}
  }

  /// Reads the counters of a stream (HCI_LE_Read_ISO_Link_Quality, Vol 4, Part E, 7.8.116).
  public struct LEReadISOLinkQuality: LinkCommand {
    public static let opcode = HCIOpcode.leReadISOLinkQuality
    public static let name: StaticString = "LE Read ISO Link Quality"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 44, bit: 2)
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    public init() {}

    public struct Response: ReturnParameters {
      public var status = HCIErrorCode.success
      public var connectionHandle = ConnectionHandle(rawValue: 0)
      public var txUnACKedPackets: UInt32 = 0
      public var txFlushedPackets: UInt32 = 0
      public var txLastSubeventPackets: UInt32 = 0
      public var retransmittedPackets: UInt32 = 0
      public var crcErrorPackets: UInt32 = 0
      public var rxUnreceivedPackets: UInt32 = 0
      public var duplicatePackets: UInt32 = 0
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try field.value("Connection_Handle", &connectionHandle)
        try field.integer("TX_UnACKed_Packets", &txUnACKedPackets)
        try field.integer("TX_Flushed_Packets", &txFlushedPackets)
        try field.integer("TX_Last_Subevent_Packets", &txLastSubeventPackets)
        try field.integer("Retransmitted_Packets", &retransmittedPackets)
        try field.integer("CRC_Error_Packets", &crcErrorPackets)
        try field.integer("RX_Unreceived_Packets", &rxUnreceivedPackets)
        try field.integer("Duplicate_Packets", &duplicatePackets)
      }
    }
  }
}
