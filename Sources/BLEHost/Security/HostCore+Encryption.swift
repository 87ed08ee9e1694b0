import BLEGATT
import BLEHCI
import BLESMP
import BLEWire

/// What the controller says of encryption: the only thing that a link's security level is believed from.
extension HostCore {
  /// The central encrypts and names the key (Vol 4, Part E, 7.7.65.5).
  mutating func longTermKeyRequested(
    _ request: HCI.LELongTermKeyRequest, now: Instant, into output: inout HostOutput
  ) {
    guard let index = index(of: request.connectionHandle) else {
      var effects: [Effect<Never>] = []
      policy.keyRequested(onUnknownLink: request.connectionHandle, into: &effects)
      return apply(effects, now: now, into: &output)
    }
    withSecurity(index, now: now, into: &output) {
      $0.keyRequested(ediv: request.encryptedDiversifier, rand: request.randomNumber, $1, into: &$2)
    }
  }

  /// The controller took the command to encrypt, or did not.
  mutating func encryptionCommandEnded(
    _ peer: PeerID, _ status: HCIErrorCode, now: Instant, into output: inout HostOutput
  ) {
    guard status != .success, let index = index(of: peer) else { return }
    withSecurity(index, now: now, into: &output) { $0.encryptionFailed(status, &$1, now: now, into: &$2) }
  }

  /// Encryption Change and Encryption Key Refresh Complete (Vol 4, Part E, 7.7.8 and 7.7.39).
  mutating func encryptionChanged(
    _ handle: ConnectionHandle, _ status: HCIErrorCode, isOn: Bool, now: Instant, into output: inout HostOutput
  ) {
    guard let index = index(of: handle) else { return }
    withSecurity(index, now: now, into: &output) {
      $0.encryptionChanged(status, isOn: isOn, &$1, now: now, into: &$2)
    }
  }

  /// A link counts as one that is not encrypted.
  mutating func levelLost(_ index: Int, into output: inout HostOutput) {
    (links[index].security.level, links[index].security.keySize) = (.none, 0)
    links[index].security.isBondProven = false
    output.append(.security(links[index].peer, links[index].security))
    reportSubscriptions(index, into: &output)
  }

  /// A link is encrypted with a key whose strength is known.
  mutating func linkEncrypted(_ index: Int, _ start: KeyStart, now: Instant, into output: inout HostOutput) {
    let peer = links[index].peer
    links[index].client.setEncrypted(true)
    withClient(index, now: now, into: &output) { $0.stopAwaitingCounters(now: now, into: &$1) }
    links[index].security.level = start.strength.level
    links[index].security.keySize = start.strength.size
    let isNewProof = start.origin == .bond && proveBond(index, into: &output)
    let place = isNewProof ? confirmIdentity(index, now: now, into: &output) : index
    output.append(.security(links[place].peer, links[place].security))
    reportSubscriptions(place, into: &output)
    withSecurity(place, now: now, into: &output) { $0.levelApplied(start, &$1, now: now, into: &$2) }
    if isNewProof, let place = self.index(of: peer) { recognised(place, now: now, into: &output) }
    guard let still = self.index(of: peer) else { return }
    resumeClient(still, now: now, into: &output)
  }
}
