internal import BLECrypto
internal import BLEHCI
internal import BLEWire

/// One controller: HCI towards its host, Link Layer PDUs towards the other controllers.
///
/// It performs the commands that the specification allows in its state, and rejects all others with the error of the
/// specification. It is a router: each command, PDU and deadline goes to the part that it concerns. The facts about
/// other parts that it depends on are arguments. No part refers to another one, and the state of each is private to it.
///
/// ```
///  host ──commands, ACL data──► VirtualController ◄──Link Layer PDUs, advertisements── VirtualRadio
///       ◄─HostInterface──────── parts ─────────────PDUs in VirtualRadioContext.transmissions─►
/// ```
struct VirtualController: Sendable {
  let id: ControllerID
  /// Whether it is powered on.
  private(set) var isAttached = true
  /// Whether other controllers receive it, and it them.
  var isInRange = true
  /// Whether it takes part in what happens in the air.
  var isReachable: Bool { isAttached && isInRange }
  private let configuration: VirtualControllerConfiguration
  private var random: RandomSource
  private var faults: ControllerFaults
  private(set) var complaints = ComplaintList()

  private var host: HostInterface
  private var features: LocalFeatures
  private var power: TransmitPower
  private var keyAgreement = KeyAgreement()

  private var addresses: OwnAddresses
  private var acceptList: FilterAcceptList
  private var resolvingList: LinkLayerResolvingList

  /// The set of advertising commands that the host uses; nil before the first of its commands.
  private var commandSet: AdvertisingCommandSet?
  private var advertising: AdvertisingSets
  private var scanner = LinkLayerScanner()
  private var initiator = LinkLayerInitiator()
  private var trains = PeriodicTrains()
  private var synchronizer: PeriodicSynchronizer
  private var syncTransfers = PeriodicSyncTransfers()

  private var links: VirtualLinkTable
  private var linkDefaults = LinkDefaults()
  private var buffers: ACLBuffers
  private var flowControl = HostFlowControl()

  init(id: ControllerID, configuration: VirtualControllerConfiguration, random: RandomSource) {
    var random = random
    self.id = id
    self.configuration = configuration
    let address = configuration.publicAddress ?? BD_ADDR(random.next() & 0x3FFF_FFFF_FFFF | 0x0200_0000_0000)
    self.random = random
    faults = ControllerFaults(configuration.faults, random: random)
    host = HostInterface(of: id, commandCredits: configuration.commandCredits)
    features = LocalFeatures(configuration.features, configuration.connectionIntervals?.supported)
    power = TransmitPower(level: configuration.txPower)
    addresses = OwnAddresses(publicAddress: address)
    acceptList = FilterAcceptList(capacity: configuration.filterAcceptListSize)
    resolvingList = LinkLayerResolvingList(capacity: configuration.resolvingListSize)
    advertising = AdvertisingSets(
      capacity: configuration.numSupportedAdvertisingSets,
      maximumDataLength: Int(configuration.maxAdvertisingDataLength))
    synchronizer = PeriodicSynchronizer(
      capacity: configuration.maximumPeriodicSyncs, listSize: configuration.periodicAdvertiserListSize)
    links = VirtualLinkTable(capacity: configuration.maximumLinks)
    buffers = ACLBuffers(
      packetLength: Int(configuration.aclDataPacketLength), count: Int(configuration.totalNumACLDataPackets))
  }

  var publicAddress: BD_ADDR { addresses.publicAddress }
  /// The features that the controller reports to its peers.
  var announcedFeatures: HCI.LEFeatures { features.all }
  /// The RSSI at which others receive it, in dBm.
  var rssi: Int8 { configuration.rssi }

  /// Powers the controller off. It sends nothing more.
  mutating func powerOff(_ context: inout VirtualRadioContext) {
    isAttached = false
    reset(&context)
  }

  /// Returns to the state after power-on (Vol 4, Part E, 7.3.2). The links end without LL_TERMINATE_IND. The handles of
  /// ended links are not reused at once.
  private mutating func reset(_ context: inout VirtualRadioContext) {
    for index in links.indices { links[index].send(.silence, &context) }
    for index in links.indices.reversed() { removeLink(index, &context) }
    host.reset()
    features = LocalFeatures(configuration.features, configuration.connectionIntervals?.supported)
    power = TransmitPower(level: configuration.txPower, linkLevel: power.linkLevel)
    keyAgreement = KeyAgreement()
    addresses = OwnAddresses(publicAddress: addresses.publicAddress)
    acceptList = FilterAcceptList(capacity: configuration.filterAcceptListSize)
    resolvingList = LinkLayerResolvingList(capacity: configuration.resolvingListSize)
    commandSet = nil
    advertising = AdvertisingSets(
      capacity: configuration.numSupportedAdvertisingSets,
      maximumDataLength: Int(configuration.maxAdvertisingDataLength))
    scanner = LinkLayerScanner()
    initiator = LinkLayerInitiator()
    trains = PeriodicTrains()
    synchronizer = PeriodicSynchronizer(
      capacity: configuration.maximumPeriodicSyncs, listSize: configuration.periodicAdvertiserListSize)
    syncTransfers = PeriodicSyncTransfers()
    linkDefaults = LinkDefaults()
    flowControl = HostFlowControl()
  }

  // MARK: Time

  /// The time at which ``tick(_:)`` has something to do; nil if nothing is scheduled.
  var deadline: Instant? {
    @inline(__always) get {
      let nearest = Instant?.nearer(scanner.deadline, faults.deadline)
      return .nearer(.nearer(.nearer(nearest, advertising.deadline), links.deadline), synchronizer.deadline)
    }
  }

  /// Does everything that is due, except for advertising and periodic advertising events, which need the other
  /// controllers.
  mutating func tick(_ context: inout VirtualRadioContext) {
    performTimedFaults(&context)
    scanner.tick(host, &context)
    for index in links.indices.reversed() {
      if let reason = links[index].expiry(at: context.now) {
        close(index, reason, &context)
      } else {
        links[index].runEvent(&context)
        if links[index].hasZoneDue(at: context.now) {
          update(index, &context) { link, turn, context in link.reportZone(turn, &context) }
        }
      }
    }
    advertising.tick(host, &context)
  }
}

// MARK: - Packets of the host

extension VirtualController {
  /// Receives an H4 packet from the host, except ACL data.
  mutating func receive(_ octets: Bytes, _ context: inout VirtualRadioContext) {
    guard let packet = try? HCIPacket(decoding: octets), case .command(let command) = packet else {
      return complain(.malformedPacket(firstOctet: octets.first))
    }
    switch faults.answer(to: command.opcode, &random) {
    case nil: perform(command, &context)
    case .silence: break
    case .octets(let octets): host.send(octets: octets, &context)
    case .refusal(let status): refuse(command.opcode, status, &context)
    case .twice:
      let first = context.output.count
      perform(command, &context)
      if first < context.output.count { host.send(octets: context.output[first], &context) }
    }
  }

  mutating func complain(_ complaint: Complaint) { complaints.append(complaint) }

  /// Performs a command. A command that the controller does not have is rejected with Unknown HCI Command, and one of
  /// the other set of advertising commands with Command Disallowed.
  private mutating func perform(_ command: HCICommandPacket, _ context: inout VirtualRadioContext) {
    guard let supported = Self.commands[command.opcode], features.contains(supported) else {
      return refuse(command.opcode, .unknownCommand, &context)
    }
    if let wanted = supported.commandSet {
      guard commandSet ?? wanted == wanted else { return refuse(command.opcode, .commandDisallowed, &context) }
      commandSet = wanted
    }
    supported.perform(&self, command, &context)
  }

  /// Rejects a command with the event that answers it. A command without a row is answered by Command Complete.
  private func refuse(_ opcode: HCIOpcode, _ status: HCIErrorCode, _ context: inout VirtualRadioContext) {
    let isAnsweredByStatus = Self.commands[opcode]?.isAnsweredByStatus ?? false
    host.refuse(opcode, status, byStatus: isAnsweredByStatus, &context)
  }
}

// MARK: - The commands (Vol 4, Part E, 7)

extension VirtualController {
  /// The rows by their opcodes. Two rows with one opcode can only be a mistake in ``rows``: the first command ends the
  /// process.
  private static let commands = [HCIOpcode: SupportedCommand](uniqueKeysWithValues: rows.map { ($0.opcode, $0) })

