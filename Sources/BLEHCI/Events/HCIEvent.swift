public import BLEWire

/// An event from controller to host, decoded (Vol 4, Part E, 7.7).
///
/// ```swift
/// switch try HCIEvent(decoding: octets) {
/// case .leConnectionComplete(let event): print(event.connectionHandle)
/// case .disconnectionComplete(let event): print(event.reason)
/// default: break
/// }
/// ```
public enum HCIEvent: Equatable, Sendable {
  /// HCI_Disconnection_Complete.
  case disconnectionComplete(HCI.DisconnectionComplete)
  /// HCI_Encryption_Change [v1].
  case encryptionChange(HCI.EncryptionChange)
  /// HCI_Read_Remote_Version_Information_Complete.
  case readRemoteVersionInformationComplete(HCI.ReadRemoteVersionInformationComplete)
  /// HCI_Command_Complete.
  case commandComplete(HCI.CommandComplete)
  /// HCI_Command_Status.
  case commandStatus(HCI.CommandStatus)
  /// HCI_Hardware_Error.
  case hardwareError(HCI.HardwareError)
  /// HCI_Number_Of_Completed_Packets.
  case numberOfCompletedPackets(HCI.NumberOfCompletedPackets)
  /// HCI_Data_Buffer_Overflow.
  case dataBufferOverflow(HCI.DataBufferOverflow)
  /// HCI_Encryption_Key_Refresh_Complete.
  case encryptionKeyRefreshComplete(HCI.EncryptionKeyRefreshComplete)
  /// HCI_Authenticated_Payload_Timeout_Expired.
  case authenticatedPayloadTimeoutExpired(HCI.AuthenticatedPayloadTimeoutExpired)
  /// HCI_Encryption_Change [v2].
  case encryptionChangeV2(HCI.EncryptionChangeV2)
  /// HCI_LE_Connection_Complete.
  case leConnectionComplete(HCI.LEConnectionComplete)
  /// HCI_LE_Advertising_Report.
  case leAdvertisingReport(HCI.LEAdvertisingReport)
  /// HCI_LE_Connection_Update_Complete.
  case leConnectionUpdateComplete(HCI.LEConnectionUpdateComplete)
  /// HCI_LE_Read_Remote_Features_Complete.
  case leReadRemoteFeaturesComplete(HCI.LEReadRemoteFeaturesComplete)
  /// HCI_LE_Long_Term_Key_Request.
  case leLongTermKeyRequest(HCI.LELongTermKeyRequest)
  /// HCI_LE_Remote_Connection_Parameter_Request.
  case leRemoteConnectionParameterRequest(HCI.LERemoteConnectionParameterRequest)
  /// HCI_LE_Data_Length_Change.
  case leDataLengthChange(HCI.LEDataLengthChange)
  /// HCI_LE_Read_Local_P-256_Public_Key_Complete.
  case leReadLocalP256PublicKeyComplete(HCI.LEReadLocalP256PublicKeyComplete)
  /// HCI_LE_Generate_DHKey_Complete.
  case leGenerateDHKeyComplete(HCI.LEGenerateDHKeyComplete)
  /// HCI_LE_Enhanced_Connection_Complete [v1].
  case leEnhancedConnectionComplete(HCI.LEEnhancedConnectionComplete)
  /// HCI_LE_Directed_Advertising_Report.
  case leDirectedAdvertisingReport(HCI.LEDirectedAdvertisingReport)
  /// HCI_LE_PHY_Update_Complete.
  case lePHYUpdateComplete(HCI.LEPHYUpdateComplete)
  /// HCI_LE_Extended_Advertising_Report.
  case leExtendedAdvertisingReport(HCI.LEExtendedAdvertisingReport)
  /// HCI_LE_Periodic_Advertising_Sync_Established [v1].
  case lePeriodicAdvertisingSyncEstablished(HCI.LEPeriodicAdvertisingSyncEstablished)
  /// HCI_LE_Periodic_Advertising_Report [v1].
  case lePeriodicAdvertisingReport(HCI.LEPeriodicAdvertisingReport)
  /// HCI_LE_Periodic_Advertising_Sync_Lost.
  case lePeriodicAdvertisingSyncLost(HCI.LEPeriodicAdvertisingSyncLost)
  /// HCI_LE_Scan_Timeout.
  case leScanTimeout(HCI.LEScanTimeout)
  /// HCI_LE_Advertising_Set_Terminated.
  case leAdvertisingSetTerminated(HCI.LEAdvertisingSetTerminated)
  /// HCI_LE_Scan_Request_Received.
  case leScanRequestReceived(HCI.LEScanRequestReceived)
  /// HCI_LE_Channel_Selection_Algorithm.
  case leChannelSelectionAlgorithm(HCI.LEChannelSelectionAlgorithm)
  /// HCI_LE_Connectionless_IQ_Report.
  case leConnectionlessIQReport(HCI.LEConnectionlessIQReport)
  /// HCI_LE_Connection_IQ_Report.
  case leConnectionIQReport(HCI.LEConnectionIQReport)
  /// HCI_LE_CTE_Request_Failed.
  case leCTERequestFailed(HCI.LECTERequestFailed)
  /// HCI_LE_Periodic_Advertising_Sync_Transfer_Received [v1].
  case lePeriodicAdvertisingSyncTransferReceived(HCI.LEPeriodicAdvertisingSyncTransferReceived)
  /// HCI_LE_CIS_Established.
  case leCISEstablished(HCI.LECISEstablished)
  /// HCI_LE_CIS_Request.
  case leCISRequest(HCI.LECISRequest)
  /// HCI_LE_Create_BIG_Complete.
  case leCreateBIGComplete(HCI.LECreateBIGComplete)
  /// HCI_LE_Terminate_BIG_Complete.
  case leTerminateBIGComplete(HCI.LETerminateBIGComplete)
  /// HCI_LE_BIG_Sync_Established.
  case leBIGSyncEstablished(HCI.LEBIGSyncEstablished)
  /// HCI_LE_BIG_Sync_Lost.
  case leBIGSyncLost(HCI.LEBIGSyncLost)
  /// HCI_LE_Request_Peer_SCA_Complete.
  case leRequestPeerSCAComplete(HCI.LERequestPeerSCAComplete)
  /// HCI_LE_Path_Loss_Threshold.
  case lePathLossThreshold(HCI.LEPathLossThreshold)
  /// HCI_LE_Transmit_Power_Reporting.
  case leTransmitPowerReporting(HCI.LETransmitPowerReporting)
  /// HCI_LE_BIGInfo_Advertising_Report.
  case leBIGInfoAdvertisingReport(HCI.LEBIGInfoAdvertisingReport)
  /// HCI_LE_Subrate_Change.
  case leSubrateChange(HCI.LESubrateChange)
  /// HCI_LE_Periodic_Advertising_Sync_Established [v2].
  case lePeriodicAdvertisingSyncEstablishedV2(HCI.LEPeriodicAdvertisingSyncEstablishedV2)
  /// HCI_LE_Periodic_Advertising_Report [v2].
  case lePeriodicAdvertisingReportV2(HCI.LEPeriodicAdvertisingReportV2)
  /// HCI_LE_Periodic_Advertising_Sync_Transfer_Received [v2].
  case lePeriodicAdvertisingSyncTransferReceivedV2(HCI.LEPeriodicAdvertisingSyncTransferReceivedV2)
  /// HCI_LE_Periodic_Advertising_Subevent_Data_Request.
  case lePeriodicAdvertisingSubeventDataRequest(HCI.LEPeriodicAdvertisingSubeventDataRequest)
  /// HCI_LE_Periodic_Advertising_Response_Report.
  case lePeriodicAdvertisingResponseReport(HCI.LEPeriodicAdvertisingResponseReport)
  /// HCI_LE_Enhanced_Connection_Complete [v2].
  case leEnhancedConnectionCompleteV2(HCI.LEEnhancedConnectionCompleteV2)
  /// HCI_LE_Read_All_Remote_Features_Complete.
  case leReadAllRemoteFeaturesComplete(HCI.LEReadAllRemoteFeaturesComplete)
  /// HCI_LE_Connection_Rate_Change.
  case leConnectionRateChange(HCI.LEConnectionRateChange)
  /// A vendor's event, or one of a later version of the specification, kept as octets.
  case undeclared(HCIEventPacket)
}

