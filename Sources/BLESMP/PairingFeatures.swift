public import BLEWire

/// The features that two devices exchange at the beginning of a pairing: the parameters of ``PairingRequest`` and
/// ``PairingResponse`` (Vol 3, Part H, 3.5.1 and 3.5.2).
public struct PairingFeatures: FieldGroup, Hashable {
  /// The input and output of the device.
  public var ioCapability = IOCapability.noInputNoOutput
  /// Whether the device has out-of-band data of the other device.
  public var oobDataFlag = OOBDataFlag.notPresent
  /// The requirements of the device.
  public var authReq: AuthenticationRequirements = []
  /// The longest encryption key that the device supports, in octets, 7 to 16.
  public var maximumEncryptionKeySize: UInt8 = 16
  /// The keys that the initiator distributes.
  public var initiatorKeyDistribution: KeyDistribution = []
  /// The keys that the responder distributes.
  public var responderKeyDistribution: KeyDistribution = []

  public init() {}

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("IO Capability", &ioCapability)
    try field.value("OOB data flag", &oobDataFlag)
    try field.value("AuthReq", &authReq)
    try field.integer("Maximum Encryption Key Size", &maximumEncryptionKeySize)
    try field.value("Initiator Key Distribution", &initiatorKeyDistribution)
    try field.value("Responder Key Distribution", &responderKeyDistribution)
  }
}

/// The input and output of a device (Vol 3, Part H, 3.5.1, table 3.4). Other numbers are reserved.
public struct IOCapability: AssignedNumber {
  public var rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// DisplayOnly (0x00): the device can show six digits.
  public static let displayOnly = Self(rawValue: 0x00)
  /// DisplayYesNo (0x01): the device can show six digits, and its user can answer yes or no.
  public static let displayYesNo = Self(rawValue: 0x01)
  /// KeyboardOnly (0x02): the user can enter six digits.
  public static let keyboardOnly = Self(rawValue: 0x02)
  /// NoInputNoOutput (0x03).
  public static let noInputNoOutput = Self(rawValue: 0x03)
  /// KeyboardDisplay (0x04): the device can show six digits, and its user can enter six digits.
  public static let keyboardDisplay = Self(rawValue: 0x04)

  public static let spaceName: StaticString = "IO capability"
  public static let names: [Self: StaticString] = [
    .displayOnly: "DisplayOnly", .displayYesNo: "DisplayYesNo", .keyboardOnly: "KeyboardOnly",
    .noInputNoOutput: "NoInputNoOutput", .keyboardDisplay: "KeyboardDisplay",
  ]
}

/// Whether a device has out-of-band data of the other device (Vol 3, Part H, 3.5.1, table 3.5). Other numbers are
/// reserved.
public struct OOBDataFlag: AssignedNumber {
  public var rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// OOB Authentication data not present (0x00).
  public static let notPresent = Self(rawValue: 0x00)
  /// OOB Authentication data from remote device present (0x01).
  public static let present = Self(rawValue: 0x01)

  public static let spaceName: StaticString = "OOB data flag"
  public static let names: [Self: StaticString] = [
    .notPresent: "OOB Authentication data not present",
    .present: "OOB Authentication data from remote device present",
  ]
}

/// The requirements of a device: the field AuthReq (Vol 3, Part H, 3.5.1, figure 3.3). Reserved bits are kept.
public struct AuthenticationRequirements: AssignedBits {
  public var rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Bonding (bit 0): the device stores the keys. It is the lower of the two Bonding_Flags; the other is reserved.
  public static let bonding = Self(rawValue: 0x01)
  /// MITM (bit 2): protection against a man in the middle, by an authenticated association model.
  public static let mitm = Self(rawValue: 0x04)
  /// SC (bit 3): LE Secure Connections.
  public static let secureConnections = Self(rawValue: 0x08)
  /// Keypress (bit 4): keypress notifications during passkey entry.
  public static let keypress = Self(rawValue: 0x10)
  /// CT2 (bit 5): the function h7 is supported (``SecurityToolbox/linkKey(fromLTK:ct2:)``).
  public static let ct2 = Self(rawValue: 0x20)

  public static let names: [Self: StaticString] = [
    .bonding: "Bonding", .mitm: "MITM", .secureConnections: "SC", .keypress: "Keypress", .ct2: "CT2",
  ]
}

/// The keys that a device distributes (Vol 3, Part H, 3.6.1, figure 3.11). Reserved bits are kept.
public struct KeyDistribution: AssignedBits {
  public var rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// EncKey (bit 0): LTK, EDIV and Rand, in legacy pairing only.
  public static let encKey = Self(rawValue: 0x01)
  /// IdKey (bit 1): IRK and identity address.
  public static let idKey = Self(rawValue: 0x02)
  /// SignKey (bit 2): CSRK.
  public static let signKey = Self(rawValue: 0x04)
  /// LinkKey (bit 3): the BR/EDR link key is derived from the LTK, in Secure Connections only.
  public static let linkKey = Self(rawValue: 0x08)

  public static let names: [Self: StaticString] = [
    .encKey: "EncKey", .idKey: "IdKey", .signKey: "SignKey", .linkKey: "LinkKey",
  ]
}
