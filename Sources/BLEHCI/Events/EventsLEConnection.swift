public import BLEWire

extension LESubeventCode {
  /// HCI_LE_Connection_Complete.
  public static let connectionComplete = Self(rawValue: 0x01)
  /// HCI_LE_Enhanced_Connection_Complete [v1].
  public static let enhancedConnectionComplete = Self(rawValue: 0x0A)
  /// HCI_LE_Enhanced_Connection_Complete [v2].
  public static let enhancedConnectionCompleteV2 = Self(rawValue: 0x29)
  /// HCI_LE_Connection_Update_Complete.
  public static let connectionUpdateComplete = Self(rawValue: 0x03)
  /// HCI_LE_Read_Remote_Features_Complete.
  public static let readRemoteFeaturesComplete = Self(rawValue: 0x04)
  /// HCI_LE_Remote_Connection_Parameter_Request.
  public static let remoteConnectionParameterRequest = Self(rawValue: 0x06)
  /// HCI_LE_Data_Length_Change.
  public static let dataLengthChange = Self(rawValue: 0x07)
  /// HCI_LE_PHY_Update_Complete.
  public static let phyUpdateComplete = Self(rawValue: 0x0C)
  /// HCI_LE_Channel_Selection_Algorithm.
  public static let channelSelectionAlgorithm = Self(rawValue: 0x14)
  /// HCI_LE_Request_Peer_SCA_Complete.
  public static let requestPeerSCAComplete = Self(rawValue: 0x1F)
  /// HCI_LE_Subrate_Change.
  public static let subrateChange = Self(rawValue: 0x23)
  /// HCI_LE_Read_All_Remote_Features_Complete.
  public static let readAllRemoteFeaturesComplete = Self(rawValue: 0x2B)
  /// HCI_LE_Connection_Rate_Change.
  public static let connectionRateChange = Self(rawValue: 0x37)
}

