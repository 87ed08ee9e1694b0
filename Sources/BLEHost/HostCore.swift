import BLEATT
package import BLECrypto
import BLEGATT
import BLEHCI
import BLEL2CAP
package import BLESMP
package import BLEWire

/// The whole stack in user space, without I/O: packets, commands and time in; packets and events out.
///
/// It routes each input to the part that it concerns, and applies the effects of the part in order (Docs/Decisions/0058). The
/// parts keep one controller, any number of links, one attribute database, and what the application has declared (advertising,
/// scanning, connecting), which survives a reset of the controller.
package struct HostCore: Sendable {
  let configuration: HostConfiguration
  var session: ControllerSession
  var radio: Radio
  var services: ServiceRegistry
  var links: LinkTable
  var bonds: BondTable
  var policy: SecurityPolicy
  var log: DiagnosticLog
  var random: RandomSource
  /// Reused by the inputs of links; empty between calls.
  var turn: LinkTurn
  /// The time of the input, and what it has caused.
  var now = Instant.start
  var output = HostOutput()

  package init(configuration: HostConfiguration, cryptography: any Cryptography, random: RandomSource) {
    let toolbox = SecurityToolbox(cryptography)
    self.configuration = configuration
    session = ControllerSession(configuration)
    radio = Radio(configuration, toolbox)
    services = ServiceRegistry(configuration, cryptography)
    links = LinkTable(configuration)
    bonds = BondTable(configuration)
    policy = SecurityPolicy(
      configuration.pairing, kernel: configuration.ownership == .sharedWithKernel ? KernelPairings() : nil)
    log = DiagnosticLog(limits: configuration.diagnosticLimits)
    self.random = random
    turn = LinkTurn(toolbox)
  }

  package var state: AdapterState { session.state }
  package var controller: ControllerCapabilities { session.capabilities }
  /// Whether ``shutdown(now:into:)`` is complete.
  package var isShutDown: Bool { session.isShutDown }
  /// Our identity: the public address, or a static random one. Peers receive ``addressOnAir``.
  package var ownAddress: DeviceAddress { radio.identity }
  /// The address that advertising, scanning and connecting use: a private one where there is to be one, else our identity.
  package var addressOnAir: DeviceAddress { radio.address }
  /// How many links are up.
  package var linkCount: Int { links.count }

  /// When ``tick(now:into:)`` next has work, if ever.
  package var deadline: Instant? {
    let shared = Instant?.nearer(session.deadline, .nearer(radio.deadline, links.deadline))
    return .nearer(shared, .nearer(bonds.deadline, log.deadline))
  }

  /// Handles one whole H4 packet from the controller.
  package mutating func receive(_ packet: Span<UInt8>, now: Instant, into output: inout HostOutput) {
    guard !packet.isEmpty else { return }
    begin(now, &output)
    let contents = packet.extracting(1..<packet.count)
    switch HCIPacketType(rawValue: packet[0]) {
    case .aclData: receiveACL(contents)
    case .event: receiveEvent(contents)
    // No SCO or ISO link was asked for, and a controller sends no commands.
    case .command, .synchronousData, .isoData, nil:
      report(.controller, "a packet of type 0x\(String(packet[0], radix: 16)), which nobody asked for")
    }
    reviewRadio()
    end(&output)
  }

  /// Performs a command of one owner.
  package mutating func perform(
    _ command: HostCommand, from owner: OwnerID, now: Instant, into output: inout HostOutput
  ) {
    begin(now, &output)
    switch command {
    case .addService, .removeService, .setValue, .setIdentity:
      withServices { $0.perform(command, from: owner, into: &$1) }
    case .startAdvertising, .stopAdvertising, .startScanning, .stopScanning, .cancelConnect, .setPrivacy:
      withRadio { $0.perform(command, from: owner, &$1) }
    case .reportCapabilities: withSession { $0.reportCapabilities(to: owner, into: &$2) }
    case .connect(let id, let address, let parameters, let scan):
      connect(PendingConnection(id: id, owner: owner, device: address, parameters: parameters, scan: scan))
    case .update(let token, let attribute, let value, let peers):
      update(token, attribute, value, to: peers, from: owner)
    case .setPairing, .setBonds, .bondsStored, .removeBond: performSecurity(command)
    case .respond, .disconnect, .release, .updateConnection, .readRSSI, .setPHY, .readPHY, .client, .inspect,
      .requestSecurity, .secure, .answerPairing, .authorize:
      performLink(command, from: owner)
    }
    reviewRadio()
    end(&output)
  }

  /// Does what time demands: timeouts of commands, transactions and links.
  package mutating func tick(now: Instant, into output: inout HostOutput) {
    begin(now, &output)
    withSession { $0.tick(now: now, packets: &$1, into: &$2) }
    for peer in links.due(now) {
      withLink(of: peer) { $0.tick(&$1, &$3) }
      withLink(of: peer) { $0.tickStorage(&$2, &$3) }
      withLink(of: peer) { $0.tickReconnection(&$3) }
    }
    withRadio { $0.tick(&$1) }
    reviewRadio()
    withBonds { $0.tick(now: now, into: &$1) }
    withLog { $0.tick(now: now, into: &$1) }
    session.checkShutdown(now: now, hasLinks: !links.isEmpty)
    end(&output)
  }

  /// The transport is open: brings the controller up.
  package mutating func start(now: Instant, into output: inout HostOutput) {
    begin(now, &output)
    withSession { $0.start(into: &$2) }
    end(&output)
  }

  /// The transport is closed: links have ended. ``start(now:into:)`` restores what is declared when it is open again.
  ///
  /// - Parameter state: the state of the adapter: `resetting` while it is expected back, or worse.
  package mutating func transportFailed(
    _ error: HostError, state: AdapterState = .resetting, now: Instant, into output: inout HostOutput
  ) {
    begin(now, &output)
    withSession { $0.transportFailed(error, state: state, into: &$2) }
    end(&output)
  }

  /// Prepares the end: advertising off, links ended. ``isShutDown`` says when there is nothing more to wait for.
  package mutating func shutdown(now: Instant, into output: inout HostOutput) {
    guard !session.isEnding else { return }
    begin(now, &output)
    withBonds { $0.shutdown(into: &$1) }
    withSession { $0.shutDown(now: now, into: &$2) }
    session.checkShutdown(now: now, hasLinks: !links.isEmpty)
    end(&output)
  }

  /// Takes a report of the kernel's security manager.
  package mutating func receive(_ report: SecurityReport, now: Instant, into output: inout HostOutput) {
    begin(now, &output)
    withKernel { $0?.receive(report, $1, into: &$2) }
    end(&output)
  }

  /// Reports the adapter's state and each link that is up to a new owner, and to no other one.
  package mutating func attach(_ owner: OwnerID, now: Instant, into output: inout HostOutput) {
    if state == .poweredOn { output.append(.address(radio.identity), to: owner.recipient) }
    if state != .unknown { output.append(.state(state, session.reason), to: owner.recipient) }
    output.events += links.events(for: owner)
  }

  /// Withdraws everything that an owner declared. No event answers: none has a recipient.
  ///
  /// Requests that wait for its answer get Unlikely Error; its services, advertisements, scan and pending connections are
  /// removed; the links that our central made end where no other owner uses them.
  package mutating func detach(_ owner: OwnerID, now: Instant, into output: inout HostOutput) {
    guard owner != .process else { return }
    begin(now, &output)
    session.detach(owner)
    for index in links.indices {
      withLink(index) { $0.server.rejectRequests(of: owner, $0.security, &$1, now: now, into: &$3.server) }
    }
    withServices { $0.removeAll(of: owner, into: &$1) }
    withRadio { $0.detach(owner, &$1) }
    for index in links.indices { withLink(index) { $0.release(by: owner, &$3) } }
    reviewRadio()
    end(&output)
  }

  /// Events of the call come after those that the output has already.
  private mutating func begin(_ now: Instant, _ output: inout HostOutput) {
    self.now = now
    swap(&output, &self.output)
  }

  private mutating func end(_ output: inout HostOutput) {
    links.review()
    swap(&output, &self.output)
  }
}

