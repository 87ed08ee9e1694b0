public import BLEWire

/// The parameters of an LE meta event behind the subevent code, declared in wire order (Vol 4, Part E, 7.7.65).
public protocol LEEventParameters: Packet {
  static var subeventCode: LESubeventCode { get }
}

/// An LE meta event, decoded (Vol 4, Part E, 7.7.65). One without a declaration is kept as octets.
public enum LEMetaEvent: Equatable, Sendable {
  case connectionComplete(HCI.LEConnectionComplete)
  case advertisingReport(HCI.LEAdvertisingReport)
  case connectionUpdateComplete(HCI.LEConnectionUpdateComplete)
  case readRemoteFeaturesComplete(HCI.LEReadRemoteFeaturesComplete)
  case longTermKeyRequest(HCI.LELongTermKeyRequest)
  case remoteConnectionParameterRequest(HCI.LERemoteConnectionParameterRequest)
  case dataLengthChange(HCI.LEDataLengthChange)
  case readLocalP256PublicKeyComplete(HCI.LEReadLocalP256PublicKeyComplete)
  case generateDHKeyComplete(HCI.LEGenerateDHKeyComplete)
  case enhancedConnectionComplete(HCI.LEEnhancedConnectionComplete)
  case directedAdvertisingReport(HCI.LEDirectedAdvertisingReport)
  case phyUpdateComplete(HCI.LEPHYUpdateComplete)
  case extendedAdvertisingReport(HCI.LEExtendedAdvertisingReport)
  case periodicAdvertisingSyncEstablished(HCI.LEPeriodicAdvertisingSyncEstablished)
  case periodicAdvertisingReport(HCI.LEPeriodicAdvertisingReport)
  case periodicAdvertisingSyncLost(HCI.LEPeriodicAdvertisingSyncLost)
  case scanTimeout(HCI.LEScanTimeout)
  case advertisingSetTerminated(HCI.LEAdvertisingSetTerminated)
  case scanRequestReceived(HCI.LEScanRequestReceived)
  case channelSelectionAlgorithm(HCI.LEChannelSelectionAlgorithm)
  case connectionlessIQReport(HCI.LEConnectionlessIQReport)
  case connectionIQReport(HCI.LEConnectionIQReport)
  case cteRequestFailed(HCI.LECTERequestFailed)
  case periodicAdvertisingSyncTransferReceived(HCI.LEPeriodicAdvertisingSyncTransferReceived)
  case cisEstablished(HCI.LECISEstablished)
  case cisRequest(HCI.LECISRequest)
  case createBIGComplete(HCI.LECreateBIGComplete)
  case terminateBIGComplete(HCI.LETerminateBIGComplete)
  case bigSyncEstablished(HCI.LEBIGSyncEstablished)
  case bigSyncLost(HCI.LEBIGSyncLost)
  case requestPeerSCAComplete(HCI.LERequestPeerSCAComplete)
  case pathLossThreshold(HCI.LEPathLossThreshold)
  case transmitPowerReporting(HCI.LETransmitPowerReporting)
  case bigInfoAdvertisingReport(HCI.LEBIGInfoAdvertisingReport)
  case subrateChange(HCI.LESubrateChange)
  case periodicAdvertisingSyncEstablishedV2(HCI.LEPeriodicAdvertisingSyncEstablishedV2)
  case periodicAdvertisingReportV2(HCI.LEPeriodicAdvertisingReportV2)
  case periodicAdvertisingSyncTransferReceivedV2(HCI.LEPeriodicAdvertisingSyncTransferReceivedV2)
  case periodicAdvertisingSubeventDataRequest(HCI.LEPeriodicAdvertisingSubeventDataRequest)
  case periodicAdvertisingResponseReport(HCI.LEPeriodicAdvertisingResponseReport)
  case enhancedConnectionCompleteV2(HCI.LEEnhancedConnectionCompleteV2)
  case unknown(LESubeventCode, parameters: Bytes)

