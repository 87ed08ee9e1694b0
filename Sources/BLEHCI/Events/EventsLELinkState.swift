public import BLEWire

extension LESubeventCode {
  /// HCI_LE_Long_Term_Key_Request.
  public static let longTermKeyRequest = Self(rawValue: 0x05)
  /// HCI_LE_Read_Local_P-256_Public_Key_Complete.
  public static let readLocalP256PublicKeyComplete = Self(rawValue: 0x08)
  /// HCI_LE_Generate_DHKey_Complete.
  public static let generateDHKeyComplete = Self(rawValue: 0x09)
  /// HCI_LE_Path_Loss_Threshold.
  public static let pathLossThreshold = Self(rawValue: 0x20)
  /// HCI_LE_Transmit_Power_Reporting.
  public static let transmitPowerReporting = Self(rawValue: 0x21)
}

extension HCI {
  /// The central starts encryption, and the controller requests the key (HCI_LE_Long_Term_Key_Request, Vol 4, Part E,
  /// 7.7.65.5).
  public struct LELongTermKeyRequest: LEEventParameters {
    public static let subeventCode = LESubeventCode.longTermKeyRequest
    public static let name: StaticString = "LE Long Term Key Request"
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// Random_Number: the random number.
    public var randomNumber: UInt64 = 0
    /// Encrypted_Diversifier: the diversifier of the key.
    public var encryptedDiversifier: UInt16 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try field.integer("Random_Number", &randomNumber)
      try field.integer("Encrypted_Diversifier", &encryptedDiversifier)
    }
  }

  /// The public key of a new key pair (HCI_LE_Read_Local_P-256_Public_Key_Complete, Vol 4, Part E, 7.7.65.8).
  public struct LEReadLocalP256PublicKeyComplete: LEEventParameters {
    public static let subeventCode = LESubeventCode.readLocalP256PublicKeyComplete
    public static let name: StaticString = "LE Read Local P-256 Public Key Complete"
    /// Status: success, or the reason of the failure.
    public var status = HCIErrorCode.success
    /// Key_X_Coordinate, 32 octets, least significant first.
    public var keyXCoordinate: Bytes = []
    /// Key_Y_Coordinate, 32 octets, least significant first.
    public var keyYCoordinate: Bytes = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Status", &status)
      try field.octets("Key_X_Coordinate", count: 32, &keyXCoordinate)
      try field.octets("Key_Y_Coordinate", count: 32, &keyYCoordinate)
    }
  }

  /// The DHKey with a peer (HCI_LE_Generate_DHKey_Complete, Vol 4, Part E, 7.7.65.9).
  public struct LEGenerateDHKeyComplete: LEEventParameters {
    public static let subeventCode = LESubeventCode.generateDHKeyComplete
    public static let name: StaticString = "LE Generate DHKey Complete"
    /// Status: success, or the reason of the failure.
    public var status = HCIErrorCode.success
    /// DH_Key, 32 octets, least significant first.
    public var dhKey: Bytes = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Status", &status)
      try field.octets("DH_Key", count: 32, &dhKey)
    }
  }

  /// The path loss of a link has entered another zone (HCI_LE_Path_Loss_Threshold, Vol 4, Part E, 7.7.65.32).
  public struct LEPathLossThreshold: LEEventParameters {
    public static let subeventCode = LESubeventCode.pathLossThreshold
    public static let name: StaticString = "LE Path Loss Threshold"
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// Current_Path_Loss in dB; 0xFF if it is not available.
    public var currentPathLoss: UInt8 = 0xFF
    /// Zone_Entered: 0x00 for low, 0x01 for middle, 0x02 for high path loss.
    public var zoneEntered: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try field.integer("Current_Path_Loss", &currentPathLoss)
      try field.integer("Zone_Entered", &zoneEntered)
    }
  }

  /// The transmit power of a link has changed or was read (HCI_LE_Transmit_Power_Reporting, Vol 4, Part E, 7.7.65.33).
  public struct LETransmitPowerReporting: LEEventParameters {
    public static let subeventCode = LESubeventCode.transmitPowerReporting
    public static let name: StaticString = "LE Transmit Power Reporting"
    /// Status: success, or the reason of the failure.
    public var status = HCIErrorCode.success
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// Reason: 0x00 for a change of the local power, 0x01 for one of the remote power, 0x02 for a completed read.
    public var reason: UInt8 = 0
    /// PHY: 0x01 for LE 1M, 0x02 for LE 2M, 0x03 for LE Coded with S=8, 0x04 for LE Coded with S=2.
    public var phy: UInt8 = 0
    /// TX_Power_Level in dBm; 126 not managed, 127 not known.
    public var txPowerLevel: Int8 = 0
    /// TX_Power_Level_Flag: bit 0 for the minimum, bit 1 for the maximum.
    public var txPowerLevelFlag: UInt8 = 0
    /// Delta in dB; 127 if it is not available.
    public var delta: Int8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Status", &status)
      try field.value("Connection_Handle", &connectionHandle)
      try field.integer("Reason", &reason)
      try field.integer("PHY", &phy)
      try field.integer("TX_Power_Level", &txPowerLevel)
      try field.integer("TX_Power_Level_Flag", &txPowerLevelFlag)
      try field.integer("Delta", &delta)
    }
  }
}
