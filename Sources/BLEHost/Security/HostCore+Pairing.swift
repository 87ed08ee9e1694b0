import BLECrypto
import BLEGATT
import BLEHCI
import BLEL2CAP
package import BLESMP
package import BLEWire

/// The security managers of the links, and what their effects cause in other parts.
extension HostCore {
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

  /// The link has ended, and is not in the table any more.
  mutating func securityEnded(_ link: Link, _ reason: HCIErrorCode, into output: inout HostOutput) {
    if let ended = link.manager.kernelLink(identity: link.identity, isBondProven: link.security.isBondProven) {
      withKernel(now: time, into: &output) { $0?.linkEnded(ended, $1, into: &$2) }
    }
    var (manager, effects) = (link.manager, [Effect<SecurityEffect>]())
    manager.linkEnded(
      reason, isRequested: link.isClosing, securityContext(of: link, now: time), into: &effects)
    apply(effects, now: time, into: &output) { _, _, _ in }
  }

  private func securityContext(of link: Link, now: Instant) -> SecurityContext {
    SecurityContext(
      settings: policy.settings, isBlocked: policy.isBlocked(link.identity, now: now), identity: link.identity,
      bonds: bonds.bonds, isBondProven: link.security.isBondProven, level: link.security.level,
      reconnection: link.client.reconnection, ownIdentity: ownAddress,
      withholdsIdentity: radio.privacy.map { !$0.distributesIdentityWhenUnauthenticated } ?? false,
      rules: bondRules(for: link), pairings: link.pairings, cryptography: cryptography, random: random, lastQuestion: policy.lastQuestion)
  }

  /// Takes a report of the kernel's security manager.
  package mutating func receive(_ report: SecurityReport, now: Instant, into output: inout HostOutput) {
    time = now
    defer { links.review() }
    withKernel(now: now, into: &output) { $0?.receive(report, $1, into: &$2) }
  }

  /// Lets the pairings of the kernel do something, where there are any, and applies what they cause.
  mutating func withKernel(
    now: Instant, into output: inout HostOutput,
    _ body: (inout KernelPairings?, KernelContext, inout [Effect<KernelEffect>]) -> Void
  ) {
    let context = KernelContext(
      settings: policy.settings, ownIdentity: ownAddress, bonds: bonds.bonds, isPoweredOn: state == .poweredOn,
      links: links.compactMap { $0.manager.kernelLink(identity: $0.identity, isBondProven: $0.security.isBondProven) })
    var effects: [Effect<KernelEffect>] = []
    body(&policy.kernel, context, &effects)
    apply(effects, now: now, into: &output) { core, effect, output in
      switch effect {
      case .report(let report, let peer):
        guard let index = core.index(of: peer) else { return }
        core.withSecurity(index, now: now, into: &output) { $0.receive(report, &$1, into: &$2) }
      case .bondChanged(let bond): core.withBonds(into: &output) { $0.change(bond, into: &$1) }
      case .bondMade(let bond, let hasConsent):
        guard !core.admit(bond, hasConsent: hasConsent, into: &output) else { return }
        core.withKernel(now: now, into: &output) { $0?.removeKeys(of: bond.identity, $1, into: &$2) }
      case .close(let peer):
        guard let index = core.index(of: peer) else { return }
        core.close(index, .authenticationFailure, now: now, into: &output)
      }
    }
  }

  private mutating func perform(
    _ effect: SecurityEffect, on index: Int, now: Instant, into output: inout HostOutput
  ) {
    let peer = links[index].peer
    switch effect {
    case .send(let pdu): transmit(index, .securityManager, pdu.encoded.span, into: &output)
    case .paired(let outcome): paired(index, outcome, now: now, into: &output)
    case .failed(let failure, let claimed):
      policy.failed(links[index].identity, failure, now: now)
      pairingFailed(index, failure, claimed: claimed, into: &output)
    case .attemptFailed(let failure): policy.failed(links[index].identity, failure, now: now)
    case .answerIgnored(let error): ignore(error, peer: peer, into: &output)
    case .encrypted(let start): linkEncrypted(index, start, now: now, into: &output)
    case .cipher(let isOn): links[index].client.setEncrypted(isOn)
    case .levelLost: levelLost(index, into: &output)
    case .bondKeyFailed(let loss): bondKeyFailed(index, loss, now: now, into: &output)
    case .notSecured: withClient(index, now: now, into: &output) { $0.releaseParked(into: &$1) }
    case .close: close(index, .authenticationFailure, now: now, into: &output)
    case .released(let report): receive(report, now: now, into: &output)
    case .kernelKeyAccepted(let identity): policy.kernel?.keyAccepted(identity)
    case .kernelKeysRefused(let identity):
      withKernel(now: now, into: &output) { $0?.removeKeys(of: identity, $1, into: &$2) }
    }
  }

  /// A pairing came to nothing.
  ///
  /// - Parameter claimed: the identity that the peer named, if any.
  private mutating func pairingFailed(
    _ index: Int, _ failure: PairingFailure, claimed: DeviceAddress?, into output: inout HostOutput
  ) {
    links[index].pairings.failed(now: time)
    let link = links[index]
    output.append(.pairingFailed(link.peer, failure))
    let identity = claimed ?? link.identity
    let isProven = link.security.isBondProven && identity == link.identity
    if bonds[identity] != nil, let loss = BondLoss(pairingFailed: failure, isProven: isProven) {
      output.append(.bondLost(link.peer, identity, loss))
    }
    withClient(index, now: time, into: &output) { $0.releaseParked(into: &$1) }
  }

  /// An answer changed nothing, and is logged (Vol 3, Part H, 2.3.5.6.2: a yes is worth only what the user compared).
  mutating func ignore(_ fault: PairingAnswerError, peer: PeerID, into output: inout HostOutput) {
    report(.application, "an answer to a pairing question is ignored: \(fault)", peer: peer, into: &output)
  }

  /// Whether the link is being secured, or can be secured better than it is.
  mutating func beginsSecuring(_ index: Int, now: Instant, into output: inout HostOutput) -> Bool {
    let peer = links[index].peer
    withSecurity(index, now: now, into: &output) { $0.secureOnDemand(&$1, now: now, into: &$2) }
    return self.index(of: peer).map { links[$0].manager.isUnderWay } ?? false
  }
}
