public import BLEWire

extension HCI {
  /// Reads how many entries the filter accept list can have (HCI_LE_Read_Filter_Accept_List_Size, Vol 4, Part E,
  /// 7.8.14).
  public struct LEReadFilterAcceptListSize: ParameterlessCommand {
    public static var opcode: HCIOpcode { .leReadFilterAcceptListSize }
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
    public static var opcode: HCIOpcode { .leClearFilterAcceptList }
    public init() {}
  }

  /// Adds a device to the filter accept list (HCI_LE_Add_Device_To_Filter_Accept_List, Vol 4, Part E, 7.8.16).
  public struct LEAddDeviceToFilterAcceptList: HCICommand {
    public static var opcode: HCIOpcode { .leAddDeviceToFilterAcceptList }
    public var address = DeviceAddress.zero
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.address("Address_Type", &address)
    }
  }

  /// Removes a device from the filter accept list (HCI_LE_Remove_Device_From_Filter_Accept_List, Vol 4, Part E,
  /// 7.8.17).
  public struct LERemoveDeviceFromFilterAcceptList: HCICommand {
    public static var opcode: HCIOpcode { .leRemoveDeviceFromFilterAcceptList }
    public var address = DeviceAddress.zero
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.address("Address_Type", &address)
    }
  }
}
