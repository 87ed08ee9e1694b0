public import BLEWire

extension LESubeventCode {
  /// HCI_LE_Advertising_Report.
  public static let advertisingReport = Self(rawValue: 0x02)
  /// HCI_LE_Directed_Advertising_Report.
  public static let directedAdvertisingReport = Self(rawValue: 0x0B)
  /// HCI_LE_Extended_Advertising_Report.
  public static let extendedAdvertisingReport = Self(rawValue: 0x0D)
  /// HCI_LE_Scan_Timeout.
  public static let scanTimeout = Self(rawValue: 0x11)
  /// HCI_LE_Advertising_Set_Terminated.
  public static let advertisingSetTerminated = Self(rawValue: 0x12)
  /// HCI_LE_Scan_Request_Received.
  public static let scanRequestReceived = Self(rawValue: 0x13)
}

extension HCI {
  /// Advertisements and scan responses that a legacy scan has found (HCI_LE_Advertising_Report, Vol 4, Part E,
  /// 7.7.65.2).
  public struct LEAdvertisingReport: LEEventParameters {
    public static let subeventCode = LESubeventCode.advertisingReport
    public static let name: StaticString = "LE Advertising Report"
    /// 1 to 25 of them.
    public var reports: [AdvertisingReport] = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.counted("Num_Reports", &reports)
    }
  }

  /// One report of HCI_LE_Advertising_Report: Vol 4, Part E, 7.7.65.2.
  public struct AdvertisingReport: FieldGroup {
    public var eventType = AdvertisingReportType(rawValue: 0)
    public var address = DeviceAddress.zero
    /// At most 31 octets of advertising or scan response data.
    public var data: Bytes = []
    /// In dBm; 127 where it is not known.
    public var rssi: Int8 = 127
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Event_Type[i]", &eventType)
      try field.address("Address_Type[i]", &address)
      try field.counted("Data[i]", &data)
      try field.integer("RSSI[i]", &rssi)
    }
  }

  /// Advertisements directed to a private address that could not be resolved (HCI_LE_Directed_Advertising_Report, Vol
  /// 4, Part E, 7.7.65.11).
  public struct LEDirectedAdvertisingReport: LEEventParameters {
    public static let subeventCode = LESubeventCode.directedAdvertisingReport
    public static let name: StaticString = "LE Directed Advertising Report"
    public var reports: [DirectedAdvertisingReport] = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.counted("Num_Reports", &reports)
    }
  }

  /// One report of HCI_LE_Directed_Advertising_Report: Vol 4, Part E, 7.7.65.11.
  public struct DirectedAdvertisingReport: FieldGroup {
    public var eventType = AdvertisingReportType.directed
    public var address = DeviceAddress.zero
    /// Whom the advertisement is for.
    public var directAddress = DeviceAddress.zero
    /// In dBm; 127 where it is not known.
    public var rssi: Int8 = 127
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Event_Type[i]", &eventType)
      try field.address("Address_Type[i]", &address)
      try field.address("Direct_Address_Type[i]", &directAddress)
      try field.integer("RSSI[i]", &rssi)
    }
  }

  /// Advertisements and scan responses that an extended scan has found (HCI_LE_Extended_Advertising_Report, Vol 4,
  /// Part E, 7.7.65.13).
  public struct LEExtendedAdvertisingReport: LEEventParameters {
    public static let subeventCode = LESubeventCode.extendedAdvertisingReport
    public static let name: StaticString = "LE Extended Advertising Report"
    public var reports: [ExtendedAdvertisingReport] = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.counted("Num_Reports", &reports)
    }
  }

  /// One report of HCI_LE_Extended_Advertising_Report: Vol 4, Part E, 7.7.65.13.
  public struct ExtendedAdvertisingReport: FieldGroup {
    public var eventType: ExtendedAdvertisingReportType = []
    public var address = DeviceAddress.zero
    public var primaryPHY = PHY.le1M
    public var secondaryPHY = PHY.none
    /// 0xFF where the advertisement carries none.
    public var advertisingSID: UInt8 = 0xFF
    /// In dBm; 127 where it is not known.
    public var txPower: Int8 = 127
    /// In dBm; 127 where it is not known.
    public var rssi: Int8 = 127
    /// In units of 1.25 ms; 0 where there is no periodic advertising.
    public var periodicAdvertisingInterval: UInt16 = 0
    /// Whom the advertisement is for, where it is directed.
    public var directAddress = DeviceAddress.zero
    /// At most 229 octets; more follow in further reports while the data status is incomplete.
    public var data: Bytes = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Event_Type[i]", &eventType)
      try field.address("Address_Type[i]", &address)
      try field.value("Primary_PHY[i]", &primaryPHY)
      try field.value("Secondary_PHY[i]", &secondaryPHY)
      try field.integer("Advertising_SID[i]", &advertisingSID)
      try field.integer("TX_Power[i]", &txPower)
      try field.integer("RSSI[i]", &rssi)
      try field.integer("Periodic_Advertising_Interval[i]", &periodicAdvertisingInterval)
      try field.address("Direct_Address_Type[i]", &directAddress)
      try field.counted("Data[i]", &data)
    }
  }

  /// A scan's duration is over (HCI_LE_Scan_Timeout, Vol 4, Part E, 7.7.65.17).
  public struct LEScanTimeout: LEEventParameters {
    public static let subeventCode = LESubeventCode.scanTimeout
    public static let name: StaticString = "LE Scan Timeout"
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {}
  }

  /// An advertising set has stopped: connected, timed out, or all its events are done
  /// (HCI_LE_Advertising_Set_Terminated, Vol 4, Part E, 7.7.65.18).
  public struct LEAdvertisingSetTerminated: LEEventParameters {
    public static let subeventCode = LESubeventCode.advertisingSetTerminated
    public static let name: StaticString = "LE Advertising Set Terminated"
    public var status = HCIErrorCode.success
    public var advertisingHandle: UInt8 = 0
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    public var numCompletedExtendedAdvertisingEvents: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Status", &status)
      try field.integer("Advertising_Handle", &advertisingHandle)
      try field.value("Connection_Handle", &connectionHandle)
      try field.integer("Num_Completed_Extended_Advertising_Events", &numCompletedExtendedAdvertisingEvents)
    }
  }

  /// A scanner has asked an advertising set for its scan response (HCI_LE_Scan_Request_Received, Vol 4, Part E,
  /// 7.7.65.19).
  public struct LEScanRequestReceived: LEEventParameters {
    public static let subeventCode = LESubeventCode.scanRequestReceived
    public static let name: StaticString = "LE Scan Request Received"
    public var advertisingHandle: UInt8 = 0
    public var scannerAddress = DeviceAddress.zero
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Advertising_Handle", &advertisingHandle)
      try field.address("Scanner_Address_Type", &scannerAddress)
    }
  }
}
