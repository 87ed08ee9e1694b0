public import BLEWire

extension HCIOpcode {
  /// HCI_LE_Enhanced_Read_Transmit_Power_Level.
  public static let leEnhancedReadTransmitPowerLevel = Self(rawValue: 0x2076)
  /// HCI_LE_Read_Remote_Transmit_Power_Level.
  public static let leReadRemoteTransmitPowerLevel = Self(rawValue: 0x2077)
  /// HCI_LE_Set_Path_Loss_Reporting_Parameters.
  public static let leSetPathLossReportingParameters = Self(rawValue: 0x2078)
  /// HCI_LE_Set_Path_Loss_Reporting_Enable.
  public static let leSetPathLossReportingEnable = Self(rawValue: 0x2079)
  /// HCI_LE_Set_Transmit_Power_Reporting_Enable.
  public static let leSetTransmitPowerReportingEnable = Self(rawValue: 0x207A)
}

extension HCI {
  /// Reads the transmit power of a link on one PHY (HCI_LE_Enhanced_Read_Transmit_Power_Level, Vol 4, Part E,
  /// 7.8.117).
  public struct LEEnhancedReadTransmitPowerLevel: HCICommand {
    public static let opcode = HCIOpcode.leEnhancedReadTransmitPowerLevel
    public static let name: StaticString = "LE Enhanced Read Transmit Power Level"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 44, bit: 3)
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// 0x01 LE 1M, 0x02 LE 2M, 0x03 and 0x04 LE Coded with S=8 and S=2.
    public var phy: UInt8 = 1
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try field.integer("PHY", &phy)
    }

    public struct Response: ReturnParameters {
      public var status = HCIErrorCode.success
      public var connectionHandle = ConnectionHandle(rawValue: 0)
      public var phy: UInt8 = 0
      /// In dBm; 127 where it is not known.
      public var currentTXPowerLevel: Int8 = 0
      /// In dBm.
      public var maxTXPowerLevel: Int8 = 0
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try field.value("Connection_Handle", &connectionHandle)
        try field.integer("PHY", &phy)
        try field.integer("Current_TX_Power_Level", &currentTXPowerLevel)
        try field.integer("Max_TX_Power_Level", &maxTXPowerLevel)
      }
    }
  }

  /// Asks the peer for its transmit power on one PHY (HCI_LE_Read_Remote_Transmit_Power_Level, Vol 4, Part E,
  /// 7.8.118).
  public struct LEReadRemoteTransmitPowerLevel: HCICommand {
    public typealias Response = AnsweredByStatus
    public static let opcode = HCIOpcode.leReadRemoteTransmitPowerLevel
    public static let name: StaticString = "LE Read Remote Transmit Power Level"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 44, bit: 4)
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// 0x01 LE 1M, 0x02 LE 2M, 0x03 and 0x04 LE Coded with S=8 and S=2.
    public var phy: UInt8 = 1
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try field.integer("PHY", &phy)
    }
  }

  /// Sets the zones of path loss (HCI_LE_Set_Path_Loss_Reporting_Parameters, Vol 4, Part E, 7.8.119).
  public struct LESetPathLossReportingParameters: HCICommand {
    public typealias Response = LinkResponse
    public static let opcode = HCIOpcode.leSetPathLossReportingParameters
    public static let name: StaticString = "LE Set Path Loss Reporting Parameters"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 44, bit: 5)
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// In dB.
    public var highThreshold: UInt8 = 0
    /// In dB.
    public var highHysteresis: UInt8 = 0
    /// In dB.
    public var lowThreshold: UInt8 = 0
    /// In dB.
    public var lowHysteresis: UInt8 = 0
    /// In connection events.
    public var minTimeSpent: UInt16 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try field.integer("High_Threshold", &highThreshold)
      try field.integer("High_Hysteresis", &highHysteresis)
      try field.integer("Low_Threshold", &lowThreshold)
      try field.integer("Low_Hysteresis", &lowHysteresis)
      try field.integer("Min_Time_Spent", &minTimeSpent)
    }
  }

  /// Turns the reports of path loss on or off (HCI_LE_Set_Path_Loss_Reporting_Enable, Vol 4, Part E, 7.8.120).
  public struct LESetPathLossReportingEnable: HCICommand {
    public typealias Response = LinkResponse
    public static let opcode = HCIOpcode.leSetPathLossReportingEnable
    public static let name: StaticString = "LE Set Path Loss Reporting Enable"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 44, bit: 6)
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    public var enable = false
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try field.flag("Enable", &enable)
    }
  }

  /// Turns the reports of power changes on or off (HCI_LE_Set_Transmit_Power_Reporting_Enable, Vol 4, Part E,
  /// 7.8.121).
  public struct LESetTransmitPowerReportingEnable: HCICommand {
    public typealias Response = LinkResponse
    public static let opcode = HCIOpcode.leSetTransmitPowerReportingEnable
    public static let name: StaticString = "LE Set Transmit Power Reporting Enable"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 44, bit: 7)
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    public var localEnable = false
    public var remoteEnable = false
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try field.flag("Local_Enable", &localEnable)
      try field.flag("Remote_Enable", &remoteEnable)
    }
  }
}
