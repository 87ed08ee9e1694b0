internal import BLEHCI
internal import BLEWire

/// The commands of advertising, scanning and initiating (Vol 4, Part E, 7.8.4 to 7.8.13 and 7.8.52 to 7.8.66).
extension VirtualController {
  mutating func performRadioCommand(_ packet: HCICommandPacket, _ context: inout RadioContext) {
    switch packet.opcode {
    case .leSetRandomAddress:
      answerStatus(packet, of: HCI.LESetRandomAddress.self, &context) { me, command, _ in
        let isInUse = me.isLegacyAdvertising || me.scanner.isOn || me.initiator.request != nil
        return me.addresses.setRandom(command.randomAddress, isInUse: isInUse)
      }
    case .leReadAdvertisingPhysicalChannelTxPower:
      answer(packet, as: HCI.LEReadAdvertisingPhysicalChannelTxPower.self, &context) { me, _, _ in
        .init { $0.txPowerLevel = me.power.level }
      }
    case .leSetAdvertisingParameters, .leSetAdvertisingData, .leSetScanResponseData, .leSetAdvertisingEnable,
      .leSetScanParameters, .leSetScanEnable, .leCreateConnection:
      performLegacyCommand(packet, &context)
    case .leSetExtendedAdvertisingParameters, .leSetExtendedAdvertisingData, .leSetExtendedScanResponseData,
      .leSetExtendedAdvertisingEnable, .leRemoveAdvertisingSet, .leClearAdvertisingSets,
      .leSetAdvertisingSetRandomAddress, .leSetExtendedScanParameters, .leSetExtendedScanEnable,
      .leExtendedCreateConnection:
      performExtendedCommand(packet, &context)
    case .leCreateConnectionCancel: cancelConnection(packet, &context)
    default: readAdvertisingLimits(packet, &context)
    }
  }

  private mutating func performLegacyCommand(_ packet: HCICommandPacket, _ context: inout RadioContext) {
    switch packet.opcode {
    case .leSetAdvertisingParameters:
      answer(packet, as: HCI.LESetAdvertisingParameters.self, &context) { me, command, _ in
        .init { $0.status = me.setAdvertisingParameters(command) }
      }
    case .leSetAdvertisingData:
      answer(packet, as: HCI.LESetAdvertisingData.self, &context) { me, command, _ in
        me.withLegacySet { $0.data.replace(command.advertisingData) }
        return .init()
      }
    case .leSetScanResponseData:
      answer(packet, as: HCI.LESetScanResponseData.self, &context) { me, command, _ in
        me.withLegacySet { $0.scanResponse.replace(command.scanResponseData) }
        return .init()
      }
    case .leSetAdvertisingEnable:
      answer(packet, as: HCI.LESetAdvertisingEnable.self, &context) { me, command, context in
        .init { $0.status = me.setAdvertisingEnable(command.advertisingEnable, &context) }
      }
    case .leSetScanParameters, .leSetScanEnable: performLegacyScanCommand(packet, &context)
    default: createConnection(packet, &context)
    }
  }

  var isLegacyAdvertising: Bool { advertisingSets.contains { $0.handle == nil && $0.running != nil } }

  private mutating func withLegacySet<Value>(_ work: (inout AdvertisingSet) -> Value) -> Value {
    if let index = advertisingSets.firstIndex(where: { $0.handle == nil }) { return work(&advertisingSets[index]) }
    var set = AdvertisingSet(handle: nil)
    defer { advertisingSets.append(set) }
    return work(&set)
  }

  /// Performs LE Set Advertising Parameters (Vol 4, Part E, 7.8.5).
  private mutating func setAdvertisingParameters(_ command: HCI.LESetAdvertisingParameters) -> HCIErrorCode {
    guard !isLegacyAdvertising else { return .commandDisallowed }
    let properties: HCI.AdvertisingEventProperties
    switch command.advertisingType {
    case .connectableUndirected: properties = .legacyConnectableUndirected
    case .directedHighDutyCycle: properties = [.legacy, .connectable, .directed, .highDutyCycle]
    case .scannableUndirected: properties = .legacyScannableUndirected
    case .nonConnectable: properties = .legacyNonConnectable
    case .directedLowDutyCycle: properties = [.legacy, .connectable, .directed]
    default: return .invalidCommandParameters
    }
    let intervals = LinkLayerLimits.advertisingInterval
    if command.advertisingType != .directedHighDutyCycle {
      guard intervals.contains(command.advertisingIntervalMin), intervals.contains(command.advertisingIntervalMax),
        command.advertisingIntervalMin <= command.advertisingIntervalMax
      else { return .invalidCommandParameters }
    }
    guard command.ownAddressType.rawValue <= 3, command.advertisingFilterPolicy.rawValue <= 3,
      (1...7).contains(command.advertisingChannelMap.rawValue), command.peerAddress.kind.rawValue <= 1
    else { return .invalidCommandParameters }
    withLegacySet {
      $0.parameters.advertisingEventProperties = properties
      $0.parameters.primaryAdvertisingIntervalMin = UInt32(command.advertisingIntervalMin)
      $0.parameters.primaryAdvertisingIntervalMax = UInt32(command.advertisingIntervalMax)
      $0.parameters.ownAddressType = command.ownAddressType
      $0.parameters.peerAddress = command.peerAddress
      $0.parameters.primaryAdvertisingChannelMap = command.advertisingChannelMap
      $0.parameters.advertisingFilterPolicy = command.advertisingFilterPolicy
    }
    return .success
  }

  /// Performs LE Set Advertising Enable (Vol 4, Part E, 7.8.9). Enabling again restarts advertising, disabling again
  /// has no effect.
  private mutating func setAdvertisingEnable(_ enable: Bool, _ context: inout RadioContext) -> HCIErrorCode {
    guard enable else {
      withLegacySet { $0.running = nil }
      return .success
    }
    let set = withLegacySet { $0 }
    let peer = set.parameters.peerAddress
    let request = OwnAddressRequest(type: set.parameters.ownAddressType, random: addresses.random, peer: peer)
    guard let address = ownAddress(for: request, context) else {
      return .invalidCommandParameters
    }
    if set.isConnectable, links.count >= maximumLinks { return .connectionLimitExceeded }
    let firstEvent = context.now + advertisingDelay()
    let limit = set.properties.contains(.highDutyCycle) ? context.now + .milliseconds(1280) : nil
    withLegacySet { $0.running = .init(address: address, nextEvent: firstEvent, endsAt: limit) }
    return .success
  }

  /// advDelay: 0 to 10 ms (Vol 6, Part B, 4.4.2.2.1).
  mutating func advertisingDelay() -> Duration { .microseconds(Int64.random(in: 0...10_000, using: &random)) }
}

extension AdvertisingSet.Payload {
  mutating func replace(_ octets: Bytes) {
    self.octets = octets
    isPartial = false
    identifier &+= 1
  }
}
