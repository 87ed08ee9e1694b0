import BLEGATT
import BLEHCI
import BLEL2CAP
import BLESMP
import BLEWire

/// What the security managers, the bonds and the pairings of the kernel cause in other parts.
extension HostCore {
  mutating func performSecurity(_ command: HostCommand) {
    switch command {
    case .setPairing(let settings):
      policy.settings = settings
      withKernel { $0?.settingsChanged($1, into: &$2) }
    case .setBonds(let new):
      bonds.replaceAll(with: new)
      links.bondsReplaced(by: &bonds, turn.toolbox)
      withKernel { $0?.loadKeys($1, into: &$2) }
    case .bondsStored(let stored):
      bonds.stored(stored)
      for index in links.indices {
        withLink(index) { ($3.usesClient, $3.effects) = (true, $3.effects + [.own(.storageEnded)]) }
      }
    case .removeBond(let identity): withBonds { $0.remove(identity, into: &$1) }
    default: break
    }
  }

  /// Lets the security manager of a link do something and applies what it causes.
  mutating func withSecurity(of peer: PeerID, _ input: SecurityInput) {
    guard let index = links.index(of: peer) else { return }
    var context = securityContext(of: links[index])
    var effects: [Effect<SecurityEffect>] = []
    links[index].manager.perform(input, &context, now: now, into: &effects)
    (policy.lastQuestion, random) = (context.lastQuestion, context.random)
    apply(effects) { core, effect in
      if let index = core.links.index(of: peer) { core.perform(effect, on: index) }
    }
  }

  private func securityContext(of link: Link) -> SecurityContext {
    let withholds = radio.privacy.map { !$0.distributesIdentityWhenUnauthenticated } ?? false
    let inUse = links.provenIdentities(except: link.peer)
    return SecurityContext(
      settings: policy.settings, isBlocked: policy.isBlocked(link.identity, now: now), identity: link.identity,
      bonds: bonds.bonds, isBondProven: link.security.isBondProven, level: link.security.level,
      reconnection: link.client.reconnection, ownIdentity: ownAddress, withholdsIdentity: withholds,
      rules: bonds.rules(for: link.identity, policy.settings, inUse: inUse, now: now), pairings: link.device.pairings,
      cryptography: turn.toolbox.cryptography, random: random, lastQuestion: policy.lastQuestion)
  }

  private mutating func perform(_ effect: SecurityEffect, on index: Int) {
    let (peer, identity) = (links[index].peer, links[index].identity)
    switch effect {
    case .send(let pdu): send(pdu.encoded.span, on: peer, .securityManager)
    case .paired(let outcome):
      policy.succeeded(identity)
      links[index].device.pairings.succeeded(
        lacksAuthentication: policy.settings?.requestsMITM == true && !outcome.strength.isAuthenticated)
      let (facts, limit) = (links.pairedLink(index, services.database), policy.unconfirmedBonds)
      withBonds { [turn, now] in $0.paired(outcome, on: facts, limit, turn.toolbox, now: now, into: &$1) }
    case .failed(let failure): policy.failed(identity, failure, now: now)
    case .answerIgnored(let error): output.append(.diagnostic(error.diagnostic(of: peer)))
    case .released(let report): withKernel { $0?.receive(report, $1, into: &$2) }
    case .kernelKeyAccepted(let identity): policy.kernel?.keyAccepted(identity)
    case .kernelKeysRefused(let identity): withKernel { $0?.removeKeys(of: identity, $1, into: &$2) }
    default: withLink(index) { $0.perform(effect, &$2, &$3) }
    }
  }

  /// The link has ended, and is not in the table any more.
  mutating func securityEnded(_ link: Link, _ reason: HCIErrorCode) {
    if let ended = link.manager.kernelLink(of: link.device) { withKernel { $0?.linkEnded(ended, $1, into: &$2) } }
    var (manager, effects) = (link.manager, [Effect<SecurityEffect>]())
    manager.linkEnded(reason, isRequested: link.isClosing, securityContext(of: link), into: &effects)
    apply(effects) { _, _ in }
  }

  /// Lets the pairings of the kernel do something, where there are any, and applies what they cause.
  mutating func withKernel(_ body: (inout KernelPairings?, KernelContext, inout [Effect<KernelEffect>]) -> Void) {
    let context = KernelContext(
      settings: policy.settings, ownIdentity: ownAddress, bonds: bonds.bonds, isPoweredOn: state == .poweredOn,
      links: links.compactMap { $0.manager.kernelLink(of: $0.device) })
    var effects: [Effect<KernelEffect>] = []
    body(&policy.kernel, context, &effects)
    apply(effects) { core, effect in
      switch effect {
      case .report(let report, let peer): core.withSecurity(of: peer, .report(report))
      case .bondChanged(let bond): core.withBonds { $0.change(bond, into: &$1) }
      case .bondMade(let bond, let hasConsent):
        let (inUse, limit, now) = (core.links.provenIdentities(), core.policy.unconfirmedBonds, core.now)
        core.withBonds {
          let isKept = $0.admit(bond, hasConsent: hasConsent, inUse: inUse, limit, now: now, into: &$1)
          if !isKept { $1.append(.own(.notKept(bond.identity))) }
        }
      case .close(let peer): core.withLink(of: peer) { $0.close(.authenticationFailure, &$3) }
      }
    }
  }

  /// Lets the bond table do something and applies what it causes.
  mutating func withBonds(_ body: (inout BondTable, inout [Effect<BondEffect>]) -> Void) {
    var effects: [Effect<BondEffect>] = []
    body(&bonds, &effects)
    apply(effects) { core, effect in
      switch effect {
      case .removed(let identity):
        core.links.bondRemoved(identity)
        core.withKernel { $0?.bondRemoved(identity, into: &$2) }
      case .notKept(let identity): core.withKernel { $0?.removeKeys(of: identity, $1, into: &$2) }
      case .made(let bond, let peer):
        core.links.bonded(peer, bond, core.turn.toolbox)
        core.withIdentities(of: peer) { $0.confirmIdentity(of: peer, into: &$1) }
      case .replaced(let identity, let peer):
        core.withIdentities(of: peer) { $0.bondReplaced(identity, on: peer, into: &$1) }
      case .securityChanged(let peer):
        core.withLink(of: peer) { $3.effects.append(.event(.security(peer, $0.security), to: .everyone)) }
      }
    }
  }

  /// Lets the links learn that the link of `peer` has proven an identity.
  mutating func withIdentities(of peer: PeerID, _ body: (inout LinkTable, inout [Effect<LinkEffect>]) -> Void) {
    var effects: [Effect<LinkEffect>] = []
    body(&links, &effects)
    apply(effects, of: peer)
  }
}
