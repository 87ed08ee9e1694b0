/// A Bluetooth device address and its type (Vol 6, Part B, 1.3).
public struct DeviceAddress: Hashable, Sendable {
  /// The address type in HCI (Vol 4, Part E, 7.7.65.1).
  public struct Kind: AssignedNumber {
    public var rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// 0x00: a public address.
    public static let `public` = Self(rawValue: 0x00)
    /// 0x01: a random address, static or private.
    public static let random = Self(rawValue: 0x01)
    /// 0x02: a public identity address that the controller has resolved from a private address.
    public static let publicIdentity = Self(rawValue: 0x02)
    /// 0x03: a random (static) identity address that the controller has resolved from a private address.
    public static let randomIdentity = Self(rawValue: 0x03)
    /// 0xFF: an extended advertisement without an address.
    public static let anonymous = Self(rawValue: 0xFF)

    public static let spaceName: StaticString = "address type"
    public static let names: [Self: StaticString] = [
      .public: "Public Device Address", .random: "Random Device Address", .publicIdentity: "Public Identity Address",
      .randomIdentity: "Random Identity Address", .anonymous: "Anonymous",
    ]
  }

  /// The 48 bits of the address.
  public var octets: BD_ADDR
  /// The address type.
  public var kind: Kind

  /// An address of the given type.
  public init(octets: BD_ADDR, kind: Kind) {
    self.octets = octets
    self.kind = kind
  }

  /// Reads `C0:11:22:33:44:55`, most significant octet first, in either case.
  ///
  /// - Returns: nil for text in any other form.
  public init?(_ text: some StringProtocol, kind: Kind) {
    let groups = Substring(text).utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    guard groups.count == 6, groups.allSatisfy({ $0.count == 2 }) else { return nil }
    var number: UInt64 = 0
    for octet in groups.joined() {
      guard let digit = UInt8(hexadecimalDigit: octet) else { return nil }
      number = number << 4 | UInt64(digit)
    }
    self.init(octets: BD_ADDR(number), kind: kind)
  }

  /// The kinds of random addresses, which differ in the two most significant bits (Vol 6, Part B, 1.3.2).
  public enum RandomKind: Sendable {
    /// 0b11: a static address.
    case `static`
    /// 0b01: a resolvable private address.
    case resolvablePrivate
    /// 0b00: a non-resolvable private address.
    case nonResolvablePrivate
    /// 0b10: reserved for future use.
    case reserved
  }

  /// The kind of a random address; nil for a public one.
  public var randomKind: RandomKind? {
    guard kind == .random || kind == .randomIdentity else { return nil }
    return switch octets.value >> 46 {
    case 0b11: .static
    case 0b01: .resolvablePrivate
    case 0b00: .nonResolvablePrivate
    default: .reserved
    }
  }

  /// The same address with the type of an identity address: ``Kind/publicIdentity`` becomes ``Kind/public``,
  /// ``Kind/randomIdentity`` becomes ``Kind/random``.
  public var identity: Self {
    switch kind {
    case .publicIdentity: Self(octets: octets, kind: .public)
    case .randomIdentity: Self(octets: octets, kind: .random)
    default: self
    }
  }

  /// Whether a device can have this address as its identity: a public address, or a static one whose random part is
  /// neither all zeros nor all ones (Vol 6, Part B, 1.3.2.1; Vol 3, Part H, 3.6.5).
  public var isIdentityAddress: Bool {
    guard let randomKind else { return kind == .public || kind == .publicIdentity }
    let randomPart = octets.value & (1 << 46 - 1)
    return randomKind == .static && randomPart != 0 && randomPart != 1 << 46 - 1
  }
}

extension DeviceAddress: CustomStringConvertible {
  /// The address, most significant octet first, and its type: `C0:11:22:33:44:55 (random)`.
  public var description: String {
    switch kind {
    case .public, .publicIdentity: "\(octets) (public)"
    case .random, .randomIdentity: "\(octets) (random)"
    case .anonymous: "anonymous"
    default: "\(octets) (\(kind))"
    }
  }
}

/// The 48 bits of a device address. They are sent least significant octet first.
public struct BD_ADDR: FieldGroup, Hashable {
  /// The address as a number below 2^48.
  public var value: UInt64 = 0

  /// 00:00:00:00:00:00.
  public init() {}
  /// An address from its number; bits 48 to 63 are ignored.
  public init(_ value: UInt64) { self.value = value & 0xFFFF_FFFF_FFFF }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    var low = UInt32(truncatingIfNeeded: value)
    var high = UInt16(truncatingIfNeeded: value >> 32)
    try field.integer("BD_ADDR (lower 32 bits)", &low)
    try field.integer("BD_ADDR (upper 16 bits)", &high)
    value = UInt64(high) << 32 | UInt64(low)
  }

  /// The six octets, least significant first.
  public var littleEndian: [UInt8] { (0..<6).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) } }
}

extension BD_ADDR: CustomStringConvertible {
  /// `C0:11:22:33:44:55`, most significant octet first.
  public var description: String {
    littleEndian.reversed().map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }
      .joined(separator: ":")
  }
}
