public import BLEWire

extension LESubeventCode {
  /// HCI_LE_Long_Term_Key_Request.
  public static let longTermKeyRequest = Self(rawValue: 0x05)
  /// HCI_LE_Read_Local_P-256_Public_Key_Complete.
  public static let readLocalP256PublicKeyComplete = Self(rawValue: 0x08)
  /// HCI_LE_Generate_DHKey_Complete.
  public static let generateDHKeyComplete = Self(rawValue: 0x09)
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
}
