import BLEATT
import BLEGATT
import BLEHost

/// What a peripheral refuses to a link in the clear is asked again over an encrypted one: the central pairs, or encrypts
/// with the key of an earlier pairing, and the application does not notice (Vol 3, Part C, 10.3.2).
///
/// ```
///   refused (0x05, 0x0F) ─► encryption asked for ──security──► asked once more
///                                    └──pairing failed──► the refusal is the result
/// ```
extension CentralState {
  /// - Returns: whether the operation waits now; false where the refusal is its result.
  mutating func raiseSecurity(
    _ peer: PeerID, _ index: Int, _ error: ClientError, into effects: inout CentralEffects
  ) -> Bool {
    guard error.code == .insufficientAuthentication || error.code == .insufficientEncryption,
      let session = sessions[peer], session.security.level == .none, session.pending[index].retry == .none
    else { return false }
    sessions[peer]?.pending[index].retry = .waiting(error)
    if !session.isRaisingSecurity {
      sessions[peer]?.isRaisingSecurity = true
      effects.commands.append(.requestSecurity(peer))
    }
    return true
  }

  mutating func securityChanged(_ peer: PeerID, _ security: LinkSecurity, into effects: inout CentralEffects) {
    guard let session = sessions[peer] else { return }
    sessions[peer]?.security = security
    guard security.level != .none else { return }
    sessions[peer]?.isRaisingSecurity = false
    for (index, operation) in session.pending.enumerated() {
      guard case .waiting = operation.retry, let kind = operation.kind else { continue }
      sessions[peer]?.pending[index].retry = .done
      effects.commands.append(.client(peer, ClientOperation(id: operation.id, kind)))
    }
  }

  /// There will be no encryption: what waited for it is refused.
  mutating func securityRefused(_ peer: PeerID, into effects: inout CentralEffects) {
    guard let session = sessions[peer], session.isRaisingSecurity else { return }
    sessions[peer]?.isRaisingSecurity = false
    for (index, operation) in session.pending.enumerated() {
      guard case .waiting(let error) = operation.retry else { continue }
      sessions[peer]?.pending[index].retry = .done
      sessions[peer]?.pending[index].result = .failure(error)
    }
    flush(peer, into: &effects)
  }

  /// The host refused some command and does not say which: it may have been that for encryption.
  mutating func hostRefused(into effects: inout CentralEffects) {
    for peer in sessions.keys { securityRefused(peer, into: &effects) }
  }
}
