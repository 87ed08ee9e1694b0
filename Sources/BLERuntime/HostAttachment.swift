package import BLEGATT
package import BLEHost

/// An owner of declarations on a host. When the attachment is released, its sink receives nothing more, and the host
/// withdraws the owner's declarations: services, advertisements, a scan, pending connections, and links that no other
/// owner uses.
package final class HostAttachment: Sendable {
  /// Keeps the host referenced.
  private let host: Host
  private let mailbox: HostMailbox<HostCommand, HostEvent>
  private let owner: OwnerID

  init(host: Host, owner: OwnerID) {
    self.host = host
    mailbox = host.mailbox
    self.owner = owner
  }

  deinit { mailbox.detach(owner) }

  /// The port for commands of this owner.
  package var commands: CommandPort { CommandPort(to: self) }

  /// The counters of the host.
  package var counters: HostCounters { mailbox.counters }

  /// Reports that the owner has handled `count` of its events.
  package func consumed(_ count: Int) { mailbox.consumed(count, by: owner) }
}

extension HostAttachment: CommandReceiver {
  package func enqueue(_ command: HostCommand, octets: Span<UInt8>) -> CommandAdmission {
    mailbox.enqueue(command, octets: octets, from: owner)
  }

  package func enqueueUpdate(of attribute: AttributeID, octets: Span<UInt8>, to peers: [LinkID]) -> CommandAdmission {
    mailbox.enqueueUpdate(of: attribute, octets: octets, to: peers, from: owner)
  }

  package func wake() { mailbox.wake() }
}