  /// Every command that a controller can have, with its handler. The commands that the controller reports as supported
  /// and the event that answers or rejects a command derive from its row.
  private static let rows: [SupportedCommand] = [
    // The controller by itself (7.3 and 7.8)
    status(of: HCI.SetEventMask.self) { me, command, _ in
      me.host.setEventMask(command.eventMask)
      return .success
    },
    status(of: HCI.SetEventMaskPage2.self) { me, command, _ in
      me.host.setEventMaskPage2(command.eventMask)
      return .success
    },
    status(of: HCI.LESetEventMask.self) { me, command, _ in
      me.host.setLEEventMask(command.eventMask)
      return .success
    },
    status(of: HCI.Reset.self) { me, _, context in
      me.reset(&context)
      return .success
    },
    response(to: HCI.ReadLEHostSupport.self) { me, _, _ in
      .init { $0.leSupportedHost = me.features.isLESupportedByHost }
    },
    status(of: HCI.WriteLEHostSupport.self) { me, command, _ in
      me.features.setLESupportedByHost(command.leSupportedHost)
      return .success
    },
    status(of: HCI.LESetHostFeature.self) { me, command, _ in
      me.features.setHostFeature(UInt16(command.bitNumber), command.bitValue, hasLinks: !me.links.isEmpty)
    },
    status(of: HCI.LESetHostFeatureV2.self, needs: .llExtendedFeatureSet) { me, command, _ in
      me.features.setHostFeature(command.bitNumber, command.bitValue, hasLinks: !me.links.isEmpty)
    },
    response(to: HCI.LEReadRFPathCompensation.self) { me, _, _ in me.power.pathCompensationResponse },
    status(of: HCI.LEWriteRFPathCompensation.self) { me, command, _ in
      me.power.setPathCompensation(command)
    },
    status(of: HCI.LESetRandomAddress.self) { me, command, _ in
      let isInUse = me.advertising.isLegacyRunning || me.scanner.isOn || me.initiator.request != nil
      return me.addresses.setRandom(command.randomAddress, isInUse: isInUse)
    },

    // Information about the controller (7.4 and 7.8)
    response(to: HCI.ReadLocalVersionInformation.self) { me, _, _ in
      .init {
        $0.hciVersion = me.configuration.version
        $0.hciSubversion = me.configuration.subversion
        $0.lmpVersion = me.configuration.version
        $0.companyIdentifier = me.configuration.companyIdentifier
        $0.lmpSubversion = me.configuration.subversion
      }
    },
    response(to: HCI.ReadLocalSupportedCommands.self) { me, _, _ in
      .init { $0.supportedCommands = me.supportedCommands }
    },
    response(to: HCI.ReadLocalSupportedFeatures.self) { _, _, _ in
      .init { $0.features = [.brEDRNotSupported, .leSupported] }
    },
    response(to: HCI.ReadBufferSize.self) { me, _, _ in
      .init {
        $0.aclDataPacketLength = UInt16(clamping: me.buffers.packetLength)
        $0.totalNumACLDataPackets = UInt16(clamping: me.buffers.count)
      }
    },
    response(to: HCI.ReadBDADDR.self) { me, _, _ in .init { $0.address = me.publicAddress } },
    response(to: HCI.LEReadBufferSize.self) { me, _, _ in
      .init {
        guard !me.configuration.sharesBuffersWithBREDR else { return }
        $0.aclDataPacketLength = UInt16(clamping: me.buffers.packetLength)
        $0.totalNumACLDataPackets = UInt8(clamping: me.buffers.count)
      }
    },
    response(to: HCI.LEReadBufferSizeV2.self) { me, _, _ in
      .init {
        guard !me.configuration.sharesBuffersWithBREDR else { return }
        $0.aclDataPacketLength = UInt16(clamping: me.buffers.packetLength)
        $0.totalNumACLDataPackets = UInt8(clamping: me.buffers.count)
      }
    },
    response(to: HCI.LEReadLocalSupportedFeatures.self) { me, _, _ in
      .init { $0.features = me.features.all }
    },
    response(to: HCI.LEReadAllLocalSupportedFeatures.self, needs: .llExtendedFeatureSet) { me, _, _ in
      .init {
        $0.maxPage = me.features.allFurther.isEmpty ? 0 : 1
        ($0.features.features, $0.features.furtherFeatures) = (me.features.all, me.features.allFurther)
      }
    },
    response(to: HCI.LEReadSupportedStates.self) { _, _, _ in .init { $0.states = 0x3FF_FFFF_FFFF } },
    response(to: HCI.LEReadTransmitPower.self) { me, _, _ in
      .init {
        $0.minTXPower = me.power.range.lowerBound
        $0.maxTXPower = me.power.range.upperBound
      }
    },
    response(to: HCI.LEReadAdvertisingPhysicalChannelTxPower.self) { me, _, _ in
      .init { $0.txPowerLevel = me.power.level }
    },

    // The buffers of the host (7.3.38 to 7.3.40)
    status(of: HCI.SetControllerToHostFlowControl.self) { me, command, _ in
      me.flowControl.setEnable(command, hasLinks: !me.links.isEmpty)
    },
    status(of: HCI.HostBufferSize.self) { me, command, _ in
      me.flowControl.setBufferSize(command, hasLinks: !me.links.isEmpty)
    },
    // This command is answered only after an error.
    SupportedCommand(HCI.HostNumberOfCompletedPackets.self) { me, packet, context in
      guard me.flowControl.isOn else { return me.refuse(packet.opcode, .commandDisallowed, &context) }
      guard let command = try? HCI.HostNumberOfCompletedPackets(decoding: packet.parameters) else {
        return me.refuse(packet.opcode, .invalidCommandParameters, &context)
      }
      me.flowControl.complete(command)
      me.sendReadyForData(&context)
    },

    // Cryptography (7.8.22, 7.8.23, 7.8.36 and 7.8.37)
    response(to: HCI.LEEncrypt.self) { _, command, context in
      let result = try? context.cryptography.encrypt(command.plaintextData, key: command.key)
      return .init {
        $0.status = result == nil ? .hardwareFailure : .success
        $0.encryptedData = result ?? 0
      }
    },
    response(to: HCI.LERand.self) { me, _, _ in .init { $0.randomNumber = me.random.next() } },
    status(of: HCI.LEReadLocalP256PublicKey.self) { _, _, _ in
      .success
    } then: { me, _, context in
      me.host.send(me.keyAgreement.generateKeyPair(from: &me.random, context.cryptography), &context)
    },
    status(of: HCI.LEGenerateDHKey.self) { me, _, _ in
      me.keyAgreement.hasKeyPair ? .success : .commandDisallowed
    } then: { me, command, context in
      me.host.send(me.keyAgreement.generateDHKey(command, context.cryptography), &context)
    },

    // The filter accept list (7.8.14 to 7.8.17)
    response(to: HCI.LEReadFilterAcceptListSize.self) { me, _, _ in
      .init { $0.filterAcceptListSize = me.acceptList.capacity }
    },
    status(of: HCI.LEClearFilterAcceptList.self) { me, _, _ in
      me.acceptList.clear(isInUse: me.isUsingAcceptList)
    },
    status(of: HCI.LEAddDeviceToFilterAcceptList.self) { me, command, _ in
      me.acceptList.add(command.address, isInUse: me.isUsingAcceptList)
    },
    status(of: HCI.LERemoveDeviceFromFilterAcceptList.self) { me, command, _ in
      me.acceptList.remove(command.address, isInUse: me.isUsingAcceptList)
    },

    // The resolving list (7.8.38 to 7.8.45 and 7.8.77)
    response(to: HCI.LEReadResolvingListSize.self, needs: .llPrivacy) { me, _, _ in
      .init { $0.resolvingListSize = me.resolvingList.capacity }
    },
    status(of: HCI.LEAddDeviceToResolvingList.self, needs: .llPrivacy) { me, command, _ in
      me.resolvingList.add(command, isBusy: me.isUsingResolvingList)
    },
    status(of: HCI.LERemoveDeviceFromResolvingList.self, needs: .llPrivacy) { me, command, _ in
      me.resolvingList.remove(command.peerIdentityAddress, isBusy: me.isUsingResolvingList)
    },
    status(of: HCI.LEClearResolvingList.self, needs: .llPrivacy) { me, _, _ in
      me.resolvingList.clear(isBusy: me.isUsingResolvingList)
    },
    status(of: HCI.LESetPrivacyMode.self, needs: .llPrivacy) { me, command, _ in
      me.resolvingList.setPrivacyMode(command, isBusy: me.isUsingResolvingList)
    },
    status(of: HCI.LESetAddressResolutionEnable.self, needs: .llPrivacy) { me, command, _ in
      me.resolvingList.setResolutionEnabled(command.addressResolutionEnable, isBusy: me.isUsingResolvingList)
    },
    status(of: HCI.LESetResolvablePrivateAddressTimeout.self, needs: .llPrivacy) { me, command, _ in
      me.resolvingList.setTimeout(command.rpaTimeout)
    },
    response(to: HCI.LEReadPeerResolvableAddress.self, needs: .llPrivacy) { me, command, _ in
      let address = me.resolvingList.peerAddress(of: command.peerIdentityAddress)
      return .init {
        $0.status = address == nil ? .unknownConnectionIdentifier : .success
        $0.peerResolvableAddress = address ?? BD_ADDR()
      }
    },
    response(to: HCI.LEReadLocalResolvableAddress.self, needs: .llPrivacy) { me, command, _ in
      let address = me.resolvingList.localAddress(of: command.peerIdentityAddress)
      return .init {
        $0.status = address == nil ? .unknownConnectionIdentifier : .success
        $0.localResolvableAddress = address ?? BD_ADDR()
      }
    },

    // Advertising (7.8.5 to 7.8.9)
    status(of: HCI.LESetAdvertisingParameters.self, in: .legacy) { me, command, _ in
      me.advertising.setParameters(command)
    },
    status(of: HCI.LESetAdvertisingData.self, in: .legacy) { me, command, _ in
      me.advertising.setData(command)
      return .success
    },
    status(of: HCI.LESetScanResponseData.self, in: .legacy) { me, command, _ in
      me.advertising.setScanResponse(command)
      return .success
    },
    status(of: HCI.LESetAdvertisingEnable.self, in: .legacy) { me, command, context in
      guard command.advertisingEnable else {
        me.advertising.disableLegacy()
        return .success
      }
      let request = me.advertising.legacyOwnAddress(random: me.addresses.random)
      let address = me.ownAddress(for: request, context)
      return me.advertising.enableLegacy(
        from: address, mayConnect: me.links.hasRoom, now: context.now, &me.random)
    },

    // Extended advertising (7.8.52 to 7.8.60)
    response(to: HCI.LEReadMaximumAdvertisingDataLength.self, needs: .extendedAdvertising) { me, _, _ in
      .init { $0.maxAdvertisingDataLength = UInt16(clamping: me.advertising.maximumDataLength) }
    },
    response(to: HCI.LEReadNumberOfSupportedAdvertisingSets.self, needs: .extendedAdvertising) { me, _, _ in
      .init { $0.numSupportedAdvertisingSets = me.advertising.capacity }
    },
    status(of: HCI.LESetAdvertisingSetRandomAddress.self, in: .extended, needs: .extendedAdvertising) {
      me, command, _ in
      me.advertising.setRandomAddress(command)
    },
    response(to: HCI.LESetExtendedAdvertisingParameters.self, in: .extended, needs: .extendedAdvertising) {
      me, command, _ in
      let status =
        me.trains.refusal(of: command) ?? me.advertising.setParameters(command, phys: me.features.linkLayer.phys)
      return .init {
        $0.status = status
        $0.selectedTXPower = me.power.selected(for: command.advertisingTXPower)
      }
    },
    status(of: HCI.LESetExtendedAdvertisingData.self, in: .extended, needs: .extendedAdvertising) { me, command, _ in
      me.advertising.setData(command)
    },
    status(of: HCI.LESetExtendedScanResponseData.self, in: .extended, needs: .extendedAdvertising) { me, command, _ in
      me.advertising.setScanResponse(command)
    },
    status(of: HCI.LESetExtendedAdvertisingEnable.self, in: .extended, needs: .extendedAdvertising) {
      me, command, context in
      me.setAdvertisingEnable(command, context)
    } then: { me, command, context in
      guard command.enable else { return }
      for set in command.sets {
        me.trains.setEnabled(set.advertisingHandle, me.advertising.facts(of: set.advertisingHandle), &context)
      }
    },
    status(of: HCI.LERemoveAdvertisingSet.self, in: .extended, needs: .extendedAdvertising) { me, command, _ in
      guard !me.trains.isEnabled(command.advertisingHandle) else { return .commandDisallowed }
      return me.advertising.remove(command.advertisingHandle)
    } then: { me, command, _ in
      me.trains.remove(command.advertisingHandle)
    },
    status(of: HCI.LEClearAdvertisingSets.self, in: .extended, needs: .extendedAdvertising) { me, _, _ in
      me.trains.isAnyEnabled ? .commandDisallowed : me.advertising.clear()
    } then: { me, _, _ in
      me.trains.removeAll()
    },

    // Periodic advertising (7.8.61 to 7.8.63)
    status(of: HCI.LESetPeriodicAdvertisingParameters.self, in: .extended, needs: .periodicAdvertising) {
      me, command, _ in
      me.trains.setParameters(command, of: me.advertising.facts(of: command.advertisingHandle))
    },
    status(of: HCI.LESetPeriodicAdvertisingData.self, in: .extended, needs: .periodicAdvertising) { me, command, _ in
      me.trains.setData(
        command, of: me.advertising.facts(of: command.advertisingHandle), maximum: me.advertising.maximumDataLength)
    },
    status(of: HCI.LESetPeriodicAdvertisingEnable.self, in: .extended, needs: .periodicAdvertising) {
      me, command, context in
      me.trains.setEnable(
        command, of: me.advertising.facts(of: command.advertisingHandle), supportsADI: me.supportsADI, &context)
    },

    // Synchronization (7.8.67 to 7.8.73 and 7.8.88)
    status(of: HCI.LEPeriodicAdvertisingCreateSync.self, in: .extended, needs: .periodicAdvertising) {
      me, command, _ in
      me.synchronizer.create(command, supportsADI: me.supportsADI)
    },
    status(of: HCI.LEPeriodicAdvertisingCreateSyncCancel.self, in: .extended, needs: .periodicAdvertising) {
      me, _, _ in
      me.synchronizer.isPending ? .success : .commandDisallowed
    } then: { me, _, context in
      me.synchronizer.cancel(me.host, &context)
    },
    status(of: HCI.LEPeriodicAdvertisingTerminateSync.self, in: .extended, needs: .periodicAdvertising) {
      me, command, _ in
      me.synchronizer.terminate(command.syncHandle)
    },
    status(of: HCI.LEAddDeviceToPeriodicAdvertiserList.self, in: .extended, needs: .periodicAdvertising) {
      me, command, _ in
      me.synchronizer.add(command)
    },
    status(of: HCI.LERemoveDeviceFromPeriodicAdvertiserList.self, in: .extended, needs: .periodicAdvertising) {
      me, command, _ in
      me.synchronizer.remove(command)
    },
    status(of: HCI.LEClearPeriodicAdvertiserList.self, in: .extended, needs: .periodicAdvertising) { me, _, _ in
      me.synchronizer.clearList()
    },
    response(to: HCI.LEReadPeriodicAdvertiserListSize.self, needs: .periodicAdvertising) { me, _, _ in
      .init { $0.periodicAdvertiserListSize = me.synchronizer.list.capacity }
    },
    status(of: HCI.LESetPeriodicAdvertisingReceiveEnable.self, needs: .periodicAdvertising) { me, command, _ in
      me.synchronizer.setReceiveEnable(command, supportsADI: me.supportsADI)
    },

    // Periodic advertising sync transfer (7.8.89 to 7.8.92)
    response(to: HCI.LEPeriodicAdvertisingSyncTransfer.self, needs: .periodicAdvertisingSyncTransferSender) {
      me, command, _ in
      let info = me.synchronizer.info(of: command.syncHandle)
      return me.transferResponse(on: command.connectionHandle, info == nil ? .unknownAdvertisingIdentifier : nil)
    } then: { me, command, context in
      guard let info = me.synchronizer.info(of: command.syncHandle) else { return }
      me.transfer(info, serviceData: command.serviceData, on: command.connectionHandle, &context)
    },
    response(to: HCI.LEPeriodicAdvertisingSetInfoTransfer.self, needs: .periodicAdvertisingSyncTransferSender) {
      me, command, _ in
      let set = me.advertising.facts(of: command.advertisingHandle)
      let missing: HCIErrorCode = set == nil ? .unknownAdvertisingIdentifier : .commandDisallowed
      return me.transferResponse(
        on: command.connectionHandle, me.syncInfo(of: command.advertisingHandle) == nil ? missing : nil)
    } then: { me, command, context in
      guard let info = me.syncInfo(of: command.advertisingHandle) else { return }
      me.transfer(info, serviceData: command.serviceData, on: command.connectionHandle, &context)
    },
    response(
      to: HCI.LESetPeriodicAdvertisingSyncTransferParameters.self, needs: .periodicAdvertisingSyncTransferRecipient
    ) { me, command, _ in
      let isKnown = me.links.index(of: command.connectionHandle) != nil
      let status =
        isKnown ? me.syncTransfers.set(command, supportsADI: me.supportsADI) : .unknownConnectionIdentifier
      return .init {
        $0.status = status
        $0.connectionHandle = command.connectionHandle
      }
    },
    status(
      of: HCI.LESetDefaultPeriodicAdvertisingSyncTransferParameters.self,
      needs: .periodicAdvertisingSyncTransferRecipient
    ) { me, command, _ in
      me.syncTransfers.setDefault(command, supportsADI: me.supportsADI)
    },

    // Scanning (7.8.10, 7.8.11, 7.8.64 and 7.8.65)
    status(of: HCI.LESetScanParameters.self, in: .legacy) { me, command, _ in
      me.scanner.setParameters(command)
    },
    status(of: HCI.LESetScanEnable.self, in: .legacy) { me, command, context in
      me.scanner.setEnable(command, hasRandomAddress: me.addresses.random != nil, now: context.now)
    },
    status(of: HCI.LESetExtendedScanParameters.self, in: .extended, needs: .extendedAdvertising) { me, command, _ in
      me.scanner.setParameters(command, phys: me.features.linkLayer.phys)
    },
    status(of: HCI.LESetExtendedScanEnable.self, in: .extended, needs: .extendedAdvertising) { me, command, context in
      me.scanner.setEnable(command, hasRandomAddress: me.addresses.random != nil, now: context.now)
    },

    // Initiating (7.8.12, 7.8.13 and 7.8.66)
    status(of: HCI.LECreateConnection.self, in: .legacy) { me, command, context in
      me.initiate(.init(command, now: context.now), context)
    },
    status(of: HCI.LEExtendedCreateConnection.self, in: .extended, needs: .extendedAdvertising) {
      me, command, context in
      LinkLayerInitiator.Request.refusal(of: command) ?? me.initiate(.init(command, now: context.now), context)
    },
    status(of: HCI.LECreateConnectionCancel.self) { me, _, _ in
      me.initiator.request == nil ? .commandDisallowed : .success
    } then: { me, _, context in
      me.initiator.cancel(me.host, &context)
    },

    // One link (7.1.6, 7.1.23, 7.3, 7.5.4 and 7.8)
    status(of: HCI.Disconnect.self) { me, command, _ in
      guard me.links.index(of: command.connectionHandle) != nil else { return .unknownConnectionIdentifier }
      let reasons: [HCIErrorCode] = [
        .authenticationFailure, .remoteUserTerminatedConnection, .remoteDeviceTerminatedLowResources,
        .remoteDeviceTerminatedPowerOff, .unsupportedRemoteFeature, .pairingWithUnitKeyNotSupported,
        .unacceptableConnectionParameters,
      ]
      return reasons.contains(command.reason) ? .success : .invalidCommandParameters
    } then: { me, command, context in
      me.update(command.connectionHandle, &context) { _, turn, _ in turn.send(.terminate(command.reason)) }
    },
    request(HCI.ReadRemoteVersionInformation.self, sends: .versionRequest),
    request(HCI.LERequestPeerSCA.self, sends: .clockAccuracyRequest),
    status(of: HCI.LEReadRemoteFeatures.self) { me, command, _ in
      guard let index = me.links.index(of: command.connectionHandle) else { return .unknownConnectionIdentifier }
      let mayAsk = me.links[index].role == .central || me.features.contains(.peripheralInitiatedFeaturesExchange)
      return mayAsk ? .success : .commandDisallowed
    } then: { me, command, context in
      me.update(command.connectionHandle, &context) { _, turn, _ in turn.send(.featureRequest) }
    },
    status(of: HCI.LEReadAllRemoteFeatures.self, needs: .llExtendedFeatureSet) { me, command, _ in
      guard let index = me.links.index(of: command.connectionHandle) else { return .unknownConnectionIdentifier }
      guard command.pagesRequested <= 10 else { return .invalidCommandParameters }
      let mayAsk = me.links[index].role == .central || me.features.contains(.peripheralInitiatedFeaturesExchange)
      return mayAsk ? .success : .commandDisallowed
    } then: { me, command, context in
      me.update(command.connectionHandle, &context) { _, turn, _ in
        turn.send(.featurePageRequest(page: command.pagesRequested))
      }
    },
    response(to: HCI.ReadRSSI.self) { me, command, _ in
      let index = me.links.index(of: command.connectionHandle)
      return .init {
        $0.status = index == nil ? .unknownConnectionIdentifier : .success
        $0.connectionHandle = command.connectionHandle
        $0.rssi = index.map { me.links[$0].rssi } ?? 127
      }
    },
    response(to: HCI.ReadTransmitPowerLevel.self) { me, command, _ in
      let index = me.links.index(of: command.connectionHandle)
      let current = index.map { me.links[$0].transmitPower } ?? me.power.level
      return .init {
        $0.status =
          index == nil ? .unknownConnectionIdentifier : command.kind > 1 ? .invalidCommandParameters : .success
        $0.connectionHandle = command.connectionHandle
        $0.txPowerLevel = command.kind == 1 ? me.power.range.upperBound : current
      }
    },
    response(to: HCI.ReadAuthenticatedPayloadTimeout.self, needs: .ping) { me, command, _ in
      let index = me.links.index(of: command.connectionHandle)
      return .init {
        $0.status = index == nil ? .unknownConnectionIdentifier : .success
        $0.connectionHandle = command.connectionHandle
        $0.authenticatedPayloadTimeout = index.map { me.links[$0].authenticatedPayloadTimeout } ?? 0
      }
    },
    response(to: HCI.WriteAuthenticatedPayloadTimeout.self, needs: .ping) { me, command, _ in
      me.response(on: command.connectionHandle) { link in
        guard command.authenticatedPayloadTimeout > 0 else { return .invalidCommandParameters }
        link.setAuthenticatedPayloadTimeout(command.authenticatedPayloadTimeout)
        return .success
      }
    },
    response(to: HCI.LEReadPHY.self, needs: .le2MPHY) { me, command, _ in
      let index = me.links.index(of: command.connectionHandle)
      return .init {
        $0.status = index == nil ? .unknownConnectionIdentifier : .success
        $0.connectionHandle = command.connectionHandle
        $0.txPHY = index.map { me.links[$0].transmitPHY } ?? .le1M
        $0.rxPHY = index.map { me.links[$0].receivePHY } ?? .le1M
      }
    },
    response(to: HCI.LEReadChannelMap.self) { me, command, _ in
      let index = me.links.index(of: command.connectionHandle)
      let map = index.map { me.links[$0].channelMap } ?? 0
      return .init {
        $0.status = index == nil ? .unknownConnectionIdentifier : .success
        $0.connectionHandle = command.connectionHandle
        $0.channelMap = Bytes((0..<5).map { UInt8(truncatingIfNeeded: map >> UInt64(8 * $0)) })
      }
    },

    // Procedures of one link (7.8.18, 7.8.31 to 7.8.33, 7.8.49, 7.8.124 and 7.8.154)
    status(of: HCI.LEConnectionUpdate.self) { me, command, _ in
      guard let index = me.links.index(of: command.connectionHandle) else { return .unknownConnectionIdentifier }
      return me.links[index].refusal(of: command.parameters, me.turn(of: index)) ?? .success
    } then: { me, command, context in
      me.update(command.connectionHandle, &context) { link, turn, _ in
        link.requestUpdate(command.parameters, &turn)
      }
    },
    response(to: HCI.LERemoteConnectionParameterRequestReply.self, needs: .connectionParametersRequest) {
      me, command, _ in
      me.response(on: command.connectionHandle) { link in
        guard link.awaitsParameterReply else { return .commandDisallowed }
        return command.parameters.isValid ? .success : .invalidCommandParameters
      }
    } then: { me, command, context in
      me.update(command.connectionHandle, &context) { link, turn, _ in
        link.acceptParameters(command.parameters, &turn)
      }
    },
    response(to: HCI.LERemoteConnectionParameterRequestNegativeReply.self, needs: .connectionParametersRequest) {
      me, command, _ in
      me.response(on: command.connectionHandle) { $0.awaitsParameterReply ? .success : .commandDisallowed }
    } then: { me, command, context in
      me.update(command.connectionHandle, &context) { link, turn, _ in link.rejectParameters(command.reason, &turn) }
    },
    response(to: HCI.LESetDataLength.self, needs: .dataPacketLengthExtension) { me, command, _ in
      me.response(on: command.connectionHandle) { _ in
        DataLength(fromHost: command.txOctets, time: command.txTime) == nil ? .invalidCommandParameters : .success
      }
    } then: { me, command, context in
      guard let length = DataLength(fromHost: command.txOctets, time: command.txTime) else { return }
      me.update(command.connectionHandle, &context) { link, turn, context in
        link.requestDataLength(length, &turn, context.pacing)
      }
    },
    status(of: HCI.LESubrateRequest.self, needs: .connectionSubrating) { me, command, _ in
      guard let index = me.links.index(of: command.connectionHandle) else { return .unknownConnectionIdentifier }
      return me.links[index].refusal(of: command.parameters, me.turn(of: index)) ?? .success
    } then: { me, command, context in
      me.update(command.connectionHandle, &context) { link, turn, _ in link.requestSubrate(command.parameters, &turn) }
    },
    status(of: HCI.LEConnectionRateRequest.self, needs: [], .shorterConnectionIntervals) { me, command, _ in
      guard let index = me.links.index(of: command.connectionHandle) else { return .unknownConnectionIdentifier }
      return me.links[index].refusal(of: command.parameters, me.turn(of: index)) ?? .success
    } then: { me, command, context in
      me.update(command.connectionHandle, &context) { link, turn, _ in link.requestRate(command.parameters, &turn) }
    },
    status(of: HCI.LESetPHY.self, needs: .le2MPHY) { me, command, _ in
      guard me.links.index(of: command.connectionHandle) != nil else { return .unknownConnectionIdentifier }
      return PHYUpdate.refusal(of: command, available: me.features.linkLayer.phys) ?? .success
    } then: { me, command, context in
      me.update(command.connectionHandle, &context) { link, turn, _ in link.requestPHY(command, &turn) }
    },

    // Power control and path loss (7.8.117 to 7.8.121)
    response(to: HCI.LEEnhancedReadTransmitPowerLevel.self, needs: .powerControlRequest) { me, command, _ in
      let index = me.links.index(of: command.connectionHandle)
      let refusal = me.features.linkLayer.phys.refusal(ofPowerOn: command.phy)
      return .init {
        $0.status = index == nil ? .unknownConnectionIdentifier : refusal ?? .success
        ($0.connectionHandle, $0.phy) = (command.connectionHandle, command.phy)
        $0.currentTXPowerLevel = index.map { me.links[$0].transmitPower } ?? LinkLayerPower.unknownLevel
        $0.maxTXPowerLevel = me.power.range.upperBound
      }
    },
    status(of: HCI.LEReadRemoteTransmitPowerLevel.self, needs: .powerControlRequest) { me, command, _ in
      guard let index = me.links.index(of: command.connectionHandle) else { return .unknownConnectionIdentifier }
      return me.links[index].refusal(of: command, me.turn(of: index)) ?? .success
    } then: { me, command, context in
      me.update(command.connectionHandle, &context) { link, turn, context in
        link.readRemotePower(on: command.phy, &turn, &context)
      }
    },
    response(to: HCI.LESetPathLossReportingParameters.self, needs: .pathLossMonitoring) { me, command, _ in
      me.response(on: command.connectionHandle) { $0.setPathLoss(command) }
    } then: { me, command, context in
      me.update(command.connectionHandle, &context) { link, turn, context in link.measurePath(turn, &context) }
    },
    response(to: HCI.LESetPathLossReportingEnable.self, needs: .pathLossMonitoring) { me, command, _ in
      me.response(on: command.connectionHandle) {
        $0.hasPathLossParameters || !command.enable ? .success : .commandDisallowed
      }
    } then: { me, command, context in
      me.update(command.connectionHandle, &context) { link, turn, context in
        link.setPathLossReporting(command.enable, &turn, &context)
      }
    },
    response(to: HCI.LESetTransmitPowerReportingEnable.self, needs: .powerControlRequest) { me, command, _ in
      me.response(on: command.connectionHandle) { _ in .success }
    } then: { me, command, context in
      me.update(command.connectionHandle, &context) { link, turn, _ in link.setPowerReporting(command, &turn) }
    },

    // Encryption (7.8.24 to 7.8.26)
    status(of: HCI.LEEnableEncryption.self, needs: .encryption) { me, command, _ in
      guard let index = me.links.index(of: command.connectionHandle) else { return .unknownConnectionIdentifier }
      return me.links[index].mayBeginEncryption ? .success : .commandDisallowed
    } then: { me, command, context in
      let diversifier = me.random.uint128()
      me.update(command.connectionHandle, &context) { link, turn, context in
        link.beginEncryption(command, diversifier: diversifier, &turn, context.pacing)
      }
    },
    response(to: HCI.LELongTermKeyRequestReply.self, needs: .encryption) { me, command, _ in
      me.response(on: command.connectionHandle) { $0.awaitsKey ? .success : .commandDisallowed }
    } then: { me, command, context in
      me.update(command.connectionHandle, &context) { link, turn, context in
        link.reply(with: command.longTermKey, &turn, context.cryptography)
      }
    },
    response(to: HCI.LELongTermKeyRequestNegativeReply.self, needs: .encryption) { me, command, _ in
      me.response(on: command.connectionHandle) { $0.awaitsKey ? .success : .commandDisallowed }
    } then: { me, command, context in
      me.update(command.connectionHandle, &context) { link, turn, _ in link.rejectKeyRequest(&turn) }
    },

    // All links (7.8.19, 7.8.34, 7.8.35, 7.8.46, 7.8.48, 7.8.123, 7.8.155 and 7.8.156)
    response(to: HCI.LEReadMaximumDataLength.self, needs: .dataPacketLengthExtension) { me, _, context in
      let greatest = DataLength.greatest(of: me.features.linkLayer, context.pacing)
      return .init {
        $0.supportedMaxTXOctets = greatest.octets
        $0.supportedMaxTXTime = greatest.time
        $0.supportedMaxRXOctets = greatest.octets
        $0.supportedMaxRXTime = greatest.time
      }
    },
    response(to: HCI.LEReadSuggestedDefaultDataLength.self, needs: .dataPacketLengthExtension) { me, _, _ in
      .init {
        $0.suggestedMaxTXOctets = me.linkDefaults.dataLength.octets
        $0.suggestedMaxTXTime = me.linkDefaults.dataLength.time
      }
    },
    status(of: HCI.LEWriteSuggestedDefaultDataLength.self, needs: .dataPacketLengthExtension) { me, command, _ in
      me.linkDefaults.setDataLength(command)
    },
    status(of: HCI.LESetDefaultSubrate.self, needs: .connectionSubrating) { me, command, _ in
      me.linkDefaults.setSubrating(command.parameters)
    },
    status(of: HCI.LESetDefaultRateParameters.self, needs: [], .shorterConnectionIntervals) { me, command, _ in
      me.linkDefaults.setRate(command.parameters, me.features.intervals)
    },
    response(to: HCI.LEReadMinimumSupportedConnectionInterval.self, needs: [], .shorterConnectionIntervals) {
      me, _, _ in
      me.features.intervals ?? .init { $0.status = .unsupportedFeatureOrParameterValue }
    },
    status(of: HCI.LESetDefaultPHY.self, needs: .le2MPHY) { me, command, _ in
      me.linkDefaults.setPHYs(command, available: me.features.linkLayer.phys)
    },
    status(of: HCI.LESetHostChannelClassification.self) { me, command, _ in
      me.linkDefaults.setChannels(command)
    } then: { me, _, context in
      let channels = me.linkDefaults.channels
      for index in me.links.indices where me.links[index].role == .central {
        me.update(index, &context) { link, turn, context in
          link.requestChannelMap(channels, &turn, context.pacing)
        }
      }
    },
  ]

