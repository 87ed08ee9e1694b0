import BLEGATT
import BLEHCI
package import BLESMP
package import BLEWire

/// Trust where the kernel has the controller: its security manager pairs and encrypts, and what is asked, decided and kept
/// is the same as with our own (Docs/Decisions/0051).
extension HostCore {
  var isSecuredBySystem: Bool { configuration.ownership == .sharedWithKernel }

  /// The system is told all it has to know, when it is there anew.
  mutating func restoreTrust(into output: inout HostOutput) {
    guard isSecuredBySystem else { return }
    output.directives.append(.setPolicy(policy.settings))
    loadSystemKeys(into: &output)
  }

  /// Takes what the system's security manager says.
  package mutating func receive(_ report: SecurityReport, now: Instant, into output: inout HostOutput) {
    guard isSecuredBySystem else { return }
    time = now
    defer { links.review() }
    switch report {
    case .asked(let address, let question): asked(question, by: address, now: now, into: &output)
    case .failed(let address):
      guard let index = systemIndex(of: address) else { return }
      systemPairingFailed(index, now: now, into: &output)
    case .identity(let identity, let used, let key): identityNamed(identity, usedAs: used, key)
    case .signatureKey(let identity, let key, let isOurs):
      change(identity) { if isOurs { $0.ownCSRK = key } else { $0.peerCSRK = key } }
    case .longTermKey(let identity, let key, let use, let isToBeKept):
      keyMade(identity, key, use, isToBeKept: isToBeKept, now: now, into: &output)
    case .level(let handle, let strength):
      guard let index = index(of: ConnectionHandle(rawValue: handle)) else { return }
      levelChanged(index, strength, now: now, into: &output)
    }
  }

  /// A pairing that the peer began, or we did, needs an answer.
  private mutating func asked(
    _ question: PairingQuestion, by address: DeviceAddress, now: Instant, into output: inout HostOutput
  ) {
    guard let index = systemIndex(of: address), let settings = policy.settings else {
      return output.directives.append(.answer(address, question, .reject))
    }
    systemOutcomes[address.identity] = nil
    // A question that is still open was of a pairing that this one supersedes.
    let before = endSystemPairing(index, into: &output)
    links[index].system = SystemPairing(
      isUnderWay: true, isOurWish: before.isOurWish, isRequested: before.isRequested, isPairing: true,
      hasConsent: before.isRequested)
    if policy.isBlocked(links[index].identity, now: now) {
      return answerSystem(index, question, .reject, PairingFailure(.repeatedAttempts, .local), into: &output)
    }
    guard question == .consent else { return ask(question, on: index, into: &output) }
    let identity = links[index].identity
    let replacement = replacementPolicy(for: identity, on: links[index])
    // A protected bond gives way to a protected one only.
    if settings.requiresMITM || isProtected(identity) || replacement == .never {
      answerSystem(index, question, .reject, PairingFailure(.authenticationRequirements, .local), into: &output)
    } else if replacement == .ask {
      links[index].system.replacing = identity
      ask(.replaceBond, on: index, into: &output)
    } else if settings.asksConsent, !links[index].system.hasConsent {
      ask(question, on: index, into: &output)
    } else {
      answerSystem(index, question, .accept, nil, into: &output)
    }
  }

  mutating func ask(_ question: PairingQuestion, on index: Int, into output: inout HostOutput) {
    let id = links[index].system.questions.ask(question, after: &policy.lastQuestion)
    output.append(.pairing(links[index].peer, id, question))
  }

  /// The application's answer to one question. What is shown may be rejected until the pairing has ended.
  mutating func answerSystem(
    _ index: Int, _ id: PairingQuestionID, _ answer: PairingAnswer, now: Instant, into output: inout HostOutput
  ) {
    let question: PairingQuestion
    do throws(PairingAnswerError) {
      question = try links[index].system.questions.close(id, with: answer)
    } catch {
      return ignore(error, peer: links[index].peer, into: &output)
    }
    guard links[index].system.withheld.isEmpty else {
      return decideWithheld(index, question, isAccepted: answer == .accept, now: now, into: &output)
    }
    let reason: PairingFailedReason =
      switch question {
      case .compare: .numericComparisonFailed
      case .enterPasskey: .passkeyEntryFailed
      case .consent, .replaceBond, .display: .unspecifiedReason
      }
    if answer == .accept { agree(to: question, on: index) }
    let refusal = answer == .reject ? PairingFailure(reason, .local) : nil
    answerSystem(index, question, answer, refusal, into: &output)
  }

  /// The application agreed to an unauthenticated pairing, and to what it replaces.
  mutating func agree(to question: PairingQuestion, on index: Int) {
    guard question == .consent || question == .replaceBond else { return }
    links[index].system.hasConsent = true
    if question == .replaceBond { links[index].system.agreedReplacement = links[index].system.replacing }
  }

  private mutating func answerSystem(
    _ index: Int, _ question: PairingQuestion, _ answer: PairingAnswer, _ refusal: PairingFailure?,
    into output: inout HostOutput
  ) {
    links[index].system.refusal = refusal
    output.directives.append(.answer(systemAddress(of: links[index]), question, answer))
  }

  /// What is known of a pairing by the system is void, and with it the question that is open.
  @discardableResult
  mutating func endSystemPairing(_ index: Int, into output: inout HostOutput) -> SystemPairing {
    if let id = links[index].system.questions.withdraw() {
      output.append(.pairingQuestionWithdrawn(links[index].peer, id))
    }
    defer { links[index].system = SystemPairing() }
    return links[index].system
  }

