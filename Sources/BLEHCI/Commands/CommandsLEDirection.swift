public import BLEWire

extension HCIOpcode {
  /// HCI_LE_Set_Connectionless_CTE_Transmit_Parameters.
  public static let leSetConnectionlessCTETransmitParameters = Self(rawValue: 0x2051)
  /// HCI_LE_Set_Connectionless_CTE_Transmit_Enable.
  public static let leSetConnectionlessCTETransmitEnable = Self(rawValue: 0x2052)
  /// HCI_LE_Set_Connectionless_IQ_Sampling_Enable.
  public static let leSetConnectionlessIQSamplingEnable = Self(rawValue: 0x2053)
  /// HCI_LE_Set_Connection_CTE_Receive_Parameters.
  public static let leSetConnectionCTEReceiveParameters = Self(rawValue: 0x2054)
  /// HCI_LE_Set_Connection_CTE_Transmit_Parameters.
  public static let leSetConnectionCTETransmitParameters = Self(rawValue: 0x2055)
  /// HCI_LE_Connection_CTE_Request_Enable.
  public static let leConnectionCTERequestEnable = Self(rawValue: 0x2056)
  /// HCI_LE_Connection_CTE_Response_Enable.
  public static let leConnectionCTEResponseEnable = Self(rawValue: 0x2057)
  /// HCI_LE_Read_Antenna_Information.
  public static let leReadAntennaInformation = Self(rawValue: 0x2058)
}

