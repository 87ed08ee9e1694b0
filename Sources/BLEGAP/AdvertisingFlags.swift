/// How a device can be discovered (Core Specification Supplement, Part A, 1.3).
public struct AdvertisingFlags: OptionSet, Hashable, Sendable {
  public var rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let limitedDiscoverable = Self(rawValue: 0x01)
  public static let generalDiscoverable = Self(rawValue: 0x02)
  public static let brEDRNotSupported = Self(rawValue: 0x04)
  /// The controller does LE and BR/EDR to the same device at once.
  public static let simultaneousController = Self(rawValue: 0x08)
  /// The host does; not in use since Core 5.1.
  public static let simultaneousHost = Self(rawValue: 0x10)
}

/// What out-of-band data of the Security Manager says about its sender (Core Specification Supplement, Part A, 1.7).
public struct SecurityManagerOOBFlags: OptionSet, Hashable, Sendable {
  public var rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let oobDataPresent = Self(rawValue: 0x01)
  public static let leSupportedByHost = Self(rawValue: 0x02)
  /// Simultaneous LE and BR/EDR in the host; not in use since Core 5.1.
  public static let simultaneousHost = Self(rawValue: 0x04)
  /// The address that goes with it is a random one.
  public static let randomAddress = Self(rawValue: 0x08)
}

/// Which roles a device plays, and which it would rather (Core Specification Supplement, Part A, 1.17).
public struct LERole: RawRepresentable, Hashable, Sendable {
  public var rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let onlyPeripheral = Self(rawValue: 0x00)
  public static let onlyCentral = Self(rawValue: 0x01)
  public static let bothPeripheralPreferred = Self(rawValue: 0x02)
  public static let bothCentralPreferred = Self(rawValue: 0x03)
}

/// What a device looks like to its user: ten bits of category, six of subcategory (Assigned Numbers, 2.6).
public struct Appearance: RawRepresentable, Hashable, Sendable {
  public var rawValue: UInt16
  public init(rawValue: UInt16) { self.rawValue = rawValue }

  public static let unknown = Self(rawValue: 0x0000)
  public static let phone = Self(rawValue: 0x0040)
  public static let computer = Self(rawValue: 0x0080)
  public static let watch = Self(rawValue: 0x00C0)
  public static let thermometer = Self(rawValue: 0x0300)
  public static let heartRateSensor = Self(rawValue: 0x0340)
  public static let keyboard = Self(rawValue: 0x03C1)
  public static let mouse = Self(rawValue: 0x03C2)

  public var category: UInt16 { rawValue >> 6 }
  public var subcategory: UInt16 { rawValue & 0x3F }
}

/// Who gives manufacturer specific data its meaning (Assigned Numbers, 7.1).
public struct CompanyIdentifier: RawRepresentable, Hashable, Sendable {
  public var rawValue: UInt16
  public init(rawValue: UInt16) { self.rawValue = rawValue }

  public static let apple = Self(rawValue: 0x004C)
  /// For tests within one organisation; never in a product.
  public static let internalUse = Self(rawValue: 0xFFFF)
}

extension CompanyIdentifier: CustomStringConvertible {
  public var description: String {
    let digits = String(rawValue, radix: 16, uppercase: true)
    return "company 0x" + String(repeating: "0", count: 4 - digits.count) + digits
  }
}