  /// A row of a command whose answer has parameters. The row decodes the command, performs it with `respond`, sends the
  /// answer, and calls `then` after a success.
  ///
  /// Too few or too many octets, and values that the decoder rejects, result in Invalid HCI Command Parameters.
  private static func response<Command: HCICommand>(
    to type: Command.Type, in commandSet: AdvertisingCommandSet? = nil, needs feature: HCI.LEFeatures = [],
    _ furtherFeature: HCI.LEFurtherFeatures = [],
    _ respond: @escaping @Sendable (inout Self, Command, inout VirtualRadioContext) -> Command.Response,
    then: @escaping @Sendable (inout Self, Command, inout VirtualRadioContext) -> Void = { _, _, _ in }
  ) -> SupportedCommand {
    SupportedCommand(type, in: commandSet, needs: feature, furtherFeature) { me, packet, context in
      guard let command = try? Command(decoding: packet.parameters) else {
        return me.refuse(packet.opcode, .invalidCommandParameters, &context)
      }
      let response = respond(&me, command, &context)
      if Command.isAnsweredByStatus {
        me.host.sendStatus(packet.opcode, response.status, &context)
      } else {
        me.host.complete(packet.opcode, response, &context)
      }
      if response.status.isSuccess { then(&me, command, &context) }
    }
  }

