internal import BLEHCI
internal import BLEWire

/// An advertising event in progress, with airtime (Vol 6, Part B, 4.4.2.2 to 4.4.2.6).
///
/// ```
///  ADV_IND 37 ── (SCAN_REQ, SCAN_RSP) ── ADV_IND 38 ── … ── ADV_IND 39 ── …
///  ADV_EXT_IND 37 ── 38 ── 39 ── T_MAFS ── AUX_ADV_IND, AUX_CHAIN_IND … ── (AUX_SCAN_REQ, AUX_SCAN_RSP …)
/// ```
///
/// CONNECT_IND, or AUX_CONNECT_REQ with AUX_CONNECT_RSP, ends the event.
struct AdvertisingEvent: Sendable {
  enum Stage: Sendable {
    /// The advertisement on a primary channel.
    case primary(channel: Int)
    /// AUX_ADV_IND and the AUX_CHAIN_INDs that follow it.
    case auxiliary
    /// SCAN_REQ or AUX_SCAN_REQ.
    case scanRequest(ScanRequest)
    /// SCAN_RSP, or AUX_SCAN_RSP and the AUX_CHAIN_INDs that follow it.
    case scanResponse(AdvertisingPDU, to: ControllerID)
    /// CONNECT_IND, or AUX_CONNECT_REQ and AUX_CONNECT_RSP.
    case connectRequest(ConnectRequest)
  }

  struct ScanRequest: Sendable {
    var scanner: ControllerID
    var address: DeviceAddress
  }

  struct ConnectRequest: Sendable {
    var initiator: ControllerID
    var ownAddress: DeviceAddress
    var parameters: HCI.ConnectionParameters
  }

  /// The request of a device that received the advertisement.
  enum Request: Sendable {
    case scan(ScanRequest)
    case connect(ConnectRequest)
  }

  /// The time from the end of a packet to the next one on another channel: T_IFS, the time to detect a request, and the
  /// change of channel. The specification sets no value. It only requires that the PDUs of one event begin at most 10
  /// ms apart.
  static let channelGap = Duration.microseconds(400)

  let advertisement: AdvertisingPDU
  private(set) var stage: Stage
  /// The times at which the packets of the stage begin and end.
  private(set) var begin: Instant
  private(set) var end: Instant
  /// The remaining primary channels.
  private var channels: ArraySlice<Int>
  /// The controllers that received an ADV_EXT_IND and receive the auxiliary packet.
  var followers: [ControllerID] = []

  /// Begins the event at `now`; nil if the set has no channel.
  init?(_ advertisement: AdvertisingPDU, at now: Instant) {
    let map = advertisement.parameters.primaryAdvertisingChannelMap
    channels = ScanSchedule.channels.filter { map.contains(.init(rawValue: 1 << UInt8($0 - 37))) }[...]
    guard let first = channels.popFirst() else { return nil }
    self.advertisement = advertisement
    stage = .primary(channel: first)
    begin = now
    end = now + advertisement.primaryAirtime
  }

  /// The PHY of the packets on the primary channels.
  var primaryPHY: HCI.PHY { advertisement.primaryPHY }

  /// Moves on to the next primary channel or to the auxiliary packet.
  ///
  /// - Returns: false if the event is over.
  mutating func advance() -> Bool {
    if case .auxiliary = stage { return false }
    if !advertisement.isLegacyPDU, case .scanResponse = stage { return false }
    if !advertisement.isLegacyPDU, case .scanRequest = stage { return false }
    if !advertisement.isLegacyPDU, case .connectRequest = stage { return false }
    if let channel = channels.popFirst() {
      move(to: .primary(channel: channel), after: Self.channelGap, lasting: advertisement.primaryAirtime)
      return true
    }
    guard advertisement.hasAuxiliaryPacket, !followers.isEmpty else { return false }
    move(
      to: .auxiliary, after: RadioPHY.minimumAuxiliaryFrameSpace,
      lasting: advertisement.secondaryAirtime(fixed: advertisement.auxiliaryFields, data: advertisement.data.count))
    return true
  }

  /// Starts a receiver's request in response to the packet that has just ended.
  mutating func request(_ request: Request) {
    switch request {
    case .scan(let request):
      move(
        to: .scanRequest(request), after: RadioPHY.interFrameSpace,
        lasting: advertisement.requestPHY.airtime(payload: AdvertisingPDU.scanRequestLength))
    case .connect(let request):
      var airtime = advertisement.requestPHY.airtime(payload: AdvertisingPDU.connectRequestLength)
      if !advertisement.isLegacyPDU {
        airtime +=
          RadioPHY.interFrameSpace + advertisement.requestPHY.airtime(payload: AdvertisingPDU.connectResponseLength)
      }
      move(to: .connectRequest(request), after: RadioPHY.interFrameSpace, lasting: airtime)
    }
  }

  /// Starts the answer of the advertiser to a scan request.
  mutating func respond(_ response: AdvertisingPDU, to scanner: ControllerID) {
    let airtime =
      response.isLegacyPDU
      ? RadioPHY.le1M.airtime(payload: AdvertisingPDU.addressLength + response.data.count)
      : response.secondaryAirtime(fixed: response.auxiliaryFields, data: response.data.count)
    move(to: .scanResponse(response, to: scanner), after: RadioPHY.interFrameSpace, lasting: airtime)
  }

  private mutating func move(to stage: Stage, after gap: Duration, lasting airtime: Duration) {
    self.stage = stage
    begin = end + gap
    end = begin + airtime
  }
}
