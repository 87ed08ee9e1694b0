/// The value of System ID (0x2A23), eight octets (DIS 1.2, 3.8).
public struct SystemID: ProfileValue {
  /// The identifier that the manufacturer assigns, 40 bits.
  public var manufacturerIdentifier: UInt64 = 0
  /// The Organizationally Unique Identifier of the manufacturer, 24 bits.
  public var organizationallyUniqueIdentifier: UInt32 = 0

  /// All zero.
  public init() {}

  /// An identifier of 40 bits and an OUI of 24 bits; further bits are dropped.
  public init(manufacturerIdentifier: UInt64, organizationallyUniqueIdentifier: UInt32) {
    self.manufacturerIdentifier = manufacturerIdentifier & 0xFF_FFFF_FFFF
    self.organizationallyUniqueIdentifier = organizationallyUniqueIdentifier & 0xFF_FFFF
  }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    var number =
      UInt64(organizationallyUniqueIdentifier & 0xFF_FFFF) << 40 | manufacturerIdentifier & 0xFF_FFFF_FFFF
    try field.integer("System ID", &number)
    manufacturerIdentifier = number & 0xFF_FFFF_FFFF
    organizationallyUniqueIdentifier = UInt32(truncatingIfNeeded: number >> 40)
  }
}

/// The value of PnP ID (0x2A50), seven octets (DIS 1.2, 3.9).
public struct PnPID: ProfileValue {
  /// The organization that assigned the vendor number.
  public var source = Source.bluetooth
  /// The vendor: a company identifier, or a vendor ID of the USB Implementers Forum.
  public var vendor: UInt16 = 0
  /// The product, as numbered by the vendor.
  public var product: UInt16 = 0
  /// The version of the product, in binary coded decimal 0xJJMN: 2.1.3 is 0x0213.
  public var version: UInt16 = 0

  /// The organization that assigns vendor numbers.
  public struct Source: AssignedNumber {
    public var rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    /// The company identifiers of the Bluetooth SIG (1).
    public static let bluetooth = Self(rawValue: 1)
    /// The vendor IDs of the USB Implementers Forum (2).
    public static let usb = Self(rawValue: 2)
    public static let spaceName: StaticString = "vendor ID source"
    public static let names: [Self: StaticString] = [.bluetooth: "Bluetooth SIG", .usb: "USB Implementer's Forum"]
  }

  /// All zero.
  public init() {}

  /// A product of a vendor.
  public init(source: Source = .bluetooth, vendor: UInt16, product: UInt16, version: UInt16) {
    (self.source, self.vendor, self.product, self.version) = (source, vendor, product, version)
  }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Vendor ID Source", &source)
    try field.integer("Vendor ID", &vendor)
    try field.integer("Product ID", &product)
    try field.integer("Product Version", &version)
  }
}

/// The value of UDI for Medical Devices (0x2BFF): flags, then up to four texts, each terminated by a NUL (DIS 1.2,
/// 3.10).
public struct MedicalDeviceIdentifier: ProfileValue {
  /// The Unique Device Identifier as printed on the label.
  public var label: String?
  /// The device identifier, the fixed part of the UDI.
  public var deviceIdentifier: String?
  /// The object identifier of the issuer of the UDI.
  public var issuer: String?
  /// The object identifier of the authority that regulates the UDI.
  public var authority: String?

  /// No text.
  public init() {}

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    let texts = [label, deviceIdentifier, issuer, authority]
    var flags = texts.indices.reduce(UInt8(0)) { $0 | (texts[$1] == nil ? 0 : 1 << UInt8($1)) }
    try field.integer("UDI Flags", &flags)
    var content = Text(parts: texts.compactMap { $0 })
    try field.rest("UDI", &content.octets)
    var parts = content.parts[...]
    func part(_ bit: UInt8) -> String? { flags >> bit & 1 == 0 ? nil : parts.popFirst() ?? "" }
    label = part(0)
    deviceIdentifier = part(1)
    issuer = part(2)
    authority = part(3)
  }

  /// Texts that are each terminated by a NUL.
  private struct Text {
    var octets: Bytes
    init(parts: [String]) { octets = Bytes(parts.flatMap { Array($0.utf8.filter { $0 != 0 }) + [0] }) }
    var parts: [String] {
      octets.split(separator: 0, omittingEmptySubsequences: false).map { String(decoding: $0, as: UTF8.self) }
    }
  }
}
