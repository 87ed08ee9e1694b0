public import BLEWire

/// The discoverable mode and the transports of a device (Core Specification Supplement, Part A, 1.3).
public struct AdvertisingFlags: AssignedBits {
  public var rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// LE Limited Discoverable Mode (bit 0).
  public static let limitedDiscoverable = Self(rawValue: 0x01)
  /// LE General Discoverable Mode (bit 1).
  public static let generalDiscoverable = Self(rawValue: 0x02)
  /// BR/EDR Not Supported (bit 2).
  public static let brEDRNotSupported = Self(rawValue: 0x04)
  /// Simultaneous LE and BR/EDR to Same Device Capable, Controller (bit 3).
  public static let simultaneousController = Self(rawValue: 0x08)
  /// Simultaneous LE and BR/EDR to Same Device Capable, Host (bit 4). Not used since Core 5.1.
  public static let simultaneousHost = Self(rawValue: 0x10)

  public static let names: [Self: StaticString] = [
    .limitedDiscoverable: "LE Limited Discoverable Mode", .generalDiscoverable: "LE General Discoverable Mode",
    .brEDRNotSupported: "BR/EDR Not Supported", .simultaneousController: "Simultaneous LE and BR/EDR (Controller)",
    .simultaneousHost: "Simultaneous LE and BR/EDR (Host)",
  ]
}

/// The flags of the Security Manager's out-of-band data (Core Specification Supplement, Part A, 1.7).
public struct SecurityManagerOOBFlags: AssignedBits {
  public var rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// OOB Data Present (bit 0).
  public static let oobDataPresent = Self(rawValue: 0x01)
  /// LE Supported, Host (bit 1).
  public static let leSupportedByHost = Self(rawValue: 0x02)
  /// Simultaneous LE and BR/EDR to Same Device Capable, Host (bit 2). Not used since Core 5.1.
  public static let simultaneousHost = Self(rawValue: 0x04)
  /// Address Type (bit 3): the address in the data is a random address.
  public static let randomAddress = Self(rawValue: 0x08)

  public static let names: [Self: StaticString] = [
    .oobDataPresent: "OOB Data Present", .leSupportedByHost: "LE Supported (Host)",
    .simultaneousHost: "Simultaneous LE and BR/EDR (Host)", .randomAddress: "Random Address",
  ]
}

/// The roles that a device supports, and the one that it prefers (Core Specification Supplement, Part A, 1.17).
public struct LERole: AssignedNumber {
  public var rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Only Peripheral Role supported (0x00).
  public static let onlyPeripheral = Self(rawValue: 0x00)
  /// Only Central Role supported (0x01).
  public static let onlyCentral = Self(rawValue: 0x01)
  /// Peripheral and Central Role supported, Peripheral Role preferred (0x02).
  public static let bothPeripheralPreferred = Self(rawValue: 0x02)
  /// Peripheral and Central Role supported, Central Role preferred (0x03).
  public static let bothCentralPreferred = Self(rawValue: 0x03)

  public static let spaceName: StaticString = "LE role"
  public static let names: [Self: StaticString] = [
    .onlyPeripheral: "Only Peripheral Role supported", .onlyCentral: "Only Central Role supported",
    .bothPeripheralPreferred: "Both roles supported, Peripheral Role preferred",
    .bothCentralPreferred: "Both roles supported, Central Role preferred",
  ]
}

/// The external appearance of a device: a category in ten bits, a subcategory in six (Assigned Numbers, 2.6).
public struct Appearance: AssignedNumber {
  public var rawValue: UInt16
  public init(rawValue: UInt16) { self.rawValue = rawValue }

  /// Unknown (0x0000).
  public static let unknown = Self(rawValue: 0x0000)
  /// Phone (0x0040).
  public static let phone = Self(rawValue: 0x0040)
  /// Computer (0x0080).
  public static let computer = Self(rawValue: 0x0080)
  /// Watch (0x00C0).
  public static let watch = Self(rawValue: 0x00C0)
  /// Thermometer (0x0300).
  public static let thermometer = Self(rawValue: 0x0300)
  /// Heart Rate Sensor (0x0340).
  public static let heartRateSensor = Self(rawValue: 0x0340)
  /// Keyboard (0x03C1).
  public static let keyboard = Self(rawValue: 0x03C1)
  /// Mouse (0x03C2).
  public static let mouse = Self(rawValue: 0x03C2)

  /// Bits 6 to 15.
  public var category: UInt16 { rawValue >> 6 }
  /// Bits 0 to 5; 0 for a device of the category in general.
  public var subcategory: UInt16 { rawValue & 0x3F }

