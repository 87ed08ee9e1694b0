public import BLEWire

extension HCIOpcode {
  /// HCI_LE_Set_Event_Mask.
  public static let leSetEventMask = Self(rawValue: 0x2001)
  /// HCI_LE_Read_Buffer_Size [v1].
  public static let leReadBufferSize = Self(rawValue: 0x2002)
  /// HCI_LE_Read_Buffer_Size [v2].
  public static let leReadBufferSizeV2 = Self(rawValue: 0x2060)
  /// HCI_LE_Read_Local_Supported_Features.
  public static let leReadLocalSupportedFeatures = Self(rawValue: 0x2003)
  /// HCI_LE_Read_Supported_States.
  public static let leReadSupportedStates = Self(rawValue: 0x201C)
  /// HCI_LE_Read_All_Local_Supported_Features.
  public static let leReadAllLocalSupportedFeatures = Self(rawValue: 0x2087)
  /// HCI_LE_Set_Host_Feature [v1].
  public static let leSetHostFeature = Self(rawValue: 0x2074)
  /// HCI_LE_Set_Host_Feature [v2].
  public static let leSetHostFeatureV2 = Self(rawValue: 0x2097)
  /// HCI_LE_Read_Transmit_Power.
  public static let leReadTransmitPower = Self(rawValue: 0x204B)
  /// HCI_LE_Read_RF_Path_Compensation.
  public static let leReadRFPathCompensation = Self(rawValue: 0x204C)
  /// HCI_LE_Write_RF_Path_Compensation.
  public static let leWriteRFPathCompensation = Self(rawValue: 0x204D)
  /// HCI_LE_Modify_Sleep_Clock_Accuracy.
  public static let leModifySleepClockAccuracy = Self(rawValue: 0x205F)
}

