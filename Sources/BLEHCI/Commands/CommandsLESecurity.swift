public import BLEWire

extension HCIOpcode {
  /// HCI_LE_Encrypt.
  public static let leEncrypt = Self(rawValue: 0x2017)
  /// HCI_LE_Rand.
  public static let leRand = Self(rawValue: 0x2018)
  /// HCI_LE_Enable_Encryption.
  public static let leEnableEncryption = Self(rawValue: 0x2019)
  /// HCI_LE_Long_Term_Key_Request_Reply.
  public static let leLongTermKeyRequestReply = Self(rawValue: 0x201A)
  /// HCI_LE_Long_Term_Key_Request_Negative_Reply.
  public static let leLongTermKeyRequestNegativeReply = Self(rawValue: 0x201B)
  /// HCI_LE_Read_Local_P-256_Public_Key.
  public static let leReadLocalP256PublicKey = Self(rawValue: 0x2025)
  /// HCI_LE_Generate_DHKey [v1].
  public static let leGenerateDHKey = Self(rawValue: 0x2026)
  /// HCI_LE_Generate_DHKey [v2].
  public static let leGenerateDHKeyV2 = Self(rawValue: 0x205E)
}

extension HCI {
  /// Encrypts one block with AES-128 (HCI_LE_Encrypt, Vol 4, Part E, 7.8.22).
  public struct LEEncrypt: HCICommand {
    public static let opcode = HCIOpcode.leEncrypt
    public static let name: StaticString = "LE Encrypt"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 27, bit: 6)
    /// Key, a number of 128 bits; it is sent least significant octet first.
    public var key: UInt128 = 0
    /// Plaintext_Data, a number of 128 bits; it is sent least significant octet first.
    public var plaintextData: UInt128 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Key", &key)
      try field.integer("Plaintext_Data", &plaintextData)
    }

    /// The return parameters of the command.
    public struct Response: ReturnParameters {
      /// Status: success, or the reason of the failure.
      public var status = HCIErrorCode.success
      /// Encrypted_Data, a number of 128 bits; it is sent least significant octet first.
      public var encryptedData: UInt128 = 0
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try field.integer("Encrypted_Data", &encryptedData)
      }
    }
  }

  /// Generates a random number of 64 bits (HCI_LE_Rand, Vol 4, Part E, 7.8.23).
  public struct LERand: ParameterlessCommand {
    public static let opcode = HCIOpcode.leRand
    public static let name: StaticString = "LE Rand"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 27, bit: 7)
    public init() {}

    /// The return parameters of the command.
    public struct Response: ReturnParameters {
      /// Status: success, or the reason of the failure.
      public var status = HCIErrorCode.success
      /// Random_Number: the random number.
      public var randomNumber: UInt64 = 0
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try field.integer("Random_Number", &randomNumber)
      }
    }
  }

  /// Encrypts a link or refreshes its key; the host of the central sends it (HCI_LE_Enable_Encryption, Vol 4, Part E,
  /// 7.8.24).
  public struct LEEnableEncryption: HCICommand {
    /// A Command Status event answers the command.
    public typealias Response = AnsweredByStatus
    public static let opcode = HCIOpcode.leEnableEncryption
    public static let name: StaticString = "LE Enable Encryption"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 28, bit: 0)
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// Random_Number; zero for a key of LE Secure Connections.
    public var randomNumber: UInt64 = 0
    /// Encrypted_Diversifier; zero for a key of LE Secure Connections.
    public var encryptedDiversifier: UInt16 = 0
    /// Long_Term_Key, a number of 128 bits; it is sent least significant octet first.
    public var longTermKey: UInt128 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try field.integer("Random_Number", &randomNumber)
      try field.integer("Encrypted_Diversifier", &encryptedDiversifier)
      try field.integer("Long_Term_Key", &longTermKey)
    }
  }

  /// Supplies the key with which the central encrypts the link (HCI_LE_Long_Term_Key_Request_Reply, Vol 4, Part E,
  /// 7.8.25).
  public struct LELongTermKeyRequestReply: HCICommand {
    /// Status and link.
    public typealias Response = LinkResponse
    public static let opcode = HCIOpcode.leLongTermKeyRequestReply
    public static let name: StaticString = "LE Long Term Key Request Reply"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 28, bit: 1)
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    /// Long_Term_Key, a number of 128 bits; it is sent least significant octet first.
    public var longTermKey: UInt128 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Connection_Handle", &connectionHandle)
      try field.integer("Long_Term_Key", &longTermKey)
    }
  }

  /// Reports that the host has no key for the central (HCI_LE_Long_Term_Key_Request_Negative_Reply, Vol 4, Part E,
  /// 7.8.26).
  public struct LELongTermKeyRequestNegativeReply: LinkCommand {
    /// Status and link.
    public typealias Response = LinkResponse
    public static let opcode = HCIOpcode.leLongTermKeyRequestNegativeReply
    public static let name: StaticString = "LE Long Term Key Request Negative Reply"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 28, bit: 2)
    /// Connection_Handle: the link.
    public var connectionHandle = ConnectionHandle(rawValue: 0)
    public init() {}
  }

  /// Generates a key pair and reads its public key (HCI_LE_Read_Local_P-256_Public_Key, Vol 4, Part E, 7.8.36).
  public struct LEReadLocalP256PublicKey: ParameterlessCommand {
    /// A Command Status event answers the command.
    public typealias Response = AnsweredByStatus
    public static let opcode = HCIOpcode.leReadLocalP256PublicKey
    public static let name: StaticString = "LE Read Local P-256 Public Key"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 34, bit: 1)
    public init() {}
  }

  /// Computes the DHKey with the public key of a peer (HCI_LE_Generate_DHKey [v1], Vol 4, Part E, 7.8.37).
  public struct LEGenerateDHKey: HCICommand {
    /// A Command Status event answers the command.
    public typealias Response = AnsweredByStatus
    public static let opcode = HCIOpcode.leGenerateDHKey
    public static let name: StaticString = "LE Generate DHKey [v1]"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 34, bit: 2)
    /// Key_X_Coordinate, 32 octets, least significant first.
    public var keyXCoordinate: Bytes = []
    /// Key_Y_Coordinate, 32 octets, least significant first.
    public var keyYCoordinate: Bytes = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.octets("Key_X_Coordinate", count: 32, &keyXCoordinate)
      try field.octets("Key_Y_Coordinate", count: 32, &keyYCoordinate)
    }
  }

  /// Computes the DHKey with the public key of a peer and a choice of the private key (HCI_LE_Generate_DHKey [v2], Vol
  /// 4, Part E, 7.8.37).
  public struct LEGenerateDHKeyV2: HCICommand {
    /// A Command Status event answers the command.
    public typealias Response = AnsweredByStatus
    public static let opcode = HCIOpcode.leGenerateDHKeyV2
    public static let name: StaticString = "LE Generate DHKey [v2]"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 41, bit: 2)
    /// Key_X_Coordinate, 32 octets, least significant first.
    public var keyXCoordinate: Bytes = []
    /// Key_Y_Coordinate, 32 octets, least significant first.
    public var keyYCoordinate: Bytes = []
    /// Key_Type: 0x00 for the generated private key, 0x01 for the debug key.
    public var keyType: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.octets("Key_X_Coordinate", count: 32, &keyXCoordinate)
      try field.octets("Key_Y_Coordinate", count: 32, &keyYCoordinate)
      try field.integer("Key_Type", &keyType)
    }
  }
}
