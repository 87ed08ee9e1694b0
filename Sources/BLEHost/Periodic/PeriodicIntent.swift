package import BLEWire

/// The periodic advertising of an advertisement (Vol 6, Part B, 4.4.2.12), which needs extended PDUs that are neither
/// connectable nor scannable (Vol 4, Part E, 7.8.61).
package struct PeriodicIntent: Equatable, Sendable {
  /// At most 1,650 octets, and no more than the controller takes.
  package var data: [UInt8]
  /// Wanted interval in units of 1.25 ms, 0x0006…0xFFFF (Vol 4, Part E, 7.8.61).
  package var interval: ClosedRange<UInt16> = 0x0050...0x0060
  /// Whether the PDUs contain the transmit power.
  package var includesTXPower = false
  /// Whether the PDUs contain the number of the data (ADI), by which controllers filter duplicates; it is left out
  /// where the controller does not have it.
  package var numbersData = true

  package init(data: [UInt8]) { self.data = data }

  /// Why such a train is not possible with this controller; nil if it is.
  func rejection(_ controller: ControllerCapabilities) -> HostError? {
    guard controller.hasPeriodicAdvertising else { return .unsupported("periodic advertising") }
    guard interval.lowerBound >= LinkLayerLimits.periodicAdvertisingInterval.lowerBound else {
      return .invalidParameters("the interval of periodic advertising is below 7.5 ms")
    }
    return Self.rejection(of: data, controller)
  }

  /// Why a train cannot have this data; nil if it can.
  static func rejection(of data: [UInt8], _ controller: ControllerCapabilities) -> HostError? {
    let limit = min(controller.maximumAdvertisingData, LinkLayerLimits.extendedAdvertisingData)
    guard data.count > limit else { return nil }
    return .invalidParameters("the periodic advertising data has \(data.count) octets, the limit is \(limit)")
  }
}

/// The identity of a periodic advertising train (Vol 6, Part B, 4.4.3.4).
package struct TrainID: Hashable, Sendable {
  /// The address of the advertiser, as it is reported: an identity address where the controller resolved it.
  package var advertiser: DeviceAddress
  /// Advertising_SID, 0 to 15.
  package var advertisingSet: UInt8

  package init(_ advertiser: DeviceAddress, set advertisingSet: UInt8) {
    (self.advertiser, self.advertisingSet) = (advertiser, advertisingSet)
  }
}
