public import BLEWire

extension HCIOpcode {
  /// HCI_Disconnect.
  public static let disconnect = Self(rawValue: 0x0406)
  /// HCI_Read_Remote_Version_Information.
  public static let readRemoteVersionInformation = Self(rawValue: 0x041D)
}

extension HCI {
  /// Ends a link; Disconnection Complete tells when it is gone (HCI_Disconnect, Vol 4, Part E, 7.1.6).
  public struct Disconnect: HCICommand {
    public typealias Response = AnsweredByStatus
    public static let opcode = HCIOpcode.disconnect
    public static let name: StaticString = "Disconnect"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 0, bit: 5)
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
    public static let opcode = HCIOpcode.readRemoteVersionInformation
    public static let name: StaticString = "Read Remote Version Information"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 2, bit: 7)
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    public init() {}
  }
}
