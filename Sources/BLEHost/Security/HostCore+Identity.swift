import BLEGATT
import BLEHCI
import BLEWire

/// Which link is of which device. An address is a claim: until a link has proven the bond of its device, another link may
/// come with the same one (Docs/Decisions/0076).
///
/// ```
///   first link of an identity ──► known by the identity ──────────── the newer one proves it ──► ended
///   another one ──► known by a name of its own ── proves the bond ──► known by the identity
/// ```
extension HostCore {
  /// Whether a link is known by this identity, or has proven that it is of the device with it.
  func isTaken(_ identity: DeviceAddress) -> Bool {
    links.contains { $0.name == identity || ($0.identity == identity && $0.security.isBondProven) }
  }

  /// A name for one link: a non-resolvable private address, which no device uses twice (Vol 6, Part B, 1.3.2.2).
  mutating func drawName() -> DeviceAddress {
    DeviceAddress(octets: BD_ADDR(random.next() & 0x3FFF_FFFF_FFFF), kind: .random)
  }

  /// A link has proven the bond of its identity, by the key or by the pairing that made it. It is known by the identity from
  /// now on. A link that was known by it in the same role, or that had proven it, is ended: a device has one link with us, so
  /// the other one is left from before, or somebody else's. One with a name of its own may stay; it has no claim to lose.
  ///
  /// - Returns: where the link is now among the links.
  mutating func takeIdentity(_ index: Int, now: Instant, into output: inout HostOutput) -> Int {
    let (peer, identity, role) = (links[index].peer, links[index].identity, links[index].role)
    let others = links.filter { other in
      guard other.peer != peer, other.identity == identity, other.role == role else { return false }
      return other.name == identity || other.security.isBondProven
    }
    for other in others { retire(other, now: now, into: &output) }
    // The links before it may have gone, and it has not.
    guard let index = self.index(of: peer) else { return index }
    if links[index].name.randomKind == .nonResolvablePrivate, links[index].name != links[index].address.identity {
      links[index].name = identity
      // The application allowed it to somebody that it did not know.
      links[index].security.isAuthorized = false
      output.events.append(.identified(peer, identity))
    }
    return index
  }

  /// Ends a link for the application at once, and at the controller as soon as it can: a device out of reach takes the
  /// supervision timeout to go, and the one that has come back shall not wait for that.
  private mutating func retire(_ link: Link, now: Instant, into output: inout HostOutput) {
    report(
      .peer, "the link is ended: link \(link.peer.rawValue) has an identity that another link has proven",
      peer: link.peer,
      into: &output)
    retired.insert(link.handle)
    let handle = link.handle
    let command = HCI.Disconnect {
      $0.connectionHandle = handle
      $0.reason = .remoteUserTerminatedConnection
    }
    send(command, for: .retiring(handle), now: now, into: &output)
    removeLink(handle, reason: .terminatedByLocalHost, isRetired: true, into: &output)
  }

  /// The controller has ended a link that had ended for the application, and gives its buffers back.
  mutating func retiredLinkEnded(_ handle: ConnectionHandle, into output: inout HostOutput) {
    guard retired.remove(handle) != nil else { return }
    acl.removeLink(handle, into: &output.packets)
  }
}
