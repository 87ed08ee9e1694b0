import BLEWire

/// A key of 128 bits. Its descriptions do not show it, and comparing two keys takes the same time for all keys.
public struct SecretKey: Hashable, Sendable {
  /// The key as a number. PDUs and HCI have its least significant octet first.
  public var value: UInt128 {
    get { number.value }
    set { number = UnalignedUInt128(newValue) }
  }

  private var number: UnalignedUInt128

  /// A key with this value.
  public init(_ value: UInt128) { number = UnalignedUInt128(value) }

  /// Compares all bits of both keys, also after a difference.
  public static func == (a: Self, b: Self) -> Bool {
    let difference = a.value ^ b.value
    return UInt64(truncatingIfNeeded: difference >> 64) | UInt64(truncatingIfNeeded: difference) == 0
  }
}

extension SecretKey: CustomStringConvertible, CustomDebugStringConvertible {
  /// `(secret)`.
  public var description: String { "(secret)" }
  /// `(secret)`.
  public var debugDescription: String { description }
}

/// A passkey, or the number of a numeric comparison: six digits, 000000 to 999999 (Vol 3, Part H, 2.3.5.3 and
/// 2.3.5.6.2). Its descriptions do not show it.
public struct Passkey: Hashable, Sendable {
  /// The number.
  public let value: UInt32

  /// A passkey with this number.
  ///
  /// - Returns: nil for a number of more than six digits.
  public init?(_ value: UInt32) {
    guard value <= 999_999 else { return nil }
    self.value = value
  }

  /// The six lowest decimal digits of a number.
  public init(lowestDigitsOf number: UInt32) { value = number % 1_000_000 }

  /// The six digits with leading zeros, as they are shown to the user.
  public var digits: String {
    let text = String(value)
    return String(repeating: "0", count: 6 - text.utf8.count) + text
  }
}

extension Passkey: CustomStringConvertible, CustomDebugStringConvertible {
  /// `(passkey)`.
  public var description: String { "(passkey)" }
  /// `(passkey)`.
  public var debugDescription: String { description }
}

/// The security properties of an encryption key (Vol 3, Part H, 2.3.1).
public struct KeyStrength: Hashable, Sendable {
  /// The size of the key, in octets, 7 to 16.
  public var size: UInt8
  /// Whether the pairing was protected against a man in the middle.
  public var isAuthenticated: Bool
  /// Whether the key was made by LE Secure Connections.
  public var isSecureConnections: Bool

  /// A strength with these properties.
  public init(size: UInt8, isAuthenticated: Bool, isSecureConnections: Bool) {
    self.size = size
    self.isAuthenticated = isAuthenticated
    self.isSecureConnections = isSecureConnections
  }

  /// The reason why a key of this strength must not replace one of another strength, nil if it may. Authentication,
  /// Secure Connections and size must each be no weaker.
  public func error(replacing other: KeyStrength) -> PairingFailedReason? {
    if other.isAuthenticated && !isAuthenticated || other.isSecureConnections && !isSecureConnections {
      return .authenticationRequirements
    }
    return size < other.size ? .encryptionKeySize : nil
  }
}

/// A key that encrypts links (LTK), and its identifier. EDIV and Rand are zero for an LE Secure Connections key.
public struct LongTermKey: Hashable, Sendable {
  /// The key.
  public var value: SecretKey
  /// The Encrypted Diversifier.
  public var ediv: UInt16
  /// The Random Number.
  public var rand: UInt64
  /// The security properties of the key.
  public var strength: KeyStrength

  /// A key with these fields.
  public init(value: SecretKey, ediv: UInt16 = 0, rand: UInt64 = 0, strength: KeyStrength) {
    self.value = value
    self.ediv = ediv
    self.rand = rand
    self.strength = strength
  }
}

// Embedded Swift has no reflection.
#if !hasFeature(Embedded)
  extension SecretKey: CustomReflectable {
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
  }

  extension Passkey: CustomReflectable {
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
  }
#endif
