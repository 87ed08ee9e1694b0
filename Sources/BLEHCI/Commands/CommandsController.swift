public import BLEWire

extension HCIOpcode {
  /// HCI_Disconnect.
  public static let disconnect = Self(rawValue: 0x0406)
  /// HCI_Read_Remote_Version_Information.
  public static let readRemoteVersionInformation = Self(rawValue: 0x041D)
  /// HCI_Set_Event_Mask.
  public static let setEventMask = Self(rawValue: 0x0C01)
  /// HCI_Reset.
  public static let reset = Self(rawValue: 0x0C03)
  /// HCI_Read_Transmit_Power_Level.
  public static let readTransmitPowerLevel = Self(rawValue: 0x0C2D)
  /// HCI_Set_Controller_To_Host_Flow_Control.
  public static let setControllerToHostFlowControl = Self(rawValue: 0x0C31)
  /// HCI_Host_Buffer_Size.
  public static let hostBufferSize = Self(rawValue: 0x0C33)
  /// HCI_Host_Number_Of_Completed_Packets.
  public static let hostNumberOfCompletedPackets = Self(rawValue: 0x0C35)
  /// HCI_Set_Event_Mask_Page_2.
  public static let setEventMaskPage2 = Self(rawValue: 0x0C63)
  /// HCI_Read_LE_Host_Support.
  public static let readLEHostSupport = Self(rawValue: 0x0C6C)
  /// HCI_Write_LE_Host_Support.
  public static let writeLEHostSupport = Self(rawValue: 0x0C6D)
  /// HCI_Read_Authenticated_Payload_Timeout.
  public static let readAuthenticatedPayloadTimeout = Self(rawValue: 0x0C7B)
  /// HCI_Write_Authenticated_Payload_Timeout.
  public static let writeAuthenticatedPayloadTimeout = Self(rawValue: 0x0C7C)
  /// HCI_Configure_Data_Path.
  public static let configureDataPath = Self(rawValue: 0x0C83)
  /// HCI_Set_Min_Encryption_Key_Size.
  public static let setMinEncryptionKeySize = Self(rawValue: 0x0C84)
}

