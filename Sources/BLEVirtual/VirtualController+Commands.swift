internal import BLECrypto
internal import BLEHCI
internal import BLEWire

/// From octets to obeyed commands.
extension VirtualController {
  /// Takes an H4 packet of the host that is no ACL data.
  mutating func receive(_ octets: Bytes, _ air: inout Air) {
    guard let packet = try? HCIPacket(decoding: octets), case .command(let command) = packet else {
      complain(.malformedPacket(firstOctet: octets.first))
      return
    }
    var answers = 1
    for fault in configuration.faults {
      switch fault {
      case .neverAnswers(let commands) where commands.contains(command.opcode): return
      case .answersGarbage(let commands) where commands.contains(command.opcode):
        let count = Int.random(in: 1...16, using: &random)
        var garbage = random.octets(count)
        garbage[0] |= 0x80
        air.output.append(to: id) { $0 += garbage }
        return
      case .answers(let commands, let octets) where commands.contains(command.opcode):
        air.output.append(to: id) { $0 += octets }
        return
      case .refuses(let commands, let status) where commands.contains(command.opcode):
        refuse(command.opcode, status, &air)
        return
      case .answersTwice(let commands) where commands.contains(command.opcode): answers = 2
      default: break
      }
    }
    let first = air.output.count
    obey(command, &air)
    if answers == 2, first < air.output.count {
      let answer = air.output[first]
      air.output.append(to: id) { $0 += answer }
    }
  }

  /// Refuses what the controller lacks, and looks up the rest.
  private mutating func obey(_ command: HCICommandPacket, _ air: inout Air) {
    guard isSupported(command.opcode) else { return refuse(command.opcode, .unknownCommand, &air) }
    switch command.opcode.rawValue {
    case 0x2005...0x200E, 0x2035...0x2043, 0x207F: obeyAirCommand(command, &air)
    case 0x200F...0x2012, 0x2027...0x202E, 0x204E: obeyListCommand(command, &air)
    case 0x2017...0x201B, 0x2025, 0x2026: obeySecurityCommand(command, &air)
    case 0x0401...0x0BFF, 0x2013...0x2016, 0x2020...0x2022, 0x2030...0x2032, 0x206D: obeyLinkCommand(command, &air)
    default: obeyLocalCommand(command, &air)
    }
  }

  /// Reads the parameters, lets `obey` make the answer, sends it, and lets `then` do what follows a success.
  ///
  /// Too few octets, too many, and values that the declaration refuses give Invalid HCI Command Parameters.
  mutating func answer<Command: HCICommand>(
    _ packet: HCICommandPacket, as type: Command.Type, _ air: inout Air,
    _ obey: (inout Self, Command, inout Air) -> Command.Response,
    then: ((inout Self, Command, inout Air) -> Void)? = nil
  ) {
    guard let command = try? Command(decoding: packet.parameters) else {
      return refuse(packet.opcode, .invalidCommandParameters, &air)
    }
    let response = obey(&self, command, &air)
    if Command.isAnsweredByStatus {
      sendStatus(packet.opcode, response.status, &air)
    } else {
      complete(packet.opcode, response, &air)
    }
    if response.status.isSuccess { then?(&self, command, &air) }
  }

  /// Sends a Command Complete event.
  mutating func complete(_ opcode: HCIOpcode, _ response: some ReturnParameters, _ air: inout Air) {
    let credits = configuration.commandCredits
    send(
      HCI.CommandComplete {
        $0.numHCICommandPackets = credits
        $0.opcode = opcode
        $0.returnParameters = response.encoded[...]
      }, &air)
  }

  private mutating func sendStatus(_ opcode: HCIOpcode, _ status: HCIErrorCode, _ air: inout Air) {
    let credits = configuration.commandCredits
    send(
      HCI.CommandStatus {
        $0.status = status
        $0.numHCICommandPackets = credits
        $0.opcode = opcode
      }, &air)
  }

  /// Answers without obeying, by the event that the command is due.
  mutating func refuse(_ opcode: HCIOpcode, _ status: HCIErrorCode, _ air: inout Air) {
    if Self.answeredByStatus.contains(opcode) {
      sendStatus(opcode, status, &air)
    } else {
      complete(opcode, HCI.StatusResponse { $0.status = status }, &air)
    }
  }

