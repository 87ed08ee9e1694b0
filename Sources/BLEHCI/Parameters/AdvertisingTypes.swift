public import BLEWire

extension HCI {
  /// The PDU of legacy advertising (Vol 4, Part E, 7.8.5).
  public struct AdvertisingType: AssignedNumber {
    public var rawValue: UInt8
    @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// ADV_IND (0x00): connectable and scannable, undirected.
    public static let connectableUndirected = Self(rawValue: 0x00)
    /// ADV_DIRECT_IND high duty cycle (0x01): connectable and directed, for 1.28 s.
    public static let directedHighDutyCycle = Self(rawValue: 0x01)
    /// ADV_SCAN_IND (0x02): scannable, undirected.
    public static let scannableUndirected = Self(rawValue: 0x02)
    /// ADV_NONCONN_IND (0x03): neither connectable nor scannable.
    public static let nonConnectable = Self(rawValue: 0x03)
    /// ADV_DIRECT_IND low duty cycle (0x04): connectable and directed.
    public static let directedLowDutyCycle = Self(rawValue: 0x04)

    public static let spaceName: StaticString = "advertising type"
    public static let names: [Self: StaticString] = [
      .connectableUndirected: "ADV_IND",
      .directedHighDutyCycle: "ADV_DIRECT_IND high duty cycle",
      .scannableUndirected: "ADV_SCAN_IND",
      .nonConnectable: "ADV_NONCONN_IND",
      .directedLowDutyCycle: "ADV_DIRECT_IND low duty cycle",
    ]
  }

  /// The primary advertising channels (Vol 4, Part E, 7.8.5).
  public struct AdvertisingChannels: AssignedBits {
    public var rawValue: UInt8
    @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// channel 37 (bit 0).
    public static let channel37 = Self(rawValue: 1 << 0)
    /// channel 38 (bit 1).
    public static let channel38 = Self(rawValue: 1 << 1)
    /// channel 39 (bit 2).
    public static let channel39 = Self(rawValue: 1 << 2)
    /// All three channels.
    public static let all: Self = [.channel37, .channel38, .channel39]

    public static let names: [Self: StaticString] = [
      .channel37: "channel 37",
      .channel38: "channel 38",
      .channel39: "channel 39",
    ]
  }

  /// The devices whose scan and connection requests an advertiser accepts (Vol 4, Part E, 7.8.5).
  public struct AdvertisingFilterPolicy: AssignedNumber {
    public var rawValue: UInt8
    @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// All devices (0x00).
    public static let all = Self(rawValue: 0x00)
    /// Scan requests from the filter accept list (0x01), connection requests from all devices.
    public static let scanRequestsFromAcceptList = Self(rawValue: 0x01)
    /// Connection requests from the filter accept list (0x02), scan requests from all devices.
    public static let connectionsFromAcceptList = Self(rawValue: 0x02)
    /// Filter accept list only (0x03).
    public static let acceptListOnly = Self(rawValue: 0x03)

    public static let spaceName: StaticString = "advertising filter policy"
    public static let names: [Self: StaticString] = [
      .all: "All devices",
      .scanRequestsFromAcceptList: "Scan requests from the filter accept list",
      .connectionsFromAcceptList: "Connection requests from the filter accept list",
      .acceptListOnly: "Filter accept list only",
    ]
  }

  /// Whether a scanner sends scan requests (Vol 4, Part E, 7.8.10).
  public struct ScanType: AssignedNumber {
    public var rawValue: UInt8
    @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Passive Scanning (0x00): no scan requests.
    public static let passive = Self(rawValue: 0x00)
    /// Active Scanning (0x01): scan requests to scannable advertisers.
    public static let active = Self(rawValue: 0x01)

    public static let spaceName: StaticString = "scan type"
    public static let names: [Self: StaticString] = [
      .passive: "Passive Scanning",
      .active: "Active Scanning",
    ]
  }