/// Links.
extension HostCore {
  /// Takes one ACL data packet without its indicator octet (Vol 4, Part E, 5.4.2).
  private mutating func receiveACL(_ packet: Span<UInt8>) {
    guard let head = packet.uint16(at: 0), let length = packet.uint16(at: 2), packet.count == 4 + Int(length) else {
      return report(.controller, "an ACL packet whose length is wrong")
    }
    // Data of a link that has just ended may still be on its way.
    guard let index = links.index(of: ConnectionHandle(rawValue: head)) else { return }
    withLink(index) {
      $0.receive(packet.extracting(4..<packet.count), boundary: UInt8(head >> 12 & 0b11), &$1, $2, &$3)
    }
  }

  private mutating func performLink(_ command: HostCommand, from owner: OwnerID) {
    guard let index = command.link.flatMap({ links.index(of: $0) }) else {
      if let answer = command.rejection(for: owner) { output.events.append(answer) }
      return
    }
    withLink(index) { [controller] link, services, _, turn in
      if case .respond(_, let token, let answer) = command {
        let security = link.security
        link.server.respond(
          to: token, with: answer, from: owner, security, &services, now: turn.now, into: &turn.server)
      } else {
        link.perform(command, from: owner, controller, &turn)
      }
    }
  }

  /// The same by the name of the link, which may have ended.
  mutating func withLink(
    of peer: PeerID, _ body: (inout Link, inout ServiceRegistry, inout BondTable, inout LinkTurn) -> Void
  ) {
    if let index = links.index(of: peer) { withLink(index, body) }
  }

