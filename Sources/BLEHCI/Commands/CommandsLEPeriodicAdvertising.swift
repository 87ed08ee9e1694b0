public import BLEWire

extension HCIOpcode {
  /// HCI_LE_Set_Periodic_Advertising_Parameters [v1].
  public static let leSetPeriodicAdvertisingParameters = Self(rawValue: 0x203E)
  /// HCI_LE_Set_Periodic_Advertising_Parameters [v2].
  public static let leSetPeriodicAdvertisingParametersV2 = Self(rawValue: 0x2086)
  /// HCI_LE_Set_Periodic_Advertising_Data.
  public static let leSetPeriodicAdvertisingData = Self(rawValue: 0x203F)
  /// HCI_LE_Set_Periodic_Advertising_Enable.
  public static let leSetPeriodicAdvertisingEnable = Self(rawValue: 0x2040)
  /// HCI_LE_Periodic_Advertising_Set_Info_Transfer.
  public static let lePeriodicAdvertisingSetInfoTransfer = Self(rawValue: 0x205B)
  /// HCI_LE_Set_Periodic_Advertising_Subevent_Data.
  public static let leSetPeriodicAdvertisingSubeventData = Self(rawValue: 0x2082)
  /// HCI_LE_Set_Periodic_Advertising_Response_Data.
  public static let leSetPeriodicAdvertisingResponseData = Self(rawValue: 0x2083)
}

