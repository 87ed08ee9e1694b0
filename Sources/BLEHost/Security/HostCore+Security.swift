import BLECrypto
import BLEGATT
import BLEHCI
import BLEL2CAP
package import BLESMP
package import BLEWire

/// What the security managers, the bonds and the pairings of the kernel cause in other parts.
extension HostCore {
  var toolbox: SecurityToolbox { SecurityToolbox(cryptography) }

  mutating func performSecurity(_ command: HostCommand, now: Instant, into output: inout HostOutput) {
    switch command {
    case .setPairing(let settings):
      policy.settings = settings
      withKernel(now: now, into: &output) { $0?.settingsChanged($1, into: &$2) }
    case .setBonds(let new):
      bonds.replaceAll(with: new)
      links.bondsReplaced(by: &bonds, toolbox)
      withKernel(now: now, into: &output) { $0?.loadKeys($1, into: &$2) }
    case .bondsStored(let stored): bondsStored(stored, now: now, into: &output)
    case .removeBond(let identity): withBonds(into: &output) { $0.remove(identity, into: &$1) }
    case .authorize(let peer, let isAuthorized):
      guard let index = links.index(of: peer) else { return }
      withLink(index, now: now, into: &output) {
        if $0.device.authorize(isAuthorized) { $3.effects.append(.own(.securityChanged)) }
      }
    case .answerPairing(let peer, let question, let answer):
      guard let index = links.index(of: peer) else { return ignore(.notOpen, peer: peer, into: &output) }
      withSecurity(index, now: now, into: &output) { $0.answer(question, answer, &$1, now: now, into: &$2) }
    default: break
    }
  }

  /// Takes a report of the kernel's security manager.
  package mutating func receive(_ report: SecurityReport, now: Instant, into output: inout HostOutput) {
    time = now
    defer { links.review() }
    withKernel(now: now, into: &output) { $0?.receive(report, $1, into: &$2) }
  }

  /// Takes what the controller reports about the encryption of a link.
  mutating func encryptionChanged(
    _ handle: ConnectionHandle, _ status: HCIErrorCode, isOn: Bool, now: Instant, into output: inout HostOutput
  ) {
    guard let index = links.index(of: handle) else { return }
    withSecurity(index, now: now, into: &output) {
      $0.encryptionChanged(status, isOn: isOn, &$1, now: now, into: &$2)
    }
  }

  /// The central encrypts and names the key (Vol 4, Part E, 7.7.65.5).
  mutating func longTermKeyRequested(
    _ request: HCI.LELongTermKeyRequest, now: Instant, into output: inout HostOutput
  ) {
    guard let index = links.index(of: request.connectionHandle) else {
      var effects: [Effect<Never>] = []
      policy.keyRequested(onUnknownLink: request.connectionHandle, into: &effects)
      return apply(effects, now: now, into: &output)
    }
    withSecurity(index, now: now, into: &output) {
      $0.keyRequested(ediv: request.encryptedDiversifier, rand: request.randomNumber, $1, into: &$2)
    }
  }

  /// Lets the security manager of a link do something and applies what it causes.
  mutating func withSecurity(
    _ index: Int, now: Instant, into output: inout HostOutput,
    _ body: (inout any LinkSecurityManager, inout SecurityContext, inout [Effect<SecurityEffect>]) -> Void
  ) {
    var context = securityContext(of: links[index], now: now)
    var effects: [Effect<SecurityEffect>] = []
    body(&links[index].manager, &context, &effects)
    (policy.lastQuestion, random) = (context.lastQuestion, context.random)
    let peer = links[index].peer
    apply(effects, now: now, into: &output) { core, effect, output in
      if let index = core.links.index(of: peer) { core.perform(effect, on: index, now: now, into: &output) }
    }
  }

  private func securityContext(of link: Link, now: Instant) -> SecurityContext {
    let withholds = radio.privacy.map { !$0.distributesIdentityWhenUnauthenticated } ?? false
    let inUse = links.provenIdentities(except: link.peer)
    return SecurityContext(
      settings: policy.settings, isBlocked: policy.isBlocked(link.identity, now: now), identity: link.identity,
      bonds: bonds.bonds, isBondProven: link.security.isBondProven, level: link.security.level,
      reconnection: link.client.reconnection, ownIdentity: ownAddress, withholdsIdentity: withholds,
      rules: bonds.rules(for: link.identity, policy.settings, inUse: inUse, now: now), pairings: link.device.pairings,
      cryptography: cryptography, random: random, lastQuestion: policy.lastQuestion)
  }

