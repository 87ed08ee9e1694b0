import BLECrypto
import BLEGATT
import BLEHCI
import BLEL2CAP
import BLESMP
import BLEWire

/// The security manager's channel of each link, and what comes of it (Vol 3, Part H, 2 and 3).
extension HostCore {
  mutating func receiveSMP(_ index: Int, _ pdu: Span<UInt8>, now: Instant, into output: inout HostOutput) {
    guard policy.settings != nil else { return refusePairing(index, pdu, into: &output) }
    withPairing(index, now: now, into: &output) { machine, effects in
      machine.receive([UInt8](copying: pdu)[...], now: now, into: &effects)
    }
  }

  /// Without pairing switched on every attempt is refused (Vol 3, Part H, 3.5.5).
  private mutating func refusePairing(_ index: Int, _ pdu: Span<UInt8>, into output: inout HostOutput) {
    let reason: PairingFailedReason
    do throws(CodecError) {
      switch try SMPPDU(decoding: [UInt8](copying: pdu)[...]).packet {
      case is PairingRequest where links[index].role == .peripheral: reason = .pairingNotSupported
      // A Security Request to a central without keys, which may ignore it (Vol 3, Part H, 2.4.6).
      case is SecurityRequest, is PairingFailed: return
      default: reason = .unspecifiedReason
      }
    } catch .invalid(field: "Code") {
      return
    } catch {
      reason = .invalidParameters
    }
    sendSMP(index, SMPPDU(PairingFailed(reason: reason)), into: &output)
  }

  private mutating func sendSMP(_ index: Int, _ pdu: SMPPDU, into output: inout HostOutput) {
    transmit(index, .securityManager, pdu.encoded.span, into: &output)
  }

  /// Lets a link's machine do something, made where it is not there yet, and performs what it wants.
  mutating func withPairing(
    _ index: Int, now: Instant, into output: inout HostOutput,
    _ body: (inout PairingMachine, inout [PairingEffect]) -> Void
  ) {
    var machine = links[index].pairing ?? makePairing(for: links[index])
    // What the application changed holds for the next pairing, not for the one under way.
    if !machine.isPairing, policy.settings != nil {
      machine.settings = policy.settings(for: pairingFacts(of: links[index]))
    }
    machine.rejectsAttempts = policy.isBlocked(links[index].identity, now: now)
    machine.lastQuestion = lastQuestion
    var effects: [PairingEffect] = []
    body(&machine, &effects)
    lastQuestion = machine.lastQuestion
    links[index].pairing = machine
    let peer = links[index].peer
    for effect in effects {
      guard let index = self.index(of: peer) else { return }
      perform(effect, on: index, now: now, into: &output)
    }
  }

  private mutating func makePairing(for link: Link) -> PairingMachine {
    PairingMachine(
      role: link.role == .central ? .initiator : .responder, own: link.ownAddress, peer: link.address.identity,
      settings: policy.settings(for: pairingFacts(of: link)), cryptography: cryptography,
      random: random.fork())
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
    _ effect: PairingEffect, on index: Int, now: Instant, into output: inout HostOutput
  ) {
    let peer = links[index].peer
    switch effect {
    case .send(let pdu): sendSMP(index, pdu, into: &output)
    case .ask(let id, let question): output.append(.pairing(peer, id, question))
    case .withdraw(let id): output.append(.pairingQuestionWithdrawn(peer, id))
    case .ignoredAnswer(let fault): ignore(fault, peer: peer, into: &output)
    case .encrypt(let key): encrypt(index, with: key, .pairing, now: now, into: &output)
    case .securityRequested(let authReq): secure(index, authReq, isConsented: false, now: now, into: &output)
    case .completed(let outcome): paired(index, outcome, now: now, into: &output)
    case .keypress(let keypress): output.append(.keypress(peer, keypress))
    case .failed(let failure):
      policy.failed(links[index].identity, failure, now: now)
      if links[index].cipher.start?.origin == .pairing { links[index].cipher.start = nil }
      pairingEnded(index, failure, into: &output)
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
    let identity = claimed ?? links[index].pairing?.claimedIdentity ?? links[index].identity
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
    guard links[index].pairing != nil else { return ignore(.notOpen, peer: links[index].peer, into: &output) }
    withPairing(index, now: now, into: &output) { machine, effects in
      machine.answer(question, answer, now: now, into: &effects)
    }
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
      withPairing(index, now: now, into: &output) { machine, effects in machine.requestSecurity(into: &effects) }
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
    if let key = bonds[links[index].identity]?.centralKey {
      if policy.isEnough(key.strength, for: wanted) {
        guard links[index].security.level == .none, links[index].cipher.start == nil else { return }
        return encrypt(index, with: key, .bond, now: now, into: &output)
      }
    }
    withPairing(index, now: now, into: &output) { machine, effects in
      machine.start(isConsented: isConsented, now: now, into: &effects)
    }
  }

  /// Whether the link is being secured, or can be secured better than it is.
  mutating func beginsSecuring(_ index: Int, now: Instant, into output: inout HostOutput) -> Bool {
    func isUnderWay(_ link: Link) -> Bool {
      link.cipher.start != nil || link.pairing?.isPairing == true || link.system.isUnderWay
    }
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
