public import BLEWire

extension HCI {
  /// Return parameters with the status alone.
  public struct StatusResponse: ReturnParameters {
    /// Status: success, or the reason of the failure.
    public var status = HCIErrorCode.success
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Status", &status)
    }
  }

  /// Return parameters with status and link.
  public struct LinkResponse: ReturnParameters {
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

  /// Return parameters with status and advertising set.
  public struct AdvertisingSetResponse: ReturnParameters {
    /// Status: success, or the reason of the failure.
    public var status = HCIErrorCode.success
    /// Advertising_Handle: the advertising set.
    public var advertisingHandle: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Status", &status)
      try field.integer("Advertising_Handle", &advertisingHandle)
    }
  }

  /// Return parameters with status and periodic advertising train.
  public struct SyncResponse: ReturnParameters {
    /// Status: success, or the reason of the failure.
    public var status = HCIErrorCode.success
    /// Sync_Handle: the periodic advertising train.
    public var syncHandle: UInt16 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Status", &status)
      try field.integer("Sync_Handle", &syncHandle)
    }
  }

  /// Return parameters with status, group and handles of connected isochronous streams.
  public struct CIGResponse: ReturnParameters {
    /// Status: success, or the reason of the failure.
    public var status = HCIErrorCode.success
    /// CIG_ID: the group of streams.
    public var cigID: UInt8 = 0
    /// CIS_Count: the streams.
    public var streams: [LinkReference] = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Status", &status)
      try field.integer("CIG_ID", &cigID)
      try field.counted("CIS_Count", &streams)
    }
  }

  /// Return parameters with the counters of a receive test on an isochronous stream.
  public struct ISOTestCounters: ReturnParameters {
    /// Status: success, or the reason of the failure.
    public var status = HCIErrorCode.success
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// Received_SDU_Count: the number of SDUs that were received.
    public var receivedSDUCount: UInt32 = 0
    /// Missed_SDU_Count: the number of SDUs that were not received.
    public var missedSDUCount: UInt32 = 0
    /// Failed_SDU_Count: the number of SDUs that were received in error.
    public var failedSDUCount: UInt32 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Status", &status)
      try field.value("Connection_Handle", &connectionHandle)
      try field.integer("Received_SDU_Count", &receivedSDUCount)
      try field.integer("Missed_SDU_Count", &missedSDUCount)
      try field.integer("Failed_SDU_Count", &failedSDUCount)
    }
  }

  /// The status in the Command Status event that answers a command.
  public struct AnsweredByStatus: ReturnParameters {
    /// Status: success, or the reason of the failure.
    public var status = HCIErrorCode.success
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Status", &status)
    }
  }
}