  public static let spaceName: StaticString = "appearance"
  public static let names: [Self: StaticString] = [
    .unknown: "Unknown", .phone: "Phone", .computer: "Computer", .watch: "Watch", .thermometer: "Thermometer",
    .heartRateSensor: "Heart Rate Sensor", .keyboard: "Keyboard", .mouse: "Mouse",
  ]
}

/// The company that defines the content of manufacturer data (Assigned Numbers, 7.1).
public struct CompanyIdentifier: AssignedNumber {
  public var rawValue: UInt16
  public init(rawValue: UInt16) { self.rawValue = rawValue }

  /// Apple, Inc. (0x004C).
  public static let apple = Self(rawValue: 0x004C)
  /// The number for tests inside one organization (0xFFFF). No product may send it.
  public static let internalUse = Self(rawValue: 0xFFFF)

  public static let spaceName: StaticString = "company"
  public static let names: [Self: StaticString] = [.apple: "Apple, Inc.", .internalUse: "internal use"]
}

/// The local name of a device in advertising data (Core Specification Supplement, Part A, 1.2).
public struct LocalName: Equatable, Sendable {
  /// The name in UTF-8, as received: a peer may send other octets, and pad the name.
  public var octets: Bytes
  /// Whether this is the whole name; false for a shortened one.
  public var isComplete: Bool

  /// A name from its octets.
  public init(octets: Bytes, isComplete: Bool) {
    self.octets = octets
    self.isComplete = isComplete
  }

  /// A name from its text.
  public init(_ text: String, isComplete: Bool = true) {
    self.init(octets: Bytes(text.utf8), isComplete: isComplete)
  }

  /// The name without the padding of its field (``DeviceText``); nil if the octets are not valid UTF-8.
  public var text: String? { DeviceText(octets).valid }

  /// The name for a comparison: ``text``, with U+FFFD instead of octets that are not valid UTF-8.
  public var repairedText: String { DeviceText(octets).repaired }

  /// The name for a display: ``repairedText`` with escapes for characters that a terminal interprets
  /// (`String.init(printable:)`).
  public var displayText: String { String(printable: repairedText) }

  /// The longest beginning of `name` that fits in `length` octets, cut between characters.
  ///
  /// If the first character does not fit, the name is cut between Unicode scalars, so that one long character does not
  /// remove the whole name.
  ///
  /// - Returns: nil if nothing fits.
  static func fitting(_ name: String, in length: Int) -> Self? {
    guard name.utf8.count > length else { return name.isEmpty ? nil : Self(name) }
    var kept = name.octetsOfCharacters(upTo: length)
    if kept == 0 { kept = name.unicodeScalars.octets(upTo: length) { UTF8.width($0) } }
    return kept == 0 ? nil : Self(octets: Bytes(name.utf8.prefix(kept)), isComplete: false)
  }
}

extension LocalName: CustomStringConvertible {
  /// The name for a display; a shortened one ends with `…`.
  public var description: String { isComplete ? displayText : displayText + "…" }
}

/// A URI whose scheme is one code point (Core Specification Supplement, Part A, 1.18; Assigned Numbers, 2.7).
///
/// ```swift
/// let uri = AdvertisedURI("https://example.org")
/// // uri.octets begins with 0x17, then "//example.org"
/// ```
public struct AdvertisedURI: Hashable, Sendable {
  /// The code point of the scheme, then the text after the colon, in UTF-8.
  public var octets: Bytes

  /// A URI as it was received.
  public init(octets: Bytes) { self.octets = octets }

  /// A URI from its text. `http:` and `https:` are sent as one code point, any other scheme in full after the code
  /// point for "no scheme".
  public init(_ text: String) {
    for scheme in Self.schemes where text.utf8.starts(with: scheme.text.utf8) {
      octets = [scheme.code] + Bytes(text.utf8.dropFirst(scheme.text.utf8.count))
      return
    }
    octets = [Self.noScheme] + Bytes(text.utf8)
  }

  /// The text of the URI; nil if the code point of the scheme is unknown or the octets are not valid UTF-8.
  public var text: String? {
    guard let code = octets.first, let rest = String(validating: octets.dropFirst(), as: UTF8.self) else { return nil }
    if code == Self.noScheme { return rest }
    guard let scheme = Self.schemes.first(where: { $0.code == code }) else { return nil }
    return scheme.text + rest
  }

  private static let noScheme: UInt8 = 0x01
  private static let schemes: [(code: UInt8, text: String)] = [(0x16, "http:"), (0x17, "https:")]
}