  /// A row of a command whose answer depends on its status alone, which `perform` returns.
  private static func status<Command: HCICommand>(
    of type: Command.Type, in commandSet: AdvertisingCommandSet? = nil, needs feature: HCI.LEFeatures = [],
    _ furtherFeature: HCI.LEFurtherFeatures = [],
    _ perform: @escaping @Sendable (inout Self, Command, inout VirtualRadioContext) -> HCIErrorCode,
    then: @escaping @Sendable (inout Self, Command, inout VirtualRadioContext) -> Void = { _, _, _ in }
  ) -> SupportedCommand {
    response(
      to: type, in: commandSet, needs: feature, furtherFeature,
      { me, command, context in
        var response = Command.Response()
        response.status = perform(&me, command, &context)
        return response
      }, then: then)
  }

  /// A row of a command that is performed by a request to the peer.
  private static func request<Command: LinkCommand>(
    _ type: Command.Type, sends question: LinkLayerPDU
  ) -> SupportedCommand where Command.Response == HCI.AnsweredByStatus {
    status(of: type) { me, command, _ in
      me.links.index(of: command.connectionHandle) == nil ? .unknownConnectionIdentifier : .success
    } then: { me, command, context in
      me.update(command.connectionHandle, &context) { _, turn, _ in turn.send(question) }
    }
  }

