public import BLEWire

extension LESubeventCode {
  /// HCI_LE_Periodic_Advertising_Sync_Established [v1].
  public static let periodicAdvertisingSyncEstablished = Self(rawValue: 0x0E)
  /// HCI_LE_Periodic_Advertising_Sync_Established [v2].
  public static let periodicAdvertisingSyncEstablishedV2 = Self(rawValue: 0x24)
  /// HCI_LE_Periodic_Advertising_Report [v1].
  public static let periodicAdvertisingReport = Self(rawValue: 0x0F)
  /// HCI_LE_Periodic_Advertising_Report [v2].
  public static let periodicAdvertisingReportV2 = Self(rawValue: 0x25)
  /// HCI_LE_Periodic_Advertising_Sync_Lost.
  public static let periodicAdvertisingSyncLost = Self(rawValue: 0x10)
  /// HCI_LE_Periodic_Advertising_Sync_Transfer_Received [v1].
  public static let periodicAdvertisingSyncTransferReceived = Self(rawValue: 0x18)
  /// HCI_LE_Periodic_Advertising_Sync_Transfer_Received [v2].
  public static let periodicAdvertisingSyncTransferReceivedV2 = Self(rawValue: 0x26)
  /// HCI_LE_Periodic_Advertising_Subevent_Data_Request.
  public static let periodicAdvertisingSubeventDataRequest = Self(rawValue: 0x27)
  /// HCI_LE_Periodic_Advertising_Response_Report.
  public static let periodicAdvertisingResponseReport = Self(rawValue: 0x28)
}