extension HCIEvent {
  /// The events that are declared here, LE meta events apart, by their codes (Vol 4, Part E, 7.7).
  public enum Kind: UInt8, CaseIterable, Sendable {
    /// HCI_Disconnection_Complete.
    case disconnectionComplete = 0x05
    /// HCI_Encryption_Change [v1].
    case encryptionChange = 0x08
    /// HCI_Read_Remote_Version_Information_Complete.
    case readRemoteVersionInformationComplete = 0x0C
    /// HCI_Command_Complete.
    case commandComplete = 0x0E
    /// HCI_Command_Status.
    case commandStatus = 0x0F
    /// HCI_Hardware_Error.
    case hardwareError = 0x10
    /// HCI_Number_Of_Completed_Packets.
    case numberOfCompletedPackets = 0x13
    /// HCI_Data_Buffer_Overflow.
    case dataBufferOverflow = 0x1A
    /// HCI_Encryption_Key_Refresh_Complete.
    case encryptionKeyRefreshComplete = 0x30
    /// HCI_Authenticated_Payload_Timeout_Expired.
    case authenticatedPayloadTimeoutExpired = 0x57
    /// HCI_Encryption_Change [v2].
    case encryptionChangeV2 = 0x59
  }

  /// The LE meta events that are declared here, by their subevent codes (Vol 4, Part E, 7.7.65).
  public enum LEKind: UInt8, CaseIterable, Sendable {
    /// HCI_LE_Connection_Complete.
    case leConnectionComplete = 0x01
    /// HCI_LE_Advertising_Report.
    case leAdvertisingReport = 0x02
    /// HCI_LE_Connection_Update_Complete.
    case leConnectionUpdateComplete = 0x03
    /// HCI_LE_Read_Remote_Features_Complete.
    case leReadRemoteFeaturesComplete = 0x04
    /// HCI_LE_Long_Term_Key_Request.
    case leLongTermKeyRequest = 0x05
    /// HCI_LE_Remote_Connection_Parameter_Request.
    case leRemoteConnectionParameterRequest = 0x06
    /// HCI_LE_Data_Length_Change.
    case leDataLengthChange = 0x07
    /// HCI_LE_Read_Local_P-256_Public_Key_Complete.
    case leReadLocalP256PublicKeyComplete = 0x08
    /// HCI_LE_Generate_DHKey_Complete.
    case leGenerateDHKeyComplete = 0x09
    /// HCI_LE_Enhanced_Connection_Complete [v1].
    case leEnhancedConnectionComplete = 0x0A
    /// HCI_LE_Directed_Advertising_Report.
    case leDirectedAdvertisingReport = 0x0B
    /// HCI_LE_PHY_Update_Complete.
    case lePHYUpdateComplete = 0x0C
    /// HCI_LE_Extended_Advertising_Report.
    case leExtendedAdvertisingReport = 0x0D
    /// HCI_LE_Periodic_Advertising_Sync_Established [v1].
    case lePeriodicAdvertisingSyncEstablished = 0x0E
    /// HCI_LE_Periodic_Advertising_Report [v1].
    case lePeriodicAdvertisingReport = 0x0F
    /// HCI_LE_Periodic_Advertising_Sync_Lost.
    case lePeriodicAdvertisingSyncLost = 0x10
    /// HCI_LE_Scan_Timeout.
    case leScanTimeout = 0x11
    /// HCI_LE_Advertising_Set_Terminated.
    case leAdvertisingSetTerminated = 0x12
    /// HCI_LE_Scan_Request_Received.
    case leScanRequestReceived = 0x13
    /// HCI_LE_Channel_Selection_Algorithm.
    case leChannelSelectionAlgorithm = 0x14
    /// HCI_LE_Connectionless_IQ_Report.
    case leConnectionlessIQReport = 0x15
    /// HCI_LE_Connection_IQ_Report.
    case leConnectionIQReport = 0x16
    /// HCI_LE_CTE_Request_Failed.
    case leCTERequestFailed = 0x17
    /// HCI_LE_Periodic_Advertising_Sync_Transfer_Received [v1].
    case lePeriodicAdvertisingSyncTransferReceived = 0x18
    /// HCI_LE_CIS_Established.
    case leCISEstablished = 0x19
    /// HCI_LE_CIS_Request.
    case leCISRequest = 0x1A
    /// HCI_LE_Create_BIG_Complete.
    case leCreateBIGComplete = 0x1B
    /// HCI_LE_Terminate_BIG_Complete.
    case leTerminateBIGComplete = 0x1C
    /// HCI_LE_BIG_Sync_Established.
    case leBIGSyncEstablished = 0x1D
    /// HCI_LE_BIG_Sync_Lost.
    case leBIGSyncLost = 0x1E
    /// HCI_LE_Request_Peer_SCA_Complete.
    case leRequestPeerSCAComplete = 0x1F
    /// HCI_LE_Path_Loss_Threshold.
    case lePathLossThreshold = 0x20
    /// HCI_LE_Transmit_Power_Reporting.
    case leTransmitPowerReporting = 0x21
    /// HCI_LE_BIGInfo_Advertising_Report.
    case leBIGInfoAdvertisingReport = 0x22
    /// HCI_LE_Subrate_Change.
    case leSubrateChange = 0x23
    /// HCI_LE_Periodic_Advertising_Sync_Established [v2].
    case lePeriodicAdvertisingSyncEstablishedV2 = 0x24
    /// HCI_LE_Periodic_Advertising_Report [v2].
    case lePeriodicAdvertisingReportV2 = 0x25
    /// HCI_LE_Periodic_Advertising_Sync_Transfer_Received [v2].
    case lePeriodicAdvertisingSyncTransferReceivedV2 = 0x26
    /// HCI_LE_Periodic_Advertising_Subevent_Data_Request.
    case lePeriodicAdvertisingSubeventDataRequest = 0x27
    /// HCI_LE_Periodic_Advertising_Response_Report.
    case lePeriodicAdvertisingResponseReport = 0x28
    /// HCI_LE_Enhanced_Connection_Complete [v2].
    case leEnhancedConnectionCompleteV2 = 0x29
    /// HCI_LE_Read_All_Remote_Features_Complete.
    case leReadAllRemoteFeaturesComplete = 0x2B
    /// HCI_LE_Connection_Rate_Change.
    case leConnectionRateChange = 0x37
  }

