internal import BLEHCI
internal import BLEWire

/// The commands of extended advertising (Vol 4, Part E, 7.8.52 to 7.8.60).
extension VirtualController {
  mutating func performExtendedCommand(_ packet: HCICommandPacket, _ context: inout RadioContext) {
    switch packet.opcode {
    case .leSetAdvertisingSetRandomAddress:
      answer(packet, as: HCI.LESetAdvertisingSetRandomAddress.self, &context) { me, command, _ in
        .init { $0.status = me.setRandomAddress(command) }
      }
    case .leSetExtendedAdvertisingParameters:
      answer(packet, as: HCI.LESetExtendedAdvertisingParameters.self, &context) { me, command, _ in
        let status = me.setParameters(command)
        return .init {
          $0.status = status
          $0.selectedTXPower = me.power.selected(for: command.advertisingTXPower)
        }
      }
    case .leSetExtendedAdvertisingData:
      answer(packet, as: HCI.LESetExtendedAdvertisingData.self, &context) { me, command, _ in
        .init {
          $0.status = me.setData(
            \.data, of: command.advertisingHandle, command.operation, command.fragmentPreference,
            command.advertisingData)
        }
      }
    case .leSetExtendedScanResponseData:
      answer(packet, as: HCI.LESetExtendedScanResponseData.self, &context) { me, command, _ in
        .init {
          $0.status = me.setData(
            \.scanResponse, of: command.advertisingHandle, command.operation, command.fragmentPreference,
            command.scanResponseData)
        }
      }
    case .leSetExtendedAdvertisingEnable:
      answer(packet, as: HCI.LESetExtendedAdvertisingEnable.self, &context) { me, command, context in
        .init { $0.status = me.setEnable(command, &context) }
      }
    case .leRemoveAdvertisingSet:
      answer(packet, as: HCI.LERemoveAdvertisingSet.self, &context) { me, command, _ in
        guard let index = me.setIndex(command.advertisingHandle) else {
          return .init { $0.status = .unknownAdvertisingIdentifier }
        }
        guard me.advertisingSets[index].running == nil else { return .init { $0.status = .commandDisallowed } }
        me.advertisingSets.remove(at: index)
        return .init()
      }
    case .leClearAdvertisingSets:
      answer(packet, as: HCI.LEClearAdvertisingSets.self, &context) { me, _, _ in
        guard me.advertisingSets.allSatisfy({ $0.running == nil }) else {
          return .init { $0.status = .commandDisallowed }
        }
        me.advertisingSets = []
        return .init()
      }
    case .leSetExtendedScanParameters, .leSetExtendedScanEnable: performExtendedScanCommand(packet, &context)
    default: createConnection(packet, &context)
    }
  }

  mutating func readAdvertisingLimits(_ packet: HCICommandPacket, _ context: inout RadioContext) {
    if packet.opcode == .leReadMaximumAdvertisingDataLength {
      answer(packet, as: HCI.LEReadMaximumAdvertisingDataLength.self, &context) { me, _, _ in
        .init { $0.maxAdvertisingDataLength = UInt16(clamping: me.maximumDataLength) }
      }
    } else {
      answer(packet, as: HCI.LEReadNumberOfSupportedAdvertisingSets.self, &context) { me, _, _ in
        .init { $0.numSupportedAdvertisingSets = me.configuration.numSupportedAdvertisingSets }
      }
    }
  }

  func setIndex(_ handle: UInt8?) -> Int? { advertisingSets.firstIndex { $0.handle == handle } }

  private var maximumDataLength: Int {
    min(
      LinkLayerLimits.extendedAdvertisingData,
      max(LinkLayerLimits.legacyAdvertisingData, Int(configuration.maxAdvertisingDataLength)))
  }

  private mutating func setRandomAddress(_ command: HCI.LESetAdvertisingSetRandomAddress) -> HCIErrorCode {
    guard let index = setIndex(command.advertisingHandle) else { return .unknownAdvertisingIdentifier }
    let set = advertisingSets[index]
    guard set.running == nil || !set.isConnectable else { return .commandDisallowed }
    advertisingSets[index].randomAddress = command.randomAddress
    return .success
  }

