public import BLEWire

extension HCIOpcode {
  /// HCI_LE_Set_Advertising_Set_Random_Address.
  public static let leSetAdvertisingSetRandomAddress = Self(rawValue: 0x2035)
  /// HCI_LE_Set_Extended_Advertising_Parameters [v1].
  public static let leSetExtendedAdvertisingParameters = Self(rawValue: 0x2036)
  /// HCI_LE_Set_Extended_Advertising_Parameters [v2].
  public static let leSetExtendedAdvertisingParametersV2 = Self(rawValue: 0x207F)
  /// HCI_LE_Set_Extended_Advertising_Data.
  public static let leSetExtendedAdvertisingData = Self(rawValue: 0x2037)
  /// HCI_LE_Set_Extended_Scan_Response_Data.
  public static let leSetExtendedScanResponseData = Self(rawValue: 0x2038)
  /// HCI_LE_Set_Extended_Advertising_Enable.
  public static let leSetExtendedAdvertisingEnable = Self(rawValue: 0x2039)
  /// HCI_LE_Read_Maximum_Advertising_Data_Length.
  public static let leReadMaximumAdvertisingDataLength = Self(rawValue: 0x203A)
  /// HCI_LE_Read_Number_Of_Supported_Advertising_Sets.
  public static let leReadNumberOfSupportedAdvertisingSets = Self(rawValue: 0x203B)
  /// HCI_LE_Remove_Advertising_Set.
  public static let leRemoveAdvertisingSet = Self(rawValue: 0x203C)
  /// HCI_LE_Clear_Advertising_Sets.
  public static let leClearAdvertisingSets = Self(rawValue: 0x203D)
  /// HCI_LE_Set_Data_Related_Address_Changes.
  public static let leSetDataRelatedAddressChanges = Self(rawValue: 0x207C)
}