  /// Lets a link do something, sends what it wrote and applies what it causes.
  mutating func withLink(
    _ index: Int, _ body: (inout Link, inout ServiceRegistry, inout BondTable, inout LinkTurn) -> Void
  ) {
    var turn = LinkTurn(turn.toolbox)
    swap(&turn, &self.turn)
    turn.begin(policy, now: now)
    body(&links[index], &services, &bonds, &turn)
    links[index].finish(&bonds, &turn)
    let (peer, tag) = (links[index].peer, turn.server.tag)
    // Only the value itself carries the mark, not an answer that was written with it.
    turn.server.gatt.pdus.forEach {
      send($0, on: peer, .attributeProtocol, tag: $0[0] == ATTOpcode.handleValueNotification.rawValue ? tag : 0)
    }
    apply(turn.server.effects, of: peer)
    turn.client.gatt.pdus.forEach { send($0, on: peer, .attributeProtocol) }
    apply(turn.client.effects, of: peer)
    if turn.usesClient { links.noteCongestion(of: peer, &turn) }
    apply(turn.effects, of: peer)
    turn.signalling.forEach { send($0, on: peer, .signalling) }
    turn.removeAll()
    swap(&turn, &self.turn)
  }

  /// Sends one frame on a link; a full queue ends the link, for a frame lost on a reliable channel would break it silently.
  mutating func send(_ payload: Span<UInt8>, on peer: PeerID, _ channel: ChannelID, tag: UInt32 = 0) {
    guard let index = links.index(of: peer), !links[index].isClosing else { return }
    do throws(ACLSchedulerError) {
      let handle = links[index].handle
      _ = try links.acl.send(handle, cid: channel.rawValue, payload: payload, tag: tag, into: &output.packets)
    } catch {
      report(.peer, "the link is ended, for it takes no data: \(error)", peer: peer)
      withLink(index) { $0.close(.remoteUserTerminatedConnection, &$3) }
    }
  }

