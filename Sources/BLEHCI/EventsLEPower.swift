public import BLEWire

extension LESubeventCode {
  /// HCI_LE_Path_Loss_Threshold.
  public static let pathLossThreshold = Self(rawValue: 0x20)
  /// HCI_LE_Transmit_Power_Reporting.
  public static let transmitPowerReporting = Self(rawValue: 0x21)
}

extension HCI {
  /// The path loss of a link has entered another zone (HCI_LE_Path_Loss_Threshold, Vol 4, Part E, 7.7.65.32).
  public struct LEPathLossThreshold: LEEventParameters {
    public static let subeventCode = LESubeventCode.pathLossThreshold
    public static let name: StaticString = "LE Path Loss Threshold"
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// In dB; 0xFF where it is not known.
    public var currentPathLoss: UInt8 = 0xFF
    /// 0x00 low, 0x01 middle, 0x02 high path loss.
    public var zoneEntered: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try field.integer("Current_Path_Loss", &currentPathLoss)
      try field.integer("Zone_Entered", &zoneEntered)
    }
  }

  /// Our transmit power or the peer's has changed, or was read (HCI_LE_Transmit_Power_Reporting, Vol 4, Part E,
  /// 7.7.65.33).
  public struct LETransmitPowerReporting: LEEventParameters {
    public static let subeventCode = LESubeventCode.transmitPowerReporting
    public static let name: StaticString = "LE Transmit Power Reporting"
    public var status = HCIErrorCode.success
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// 0x00 local, 0x01 remote power changed, 0x02 answer to a read.
    public var reason: UInt8 = 0
    /// 0x01 LE 1M, 0x02 LE 2M, 0x03 and 0x04 LE Coded with S=8 and S=2.
    public var phy: UInt8 = 0
    /// In dBm; 126 not managed, 127 not known.
    public var txPowerLevel: Int8 = 0
    /// Bit 0: at the minimum; bit 1: at the maximum.
    public var txPowerLevelFlag: UInt8 = 0
    /// In dB; 127 where it is not known.
    public var delta: Int8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Status", &status)
      try field.value("Connection_Handle", &connectionHandle)
      try field.integer("Reason", &reason)
      try field.integer("PHY", &phy)
      try field.integer("TX_Power_Level", &txPowerLevel)
      try field.integer("TX_Power_Level_Flag", &txPowerLevelFlag)
      try field.integer("Delta", &delta)
    }
  }
}
