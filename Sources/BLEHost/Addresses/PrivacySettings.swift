import BLECrypto
package import BLESMP
import BLEWire

/// How the host hides behind addresses that only those resolve who have its key (Vol 3, Part C, 10.7).
package struct PrivacySettings: Equatable, Sendable {
  /// What the addresses are made with; peers are given the same one when they pair (``PairingSettings``).
  package var identityResolvingKey: SecretKey
  /// How long one address is used, TGAP(private_addr_int): the specification recommends 15 minutes (Vol 3, Part C,
  /// Appendix A).
  package var rotation: Duration
  /// Whether a device that pairs without authentication is given the key and our identity address.
  package var distributesIdentityWhenUnauthenticated: Bool

  /// What a rotation may be: the range the controller's own timer has, too (Vol 4, Part E, 7.8.45).
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