  /// Performs LE Set Extended Advertising Parameters (Vol 4, Part E, 7.8.53).
  private mutating func setParameters(_ command: HCI.LESetExtendedAdvertisingParameters) -> HCIErrorCode {
    let properties = command.advertisingEventProperties
    guard command.advertisingHandle <= 0xEF, properties.rawValue <= 0x7F else { return .invalidCommandParameters }
    if properties.contains(.legacy) {
      let allowed: [UInt16] = [0x13, 0x15, 0x1D, 0x12, 0x10]
      guard allowed.contains(properties.rawValue), command.primaryAdvertisingPHY == .le1M else {
        return .invalidCommandParameters
      }
    } else {
      guard !properties.isSuperset(of: [.connectable, .scannable]), !properties.contains(.highDutyCycle),
        !properties.contains(.anonymous) || properties.isDisjoint(with: [.connectable, .scannable])
      else { return .invalidCommandParameters }
    }
    guard command.primaryAdvertisingIntervalMin >= 0x20,
      command.primaryAdvertisingIntervalMin <= command.primaryAdvertisingIntervalMax,
      (1...7).contains(command.primaryAdvertisingChannelMap.rawValue), command.ownAddressType.rawValue <= 3,
      command.peerAddress.kind.rawValue <= 1, command.advertisingFilterPolicy.rawValue <= 3,
      command.advertisingTXPower == 127 || (-127...20).contains(command.advertisingTXPower),
      command.advertisingSID <= 0x0F,
      command.primaryAdvertisingPHY == .le1M || command.primaryAdvertisingPHY == .leCoded,
      properties.contains(.legacy) || (1...3).contains(command.secondaryAdvertisingPHY.rawValue)
    else { return .invalidCommandParameters }
    let isCoded =
      command.primaryAdvertisingPHY == .leCoded
      || (!properties.contains(.legacy) && command.secondaryAdvertisingPHY == .leCoded)
    guard !isCoded || features.contains(.leCodedPHY) else { return .unsupportedFeatureOrParameterValue }

    if let index = setIndex(command.advertisingHandle) {
      guard advertisingSets[index].running == nil else { return .commandDisallowed }
      if let refusal = refusal(of: advertisingSets[index], with: properties) { return refusal }
      advertisingSets[index].parameters = command
    } else {
      guard advertisingSets.count < Int(configuration.numSupportedAdvertisingSets) else {
        return .memoryCapacityExceeded
      }
      var set = AdvertisingSet(handle: command.advertisingHandle)
      set.parameters = command
      advertisingSets.append(set)
    }
    return .success
  }

  /// The error for new properties that the data of the set does not fit; nil if it fits.
  private func refusal(of set: AdvertisingSet, with properties: HCI.AdvertisingEventProperties) -> HCIErrorCode? {
    let limit = properties.contains(.legacy) ? LinkLayerLimits.legacyAdvertisingData : maximumDataLength
    if set.data.octets.count > limit || set.scanResponse.octets.count > limit { return .invalidCommandParameters }
    if !set.data.octets.isEmpty, !Self.carriesData(properties) { return .invalidCommandParameters }
    return nil
  }

  /// Whether advertising data is allowed: not in a directed legacy PDU or a scannable extended advertisement.
  private static func carriesData(_ properties: HCI.AdvertisingEventProperties) -> Bool {
    properties.contains(.legacy) ? !properties.contains(.directed) : !properties.contains(.scannable)
  }

