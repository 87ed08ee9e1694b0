public import BLEWire

extension HCI {
  /// Reads the transmit power of a link on one PHY (HCI_LE_Enhanced_Read_Transmit_Power_Level, Vol 4, Part E,
  /// 7.8.117).
  public struct LEEnhancedReadTransmitPowerLevel: HCICommand {
    public static var opcode: HCIOpcode { .leEnhancedReadTransmitPowerLevel }
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
    public static var opcode: HCIOpcode { .leReadRemoteTransmitPowerLevel }
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
    public static var opcode: HCIOpcode { .leSetPathLossReportingParameters }
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
    public static var opcode: HCIOpcode { .leSetPathLossReportingEnable }
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
    public static var opcode: HCIOpcode { .leSetTransmitPowerReportingEnable }
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
