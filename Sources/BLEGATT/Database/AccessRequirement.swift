package import BLEATT

/// The security of a link, or the security that an attribute requires: the levels of LE security mode 1 (Vol 3, Part C,
/// 10.2.1).
public enum SecurityLevel: UInt8, Comparable, Sendable {
  /// Level 1: no security.
  case none
  /// Level 2: encrypted with the key of an unauthenticated pairing.
  case encrypted
  /// Level 3: encrypted with the key of an authenticated pairing.
  case authenticated
  /// Level 4: encrypted with a 128-bit key of an authenticated LE Secure Connections pairing.
  case secureConnections

  /// Whether `a` is the lower level.
  @inlinable public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// The security that a link must have before a client may read, write or subscribe (Vol 3, Part C, 10.3.1).
public struct AccessRequirement: Hashable, Sendable {
  /// The lowest level that is sufficient.
  public var security: SecurityLevel
  /// The shortest encryption key that is sufficient, in octets, 7 to 16. It has no effect if ``security`` is `none`.
  public var minimumKeySize: UInt8
  /// Whether the application must have authorized the client (``SecurityState/isAuthorized``).
  public var authorization: Bool
  /// The error for a link that does not meet the requirement, 0x01 to 0x0F; nil for that of the specification. A copy
  /// of another server's database answers as that server does.
  package var refusal: ATTErrorCode?

  /// A requirement; without arguments it is ``open``.
  public init(security: SecurityLevel = .none, minimumKeySize: UInt8 = 7, authorization: Bool = false) {
    self.security = security
    self.minimumKeySize = minimumKeySize
    self.authorization = authorization
  }

  /// The requirement that a link meets if and only if it meets both.
  public func combined(with other: Self) -> Self {
    func keySize(_ requirement: Self) -> UInt8 { requirement.security == .none ? 0 : requirement.minimumKeySize }
    var combined = Self(
      security: max(security, other.security), minimumKeySize: max(7, keySize(self), keySize(other)),
      authorization: authorization || other.authorization)
    combined.refusal = refusal ?? other.refusal
    return combined
  }

  /// No requirement: each client has access.
  public static let open = Self()
  /// An encrypted link.
  public static let encrypted = Self(security: .encrypted)
  /// A link that is encrypted with an authenticated key.
  public static let authenticated = Self(security: .authenticated)
  /// A link that is encrypted with an authenticated LE Secure Connections key of 16 octets.
  public static let secureConnections = Self(security: .secureConnections, minimumKeySize: 16)
}

/// The permissions of an attribute value (Vol 3, Part F, 3.2.5).
///
/// The server checks the write permission for Write Request, Write Command and Prepare Write Request alike. The
/// ``GATTCharacteristicProperties`` of a characteristic are information for clients; the server does not enforce them
/// (Docs/Decisions/gatt.md#permissions).
public struct GATTAttributePermissions: Hashable, Sendable {
  /// The requirement for reads; nil: no client may read.
  public var read: AccessRequirement?
  /// The requirement for writes; nil: no client may write.
  public var write: AccessRequirement?

  /// The permissions; without arguments no client may read or write.
  public init(read: AccessRequirement? = nil, write: AccessRequirement? = nil) {
    self.read = read
    self.write = write
  }

  /// Each client may read, and none may write.
  public static let readable = Self(read: .open)
  /// Each client may write, and none may read.
  public static let writable = Self(write: .open)
  /// Each client may read and write.
  public static let readableAndWritable = Self(read: .open, write: .open)
}

/// The current security of a link. The owner of the link passes it with each PDU.
public struct SecurityState: Hashable, Sendable {
  /// The level that the encryption and the key give the link.
  public var level: SecurityLevel
  /// The size of the encryption key in octets, 7 to 16; 0 if the link is not encrypted.
  public var keySize: UInt8
  /// Whether a long term key is stored for the address of the peer. On a link that is not encrypted, it selects between
  /// the errors Insufficient Authentication (0x05) and Insufficient Encryption (0x0F). Any device can use that address:
  /// see ``isBondProven``.
  public var isBonded: Bool
  /// Whether this link has proven the bond: it is encrypted with the key of the bond, or the bond was made on it.
  public var isBondProven: Bool
  /// Whether the application has authorized the client (Vol 3, Part C, 10.5).
  public var isAuthorized: Bool

  /// A security state; without arguments it is ``none``.
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

  /// A link that is not encrypted, to a peer without a bond.
  @inlinable public static var none: Self { Self() }
}

/// An optional ``AccessRequirement`` in two octets.
struct PackedRequirement: Equatable, Sendable {
  /// Bit 0: access is possible; bits 1 and 2: the level; bit 3: authorization; bits 4 to 7: the error for a link that
  /// does not meet it, or 0; bits 8 to 15: the minimum key size.
  private var bits: UInt16

  init(_ requirement: AccessRequirement?) {
    guard let requirement else {
      bits = 0
      return
    }
    bits = 1 | UInt16(requirement.security.rawValue) << 1 | (requirement.authorization ? 8 : 0)
    if requirement.security != .none { bits |= UInt16(requirement.minimumKeySize) << 8 }
    if let refusal = requirement.refusal, refusal.rawValue < 0x10 { bits |= UInt16(refusal.rawValue) << 4 }
  }

  /// The error for a link that does not meet the requirement, nil if it does (Vol 3, Part C, 10.3.1.1 and Part F, 4).
  ///
  /// - Parameter notPermitted: the error if no client has access.
  @inline(__always)
  func error(for security: SecurityState, otherwise notPermitted: @autoclosure () -> ATTErrorCode) -> ATTErrorCode? {
    bits == 1 ? nil : detailedError(for: security, otherwise: notPermitted())
  }

  private func detailedError(for security: SecurityState, otherwise notPermitted: ATTErrorCode) -> ATTErrorCode? {
    guard bits & 1 != 0 else { return notPermitted }
    guard let error = unmetRequirement(security) else { return nil }
    let refusal = UInt8(truncatingIfNeeded: bits >> 4) & 0x0F
    return refusal == 0 ? error : ATTErrorCode(rawValue: refusal)
  }

  private func unmetRequirement(_ security: SecurityState) -> ATTErrorCode? {
    let needed = UInt8(truncatingIfNeeded: bits >> 1) & 3
    if security.level == .none, needed > 0 {
      return security.isBonded ? .insufficientEncryption : .insufficientAuthentication
    }
    if security.level.rawValue < needed { return .insufficientAuthentication }
    if needed > 0, security.keySize < UInt8(truncatingIfNeeded: bits >> 8) { return .insufficientEncryptionKeySize }
    return bits & 8 != 0 && !security.isAuthorized ? .insufficientAuthorization : nil
  }
}