extension HCI {
  /// The result of a connection attempt (HCI_LE_Connection_Complete, Vol 4, Part E, 7.7.65.1).
  public struct LEConnectionComplete: LEEventParameters {
    public static let subeventCode = LESubeventCode.connectionComplete
    public static let name: StaticString = "LE Connection Complete"
    /// Status: success, or the reason of the failure.
    public var status = HCIErrorCode.success
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// Role: the role of this device.
    public var role = Role.central
    /// Peer_Address: type and address of the peer.
    public var peerAddress = DeviceAddress.zero
    /// Connection_Interval in units of 1.25 ms.
    public var connectionInterval: UInt16 = 0
    /// Peripheral_Latency in connection events.
    public var peripheralLatency: UInt16 = 0
    /// Supervision_Timeout in units of 10 ms.
    public var supervisionTimeout: UInt16 = 0
    /// Central_Clock_Accuracy: the clock accuracy of the central.
    public var centralClockAccuracy = ClockAccuracy(rawValue: 0)
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Status", &status)
      try field.value("Connection_Handle", &connectionHandle)
      try field.value("Role", &role)
      try field.address("Peer_Address_Type", &peerAddress)
      try field.integer("Connection_Interval", &connectionInterval)
      try field.integer("Peripheral_Latency", &peripheralLatency)
      try field.integer("Supervision_Timeout", &supervisionTimeout)
      try field.value("Central_Clock_Accuracy", &centralClockAccuracy)
    }
  }

  /// The result of a connection attempt, with the private addresses (HCI_LE_Enhanced_Connection_Complete [v1], Vol 4,
  /// Part E, 7.7.65.10).
  public struct LEEnhancedConnectionComplete: LEEventParameters {
    public static let subeventCode = LESubeventCode.enhancedConnectionComplete
    public static let name: StaticString = "LE Enhanced Connection Complete [v1]"
    /// Status: success, or the reason of the failure.
    public var status = HCIErrorCode.success
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// Role: the role of this device.
    public var role = Role.central
    /// Peer_Address: type and address of the peer.
    public var peerAddress = DeviceAddress.zero
    /// Local_Resolvable_Private_Address: the private address that the controller generated; zero for none.
    public var localResolvablePrivateAddress = BD_ADDR()
    /// Peer_Resolvable_Private_Address: the private address of the peer; zero for none.
    public var peerResolvablePrivateAddress = BD_ADDR()
    /// Connection_Interval in units of 1.25 ms.
    public var connectionInterval: UInt16 = 0
    /// Peripheral_Latency in connection events.
    public var peripheralLatency: UInt16 = 0
    /// Supervision_Timeout in units of 10 ms.
    public var supervisionTimeout: UInt16 = 0
    /// Central_Clock_Accuracy: the clock accuracy of the central.
    public var centralClockAccuracy = ClockAccuracy(rawValue: 0)
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Status", &status)
      try field.value("Connection_Handle", &connectionHandle)
      try field.value("Role", &role)
      try field.address("Peer_Address_Type", &peerAddress)
      try localResolvablePrivateAddress.layout(&field)
      try peerResolvablePrivateAddress.layout(&field)
      try field.integer("Connection_Interval", &connectionInterval)
      try field.integer("Peripheral_Latency", &peripheralLatency)
      try field.integer("Supervision_Timeout", &supervisionTimeout)
      try field.value("Central_Clock_Accuracy", &centralClockAccuracy)
    }
  }

  /// The result of a connection attempt, with the private addresses and the advertising set or train
  /// (HCI_LE_Enhanced_Connection_Complete [v2], Vol 4, Part E, 7.7.65.10).
  public struct LEEnhancedConnectionCompleteV2: LEEventParameters {
    public static let subeventCode = LESubeventCode.enhancedConnectionCompleteV2
    public static let name: StaticString = "LE Enhanced Connection Complete [v2]"
    /// The parameters of version 1.
    public var connection = LEEnhancedConnectionComplete()
    /// Advertising_Handle: the advertising set of the connection; 0xFF for none.
    public var advertisingHandle: UInt8 = 0xFF
    /// Sync_Handle: the periodic advertising train of the connection; 0x0FFF for none.
    public var syncHandle: UInt16 = 0x0FFF
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try connection.layout(&field)
      try field.integer("Advertising_Handle", &advertisingHandle)
      try field.integer("Sync_Handle", &syncHandle)
    }
  }

  /// The result of a connection update (HCI_LE_Connection_Update_Complete, Vol 4, Part E, 7.7.65.3).
  public struct LEConnectionUpdateComplete: LEEventParameters {
    public static let subeventCode = LESubeventCode.connectionUpdateComplete
    public static let name: StaticString = "LE Connection Update Complete"
    /// Status: success, or the reason of the failure.
    public var status = HCIErrorCode.success
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// Connection_Interval in units of 1.25 ms.
    public var connectionInterval: UInt16 = 0
    /// Peripheral_Latency in connection events.
    public var peripheralLatency: UInt16 = 0
    /// Supervision_Timeout in units of 10 ms.
    public var supervisionTimeout: UInt16 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Status", &status)
      try field.value("Connection_Handle", &connectionHandle)
      try field.integer("Connection_Interval", &connectionInterval)
      try field.integer("Peripheral_Latency", &peripheralLatency)
      try field.integer("Supervision_Timeout", &supervisionTimeout)
    }
  }

  /// The LE features of the peer (HCI_LE_Read_Remote_Features_Complete, Vol 4, Part E, 7.7.65.4).
  public struct LEReadRemoteFeaturesComplete: LEEventParameters {
    public static let subeventCode = LESubeventCode.readRemoteFeaturesComplete
    public static let name: StaticString = "LE Read Remote Features Complete"
    /// Status: success, or the reason of the failure.
    public var status = HCIErrorCode.success
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// LE_Features: the features.
    public var features: LEFeatures = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Status", &status)
      try field.value("Connection_Handle", &connectionHandle)
      try field.value("LE_Features", &features)
    }
  }

  /// The peer requests other connection parameters; the host replies (HCI_LE_Remote_Connection_Parameter_Request, Vol
  /// 4, Part E, 7.7.65.6).
  public struct LERemoteConnectionParameterRequest: LEEventParameters {
    public static let subeventCode = LESubeventCode.remoteConnectionParameterRequest
    public static let name: StaticString = "LE Remote Connection Parameter Request"
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// Interval_Min in units of 1.25 ms.
    public var intervalMin: UInt16 = 0
    /// Interval_Max in units of 1.25 ms.
    public var intervalMax: UInt16 = 0
    /// Max_Latency in connection events.
    public var maxLatency: UInt16 = 0
    /// Timeout in units of 10 ms.
    public var timeout: UInt16 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try field.integer("Interval_Min", &intervalMin)
      try field.integer("Interval_Max", &intervalMax)
      try field.integer("Max_Latency", &maxLatency)
      try field.integer("Timeout", &timeout)
    }
  }

  /// The longest Link Layer packets of a link have changed (HCI_LE_Data_Length_Change, Vol 4, Part E, 7.7.65.7).
  public struct LEDataLengthChange: LEEventParameters {
    public static let subeventCode = LESubeventCode.dataLengthChange
    public static let name: StaticString = "LE Data Length Change"
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// Max_TX_Octets in octets, 27 to 251.
    public var maxTXOctets: UInt16 = 0
    /// Max_TX_Time in microseconds.
    public var maxTXTime: UInt16 = 0
    /// Max_RX_Octets in octets, 27 to 251.
    public var maxRXOctets: UInt16 = 0
    /// Max_RX_Time in microseconds.
    public var maxRXTime: UInt16 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try field.integer("Max_TX_Octets", &maxTXOctets)
      try field.integer("Max_TX_Time", &maxTXTime)
      try field.integer("Max_RX_Octets", &maxRXOctets)
      try field.integer("Max_RX_Time", &maxRXTime)
    }
  }

  /// The result of a PHY update (HCI_LE_PHY_Update_Complete, Vol 4, Part E, 7.7.65.12).
  public struct LEPHYUpdateComplete: LEEventParameters {
    public static let subeventCode = LESubeventCode.phyUpdateComplete
    public static let name: StaticString = "LE PHY Update Complete"
    /// Status: success, or the reason of the failure.
    public var status = HCIErrorCode.success
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// TX_PHY: the PHY for transmission.
    public var txPHY = PHY.le1M
    /// RX_PHY: the PHY for reception.
    public var rxPHY = PHY.le1M
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Status", &status)
      try field.value("Connection_Handle", &connectionHandle)
      try field.value("TX_PHY", &txPHY)
      try field.value("RX_PHY", &rxPHY)
    }
  }

  /// The channel selection algorithm of a new link (HCI_LE_Channel_Selection_Algorithm, Vol 4, Part E, 7.7.65.20).
  public struct LEChannelSelectionAlgorithm: LEEventParameters {
    public static let subeventCode = LESubeventCode.channelSelectionAlgorithm
    public static let name: StaticString = "LE Channel Selection Algorithm"
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// Channel_Selection_Algorithm: 0x00 for algorithm #1, 0x01 for algorithm #2.
    public var channelSelectionAlgorithm: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try field.integer("Channel_Selection_Algorithm", &channelSelectionAlgorithm)
    }
  }

  /// The sleep clock accuracy of the peer (HCI_LE_Request_Peer_SCA_Complete, Vol 4, Part E, 7.7.65.31).
  public struct LERequestPeerSCAComplete: LEEventParameters {
    public static let subeventCode = LESubeventCode.requestPeerSCAComplete
    public static let name: StaticString = "LE Request Peer SCA Complete"
    /// Status: success, or the reason of the failure.
    public var status = HCIErrorCode.success
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// Peer_Clock_Accuracy: the clock accuracy of the peer.
    public var peerClockAccuracy = ClockAccuracy(rawValue: 0)
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Status", &status)
      try field.value("Connection_Handle", &connectionHandle)
      try field.value("Peer_Clock_Accuracy", &peerClockAccuracy)
    }
  }

  /// The subrating of a link has changed (HCI_LE_Subrate_Change, Vol 4, Part E, 7.7.65.35).
  public struct LESubrateChange: LEEventParameters {
    public static let subeventCode = LESubeventCode.subrateChange
    public static let name: StaticString = "LE Subrate Change"
    /// Status: success, or the reason of the failure.
    public var status = HCIErrorCode.success
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// Subrate_Factor in connection events.
    public var subrateFactor: UInt16 = 0
    /// Peripheral_Latency in subrated connection events.
    public var peripheralLatency: UInt16 = 0
    /// Continuation_Number in connection events.
    public var continuationNumber: UInt16 = 0
    /// Supervision_Timeout in units of 10 ms.
    public var supervisionTimeout: UInt16 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Status", &status)
      try field.value("Connection_Handle", &connectionHandle)
      try field.integer("Subrate_Factor", &subrateFactor)
      try field.integer("Peripheral_Latency", &peripheralLatency)
      try field.integer("Continuation_Number", &continuationNumber)
      try field.integer("Supervision_Timeout", &supervisionTimeout)
    }
  }

  /// The pages of features of the peer (HCI_LE_Read_All_Remote_Features_Complete, Vol 4, Part E, 7.7.65.38).
  public struct LEReadAllRemoteFeaturesComplete: LEEventParameters {
    public static let subeventCode = LESubeventCode.readAllRemoteFeaturesComplete
    public static let name: StaticString = "LE Read All Remote Features Complete"
    /// Status: success, or the reason of the failure.
    public var status = HCIErrorCode.success
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// Max_Remote_Page: the highest page of the peer that has a feature, 0 to 10.
    public var maxRemotePage: UInt8 = 0
    /// Max_Valid_Page: the highest page that ``features`` has, 0 to 10.
    public var maxValidPage: UInt8 = 0
    /// LE_Features: the features; those of later pages than ``maxValidPage`` are zero.
    public var features = LEFeaturePages()
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Status", &status)
      try field.value("Connection_Handle", &connectionHandle)
      try field.integer("Max_Remote_Page", &maxRemotePage)
      try field.integer("Max_Valid_Page", &maxValidPage)
      try features.layout(&field)
    }
  }

  /// The interval and the subrating of a link have changed (HCI_LE_Connection_Rate_Change, Vol 4, Part E, 7.7.65.50).
  public struct LEConnectionRateChange: LEEventParameters {
    public static let subeventCode = LESubeventCode.connectionRateChange
    public static let name: StaticString = "LE Connection Rate Change"
    /// Status: success, or the reason of the failure.
    public var status = HCIErrorCode.success
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// Connection_Interval in units of 125 us.
    public var connectionInterval: UInt16 = 0
    /// Subrate_Factor in connection events.
    public var subrateFactor: UInt16 = 0
    /// Peripheral_Latency in subrated connection events.
    public var peripheralLatency: UInt16 = 0
    /// Continuation_Number in connection events.
    public var continuationNumber: UInt16 = 0
    /// Supervision_Timeout in units of 10 ms.
    public var supervisionTimeout: UInt16 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Status", &status)
      try field.value("Connection_Handle", &connectionHandle)
      try field.integer("Connection_Interval", &connectionInterval)
      try field.integer("Subrate_Factor", &subrateFactor)
      try field.integer("Peripheral_Latency", &peripheralLatency)
      try field.integer("Continuation_Number", &continuationNumber)
      try field.integer("Supervision_Timeout", &supervisionTimeout)
    }
  }
}