  /// The advertisements that a scanner reports (Vol 4, Part E, 7.8.10).
  public struct ScanningFilterPolicy: AssignedNumber {
    public var rawValue: UInt8
    @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Basic unfiltered (0x00): all, except those directed to another device.
    public static let all = Self(rawValue: 0x00)
    /// Basic filtered (0x01): those of devices in the filter accept list.
    public static let acceptList = Self(rawValue: 0x01)
    /// Extended unfiltered (0x02): also those directed to an unresolved private address.
    public static let allAndUnresolved = Self(rawValue: 0x02)
    /// Extended filtered (0x03): those of the filter accept list, also directed to an unresolved private address.
    public static let acceptListAndUnresolved = Self(rawValue: 0x03)

    public static let spaceName: StaticString = "scanning filter policy"
    public static let names: [Self: StaticString] = [
      .all: "Basic unfiltered",
      .acceptList: "Basic filtered",
      .allAndUnresolved: "Extended unfiltered",
      .acceptListAndUnresolved: "Extended filtered",
    ]
  }

  /// The treatment of further reports of one advertiser (Vol 4, Part E, 7.8.65).
  public struct DuplicateFiltering: AssignedNumber {
    public var rawValue: UInt8
    @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Disabled (0x00): all advertisements are reported.
    public static let disabled = Self(rawValue: 0x00)
    /// Enabled (0x01): each advertiser is reported once.
    public static let enabled = Self(rawValue: 0x01)
    /// Enabled, reset for each scan period (0x02): each advertiser is reported once in a period.
    public static let resetEachPeriod = Self(rawValue: 0x02)

    public static let spaceName: StaticString = "duplicate filtering"
    public static let names: [Self: StaticString] = [
      .disabled: "Disabled",
      .enabled: "Enabled",
      .resetEachPeriod: "Enabled, reset for each scan period",
    ]
  }

  /// The PDU of a legacy report (Vol 4, Part E, 7.7.65.2).
  public struct AdvertisingReportType: AssignedNumber {
    public var rawValue: UInt8
    @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// ADV_IND (0x00).
    public static let connectable = Self(rawValue: 0x00)
    /// ADV_DIRECT_IND (0x01).
    public static let directed = Self(rawValue: 0x01)
    /// ADV_SCAN_IND (0x02).
    public static let scannable = Self(rawValue: 0x02)
    /// ADV_NONCONN_IND (0x03).
    public static let nonConnectable = Self(rawValue: 0x03)
    /// SCAN_RSP (0x04).
    public static let scanResponse = Self(rawValue: 0x04)

    public static let spaceName: StaticString = "advertising report type"
    public static let names: [Self: StaticString] = [
      .connectable: "ADV_IND",
      .directed: "ADV_DIRECT_IND",
      .scannable: "ADV_SCAN_IND",
      .nonConnectable: "ADV_NONCONN_IND",
      .scanResponse: "SCAN_RSP",
    ]
  }

  /// The kind of an extended report: flags, and the status of the data in bits 5 and 6 (Vol 4, Part E, 7.7.65.13).
  public struct ExtendedAdvertisingReportType: AssignedBits {
    public var rawValue: UInt16
    @inlinable public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// connectable (bit 0).
    public static let connectable = Self(rawValue: 1 << 0)
    /// scannable (bit 1).
    public static let scannable = Self(rawValue: 1 << 1)
    /// directed (bit 2).
    public static let directed = Self(rawValue: 1 << 2)
    /// scan response (bit 3).
    public static let scanResponse = Self(rawValue: 1 << 3)
    /// legacy PDU (bit 4).
    public static let legacy = Self(rawValue: 1 << 4)

    /// The status of the data, in bits 5 and 6.
    public enum DataStatus: UInt16, Sendable {
      /// The data is complete.
      case complete
      /// Further reports continue the data.
      case moreToCome
      /// The data is truncated: no further report continues it.
      case truncated
      /// Reserved for future use.
      case reserved
    }

    /// The status of the data of the report.
    public var dataStatus: DataStatus {
      get { DataStatus(rawValue: rawValue >> 5 & 0b11) ?? .reserved }
      set { rawValue = rawValue & ~0b0110_0000 | newValue.rawValue << 5 }
    }

    public static let names: [Self: StaticString] = [
      .connectable: "connectable",
      .scannable: "scannable",
      .directed: "directed",
      .scanResponse: "scan response",
      .legacy: "legacy PDU",
    ]
  }

