public import BLEWire

/// The attribute types, services and characteristics that GATT and GAP define (Vol 3, Part G, 3.4 and 7; Part C, 12).
extension BluetoothUUID {
  /// 0x2800: a primary service declaration (Vol 3, Part G, 3.1).
  public static let primaryService = Self(0x2800)
  /// 0x2801: a secondary service declaration (Vol 3, Part G, 3.1).
  public static let secondaryService = Self(0x2801)
  /// 0x2802: an include declaration (Vol 3, Part G, 3.2).
  public static let include = Self(0x2802)
  /// 0x2803: a characteristic declaration (Vol 3, Part G, 3.3.1).
  public static let characteristic = Self(0x2803)

  /// 0x2900: the Characteristic Extended Properties descriptor (Vol 3, Part G, 3.3.3.1).
  public static let characteristicExtendedProperties = Self(0x2900)
  /// 0x2901: the Characteristic User Description descriptor (Vol 3, Part G, 3.3.3.2).
  public static let characteristicUserDescription = Self(0x2901)
  /// 0x2902: the Client Characteristic Configuration descriptor (Vol 3, Part G, 3.3.3.3).
  public static let clientCharacteristicConfiguration = Self(0x2902)
  /// 0x2903: the Server Characteristic Configuration descriptor (Vol 3, Part G, 3.3.3.4).
  public static let serverCharacteristicConfiguration = Self(0x2903)
  /// 0x2904: the Characteristic Presentation Format descriptor (Vol 3, Part G, 3.3.3.5).
  public static let characteristicPresentationFormat = Self(0x2904)
  /// 0x2905: the Characteristic Aggregate Format descriptor (Vol 3, Part G, 3.3.3.6).
  public static let characteristicAggregateFormat = Self(0x2905)

  /// 0x1800: the Generic Access service (Vol 3, Part C, 12).
  public static let genericAccess = Self(0x1800)
  /// 0x2A00: the Device Name characteristic (Vol 3, Part C, 12.1).
  public static let deviceName = Self(0x2A00)
  /// 0x2A01: the Appearance characteristic (Vol 3, Part C, 12.2).
  public static let appearance = Self(0x2A01)
  /// 0x2AA6: the Central Address Resolution characteristic (Vol 3, Part C, 12.4).
  public static let centralAddressResolution = Self(0x2AA6)

  /// 0x1801: the Generic Attribute service (Vol 3, Part G, 7).
  public static let genericAttribute = Self(0x1801)
  /// 0x2A05: the Service Changed characteristic (Vol 3, Part G, 7.1).
  public static let serviceChanged = Self(0x2A05)
  /// 0x2B29: the Client Supported Features characteristic (Vol 3, Part G, 7.2).
  public static let clientSupportedFeatures = Self(0x2B29)
  /// 0x2B3A: the Server Supported Features characteristic (Vol 3, Part G, 7.4).
  public static let serverSupportedFeatures = Self(0x2B3A)
  /// 0x2B2A: the Database Hash characteristic (Vol 3, Part G, 7.3).
  public static let databaseHash = Self(0x2B2A)

  /// Whether an attribute of this type is a declaration of a service, an include or a characteristic.
  var isDeclaration: Bool {
    [.primaryService, .secondaryService, .include, .characteristic].contains(self)
  }
}
