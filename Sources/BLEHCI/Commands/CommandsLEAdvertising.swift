public import BLEWire

extension HCIOpcode {
  /// HCI_LE_Set_Random_Address.
  public static let leSetRandomAddress = Self(rawValue: 0x2005)
  /// HCI_LE_Set_Advertising_Parameters.
  public static let leSetAdvertisingParameters = Self(rawValue: 0x2006)
  /// HCI_LE_Read_Advertising_Physical_Channel_Tx_Power.
  public static let leReadAdvertisingPhysicalChannelTxPower = Self(rawValue: 0x2007)
  /// HCI_LE_Set_Advertising_Data.
  public static let leSetAdvertisingData = Self(rawValue: 0x2008)
  /// HCI_LE_Set_Scan_Response_Data.
  public static let leSetScanResponseData = Self(rawValue: 0x2009)
  /// HCI_LE_Set_Advertising_Enable.
  public static let leSetAdvertisingEnable = Self(rawValue: 0x200A)
}

extension HCI {
  /// Sets the random address for legacy advertising, scanning and initiating (HCI_LE_Set_Random_Address, Vol 4, Part E,
  /// 7.8.4).
  public struct LESetRandomAddress: HCICommand {
    public static let opcode = HCIOpcode.leSetRandomAddress
    public static let name: StaticString = "LE Set Random Address"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 25, bit: 4)
    /// Random_Address: the address.
    public var randomAddress = BD_ADDR()
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try randomAddress.layout(&field)
    }
  }

  /// Sets the parameters of legacy advertising (HCI_LE_Set_Advertising_Parameters, Vol 4, Part E, 7.8.5).
  public struct LESetAdvertisingParameters: HCICommand {
    public static let opcode = HCIOpcode.leSetAdvertisingParameters
    public static let name: StaticString = "LE Set Advertising Parameters"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 25, bit: 5)
    /// Advertising_Interval_Min in units of 0.625 ms, 0x0020 to 0x4000.
    public var advertisingIntervalMin: UInt16 = 0x0800
    /// Advertising_Interval_Max in units of 0.625 ms, 0x0020 to 0x4000.
    public var advertisingIntervalMax: UInt16 = 0x0800
    /// Advertising_Type: the kind of advertising.
    public var advertisingType = AdvertisingType.connectableUndirected
    /// Own_Address_Type: the address that the controller sends.
    public var ownAddressType = OwnAddressType.public
    /// Peer_Address: type and address of the peer.
    public var peerAddress = DeviceAddress.zero
    /// Advertising_Channel_Map: the primary advertising channels.
    public var advertisingChannelMap = AdvertisingChannels.all
    /// Advertising_Filter_Policy: the devices whose requests are accepted.
    public var advertisingFilterPolicy = AdvertisingFilterPolicy.all
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Advertising_Interval_Min", &advertisingIntervalMin)
      try field.integer("Advertising_Interval_Max", &advertisingIntervalMax)
      try field.value("Advertising_Type", &advertisingType)
      try field.value("Own_Address_Type", &ownAddressType)
      try field.address("Peer_Address_Type", &peerAddress)
      try field.value("Advertising_Channel_Map", &advertisingChannelMap)
      try field.value("Advertising_Filter_Policy", &advertisingFilterPolicy)
    }
  }

  /// Reads the transmit power of legacy advertising (HCI_LE_Read_Advertising_Physical_Channel_Tx_Power, Vol 4, Part E,
  /// 7.8.6).
  public struct LEReadAdvertisingPhysicalChannelTxPower: ParameterlessCommand {
    public static let opcode = HCIOpcode.leReadAdvertisingPhysicalChannelTxPower
    public static let name: StaticString = "LE Read Advertising Physical Channel Tx Power"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 25, bit: 6)
    public init() {}

    /// The return parameters of the command.
    public struct Response: ReturnParameters {
      /// Status: success, or the reason of the failure.
      public var status = HCIErrorCode.success
      /// TX_Power_Level in dBm.
      public var txPowerLevel: Int8 = 0
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try field.integer("TX_Power_Level", &txPowerLevel)
      }
    }
  }

  /// Sets the data of legacy advertising (HCI_LE_Set_Advertising_Data, Vol 4, Part E, 7.8.7).
  ///
  /// The parameters always have 32 octets: the length, then a block of 31 octets, zero after the data.
  public struct LESetAdvertisingData: HCICommand {
    public static let opcode = HCIOpcode.leSetAdvertisingData
    public static let name: StaticString = "LE Set Advertising Data"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 25, bit: 7)
    /// Advertising_Data, at most 31 octets.
    public var advertisingData: Bytes = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.padded("Advertising_Data", size: LinkLayerLimits.legacyAdvertisingData, &advertisingData)
    }
  }

  /// Sets the scan response data of legacy advertising (HCI_LE_Set_Scan_Response_Data, Vol 4, Part E, 7.8.8).
  ///
  /// The parameters always have 32 octets: the length, then a block of 31 octets, zero after the data.
  public struct LESetScanResponseData: HCICommand {
    public static let opcode = HCIOpcode.leSetScanResponseData
    public static let name: StaticString = "LE Set Scan Response Data"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 26, bit: 0)
    /// Scan_Response_Data, at most 31 octets.
    public var scanResponseData: Bytes = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.padded("Scan_Response_Data", size: LinkLayerLimits.legacyAdvertisingData, &scanResponseData)
    }
  }

  /// Enables or disables legacy advertising (HCI_LE_Set_Advertising_Enable, Vol 4, Part E, 7.8.9).
  public struct LESetAdvertisingEnable: HCICommand {
    public static let opcode = HCIOpcode.leSetAdvertisingEnable
    public static let name: StaticString = "LE Set Advertising Enable"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 26, bit: 1)
    /// Advertising_Enable: whether it is enabled.
    public var advertisingEnable = false
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.flag("Advertising_Enable", &advertisingEnable)
    }
  }
}
