internal import BLEHCI
internal import BLEWire

/// An advertising set of the extended commands, or the advertisement of the legacy commands.
struct AdvertisingSet: Sendable {
  /// The state of a set that is enabled.
  struct Running: Sendable {
    /// The advertiser's address.
    var address: DeviceAddress
    var nextEvent: Instant
    var endsAt: Instant?
    var eventsDone = 0
    /// 0 for no limit.
    var maxEvents: UInt8 = 0
    /// The advertising event in progress, with airtime.
    var event: AdvertisingEvent?
  }

  /// Advertising data or scan response data from the host, whole or in fragments.
  struct Payload: Sendable {
    var octets: Bytes = []
    var isPartial = false
    /// Advertising DID: changes with the data, so that a scanner reports the new advertisement.
    var identifier: UInt16 = 0
  }

  /// Advertising_Handle; nil for the advertisement of the legacy commands.
  let handle: UInt8?
  /// The parameters, in the form of the extended command.
  var parameters = HCI.LESetExtendedAdvertisingParameters()
  var randomAddress: BD_ADDR?
  var data = Payload()
  var scanResponse = Payload()
  var running: Running?

  init(handle: UInt8?) {
    self.handle = handle
    if handle == nil { parameters.advertisingEventProperties = .legacyConnectableUndirected }
  }

  var properties: HCI.AdvertisingEventProperties { parameters.advertisingEventProperties }
  var isLegacyPDU: Bool { properties.contains(.legacy) }
  var isConnectable: Bool { properties.contains(.connectable) }
  var isScannable: Bool { properties.contains(.scannable) }
  var isDirected: Bool { properties.contains(.directed) }

  /// The longest advertising data of the set: that of a connectable extended advertisement is in one packet, because its
  /// AUX_ADV_IND has no AuxPtr (Vol 6, Part B, 2.3.4). Longer data is Packet Too Long (Vol 4, Part E, 7.8.54 and 7.8.56).
  var greatestData: Int {
    guard !isLegacyPDU, isConnectable else { return LinkLayerLimits.extendedAdvertisingData }
    return Advertisement.greatestPayload - Advertisement.auxiliaryFields(of: properties)
  }

  /// The time of the next step of the advertising event, of the next event, or of the end.
  var deadline: Instant? {
    guard let running else { return nil }
    return .nearer(running.event?.end ?? running.nextEvent, running.endsAt)
  }

  /// The time from one advertising event to the next, without the random delay.
  var interval: Duration {
    if properties.contains(.highDutyCycle) { return .microseconds(3750) }
    return .microseconds(625 * Int64(max(0x20, parameters.primaryAdvertisingIntervalMin)))
  }
}

/// An advertising PDU with its chain, as scanners and initiators receive it.
struct Advertisement: Sendable {
  var sender: Int
  /// Advertising_Handle of the set; nil for the advertisement of the legacy commands.
  var handle: UInt8?
  /// The advertiser's address; nil for an anonymous advertisement.
  var address: DeviceAddress?
  var properties: HCI.AdvertisingEventProperties
  var target: DeviceAddress
  var data: Bytes
  var dataIdentifier: UInt16
  var parameters: HCI.LESetExtendedAdvertisingParameters
  var txPower: Int8
  var rssi: Int8
  var isScanResponse = false

  var isLegacyPDU: Bool { properties.contains(.legacy) }
}
