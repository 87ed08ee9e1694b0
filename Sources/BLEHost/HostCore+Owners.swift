import BLEATT
import BLEGATT
import BLEHCI
package import BLEWire

/// Owners that attach and detach, and links that several of them use.
extension HostCore {
  /// Reports the adapter's state and each link that is up to a new owner, and to no other one.
  package mutating func attach(_ owner: OwnerID, now: Instant, into output: inout HostOutput) {
    time = now
    let recipient = owner.recipient
    if state != .unknown { output.append(.state(state, session.reason), to: recipient) }
    for link in links {
      output.append(.connected(link.connection(request: nil)), to: recipient)
      let mtu = link.client.mtu
      if mtu != ATT.defaultMTU { output.append(.mtu(link.peer, mtu), to: recipient) }
      if link.security != .none { output.append(.security(link.peer, link.security), to: recipient) }
    }
  }

  /// Withdraws everything that an owner declared. No event answers: none has a recipient.
  ///
  /// Requests that wait for its answer get Unlikely Error; its services, advertisements, scan and pending connections are
  /// removed; the links that our central made end where no other owner uses them.
  package mutating func detach(_ owner: OwnerID, now: Instant, into output: inout HostOutput) {
    guard owner != .process else { return }
    time = now
    defer { links.review() }
    for peer in links.map(\.peer) { rejectRequests(of: owner, on: peer, now: now, into: &output) }
    withServices(now: now, into: &output) { $0.removeAll(of: owner, into: &$1) }
    withRadio(now: now, into: &output) { $0.detach(owner, &$1) }
    for peer in links.map(\.peer) {
      if let index = index(of: peer) { release(index, by: owner, now: now, into: &output) }
    }
    reviewRadio(now: now, into: &output)
  }

  /// Answers the request that waits for an owner, and those that follow it in the queue of the link's server.
  private mutating func rejectRequests(
    of owner: OwnerID, on peer: PeerID, now: Instant, into output: inout HostOutput
  ) {
    while let index = index(of: peer), let token = links[index].server.awaits(owner) {
      respond(peer, token, .failure(.unlikelyError), from: owner, now: now, into: &output)
    }
  }

  /// Ends an owner's use of a link; a link that our central made ends when no owner uses it.
  mutating func release(_ index: Int, by owner: OwnerID, now: Instant, into output: inout HostOutput) {
    guard links[index].client.removeUser(owner) else { return }
    guard links[index].role == .central else { return }
    if links[index].client.users.isEmpty {
      close(index, .remoteUserTerminatedConnection, now: now, into: &output)
    } else {
      output.append(.disconnected(links[index].peer, .terminatedByLocalHost), to: owner.recipient)
    }
  }

  /// Lets an owner use a link that our central made for other owners, in the place of a new one.
  ///
  /// - Returns: whether there is such a link.
  mutating func shareLink(
    to address: DeviceAddress, with owner: OwnerID, _ request: ConnectID, into output: inout HostOutput
  ) -> Bool {
    let index = links.firstIndex {
      $0.identity == address.identity && $0.role == .central && !$0.isClosing && !$0.client.users.contains(owner)
    }
    guard let index else { return false }
    links[index].client.addUser(owner)
    output.append(.connected(links[index].connection(request: request)), to: owner.recipient)
    return true
  }
}

extension Link {
  /// The link as it is reported.
  func connection(request: ConnectID?) -> Connection {
    Connection(peer: peer, address: reportedAddress, role: role, timing: timing, request: request)
  }
}