  /// Reads the parameters of the event in `packet`.
  ///
  /// - Throws: ``/BLEWire/CodecError`` if the parameters of a declared event are malformed.
  public init(_ packet: HCIEventPacket) throws(CodecError) {
    let fields = packet.parameters
    if packet.eventCode == .leMeta {
      guard let subevent = fields.first else { throw .truncated(field: "Subevent_Code") }
      if let kind = LEKind(rawValue: subevent) {
        try self.init(kind, decoding: fields.dropFirst())
      } else {
        self = .undeclared(packet)
      }
    } else if let kind = Kind(rawValue: packet.eventCode.rawValue) {
      try self.init(kind, decoding: fields)
    } else {
      self = .undeclared(packet)
    }
  }

  private init(_ kind: Kind, decoding fields: Bytes) throws(CodecError) {
    switch kind {
    case .disconnectionComplete: self = .disconnectionComplete(try .init(decoding: fields))
    case .encryptionChange: self = .encryptionChange(try .init(decoding: fields))
    case .readRemoteVersionInformationComplete:
      self = .readRemoteVersionInformationComplete(try .init(decoding: fields))
    case .commandComplete: self = .commandComplete(try .init(decoding: fields))
    case .commandStatus: self = .commandStatus(try .init(decoding: fields))
    case .hardwareError: self = .hardwareError(try .init(decoding: fields))
    case .numberOfCompletedPackets: self = .numberOfCompletedPackets(try .init(decoding: fields))
    case .dataBufferOverflow: self = .dataBufferOverflow(try .init(decoding: fields))
    case .encryptionKeyRefreshComplete: self = .encryptionKeyRefreshComplete(try .init(decoding: fields))
    case .authenticatedPayloadTimeoutExpired: self = .authenticatedPayloadTimeoutExpired(try .init(decoding: fields))
    case .encryptionChangeV2: self = .encryptionChangeV2(try .init(decoding: fields))
    }
  }

