import BLEGATT
import BLEHCI
package import BLEWire

/// The session with the controller, and what its effects cause in other parts.
extension HostCore {
  package var state: AdapterState { session.state }
  package var controller: ControllerCapabilities { session.capabilities }
  /// Whether ``shutdown(now:into:)`` is complete.
  package var isShutDown: Bool { session.isShutDown }

  /// The transport is open: brings the controller up.
  package mutating func start(now: Instant, into output: inout HostOutput) {
    time = now
    defer { links.review() }
    withSession(now: now, into: &output) { $0.start(into: &$2) }
  }

  /// The transport is closed: links have ended. ``start(now:into:)`` restores what is declared when it is open again.
  ///
  /// - Parameter state: the state of the adapter: `resetting` while it is expected back, or worse.
  package mutating func transportFailed(
    _ error: HostError, state: AdapterState = .resetting, now: Instant, into output: inout HostOutput
  ) {
    time = now
    defer { links.review() }
    withSession(now: now, into: &output) { $0.transportFailed(error, state: state, into: &$2) }
  }

  /// Prepares the end: advertising off, links ended. ``isShutDown`` says when there is nothing more to wait for.
  package mutating func shutdown(now: Instant, into output: inout HostOutput) {
    guard !session.isEnding else { return }
    time = now
    defer { links.review() }
    withBonds(into: &output) { $0.shutdown(into: &$1) }
    withSession(now: now, into: &output) { $0.shutDown(now: now, into: &$2) }
    session.checkShutdown(now: now, hasLinks: !links.isEmpty)
  }

  /// Sends a command, or queues it until the controller takes one.
  mutating func send(
    _ command: some HCICommand, for purpose: Purpose, now: Instant, into output: inout HostOutput
  ) {
    withSession(now: now, into: &output) { $0.send(command, for: purpose, now: now, packets: &$1, into: &$2) }
  }

  mutating func withSession(
    now: Instant, into output: inout HostOutput,
    _ body: (inout ControllerSession, inout PacketBuffer, inout [Effect<SessionEffect>]) -> Void
  ) {
    var effects: [Effect<SessionEffect>] = []
    body(&session, &output.packets, &effects)
    apply(effects, now: now, into: &output) { core, effect, output in
      switch effect {
      case .chooseAddress:
        let publicAddress = core.controller.publicAddress
        core.withRadio(now: now, into: &output) { $0.begin(with: publicAddress, &$1) }
        let address = core.addressOnAir
        core.withSession(now: now, into: &output) { $0.addressChosen(address, into: &$2) }
      case .ready: core.restore(now: now, into: &output)
      case .lost: core.suspend(into: &output)
      case .stop: core.stop(now: now, into: &output)
      case .answered(let purpose, let opcode, let status, let returned):
        core.finish(purpose, opcode, status, returned, now: now, into: &output)
      case .abandoned(let purpose):
        // The state that follows says the rest.
        if let answer = purpose.answer([], .notPoweredOn) { output.events.append(answer) }
      case .keyMissed(let handle):
        guard let index = core.index(of: handle) else { return }
        core.withSecurity(index, now: now, into: &output) { $0.keyMissed($1, into: &$2) }
      }
    }
  }

  /// The controller is up: it is given what is declared.
  private mutating func restore(now: Instant, into output: inout HostOutput) {
    links.acl.setBuffers(length: controller.aclLength, count: controller.aclCount)
    services.database.setCentralAddressResolution(controller.resolvedPeers > 0)
    withKernel(now: now, into: &output) { $0?.restore($1, into: &$2) }
    withRadio(now: now, into: &output) { $0.restore(&$1) }
  }

  /// The controller has lost its state: every link and every activity ends.
  private mutating func suspend(into output: inout HostOutput) {
    for link in links.reversed() { removeLink(link.handle, reason: .hardwareFailure, into: &output) }
    links.reset()
    radio.suspend()
  }

  /// Switches everything off and ends the links.
  private mutating func stop(now: Instant, into output: inout HostOutput) {
    withRadio(now: now, into: &output) { $0.stop(&$1) }
    for index in links.indices { close(index, .remoteUserTerminatedConnection, now: now, into: &output) }
  }

  /// A command has ended that a part or a link has sent.
  private mutating func finish(
    _ purpose: Purpose, _ opcode: HCIOpcode, _ status: HCIErrorCode, _ returned: Bytes, now: Instant,
    into output: inout HostOutput
  ) {
    switch purpose {
    case .setup, .reply: break
    case .advertising, .scanning, .initiating, .address:
      withRadio(now: now, into: &output) { $0.answered(purpose, opcode, status, &$1) }
    case .disconnect(let peer):
      // The link ended before the command arrived; its Disconnection Complete is on its way or was lost.
      if status == .unknownConnectionIdentifier, let index = index(of: peer) {
        removeLink(links[index].handle, reason: .terminatedByLocalHost, into: &output)
        withRadio(now: now, into: &output) { $0.linkEnded(&$1) }
      }
    case .endingSuperseded(let handle):
      if status == .unknownConnectionIdentifier { links.supersededEnded(handle, into: &output.packets) }
    case .connectionUpdate, .rssi, .setPHY, .readPHY:
      let answer = purpose.answer(returned, status == .success ? nil : .controller(opcode, status))
      if let answer { output.events.append(answer) }
    case .encryption(let peer):
      guard status != .success, let index = links.index(of: peer) else { return }
      withSecurity(index, now: now, into: &output) { $0.encryptionFailed(status, &$1, now: now, into: &$2) }
    }
  }
}
