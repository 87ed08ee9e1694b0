import BLEGATT
import BLEHCI
import BLESMP
import BLEWire

/// Events of the controller.
extension HostCore {
  /// The event code of Number Of Completed Packets (Vol 4, Part E, 7.7.19); the code of BLEHCI costs a call.
  private static let numberOfCompletedPackets: UInt8 = 0x13

  /// Takes one event packet without its indicator octet (Vol 4, Part E, 5.4.4).
  mutating func receiveEvent(_ packet: Span<UInt8>) {
    // Number Of Completed Packets comes with every few data packets: read in place.
    if packet.count > 2, packet[0] == Self.numberOfCompletedPackets {
      return links.packetsCompleted(packet.extracting(2..<packet.count), &context)
    }
    if receiveReports(packet) { return }
    decode(packet)
  }

  /// Takes an event packet as a whole. Not inlined: a decoded event is large.
  @inline(never)
  private mutating func decode(_ packet: Span<UInt8>) {
    do throws(CodecError) {
      receive(try HCIEvent(decoding: [UInt8](copying: packet)[...]))
    } catch {
      let octets = [UInt8](copying: packet).prefix(16).hexadecimal
      context.report(.controller, "a malformed event is dropped (\(error)): \(octets)")
    }
    resetIfDue()
    checkShutdown()
  }

  /// Reads reports of advertisements in the packet of their event. They are the most frequent events while the host
  /// scans, and of most of them nothing is kept.
  ///
  /// - Returns: false for another event, and for one that is to be decoded as a whole: it is malformed, a report is a
  ///   fragment, or a bonded device uses a private address.
  private mutating func receiveReports(_ event: Span<UInt8>) -> Bool {
    guard radio.readsReportsInPlace, let reports = AdvertisingReportViews(in: event) else { return false }
    var remaining = reports
    while let view = remaining.next(in: event) {
      let address = view.address(in: event)
      guard view.isComplete(in: event), links.identity(of: address) == address.identity else { return false }
    }
    remaining = reports
    while let view = remaining.next(in: event) {
      radio.receive(view, in: event, now: context.now, into: &context.output)
    }
    return true
  }

