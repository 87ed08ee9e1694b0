internal import BLEHCI
internal import BLEWire

/// The SyncInfo field of AUX_ADV_IND and of LL_PERIODIC_SYNC_IND, with the address and the PHY of the advertiser: all
/// that a controller needs to receive a periodic advertising train (Vol 6, Part B, 2.3.4.6 and 2.4.2.33).
struct SyncInfo: Sendable {
  /// The controller that sends the train.
  let sender: ControllerID
  /// The train, as its access address does. A train that is enabled again is another one.
  let train: UInt64
  /// The advertiser's address, as in AUX_ADV_IND.
  let address: DeviceAddress
  let sid: UInt8
  let phy: HCI.PHY
  /// The interval in units of 1.25 ms.
  let interval: UInt16
  /// The anchor point of the event with the counter 0.
  let start: Instant

  /// The length of SyncInfo in AUX_ADV_IND, in octets.
  static let length = 18

  var intervalDuration: Duration { .microseconds(1250 * Int64(interval)) }

  /// The counter of the first periodic advertising event after `now`.
  func nextEvent(after now: Instant) -> Int {
    now < start ? 0 : (now - start).wholeMultiples(of: intervalDuration) + 1
  }

  /// The anchor point of a periodic advertising event.
  func anchor(of event: Int) -> Instant { start + .microseconds(1250 * Int64(interval) * Int64(event)) }
}

/// LL_PERIODIC_SYNC_IND (Vol 6, Part B, 2.4.2.33).
struct SyncTransfer: Sendable {
  /// The value that the sending host gives to the receiving one.
  let serviceData: UInt16
  let info: SyncInfo
}

/// AUX_SYNC_IND with the AUX_CHAIN_INDs that follow it.
struct PeriodicPDU: Sendable {
  let data: Bytes
  /// Advertising DID; nil for a train without the ADI field.
  let dataIdentifier: UInt16?
  /// In dBm; 127 if the train does not include it.
  let txPower: Int8
  /// In dBm.
  let rssi: Int8
  /// The airtime of all packets.
  let airtime: Duration
}
