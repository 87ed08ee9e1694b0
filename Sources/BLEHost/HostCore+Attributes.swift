import BLEATT
import BLEGATT
import BLEHCI
import BLEL2CAP
import BLESMP
import BLEWire

/// The servers and clients of the links: what comes to them, and what their effects cause in other parts.
extension HostCore {
  /// Lets the server of a link do something, sends what it wrote and applies what it causes.
  mutating func withServer(
    _ index: Int, now: Instant, into output: inout HostOutput,
    _ body: (inout LinkServer, SecurityState, inout ServiceRegistry, inout LinkServer.Output) -> Void
  ) {
    var written = LinkServer.Output()
    swap(&written, &scratch.server)
    let (peer, security) = (links[index].peer, links[index].security)
    body(&links[index].server, security, &services, &written)
    let tag = written.tag
    written.gatt.pdus.forEach { pdu in
      // Only the value itself carries the mark, not an answer that was written with it.
      let isValue = tag != 0 && pdu[0] == ATTOpcode.handleValueNotification.rawValue
      transmit(index, .attributeProtocol, pdu, tag: isValue ? tag : 0, into: &output)
    }
    apply(written.effects, of: peer, now: now, into: &output)
    written.removeAll()
    swap(&written, &scratch.server)
  }

  mutating func apply(
    _ effects: [Effect<LinkServerEffect>], of peer: PeerID, now: Instant, into output: inout HostOutput
  ) {
    apply(effects, now: now, into: &output) { core, effect, output in
      let index = core.links.index(of: peer)
      switch effect {
      case .copyAdded(let token): core.links.updates.addCopy(of: token)
      case .copyFinished(let token): core.finishCopy(of: token, into: &output)
      case .mtuChanged(let mtu): if let index { core.links[index].client.setMTU(mtu) }
      case .recordChanged: if let index { core.keepRecord(of: core.links[index], into: &output) }
      case .counterUsed(let counter):
        guard let index else { return }
        let identity = core.links[index].identity
        core.withBonds(into: &output) { $0.usePeerCounter(counter, of: identity, into: &$1) }
        core.deliverSigned(index, now: now, into: &output)
      case .failed:
        guard let index else { return }
        core.close(index, .remoteUserTerminatedConnection, now: now, into: &output)
      }
    }
  }

  /// Lets the client of a link do something, sends what it wrote and applies what it causes.
  mutating func withClient(
    _ index: Int, now: Instant, into output: inout HostOutput,
    _ body: (inout LinkClient, inout LinkClient.Output) -> Void
  ) {
    var written = LinkClient.Output()
    swap(&written, &scratch.client)
    let peer = links[index].peer
    body(&links[index].client, &written)
    if links[index].client.needsCounters { grantCounters(index, &written, now: now, into: &output) }
    written.gatt.pdus.forEach { transmit(index, .attributeProtocol, $0, into: &output) }
    links[index].client.translate(into: &written)
    apply(written.effects, of: peer, now: now, into: &output)
    written.removeAll()
    noteCongestion(of: peer, &written, now: now)
    swap(&written, &scratch.client)
  }

  mutating func apply(
    _ effects: [Effect<LinkClientEffect>], of peer: PeerID, now: Instant, into output: inout HostOutput
  ) {
    apply(effects, now: now, into: &output) { core, effect, output in
      guard let index = core.links.index(of: peer) else { return }
      switch effect {
      case .mtuChanged(let mtu): core.links[index].server.setMTU(mtu)
      case .securityWanted(let operation, let refusal):
        if core.beginsSecuring(index, now: now, into: &output) {
          core.links[index].client.park(operation, refusal)
        } else {
          core.withClient(index, now: now, into: &output) { $0.report(refusal, into: &$1) }
        }
      case .violated(let event, let recipient):
        if core.log.admits(.peer, peer: peer, now: now) { output.append(.client(peer, event), to: recipient) }
      case .failed: core.close(index, .remoteUserTerminatedConnection, now: now, into: &output)
      }
    }
  }

  /// The client needs sign counters: those that are stored as reserved at once, else when they are stored.
  private mutating func grantCounters(
    _ index: Int, _ written: inout LinkClient.Output, now: Instant, into output: inout HostOutput
  ) {
    let (identity, until) = (links[index].identity, now + configuration.bondStorageTimeout)
    while links[index].client.needsCounters {
      let grant = withBonds(into: &output) { $0.takeCounters(of: identity, into: &$1) }
      links[index].client.take(grant, until: until, now: now, into: &written)
      if grant == .awaited { return }
    }
  }

  /// A client whose frames wait sends no more commands, until ``relieveCongestion(now:into:)``.
  private mutating func noteCongestion(of peer: PeerID, _ written: inout LinkClient.Output, now: Instant) {
    guard let index = links.index(of: peer), !links[index].client.isCongested,
      let backlog = acl.backlog(links[index].handle), backlog.frames >= configuration.congestion.from
    else { return }
    links[index].client.setCongested(true, now: now, into: &written)
    links.congested.insert(peer)
  }

