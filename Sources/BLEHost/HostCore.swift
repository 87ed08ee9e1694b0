import BLEATT
package import BLECrypto
import BLEGATT
import BLEHCI
import BLEL2CAP
import BLESMP
package import BLEWire

/// The whole stack in user space, without I/O: packets, commands and time in; packets and events out.
///
/// It routes each input to the part that it concerns, and applies the effects of the part in order (Docs/Decisions/0058). The
/// parts keep one controller, any number of links, one attribute database, and what the application has declared (advertising,
/// scanning, connecting), which survives a reset of the controller.
package struct HostCore: Sendable {
  let configuration: HostConfiguration
  let cryptography: any Cryptography
  var random: RandomSource

  var session: ControllerSession
  var services: ServiceRegistry
  var links: LinkTable
  /// Reused by the inputs of links; empty between calls.
  private var turn: LinkTurn
  var radio: Radio
  var policy: SecurityPolicy
  var bonds: BondTable
  var log: DiagnosticLog
  /// When the call under way, or the last one, was made.
  var time = Instant.start

  /// Our identity: the public address, or a static random one. Peers receive ``addressOnAir``.
  package var ownAddress: DeviceAddress { radio.identity }
  /// The address that advertising, scanning and connecting use: a private one where there is to be one, else our identity.
  package var addressOnAir: DeviceAddress { radio.address }
  /// How many links are up.
  package var linkCount: Int { links.count }

  package init(configuration: HostConfiguration, cryptography: any Cryptography, random: RandomSource) {
    self.configuration = configuration
    self.cryptography = cryptography
    self.random = random
    let toolbox = SecurityToolbox(cryptography)
    session = ControllerSession(configuration)
    services = ServiceRegistry(configuration, cryptography)
    links = LinkTable(configuration)
    turn = LinkTurn(toolbox)
    radio = Radio(configuration, toolbox)
    policy = SecurityPolicy(
      configuration.pairing, kernel: configuration.ownership == .sharedWithKernel ? KernelPairings() : nil)
    bonds = BondTable(configuration)
    log = DiagnosticLog(limits: configuration.diagnosticLimits)
  }

  /// When ``tick(now:into:)`` next has work, if ever.
  package var deadline: Instant? {
    var deadline = Instant?.nearer(session.deadline, radio.deadline)
    deadline = .nearer(deadline, links.deadline)
    deadline = .nearer(deadline, bonds.deadline)
    return .nearer(deadline, log.deadline)
  }

  /// Handles one whole H4 packet from the controller.
  package mutating func receive(_ packet: Span<UInt8>, now: Instant, into output: inout HostOutput) {
    guard !packet.isEmpty else { return }
    time = now
    defer { links.review() }
    switch HCIPacketType(rawValue: packet[0]) {
    case .aclData: receiveACL(packet.extracting(1..<packet.count), now: now, into: &output)
    case .event: receiveEvent(packet.extracting(1..<packet.count), now: now, into: &output)
    // No SCO or ISO link was asked for, and a controller sends no commands.
    case .command, .synchronousData, .isoData, nil:
      report(.controller, "a packet of type 0x\(String(packet[0], radix: 16)), which nobody asked for", into: &output)
    }
    reviewRadio(now: now, into: &output)
  }

  /// Takes one ACL data packet without its indicator octet (Vol 4, Part E, 5.4.2).
  private mutating func receiveACL(_ packet: Span<UInt8>, now: Instant, into output: inout HostOutput) {
    guard let head = packet.uint16(at: 0), let length = packet.uint16(at: 2), packet.count == 4 + Int(length) else {
      return report(.controller, "an ACL packet whose length is wrong", into: &output)
    }
    // Data of a link that has just ended may still be on its way.
    guard let index = links.index(of: ConnectionHandle(rawValue: head)) else { return }
    withLink(index, now: now, into: &output) {
      $0.receive(packet.extracting(4..<packet.count), boundary: UInt8(head >> 12 & 0b11), &$1, $2, &$3)
    }
  }

  /// Performs a command of one owner.
  package mutating func perform(
    _ command: HostCommand, from owner: OwnerID, now: Instant, into output: inout HostOutput
  ) {
    time = now
    defer { links.review() }
    switch command {
    case .addService, .removeService, .setValue, .setIdentity:
      withServices(now: now, into: &output) { $0.perform(command, from: owner, into: &$1) }
    case .startAdvertising, .stopAdvertising, .startScanning, .stopScanning, .cancelConnect, .setPrivacy:
      withRadio(now: now, into: &output) { $0.perform(command, from: owner, &$1) }
    case .respond(let peer, let token, let answer):
      // The link may have ended meanwhile.
      guard let index = links.index(of: peer) else { break }
      withLink(index, now: now, into: &output) {
        $0.server.respond(
          to: token, with: answer, from: owner, $0.security, &$1, now: now, into: &$3.server)
      }
    case .update(let token, let attribute, let value, let peers):
      update(token, attribute, value, to: peers, from: owner, now: now, into: &output)
    case .disconnect(let peer, _), .release(let peer), .updateConnection(let peer, _), .readRSSI(let peer),
      .client(let peer, _), .inspect(let peer, _):
      guard let index = links.index(of: peer) else {
        output.append(command.rejection, to: owner.recipient)
        break
      }
      withLink(index, now: now, into: &output) { $0.perform(command, from: owner, &$3) }
    case .setPHY(let peer, _), .readPHY(let peer):
      guard let index = links.index(of: peer) else {
        output.append(command.rejection, to: owner.recipient)
        break
      }
      let controller = controller
      withLink(index, now: now, into: &output) {
        $0.phys.perform(command, for: owner, controller, into: &$3.effects)
      }
    case .requestSecurity(let peer):
      guard let index = links.index(of: peer) else {
        output.append(command.rejection, to: owner.recipient)
        break
      }
      withSecurity(index, now: now, into: &output) { $0.requestSecurity(for: owner, &$1, now: now, into: &$2) }
    case .secure(let peer, let demand):
      guard let index = links.index(of: peer) else {
        output.append(command.rejection, to: owner.recipient)
        break
      }
      withSecurity(index, now: now, into: &output) {
        $1.demand = demand
        $0.requestSecurity(for: owner, &$1, now: now, into: &$2)
      }
    case .setPairing, .setBonds, .bondsStored, .removeBond, .answerPairing, .authorize:
      performSecurity(command, now: now, into: &output)
    case .reportCapabilities:
      withSession(now: now, into: &output) { $0.reportCapabilities(to: owner, into: &$2) }
    case .connect(let id, let address, let parameters, let scan):
      let request = PendingConnection(id: id, owner: owner, device: address, parameters: parameters, scan: scan)
      connect(request, now: now, into: &output)
    }
    reviewRadio(now: now, into: &output)
  }

  /// Lets a link do something, sends what it wrote and applies what it causes.
  mutating func withLink(
    _ index: Int, now: Instant, into output: inout HostOutput,
    _ body: (inout Link, inout ServiceRegistry, inout BondTable, inout LinkTurn) -> Void
  ) {
    var turn = LinkTurn(self.turn.toolbox)
    swap(&turn, &self.turn)
    turn.begin(policy, now: now)
    body(&links[index], &services, &bonds, &turn)
    links[index].finish(&bonds, &turn)
    let (peer, tag) = (links[index].peer, turn.server.tag)
    turn.server.gatt.pdus.forEach { pdu in
      // Only the value itself carries the mark, not an answer that was written with it.
      let isValue = tag != 0 && pdu[0] == ATTOpcode.handleValueNotification.rawValue
      transmit(index, .attributeProtocol, pdu, tag: isValue ? tag : 0, into: &output)
    }
    apply(turn.server.effects, of: peer, now: now, into: &output)
    turn.client.gatt.pdus.forEach { pdu in
      if let index = links.index(of: peer) { transmit(index, .attributeProtocol, pdu, into: &output) }
    }
    apply(turn.client.effects, of: peer, now: now, into: &output)
    if turn.usesClient { links.noteCongestion(of: peer, &turn) }
    apply(turn.effects, of: peer, now: now, into: &output)
    turn.signalling.forEach { pdu in
      if let index = links.index(of: peer) { transmit(index, .signalling, pdu, into: &output) }
    }
    turn.removeAll()
    swap(&turn, &self.turn)
  }

  /// Sends one frame on a link; a full queue ends the link, for a frame lost on a reliable channel would break it silently.
  mutating func transmit(
    _ index: Int, _ channel: ChannelID, _ payload: Span<UInt8>, tag: UInt32 = 0, into output: inout HostOutput
  ) {
    guard !links[index].isClosing else { return }
    do throws(ACLSchedulerError) {
      _ = try links.acl.send(
        links[index].handle, cid: channel.rawValue, payload: payload, tag: tag, into: &output.packets)
    } catch {
      report(.peer, "the link is ended, for it takes no data: \(error)", peer: links[index].peer, into: &output)
      close(index, .remoteUserTerminatedConnection, now: time, into: &output)
    }
  }

  /// Applies the effects of a link.
  mutating func apply(
    _ effects: [Effect<LinkEffect>], of peer: PeerID, now: Instant, into output: inout HostOutput
  ) {
    apply(effects, now: now, into: &output) { core, effect, output in
      switch effect {
      case .copyAdded(let token): core.links.updates.addCopy(of: token)
      case .copyFinished(let token): core.finishCopy(of: token, into: &output)
      case .violated(let event, let recipient):
        if core.log.admits(.peer, peer: peer, now: now) { output.append(.client(peer, event), to: recipient) }
      case .securityPDU(let pdu):
        guard let index = core.links.index(of: peer) else { return }
        core.withSecurity(index, now: now, into: &output) { $0.receive(pdu.span, &$1, now: now, into: &$2) }
      case .encryptionWanted:
        guard let index = core.links.index(of: peer) else { return }
        core.withSecurity(index, now: now, into: &output) { $0.encryptWithBond(&$1, into: &$2) }
      case .securityWanted(let operation, let refusal):
        guard let index = core.links.index(of: peer) else { return }
        core.withSecurity(index, now: now, into: &output) { $0.secureOnDemand(&$1, now: now, into: &$2) }
        guard let index = core.links.index(of: peer) else { return }
        if core.links[index].manager.isUnderWay {
          core.links[index].client.park(operation, refusal)
        } else {
          core.withClient(index, now: now, into: &output) { $0.report(refusal, into: &$1) }
        }
      case .levelApplied(let start):
        guard let index = core.links.index(of: peer) else { return }
        core.withSecurity(index, now: now, into: &output) { $0.levelApplied(start, &$1, now: now, into: &$2) }
      case .bondProven: core.confirmIdentity(of: peer, now: now, into: &output)
      case .superseded(let handle):
        core.removeLink(handle, reason: .terminatedByLocalHost, isSuperseded: true, into: &output)
      case .mtuChanged, .recordChanged, .counterUsed, .storageEnded, .failed, .transmitted, .relieved, .securityChanged,
        .bondRestored, .clientResumed:
        guard let index = core.links.index(of: peer) else { return }
        core.withLink(index, now: now, into: &output) { $0.perform(effect, &$1, &$2, &$3) }
      }
    }
  }

  /// Does what time demands: timeouts of commands, transactions and links.
  package mutating func tick(now: Instant, into output: inout HostOutput) {
    time = now
    defer { links.review() }
    withSession(now: now, into: &output) { $0.tick(now: now, packets: &$1, into: &$2) }
    for peer in links.due(now) { tickLink(peer, now: now, into: &output) }
    withRadio(now: now, into: &output) { $0.tick(&$1) }
    reviewRadio(now: now, into: &output)
    withBonds(into: &output) { $0.tick(now: now, into: &$1) }
    var lines: [Effect<Never>] = []
    log.tick(now: now, into: &lines)
    apply(lines, now: now, into: &output)
    session.checkShutdown(now: now, hasLinks: !links.isEmpty)
  }
}
