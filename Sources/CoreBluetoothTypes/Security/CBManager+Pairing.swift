public import BLEEngine
import BLEHost
import BLESMP
import Foundation
import Synchronization

/// Trust between devices, which CoreBluetooth leaves to the system.
extension CBManager {
  /// The devices that are known again, the oldest bond first. All managers of an adapter share them.
  public final var bonds: [BLEEngine.Bond] { link.keeper?.bonds ?? [] }

  /// Forgets a device; ``CBPairingDelegate/manager(_:didRemoveBondOf:)`` follows. A link to it stays as it is. The other
  /// device has to be told to forget, too, before the two can pair anew.
  public final func remove(_ bond: BLEEngine.Bond) { link.post(.removeBond(bond.record.identity)) }

  /// Changes how the adapter pairs from now on. What is under way goes on as it began; ``PairingOptions/storage`` stays
  /// what it was.
  public final func setPairing(_ options: PairingOptions) {
    for command in link.keeper?.commands(options) ?? [] {
      if case .setPairing = command { link.post(command) }
    }
  }

  /// What is asked and told of trust, on the queue.
  final func receiveSecurity(_ event: HostEvent) {
    switch event {
    case .pairing(let name, let id, let question):
      guard let peer = peer(named: name) else { return }
      ask(question, of: peer, reply: PairingReply(link: link, peer: name, question: id))
    case .pairingQuestionWithdrawn(let name, let id):
      guard let peer = peer(named: name) else { return }
      pairingDelegate?.manager(self, didWithdrawQuestion: PairingReply.ID(id), of: peer)
    case .keypress(let name, let keypress):
      guard let peer = peer(named: name), let keypress = PasskeyKeypress(rawValue: keypress.rawValue) else { return }
      pairingDelegate?.manager(self, peer: peer, didType: keypress)
    case .paired(let name, let device):
      guard let peer = peer(named: name) else { return }
      let bond = device.isBonded ? bonds.first { $0.record.identity == device.identity } : nil
      pairingDelegate?.manager(self, didPairWith: peer, bond: bond)
    case .pairingFailed(let name, let failure):
      guard let peer = peer(named: name) else { return }
      pairingDelegate?.manager(self, didFailToPairWith: peer, error: PairingError(failure))
    case .security(let name, let security):
      guard let peer = peer(named: name) else { return }
      pairingDelegate?.manager(self, didChangeSecurityOf: peer, to: PeerSecurity(security))
    case .bondRemoved(let identity):
      pairingDelegate?.manager(self, didRemoveBondOf: UUID(identity))
    case .bondReplaced(let name, _):
      guard let peer = peer(named: name) else { return }
      pairingDelegate?.manager(self, didReplaceBondOf: peer)
    case .bondLost(let name, _, let loss):
      guard let peer = peer(named: name) else { return }
      pairingDelegate?.manager(self, didLoseBondOf: peer, error: BondLostError(loss))
    default: break
    }
  }

  private func ask(_ question: PairingQuestion, of peer: CBPeer, reply: PairingReply) {
    let delegate = pairingDelegate
    switch question {
    case .consent:
      guard let delegate else { return decline("whether to pair", reply) }
      delegate.manager(self, shouldPairWith: peer, reply: reply)
    case .replaceBond:
      guard let delegate else { return decline("whether to replace a bond", reply) }
      delegate.manager(self, shouldReplaceBondOf: peer, reply: reply)
    case .display(let passkey):
      guard let delegate else {
        return logOnce("to display a passkey")
      }
      delegate.manager(self, display: passkey.digits, toPairWith: peer, reply: reply)
    case .enterPasskey:
      guard let delegate else { return decline("for a passkey", reply) }
      delegate.manager(self, enterPasskeyToPairWith: peer, reply: reply)
    case .compare(let number):
      guard let delegate else { return decline("to compare two numbers", reply) }
      delegate.manager(self, compare: number.digits, toPairWith: peer, reply: reply)
    }
  }

  private func decline(_ what: String, _ reply: PairingReply) {
    logOnce(what)
    reply.reject()
  }

  private func logOnce(_ what: String) {
    guard declinedQuestions.withLock({ $0.insert(what).inserted }) else { return }
    log(.notice, "a pairing asks \(what) and there is no pairing delegate: it is declined. Set pairingDelegate")
  }
}
