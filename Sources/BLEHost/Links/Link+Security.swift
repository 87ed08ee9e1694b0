import BLEATT
import BLEGATT
import BLEHCI
import BLESMP
import BLEWire

/// Bonds, and what the encryption of the link means for both halves.
extension Link {
  /// Keeps what the client has configured with its bond, where the link has proven that.
  func keepRecord<Own>(
    _ services: ServiceRegistry, _ bonds: inout BondTable, now: Instant, into effects: inout [Effect<Own>]
  ) {
    guard security.isBondProven else { return }
    bonds.keep(server.record(services.database), of: identity, now: now, into: &effects)
  }

  /// Applies an effect of the security manager.
  mutating func perform(_ effect: SecurityEffect, _ bonds: inout BondTable, _ turn: inout LinkTurn) {
    switch effect {
    case .encrypted(let start): encrypted(start, &bonds, &turn)
    case .cipher(let isOn): client.setEncrypted(isOn)
    case .levelLost:
      device.loseLevel()
      turn.effects.append(.own(.securityChanged))
    case .keyRevoked: keyRevoked(bonds, &turn)
    case .bondKeyFailed(let loss): bondKeyFailed(loss, &turn)
    case .pairingFailed, .notSecured:
      if case .pairingFailed = effect { device.pairings.failed(now: turn.now) }
      turn.usesClient = true
      client.releaseParked(into: &turn.client)
      signalling.channels.openings.releaseWaiting(&turn)
    case .close: close(.authenticationFailure, &turn)
    default: break
    }
  }

  /// The link is encrypted with a key of known strength.
  private mutating func encrypted(_ start: KeyStart, _ bonds: inout BondTable, _ turn: inout LinkTurn) {
    turn.usesClient = true
    client.stopAwaitingCounters(now: turn.now, into: &turn.client)
    let isNewProof = device.encrypted(start, hasBond: bonds[identity] != nil)
    if isNewProof { bonds.use(identity, now: turn.now, into: &turn.effects) }
    turn.effects += LinkEffect.encrypted(start, isNewProof: isNewProof)
  }

  /// The pairing of the key in use has failed. What was opened under the key ends. Our central encrypts the link with the key of
  /// the bond, if there is one, before its client sends again.
  private mutating func keyRevoked(_ bonds: BondTable, _ turn: inout LinkTurn) {
    device.loseLevel()
    turn.effects.append(.own(.securityChanged))
    signalling.keyRevoked(&turn)
    guard role == .central, bonds[identity]?.centralKey != nil else { return }
    turn.usesClient = true
    client.awaitEncryption(until: turn.now + encryptionTimeout, now: turn.now, into: &turn.client)
    turn.effects.append(.own(.security(.bond)))
  }

  /// The link could not be encrypted with the key of its bond. It stays up; operations that wait end or stay.
  mutating func bondKeyFailed(_ loss: BondLoss, _ turn: inout LinkTurn) {
    turn.server.effects.append(.event(.bondLost(peer, identity, loss), to: .everyone))
    turn.usesClient = true
    client.bondLost(queuesOperations: turn.queuesOperationsAfterBondLoss, now: turn.now, into: &turn.client)
    if !turn.queuesOperationsAfterBondLoss { signalling.channels.openings.releaseWaiting(&turn) }
  }

  /// Applies an effect of one half that concerns the other one, or the bond.
  mutating func perform(
    _ effect: LinkEffect, _ services: inout ServiceRegistry, _ bonds: inout BondTable, _ turn: inout LinkTurn
  ) {
    switch effect {
    case .mtuChanged(let mtu):
      server.setMTU(mtu)
      client.setMTU(mtu)
    case .recordChanged: keepRecord(services, &bonds, now: turn.now, into: &turn.effects)
    case .counterUsed(let counter):
      bonds.usePeerCounter(counter, of: identity, into: &turn.server.effects)
      deliverSigned(&services, bonds, &turn)
    case .storageEnded: deliverSigned(&services, bonds, &turn)
    case .failed: close(.remoteUserTerminatedConnection, &turn)
    case .relieved:
      turn.usesClient = true
      client.setCongested(false, now: turn.now, into: &turn.client)
    case .securityWanted(let operation, let refusal):
      if manager.isUnderWay { return client.park(operation, refusal) }
      turn.usesClient = true
      client.report(refusal, into: &turn.client)
    case .securityChanged:
      turn.server.effects.append(.event(.security(peer, device.reportedSecurity), to: .everyone))
      server.securityChanged(security, services, into: &turn.server)
    case .bondRestored:
      guard let bond = bonds[identity] else { return }
      client.startCaching(bond.attributeCache)
      server.restore(bond.client, security, services, now: turn.now, into: &turn.server)
    case .clientResumed:
      turn.usesClient = true
      client.resume(now: turn.now, into: &turn.client)
      signalling.resume(channelFacts, &turn)
    default: break
    }
  }

  private mutating func deliverSigned(
    _ services: inout ServiceRegistry, _ bonds: BondTable, _ turn: inout LinkTurn
  ) {
    server.deliver(bonds.store(of: identity), security, &services, now: turn.now, into: &turn.server)
  }
}
