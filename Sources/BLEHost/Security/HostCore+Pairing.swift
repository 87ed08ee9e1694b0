import BLECrypto
import BLEGATT
import BLEHCI
import BLEL2CAP
import BLESMP
import BLEWire

/// The security manager's channel of each link, and what comes of it (Vol 3, Part H, 2 and 3).
extension HostCore {
  mutating func receiveSMP(_ index: Int, _ pdu: Span<UInt8>, now: Instant, into output: inout HostOutput) {
    // The kernel receives these frames where the controller is its own.
    guard !isSecuredBySystem else { return }
    withSecurity(index, pairs: policy.settings != nil, now: now, into: &output) {
      $0.receive(pdu, &$1, now: now, into: &$2)
    }
  }

  /// Lets the security manager of a link do something and applies what it causes.
  ///
  /// - Parameter pairs: the input needs the machine that pairs.
  mutating func withSecurity(
    _ index: Int, pairs: Bool = false, now: Instant, into output: inout HostOutput,
    _ body: (inout OwnSecurityManager, inout SecurityContext, inout [Effect<SecurityEffect>]) -> Void
  ) {
    var context = securityContext(of: links[index], now: now)
    if pairs, links[index].manager.needsMachine {
      let settings = policy.settings(for: pairingFacts(of: links[index]))
      links[index].manager.prepare(settings, cryptography, random.fork())
    }
    var effects: [Effect<SecurityEffect>] = []
    body(&links[index].manager, &context, &effects)
    policy.lastQuestion = context.lastQuestion
    let peer = links[index].peer
    apply(effects, now: now, into: &output) { core, effect, output in
      if let index = core.links.index(of: peer) { core.perform(effect, on: index, now: now, into: &output) }
    }
  }

  private func securityContext(of link: Link, now: Instant) -> SecurityContext {
    SecurityContext(
      settings: policy.settings.map { _ in policy.settings(for: pairingFacts(of: link)) },
      isBlocked: policy.isBlocked(link.identity, now: now), identity: link.identity, bond: bonds[link.identity],
      level: link.security.level, lastQuestion: policy.lastQuestion)
  }

  /// What the settings of a link's next pairing depend on.
  private func pairingFacts(of link: Link) -> PairingFacts {
    PairingFacts(
      ownIdentity: ownAddress,
      withholdsIdentity: radio.privacy.map { !$0.distributesIdentityWhenUnauthenticated } ?? false,
      rules: bondRules(for: link), bond: bonds[link.identity], isBondProven: link.security.isBondProven)
  }

  func isProtected(_ identity: DeviceAddress) -> Bool { bonds[identity]?.strength.isAuthenticated ?? false }

  private mutating func perform(
    _ effect: SecurityEffect, on index: Int, now: Instant, into output: inout HostOutput
  ) {
    switch effect {
    case .send(let pdu): transmit(index, .securityManager, pdu.encoded.span, into: &output)
    case .securityRequested(let wanted): secure(index, wanted, isConsented: false, now: now, into: &output)
    case .paired(let outcome): paired(index, outcome, now: now, into: &output)
    case .failed(let failure, let claimed):
      policy.failed(links[index].identity, failure, now: now)
      pairingEnded(index, failure, claimed: claimed, into: &output)
    case .answerIgnored(let error): ignore(error, peer: links[index].peer, into: &output)
    case .encrypted(let start): linkEncrypted(index, start, now: now, into: &output)
    case .bondKeyFailed(let loss): bondKeyFailed(index, loss, now: now, into: &output)
    }
  }

  /// A pairing came to nothing, whoever's security manager did it.
  ///
  /// - Parameter claimed: the identity that the peer named, where the system tells.
  mutating func pairingEnded(
    _ index: Int, _ failure: PairingFailure, claimed: DeviceAddress? = nil, into output: inout HostOutput
  ) {
    let peer = links[index].peer
    output.append(.pairingFailed(peer, failure))
    let identity = claimed ?? links[index].identity
    if isForBond(of: identity, failure, on: links[index]) {
      output.append(.bondLost(peer, identity, .forgottenByPeer))
    }
    withClient(index, now: time, into: &output) { $0.releaseParked(into: &$1) }
  }

