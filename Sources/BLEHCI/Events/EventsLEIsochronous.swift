public import BLEWire

extension LESubeventCode {
  /// HCI_LE_CIS_Established.
  public static let cisEstablished = Self(rawValue: 0x19)
  /// HCI_LE_CIS_Request.
  public static let cisRequest = Self(rawValue: 0x1A)
  /// HCI_LE_Create_BIG_Complete.
  public static let createBIGComplete = Self(rawValue: 0x1B)
  /// HCI_LE_Terminate_BIG_Complete.
  public static let terminateBIGComplete = Self(rawValue: 0x1C)
  /// HCI_LE_BIG_Sync_Established.
  public static let bigSyncEstablished = Self(rawValue: 0x1D)
  /// HCI_LE_BIG_Sync_Lost.
  public static let bigSyncLost = Self(rawValue: 0x1E)
  /// HCI_LE_BIGInfo_Advertising_Report.
  public static let bigInfoAdvertisingReport = Self(rawValue: 0x22)
}

extension HCI {
  /// The result of creating a connected isochronous stream (HCI_LE_CIS_Established, Vol 4, Part E, 7.7.65.25).
  public struct LECISEstablished: LEEventParameters {
    public static let subeventCode = LESubeventCode.cisEstablished
    public static let name: StaticString = "LE CIS Established"
    /// Status: success, or the reason of the failure.
    public var status = HCIErrorCode.success
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// CIG_Sync_Delay in microseconds.
    public var cigSyncDelay: UInt32 = 0
    /// CIS_Sync_Delay in microseconds.
    public var cisSyncDelay: UInt32 = 0
    /// Transport_Latency_C_To_P in microseconds.
    public var transportLatencyCToP: UInt32 = 0
    /// Transport_Latency_P_To_C in microseconds.
    public var transportLatencyPToC: UInt32 = 0
    /// PHY_C_To_P: the PHY from central to peripheral.
    public var phyCToP = PHY.le1M
    /// PHY_P_To_C: the PHY from peripheral to central.
    public var phyPToC = PHY.le1M
    /// NSE: the number of subevents in an event.
    public var nse: UInt8 = 0
    /// BN_C_To_P: the burst number.
    public var bnCToP: UInt8 = 0
    /// BN_P_To_C: the burst number.
    public var bnPToC: UInt8 = 0
    /// FT_C_To_P: the flush timeout in ISO intervals.
    public var ftCToP: UInt8 = 0
    /// FT_P_To_C: the flush timeout in ISO intervals.
    public var ftPToC: UInt8 = 0
    /// Max_PDU_C_To_P in octets.
    public var maxPDUCToP: UInt16 = 0
    /// Max_PDU_P_To_C in octets.
    public var maxPDUPToC: UInt16 = 0
    /// ISO_Interval in units of 1.25 ms.
    public var isoInterval: UInt16 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Status", &status)
      try field.value("Connection_Handle", &connectionHandle)
      try field.integer("CIG_Sync_Delay", octets: 3, &cigSyncDelay)
      try field.integer("CIS_Sync_Delay", octets: 3, &cisSyncDelay)
      try field.integer("Transport_Latency_C_To_P", octets: 3, &transportLatencyCToP)
      try field.integer("Transport_Latency_P_To_C", octets: 3, &transportLatencyPToC)
      try field.value("PHY_C_To_P", &phyCToP)
      try field.value("PHY_P_To_C", &phyPToC)
      try field.integer("NSE", &nse)
      try field.integer("BN_C_To_P", &bnCToP)
      try field.integer("BN_P_To_C", &bnPToC)
      try field.integer("FT_C_To_P", &ftCToP)
      try field.integer("FT_P_To_C", &ftPToC)
      try field.integer("Max_PDU_C_To_P", &maxPDUCToP)
      try field.integer("Max_PDU_P_To_C", &maxPDUPToC)
      try field.integer("ISO_Interval", &isoInterval)
    }
  }

  /// The central requests an isochronous stream; the host accepts or rejects it (HCI_LE_CIS_Request, Vol 4, Part E,
  /// 7.7.65.26).
  public struct LECISRequest: LEEventParameters {
    public static let subeventCode = LESubeventCode.cisRequest
    public static let name: StaticString = "LE CIS Request"
    /// ACL_Connection_Handle: the link.
    public var aclConnectionHandle = ConnectionHandle(rawValue: 0)
    /// CIS_Connection_Handle: the stream.
    public var cisConnectionHandle = ConnectionHandle(rawValue: 0)
    /// CIG_ID: the group of streams.
    public var cigID: UInt8 = 0
    /// CIS_ID: the number of the stream in its group.
    public var cisID: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("ACL_Connection_Handle", &aclConnectionHandle)
      try field.value("CIS_Connection_Handle", &cisConnectionHandle)
      try field.integer("CIG_ID", &cigID)
      try field.integer("CIS_ID", &cisID)
    }
  }

  /// The result of creating a group of broadcast isochronous streams (HCI_LE_Create_BIG_Complete, Vol 4, Part E,
  /// 7.7.65.27).
  public struct LECreateBIGComplete: LEEventParameters {
    public static let subeventCode = LESubeventCode.createBIGComplete
    public static let name: StaticString = "LE Create BIG Complete"
    /// Status: success, or the reason of the failure.
    public var status = HCIErrorCode.success
    /// BIG_Handle: the group of streams.
    public var bigHandle: UInt8 = 0
    /// BIG_Sync_Delay in microseconds.
    public var bigSyncDelay: UInt32 = 0
    /// Transport_Latency_BIG in microseconds.
    public var transportLatencyBIG: UInt32 = 0
    /// PHY: the PHY.
    public var phy = PHY.le1M
    /// NSE: the number of subevents of each stream in an event.
    public var nse: UInt8 = 0
    /// BN: the burst number.
    public var bn: UInt8 = 0
    /// PTO: the pre-transmission offset.
    public var pto: UInt8 = 0
    /// IRC: the immediate repetition count.
    public var irc: UInt8 = 0
    /// Max_PDU in octets.
    public var maxPDU: UInt16 = 0
    /// ISO_Interval in units of 1.25 ms.
    public var isoInterval: UInt16 = 0
    /// Num_BIS: the streams.
    public var streams: [LinkReference] = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Status", &status)
      try field.integer("BIG_Handle", &bigHandle)
      try field.integer("BIG_Sync_Delay", octets: 3, &bigSyncDelay)
      try field.integer("Transport_Latency_BIG", octets: 3, &transportLatencyBIG)
      try field.value("PHY", &phy)
      try field.integer("NSE", &nse)
      try field.integer("BN", &bn)
      try field.integer("PTO", &pto)
      try field.integer("IRC", &irc)
      try field.integer("Max_PDU", &maxPDU)
      try field.integer("ISO_Interval", &isoInterval)
      try field.counted("Num_BIS", &streams)
    }
  }

  /// A group of broadcast isochronous streams has ended (HCI_LE_Terminate_BIG_Complete, Vol 4, Part E, 7.7.65.28).
  public struct LETerminateBIGComplete: LEEventParameters {
    public static let subeventCode = LESubeventCode.terminateBIGComplete
    public static let name: StaticString = "LE Terminate BIG Complete"
    /// BIG_Handle: the group of streams.
    public var bigHandle: UInt8 = 0
    /// Reason: the reason.
    public var reason = HCIErrorCode.remoteUserTerminatedConnection
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("BIG_Handle", &bigHandle)
      try field.value("Reason", &reason)
    }
  }

  /// The result of synchronising with broadcast isochronous streams (HCI_LE_BIG_Sync_Established, Vol 4, Part E,
  /// 7.7.65.29).
  public struct LEBIGSyncEstablished: LEEventParameters {
    public static let subeventCode = LESubeventCode.bigSyncEstablished
    public static let name: StaticString = "LE BIG Sync Established"
    /// Status: success, or the reason of the failure.
    public var status = HCIErrorCode.success
    /// BIG_Handle: the group of streams.
    public var bigHandle: UInt8 = 0
    /// Transport_Latency_BIG in microseconds.
    public var transportLatencyBIG: UInt32 = 0
    /// NSE: the number of subevents of each stream in an event.
    public var nse: UInt8 = 0
    /// BN: the burst number.
    public var bn: UInt8 = 0
    /// PTO: the pre-transmission offset.
    public var pto: UInt8 = 0
    /// IRC: the immediate repetition count.
    public var irc: UInt8 = 0
    /// Max_PDU in octets.
    public var maxPDU: UInt16 = 0
    /// ISO_Interval in units of 1.25 ms.
    public var isoInterval: UInt16 = 0
    /// Num_BIS: the streams.
    public var streams: [LinkReference] = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Status", &status)
      try field.integer("BIG_Handle", &bigHandle)
      try field.integer("Transport_Latency_BIG", octets: 3, &transportLatencyBIG)
      try field.integer("NSE", &nse)
      try field.integer("BN", &bn)
      try field.integer("PTO", &pto)
      try field.integer("IRC", &irc)
      try field.integer("Max_PDU", &maxPDU)
      try field.integer("ISO_Interval", &isoInterval)
      try field.counted("Num_BIS", &streams)
    }
  }

  /// The synchronisation with broadcast isochronous streams is lost (HCI_LE_BIG_Sync_Lost, Vol 4, Part E, 7.7.65.30).
  public struct LEBIGSyncLost: LEEventParameters {
    public static let subeventCode = LESubeventCode.bigSyncLost
    public static let name: StaticString = "LE BIG Sync Lost"
    /// BIG_Handle: the group of streams.
    public var bigHandle: UInt8 = 0
    /// Reason: the reason.
    public var reason = HCIErrorCode.remoteUserTerminatedConnection
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("BIG_Handle", &bigHandle)
      try field.value("Reason", &reason)
    }
  }

  /// A periodic advertiser has broadcast isochronous streams (HCI_LE_BIGInfo_Advertising_Report, Vol 4, Part E,
  /// 7.7.65.34).
  public struct LEBIGInfoAdvertisingReport: LEEventParameters {
    public static let subeventCode = LESubeventCode.bigInfoAdvertisingReport
    public static let name: StaticString = "LE BIGInfo Advertising Report"
    /// Sync_Handle: the periodic advertising train.
    public var syncHandle: UInt16 = 0
    /// Num_BIS: the number of streams.
    public var numBIS: UInt8 = 0
    /// NSE: the number of subevents of each stream in an event.
    public var nse: UInt8 = 0
    /// ISO_Interval in units of 1.25 ms.
    public var isoInterval: UInt16 = 0
    /// BN: the burst number.
    public var bn: UInt8 = 0
    /// PTO: the pre-transmission offset.
    public var pto: UInt8 = 0
    /// IRC: the immediate repetition count.
    public var irc: UInt8 = 0
    /// Max_PDU in octets.
    public var maxPDU: UInt16 = 0
    /// SDU_Interval in microseconds.
    public var sduInterval: UInt32 = 0
    /// Max_SDU in octets.
    public var maxSDU: UInt16 = 0
    /// PHY: the PHY.
    public var phy = PHY.le1M
    /// Framing: 0x00 for unframed, 0x01 for framed.
    public var framing: UInt8 = 0
    /// Encryption: whether the streams are encrypted.
    public var encryption = false
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Sync_Handle", &syncHandle)
      try field.integer("Num_BIS", &numBIS)
      try field.integer("NSE", &nse)
      try field.integer("ISO_Interval", &isoInterval)
      try field.integer("BN", &bn)
      try field.integer("PTO", &pto)
      try field.integer("IRC", &irc)
      try field.integer("Max_PDU", &maxPDU)
      try field.integer("SDU_Interval", octets: 3, &sduInterval)
      try field.integer("Max_SDU", &maxSDU)
      try field.value("PHY", &phy)
      try field.integer("Framing", &framing)
      try field.flag("Encryption", &encryption)
    }
  }

  /// One connection handle in a list (Vol 4, Part E, 5.3).
  public struct LinkReference: FieldGroup {
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle[i]", &connectionHandle)
    }
  }
}
