package import BLEHost

extension BondStorage {
  /// The first commands for a host.
  package func commands(_ options: PairingOptions, _ privacy: PrivacyOptions = PrivacyOptions()) -> [HostCommand] {
    let (bonds, key) = contents
    return [
      .setBonds(bonds), .setPairing(options.settings(identityResolvingKey: key)),
      .setPrivacy(privacy.settings(identityResolvingKey: key)),
    ]
  }
}