extension HCI {
  /// Sets the random address of an advertising set (HCI_LE_Set_Advertising_Set_Random_Address, Vol 4, Part E,
  /// 7.8.52).
  public struct LESetAdvertisingSetRandomAddress: HCICommand {
    public static let opcode = HCIOpcode.leSetAdvertisingSetRandomAddress
    public static let name: StaticString = "LE Set Advertising Set Random Address"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 36, bit: 1)
    public var advertisingHandle: UInt8 = 0
    public var randomAddress = BD_ADDR()
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Advertising_Handle", &advertisingHandle)
      try randomAddress.layout(&field)
    }
  }

  /// Makes or changes an advertising set (HCI_LE_Set_Extended_Advertising_Parameters [v1], Vol 4, Part E, 7.8.53).
  public struct LESetExtendedAdvertisingParameters: HCICommand {
    public static let opcode = HCIOpcode.leSetExtendedAdvertisingParameters
    public static let name: StaticString = "LE Set Extended Advertising Parameters [v1]"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 36, bit: 2)
    /// 0x00 to 0xEF, of the host's choice.
    public var advertisingHandle: UInt8 = 0
    public var advertisingEventProperties: AdvertisingEventProperties = []
    /// In units of 0.625 ms, from 0x000020.
    public var primaryAdvertisingIntervalMin: UInt32 = 0x0800
    /// In units of 0.625 ms, from 0x000020.
    public var primaryAdvertisingIntervalMax: UInt32 = 0x0800
    public var primaryAdvertisingChannelMap = AdvertisingChannels.all
    public var ownAddressType = OwnAddressType.public
    public var peerAddress = DeviceAddress.zero
    public var advertisingFilterPolicy = AdvertisingFilterPolicy.all
    /// In dBm, −127 to 20; 127 leaves it to the controller.
    public var advertisingTXPower: Int8 = 127
    public var primaryAdvertisingPHY = PHY.le1M
    public var secondaryAdvertisingMaxSkip: UInt8 = 0
    public var secondaryAdvertisingPHY = PHY.le1M
    /// 0x00 to 0x0F.
    public var advertisingSID: UInt8 = 0
    public var scanRequestNotificationEnable = false
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Advertising_Handle", &advertisingHandle)
      try field.value("Advertising_Event_Properties", &advertisingEventProperties)
      try field.integer("Primary_Advertising_Interval_Min", octets: 3, &primaryAdvertisingIntervalMin)
      try field.integer("Primary_Advertising_Interval_Max", octets: 3, &primaryAdvertisingIntervalMax)
      try field.value("Primary_Advertising_Channel_Map", &primaryAdvertisingChannelMap)
      try field.value("Own_Address_Type", &ownAddressType)
      try field.address("Peer_Address_Type", &peerAddress)
      try field.value("Advertising_Filter_Policy", &advertisingFilterPolicy)
      try field.integer("Advertising_TX_Power", &advertisingTXPower)
      try field.value("Primary_Advertising_PHY", &primaryAdvertisingPHY)
      try field.integer("Secondary_Advertising_Max_Skip", &secondaryAdvertisingMaxSkip)
      try field.value("Secondary_Advertising_PHY", &secondaryAdvertisingPHY)
      try field.integer("Advertising_SID", &advertisingSID)
      try field.flag("Scan_Request_Notification_Enable", &scanRequestNotificationEnable)
    }

    public struct Response: ReturnParameters {
      public var status = HCIErrorCode.success
      /// In dBm.
      public var selectedTXPower: Int8 = 0
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try field.integer("Selected_TX_Power", &selectedTXPower)
      }
    }
  }

  /// Makes or changes an advertising set, and chooses its coding on LE Coded
  /// (HCI_LE_Set_Extended_Advertising_Parameters [v2], Vol 4, Part E, 7.8.53).
  public struct LESetExtendedAdvertisingParametersV2: HCICommand {
    public static let opcode = HCIOpcode.leSetExtendedAdvertisingParametersV2
    public static let name: StaticString = "LE Set Extended Advertising Parameters [v2]"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 46, bit: 2)
    public var parameters = LESetExtendedAdvertisingParameters()
    public var primaryAdvertisingPHYOptions = AdvertisingPHYOptions.noPreference
    public var secondaryAdvertisingPHYOptions = AdvertisingPHYOptions.noPreference
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try parameters.layout(&field)
      try field.value("Primary_Advertising_PHY_Options", &primaryAdvertisingPHYOptions)
      try field.value("Secondary_Advertising_PHY_Options", &secondaryAdvertisingPHYOptions)
    }

    public struct Response: ReturnParameters {
      public var status = HCIErrorCode.success
      /// In dBm.
      public var selectedTXPower: Int8 = 0
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try field.integer("Selected_TX_Power", &selectedTXPower)
      }
    }
  }

  /// Sets the data of an advertising set, whole or a fragment of it (HCI_LE_Set_Extended_Advertising_Data, Vol 4,
  /// Part E, 7.8.54).
  public struct LESetExtendedAdvertisingData: HCICommand {
    public static let opcode = HCIOpcode.leSetExtendedAdvertisingData
    public static let name: StaticString = "LE Set Extended Advertising Data"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 36, bit: 3)
    public var advertisingHandle: UInt8 = 0
    public var operation = DataOperation.complete
    public var fragmentPreference = FragmentPreference.controllerMayFragment
    /// At most 251 octets; longer data goes in fragments.
    public var advertisingData: Bytes = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Advertising_Handle", &advertisingHandle)
      try field.value("Operation", &operation)
      try field.value("Fragment_Preference", &fragmentPreference)
      try field.counted("Advertising_Data", limit: 251, &advertisingData)
    }
  }

  /// Sets the scan response data of an advertising set, whole or a fragment of it
  /// (HCI_LE_Set_Extended_Scan_Response_Data, Vol 4, Part E, 7.8.55).
  public struct LESetExtendedScanResponseData: HCICommand {
    public static let opcode = HCIOpcode.leSetExtendedScanResponseData
    public static let name: StaticString = "LE Set Extended Scan Response Data"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 36, bit: 4)
    public var advertisingHandle: UInt8 = 0
    public var operation = DataOperation.complete
    public var fragmentPreference = FragmentPreference.controllerMayFragment
    /// At most 251 octets; longer data goes in fragments.
    public var scanResponseData: Bytes = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Advertising_Handle", &advertisingHandle)
      try field.value("Operation", &operation)
      try field.value("Fragment_Preference", &fragmentPreference)
      try field.counted("Scan_Response_Data", limit: 251, &scanResponseData)
    }
  }

  /// Starts or stops advertising sets (HCI_LE_Set_Extended_Advertising_Enable, Vol 4, Part E, 7.8.56).
  public struct LESetExtendedAdvertisingEnable: HCICommand {
    public static let opcode = HCIOpcode.leSetExtendedAdvertisingEnable
    public static let name: StaticString = "LE Set Extended Advertising Enable"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 36, bit: 5)
    public var enable = false
    /// None, when disabling, means all.
    public var sets: [EnabledAdvertisingSet] = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.flag("Enable", &enable)
      try field.counted("Num_Sets", &sets)
    }
  }

  /// One set of HCI_LE_Set_Extended_Advertising_Enable: Vol 4, Part E, 7.8.56.
  public struct EnabledAdvertisingSet: FieldGroup {
    public var advertisingHandle: UInt8 = 0
    /// In units of 10 ms; 0 for ever.
    public var duration: UInt16 = 0
    /// 0 for no limit.
    public var maxExtendedAdvertisingEvents: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Advertising_Handle[i]", &advertisingHandle)
      try field.integer("Duration[i]", &duration)
      try field.integer("Max_Extended_Advertising_Events[i]", &maxExtendedAdvertisingEvents)
    }
  }

  /// Reads how much data an advertising set can have (HCI_LE_Read_Maximum_Advertising_Data_Length, Vol 4, Part E,
  /// 7.8.57).
  public struct LEReadMaximumAdvertisingDataLength: ParameterlessCommand {
    public static let opcode = HCIOpcode.leReadMaximumAdvertisingDataLength
    public static let name: StaticString = "LE Read Maximum Advertising Data Length"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 36, bit: 6)
    public init() {}

    public struct Response: ReturnParameters {
      public var status = HCIErrorCode.success
      /// In octets, 0x001F to 0x0672.
      public var maxAdvertisingDataLength: UInt16 = 0
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try field.integer("Max_Advertising_Data_Length", &maxAdvertisingDataLength)
      }
    }
  }

  /// Reads how many advertising sets there can be (HCI_LE_Read_Number_Of_Supported_Advertising_Sets, Vol 4, Part E,
  /// 7.8.58).
  public struct LEReadNumberOfSupportedAdvertisingSets: ParameterlessCommand {
    public static let opcode = HCIOpcode.leReadNumberOfSupportedAdvertisingSets
    public static let name: StaticString = "LE Read Number Of Supported Advertising Sets"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 36, bit: 7)
    public init() {}

    public struct Response: ReturnParameters {
      public var status = HCIErrorCode.success
      public var numSupportedAdvertisingSets: UInt8 = 0
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try field.integer("Num_Supported_Advertising_Sets", &numSupportedAdvertisingSets)
      }
    }
  }

  /// Removes an advertising set (HCI_LE_Remove_Advertising_Set, Vol 4, Part E, 7.8.59).
  public struct LERemoveAdvertisingSet: HCICommand {
    public static let opcode = HCIOpcode.leRemoveAdvertisingSet
    public static let name: StaticString = "LE Remove Advertising Set"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 37, bit: 0)
    public var advertisingHandle: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Advertising_Handle", &advertisingHandle)
    }
  }

  /// Removes all advertising sets (HCI_LE_Clear_Advertising_Sets, Vol 4, Part E, 7.8.60).
  public struct LEClearAdvertisingSets: ParameterlessCommand {
    public static let opcode = HCIOpcode.leClearAdvertisingSets
    public static let name: StaticString = "LE Clear Advertising Sets"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 37, bit: 1)
    public init() {}
  }

  /// Makes the private address change with the data (HCI_LE_Set_Data_Related_Address_Changes, Vol 4, Part E,
  /// 7.8.122).
  public struct LESetDataRelatedAddressChanges: HCICommand {
    public static let opcode = HCIOpcode.leSetDataRelatedAddressChanges
    public static let name: StaticString = "LE Set Data Related Address Changes"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 45, bit: 6)
    public var advertisingHandle: UInt8 = 0
    /// Bit 0: when the advertising data changes; bit 1: when the scan response data does.
    public var changeReasons: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Advertising_Handle", &advertisingHandle)
      try field.integer("Change_Reasons", &changeReasons)
    }
  }
}