  /// The commands that the controller has with its features, as in Read Local Supported Commands.
  private var supportedCommands: HCI.SupportedCommands {
    var commands = HCI.SupportedCommands()
    for command in Self.rows where features.contains(command) {
      commands.insert(command.opcode)
    }
    return commands
  }

  /// Whether an activity uses the filter accept list.
  private var isUsingAcceptList: Bool {
    advertising.isUsingAcceptList || scanner.isUsingAcceptList || initiator.isUsingAcceptList
  }

  /// Whether an activity uses the resolving list.
  private var isUsingResolvingList: Bool {
    advertising.isRunning || scanner.isOn || initiator.request != nil || synchronizer.isPending
  }

  /// The response to a command for a link: an error if there is no such link, or the status of `perform`.
  private mutating func response(
    on handle: ConnectionHandle, _ perform: (_ link: inout VirtualLink) -> HCIErrorCode
  ) -> HCI.LinkResponse {
    let index = links.index(of: handle)
    let status = index.map { perform(&links[$0]) } ?? .unknownConnectionIdentifier
    return .init {
      $0.status = status
      $0.connectionHandle = handle
    }
  }
}

// MARK: - Addresses and device lists

extension VirtualController {

  /// The controller's address for an activity; nil for a random address that the host has not set.
  private mutating func ownAddress(for request: OwnAddressRequest, _ context: VirtualRadioContext) -> DeviceAddress? {
    if request.isResolvable, let peer = request.peer,
      let address = resolvingList.localAddress(for: peer, now: context.now, &random, context.cryptography)
    {
      return address
    }
    return addresses.address(for: request)
  }

  private func identifySender(of advertisement: AdvertisingPDU, _ context: VirtualRadioContext) -> AdvertiserIdentity {
    let target = advertisement.target
    let isForAnother =
      advertisement.properties.contains(.directed)
      && !(addresses.contains(target) || resolvingList.isLocal(target, context.cryptography))
    guard let address = advertisement.address else {
      return .init(address: nil, isRejected: false, isInAcceptList: false, isForAnother: isForAnother)
    }
    let resolved = resolvingList.resolve(address, context.cryptography)
    return .init(
      address: resolved ?? address, isRejected: resolved == nil && resolvingList.rejects(address),
      isInAcceptList: acceptList.contains((resolved ?? address).identity), isForAnother: isForAnother)
  }
}

// MARK: - Advertising

extension VirtualController {

