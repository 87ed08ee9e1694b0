public import BLEWire

extension HCIOpcode {
  /// HCI_LE_Read_Filter_Accept_List_Size.
  public static let leReadFilterAcceptListSize = Self(rawValue: 0x200F)
  /// HCI_LE_Clear_Filter_Accept_List.
  public static let leClearFilterAcceptList = Self(rawValue: 0x2010)
  /// HCI_LE_Add_Device_To_Filter_Accept_List.
  public static let leAddDeviceToFilterAcceptList = Self(rawValue: 0x2011)
  /// HCI_LE_Remove_Device_From_Filter_Accept_List.
  public static let leRemoveDeviceFromFilterAcceptList = Self(rawValue: 0x2012)
}

extension HCI {
  /// Reads how many entries the filter accept list can have (HCI_LE_Read_Filter_Accept_List_Size, Vol 4, Part E,
  /// 7.8.14).
  public struct LEReadFilterAcceptListSize: ParameterlessCommand {
    public static let opcode = HCIOpcode.leReadFilterAcceptListSize
    public static let name: StaticString = "LE Read Filter Accept List Size"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 26, bit: 6)
    public init() {}

    public struct Response: ReturnParameters {
      public var status = HCIErrorCode.success
      public var filterAcceptListSize: UInt8 = 0
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try field.integer("Filter_Accept_List_Size", &filterAcceptListSize)
      }
    }
  }

  /// Empties the filter accept list (HCI_LE_Clear_Filter_Accept_List, Vol 4, Part E, 7.8.15).
  public struct LEClearFilterAcceptList: ParameterlessCommand {
    public static let opcode = HCIOpcode.leClearFilterAcceptList
    public static let name: StaticString = "LE Clear Filter Accept List"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 26, bit: 7)
    public init() {}
  }

  /// Adds a device to the filter accept list (HCI_LE_Add_Device_To_Filter_Accept_List, Vol 4, Part E, 7.8.16).
  public struct LEAddDeviceToFilterAcceptList: HCICommand {
    public static let opcode = HCIOpcode.leAddDeviceToFilterAcceptList
    public static let name: StaticString = "LE Add Device To Filter Accept List"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 27, bit: 0)
    public var address = DeviceAddress.zero
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.address("Address_Type", &address)
    }
  }

  /// Removes a device from the filter accept list (HCI_LE_Remove_Device_From_Filter_Accept_List, Vol 4, Part E,
  /// 7.8.17).
  public struct LERemoveDeviceFromFilterAcceptList: HCICommand {
    public static let opcode = HCIOpcode.leRemoveDeviceFromFilterAcceptList
    public static let name: StaticString = "LE Remove Device From Filter Accept List"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 27, bit: 1)
    public var address = DeviceAddress.zero
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.address("Address_Type", &address)
    }
  }
}
