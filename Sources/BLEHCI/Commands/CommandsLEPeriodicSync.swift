public import BLEWire

extension HCIOpcode {
  /// HCI_LE_Periodic_Advertising_Create_Sync.
  public static let lePeriodicAdvertisingCreateSync = Self(rawValue: 0x2044)
  /// HCI_LE_Periodic_Advertising_Create_Sync_Cancel.
  public static let lePeriodicAdvertisingCreateSyncCancel = Self(rawValue: 0x2045)
  /// HCI_LE_Periodic_Advertising_Terminate_Sync.
  public static let lePeriodicAdvertisingTerminateSync = Self(rawValue: 0x2046)
  /// HCI_LE_Add_Device_To_Periodic_Advertiser_List.
  public static let leAddDeviceToPeriodicAdvertiserList = Self(rawValue: 0x2047)
  /// HCI_LE_Remove_Device_From_Periodic_Advertiser_List.
  public static let leRemoveDeviceFromPeriodicAdvertiserList = Self(rawValue: 0x2048)
  /// HCI_LE_Clear_Periodic_Advertiser_List.
  public static let leClearPeriodicAdvertiserList = Self(rawValue: 0x2049)
  /// HCI_LE_Read_Periodic_Advertiser_List_Size.
  public static let leReadPeriodicAdvertiserListSize = Self(rawValue: 0x204A)
  /// HCI_LE_Set_Periodic_Advertising_Receive_Enable.
  public static let leSetPeriodicAdvertisingReceiveEnable = Self(rawValue: 0x2059)
  /// HCI_LE_Periodic_Advertising_Sync_Transfer.
  public static let lePeriodicAdvertisingSyncTransfer = Self(rawValue: 0x205A)
  /// HCI_LE_Set_Periodic_Advertising_Sync_Transfer_Parameters.
  public static let leSetPeriodicAdvertisingSyncTransferParameters = Self(rawValue: 0x205C)
  /// HCI_LE_Set_Default_Periodic_Advertising_Sync_Transfer_Parameters.
  public static let leSetDefaultPeriodicAdvertisingSyncTransferParameters = Self(rawValue: 0x205D)
  /// HCI_LE_Set_Periodic_Sync_Subevent.
  public static let leSetPeriodicSyncSubevent = Self(rawValue: 0x2084)
}

