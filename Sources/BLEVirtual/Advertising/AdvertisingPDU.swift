internal import BLEHCI
internal import BLEWire

/// An advertising PDU with its chain, as scanners and initiators receive it.
struct AdvertisingPDU: Sendable {
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
  /// The SyncInfo field; nil if the set has no periodic advertising.
  var syncInfo: SyncInfo?

  var isLegacyPDU: Bool { properties.contains(.legacy) }
}

/// The lengths and airtimes of advertising PDUs (Vol 6, Part B, 2.3).
extension AdvertisingPDU {
  static let addressLength = 6
  /// ScanA and AdvA.
  static let scanRequestLength = 12
  /// InitA, AdvA and LLData.
  static let connectRequestLength = 34
  /// The extended header of AUX_CONNECT_RSP: length, flags, AdvA and TargetA.
  static let connectResponseLength = 14
  /// The longest payload of an advertising PDU, in octets.
  static let greatestPayload = 255
  /// The extended header of AUX_CHAIN_IND: length, flags, ADI and AuxPtr.
  private static let chainFields = 7

  /// Whether there is an auxiliary packet. An extended advertisement that is neither connectable nor scannable and has
  /// neither data nor periodic advertising is one ADV_EXT_IND.
  var hasAuxiliaryPacket: Bool {
    !isLegacyPDU
      && (!data.isEmpty || syncInfo != nil || !properties.isDisjoint(with: [.connectable, .scannable]))
  }

  /// The PHY of the packets on the primary channels.
  var primaryPHY: HCI.PHY { isLegacyPDU ? .le1M : parameters.primaryAdvertisingPHY }

  /// The PHY of a link that begins with a request (Vol 6, Part B, 4.4.4.3).
  var linkPHY: HCI.PHY { isLegacyPDU ? .le1M : parameters.secondaryAdvertisingPHY }

  /// The PHY of requests and of the answers to them.
  var requestPHY: RadioPHY { RadioPHY(linkPHY) }

  /// The airtime of the packet on a primary channel.
  var primaryAirtime: Duration {
    guard isLegacyPDU else {
      // Length, flags, ADI and AuxPtr. Without an auxiliary packet, AdvA or TargetA replaces AuxPtr.
      let length = hasAuxiliaryPacket ? 7 : auxiliaryFields
      return RadioPHY(parameters.primaryAdvertisingPHY).airtime(payload: length)
    }
    let isDirected = properties.contains(.directed)
    return RadioPHY.le1M.airtime(payload: Self.addressLength + (isDirected ? Self.addressLength : data.count))
  }

  /// The length of AUX_ADV_IND or AUX_SCAN_RSP before the data: length, flags and ADI, then the optional fields.
  var auxiliaryFields: Int {
    Self.auxiliaryFields(of: properties) + (syncInfo == nil || isScanResponse ? 0 : SyncInfo.length)
  }

  static func auxiliaryFields(of properties: HCI.AdvertisingEventProperties) -> Int {
    var length = 4
    if !properties.contains(.anonymous) { length += addressLength }
    if properties.contains(.directed) { length += addressLength }
    if properties.contains(.includeTxPower) { length += 1 }
    return length
  }

  /// The airtime of a packet on a secondary channel with `fixed` octets before the data, and of the AUX_CHAIN_INDs for
  /// the rest of the data, T_MAFS apart.
  func secondaryAirtime(fixed: Int, data: Int) -> Duration {
    Self.secondaryAirtime(on: RadioPHY(parameters.secondaryAdvertisingPHY), fixed: fixed, data: data)
  }

  static func secondaryAirtime(on phy: RadioPHY, fixed: Int, data: Int) -> Duration {
    let pointer = 3
    var rest = data
    guard fixed + rest > greatestPayload else { return phy.airtime(payload: fixed + rest) }
    rest -= greatestPayload - fixed - pointer
    var airtime = phy.airtime(payload: greatestPayload)
    while rest > 0 {
      let piece = min(rest, greatestPayload - chainFields)
      airtime += RadioPHY.minimumAuxiliaryFrameSpace + phy.airtime(payload: chainFields + piece)
      rest -= piece
    }
    return airtime
  }
}