  /// Sets advertising data or scan response data (Vol 4, Part E, 7.8.54 and 7.8.55).
  private mutating func setData(
    _ payload: WritableKeyPath<AdvertisingSet, AdvertisingSet.Payload>, of handle: UInt8,
    _ operation: HCI.DataOperation, _ preference: HCI.FragmentPreference, _ octets: Bytes
  ) -> HCIErrorCode {
    guard let index = setIndex(handle) else { return .unknownAdvertisingIdentifier }
    guard operation.rawValue <= 4, preference.rawValue <= 1 else { return .invalidCommandParameters }
    let set = advertisingSets[index]
    let isData = payload == \AdvertisingSet.data
    if isData {
      guard Self.carriesData(set.properties) || octets.isEmpty else { return .invalidCommandParameters }
    } else {
      guard set.isScannable || octets.isEmpty else { return .invalidCommandParameters }
      if set.running != nil, set.isScannable, !set.isLegacyPDU, octets.isEmpty { return .commandDisallowed }
    }
    if set.isLegacyPDU, operation != .complete || octets.count > LinkLayerLimits.legacyAdvertisingData {
      return .invalidCommandParameters
    }
    if set.running != nil, operation != .complete, operation != .unchanged { return .commandDisallowed }

    switch operation {
    case .unchanged:
      guard set.running != nil, isData, octets.isEmpty, !set.isLegacyPDU, !set.data.octets.isEmpty else {
        return .invalidCommandParameters
      }
      advertisingSets[index].data.identifier &+= 1
    case .complete:
      guard octets.count <= maximumDataLength else { return .memoryCapacityExceeded }
      if set.running != nil, isData, octets.count > set.greatestData { return .packetTooLong }
      advertisingSets[index][keyPath: payload].replace(octets)
    case .first:
      guard !octets.isEmpty else { return .invalidCommandParameters }
      advertisingSets[index][keyPath: payload].replace(octets)
      advertisingSets[index][keyPath: payload].isPartial = true
    default:
      guard !octets.isEmpty, set[keyPath: payload].isPartial else { return .invalidCommandParameters }
      guard set[keyPath: payload].octets.count + octets.count <= maximumDataLength else {
        // The fragments received so far are discarded (Vol 4, Part E, 7.8.54).
        advertisingSets[index][keyPath: payload].replace([])
        return .memoryCapacityExceeded
      }
      advertisingSets[index][keyPath: payload].octets += octets
      advertisingSets[index][keyPath: payload].isPartial = operation == .intermediate
    }
    return .success
  }

  /// Performs LE Set Extended Advertising Enable for all sets of the command, or for none (Vol 4, Part E, 7.8.56).
  private mutating func setEnable(_ command: HCI.LESetExtendedAdvertisingEnable, _ context: inout RadioContext)
    -> HCIErrorCode
  {
    guard !command.sets.isEmpty else {
      guard !command.enable else { return .invalidCommandParameters }
      for index in advertisingSets.indices { advertisingSets[index].running = nil }
      return .success
    }
    guard Set(command.sets.map(\.advertisingHandle)).count == command.sets.count else {
      return .invalidCommandParameters
    }
    var started: [(index: Int, running: AdvertisingSet.Running)] = []
    for wanted in command.sets {
      guard wanted.advertisingHandle <= 0xEF else { return .invalidCommandParameters }
      guard let index = setIndex(wanted.advertisingHandle) else { return .unknownAdvertisingIdentifier }
      guard command.enable else { continue }
      let set = advertisingSets[index]
      guard !set.data.isPartial, !set.scanResponse.isPartial else { return .commandDisallowed }
      if set.isScannable, !set.isLegacyPDU, set.scanResponse.octets.isEmpty { return .commandDisallowed }
      guard set.data.octets.count <= set.greatestData else { return .packetTooLong }
      let isHighDuty = set.properties.contains(.highDutyCycle)
      guard !isHighDuty || (1...128).contains(wanted.duration) else { return .invalidCommandParameters }
      if set.isConnectable, links.count >= maximumLinks { return .connectionLimitExceeded }
      let request = OwnAddressRequest(
        type: set.parameters.ownAddressType, random: set.randomAddress, peer: set.parameters.peerAddress)
      guard let address = ownAddress(for: request, context) else { return .invalidCommandParameters }
      let end = wanted.duration > 0 ? context.now + .milliseconds(10 * Int64(wanted.duration)) : nil
      started.append(
        (
          index,
          .init(
            address: address, nextEvent: context.now + advertisingDelay(), endsAt: end,
            maxEvents: wanted.maxExtendedAdvertisingEvents)
        ))
    }
    for wanted in command.sets {
      if !command.enable, let index = setIndex(wanted.advertisingHandle) { advertisingSets[index].running = nil }
    }
    for (index, running) in started { advertisingSets[index].running = running }
    return .success
  }
}