extension HCI {
  /// Synchronises with a periodic advertiser (HCI_LE_Periodic_Advertising_Create_Sync, Vol 4, Part E, 7.8.67).
  public struct LEPeriodicAdvertisingCreateSync: HCICommand {
    /// A Command Status event answers the command.
    public typealias Response = AnsweredByStatus
    public static let opcode = HCIOpcode.lePeriodicAdvertisingCreateSync
    public static let name: StaticString = "LE Periodic Advertising Create Sync"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 38, bit: 0)
    /// Options: bit 0 selects the periodic advertiser list, bit 1 starts with reports disabled, bit 2 filters
    /// duplicates.
    public var options: UInt8 = 0
    /// Advertising_SID: the advertising set identifier, 0x00 to 0x0F.
    public var advertisingSID: UInt8 = 0
    /// Advertiser_Address: type and address of the advertiser.
    public var advertiserAddress = DeviceAddress.zero
    /// Skip: the number of events that may be skipped after a received one.
    public var skip: UInt16 = 0
    /// Sync_Timeout in units of 10 ms.
    public var syncTimeout: UInt16 = 0
    /// Sync_CTE_Type: the kinds of Constant Tone Extensions not to synchronise with.
    public var syncCTEType: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Options", &options)
      try field.integer("Advertising_SID", &advertisingSID)
      try field.address("Advertiser_Address_Type", &advertiserAddress)
      try field.integer("Skip", &skip)
      try field.integer("Sync_Timeout", &syncTimeout)
      try field.integer("Sync_CTE_Type", &syncCTEType)
    }
  }

  /// Cancels a pending synchronisation (HCI_LE_Periodic_Advertising_Create_Sync_Cancel, Vol 4, Part E, 7.8.68).
  public struct LEPeriodicAdvertisingCreateSyncCancel: ParameterlessCommand {
    public static let opcode = HCIOpcode.lePeriodicAdvertisingCreateSyncCancel
    public static let name: StaticString = "LE Periodic Advertising Create Sync Cancel"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 38, bit: 1)
    public init() {}
  }

  /// Stops receiving a periodic advertiser (HCI_LE_Periodic_Advertising_Terminate_Sync, Vol 4, Part E, 7.8.69).
  public struct LEPeriodicAdvertisingTerminateSync: HCICommand {
    public static let opcode = HCIOpcode.lePeriodicAdvertisingTerminateSync
    public static let name: StaticString = "LE Periodic Advertising Terminate Sync"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 38, bit: 2)
    /// Sync_Handle: the periodic advertising train.
    public var syncHandle: UInt16 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Sync_Handle", &syncHandle)
    }
  }

  /// Adds an advertiser to the periodic advertiser list (HCI_LE_Add_Device_To_Periodic_Advertiser_List, Vol 4, Part E,
  /// 7.8.70).
  public struct LEAddDeviceToPeriodicAdvertiserList: HCICommand {
    public static let opcode = HCIOpcode.leAddDeviceToPeriodicAdvertiserList
    public static let name: StaticString = "LE Add Device To Periodic Advertiser List"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 38, bit: 3)
    /// Advertiser_Address: type and address of the advertiser.
    public var advertiserAddress = DeviceAddress.zero
    /// Advertising_SID: the advertising set identifier, 0x00 to 0x0F.
    public var advertisingSID: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.address("Advertiser_Address_Type", &advertiserAddress)
      try field.integer("Advertising_SID", &advertisingSID)
    }
  }

  /// Removes an advertiser from the periodic advertiser list (HCI_LE_Remove_Device_From_Periodic_Advertiser_List, Vol
  /// 4, Part E, 7.8.71).
  public struct LERemoveDeviceFromPeriodicAdvertiserList: HCICommand {
    public static let opcode = HCIOpcode.leRemoveDeviceFromPeriodicAdvertiserList
    public static let name: StaticString = "LE Remove Device From Periodic Advertiser List"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 38, bit: 4)
    /// Advertiser_Address: type and address of the advertiser.
    public var advertiserAddress = DeviceAddress.zero
    /// Advertising_SID: the advertising set identifier, 0x00 to 0x0F.
    public var advertisingSID: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.address("Advertiser_Address_Type", &advertiserAddress)
      try field.integer("Advertising_SID", &advertisingSID)
    }
  }

  /// Clears the periodic advertiser list (HCI_LE_Clear_Periodic_Advertiser_List, Vol 4, Part E, 7.8.72).
  public struct LEClearPeriodicAdvertiserList: ParameterlessCommand {
    public static let opcode = HCIOpcode.leClearPeriodicAdvertiserList
    public static let name: StaticString = "LE Clear Periodic Advertiser List"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 38, bit: 5)
    public init() {}
  }

  /// Reads the capacity of the periodic advertiser list (HCI_LE_Read_Periodic_Advertiser_List_Size, Vol 4, Part E,
  /// 7.8.73).
  public struct LEReadPeriodicAdvertiserListSize: ParameterlessCommand {
    public static let opcode = HCIOpcode.leReadPeriodicAdvertiserListSize
    public static let name: StaticString = "LE Read Periodic Advertiser List Size"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 38, bit: 6)
    public init() {}

    /// The return parameters of the command.
    public struct Response: ReturnParameters {
      /// Status: success, or the reason of the failure.
      public var status = HCIErrorCode.success
      /// Periodic_Advertiser_List_Size: the number of entries.
      public var periodicAdvertiserListSize: UInt8 = 0
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try field.integer("Periodic_Advertiser_List_Size", &periodicAdvertiserListSize)
      }
    }
  }

  /// Enables or disables the reports of a periodic advertiser (HCI_LE_Set_Periodic_Advertising_Receive_Enable, Vol 4,
  /// Part E, 7.8.88).
  public struct LESetPeriodicAdvertisingReceiveEnable: HCICommand {
    public static let opcode = HCIOpcode.leSetPeriodicAdvertisingReceiveEnable
    public static let name: StaticString = "LE Set Periodic Advertising Receive Enable"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 40, bit: 5)
    /// Sync_Handle: the periodic advertising train.
    public var syncHandle: UInt16 = 0
    /// Enable: bit 0 enables reports, bit 1 filters duplicates.
    public var enable: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Sync_Handle", &syncHandle)
      try field.integer("Enable", &enable)
    }
  }

  /// Sends a peer the data to synchronise with a periodic advertiser that we receive
  /// (HCI_LE_Periodic_Advertising_Sync_Transfer, Vol 4, Part E, 7.8.89).
  public struct LEPeriodicAdvertisingSyncTransfer: HCICommand {
    /// Status and link.
    public typealias Response = LinkResponse
    public static let opcode = HCIOpcode.lePeriodicAdvertisingSyncTransfer
    public static let name: StaticString = "LE Periodic Advertising Sync Transfer"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 40, bit: 6)
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// Service_Data, defined by the host.
    public var serviceData: UInt16 = 0
    /// Sync_Handle: the periodic advertising train.
    public var syncHandle: UInt16 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try field.integer("Service_Data", &serviceData)
      try field.integer("Sync_Handle", &syncHandle)
    }
  }

  /// Sets the response to synchronisation data from the peer of a link
  /// (HCI_LE_Set_Periodic_Advertising_Sync_Transfer_Parameters, Vol 4, Part E, 7.8.91).
  public struct LESetPeriodicAdvertisingSyncTransferParameters: HCICommand {
    /// Status and link.
    public typealias Response = LinkResponse
    public static let opcode = HCIOpcode.leSetPeriodicAdvertisingSyncTransferParameters
    public static let name: StaticString = "LE Set Periodic Advertising Sync Transfer Parameters"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 41, bit: 0)
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// Mode: 0x00 to ignore, 0x01 to synchronise without reports, 0x02 with reports, 0x03 with reports without
    /// duplicates.
    public var mode: UInt8 = 0
    /// Skip: the number of events that may be skipped after a received one.
    public var skip: UInt16 = 0
    /// Sync_Timeout in units of 10 ms.
    public var syncTimeout: UInt16 = 0
    /// CTE_Type: the kinds of Constant Tone Extensions not to synchronise with.
    public var cteType: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try field.integer("Mode", &mode)
      try field.integer("Skip", &skip)
      try field.integer("Sync_Timeout", &syncTimeout)
      try field.integer("CTE_Type", &cteType)
    }
  }

  /// Sets the response to synchronisation data from the peers of later links
  /// (HCI_LE_Set_Default_Periodic_Advertising_Sync_Transfer_Parameters, Vol 4, Part E, 7.8.92).
  public struct LESetDefaultPeriodicAdvertisingSyncTransferParameters: HCICommand {
    public static let opcode = HCIOpcode.leSetDefaultPeriodicAdvertisingSyncTransferParameters
    public static let name: StaticString = "LE Set Default Periodic Advertising Sync Transfer Parameters"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 41, bit: 1)
    /// Mode: 0x00 to ignore, 0x01 to synchronise without reports, 0x02 with reports, 0x03 with reports without
    /// duplicates.
    public var mode: UInt8 = 0
    /// Skip: the number of events that may be skipped after a received one.
    public var skip: UInt16 = 0
    /// Sync_Timeout in units of 10 ms.
    public var syncTimeout: UInt16 = 0
    /// CTE_Type: the kinds of Constant Tone Extensions not to synchronise with.
    public var cteType: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Mode", &mode)
      try field.integer("Skip", &skip)
      try field.integer("Sync_Timeout", &syncTimeout)
      try field.integer("CTE_Type", &cteType)
    }
  }

  /// Selects the subevents of a periodic advertiser to receive (HCI_LE_Set_Periodic_Sync_Subevent, Vol 4, Part E,
  /// 7.8.127).
  public struct LESetPeriodicSyncSubevent: HCICommand {
    /// Status and periodic advertising train.
    public typealias Response = SyncResponse
    public static let opcode = HCIOpcode.leSetPeriodicSyncSubevent
    public static let name: StaticString = "LE Set Periodic Sync Subevent"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 46, bit: 7)
    /// Sync_Handle: the periodic advertising train.
    public var syncHandle: UInt16 = 0
    /// Periodic_Advertising_Properties: bit 6 includes the transmit power in the responses.
    public var periodicAdvertisingProperties: UInt16 = 0
    /// Subevents: the numbers of the subevents, one octet each.
    public var subevents: Bytes = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Sync_Handle", &syncHandle)
      try field.integer("Periodic_Advertising_Properties", &periodicAdvertisingProperties)
      try field.counted("Subevents", &subevents)
    }
  }
}
