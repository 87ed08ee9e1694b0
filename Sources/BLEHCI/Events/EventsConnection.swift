public import BLEWire

extension HCIEventCode {
  /// HCI_Disconnection_Complete.
  public static let disconnectionComplete = Self(rawValue: 0x05)
  /// HCI_Encryption_Change [v1].
  public static let encryptionChange = Self(rawValue: 0x08)
  /// HCI_Encryption_Change [v2].
  public static let encryptionChangeV2 = Self(rawValue: 0x59)
  /// HCI_Encryption_Key_Refresh_Complete.
  public static let encryptionKeyRefreshComplete = Self(rawValue: 0x30)
  /// HCI_Read_Remote_Version_Information_Complete.
  public static let readRemoteVersionInformationComplete = Self(rawValue: 0x0C)
  /// HCI_Authenticated_Payload_Timeout_Expired.
  public static let authenticatedPayloadTimeoutExpired = Self(rawValue: 0x57)
}

extension HCI {
  /// A link has ended (HCI_Disconnection_Complete, Vol 4, Part E, 7.7.5).
  public struct DisconnectionComplete: HCIEventParameters {
    public static let eventCode = HCIEventCode.disconnectionComplete
    public static let name: StaticString = "Disconnection Complete"
    /// Status: success, or the reason of the failure.
    public var status = HCIErrorCode.success
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// Reason: the reason.
    public var reason = HCIErrorCode.remoteUserTerminatedConnection
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Status", &status)
      try field.value("Connection_Handle", &connectionHandle)
      try field.value("Reason", &reason)
    }
  }

  /// The encryption of a link has changed (HCI_Encryption_Change [v1], Vol 4, Part E, 7.7.8).
  public struct EncryptionChange: HCIEventParameters {
    public static let eventCode = HCIEventCode.encryptionChange
    public static let name: StaticString = "Encryption Change [v1]"
    /// Status: success, or the reason of the failure.
    public var status = HCIErrorCode.success
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// Encryption_Enabled: the state of the encryption.
    public var encryptionEnabled = EncryptionEnabled.off
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Status", &status)
      try field.value("Connection_Handle", &connectionHandle)
      try field.value("Encryption_Enabled", &encryptionEnabled)
    }
  }

  /// The encryption of a link has changed, with the size of the key (HCI_Encryption_Change [v2], Vol 4, Part E, 7.7.8).
  public struct EncryptionChangeV2: HCIEventParameters {
    public static let eventCode = HCIEventCode.encryptionChangeV2
    public static let name: StaticString = "Encryption Change [v2]"
    /// Status: success, or the reason of the failure.
    public var status = HCIErrorCode.success
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// Encryption_Enabled: the state of the encryption.
    public var encryptionEnabled = EncryptionEnabled.off
    /// Encryption_Key_Size in octets, 1 to 16.
    public var encryptionKeySize: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Status", &status)
      try field.value("Connection_Handle", &connectionHandle)
      try field.value("Encryption_Enabled", &encryptionEnabled)
      try field.integer("Encryption_Key_Size", &encryptionKeySize)
    }
  }

  /// An encrypted link has a new key (HCI_Encryption_Key_Refresh_Complete, Vol 4, Part E, 7.7.39).
  public struct EncryptionKeyRefreshComplete: HCIEventParameters {
    public static let eventCode = HCIEventCode.encryptionKeyRefreshComplete
    public static let name: StaticString = "Encryption Key Refresh Complete"
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

  /// Version and manufacturer of the peer's controller (HCI_Read_Remote_Version_Information_Complete, Vol 4, Part E,
  /// 7.7.12).
  public struct ReadRemoteVersionInformationComplete: HCIEventParameters {
    public static let eventCode = HCIEventCode.readRemoteVersionInformationComplete
    public static let name: StaticString = "Read Remote Version Information Complete"
    /// Status: success, or the reason of the failure.
    public var status = HCIErrorCode.success
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// Version: the Link Layer version, an assigned number.
    public var version: UInt8 = 0
    /// Company_Identifier: the manufacturer, an assigned number.
    public var companyIdentifier: UInt16 = 0
    /// Subversion, defined by the manufacturer.
    public var subversion: UInt16 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Status", &status)
      try field.value("Connection_Handle", &connectionHandle)
      try field.integer("Version", &version)
      try field.integer("Company_Identifier", &companyIdentifier)
      try field.integer("Subversion", &subversion)
    }
  }

  /// A link had no authenticated packet within the timeout (HCI_Authenticated_Payload_Timeout_Expired, Vol 4, Part E,
  /// 7.7.75).
  public struct AuthenticatedPayloadTimeoutExpired: HCIEventParameters {
    public static let eventCode = HCIEventCode.authenticatedPayloadTimeoutExpired
    public static let name: StaticString = "Authenticated Payload Timeout Expired"
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
    }
  }
}