  private mutating func systemPairingFailed(_ index: Int, now: Instant, into output: inout HostOutput) {
    guard links[index].system.isUnderWay else { return }
    let system = endSystemPairing(index, into: &output)
    if system.refusal == nil, system.isPairing {
      // It may have been a wrong guess at a passkey; who guesses has to wait.
      policy.failed(links[index].identity, PairingFailure(.confirmValueFailed, .local), now: now)
    }
    let failure = system.refusal ?? PairingFailure(.unspecifiedReason, .system)
    pairingEnded(index, failure, into: &output)
    // Nothing would be heard on it any more.
    if system.isOurWish { close(index, .authenticationFailure, now: now, into: &output) }
  }

  /// A link ended while the system was pairing on it.
  mutating func systemLinkEnded(_ link: Link, into output: inout HostOutput) {
    forgetWithheld(link, into: &output)
    keysMayFollow(link)
    if let open = link.system.questions.open {
      output.append(.pairingQuestionWithdrawn(link.peer, open.id))
    }
    // With a bonded device it would have been no pairing.
    guard link.system.isPairing || (link.system.isOurWish && bonds[link.identity] == nil) else { return }
    let failure = link.system.refusal ?? PairingFailure(.unspecifiedReason, .linkLost)
    output.append(.pairingFailed(link.peer, failure))
  }

  /// The system says what a link is worth: it knows the key.
  private mutating func levelChanged(
    _ index: Int, _ strength: KeyStrength?, now: Instant, into output: inout HostOutput
  ) {
    let handle = links[index].handle
    links[index].client.setEncrypted(strength != nil)
    links[index].cipher.systemStrength = strength
    links[index].system.withheld.removeAll { if case .level = $0 { true } else { false } }
    if let strength, needsConsent(links[index], to: strength, isNewKey: false) {
      return withhold(.level(handle: handle.rawValue, strength), on: index, into: &output)
    }
    if strength != nil {
      withClient(index, now: now, into: &output) { $0.stopAwaitingCounters(now: now, into: &$1) }
    }
    links[index].security.level = strength?.level ?? .none
    links[index].security.keySize = strength?.size ?? 0
    if strength == nil { links[index].security.isBondProven = false }
    let isNewProof = strength != nil && !links[index].system.isPairing && proveBond(index, into: &output)
    let index = isNewProof ? confirmIdentity(index, now: now, into: &output) : index
    output.append(.security(links[index].peer, links[index].security))
    reportSubscriptions(index, into: &output)
    guard strength != nil else { return systemHasNotEncrypted(index, now: now, into: &output) }
    if !links[index].system.isPairing { endSystemPairing(index, into: &output) }
    if isNewProof { recognised(index, now: now, into: &output) }
    guard let still = self.index(of: handle) else { return }
    resumeClient(still, now: now, into: &output)
  }

  /// The system was asked to encrypt a link, and says that it is in the clear: it cannot encrypt it.
  private mutating func systemHasNotEncrypted(_ index: Int, now: Instant, into output: inout HostOutput) {
    guard links[index].system.isOurWish, !links[index].system.isPairing else { return }
    endSystemPairing(index, into: &output)
    if links[index].client.reconnection.isPending {
      bondKeyFailed(index, .notEncrypted(.unspecifiedError), now: now, into: &output)
    } else {
      withClient(index, now: now, into: &output) { $0.releaseParked(into: &$1) }
    }
  }

  /// The link could not be encrypted with the keys of a bond (Vol 4, Part E, 7.7.8).
  mutating func systemEncryptionFailed(
    _ index: Int, _ status: HCIErrorCode, now: Instant, into output: inout HostOutput
  ) {
    let link = links[index]
    links[index].system.isUnderWay = link.system.isPairing
    guard !link.system.isPairing, bonds[link.identity] != nil, let loss = BondLoss(encryptionFailed: status) else {
      return
    }
    bondKeyFailed(index, loss, now: now, into: &output)
  }

  /// The kernel has told the controller that it lacks the key that a central named (Vol 4, Part E, 7.8.26).
  mutating func systemMissedKey(_ returned: Bytes, into output: inout HostOutput) {
    let octets = [UInt8](returned)
    guard let handle = octets.span.uint16(at: 1), let index = index(of: ConnectionHandle(rawValue: handle)) else {
      return
    }
    let loss: BondLoss = bonds[links[index].identity] == nil ? .missingHere : .keysDiffer
    output.append(.bondLost(links[index].peer, links[index].identity, loss))
  }

  /// Asks the system to secure a link; as a peripheral, to ask its central.
  ///
  /// - Parameter isConsented: the application asked for it.
  mutating func secureBySystem(
    _ index: Int, isAuthenticated: Bool, isConsented: Bool, now: Instant, into output: inout HostOutput
  ) {
    let isRequested = isConsented && links[index].role == .central
    if isRequested { (links[index].system.isRequested, links[index].system.hasConsent) = (true, true) }
    guard !links[index].system.isUnderWay else {
      return isRequested ? consentToOpenQuestion(index, now: now, into: &output) : ()
    }
    (links[index].system.isUnderWay, links[index].system.isOurWish) = (true, true)
    output.directives.append(
      .secure(handle: links[index].handle.rawValue, isAuthenticated: isAuthenticated))
  }
}
