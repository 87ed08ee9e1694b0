package import BLEGATT
package import BLEHost
package import BLESMP
public import BLEWire

/// The security of a link.
public struct PeerSecurity: Hashable, Sendable {
  /// LE security mode 1, levels 1 to 4 (Vol 3, Part C, 10.2.1).
  public enum Level: Int, Comparable, Sendable {
    /// The link is not encrypted.
    case none = 1
    /// Encrypted with an unauthenticated key: the other end may be any device.
    case encrypted
    /// Encrypted with an authenticated key: protected against a device in the middle.
    case authenticated
    /// As before, with LE Secure Connections and a key of 128 bits.
    case secureConnections

    public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
  }

  /// The security level of the link.
  public var level: Level

  /// The host's type for a program's demand on the security of a link; nil for a link without security.
  package static func demand(_ level: Level, asksConsent: Bool) -> SecurityDemand? {
    switch level {
    case .none: nil
    case .encrypted: SecurityDemand(level: .encrypted, asksConsent: asksConsent)
    case .authenticated: SecurityDemand(level: .authenticated, asksConsent: asksConsent)
    case .secureConnections: SecurityDemand(level: .secureConnections, asksConsent: asksConsent)
    }
  }
  /// The length of the encryption key in octets; 0 on an unencrypted link.
  public var keySize: Int
  /// Whether a bond is stored for the address that the peer uses. Any device can use that address: decide by
  /// ``isBondProven``.
  public var isBonded: Bool
  /// Whether the peer has proven on this link that it is the bonded device: the link is encrypted with the bond's key,
  /// or the pairing on it made the bond.
  public var isBondProven: Bool
  /// Whether the application has authorized this central (Vol 3, Part C, 10.5).
  public var isAuthorized: Bool

  package init(_ security: SecurityState) {
    level =
      switch security.level {
      case .none: .none
      case .encrypted: .encrypted
      case .authenticated: .authenticated
      case .secureConnections: .secureConnections
      }
    keySize = Int(security.keySize)
    (isBonded, isBondProven) = (security.isBonded, security.isBondProven)
    isAuthorized = security.isAuthorized
  }
}

/// The reason why a pairing failed, and the side that ended it.
public struct PairingError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The reason of the Pairing Failed PDU (Vol 3, Part H, 3.5.5).
  public let reason: UInt8
  public let description: String

  package init(_ failure: PairingFailure) {
    reason = failure.reason.rawValue
    description = "the pairing failed, \(failure)"
  }
}

/// The reason why a link could not be encrypted with the key of a bond, and what to do.
public struct BondLostError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The causes, as far as they can be distinguished.
  public enum Cause: Hashable, Sendable {
    /// The other device no longer has the key.
    case forgottenByPeer
    /// The other device has no key for the address of this one, which had another address when the two paired:
    /// ``BondLostError/pairedAddress``.
    case ownAddressChanged
    /// The other device has a key that this device does not have.
    case missingHere
    /// Both have a key, and the keys differ.
    case keysDiffer
    /// The link could not be encrypted, for another reason: the other device does not answer, or cannot encrypt.
    case notEncrypted
  }

  /// The cause.
  public let cause: Cause
  /// The identity address that this device had when the two paired, if it has another one now and the other device does
  /// not accept it; otherwise nil.
  public let pairedAddress: DeviceAddress?
  public let description: String

  package init(_ loss: BondLoss) {
    cause =
      switch loss {
      case .forgottenByPeer: .forgottenByPeer
      case .ownAddressChanged: .ownAddressChanged
      case .missingHere: .missingHere
      case .keysDiffer: .keysDiffer
      case .notEncrypted: .notEncrypted
      }
    pairedAddress = if case .ownAddressChanged(let old, _) = loss { old } else { nil }
    description = "\(loss)"
  }
}
