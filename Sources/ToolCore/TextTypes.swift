public import BLEWire

extension BluetoothUUID {
  /// Whether the value of a characteristic or descriptor of this type is text in UTF-8 and nothing else (GATT
  /// Specification Supplement, 3): names, strings of Device Information, a Characteristic User Description. Its text
  /// is a ``DeviceText``, whatever octets the device has sent.
  public var isTextType: Bool { shortValue.map(Self.textTypes.contains) ?? false }

  private static let textTypes: Set<UInt32> = [
    // Characteristic User Description, Device Name, strings of Device Information, String.
    0x2901, 0x2A00, 0x2A24, 0x2A25, 0x2A26, 0x2A27, 0x2A28, 0x2A29, 0x2A3D,
    // User Data: Email Address, First, Last and Middle Name, Language.
    0x2A87, 0x2A8A, 0x2A90, 0x2B48, 0x2AA2,
    // Location Name, URI, Object Name, Fixed String 16, 24, 36, 8 and 64.
    0x2AB5, 0x2AB6, 0x2ABE, 0x2AF5, 0x2AF6, 0x2AF7, 0x2AF8, 0x2BDE,
    // Audio: input and output descriptions, Media Player Name, Track Title, Bearer Provider Name, UCI and URI schemes.
    0x2B7C, 0x2B83, 0x2B93, 0x2B97, 0x2BB3, 0x2BB4, 0x2BB6,
  ]
}
