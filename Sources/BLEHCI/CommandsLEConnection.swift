public import BLEWire

extension HCIOpcode {
  /// HCI_LE_Create_Connection.
  public static let leCreateConnection = Self(rawValue: 0x200D)
  /// HCI_LE_Create_Connection_Cancel.
  public static let leCreateConnectionCancel = Self(rawValue: 0x200E)
  /// HCI_LE_Extended_Create_Connection [v1].
  public static let leExtendedCreateConnection = Self(rawValue: 0x2043)
  /// HCI_LE_Extended_Create_Connection [v2].
  public static let leExtendedCreateConnectionV2 = Self(rawValue: 0x2085)
  /// HCI_LE_Connection_Update.
  public static let leConnectionUpdate = Self(rawValue: 0x2013)
  /// HCI_LE_Remote_Connection_Parameter_Request_Reply.
  public static let leRemoteConnectionParameterRequestReply = Self(rawValue: 0x2020)
  /// HCI_LE_Remote_Connection_Parameter_Request_Negative_Reply.
  public static let leRemoteConnectionParameterRequestNegativeReply = Self(rawValue: 0x2021)
  /// HCI_LE_Set_Host_Channel_Classification.
  public static let leSetHostChannelClassification = Self(rawValue: 0x2014)
  /// HCI_LE_Read_Channel_Map.
  public static let leReadChannelMap = Self(rawValue: 0x2015)
  /// HCI_LE_Read_Remote_Features.
  public static let leReadRemoteFeatures = Self(rawValue: 0x2016)
  /// HCI_LE_Request_Peer_SCA.
  public static let leRequestPeerSCA = Self(rawValue: 0x206D)
  /// HCI_LE_Set_Default_Subrate.
  public static let leSetDefaultSubrate = Self(rawValue: 0x207D)
  /// HCI_LE_Subrate_Request.
  public static let leSubrateRequest = Self(rawValue: 0x207E)
}

