package import BLEHost

extension BondStorage {
  /// The first commands for a host.
  package func commands(_ options: PairingOptions, _ privacy: PrivacyOptions = PrivacyOptions()) -> [HostCommand] {
    let (bonds, key) = contents
    return [
      .security(.setBonds(bonds)), .security(.setPairing(options.settings(identityResolvingKey: key))),
      .privacy(privacy.settings(identityResolvingKey: key)),
    ]
  }
}
