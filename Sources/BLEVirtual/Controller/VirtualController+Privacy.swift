internal import BLECrypto
internal import BLEHCI
internal import BLEWire

/// An entry of the resolving list, with the latest private addresses of the peer and of the controller (Vol 6, Part B,
/// 4.7).
struct ResolvingListEntry: Sendable {
  let peerIdentity: DeviceAddress
  let peerIRK: UInt128
  let localIRK: UInt128
  var privacyMode = HCI.PrivacyMode.network
  var peerResolvableAddress: BD_ADDR?
  var localResolvableAddress: BD_ADDR?
  var localAddressExpiresAt = Instant.start
}

/// The commands of the filter accept list and of the resolving list (Vol 4, Part E, 7.8.14 to 7.8.17 and 7.8.38 to
/// 7.8.45).
extension VirtualController {
  mutating func performListCommand(_ packet: HCICommandPacket, _ context: inout RadioContext) {
    switch packet.opcode {
    case .leReadFilterAcceptListSize:
      answer(packet, as: HCI.LEReadFilterAcceptListSize.self, &context) { me, _, _ in
        .init { $0.filterAcceptListSize = me.configuration.filterAcceptListSize }
      }
    case .leClearFilterAcceptList:
      answer(packet, as: HCI.LEClearFilterAcceptList.self, &context) { me, _, _ in
        guard !me.isUsingFilterAcceptList else { return .init { $0.status = .commandDisallowed } }
        me.filterAcceptList = []
        return .init()
      }
    case .leAddDeviceToFilterAcceptList:
      answer(packet, as: HCI.LEAddDeviceToFilterAcceptList.self, &context) { me, command, _ in
        .init { $0.status = me.addToFilterAcceptList(command.address) }
      }
    case .leRemoveDeviceFromFilterAcceptList:
      answer(packet, as: HCI.LERemoveDeviceFromFilterAcceptList.self, &context) { me, command, _ in
        guard !me.isUsingFilterAcceptList else { return .init { $0.status = .commandDisallowed } }
        me.filterAcceptList.removeAll { $0 == command.address }
        return .init()
      }
    case .leReadResolvingListSize:
      answer(packet, as: HCI.LEReadResolvingListSize.self, &context) { me, _, _ in
        .init { $0.resolvingListSize = me.configuration.resolvingListSize }
      }
    case .leSetResolvablePrivateAddressTimeout:
      answer(packet, as: HCI.LESetResolvablePrivateAddressTimeout.self, &context) { me, command, _ in
        guard (1...0x0E10).contains(command.rpaTimeout) else {
          return .init { $0.status = .invalidCommandParameters }
        }
        me.resolvablePrivateAddressTimeout = command.rpaTimeout
        return .init()
      }
    case .leReadPeerResolvableAddress:
      answer(packet, as: HCI.LEReadPeerResolvableAddress.self, &context) { me, command, _ in
        let address = me.resolvingIndex(command.peerIdentityAddress).flatMap {
          me.resolvingList[$0].peerResolvableAddress
        }
        return .init {
          $0.status = address == nil ? .unknownConnectionIdentifier : .success
          $0.peerResolvableAddress = address ?? BD_ADDR()
        }
      }
    case .leReadLocalResolvableAddress:
      answer(packet, as: HCI.LEReadLocalResolvableAddress.self, &context) { me, command, _ in
        let address = me.resolvingIndex(command.peerIdentityAddress).flatMap {
          me.resolvingList[$0].localResolvableAddress
        }
        return .init {
          $0.status = address == nil ? .unknownConnectionIdentifier : .success
          $0.localResolvableAddress = address ?? BD_ADDR()
        }
      }
    default: performResolvingListCommand(packet, &context)
    }
  }

