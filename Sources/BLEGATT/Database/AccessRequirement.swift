import BLEATT

/// How far a link is secured, and how far an attribute demands it: LE security mode 1 (Vol 3, Part C, 10.2.1).
public enum SecurityLevel: UInt8, Comparable, Sendable {
  /// Level 1: no security.
  case none
  /// Level 2: encrypted, from a pairing without protection against a man in the middle.
  case encrypted
  /// Level 3: encrypted, from a pairing with that protection.
  case authenticated
  /// Level 4: as level 3, from LE Secure Connections with a 128-bit key.
  case secureConnections

  @inlinable public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// What a link must have before an attribute may be read or written (Vol 3, Part C, 10.3.1).
public struct AccessRequirement: Hashable, Sendable {
  public var security: SecurityLevel
  /// The shortest encryption key that will do, in octets (7 to 16); looked at where ``security`` is not `none`.
  public var minimumKeySize: UInt8
  /// Whether the user must have allowed this client, ``SecurityState/isAuthorized``.
  public var authorization: Bool

  public init(security: SecurityLevel = .none, minimumKeySize: UInt8 = 7, authorization: Bool = false) {
    self.security = security
    self.minimumKeySize = minimumKeySize
    self.authorization = authorization
  }

  /// Demands whatever one of the two demands.
  public func combined(with other: Self) -> Self {
    func keySize(_ requirement: Self) -> UInt8 { requirement.security == .none ? 0 : requirement.minimumKeySize }
    return Self(
      security: max(security, other.security), minimumKeySize: max(7, keySize(self), keySize(other)),
      authorization: authorization || other.authorization)
  }

  /// Anyone may.
  public static let open = Self()
  public static let encrypted = Self(security: .encrypted)
  public static let authenticated = Self(security: .authenticated)
  public static let secureConnections = Self(security: .secureConnections, minimumKeySize: 16)
}

/// Who may read and who may write an attribute's value; nil is nobody (Vol 3, Part F, 3.2.5).
///
/// The write side stands for Write Request, Write Command and prepared writes alike: a characteristic's properties tell
/// clients which of them to use, its permissions say what the server lets through.
public struct GATTAttributePermissions: Hashable, Sendable {
  public var read: AccessRequirement?
  public var write: AccessRequirement?

  public init(read: AccessRequirement? = nil, write: AccessRequirement? = nil) {
    self.read = read
    self.write = write
  }

  public static let readable = Self(read: .open)
  public static let writable = Self(write: .open)
  public static let readableAndWritable = Self(read: .open, write: .open)
}

/// What a link really has; the host passes it with each PDU.
public struct SecurityState: Hashable, Sendable {
  public var level: SecurityLevel
  /// The size of the encryption key in octets; 0 on a link in the clear.
  public var keySize: UInt8
  /// Whether a long term key is stored for the address that the peer uses: decides between the errors 0x05 and 0x0F on a
  /// link in the clear. Any device can use that address; ``isBondProven`` says whether it is the bonded one.
  public var isBonded: Bool
  /// Whether this link has proven the bond: it is encrypted with the bond's key, or the pairing on it made the bond.
  public var isBondProven: Bool
  public var isAuthorized: Bool

  @inlinable public init(
    level: SecurityLevel = .none, keySize: UInt8 = 0, isBonded: Bool = false,
    isBondProven: Bool = false, isAuthorized: Bool = false
  ) {
    self.level = level
    self.keySize = keySize
    self.isBonded = isBonded
    self.isBondProven = isBondProven
    self.isAuthorized = isAuthorized
  }

  /// A link in the clear with a stranger.
  @inlinable public static var none: Self { Self() }
}

/// An ``AccessRequirement``, or that there is no access at all, in two octets.
struct PackedRequirement: Equatable, Sendable {
  /// Bit 0: permitted; bits 1 and 2: the level; bit 3: authorization; bits 8 to 15: the least key size.
  private var bits: UInt16

  init(_ requirement: AccessRequirement?) {
    guard let requirement else {
      bits = 0
      return
    }
    bits = 1 | UInt16(requirement.security.rawValue) << 1 | (requirement.authorization ? 8 : 0)
    if requirement.security != .none { bits |= UInt16(requirement.minimumKeySize) << 8 }
  }

  static let open = Self(.open)
  static let never = Self(nil)

  /// Why this link may not, or nil if it may (Vol 3, Part C, 10.3.1.1 and Part F, 4).
  @inline(__always)
  func refusal(for security: SecurityState, otherwise notPermitted: ATTErrorCode) -> ATTErrorCode? {
    bits == 1 ? nil : closerLook(security, notPermitted)
  }

  private func closerLook(_ security: SecurityState, _ notPermitted: ATTErrorCode) -> ATTErrorCode? {
    guard bits & 1 != 0 else { return notPermitted }
    let needed = UInt8(truncatingIfNeeded: bits >> 1) & 3
    if security.level == .none, needed > 0 {
      return security.isBonded ? .insufficientEncryption : .insufficientAuthentication
    }
    if security.level.rawValue < needed { return .insufficientAuthentication }
    if needed > 0, security.keySize < UInt8(truncatingIfNeeded: bits >> 8) { return .insufficientEncryptionKeySize }
    return bits & 8 != 0 && !security.isAuthorized ? .insufficientAuthorization : nil
  }
}
