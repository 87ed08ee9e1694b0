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
    do throws(CodecError) {
      if let event = try HCIEvent(decoding: [UInt8](copying: packet)[...]).parameters { receive(event) }
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

  private mutating func receive(_ event: any HCIEventParameters) {
    switch event {
    case let event as any SessionEvent:
      withSession { [now = context.now] in $0.receive(event, now: now, packets: &$1, into: &$2) }
    case let event as any RadioEvent:
      let identities = event.addresses.map { links.identity(of: $0) }
      withRadio { $0.receive(event, by: identities, &$1) }
    case let event as any LinkEvent: links.receive(event, &context)
    case let event as HCI.DisconnectionComplete where event.status == .success:
      links.disconnected(event.connectionHandle, event.reason, &context)
      withRadio { $0.linkEnded(&$1) }
    case let event as HCI.LEConnectionComplete: connectionCompleted(NewLink(event), event.status)
    case let event as HCI.LEEnhancedConnectionComplete: connectionCompleted(NewLink(event), event.status)
    case let event as HCI.LERemoteConnectionParameterRequest:
      context.send(LinkSignalling.answer(to: event), for: .reply)
    default: break
    }
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
      radio.suspend()
      lendAddresses()
    case .stop:
      withRadio { $0.stop(&$1) }
      links.closeAll(&context)
    case .answered(let purpose, let opcode, let status, let returned): answered(purpose, opcode, status, returned)
    case .timedOut(let purpose, let opcode): withRadio { $0.timedOut(purpose, opcode, &$1) }
    // The state of the controller reports the rest.
    case .abandoned(let purpose):
      if let answer = purpose.answer([], .notPoweredOn) { context.output.events.append(answer) }
    case .keyMissed(let handle): links.keyMissed(handle, &context)
    }
  }

  /// A command that a part or a link has sent has ended.
  private mutating func answered(
    _ purpose: Purpose, _ opcode: HCIOpcode, _ status: HCIErrorCode, _ returned: Bytes
  ) {
    switch purpose {
    case .setup, .reply: break
    case .advertising, .scanning, .initiating, .address: withRadio { $0.answered(purpose, opcode, status, &$1) }
    case .connectionUpdate(let peer, _) where links.contains(peer):
      _ = links.answered(purpose, opcode, status, &context)
    case .setPHY(let peer, _) where status == .success && links.contains(peer):
      _ = links.answered(purpose, opcode, status, &context)
    case .connectionUpdate, .rssi, .setPHY, .readPHY:
      let answer = purpose.answer(returned, status == .success ? nil : .controller(opcode, status))
      if let answer { context.output.events.append(answer) }
    case .disconnect, .endingSuperseded, .tuning, .encryption:
      if links.answered(purpose, opcode, status, &context) { withRadio { $0.linkEnded(&$1) } }
    }
  }

  mutating func withRadio(_ body: (inout Radio, inout RadioTurn) -> Void) {
    var own = radioTurn
    body(&radio, &own)
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

  /// Lets the radio look at what the input has changed, at its end.
  @inline(__always)
  mutating func reviewRadio() {
    if radio.isReviewDue(links.bonds.revision) { withRadio { $0.review(&$1) } }
  }

  /// Links that have proven an identity, or have become the only ones of it, fulfil the pending connections to it.
  @inline(__always)
  mutating func fulfilRequests() {
    guard links.hasConfirmedIdentities else { return }
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
