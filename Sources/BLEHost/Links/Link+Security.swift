import BLEATT
import BLEGATT
import BLEHCI
import BLESMP
import BLEWire

/// Bonds, and what the encryption of the link means for both halves.
extension Link {
  /// Stores the client's configuration with its bond, if the link has proven that bond.
  func keepRecord(_ context: inout LinkContext) {
    guard security.isBondProven else { return }
    let record = server.record(context.services.database)
    context.bonds.keep(record, of: identity, now: context.turn.now, into: &context.turn.effects)
  }

  /// Applies an effect of the security manager.
  mutating func perform(_ effect: SecurityEffect, _ context: inout LinkContext) {
    switch effect {
    case .encrypted(let start): encrypted(start, &context)
    case .levelLost:
      device.loseLevel()
      context.turn.effects.append(.own(.securityChanged))
    case .keyRevoked: keyRevoked(&context)
    case .bondKeyFailed(let loss): bondKeyFailed(loss, &context.turn)
    case .pairingFailed, .notSecured:
      if case .pairingFailed = effect { device.pairings.failed(now: context.turn.now) }
      context.turn.usesClient = true
      client.releaseParked(now: context.turn.now, into: &context.turn.client)
      signalling.channels.openings.releaseWaiting(&context.turn)
    case .close: close(.authenticationFailure, &context.turn)
    // ``HostLinks`` applies these, which concern other parts.
    case .send, .paired, .failed, .answerIgnored, .released, .kernelKeyAccepted, .kernelKeysRefused: break
    }
  }

  /// The link is encrypted with a key of known strength.
  private mutating func encrypted(_ start: KeyStart, _ context: inout LinkContext) {
    let now = context.turn.now
    let isNewProof = device.encrypted(start, hasBond: context.bonds.contains(identity))
    if isNewProof { context.bonds.use(identity, now: now, into: &context.turn.effects) }
    context.turn.effects += LinkEffect.encrypted(start, isNewProof: isNewProof)
  }

  /// The pairing of the key in use has failed. What was opened under the key ends. Our central encrypts the link with
  /// the key of the bond, if there is one, before its client sends again.
  private mutating func keyRevoked(_ context: inout LinkContext) {
    device.loseLevel()
    context.turn.effects.append(.own(.securityChanged))
    signalling.keyRevoked(&context.turn)
    guard role == .central, context.bonds[identity]?.centralKey != nil else { return }
    let now = context.turn.now
    context.turn.usesClient = true
    client.awaitEncryption(until: now + procedureTimeout, now: now, into: &context.turn.client)
    context.turn.effects.append(.own(.security(.bond)))
  }

  /// The link could not be encrypted with the key of its bond. It stays up; operations that wait end or stay.
  mutating func bondKeyFailed(_ loss: BondLoss, _ turn: inout LinkTurn) {
    turn.server.effects.append(.event(.bonds(.lost(peer, identity, loss)), to: .everyone))
    turn.usesClient = true
    client.bondLost(queuesOperations: turn.queuesOperationsAfterBondLoss, now: turn.now, into: &turn.client)
    if !turn.queuesOperationsAfterBondLoss { signalling.channels.openings.releaseWaiting(&turn) }
  }

  /// Applies an effect of one half that concerns the other one, or the bond.
  mutating func perform(_ effect: LinkEffect, _ context: inout LinkContext) {
    let now = context.turn.now
    switch effect {
    case .mtuChanged(let mtu):
      server.setMTU(mtu)
      client.setMTU(mtu)
    case .recordChanged: keepRecord(&context)
    case .counterUsed(let counter):
      context.bonds.usePeerCounter(counter, of: identity, into: &context.turn.server.effects)
      deliverSigned(&context)
    case .storageEnded: deliverSigned(&context)
    case .failed: close(.remoteUserTerminatedConnection, isAtOnce: true, &context.turn)
    case .relieved:
      context.turn.usesClient = true
      client.setCongested(false, now: now, into: &context.turn.client)
    case .securityWanted(let operation, let refusal):
      if manager.isUnderWay { return client.park(operation, refusal) }
      context.turn.usesClient = true
      client.refuse(refusal, now: now, into: &context.turn.client)
    case .securityChanged:
      context.turn.server.effects.append(.event(.link(peer, .security(device.reportedSecurity)), to: .everyone))
      server.securityChanged(security, context.services, into: &context.turn.server)
    case .bondRestored:
      guard let bond = context.bonds[identity] else { return }
      client.startCaching(bond.attributeCache)
      server.restore(bond.client, security, context.services, now: now, into: &context.turn.server)
    case .clientResumed:
      context.turn.usesClient = true
      client.resume(now: now, into: &context.turn.client)
      signalling.resume(channelFacts, &context.turn)
    // ``HostLinks`` applies these, which concern other parts.
    case .security, .violated, .bondProven, .superseded, .channel, .bearer, .closed: break
    }
  }

  private mutating func deliverSigned(_ context: inout LinkContext) {
    let (store, now) = (context.bonds.store(of: identity), context.turn.now)
    server.deliver(store, security, &context.services, now: now, into: &context.turn.server)
  }
}
