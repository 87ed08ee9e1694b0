public import BLEWire

extension HCIOpcode {
  /// HCI_LE_Set_Scan_Parameters.
  public static let leSetScanParameters = Self(rawValue: 0x200B)
  /// HCI_LE_Set_Scan_Enable.
  public static let leSetScanEnable = Self(rawValue: 0x200C)
  /// HCI_LE_Set_Extended_Scan_Parameters.
  public static let leSetExtendedScanParameters = Self(rawValue: 0x2041)
  /// HCI_LE_Set_Extended_Scan_Enable.
  public static let leSetExtendedScanEnable = Self(rawValue: 0x2042)
}

extension HCI {
  /// Sets the parameters of legacy scanning (HCI_LE_Set_Scan_Parameters, Vol 4, Part E, 7.8.10).
  public struct LESetScanParameters: HCICommand {
    public static let opcode = HCIOpcode.leSetScanParameters
    public static let name: StaticString = "LE Set Scan Parameters"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 26, bit: 2)
    /// LE_Scan_Type: passive or active scanning.
    public var scanType = ScanType.passive
    /// LE_Scan_Interval in units of 0.625 ms, 0x0004 to 0x4000.
    public var scanInterval: UInt16 = 0x0010
    /// LE_Scan_Window in units of 0.625 ms, 0x0004 to 0x4000.
    public var scanWindow: UInt16 = 0x0010
    /// Own_Address_Type: the address that the controller sends.
    public var ownAddressType = OwnAddressType.public
    /// Scanning_Filter_Policy: the advertisers that are reported.
    public var scanningFilterPolicy = ScanningFilterPolicy.all
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("LE_Scan_Type", &scanType)
      try field.integer("LE_Scan_Interval", &scanInterval)
      try field.integer("LE_Scan_Window", &scanWindow)
      try field.value("Own_Address_Type", &ownAddressType)
      try field.value("Scanning_Filter_Policy", &scanningFilterPolicy)
    }
  }

  /// Enables or disables legacy scanning (HCI_LE_Set_Scan_Enable, Vol 4, Part E, 7.8.11).
  public struct LESetScanEnable: HCICommand {
    public static let opcode = HCIOpcode.leSetScanEnable
    public static let name: StaticString = "LE Set Scan Enable"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 26, bit: 3)
    /// LE_Scan_Enable: whether it is enabled.
    public var scanEnable = false
    /// Filter_Duplicates: the treatment of duplicates.
    public var filterDuplicates = false
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.flag("LE_Scan_Enable", &scanEnable)
      try field.flag("Filter_Duplicates", &filterDuplicates)
    }
  }

  /// Sets the parameters of extended scanning on each PHY (HCI_LE_Set_Extended_Scan_Parameters, Vol 4, Part E, 7.8.64).
  public struct LESetExtendedScanParameters: HCICommand {
    public static let opcode = HCIOpcode.leSetExtendedScanParameters
    public static let name: StaticString = "LE Set Extended Scan Parameters"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 37, bit: 5)
    /// Own_Address_Type: the address that the controller sends.
    public var ownAddressType = OwnAddressType.public
    /// Scanning_Filter_Policy: the advertisers that are reported.
    public var scanningFilterPolicy = ScanningFilterPolicy.all
    /// Scanning_PHYs: LE 1M, LE Coded or both, each with an entry in ``scans``.
    public var scanningPHYs: PHYs = []
    /// Scan_Parameters: the parameters for each PHY.
    public var scans: [ScanParameters] = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Own_Address_Type", &ownAddressType)
      try field.value("Scanning_Filter_Policy", &scanningFilterPolicy)
      try field.value("Scanning_PHYs", &scanningPHYs)
      try field.list("Scan_Parameters[i]", count: scanningPHYs.count, &scans)
    }
  }

  /// The parameters of HCI_LE_Set_Extended_Scan_Parameters for one PHY (Vol 4, Part E, 7.8.64).
  public struct ScanParameters: FieldGroup {
    /// Scan_Type: passive or active scanning.
    public var scanType = ScanType.passive
    /// Scan_Interval in units of 0.625 ms.
    public var scanInterval: UInt16 = 0x0010
    /// Scan_Window in units of 0.625 ms.
    public var scanWindow: UInt16 = 0x0010
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Scan_Type[i]", &scanType)
      try field.integer("Scan_Interval[i]", &scanInterval)
      try field.integer("Scan_Window[i]", &scanWindow)
    }
  }

  /// Enables or disables extended scanning (HCI_LE_Set_Extended_Scan_Enable, Vol 4, Part E, 7.8.65).
  public struct LESetExtendedScanEnable: HCICommand {
    public static let opcode = HCIOpcode.leSetExtendedScanEnable
    public static let name: StaticString = "LE Set Extended Scan Enable"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 37, bit: 6)
    /// Enable: whether it is enabled.
    public var enable = false
    /// Filter_Duplicates: the treatment of duplicates.
    public var filterDuplicates = DuplicateFiltering.disabled
    /// Duration in units of 10 ms; 0 for no limit.
    public var duration: UInt16 = 0
    /// Period in units of 1.28 s; 0 for a single scan.
    public var period: UInt16 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.flag("Enable", &enable)
      try field.value("Filter_Duplicates", &filterDuplicates)
      try field.integer("Duration", &duration)
      try field.integer("Period", &period)
    }
  }
}
