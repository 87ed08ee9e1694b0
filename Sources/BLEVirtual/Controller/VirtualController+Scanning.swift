internal import BLECrypto
internal import BLEHCI
internal import BLEWire

/// The commands of scanning (Vol 4, Part E, 7.8.10, 7.8.11, 7.8.64 and 7.8.65), and received advertisements.
extension VirtualController {
  mutating func performLegacyScanCommand(_ packet: HCICommandPacket, _ context: inout RadioContext) {
    if packet.opcode == .leSetScanParameters {
      answerStatus(packet, of: HCI.LESetScanParameters.self, &context) { me, command, _ in
        me.scanner.setParameters(command)
      }
    } else {
      answerStatus(packet, of: HCI.LESetScanEnable.self, &context) { me, command, context in
        me.scanner.setEnable(command, hasRandomAddress: me.addresses.random != nil, now: context.now)
      }
    }
  }

  mutating func performExtendedScanCommand(_ packet: HCICommandPacket, _ context: inout RadioContext) {
    if packet.opcode == .leSetExtendedScanParameters {
      answerStatus(packet, of: HCI.LESetExtendedScanParameters.self, &context) { me, command, _ in
        me.scanner.setParameters(command, phys: me.features.linkLayer.phys)
      }
    } else {
      answerStatus(packet, of: HCI.LESetExtendedScanEnable.self, &context) { me, command, context in
        me.scanner.setEnable(command, hasRandomAddress: me.addresses.random != nil, now: context.now)
      }
    }
  }

  /// Receives an advertisement or a scan response.
  ///
  /// - Returns: the own address of a scan request; nil if the scanner sends none.
  mutating func receiveAdvertisement(_ advertisement: Advertisement, _ context: inout RadioContext) -> DeviceAddress? {
    guard scanner.receives(advertisement), !faults.losesReport(&random) else { return nil }
    let sender = identifySender(of: advertisement, context)
    guard scanner.receive(advertisement, from: sender, lengthOfChains: faults.lengthOfChains, host, &context) else {
      return nil
    }
    let request = OwnAddressRequest(
      type: scanner.ownAddressType, random: addresses.random, peer: sender.address?.identity)
    return ownAddress(for: request, context)
  }

  func identifySender(of advertisement: Advertisement, _ context: RadioContext) -> AdvertiserIdentity {
    let isForAnother = advertisement.properties.contains(.directed) && !isOwnAddress(advertisement.target, context)
    guard let address = advertisement.address else {
      return .init(address: nil, isRejected: false, isInAcceptList: false, isForAnother: isForAnother)
    }
    let resolved = resolvingList.resolve(address, context.cryptography)
    return .init(
      address: resolved ?? address, isRejected: resolved == nil && resolvingList.rejects(address),
      isInAcceptList: acceptList.contains((resolved ?? address).identity), isForAnother: isForAnother)
  }

  /// Whether the scanner may receive an advertisement: it listens on the PHY of its primary channels, and the controller has the PHY of
  /// the auxiliary packet.
  func scansFor(_ advertisement: Advertisement) -> Bool {
    scanner.receives(on: advertisement.primaryPHY) && canFollow(advertisement)
  }

  /// Whether the initiator may receive an advertisement, as ``scansFor(_:)``.
  func initiatesFor(_ advertisement: Advertisement) -> Bool {
    initiator.receives(on: advertisement.primaryPHY) && canFollow(advertisement)
  }

  /// Whether the controller can receive the auxiliary packet of an advertisement, if it has one.
  private func canFollow(_ advertisement: Advertisement) -> Bool {
    !advertisement.hasAuxiliaryPacket || supports(advertisement.linkPHY)
  }

  /// Whether the scanner or the initiator receives the current packet of an advertising event on a primary channel, with airtime.
  func receives(_ event: AdvertisingEvent, on channel: Int) -> Bool {
    scanner.receives(on: event.primaryPHY, channel: channel, from: event.begin, to: event.end)
      || initiator.receives(on: event.primaryPHY, channel: channel, from: event.begin, to: event.end)
  }
}