  private mutating func receive(_ event: HCIEvent) {
    switch event {
    case .commandComplete(let event): receive(SessionEvent.commandComplete(event))
    case .commandStatus(let event): receive(SessionEvent.commandStatus(event))
    case .hardwareError(let event): receive(SessionEvent.hardwareError(event))
    case .dataBufferOverflow: receive(SessionEvent.dataBufferOverflow)
    case .leAdvertisingReport(let event):
      receive(.advertisingReport(event), from: event.reports.map { $0.address })
    case .leExtendedAdvertisingReport(let event):
      receive(.extendedAdvertisingReport(event), from: event.reports.map { $0.address })
    case .leAdvertisingSetTerminated(let event): receive(.advertisingSetTerminated(event), from: [])
    case .lePeriodicAdvertisingSyncEstablished(let event):
      receive(.syncEstablished(event), from: [event.advertiserAddress])
    case .lePeriodicAdvertisingSyncEstablishedV2(let event):
      receive(.syncEstablished(event.sync), from: [event.sync.advertiserAddress])
    case .lePeriodicAdvertisingSyncLost(let event): receive(.syncLost(event.syncHandle), from: [])
    case .lePeriodicAdvertisingReport(let event): receive(.periodicReport(event, counter: nil), from: [])
    case .lePeriodicAdvertisingReportV2(let event):
      receive(.periodicReport(event.asVersion1, counter: event.periodicEventCounter), from: [])
    case .lePeriodicAdvertisingSyncTransferReceived(let event): receive(event)
    case .lePeriodicAdvertisingSyncTransferReceivedV2(let event): receive(event.transfer)
    case .encryptionChange(let event):
      let change = LinkEvent.encryptionChange(event.status, isOn: event.encryptionEnabled != .off)
      links.receive(change, on: event.connectionHandle, &context)
    case .encryptionChangeV2(let event):
      let change = LinkEvent.encryptionChange(event.status, isOn: event.encryptionEnabled != .off)
      links.receive(change, on: event.connectionHandle, &context)
    case .encryptionKeyRefreshComplete(let event):
      links.receive(.encryptionKeyRefreshComplete(event.status), on: event.connectionHandle, &context)
    case .leLongTermKeyRequest(let event):
      links.receive(.longTermKeyRequest(event), on: event.connectionHandle, &context)
    case .leConnectionUpdateComplete(let event):
      links.receive(.connectionUpdateComplete(event), on: event.connectionHandle, &context)
    case .lePHYUpdateComplete(let event):
      links.receive(.phyUpdateComplete(event), on: event.connectionHandle, &context)
    case .leDataLengthChange(let event):
      links.receive(.dataLengthChange(event), on: event.connectionHandle, &context)
    case .leReadRemoteFeaturesComplete(let event):
      links.receive(.readRemoteFeaturesComplete(event), on: event.connectionHandle, &context)
    case .leSubrateChange(let event):
      links.receive(.subrateChange(event), on: event.connectionHandle, &context)
    case .leTransmitPowerReporting(let event):
      links.receive(.transmitPowerReporting(event), on: event.connectionHandle, &context)
    case .lePathLossThreshold(let event):
      links.receive(.pathLossThreshold(event), on: event.connectionHandle, &context)
    case .leReadAllRemoteFeaturesComplete(let event):
      links.receive(.readAllRemoteFeaturesComplete(event), on: event.connectionHandle, &context)
    case .leConnectionRateChange(let event):
      links.receive(.connectionRateChange(event), on: event.connectionHandle, &context)
    case .disconnectionComplete(let event):
      // The controller could not end the link, which stays up.
      guard event.status == .success else { return }
      links.disconnected(event.connectionHandle, event.reason, &context)
      linkEnded()
    case .leConnectionComplete(let event): connectionCompleted(NewLink(event), event.status)
    case .leEnhancedConnectionComplete(let event): connectionCompleted(NewLink(event), event.status)
    case .leRemoteConnectionParameterRequest(let event):
      context.send(LinkSignalling.answer(to: event), for: .reply)
    // It is read in place before.
    case .numberOfCompletedPackets: break
    // Of procedures that the host does not use, or that it learns nothing from. The event masks have few of them.
    case .readRemoteVersionInformationComplete, .authenticatedPayloadTimeoutExpired, .leReadLocalP256PublicKeyComplete,
      .leGenerateDHKeyComplete, .leDirectedAdvertisingReport, .leScanTimeout, .leScanRequestReceived,
      .leChannelSelectionAlgorithm, .leConnectionlessIQReport, .leConnectionIQReport, .leCTERequestFailed,
      .leCISEstablished, .leCISRequest, .leCreateBIGComplete,
      .leTerminateBIGComplete, .leBIGSyncEstablished, .leBIGSyncLost, .leRequestPeerSCAComplete,
      .leBIGInfoAdvertisingReport,
      .lePeriodicAdvertisingSubeventDataRequest, .lePeriodicAdvertisingResponseReport, .leEnhancedConnectionCompleteV2:
      break
    // A vendor's event, or one of a later version.
    case .undeclared: break
    }
  }

  private mutating func receive(_ event: SessionEvent) {
    withSession { [now = context.now] in $0.receive(event, now: now, packets: &$1, into: &$2) }
  }

  /// - Parameter addresses: those of the reports in the event, in order.
  private mutating func receive(_ event: RadioEvent, from addresses: [DeviceAddress]) {
    let identities = addresses.map { links.identity(of: $0) }
    withRadio { $0.receive(event, by: identities, &$1) }
  }

  private mutating func receive(_ event: HCI.LEPeriodicAdvertisingSyncTransferReceived) {
    let peer = links.peer(of: event.connectionHandle)
    receive(.syncTransferred(event, from: peer), from: [event.advertiserAddress])
  }