  mutating func apply(_ effects: [Effect<LinkEffect>], of peer: PeerID) {
    apply(effects) { core, effect in
      switch effect {
      case .copyAdded(let token): core.links.updates.addCopy(of: token)
      case .copyFinished(let token):
        if let event = core.links.finishCopy(of: token) { core.output.events.append(event) }
      case .violated(let event, let recipient):
        if core.log.admits(.peer, peer: peer, now: core.now) { core.output.append(.client(peer, event), to: recipient) }
      case .security(let input): core.withSecurity(of: peer, input)
      case .securityWanted:
        core.withSecurity(of: peer, .refused)
        core.withLink(of: peer) { $0.perform(effect, &$1, &$2, &$3) }
      case .bondProven: core.withIdentities(of: peer) { $0.confirmIdentity(of: peer, into: &$1) }
      case .superseded(let handle): core.removeLink(handle, reason: .terminatedByLocalHost, isSuperseded: true)
      default: core.withLink(of: peer) { $0.perform(effect, &$1, &$2, &$3) }
      }
    }
  }

  private mutating func update(
    _ token: UpdateToken, _ attribute: AttributeID, _ value: [UInt8], to peers: [PeerID]?, from owner: OwnerID
  ) {
    let isAccepted = services.accepts(attribute, from: owner)
    var effects: [Effect<Never>] = []
    let tag = links.begin(token, of: attribute, isAccepted: isAccepted, for: owner, into: &effects)
    apply(effects)
    guard let tag else { return }
    for index in links.indices where !links[index].isClosing && peers?.contains(links[index].peer) ?? true {
      withLink(index) { link, services, _, turn in
        let security = link.security
        link.server.update(
          attribute, to: value, as: token, tag: tag, security, services, now: turn.now, into: &turn.server)
      }
    }
    if let event = links.finishCopy(of: token) { output.events.append(event) }
  }

  mutating func linkUp(_ new: NewLink) {
    let address = new.addressOnRadio(&bonds, turn.toolbox)
    if links.index(of: new.handle) != nil {
      report(.controller, "a second link with the handle \(new.handle); the first one is taken for dead")
      removeLink(new.handle, reason: .connectionTimeout)
    }
    links.supersededEnded(new.handle, into: &output.packets)
    let identity = new.resolved ?? bonds.identity(of: address, turn.toolbox)
    var requests: [PendingConnection] = []
    if new.role == .central { withRadio { requests = $0.connected(to: identity, &$1) } }
    let drawn = links.isReported(identity) ? DeviceAddress.drawn(&random) : nil
    let link = Link(
      peer: links.nextPeer(), handle: new.handle,
      device: PeerIdentity(address: address, identity: identity, reportedAs: drawn), ownAddress: addressOnAir,
      role: new.role, timing: new.timing, users: requests.map(\.owner), policy: policy, configuration)
    log.linkAdded(link.peer)
    let isShuttingDown = session.isShuttingDown
    withLink(links.append(link)) { $0.start(requests, isShuttingDown: isShuttingDown, $2, &$3) }
    withRadio { $0.linkAdded(asCentral: new.role == .central, &$1) }
  }

  /// - Parameter isSuperseded: the controller has not ended the link yet, and still has packets of it.
  mutating func removeLink(_ handle: ConnectionHandle, reason: HCIErrorCode, isSuperseded: Bool = false) {
    guard let index = links.index(of: handle) else { return }
    var link = links.remove(at: index, isSuperseded: isSuperseded)
    var turn = LinkTurn(turn.toolbox)
    turn.begin(policy, now: now)
    link.ending(reason, services, &bonds, &turn)
    log.linkEnded(link.peer)
    apply(turn.effects, of: link.peer)
    securityEnded(link, reason)
    if !isSuperseded { links.acl.removeLink(handle, into: &output.packets) }
    turn.removeAll()
    link.ended(reason, services, &turn)
    apply(turn.server.effects + turn.client.effects + turn.effects, of: link.peer)
  }
}
