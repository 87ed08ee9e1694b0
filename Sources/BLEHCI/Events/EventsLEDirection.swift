public import BLEWire

extension LESubeventCode {
  /// HCI_LE_Connectionless_IQ_Report.
  public static let connectionlessIQReport = Self(rawValue: 0x15)
  /// HCI_LE_Connection_IQ_Report.
  public static let connectionIQReport = Self(rawValue: 0x16)
  /// HCI_LE_CTE_Request_Failed.
  public static let cteRequestFailed = Self(rawValue: 0x17)
}

extension HCI {
  /// Samples of the Constant Tone Extension of a periodic advertiser (HCI_LE_Connectionless_IQ_Report, Vol 4, Part E,
  /// 7.7.65.21).
  public struct LEConnectionlessIQReport: LEEventParameters {
    public static let subeventCode = LESubeventCode.connectionlessIQReport
    public static let name: StaticString = "LE Connectionless IQ Report"
    /// Sync_Handle: the periodic advertising train.
    public var syncHandle: UInt16 = 0
    /// Channel_Index: the channel.
    public var channelIndex: UInt8 = 0
    /// RSSI in units of 0.1 dBm.
    public var rssi: Int16 = 0
    /// RSSI_Antenna_ID: the antenna of the RSSI.
    public var rssiAntennaID: UInt8 = 0
    /// CTE_Type: the kind of the Constant Tone Extension.
    public var cteType: UInt8 = 0
    /// Slot_Durations: 0x01 for 1 µs, 0x02 for 2 µs.
    public var slotDurations: UInt8 = 0
    /// Packet_Status: 0x00 for a correct CRC, 0xFF if the controller had no resources.
    public var packetStatus: UInt8 = 0
    /// Periodic_Event_Counter: the number of the periodic advertising event.
    public var periodicEventCounter: UInt16 = 0
    /// Sample_Count: the samples.
    public var samples: [IQSample] = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Sync_Handle", &syncHandle)
      try field.integer("Channel_Index", &channelIndex)
      try field.integer("RSSI", &rssi)
      try field.integer("RSSI_Antenna_ID", &rssiAntennaID)
      try field.integer("CTE_Type", &cteType)
      try field.integer("Slot_Durations", &slotDurations)
      try field.integer("Packet_Status", &packetStatus)
      try field.integer("Periodic_Event_Counter", &periodicEventCounter)
      try field.counted("Sample_Count", &samples)
    }
  }

  /// Samples of the Constant Tone Extension of a link (HCI_LE_Connection_IQ_Report, Vol 4, Part E, 7.7.65.22).
  public struct LEConnectionIQReport: LEEventParameters {
    public static let subeventCode = LESubeventCode.connectionIQReport
    public static let name: StaticString = "LE Connection IQ Report"
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// RX_PHY: the PHY for reception.
    public var rxPHY = PHY.le1M
    /// Data_Channel_Index: the channel.
    public var dataChannelIndex: UInt8 = 0
    /// RSSI in units of 0.1 dBm.
    public var rssi: Int16 = 0
    /// RSSI_Antenna_ID: the antenna of the RSSI.
    public var rssiAntennaID: UInt8 = 0
    /// CTE_Type: the kind of the Constant Tone Extension.
    public var cteType: UInt8 = 0
    /// Slot_Durations: 0x01 for 1 µs, 0x02 for 2 µs.
    public var slotDurations: UInt8 = 0
    /// Packet_Status: 0x00 for a correct CRC, 0xFF if the controller had no resources.
    public var packetStatus: UInt8 = 0
    /// Connection_Event_Counter: the number of the connection event.
    public var connectionEventCounter: UInt16 = 0
    /// Sample_Count: the samples.
    public var samples: [IQSample] = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try field.value("RX_PHY", &rxPHY)
      try field.integer("Data_Channel_Index", &dataChannelIndex)
      try field.integer("RSSI", &rssi)
      try field.integer("RSSI_Antenna_ID", &rssiAntennaID)
      try field.integer("CTE_Type", &cteType)
      try field.integer("Slot_Durations", &slotDurations)
      try field.integer("Packet_Status", &packetStatus)
      try field.integer("Connection_Event_Counter", &connectionEventCounter)
      try field.counted("Sample_Count", &samples)
    }
  }

  /// One sample of an IQ report (Vol 4, Part E, 7.7.65.21).
  public struct IQSample: FieldGroup {
    /// I_Sample: the in-phase part.
    public var iSample: Int8 = 0
    /// Q_Sample: the quadrature part.
    public var qSample: Int8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("I_Sample[i]", &iSample)
      try field.integer("Q_Sample[i]", &qSample)
    }
  }

  /// The peer has not sent the requested Constant Tone Extension (HCI_LE_CTE_Request_Failed, Vol 4, Part E, 7.7.65.23).
  public struct LECTERequestFailed: LEEventParameters {
    public static let subeventCode = LESubeventCode.cteRequestFailed
    public static let name: StaticString = "LE CTE Request Failed"
    /// Status: success, or the reason of the failure.
    public var status = HCIErrorCode.success
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Status", &status)
      try field.value("Connection_Handle", &connectionHandle)
    }
  }
}
