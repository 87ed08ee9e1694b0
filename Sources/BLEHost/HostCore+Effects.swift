import BLEATT
import BLEGATT
import BLEHCI
import BLESMP
import BLEWire

/// Events of the controller.
extension HostCore {
  /// Takes one event packet without its indicator octet (Vol 4, Part E, 5.4.4).
  mutating func receiveEvent(_ packet: Span<UInt8>) {
    // Completed packets come with every few data packets: read in place.
    if packet.count > 2, packet[0] == HCIEventCode.numberOfCompletedPackets.rawValue {
      var effects: [Effect<Never>] = []
      let completed = links.completed(packet.extracting(2..<packet.count), into: &output.packets, &effects)
      apply(effects)
      for (peer, effect) in completed { withLink(of: peer) { $0.perform(effect, &$1, &$2, &$3) } }
      return
    }
    do throws(CodecError) {
      if let event = try HCIEvent(decoding: [UInt8](copying: packet)[...]).parameters { receive(event) }
    } catch {
      report(.controller, "a malformed event (\(error)): \([UInt8](copying: packet).prefix(16).hexadecimal)")
    }
    session.checkShutdown(now: now, hasLinks: !links.isEmpty)
  }

  private mutating func receive(_ event: any HCIEventParameters) {
    switch event {
    case let event as any SessionEvent:
      withSession { [now] in $0.receive(event, now: now, packets: &$1, into: &$2) }
    case let event as any RadioEvent:
      let identities = event.addresses.map { bonds.identity(of: $0, turn.toolbox) }
      withRadio { $0.receive(event, by: identities, &$1) }
    case let event as any LinkEvent:
      if let index = links.index(of: event.connectionHandle) { return withLink(index) { $0.receive(event, &$3) } }
      guard event is HCI.LELongTermKeyRequest else { return }
      var effects: [Effect<Never>] = []
      policy.keyRequested(onUnknownLink: event.connectionHandle, into: &effects)
      apply(effects)
    case let event as HCI.DisconnectionComplete where event.status == .success:
      links.supersededEnded(event.connectionHandle, into: &output.packets)
      removeLink(event.connectionHandle, reason: event.reason)
      withRadio { $0.linkEnded(&$1) }
    case let event as HCI.LEConnectionComplete: connectionCompleted(NewLink(event), event.status)
    case let event as HCI.LEEnhancedConnectionComplete: connectionCompleted(NewLink(event), event.status)
    case let event as HCI.LERemoteConnectionParameterRequest: send(LinkSignalling.answer(to: event), for: .reply)
    default: break
    }
  }

  private mutating func connectionCompleted(_ new: NewLink, _ status: HCIErrorCode) {
    if status != .success {
      if radio.isConnecting { withRadio { $0.connectionFailed(status, &$1) } }
    } else if new.role == .peripheral || session.isExclusive || radio.isConnecting {
      // Else another program of this machine made the link as a central.
      linkUp(new)
    }
  }
}

/// The effects of the session, the radio, the services and the log.
extension HostCore {
  /// Sends a command, or queues it until the controller takes one.
  mutating func send(_ command: some HCICommand, for purpose: Purpose) {
    withSession { [now] in $0.send(command, for: purpose, now: now, packets: &$1, into: &$2) }
  }

  mutating func withSession(
    _ body: (inout ControllerSession, inout PacketBuffer, inout [Effect<SessionEffect>]) -> Void
  ) {
    var effects: [Effect<SessionEffect>] = []
    body(&session, &output.packets, &effects)
    apply(effects) { core, effect in
      switch effect {
      case .chooseAddress:
        let publicAddress = core.controller.publicAddress
        core.withRadio { $0.begin(with: publicAddress, &$1) }
        let address = core.addressOnAir
        core.withSession { $0.addressChosen(address, into: &$2) }
      case .ready:
        let controller = core.controller
        core.links.acl.setBuffers(length: controller.aclLength, count: controller.aclCount)
        core.services.database.setCentralAddressResolution(controller.resolvedPeers > 0)
        core.withKernel { $0?.restore($1, into: &$2) }
        core.withRadio { $0.restore(&$1) }
      case .lost:
        for link in core.links.reversed() { core.removeLink(link.handle, reason: .hardwareFailure) }
        core.links.reset()
        core.radio.suspend()
      case .stop:
        core.withRadio { $0.stop(&$1) }
        for index in core.links.indices { core.withLink(index) { $0.close(.remoteUserTerminatedConnection, &$3) } }
      case .answered(let purpose, let opcode, let status, let returned):
        core.answered(purpose, opcode, status, returned)
      // The state that follows says the rest.
      case .abandoned(let purpose):
        if let answer = purpose.answer([], .notPoweredOn) { core.output.events.append(answer) }
      case .keyMissed(let handle):
        if let index = core.links.index(of: handle) { core.withSecurity(of: core.links[index].peer, .keyMissed) }
      }
    }
  }