  /// The kind of an advertising set (Vol 4, Part E, 7.8.53).
  public struct AdvertisingEventProperties: AssignedBits {
    public var rawValue: UInt16
    @inlinable public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// connectable (bit 0).
    public static let connectable = Self(rawValue: 1 << 0)
    /// scannable (bit 1).
    public static let scannable = Self(rawValue: 1 << 1)
    /// directed (bit 2).
    public static let directed = Self(rawValue: 1 << 2)
    /// high duty cycle (bit 3), directed and connectable only.
    public static let highDutyCycle = Self(rawValue: 1 << 3)
    /// legacy PDUs (bit 4).
    public static let legacy = Self(rawValue: 1 << 4)
    /// anonymous (bit 5): the advertisements have no address.
    public static let anonymous = Self(rawValue: 1 << 5)
    /// include TX power (bit 6).
    public static let includeTxPower = Self(rawValue: 1 << 6)
    /// ADV_IND.
    public static let legacyConnectableUndirected: Self = [.legacy, .connectable, .scannable]
    /// ADV_SCAN_IND.
    public static let legacyScannableUndirected: Self = [.legacy, .scannable]
    /// ADV_NONCONN_IND.
    public static let legacyNonConnectable: Self = [.legacy]

    public static let names: [Self: StaticString] = [
      .connectable: "connectable",
      .scannable: "scannable",
      .directed: "directed",
      .highDutyCycle: "high duty cycle",
      .legacy: "legacy PDUs",
      .anonymous: "anonymous",
      .includeTxPower: "include TX power",
    ]
  }

  /// The coding of advertising on LE Coded (Vol 4, Part E, 7.8.53).
  public struct AdvertisingPHYOptions: AssignedNumber {
    public var rawValue: UInt8
    @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// No preference (0x00).
    public static let noPreference = Self(rawValue: 0x00)
    /// S=2 preferred (0x01).
    public static let prefersS2 = Self(rawValue: 0x01)
    /// S=8 preferred (0x02).
    public static let prefersS8 = Self(rawValue: 0x02)
    /// S=2 required (0x03).
    public static let requiresS2 = Self(rawValue: 0x03)
    /// S=8 required (0x04).
    public static let requiresS8 = Self(rawValue: 0x04)

    public static let spaceName: StaticString = "advertising PHY options"
    public static let names: [Self: StaticString] = [
      .noPreference: "No preference",
      .prefersS2: "S=2 preferred",
      .prefersS8: "S=8 preferred",
      .requiresS2: "S=2 required",
      .requiresS8: "S=8 required",
    ]
  }

  /// The part of the data that a command contains (Vol 4, Part E, 7.8.54).
  public struct DataOperation: AssignedNumber {
    public var rawValue: UInt8
    @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Intermediate fragment (0x00).
    public static let intermediate = Self(rawValue: 0x00)
    /// First fragment (0x01).
    public static let first = Self(rawValue: 0x01)
    /// Last fragment (0x02).
    public static let last = Self(rawValue: 0x02)
    /// Complete data (0x03).
    public static let complete = Self(rawValue: 0x03)
    /// Unchanged data (0x04): no data, but a new data identifier.
    public static let unchanged = Self(rawValue: 0x04)

    public static let spaceName: StaticString = "data operation"
    public static let names: [Self: StaticString] = [
      .intermediate: "Intermediate fragment",
      .first: "First fragment",
      .last: "Last fragment",
      .complete: "Complete data",
      .unchanged: "Unchanged data",
    ]
  }

  /// Whether the controller may fragment advertising data (Vol 4, Part E, 7.8.54).
  public struct FragmentPreference: AssignedNumber {
    public var rawValue: UInt8
    @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The controller may fragment (0x00).
    public static let controllerMayFragment = Self(rawValue: 0x00)
    /// The controller should not fragment (0x01).
    public static let controllerShouldNotFragment = Self(rawValue: 0x01)

    public static let spaceName: StaticString = "fragment preference"
    public static let names: [Self: StaticString] = [
      .controllerMayFragment: "The controller may fragment",
      .controllerShouldNotFragment: "The controller should not fragment",
    ]
  }
}
