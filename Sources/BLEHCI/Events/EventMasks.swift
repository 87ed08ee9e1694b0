public import BLEWire

extension HCI {
  /// The events that the controller may send, limited to those that an LE host uses (Vol 4, Part E, 7.3.1).
  public struct EventMask: AssignedBits {
    public var rawValue: UInt64
    @inlinable public init(rawValue: UInt64) { self.rawValue = rawValue }

    /// Disconnection Complete (bit 4).
    public static let disconnectionComplete = Self(rawValue: 1 << 4)
    /// Encryption Change [v1] (bit 7).
    public static let encryptionChange = Self(rawValue: 1 << 7)
    /// Read Remote Version Information Complete (bit 11).
    public static let readRemoteVersionInformationComplete = Self(rawValue: 1 << 11)
    /// Hardware Error (bit 15).
    public static let hardwareError = Self(rawValue: 1 << 15)
    /// Data Buffer Overflow (bit 25).
    public static let dataBufferOverflow = Self(rawValue: 1 << 25)
    /// Encryption Key Refresh Complete (bit 47).
    public static let encryptionKeyRefreshComplete = Self(rawValue: 1 << 47)
    /// LE Meta (bit 61).
    public static let leMeta = Self(rawValue: 1 << 61)
    /// The mask after a reset.
    public static let standard = Self(rawValue: 0x0000_1FFF_FFFF_FFFF)

    public static let names: [Self: StaticString] = [
      .disconnectionComplete: "Disconnection Complete",
      .encryptionChange: "Encryption Change [v1]",
      .readRemoteVersionInformationComplete: "Read Remote Version Information Complete",
      .hardwareError: "Hardware Error",
      .dataBufferOverflow: "Data Buffer Overflow",
      .encryptionKeyRefreshComplete: "Encryption Key Refresh Complete",
      .leMeta: "LE Meta",
    ]
  }

  /// The events of the second page that the controller may send (Vol 4, Part E, 7.3.69).
  public struct EventMaskPage2: AssignedBits {
    public var rawValue: UInt64
    @inlinable public init(rawValue: UInt64) { self.rawValue = rawValue }

    /// Authenticated Payload Timeout Expired (bit 23).
    public static let authenticatedPayloadTimeoutExpired = Self(rawValue: 1 << 23)
    /// Encryption Change [v2] (bit 25).
    public static let encryptionChangeV2 = Self(rawValue: 1 << 25)

    public static let names: [Self: StaticString] = [
      .authenticatedPayloadTimeoutExpired: "Authenticated Payload Timeout Expired",
      .encryptionChangeV2: "Encryption Change [v2]",
    ]
  }

  /// The LE meta events that the controller may send (Vol 4, Part E, 7.8.1).
  ///
  /// The bit of an event is its subevent code minus one: `[.connectionComplete, .longTermKeyRequest]` is 0x11.
  public struct LEEventMask: RawRepresentable, Hashable, Sendable {
    /// The 64 bits of LE_Event_Mask.
    public var rawValue: UInt64
    @inlinable public init(rawValue: UInt64) { self.rawValue = rawValue }

    /// The mask after a reset: the first five events.
    public static let standard = Self(rawValue: 0x1F)

    /// Whether the controller may send the event; false for a code that has no bit.
    public func contains(_ code: LESubeventCode) -> Bool { rawValue & Self.bit(code) != 0 }

    /// Adds an event. A code that has no bit changes nothing.
    public mutating func insert(_ code: LESubeventCode) { rawValue |= Self.bit(code) }

    /// Adds the events of another mask.
    public mutating func formUnion(_ other: Self) { rawValue |= other.rawValue }

    private static func bit(_ code: LESubeventCode) -> UInt64 {
      code.rawValue > 0 && code.rawValue <= 64 ? 1 << UInt64(code.rawValue - 1) : 0
    }
  }
}

extension HCI.LEEventMask: ExpressibleByArrayLiteral {
  /// The mask that enables these events. A code that has no bit changes nothing.
  public init(arrayLiteral codes: LESubeventCode...) {
    self.init(rawValue: 0)
    for code in codes { insert(code) }
  }
}

extension HCI.LEEventMask: CustomStringConvertible {
  /// The names of the events, in the order of the bits; `none` for an empty mask.
  public var description: String {
    let codes = (1...64).map { LESubeventCode(rawValue: $0) }.filter(contains)
    return codes.isEmpty ? "none" : codes.map { $0.name ?? $0.description }.joined(separator: ", ")
  }
}
