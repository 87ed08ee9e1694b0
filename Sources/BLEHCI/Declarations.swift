public import BLEWire

/// What is done with the type of each declared command.
package protocol HCICommandTypeVisitor {
  mutating func visit<Command: HCICommand>(_ type: Command.Type)
  mutating func visit<Command: LinkCommand>(_ type: Command.Type)
}

extension HCICommandTypeVisitor {
  package mutating func visit<Command: LinkCommand>(_ type: Command.Type) { visitCommand(type) }

  private mutating func visitCommand<Command: HCICommand>(_ type: Command.Type) { visit(type) }
}

extension HCICommandPacket {
  /// The command, if it has this type and is well-formed.
  package func decoded<Command: HCICommand>(as type: Command.Type) -> Command? {
    opcode == Command.opcode ? try? Command(decoding: parameters) : nil
  }
}

extension HCI {
  /// Gives the type of every command that is declared here to `visitor`, in the order of the opcodes (Vol 4, Part E,
  /// 7.1 to 7.8).
  ///
  /// A command is registered by its declaration and its line below: decoding, the name of the opcode, the bit of
  /// ``SupportedCommands`` and the round-trip tests derive from these.
  package static func visitCommandTypes(with visitor: inout some HCICommandTypeVisitor) {
    visitor.visit(Disconnect.self)
    visitor.visit(ReadRemoteVersionInformation.self)
    visitor.visit(SetEventMask.self)
    visitor.visit(Reset.self)
    visitor.visit(ReadTransmitPowerLevel.self)
    visitor.visit(SetControllerToHostFlowControl.self)
    visitor.visit(HostBufferSize.self)
    visitor.visit(HostNumberOfCompletedPackets.self)
    visitor.visit(SetEventMaskPage2.self)
    visitor.visit(ReadLEHostSupport.self)
    visitor.visit(WriteLEHostSupport.self)
    visitor.visit(ReadAuthenticatedPayloadTimeout.self)
    visitor.visit(WriteAuthenticatedPayloadTimeout.self)
    visitor.visit(ConfigureDataPath.self)
    visitor.visit(SetMinEncryptionKeySize.self)
    visitor.visit(ReadLocalVersionInformation.self)
    visitor.visit(ReadLocalSupportedCommands.self)
    visitor.visit(ReadLocalSupportedFeatures.self)
    visitor.visit(ReadBufferSize.self)
    visitor.visit(ReadBDADDR.self)
    visitor.visit(ReadRSSI.self)
    visitor.visit(LESetEventMask.self)
    visitor.visit(LEReadBufferSize.self)
    visitor.visit(LEReadLocalSupportedFeatures.self)
    visitor.visit(LESetRandomAddress.self)
    visitor.visit(LESetAdvertisingParameters.self)
    visitor.visit(LEReadAdvertisingPhysicalChannelTxPower.self)
    visitor.visit(LESetAdvertisingData.self)
    visitor.visit(LESetScanResponseData.self)
    visitor.visit(LESetAdvertisingEnable.self)
    visitor.visit(LESetScanParameters.self)
    visitor.visit(LESetScanEnable.self)
    visitor.visit(LECreateConnection.self)
    visitor.visit(LECreateConnectionCancel.self)
    visitor.visit(LEReadFilterAcceptListSize.self)
    visitor.visit(LEClearFilterAcceptList.self)
    visitor.visit(LEAddDeviceToFilterAcceptList.self)
    visitor.visit(LERemoveDeviceFromFilterAcceptList.self)
    visitor.visit(LEConnectionUpdate.self)
    visitor.visit(LESetHostChannelClassification.self)
    visitor.visit(LEReadChannelMap.self)
    visitor.visit(LEReadRemoteFeatures.self)
    visitor.visit(LEEncrypt.self)
    visitor.visit(LERand.self)
    visitor.visit(LEEnableEncryption.self)
    visitor.visit(LELongTermKeyRequestReply.self)
    visitor.visit(LELongTermKeyRequestNegativeReply.self)
    visitor.visit(LEReadSupportedStates.self)
    visitor.visit(LEReceiverTest.self)
    visitor.visit(LETransmitterTest.self)
    visitor.visit(LETestEnd.self)
    visitor.visit(LERemoteConnectionParameterRequestReply.self)
    visitor.visit(LERemoteConnectionParameterRequestNegativeReply.self)
    visitor.visit(LESetDataLength.self)
    visitor.visit(LEReadSuggestedDefaultDataLength.self)
    visitor.visit(LEWriteSuggestedDefaultDataLength.self)
    visitor.visit(LEReadLocalP256PublicKey.self)
    visitor.visit(LEGenerateDHKey.self)
    visitor.visit(LEAddDeviceToResolvingList.self)
    visitor.visit(LERemoveDeviceFromResolvingList.self)
    visitor.visit(LEClearResolvingList.self)
    visitor.visit(LEReadResolvingListSize.self)
    visitor.visit(LEReadPeerResolvableAddress.self)
    visitor.visit(LEReadLocalResolvableAddress.self)
    visitor.visit(LESetAddressResolutionEnable.self)
    visitor.visit(LESetResolvablePrivateAddressTimeout.self)
    visitor.visit(LEReadMaximumDataLength.self)
    visitor.visit(LEReadPHY.self)
    visitor.visit(LESetDefaultPHY.self)
    visitor.visit(LESetPHY.self)
    visitor.visit(LEReceiverTestV2.self)
    visitor.visit(LETransmitterTestV2.self)
    visitor.visit(LESetAdvertisingSetRandomAddress.self)
    visitor.visit(LESetExtendedAdvertisingParameters.self)
    visitor.visit(LESetExtendedAdvertisingData.self)
    visitor.visit(LESetExtendedScanResponseData.self)
    visitor.visit(LESetExtendedAdvertisingEnable.self)
    visitor.visit(LEReadMaximumAdvertisingDataLength.self)
    visitor.visit(LEReadNumberOfSupportedAdvertisingSets.self)
    visitor.visit(LERemoveAdvertisingSet.self)
    visitor.visit(LEClearAdvertisingSets.self)
    visitor.visit(LESetPeriodicAdvertisingParameters.self)
    visitor.visit(LESetPeriodicAdvertisingData.self)
    visitor.visit(LESetPeriodicAdvertisingEnable.self)
    visitor.visit(LESetExtendedScanParameters.self)
    visitor.visit(LESetExtendedScanEnable.self)
    visitor.visit(LEExtendedCreateConnection.self)
    visitor.visit(LEPeriodicAdvertisingCreateSync.self)
    visitor.visit(LEPeriodicAdvertisingCreateSyncCancel.self)
    visitor.visit(LEPeriodicAdvertisingTerminateSync.self)
    visitor.visit(LEAddDeviceToPeriodicAdvertiserList.self)
    visitor.visit(LERemoveDeviceFromPeriodicAdvertiserList.self)
    visitor.visit(LEClearPeriodicAdvertiserList.self)
    visitor.visit(LEReadPeriodicAdvertiserListSize.self)
    visitor.visit(LEReadTransmitPower.self)
    visitor.visit(LEReadRFPathCompensation.self)
    visitor.visit(LEWriteRFPathCompensation.self)
    visitor.visit(LESetPrivacyMode.self)
    visitor.visit(LEReceiverTestV3.self)
    visitor.visit(LETransmitterTestV3.self)
    visitor.visit(LESetConnectionlessCTETransmitParameters.self)
    visitor.visit(LESetConnectionlessCTETransmitEnable.self)
    visitor.visit(LESetConnectionlessIQSamplingEnable.self)
    visitor.visit(LESetConnectionCTEReceiveParameters.self)
    visitor.visit(LESetConnectionCTETransmitParameters.self)
    visitor.visit(LEConnectionCTERequestEnable.self)
    visitor.visit(LEConnectionCTEResponseEnable.self)
    visitor.visit(LEReadAntennaInformation.self)
    visitor.visit(LESetPeriodicAdvertisingReceiveEnable.self)
    visitor.visit(LEPeriodicAdvertisingSyncTransfer.self)
    visitor.visit(LEPeriodicAdvertisingSetInfoTransfer.self)
    visitor.visit(LESetPeriodicAdvertisingSyncTransferParameters.self)
    visitor.visit(LESetDefaultPeriodicAdvertisingSyncTransferParameters.self)
    visitor.visit(LEGenerateDHKeyV2.self)
    visitor.visit(LEModifySleepClockAccuracy.self)
    visitor.visit(LEReadBufferSizeV2.self)
    visitor.visit(LEReadISOTXSync.self)
    visitor.visit(LESetCIGParameters.self)
    visitor.visit(LESetCIGParametersTest.self)
    visitor.visit(LECreateCIS.self)
    visitor.visit(LERemoveCIG.self)
    visitor.visit(LEAcceptCISRequest.self)
    visitor.visit(LERejectCISRequest.self)
    visitor.visit(LECreateBIG.self)
    visitor.visit(LECreateBIGTest.self)
    visitor.visit(LETerminateBIG.self)
    visitor.visit(LEBIGCreateSync.self)
    visitor.visit(LEBIGTerminateSync.self)
    visitor.visit(LERequestPeerSCA.self)
    visitor.visit(LESetupISODataPath.self)
    visitor.visit(LERemoveISODataPath.self)
    visitor.visit(LEISOTransmitTest.self)
    visitor.visit(LEISOReceiveTest.self)
    visitor.visit(LEISOReadTestCounters.self)
    visitor.visit(LEISOTestEnd.self)
    visitor.visit(LESetHostFeature.self)
    visitor.visit(LEReadISOLinkQuality.self)
    visitor.visit(LEEnhancedReadTransmitPowerLevel.self)
    visitor.visit(LEReadRemoteTransmitPowerLevel.self)
    visitor.visit(LESetPathLossReportingParameters.self)
    visitor.visit(LESetPathLossReportingEnable.self)
    visitor.visit(LESetTransmitPowerReportingEnable.self)
    visitor.visit(LETransmitterTestV4.self)
    visitor.visit(LESetDataRelatedAddressChanges.self)
    visitor.visit(LESetDefaultSubrate.self)
    visitor.visit(LESubrateRequest.self)
    visitor.visit(LESetExtendedAdvertisingParametersV2.self)
    visitor.visit(LESetPeriodicAdvertisingSubeventData.self)
    visitor.visit(LESetPeriodicAdvertisingResponseData.self)
    visitor.visit(LESetPeriodicSyncSubevent.self)
    visitor.visit(LEExtendedCreateConnectionV2.self)
    visitor.visit(LESetPeriodicAdvertisingParametersV2.self)
    visitor.visit(LEReadAllLocalSupportedFeatures.self)
    visitor.visit(LEReadAllRemoteFeatures.self)
    visitor.visit(LESetHostFeatureV2.self)
    visitor.visit(LEConnectionRateRequest.self)
    visitor.visit(LESetDefaultRateParameters.self)
    visitor.visit(LEReadMinimumSupportedConnectionInterval.self)
  }
}

