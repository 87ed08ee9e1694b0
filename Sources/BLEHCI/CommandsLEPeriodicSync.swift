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
  /// Begins to synchronise with a periodic advertiser (HCI_LE_Periodic_Advertising_Create_Sync, Vol 4, Part E,
  /// 7.8.67).
  public struct LEPeriodicAdvertisingCreateSync: HCICommand {
    public typealias Response = AnsweredByStatus
    public static let opcode = HCIOpcode.lePeriodicAdvertisingCreateSync
    public static let name: StaticString = "LE Periodic Advertising Create Sync"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 38, bit: 0)
    /// Bit 0: use the periodic advertiser list; bit 1: reports off at first; bit 2: filter duplicates.
    public var options: UInt8 = 0
    public var advertisingSID: UInt8 = 0
    public var advertiserAddress = DeviceAddress.zero
    /// How many events may be skipped after a received one.
    public var skip: UInt16 = 0
    /// In units of 10 ms.
    public var syncTimeout: UInt16 = 0
    /// A set of kinds not to synchronise with.
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

  /// Gives the synchronising up (HCI_LE_Periodic_Advertising_Create_Sync_Cancel, Vol 4, Part E, 7.8.68).
  public struct LEPeriodicAdvertisingCreateSyncCancel: ParameterlessCommand {
    public static let opcode = HCIOpcode.lePeriodicAdvertisingCreateSyncCancel
    public static let name: StaticString = "LE Periodic Advertising Create Sync Cancel"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 38, bit: 1)
    public init() {}
  }

  /// Stops listening to a periodic advertiser (HCI_LE_Periodic_Advertising_Terminate_Sync, Vol 4, Part E, 7.8.69).
  public struct LEPeriodicAdvertisingTerminateSync: HCICommand {
    public static let opcode = HCIOpcode.lePeriodicAdvertisingTerminateSync
    public static let name: StaticString = "LE Periodic Advertising Terminate Sync"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 38, bit: 2)
    public var syncHandle: UInt16 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Sync_Handle", &syncHandle)
    }
  }

  /// Adds an advertiser to those to synchronise with (HCI_LE_Add_Device_To_Periodic_Advertiser_List, Vol 4, Part E,
  /// 7.8.70).
  public struct LEAddDeviceToPeriodicAdvertiserList: HCICommand {
    public static let opcode = HCIOpcode.leAddDeviceToPeriodicAdvertiserList
    public static let name: StaticString = "LE Add Device To Periodic Advertiser List"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 38, bit: 3)
    public var advertiserAddress = DeviceAddress.zero
    public var advertisingSID: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.address("Advertiser_Address_Type", &advertiserAddress)
      try field.integer("Advertising_SID", &advertisingSID)
    }
  }

  /// Removes an advertiser from those to synchronise with (HCI_LE_Remove_Device_From_Periodic_Advertiser_List, Vol 4,
  /// Part E, 7.8.71).
  public struct LERemoveDeviceFromPeriodicAdvertiserList: HCICommand {
    public static let opcode = HCIOpcode.leRemoveDeviceFromPeriodicAdvertiserList
    public static let name: StaticString = "LE Remove Device From Periodic Advertiser List"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 38, bit: 4)
    public var advertiserAddress = DeviceAddress.zero
    public var advertisingSID: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.address("Advertiser_Address_Type", &advertiserAddress)
      try field.integer("Advertising_SID", &advertisingSID)
    }
  }

  /// Empties the list of advertisers to synchronise with (HCI_LE_Clear_Periodic_Advertiser_List, Vol 4, Part E,
  /// 7.8.72).
  public struct LEClearPeriodicAdvertiserList: ParameterlessCommand {
    public static let opcode = HCIOpcode.leClearPeriodicAdvertiserList
    public static let name: StaticString = "LE Clear Periodic Advertiser List"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 38, bit: 5)
    public init() {}
  }

  /// Reads how many entries the periodic advertiser list can have (HCI_LE_Read_Periodic_Advertiser_List_Size, Vol 4,
  /// Part E, 7.8.73).
  public struct LEReadPeriodicAdvertiserListSize: ParameterlessCommand {
    public static let opcode = HCIOpcode.leReadPeriodicAdvertiserListSize
    public static let name: StaticString = "LE Read Periodic Advertiser List Size"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 38, bit: 6)
    public init() {}

    public struct Response: ReturnParameters {
      public var status = HCIErrorCode.success
      public var periodicAdvertiserListSize: UInt8 = 0
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try field.integer("Periodic_Advertiser_List_Size", &periodicAdvertiserListSize)
      }
    }
  }

  /// Turns the reports of a periodic advertiser on or off (HCI_LE_Set_Periodic_Advertising_Receive_Enable, Vol 4,
  /// Part E, 7.8.88).
  public struct LESetPeriodicAdvertisingReceiveEnable: HCICommand {
    public static let opcode = HCIOpcode.leSetPeriodicAdvertisingReceiveEnable
    public static let name: StaticString = "LE Set Periodic Advertising Receive Enable"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 40, bit: 5)
    public var syncHandle: UInt16 = 0
    /// Bit 0: report; bit 1: filter duplicates.
    public var enable: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Sync_Handle", &syncHandle)
      try field.integer("Enable", &enable)
    }
  }

  /// Tells a peer how to synchronise with an advertiser that we listen to (HCI_LE_Periodic_Advertising_Sync_Transfer,
  /// Vol 4, Part E, 7.8.89).
  public struct LEPeriodicAdvertisingSyncTransfer: HCICommand {
    public typealias Response = LinkResponse
    public static let opcode = HCIOpcode.lePeriodicAdvertisingSyncTransfer
    public static let name: StaticString = "LE Periodic Advertising Sync Transfer"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 40, bit: 6)
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    public var serviceData: UInt16 = 0
    public var syncHandle: UInt16 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try field.integer("Service_Data", &serviceData)
      try field.integer("Sync_Handle", &syncHandle)
    }
  }

  /// Sets what happens when a peer tells us of a periodic advertiser
  /// (HCI_LE_Set_Periodic_Advertising_Sync_Transfer_Parameters, Vol 4, Part E, 7.8.91).
  public struct LESetPeriodicAdvertisingSyncTransferParameters: HCICommand {
    public typealias Response = LinkResponse
    public static let opcode = HCIOpcode.leSetPeriodicAdvertisingSyncTransferParameters
    public static let name: StaticString = "LE Set Periodic Advertising Sync Transfer Parameters"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 41, bit: 0)
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// 0x00 ignore, 0x01 no reports, 0x02 reports, 0x03 reports without duplicates.
    public var mode: UInt8 = 0
    /// How many events may be skipped after a received one.
    public var skip: UInt16 = 0
    /// In units of 10 ms.
    public var syncTimeout: UInt16 = 0
    /// A set of kinds not to synchronise with.
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

  /// Sets what happens when a peer of a later link tells us of a periodic advertiser
  /// (HCI_LE_Set_Default_Periodic_Advertising_Sync_Transfer_Parameters, Vol 4, Part E, 7.8.92).
  public struct LESetDefaultPeriodicAdvertisingSyncTransferParameters: HCICommand {
    public static let opcode = HCIOpcode.leSetDefaultPeriodicAdvertisingSyncTransferParameters
    public static let name: StaticString = "LE Set Default Periodic Advertising Sync Transfer Parameters"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 41, bit: 1)
    /// 0x00 ignore, 0x01 no reports, 0x02 reports, 0x03 reports without duplicates.
    public var mode: UInt8 = 0
    /// How many events may be skipped after a received one.
    public var skip: UInt16 = 0
    /// In units of 10 ms.
    public var syncTimeout: UInt16 = 0
    /// A set of kinds not to synchronise with.
    public var cteType: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Mode", &mode)
      try field.integer("Skip", &skip)
      try field.integer("Sync_Timeout", &syncTimeout)
      try field.integer("CTE_Type", &cteType)
    }
  }

  /// Chooses the subevents to listen to (HCI_LE_Set_Periodic_Sync_Subevent, Vol 4, Part E, 7.8.127).
  public struct LESetPeriodicSyncSubevent: HCICommand {
    public typealias Response = SyncResponse
    public static let opcode = HCIOpcode.leSetPeriodicSyncSubevent
    public static let name: StaticString = "LE Set Periodic Sync Subevent"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 46, bit: 7)
    public var syncHandle: UInt16 = 0
    /// Bit 6: include the TX power in the responses.
    public var periodicAdvertisingProperties: UInt16 = 0
    /// The numbers of the subevents to listen to, one octet each.
    public var subevents: Bytes = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Sync_Handle", &syncHandle)
      try field.integer("Periodic_Advertising_Properties", &periodicAdvertisingProperties)
      try field.counted("Subevents", &subevents)
    }
  }
}
