extension HostCommand {
  /// A command about advertising, which is a declared intent: kept, through connections and resets, until it is
  /// stopped. ``Advertiser`` performs it.
  package enum Advertising: Sendable {
    /// ``HostEvent/Advertising/started(_:)`` answers.
    indirect case start(AdvertisingID, AdvertisingIntent)
    case stop(AdvertisingID)
  }
}