extension HCIEvent {
  /// An event of each declared case, in the order of the codes (Vol 4, Part E, 7.7).
  fileprivate static let all: [Self] = [
    .disconnectionComplete(.init()), .encryptionChange(.init()), .readRemoteVersionInformationComplete(.init()),
    .commandComplete(.init()), .commandStatus(.init()), .hardwareError(.init()), .numberOfCompletedPackets(.init()),
    .dataBufferOverflow(.init()), .encryptionKeyRefreshComplete(.init()), .authenticatedPayloadTimeoutExpired(.init()),
    .encryptionChangeV2(.init()),
  ]

  /// An LE meta event of each declared case, in the order of the subevent codes (Vol 4, Part E, 7.7.65).
  fileprivate static let allLE: [Self] = [
    .leConnectionComplete(.init()), .leAdvertisingReport(.init()), .leConnectionUpdateComplete(.init()),
    .leReadRemoteFeaturesComplete(.init()), .leLongTermKeyRequest(.init()),
    .leRemoteConnectionParameterRequest(.init()), .leDataLengthChange(.init()),
    .leReadLocalP256PublicKeyComplete(.init()), .leGenerateDHKeyComplete(.init()),
    .leEnhancedConnectionComplete(.init()), .leDirectedAdvertisingReport(.init()), .lePHYUpdateComplete(.init()),
    .leExtendedAdvertisingReport(.init()), .lePeriodicAdvertisingSyncEstablished(.init()),
    .lePeriodicAdvertisingReport(.init()), .lePeriodicAdvertisingSyncLost(.init()), .leScanTimeout(.init()),
    .leAdvertisingSetTerminated(.init()), .leScanRequestReceived(.init()), .leChannelSelectionAlgorithm(.init()),
    .leConnectionlessIQReport(.init()), .leConnectionIQReport(.init()), .leCTERequestFailed(.init()),
    .lePeriodicAdvertisingSyncTransferReceived(.init()), .leCISEstablished(.init()), .leCISRequest(.init()),
    .leCreateBIGComplete(.init()), .leTerminateBIGComplete(.init()), .leBIGSyncEstablished(.init()),
    .leBIGSyncLost(.init()), .leRequestPeerSCAComplete(.init()), .lePathLossThreshold(.init()),
    .leTransmitPowerReporting(.init()), .leBIGInfoAdvertisingReport(.init()), .leSubrateChange(.init()),
    .lePeriodicAdvertisingSyncEstablishedV2(.init()), .lePeriodicAdvertisingReportV2(.init()),
    .lePeriodicAdvertisingSyncTransferReceivedV2(.init()), .lePeriodicAdvertisingSubeventDataRequest(.init()),
    .lePeriodicAdvertisingResponseReport(.init()), .leEnhancedConnectionCompleteV2(.init()),
    .leReadAllRemoteFeaturesComplete(.init()), .leConnectionRateChange(.init()),
  ]