  /// Whether a pairing failed because its key would have been weaker than that of a bond, which the device would have used
  /// if it still had it.
  private func isForBond(of identity: DeviceAddress, _ failure: PairingFailure, on link: Link) -> Bool {
    guard bonds[identity] != nil, failure.origin == .local else { return false }
    guard failure.reason == .authenticationRequirements || failure.reason == .encryptionKeySize else { return false }
    return !(link.security.isBondProven && identity == link.identity)
  }

  /// The application's answer to a question.
  mutating func answerPairing(
    _ index: Int, _ question: PairingQuestionID, _ answer: PairingAnswer, now: Instant, into output: inout HostOutput
  ) {
    if isSecuredBySystem { return answerSystem(index, question, answer, now: now, into: &output) }
    withSecurity(index, now: now, into: &output) { $0.answer(question, answer, &$1, now: now, into: &$2) }
  }

  /// An answer changed nothing, and is logged (Vol 3, Part H, 2.3.5.6.2: a yes is worth only what the user compared).
  mutating func ignore(_ fault: PairingAnswerError, peer: PeerID, into output: inout HostOutput) {
    report(.application, "an answer to a pairing question is ignored: \(fault)", peer: peer, into: &output)
  }

  /// The application wants the link secured: a peripheral asks its central, a central encrypts or pairs.
  mutating func requestSecurity(
    _ index: Int, for owner: OwnerID, now: Instant, into output: inout HostOutput
  ) {
    guard let settings = policy.settings else {
      return output.append(.refused(.unsupported("pairing: it is switched off")), to: owner.recipient)
    }
    if isSecuredBySystem {
      secureBySystem(index, isAuthenticated: settings.requiresMITM, isConsented: true, now: now, into: &output)
    } else if links[index].role == .central {
      secure(index, [], isConsented: true, now: now, into: &output)
    } else {
      withSecurity(index, pairs: true, now: now, into: &output) { $0.requestSecurity(&$1, into: &$2) }
    }
  }

  /// A central makes its link as secure as it can: with the key of the bond where that is enough, else by pairing.
  ///
  /// - Parameter isConsented: the application asked for it; else a peripheral did, or our client on demand.
  mutating func secure(
    _ index: Int, _ wanted: AuthenticationRequirements, isConsented: Bool, now: Instant,
    into output: inout HostOutput
  ) {
    guard links[index].role == .central else { return }
    if !isConsented {
      switch links[index].client.reconnection {
      case .none: break
      // The encryption that is under way is the answer.
      case .pending: return
      case .bondLost:
        // A device that cannot encrypt with its bond does not get another one by a Security Request.
        return report(
          .peer,
          "a Security Request is ignored: the device has lost its bond, and the application decides whether to pair",
          peer: links[index].peer, into: &output)
      }
    }
    if isSecuredBySystem {
      return secureBySystem(
        index, isAuthenticated: wanted.contains(.mitm), isConsented: isConsented, now: now, into: &output)
    }
    if let key = bonds[links[index].identity]?.centralKey, policy.isEnough(key.strength, for: wanted) {
      guard links[index].security.level == .none, !links[index].manager.isStarting else { return }
      return withSecurity(index, now: now, into: &output) { $0.encrypt(with: key, .bond, into: &$2) }
    }
    withSecurity(index, pairs: true, now: now, into: &output) {
      $0.pair(isConsented: isConsented, &$1, now: now, into: &$2)
    }
  }

  /// Whether the link is being secured, or can be secured better than it is.
  mutating func beginsSecuring(_ index: Int, now: Instant, into output: inout HostOutput) -> Bool {
    func isUnderWay(_ link: Link) -> Bool { link.manager.isUnderWay || link.system.isUnderWay }
    if isUnderWay(links[index]) { return true }
    if links[index].security.level == .encrypted, policy.settings?.requestsMITM == true {
      // A key that nobody vouches for was not enough: a better one, where the devices can make one.
      secure(index, .mitm, isConsented: false, now: now, into: &output)
    } else if links[index].security.level == .none {
      secure(index, [], isConsented: false, now: now, into: &output)
    }
    return isUnderWay(links[index])
  }
}