extension HCI {
  /// The result of synchronising with a periodic advertiser (HCI_LE_Periodic_Advertising_Sync_Established [v1], Vol 4,
  /// Part E, 7.7.65.14).
  public struct LEPeriodicAdvertisingSyncEstablished: LEEventParameters {
    public static let subeventCode = LESubeventCode.periodicAdvertisingSyncEstablished
    public static let name: StaticString = "LE Periodic Advertising Sync Established [v1]"
    /// Status: success, or the reason of the failure.
    public var status = HCIErrorCode.success
    /// Sync_Handle: the periodic advertising train.
    public var syncHandle: UInt16 = 0
    /// Advertising_SID: the advertising set identifier, 0x00 to 0x0F.
    public var advertisingSID: UInt8 = 0
    /// Advertiser_Address: type and address of the advertiser.
    public var advertiserAddress = DeviceAddress.zero
    /// Advertiser_PHY: the PHY of the advertiser.
    public var advertiserPHY = PHY.le1M
    /// Periodic_Advertising_Interval in units of 1.25 ms.
    public var periodicAdvertisingInterval: UInt16 = 0
    /// Advertiser_Clock_Accuracy: the clock accuracy of the advertiser.
    public var advertiserClockAccuracy = ClockAccuracy(rawValue: 0)
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Status", &status)
      try field.integer("Sync_Handle", &syncHandle)
      try field.integer("Advertising_SID", &advertisingSID)
      try field.address("Advertiser_Address_Type", &advertiserAddress)
      try field.value("Advertiser_PHY", &advertiserPHY)
      try field.integer("Periodic_Advertising_Interval", &periodicAdvertisingInterval)
      try field.value("Advertiser_Clock_Accuracy", &advertiserClockAccuracy)
    }
  }

  /// The result of synchronising with a periodic advertiser, with its subevents
  /// (HCI_LE_Periodic_Advertising_Sync_Established [v2], Vol 4, Part E, 7.7.65.14).
  public struct LEPeriodicAdvertisingSyncEstablishedV2: LEEventParameters {
    public static let subeventCode = LESubeventCode.periodicAdvertisingSyncEstablishedV2
    public static let name: StaticString = "LE Periodic Advertising Sync Established [v2]"
    /// The parameters of version 1 of the event.
    public var sync = LEPeriodicAdvertisingSyncEstablished()
    /// The subevents and response slots.
    public var subevents = SubeventTiming()
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try sync.layout(&field)
      try subevents.layout(&field)
    }
  }

  /// The subevents and response slots of a periodic advertising train (Vol 4, Part E, 7.7.65.14).
  public struct SubeventTiming: FieldGroup {
    /// Num_Subevents: the number of subevents.
    public var numSubevents: UInt8 = 0
    /// Subevent_Interval in units of 1.25 ms.
    public var subeventInterval: UInt8 = 0
    /// Response_Slot_Delay in units of 1.25 ms.
    public var responseSlotDelay: UInt8 = 0
    /// Response_Slot_Spacing in units of 0.125 ms.
    public var responseSlotSpacing: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Num_Subevents", &numSubevents)
      try field.integer("Subevent_Interval", &subeventInterval)
      try field.integer("Response_Slot_Delay", &responseSlotDelay)
      try field.integer("Response_Slot_Spacing", &responseSlotSpacing)
    }
  }

  /// Data of a periodic advertiser (HCI_LE_Periodic_Advertising_Report [v1], Vol 4, Part E, 7.7.65.15).
  public struct LEPeriodicAdvertisingReport: LEEventParameters {
    public static let subeventCode = LESubeventCode.periodicAdvertisingReport
    public static let name: StaticString = "LE Periodic Advertising Report [v1]"
    /// Sync_Handle: the periodic advertising train.
    public var syncHandle: UInt16 = 0
    /// TX_Power in dBm; 127 if it is not available.
    public var txPower: Int8 = 127
    /// RSSI in dBm; 127 if it is not available.
    public var rssi: Int8 = 127
    /// CTE_Type: the kind of the Constant Tone Extension.
    public var cteType: UInt8 = 0xFF
    /// Data_Status: 0x00 for complete, 0x01 for more to come, 0x02 for truncated, 0xFF for not received.
    public var dataStatus: UInt8 = 0
    /// Data.
    public var data: Bytes = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Sync_Handle", &syncHandle)
      try field.integer("TX_Power", &txPower)
      try field.integer("RSSI", &rssi)
      try field.integer("CTE_Type", &cteType)
      try field.integer("Data_Status", &dataStatus)
      try field.counted("Data", &data)
    }
  }

  /// Data of a periodic advertiser, with its event and subevent (HCI_LE_Periodic_Advertising_Report [v2], Vol 4, Part
  /// E, 7.7.65.15).
  public struct LEPeriodicAdvertisingReportV2: LEEventParameters {
    public static let subeventCode = LESubeventCode.periodicAdvertisingReportV2
    public static let name: StaticString = "LE Periodic Advertising Report [v2]"
    /// Sync_Handle: the periodic advertising train.
    public var syncHandle: UInt16 = 0
    /// TX_Power in dBm; 127 if it is not available.
    public var txPower: Int8 = 127
    /// RSSI in dBm; 127 if it is not available.
    public var rssi: Int8 = 127
    /// CTE_Type: the kind of the Constant Tone Extension.
    public var cteType: UInt8 = 0xFF
    /// Periodic_Event_Counter: the number of the periodic advertising event.
    public var periodicEventCounter: UInt16 = 0
    /// Subevent: the number of the subevent.
    public var subevent: UInt8 = 0
    /// Data_Status: 0x00 for complete, 0x01 for more to come, 0x02 for truncated, 0xFF for not received.
    public var dataStatus: UInt8 = 0
    /// Data.
    public var data: Bytes = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Sync_Handle", &syncHandle)
      try field.integer("TX_Power", &txPower)
      try field.integer("RSSI", &rssi)
      try field.integer("CTE_Type", &cteType)
      try field.integer("Periodic_Event_Counter", &periodicEventCounter)
      try field.integer("Subevent", &subevent)
      try field.integer("Data_Status", &dataStatus)
      try field.counted("Data", &data)
    }
  }

  /// The synchronisation with a periodic advertiser is lost (HCI_LE_Periodic_Advertising_Sync_Lost, Vol 4, Part E,
  /// 7.7.65.16).
  public struct LEPeriodicAdvertisingSyncLost: LEEventParameters {
    public static let subeventCode = LESubeventCode.periodicAdvertisingSyncLost
    public static let name: StaticString = "LE Periodic Advertising Sync Lost"
    /// Sync_Handle: the periodic advertising train.
    public var syncHandle: UInt16 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Sync_Handle", &syncHandle)
    }
  }

  /// A peer has sent the data to synchronise with a periodic advertiser
  /// (HCI_LE_Periodic_Advertising_Sync_Transfer_Received [v1], Vol 4, Part E, 7.7.65.24).
  public struct LEPeriodicAdvertisingSyncTransferReceived: LEEventParameters {
    public static let subeventCode = LESubeventCode.periodicAdvertisingSyncTransferReceived
    public static let name: StaticString = "LE Periodic Advertising Sync Transfer Received [v1]"
    /// Status: success, or the reason of the failure.
    public var status = HCIErrorCode.success
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// Service_Data, defined by the host.
    public var serviceData: UInt16 = 0
    /// Sync_Handle: the periodic advertising train.
    public var syncHandle: UInt16 = 0
    /// Advertising_SID: the advertising set identifier, 0x00 to 0x0F.
    public var advertisingSID: UInt8 = 0
    /// Advertiser_Address: type and address of the advertiser.
    public var advertiserAddress = DeviceAddress.zero
    /// Advertiser_PHY: the PHY of the advertiser.
    public var advertiserPHY = PHY.le1M
    /// Periodic_Advertising_Interval in units of 1.25 ms.
    public var periodicAdvertisingInterval: UInt16 = 0
    /// Advertiser_Clock_Accuracy: the clock accuracy of the advertiser.
    public var advertiserClockAccuracy = ClockAccuracy(rawValue: 0)
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Status", &status)
      try field.value("Connection_Handle", &connectionHandle)
      try field.integer("Service_Data", &serviceData)
      try field.integer("Sync_Handle", &syncHandle)
      try field.integer("Advertising_SID", &advertisingSID)
      try field.address("Advertiser_Address_Type", &advertiserAddress)
      try field.value("Advertiser_PHY", &advertiserPHY)
      try field.integer("Periodic_Advertising_Interval", &periodicAdvertisingInterval)
      try field.value("Advertiser_Clock_Accuracy", &advertiserClockAccuracy)
    }
  }

  /// A peer has sent the data to synchronise with a periodic advertiser, with its subevents
  /// (HCI_LE_Periodic_Advertising_Sync_Transfer_Received [v2], Vol 4, Part E, 7.7.65.24).
  public struct LEPeriodicAdvertisingSyncTransferReceivedV2: LEEventParameters {
    public static let subeventCode = LESubeventCode.periodicAdvertisingSyncTransferReceivedV2
    public static let name: StaticString = "LE Periodic Advertising Sync Transfer Received [v2]"
    /// The parameters of version 1 of the event.
    public var transfer = LEPeriodicAdvertisingSyncTransferReceived()
    /// The subevents and response slots.
    public var subevents = SubeventTiming()
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try transfer.layout(&field)
      try subevents.layout(&field)
    }
  }

  /// The controller requests the data of subevents (HCI_LE_Periodic_Advertising_Subevent_Data_Request, Vol 4, Part E,
  /// 7.7.65.36).
  public struct LEPeriodicAdvertisingSubeventDataRequest: LEEventParameters {
    public static let subeventCode = LESubeventCode.periodicAdvertisingSubeventDataRequest
    public static let name: StaticString = "LE Periodic Advertising Subevent Data Request"
    /// Advertising_Handle: the advertising set.
    public var advertisingHandle: UInt8 = 0
    /// Subevent_Start: the first subevent.
    public var subeventStart: UInt8 = 0
    /// Subevent_Data_Count: the number of subevents.
    public var subeventDataCount: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Advertising_Handle", &advertisingHandle)
      try field.integer("Subevent_Start", &subeventStart)
      try field.integer("Subevent_Data_Count", &subeventDataCount)
    }
  }

  /// Responses to a subevent (HCI_LE_Periodic_Advertising_Response_Report, Vol 4, Part E, 7.7.65.37).
  public struct LEPeriodicAdvertisingResponseReport: LEEventParameters {
    public static let subeventCode = LESubeventCode.periodicAdvertisingResponseReport
    public static let name: StaticString = "LE Periodic Advertising Response Report"
    /// Advertising_Handle: the advertising set.
    public var advertisingHandle: UInt8 = 0
    /// Subevent: the number of the subevent.
    public var subevent: UInt8 = 0
    /// TX_Status: 0x00 if the packet of the subevent was sent.
    public var txStatus: UInt8 = 0
    /// Num_Responses: the responses.
    public var responses: [PeriodicAdvertisingResponse] = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Advertising_Handle", &advertisingHandle)
      try field.integer("Subevent", &subevent)
      try field.integer("TX_Status", &txStatus)
      try field.counted("Num_Responses", &responses)
    }
  }

  /// One response of HCI_LE_Periodic_Advertising_Response_Report (Vol 4, Part E, 7.7.65.37).
  public struct PeriodicAdvertisingResponse: FieldGroup {
    /// TX_Power in dBm; 127 if it is not available.
    public var txPower: Int8 = 127
    /// RSSI in dBm; 127 if it is not available.
    public var rssi: Int8 = 127
    /// CTE_Type: the kind of the Constant Tone Extension.
    public var cteType: UInt8 = 0xFF
    /// Response_Slot: the response slot.
    public var responseSlot: UInt8 = 0
    /// Data_Status: 0x00 for complete, 0x01 for more to come, 0xFF for not received.
    public var dataStatus: UInt8 = 0
    /// Data.
    public var data: Bytes = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("TX_Power[i]", &txPower)
      try field.integer("RSSI[i]", &rssi)
      try field.integer("CTE_Type[i]", &cteType)
      try field.integer("Response_Slot[i]", &responseSlot)
      try field.integer("Data_Status[i]", &dataStatus)
      try field.counted("Data[i]", &data)
    }
  }
}