  private mutating func connectionCompleted(_ new: NewLink, _ status: HCIErrorCode) {
    // Another program of this machine may have made the link as a central.
    let isOurs = new.role == .peripheral || context.session.isExclusive || radio.isConnecting
    if status == .success { return isOurs ? linkUp(new) : links.addForeign(new, &context) }
    if isOurs { withRadio { $0.connectionFailed(status, as: new.role, &$1) } }
  }

  private mutating func linkUp(_ new: NewLink) {
    let device = links.identify(new, &context)
    var requests: [PendingConnection] = []
    if new.role == .central {
      withRadio { requests = $0.connected(to: device.identity, &$1) }
    } else if links.fulfilsRequests(device.identity) {
      withRadio { requests = $0.fulfilled(by: device.identity, &$1) }
    }
    links.add(new, device, for: requests, &context)
    withRadio { $0.linkAdded(asCentral: new.role == .central, &$1) }
  }
}

/// The effects of the session and the radio.
///
/// Functions with large values on the stack are not inlined: a firmware would need all of them at once
/// (Docs/Decisions/embedded.md#stack).
extension HostCore {
  /// Resets a controller whose state is not that of the host, as soon as that costs no link.
  mutating func resetIfDue() {
    if context.session.needsReset, links.isEmpty { withSession { $0.resetWithoutLinks(into: &$2) } }
  }

  mutating func checkShutdown() { context.session.checkShutdown(now: context.now, hasLinks: !links.isEmpty) }

  mutating func withSession(
    _ body: (inout ControllerSession, inout PacketBuffer, inout [Effect<SessionEffect>]) -> Void
  ) {
    var effects: [Effect<SessionEffect>] = []
    body(&context.session, &context.output.packets, &effects)
    for effect in effects {
      if case .own(let own) = effect { perform(own) } else { context.apply(effect) }
    }
  }

  @inline(never)
  private mutating func perform(_ effect: SessionEffect) {
    switch effect {
    case .chooseAddress:
      let publicAddress = context.session.publicAddress
      withRadio { $0.begin(with: publicAddress, &$1) }
      let address = addressOnAir
      withSession { $0.addressChosen(address, into: &$2) }
    case .ready:
      links.controllerReady(&context)
      withRadio { $0.restore(&$1) }
    case .lost:
      links.controllerLost(&context)
      for effect in radio.suspend() { context.apply(effect) }
      lendAddresses()
    case .stop:
      withRadio { $0.stop(&$1) }
      links.closeAll(&context)
    case .answered(let purpose, let opcode, let status, let returned): answered(purpose, opcode, status, returned)
    case .timedOut(let purpose, let opcode):
      if case .radio(let purpose) = purpose { withRadio { $0.timedOut(purpose, opcode, &$1) } }
    // The state of the controller reports the rest.
    case .abandoned(.transfer(let transfer)):
      context.output.events.append(transfer.answer(.failure(.notPoweredOn)))
    case .abandoned(let purpose):
      guard case .link(let peer, let purpose) = purpose else { return }
      if let answer = purpose.answer(about: peer, [], .notPoweredOn) { context.output.events.append(answer) }
    case .keyMissed(let handle): links.keyMissed(handle, &context)
    }
  }

  /// A command that a part or a link has sent has ended.
  @inline(never)
  private mutating func answered(
    _ purpose: Purpose, _ opcode: HCIOpcode, _ status: HCIErrorCode, _ returned: Bytes
  ) {
    switch purpose {
    case .setup, .reply: break
    case .transfer(let transfer):
      let result = status == .success ? Result.success(()) : .failure(HostError.controller(opcode, status))
      context.output.events.append(transfer.answer(result))
    case .radio(let purpose): withRadio { $0.answered(purpose, opcode, status, &$1) }
    case .link(let peer, let purpose):
      let hasEnded = links.answered(peer, purpose, opcode, status, returned, &context)
      if hasEnded { linkEnded() }
    case .endingSuperseded(let handle):
      if links.supersededAnswered(handle, status, &context) { linkEnded() }
    }
  }

