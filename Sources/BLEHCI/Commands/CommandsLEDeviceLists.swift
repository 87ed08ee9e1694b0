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
  /// HCI_LE_Add_Device_To_Resolving_List.
  public static let leAddDeviceToResolvingList = Self(rawValue: 0x2027)
  /// HCI_LE_Remove_Device_From_Resolving_List.
  public static let leRemoveDeviceFromResolvingList = Self(rawValue: 0x2028)
  /// HCI_LE_Clear_Resolving_List.
  public static let leClearResolvingList = Self(rawValue: 0x2029)
  /// HCI_LE_Read_Resolving_List_Size.
  public static let leReadResolvingListSize = Self(rawValue: 0x202A)
  /// HCI_LE_Read_Peer_Resolvable_Address.
  public static let leReadPeerResolvableAddress = Self(rawValue: 0x202B)
  /// HCI_LE_Read_Local_Resolvable_Address.
  public static let leReadLocalResolvableAddress = Self(rawValue: 0x202C)
  /// HCI_LE_Set_Address_Resolution_Enable.
  public static let leSetAddressResolutionEnable = Self(rawValue: 0x202D)
  /// HCI_LE_Set_Resolvable_Private_Address_Timeout.
  public static let leSetResolvablePrivateAddressTimeout = Self(rawValue: 0x202E)
  /// HCI_LE_Set_Privacy_Mode.
  public static let leSetPrivacyMode = Self(rawValue: 0x204E)
}

extension HCI {
  /// Reads the capacity of the filter accept list (HCI_LE_Read_Filter_Accept_List_Size, Vol 4, Part E, 7.8.14).
  public struct LEReadFilterAcceptListSize: ParameterlessCommand {
    public static let opcode = HCIOpcode.leReadFilterAcceptListSize
    public static let name: StaticString = "LE Read Filter Accept List Size"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 26, bit: 6)
    public init() {}

