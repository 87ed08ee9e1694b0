internal import BLEHCI
internal import BLEWire

/// The commands of advertising, scanning and initiating (Vol 4, Part E, 7.8.4 to 7.8.13 and 7.8.52 to 7.8.66).
extension VirtualController {
  mutating func performRadioCommand(_ packet: HCICommandPacket, _ context: inout RadioContext) {
    switch packet.opcode {
    case .leSetRandomAddress:
      answerStatus(packet, of: HCI.LESetRandomAddress.self, &context) { me, command, _ in
        let isInUse = me.advertising.isLegacyRunning || me.scanner.isOn || me.initiator.request != nil
        return me.addresses.setRandom(command.randomAddress, isInUse: isInUse)
      }
    case .leReadAdvertisingPhysicalChannelTxPower:
      answer(packet, as: HCI.LEReadAdvertisingPhysicalChannelTxPower.self, &context) { me, _, _ in
        .init { $0.txPowerLevel = me.power.level }
      }
    case .leSetAdvertisingParameters:
      answerStatus(packet, of: HCI.LESetAdvertisingParameters.self, &context) { me, command, _ in
        me.advertising.setParameters(command)
      }
    case .leSetAdvertisingData:
      answerStatus(packet, of: HCI.LESetAdvertisingData.self, &context) { me, command, _ in
        me.advertising.setData(command)
        return .success
      }
    case .leSetScanResponseData:
      answerStatus(packet, of: HCI.LESetScanResponseData.self, &context) { me, command, _ in
        me.advertising.setScanResponse(command)
        return .success
      }
    case .leSetAdvertisingEnable:
      answerStatus(packet, of: HCI.LESetAdvertisingEnable.self, &context) { me, command, context in
        me.setEnable(command, context)
      }
    case .leSetAdvertisingSetRandomAddress:
      answerStatus(packet, of: HCI.LESetAdvertisingSetRandomAddress.self, &context) { me, command, _ in
        me.advertising.setRandomAddress(command)
      }
    case .leSetExtendedAdvertisingParameters:
      answer(packet, as: HCI.LESetExtendedAdvertisingParameters.self, &context) { me, command, _ in
        let status = me.advertising.setParameters(command, phys: me.features.linkLayer.phys)
        return .init {
          $0.status = status
          $0.selectedTXPower = me.power.selected(for: command.advertisingTXPower)
        }
      }
    case .leSetExtendedAdvertisingData:
      answerStatus(packet, of: HCI.LESetExtendedAdvertisingData.self, &context) { me, command, _ in
        me.advertising.setData(command)
      }
    case .leSetExtendedScanResponseData:
      answerStatus(packet, of: HCI.LESetExtendedScanResponseData.self, &context) { me, command, _ in
        me.advertising.setScanResponse(command)
      }
    case .leSetExtendedAdvertisingEnable:
      answerStatus(packet, of: HCI.LESetExtendedAdvertisingEnable.self, &context) { me, command, context in
        me.setEnable(command, context)
      }
    case .leRemoveAdvertisingSet:
      answerStatus(packet, of: HCI.LERemoveAdvertisingSet.self, &context) { me, command, _ in
        me.advertising.remove(command.advertisingHandle)
      }
    case .leClearAdvertisingSets:
      answerStatus(packet, of: HCI.LEClearAdvertisingSets.self, &context) { me, _, _ in me.advertising.clear() }
    case .leSetScanParameters, .leSetScanEnable: performLegacyScanCommand(packet, &context)
    case .leSetExtendedScanParameters, .leSetExtendedScanEnable: performExtendedScanCommand(packet, &context)
    case .leCreateConnection, .leExtendedCreateConnection: createConnection(packet, &context)
    case .leCreateConnectionCancel: cancelConnection(packet, &context)
    case .leReadMaximumAdvertisingDataLength:
      answer(packet, as: HCI.LEReadMaximumAdvertisingDataLength.self, &context) { me, _, _ in
        .init { $0.maxAdvertisingDataLength = UInt16(clamping: me.advertising.maximumDataLength) }
      }
    default:
      answer(packet, as: HCI.LEReadNumberOfSupportedAdvertisingSets.self, &context) { me, _, _ in
        .init { $0.numSupportedAdvertisingSets = me.advertising.capacity }
      }
    }
  }

  /// Performs LE Set Advertising Enable.
  private mutating func setEnable(_ command: HCI.LESetAdvertisingEnable, _ context: RadioContext) -> HCIErrorCode {
    guard command.advertisingEnable else {
      advertising.disableLegacy()
      return .success
    }
    let address = ownAddress(for: advertising.legacyOwnAddress(random: addresses.random), context)
    return advertising.enableLegacy(
      from: address, mayConnect: links.count < maximumLinks, now: context.now, &random)
  }

  /// Performs LE Set Extended Advertising Enable for all sets of the command, or for none (Vol 4, Part E, 7.8.56).
  private mutating func setEnable(
    _ command: HCI.LESetExtendedAdvertisingEnable, _ context: RadioContext
  ) -> HCIErrorCode {
    if let refusal = advertising.refusal(of: command) { return refusal }
    let mayConnect = links.count < maximumLinks
    var starts: [AdvertisingSets.Start] = []
    for wanted in command.sets {
      if let refusal = advertising.refusal(of: wanted, isEnabled: command.enable, mayConnect: mayConnect) {
        return refusal
      }
      guard command.enable else { continue }
      guard let request = advertising.ownAddress(of: wanted.advertisingHandle, random: addresses.random),
        let address = ownAddress(for: request, context),
        let start = advertising.start(of: wanted, from: address, now: context.now, &random)
      else { return .invalidCommandParameters }
      starts.append(start)
    }
    if command.enable { advertising.enable(starts) } else { advertising.disable(command.sets) }
    return .success
  }

  // MARK: Advertising events

  /// Begins an advertising event of a set, plans the next one, and returns the advertisement.
  mutating func advertise(_ handle: UInt8?, _ context: inout RadioContext) -> Advertisement? {
    let request = advertising.renewedAddress(of: handle, random: addresses.random)
    let address = request.flatMap { ownAddress(for: $0, context) }
    return advertising.beginEvent(
      of: handle, from: address, .init(slot: id.slot, txPower: power.level, rssi: configuration.rssi),
      now: context.now, &random)
  }

  /// The answer of a set to a scan request from `scanner`; nil if the filter policy rejects the request.
  mutating func answerScanRequest(
    for advertisement: Advertisement, from scanner: DeviceAddress, _ context: inout RadioContext
  ) -> Advertisement? {
    let identity = resolvingList.resolve(scanner, context.cryptography) ?? scanner
    return advertising.respond(
      to: identity, isInAcceptList: acceptList.contains(identity.identity), for: advertisement, host, &context)
  }

  /// Whether a set accepts a connection from `initiator`.
  func acceptsConnection(
    for advertisement: Advertisement, from initiator: DeviceAddress, _ context: RadioContext
  ) -> Bool {
    let resolved = resolvingList.resolve(initiator, context.cryptography)
    let identity = (resolved ?? initiator).identity
    return links.count < maximumLinks && (resolved != nil || !resolvingList.rejects(initiator))
      && !links.contains { $0.role == .peripheral && $0.peerAddress.identity == identity }
      && advertising.accepts(
        identity, isInAcceptList: acceptList.contains(identity), on: advertisement.handle)
  }
}
