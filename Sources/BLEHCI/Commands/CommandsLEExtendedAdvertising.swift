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
  /// The longest advertising data or scan response data in one command, in octets (Vol 4, Part E, 7.8.54).
  public static let maximumAdvertisingDataFragment = 251

  /// Sets the random address of an advertising set (HCI_LE_Set_Advertising_Set_Random_Address, Vol 4, Part E, 7.8.52).
  public struct LESetAdvertisingSetRandomAddress: HCICommand {
    public static let opcode = HCIOpcode.leSetAdvertisingSetRandomAddress
    public static let name: StaticString = "LE Set Advertising Set Random Address"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 36, bit: 1)
    /// Advertising_Handle: the advertising set.
    public var advertisingHandle: UInt8 = 0
    /// Random_Address: the address.
    public var randomAddress = BD_ADDR()
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Advertising_Handle", &advertisingHandle)
      try randomAddress.layout(&field)
    }
  }

  /// Creates or changes an advertising set (HCI_LE_Set_Extended_Advertising_Parameters [v1], Vol 4, Part E, 7.8.53).
  public struct LESetExtendedAdvertisingParameters: HCICommand {
    public static let opcode = HCIOpcode.leSetExtendedAdvertisingParameters
    public static let name: StaticString = "LE Set Extended Advertising Parameters [v1]"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 36, bit: 2)
    /// Advertising_Handle: the number of the set, 0x00 to 0xEF, chosen by the host.
    public var advertisingHandle: UInt8 = 0
    /// Advertising_Event_Properties: the kind of advertising.
    public var advertisingEventProperties: AdvertisingEventProperties = []
    /// Primary_Advertising_Interval_Min in units of 0.625 ms, from 0x000020.
    public var primaryAdvertisingIntervalMin: UInt32 = 0x0800
    /// Primary_Advertising_Interval_Max in units of 0.625 ms, from 0x000020.
    public var primaryAdvertisingIntervalMax: UInt32 = 0x0800
    /// Primary_Advertising_Channel_Map: the primary advertising channels.
    public var primaryAdvertisingChannelMap = AdvertisingChannels.all
    /// Own_Address_Type: the address that the controller sends.
    public var ownAddressType = OwnAddressType.public
    /// Peer_Address: type and address of the peer.
    public var peerAddress = DeviceAddress.zero
    /// Advertising_Filter_Policy: the devices whose requests are accepted.
    public var advertisingFilterPolicy = AdvertisingFilterPolicy.all
    /// Advertising_TX_Power in dBm, −127 to 20; 127 leaves it to the controller.
    public var advertisingTXPower: Int8 = 127
    /// Primary_Advertising_PHY: the PHY of the primary channels: LE 1M or LE Coded.
    public var primaryAdvertisingPHY = PHY.le1M
    /// Secondary_Advertising_Max_Skip: the number of advertising events that may be skipped before AUX_ADV_IND.
    public var secondaryAdvertisingMaxSkip: UInt8 = 0
    /// Secondary_Advertising_PHY: the PHY of the secondary channels.
    public var secondaryAdvertisingPHY = PHY.le1M
    /// Advertising_SID, 0x00 to 0x0F.
    public var advertisingSID: UInt8 = 0
    /// Scan_Request_Notification_Enable: whether scan requests are reported.
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

    /// The return parameters of the command.
    public struct Response: ReturnParameters {
      /// Status: success, or the reason of the failure.
      public var status = HCIErrorCode.success
      /// Selected_TX_Power in dBm.
      public var selectedTXPower: Int8 = 0
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try field.integer("Selected_TX_Power", &selectedTXPower)
      }
    }
  }

  /// Creates or changes an advertising set, with the coding of LE Coded (HCI_LE_Set_Extended_Advertising_Parameters
  /// [v2], Vol 4, Part E, 7.8.53).
  public struct LESetExtendedAdvertisingParametersV2: HCICommand {
    public static let opcode = HCIOpcode.leSetExtendedAdvertisingParametersV2
    public static let name: StaticString = "LE Set Extended Advertising Parameters [v2]"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 46, bit: 2)
    /// The parameters of version 1 of the command.
    public var parameters = LESetExtendedAdvertisingParameters()
    /// Primary_Advertising_PHY_Options: the coding on the primary channels.
    public var primaryAdvertisingPHYOptions = AdvertisingPHYOptions.noPreference
    /// Secondary_Advertising_PHY_Options: the coding on the secondary channels.
    public var secondaryAdvertisingPHYOptions = AdvertisingPHYOptions.noPreference
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try parameters.layout(&field)
      try field.value("Primary_Advertising_PHY_Options", &primaryAdvertisingPHYOptions)
      try field.value("Secondary_Advertising_PHY_Options", &secondaryAdvertisingPHYOptions)
    }

    /// The return parameters of the command.
    public struct Response: ReturnParameters {
      /// Status: success, or the reason of the failure.
      public var status = HCIErrorCode.success
      /// Selected_TX_Power in dBm.
      public var selectedTXPower: Int8 = 0
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try field.integer("Selected_TX_Power", &selectedTXPower)
      }
    }
  }

  /// Sets the advertising data of an advertising set, or a fragment of it (HCI_LE_Set_Extended_Advertising_Data, Vol 4,
  /// Part E, 7.8.54).
  public struct LESetExtendedAdvertisingData: HCICommand {
    public static let opcode = HCIOpcode.leSetExtendedAdvertisingData
    public static let name: StaticString = "LE Set Extended Advertising Data"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 36, bit: 3)
    /// Advertising_Handle: the advertising set.
    public var advertisingHandle: UInt8 = 0
    /// Operation: the part of the data in this command.
    public var operation = DataOperation.complete
    /// Fragment_Preference: whether the controller may fragment the data.
    public var fragmentPreference = FragmentPreference.controllerMayFragment
    /// Advertising_Data, at most ``maximumAdvertisingDataFragment`` octets; longer data is sent in fragments.
    public var advertisingData: Bytes = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Advertising_Handle", &advertisingHandle)
      try field.value("Operation", &operation)
      try field.value("Fragment_Preference", &fragmentPreference)
      try field.counted("Advertising_Data", limit: maximumAdvertisingDataFragment, &advertisingData)
    }
  }

  /// Sets the scan response data of an advertising set, or a fragment of it (HCI_LE_Set_Extended_Scan_Response_Data,
  /// Vol 4, Part E, 7.8.55).
  public struct LESetExtendedScanResponseData: HCICommand {
    public static let opcode = HCIOpcode.leSetExtendedScanResponseData
    public static let name: StaticString = "LE Set Extended Scan Response Data"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 36, bit: 4)
    /// Advertising_Handle: the advertising set.
    public var advertisingHandle: UInt8 = 0
    /// Operation: the part of the data in this command.
    public var operation = DataOperation.complete
    /// Fragment_Preference: whether the controller may fragment the data.
    public var fragmentPreference = FragmentPreference.controllerMayFragment
    /// Scan_Response_Data, at most ``maximumAdvertisingDataFragment`` octets; longer data is sent in fragments.
    public var scanResponseData: Bytes = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Advertising_Handle", &advertisingHandle)
      try field.value("Operation", &operation)
      try field.value("Fragment_Preference", &fragmentPreference)
      try field.counted("Scan_Response_Data", limit: maximumAdvertisingDataFragment, &scanResponseData)
    }
  }

  /// Enables or disables advertising sets (HCI_LE_Set_Extended_Advertising_Enable, Vol 4, Part E, 7.8.56).
  public struct LESetExtendedAdvertisingEnable: HCICommand {
    public static let opcode = HCIOpcode.leSetExtendedAdvertisingEnable
    public static let name: StaticString = "LE Set Extended Advertising Enable"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 36, bit: 5)
    /// Enable: whether it is enabled.
    public var enable = false
    /// Num_Sets: the sets; an empty list disables all.
    public var sets: [EnabledAdvertisingSet] = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.flag("Enable", &enable)
      try field.counted("Num_Sets", &sets)
    }
  }

  /// One advertising set of HCI_LE_Set_Extended_Advertising_Enable (Vol 4, Part E, 7.8.56).
  public struct EnabledAdvertisingSet: FieldGroup {
    /// Advertising_Handle: the advertising set.
    public var advertisingHandle: UInt8 = 0
    /// Duration in units of 10 ms; 0 for no limit.
    public var duration: UInt16 = 0
    /// Max_Extended_Advertising_Events; 0 for no limit.
    public var maxExtendedAdvertisingEvents: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Advertising_Handle[i]", &advertisingHandle)
      try field.integer("Duration[i]", &duration)
      try field.integer("Max_Extended_Advertising_Events[i]", &maxExtendedAdvertisingEvents)
    }
  }

  /// Reads the longest advertising data of an advertising set (HCI_LE_Read_Maximum_Advertising_Data_Length, Vol 4, Part
  /// E, 7.8.57).
  public struct LEReadMaximumAdvertisingDataLength: ParameterlessCommand {
    public static let opcode = HCIOpcode.leReadMaximumAdvertisingDataLength
    public static let name: StaticString = "LE Read Maximum Advertising Data Length"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 36, bit: 6)
    public init() {}

    /// The return parameters of the command.
    public struct Response: ReturnParameters {
      /// Status: success, or the reason of the failure.
      public var status = HCIErrorCode.success
      /// Max_Advertising_Data_Length in octets, 0x001F to 0x0672.
      public var maxAdvertisingDataLength: UInt16 = 0
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try field.integer("Max_Advertising_Data_Length", &maxAdvertisingDataLength)
      }
    }
  }

  /// Reads the number of advertising sets that the controller supports
  /// (HCI_LE_Read_Number_Of_Supported_Advertising_Sets, Vol 4, Part E, 7.8.58).
  public struct LEReadNumberOfSupportedAdvertisingSets: ParameterlessCommand {
    public static let opcode = HCIOpcode.leReadNumberOfSupportedAdvertisingSets
    public static let name: StaticString = "LE Read Number Of Supported Advertising Sets"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 36, bit: 7)
    public init() {}

    /// The return parameters of the command.
    public struct Response: ReturnParameters {
      /// Status: success, or the reason of the failure.
      public var status = HCIErrorCode.success
      /// Num_Supported_Advertising_Sets: the number of sets.
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
    /// Advertising_Handle: the advertising set.
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

  /// Makes the controller change the private address of an advertising set with its data
  /// (HCI_LE_Set_Data_Related_Address_Changes, Vol 4, Part E, 7.8.122).
  public struct LESetDataRelatedAddressChanges: HCICommand {
    public static let opcode = HCIOpcode.leSetDataRelatedAddressChanges
    public static let name: StaticString = "LE Set Data Related Address Changes"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 45, bit: 6)
    /// Advertising_Handle: the advertising set.
    public var advertisingHandle: UInt8 = 0
    /// Change_Reasons: bit 0 for a change of the advertising data, bit 1 for one of the scan response data.
    public var changeReasons: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Advertising_Handle", &advertisingHandle)
      try field.integer("Change_Reasons", &changeReasons)
    }
  }
}