  /// Performs the commands that are disallowed while the controller advertises, scans or initiates with address
  /// resolution (Vol 4, Part E, 7.8.38 to 7.8.44 and 7.8.77).
  private mutating func performResolvingListCommand(_ packet: HCICommandPacket, _ context: inout RadioContext) {
    let isBusy = scanner.isOn || initiator != nil || advertisingSets.contains { $0.running != nil }
    switch packet.opcode {
    case .leAddDeviceToResolvingList:
      answer(packet, as: HCI.LEAddDeviceToResolvingList.self, &context) { me, command, _ in
        guard !(me.isAddressResolutionEnabled && isBusy) else { return .init { $0.status = .commandDisallowed } }
        return .init { $0.status = me.addToResolvingList(command) }
      }
    case .leRemoveDeviceFromResolvingList:
      answer(packet, as: HCI.LERemoveDeviceFromResolvingList.self, &context) { me, command, _ in
        guard !(me.isAddressResolutionEnabled && isBusy) else { return .init { $0.status = .commandDisallowed } }
        guard let index = me.resolvingIndex(command.peerIdentityAddress) else {
          return .init { $0.status = .unknownConnectionIdentifier }
        }
        me.resolvingList.remove(at: index)
        return .init()
      }
    case .leClearResolvingList:
      answer(packet, as: HCI.LEClearResolvingList.self, &context) { me, _, _ in
        guard !(me.isAddressResolutionEnabled && isBusy) else { return .init { $0.status = .commandDisallowed } }
        me.resolvingList = []
        return .init()
      }
    case .leSetPrivacyMode:
      answer(packet, as: HCI.LESetPrivacyMode.self, &context) { me, command, _ in
        guard !isBusy else { return .init { $0.status = .commandDisallowed } }
        guard command.privacyMode.rawValue <= 1 else { return .init { $0.status = .invalidCommandParameters } }
        guard let index = me.resolvingIndex(command.peerIdentityAddress) else {
          return .init { $0.status = .unknownConnectionIdentifier }
        }
        me.resolvingList[index].privacyMode = command.privacyMode
        return .init()
      }
    default:
      answer(packet, as: HCI.LESetAddressResolutionEnable.self, &context) { me, command, _ in
        guard !isBusy else { return .init { $0.status = .commandDisallowed } }
        me.isAddressResolutionEnabled = command.addressResolutionEnable
        return .init()
      }
    }
  }

  private var isUsingFilterAcceptList: Bool {
    let advertises = advertisingSets.contains {
      $0.running != nil && $0.parameters.advertisingFilterPolicy != .all
    }
    let scans = scanner.isOn && scanner.filterPolicy.rawValue & 1 == 1
    return advertises || scans || initiator?.filterPolicy == .acceptList
  }

  private mutating func addToFilterAcceptList(_ address: DeviceAddress) -> HCIErrorCode {
    guard !isUsingFilterAcceptList else { return .commandDisallowed }
    guard address.kind.rawValue <= 1 || address.kind == .anonymous else { return .invalidCommandParameters }
    if filterAcceptList.contains(address) { return .success }
    guard filterAcceptList.count < Int(configuration.filterAcceptListSize) else { return .memoryCapacityExceeded }
    filterAcceptList.append(address)
    return .success
  }

  private mutating func addToResolvingList(_ command: HCI.LEAddDeviceToResolvingList) -> HCIErrorCode {
    guard command.peerIdentityAddress.kind.rawValue <= 1 else { return .invalidCommandParameters }
    guard resolvingIndex(command.peerIdentityAddress) == nil,
      command.peerIRK == 0 || !resolvingList.contains(where: { $0.peerIRK == command.peerIRK })
    else { return .invalidCommandParameters }
    guard resolvingList.count < Int(configuration.resolvingListSize) else { return .memoryCapacityExceeded }
    resolvingList.append(
      ResolvingListEntry(
        peerIdentity: command.peerIdentityAddress, peerIRK: command.peerIRK, localIRK: command.localIRK))
    return .success
  }

  private func resolvingIndex(_ identity: DeviceAddress) -> Int? {
    resolvingList.firstIndex { $0.peerIdentity == identity.identity }
  }
}