  @inline(never)
  mutating func withRadio(_ body: (inout Radio, inout RadioTurn) -> Void) {
    var own = radioTurn
    body(&radio, &own)
    finish(&own)
  }

  @inline(never)
  private mutating func finish(_ own: inout RadioTurn) {
    radio.takeTurns(&own)
    if own.needsReset, context.session.isExclusive { context.session.needsReset = true }
    if let missing = own.missing { withSession { $0.withdraw(missing.opcode, missing.status, into: &$2) } }
    context.random = own.random
    lendAddresses()
    context.apply(own.effects)
  }

  /// The links need our addresses, which only the radio changes.
  mutating func lendAddresses() {
    (context.ownIdentity, context.ownAddress) = (radio.identity, radio.address)
    context.withholdsIdentity = radio.privacy.map { !$0.distributesIdentityWhenUnauthenticated } ?? false
  }

  private var radioTurn: RadioTurn {
    RadioTurn(
      controller: controller, isPoweredOn: context.session.isReady, isRestarting: context.session.isRestarting,
      isExclusive: context.session.isExclusive, isShuttingDown: context.session.isShuttingDown,
      links: links.roles, disconnecting: links.disconnecting, devices: links.bonds.devices, now: context.now,
      random: context.random)
  }

  /// A link has ended.
  mutating func linkEnded() {
    withRadio { $0.linkEnded(&$1) }
    for peer in radio.expectedLinks where links.handle(of: peer) == nil {
      withRadio { $0.expectedLinkEnded(peer, &$1) }
    }
  }

  /// Transfers a synchronization to the device of a link.
  mutating func transfer(_ transfer: SyncTransfer, _ serviceData: UInt16) {
    do throws(HostError) {
      guard context.session.isReady else { throw .notPoweredOn }
      guard let link = links.handle(of: transfer.peer) else { throw .notConnected }
      let command = try radio.command(for: transfer, on: link, serviceData: serviceData, controller)
      context.send(command, for: .transfer(transfer))
    } catch {
      context.output.events.append(transfer.answer(.failure(error)))
    }
  }

  /// Lets the radio look at what the input has changed, at its end.
  @inline(__always)
  mutating func reviewRadio() {
    if radio.isReviewDue(links.bonds.revision) { withRadio { $0.review(&$1) } }
  }

  /// Links that have proven an identity, or have become the only ones of it, fulfil the pending connections to it.
  @inline(__always)
  mutating func fulfilRequests() {
    if links.hasConfirmedIdentities { fulfilRequestsToConfirmed() }
  }

  @inline(never)
  private mutating func fulfilRequestsToConfirmed() {
    for identity in links.takeConfirmedIdentities() where links.canShare(identity) {
      var requests: [PendingConnection] = []
      withRadio { requests = $0.fulfilled(by: identity, &$1) }
      for request in requests {
        guard let answer = links.answer(to: request) else { continue }
        context.append(answer, to: request.owner.recipient)
      }
    }
  }

  /// Connects an owner to a device: over a link that is up, otherwise over a new one.
  mutating func connect(_ wanted: PendingConnection) {
    var request = wanted
    request.device = links.identity(of: wanted.device)
    let failure = radio.rejection(of: request, radioTurn).map { HostEvent.connectionFailed(request.id, $0) }
    if let answer = failure ?? links.answer(to: request) {
      return context.append(answer, to: request.owner.recipient)
    }
    withRadio { $0.connect(request, &$1) }
  }
}

extension HCI.LEPeriodicAdvertisingReportV2 {
  /// The report as one of version 1, which has neither event nor subevent.
  fileprivate var asVersion1: HCI.LEPeriodicAdvertisingReport {
    HCI.LEPeriodicAdvertisingReport {
      ($0.syncHandle, $0.txPower, $0.rssi, $0.cteType) = (syncHandle, txPower, rssi, cteType)
      ($0.dataStatus, $0.data) = (dataStatus, data)
    }
  }
}
