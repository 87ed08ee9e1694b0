public import BLEWire

extension HCI {
  /// Every command declared here, by its opcode: for tracing, for controllers, and for tests that walk them all.
  public static let commands: [HCIOpcode: any HCICommand.Type] = Dictionary(
    declaredCommands.map { ($0.opcode, $0) }, uniquingKeysWith: { first, _ in first })

  /// In the order of the opcodes.
  static let declaredCommands: [any HCICommand.Type] = [
    HCI.Disconnect.self, HCI.ReadRemoteVersionInformation.self, HCI.SetEventMask.self, HCI.Reset.self,
    HCI.ReadTransmitPowerLevel.self, HCI.SetControllerToHostFlowControl.self, HCI.HostBufferSize.self,
    HCI.HostNumberOfCompletedPackets.self, HCI.SetEventMaskPage2.self, HCI.ReadLEHostSupport.self,
    HCI.WriteLEHostSupport.self, HCI.ReadAuthenticatedPayloadTimeout.self,
    HCI.WriteAuthenticatedPayloadTimeout.self, HCI.ConfigureDataPath.self, HCI.SetMinEncryptionKeySize.self,
    HCI.ReadLocalVersionInformation.self, HCI.ReadLocalSupportedCommands.self, HCI.ReadLocalSupportedFeatures.self,
    HCI.ReadBufferSize.self, HCI.ReadBDADDR.self, HCI.ReadRSSI.self, HCI.LESetEventMask.self,
    HCI.LEReadBufferSize.self, HCI.LEReadLocalSupportedFeatures.self, HCI.LESetRandomAddress.self,
    HCI.LESetAdvertisingParameters.self, HCI.LEReadAdvertisingPhysicalChannelTxPower.self,
    HCI.LESetAdvertisingData.self, HCI.LESetScanResponseData.self, HCI.LESetAdvertisingEnable.self,
    HCI.LESetScanParameters.self, HCI.LESetScanEnable.self, HCI.LECreateConnection.self,
    HCI.LECreateConnectionCancel.self, HCI.LEReadFilterAcceptListSize.self, HCI.LEClearFilterAcceptList.self,
    HCI.LEAddDeviceToFilterAcceptList.self, HCI.LERemoveDeviceFromFilterAcceptList.self,
    HCI.LEConnectionUpdate.self, HCI.LESetHostChannelClassification.self, HCI.LEReadChannelMap.self,
    HCI.LEReadRemoteFeatures.self, HCI.LEEncrypt.self, HCI.LERand.self, HCI.LEEnableEncryption.self,
    HCI.LELongTermKeyRequestReply.self, HCI.LELongTermKeyRequestNegativeReply.self, HCI.LEReadSupportedStates.self,
    HCI.LEReceiverTest.self, HCI.LETransmitterTest.self, HCI.LETestEnd.self,
    HCI.LERemoteConnectionParameterRequestReply.self, HCI.LERemoteConnectionParameterRequestNegativeReply.self,
    HCI.LESetDataLength.self, HCI.LEReadSuggestedDefaultDataLength.self,
    HCI.LEWriteSuggestedDefaultDataLength.self, HCI.LEReadLocalP256PublicKey.self, HCI.LEGenerateDHKey.self,
    HCI.LEAddDeviceToResolvingList.self, HCI.LERemoveDeviceFromResolvingList.self, HCI.LEClearResolvingList.self,
    HCI.LEReadResolvingListSize.self, HCI.LEReadPeerResolvableAddress.self, HCI.LEReadLocalResolvableAddress.self,
    HCI.LESetAddressResolutionEnable.self, HCI.LESetResolvablePrivateAddressTimeout.self,
    HCI.LEReadMaximumDataLength.self, HCI.LEReadPHY.self, HCI.LESetDefaultPHY.self, HCI.LESetPHY.self,
    HCI.LEReceiverTestV2.self, HCI.LETransmitterTestV2.self, HCI.LESetAdvertisingSetRandomAddress.self,
    HCI.LESetExtendedAdvertisingParameters.self, HCI.LESetExtendedAdvertisingData.self,
    HCI.LESetExtendedScanResponseData.self, HCI.LESetExtendedAdvertisingEnable.self,
    HCI.LEReadMaximumAdvertisingDataLength.self, HCI.LEReadNumberOfSupportedAdvertisingSets.self,
    HCI.LERemoveAdvertisingSet.self, HCI.LEClearAdvertisingSets.self, HCI.LESetPeriodicAdvertisingParameters.self,
    HCI.LESetPeriodicAdvertisingData.self, HCI.LESetPeriodicAdvertisingEnable.self,
    HCI.LESetExtendedScanParameters.self, HCI.LESetExtendedScanEnable.self, HCI.LEExtendedCreateConnection.self,
    HCI.LEPeriodicAdvertisingCreateSync.self, HCI.LEPeriodicAdvertisingCreateSyncCancel.self,
    HCI.LEPeriodicAdvertisingTerminateSync.self, HCI.LEAddDeviceToPeriodicAdvertiserList.self,
    HCI.LERemoveDeviceFromPeriodicAdvertiserList.self, HCI.LEClearPeriodicAdvertiserList.self,
    HCI.LEReadPeriodicAdvertiserListSize.self, HCI.LEReadTransmitPower.self, HCI.LEReadRFPathCompensation.self,
    HCI.LEWriteRFPathCompensation.self, HCI.LESetPrivacyMode.self, HCI.LEReceiverTestV3.self,
    HCI.LETransmitterTestV3.self, HCI.LESetConnectionlessCTETransmitParameters.self,
    HCI.LESetConnectionlessCTETransmitEnable.self, HCI.LESetConnectionlessIQSamplingEnable.self,
    HCI.LESetConnectionCTEReceiveParameters.self, HCI.LESetConnectionCTETransmitParameters.self,
    HCI.LEConnectionCTERequestEnable.self, HCI.LEConnectionCTEResponseEnable.self,
    HCI.LEReadAntennaInformation.self, HCI.LESetPeriodicAdvertisingReceiveEnable.self,
    HCI.LEPeriodicAdvertisingSyncTransfer.self, HCI.LEPeriodicAdvertisingSetInfoTransfer.self,
    HCI.LESetPeriodicAdvertisingSyncTransferParameters.self,
    HCI.LESetDefaultPeriodicAdvertisingSyncTransferParameters.self, HCI.LEGenerateDHKeyV2.self,
    HCI.LEModifySleepClockAccuracy.self, HCI.LEReadBufferSizeV2.self, HCI.LEReadISOTXSync.self,
    HCI.LESetCIGParameters.self, HCI.LESetCIGParametersTest.self, HCI.LECreateCIS.self, HCI.LERemoveCIG.self,
    HCI.LEAcceptCISRequest.self, HCI.LERejectCISRequest.self, HCI.LECreateBIG.self, HCI.LECreateBIGTest.self,
    HCI.LETerminateBIG.self, HCI.LEBIGCreateSync.self, HCI.LEBIGTerminateSync.self, HCI.LERequestPeerSCA.self,
    HCI.LESetupISODataPath.self, HCI.LERemoveISODataPath.self, HCI.LEISOTransmitTest.self,
    HCI.LEISOReceiveTest.self, HCI.LEISOReadTestCounters.self, HCI.LEISOTestEnd.self, HCI.LESetHostFeature.self,
    HCI.LEReadISOLinkQuality.self, HCI.LEEnhancedReadTransmitPowerLevel.self,
    HCI.LEReadRemoteTransmitPowerLevel.self, HCI.LESetPathLossReportingParameters.self,
    HCI.LESetPathLossReportingEnable.self, HCI.LESetTransmitPowerReportingEnable.self,
    HCI.LETransmitterTestV4.self, HCI.LESetDataRelatedAddressChanges.self, HCI.LESetDefaultSubrate.self,
    HCI.LESubrateRequest.self, HCI.LESetExtendedAdvertisingParametersV2.self,
    HCI.LESetPeriodicAdvertisingSubeventData.self, HCI.LESetPeriodicAdvertisingResponseData.self,
    HCI.LESetPeriodicSyncSubevent.self, HCI.LEExtendedCreateConnectionV2.self,
    HCI.LESetPeriodicAdvertisingParametersV2.self,
  ]
}

extension HCICommandPacket {
  /// The command in its declared form; nil where there is none for the opcode.
  ///
  /// - Throws: ``CodecError`` where the parameters are not those of the command.
  public func decoded() throws(CodecError) -> (any HCICommand)? {
    guard let type = HCI.commands[opcode] else { return nil }
    return try type.init(decoding: parameters)
  }
}

extension HCI.CommandComplete {
  /// The return parameters in their declared form; nil where there is none for the opcode.
  ///
  /// - Throws: ``CodecError`` where the octets are not what the command returns.
  public func decodedResponse() throws(CodecError) -> (any ReturnParameters)? {
    func read<Command: HCICommand>(_ type: Command.Type) throws(CodecError) -> any ReturnParameters {
      try Command.Response(returned: returnParameters)
    }
    guard let type = HCI.commands[opcode] else { return nil }
    return try read(type)
  }
}
