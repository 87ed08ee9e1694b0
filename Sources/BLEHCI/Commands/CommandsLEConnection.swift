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
  /// HCI_LE_Read_All_Remote_Features.
  public static let leReadAllRemoteFeatures = Self(rawValue: 0x2088)
}

extension HCI {
  /// Connects to an advertiser; an LE (Enhanced) Connection Complete event reports the result
  /// (HCI_LE_Create_Connection, Vol 4, Part E, 7.8.12).
  public struct LECreateConnection: HCICommand {
    /// A Command Status event answers the command.
    public typealias Response = AnsweredByStatus
    public static let opcode = HCIOpcode.leCreateConnection
    public static let name: StaticString = "LE Create Connection"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 26, bit: 4)
    /// LE_Scan_Interval in units of 0.625 ms.
    public var scanInterval: UInt16 = 0x0010
    /// LE_Scan_Window in units of 0.625 ms.
    public var scanWindow: UInt16 = 0x0010
    /// Initiator_Filter_Policy: the advertisers to connect to.
    public var initiatorFilterPolicy = InitiatorFilterPolicy.peerAddress
    /// Peer_Address: type and address of the peer.
    public var peerAddress = DeviceAddress.zero
    /// Own_Address_Type: the address that the controller sends.
    public var ownAddressType = OwnAddressType.public
    /// The connection parameters.
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