  private struct Name: HCIEventVisitor {
    func visit<Event: HCIEventParameters>(_ event: Event) -> StaticString { Event.name }
  }

  /// The name in plain words; nil for an event that is not declared here.
  package var name: StaticString? {
    var name = Name()
    return visit(with: &name)
  }
}

// Embedded Swift has no existential types; what they serve is for tools.
#if !hasFeature(Embedded)
  extension HCI {
    private struct CommandTypes: HCICommandTypeVisitor {
      var types: [HCIOpcode: any HCICommand.Type] = [:]

      mutating func visit<Command: HCICommand>(_ type: Command.Type) { types[Command.opcode] = type }
    }

    /// Every command that is declared here, by its opcode.
    public static let commands: [HCIOpcode: any HCICommand.Type] = {
      var commands = CommandTypes()
      visitCommandTypes(with: &commands)
      return commands.types
    }()

    /// Every event that is declared here, LE meta events apart, by its code.
    ///
    /// ``HCIEvent`` has a case for each.
    public static let events: [HCIEventCode: any HCIEventParameters.Type] = Dictionary(
      HCIEvent.all.compactMap(\.parameters).map { (type(of: $0).eventCode, type(of: $0)) },
      uniquingKeysWith: { first, _ in first })

    /// Every LE meta event that is declared here, by its subevent code.
    public static let leEvents: [LESubeventCode: any LEEventParameters.Type] = Dictionary(
      HCIEvent.allLE.compactMap { $0.parameters as? any LEEventParameters }
        .map { (type(of: $0).subeventCode, type(of: $0)) },
      uniquingKeysWith: { first, _ in first })
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
#endif

// A firmware prints numbers instead of names. `-D NAMES` gives them to other programs in Embedded Swift.
#if !hasFeature(Embedded) || NAMES
  extension HCIOpcode {
    private struct Names: HCICommandTypeVisitor {
      var names: [HCIOpcode: StaticString] = [:]

      mutating func visit<Command: HCICommand>(_ type: Command.Type) { names[Command.opcode] = Command.name }
    }

    public static let names: [Self: StaticString] = {
      var commands = Names()
      HCI.visitCommandTypes(with: &commands)
      return commands.names
    }()
  }

  extension HCIEventCode {
    public static let names: [Self: StaticString] = HCIEvent.all
      .reduce(into: [.leMeta: "LE Meta", .vendorSpecific: "Vendor Specific"]) { $0[$1.eventCode] = $1.name }
  }

  extension LESubeventCode {
    // The subevent code is the first parameter.
    public static let names: [Self: StaticString] = HCIEvent.allLE
      .reduce(into: [:]) { $0[Self(rawValue: $1.packet.parameters.first ?? 0)] = $1.name }
  }
#endif
