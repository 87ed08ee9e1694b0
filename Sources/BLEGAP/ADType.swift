public import BLEWire

/// The type of an AD structure (Assigned Numbers, 2.3; formats in the Core Specification Supplement, Part A).
///
/// A new type is added here, with its name below, and in ``ADElement`` if its data is decoded.
public struct ADType: AssignedNumber {
  public var rawValue: UInt8
  @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Flags (0x01).
  public static let flags = Self(rawValue: 0x01)
  /// Incomplete List of 16-bit Service UUIDs (0x02).
  public static let incompleteServiceUUIDs16 = Self(rawValue: 0x02)
  /// Complete List of 16-bit Service UUIDs (0x03).
  public static let completeServiceUUIDs16 = Self(rawValue: 0x03)
  /// Incomplete List of 32-bit Service UUIDs (0x04).
  public static let incompleteServiceUUIDs32 = Self(rawValue: 0x04)
  /// Complete List of 32-bit Service UUIDs (0x05).
  public static let completeServiceUUIDs32 = Self(rawValue: 0x05)
  /// Incomplete List of 128-bit Service UUIDs (0x06).
  public static let incompleteServiceUUIDs128 = Self(rawValue: 0x06)
  /// Complete List of 128-bit Service UUIDs (0x07).
  public static let completeServiceUUIDs128 = Self(rawValue: 0x07)
  /// Shortened Local Name (0x08).
  public static let shortenedLocalName = Self(rawValue: 0x08)
  /// Complete Local Name (0x09).
  public static let completeLocalName = Self(rawValue: 0x09)
  /// TX Power Level (0x0A).
  public static let txPowerLevel = Self(rawValue: 0x0A)
  /// Class of Device (0x0D).
  public static let classOfDevice = Self(rawValue: 0x0D)
  /// Simple Pairing Hash C-192 (0x0E).
  public static let simplePairingHashC192 = Self(rawValue: 0x0E)
  /// Simple Pairing Randomizer R-192 (0x0F).
  public static let simplePairingRandomizerR192 = Self(rawValue: 0x0F)
  /// Security Manager TK Value (0x10).
  ///
  /// Out of band only. In an extended inquiry response of BR/EDR the same number is the Device ID.
  public static let securityManagerTKValue = Self(rawValue: 0x10)
  /// Security Manager Out of Band Flags (0x11).
  public static let securityManagerOOBFlags = Self(rawValue: 0x11)
  /// Peripheral Connection Interval Range (0x12).
  public static let peripheralConnectionIntervalRange = Self(rawValue: 0x12)
  /// List of 16-bit Service Solicitation UUIDs (0x14).
  public static let serviceSolicitation16 = Self(rawValue: 0x14)
  /// List of 128-bit Service Solicitation UUIDs (0x15).
  public static let serviceSolicitation128 = Self(rawValue: 0x15)
  /// Service Data (16-bit UUID) (0x16).
  public static let serviceData16 = Self(rawValue: 0x16)
  /// Public Target Address (0x17).
  public static let publicTargetAddress = Self(rawValue: 0x17)
  /// Random Target Address (0x18).
  public static let randomTargetAddress = Self(rawValue: 0x18)
  /// Appearance (0x19).
  public static let appearance = Self(rawValue: 0x19)
  /// Advertising Interval (0x1A).
  public static let advertisingInterval = Self(rawValue: 0x1A)
  /// LE Bluetooth Device Address (0x1B).
  public static let leBluetoothDeviceAddress = Self(rawValue: 0x1B)
  /// LE Role (0x1C).
  public static let leRole = Self(rawValue: 0x1C)
  /// Simple Pairing Hash C-256 (0x1D).
  public static let simplePairingHashC256 = Self(rawValue: 0x1D)
  /// Simple Pairing Randomizer R-256 (0x1E).
  public static let simplePairingRandomizerR256 = Self(rawValue: 0x1E)
  /// List of 32-bit Service Solicitation UUIDs (0x1F).
  public static let serviceSolicitation32 = Self(rawValue: 0x1F)
  /// Service Data (32-bit UUID) (0x20).
  public static let serviceData32 = Self(rawValue: 0x20)
  /// Service Data (128-bit UUID) (0x21).
  public static let serviceData128 = Self(rawValue: 0x21)
  /// LE Secure Connections Confirmation Value (0x22).
  public static let leSecureConnectionsConfirmationValue = Self(rawValue: 0x22)
  /// LE Secure Connections Random Value (0x23).
  public static let leSecureConnectionsRandomValue = Self(rawValue: 0x23)
  /// URI (0x24).
  public static let uri = Self(rawValue: 0x24)
  /// Indoor Positioning (0x25).
  public static let indoorPositioning = Self(rawValue: 0x25)
  /// Transport Discovery Data (0x26).
  public static let transportDiscoveryData = Self(rawValue: 0x26)
  /// LE Supported Features (0x27).
  public static let leSupportedFeatures = Self(rawValue: 0x27)
  /// Channel Map Update Indication (0x28).
  public static let channelMapUpdateIndication = Self(rawValue: 0x28)
  /// PB-ADV (0x29).
  public static let pbADV = Self(rawValue: 0x29)
  /// Mesh Message (0x2A).
  public static let meshMessage = Self(rawValue: 0x2A)
  /// Mesh Beacon (0x2B).
  public static let meshBeacon = Self(rawValue: 0x2B)
  /// BIGInfo (0x2C).
  public static let bigInfo = Self(rawValue: 0x2C)
  /// Broadcast_Code (0x2D).
  public static let broadcastCode = Self(rawValue: 0x2D)
  /// Resolvable Set Identifier (0x2E).
  public static let resolvableSetIdentifier = Self(rawValue: 0x2E)
  /// Advertising Interval - long (0x2F).
  public static let advertisingIntervalLong = Self(rawValue: 0x2F)
  /// Broadcast_Name (0x30).
  public static let broadcastName = Self(rawValue: 0x30)
  /// Encrypted Advertising Data (0x31).
  public static let encryptedData = Self(rawValue: 0x31)
  /// Periodic Advertising Response Timing Information (0x32).
  public static let periodicAdvertisingResponseTiming = Self(rawValue: 0x32)
  /// Electronic Shelf Label (0x34).
  public static let electronicShelfLabel = Self(rawValue: 0x34)
  /// 3D Information Data (0x3D).
  public static let threeDInformationData = Self(rawValue: 0x3D)
  /// Manufacturer Specific Data (0xFF).
  public static let manufacturerSpecificData = Self(rawValue: 0xFF)
}