  private init(_ kind: LEKind, decoding fields: Bytes) throws(CodecError) {
    switch kind {
    case .leConnectionComplete: self = .leConnectionComplete(try .init(decoding: fields))
    case .leAdvertisingReport: self = .leAdvertisingReport(try .init(decoding: fields))
    case .leConnectionUpdateComplete: self = .leConnectionUpdateComplete(try .init(decoding: fields))
    case .leReadRemoteFeaturesComplete: self = .leReadRemoteFeaturesComplete(try .init(decoding: fields))
    case .leLongTermKeyRequest: self = .leLongTermKeyRequest(try .init(decoding: fields))
    case .leRemoteConnectionParameterRequest: self = .leRemoteConnectionParameterRequest(try .init(decoding: fields))
    case .leDataLengthChange: self = .leDataLengthChange(try .init(decoding: fields))
    case .leReadLocalP256PublicKeyComplete: self = .leReadLocalP256PublicKeyComplete(try .init(decoding: fields))
    case .leGenerateDHKeyComplete: self = .leGenerateDHKeyComplete(try .init(decoding: fields))
    case .leEnhancedConnectionComplete: self = .leEnhancedConnectionComplete(try .init(decoding: fields))
    case .leDirectedAdvertisingReport: self = .leDirectedAdvertisingReport(try .init(decoding: fields))
    case .lePHYUpdateComplete: self = .lePHYUpdateComplete(try .init(decoding: fields))
    case .leExtendedAdvertisingReport: self = .leExtendedAdvertisingReport(try .init(decoding: fields))
    case .lePeriodicAdvertisingSyncEstablished:
      self = .lePeriodicAdvertisingSyncEstablished(try .init(decoding: fields))
    case .lePeriodicAdvertisingReport: self = .lePeriodicAdvertisingReport(try .init(decoding: fields))
    case .lePeriodicAdvertisingSyncLost: self = .lePeriodicAdvertisingSyncLost(try .init(decoding: fields))
    case .leScanTimeout: self = .leScanTimeout(try .init(decoding: fields))
    case .leAdvertisingSetTerminated: self = .leAdvertisingSetTerminated(try .init(decoding: fields))
    case .leScanRequestReceived: self = .leScanRequestReceived(try .init(decoding: fields))
    case .leChannelSelectionAlgorithm: self = .leChannelSelectionAlgorithm(try .init(decoding: fields))
    case .leConnectionlessIQReport: self = .leConnectionlessIQReport(try .init(decoding: fields))
    case .leConnectionIQReport: self = .leConnectionIQReport(try .init(decoding: fields))
    case .leCTERequestFailed: self = .leCTERequestFailed(try .init(decoding: fields))
    case .lePeriodicAdvertisingSyncTransferReceived:
      self = .lePeriodicAdvertisingSyncTransferReceived(try .init(decoding: fields))
    case .leCISEstablished: self = .leCISEstablished(try .init(decoding: fields))
    case .leCISRequest: self = .leCISRequest(try .init(decoding: fields))
    case .leCreateBIGComplete: self = .leCreateBIGComplete(try .init(decoding: fields))
    case .leTerminateBIGComplete: self = .leTerminateBIGComplete(try .init(decoding: fields))
    case .leBIGSyncEstablished: self = .leBIGSyncEstablished(try .init(decoding: fields))
    case .leBIGSyncLost: self = .leBIGSyncLost(try .init(decoding: fields))
    case .leRequestPeerSCAComplete: self = .leRequestPeerSCAComplete(try .init(decoding: fields))
    case .lePathLossThreshold: self = .lePathLossThreshold(try .init(decoding: fields))
    case .leTransmitPowerReporting: self = .leTransmitPowerReporting(try .init(decoding: fields))
    case .leBIGInfoAdvertisingReport: self = .leBIGInfoAdvertisingReport(try .init(decoding: fields))
    case .leSubrateChange: self = .leSubrateChange(try .init(decoding: fields))
    case .lePeriodicAdvertisingSyncEstablishedV2:
      self = .lePeriodicAdvertisingSyncEstablishedV2(try .init(decoding: fields))
    case .lePeriodicAdvertisingReportV2: self = .lePeriodicAdvertisingReportV2(try .init(decoding: fields))
    case .lePeriodicAdvertisingSyncTransferReceivedV2:
      self = .lePeriodicAdvertisingSyncTransferReceivedV2(try .init(decoding: fields))
    case .lePeriodicAdvertisingSubeventDataRequest:
      self = .lePeriodicAdvertisingSubeventDataRequest(try .init(decoding: fields))
    case .lePeriodicAdvertisingResponseReport: self = .lePeriodicAdvertisingResponseReport(try .init(decoding: fields))
    case .leEnhancedConnectionCompleteV2: self = .leEnhancedConnectionCompleteV2(try .init(decoding: fields))
    case .leReadAllRemoteFeaturesComplete: self = .leReadAllRemoteFeaturesComplete(try .init(decoding: fields))
    case .leConnectionRateChange: self = .leConnectionRateChange(try .init(decoding: fields))
    }
  }

