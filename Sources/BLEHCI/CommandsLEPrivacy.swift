public import BLEWire

extension HCI {
  /// Adds a peer whose private addresses the controller shall resolve (HCI_LE_Add_Device_To_Resolving_List, Vol 4,
  /// Part E, 7.8.38).
  public struct LEAddDeviceToResolvingList: HCICommand {
    public static var opcode: HCIOpcode { .leAddDeviceToResolvingList }
    public var peerIdentityAddress = DeviceAddress.zero
    public var peerIRK: UInt128 = 0
    public var localIRK: UInt128 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.address("Peer_Identity_Address_Type", &peerIdentityAddress)
      try field.integer("Peer_IRK", &peerIRK)
      try field.integer("Local_IRK", &localIRK)
    }
  }

  /// Removes a peer from the resolving list (HCI_LE_Remove_Device_From_Resolving_List, Vol 4, Part E, 7.8.39).
  public struct LERemoveDeviceFromResolvingList: HCICommand {
    public static var opcode: HCIOpcode { .leRemoveDeviceFromResolvingList }
    public var peerIdentityAddress = DeviceAddress.zero
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.address("Peer_Identity_Address_Type", &peerIdentityAddress)
    }
  }

  /// Empties the resolving list (HCI_LE_Clear_Resolving_List, Vol 4, Part E, 7.8.40).
  public struct LEClearResolvingList: ParameterlessCommand {
    public static var opcode: HCIOpcode { .leClearResolvingList }
    public init() {}
  }

  /// Reads how many entries the resolving list can have (HCI_LE_Read_Resolving_List_Size, Vol 4, Part E, 7.8.41).
  public struct LEReadResolvingListSize: ParameterlessCommand {
    public static var opcode: HCIOpcode { .leReadResolvingListSize }
    public init() {}

    public struct Response: ReturnParameters {
      public var status = HCIErrorCode.success
      public var resolvingListSize: UInt8 = 0
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try field.integer("Resolving_List_Size", &resolvingListSize)
      }
    }
  }

  /// Reads the private address that a peer uses now (HCI_LE_Read_Peer_Resolvable_Address, Vol 4, Part E, 7.8.42).
  public struct LEReadPeerResolvableAddress: HCICommand {
    public static var opcode: HCIOpcode { .leReadPeerResolvableAddress }
    public var peerIdentityAddress = DeviceAddress.zero
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.address("Peer_Identity_Address_Type", &peerIdentityAddress)
    }

    public struct Response: ReturnParameters {
      public var status = HCIErrorCode.success
      public var peerResolvableAddress = BD_ADDR()
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try peerResolvableAddress.layout(&field)
      }
    }
  }

  /// Reads the private address that is used towards a peer now (HCI_LE_Read_Local_Resolvable_Address, Vol 4, Part E,
  /// 7.8.43).
  public struct LEReadLocalResolvableAddress: HCICommand {
    public static var opcode: HCIOpcode { .leReadLocalResolvableAddress }
    public var peerIdentityAddress = DeviceAddress.zero
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.address("Peer_Identity_Address_Type", &peerIdentityAddress)
    }

    public struct Response: ReturnParameters {
      public var status = HCIErrorCode.success
      public var localResolvableAddress = BD_ADDR()
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try localResolvableAddress.layout(&field)
      }
    }
  }

  /// Turns the resolving of private addresses on or off (HCI_LE_Set_Address_Resolution_Enable, Vol 4, Part E,
  /// 7.8.44).
  public struct LESetAddressResolutionEnable: HCICommand {
    public static var opcode: HCIOpcode { .leSetAddressResolutionEnable }
    public var addressResolutionEnable = false
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.flag("Address_Resolution_Enable", &addressResolutionEnable)
    }
  }

  /// Sets how long a private address is used (HCI_LE_Set_Resolvable_Private_Address_Timeout, Vol 4, Part E, 7.8.45).
  public struct LESetResolvablePrivateAddressTimeout: HCICommand {
    public static var opcode: HCIOpcode { .leSetResolvablePrivateAddressTimeout }
    /// In seconds, 1 to 3600.
    public var rpaTimeout: UInt16 = 900
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("RPA_Timeout", &rpaTimeout)
    }
  }

  /// Sets whether a peer's identity address is taken too (HCI_LE_Set_Privacy_Mode, Vol 4, Part E, 7.8.77).
  public struct LESetPrivacyMode: HCICommand {
    public static var opcode: HCIOpcode { .leSetPrivacyMode }
    public var peerIdentityAddress = DeviceAddress.zero
    public var privacyMode = PrivacyMode.network
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.address("Peer_Identity_Address_Type", &peerIdentityAddress)
      try field.value("Privacy_Mode", &privacyMode)
    }
  }
}
