import BLEGATT
import BLEHCI
import BLEL2CAP
import BLESMP
import BLEWire

/// What the security managers, the bonds and the pairings of the kernel cause in other parts.
extension HostLinks {
  /// Lets the security manager of a link do something and applies what it causes.
  mutating func withSecurity(of peer: PeerID, _ input: SecurityInput, _ host: inout HostTurn) {
    guard let index = table.index(of: peer) else { return }
    var context = securityContext(of: table[index], host)
    var effects: [Effect<SecurityEffect>] = []
    table[index].manager.perform(input, &context, now: host.now, into: &effects)
    (policy.lastQuestion, host.random) = (context.lastQuestion, context.random)
    apply(effects, &host) { links, host, effect in
      if let index = links.table.index(of: peer) { links.perform(effect, on: index, &host) }
    }
  }

  private func securityContext(of link: Link, _ host: HostTurn) -> SecurityContext {
    SecurityContext(link, policy, context.bonds, inUse: table.provenIdentities(except: link.peer), toolbox, host)
  }

  private mutating func perform(_ effect: SecurityEffect, on index: Int, _ host: inout HostTurn) {
    let (peer, identity) = (table[index].peer, table[index].identity)
    switch effect {
    case .send(let pdu): send(pdu.encoded.span, on: peer, .securityManager, &host)
    case .paired(let outcome):
      policy.succeeded(identity)
      table[index].device.pairings.succeeded(
        lacksAuthentication: policy.settings?.requestsMITM == true && !outcome.strength.isAuthenticated)
      let (facts, limit, now) = (table.pairedLink(index, context.services.database), policy.unconfirmedBonds, host.now)
      withBonds(&host) { [toolbox] in $0.paired(outcome, on: facts, limit, toolbox, now: now, into: &$1) }
    case .failed(let failure): policy.failed(identity, failure, now: host.now)
    case .answerIgnored(let error): host.append(.diagnostic(error.diagnostic(of: peer)))
    case .released(let report): withKernel(&host) { $0?.receive(report, $1, into: &$2) }
    case .kernelKeyAccepted(let identity): policy.kernel?.keyAccepted(identity)
    case .kernelKeysRefused(let identity): withKernel(&host) { $0?.removeKeys(of: identity, $1, into: &$2) }
    default: withLink(index, &host) { link, context in link.perform(effect, &context) }
    }
  }

  /// The kernel has no key for a link.
  mutating func keyMissed(_ handle: ConnectionHandle, _ host: inout HostTurn) {
    if let index = table.index(of: handle) { withSecurity(of: table[index].peer, .keyMissed, &host) }
  }

  /// The link has ended, and is not in the table any more.
  mutating func securityEnded(_ link: Link, _ reason: HCIErrorCode, _ host: inout HostTurn) {
    if let ended = link.manager.kernelLink(of: link.device) {
      withKernel(&host) { $0?.linkEnded(ended, $1, into: &$2) }
    }
    var (manager, effects) = (link.manager, [Effect<SecurityEffect>]())
    manager.linkEnded(reason, isRequested: link.isClosing, securityContext(of: link, host), into: &effects)
    for effect in effects { host.apply(effect) }
  }

  /// Lets the pairings of the kernel do something, where there are any, and applies what they cause.
  mutating func withKernel(
    _ host: inout HostTurn, _ body: (inout KernelPairings?, KernelContext, inout [Effect<KernelEffect>]) -> Void
  ) {
    let context = KernelContext(
      settings: policy.settings, ownIdentity: host.ownIdentity, bonds: self.context.bonds.bonds,
      isPoweredOn: host.state == .poweredOn, links: table.compactMap { $0.manager.kernelLink(of: $0.device) })
    var effects: [Effect<KernelEffect>] = []
    body(&policy.kernel, context, &effects)
    if !effects.isEmpty { apply(effects, &host) }
  }

  /// Not inlined: each use of ``withKernel(_:_:)`` would have its own copy of 15 kB.
  @inline(never)
  private mutating func apply(_ effects: [Effect<KernelEffect>], _ host: inout HostTurn) {
    apply(effects, &host) { links, host, effect in
      switch effect {
      case .report(let report, let peer): links.withSecurity(of: peer, .report(report), &host)
      case .bondChanged(let bond): links.withBonds(&host) { $0.change(bond, into: &$1) }
      case .bondMade(let bond, let hasConsent):
        let (inUse, limit, now) = (links.table.provenIdentities(), links.policy.unconfirmedBonds, host.now)
        links.withBonds(&host) {
          let isKept = $0.admit(bond, hasConsent: hasConsent, inUse: inUse, limit, now: now, into: &$1)
          if !isKept { $1.append(.own(.notKept(bond.identity))) }
        }
      case .close(let peer):
        links.withLink(of: peer, &host) { link, context in link.close(.authenticationFailure, &context.turn) }
      }
    }
  }

  /// Lets the bond table do something and applies what it causes.
  mutating func withBonds(_ host: inout HostTurn, _ body: (inout BondTable, inout [Effect<BondEffect>]) -> Void) {
    var effects: [Effect<BondEffect>] = []
    body(&context.bonds, &effects)
    apply(effects, &host) { links, host, effect in
      switch effect {
      case .removed(let identity):
        links.table.bondRemoved(identity)
        links.withKernel(&host) { $0?.bondRemoved(identity, into: &$2) }
      case .identityKeysChanged: links.withKernel(&host) { $0?.loadKeys($1, into: &$2) }
      case .notKept(let identity): links.withKernel(&host) { $0?.removeKeys(of: identity, $1, into: &$2) }
      case .made(let bond, let peer):
        links.table.bonded(peer, bond, links.toolbox)
        links.withIdentities(of: peer, &host) { $0.confirmIdentity(of: peer, into: &$1) }
      case .replaced(let identity, let peer):
        links.withIdentities(of: peer, &host) { $0.bondReplaced(identity, on: peer, into: &$1) }
      case .securityChanged(let peer):
        links.withLink(of: peer, &host) { link, context in
          context.turn.effects.append(.event(.security(peer, link.device.reportedSecurity), to: .everyone))
        }
      }
    }
  }

  /// Lets the links learn that the link of `peer` has proven an identity.
  mutating func withIdentities(
    of peer: PeerID, _ host: inout HostTurn, _ body: (inout LinkTable, inout [Effect<LinkEffect>]) -> Void
  ) {
    var effects: [Effect<LinkEffect>] = []
    body(&table, &effects)
    apply(effects, of: peer, &host)
  }
}
