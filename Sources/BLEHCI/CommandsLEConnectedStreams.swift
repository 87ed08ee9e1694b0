public import BLEWire

extension HCI {
  /// Makes or changes a group of connected isochronous streams (HCI_LE_Set_CIG_Parameters, Vol 4, Part E, 7.8.97).
  public struct LESetCIGParameters: HCICommand {
    public typealias Response = CIGResponse
    public static var opcode: HCIOpcode { .leSetCIGParameters }
    public var cigID: UInt8 = 0
    /// In microseconds.
    public var sduIntervalCToP: UInt32 = 0
    /// In microseconds.
    public var sduIntervalPToC: UInt32 = 0
    public var worstCaseSCA = ClockAccuracy(rawValue: 0)
    /// 0x00 sequential, 0x01 interleaved.
    public var packing: UInt8 = 0
    /// 0x00 unframed, 0x01 framed.
    public var framing: UInt8 = 0
    /// In milliseconds.
    public var maxTransportLatencyCToP: UInt16 = 0
    /// In milliseconds.
    public var maxTransportLatencyPToC: UInt16 = 0
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
    public var cisID: UInt8 = 0
    /// In octets.
    public var maxSDUCToP: UInt16 = 0
    /// In octets.
    public var maxSDUPToC: UInt16 = 0
    public var phyCToP: PHYs = []
    public var phyPToC: PHYs = []
    /// Retransmissions.
    public var rtnCToP: UInt8 = 0
    /// Retransmissions.
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

  /// Makes a group of connected isochronous streams with every parameter given, for tests
  /// (HCI_LE_Set_CIG_Parameters_Test, Vol 4, Part E, 7.8.98).
  public struct LESetCIGParametersTest: HCICommand {
    public typealias Response = CIGResponse
    public static var opcode: HCIOpcode { .leSetCIGParametersTest }
    public var cigID: UInt8 = 0
    /// In microseconds.
    public var sduIntervalCToP: UInt32 = 0
    /// In microseconds.
    public var sduIntervalPToC: UInt32 = 0
    /// Flush timeout, in ISO intervals.
    public var ftCToP: UInt8 = 0
    /// Flush timeout, in ISO intervals.
    public var ftPToC: UInt8 = 0
    /// In units of 1.25 ms.
    public var isoInterval: UInt16 = 0
    public var worstCaseSCA = ClockAccuracy(rawValue: 0)
    /// 0x00 sequential, 0x01 interleaved.
    public var packing: UInt8 = 0
    /// 0x00 unframed, 0x01 framed.
    public var framing: UInt8 = 0
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
    public var cisID: UInt8 = 0
    /// Subevents in a CIS event.
    public var nse: UInt8 = 0
    /// In octets.
    public var maxSDUCToP: UInt16 = 0
    /// In octets.
    public var maxSDUPToC: UInt16 = 0
    /// In octets.
    public var maxPDUCToP: UInt16 = 0
    /// In octets.
    public var maxPDUPToC: UInt16 = 0
    public var phyCToP: PHYs = []
    public var phyPToC: PHYs = []
    /// Burst number.
    public var bnCToP: UInt8 = 0
    /// Burst number.
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

  /// Begins connected isochronous streams (HCI_LE_Create_CIS, Vol 4, Part E, 7.8.99).
  public struct LECreateCIS: HCICommand {
    public typealias Response = AnsweredByStatus
    public static var opcode: HCIOpcode { .leCreateCIS }
    public var streams: [CISLink] = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.counted("CIS_Count", &streams)
    }
  }

  /// One stream of HCI_LE_Create_CIS: Vol 4, Part E, 7.8.99.
  public struct CISLink: FieldGroup {
    public var cisConnectionHandle = ConnectionHandle(rawValue: 0)
    public var aclConnectionHandle = ConnectionHandle(rawValue: 0)
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("CIS_Connection_Handle[i]", &cisConnectionHandle)
      try field.value("ACL_Connection_Handle[i]", &aclConnectionHandle)
    }
  }

  /// Removes a group of connected isochronous streams (HCI_LE_Remove_CIG, Vol 4, Part E, 7.8.100).
  public struct LERemoveCIG: HCICommand {
    public static var opcode: HCIOpcode { .leRemoveCIG }
    public var cigID: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("CIG_ID", &cigID)
    }

    public struct Response: ReturnParameters {
      public var status = HCIErrorCode.success
      public var cigID: UInt8 = 0
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try field.integer("CIG_ID", &cigID)
      }
    }
  }

  /// Accepts a stream that the central asks for (HCI_LE_Accept_CIS_Request, Vol 4, Part E, 7.8.101).
  public struct LEAcceptCISRequest: LinkCommand {
    public typealias Response = AnsweredByStatus
    public static var opcode: HCIOpcode { .leAcceptCISRequest }
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    public init() {}
  }

  /// Refuses a stream that the central asks for (HCI_LE_Reject_CIS_Request, Vol 4, Part E, 7.8.102).
  public struct LERejectCISRequest: HCICommand {
    public typealias Response = LinkResponse
    public static var opcode: HCIOpcode { .leRejectCISRequest }
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    public var reason = HCIErrorCode.rejectedLimitedResources
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try field.value("Reason", &reason)
    }
  }
}
