package import BLEHost
package import BLESMP

/// Whether an adapter uses resolvable private addresses, which only its bonded peers can resolve.
///
/// A device can be followed by its address. A resolvable private address (Vol 3, Part C, 10.7) changes every 15
/// minutes. Bonded peers have the key that resolves it; to others each address is that of an unknown device. A change
/// of the address does not affect links.
///
/// ```swift
/// var options = AdapterOptions(transport: "virtual")
/// options.privacy.usesPrivateAddress = true
/// ```
///
/// The key goes to devices that pair with authentication (passkey, numeric comparison, out of band). A device that
/// pairs without authentication does not get it, unless ``distributesIdentityWhenUnauthenticated`` is set. Such a
/// device has a bond, but cannot recognize this adapter after the next change of its address, and has to find and pair
/// with it anew. With the defaults of ``PairingOptions``, which has no ``PairingOptions/capability``, that is every
/// device; the log reports it when privacy is enabled.
///
/// An adapter that the kernel runs (transport `linux`) shows the address that the kernel chose. If the options request
/// privacy from such an adapter, the state is `unsupported`, and the reason of the state says what to do. Advertised
/// content, usually a name, can identify a device as well as its address. If the kernel itself uses private addresses
/// (`btmgmt privacy`), it gives its own key to each device that bonds, with authentication or without; these options
/// have no effect on that.
public struct PrivacyOptions: Hashable, Sendable {
  /// Whether advertising, scanning and connecting show a resolvable private address.
  public var usesPrivateAddress = false
  /// How long one address is used: 1 s to 1 h; a value outside this range is replaced by the nearer limit. The
  /// specification recommends 15 minutes (Vol 3, Part C, Appendix A).
  public var rotation = Duration.seconds(900)
  /// Whether a device that pairs without authentication receives the identity resolving key and the identity address.
  /// If ``PairingOptions/requiresProtection`` is not set, any device within reach can pair in this way, and can follow
  /// this adapter from then on.
  public var distributesIdentityWhenUnauthenticated = false

  /// Creates options with privacy disabled.
  public init() {}

  /// The options in the type of the host; nil if the identity address is shown.
  package func settings(identityResolvingKey: SecretKey) -> PrivacySettings? {
    guard usesPrivateAddress else { return nil }
    let range = PrivacySettings.rotations
    return PrivacySettings(
      identityResolvingKey: identityResolvingKey, rotation: min(max(rotation, range.lowerBound), range.upperBound),
      distributesIdentityWhenUnauthenticated: distributesIdentityWhenUnauthenticated)
  }

  /// The log line when privacy is enabled; nil if no pairing can make a bond without the key.
  package func warning(_ pairing: PairingOptions) -> String? {
    guard usesPrivateAddress, !distributesIdentityWhenUnauthenticated else { return nil }
    guard pairing.isEnabled, pairing.isBonding, !pairing.requiresProtection else { return nil }
    return
      "a device that pairs without authentication is not given the identity resolving key, and loses this adapter at the next change of its private address; set PairingOptions.capability and requiresProtection, or PrivacyOptions.distributesIdentityWhenUnauthenticated"
  }
}
