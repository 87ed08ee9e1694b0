import BLEGATT
import BLEHCI
import BLESMP
import BLEWire

/// Links coming up and going down, and inputs of several links.
extension HostCore {
  func index(of handle: ConnectionHandle) -> Int? { links.index(of: handle) }
  func index(of peer: PeerID) -> Int? { links.index(of: peer) }

  mutating func linkUp(_ new: NewLink, now: Instant, into output: inout HostOutput) {
    let address = new.addressOnRadio(&bonds, toolbox)
    if links.index(of: new.handle) != nil {
      report(.controller, "a second link with the handle \(new.handle); the first one is taken for dead", into: &output)
      removeLink(new.handle, reason: .connectionTimeout, into: &output)
    }
    links.supersededEnded(new.handle, into: &output.packets)
    let identity = new.resolved ?? bonds.identity(of: address, toolbox)
    var requests: [PendingConnection] = []
    if new.role == .central { withRadio(now: now, into: &output) { requests = $0.connected(to: identity, &$1) } }
    let drawn = links.isReported(identity) ? DeviceAddress.drawn(&random) : nil
    let link = Link(
      peer: links.nextPeer(), handle: new.handle,
      device: PeerIdentity(address: address, identity: identity, reportedAs: drawn), ownAddress: addressOnAir,
      role: new.role, timing: new.timing, users: requests.map(\.owner), policy: policy, configuration)
    log.linkAdded(link.peer)
    let isShuttingDown = session.isShuttingDown
    withLink(links.append(link), now: now, into: &output) {
      $0.start(requests, isShuttingDown: isShuttingDown, $2, &$3)
    }
    withRadio(now: now, into: &output) { $0.linkAdded(asCentral: new.role == .central, &$1) }
  }

  /// - Parameter isSuperseded: the controller has not ended the link yet, and still has packets of it.
  mutating func removeLink(
    _ handle: ConnectionHandle, reason: HCIErrorCode, isSuperseded: Bool = false, into output: inout HostOutput
  ) {
    guard let index = links.index(of: handle) else { return }
    var link = links.remove(at: index, isSuperseded: isSuperseded)
    var turn = LinkTurn(toolbox)
    turn.begin(policy, now: time)
    link.ending(reason, services, &bonds, &turn)
    log.linkEnded(link.peer)
    apply(turn.effects, of: link.peer, now: time, into: &output)
    securityEnded(link, reason, into: &output)
    if !isSuperseded { links.acl.removeLink(handle, into: &output.packets) }
    turn.removeAll()
    link.ended(reason, services, &turn)
    apply(turn.server.effects + turn.client.effects + turn.effects, of: link.peer, now: time, into: &output)
  }

  mutating func close(_ index: Int, _ reason: HCIErrorCode, now: Instant, into output: inout HostOutput) {
    withLink(index, now: now, into: &output) { $0.close(reason, &$3) }
  }

  mutating func withClient(
    _ index: Int, now: Instant, into output: inout HostOutput,
    _ body: (inout LinkClient, inout LinkClient.Output) -> Void
  ) {
    withLink(index, now: now, into: &output) { $0.useClient(&$3, body) }
  }

  mutating func tickLink(_ peer: PeerID, now: Instant, into output: inout HostOutput) {
    guard let index = links.index(of: peer) else { return }
    withLink(index, now: now, into: &output) { $0.tick(&$1, &$3) }
    withLink(index, now: now, into: &output) { $0.tickStorage(&$2, &$3) }
    if let deadline = links[index].manager.deadline, deadline <= now {
      withSecurity(index, now: now, into: &output) { $0.tick(&$1, now: now, into: &$2) }
    }
    withLink(index, now: now, into: &output) { $0.tickReconnection(&$3) }
  }

  mutating func update(
    _ token: UpdateToken, _ attribute: AttributeID, _ value: [UInt8], to peers: [PeerID]?, from owner: OwnerID,
    now: Instant, into output: inout HostOutput
  ) {
    var effects: [Effect<Never>] = []
    let isAccepted = services.accepts(attribute, from: owner)
    let tag = links.begin(token, of: attribute, isAccepted: isAccepted, for: owner, into: &effects)
    apply(effects, now: now, into: &output)
    guard let tag else { return }
    for index in links.indices where !links[index].isClosing && peers?.contains(links[index].peer) ?? true {
      withLink(index, now: now, into: &output) {
        $0.server.update(attribute, to: value, as: token, tag: tag, $0.security, $1, now: now, into: &$3.server)
      }
    }
    finishCopy(of: token, into: &output)
  }

  /// One copy of a value has left, or its link has gone.
  mutating func finishCopy(of token: UpdateToken, into output: inout HostOutput) {
    if let owner = links.updates.finishCopy(of: token) { output.append(.updateFinished(token), to: owner.recipient) }
  }

  /// Number Of Completed Packets: frames have left, and clients that waited for that go on.
  mutating func packetsCompleted(_ parameters: Span<UInt8>, now: Instant, into output: inout HostOutput) {
    var effects: [Effect<Never>] = []
    let completed = links.completed(parameters, into: &output.packets, &effects)
    apply(effects, now: now, into: &output)
    for (peer, effect) in completed {
      guard let index = links.index(of: peer) else { continue }
      withLink(index, now: now, into: &output) { $0.perform(effect, &$1, &$2, &$3) }
    }
  }

  /// The store has bonds as they were reported.
  mutating func bondsStored(_ stored: [Bond], now: Instant, into output: inout HostOutput) {
    bonds.stored(stored)
    for peer in links.map(\.peer) {
      if let index = links.index(of: peer) { withLink(index, now: now, into: &output) { $0.bondsStored(&$3) } }
    }
  }
}