  /// Reads an event packet that fills `octets` exactly: event code, length, parameters; without a packet indicator.
  ///
  /// - Throws: ``/BLEWire/CodecError`` if the packet, or the parameters of a declared event, are malformed.
  public init(decoding octets: Bytes) throws(CodecError) {
    try self.init(HCIEventPacket(decoding: octets))
  }

  /// Gives the decoded parameters, with their type, to `visitor`, for code that treats all events alike.
  ///
  /// - Returns: nil for an event that is not declared here.
  public func visit<Visitor: HCIEventVisitor>(with visitor: inout Visitor) -> Visitor.Output? {
    switch self {
    case .disconnectionComplete(let event): visitor.visit(event)
    case .encryptionChange(let event): visitor.visit(event)
    case .readRemoteVersionInformationComplete(let event): visitor.visit(event)
    case .commandComplete(let event): visitor.visit(event)
    case .commandStatus(let event): visitor.visit(event)
    case .hardwareError(let event): visitor.visit(event)
    case .numberOfCompletedPackets(let event): visitor.visit(event)
    case .dataBufferOverflow(let event): visitor.visit(event)
    case .encryptionKeyRefreshComplete(let event): visitor.visit(event)
    case .authenticatedPayloadTimeoutExpired(let event): visitor.visit(event)
    case .encryptionChangeV2(let event): visitor.visit(event)
    case .leConnectionComplete(let event): visitor.visit(event)
    case .leAdvertisingReport(let event): visitor.visit(event)
    case .leConnectionUpdateComplete(let event): visitor.visit(event)
    case .leReadRemoteFeaturesComplete(let event): visitor.visit(event)
    case .leLongTermKeyRequest(let event): visitor.visit(event)
    case .leRemoteConnectionParameterRequest(let event): visitor.visit(event)
    case .leDataLengthChange(let event): visitor.visit(event)
    case .leReadLocalP256PublicKeyComplete(let event): visitor.visit(event)
    case .leGenerateDHKeyComplete(let event): visitor.visit(event)
    case .leEnhancedConnectionComplete(let event): visitor.visit(event)
    case .leDirectedAdvertisingReport(let event): visitor.visit(event)
    case .lePHYUpdateComplete(let event): visitor.visit(event)
    case .leExtendedAdvertisingReport(let event): visitor.visit(event)
    case .lePeriodicAdvertisingSyncEstablished(let event): visitor.visit(event)
    case .lePeriodicAdvertisingReport(let event): visitor.visit(event)
    case .lePeriodicAdvertisingSyncLost(let event): visitor.visit(event)
    case .leScanTimeout(let event): visitor.visit(event)
    case .leAdvertisingSetTerminated(let event): visitor.visit(event)
    case .leScanRequestReceived(let event): visitor.visit(event)
    case .leChannelSelectionAlgorithm(let event): visitor.visit(event)
    case .leConnectionlessIQReport(let event): visitor.visit(event)
    case .leConnectionIQReport(let event): visitor.visit(event)
    case .leCTERequestFailed(let event): visitor.visit(event)
    case .lePeriodicAdvertisingSyncTransferReceived(let event): visitor.visit(event)
    case .leCISEstablished(let event): visitor.visit(event)
    case .leCISRequest(let event): visitor.visit(event)
    case .leCreateBIGComplete(let event): visitor.visit(event)
    case .leTerminateBIGComplete(let event): visitor.visit(event)
    case .leBIGSyncEstablished(let event): visitor.visit(event)
    case .leBIGSyncLost(let event): visitor.visit(event)
    case .leRequestPeerSCAComplete(let event): visitor.visit(event)
    case .lePathLossThreshold(let event): visitor.visit(event)
    case .leTransmitPowerReporting(let event): visitor.visit(event)
    case .leBIGInfoAdvertisingReport(let event): visitor.visit(event)
    case .leSubrateChange(let event): visitor.visit(event)
    case .lePeriodicAdvertisingSyncEstablishedV2(let event): visitor.visit(event)
    case .lePeriodicAdvertisingReportV2(let event): visitor.visit(event)
    case .lePeriodicAdvertisingSyncTransferReceivedV2(let event): visitor.visit(event)
    case .lePeriodicAdvertisingSubeventDataRequest(let event): visitor.visit(event)
    case .lePeriodicAdvertisingResponseReport(let event): visitor.visit(event)
    case .leEnhancedConnectionCompleteV2(let event): visitor.visit(event)
    case .leReadAllRemoteFeaturesComplete(let event): visitor.visit(event)
    case .leConnectionRateChange(let event): visitor.visit(event)
    case .undeclared: nil
    }
  }

