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
  /// Sets the random address for legacy advertising, scanning and initiating (HCI_LE_Set_Random_Address, Vol 4, Part
  /// E, 7.8.4).
  public struct LESetRandomAddress: HCICommand {
    public static let opcode = HCIOpcode.leSetRandomAddress
    public static let name: StaticString = "LE Set Random Address"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 25, bit: 4)
    public var randomAddress = BD_ADDR()
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try randomAddress.layout(&field)
    }
  }

  /// Sets how legacy advertising is done (HCI_LE_Set_Advertising_Parameters, Vol 4, Part E, 7.8.5).
  public struct LESetAdvertisingParameters: HCICommand {
    public static let opcode = HCIOpcode.leSetAdvertisingParameters
    public static let name: StaticString = "LE Set Advertising Parameters"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 25, bit: 5)
    /// In units of 0.625 ms, 0x0020 to 0x4000.
    public var advertisingIntervalMin: UInt16 = 0x0800
    /// In units of 0.625 ms, 0x0020 to 0x4000.
    public var advertisingIntervalMax: UInt16 = 0x0800
    public var advertisingType = AdvertisingType.connectableUndirected
    public var ownAddressType = OwnAddressType.public
    public var peerAddress = DeviceAddress.zero
    public var advertisingChannelMap = AdvertisingChannels.all
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

  /// Reads the transmit power of legacy advertising (HCI_LE_Read_Advertising_Physical_Channel_Tx_Power, Vol 4, Part
  /// E, 7.8.6).
  public struct LEReadAdvertisingPhysicalChannelTxPower: ParameterlessCommand {
    public static let opcode = HCIOpcode.leReadAdvertisingPhysicalChannelTxPower
    public static let name: StaticString = "LE Read Advertising Physical Channel Tx Power"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 25, bit: 6)
    public init() {}

    public struct Response: ReturnParameters {
      public var status = HCIErrorCode.success
      /// In dBm.
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
  /// Always 32 octets on the wire: the length, then a block of 31, zero behind the significant ones.
  public struct LESetAdvertisingData: HCICommand {
    public static let opcode = HCIOpcode.leSetAdvertisingData
    public static let name: StaticString = "LE Set Advertising Data"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 25, bit: 7)
    /// At most 31 octets.
    public var advertisingData: Bytes = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.padded("Advertising_Data", size: 31, &advertisingData)
    }
  }

  /// Sets what an active scanner gets in addition from legacy advertising (HCI_LE_Set_Scan_Response_Data, Vol 4, Part
  /// E, 7.8.8).
  ///
  /// Always 32 octets on the wire: the length, then a block of 31, zero behind the significant ones.
  public struct LESetScanResponseData: HCICommand {
    public static let opcode = HCIOpcode.leSetScanResponseData
    public static let name: StaticString = "LE Set Scan Response Data"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 26, bit: 0)
    /// At most 31 octets.
    public var scanResponseData: Bytes = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.padded("Scan_Response_Data", size: 31, &scanResponseData)
    }
  }

  /// Starts or stops legacy advertising (HCI_LE_Set_Advertising_Enable, Vol 4, Part E, 7.8.9).
  public struct LESetAdvertisingEnable: HCICommand {
    public static let opcode = HCIOpcode.leSetAdvertisingEnable
    public static let name: StaticString = "LE Set Advertising Enable"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 26, bit: 1)
    public var advertisingEnable = false
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.flag("Advertising_Enable", &advertisingEnable)
    }
  }
}
