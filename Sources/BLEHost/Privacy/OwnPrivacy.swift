import BLECrypto
import BLEHCI
package import BLESMP
package import BLEWire

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
  fileprivate func hasSameAddress(as other: Self?) -> Bool {
    identityResolvingKey == other?.identityResolvingKey && rotation == other?.rotation
  }
}

/// The private address of the hour.
struct OwnPrivacy: Sendable {
  /// Nil: the identity address is shown.
  var settings: PrivacySettings?
  /// The one the controller has, or is given in its bring-up.
  var address: DeviceAddress?
  var nextRotation: Instant?
}

extension HostCore {
  /// The address that advertising, scanning and connecting show: a private one where there is to be one, else our
  /// identity, ``ownAddress``.
  package var addressOnAir: DeviceAddress { privacy.address ?? ownAddress }

  /// The same as own-address type, which host-made private addresses have no part in (Vol 4, Part E, 7.8.5).
  var ownAddressType: HCI.OwnAddressType { addressOnAir.kind == .random ? .random : .public }

  mutating func setPrivacy(
    _ settings: PrivacySettings?, from owner: OwnerID, now: Instant, into output: inout HostOutput
  ) {
    guard settings != privacy.settings else { return }
    guard configuration.ownership == .exclusive else {
      return output.append(
        .refused(
          .unsupported("private address of ours: the kernel chooses the adapter's; take the adapter with hci-socket:N")),
        to: owner.recipient)
    }
    if let settings, !PrivacySettings.rotations.contains(settings.rotation) {
      return output.append(
        .refused(.invalidParameters("a private address is used for 1 s to 1 h")), to: owner.recipient)
    }
    let isSameAddress = settings.map { $0.hasSameAddress(as: privacy.settings) } ?? false
    privacy.settings = settings
    guard !isSameAddress else { return }
    privacy.nextRotation = nil
    stillness.needsAddress = true
    settle(now: now, into: &output)
  }

  /// A new address (Vol 6, Part B, 1.3.2.2); nil where none is wanted.
  mutating func drawPrivateAddress(into output: inout HostOutput) -> DeviceAddress? {
    guard let settings = privacy.settings else { return nil }
    do throws(CryptographyError) {
      return try toolbox.resolvableAddress(irk: settings.identityResolvingKey.value, random: &random)
    } catch {
      report(.application, "no private address could be made (\(error)): the one before is kept", into: &output)
      return privacy.address
    }
  }

  /// The controller shows the address from now on.
  mutating func privateAddressTaken(_ address: DeviceAddress?, now: Instant) {
    privacy.address = address
    scheduleRotation(now: now)
  }

  mutating func scheduleRotation(now: Instant) {
    privacy.nextRotation = privacy.settings.map { now + $0.rotation }
  }

  /// The address has been used long enough.
  mutating func rotateAddress(now: Instant, into output: inout HostOutput) {
    guard let next = privacy.nextRotation, next <= now else { return }
    privacy.nextRotation = nil
    stillness.needsAddress = true
    settle(now: now, into: &output)
  }
}