  /// Cancels a pending connection; a connection complete event still follows (HCI_LE_Create_Connection_Cancel, Vol 4,
  /// Part E, 7.8.13).
  public struct LECreateConnectionCancel: ParameterlessCommand {
    public static let opcode = HCIOpcode.leCreateConnectionCancel
    public static let name: StaticString = "LE Create Connection Cancel"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 26, bit: 5)
    public init() {}
  }

  /// Connects to an advertiser on each of the given PHYs (HCI_LE_Extended_Create_Connection [v1], Vol 4, Part E,
  /// 7.8.66).
  public struct LEExtendedCreateConnection: HCICommand {
    /// A Command Status event answers the command.
    public typealias Response = AnsweredByStatus
    public static let opcode = HCIOpcode.leExtendedCreateConnection
    public static let name: StaticString = "LE Extended Create Connection [v1]"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 37, bit: 7)
    /// Initiator_Filter_Policy: the advertisers to connect to.
    public var initiatorFilterPolicy = InitiatorFilterPolicy.peerAddress
    /// Own_Address_Type: the address that the controller sends.
    public var ownAddressType = OwnAddressType.public
    /// Peer_Address: type and address of the peer.
    public var peerAddress = DeviceAddress.zero
    /// Initiating_PHYs: the PHYs, each with an entry in ``initiations``.
    public var initiatingPHYs: PHYs = []
    /// Initiating_Parameters: the parameters for each PHY.
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

  /// Connects to an advertiser, or to a device that is synchronised with our periodic advertising
  /// (HCI_LE_Extended_Create_Connection [v2], Vol 4, Part E, 7.8.66).
  public struct LEExtendedCreateConnectionV2: HCICommand {
    /// A Command Status event answers the command.
    public typealias Response = AnsweredByStatus
    public static let opcode = HCIOpcode.leExtendedCreateConnectionV2
    public static let name: StaticString = "LE Extended Create Connection [v2]"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 47, bit: 0)
    /// Advertising_Handle: the periodic advertising to connect from; 0xFF for none.
    public var advertisingHandle: UInt8 = 0xFF
    /// Subevent; 0xFF for none.
    public var subevent: UInt8 = 0xFF
    /// The parameters of version 1.
    public var connection = LEExtendedCreateConnection()
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Advertising_Handle", &advertisingHandle)
      try field.integer("Subevent", &subevent)
      try connection.layout(&field)
    }
  }

  /// The parameters of HCI_LE_Extended_Create_Connection for one PHY (Vol 4, Part E, 7.8.66).
  public struct InitiatingParameters: FieldGroup {
    /// Scan_Interval in units of 0.625 ms.
    public var scanInterval: UInt16 = 0x0010
    /// Scan_Window in units of 0.625 ms.
    public var scanWindow: UInt16 = 0x0010
    /// The connection parameters.
    public var parameters = ConnectionParameters()
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Scan_Interval[i]", &scanInterval)
      try field.integer("Scan_Window[i]", &scanWindow)
      try parameters.layout(&field)
    }
  }

  /// The connection parameters that a host requests (Vol 4, Part E, 7.8.12).
  public struct ConnectionParameters: FieldGroup {
    /// The default interval of a new link in units of 1.25 ms: TGAP(initial_conn_interval), 30 to 50 ms (Vol 3, Part C,
    /// Appendix A).
    package static let defaultInterval: ClosedRange<UInt16> = 24...40

    /// Connection_Interval_Min in units of 1.25 ms, 0x0006 to 0x0C80.
    public var connectionIntervalMin: UInt16 = Self.defaultInterval.lowerBound
    /// Connection_Interval_Max in units of 1.25 ms, 0x0006 to 0x0C80.
    public var connectionIntervalMax: UInt16 = Self.defaultInterval.upperBound
    /// Max_Latency in connection events, at most 0x01F3.
    public var maxLatency: UInt16 = 0
    /// Supervision_Timeout in units of 10 ms, 0x000A to 0x0C80.
    public var supervisionTimeout: UInt16 = 42
    /// Min_CE_Length in units of 0.625 ms.
    public var minCELength: UInt16 = 0
    /// Max_CE_Length in units of 0.625 ms.
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

    /// Whether a controller accepts the values, individually and in combination (Vol 4, Part E, 7.8.12): the
    /// supervision timeout is longer than twice the time of the events that the peripheral may skip.
    public var isValid: Bool {
      let intervals = LinkLayerLimits.connectionInterval
      return intervals.contains(connectionIntervalMin) && intervals.contains(connectionIntervalMax)
        && connectionIntervalMin <= connectionIntervalMax && LinkLayerLimits.peripheralLatency.contains(maxLatency)
        && LinkLayerLimits.supervisionTimeout.contains(supervisionTimeout) && minCELength <= maxCELength
        && LinkLayerLimits.allows(
          supervisionTimeout: supervisionTimeout, latency: maxLatency, interval: connectionIntervalMax)
    }
  }

  /// Changes the connection parameters of a link (HCI_LE_Connection_Update, Vol 4, Part E, 7.8.18).
  public struct LEConnectionUpdate: HCICommand {
    /// A Command Status event answers the command.
    public typealias Response = AnsweredByStatus
    public static let opcode = HCIOpcode.leConnectionUpdate
    public static let name: StaticString = "LE Connection Update"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 27, bit: 2)
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// The connection parameters.
    public var parameters = ConnectionParameters()
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try parameters.layout(&field)
    }
  }

  /// Accepts the connection parameters that the peer requests (HCI_LE_Remote_Connection_Parameter_Request_Reply, Vol 4,
  /// Part E, 7.8.31).
  public struct LERemoteConnectionParameterRequestReply: HCICommand {
    /// Status and link.
    public typealias Response = LinkResponse
    public static let opcode = HCIOpcode.leRemoteConnectionParameterRequestReply
    public static let name: StaticString = "LE Remote Connection Parameter Request Reply"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 33, bit: 4)
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// The connection parameters.
    public var parameters = ConnectionParameters()
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try parameters.layout(&field)
    }
  }

  /// Rejects the connection parameters that the peer requests
  /// (HCI_LE_Remote_Connection_Parameter_Request_Negative_Reply, Vol 4, Part E, 7.8.32).
  public struct LERemoteConnectionParameterRequestNegativeReply: HCICommand {
    /// Status and link.
    public typealias Response = LinkResponse
    public static let opcode = HCIOpcode.leRemoteConnectionParameterRequestNegativeReply
    public static let name: StaticString = "LE Remote Connection Parameter Request Negative Reply"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 33, bit: 5)
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// Reason: the reason.
    public var reason = HCIErrorCode.unacceptableConnectionParameters
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try field.value("Reason", &reason)
    }
  }

  /// Sets the data channels that the host classifies as bad (HCI_LE_Set_Host_Channel_Classification, Vol 4, Part E,
  /// 7.8.19).
  public struct LESetHostChannelClassification: HCICommand {
    public static let opcode = HCIOpcode.leSetHostChannelClassification
    public static let name: StaticString = "LE Set Host Channel Classification"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 27, bit: 3)
    /// Channel_Map: 37 bits in five octets, channel 0 in the least significant bit of the first.
    public var channelMap: Bytes = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.octets("Channel_Map", count: 5, &channelMap)
    }
  }

  /// Reads the data channels that a link uses (HCI_LE_Read_Channel_Map, Vol 4, Part E, 7.8.20).
  public struct LEReadChannelMap: LinkCommand {
    public static let opcode = HCIOpcode.leReadChannelMap
    public static let name: StaticString = "LE Read Channel Map"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 27, bit: 4)
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    public init() {}

    /// The return parameters of the command.
    public struct Response: ReturnParameters {
      /// Status: success, or the reason of the failure.
      public var status = HCIErrorCode.success
      /// Connection_Handle: the link.
      public var connectionHandle = ConnectionHandle(rawValue: 0)
      /// Channel_Map: 37 bits in five octets, channel 0 in the least significant bit of the first.
      public var channelMap: Bytes = []
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try field.value("Connection_Handle", &connectionHandle)
        try field.octets("Channel_Map", count: 5, &channelMap)
      }
    }
  }

  /// Requests the LE features of the peer (HCI_LE_Read_Remote_Features, Vol 4, Part E, 7.8.21).
  public struct LEReadRemoteFeatures: LinkCommand {
    /// A Command Status event answers the command.
    public typealias Response = AnsweredByStatus
    public static let opcode = HCIOpcode.leReadRemoteFeatures
    public static let name: StaticString = "LE Read Remote Features"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 27, bit: 5)
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    public init() {}
  }

  /// Requests the LE features of the peer on the pages that follow the first 64 bits (HCI_LE_Read_All_Remote_Features,
  /// Vol 4, Part E, 7.8.129).
  public struct LEReadAllRemoteFeatures: HCICommand {
    /// A Command Status event answers the command.
    public typealias Response = AnsweredByStatus
    public static let opcode = HCIOpcode.leReadAllRemoteFeatures
    public static let name: StaticString = "LE Read All Remote Features"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 47, bit: 3)
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// Pages_Requested: the highest page to read, 0 to 10.
    public var pagesRequested: UInt8 = 1
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try field.integer("Pages_Requested", &pagesRequested)
    }
  }

  /// Requests the sleep clock accuracy of the peer (HCI_LE_Request_Peer_SCA, Vol 4, Part E, 7.8.108).
  public struct LERequestPeerSCA: LinkCommand {
    /// A Command Status event answers the command.
    public typealias Response = AnsweredByStatus
    public static let opcode = HCIOpcode.leRequestPeerSCA
    public static let name: StaticString = "LE Request Peer SCA"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 43, bit: 2)
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    public init() {}
  }

  /// Sets the subrating parameters that peers of later links may request (HCI_LE_Set_Default_Subrate, Vol 4, Part E,
  /// 7.8.123).
  public struct LESetDefaultSubrate: HCICommand {
    public static let opcode = HCIOpcode.leSetDefaultSubrate
    public static let name: StaticString = "LE Set Default Subrate"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 46, bit: 0)
    /// The subrating parameters.
    public var parameters = SubrateParameters()
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try parameters.layout(&field)
    }
  }

  /// Requests other subrating parameters for a link (HCI_LE_Subrate_Request, Vol 4, Part E, 7.8.124).
  public struct LESubrateRequest: HCICommand {
    /// A Command Status event answers the command.
    public typealias Response = AnsweredByStatus
    public static let opcode = HCIOpcode.leSubrateRequest
    public static let name: StaticString = "LE Subrate Request"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 46, bit: 1)
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// The subrating parameters.
    public var parameters = SubrateParameters()
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try parameters.layout(&field)
    }
  }

  /// The subrating parameters that a host requests (Vol 4, Part E, 7.8.123).
  public struct SubrateParameters: FieldGroup {
    /// Subrate_Min: the smallest subrate factor, 1 to 500.
    public var subrateMin: UInt16 = 1
    /// Subrate_Max: the largest subrate factor, 1 to 500.
    public var subrateMax: UInt16 = 1
    /// Max_Latency in subrated connection events, 0 to 499.
    public var maxLatency: UInt16 = 0
    /// Continuation_Number in connection events, 0 to 499.
    public var continuationNumber: UInt16 = 0
    /// Supervision_Timeout in units of 10 ms, 0x000A to 0x0C80.
    public var supervisionTimeout: UInt16 = 0x0C80
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Subrate_Min", &subrateMin)
      try field.integer("Subrate_Max", &subrateMax)
      try field.integer("Max_Latency", &maxLatency)
      try field.integer("Continuation_Number", &continuationNumber)
      try field.integer("Supervision_Timeout", &supervisionTimeout)
    }

    /// Whether a controller accepts the values, individually and in combination (Vol 4, Part E, 7.8.123): a peripheral
    /// listens at least every 500 connection events, and the continuation number is less than the factor.
    public var isValid: Bool {
      let factors = LinkLayerLimits.subrateFactor
      return factors.contains(subrateMin) && factors.contains(subrateMax) && subrateMin <= subrateMax
        && LinkLayerLimits.peripheralLatency.contains(maxLatency) && continuationNumber < subrateMax
        && LinkLayerLimits.allows(subrateFactor: subrateMax, latency: maxLatency)
        && LinkLayerLimits.supervisionTimeout.contains(supervisionTimeout)
    }
  }
}
