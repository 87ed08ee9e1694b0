internal import BLEHCI
internal import BLEWire

/// The Link Layer control PDUs that the controllers of a radio exchange, with the fields that affect hosts (Vol 6,
/// Part B, 2.4.2).
enum LinkLayerPDU: Sendable {
  /// LL_TERMINATE_IND.
  case terminate(HCIErrorCode)
  /// No PDU: the sender stops without LL_TERMINATE_IND.
  case silence
  /// LL_CONNECTION_UPDATE_IND.
  case connectionUpdate(LinkLayerTiming)
  /// LL_CONNECTION_PARAM_REQ.
  case connectionParameterRequest(HCI.ConnectionParameters)
  /// LL_REJECT_EXT_IND in response to LL_CONNECTION_PARAM_REQ.
  case connectionParameterReject(HCIErrorCode)
  /// LL_ENC_REQ. It contains the whole session key diversifier; on a real radio it contains half of it.
  case encryptionRequest(randomNumber: UInt64, encryptedDiversifier: UInt16, sessionKeyDiversifier: UInt128)
  /// LL_REJECT_EXT_IND in response to LL_ENC_REQ.
  case encryptionReject(HCIErrorCode)
  /// LL_ENC_RSP. It is empty, because ``encryptionRequest`` contains both halves of the diversifier.
  case encryptionResponse
  /// LL_PAUSE_ENC_REQ.
  case pauseEncryptionRequest
  /// LL_PAUSE_ENC_RSP from either end.
  case pauseEncryptionResponse
  /// LL_START_ENC_REQ. The session key stands for the packets that are encrypted with it.
  case startEncryption(sessionKey: UInt128)
  /// LL_START_ENC_RSP.
  case encryptionStarted
  /// No PDU: a packet whose message integrity check failed, which ends the link.
  case integrityFailure
  /// LL_FEATURE_REQ or LL_PERIPHERAL_FEATURE_REQ.
  case featureRequest
  /// LL_FEATURE_RSP.
  case featureResponse(HCI.LEFeatures)
  /// LL_UNKNOWN_RSP in response to a feature request.
  case featureReject(HCIErrorCode)
  /// LL_VERSION_IND from the end that starts the exchange.
  case versionRequest
  /// LL_VERSION_IND from the other end.
  case versionResponse(version: UInt8, companyIdentifier: UInt16, subversion: UInt16)
  /// LL_LENGTH_REQ with the sender's limits.
  case lengthRequest(DataLength)
  /// LL_LENGTH_RSP.
  case lengthResponse(DataLength)
  /// LL_PHY_REQ with the PHYs that the sender prefers to transmit on and to receive.
  case phyRequest(transmit: HCI.PHYs, receive: HCI.PHYs)
  /// LL_PHY_RSP in response to the central's LL_PHY_REQ: the PHYs that the central shall transmit on and receive.
  case phyResponse(transmit: HCI.PHY, receive: HCI.PHY)
  /// LL_PHY_UPDATE_IND: the PHYs that the receiver of this PDU shall transmit on and receive.
  case phyUpdate(transmit: HCI.PHY, receive: HCI.PHY)
  /// LL_CHANNEL_MAP_IND, 37 bits.
  case channelMap(UInt64)
  /// LL_SUBRATE_REQ.
  case subrateRequest(HCI.SubrateParameters)
  /// LL_SUBRATE_IND.
  case subrate(LinkLayerSubrating)
  /// LL_REJECT_EXT_IND or LL_UNKNOWN_RSP in response to LL_SUBRATE_REQ or LL_SUBRATE_IND.
  case subrateReject(HCIErrorCode)
  /// LL_POWER_CONTROL_REQ for the power on a PHY. Delta is 0: no other power is requested.
  case powerControlRequest(phy: UInt8)
  /// LL_POWER_CONTROL_RSP.
  case powerControlResponse(LinkLayerPower)
  /// LL_POWER_CHANGE_IND.
  case powerChange(LinkLayerPower)
  /// LL_CONNECTION_RATE_REQ.
  case connectionRateRequest(HCI.ConnectionRateParameters)
  /// LL_CONNECTION_RATE_IND.
  case connectionRate(LinkLayerRate)
  /// LL_REJECT_EXT_IND or LL_UNKNOWN_RSP in response to LL_CONNECTION_RATE_REQ or LL_CONNECTION_RATE_IND.
  case connectionRateReject(HCIErrorCode)
  /// LL_FEATURE_EXT_REQ for all pages up to one.
  case featurePageRequest(page: UInt8)
  /// LL_FEATURE_EXT_RSP.
  case featurePageResponse(HCI.LEFeatures, HCI.LEFurtherFeatures, page: UInt8)
  /// LL_CLOCK_ACCURACY_REQ.
  case clockAccuracyRequest
  /// LL_CLOCK_ACCURACY_RSP.
  case clockAccuracyResponse
  /// LL_PERIODIC_SYNC_IND.
  case periodicSync(SyncTransfer)

  /// No PDU: the sender accepts data again. On a real radio it acknowledges the PDU that is sent again.
  case readyForData

  /// Whether the value is not a PDU, and so does not wait for a connection event.
  var isNoPDU: Bool {
    switch self {
    case .silence, .integrityFailure: true
    default: false  // All others are PDUs.
    }
  }

  /// The payload of the PDU in octets: the opcode and CtrData (Vol 6, Part B, 2.4.2.1 to 2.4.2.41).
  var length: Int {
    switch self {
    case .terminate, .clockAccuracyRequest, .clockAccuracyResponse: 2
    case .connectionUpdate: 12
    case .connectionParameterRequest: 24
    case .connectionParameterReject, .encryptionReject, .subrateReject, .connectionRateReject: 3
    case .subrateRequest, .subrate: 11
    // As the fields that the procedure needs: the lengths of the specification were not at hand.
    case .connectionRateRequest: 15
    case .connectionRate: 16
    case .featurePageRequest, .featurePageResponse: 27
    case .encryptionRequest: 23
    case .encryptionResponse: 13
    case .startEncryption, .encryptionStarted, .pauseEncryptionRequest, .pauseEncryptionResponse: 1
    case .featureRequest, .featureResponse, .lengthRequest, .lengthResponse: 9
    case .featureReject: 2
    case .powerControlRequest: 4
    case .powerControlResponse, .powerChange: 5
    case .versionRequest, .versionResponse: 6
    case .phyRequest, .phyResponse: 3
    case .phyUpdate: 5
    case .channelMap: 8
    case .periodicSync: 35
    case .silence, .integrityFailure, .readyForData: 0
    }
  }
}
