public import BLEWire

extension HCI {
  /// Ends a link; Disconnection Complete tells when it is gone (HCI_Disconnect, Vol 4, Part E, 7.1.6).
  public struct Disconnect: HCICommand {
    public typealias Response = AnsweredByStatus
    public static var opcode: HCIOpcode { .disconnect }
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    public var reason = HCIErrorCode.remoteUserTerminatedConnection
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try field.value("Reason", &reason)
    }
  }

  /// Asks the peer's controller who made it and which version it is (HCI_Read_Remote_Version_Information, Vol 4, Part
  /// E, 7.1.23).
  public struct ReadRemoteVersionInformation: LinkCommand {
    public typealias Response = AnsweredByStatus
    public static var opcode: HCIOpcode { .readRemoteVersionInformation }
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    public init() {}
  }
}
