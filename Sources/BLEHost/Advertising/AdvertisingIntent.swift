package import BLEHCI

/// The data of an advertisement, its interval, and when it is paused.
package struct AdvertisingIntent: Sendable {
  /// The two areas, as `AdvertisingPayload` of BLEGAP has them.
  package var data: [UInt8]
  package var scanResponse: [UInt8]
  package var isConnectable = true
  /// Wanted interval in units of 0.625 ms, 0x0020…0x4000 (Vol 4, Part E, 7.8.5).
  package var interval: ClosedRange<UInt16> = 0x00A0...0x00F0
  /// Whether it continues while a central is connected, if the controller supports that.
  package var continuesWhileConnected = true
  /// Whether it begins again when a link that stopped it has ended.
  package var resumesAfterDisconnection = true
  /// Extended advertising PDUs, which older centrals do not see (Vol 6, Part B, 2.3.4); needs a controller that has
  /// them.
  package var usesExtendedPDUs = false
  /// The PHY of the primary channels: LE 1M, or LE Coded with extended PDUs (Vol 4, Part E, 7.8.53).
  package var primaryPHY = HCI.PHY.le1M
  /// The PHY of the secondary channels, which only extended PDUs use, and of a link that begins there.
  package var secondaryPHY = HCI.PHY.le1M
  /// Whether extended PDUs contain the transmit power.
  package var includesTXPower = false
  /// The periodic advertising that belongs to the advertisement; nil for none.
  package var periodic: PeriodicIntent?
  /// The name in the data, not shortened; nil if it has none. It becomes the Device Name
  /// (``HostConfiguration/deviceName``).
  package var localName: String?

  package init(data: [UInt8], scanResponse: [UInt8]) {
    self.data = data
    self.scanResponse = scanResponse
  }
}
