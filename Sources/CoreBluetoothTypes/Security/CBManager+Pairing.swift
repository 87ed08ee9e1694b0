public import BLEAdapter
public import BLEHost
import Foundation
import Synchronization

/// Trust between devices, which CoreBluetooth leaves to the system.
extension CBManager {
  /// The devices that are bonded, the oldest bond first. All managers of an adapter share them.
  public final var bonds: [Bond] { client.bonds }

  /// Forgets a device; ``CBPairingDelegate/manager(_:didRemoveBondOf:)`` follows. A link to it stays as it is. The
  /// other device has to remove its bond, too, before the two can pair again.
  public final func remove(_ bond: Bond) { client.remove(bond) }

  /// Changes how the adapter pairs from now on. A running pairing continues as it began; `PairingOptions.storage` does
  /// not change.
  public final func setPairing(_ options: PairingOptions) { client.setPairing(options) }

  /// Receives an event about pairing or security, on the queue.
  final func receiveSecurity(_ event: HostEvent) {
    if let call = securityCall(event) { append([.pairing(call)]) }
  }

  private func securityCall(_ event: HostEvent) -> PairingCall? {
    switch event {
    case .pairing(let name, let event): call(for: event, of: name)
    case .link(let name, .security(let security)): peer(named: name).map { .security($0, PeerSecurity(security)) }
    case .bonds(.removed(let identity)): .bondRemoved(UUID(identity))
    case .bonds(.replaced(let name, _)): peer(named: name).map { .bondReplaced($0) }
    case .bonds(.lost(let name, _, let loss)): peer(named: name).map { .bondLost($0, BondLostError(loss)) }
    // The others are not about security.
    case .state, .address, .capabilities, .refused, .diagnostic, .services, .advertising, .scanning, .synchronizing,
      .connected,
      .connectionFailed, .foreignLink, .link, .client, .server, .bonds(.changed), .channels, .channel:
      nil
    }
  }

  private func call(for event: HostEvent.Pairing, of name: LinkID) -> PairingCall? {
    let peer = peer(named: name)
    if case .question(let id, let question) = event, peer == nil || pairingDelegate == nil {
      client.decline(question, id, of: name, isConcerned: peer != nil)
      return nil
    }
    guard let peer else { return nil }
    switch event {
    case .question(let id, let question):
      return .question(PairingPrompt(question), peer, client.reply(to: id, of: name))
    case .questionWithdrawn(let id): return .withdrawn(PairingReply.ID(id), peer)
    case .keypress(let keypress): return PasskeyKeypress(keypress).map { .keypress($0, peer) }
    case .succeeded(let device):
      return .paired(peer, device.isBonded ? bonds.first { $0.identity == device.identity } : nil)
    case .failed(let failure): return .failed(peer, PairingError(failure))
    }
  }

  /// Calls the pairing delegate; on the queue only.
  final func makePairingCall(_ call: PairingCall) {
    let delegate = pairingDelegate
    switch call {
    case .question(let question, let peer, let reply):
      // It may have been released since.
      guard let delegate else { return reply.reject() }
      ask(delegate, question, of: peer, reply: reply)
    case .withdrawn(let id, let peer): delegate?.manager(self, didWithdrawQuestion: id, of: peer)
    case .keypress(let keypress, let peer): delegate?.manager(self, peer: peer, didType: keypress)
    case .paired(let peer, let bond): delegate?.manager(self, didPairWith: peer, bond: bond)
    case .failed(let peer, let error): delegate?.manager(self, didFailToPairWith: peer, error: error)
    case .security(let peer, let security): delegate?.manager(self, didChangeSecurityOf: peer, to: security)
    case .bondRemoved(let identifier): delegate?.manager(self, didRemoveBondOf: identifier)
    case .bondReplaced(let peer): delegate?.manager(self, didReplaceBondOf: peer)
    case .bondLost(let peer, let error): delegate?.manager(self, didLoseBondOf: peer, error: error)
    }
  }

  private func ask(
    _ delegate: any CBPairingDelegate, _ question: PairingPrompt, of peer: CBPeer, reply: PairingReply
  ) {
    switch question {
    case .consent: delegate.manager(self, shouldPairWith: peer, reply: reply)
    case .replaceBond: delegate.manager(self, shouldReplaceBondOf: peer, reply: reply)
    case .display(let passkey): delegate.manager(self, display: passkey, toPairWith: peer, reply: reply)
    case .enterPasskey: delegate.manager(self, enterPasskeyToPairWith: peer, reply: reply)
    case .compare(let number): delegate.manager(self, compare: number, toPairWith: peer, reply: reply)
    }
  }
}

/// One call of a ``CBPairingDelegate``, as a value.
enum PairingCall: Sendable {
  case question(PairingPrompt, CBPeer, PairingReply)
  case withdrawn(PairingReply.ID, CBPeer)
  case keypress(PasskeyKeypress, CBPeer)
  case paired(CBPeer, Bond?)
  case failed(CBPeer, PairingError)
  case security(CBPeer, PeerSecurity)
  case bondRemoved(UUID)
  case bondReplaced(CBPeer)
  case bondLost(CBPeer, BondLostError)
}
