import BLEATT
import BLEGATT
import BLEHCI
import BLEL2CAP
import BLEWire

extension GATTClient.OperationID {
  /// The one operation the stack asks for by itself: the MTU exchange of a central.
  static let stack = Self(rawValue: .max)
}

extension Link {
  /// The owner whose operation an event ends; else the users of the link.
  mutating func takeRecipient(of event: GATTClient.Event) -> Recipient {
    if case .finished(let id, _) = event { return operationOwners.removeValue(forKey: id)?.recipient ?? .everyone }
    return Recipient(users) ?? .everyone
  }
}

/// The client's half of a link: what we ask of the peer's server.
extension HostCore {
  mutating func client(
    _ peer: PeerID, _ operation: GATTClient.Operation, from owner: OwnerID, now: Instant, into output: inout HostOutput
  ) {
    guard let index = index(of: peer) else {
      return output.append(.client(peer, .finished(operation.id, .failure(.linkEnded))), to: owner.recipient)
    }
    if refusesOperations(links[index]) {
      return output.append(.client(peer, .finished(operation.id, .failure(.notEncrypted))), to: owner.recipient)
    }
    if !links[index].users.contains(owner) { links[index].users.append(owner) }
    links[index].operationOwners[operation.id] = owner
    noteOperation(operation, on: index)
    links[index].client.perform(operation, now: now, into: &scratch.client)
    drainClient(index, now: now, into: &output)
  }

  /// A central raises the MTU as the first thing on a link; a peripheral asks for nothing unasked.
  mutating func exchangeMTU(_ index: Int, now: Instant, into output: inout HostOutput) {
    links[index].client.perform(
      GATTClient.Operation(id: .stack, .exchangeMTU(configuration.serverLimits.maximumMTU)), now: now,
      into: &scratch.client)
    drainClient(index, now: now, into: &output)
  }

  /// Lets clients go on whose frames have left.
  mutating func relieveCongestion(now: Instant, into output: inout HostOutput) {
    for index in links.indices where links[index].client.isCongested {
      guard let backlog = acl.backlog(links[index].handle), backlog.frames < configuration.congestion.below else {
        continue
      }
      links[index].client.setCongested(false, now: now, into: &scratch.client)
      drainClient(index, now: now, into: &output)
    }
  }

  mutating func drainClient(_ index: Int, now: Instant, into output: inout HostOutput) {
    if links[index].client.awaitsSignCounter { allowSigning(index, now: now, into: &output) }
    guard !scratch.client.pdus.isEmpty || !scratch.client.events.isEmpty else { return }
    var drained = GATTClient.Output()
    swap(&drained, &scratch.client)
    drained.pdus.forEach { transmit(index, .attributeProtocol, $0, into: &output) }
    for event in drained.events {
      switch event {
      case .finished(.stack, _): break
      case .notification, .indication, .servicesChanged:
        if links[index].reconnection == .none {
          output.append(.client(links[index].peer, event), to: links[index].takeRecipient(of: event))
        } else {
          reportDroppedUpdate(index, into: &output)
        }
      case .finished(let id, let result):
        if !parks(id, result, event, on: index, now: now, into: &output) {
          output.append(.client(links[index].peer, event), to: links[index].takeRecipient(of: event))
        }
      case .mtu(let mtu):
        links[index].server.setMTU(mtu)
        output.append(.mtu(links[index].peer, mtu))
      case .bearerFailed:
        report(
          .peer, "an ATT request had no answer in 30 seconds: the link is ended", peer: links[index].peer, into: &output
        )
        closings.append(links[index].peer)
        output.append(.client(links[index].peer, event), to: links[index].takeRecipient(of: event))
      case .violation:
        if log.admits(.peer, peer: links[index].peer, now: now) {
          output.append(.client(links[index].peer, event), to: links[index].takeRecipient(of: event))
        }
      }
    }
    drained.removeAll()
    swap(&drained, &scratch.client)
    if let backlog = acl.backlog(links[index].handle), backlog.frames >= configuration.congestion.from,
      !links[index].client.isCongested
    {
      links[index].client.setCongested(true, now: now, into: &scratch.client)
    }
    if !closings.isEmpty { endClosings(now: now, into: &output) }
  }
}
