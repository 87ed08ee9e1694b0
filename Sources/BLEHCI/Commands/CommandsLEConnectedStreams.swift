public import BLEWire

extension HCIOpcode {
  /// HCI_LE_Set_CIG_Parameters.
  public static let leSetCIGParameters = Self(rawValue: 0x2062)
  /// HCI_LE_Set_CIG_Parameters_Test.
  public static let leSetCIGParametersTest = Self(rawValue: 0x2063)
  /// HCI_LE_Create_CIS.
  public static let leCreateCIS = Self(rawValue: 0x2064)
  /// HCI_LE_Remove_CIG.
  public static let leRemoveCIG = Self(rawValue: 0x2065)
  /// HCI_LE_Accept_CIS_Request.
  public static let leAcceptCISRequest = Self(rawValue: 0x2066)
  /// HCI_LE_Reject_CIS_Request.
  public static let leRejectCISRequest = Self(rawValue: 0x2067)
}

extension HCI {
  /// Creates or changes a group of connected isochronous streams (HCI_LE_Set_CIG_Parameters, Vol 4, Part E, 7.8.97).
  public struct LESetCIGParameters: HCICommand {
    /// Status, group and streams.
    public typealias Response = CIGResponse
    public static let opcode = HCIOpcode.leSetCIGParameters
    public static let name: StaticString = "LE Set CIG Parameters"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 41, bit: 7)
    /// CIG_ID: the group of streams.
    public var cigID: UInt8 = 0
    /// SDU_Interval_C_To_P in microseconds.
    public var sduIntervalCToP: UInt32 = 0
    /// SDU_Interval_P_To_C in microseconds.
    public var sduIntervalPToC: UInt32 = 0
    /// Worst_Case_SCA: the worst sleep clock accuracy of the peripherals.
    public var worstCaseSCA = ClockAccuracy(rawValue: 0)
    /// Packing: 0x00 for sequential, 0x01 for interleaved.
    public var packing: UInt8 = 0
    /// Framing: 0x00 for unframed, 0x01 for framed.
    public var framing: UInt8 = 0
    /// Max_Transport_Latency_C_To_P in milliseconds.
    public var maxTransportLatencyCToP: UInt16 = 0
    /// Max_Transport_Latency_P_To_C in milliseconds.
    public var maxTransportLatencyPToC: UInt16 = 0
    /// CIS_Count: the streams.
    public var streams: [CISParameters] = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("CIG_ID", &cigID)
      try field.integer("SDU_Interval_C_To_P", octets: 3, &sduIntervalCToP)
      try field.integer("SDU_Interval_P_To_C", octets: 3, &sduIntervalPToC)
      try field.value("Worst_Case_SCA", &worstCaseSCA)
      try field.integer("Packing", &packing)
      try field.integer("Framing", &framing)
      try field.integer("Max_Transport_Latency_C_To_P", &maxTransportLatencyCToP)
      try field.integer("Max_Transport_Latency_P_To_C", &maxTransportLatencyPToC)
      try field.counted("CIS_Count", &streams)
    }
  }

  /// One stream of HCI_LE_Set_CIG_Parameters: Vol 4, Part E, 7.8.97.
  public struct CISParameters: FieldGroup {
    /// CIS_ID: the number of the stream in its group.
    public var cisID: UInt8 = 0
    /// Max_SDU_C_To_P in octets.
    public var maxSDUCToP: UInt16 = 0
    /// Max_SDU_P_To_C in octets.
    public var maxSDUPToC: UInt16 = 0
    /// PHY_C_To_P: the PHY from central to peripheral.
    public var phyCToP: PHYs = []
    /// PHY_P_To_C: the PHY from peripheral to central.
    public var phyPToC: PHYs = []
    /// RTN_C_To_P: the number of retransmissions.
    public var rtnCToP: UInt8 = 0
    /// RTN_P_To_C: the number of retransmissions.
    public var rtnPToC: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("CIS_ID[i]", &cisID)
      try field.integer("Max_SDU_C_To_P[i]", &maxSDUCToP)
      try field.integer("Max_SDU_P_To_C[i]", &maxSDUPToC)
      try field.value("PHY_C_To_P[i]", &phyCToP)
      try field.value("PHY_P_To_C[i]", &phyPToC)
      try field.integer("RTN_C_To_P[i]", &rtnCToP)
      try field.integer("RTN_P_To_C[i]", &rtnPToC)
    }
  }

  /// Creates a group of connected isochronous streams with all parameters given, for tests
  /// (HCI_LE_Set_CIG_Parameters_Test, Vol 4, Part E, 7.8.98).
  public struct LESetCIGParametersTest: HCICommand {
    /// Status, group and streams.
    public typealias Response = CIGResponse
    public static let opcode = HCIOpcode.leSetCIGParametersTest
    public static let name: StaticString = "LE Set CIG Parameters Test"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 42, bit: 0)
    /// CIG_ID: the group of streams.
    public var cigID: UInt8 = 0
    /// SDU_Interval_C_To_P in microseconds.
    public var sduIntervalCToP: UInt32 = 0
    /// SDU_Interval_P_To_C in microseconds.
    public var sduIntervalPToC: UInt32 = 0
    /// FT_C_To_P: the flush timeout in ISO intervals.
    public var ftCToP: UInt8 = 0
    /// FT_P_To_C: the flush timeout in ISO intervals.
    public var ftPToC: UInt8 = 0
    /// ISO_Interval in units of 1.25 ms.
    public var isoInterval: UInt16 = 0
    /// Worst_Case_SCA: the worst sleep clock accuracy of the peripherals.
    public var worstCaseSCA = ClockAccuracy(rawValue: 0)
    /// Packing: 0x00 for sequential, 0x01 for interleaved.
    public var packing: UInt8 = 0
    /// Framing: 0x00 for unframed, 0x01 for framed.
    public var framing: UInt8 = 0
    /// CIS_Count: the streams.
    public var streams: [CISTestParameters] = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("CIG_ID", &cigID)
      try field.integer("SDU_Interval_C_To_P", octets: 3, &sduIntervalCToP)
      try field.integer("SDU_Interval_P_To_C", octets: 3, &sduIntervalPToC)
      try field.integer("FT_C_To_P", &ftCToP)
      try field.integer("FT_P_To_C", &ftPToC)
      try field.integer("ISO_Interval", &isoInterval)
      try field.value("Worst_Case_SCA", &worstCaseSCA)
      try field.integer("Packing", &packing)
      try field.integer("Framing", &framing)
      try field.counted("CIS_Count", &streams)
    }
  }

  /// One stream of HCI_LE_Set_CIG_Parameters_Test: Vol 4, Part E, 7.8.98.
  public struct CISTestParameters: FieldGroup {
    /// CIS_ID: the number of the stream in its group.
    public var cisID: UInt8 = 0
    /// NSE: the number of subevents in an event.
    public var nse: UInt8 = 0
    /// Max_SDU_C_To_P in octets.
    public var maxSDUCToP: UInt16 = 0
    /// Max_SDU_P_To_C in octets.
    public var maxSDUPToC: UInt16 = 0
    /// Max_PDU_C_To_P in octets.
    public var maxPDUCToP: UInt16 = 0
    /// Max_PDU_P_To_C in octets.
    public var maxPDUPToC: UInt16 = 0
    /// PHY_C_To_P: the PHY from central to peripheral.
    public var phyCToP: PHYs = []
    /// PHY_P_To_C: the PHY from peripheral to central.
    public var phyPToC: PHYs = []
    /// BN_C_To_P: the burst number.
    public var bnCToP: UInt8 = 0
    /// BN_P_To_C: the burst number.
    public var bnPToC: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("CIS_ID[i]", &cisID)
      try field.integer("NSE[i]", &nse)
      try field.integer("Max_SDU_C_To_P[i]", &maxSDUCToP)
      try field.integer("Max_SDU_P_To_C[i]", &maxSDUPToC)
      try field.integer("Max_PDU_C_To_P[i]", &maxPDUCToP)
      try field.integer("Max_PDU_P_To_C[i]", &maxPDUPToC)
      try field.value("PHY_C_To_P[i]", &phyCToP)
      try field.value("PHY_P_To_C[i]", &phyPToC)
      try field.integer("BN_C_To_P[i]", &bnCToP)
      try field.integer("BN_P_To_C[i]", &bnPToC)
    }
  }

  /// Creates connected isochronous streams (HCI_LE_Create_CIS, Vol 4, Part E, 7.8.99).
  public struct LECreateCIS: HCICommand {
    /// A Command Status event answers the command.
    public typealias Response = AnsweredByStatus
    public static let opcode = HCIOpcode.leCreateCIS
    public static let name: StaticString = "LE Create CIS"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 42, bit: 1)
    /// CIS_Count: the streams.
    public var streams: [CISLink] = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.counted("CIS_Count", &streams)
    }
  }

  /// One stream of HCI_LE_Create_CIS: Vol 4, Part E, 7.8.99.
  public struct CISLink: FieldGroup {
    /// CIS_Connection_Handle: the stream.
    public var cisConnectionHandle = ConnectionHandle(rawValue: 0)
    /// ACL_Connection_Handle: the link.
    public var aclConnectionHandle = ConnectionHandle(rawValue: 0)
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("CIS_Connection_Handle[i]", &cisConnectionHandle)
      try field.value("ACL_Connection_Handle[i]", &aclConnectionHandle)
    }
  }

  /// Removes a group of connected isochronous streams (HCI_LE_Remove_CIG, Vol 4, Part E, 7.8.100).
  public struct LERemoveCIG: HCICommand {
    public static let opcode = HCIOpcode.leRemoveCIG
    public static let name: StaticString = "LE Remove CIG"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 42, bit: 2)
    /// CIG_ID: the group of streams.
    public var cigID: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("CIG_ID", &cigID)
    }

    /// The return parameters of the command.
    public struct Response: ReturnParameters {
      /// Status: success, or the reason of the failure.
      public var status = HCIErrorCode.success
      /// CIG_ID: the group of streams.
      public var cigID: UInt8 = 0
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try field.integer("CIG_ID", &cigID)
      }
    }
  }

  /// Accepts an isochronous stream that the central requests (HCI_LE_Accept_CIS_Request, Vol 4, Part E, 7.8.101).
  public struct LEAcceptCISRequest: LinkCommand {
    /// A Command Status event answers the command.
    public typealias Response = AnsweredByStatus
    public static let opcode = HCIOpcode.leAcceptCISRequest
    public static let name: StaticString = "LE Accept CIS Request"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 42, bit: 3)
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    public init() {}
  }

  /// Rejects an isochronous stream that the central requests (HCI_LE_Reject_CIS_Request, Vol 4, Part E, 7.8.102).
  public struct LERejectCISRequest: HCICommand {
    /// Status and link.
    public typealias Response = LinkResponse
    public static let opcode = HCIOpcode.leRejectCISRequest
    public static let name: StaticString = "LE Reject CIS Request"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 42, bit: 4)
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// Reason: the reason.
    public var reason = HCIErrorCode.rejectedLimitedResources
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try field.value("Reason", &reason)
    }
  }
}