  /// The commands that a Command Status event answers; an unknown command gets Command Complete.
  private static let answeredByStatus: Set<HCIOpcode> = [
    .disconnect, .readRemoteVersionInformation, .leCreateConnection, .leExtendedCreateConnection, .leConnectionUpdate,
    .leReadRemoteFeatures, .leEnableEncryption, .leReadLocalP256PublicKey, .leGenerateDHKey, .leSetPHY,
    .leRequestPeerSCA,
  ]

  /// Whether the controller has the command: the same question that Read Local Supported Commands answers.
  func isSupported(_ opcode: HCIOpcode) -> Bool {
    guard let needed = Self.commands[opcode] else { return false }
    return configuration.features.isSuperset(of: needed)
  }

  /// Every command it can have, with the features that it needs for it.
  static let commands: [HCIOpcode: HCI.LEFeatures] = {
    let plain: [HCIOpcode] = [
      .disconnect, .readRemoteVersionInformation,
      .setControllerToHostFlowControl, .hostBufferSize, .hostNumberOfCompletedPackets,
      .setEventMask, .reset, .readTransmitPowerLevel, .setEventMaskPage2, .readLEHostSupport, .writeLEHostSupport,
      .readLocalVersionInformation, .readLocalSupportedCommands, .readLocalSupportedFeatures, .readBufferSize,
      .readBDADDR, .readRSSI,
      .leSetEventMask, .leReadBufferSize, .leReadLocalSupportedFeatures, .leSetRandomAddress,
      .leSetAdvertisingParameters, .leReadAdvertisingPhysicalChannelTxPower, .leSetAdvertisingData,
      .leSetScanResponseData, .leSetAdvertisingEnable, .leSetScanParameters, .leSetScanEnable, .leCreateConnection,
      .leCreateConnectionCancel, .leReadFilterAcceptListSize, .leClearFilterAcceptList,
      .leAddDeviceToFilterAcceptList, .leRemoveDeviceFromFilterAcceptList, .leConnectionUpdate,
      .leSetHostChannelClassification, .leReadChannelMap, .leReadRemoteFeatures, .leEncrypt, .leRand,
      .leReadSupportedStates, .leReadLocalP256PublicKey, .leGenerateDHKey, .leReadBufferSizeV2, .leSetHostFeature,
      .leReadTransmitPower, .leReadRFPathCompensation, .leWriteRFPathCompensation, .leRequestPeerSCA,
    ]
    var commands = Dictionary(uniqueKeysWithValues: plain.map { ($0, HCI.LEFeatures()) })
    func add(_ opcodes: [HCIOpcode], for feature: HCI.LEFeatures) {
      for opcode in opcodes { commands[opcode] = feature }
    }
    add([.leEnableEncryption, .leLongTermKeyRequestReply, .leLongTermKeyRequestNegativeReply], for: .encryption)
    add([.readAuthenticatedPayloadTimeout, .writeAuthenticatedPayloadTimeout], for: .ping)
    add(
      [.leRemoteConnectionParameterRequestReply, .leRemoteConnectionParameterRequestNegativeReply],
      for: .connectionParametersRequest)
    add(
      [
        .leSetDataLength, .leReadSuggestedDefaultDataLength, .leWriteSuggestedDefaultDataLength,
        .leReadMaximumDataLength,
      ], for: .dataPacketLengthExtension)
    add(
      [
        .leAddDeviceToResolvingList, .leRemoveDeviceFromResolvingList, .leClearResolvingList, .leReadResolvingListSize,
        .leReadPeerResolvableAddress, .leReadLocalResolvableAddress, .leSetAddressResolutionEnable,
        .leSetResolvablePrivateAddressTimeout, .leSetPrivacyMode,
      ], for: .llPrivacy)
    add([.leReadPHY, .leSetDefaultPHY, .leSetPHY], for: .le2MPHY)
    add(
      [
        .leSetAdvertisingSetRandomAddress, .leSetExtendedAdvertisingParameters, .leSetExtendedAdvertisingData,
        .leSetExtendedScanResponseData, .leSetExtendedAdvertisingEnable, .leReadMaximumAdvertisingDataLength,
        .leReadNumberOfSupportedAdvertisingSets, .leRemoveAdvertisingSet, .leClearAdvertisingSets,
        .leSetExtendedScanParameters, .leSetExtendedScanEnable, .leExtendedCreateConnection,
      ], for: .extendedAdvertising)
    return commands
  }()
}
