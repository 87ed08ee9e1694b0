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
  /// Reads the transmit power of a link on one PHY (HCI_LE_Enhanced_Read_Transmit_Power_Level, Vol 4, Part E, 7.8.117).
  public struct LEEnhancedReadTransmitPowerLevel: HCICommand {
    public static let opcode = HCIOpcode.leEnhancedReadTransmitPowerLevel
    public static let name: StaticString = "LE Enhanced Read Transmit Power Level"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 44, bit: 3)
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// PHY: 0x01 for LE 1M, 0x02 for LE 2M, 0x03 for LE Coded with S=8, 0x04 for LE Coded with S=2.
    public var phy: UInt8 = 1
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try field.integer("PHY", &phy)
    }

    /// The return parameters of the command.
    public struct Response: ReturnParameters {
      /// Status: success, or the reason of the failure.
      public var status = HCIErrorCode.success
      /// Connection_Handle: the link.
      public var connectionHandle = ConnectionHandle(rawValue: 0)
      /// PHY: the PHY.
      public var phy: UInt8 = 0
      /// Current_TX_Power_Level in dBm; 127 if it is not available.
      public var currentTXPowerLevel: Int8 = 0
      /// Max_TX_Power_Level in dBm.
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

  /// Requests the transmit power of the peer on one PHY (HCI_LE_Read_Remote_Transmit_Power_Level, Vol 4, Part E,
  /// 7.8.118).
  public struct LEReadRemoteTransmitPowerLevel: HCICommand {
    /// A Command Status event answers the command.
    public typealias Response = AnsweredByStatus
    public static let opcode = HCIOpcode.leReadRemoteTransmitPowerLevel
    public static let name: StaticString = "LE Read Remote Transmit Power Level"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 44, bit: 4)
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// PHY: 0x01 for LE 1M, 0x02 for LE 2M, 0x03 for LE Coded with S=8, 0x04 for LE Coded with S=2.
    public var phy: UInt8 = 1
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try field.integer("PHY", &phy)
    }
  }

  /// Sets the zones of path loss of a link (HCI_LE_Set_Path_Loss_Reporting_Parameters, Vol 4, Part E, 7.8.119).
  public struct LESetPathLossReportingParameters: HCICommand {
    /// Status and link.
    public typealias Response = LinkResponse
    public static let opcode = HCIOpcode.leSetPathLossReportingParameters
    public static let name: StaticString = "LE Set Path Loss Reporting Parameters"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 44, bit: 5)
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// High_Threshold in dB.
    public var highThreshold: UInt8 = 0
    /// High_Hysteresis in dB.
    public var highHysteresis: UInt8 = 0
    /// Low_Threshold in dB.
    public var lowThreshold: UInt8 = 0
    /// Low_Hysteresis in dB.
    public var lowHysteresis: UInt8 = 0
    /// Min_Time_Spent in connection events.
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

    /// Whether a controller accepts the values: the ranges around the thresholds do not overlap, and stay within 0 to
    /// 255 dB (Vol 4, Part E, 7.8.119).
    public var isValid: Bool {
      let (high, highSpan) = (Int(highThreshold), Int(highHysteresis))
      let (low, lowSpan) = (Int(lowThreshold), Int(lowHysteresis))
      return low >= lowSpan && low + lowSpan <= high - highSpan && high + highSpan <= 0xFF
    }
  }

  /// Enables or disables the reports of path loss of a link (HCI_LE_Set_Path_Loss_Reporting_Enable, Vol 4, Part E,
  /// 7.8.120).
  public struct LESetPathLossReportingEnable: HCICommand {
    /// Status and link.
    public typealias Response = LinkResponse
    public static let opcode = HCIOpcode.leSetPathLossReportingEnable
    public static let name: StaticString = "LE Set Path Loss Reporting Enable"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 44, bit: 6)
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// Enable: whether it is enabled.
    public var enable = false
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try field.flag("Enable", &enable)
    }
  }

  /// Enables or disables the reports of power changes of a link (HCI_LE_Set_Transmit_Power_Reporting_Enable, Vol 4,
  /// Part E, 7.8.121).
  public struct LESetTransmitPowerReportingEnable: HCICommand {
    /// Status and link.
    public typealias Response = LinkResponse
    public static let opcode = HCIOpcode.leSetTransmitPowerReportingEnable
    public static let name: StaticString = "LE Set Transmit Power Reporting Enable"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 44, bit: 7)
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// Local_Enable: whether changes of the local power are reported.
    public var localEnable = false
    /// Remote_Enable: whether changes of the remote power are reported.
    public var remoteEnable = false
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try field.flag("Local_Enable", &localEnable)
      try field.flag("Remote_Enable", &remoteEnable)
    }
  }
}
