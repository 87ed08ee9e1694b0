extension HCI {
  /// The part a device plays in a link (Vol 4, Part E, 7.7.65.1).
  public struct Role: RawRepresentable, Hashable, Sendable {
    public var rawValue: UInt8
    @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let central = Self(rawValue: 0x00)
    public static let peripheral = Self(rawValue: 0x01)
  }

  /// How far a sleep clock may be off (Vol 4, Part E, 7.7.65.1).
  public struct ClockAccuracy: RawRepresentable, Hashable, Sendable {
    public var rawValue: UInt8
    @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Parts per million in the worst case; nil for a value that the specification does not name.
    public var partsPerMillion: Int? {
      let limits = [500, 250, 150, 100, 75, 50, 30, 20]
      return Int(rawValue) < limits.count ? limits[Int(rawValue)] : nil
    }
  }

  /// Whether a link is encrypted, and on BR/EDR how (Vol 4, Part E, 7.7.8).
  public struct EncryptionEnabled: RawRepresentable, Hashable, Sendable {
    public var rawValue: UInt8
    @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let off = Self(rawValue: 0x00)
    /// E0 on BR/EDR, AES-CCM on LE.
    public static let on = Self(rawValue: 0x01)
    /// AES-CCM on BR/EDR.
    public static let aesCCM = Self(rawValue: 0x02)
  }

  /// One physical layer of LE (Vol 4, Part E, 7.7.65.12).
  public struct PHY: RawRepresentable, Hashable, Sendable {
    public var rawValue: UInt8
    @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// No packet on the secondary channel.
    public static let none = Self(rawValue: 0x00)
    public static let le1M = Self(rawValue: 0x01)
    public static let le2M = Self(rawValue: 0x02)
    public static let leCoded = Self(rawValue: 0x03)
  }

  /// A set of physical layers (Vol 4, Part E, 7.8.48).
  public struct PHYs: OptionSet, Hashable, Sendable {
    public var rawValue: UInt8
    @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let le1M = Self(rawValue: 1 << 0)
    public static let le2M = Self(rawValue: 1 << 1)
    public static let leCoded = Self(rawValue: 1 << 2)

    /// How many there are, unknown ones counted.
    public var count: Int { rawValue.nonzeroBitCount }
  }

  /// The directions in which the host leaves the PHY to the controller (Vol 4, Part E, 7.8.48).
  public struct NoPHYPreference: OptionSet, Hashable, Sendable {
    public var rawValue: UInt8
    @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let transmitter = Self(rawValue: 1 << 0)
    public static let receiver = Self(rawValue: 1 << 1)
  }

  /// Which address the controller uses for itself (Vol 4, Part E, 7.8.5).
  public struct OwnAddressType: RawRepresentable, Hashable, Sendable {
    public var rawValue: UInt8
    @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let `public` = Self(rawValue: 0x00)
    /// The address of LE Set Random Address or of the advertising set.
    public static let random = Self(rawValue: 0x01)
    /// A resolvable private one from the resolving list, else the public address.
    public static let resolvableElsePublic = Self(rawValue: 0x02)
    /// A resolvable private one from the resolving list, else the random address.
    public static let resolvableElseRandom = Self(rawValue: 0x03)
  }

  /// Whom to connect to (Vol 4, Part E, 7.8.12).
  public struct InitiatorFilterPolicy: RawRepresentable, Hashable, Sendable {
    public var rawValue: UInt8
    @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The device whose address the command gives.
    public static let peerAddress = Self(rawValue: 0x00)
    /// Any device of the filter accept list.
    public static let acceptList = Self(rawValue: 0x01)
  }

  /// What to take from a peer whose IRK is known (Vol 4, Part E, 7.8.77).
  public struct PrivacyMode: RawRepresentable, Hashable, Sendable {
    public var rawValue: UInt8
    @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Private addresses only.
    public static let network = Self(rawValue: 0x00)
    /// Its identity address too.
    public static let device = Self(rawValue: 0x01)
  }
}
