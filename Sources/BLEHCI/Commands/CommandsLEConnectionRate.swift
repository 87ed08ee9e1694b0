public import BLEWire

extension HCIOpcode {
  /// HCI_LE_Connection_Rate_Request.
  public static let leConnectionRateRequest = Self(rawValue: 0x20A1)
  /// HCI_LE_Set_Default_Rate_Parameters.
  public static let leSetDefaultRateParameters = Self(rawValue: 0x20A2)
  /// HCI_LE_Read_Minimum_Supported_Connection_Interval.
  public static let leReadMinimumSupportedConnectionInterval = Self(rawValue: 0x20A3)
}

extension HCI {
  /// Requests another interval and other subrating parameters for a link, in one step
  /// (HCI_LE_Connection_Rate_Request, Vol 4, Part E, 7.8.154).
  public struct LEConnectionRateRequest: HCICommand {
    /// A Command Status event answers the command.
    public typealias Response = AnsweredByStatus
    public static let opcode = HCIOpcode.leConnectionRateRequest
    public static let name: StaticString = "LE Connection Rate Request"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 48, bit: 5)
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// The interval and the subrating parameters.
    public var parameters = ConnectionRateParameters()
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try parameters.layout(&field)
    }
  }

  /// Sets the connection rate that peers of later links may request (HCI_LE_Set_Default_Rate_Parameters, Vol 4, Part E,
  /// 7.8.155).
  public struct LESetDefaultRateParameters: HCICommand {
    public static let opcode = HCIOpcode.leSetDefaultRateParameters
    public static let name: StaticString = "LE Set Default Rate Parameters"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 48, bit: 6)
    /// The interval and the subrating parameters.
    public var parameters = ConnectionRateParameters()
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try parameters.layout(&field)
    }
  }

  /// Reads the connection intervals that the controller supports (HCI_LE_Read_Minimum_Supported_Connection_Interval,
  /// Vol 4, Part E, 7.8.156).
  public struct LEReadMinimumSupportedConnectionInterval: ParameterlessCommand {
    public static let opcode = HCIOpcode.leReadMinimumSupportedConnectionInterval
    public static let name: StaticString = "LE Read Minimum Supported Connection Interval"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 48, bit: 7)
    public init() {}

    /// The return parameters of the command.
    public struct Response: ReturnParameters {
      /// Status: success, or the reason of the failure.
      public var status = HCIErrorCode.success
      /// Minimum_Supported_Connection_Interval in units of 125 us.
      public var minimumSupportedConnectionInterval: UInt8 = 0
      /// Num_Groups: the groups of intervals that the controller supports.
      public var groups: [ConnectionIntervalGroup] = []
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try field.integer("Minimum_Supported_Connection_Interval", &minimumSupportedConnectionInterval)
        try field.counted("Num_Groups", &groups)
      }
    }
  }

  /// Intervals that a controller supports: each that is the least plus a multiple of the stride, up to the greatest
  /// (Vol 4, Part E, 7.8.156).
  public struct ConnectionIntervalGroup: FieldGroup {
    /// Group_Min in units of 125 us.
    public var groupMin: UInt16 = 0
    /// Group_Max in units of 125 us.
    public var groupMax: UInt16 = 0
    /// Group_Stride in units of 125 us.
    public var groupStride: UInt16 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Group_Min[i]", &groupMin)
      try field.integer("Group_Max[i]", &groupMax)
      try field.integer("Group_Stride[i]", &groupStride)
    }
  }

  /// The interval and the subrating parameters that a host requests (Vol 4, Part E, 7.8.154).
  public struct ConnectionRateParameters: FieldGroup {
    /// Connection_Interval_Min in units of 125 us, 0x0003 to 0x7D00.
    public var connectionIntervalMin: UInt16 = 60
    /// Connection_Interval_Max in units of 125 us, 0x0003 to 0x7D00.
    public var connectionIntervalMax: UInt16 = 60
    /// Subrate_Min: the smallest subrate factor, 1 to 500.
    public var subrateMin: UInt16 = 1
    /// Subrate_Max: the largest subrate factor, 1 to 500.
    public var subrateMax: UInt16 = 1
    /// Max_Latency in subrated connection events, 0 to 499.
    public var maxLatency: UInt16 = 0
    /// Continuation_Number in connection events, 0 to 499.
    public var continuationNumber: UInt16 = 0
    /// Supervision_Timeout in units of 10 ms, 0x000A to 0x0C80.
    public var supervisionTimeout: UInt16 = 42
    /// Min_CE_Length in units of 125 us.
    public var minCELength: UInt16 = 1
    /// Max_CE_Length in units of 125 us.
    public var maxCELength: UInt16 = 0x3E7F
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Connection_Interval_Min", &connectionIntervalMin)
      try field.integer("Connection_Interval_Max", &connectionIntervalMax)
      try field.integer("Subrate_Min", &subrateMin)
      try field.integer("Subrate_Max", &subrateMax)
      try field.integer("Max_Latency", &maxLatency)
      try field.integer("Continuation_Number", &continuationNumber)
      try field.integer("Supervision_Timeout", &supervisionTimeout)
      try field.integer("Min_CE_Length", &minCELength)
      try field.integer("Max_CE_Length", &maxCELength)
    }

    /// The subrating parameters alone.
    public var subrating: SubrateParameters {
      SubrateParameters {
        $0.subrateMin = subrateMin
        $0.subrateMax = subrateMax
        $0.maxLatency = maxLatency
        $0.continuationNumber = continuationNumber
        $0.supervisionTimeout = supervisionTimeout
      }
    }

    /// Whether a controller accepts the values, individually and in combination (Vol 4, Part E, 7.8.154), whatever
    /// intervals it supports.
    public var isValid: Bool {
      let intervals = LinkLayerLimits.connectionRateInterval
      return intervals.contains(connectionIntervalMin) && intervals.contains(connectionIntervalMax)
        && connectionIntervalMin <= connectionIntervalMax && minCELength <= maxCELength && subrating.isValid
        && LinkLayerLimits.allows(
          supervisionTimeout: supervisionTimeout, latency: maxLatency, subrateFactor: subrateMax,
          rateInterval: UInt32(connectionIntervalMax))
    }
  }
}
