package import BLEGATT
package import BLEHost

/// One owner of what it declares on a host. When it is released its sink receives nothing more, and the host withdraws
/// what it declared: services, advertisements, a scan, pending connections, and links that no other owner uses.
package final class HostAttachment: Sendable {
  /// Kept while the attachment is.
  private let host: Host
  private let mailbox: HostMailbox<HostCommand, HostEvent>
  private let owner: OwnerID

  init(host: Host, owner: OwnerID) {
    self.host = host
    mailbox = host.mailbox
    self.owner = owner
  }

  deinit { mailbox.detach(owner) }

  /// Posts a command of this owner; commands are performed in the order in which they are posted. The call does not
  /// wait.
  ///
  /// - Returns: false where the command was rejected: the stack has ended, or ``LoopOptions/commandLimit`` commands
  ///   wait already, which ``HostEvent/refused(_:)`` reports to this owner, too.
  @discardableResult
  package func post(_ command: HostCommand) -> Bool { mailbox.post(command, from: owner) }

  /// As ``post(_:)``, for a command whose value is in `octets` (``HostCommand/value(_:)``).
  @discardableResult
  package func post(_ command: HostCommand, octets: Span<UInt8>) -> Bool {
    mailbox.post(command, octets: octets, from: owner)
  }

  /// As ``post(_:)``, without waking the loop.
  ///
  /// - Returns: whether ``wake()`` has to follow.
  package func enqueue(_ command: HostCommand, octets: Span<UInt8> = Span()) -> Bool {
    mailbox.enqueue(command, octets: octets, from: owner)
  }

  /// Appends a value of an attribute for some links (``UpdateRun``), without waking the loop.
  ///
  /// - Returns: whether ``wake()`` has to follow.
  package func enqueueUpdate(of attribute: AttributeID, octets: Span<UInt8>, to peers: [PeerID]) -> Bool {
    mailbox.enqueueUpdate(of: attribute, octets: octets, to: peers, from: owner)
  }

  /// Wakes the loop for the commands that were enqueued.
  package func wake() { mailbox.wake() }

  /// The owner has handled `count` of its events.
  package func consumed(_ count: Int) { mailbox.consumed(count, by: owner) }
}