  /// Lets clients go on whose frames have left.
  mutating func relieveCongestion(now: Instant, into output: inout HostOutput) {
    guard !links.congested.isEmpty else { return }
    for peer in links.congested.sorted(by: { $0.rawValue < $1.rawValue }) {
      guard let index = links.index(of: peer), let backlog = acl.backlog(links[index].handle),
        backlog.frames < configuration.congestion.below
      else { continue }
      links.congested.remove(peer)
      withClient(index, now: now, into: &output) { $0.setCongested(false, now: now, into: &$1) }
    }
  }

  /// Takes one ATT PDU; its opcode says for which half of the link it is (Vol 3, Part F, 3.3).
  mutating func receiveATT(_ index: Int, _ pdu: Span<UInt8>, now: Instant, into output: inout HostOutput) {
    guard !pdu.isEmpty else { return }
    if pdu[0] == ATTOpcode.signedWriteCommand.rawValue {
      let (bond, toolbox) = (bonds[links[index].identity], toolbox)
      withServer(index, now: now, into: &output) {
        $0.receiveSigned(pdu, $1, bond: bond, toolbox, now: now, into: &$3)
      }
    } else if ATTOpcode(rawValue: pdu[0]).isSentByServer {
      withClient(index, now: now, into: &output) { $0.receive(pdu, now: now, into: &$1) }
    } else {
      withServer(index, now: now, into: &output) { $0.receive(pdu, $1, &$2, now: now, into: &$3) }
    }
  }
}

/// Commands of owners, and values on their way.
extension HostCore {
  /// Lets the registry do something and applies what it causes.
  mutating func withServices(
    now: Instant, into output: inout HostOutput, _ body: (inout ServiceRegistry, inout [Effect<ServiceEffect>]) -> Void
  ) {
    var effects: [Effect<ServiceEffect>] = []
    body(&services, &effects)
    apply(effects, now: now, into: &output) { core, effect, output in
      switch effect {
      case .changed(let range):
        for index in core.links.indices {
          core.withServer(index, now: now, into: &output) { $0.serviceChanged(range, $2, now: now, into: &$3) }
        }
      }
    }
  }

  mutating func performService(
    _ command: HostCommand, from owner: OwnerID, now: Instant, into output: inout HostOutput
  ) {
    withServices(now: now, into: &output) { services, effects in
      switch command {
      case .addService(let definition): services.add(definition, for: owner, into: &effects)
      case .removeService(let id): services.remove(id, of: owner, into: &effects)
      case .setValue(let attribute, let value): services.setValue(attribute, value, from: owner, into: &effects)
      case .setIdentity(let name, let appearance): services.setIdentity(name: name, appearance: appearance)
      default: break
      }
    }
  }

  mutating func respond(
    _ peer: PeerID, _ token: RequestToken, _ answer: RequestAnswer, from owner: OwnerID, now: Instant,
    into output: inout HostOutput
  ) {
    // The link may have ended meanwhile.
    guard let index = links.index(of: peer) else { return }
    withServer(index, now: now, into: &output) {
      $0.respond(to: token, with: answer, from: owner, $1, &$2, now: now, into: &$3)
    }
  }

  mutating func update(
    _ token: UpdateToken, _ attribute: AttributeID, _ value: [UInt8], to peers: [PeerID]?, from owner: OwnerID,
    now: Instant, into output: inout HostOutput
  ) {
    guard services.accepts(attribute, from: owner) else {
      output.append(.refused(.invalidParameters("\(DatabaseError.unknownAttribute(attribute))")), to: owner.recipient)
      return output.append(.updateFinished(token), to: owner.recipient)
    }
    let limit = configuration.maximumPendingUpdates
    guard let tag = links.updates.begin(token, of: owner, limit: limit) else {
      output.append(.refused(.tooMany("values waiting to be notified", limit: limit)), to: owner.recipient)
      return output.append(.updateFinished(token), to: owner.recipient)
    }
    for index in links.indices where !links[index].isClosing && peers?.contains(links[index].peer) ?? true {
      withServer(index, now: now, into: &output) {
        $0.update(attribute, to: value, as: token, tag: tag, $1, $2, now: now, into: &$3)
      }
    }
    finishCopy(of: token, into: &output)
  }

  /// One copy of a value has left, or its link has gone.
  private mutating func finishCopy(of token: UpdateToken, into output: inout HostOutput) {
    if let owner = links.updates.finishCopy(of: token) { output.append(.updateFinished(token), to: owner.recipient) }
  }

  /// Frames that the controller has sent.
  mutating func transmitted(_ frames: TransmittedFrames, now: Instant, into output: inout HostOutput) {
    guard let index = links.index(of: frames.handle), let token = links.updates.token(of: frames.tag) else { return }
    withServer(index, now: now, into: &output) { $0.transmitted(token, count: frames.count, into: &$3) }
  }