  /// Performs LE Set Extended Advertising Enable for all sets of the command, or for none (Vol 4, Part E, 7.8.56).
  private mutating func setAdvertisingEnable(
    _ command: HCI.LESetExtendedAdvertisingEnable, _ context: VirtualRadioContext
  ) -> HCIErrorCode {
    if let refusal = advertising.refusal(of: command) { return refusal }
    var starts: [AdvertisingSets.Start] = []
    for wanted in command.sets {
      if let refusal = advertising.refusal(of: wanted, isEnabled: command.enable, mayConnect: links.hasRoom) {
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

  /// The handles of the advertising sets whose event is due.
  @inline(__always)
  func advertisingSetsDue(at now: Instant) -> [UInt8?] { advertising.handlesDue(at: now) }

  /// Begins an advertising event of a set, schedules the next one, and returns the advertisement.
  mutating func beginAdvertisingEvent(of handle: UInt8?, _ context: VirtualRadioContext) -> AdvertisingPDU? {
    let request = advertising.renewedAddress(of: handle, random: addresses.random)
    let address = request.flatMap { ownAddress(for: $0, context) }
    let advertisement = advertising.beginEvent(
      of: handle, from: address, .init(slot: id.slot, txPower: power.level, rssi: rssi), now: context.now, &random)
    return advertisement.map { trains.complete($0, from: id) }
  }

  /// Ends the advertising sets whose duration has elapsed or whose maximum number of events is reached.
  mutating func tickAdvertising(_ context: inout VirtualRadioContext) { advertising.tick(host, &context) }

  /// The advertising event of a set that is in progress, with airtime.
  @inline(__always)
  func advertisingEvent(of handle: UInt8?) -> AdvertisingEvent? { advertising.event(of: handle) }

  mutating func setAdvertisingEvent(_ event: AdvertisingEvent?, of handle: UInt8?) {
    advertising.setEvent(event, of: handle)
  }

  /// The advertising events with a packet that has ended, with airtime.
  @inline(__always)
  func advertisingEventsDue(at now: Instant) -> [AdvertisingEvent] { advertising.eventsDue(at: now) }

  /// Chooses one of several requests for the packet that a set has sent, at random. This replaces the backoff
  /// procedure.
  mutating func chooseRequest(of count: Int) -> Int { count == 1 ? 0 : Int.random(in: 0..<count, using: &random) }

  /// The answer of a set to a scan request from `scanner`; nil if the filter policy rejects the request.
  mutating func answerScanRequest(
    for advertisement: AdvertisingPDU, from scanner: DeviceAddress, _ context: inout VirtualRadioContext
  ) -> AdvertisingPDU? {
    let identity = resolvingList.resolve(scanner, context.cryptography) ?? scanner
    return advertising.respond(
      to: identity, isInAcceptList: acceptList.contains(identity.identity), for: advertisement, host, &context)
  }

  /// Whether a set accepts a connection from `initiator`.
  func acceptsConnection(
    for advertisement: AdvertisingPDU, from initiator: DeviceAddress, _ context: VirtualRadioContext
  ) -> Bool {
    let resolved = resolvingList.resolve(initiator, context.cryptography)
    let identity = (resolved ?? initiator).identity
    return links.hasRoom && (resolved != nil || !resolvingList.rejects(initiator))
      && !links.contains(identity, as: .peripheral)
      && advertising.accepts(identity, isInAcceptList: acceptList.contains(identity), on: advertisement.handle)
  }
}

// MARK: - Scanning and initiating

extension VirtualController {

  private mutating func initiate(_ request: LinkLayerInitiator.Request, _ context: VirtualRadioContext) -> HCIErrorCode
  {
    if let refusal = initiator.refusal(of: request) { return refusal }
    guard ownAddress(for: request.ownAddress(random: addresses.random, for: request.peerAddress), context) != nil else {
      return .invalidCommandParameters
    }
    guard links.hasRoom else { return .connectionLimitExceeded }
    if request.filterPolicy == .peerAddress, links.contains(request.peerAddress) { return .connectionAlreadyExists }
    initiator.begin(request)
    return .success
  }

  // MARK: Advertisements of other controllers

  var isScanning: Bool {
    @inline(__always) get { scanner.isListening }
  }
  var isInitiating: Bool {
    @inline(__always) get { initiator.request != nil }
  }

  /// Whether the scanner may receive an advertisement: it listens on the PHY of the primary channels, and the
  /// controller supports the PHY of the auxiliary packet.
  @inline(__always)
  func scans(for advertisement: AdvertisingPDU) -> Bool {
    scanner.receives(on: advertisement.primaryPHY) && canFollow(advertisement)
  }

  /// Whether the initiator may receive an advertisement, like ``scans(for:)``.
  @inline(__always)
  func initiates(for advertisement: AdvertisingPDU) -> Bool {
    initiator.receives(on: advertisement.primaryPHY) && canFollow(advertisement)
  }

  /// Whether the controller can receive the auxiliary packet of an advertisement, if it has one.
  @inline(__always)
  func canFollow(_ advertisement: AdvertisingPDU) -> Bool {
    !advertisement.hasAuxiliaryPacket || features.linkLayer.phys.isSuperset(of: HCI.PHYs(of: [advertisement.linkPHY]))
  }

  /// Whether the scanner or the initiator receives the current packet of an advertising event on a primary channel,
  /// with airtime.
  @inline(__always)
  func receives(_ event: AdvertisingEvent, on channel: Int) -> Bool {
    scanner.receives(on: event.primaryPHY, channel: channel, from: event.begin, to: event.end)
      || initiator.receives(on: event.primaryPHY, channel: channel, from: event.begin, to: event.end)
  }

  /// Receives an advertisement or a scan response.
  ///
  /// - Returns: the own address of a scan request; nil if the scanner sends none.
  mutating func receiveAdvertisement(_ advertisement: AdvertisingPDU, _ context: inout VirtualRadioContext)
    -> DeviceAddress?
  {
    guard scanner.receives(advertisement), !faults.losesReport(&random) else { return nil }
    let sender = identifySender(of: advertisement, context)
    if synchronizer.isSearching, let info = advertisement.syncInfo {
      synchronizer.receive(info, from: sender, host, &context)
    }
    guard scanner.receive(advertisement, from: sender, lengthOfChains: faults.lengthOfChains, host, &context) else {
      return nil
    }
    let request = OwnAddressRequest(
      type: scanner.ownAddressType, random: addresses.random, peer: sender.address?.identity)
    return ownAddress(for: request, context)
  }

  /// The own address and the parameters of a connect request, if `advertisement` matches the pending connection
  /// request.
  mutating func connectRequest(
    for advertisement: AdvertisingPDU, _ context: VirtualRadioContext
  ) -> (ownAddress: DeviceAddress, parameters: HCI.ConnectionParameters)? {
    guard links.hasRoom, let (request, parameters) = initiator.match(for: advertisement) else { return nil }
    let sender = identifySender(of: advertisement, context)
    guard request.isFor(advertisement, from: sender), let peer = sender.address?.identity, !links.contains(peer),
      let own = ownAddress(for: request.ownAddress(random: addresses.random, for: peer), context)
    else { return nil }
    return (own, parameters)
  }

  /// Chooses a random transmitWindowOffset for a link with an interval (Vol 6, Part B, 4.5.3).
  ///
  /// - Returns: the offset in units of 1.25 ms.
  mutating func transmitWindowOffset(interval: UInt16) -> Int64 { .random(in: 0...Int64(interval), using: &random) }
}

// MARK: - Periodic advertising

extension VirtualController {
  private var supportsADI: Bool { features.contains(.periodicAdvertisingADI) }

  // MARK: Trains of this controller

  /// The SyncInfo of an advertising set; nil if its train is not transmitting.
  private func syncInfo(of handle: UInt8) -> SyncInfo? {
    advertising.facts(of: handle).flatMap { trains.syncInfo(of: handle, from: id, $0) }
  }

  /// The packets of an event of a train; nil if the controller does not send it.
  ///
  /// - Parameter rssi: the RSSI at which the receiver has them, in dBm.
  func periodicPacket(of train: UInt64, rssi: Int8) -> PeriodicPDU? {
    trains.packet(of: train, txPower: power.level, rssi: rssi)
  }

  // MARK: Trains of other controllers

  /// Whether the controller receives packets on a PHY.
  func receives(on phy: HCI.PHY) -> Bool { features.linkLayer.phys.isSuperset(of: HCI.PHYs(of: [phy])) }

  /// The first step that is due in the synchronizations.
  @inline(__always)
  func periodicStepDue(at now: Instant) -> PeriodicSynchronizer.Step? { synchronizer.stepDue(at: now) }

  /// Begins to receive the packets of an event, with airtime.
  mutating func beginPeriodicEvent(_ pdu: PeriodicPDU, on handle: UInt16) { synchronizer.begin(pdu, on: handle) }

  /// Receives the packets of an event, unless there is none or a fault loses them.
  mutating func receivePeriodicEvent(_ pdu: PeriodicPDU?, on handle: UInt16, _ context: inout VirtualRadioContext) {
    if let pdu, !faults.losesReport(&random) {
      synchronizer.receive(pdu, on: handle, lengthOfChains: faults.lengthOfChains, host, &context)
    } else {
      synchronizer.miss(on: handle, host, &context)
    }
  }

  /// Ends the synchronizations whose timeout has elapsed.
  mutating func tickSynchronizations(_ context: inout VirtualRadioContext) { synchronizer.tick(host, &context) }

  // MARK: Sync transfer

  /// The response to a transfer on a link. The link comes first, then the train, then the features of the peer.
  ///
  /// - Parameter missing: the error if there is no train to transfer.
  private func transferResponse(on handle: ConnectionHandle, _ missing: HCIErrorCode?) -> HCI.LinkResponse {
    let peer = links.index(of: handle).map { links[$0].peerFeatures }
    let isSupported = peer?.contains(.periodicAdvertisingSyncTransferRecipient) ?? false
    return .init {
      $0.status =
        peer == nil ? .unknownConnectionIdentifier : missing ?? (isSupported ? .success : .unsupportedRemoteFeature)
      $0.connectionHandle = handle
    }
  }

  private mutating func transfer(
    _ info: SyncInfo, serviceData: UInt16, on handle: ConnectionHandle, _ context: inout VirtualRadioContext
  ) {
    update(handle, &context) { _, turn, _ in turn.send(.periodicSync(.init(serviceData: serviceData, info: info))) }
  }

  /// Receives LL_PERIODIC_SYNC_IND.
  private mutating func receive(
    _ transfer: SyncTransfer, on handle: ConnectionHandle, _ context: inout VirtualRadioContext
  ) {
    guard let reception = syncTransfers.reception(on: handle) else { return }
    let address = transfer.info.address
    synchronizer.receive(
      transfer, on: handle, from: resolvingList.resolve(address, context.cryptography) ?? address,
      reception.parameters, reports: reception.reports, host, &context)
  }
}

// MARK: - The beginning and the end of links

extension VirtualController {
  /// Opens this end of a new link and reports it to the host. The peripheral's advertising set ends with the
  /// connection.
  mutating func open(_ link: NewVirtualLink, _ context: inout VirtualRadioContext) {
    guard let handle = links.newHandle() else { return }
    let resolved = resolvingList.resolve(link.peerAddress, context.cryptography)
    if let resolved { resolvingList.record(link.peerAddress.octets, of: resolved) }
    let peerAddress = resolved ?? link.peerAddress
    let index = links.append(
      VirtualLink(
        link, handle: handle, peerAddress: peerAddress, slot: id.slot, accepting: linkDefaults.subrating,
        linkDefaults.rate, now: context.now))
    if link.role == .central { initiator.end() }
    syncTransfers.linkBegan(handle)

    let isPrivate =
      link.ownAddress.randomKind == .resolvablePrivate && link.ownAddress.octets != addresses.random
    ConnectionReport(
      handle: handle, role: link.role, peerAddress: peerAddress,
      localResolvableAddress: isPrivate ? link.ownAddress.octets : nil,
      peerResolvableAddress: resolved == nil ? nil : link.peerAddress.octets, timing: link.timing
    ).send(to: host, &context)
    if link.role == .peripheral { advertising.connected(link.advertisingHandle, on: handle, host, &context) }
    if features.contains(.channelSelectionAlgorithm2) {
      host.send(
        HCI.LEChannelSelectionAlgorithm {
          $0.connectionHandle = handle
          $0.channelSelectionAlgorithm = 1
        }, &context)
    }
    if linkDefaults.dataLength.octets > DataLength.initial.octets {
      let length = linkDefaults.dataLength
      update(index, &context) { link, turn, context in link.requestDataLength(length, &turn, context.pacing) }
    }
  }

  /// Ends a link on this side and reports the reason to the host.
  mutating func close(_ id: UInt64, _ reason: HCIErrorCode, _ context: inout VirtualRadioContext) {
    if let index = links.index(of: id) { close(index, reason, &context) }
  }

  private mutating func close(_ index: Int, _ reason: HCIErrorCode, _ context: inout VirtualRadioContext) {
    let handle = links[index].handle
    removeLink(index, &context)
    sendReadyForData(&context)
    host.send(
      HCI.DisconnectionComplete {
        $0.connectionHandle = handle
        $0.reason = reason
      }, &context)
  }

  /// Removes the link and frees its buffers. Number Of Completed Packets is not sent for them: the host regards them as
  /// free after Disconnection Complete (Vol 4, Part E, 4.3).
  private mutating func removeLink(_ index: Int, _ context: inout VirtualRadioContext) {
    context.connections.leave(links[index].id)
    for packet in links[index].packets { buffers.release(packet.buffer) }
    flowControl.linkEnded(links[index].handle)
    syncTransfers.linkEnded(links[index].handle)
    links.remove(at: index)
  }

  /// Takes the controller out of range: its links end by supervision timeout.
  mutating func cutAllLinks(_ context: inout VirtualRadioContext) {
    for index in links.indices where !links[index].isCut {
      links[index].send(.silence, &context)
      links[index].cut(&context)
    }
  }

  /// Lets the peers send the PDUs again for which the host had no buffer.
  private func sendReadyForData(_ context: inout VirtualRadioContext) {
    guard flowControl.isOn else { return }
    for index in links.indices { links[index].sendReadyForData(&context) }
  }

  // MARK: The power of links

  /// The power control of a new link.
  var newLinkPower: LinkPower { LinkPower(level: power.linkLevel, range: power.range) }

  /// The loss of the path from this controller to others in dB, unless the radio has another one.
  var pathLoss: Int { Int(configuration.txPower) - Int(configuration.rssi) }

  /// Changes the transmit power of all links, in dBm.
  mutating func setTransmitPower(_ level: Int8, _ context: inout VirtualRadioContext) {
    power.setLinkLevel(level)
    let level = power.linkLevel
    for index in links.indices {
      update(index, &context) { link, turn, context in link.setTransmitPower(level, &turn, &context) }
    }
  }

  /// The transmit power of a link in dBm; nil if there is no such link.
  func transmitPower(on id: UInt64) -> Int8? { links.index(of: id).map { links[$0].transmitPower } }

  /// Changes the RSSI of the other end of a link, in dBm.
  mutating func setRSSI(_ rssi: Int8, on id: UInt64) {
    if let index = links.index(of: id) { links[index].setRSSI(rssi) }
  }

  /// Measures the path loss of a link after a change of the path.
  mutating func measurePath(on id: UInt64, _ context: inout VirtualRadioContext) {
    guard let index = links.index(of: id) else { return }
    update(index, &context) { link, turn, context in link.measurePath(turn, &context) }
  }

  // MARK: Inputs of a link

  /// An input of a link, with the facts about the controller that the link needs.
  private func turn(of index: Int) -> ProcedureTurn {
    ProcedureTurn(
      .init(
        host: host, features: features.linkLayer, announcedFeatures: features.all,
        version: .versionResponse(
          version: configuration.version, companyIdentifier: configuration.companyIdentifier,
          subversion: configuration.subversion),
        suggestedDataLength: linkDefaults.dataLength, preferredPHYs: linkDefaults.preferredPHYs,
        furtherFeatures: features.allFurther, rateIntervals: features.rateIntervals),
      handle: links[index].handle, role: links[index].role)
  }

  /// Passes an input to a link and performs its effects.
  private mutating func update(
    _ index: Int, _ context: inout VirtualRadioContext,
    _ input: (_ link: inout VirtualLink, _ turn: inout ProcedureTurn, _ context: inout VirtualRadioContext) -> Void
  ) {
    var turn = turn(of: index)
    input(&links[index], &turn, &context)
    if let reason = links[index].perform(effectsOf: turn, &context) { close(index, reason, &context) }
  }

  /// Passes an input to the link with a handle, if there is one.
  private mutating func update(
    _ handle: ConnectionHandle, _ context: inout VirtualRadioContext,
    _ input: (_ link: inout VirtualLink, _ turn: inout ProcedureTurn, _ context: inout VirtualRadioContext) -> Void
  ) {
    if let index = links.index(of: handle) { update(index, &context, input) }
  }
}

// MARK: - PDUs of a link

extension VirtualController {
  /// Whether the controller has a link.
  @inline(__always)
  func hasLink(_ id: UInt64) -> Bool { links.index(of: id) != nil }

  /// Whether the controller has a link, and is in range of its peer.
  @inline(__always)
  func isInRange(on id: UInt64) -> Bool { links.index(of: id).map { !links[$0].isCut } ?? false }

  /// The links, with the slots of their other ends.
  var linkEnds: [(id: UInt64, peer: Int)] { links.indices.map { (links[$0].id, links[$0].peer) } }

  /// Receives a control PDU.
  ///
  /// - Returns: false if there is no such link, or if it is out of range.
  mutating func receive(_ pdu: LinkLayerPDU, on id: UInt64, _ context: inout VirtualRadioContext) -> Bool {
    guard let index = links.index(of: id), !links[index].isCut else { return false }
    if case .periodicSync(let transfer) = pdu { receive(transfer, on: links[index].handle, &context) }
    update(index, &context) { link, turn, context in link.receive(pdu, &turn, &context) }
    // A rejected LL_SUBRATE_IND has no effect on its sender.
    if case .subrate = pdu { return supportsSubrating }
    if case .connectionRate(let rate) = pdu { return accepts(rate) }
    return true
  }

  /// Whether the controller and its host support a connection rate.
  func accepts(_ rate: LinkLayerRate) -> Bool { features.rateIntervals?.supports(rate.interval) == true }

  /// Whether the controller and its host support connection subrating.
  var supportsSubrating: Bool { features.all.supportsSubrating }

  /// Applies the effect that a PDU has on this end, its sender, after the peer has received it.
  mutating func acknowledge(_ pdu: LinkLayerPDU, on id: UInt64, _ context: inout VirtualRadioContext) {
    guard let index = links.index(of: id) else { return }
    update(index, &context) { link, turn, context in link.acknowledge(pdu, &turn, &context) }
  }

  // MARK: With airtime

  /// The PDU that this end sends next; nil if it has none.
  @inline(__always)
  func nextPacket(on id: UInt64) -> LinkLayerPacket? { links.index(of: id).flatMap { links[$0].nextPacket } }

  /// The empty PDU that this end sends if it has no PDU, or if its PDU does not fit; nil if there is no such link.
  @inline(__always)
  func emptyPacket(on id: UInt64, hasMoreData: Bool) -> LinkLayerPacket? {
    links.index(of: id).map { links[$0].emptyPacket(hasMoreData: hasMoreData) }
  }

  /// Whether this end needs a connection event.
  @inline(__always)
  func needsEvent(on id: UInt64) -> Bool { links.index(of: id).map { links[$0].needsEvent } ?? false }

  /// The ACL packet whose octets are in the next data PDU.
  @inline(__always)
  func firstDataPacket(on id: UInt64) -> TransmitQueue.Packet? {
    links.index(of: id).flatMap { links[$0].packets.first }
  }

  /// The reason in the peer's LL_TERMINATE_IND, which this end has not acknowledged yet.
  @inline(__always)
  func terminationReason(on id: UInt64) -> HCIErrorCode? {
    links.index(of: id).flatMap { links[$0].terminationReason }
  }

  /// Whether an LL_PHY_UPDATE_IND for this end would change nothing.
  @inline(__always)
  func isUnchanged(transmit: HCI.PHY, receive: HCI.PHY, on id: UInt64) -> Bool {
    links.index(of: id).map { links[$0].isUnchanged(transmit: transmit, receive: receive) } ?? true
  }

  /// Completes the PDU that the peer has acknowledged. The last PDU of an ACL packet frees its buffer and sends Number
  /// Of Completed Packets (Vol 4, Part E, 7.7.19).
  mutating func receiveAcknowledgement(on id: UInt64, _ context: inout VirtualRadioContext) {
    guard let index = links.index(of: id) else { return }
    let handle = links[index].handle
    var completed: TransmitQueue.Packet?
    update(index, &context) { link, turn, context in completed = link.receiveAcknowledgement(&turn, &context) }
    if let completed {
      buffers.release(completed.buffer)
      host.sendCompleted(on: handle, &context)
    }
  }

  /// Records that the peer has received a PDU from this end.
  mutating func sent(_ content: LinkLayerPacket.Content, on id: UInt64) {
    if let index = links.index(of: id) { links[index].sent(content) }
  }

  /// Stops the data of a link until the peer's host has a free buffer.
  mutating func blockData(on id: UInt64) { if let index = links.index(of: id) { links[index].block() } }

  /// Stores the reason in LL_TERMINATE_IND until this end has acknowledged it.
  mutating func receiveTermination(_ reason: HCIErrorCode, on id: UInt64) {
    if let index = links.index(of: id) { links[index].receiveTermination(reason) }
  }

  /// Applies a change at its instant: new timing, new PHYs from the perspective of this end, or a new channel map.
  mutating func apply(_ change: LinkLayerPDU, on id: UInt64, _ context: inout VirtualRadioContext) {
    guard let index = links.index(of: id) else { return }
    update(index, &context) { link, turn, context in link.apply(change, turn, &context) }
  }
}

// MARK: - ACL data

extension VirtualController {
  /// A packet from the host that may be sent now.
  struct AdmittedPacket {
    let link: UInt64
    /// The slot of the other end's controller.
    let peer: Int
    /// Whether the packet can be sent at once: no packet is before it, and data does not wait.
    let isFree: Bool
  }

  /// Checks whether the host may send a packet now, and records a complaint otherwise.
  mutating func admit(
    _ count: Int, isStart: Bool, on handle: ConnectionHandle, _ context: inout VirtualRadioContext
  ) -> AdmittedPacket? {
    // The link has just ended, and the host has not received the event yet.
    guard let index = links.index(of: handle) else { return nil }
    guard count <= buffers.packetLength else {
      complain(.dataTooLong(handle, count: count))
      return nil
    }
    guard buffers.hasFree else {
      complain(.dataBeyondCredits(handle))
      host.send(HCI.DataBufferOverflow { $0.linkType = 0x01 }, &context)
      return nil
    }
    guard links[index].admits(isStart: isStart) else {
      complain(.continuationWithoutStart(handle))
      return nil
    }
    return AdmittedPacket(link: links[index].id, peer: links[index].peer, isFree: links[index].isFreeForData)
  }

  /// Stores a packet from the host in a buffer until it is sent.
  mutating func send(_ data: Span<UInt8>, isStart: Bool, on id: UInt64, _ context: inout VirtualRadioContext) {
    guard let index = links.index(of: id), let buffer = buffers.store(data) else { return }
    links[index].send(.init(buffer: buffer, isStart: isStart, length: data.count), &context)
  }

  /// Whether the host has free buffers for `count` octets.
  @inline(__always)
  func hostHasRoom(for count: Int) -> Bool { flowControl.hasRoom(for: count, limit: buffers.packetLength) }

  /// Passes data from a peer to the host if it has free buffers.
  ///
  /// - Returns: false if it has no free buffers, or if there is no such link.
  mutating func receiveIfRoom(
    _ data: Span<UInt8>, isStart: Bool, on id: UInt64, _ context: inout VirtualRadioContext
  ) -> Bool {
    guard let index = links.index(of: id), hostHasRoom(for: data.count) else { return false }
    passToHost(data, isStart: isStart, on: links[index].handle, &context)
    return true
  }

  /// Passes data from a peer to the host.
  mutating func receive(_ data: Span<UInt8>, isStart: Bool, on id: UInt64, _ context: inout VirtualRadioContext) {
    guard let index = links.index(of: id) else { return }
    passToHost(data, isStart: isStart, on: links[index].handle, &context)
  }

  /// Passes data to the host, in fragments that fit its buffers.
  private mutating func passToHost(
    _ data: Span<UInt8>, isStart: Bool, on handle: ConnectionHandle, _ context: inout VirtualRadioContext
  ) {
    let size = flowControl.packetLength(limit: buffers.packetLength)
    let fragments = host.send(data, isStart: isStart, on: handle, size: size, &context)
    flowControl.sent(fragments, on: handle)
  }

  /// Puts a packet back for which the peer's host has no free buffer.
  ///
  /// - Returns: false if the peer's host has a free buffer, or if there is no such link.
  mutating func putBack(_ packet: TransmitQueue.Packet, on id: UInt64, peerHasRoom: Bool) -> Bool {
    guard let index = links.index(of: id), links[index].isBlocked || !peerHasRoom else { return false }
    links[index].putBack(packet)
    return true
  }

  /// Moves the octets of a packet out of its buffer, so that they can be read without a copy. ``putBackOctets(_:of:)``
  /// follows.
  mutating func takeOctets(of packet: TransmitQueue.Packet) -> [UInt8] { buffers.take(packet.buffer) }

  /// Moves the octets of a packet back into its buffer.
  mutating func putBackOctets(_ octets: consuming [UInt8], of packet: TransmitQueue.Packet) {
    buffers.putBack(octets, into: packet.buffer)
  }

  /// Frees the buffer of a packet that the peer has received, and sends Number Of Completed Packets.
  mutating func complete(_ packet: TransmitQueue.Packet, on id: UInt64, _ context: inout VirtualRadioContext) {
    buffers.release(packet.buffer)
    if let index = links.index(of: id) { host.sendCompleted(on: links[index].handle, &context) }
  }

  /// Sends Number Of Completed Packets for a packet that was never in a buffer.
  @inline(__always)
  func sendCompleted(on handle: ConnectionHandle, _ context: inout VirtualRadioContext) {
    host.sendCompleted(on: handle, &context)
  }
}

// MARK: - Faults

extension VirtualController {
  mutating func setFaults(_ faults: [VirtualFault]) { self.faults.replace(with: faults, random: random) }

  private mutating func performTimedFaults(_ context: inout VirtualRadioContext) {
    for fault in faults.takeDue(at: context.now) {
      switch fault {
      case .dropsLinks: cutAllLinks(&context)
      case .sends(let octets, _): host.send(octets: octets, &context)
      case .restarts(_, let code):
        reset(&context)
        if let code { host.send(HCI.HardwareError { $0.hardwareCode = code }, &context) }
      case .neverAnswers, .answersTwice, .refuses, .refusesFirst, .answersGarbage, .answers, .losesReports,
        .losesChains, .packets, .disconnects:
        break  // Without a time.
      }
    }
  }

  var hasPacketFaults: Bool { faults.concernPackets }

  /// The packets that are passed on now instead of `packet`, in order; nil if there is no packet fault, and `packet`
  /// itself is passed on.
  mutating func pass(_ packet: Bytes, _ direction: PacketFault.Direction, now: Instant) -> [[UInt8]]? {
    faults.pass(packet, direction, now: now)
  }

  /// The held packets of a direction that are due.
  mutating func releasePackets(_ direction: PacketFault.Direction, at now: Instant) -> [[UInt8]] {
    faults.release(direction, at: now)
  }

  /// The reason for which a fault ends the links now; nil if none does.
  mutating func takeDisconnection() -> HCIErrorCode? { faults.takeDisconnection() }
}
