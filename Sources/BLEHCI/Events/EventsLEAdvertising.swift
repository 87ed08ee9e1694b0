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
  /// Advertisements and scan responses from legacy scanning (HCI_LE_Advertising_Report, Vol 4, Part E, 7.7.65.2).
  public struct LEAdvertisingReport: LEEventParameters {
    public static let subeventCode = LESubeventCode.advertisingReport
    public static let name: StaticString = "LE Advertising Report"
    /// Num_Reports: 1 to 25 reports.
    public var reports: [AdvertisingReport] = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.counted("Num_Reports", &reports)
    }
  }

  /// One report of HCI_LE_Advertising_Report (Vol 4, Part E, 7.7.65.2).
  public struct AdvertisingReport: FieldGroup {
    /// Event_Type: the kind of the advertisement.
    public var eventType = AdvertisingReportType(rawValue: 0)
    /// Address: type and address of the device.
    public var address = DeviceAddress.zero
    /// Data: advertising data or scan response data, at most 31 octets.
    public var data: Bytes = []
    /// RSSI in dBm; 127 if it is not available.
    public var rssi: Int8 = 127
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Event_Type[i]", &eventType)
      try field.address("Address_Type[i]", &address)
      try field.counted("Data[i]", &data)
      try field.integer("RSSI[i]", &rssi)
    }
  }

  /// Advertisements directed to a private address that the controller cannot resolve
  /// (HCI_LE_Directed_Advertising_Report, Vol 4, Part E, 7.7.65.11).
  public struct LEDirectedAdvertisingReport: LEEventParameters {
    public static let subeventCode = LESubeventCode.directedAdvertisingReport
    public static let name: StaticString = "LE Directed Advertising Report"
    /// Num_Reports: the reports.
    public var reports: [DirectedAdvertisingReport] = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.counted("Num_Reports", &reports)
    }
  }

  /// One report of HCI_LE_Directed_Advertising_Report (Vol 4, Part E, 7.7.65.11).
  public struct DirectedAdvertisingReport: FieldGroup {
    /// Event_Type: the kind of the advertisement.
    public var eventType = AdvertisingReportType.directed
    /// Address: type and address of the device.
    public var address = DeviceAddress.zero
    /// Direct_Address: the target of the advertisement.
    public var directAddress = DeviceAddress.zero
    /// RSSI in dBm; 127 if it is not available.
    public var rssi: Int8 = 127
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Event_Type[i]", &eventType)
      try field.address("Address_Type[i]", &address)
      try field.address("Direct_Address_Type[i]", &directAddress)
      try field.integer("RSSI[i]", &rssi)
    }
  }

  /// Advertisements and scan responses from extended scanning (HCI_LE_Extended_Advertising_Report, Vol 4, Part E,
  /// 7.7.65.13).
  public struct LEExtendedAdvertisingReport: LEEventParameters {
    public static let subeventCode = LESubeventCode.extendedAdvertisingReport
    public static let name: StaticString = "LE Extended Advertising Report"
    /// Num_Reports: the reports.
    public var reports: [ExtendedAdvertisingReport] = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.counted("Num_Reports", &reports)
    }
  }

  /// One report of HCI_LE_Extended_Advertising_Report (Vol 4, Part E, 7.7.65.13).
  public struct ExtendedAdvertisingReport: FieldGroup {
    /// Event_Type: the kind of the advertisement.
    public var eventType: ExtendedAdvertisingReportType = []
    /// Address: type and address of the device.
    public var address = DeviceAddress.zero
    /// Primary_PHY: the PHY of the primary channel.
    public var primaryPHY = PHY.le1M
    /// Secondary_PHY: the PHY of the secondary channel.
    public var secondaryPHY = PHY.none
    /// Advertising_SID; 0xFF if the advertisement has none.
    public var advertisingSID: UInt8 = 0xFF
    /// TX_Power in dBm; 127 if it is not available.
    public var txPower: Int8 = 127
    /// RSSI in dBm; 127 if it is not available.
    public var rssi: Int8 = 127
    /// Periodic_Advertising_Interval in units of 1.25 ms; 0 if there is no periodic advertising.
    public var periodicAdvertisingInterval: UInt16 = 0
    /// Direct_Address: the target of a directed advertisement.
    public var directAddress = DeviceAddress.zero
    /// Data, at most 229 octets; further reports continue it while the data status is
    /// ``ExtendedAdvertisingReportType/DataStatus/moreToCome``.
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

  /// The duration of a scan has ended (HCI_LE_Scan_Timeout, Vol 4, Part E, 7.7.65.17).
  public struct LEScanTimeout: LEEventParameters {
    public static let subeventCode = LESubeventCode.scanTimeout
    public static let name: StaticString = "LE Scan Timeout"
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {}
  }

  /// An advertising set has ended: by a connection, by its duration, or by its number of events
  /// (HCI_LE_Advertising_Set_Terminated, Vol 4, Part E, 7.7.65.18).
  public struct LEAdvertisingSetTerminated: LEEventParameters {
    public static let subeventCode = LESubeventCode.advertisingSetTerminated
    public static let name: StaticString = "LE Advertising Set Terminated"
    /// Status: success, or the reason of the failure.
    public var status = HCIErrorCode.success
    /// Advertising_Handle: the advertising set.
    public var advertisingHandle: UInt8 = 0
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// Num_Completed_Extended_Advertising_Events: the number of events that were sent.
    public var numCompletedExtendedAdvertisingEvents: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Status", &status)
      try field.integer("Advertising_Handle", &advertisingHandle)
      try field.value("Connection_Handle", &connectionHandle)
      try field.integer("Num_Completed_Extended_Advertising_Events", &numCompletedExtendedAdvertisingEvents)
    }
  }

  /// A scanner has sent a scan request to an advertising set (HCI_LE_Scan_Request_Received, Vol 4, Part E, 7.7.65.19).
  public struct LEScanRequestReceived: LEEventParameters {
    public static let subeventCode = LESubeventCode.scanRequestReceived
    public static let name: StaticString = "LE Scan Request Received"
    /// Advertising_Handle: the advertising set.
    public var advertisingHandle: UInt8 = 0
    /// Scanner_Address: type and address of the scanner.
    public var scannerAddress = DeviceAddress.zero
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Advertising_Handle", &advertisingHandle)
      try field.address("Scanner_Address_Type", &scannerAddress)
    }
  }
}