extension HCI {
  /// Sets the Constant Tone Extensions of periodic advertising (HCI_LE_Set_Connectionless_CTE_Transmit_Parameters, Vol
  /// 4, Part E, 7.8.80).
  public struct LESetConnectionlessCTETransmitParameters: HCICommand {
    public static let opcode = HCIOpcode.leSetConnectionlessCTETransmitParameters
    public static let name: StaticString = "LE Set Connectionless CTE Transmit Parameters"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 39, bit: 5)
    /// Advertising_Handle: the advertising set.
    public var advertisingHandle: UInt8 = 0
    /// CTE_Length in units of 8 µs.
    public var cteLength: UInt8 = 0
    /// CTE_Type: 0x00 for AoA, 0x01 for AoD with 1 µs slots, 0x02 for AoD with 2 µs slots.
    public var cteType: UInt8 = 0
    /// CTE_Count: the number in each periodic advertising event.
    public var cteCount: UInt8 = 0
    /// Antenna_IDs: the antennas of the switching pattern, one octet each.
    public var antennaIDs: Bytes = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Advertising_Handle", &advertisingHandle)
      try field.integer("CTE_Length", &cteLength)
      try field.integer("CTE_Type", &cteType)
      try field.integer("CTE_Count", &cteCount)
      try field.counted("Antenna_IDs", &antennaIDs)
    }
  }

  /// Enables or disables the Constant Tone Extensions of periodic advertising
  /// (HCI_LE_Set_Connectionless_CTE_Transmit_Enable, Vol 4, Part E, 7.8.81).
  public struct LESetConnectionlessCTETransmitEnable: HCICommand {
    public static let opcode = HCIOpcode.leSetConnectionlessCTETransmitEnable
    public static let name: StaticString = "LE Set Connectionless CTE Transmit Enable"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 39, bit: 6)
    /// Advertising_Handle: the advertising set.
    public var advertisingHandle: UInt8 = 0
    /// CTE_Enable: whether they are enabled.
    public var cteEnable = false
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Advertising_Handle", &advertisingHandle)
      try field.flag("CTE_Enable", &cteEnable)
    }
  }

  /// Enables or disables sampling of the Constant Tone Extensions of a periodic advertiser
  /// (HCI_LE_Set_Connectionless_IQ_Sampling_Enable, Vol 4, Part E, 7.8.82).
  public struct LESetConnectionlessIQSamplingEnable: HCICommand {
    /// Status and periodic advertising train.
    public typealias Response = SyncResponse
    public static let opcode = HCIOpcode.leSetConnectionlessIQSamplingEnable
    public static let name: StaticString = "LE Set Connectionless IQ Sampling Enable"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 39, bit: 7)
    /// Sync_Handle: the periodic advertising train.
    public var syncHandle: UInt16 = 0
    /// Sampling_Enable: whether sampling is enabled.
    public var samplingEnable = false
    /// Slot_Durations: 0x01 for 1 µs, 0x02 for 2 µs.
    public var slotDurations: UInt8 = 0
    /// Max_Sampled_CTEs: the largest number in each periodic advertising event; 0 for all.
    public var maxSampledCTEs: UInt8 = 0
    /// Antenna_IDs: the antennas of the switching pattern, one octet each.
    public var antennaIDs: Bytes = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Sync_Handle", &syncHandle)
      try field.flag("Sampling_Enable", &samplingEnable)
      try field.integer("Slot_Durations", &slotDurations)
      try field.integer("Max_Sampled_CTEs", &maxSampledCTEs)
      try field.counted("Antenna_IDs", &antennaIDs)
    }
  }

  /// Sets the sampling of the Constant Tone Extensions on a link (HCI_LE_Set_Connection_CTE_Receive_Parameters, Vol 4,
  /// Part E, 7.8.83).
  public struct LESetConnectionCTEReceiveParameters: HCICommand {
    /// Status and link.
    public typealias Response = LinkResponse
    public static let opcode = HCIOpcode.leSetConnectionCTEReceiveParameters
    public static let name: StaticString = "LE Set Connection CTE Receive Parameters"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 40, bit: 0)
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// Sampling_Enable: whether sampling is enabled.
    public var samplingEnable = false
    /// Slot_Durations: 0x01 for 1 µs, 0x02 for 2 µs.
    public var slotDurations: UInt8 = 0
    /// Antenna_IDs: the antennas of the switching pattern, one octet each.
    public var antennaIDs: Bytes = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try field.flag("Sampling_Enable", &samplingEnable)
      try field.integer("Slot_Durations", &slotDurations)
      try field.counted("Antenna_IDs", &antennaIDs)
    }
  }

  /// Sets the responses to requests for Constant Tone Extensions on a link
  /// (HCI_LE_Set_Connection_CTE_Transmit_Parameters, Vol 4, Part E, 7.8.84).
  public struct LESetConnectionCTETransmitParameters: HCICommand {
    /// Status and link.
    public typealias Response = LinkResponse
    public static let opcode = HCIOpcode.leSetConnectionCTETransmitParameters
    public static let name: StaticString = "LE Set Connection CTE Transmit Parameters"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 40, bit: 1)
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// CTE_Types: bit 0 for AoA, bit 1 for AoD with 1 µs slots, bit 2 for AoD with 2 µs slots.
    public var cteTypes: UInt8 = 0
    /// Antenna_IDs: the antennas of the switching pattern, one octet each.
    public var antennaIDs: Bytes = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try field.integer("CTE_Types", &cteTypes)
      try field.counted("Antenna_IDs", &antennaIDs)
    }
  }

  /// Starts or stops requests for Constant Tone Extensions on a link (HCI_LE_Connection_CTE_Request_Enable, Vol 4, Part
  /// E, 7.8.85).
  public struct LEConnectionCTERequestEnable: HCICommand {
    /// Status and link.
    public typealias Response = LinkResponse
    public static let opcode = HCIOpcode.leConnectionCTERequestEnable
    public static let name: StaticString = "LE Connection CTE Request Enable"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 40, bit: 2)
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// Enable: whether it is enabled.
    public var enable = false
    /// CTE_Request_Interval in connection events; 0 for a single request.
    public var cteRequestInterval: UInt16 = 0
    /// Requested_CTE_Length in units of 8 µs.
    public var requestedCTELength: UInt8 = 0
    /// Requested_CTE_Type: 0x00 for AoA, 0x01 for AoD with 1 µs slots, 0x02 for AoD with 2 µs slots.
    public var requestedCTEType: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try field.flag("Enable", &enable)
      try field.integer("CTE_Request_Interval", &cteRequestInterval)
      try field.integer("Requested_CTE_Length", &requestedCTELength)
      try field.integer("Requested_CTE_Type", &requestedCTEType)
    }
  }

  /// Enables or disables responses to requests for Constant Tone Extensions on a link
  /// (HCI_LE_Connection_CTE_Response_Enable, Vol 4, Part E, 7.8.86).
  public struct LEConnectionCTEResponseEnable: HCICommand {
    /// Status and link.
    public typealias Response = LinkResponse
    public static let opcode = HCIOpcode.leConnectionCTEResponseEnable
    public static let name: StaticString = "LE Connection CTE Response Enable"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 40, bit: 3)
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// Enable: whether it is enabled.
    public var enable = false
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try field.flag("Enable", &enable)
    }
  }

  /// Reads the antennas and switching rates of the controller (HCI_LE_Read_Antenna_Information, Vol 4, Part E, 7.8.87).
  public struct LEReadAntennaInformation: ParameterlessCommand {
    public static let opcode = HCIOpcode.leReadAntennaInformation
    public static let name: StaticString = "LE Read Antenna Information"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 40, bit: 4)
    public init() {}

    /// The return parameters of the command.
    public struct Response: ReturnParameters {
      /// Status: success, or the reason of the failure.
      public var status = HCIErrorCode.success
      /// Supported_Switching_Sampling_Rates: bit 0 for AoD transmission, bit 1 for AoD reception, bit 2 for AoA, each
      /// at 1 µs.
      public var supportedSwitchingSamplingRates: UInt8 = 0
      /// Num_Antennae: the number of antennas.
      public var numAntennae: UInt8 = 0
      /// Max_Switching_Pattern_Length: the largest number of antennas in a switching pattern.
      public var maxSwitchingPatternLength: UInt8 = 0
      /// Max_CTE_Length in units of 8 µs.
      public var maxCTELength: UInt8 = 0
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try field.integer("Supported_Switching_Sampling_Rates", &supportedSwitchingSamplingRates)
        try field.integer("Num_Antennae", &numAntennae)
        try field.integer("Max_Switching_Pattern_Length", &maxSwitchingPatternLength)
        try field.integer("Max_CTE_Length", &maxCTELength)
      }
    }
  }
}
