internal import BLEHCI
internal import BLEWire

/// The Link Layer control PDUs that the controllers of a radio exchange, as far as hosts can see their effect
/// (Vol 6, Part B, 2.4.2).
enum LinkLayerPDU: Sendable {
  /// LL_TERMINATE_IND.
  case terminate(HCIErrorCode)
  /// No PDU: the sender has gone silent.
  case silence
  /// LL_CONNECTION_UPDATE_IND.
  case connectionUpdate(LinkTiming)
  /// LL_CONNECTION_PARAM_REQ.
  case connectionParameterRequest(HCI.ConnectionParameters)
  /// LL_REJECT_EXT_IND to a LL_CONNECTION_PARAM_REQ.
  case connectionParameterReject(HCIErrorCode)
  /// LL_ENC_REQ; the session key diversifier is whole here, although on the air each side gives one half.
  case encryptionRequest(randomNumber: UInt64, encryptedDiversifier: UInt16, sessionKeyDiversifier: UInt128)
  /// LL_REJECT_EXT_IND to a LL_ENC_REQ.
  case encryptionReject(HCIErrorCode)
  /// LL_ENC_RSP: carries nothing, because ``encryptionRequest`` has both halves.
  case encryptionResponse
  /// LL_PAUSE_ENC_REQ.
  case pauseEncryptionRequest
  /// LL_PAUSE_ENC_RSP of either end.
  case pauseEncryptionResponse
  /// LL_START_ENC_REQ; the session key stands for what is encrypted with it.
  case startEncryption(sessionKey: UInt128)
  /// LL_START_ENC_RSP.
  case encryptionStarted
  /// No PDU: a packet whose message integrity check failed, after which the link is dead.
  case integrityFailure
  /// LL_FEATURE_REQ or LL_PERIPHERAL_FEATURE_REQ.
  case featureRequest
  /// LL_FEATURE_RSP.
  case featureResponse(HCI.LEFeatures)
  /// LL_UNKNOWN_RSP to a feature request.
  case featureReject(HCIErrorCode)
  /// LL_VERSION_IND that asks.
  case versionRequest
  /// LL_VERSION_IND that answers.
  case versionResponse(version: UInt8, companyIdentifier: UInt16, subversion: UInt16)
  /// LL_LENGTH_REQ with what the sender sends and takes.
  case lengthRequest(DataLength)
  /// LL_LENGTH_RSP.
  case lengthResponse(DataLength)
  /// LL_PHY_REQ, with what the sender would send with and listen to.
  case phyRequest(transmit: HCI.PHYs, receive: HCI.PHYs)
  /// LL_PHY_RSP to a LL_PHY_REQ of the central: the PHYs that the central shall send with and receive.
  case phyResponse(transmit: HCI.PHY, receive: HCI.PHY)
  /// LL_PHY_UPDATE_IND, as the receiver of this PDU shall send and listen.
  case phyUpdate(transmit: HCI.PHY, receive: HCI.PHY)
  /// LL_CHANNEL_MAP_IND, 37 bits.
  case channelMap(UInt64)
  /// LL_CLOCK_ACCURACY_REQ.
  case clockAccuracyRequest
  /// LL_CLOCK_ACCURACY_RSP.
  case clockAccuracyResponse

  /// No PDU: the sender takes data again, which on the air shows as acknowledgements that had been missing.
  case readyForData

  /// Whether it stands for something that happens and not for a PDU that waits for its connection event.
  var isNoPDU: Bool {
    switch self {
    case .silence, .integrityFailure: true
    default: false
    }
  }

  /// The payload of the PDU in octets: the opcode and CtrData (Vol 6, Part B, 2.4.2.1 to 2.4.2.41).
  var length: Int {
    switch self {
    case .terminate, .clockAccuracyRequest, .clockAccuracyResponse: 2
    case .connectionUpdate: 12
    case .connectionParameterRequest: 24
    case .connectionParameterReject, .encryptionReject: 3
    case .encryptionRequest: 23
    case .encryptionResponse: 13
    case .startEncryption, .encryptionStarted, .pauseEncryptionRequest, .pauseEncryptionResponse: 1
    case .featureRequest, .featureResponse, .lengthRequest, .lengthResponse: 9
    case .featureReject: 2
    case .versionRequest, .versionResponse: 6
    case .phyRequest, .phyResponse: 3
    case .phyUpdate: 5
    case .channelMap: 8
    case .silence, .integrityFailure, .readyForData: 0
    }
  }
}
