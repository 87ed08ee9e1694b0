public import BLEWire

extension HCI {
  /// Return parameters that are the status alone.
  public struct StatusResponse: ReturnParameters {
    public var status = HCIErrorCode.success
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Status", &status)
    }
  }

  /// Return parameters that are the status and the link.
  public struct LinkResponse: ReturnParameters {
    public var status = HCIErrorCode.success
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Status", &status)
      try field.value("Connection_Handle", &connectionHandle)
    }
  }

  /// Return parameters that are the status and the advertising set.
  public struct AdvertisingSetResponse: ReturnParameters {
    public var status = HCIErrorCode.success
    public var advertisingHandle: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Status", &status)
      try field.integer("Advertising_Handle", &advertisingHandle)
    }
  }

  /// Return parameters that are the status and the periodic advertising train.
  public struct SyncResponse: ReturnParameters {
    public var status = HCIErrorCode.success
    public var syncHandle: UInt16 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Status", &status)
      try field.integer("Sync_Handle", &syncHandle)
    }
  }

  /// Return parameters that are the status, a group of connected isochronous streams and the streams' handles.
  public struct CIGResponse: ReturnParameters {
    public var status = HCIErrorCode.success
    public var cigID: UInt8 = 0
    public var streams: [LinkReference] = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Status", &status)
      try field.integer("CIG_ID", &cigID)
      try field.counted("CIS_Count", &streams)
    }
  }

  /// Return parameters that are the counters of a receive test on a stream.
  public struct ISOTestCounters: ReturnParameters {
    public var status = HCIErrorCode.success
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    public var receivedSDUCount: UInt32 = 0
    public var missedSDUCount: UInt32 = 0
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

  /// Marks a command that a Command Status event answers; the status is all there is.
  public struct AnsweredByStatus: ReturnParameters {
    public var status = HCIErrorCode.success
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Status", &status)
    }
  }
}
