extension HostCommand {
  /// A command about advertising, which is a declared intent: kept, through connections and resets, until it is
  /// stopped. ``Advertiser`` performs it.
  package enum Advertising: Sendable {
    /// ``HostEvent/Advertising/started(_:)`` answers.
    indirect case start(AdvertisingID, AdvertisingIntent)
    case stop(AdvertisingID)
    /// Changes the data of the periodic advertising. ``HostEvent/Advertising/trainUpdated(_:_:)`` answers.
    indirect case updateTrain(AdvertisingID, [UInt8], UpdateToken)
    /// Sends the device of a link what it needs to receive the periodic advertising (Vol 4, Part E, 7.8.90).
    /// ``HostEvent/Advertising/transferred(_:_:)`` answers.
    indirect case transfer(AdvertisingID, to: LinkID, serviceData: UInt16)
  }
}
