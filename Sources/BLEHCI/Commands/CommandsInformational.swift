public import BLEWire

extension HCIOpcode {
  /// HCI_Read_Local_Version_Information.
  public static let readLocalVersionInformation = Self(rawValue: 0x1001)
  /// HCI_Read_Local_Supported_Commands.
  public static let readLocalSupportedCommands = Self(rawValue: 0x1002)
  /// HCI_Read_Local_Supported_Features.
  public static let readLocalSupportedFeatures = Self(rawValue: 0x1003)
  /// HCI_Read_Buffer_Size.
  public static let readBufferSize = Self(rawValue: 0x1005)
  /// HCI_Read_BD_ADDR.
  public static let readBDADDR = Self(rawValue: 0x1009)
  /// HCI_Read_RSSI.
  public static let readRSSI = Self(rawValue: 0x1405)
}

extension HCI {
  /// Reads version and manufacturer of the controller (HCI_Read_Local_Version_Information, Vol 4, Part E, 7.4.1).
  public struct ReadLocalVersionInformation: ParameterlessCommand {
    public static let opcode = HCIOpcode.readLocalVersionInformation
    public static let name: StaticString = "Read Local Version Information"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 14, bit: 3)
    public init() {}

    /// The return parameters of the command.
    public struct Response: ReturnParameters {
      /// Status: success, or the reason of the failure.
      public var status = HCIErrorCode.success
      /// HCI_Version, an assigned number: 6 for 4.0 to 13 for 5.4.
      public var hciVersion: UInt8 = 0
      /// HCI_Subversion, defined by the manufacturer.
      public var hciSubversion: UInt16 = 0
      /// LMP_Version, an assigned number: 6 for 4.0 to 13 for 5.4.
      public var lmpVersion: UInt8 = 0
      /// Company_Identifier: the manufacturer, an assigned number.
      public var companyIdentifier: UInt16 = 0
      /// LMP_Subversion, defined by the manufacturer.
      public var lmpSubversion: UInt16 = 0
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try field.integer("HCI_Version", &hciVersion)
        try field.integer("HCI_Subversion", &hciSubversion)
        try field.integer("LMP_Version", &lmpVersion)
        try field.integer("Company_Identifier", &companyIdentifier)
        try field.integer("LMP_Subversion", &lmpSubversion)
      }
    }
  }

  /// Reads the commands that the controller supports (HCI_Read_Local_Supported_Commands, Vol 4, Part E, 7.4.2).
  public struct ReadLocalSupportedCommands: ParameterlessCommand {
    public static let opcode = HCIOpcode.readLocalSupportedCommands
    public static let name: StaticString = "Read Local Supported Commands"
    public init() {}

    /// The return parameters of the command.
    public struct Response: ReturnParameters {
      /// Status: success, or the reason of the failure.
      public var status = HCIErrorCode.success
      /// Supported_Commands: the commands.
      public var supportedCommands = SupportedCommands()
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try supportedCommands.layout(&field)
      }
    }
  }

  /// Reads page 0 of the LMP features of the controller (HCI_Read_Local_Supported_Features, Vol 4, Part E, 7.4.3).
  public struct ReadLocalSupportedFeatures: ParameterlessCommand {
    public static let opcode = HCIOpcode.readLocalSupportedFeatures
    public static let name: StaticString = "Read Local Supported Features"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 14, bit: 5)
    public init() {}

    /// The return parameters of the command.
    public struct Response: ReturnParameters {
      /// Status: success, or the reason of the failure.
      public var status = HCIErrorCode.success
      /// LMP_Features: the features.
      public var features: LMPFeatures = []
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try field.value("LMP_Features", &features)
      }
    }
  }

  /// Reads the data buffers of BR/EDR, which LE shares if it has none of its own (HCI_Read_Buffer_Size, Vol 4, Part
  /// E, 7.4.5).
  public struct ReadBufferSize: ParameterlessCommand {
    public static let opcode = HCIOpcode.readBufferSize
    public static let name: StaticString = "Read Buffer Size"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 14, bit: 7)
    public init() {}

    /// The return parameters of the command.
    public struct Response: ReturnParameters {
      /// Status: success, or the reason of the failure.
      public var status = HCIErrorCode.success
      /// ACL_Data_Packet_Length in octets, without the header.
      public var aclDataPacketLength: UInt16 = 0
      /// Synchronous_Data_Packet_Length in octets, without the header.
      public var synchronousDataPacketLength: UInt8 = 0
      /// Total_Num_ACL_Data_Packets: the number of buffers.
      public var totalNumACLDataPackets: UInt16 = 0
      /// Total_Num_Synchronous_Data_Packets: the number of buffers.
      public var totalNumSynchronousDataPackets: UInt16 = 0
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try field.integer("ACL_Data_Packet_Length", &aclDataPacketLength)
        try field.integer("Synchronous_Data_Packet_Length", &synchronousDataPacketLength)
        try field.integer("Total_Num_ACL_Data_Packets", &totalNumACLDataPackets)
        try field.integer("Total_Num_Synchronous_Data_Packets", &totalNumSynchronousDataPackets)
      }
    }
  }

  /// Reads the public address of the controller (HCI_Read_BD_ADDR, Vol 4, Part E, 7.4.6).
  public struct ReadBDADDR: ParameterlessCommand {
    public static let opcode = HCIOpcode.readBDADDR
    public static let name: StaticString = "Read BD_ADDR"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 15, bit: 1)
    public init() {}

    /// The return parameters of the command.
    public struct Response: ReturnParameters {
      /// Status: success, or the reason of the failure.
      public var status = HCIErrorCode.success
      /// BD_ADDR: the public address; zero if the controller has none.
      public var address = BD_ADDR()
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try address.layout(&field)
      }
    }
  }

  /// Reads the received signal strength of a link (HCI_Read_RSSI, Vol 4, Part E, 7.5.4).
  public struct ReadRSSI: LinkCommand {
    public static let opcode = HCIOpcode.readRSSI
    public static let name: StaticString = "Read RSSI"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 15, bit: 5)
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    public init() {}

    /// The return parameters of the command.
    public struct Response: ReturnParameters {
      /// Status: success, or the reason of the failure.
      public var status = HCIErrorCode.success
      /// Connection_Handle: the link.
      public var connectionHandle = ConnectionHandle(rawValue: 0)
      /// RSSI in dBm; 127 if it is not available.
      public var rssi: Int8 = 127
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try field.value("Connection_Handle", &connectionHandle)
        try field.integer("RSSI", &rssi)
      }
    }
  }
}