  mutating func client(
    _ peer: PeerID, _ operation: GATTClient.Operation, from owner: OwnerID, now: Instant, into output: inout HostOutput
  ) {
    guard let index = links.index(of: peer) else {
      return output.append(.client(peer, .finished(operation.id, .failure(.linkEnded))), to: owner.recipient)
    }
    let isRaised = links[index].role == .central && policy.pairsOnDemand
    let isQueued = policy.queuesOperationsAfterBondLoss
    withClient(index, now: now, into: &output) {
      $0.perform(
        operation, for: owner, pairsOnDemand: isRaised, queuesAfterBondLoss: isQueued, now: now, into: &$1)
    }
  }
}

/// Signed writes, and what a link's encryption means for both halves.
extension HostCore {
  /// Gives a link's client what it signs with; counters come when it needs some.
  mutating func setSigningKey(_ index: Int) {
    guard let key = bonds[links[index].identity]?.ownCSRK else { return }
    links[index].client.setSigningKey(key, toolbox)
  }

  /// Hands the server the signed writes whose counters are stored.
  private mutating func deliverSigned(_ index: Int, now: Instant, into output: inout HostOutput) {
    let store = bonds.store(of: links[index].identity)
    withServer(index, now: now, into: &output) { $0.deliver(store, $1, &$2, now: now, into: &$3) }
  }

  /// The store has not answered in time: nothing waits for it until it answers again.
  mutating func tickStorage(_ index: Int, now: Instant, into output: inout HostOutput) {
    guard links[index].client.isStorageLate(now: now) || links[index].server.isStorageLate(now: now) else { return }
    bonds.storeFailed()
    withClient(index, now: now, into: &output) { $0.counterTimedOut(now: now, into: &$1) }
    deliverSigned(index, now: now, into: &output)
  }

  /// The store has bonds as they were reported.
  mutating func bondsStored(_ stored: [Bond], now: Instant, into output: inout HostOutput) {
    bonds.stored(stored)
    for peer in links.map(\.peer) {
      guard let index = links.index(of: peer) else { continue }
      withClient(index, now: now, into: &output) { _, _ in }
      deliverSigned(index, now: now, into: &output)
    }
  }

  /// Starts the client of a link that our central made: with a bonded peripheral the link is encrypted first.
  mutating func startClient(_ index: Int, now: Instant, into output: inout HostOutput) {
    let key = bonds[links[index].identity]?.centralKey
    let until = key.map { _ in now + configuration.encryptionTimeout }
    withClient(index, now: now, into: &output) { $0.start(encryptedUntil: until, now: now, into: &$1) }
    guard let key else { return }
    if isSecuredBySystem {
      secureBySystem(index, isAuthenticated: key.strength.isAuthenticated, isConsented: false, now: now, into: &output)
    } else {
      withSecurity(index, now: now, into: &output) { $0.encrypt(with: key, .bond, into: &$2) }
    }
  }

  /// The link is encrypted: the client may send, and asks again what was refused for want of it.
  mutating func resumeClient(_ index: Int, now: Instant, into output: inout HostOutput) {
    withClient(index, now: now, into: &output) { $0.resume(now: now, into: &$1) }
    withClient(index, now: now, into: &output) { $0.repeatParked(now: now, into: &$1) }
  }

  /// Reports a bond loss on a link that is still up, and ends or keeps the operations that wait.
  mutating func bondKeyFailed(_ index: Int, _ loss: BondLoss, now: Instant, into output: inout HostOutput) {
    output.append(.bondLost(links[index].peer, links[index].identity, loss))
    let isQueued = policy.queuesOperationsAfterBondLoss
    withClient(index, now: now, into: &output) { $0.bondLost(queuesOperations: isQueued, now: now, into: &$1) }
  }

  /// Ends a link whose encryption neither succeeds nor fails, although the controller should have ended it (Vol 6, Part B,
  /// 5.2).
  mutating func tickReconnection(_ index: Int, now: Instant, into output: inout HostOutput) {
    guard let deadline = links[index].client.reconnection.deadline, deadline <= now else { return }
    links[index].manager.stopEncryption()
    bondKeyFailed(index, .notEncrypted(.linkLayerResponseTimeout), now: now, into: &output)
    close(index, .authenticationFailure, now: now, into: &output)
  }

  /// Reports the subscriptions that are in force on a link as it is secured now, where that is news.
  mutating func reportSubscriptions(_ index: Int, into output: inout HostOutput) {
    withServer(index, now: time, into: &output) { $0.securityChanged($1, $2, into: &$3) }
  }

  /// A bonded device has proved that it is the one: it gets back what it had configured.
  mutating func recognised(_ index: Int, now: Instant, into output: inout HostOutput) {
    guard let bond = bonds[links[index].identity] else { return }
    links[index].client.startCaching(bond.attributeCache)
    withServer(index, now: now, into: &output) { $0.restore(bond.client, $1, $2, now: now, into: &$3) }
  }
}
