extension HCI {
  /// Which legacy PDU advertises (Vol 4, Part E, 7.8.5).
  public struct AdvertisingType: RawRepresentable, Hashable, Sendable {
    public var rawValue: UInt8
    @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// ADV_IND: connectable and scannable.
    public static let connectableUndirected = Self(rawValue: 0x00)
    /// ADV_DIRECT_IND at the high duty cycle, for 1.28 s.
    public static let directedHighDutyCycle = Self(rawValue: 0x01)
    /// ADV_SCAN_IND.
    public static let scannableUndirected = Self(rawValue: 0x02)
    /// ADV_NONCONN_IND.
    public static let nonConnectable = Self(rawValue: 0x03)
    /// ADV_DIRECT_IND at the low duty cycle.
    public static let directedLowDutyCycle = Self(rawValue: 0x04)
  }

  /// The primary advertising channels in use (Vol 4, Part E, 7.8.5).
  public struct AdvertisingChannels: OptionSet, Hashable, Sendable {
    public var rawValue: UInt8
    @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let channel37 = Self(rawValue: 1 << 0)
    public static let channel38 = Self(rawValue: 1 << 1)
    public static let channel39 = Self(rawValue: 1 << 2)
    public static let all: Self = [.channel37, .channel38, .channel39]
  }

  /// Whose scan and connection requests count (Vol 4, Part E, 7.8.5).
  public struct AdvertisingFilterPolicy: RawRepresentable, Hashable, Sendable {
    public var rawValue: UInt8
    @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let all = Self(rawValue: 0x00)
    public static let scanRequestsFromAcceptList = Self(rawValue: 0x01)
    public static let connectionsFromAcceptList = Self(rawValue: 0x02)
    public static let acceptListOnly = Self(rawValue: 0x03)
  }

  /// Whether a scanner asks for the scan response (Vol 4, Part E, 7.8.10).
  public struct ScanType: RawRepresentable, Hashable, Sendable {
    public var rawValue: UInt8
    @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let passive = Self(rawValue: 0x00)
    public static let active = Self(rawValue: 0x01)
  }

  /// Which advertisements a scanner reports (Vol 4, Part E, 7.8.10).
  public struct ScanningFilterPolicy: RawRepresentable, Hashable, Sendable {
    public var rawValue: UInt8
    @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// All but those directed to others.
    public static let all = Self(rawValue: 0x00)
    public static let acceptList = Self(rawValue: 0x01)
    /// Also those directed to a resolvable private address.
    public static let allAndUnresolved = Self(rawValue: 0x02)
    public static let acceptListAndUnresolved = Self(rawValue: 0x03)
  }

  /// How often one advertiser is reported (Vol 4, Part E, 7.8.65).
  public struct DuplicateFiltering: RawRepresentable, Hashable, Sendable {
    public var rawValue: UInt8
    @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let disabled = Self(rawValue: 0x00)
    public static let enabled = Self(rawValue: 0x01)
    public static let resetEachPeriod = Self(rawValue: 0x02)
  }

  /// Which PDU a legacy report is about (Vol 4, Part E, 7.7.65.2).
  public struct AdvertisingReportType: RawRepresentable, Hashable, Sendable {
    public var rawValue: UInt8
    @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// ADV_IND.
    public static let connectable = Self(rawValue: 0x00)
    /// ADV_DIRECT_IND.
    public static let directed = Self(rawValue: 0x01)
    /// ADV_SCAN_IND.
    public static let scannable = Self(rawValue: 0x02)
    /// ADV_NONCONN_IND.
    public static let nonConnectable = Self(rawValue: 0x03)
    /// SCAN_RSP.
    public static let scanResponse = Self(rawValue: 0x04)
  }

  /// What an extended report is about: flags, and the status of the data in bits 5 and 6 (Vol 4, Part E, 7.7.65.13).
  public struct ExtendedAdvertisingReportType: OptionSet, Hashable, Sendable {
    public var rawValue: UInt16
    @inlinable public init(rawValue: UInt16) { self.rawValue = rawValue }

    public static let connectable = Self(rawValue: 1 << 0)
    public static let scannable = Self(rawValue: 1 << 1)
    public static let directed = Self(rawValue: 1 << 2)
    public static let scanResponse = Self(rawValue: 1 << 3)
    /// A legacy PDU.
    public static let legacy = Self(rawValue: 1 << 4)

    /// What the two bits for the data say.
    public enum DataStatus: UInt16, Sendable { case complete, moreToCome, truncated, reserved }

    public var dataStatus: DataStatus {
      get { DataStatus(rawValue: rawValue >> 5 & 0b11) ?? .reserved }
      set { rawValue = rawValue & ~0b0110_0000 | newValue.rawValue << 5 }
    }
  }

  /// What an advertising set is (Vol 4, Part E, 7.8.53).
  public struct AdvertisingEventProperties: OptionSet, Hashable, Sendable {
    public var rawValue: UInt16
    @inlinable public init(rawValue: UInt16) { self.rawValue = rawValue }

    public static let connectable = Self(rawValue: 1 << 0)
    public static let scannable = Self(rawValue: 1 << 1)
    public static let directed = Self(rawValue: 1 << 2)
    public static let highDutyCycle = Self(rawValue: 1 << 3)
    /// Advertise with legacy PDUs.
    public static let legacy = Self(rawValue: 1 << 4)
    /// Leave the address out.
    public static let anonymous = Self(rawValue: 1 << 5)
    public static let includeTxPower = Self(rawValue: 1 << 6)
    /// ADV_IND.
    public static let legacyConnectableUndirected: Self = [.legacy, .connectable, .scannable]
    /// ADV_SCAN_IND.
    public static let legacyScannableUndirected: Self = [.legacy, .scannable]
    /// ADV_NONCONN_IND.
    public static let legacyNonConnectable: Self = [.legacy]
  }

  /// Which coding of LE Coded advertises (Vol 4, Part E, 7.8.53).
  public struct AdvertisingPHYOptions: RawRepresentable, Hashable, Sendable {
    public var rawValue: UInt8
    @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let noPreference = Self(rawValue: 0x00)
    public static let prefersS2 = Self(rawValue: 0x01)
    public static let prefersS8 = Self(rawValue: 0x02)
    public static let requiresS2 = Self(rawValue: 0x03)
    public static let requiresS8 = Self(rawValue: 0x04)
  }

  /// Which part of the data a command carries (Vol 4, Part E, 7.8.54).
  public struct DataOperation: RawRepresentable, Hashable, Sendable {
    public var rawValue: UInt8
    @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let intermediate = Self(rawValue: 0x00)
    public static let first = Self(rawValue: 0x01)
    public static let last = Self(rawValue: 0x02)
    public static let complete = Self(rawValue: 0x03)
    /// No data; only the data identifier is new.
    public static let unchanged = Self(rawValue: 0x04)
  }

  /// Whether the controller may split the data on the air (Vol 4, Part E, 7.8.54).
  public struct FragmentPreference: RawRepresentable, Hashable, Sendable {
    public var rawValue: UInt8
    @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let controllerMayFragment = Self(rawValue: 0x00)
    public static let controllerShouldNotFragment = Self(rawValue: 0x01)
  }
}
