public import BLEWire

extension HCIOpcode {
  /// HCI_LE_Set_Data_Length.
  public static let leSetDataLength = Self(rawValue: 0x2022)
  /// HCI_LE_Read_Suggested_Default_Data_Length.
  public static let leReadSuggestedDefaultDataLength = Self(rawValue: 0x2023)
  /// HCI_LE_Write_Suggested_Default_Data_Length.
  public static let leWriteSuggestedDefaultDataLength = Self(rawValue: 0x2024)
  /// HCI_LE_Read_Maximum_Data_Length.
  public static let leReadMaximumDataLength = Self(rawValue: 0x202F)
  /// HCI_LE_Read_PHY.
  public static let leReadPHY = Self(rawValue: 0x2030)
  /// HCI_LE_Set_Default_PHY.
  public static let leSetDefaultPHY = Self(rawValue: 0x2031)
  /// HCI_LE_Set_PHY.
  public static let leSetPHY = Self(rawValue: 0x2032)
}

extension HCI {
  /// Sets the longest Link Layer packets that a link sends (HCI_LE_Set_Data_Length, Vol 4, Part E, 7.8.33).
  public struct LESetDataLength: HCICommand {
    /// Status and link.
    public typealias Response = LinkResponse
    public static let opcode = HCIOpcode.leSetDataLength
    public static let name: StaticString = "LE Set Data Length"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 33, bit: 6)
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// TX_Octets in octets, 27 to 251.
    public var txOctets: UInt16 = 27
    /// TX_Time in microseconds.
    public var txTime: UInt16 = 328
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try field.integer("TX_Octets", &txOctets)
      try field.integer("TX_Time", &txTime)
    }
  }

  /// Reads the longest Link Layer packets that later links send (HCI_LE_Read_Suggested_Default_Data_Length, Vol 4, Part
  /// E, 7.8.34).
  public struct LEReadSuggestedDefaultDataLength: ParameterlessCommand {
    public static let opcode = HCIOpcode.leReadSuggestedDefaultDataLength
    public static let name: StaticString = "LE Read Suggested Default Data Length"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 33, bit: 7)
    public init() {}

    /// The return parameters of the command.
    public struct Response: ReturnParameters {
      /// Status: success, or the reason of the failure.
      public var status = HCIErrorCode.success
      /// Suggested_Max_TX_Octets in octets.
      public var suggestedMaxTXOctets: UInt16 = 27
      /// Suggested_Max_TX_Time in microseconds.
      public var suggestedMaxTXTime: UInt16 = 328
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try field.integer("Suggested_Max_TX_Octets", &suggestedMaxTXOctets)
        try field.integer("Suggested_Max_TX_Time", &suggestedMaxTXTime)
      }
    }
  }

  /// Sets the longest Link Layer packets that later links send (HCI_LE_Write_Suggested_Default_Data_Length, Vol 4, Part
  /// E, 7.8.35).
  public struct LEWriteSuggestedDefaultDataLength: HCICommand {
    public static let opcode = HCIOpcode.leWriteSuggestedDefaultDataLength
    public static let name: StaticString = "LE Write Suggested Default Data Length"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 34, bit: 0)
    /// Suggested_Max_TX_Octets in octets, 27 to 251.
    public var suggestedMaxTXOctets: UInt16 = 27
    /// Suggested_Max_TX_Time in microseconds.
    public var suggestedMaxTXTime: UInt16 = 328
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Suggested_Max_TX_Octets", &suggestedMaxTXOctets)
      try field.integer("Suggested_Max_TX_Time", &suggestedMaxTXTime)
    }
  }

  /// Reads the longest Link Layer packets that the controller supports (HCI_LE_Read_Maximum_Data_Length, Vol 4, Part E,
  /// 7.8.46).
  public struct LEReadMaximumDataLength: ParameterlessCommand {
    public static let opcode = HCIOpcode.leReadMaximumDataLength
    public static let name: StaticString = "LE Read Maximum Data Length"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 35, bit: 3)
    public init() {}

    /// The return parameters of the command.
    public struct Response: ReturnParameters {
      /// Status: success, or the reason of the failure.
      public var status = HCIErrorCode.success
      /// Supported_Max_TX_Octets in octets.
      public var supportedMaxTXOctets: UInt16 = 27
      /// Supported_Max_TX_Time in microseconds.
      public var supportedMaxTXTime: UInt16 = 328
      /// Supported_Max_RX_Octets in octets.
      public var supportedMaxRXOctets: UInt16 = 27
      /// Supported_Max_RX_Time in microseconds.
      public var supportedMaxRXTime: UInt16 = 328
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try field.integer("Supported_Max_TX_Octets", &supportedMaxTXOctets)
        try field.integer("Supported_Max_TX_Time", &supportedMaxTXTime)
        try field.integer("Supported_Max_RX_Octets", &supportedMaxRXOctets)
        try field.integer("Supported_Max_RX_Time", &supportedMaxRXTime)
      }
    }
  }

  /// Reads the PHYs of a link (HCI_LE_Read_PHY, Vol 4, Part E, 7.8.47).
  public struct LEReadPHY: LinkCommand {
    public static let opcode = HCIOpcode.leReadPHY
    public static let name: StaticString = "LE Read PHY"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 35, bit: 4)
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    public init() {}

    /// The return parameters of the command.
    public struct Response: ReturnParameters {
      /// Status: success, or the reason of the failure.
      public var status = HCIErrorCode.success
      /// Connection_Handle: the link.
      public var connectionHandle = ConnectionHandle(rawValue: 0)
      /// TX_PHY: the PHY for transmission.
      public var txPHY = PHY.le1M
      /// RX_PHY: the PHY for reception.
      public var rxPHY = PHY.le1M
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try field.value("Connection_Handle", &connectionHandle)
        try field.value("TX_PHY", &txPHY)
        try field.value("RX_PHY", &rxPHY)
      }
    }
  }

  /// Sets the preferred PHYs of later links (HCI_LE_Set_Default_PHY, Vol 4, Part E, 7.8.48).
  public struct LESetDefaultPHY: HCICommand {
    public static let opcode = HCIOpcode.leSetDefaultPHY
    public static let name: StaticString = "LE Set Default PHY"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 35, bit: 5)
    /// All_PHYs: the directions in which the host has no preference.
    public var allPHYs: NoPHYPreference = []
    /// TX_PHYs: the PHYs for transmission.
    public var txPHYs: PHYs = []
    /// RX_PHYs: the PHYs for reception.
    public var rxPHYs: PHYs = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("All_PHYs", &allPHYs)
      try field.value("TX_PHYs", &txPHYs)
      try field.value("RX_PHYs", &rxPHYs)
    }
  }

  /// Requests other PHYs for a link (HCI_LE_Set_PHY, Vol 4, Part E, 7.8.49).
  public struct LESetPHY: HCICommand {
    /// A Command Status event answers the command.
    public typealias Response = AnsweredByStatus
    public static let opcode = HCIOpcode.leSetPHY
    public static let name: StaticString = "LE Set PHY"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 35, bit: 6)
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// All_PHYs: the directions in which the host has no preference.
    public var allPHYs: NoPHYPreference = []
    /// TX_PHYs: the PHYs for transmission.
    public var txPHYs: PHYs = []
    /// RX_PHYs: the PHYs for reception.
    public var rxPHYs: PHYs = []
    /// PHY_Options: the coding on LE Coded: 0 for no preference, 1 to prefer S=2, 2 to prefer S=8.
    public var phyOptions: UInt16 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try field.value("All_PHYs", &allPHYs)
      try field.value("TX_PHYs", &txPHYs)
      try field.value("RX_PHYs", &rxPHYs)
      try field.integer("PHY_Options", &phyOptions)
    }
  }
}
