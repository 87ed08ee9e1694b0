/// The value of HID Information (0x2A4A), four octets (HIDS 1.0, 2.10).
public struct HIDInformation: ProfileValue {
  /// The version of the USB HID specification in binary coded decimal: 1.11 is 0x0111.
  public var version: UInt16 = 0x0111
  /// The country of the keyboard layout (USB HID 1.11, 6.2.1); 0 means none.
  public var countryCode: UInt8 = 0
  /// The abilities of the device.
  public var flags: Flags = [.normallyConnectable]

  /// The abilities of a device.
  public struct Flags: AssignedBits {
    public var rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    /// RemoteWake: the device can wake the host.
    public static let remoteWake = Self(rawValue: 1)
    /// NormallyConnectable: the device advertises when it is bonded and not connected.
    public static let normallyConnectable = Self(rawValue: 2)
    public static let names: [Self: StaticString] = [
      .remoteWake: "Remote Wake", .normallyConnectable: "Normally Connectable",
    ]
  }

  /// Version 1.11, no country, normally connectable.
  public init() {}

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.integer("bcdHID", &version)
    try field.integer("bCountryCode", &countryCode)
    try field.value("Flags", &flags)
  }
}

/// The value of the descriptor Report Reference (0x2908), two octets (HIDS 1.0, 2.5.3.2).
public struct HIDReportReference: ProfileValue {
  /// The identifier in the report map; 0 if the map has none.
  public var id: UInt8 = 0
  /// The type of the report.
  public var kind = Kind.input

  /// The types of reports.
  public enum Kind: UInt8, Sendable {
    /// From the device to the host.
    case input = 1
    /// From the host to the device.
    case output = 2
    /// In both directions.
    case feature = 3
  }

  /// Input report 0.
  public init() {}

  /// A report.
  public init(id: UInt8, kind: Kind) { (self.id, self.kind) = (id, kind) }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.integer("Report ID", &id)
    try field.value("Report Type", &kind)
  }
}

/// The value of HID Control Point (0x2A4C), one octet (HIDS 1.0, 2.11).
public enum HIDControl: UInt8, GATTValue {
  /// The host suspends.
  case suspend = 0
  /// The host resumes.
  case exitSuspend = 1

  public init?(octets: [UInt8]) {
    guard octets.count == 1, let octet = octets.first else { return nil }
    self.init(rawValue: octet)
  }
  public var octets: [UInt8] { [rawValue] }
}

/// The value of Protocol Mode (0x2A4E), one octet (HIDS 1.0, 2.4).
public enum HIDProtocolMode: UInt8, GATTValue {
  /// Boot Protocol Mode.
  case boot = 0
  /// Report Protocol Mode.
  case report = 1

  public init?(octets: [UInt8]) {
    guard octets.count == 1, let octet = octets.first else { return nil }
    self.init(rawValue: octet)
  }
  public var octets: [UInt8] { [rawValue] }
}
