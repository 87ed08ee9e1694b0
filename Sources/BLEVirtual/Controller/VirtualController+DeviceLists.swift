internal import BLECrypto
internal import BLEHCI
internal import BLEWire

/// The commands of the filter accept list and of the resolving list (Vol 4, Part E, 7.8.14 to 7.8.17 and 7.8.38 to
/// 7.8.45).
extension VirtualController {
  mutating func performListCommand(_ packet: HCICommandPacket, _ context: inout RadioContext) {
    switch packet.opcode {
    case .leReadFilterAcceptListSize:
      answer(packet, as: HCI.LEReadFilterAcceptListSize.self, &context) { me, _, _ in
        .init { $0.filterAcceptListSize = me.acceptList.capacity }
      }
    case .leClearFilterAcceptList:
      answerStatus(packet, of: HCI.LEClearFilterAcceptList.self, &context) { me, _, _ in
        me.acceptList.clear(isInUse: me.isUsingAcceptList)
      }
    case .leAddDeviceToFilterAcceptList:
      answerStatus(packet, of: HCI.LEAddDeviceToFilterAcceptList.self, &context) { me, command, _ in
        me.acceptList.add(command.address, isInUse: me.isUsingAcceptList)
      }
    case .leRemoveDeviceFromFilterAcceptList:
      answerStatus(packet, of: HCI.LERemoveDeviceFromFilterAcceptList.self, &context) { me, command, _ in
        me.acceptList.remove(command.address, isInUse: me.isUsingAcceptList)
      }
    case .leReadResolvingListSize:
      answer(packet, as: HCI.LEReadResolvingListSize.self, &context) { me, _, _ in
        .init { $0.resolvingListSize = me.resolvingList.capacity }
      }
    case .leSetResolvablePrivateAddressTimeout:
      answerStatus(packet, of: HCI.LESetResolvablePrivateAddressTimeout.self, &context) { me, command, _ in
        me.resolvingList.setTimeout(command.rpaTimeout)
      }
    case .leReadPeerResolvableAddress:
      answer(packet, as: HCI.LEReadPeerResolvableAddress.self, &context) { me, command, _ in
        let address = me.resolvingList.peerAddress(of: command.peerIdentityAddress)
        return .init {
          $0.status = address == nil ? .unknownConnectionIdentifier : .success
          $0.peerResolvableAddress = address ?? BD_ADDR()
        }
      }
    case .leReadLocalResolvableAddress:
      answer(packet, as: HCI.LEReadLocalResolvableAddress.self, &context) { me, command, _ in
        let address = me.resolvingList.localAddress(of: command.peerIdentityAddress)
        return .init {
          $0.status = address == nil ? .unknownConnectionIdentifier : .success
          $0.localResolvableAddress = address ?? BD_ADDR()
        }
      }
    case .leAddDeviceToResolvingList:
      answerStatus(packet, of: HCI.LEAddDeviceToResolvingList.self, &context) { me, command, _ in
        me.resolvingList.add(command, isBusy: me.isBusy)
      }
    case .leRemoveDeviceFromResolvingList:
      answerStatus(packet, of: HCI.LERemoveDeviceFromResolvingList.self, &context) { me, command, _ in
        me.resolvingList.remove(command.peerIdentityAddress, isBusy: me.isBusy)
      }
    case .leClearResolvingList:
      answerStatus(packet, of: HCI.LEClearResolvingList.self, &context) { me, _, _ in
        me.resolvingList.clear(isBusy: me.isBusy)
      }
    case .leSetPrivacyMode:
      answerStatus(packet, of: HCI.LESetPrivacyMode.self, &context) { me, command, _ in
        me.resolvingList.setPrivacyMode(command, isBusy: me.isBusy)
      }
    default:
      answerStatus(packet, of: HCI.LESetAddressResolutionEnable.self, &context) { me, command, _ in
        me.resolvingList.setResolutionEnabled(command.addressResolutionEnable, isBusy: me.isBusy)
      }
    }
  }

  /// Whether the controller advertises, scans or initiates.
  private var isBusy: Bool { scanner.isOn || initiator.request != nil || advertising.isRunning }

  private var isUsingAcceptList: Bool {
    advertising.isUsingAcceptList || scanner.isUsingAcceptList || initiator.isUsingAcceptList
  }

  // MARK: Addresses

  /// Whether `address` is an address of this controller.
  func isOwnAddress(_ address: DeviceAddress, _ context: RadioContext) -> Bool {
    addresses.contains(address) || resolvingList.isLocal(address, context.cryptography)
  }

  /// The controller's address for an activity; nil for a random address that the host has not set.
  mutating func ownAddress(for request: OwnAddressRequest, _ context: RadioContext) -> DeviceAddress? {
    if request.isResolvable, let peer = request.peer,
      let address = resolvingList.localAddress(for: peer, now: context.now, &random, context.cryptography)
    {
      return address
    }
    return addresses.address(for: request)
  }
}
