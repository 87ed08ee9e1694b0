/// What an AD structure holds (Assigned Numbers, 2.3; formats in the Core Specification Supplement, Part A).
public struct ADType: RawRepresentable, Hashable, Sendable {
  public var rawValue: UInt8
  @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let flags = Self(rawValue: 0x01)
  public static let incompleteServiceUUIDs16 = Self(rawValue: 0x02)
  public static let completeServiceUUIDs16 = Self(rawValue: 0x03)
  public static let incompleteServiceUUIDs32 = Self(rawValue: 0x04)
  public static let completeServiceUUIDs32 = Self(rawValue: 0x05)
  public static let incompleteServiceUUIDs128 = Self(rawValue: 0x06)
  public static let completeServiceUUIDs128 = Self(rawValue: 0x07)
  public static let shortenedLocalName = Self(rawValue: 0x08)
  public static let completeLocalName = Self(rawValue: 0x09)
  public static let txPowerLevel = Self(rawValue: 0x0A)
  public static let classOfDevice = Self(rawValue: 0x0D)
  public static let simplePairingHashC192 = Self(rawValue: 0x0E)
  public static let simplePairingRandomizerR192 = Self(rawValue: 0x0F)
  /// Out of band; in an extended inquiry response of BR/EDR the same number is the Device ID.
  public static let securityManagerTKValue = Self(rawValue: 0x10)
  public static let securityManagerOOBFlags = Self(rawValue: 0x11)
  public static let peripheralConnectionIntervalRange = Self(rawValue: 0x12)
  public static let serviceSolicitation16 = Self(rawValue: 0x14)
  public static let serviceSolicitation128 = Self(rawValue: 0x15)
  public static let serviceData16 = Self(rawValue: 0x16)
  public static let publicTargetAddress = Self(rawValue: 0x17)
  public static let randomTargetAddress = Self(rawValue: 0x18)
  public static let appearance = Self(rawValue: 0x19)
  public static let advertisingInterval = Self(rawValue: 0x1A)
  public static let leBluetoothDeviceAddress = Self(rawValue: 0x1B)
  public static let leRole = Self(rawValue: 0x1C)
  public static let simplePairingHashC256 = Self(rawValue: 0x1D)
  public static let simplePairingRandomizerR256 = Self(rawValue: 0x1E)
  public static let serviceSolicitation32 = Self(rawValue: 0x1F)
  public static let serviceData32 = Self(rawValue: 0x20)
  public static let serviceData128 = Self(rawValue: 0x21)
  public static let leSecureConnectionsConfirmationValue = Self(rawValue: 0x22)
  public static let leSecureConnectionsRandomValue = Self(rawValue: 0x23)
  public static let uri = Self(rawValue: 0x24)
  public static let indoorPositioning = Self(rawValue: 0x25)
  public static let transportDiscoveryData = Self(rawValue: 0x26)
  public static let leSupportedFeatures = Self(rawValue: 0x27)
  public static let channelMapUpdateIndication = Self(rawValue: 0x28)
  public static let pbADV = Self(rawValue: 0x29)
  public static let meshMessage = Self(rawValue: 0x2A)
  public static let meshBeacon = Self(rawValue: 0x2B)
  public static let bigInfo = Self(rawValue: 0x2C)
  public static let broadcastCode = Self(rawValue: 0x2D)
  public static let resolvableSetIdentifier = Self(rawValue: 0x2E)
  public static let advertisingIntervalLong = Self(rawValue: 0x2F)
  public static let broadcastName = Self(rawValue: 0x30)
  public static let encryptedData = Self(rawValue: 0x31)
  public static let periodicAdvertisingResponseTiming = Self(rawValue: 0x32)
  public static let electronicShelfLabel = Self(rawValue: 0x34)
  public static let threeDInformationData = Self(rawValue: 0x3D)
  public static let manufacturerSpecificData = Self(rawValue: 0xFF)
}

extension ADType: CustomStringConvertible {
  /// The name in the Assigned Numbers.
  public var description: String {
    Self.names[rawValue] ?? "AD type 0x" + (rawValue < 16 ? "0" : "") + String(rawValue, radix: 16, uppercase: true)
  }

  private static let names: [UInt8: String] = [
    0x01: "Flags",
    0x02: "Incomplete List of 16-bit Service UUIDs", 0x03: "Complete List of 16-bit Service UUIDs",
    0x04: "Incomplete List of 32-bit Service UUIDs", 0x05: "Complete List of 32-bit Service UUIDs",
    0x06: "Incomplete List of 128-bit Service UUIDs", 0x07: "Complete List of 128-bit Service UUIDs",
    0x08: "Shortened Local Name", 0x09: "Complete Local Name", 0x0A: "TX Power Level", 0x0D: "Class of Device",
    0x0E: "Simple Pairing Hash C-192", 0x0F: "Simple Pairing Randomizer R-192",
    0x10: "Security Manager TK Value", 0x11: "Security Manager Out of Band Flags",
    0x12: "Peripheral Connection Interval Range",
    0x14: "List of 16-bit Service Solicitation UUIDs", 0x15: "List of 128-bit Service Solicitation UUIDs",
    0x16: "Service Data (16-bit UUID)", 0x17: "Public Target Address", 0x18: "Random Target Address",
    0x19: "Appearance", 0x1A: "Advertising Interval", 0x1B: "LE Bluetooth Device Address", 0x1C: "LE Role",
    0x1D: "Simple Pairing Hash C-256", 0x1E: "Simple Pairing Randomizer R-256",
    0x1F: "List of 32-bit Service Solicitation UUIDs", 0x20: "Service Data (32-bit UUID)",
    0x21: "Service Data (128-bit UUID)", 0x22: "LE Secure Connections Confirmation Value",
    0x23: "LE Secure Connections Random Value", 0x24: "URI", 0x25: "Indoor Positioning",
    0x26: "Transport Discovery Data", 0x27: "LE Supported Features", 0x28: "Channel Map Update Indication",
    0x29: "PB-ADV", 0x2A: "Mesh Message", 0x2B: "Mesh Beacon", 0x2C: "BIGInfo", 0x2D: "Broadcast_Code",
    0x2E: "Resolvable Set Identifier", 0x2F: "Advertising Interval - long", 0x30: "Broadcast_Name",
    0x31: "Encrypted Advertising Data", 0x32: "Periodic Advertising Response Timing Information",
    0x34: "Electronic Shelf Label", 0x3D: "3D Information Data", 0xFF: "Manufacturer Specific Data",
  ]
}