  private mutating func perform(
    _ effect: SecurityEffect, on index: Int, now: Instant, into output: inout HostOutput
  ) {
    switch effect {
    case .send(let pdu): transmit(index, .securityManager, pdu.encoded.span, into: &output)
    case .paired(let outcome):
      policy.succeeded(links[index].identity)
      links[index].device.pairings.succeeded(
        lacksAuthentication: policy.settings?.requestsMITM == true && !outcome.strength.isAuthenticated)
      let (facts, limit) = (links.pairedLink(index, services.database), policy.unconfirmedBonds)
      withBonds(into: &output) { [toolbox] in $0.paired(outcome, on: facts, limit, toolbox, now: now, into: &$1) }
    case .failed(let failure): policy.failed(links[index].identity, failure, now: now)
    case .answerIgnored(let error): ignore(error, peer: links[index].peer, into: &output)
    case .released(let report): receive(report, now: now, into: &output)
    case .kernelKeyAccepted(let identity): policy.kernel?.keyAccepted(identity)
    case .kernelKeysRefused(let identity):
      withKernel(now: now, into: &output) { $0?.removeKeys(of: identity, $1, into: &$2) }
    default: withLink(index, now: now, into: &output) { $0.perform(effect, &$2, &$3) }
    }
  }

  /// An answer changed nothing, and is logged (Vol 3, Part H, 2.3.5.6.2: a yes is worth only what the user compared).
  private mutating func ignore(_ fault: PairingAnswerError, peer: PeerID, into output: inout HostOutput) {
    report(.application, "an answer to a pairing question is ignored: \(fault)", peer: peer, into: &output)
  }

  /// The link has ended, and is not in the table any more.
  mutating func securityEnded(_ link: Link, _ reason: HCIErrorCode, into output: inout HostOutput) {
    if let ended = link.manager.kernelLink(of: link.device) {
      withKernel(now: time, into: &output) { $0?.linkEnded(ended, $1, into: &$2) }
    }
    var (manager, effects) = (link.manager, [Effect<SecurityEffect>]())
    manager.linkEnded(
      reason, isRequested: link.isClosing, securityContext(of: link, now: time), into: &effects)
    apply(effects, now: time, into: &output) { _, _, _ in }
  }

  /// Lets the pairings of the kernel do something, where there are any, and applies what they cause.
  mutating func withKernel(
    now: Instant, into output: inout HostOutput,
    _ body: (inout KernelPairings?, KernelContext, inout [Effect<KernelEffect>]) -> Void
  ) {
    let context = KernelContext(
      settings: policy.settings, ownIdentity: ownAddress, bonds: bonds.bonds, isPoweredOn: state == .poweredOn,
      links: links.compactMap { $0.manager.kernelLink(of: $0.device) })
    var effects: [Effect<KernelEffect>] = []
    body(&policy.kernel, context, &effects)
    apply(effects, now: now, into: &output) { core, effect, output in
      switch effect {
      case .report(let report, let peer):
        guard let index = core.links.index(of: peer) else { return }
        core.withSecurity(index, now: now, into: &output) { $0.receive(report, &$1, into: &$2) }
      case .bondChanged(let bond): core.withBonds(into: &output) { $0.change(bond, into: &$1) }
      case .bondMade(let bond, let hasConsent):
        let (inUse, limit) = (core.links.provenIdentities(), core.policy.unconfirmedBonds)
        core.withBonds(into: &output) {
          let isKept = $0.admit(bond, hasConsent: hasConsent, inUse: inUse, limit, now: now, into: &$1)
          if !isKept { $1.append(.own(.notKept(bond.identity))) }
        }
      case .close(let peer):
        guard let index = core.links.index(of: peer) else { return }
        core.close(index, .authenticationFailure, now: now, into: &output)
      }
    }
  }

  /// Lets the bond table do something and applies what it causes.
  mutating func withBonds(
    into output: inout HostOutput, _ body: (inout BondTable, inout [Effect<BondEffect>]) -> Void
  ) {
    var effects: [Effect<BondEffect>] = []
    body(&bonds, &effects)
    let now = time
    apply(effects, now: now, into: &output) { core, effect, output in
      switch effect {
      case .removed(let identity):
        core.links.bondRemoved(identity)
        core.withKernel(now: now, into: &output) { $0?.bondRemoved(identity, into: &$2) }
      case .notKept(let identity):
        core.withKernel(now: now, into: &output) { $0?.removeKeys(of: identity, $1, into: &$2) }
      case .made(let bond, let peer):
        core.links.bonded(peer, bond, core.toolbox)
        core.confirmIdentity(of: peer, now: now, into: &output)
      case .replaced(let identity, let peer):
        var effects: [Effect<LinkEffect>] = []
        core.links.bondReplaced(identity, on: peer, into: &effects)
        core.apply(effects, of: peer, now: now, into: &output)
      case .securityChanged(let peer):
        guard let index = core.links.index(of: peer) else { return }
        output.append(.security(peer, core.links[index].security))
      }
    }
  }

  /// The link has proven the bond of its identity.
  mutating func confirmIdentity(of peer: PeerID, now: Instant, into output: inout HostOutput) {
    var effects: [Effect<LinkEffect>] = []
    links.confirmIdentity(of: peer, into: &effects)
    apply(effects, of: peer, now: now, into: &output)
  }
}