extension HCI {
  /// Begins to connect to an advertiser; a connection complete event tells how it went (HCI_LE_Create_Connection, Vol
  /// 4, Part E, 7.8.12).
  public struct LECreateConnection: HCICommand {
    public typealias Response = AnsweredByStatus
    public static let opcode = HCIOpcode.leCreateConnection
    public static let name: StaticString = "LE Create Connection"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 26, bit: 4)
    /// In units of 0.625 ms.
    public var scanInterval: UInt16 = 0x0010
    /// In units of 0.625 ms.
    public var scanWindow: UInt16 = 0x0010
    public var initiatorFilterPolicy = InitiatorFilterPolicy.peerAddress
    public var peerAddress = DeviceAddress.zero
    public var ownAddressType = OwnAddressType.public
    public var parameters = ConnectionParameters()
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("LE_Scan_Interval", &scanInterval)
      try field.integer("LE_Scan_Window", &scanWindow)
      try field.value("Initiator_Filter_Policy", &initiatorFilterPolicy)
      try field.address("Peer_Address_Type", &peerAddress)
      try field.value("Own_Address_Type", &ownAddressType)
      try parameters.layout(&field)
    }
  }

  /// Gives the connecting up; a connection complete event still follows (HCI_LE_Create_Connection_Cancel, Vol 4, Part
  /// E, 7.8.13).
  public struct LECreateConnectionCancel: ParameterlessCommand {
    public static let opcode = HCIOpcode.leCreateConnectionCancel
    public static let name: StaticString = "LE Create Connection Cancel"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 26, bit: 5)
    public init() {}
  }

  /// Begins to connect to an advertiser, on each of the given PHYs (HCI_LE_Extended_Create_Connection [v1], Vol 4,
  /// Part E, 7.8.66).
  public struct LEExtendedCreateConnection: HCICommand {
    public typealias Response = AnsweredByStatus
    public static let opcode = HCIOpcode.leExtendedCreateConnection
    public static let name: StaticString = "LE Extended Create Connection [v1]"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 37, bit: 7)
    public var initiatorFilterPolicy = InitiatorFilterPolicy.peerAddress
    public var ownAddressType = OwnAddressType.public
    public var peerAddress = DeviceAddress.zero
    /// Each has one entry of ``initiations``.
    public var initiatingPHYs: PHYs = []
    public var initiations: [InitiatingParameters] = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Initiator_Filter_Policy", &initiatorFilterPolicy)
      try field.value("Own_Address_Type", &ownAddressType)
      try field.address("Peer_Address_Type", &peerAddress)
      try field.value("Initiating_PHYs", &initiatingPHYs)
      try field.list("Initiating_Parameters[i]", count: initiatingPHYs.count, &initiations)
    }
  }

  /// Begins to connect to an advertiser, or to a device that listens to our periodic advertising
  /// (HCI_LE_Extended_Create_Connection [v2], Vol 4, Part E, 7.8.66).
  public struct LEExtendedCreateConnectionV2: HCICommand {
    public typealias Response = AnsweredByStatus
    public static let opcode = HCIOpcode.leExtendedCreateConnectionV2
    public static let name: StaticString = "LE Extended Create Connection [v2]"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 47, bit: 0)
    /// The periodic train to connect on; 0xFF for none.
    public var advertisingHandle: UInt8 = 0xFF
    /// 0xFF for none.
    public var subevent: UInt8 = 0xFF
    public var connection = LEExtendedCreateConnection()
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Advertising_Handle", &advertisingHandle)
      try field.integer("Subevent", &subevent)
      try connection.layout(&field)
    }
  }

  /// The part of HCI_LE_Extended_Create_Connection that repeats for each PHY: Vol 4, Part E, 7.8.66.
  public struct InitiatingParameters: FieldGroup {
    /// In units of 0.625 ms.
    public var scanInterval: UInt16 = 0x0010
    /// In units of 0.625 ms.
    public var scanWindow: UInt16 = 0x0010
    public var parameters = ConnectionParameters()
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Scan_Interval[i]", &scanInterval)
      try field.integer("Scan_Window[i]", &scanWindow)
      try parameters.layout(&field)
    }
  }

  /// What a central asks of a link's timing: Vol 4, Part E, 7.8.12.
  public struct ConnectionParameters: FieldGroup {
    /// In units of 1.25 ms, 0x0006 to 0x0C80.
    public var connectionIntervalMin: UInt16 = 24
    /// In units of 1.25 ms, 0x0006 to 0x0C80.
    public var connectionIntervalMax: UInt16 = 40
    /// In connection events, at most 0x01F3.
    public var maxLatency: UInt16 = 0
    /// In units of 10 ms, 0x000A to 0x0C80.
    public var supervisionTimeout: UInt16 = 42
    /// In units of 0.625 ms.
    public var minCELength: UInt16 = 0
    /// In units of 0.625 ms.
    public var maxCELength: UInt16 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Connection_Interval_Min", &connectionIntervalMin)
      try field.integer("Connection_Interval_Max", &connectionIntervalMax)
      try field.integer("Max_Latency", &maxLatency)
      try field.integer("Supervision_Timeout", &supervisionTimeout)
      try field.integer("Min_CE_Length", &minCELength)
      try field.integer("Max_CE_Length", &maxCELength)
    }
  }

  /// Changes the timing of a link (HCI_LE_Connection_Update, Vol 4, Part E, 7.8.18).
  public struct LEConnectionUpdate: HCICommand {
    public typealias Response = AnsweredByStatus
    public static let opcode = HCIOpcode.leConnectionUpdate
    public static let name: StaticString = "LE Connection Update"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 27, bit: 2)
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    public var parameters = ConnectionParameters()
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try parameters.layout(&field)
    }
  }

  /// Agrees to the timing that the peer asks for (HCI_LE_Remote_Connection_Parameter_Request_Reply, Vol 4, Part E,
  /// 7.8.31).
  public struct LERemoteConnectionParameterRequestReply: HCICommand {
    public typealias Response = LinkResponse
    public static let opcode = HCIOpcode.leRemoteConnectionParameterRequestReply
    public static let name: StaticString = "LE Remote Connection Parameter Request Reply"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 33, bit: 4)
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    public var parameters = ConnectionParameters()
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try parameters.layout(&field)
    }
  }

  /// Refuses the timing that the peer asks for (HCI_LE_Remote_Connection_Parameter_Request_Negative_Reply, Vol 4,
  /// Part E, 7.8.32).
  public struct LERemoteConnectionParameterRequestNegativeReply: HCICommand {
    public typealias Response = LinkResponse
    public static let opcode = HCIOpcode.leRemoteConnectionParameterRequestNegativeReply
    public static let name: StaticString = "LE Remote Connection Parameter Request Negative Reply"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 33, bit: 5)
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    public var reason = HCIErrorCode.unacceptableConnectionParameters
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try field.value("Reason", &reason)
    }
  }

  /// Tells which channels are bad, as far as the host knows (HCI_LE_Set_Host_Channel_Classification, Vol 4, Part E,
  /// 7.8.19).
  public struct LESetHostChannelClassification: HCICommand {
    public static let opcode = HCIOpcode.leSetHostChannelClassification
    public static let name: StaticString = "LE Set Host Channel Classification"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 27, bit: 3)
    /// 37 bits, channel 0 the lowest of the first octet.
    public var channelMap: Bytes = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.octets("Channel_Map", count: 5, &channelMap)
    }
  }

  /// Reads the channels that a link uses (HCI_LE_Read_Channel_Map, Vol 4, Part E, 7.8.20).
  public struct LEReadChannelMap: LinkCommand {
    public static let opcode = HCIOpcode.leReadChannelMap
    public static let name: StaticString = "LE Read Channel Map"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 27, bit: 4)
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    public init() {}

    public struct Response: ReturnParameters {
      public var status = HCIErrorCode.success
      public var connectionHandle = ConnectionHandle(rawValue: 0)
      /// 37 bits, channel 0 the lowest of the first octet.
      public var channelMap: Bytes = []
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try field.value("Connection_Handle", &connectionHandle)
        try field.octets("Channel_Map", count: 5, &channelMap)
      }
    }
  }

  /// Asks the peer's Link Layer what it can do (HCI_LE_Read_Remote_Features, Vol 4, Part E, 7.8.21).
  public struct LEReadRemoteFeatures: LinkCommand {
    public typealias Response = AnsweredByStatus
    public static let opcode = HCIOpcode.leReadRemoteFeatures
    public static let name: StaticString = "LE Read Remote Features"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 27, bit: 5)
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    public init() {}
  }

  /// Asks the peer for the accuracy of its sleep clock (HCI_LE_Request_Peer_SCA, Vol 4, Part E, 7.8.108).
  public struct LERequestPeerSCA: LinkCommand {
    public typealias Response = AnsweredByStatus
    public static let opcode = HCIOpcode.leRequestPeerSCA
    public static let name: StaticString = "LE Request Peer SCA"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 43, bit: 2)
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    public init() {}
  }

  /// Sets the subrating that later links may be asked for (HCI_LE_Set_Default_Subrate, Vol 4, Part E, 7.8.123).
  public struct LESetDefaultSubrate: HCICommand {
    public static let opcode = HCIOpcode.leSetDefaultSubrate
    public static let name: StaticString = "LE Set Default Subrate"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 46, bit: 0)
    public var parameters = SubrateParameters()
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try parameters.layout(&field)
    }
  }

  /// Asks for a new subrating of a link (HCI_LE_Subrate_Request, Vol 4, Part E, 7.8.124).
  public struct LESubrateRequest: HCICommand {
    public typealias Response = AnsweredByStatus
    public static let opcode = HCIOpcode.leSubrateRequest
    public static let name: StaticString = "LE Subrate Request"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 46, bit: 1)
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    public var parameters = SubrateParameters()
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try parameters.layout(&field)
    }
  }

  /// What a host asks of a link's subrating: Vol 4, Part E, 7.8.123.
  public struct SubrateParameters: FieldGroup {
    public var subrateMin: UInt16 = 1
    public var subrateMax: UInt16 = 1
    /// In subrated connection events.
    public var maxLatency: UInt16 = 0
    /// In connection events.
    public var continuationNumber: UInt16 = 0
    /// In units of 10 ms.
    public var supervisionTimeout: UInt16 = 0x0C80
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Subrate_Min", &subrateMin)
      try field.integer("Subrate_Max", &subrateMax)
      try field.integer("Max_Latency", &maxLatency)
      try field.integer("Continuation_Number", &continuationNumber)
      try field.integer("Supervision_Timeout", &supervisionTimeout)
    }
  }
}