  /// Reads the parameters of an LE meta event, the subevent code first.
  public init(decoding octets: Bytes) throws(CodecError) {
    guard let first = octets.first else { throw .truncated(field: "Subevent_Code") }
    let code = LESubeventCode(rawValue: first)
    let rest = octets.dropFirst()
    switch code {
    case .connectionComplete: self = .connectionComplete(try .init(decoding: rest))
    case .advertisingReport: self = .advertisingReport(try .init(decoding: rest))
    case .connectionUpdateComplete: self = .connectionUpdateComplete(try .init(decoding: rest))
    case .readRemoteFeaturesComplete: self = .readRemoteFeaturesComplete(try .init(decoding: rest))
    case .longTermKeyRequest: self = .longTermKeyRequest(try .init(decoding: rest))
    case .remoteConnectionParameterRequest: self = .remoteConnectionParameterRequest(try .init(decoding: rest))
    case .dataLengthChange: self = .dataLengthChange(try .init(decoding: rest))
    case .readLocalP256PublicKeyComplete: self = .readLocalP256PublicKeyComplete(try .init(decoding: rest))
    case .generateDHKeyComplete: self = .generateDHKeyComplete(try .init(decoding: rest))
    case .enhancedConnectionComplete: self = .enhancedConnectionComplete(try .init(decoding: rest))
    case .directedAdvertisingReport: self = .directedAdvertisingReport(try .init(decoding: rest))
    case .phyUpdateComplete: self = .phyUpdateComplete(try .init(decoding: rest))
    case .extendedAdvertisingReport: self = .extendedAdvertisingReport(try .init(decoding: rest))
    case .periodicAdvertisingSyncEstablished: self = .periodicAdvertisingSyncEstablished(try .init(decoding: rest))
    case .periodicAdvertisingReport: self = .periodicAdvertisingReport(try .init(decoding: rest))
    case .periodicAdvertisingSyncLost: self = .periodicAdvertisingSyncLost(try .init(decoding: rest))
    case .scanTimeout: self = .scanTimeout(try .init(decoding: rest))
    case .advertisingSetTerminated: self = .advertisingSetTerminated(try .init(decoding: rest))
    case .scanRequestReceived: self = .scanRequestReceived(try .init(decoding: rest))
    case .channelSelectionAlgorithm: self = .channelSelectionAlgorithm(try .init(decoding: rest))
    case .connectionlessIQReport: self = .connectionlessIQReport(try .init(decoding: rest))
    case .connectionIQReport: self = .connectionIQReport(try .init(decoding: rest))
    case .cteRequestFailed: self = .cteRequestFailed(try .init(decoding: rest))
    case .periodicAdvertisingSyncTransferReceived:
      self = .periodicAdvertisingSyncTransferReceived(try .init(decoding: rest))
    case .cisEstablished: self = .cisEstablished(try .init(decoding: rest))
    case .cisRequest: self = .cisRequest(try .init(decoding: rest))
    case .createBIGComplete: self = .createBIGComplete(try .init(decoding: rest))
    case .terminateBIGComplete: self = .terminateBIGComplete(try .init(decoding: rest))
    case .bigSyncEstablished: self = .bigSyncEstablished(try .init(decoding: rest))
    case .bigSyncLost: self = .bigSyncLost(try .init(decoding: rest))
    case .requestPeerSCAComplete: self = .requestPeerSCAComplete(try .init(decoding: rest))
    case .pathLossThreshold: self = .pathLossThreshold(try .init(decoding: rest))
    case .transmitPowerReporting: self = .transmitPowerReporting(try .init(decoding: rest))
    case .bigInfoAdvertisingReport: self = .bigInfoAdvertisingReport(try .init(decoding: rest))
    case .subrateChange: self = .subrateChange(try .init(decoding: rest))
    case .periodicAdvertisingSyncEstablishedV2: self = .periodicAdvertisingSyncEstablishedV2(try .init(decoding: rest))
    case .periodicAdvertisingReportV2: self = .periodicAdvertisingReportV2(try .init(decoding: rest))
    case .periodicAdvertisingSyncTransferReceivedV2:
      self = .periodicAdvertisingSyncTransferReceivedV2(try .init(decoding: rest))
    case .periodicAdvertisingSubeventDataRequest:
      self = .periodicAdvertisingSubeventDataRequest(try .init(decoding: rest))
    case .periodicAdvertisingResponseReport: self = .periodicAdvertisingResponseReport(try .init(decoding: rest))
    case .enhancedConnectionCompleteV2: self = .enhancedConnectionCompleteV2(try .init(decoding: rest))
    default: self = .unknown(code, parameters: rest)
    }
  }

  public var subeventCode: LESubeventCode {
    switch self {
    case .unknown(let code, _): code
    default: declared.map { type(of: $0).subeventCode } ?? LESubeventCode(rawValue: 0)
    }
  }

  /// The decoded parameters; nil for an unknown event.
  public var declared: (any LEEventParameters)? {
    switch self {
    case .connectionComplete(let event): event
    case .advertisingReport(let event): event
    case .connectionUpdateComplete(let event): event
    case .readRemoteFeaturesComplete(let event): event
    case .longTermKeyRequest(let event): event
    case .remoteConnectionParameterRequest(let event): event
    case .dataLengthChange(let event): event
    case .readLocalP256PublicKeyComplete(let event): event
    case .generateDHKeyComplete(let event): event
    case .enhancedConnectionComplete(let event): event
    case .directedAdvertisingReport(let event): event
    case .phyUpdateComplete(let event): event
    case .extendedAdvertisingReport(let event): event
    case .periodicAdvertisingSyncEstablished(let event): event
    case .periodicAdvertisingReport(let event): event
    case .periodicAdvertisingSyncLost(let event): event
    case .scanTimeout(let event): event
    case .advertisingSetTerminated(let event): event
    case .scanRequestReceived(let event): event
    case .channelSelectionAlgorithm(let event): event
    case .connectionlessIQReport(let event): event
    case .connectionIQReport(let event): event
    case .cteRequestFailed(let event): event
    case .periodicAdvertisingSyncTransferReceived(let event): event
    case .cisEstablished(let event): event
    case .cisRequest(let event): event
    case .createBIGComplete(let event): event
    case .terminateBIGComplete(let event): event
    case .bigSyncEstablished(let event): event
    case .bigSyncLost(let event): event
    case .requestPeerSCAComplete(let event): event
    case .pathLossThreshold(let event): event
    case .transmitPowerReporting(let event): event
    case .bigInfoAdvertisingReport(let event): event
    case .subrateChange(let event): event
    case .periodicAdvertisingSyncEstablishedV2(let event): event
    case .periodicAdvertisingReportV2(let event): event
    case .periodicAdvertisingSyncTransferReceivedV2(let event): event
    case .periodicAdvertisingSubeventDataRequest(let event): event
    case .periodicAdvertisingResponseReport(let event): event
    case .enhancedConnectionCompleteV2(let event): event
    case .unknown: nil
    }
  }

  /// The subevent code and the parameters behind it.
  public var encoded: [UInt8] {
    switch self {
    case .unknown(let code, let octets): [code.rawValue] + octets
    default: [subeventCode.rawValue] + (declared?.encoded ?? [])
    }
  }
}
