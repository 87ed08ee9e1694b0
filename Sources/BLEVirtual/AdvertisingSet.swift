internal import BLEHCI
internal import BLEWire

/// What a controller advertises: one set of the extended commands, or the one thing the legacy commands describe.
struct AdvertisingSet: Sendable {
  /// The set while it is on.
  struct Running: Sendable {
    /// The address it advertises with.
    var address: DeviceAddress
    var nextEvent: Instant
    var endsAt: Instant?
    var eventsDone = 0
    /// 0 for no limit.
    var maxEvents: UInt8 = 0
    /// The advertising event that is taking place, with airtime.
    var event: AdvertisingEvent?
  }

  /// Data as the host gives it: in one piece, or in fragments of which the last is still to come.
  struct Payload: Sendable {
    var octets: Bytes = []
    var isPartial = false
    /// Advertising_DID: changes with the data, so that a scanner knows a new advertisement from an old one.
    var identifier: UInt16 = 0
  }

  /// The host's number for it; nil for that of the legacy commands.
  let handle: UInt8?
  /// The parameters, in the richer form of the extended command.
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

  /// The next step of the advertising event, the next event, or the end.
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

/// An advertising PDU, or a train of them, as listeners hear it.
struct Advertisement: Sendable {
  var sender: Int
  /// Which set of the sender.
  var handle: UInt8?
  /// nil for an anonymous one.
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
