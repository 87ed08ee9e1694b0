import BLEGATT
import BLEHCI
import BLEWire

/// Links that claim an identity, and the link that has proven it (Docs/Decisions/0050). Any device can use the address of another
/// one.
///
/// ```
///   first link of an identity ──► reported by the identity ───────────── another link proves it ──► ended
///   another link ──► reported by a drawn address ── proves the bond ──► reported by the identity
/// ```
extension HostCore {
  /// Reports a link by its identity from now on: it has proven the bond, by the key or by the pairing that made it.
  ///
  /// Another link in the same role that is reported by the identity, or has proven it, is ended. A device has one link with us
  /// in a role: the other link is left from before, or of another device. A link that is reported by a drawn address stays.
  ///
  /// - Returns: the index of the link, which changes when other links end.
  mutating func confirmIdentity(_ index: Int, now: Instant, into output: inout HostOutput) -> Int {
    let (peer, identity, role) = (links[index].peer, links[index].identity, links[index].role)
    let others = links.filter { other in
      guard other.peer != peer, other.identity == identity, other.role == role else { return false }
      return other.reportedAddress == identity || other.security.isBondProven
    }
    for other in others { endSuperseded(other, now: now, into: &output) }
    guard let index = self.index(of: peer) else { return index }
    if links[index].reportedAddress.randomKind == .nonResolvablePrivate,
      links[index].reportedAddress != links[index].address.identity
    {
      links[index].reportedAddress = identity
      // The application authorized an unknown device.
      links[index].security.isAuthorized = false
      output.append(.identified(peer, identity))
    }
    return index
  }

  /// Ends a link for the application at once, and at the controller as soon as possible. The controller needs the supervision
  /// timeout for a device out of range, and the device that has reconnected does not wait for that.
  private mutating func endSuperseded(_ link: Link, now: Instant, into output: inout HostOutput) {
    report(
      .peer, "the link is ended: link \(link.peer.rawValue) has an identity that another link has proven",
      peer: link.peer,
      into: &output)
    let handle = link.handle
    let command = HCI.Disconnect {
      $0.connectionHandle = handle
      $0.reason = .remoteUserTerminatedConnection
    }
    send(command, for: .endingSuperseded(handle), now: now, into: &output)
    removeLink(handle, reason: .terminatedByLocalHost, isSuperseded: true, into: &output)
  }
}
