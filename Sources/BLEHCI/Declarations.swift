public import BLEWire

// Embedded Swift has no existential types; what they serve is for tools.
#if !hasFeature(Embedded)
  extension HCI {
    /// Every command that is declared here, by its opcode.
    ///
    /// A command is registered by its declaration and its entry in the list below: decoding, the name of
    /// the opcode, the bit of ``SupportedCommands`` and the round-trip tests derive from these.
    public static let commands: [HCIOpcode: any HCICommand.Type] = Dictionary(
      declaredCommands.map { ($0.opcode, $0) }, uniquingKeysWith: { first, _ in first })

    /// Every event that is declared here, LE meta events apart, by its code.
    ///
    /// ``HCIEvent`` has a case for each. The names of the codes and the round-trip tests derive from this list.
    public static let events: [HCIEventCode: any HCIEventParameters.Type] = Dictionary(
      declaredEvents.map { ($0.eventCode, $0) }, uniquingKeysWith: { first, _ in first })

    /// Every LE meta event that is declared here, by its subevent code.
    public static let leEvents: [LESubeventCode: any LEEventParameters.Type] = Dictionary(
      declaredLEEvents.map { ($0.subeventCode, $0) }, uniquingKeysWith: { first, _ in first })
  }

  extension HCI {
    /// The commands, in the order of the opcodes (Vol 4, Part E, 7.1 to 7.8).
    private static let declaredCommands: [any HCICommand.Type] = [
      Disconnect.self, ReadRemoteVersionInformation.self, SetEventMask.self, Reset.self, ReadTransmitPowerLevel.self,
      SetControllerToHostFlowControl.self, HostBufferSize.self, HostNumberOfCompletedPackets.self,
      SetEventMaskPage2.self, ReadLEHostSupport.self, WriteLEHostSupport.self, ReadAuthenticatedPayloadTimeout.self,
      WriteAuthenticatedPayloadTimeout.self, ConfigureDataPath.self, SetMinEncryptionKeySize.self,
      ReadLocalVersionInformation.self, ReadLocalSupportedCommands.self, ReadLocalSupportedFeatures.self,
      ReadBufferSize.self, ReadBDADDR.self, ReadRSSI.self, LESetEventMask.self, LEReadBufferSize.self,
      LEReadLocalSupportedFeatures.self, LESetRandomAddress.self, LESetAdvertisingParameters.self,
      LEReadAdvertisingPhysicalChannelTxPower.self, LESetAdvertisingData.self, LESetScanResponseData.self,
      LESetAdvertisingEnable.self, LESetScanParameters.self, LESetScanEnable.self, LECreateConnection.self,
      LECreateConnectionCancel.self, LEReadFilterAcceptListSize.self, LEClearFilterAcceptList.self,
      LEAddDeviceToFilterAcceptList.self, LERemoveDeviceFromFilterAcceptList.self, LEConnectionUpdate.self,
      LESetHostChannelClassification.self, LEReadChannelMap.self, LEReadRemoteFeatures.self, LEEncrypt.self,
      LERand.self, LEEnableEncryption.self, LELongTermKeyRequestReply.self, LELongTermKeyRequestNegativeReply.self,
      LEReadSupportedStates.self, LEReceiverTest.self, LETransmitterTest.self, LETestEnd.self,
      LERemoteConnectionParameterRequestReply.self, LERemoteConnectionParameterRequestNegativeReply.self,
      LESetDataLength.self, LEReadSuggestedDefaultDataLength.self, LEWriteSuggestedDefaultDataLength.self,
      LEReadLocalP256PublicKey.self, LEGenerateDHKey.self, LEAddDeviceToResolvingList.self,
      LERemoveDeviceFromResolvingList.self, LEClearResolvingList.self, LEReadResolvingListSize.self,
      LEReadPeerResolvableAddress.self, LEReadLocalResolvableAddress.self, LESetAddressResolutionEnable.self,
      LESetResolvablePrivateAddressTimeout.self, LEReadMaximumDataLength.self, LEReadPHY.self, LESetDefaultPHY.self,
      LESetPHY.self, LEReceiverTestV2.self, LETransmitterTestV2.self, LESetAdvertisingSetRandomAddress.self,
      LESetExtendedAdvertisingParameters.self, LESetExtendedAdvertisingData.self, LESetExtendedScanResponseData.self,
      LESetExtendedAdvertisingEnable.self, LEReadMaximumAdvertisingDataLength.self,
      LEReadNumberOfSupportedAdvertisingSets.self, LERemoveAdvertisingSet.self, LEClearAdvertisingSets.self,
      LESetPeriodicAdvertisingParameters.self, LESetPeriodicAdvertisingData.self, LESetPeriodicAdvertisingEnable.self,
      LESetExtendedScanParameters.self, LESetExtendedScanEnable.self, LEExtendedCreateConnection.self,
      LEPeriodicAdvertisingCreateSync.self, LEPeriodicAdvertisingCreateSyncCancel.self,
      LEPeriodicAdvertisingTerminateSync.self, LEAddDeviceToPeriodicAdvertiserList.self,
      LERemoveDeviceFromPeriodicAdvertiserList.self, LEClearPeriodicAdvertiserList.self,
      LEReadPeriodicAdvertiserListSize.self, LEReadTransmitPower.self, LEReadRFPathCompensation.self,
      LEWriteRFPathCompensation.self, LESetPrivacyMode.self, LEReceiverTestV3.self, LETransmitterTestV3.self,
      LESetConnectionlessCTETransmitParameters.self, LESetConnectionlessCTETransmitEnable.self,
      LESetConnectionlessIQSamplingEnable.self, LESetConnectionCTEReceiveParameters.self,
      LESetConnectionCTETransmitParameters.self, LEConnectionCTERequestEnable.self,
      LEConnectionCTEResponseEnable.self, LEReadAntennaInformation.self, LESetPeriodicAdvertisingReceiveEnable.self,
      LEPeriodicAdvertisingSyncTransfer.self, LEPeriodicAdvertisingSetInfoTransfer.self,
      LESetPeriodicAdvertisingSyncTransferParameters.self, LESetDefaultPeriodicAdvertisingSyncTransferParameters.self,
      LEGenerateDHKeyV2.self, LEModifySleepClockAccuracy.self, LEReadBufferSizeV2.self, LEReadISOTXSync.self,
      LESetCIGParameters.self, LESetCIGParametersTest.self, LECreateCIS.self, LERemoveCIG.self,
      LEAcceptCISRequest.self, LERejectCISRequest.self, LECreateBIG.self, LECreateBIGTest.self, LETerminateBIG.self,
      LEBIGCreateSync.self, LEBIGTerminateSync.self, LERequestPeerSCA.self, LESetupISODataPath.self,
      LERemoveISODataPath.self, LEISOTransmitTest.self, LEISOReceiveTest.self, LEISOReadTestCounters.self,
      LEISOTestEnd.self, LESetHostFeature.self, LEReadISOLinkQuality.self, LEEnhancedReadTransmitPowerLevel.self,
      LEReadRemoteTransmitPowerLevel.self, LESetPathLossReportingParameters.self, LESetPathLossReportingEnable.self,
      LESetTransmitPowerReportingEnable.self, LETransmitterTestV4.self, LESetDataRelatedAddressChanges.self,
      LESetDefaultSubrate.self, LESubrateRequest.self, LESetExtendedAdvertisingParametersV2.self,
      LESetPeriodicAdvertisingSubeventData.self, LESetPeriodicAdvertisingResponseData.self,
      LESetPeriodicSyncSubevent.self, LEExtendedCreateConnectionV2.self, LESetPeriodicAdvertisingParametersV2.self,
      LEReadAllLocalSupportedFeatures.self, LEReadAllRemoteFeatures.self, LESetHostFeatureV2.self,
      LEConnectionRateRequest.self, LESetDefaultRateParameters.self, LEReadMinimumSupportedConnectionInterval.self,
    ]

    /// The events, in the order of the codes (Vol 4, Part E, 7.7).
    private static let declaredEvents: [any HCIEventParameters.Type] = [
      DisconnectionComplete.self, EncryptionChange.self, ReadRemoteVersionInformationComplete.self,
      CommandComplete.self, CommandStatus.self, HardwareError.self, NumberOfCompletedPackets.self,
      DataBufferOverflow.self, EncryptionKeyRefreshComplete.self, AuthenticatedPayloadTimeoutExpired.self,
      EncryptionChangeV2.self,
    ]

    /// The LE meta events, in the order of the subevent codes (Vol 4, Part E, 7.7.65).
    private static let declaredLEEvents: [any LEEventParameters.Type] = [
      LEConnectionComplete.self, LEAdvertisingReport.self, LEConnectionUpdateComplete.self,
      LEReadRemoteFeaturesComplete.self, LELongTermKeyRequest.self, LERemoteConnectionParameterRequest.self,
      LEDataLengthChange.self, LEReadLocalP256PublicKeyComplete.self, LEGenerateDHKeyComplete.self,
      LEEnhancedConnectionComplete.self, LEDirectedAdvertisingReport.self, LEPHYUpdateComplete.self,
      LEExtendedAdvertisingReport.self, LEPeriodicAdvertisingSyncEstablished.self, LEPeriodicAdvertisingReport.self,
      LEPeriodicAdvertisingSyncLost.self, LEScanTimeout.self, LEAdvertisingSetTerminated.self,
      LEScanRequestReceived.self, LEChannelSelectionAlgorithm.self, LEConnectionlessIQReport.self,
      LEConnectionIQReport.self, LECTERequestFailed.self, LEPeriodicAdvertisingSyncTransferReceived.self,
      LECISEstablished.self, LECISRequest.self, LECreateBIGComplete.self, LETerminateBIGComplete.self,
      LEBIGSyncEstablished.self, LEBIGSyncLost.self, LERequestPeerSCAComplete.self, LEPathLossThreshold.self,
      LETransmitPowerReporting.self, LEBIGInfoAdvertisingReport.self, LESubrateChange.self,
      LEPeriodicAdvertisingSyncEstablishedV2.self, LEPeriodicAdvertisingReportV2.self,
      LEPeriodicAdvertisingSyncTransferReceivedV2.self, LEPeriodicAdvertisingSubeventDataRequest.self,
      LEPeriodicAdvertisingResponseReport.self, LEEnhancedConnectionCompleteV2.self,
      LEReadAllRemoteFeaturesComplete.self, LEConnectionRateChange.self,
    ]
  }

  extension HCICommandPacket {
    /// Decodes the command.
    ///
    /// - Returns: nil for an opcode without a declaration.
    /// - Throws: ``/BLEWire/CodecError`` for malformed parameters.
    public func decoded() throws(CodecError) -> (any HCICommand)? {
      guard let type = HCI.commands[opcode] else { return nil }
      return try type.init(decoding: parameters)
    }
  }

  extension HCI.CommandComplete {
    /// Decodes the return parameters.
    ///
    /// - Returns: nil for an opcode without a declaration.
    /// - Throws: ``/BLEWire/CodecError`` for malformed return parameters.
    public func decodedResponse() throws(CodecError) -> (any ReturnParameters)? {
      func read<Command: HCICommand>(_ type: Command.Type) throws(CodecError) -> any ReturnParameters {
        try Command.Response(returned: returnParameters)
      }
      guard let type = HCI.commands[opcode] else { return nil }
      return try read(type)
    }
  }

  extension HCIEvent {
    private struct Box: HCIEventVisitor {
      func visit(_ event: some HCIEventParameters) -> any HCIEventParameters { event }
    }

    /// The decoded parameters, without their type, for tools that treat all events alike; nil for an event that is not
    /// declared here.
    public var parameters: (any HCIEventParameters)? {
      var box = Box()
      return visit(with: &box)
    }
  }

  extension HCIEvent: CustomStringConvertible {
    /// The name and each field: `Hardware Error (0x10) (0..<1  Hardware_Code: 0x42)`.
    public var description: String {
      guard let parameters else { return "\(eventCode) \(packet.parameters.hexadecimal)" }
      let code = (parameters as? any LEEventParameters).map { "\(type(of: $0).subeventCode)" } ?? "\(eventCode)"
      let lines = parameters.fieldLines
      return lines.isEmpty ? code : "\(code) (\(lines.joined(separator: ", ")))"
    }
  }

  extension HCI.SupportedCommands {
    /// Whether the controller supports the command; false for an opcode without a bit.
    public func contains(_ opcode: HCIOpcode) -> Bool {
      guard let place = HCI.commands[opcode]?.supportedCommandsBit else { return false }
      return contains(octet: place.octet, bit: place.bit)
    }

    /// Sets the bit of a command. An opcode without a bit changes nothing.
    public mutating func insert(_ opcode: HCIOpcode) {
      guard let place = HCI.commands[opcode]?.supportedCommandsBit else { return }
      octets[octets.startIndex + place.octet] |= 1 << UInt8(place.bit)
    }

    /// Clears the bit of a command. An opcode without a bit changes nothing.
    public mutating func remove(_ opcode: HCIOpcode) {
      guard let place = HCI.commands[opcode]?.supportedCommandsBit else { return }
      octets[octets.startIndex + place.octet] &= ~(1 << UInt8(place.bit))
    }

    /// The supported commands that are declared here, in the order of their bits.
    public var opcodes: [HCIOpcode] {
      Self.bits.filter { contains(octet: $0.bit.octet, bit: $0.bit.bit) }.map { $0.opcode }
    }

    /// All commands that are declared here.
    public static var all: Self {
      var all = Self()
      for place in bits { all.insert(place.opcode) }
      return all
    }

    /// The commands and their bits, in the order of the bits.
    private static let bits: [(opcode: HCIOpcode, bit: Bit)] = HCI.commands.values
      .compactMap { command in command.supportedCommandsBit.map { (command.opcode, $0) } }
      .sorted { ($0.bit.octet, $0.bit.bit) < ($1.bit.octet, $1.bit.bit) }
  }

  extension HCIOpcode {
    public static let names: [Self: StaticString] = HCI.commands.mapValues { $0.name }
  }

  extension HCIEventCode {
    public static let names: [Self: StaticString] = HCI.events.mapValues { $0.name }
      .merging([.leMeta: "LE Meta", .vendorSpecific: "Vendor Specific"]) { first, _ in first }
  }

  extension LESubeventCode {
    public static let names: [Self: StaticString] = HCI.leEvents.mapValues { $0.name }
  }
#endif