extension ADType {
  public static let spaceName: StaticString = "AD type"

  public static let names: [Self: StaticString] = [
    .flags: "Flags",
    .incompleteServiceUUIDs16: "Incomplete List of 16-bit Service UUIDs",
    .completeServiceUUIDs16: "Complete List of 16-bit Service UUIDs",
    .incompleteServiceUUIDs32: "Incomplete List of 32-bit Service UUIDs",
    .completeServiceUUIDs32: "Complete List of 32-bit Service UUIDs",
    .incompleteServiceUUIDs128: "Incomplete List of 128-bit Service UUIDs",
    .completeServiceUUIDs128: "Complete List of 128-bit Service UUIDs",
    .shortenedLocalName: "Shortened Local Name",
    .completeLocalName: "Complete Local Name",
    .txPowerLevel: "TX Power Level",
    .classOfDevice: "Class of Device",
    .simplePairingHashC192: "Simple Pairing Hash C-192",
    .simplePairingRandomizerR192: "Simple Pairing Randomizer R-192",
    .securityManagerTKValue: "Security Manager TK Value",
    .securityManagerOOBFlags: "Security Manager Out of Band Flags",
    .peripheralConnectionIntervalRange: "Peripheral Connection Interval Range",
    .serviceSolicitation16: "List of 16-bit Service Solicitation UUIDs",
    .serviceSolicitation128: "List of 128-bit Service Solicitation UUIDs",
    .serviceData16: "Service Data (16-bit UUID)",
    .publicTargetAddress: "Public Target Address",
    .randomTargetAddress: "Random Target Address",
    .appearance: "Appearance",
    .advertisingInterval: "Advertising Interval",
    .leBluetoothDeviceAddress: "LE Bluetooth Device Address",
    .leRole: "LE Role",
    .simplePairingHashC256: "Simple Pairing Hash C-256",
    .simplePairingRandomizerR256: "Simple Pairing Randomizer R-256",
    .serviceSolicitation32: "List of 32-bit Service Solicitation UUIDs",
    .serviceData32: "Service Data (32-bit UUID)",
    .serviceData128: "Service Data (128-bit UUID)",
    .leSecureConnectionsConfirmationValue: "LE Secure Connections Confirmation Value",
    .leSecureConnectionsRandomValue: "LE Secure Connections Random Value",
    .uri: "URI",
    .indoorPositioning: "Indoor Positioning",
    .transportDiscoveryData: "Transport Discovery Data",
    .leSupportedFeatures: "LE Supported Features",
    .channelMapUpdateIndication: "Channel Map Update Indication",
    .pbADV: "PB-ADV",
    .meshMessage: "Mesh Message",
    .meshBeacon: "Mesh Beacon",
    .bigInfo: "BIGInfo",
    .broadcastCode: "Broadcast_Code",
    .resolvableSetIdentifier: "Resolvable Set Identifier",
    .advertisingIntervalLong: "Advertising Interval - long",
    .broadcastName: "Broadcast_Name",
    .encryptedData: "Encrypted Advertising Data",
    .periodicAdvertisingResponseTiming: "Periodic Advertising Response Timing Information",
    .electronicShelfLabel: "Electronic Shelf Label",
    .threeDInformationData: "3D Information Data",
    .manufacturerSpecificData: "Manufacturer Specific Data",
  ]
}
