import BLEGATT
import BLEHCI
import BLESMP
import BLEWire

/// An effect of a link, or of a part of it, on other parts.
enum LinkEffect: Sendable {
  /// One half has exchanged the MTU: it holds for both (Vol 3, Part F, 3.4.2.2).
  case mtuChanged(Int)
  /// What the client of our server has configured may have changed.
  case recordChanged
  /// Frames of the link have left: its client sends commands again.
  case relieved
  /// A signed write with this counter was verified: the counter is to be stored, then
  /// ``LinkServer/deliver(_:_:_:now:into:)``.
  case counterUsed(UInt32)
  /// The bond store has answered or timed out: signed writes that waited for it are executed or dropped.
  case storageEnded
  /// The peer refused an operation because the link lacks security. The link is to be secured and the operation to wait
  /// (``LinkClient/park(_:_:)``), else the refusal is to be reported (``LinkClient/report(_:into:)``).
  indirect case securityWanted(GATTClient.Operation, refusal: GATTClient.Event)
  /// The link has proven the bond of its identity: it is reported by it, and others that claim it are ended.
  case bondProven
  /// Another link has proven the identity of the one with this handle, which ends for the application.
  case superseded(ConnectionHandle)
  /// The level of the link, or another fact of its security, has changed: the application and the subscriptions are
  /// informed.
  case securityChanged
  /// The client of our server has proven its bond: its configuration is restored.
  case bondRestored
  /// The link is encrypted: our client may send, and repeats the operations that were refused for want of encryption.
  case clientResumed
  /// An input for the security manager, which needs facts about other parts.
  indirect case security(SecurityInput)
  /// The peer's server violated a rule. It can do so at any rate, so the event is limited like the log.
  indirect case violated(GATTClient.Event, to: Recipient)
  /// An effect of the credit-based channels on other parts.
  indirect case channel(ChannelEffect)
  /// An effect of the enhanced ATT bearers.
  indirect case bearer(BearerEffect)
  /// The peer can no longer be served, or does not answer: the link is to be ended.
  case failed
  /// The link is closing: the controller is to end it, unless `isAtOnce` when what was sent on it has left.
  case closed(HCIErrorCode, isAtOnce: Bool)

  /// What follows when a link is encrypted with a key of known strength.
  ///
  /// - Parameter isNewProof: the key is that of the bond, which the link has not proven before.
  static func encrypted(_ start: KeyStart, isNewProof: Bool) -> [Effect<LinkEffect>] {
    let effects: [LinkEffect] =
      isNewProof
      ? [.bondProven, .securityChanged, .security(.levelApplied(start)), .bondRestored, .clientResumed]
      : [.securityChanged, .security(.levelApplied(start)), .clientResumed]
    return effects.map { .own($0) }
  }
}

extension Array where Element == Effect<LinkEffect> {
  /// Appends the event for a Write Command.
  mutating func append(_ command: WritePart, of peer: LinkID, _ services: ServiceRegistry) {
    let owner = services.owners.owner(of: command.attribute) ?? .process
    append(.event(.server(peer, .command(command.attribute, command.value)), to: owner.recipient))
  }

  /// Moves events to the output, and drops other effects (Docs/Decisions/performance.md#in-place).
  @inline(__always)
  mutating func moveEvents(into output: inout HostOutput) {
    if isEmpty { return }
    if count == 1, case .event(let event, let recipient) = removeLast() { return output.append(event, to: recipient) }
    for effect in self {
      if case .event(let event, let recipient) = effect { output.append(event, to: recipient) }
    }
    removeFew()
  }
}