  /// The event as a packet, without a packet indicator.
  public var packet: HCIEventPacket {
    if case .undeclared(let packet) = self { return packet }
    var encoder = Encoder()
    return visit(with: &encoder) ?? HCIEventPacket()
  }

  /// The octet that identifies the event.
  public var eventCode: HCIEventCode {
    if case .undeclared(let packet) = self { return packet.eventCode }
    var code = Code()
    return visit(with: &code) ?? .vendorSpecific
  }

  private struct Encoder: HCIEventVisitor {
    func visit(_ event: some HCIEventParameters) -> HCIEventPacket { HCIEventPacket(event) }
  }

  private struct Code: HCIEventVisitor {
    func visit<Event: HCIEventParameters>(_ event: Event) -> HCIEventCode { Event.eventCode }
  }
}

/// What is done with the parameters of an event of any type.
///
/// ```swift
/// struct Length: HCIEventVisitor {
///   func visit(_ event: some HCIEventParameters) -> Int { event.encoded.count }
/// }
/// ```
public protocol HCIEventVisitor {
  /// What comes of it.
  associatedtype Output

  /// Takes the event.
  mutating func visit(_ event: some HCIEventParameters) -> Output
}

extension HCIEventPacket {
  /// The packet of an event with these parameters.
  public init<Event: HCIEventParameters>(_ parameters: Event) {
    self.init()
    eventCode = Event.eventCode
    var octets: [UInt8] = []
    parameters.encodeEventParameters(to: &octets)
    self.parameters = octets[...]
  }
}

extension HCI.CommandComplete {
  /// Reads the return parameters of the command.
  ///
  /// ```swift
  /// let version = try complete.response(to: HCI.ReadLocalVersionInformation.self).hciVersion
  /// ```
  public func response<Command: HCICommand>(to command: Command.Type) throws(CodecError) -> Command.Response {
    try Command.Response(returned: returnParameters)
  }
}
