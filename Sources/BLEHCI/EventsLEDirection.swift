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
  /// Samples of a periodic advertiser's tone extension (HCI_LE_Connectionless_IQ_Report, Vol 4, Part E, 7.7.65.21).
  public struct LEConnectionlessIQReport: LEEventParameters {
    public static let subeventCode = LESubeventCode.connectionlessIQReport
    public static let name: StaticString = "LE Connectionless IQ Report"
    public var syncHandle: UInt16 = 0
    public var channelIndex: UInt8 = 0
    /// In units of 0.1 dBm.
    public var rssi: Int16 = 0
    public var rssiAntennaID: UInt8 = 0
    public var cteType: UInt8 = 0
    /// 0x01 for 1 µs, 0x02 for 2 µs.
    public var slotDurations: UInt8 = 0
    /// 0x00 for a right CRC, 0xFF where resources were short.
    public var packetStatus: UInt8 = 0
    public var periodicEventCounter: UInt16 = 0
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

  /// Samples of a link's tone extension (HCI_LE_Connection_IQ_Report, Vol 4, Part E, 7.7.65.22).
  public struct LEConnectionIQReport: LEEventParameters {
    public static let subeventCode = LESubeventCode.connectionIQReport
    public static let name: StaticString = "LE Connection IQ Report"
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    public var rxPHY = PHY.le1M
    public var dataChannelIndex: UInt8 = 0
    /// In units of 0.1 dBm.
    public var rssi: Int16 = 0
    public var rssiAntennaID: UInt8 = 0
    public var cteType: UInt8 = 0
    /// 0x01 for 1 µs, 0x02 for 2 µs.
    public var slotDurations: UInt8 = 0
    /// 0x00 for a right CRC, 0xFF where resources were short.
    public var packetStatus: UInt8 = 0
    public var connectionEventCounter: UInt16 = 0
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

  /// One sample of an IQ report: Vol 4, Part E, 7.7.65.21.
  public struct IQSample: FieldGroup {
    public var iSample: Int8 = 0
    public var qSample: Int8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("I_Sample[i]", &iSample)
      try field.integer("Q_Sample[i]", &qSample)
    }
  }

  /// The peer did not send the tone extension it was asked for (HCI_LE_CTE_Request_Failed, Vol 4, Part E, 7.7.65.23).
  public struct LECTERequestFailed: LEEventParameters {
    public static let subeventCode = LESubeventCode.cteRequestFailed
    public static let name: StaticString = "LE CTE Request Failed"
    public var status = HCIErrorCode.success
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Status", &status)
      try field.value("Connection_Handle", &connectionHandle)
    }
  }
}