extension HCI {
  /// Disconnects a link; a Disconnection Complete event reports the end (HCI_Disconnect, Vol 4, Part E, 7.1.6).
  public struct Disconnect: HCICommand {
    /// A Command Status event answers the command.
    public typealias Response = AnsweredByStatus
    public static let opcode = HCIOpcode.disconnect
    public static let name: StaticString = "Disconnect"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 0, bit: 5)
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// Reason: the reason.
    public var reason = HCIErrorCode.remoteUserTerminatedConnection
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try field.value("Reason", &reason)
    }
  }

  /// Requests version and manufacturer of the peer's controller (HCI_Read_Remote_Version_Information, Vol 4, Part E,
  /// 7.1.23).
  public struct ReadRemoteVersionInformation: LinkCommand {
    /// A Command Status event answers the command.
    public typealias Response = AnsweredByStatus
    public static let opcode = HCIOpcode.readRemoteVersionInformation
    public static let name: StaticString = "Read Remote Version Information"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 2, bit: 7)
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    public init() {}
  }

  /// Selects the events that the controller sends (HCI_Set_Event_Mask, Vol 4, Part E, 7.3.1).
  public struct SetEventMask: HCICommand {
    public static let opcode = HCIOpcode.setEventMask
    public static let name: StaticString = "Set Event Mask"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 5, bit: 6)
    /// Event_Mask: the events.
    public var eventMask = EventMask.standard
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Event_Mask", &eventMask)
    }
  }

  /// Resets the controller: it ends all links and restores all default settings (HCI_Reset, Vol 4, Part E, 7.3.2).
  public struct Reset: ParameterlessCommand {
    public static let opcode = HCIOpcode.reset
    public static let name: StaticString = "Reset"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 5, bit: 7)
    public init() {}
  }

  /// Reads the transmit power of a link (HCI_Read_Transmit_Power_Level, Vol 4, Part E, 7.3.35).
  public struct ReadTransmitPowerLevel: HCICommand {
    public static let opcode = HCIOpcode.readTransmitPowerLevel
    public static let name: StaticString = "Read Transmit Power Level"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 10, bit: 2)
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// Type: 0x00 for the current level, 0x01 for the maximum.
    public var kind: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try field.integer("Type", &kind)
    }

    /// The return parameters of the command.
    public struct Response: ReturnParameters {
      /// Status: success, or the reason of the failure.
      public var status = HCIErrorCode.success
      /// Connection_Handle: the link.
      public var connectionHandle = ConnectionHandle(rawValue: 0)
      /// TX_Power_Level in dBm.
      public var txPowerLevel: Int8 = 0
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try field.value("Connection_Handle", &connectionHandle)
        try field.integer("TX_Power_Level", &txPowerLevel)
      }
    }
  }

  /// Enables or disables flow control of the data from the controller to the host
  /// (HCI_Set_Controller_To_Host_Flow_Control, Vol 4, Part E, 7.3.38).
  public struct SetControllerToHostFlowControl: HCICommand {
    public static let opcode = HCIOpcode.setControllerToHostFlowControl
    public static let name: StaticString = "Set Controller To Host Flow Control"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 10, bit: 5)
    /// Flow_Control_Enable: bit 0 for ACL data, bit 1 for synchronous data.
    public var flowControlEnable: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Flow_Control_Enable", &flowControlEnable)
    }
  }

  /// Sets the size and number of the host's data buffers (HCI_Host_Buffer_Size, Vol 4, Part E, 7.3.39).
  public struct HostBufferSize: HCICommand {
    public static let opcode = HCIOpcode.hostBufferSize
    public static let name: StaticString = "Host Buffer Size"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 10, bit: 6)
    /// Host_ACL_Data_Packet_Length in octets, without the header.
    public var hostACLDataPacketLength: UInt16 = 0
    /// Host_Synchronous_Data_Packet_Length in octets, without the header.
    public var hostSynchronousDataPacketLength: UInt8 = 0
    /// Host_Total_Num_ACL_Data_Packets: the number of buffers.
    public var hostTotalNumACLDataPackets: UInt16 = 0
    /// Host_Total_Num_Synchronous_Data_Packets: the number of buffers.
    public var hostTotalNumSynchronousDataPackets: UInt16 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Host_ACL_Data_Packet_Length", &hostACLDataPacketLength)
      try field.integer("Host_Synchronous_Data_Packet_Length", &hostSynchronousDataPacketLength)
      try field.integer("Host_Total_Num_ACL_Data_Packets", &hostTotalNumACLDataPackets)
      try field.integer("Host_Total_Num_Synchronous_Data_Packets", &hostTotalNumSynchronousDataPackets)
    }
  }

  /// Reports data packets that the host has processed, so that the controller can send more
  /// (HCI_Host_Number_Of_Completed_Packets, Vol 4, Part E, 7.3.40).
  ///
  /// The command takes no credit. The controller answers it only if it is invalid.
  public struct HostNumberOfCompletedPackets: HCICommand {
    public static let opcode = HCIOpcode.hostNumberOfCompletedPackets
    public static let name: StaticString = "Host Number Of Completed Packets"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 10, bit: 7)
    /// Num_Handles: the links and their numbers of packets.
    public var links: [CompletedPackets] = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.counted("Num_Handles", &links)
    }
  }

  /// Selects the events of the second page that the controller sends (HCI_Set_Event_Mask_Page_2, Vol 4, Part E,
  /// 7.3.69).
  public struct SetEventMaskPage2: HCICommand {
    public static let opcode = HCIOpcode.setEventMaskPage2
    public static let name: StaticString = "Set Event Mask Page 2"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 22, bit: 2)
    /// Event_Mask_Page_2: the events.
    public var eventMask: EventMaskPage2 = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Event_Mask_Page_2", &eventMask)
    }
  }

  /// Reads whether the host supports LE (HCI_Read_LE_Host_Support, Vol 4, Part E, 7.3.78).
  public struct ReadLEHostSupport: ParameterlessCommand {
    public static let opcode = HCIOpcode.readLEHostSupport
    public static let name: StaticString = "Read LE Host Support"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 24, bit: 5)
    public init() {}

    /// The return parameters of the command.
    public struct Response: ReturnParameters {
      /// Status: success, or the reason of the failure.
      public var status = HCIErrorCode.success
      /// LE_Supported_Host: whether the host supports LE.
      public var leSupportedHost = false
      /// Unused: reserved, formerly Simultaneous_LE_Host.
      public var unused: UInt8 = 0
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try field.flag("LE_Supported_Host", &leSupportedHost)
        try field.integer("Unused", &unused)
      }
    }
  }

  /// Sets whether the host supports LE, on a dual-mode controller (HCI_Write_LE_Host_Support, Vol 4, Part E, 7.3.79).
  public struct WriteLEHostSupport: HCICommand {
    public static let opcode = HCIOpcode.writeLEHostSupport
    public static let name: StaticString = "Write LE Host Support"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 24, bit: 6)
    /// LE_Supported_Host: whether the host supports LE.
    public var leSupportedHost = false
    /// Unused: shall be 0x00, formerly Simultaneous_LE_Host.
    public var unused: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.flag("LE_Supported_Host", &leSupportedHost)
      try field.integer("Unused", &unused)
    }
  }

  /// Reads the longest time without an authenticated packet on an encrypted link
  /// (HCI_Read_Authenticated_Payload_Timeout, Vol 4, Part E, 7.3.93).
  public struct ReadAuthenticatedPayloadTimeout: LinkCommand {
    public static let opcode = HCIOpcode.readAuthenticatedPayloadTimeout
    public static let name: StaticString = "Read Authenticated Payload Timeout"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 32, bit: 4)
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    public init() {}

    /// The return parameters of the command.
    public struct Response: ReturnParameters {
      /// Status: success, or the reason of the failure.
      public var status = HCIErrorCode.success
      /// Connection_Handle: the link.
      public var connectionHandle = ConnectionHandle(rawValue: 0)
      /// Authenticated_Payload_Timeout in units of 10 ms.
      public var authenticatedPayloadTimeout: UInt16 = 0
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try field.value("Connection_Handle", &connectionHandle)
        try field.integer("Authenticated_Payload_Timeout", &authenticatedPayloadTimeout)
      }
    }
  }

  /// Sets the longest time without an authenticated packet on an encrypted link
  /// (HCI_Write_Authenticated_Payload_Timeout, Vol 4, Part E, 7.3.94).
  public struct WriteAuthenticatedPayloadTimeout: HCICommand {
    /// Status and link.
    public typealias Response = LinkResponse
    public static let opcode = HCIOpcode.writeAuthenticatedPayloadTimeout
    public static let name: StaticString = "Write Authenticated Payload Timeout"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 32, bit: 5)
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// Authenticated_Payload_Timeout in units of 10 ms.
    public var authenticatedPayloadTimeout: UInt16 = 3000
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try field.integer("Authenticated_Payload_Timeout", &authenticatedPayloadTimeout)
    }
  }

  /// Configures a vendor-specific data path for audio (HCI_Configure_Data_Path, Vol 4, Part E, 7.3.101).
  public struct ConfigureDataPath: HCICommand {
    public static let opcode = HCIOpcode.configureDataPath
    public static let name: StaticString = "Configure Data Path"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 45, bit: 5)
    /// Data_Path_Direction: 0x00 for host to controller, 0x01 for controller to host.
    public var dataPathDirection: UInt8 = 0
    /// Data_Path_ID: the number of the data path.
    public var dataPathID: UInt8 = 0
    /// Vendor_Specific_Config, defined by the vendor.
    public var vendorSpecificConfig: Bytes = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Data_Path_Direction", &dataPathDirection)
      try field.integer("Data_Path_ID", &dataPathID)
      try field.counted("Vendor_Specific_Config", limit: 253, &vendorSpecificConfig)
    }
  }

  /// Sets the shortest encryption key that the controller accepts on BR/EDR (HCI_Set_Min_Encryption_Key_Size, Vol 4,
  /// Part E, 7.3.102).
  public struct SetMinEncryptionKeySize: HCICommand {
    public static let opcode = HCIOpcode.setMinEncryptionKeySize
    public static let name: StaticString = "Set Min Encryption Key Size"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 45, bit: 7)
    /// Min_Encryption_Key_Size in octets, 1 to 16.
    public var minEncryptionKeySize: UInt8 = 7
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Min_Encryption_Key_Size", &minEncryptionKeySize)
    }
  }
}