extension HCI {
  /// Sets the periodic advertising of an advertising set (HCI_LE_Set_Periodic_Advertising_Parameters [v1], Vol 4, Part
  /// E, 7.8.61).
  public struct LESetPeriodicAdvertisingParameters: HCICommand {
    public static let opcode = HCIOpcode.leSetPeriodicAdvertisingParameters
    public static let name: StaticString = "LE Set Periodic Advertising Parameters [v1]"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 37, bit: 2)
    /// Advertising_Handle: the advertising set.
    public var advertisingHandle: UInt8 = 0
    /// Periodic_Advertising_Interval_Min in units of 1.25 ms.
    public var periodicAdvertisingIntervalMin: UInt16 = 0
    /// Periodic_Advertising_Interval_Max in units of 1.25 ms.
    public var periodicAdvertisingIntervalMax: UInt16 = 0
    /// Periodic_Advertising_Properties: bit 6 includes the transmit power.
    public var periodicAdvertisingProperties: UInt16 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Advertising_Handle", &advertisingHandle)
      try field.integer("Periodic_Advertising_Interval_Min", &periodicAdvertisingIntervalMin)
      try field.integer("Periodic_Advertising_Interval_Max", &periodicAdvertisingIntervalMax)
      try field.integer("Periodic_Advertising_Properties", &periodicAdvertisingProperties)
    }
  }

  /// Sets the periodic advertising of an advertising set, with subevents and responses
  /// (HCI_LE_Set_Periodic_Advertising_Parameters [v2], Vol 4, Part E, 7.8.61).
  public struct LESetPeriodicAdvertisingParametersV2: HCICommand {
    /// Status and advertising set.
    public typealias Response = AdvertisingSetResponse
    public static let opcode = HCIOpcode.leSetPeriodicAdvertisingParametersV2
    public static let name: StaticString = "LE Set Periodic Advertising Parameters [v2]"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 47, bit: 1)
    /// The parameters of version 1 of the command.
    public var parameters = LESetPeriodicAdvertisingParameters()
    /// Num_Subevents: the number of subevents.
    public var numSubevents: UInt8 = 0
    /// Subevent_Interval in units of 1.25 ms.
    public var subeventInterval: UInt8 = 0
    /// Response_Slot_Delay in units of 1.25 ms.
    public var responseSlotDelay: UInt8 = 0
    /// Response_Slot_Spacing in units of 0.125 ms.
    public var responseSlotSpacing: UInt8 = 0
    /// Num_Response_Slots: the number of response slots in a subevent.
    public var numResponseSlots: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try parameters.layout(&field)
      try field.integer("Num_Subevents", &numSubevents)
      try field.integer("Subevent_Interval", &subeventInterval)
      try field.integer("Response_Slot_Delay", &responseSlotDelay)
      try field.integer("Response_Slot_Spacing", &responseSlotSpacing)
      try field.integer("Num_Response_Slots", &numResponseSlots)
    }
  }

  /// Sets the data of periodic advertising, or a fragment of it (HCI_LE_Set_Periodic_Advertising_Data, Vol 4, Part E,
  /// 7.8.62).
  public struct LESetPeriodicAdvertisingData: HCICommand {
    public static let opcode = HCIOpcode.leSetPeriodicAdvertisingData
    public static let name: StaticString = "LE Set Periodic Advertising Data"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 37, bit: 3)
    /// Advertising_Handle: the advertising set.
    public var advertisingHandle: UInt8 = 0
    /// Operation: the part of the data in this command.
    public var operation = DataOperation.complete
    /// Advertising_Data, at most 252 octets; longer data is sent in fragments.
    public var advertisingData: Bytes = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Advertising_Handle", &advertisingHandle)
      try field.value("Operation", &operation)
      try field.counted("Advertising_Data", limit: 252, &advertisingData)
    }
  }

  /// Enables or disables the periodic advertising of an advertising set (HCI_LE_Set_Periodic_Advertising_Enable, Vol 4,
  /// Part E, 7.8.63).
  public struct LESetPeriodicAdvertisingEnable: HCICommand {
    public static let opcode = HCIOpcode.leSetPeriodicAdvertisingEnable
    public static let name: StaticString = "LE Set Periodic Advertising Enable"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 37, bit: 4)
    /// Enable: bit 0 enables advertising, bit 1 includes the ADI field.
    public var enable: UInt8 = 0
    /// Advertising_Handle: the advertising set.
    public var advertisingHandle: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Enable", &enable)
      try field.integer("Advertising_Handle", &advertisingHandle)
    }
  }

  /// Sends a peer the data to synchronise with our periodic advertising (HCI_LE_Periodic_Advertising_Set_Info_Transfer,
  /// Vol 4, Part E, 7.8.90).
  public struct LEPeriodicAdvertisingSetInfoTransfer: HCICommand {
    /// Status and link.
    public typealias Response = LinkResponse
    public static let opcode = HCIOpcode.lePeriodicAdvertisingSetInfoTransfer
    public static let name: StaticString = "LE Periodic Advertising Set Info Transfer"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 40, bit: 7)
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// Service_Data, defined by the host.
    public var serviceData: UInt16 = 0
    /// Advertising_Handle: the advertising set.
    public var advertisingHandle: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try field.integer("Service_Data", &serviceData)
      try field.integer("Advertising_Handle", &advertisingHandle)
    }
  }

  /// Sets the data of subevents that the controller has requested (HCI_LE_Set_Periodic_Advertising_Subevent_Data, Vol
  /// 4, Part E, 7.8.125).
  public struct LESetPeriodicAdvertisingSubeventData: HCICommand {
    /// Status and advertising set.
    public typealias Response = AdvertisingSetResponse
    public static let opcode = HCIOpcode.leSetPeriodicAdvertisingSubeventData
    public static let name: StaticString = "LE Set Periodic Advertising Subevent Data"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 46, bit: 5)
    /// Advertising_Handle: the advertising set.
    public var advertisingHandle: UInt8 = 0
    /// Num_Subevents: the subevents.
    public var subevents: [SubeventData] = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Advertising_Handle", &advertisingHandle)
      try field.counted("Num_Subevents", &subevents)
    }
  }

  /// One subevent of HCI_LE_Set_Periodic_Advertising_Subevent_Data (Vol 4, Part E, 7.8.125).
  public struct SubeventData: FieldGroup {
    /// Subevent: the number of the subevent.
    public var subevent: UInt8 = 0
    /// Response_Slot_Start: the first response slot.
    public var responseSlotStart: UInt8 = 0
    /// Response_Slot_Count: the number of response slots.
    public var responseSlotCount: UInt8 = 0
    /// Subevent_Data, at most 251 octets.
    public var data: Bytes = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Subevent[i]", &subevent)
      try field.integer("Response_Slot_Start[i]", &responseSlotStart)
      try field.integer("Response_Slot_Count[i]", &responseSlotCount)
      try field.counted("Subevent_Data[i]", limit: 251, &data)
    }
  }

  /// Sets the response to a subevent (HCI_LE_Set_Periodic_Advertising_Response_Data, Vol 4, Part E, 7.8.126).
  public struct LESetPeriodicAdvertisingResponseData: HCICommand {
    /// Status and periodic advertising train.
    public typealias Response = SyncResponse
    public static let opcode = HCIOpcode.leSetPeriodicAdvertisingResponseData
    public static let name: StaticString = "LE Set Periodic Advertising Response Data"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 46, bit: 6)
    /// Sync_Handle: the periodic advertising train.
    public var syncHandle: UInt16 = 0
    /// Request_Event: the event of the request.
    public var requestEvent: UInt16 = 0
    /// Request_Subevent: the subevent of the request.
    public var requestSubevent: UInt8 = 0
    /// Response_Subevent: the subevent of the response.
    public var responseSubevent: UInt8 = 0
    /// Response_Slot: the response slot.
    public var responseSlot: UInt8 = 0
    /// Response_Data, at most 247 octets.
    public var responseData: Bytes = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Sync_Handle", &syncHandle)
      try field.integer("Request_Event", &requestEvent)
      try field.integer("Request_Subevent", &requestSubevent)
      try field.integer("Response_Subevent", &responseSubevent)
      try field.integer("Response_Slot", &responseSlot)
      try field.counted("Response_Data", limit: 247, &responseData)
    }
  }
}
