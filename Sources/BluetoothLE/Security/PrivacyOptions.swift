import BLEHost
import BLESMP

/// Whether an adapter hides who it is from all but its bonded peers.
///
/// An adapter is recognised by its address, wherever it goes. With a resolvable private address
/// (Vol 3, Part C, 10.7) it shows another one every quarter of an hour; peers that it is bonded with have been given the
/// key to know it again, and everybody else meets a stranger each time. Links are not touched when the address changes.
///
/// ```swift
/// var options = AdapterOptions(transport: "virtual")
/// options.privacy.usesPrivateAddress = true
/// ```
///
/// An adapter that the kernel runs (transport `linux`) shows the address that the kernel chose; asking one for privacy
/// makes the manager's state `unsupported`, and ``Manager/stateReason`` says what to do. What is advertised, a name above
/// all, can give a device away as well as its address.
public struct PrivacyOptions: Hashable, Sendable {
  /// Whether advertising, scanning and connecting show a resolvable private address.
  public var usesPrivateAddress = false
  /// How long one address is used: 1 s to 1 h; what lies outside is taken for the nearer end. The specification recommends
  /// 15 minutes (Vol 3, Part C, Appendix A).
  public var rotation = Duration.seconds(900)

  public init() {}

  /// The same for the host; nil where the identity address is shown.
  func settings(identityResolvingKey: SecretKey) -> PrivacySettings? {
    guard usesPrivateAddress else { return nil }
    let range = PrivacySettings.rotations
    return PrivacySettings(
      identityResolvingKey: identityResolvingKey, rotation: min(max(rotation, range.lowerBound), range.upperBound))
  }
}