    /// The return parameters of the command.
    public struct Response: ReturnParameters {
      /// Status: success, or the reason of the failure.
      public var status = HCIErrorCode.success
      /// Filter_Accept_List_Size: the number of entries.
      public var filterAcceptListSize: UInt8 = 0
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try field.integer("Filter_Accept_List_Size", &filterAcceptListSize)
      }
    }
  }

  /// Clears the filter accept list (HCI_LE_Clear_Filter_Accept_List, Vol 4, Part E, 7.8.15).
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
    /// Address: type and address of the device.
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
    /// Address: type and address of the device.
    public var address = DeviceAddress.zero
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.address("Address_Type", &address)
    }
  }

  /// Adds a peer to the resolving list: the controller resolves its private addresses
  /// (HCI_LE_Add_Device_To_Resolving_List, Vol 4, Part E, 7.8.38).
  public struct LEAddDeviceToResolvingList: HCICommand {
    public static let opcode = HCIOpcode.leAddDeviceToResolvingList
    public static let name: StaticString = "LE Add Device To Resolving List"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 34, bit: 3)
    /// Peer_Identity_Address: type and identity address of the peer.
    public var peerIdentityAddress = DeviceAddress.zero
    /// Peer_IRK: the identity resolving key of the peer.
    public var peerIRK: UInt128 = 0
    /// Local_IRK: our identity resolving key.
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
    public static let opcode = HCIOpcode.leRemoveDeviceFromResolvingList
    public static let name: StaticString = "LE Remove Device From Resolving List"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 34, bit: 4)
    /// Peer_Identity_Address: type and identity address of the peer.
    public var peerIdentityAddress = DeviceAddress.zero
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.address("Peer_Identity_Address_Type", &peerIdentityAddress)
    }
  }

  /// Clears the resolving list (HCI_LE_Clear_Resolving_List, Vol 4, Part E, 7.8.40).
  public struct LEClearResolvingList: ParameterlessCommand {
    public static let opcode = HCIOpcode.leClearResolvingList
    public static let name: StaticString = "LE Clear Resolving List"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 34, bit: 5)
    public init() {}
  }

  /// Reads the capacity of the resolving list (HCI_LE_Read_Resolving_List_Size, Vol 4, Part E, 7.8.41).
  public struct LEReadResolvingListSize: ParameterlessCommand {
    public static let opcode = HCIOpcode.leReadResolvingListSize
    public static let name: StaticString = "LE Read Resolving List Size"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 34, bit: 6)
    public init() {}

    /// The return parameters of the command.
    public struct Response: ReturnParameters {
      /// Status: success, or the reason of the failure.
      public var status = HCIErrorCode.success
      /// Resolving_List_Size: the number of entries.
      public var resolvingListSize: UInt8 = 0
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try field.integer("Resolving_List_Size", &resolvingListSize)
      }
    }
  }

  /// Reads the private address that a peer uses (HCI_LE_Read_Peer_Resolvable_Address, Vol 4, Part E, 7.8.42).
  public struct LEReadPeerResolvableAddress: HCICommand {
    public static let opcode = HCIOpcode.leReadPeerResolvableAddress
    public static let name: StaticString = "LE Read Peer Resolvable Address"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 34, bit: 7)
    /// Peer_Identity_Address: type and identity address of the peer.
    public var peerIdentityAddress = DeviceAddress.zero
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.address("Peer_Identity_Address_Type", &peerIdentityAddress)
    }

    /// The return parameters of the command.
    public struct Response: ReturnParameters {
      /// Status: success, or the reason of the failure.
      public var status = HCIErrorCode.success
      /// Peer_Resolvable_Address: the private address of the peer.
      public var peerResolvableAddress = BD_ADDR()
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try peerResolvableAddress.layout(&field)
      }
    }
  }

  /// Reads the private address that the controller uses towards a peer (HCI_LE_Read_Local_Resolvable_Address, Vol 4,
  /// Part E, 7.8.43).
  public struct LEReadLocalResolvableAddress: HCICommand {
    public static let opcode = HCIOpcode.leReadLocalResolvableAddress
    public static let name: StaticString = "LE Read Local Resolvable Address"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 35, bit: 0)
    /// Peer_Identity_Address: type and identity address of the peer.
    public var peerIdentityAddress = DeviceAddress.zero
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.address("Peer_Identity_Address_Type", &peerIdentityAddress)
    }

    /// The return parameters of the command.
    public struct Response: ReturnParameters {
      /// Status: success, or the reason of the failure.
      public var status = HCIErrorCode.success
      /// Local_Resolvable_Address: our private address.
      public var localResolvableAddress = BD_ADDR()
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try localResolvableAddress.layout(&field)
      }
    }
  }

  /// Enables or disables address resolution in the controller (HCI_LE_Set_Address_Resolution_Enable, Vol 4, Part E,
  /// 7.8.44).
  public struct LESetAddressResolutionEnable: HCICommand {
    public static let opcode = HCIOpcode.leSetAddressResolutionEnable
    public static let name: StaticString = "LE Set Address Resolution Enable"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 35, bit: 1)
    /// Address_Resolution_Enable: whether it is enabled.
    public var addressResolutionEnable = false
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.flag("Address_Resolution_Enable", &addressResolutionEnable)
    }
  }

  /// Sets the lifetime of the private addresses that the controller generates
  /// (HCI_LE_Set_Resolvable_Private_Address_Timeout, Vol 4, Part E, 7.8.45).
  public struct LESetResolvablePrivateAddressTimeout: HCICommand {
    public static let opcode = HCIOpcode.leSetResolvablePrivateAddressTimeout
    public static let name: StaticString = "LE Set Resolvable Private Address Timeout"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 35, bit: 2)
    /// RPA_Timeout in seconds, 1 to 3600.
    public var rpaTimeout: UInt16 = 900
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("RPA_Timeout", &rpaTimeout)
    }
  }

  /// Sets whether the identity address of a peer is accepted beside its private addresses (HCI_LE_Set_Privacy_Mode, Vol
  /// 4, Part E, 7.8.77).
  public struct LESetPrivacyMode: HCICommand {
    public static let opcode = HCIOpcode.leSetPrivacyMode
    public static let name: StaticString = "LE Set Privacy Mode"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 39, bit: 2)
    /// Peer_Identity_Address: type and identity address of the peer.
    public var peerIdentityAddress = DeviceAddress.zero
    /// Privacy_Mode: the mode.
    public var privacyMode = PrivacyMode.network
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.address("Peer_Identity_Address_Type", &peerIdentityAddress)
      try field.value("Privacy_Mode", &privacyMode)
    }
  }
}