  /// A command has ended that a part or a link has sent.
  private mutating func answered(
    _ purpose: Purpose, _ opcode: HCIOpcode, _ status: HCIErrorCode, _ returned: Bytes
  ) {
    switch purpose {
    case .setup, .reply: break
    case .advertising, .scanning, .initiating, .address: withRadio { $0.answered(purpose, opcode, status, &$1) }
    case .disconnect(let peer):
      // The link ended before the command arrived; its Disconnection Complete is on its way or was lost.
      guard status == .unknownConnectionIdentifier, let index = links.index(of: peer) else { return }
      removeLink(links[index].handle, reason: .terminatedByLocalHost)
      withRadio { $0.linkEnded(&$1) }
    case .endingSuperseded(let handle):
      if status == .unknownConnectionIdentifier { links.supersededEnded(handle, into: &output.packets) }
    case .connectionUpdate, .rssi, .setPHY, .readPHY:
      let answer = purpose.answer(returned, status == .success ? nil : .controller(opcode, status))
      if let answer { output.events.append(answer) }
    case .encryption(let peer): if status != .success { withSecurity(of: peer, .encryptionFailed(status)) }
    }
  }

  mutating func withRadio(_ body: (inout Radio, inout RadioTurn) -> Void) {
    var turn = radioTurn
    body(&radio, &turn)
    random = turn.random
    apply(turn.effects)
  }

  private var radioTurn: RadioTurn {
    RadioTurn(
      controller: controller, isPoweredOn: state == .poweredOn, isShuttingDown: session.isShuttingDown,
      hasLinks: !links.isEmpty, devices: bonds.devices, now: now, random: random)
  }

  /// Lets the radio look at what the input has changed, at its end.
  mutating func reviewRadio() {
    if radio.isReviewDue(bonds.revision) { withRadio { $0.review(&$1) } }
  }

  /// Connects an owner to a device: by a link that is up, else by a new one.
  mutating func connect(_ wanted: PendingConnection) {
    var request = wanted
    request.device = bonds.identity(of: wanted.device, turn.toolbox)
    let failure = radio.rejection(of: request, radioTurn).map { HostEvent.connectionFailed(request.id, $0) }
    if let answer = failure ?? links.answer(to: request) { return output.append(answer, to: request.owner.recipient) }
    withRadio { $0.connect(request, &$1) }
  }

  mutating func withServices(_ body: (inout ServiceRegistry, inout [Effect<ServiceEffect>]) -> Void) {
    var effects: [Effect<ServiceEffect>] = []
    body(&services, &effects)
    apply(effects) { core, effect in
      guard case .changed(let range) = effect else { return }
      for index in core.links.indices {
        core.withLink(index) { $0.server.serviceChanged(range, $1, now: $3.now, into: &$3.server) }
      }
    }
  }

  /// Applies the effects of a part, in order.
  ///
  /// - Parameter perform: applies one effect of the part's own.
  mutating func apply<Own>(_ effects: [Effect<Own>], _ perform: (inout HostCore, Own) -> Void) {
    for effect in effects {
      switch effect {
      case .command(let command, let purpose): send(command, for: purpose)
      case .event(let event, let recipient): output.append(event, to: recipient)
      case .directive(let directive): output.directives.append(directive)
      case .report(let origin, let text, let peer): report(origin, text, peer: peer)
      case .own(let own): perform(&self, own)
      }
    }
  }

  mutating func apply(_ effects: [Effect<Never>]) { apply(effects) { (_, _: Never) in } }

  /// Writes a line to the log. What a peer or the controller can cause is limited in rate.
  mutating func report(_ origin: Diagnostic.Origin, _ text: String, peer: PeerID? = nil) {
    withLog { [now] in $0.report(Diagnostic(origin, text, peer: peer), now: now, into: &$1) }
  }

  mutating func withLog(_ body: (inout DiagnosticLog, inout [Effect<Never>]) -> Void) {
    var effects: [Effect<Never>] = []
    body(&log, &effects)
    apply(effects)
  }
}