extension HCI {
  /// Selects the LE meta events that the controller sends (HCI_LE_Set_Event_Mask, Vol 4, Part E, 7.8.1).
  public struct LESetEventMask: HCICommand {
    public static let opcode = HCIOpcode.leSetEventMask
    public static let name: StaticString = "LE Set Event Mask"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 25, bit: 0)
    /// LE_Event_Mask: the events.
    public var eventMask = LEEventMask.standard
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("LE_Event_Mask", &eventMask)
    }
  }

  /// Reads the data buffers for LE ACL data (HCI_LE_Read_Buffer_Size [v1], Vol 4, Part E, 7.8.2).
  public struct LEReadBufferSize: ParameterlessCommand {
    public static let opcode = HCIOpcode.leReadBufferSize
    public static let name: StaticString = "LE Read Buffer Size [v1]"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 25, bit: 1)
    public init() {}

    /// The return parameters of the command.
    public struct Response: ReturnParameters {
      /// Status: success, or the reason of the failure.
      public var status = HCIErrorCode.success
      /// LE_ACL_Data_Packet_Length in octets, without the header; 0 if the buffers of HCI_Read_Buffer_Size are
      /// shared.
      public var aclDataPacketLength: UInt16 = 0
      /// Total_Num_LE_ACL_Data_Packets: the number of buffers.
      public var totalNumACLDataPackets: UInt8 = 0
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try field.integer("LE_ACL_Data_Packet_Length", &aclDataPacketLength)
        try field.integer("Total_Num_LE_ACL_Data_Packets", &totalNumACLDataPackets)
      }
    }
  }

  /// Reads the data buffers for LE ACL data and for ISO data (HCI_LE_Read_Buffer_Size [v2], Vol 4, Part E, 7.8.2).
  public struct LEReadBufferSizeV2: ParameterlessCommand {
    public static let opcode = HCIOpcode.leReadBufferSizeV2
    public static let name: StaticString = "LE Read Buffer Size [v2]"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 41, bit: 5)
    public init() {}

    /// The return parameters of the command.
    public struct Response: ReturnParameters {
      /// Status: success, or the reason of the failure.
      public var status = HCIErrorCode.success
      /// LE_ACL_Data_Packet_Length in octets, without the header; 0 if the buffers of HCI_Read_Buffer_Size are
      /// shared.
      public var aclDataPacketLength: UInt16 = 0
      /// Total_Num_LE_ACL_Data_Packets: the number of buffers.
      public var totalNumACLDataPackets: UInt8 = 0
      /// ISO_Data_Packet_Length in octets, without the header; 0 if there is none.
      public var isoDataPacketLength: UInt16 = 0
      /// Total_Num_ISO_Data_Packets: the number of buffers.
      public var totalNumISODataPackets: UInt8 = 0
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try field.integer("LE_ACL_Data_Packet_Length", &aclDataPacketLength)
        try field.integer("Total_Num_LE_ACL_Data_Packets", &totalNumACLDataPackets)
        try field.integer("ISO_Data_Packet_Length", &isoDataPacketLength)
        try field.integer("Total_Num_ISO_Data_Packets", &totalNumISODataPackets)
      }
    }
  }

  /// Reads the LE features of the controller (HCI_LE_Read_Local_Supported_Features, Vol 4, Part E, 7.8.3).
  public struct LEReadLocalSupportedFeatures: ParameterlessCommand {
    public static let opcode = HCIOpcode.leReadLocalSupportedFeatures
    public static let name: StaticString = "LE Read Local Supported Features"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 25, bit: 2)
    public init() {}

    /// The return parameters of the command.
    public struct Response: ReturnParameters {
      /// Status: success, or the reason of the failure.
      public var status = HCIErrorCode.success
      /// LE_Features: the features.
      public var features: LEFeatures = []
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try field.value("LE_Features", &features)
      }
    }
  }

  /// Reads the combinations of roles that the controller supports (HCI_LE_Read_Supported_States, Vol 4, Part E,
  /// 7.8.27).
  public struct LEReadSupportedStates: ParameterlessCommand {
    public static let opcode = HCIOpcode.leReadSupportedStates
    public static let name: StaticString = "LE Read Supported States"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 28, bit: 3)
    public init() {}

    /// The return parameters of the command.
    public struct Response: ReturnParameters {
      /// Status: success, or the reason of the failure.
      public var status = HCIErrorCode.success
      /// LE_States: one bit for each combination of roles.
      public var states: UInt64 = 0
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try field.integer("LE_States", &states)
      }
    }
  }

  /// Reads all pages of the LE features of the controller (HCI_LE_Read_All_Local_Supported_Features, Vol 4, Part E,
  /// 7.8.128).
  public struct LEReadAllLocalSupportedFeatures: ParameterlessCommand {
    public static let opcode = HCIOpcode.leReadAllLocalSupportedFeatures
    public static let name: StaticString = "LE Read All Local Supported Features"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 47, bit: 2)
    public init() {}

    /// The return parameters of the command.
    public struct Response: ReturnParameters {
      /// Status: success, or the reason of the failure.
      public var status = HCIErrorCode.success
      /// Max_Page: the highest page that has a feature, 0 to 10.
      public var maxPage: UInt8 = 0
      /// LE_Features: the features of all pages.
      public var features = LEFeaturePages()
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try field.integer("Max_Page", &maxPage)
        try features.layout(&field)
      }
    }
  }

  /// Sets or clears an LE feature bit that the host controls (HCI_LE_Set_Host_Feature [v1], Vol 4, Part E, 7.8.115).
  public struct LESetHostFeature: HCICommand {
    public static let opcode = HCIOpcode.leSetHostFeature
    public static let name: StaticString = "LE Set Host Feature [v1]"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 44, bit: 1)
    /// Bit_Number: the number of the bit in ``LEFeatures``.
    public var bitNumber: UInt8 = 0
    /// Bit_Value: the value of the bit.
    public var bitValue = false
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Bit_Number", &bitNumber)
      try field.flag("Bit_Value", &bitValue)
    }
  }

  /// Sets or clears an LE feature bit that the host controls, on any page (HCI_LE_Set_Host_Feature [v2], Vol 4, Part E,
  /// 7.8.115).
  public struct LESetHostFeatureV2: HCICommand {
    public static let opcode = HCIOpcode.leSetHostFeatureV2
    public static let name: StaticString = "LE Set Host Feature [v2]"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 47, bit: 4)
    /// Bit_Number: the number of the bit in ``LEFeaturePages``.
    public var bitNumber: UInt16 = 0
    /// Bit_Value: the value of the bit.
    public var bitValue = false
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Bit_Number", &bitNumber)
      try field.flag("Bit_Value", &bitValue)
    }
  }

  /// Reads the range of the transmit power of the controller (HCI_LE_Read_Transmit_Power, Vol 4, Part E, 7.8.74).
  public struct LEReadTransmitPower: ParameterlessCommand {
    public static let opcode = HCIOpcode.leReadTransmitPower
    public static let name: StaticString = "LE Read Transmit Power"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 38, bit: 7)
    public init() {}

    /// The return parameters of the command.
    public struct Response: ReturnParameters {
      /// Status: success, or the reason of the failure.
      public var status = HCIErrorCode.success
      /// Min_TX_Power in dBm.
      public var minTXPower: Int8 = 0
      /// Max_TX_Power in dBm.
      public var maxTXPower: Int8 = 0
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try field.integer("Min_TX_Power", &minTXPower)
        try field.integer("Max_TX_Power", &maxTXPower)
      }
    }
  }

  /// Reads the gain or loss between controller and antenna (HCI_LE_Read_RF_Path_Compensation, Vol 4, Part E, 7.8.75).
  public struct LEReadRFPathCompensation: ParameterlessCommand {
    public static let opcode = HCIOpcode.leReadRFPathCompensation
    public static let name: StaticString = "LE Read RF Path Compensation"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 39, bit: 0)
    public init() {}

    /// The return parameters of the command.
    public struct Response: ReturnParameters {
      /// Status: success, or the reason of the failure.
      public var status = HCIErrorCode.success
      /// RF_TX_Path_Compensation in units of 0.1 dB.
      public var rfTXPathCompensation: Int16 = 0
      /// RF_RX_Path_Compensation in units of 0.1 dB.
      public var rfRXPathCompensation: Int16 = 0
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try field.integer("RF_TX_Path_Compensation", &rfTXPathCompensation)
        try field.integer("RF_RX_Path_Compensation", &rfRXPathCompensation)
      }
    }
  }

  /// Sets the gain or loss between controller and antenna (HCI_LE_Write_RF_Path_Compensation, Vol 4, Part E, 7.8.76).
  public struct LEWriteRFPathCompensation: HCICommand {
    public static let opcode = HCIOpcode.leWriteRFPathCompensation
    public static let name: StaticString = "LE Write RF Path Compensation"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 39, bit: 1)
    /// RF_TX_Path_Compensation in units of 0.1 dB.
    public var rfTXPathCompensation: Int16 = 0
    /// RF_RX_Path_Compensation in units of 0.1 dB.
    public var rfRXPathCompensation: Int16 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("RF_TX_Path_Compensation", &rfTXPathCompensation)
      try field.integer("RF_RX_Path_Compensation", &rfRXPathCompensation)
    }
  }

  /// Requests a more or less accurate sleep clock (HCI_LE_Modify_Sleep_Clock_Accuracy, Vol 4, Part E, 7.8.94).
  public struct LEModifySleepClockAccuracy: HCICommand {
    public static let opcode = HCIOpcode.leModifySleepClockAccuracy
    public static let name: StaticString = "LE Modify Sleep Clock Accuracy"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 41, bit: 4)
    /// Action: 0x00 for a more, 0x01 for a less accurate clock.
    public var action: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Action", &action)
    }
  }
}
