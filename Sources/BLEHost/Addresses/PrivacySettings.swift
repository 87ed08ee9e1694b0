import BLECrypto
package import BLESMP
import BLEWire

/// The settings of private addresses, which only devices with the host's key resolve (Vol 3, Part C, 10.7).
package struct PrivacySettings: Equatable, Sendable {
  /// The key that the addresses are made with; peers receive the same key when they pair (``PairingSettings``).
  package var identityResolvingKey: SecretKey
  /// How long one address is used, TGAP(private_addr_int): the specification recommends 15 minutes (Vol 3, Part C,
  /// Appendix A).
  package var rotation: Duration
  /// Whether a device that pairs without authentication receives the key and our identity address.
  package var distributesIdentityWhenUnauthenticated: Bool

  /// The allowed rotations, which are also the range of the controller's own timer (Vol 4, Part E, 7.8.45).
  package static let rotations: ClosedRange<Duration> = .seconds(1)...Duration.seconds(3600)

  package init(
    identityResolvingKey: SecretKey, rotation: Duration = .seconds(900),
    distributesIdentityWhenUnauthenticated: Bool = false
  ) {
    self.identityResolvingKey = identityResolvingKey
    self.rotation = rotation
    self.distributesIdentityWhenUnauthenticated = distributesIdentityWhenUnauthenticated
  }
}

extension PrivacySettings {
  /// Whether the address that is shown needs no change.
  func hasSameAddress(as other: Self?) -> Bool {
    identityResolvingKey == other?.identityResolvingKey && rotation == other?.rotation
  }
}
