public import BLEWire

extension HCI {
  /// The role of a device on a link (Vol 4, Part E, 7.7.65.1).
  public struct Role: AssignedNumber {
    public var rawValue: UInt8
    @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Central (0x00).
    public static let central = Self(rawValue: 0x00)
    /// Peripheral (0x01).
    public static let peripheral = Self(rawValue: 0x01)

    public static let spaceName: StaticString = "role"
    public static let names: [Self: StaticString] = [
      .central: "Central",
      .peripheral: "Peripheral",
    ]
  }

  /// The accuracy of a sleep clock (Vol 4, Part E, 7.7.65.1).
  public struct ClockAccuracy: AssignedNumber {
    public var rawValue: UInt8
    @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The largest deviation in parts per million: 500 for 0x00 to 20 for 0x07; nil for an undefined value.
    public var partsPerMillion: Int? {
      let limits = [500, 250, 150, 100, 75, 50, 30, 20]
      return Int(rawValue) < limits.count ? limits[Int(rawValue)] : nil
    }

    public static let spaceName: StaticString = "clock accuracy"
    public var name: String? { partsPerMillion.map { "\($0) ppm" } }
  }

  /// The encryption of a link (Vol 4, Part E, 7.7.8).
  public struct EncryptionEnabled: AssignedNumber {
    public var rawValue: UInt8
    @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Off (0x00).
    public static let off = Self(rawValue: 0x00)
    /// On (0x01): AES-CCM on LE, E0 on BR/EDR.
    public static let on = Self(rawValue: 0x01)
    /// On with AES-CCM (0x02), on BR/EDR.
    public static let aesCCM = Self(rawValue: 0x02)

    public static let spaceName: StaticString = "encryption"
    public static let names: [Self: StaticString] = [
      .off: "Off",
      .on: "On",
      .aesCCM: "On with AES-CCM",
    ]
  }

  /// A physical layer of LE (Vol 4, Part E, 7.7.65.12).
  public struct PHY: AssignedNumber {
    public var rawValue: UInt8
    @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// None (0x00): no packet on the secondary channel.
    public static let none = Self(rawValue: 0x00)
    /// LE 1M (0x01).
    public static let le1M = Self(rawValue: 0x01)
    /// LE 2M (0x02).
    public static let le2M = Self(rawValue: 0x02)
    /// LE Coded (0x03).
    public static let leCoded = Self(rawValue: 0x03)

    public static let spaceName: StaticString = "PHY"
    public static let names: [Self: StaticString] = [
      .none: "None",
      .le1M: "LE 1M",
      .le2M: "LE 2M",
      .leCoded: "LE Coded",
    ]
  }

  /// A set of physical layers (Vol 4, Part E, 7.8.48).
  public struct PHYs: AssignedBits {
    public var rawValue: UInt8
    @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// LE 1M (bit 0).
    public static let le1M = Self(rawValue: 1 << 0)
    /// LE 2M (bit 1).
    public static let le2M = Self(rawValue: 1 << 1)
    /// LE Coded (bit 2).
    public static let leCoded = Self(rawValue: 1 << 2)

    public static let names: [Self: StaticString] = [
      .le1M: "LE 1M",
      .le2M: "LE 2M",
      .leCoded: "LE Coded",
    ]

    /// The set of these PHYs; ``PHY/none`` and undefined ones are left out.
    public init(of phys: some Sequence<PHY>) {
      self = phys.reduce(into: []) { set, phy in
        switch phy {
        case .le1M: set.insert(.le1M)
        case .le2M: set.insert(.le2M)
        case .leCoded: set.insert(.leCoded)
        default: break
        }
      }
    }

    /// The defined PHYs of the set, in the order in which commands have the parameters of each (Vol 4, Part E, 7.8.64
    /// and 7.8.66).
    public var phys: [PHY] {
      [(Self.le1M, PHY.le1M), (.le2M, .le2M), (.leCoded, .leCoded)].filter { contains($0.0) }.map { $0.1 }
    }

    /// The number of PHYs, undefined ones included.
    public var count: Int { rawValue.nonzeroBitCount }
  }

  /// The directions in which the host has no preference for a PHY (Vol 4, Part E, 7.8.48).
  public struct NoPHYPreference: AssignedBits {
    public var rawValue: UInt8
    @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// transmitter (bit 0).
    public static let transmitter = Self(rawValue: 1 << 0)
    /// receiver (bit 1).
    public static let receiver = Self(rawValue: 1 << 1)

    public static let names: [Self: StaticString] = [
      .transmitter: "transmitter",
      .receiver: "receiver",
    ]
  }

  /// The address that the controller sends (Vol 4, Part E, 7.8.5).
  public struct OwnAddressType: AssignedNumber {
    public var rawValue: UInt8
    @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Public Device Address (0x00).
    public static let `public` = Self(rawValue: 0x00)
    /// Random Device Address (0x01), set by LE Set Random Address or for the advertising set.
    public static let random = Self(rawValue: 0x01)
    /// Resolvable private address, else public (0x02), from the resolving list.
    public static let resolvableElsePublic = Self(rawValue: 0x02)
    /// Resolvable private address, else random (0x03), from the resolving list.
    public static let resolvableElseRandom = Self(rawValue: 0x03)

    public static let spaceName: StaticString = "own address type"
    public static let names: [Self: StaticString] = [
      .public: "Public Device Address",
      .random: "Random Device Address",
      .resolvableElsePublic: "Resolvable private address, else public",
      .resolvableElseRandom: "Resolvable private address, else random",
    ]
  }

  /// The advertisers to connect to (Vol 4, Part E, 7.8.12).
  public struct InitiatorFilterPolicy: AssignedNumber {
    public var rawValue: UInt8
    @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Peer address of the command (0x00).
    public static let peerAddress = Self(rawValue: 0x00)
    /// Filter accept list (0x01): any device in the list.
    public static let acceptList = Self(rawValue: 0x01)

    public static let spaceName: StaticString = "initiator filter policy"
    public static let names: [Self: StaticString] = [
      .peerAddress: "Peer address of the command",
      .acceptList: "Filter accept list",
    ]
  }

  /// The addresses that are accepted from a peer whose IRK is stored (Vol 4, Part E, 7.8.77).
  public struct PrivacyMode: AssignedNumber {
    public var rawValue: UInt8
    @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Network Privacy Mode (0x00): private addresses only.
    public static let network = Self(rawValue: 0x00)
    /// Device Privacy Mode (0x01): also the identity address.
    public static let device = Self(rawValue: 0x01)

    public static let spaceName: StaticString = "privacy mode"
    public static let names: [Self: StaticString] = [
      .network: "Network Privacy Mode",
      .device: "Device Privacy Mode",
    ]
  }
}
