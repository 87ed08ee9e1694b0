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
  /// Reads the transmission time of an SDU on an isochronous stream (HCI_LE_Read_ISO_TX_Sync, Vol 4, Part E, 7.8.96).
  public struct LEReadISOTXSync: LinkCommand {
    public static let opcode = HCIOpcode.leReadISOTXSync
    public static let name: StaticString = "LE Read ISO TX Sync"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 41, bit: 6)
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    public init() {}

    /// The return parameters of the command.
    public struct Response: ReturnParameters {
      /// Status: success, or the reason of the failure.
      public var status = HCIErrorCode.success
      /// Connection_Handle: the link.
      public var connectionHandle = ConnectionHandle(rawValue: 0)
      /// Packet_Sequence_Number: the sequence number of the SDU.
      public var packetSequenceNumber: UInt16 = 0
      /// TX_Time_Stamp in microseconds.
      public var txTimeStamp: UInt32 = 0
      /// Time_Offset in microseconds.
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

  /// Creates the data path of an isochronous stream (HCI_LE_Setup_ISO_Data_Path, Vol 4, Part E, 7.8.109).
  public struct LESetupISODataPath: HCICommand {
    /// Status and link.
    public typealias Response = LinkResponse
    public static let opcode = HCIOpcode.leSetupISODataPath
    public static let name: StaticString = "LE Setup ISO Data Path"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 43, bit: 3)
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// Data_Path_Direction: 0x00 for host to controller, 0x01 for controller to host.
    public var dataPathDirection: UInt8 = 0
    /// Data_Path_ID; 0x00 for HCI.
    public var dataPathID: UInt8 = 0
    /// Codec_ID: coding format, company identifier and codec of the vendor, five octets.
    public var codecID: Bytes = []
    /// Controller_Delay in microseconds.
    public var controllerDelay: UInt32 = 0
    /// Codec_Configuration, defined by the codec.
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

  /// Removes the data path of an isochronous stream (HCI_LE_Remove_ISO_Data_Path, Vol 4, Part E, 7.8.110).
  public struct LERemoveISODataPath: HCICommand {
    /// Status and link.
    public typealias Response = LinkResponse
    public static let opcode = HCIOpcode.leRemoveISODataPath
    public static let name: StaticString = "LE Remove ISO Data Path"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 43, bit: 4)
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// Data_Path_Direction: bit 0 for host to controller, bit 1 for controller to host.
    public var dataPathDirection: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try field.integer("Data_Path_Direction", &dataPathDirection)
    }
  }

  /// Starts a transmit test on an isochronous stream (HCI_LE_ISO_Transmit_Test, Vol 4, Part E, 7.8.111).
  public struct LEISOTransmitTest: HCICommand {
    /// Status and link.
    public typealias Response = LinkResponse
    public static let opcode = HCIOpcode.leISOTransmitTest
    public static let name: StaticString = "LE ISO Transmit Test"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 43, bit: 5)
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// Payload_Type: 0x00 for SDUs of length zero, 0x01 for variable lengths, 0x02 for the maximum length.
    public var payloadType: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try field.integer("Payload_Type", &payloadType)
    }
  }

  /// Starts a receive test on an isochronous stream (HCI_LE_ISO_Receive_Test, Vol 4, Part E, 7.8.112).
  public struct LEISOReceiveTest: HCICommand {
    /// Status and link.
    public typealias Response = LinkResponse
    public static let opcode = HCIOpcode.leISOReceiveTest
    public static let name: StaticString = "LE ISO Receive Test"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 43, bit: 6)
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// Payload_Type: 0x00 for SDUs of length zero, 0x01 for variable lengths, 0x02 for the maximum length.
    public var payloadType: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try field.integer("Payload_Type", &payloadType)
    }
  }

  /// Reads the counters of a receive test on an isochronous stream (HCI_LE_ISO_Read_Test_Counters, Vol 4, Part E,
  /// 7.8.113).
  public struct LEISOReadTestCounters: LinkCommand {
    /// Status and counters.
    public typealias Response = ISOTestCounters
    public static let opcode = HCIOpcode.leISOReadTestCounters
    public static let name: StaticString = "LE ISO Read Test Counters"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 43, bit: 7)
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    public init() {}
  }

  /// Ends a test on an isochronous stream (HCI_LE_ISO_Test_End, Vol 4, Part E, 7.8.114).
  public struct LEISOTestEnd: LinkCommand {
    /// Status and counters.
    public typealias Response = ISOTestCounters
    public static let opcode = HCIOpcode.leISOTestEnd
    public static let name: StaticString = "LE ISO Test End"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 44, bit: 0)
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    public init() {}
  }

  /// Reads the packet counters of an isochronous stream (HCI_LE_Read_ISO_Link_Quality, Vol 4, Part E, 7.8.116).
  public struct LEReadISOLinkQuality: LinkCommand {
    public static let opcode = HCIOpcode.leReadISOLinkQuality
    public static let name: StaticString = "LE Read ISO Link Quality"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 44, bit: 2)
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    public init() {}

    /// The return parameters of the command.
    public struct Response: ReturnParameters {
      /// Status: success, or the reason of the failure.
      public var status = HCIErrorCode.success
      /// Connection_Handle: the link.
      public var connectionHandle = ConnectionHandle(rawValue: 0)
      /// TX_UnACKed_Packets: the number of packets without an acknowledgment.
      public var txUnACKedPackets: UInt32 = 0
      /// TX_Flushed_Packets: the number of flushed packets.
      public var txFlushedPackets: UInt32 = 0
      /// TX_Last_Subevent_Packets: the number of packets that were sent in the last subevent.
      public var txLastSubeventPackets: UInt32 = 0
      /// Retransmitted_Packets: the number of retransmissions.
      public var retransmittedPackets: UInt32 = 0
      /// CRC_Error_Packets: the number of packets with a CRC error.
      public var crcErrorPackets: UInt32 = 0
      /// RX_Unreceived_Packets: the number of packets that were not received.
      public var rxUnreceivedPackets: UInt32 = 0
      /// Duplicate_Packets: the number of duplicates of received packets.
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
