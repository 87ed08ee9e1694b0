public import BLEAdapter
public import BLEGAP

/// Advertisements with everything they can hold.
extension CBPeripheralManager {
  /// Advertises until ``stopAdvertising()``;
  /// ``CBPeripheralManagerDelegate/peripheralManagerDidStartAdvertising(_:error:)`` reports when it is enabled.
  ///
  /// ```swift
  /// func advertise(_ manager: CBPeripheralManager) throws {
  ///   let payload = try manager.startAdvertising(
  ///     Advertisement(localName: "Thermometer", serviceUUIDs: ["181A"], elements: [.txPowerLevel(0)]))
  ///   print(payload.localName ?? "no room for the name", payload.overflowServiceUUIDs)
  /// }
  /// ```
  ///
  /// - Returns: the octets as they are sent, the name complete or shortened, and the UUIDs for which there was no room.
  /// - Throws: `AdvertisingDataError` if something does not fit, with each element and its octets;
  ///   ``CBError/alreadyAdvertising``; ``CBError/invalidParameters`` for an interval that is not allowed, and
  ///   if the manager is not powered on. The delegate is not called then.
  @discardableResult
  public final func startAdvertising(
    _ advertisement: Advertisement, options: AdvertisingOptions = AdvertisingOptions()
  ) throws -> AdvertisingPayload {
    guard accepts("startAdvertising") else {
      throw CBError(.invalidParameters, "the adapter is \(state): advertise when it is powered on")
    }
    return try run { state, effects in
      try state.begin(advertisement, options, into: &effects)
    }
  }
}
