import BLEGATT
import BLEHCI
import BLESMP
import BLEWire

/// The security manager of one link where the kernel has the controller: it decides the questions of the system
/// host, or asks the application, and takes the level that the kernel reports (Docs/Decisions/kernel.md#pairing).
///
/// ```
///            secure ─────────────────────────────► requested ──┐
///   idle ──┤                                           │ asked ├─ level, first key, failed ──► idle
///            asked ──────────────────────────────► pairing ────┘
///            level or key that needs consent ────► pairing, reports withheld ── accepted ──► reports are repeated
///                                                                            └─ rejected ──► keys removed, link ended
/// ```
struct KernelSecurityManager: LinkSecurityManager {
  private let peer: LinkID
  private let handle: ConnectionHandle
  private let isCentral: Bool
  /// The peer's address as it is on the radio.
  private let address: DeviceAddress
  /// The identity that the kernel has reported in a pairing on this link, by which it calls the device since.
  private var reportedIdentity: DeviceAddress?
  /// The strength of the key in use, as the kernel reports it.
  private var strength: KeyStrength?
  /// Whether the controller says that the link is encrypted, with any key.
  private var isEncrypted = false
  private var pairing = KernelPairing()

  /// - Parameter address: the peer's address as it is on the radio.
  init(peer: LinkID, handle: ConnectionHandle, isCentral: Bool, address: DeviceAddress) {
    (self.peer, self.handle, self.isCentral, self.address) = (peer, handle, isCentral, address)
  }

  /// The kernel has the timeouts of its pairings.
  var deadline: Instant? { nil }
  /// The kernel gives the keys.
  var isStarting: Bool { false }
  var isUnderWay: Bool { pairing.isUnderWay }

  mutating func perform(
    _ input: SecurityInput, _ context: inout SecurityContext, now: Instant,
    into effects: inout [Effect<SecurityEffect>]
  ) {
    switch input {
    case .report(let report): receive(report, &context, into: &effects)
    case .requested(let owner, let demand):
      context.demand = demand
      requestSecurity(for: owner, &context, now: now, into: &effects)
    case .refused:
      guard !isUnderWay, let wanted = context.requirementsOnDemand else { return }
      secure(wanted, isConsented: false, &context, now: now, into: &effects)
    case .bond: encryptWithBond(&context, into: &effects)
    case .answer(let question, let answer): self.answer(question, answer, &context, now: now, into: &effects)
    case .keyMissed: keyMissed(context, into: &effects)
    case .encryptionChanged(let status, let isOn):
      encryptionChanged(status, isOn: isOn, &context, now: now, into: &effects)
    case .encryptionFailed(let status): encryptionFailed(status, &context, now: now, into: &effects)
    case .levelApplied(let start): levelApplied(start, &context, now: now, into: &effects)
    // The kernel has the channel of the Security Manager, answers the requests for keys, and has the timeouts.
    case .pdu, .keyRequested, .tick: break
    }
  }

  /// The kernel does not cancel a request: it ends the link that it could not encrypt.
  mutating func stopEncryption() {}

  func kernelLink(of device: PeerIdentity) -> KernelLinkFacts? {
    KernelLinkFacts(
      peer: peer, handle: handle, isCentral: isCentral, address: address,
      kernelAddress: kernelAddress(device.identity), identity: device.identity,
      isBondProven: device.security.isBondProven, isUnderWay: pairing.isUnderWay,
      isPairing: pairing.isPairing,
      isEncrypted: isEncrypted, hasConsent: pairing.hasConsent, agreedReplacement: pairing.agreedReplacement,
      withheldKeys: pairing.withheld.compactMap {
        if case .longTermKey(let identity, _, _, _) = $0 { identity } else { nil }
      })
  }

  /// The address by which the kernel knows the device: the one on the radio, its identity where it uses a private
  /// address that a bond resolves, or the one that the kernel has reported in a pairing on this link.
  private func kernelAddress(_ identity: DeviceAddress) -> DeviceAddress {
    if let reportedIdentity { return reportedIdentity }
    return address.randomKind == .resolvablePrivate ? identity : address.identity
  }

  /// Takes what the kernel reports about this link.
  mutating func receive(
    _ report: KernelLinkReport, _ context: inout SecurityContext, into effects: inout [Effect<SecurityEffect>]
  ) {
    switch report {
    case .asked(let question): asked(question, &context, into: &effects)
    case .failed: failed(context, into: &effects)
    case .level(let strength): levelChanged(strength, &context, into: &effects)
    case .identified(let identity): reportedIdentity = identity.identity
    case .keyMade(let outcome, let identity, let report):
      keyMade(outcome, of: identity, report, &context, into: &effects)
    case .keysRefused(let refusal, let claimed):
      endPairing(into: &effects)
      context.report(refusal, claimed: claimed, on: peer, into: &effects)
      effects.append(.own(.close))
    }
  }

  /// A pairing that the peer began, or we did, needs an answer.
  private mutating func asked(
    _ question: PairingQuestion, _ context: inout SecurityContext, into effects: inout [Effect<SecurityEffect>]
  ) {
    guard let settings = context.settings else { return }
    // A question that is still open was of a pairing that this one supersedes.
    let before = endPairing(into: &effects)
    pairing = KernelPairing(
      isUnderWay: true, isOurs: before.isOurs, isRequested: before.isRequested, isPairing: true,
      hasConsent: before.isRequested)
    if context.isBlocked {
      return answer(question, .reject, PairingFailure(.repeatedAttempts, .local), context, into: &effects)
    }
    guard question == .consent else { return ask(question, &context, into: &effects) }
    let replacement = context.replacement(of: context.identity)
    let isProtected = context.bond?.strength.isAuthenticated ?? false
    // Only a protected bond replaces a protected one.
    if settings.requiresMITM || isProtected || replacement == .never {
      answer(question, .reject, PairingFailure(.authenticationRequirements, .local), context, into: &effects)
    } else if replacement == .ask {
      pairing.replacing = context.identity
      ask(.replaceBond, &context, into: &effects)
    } else if settings.asksConsent, !pairing.hasConsent {
      ask(question, &context, into: &effects)
    } else {
      answer(question, .accept, nil, context, into: &effects)
    }
  }

  private mutating func ask(
    _ question: PairingQuestion, _ context: inout SecurityContext, into effects: inout [Effect<SecurityEffect>]
  ) {
    let id = pairing.questions.ask(question, after: &context.lastQuestion)
    effects.append(.event(.pairing(peer, .question(id, question)), to: .everyone))
  }

  /// The application's answer to one question. What is shown may be rejected until the pairing has ended.
  mutating func answer(
    _ id: PairingQuestionID, _ answer: PairingAnswer, _ context: inout SecurityContext, now: Instant,
    into effects: inout [Effect<SecurityEffect>]
  ) {
    let question: PairingQuestion
    do throws(PairingAnswerError) {
      question = try pairing.questions.close(id, with: answer)
    } catch {
      return effects.append(.own(.answerIgnored(error)))
    }
    guard pairing.withheld.isEmpty else {
      return decideWithheld(question, isAccepted: answer == .accept, context, into: &effects)
    }
    let reason: PairingFailedReason =
      switch question {
      case .compare: .numericComparisonFailed
      case .enterPasskey: .passkeyEntryFailed
      case .consent, .replaceBond, .display: .unspecifiedReason
      }
    if answer == .accept { pairing.agree(to: question) }
    let refusal = answer == .reject ? PairingFailure(reason, .local) : nil
    self.answer(question, answer, refusal, context, into: &effects)
  }

  private mutating func answer(
    _ question: PairingQuestion, _ answer: PairingAnswer, _ refusal: PairingFailure?, _ context: SecurityContext,
    into effects: inout [Effect<SecurityEffect>]
  ) {
    pairing.refusal = refusal
    effects.append(.kernel(.answer(kernelAddress(context.identity), question, answer)))
  }

  /// What is known of a pairing is void, and with it the question that is open.
  @discardableResult
  private mutating func endPairing(into effects: inout [Effect<SecurityEffect>]) -> KernelPairing {
    if let id = pairing.questions.withdraw() {
      effects.append(.event(.pairing(peer, .questionWithdrawn(id)), to: .everyone))
    }
    defer { pairing = KernelPairing() }
    return pairing
  }

  private mutating func failed(_ context: SecurityContext, into effects: inout [Effect<SecurityEffect>]) {
    guard pairing.isUnderWay else { return }
    let ended = endPairing(into: &effects)
    if ended.refusal == nil, ended.isPairing, !ended.isKeyInUse {
      // It may have been a wrong guess at a passkey; a device that guesses has to wait.
      effects.append(.own(.failed(PairingFailure(.confirmValueFailed, .local))))
    }
    let failure = ended.refusal ?? PairingFailure(.unspecifiedReason, .kernel)
    context.report(failure, claimed: nil, on: peer, into: &effects)
    // The kernel would no longer carry anything on the link, or would continue to give it the level of the key
    // (Docs/Decisions/pairing-and-bonds.md#a-failed-pairing-gives-no-level).
    if ended.isOurs || ended.isKeyInUse { effects.append(.own(.close)) }
  }
}

/// Encryption, by the kernel.
extension KernelSecurityManager {
  mutating func requestSecurity(
    for owner: OwnerID, _ context: inout SecurityContext, now: Instant, into effects: inout [Effect<SecurityEffect>]
  ) {
    guard context.admitsRequest(of: owner, on: peer, into: &effects) else { return }
    let isAuthenticated = context.settings?.requiresMITM == true
    let isConsented = context.demand?.asksConsent != true
    secure(isAuthenticated: isAuthenticated, isConsented: isConsented, &context, now: now, into: &effects)
  }

  mutating func secure(
    _ wanted: AuthenticationRequirements, isConsented: Bool, _ context: inout SecurityContext, now: Instant,
    into effects: inout [Effect<SecurityEffect>]
  ) {
    guard isCentral, isConsented || context.admitsUnrequestedSecurity(of: peer, into: &effects) else { return }
    secure(isAuthenticated: wanted.contains(.mitm), isConsented: isConsented, &context, now: now, into: &effects)
  }

  mutating func encryptWithBond(_ context: inout SecurityContext, into effects: inout [Effect<SecurityEffect>]) {
    guard let key = context.bond?.centralKey else { return }
    request(isAuthenticated: key.strength.isAuthenticated, into: &effects)
  }

  private mutating func secure(
    isAuthenticated: Bool, isConsented: Bool, _ context: inout SecurityContext, now: Instant,
    into effects: inout [Effect<SecurityEffect>]
  ) {
    if isConsented, isCentral {
      (pairing.isRequested, pairing.hasConsent) = (true, true)
      // The request is the answer to an open question for consent.
      if let open = pairing.questions.open, open.question == .consent {
        effects.append(.event(.pairing(peer, .questionWithdrawn(open.id)), to: .everyone))
        answer(open.id, .accept, &context, now: now, into: &effects)
      }
    }
    request(isAuthenticated: isAuthenticated, into: &effects)
  }

  /// Asks the kernel to secure the link; as a peripheral, to ask its central.
  private mutating func request(isAuthenticated: Bool, into effects: inout [Effect<SecurityEffect>]) {
    guard !pairing.isUnderWay else { return }
    (pairing.isUnderWay, pairing.isOurs) = (true, true)
    effects.append(.kernel(.secure(handle: handle.rawValue, isAuthenticated: isAuthenticated)))
  }

  mutating func encryptionChanged(
    _ status: HCIErrorCode, isOn: Bool, _ context: inout SecurityContext, now: Instant,
    into effects: inout [Effect<SecurityEffect>]
  ) {
    guard status == .success else { return encryptionFailed(status, &context, now: now, into: &effects) }
    isEncrypted = isOn
    // The kernel knows the key and reports its strength.
    guard !isOn else { return }
    effects.append(.own(.levelLost))
  }

  mutating func encryptionFailed(
    _ status: HCIErrorCode, _ context: inout SecurityContext, now: Instant,
    into effects: inout [Effect<SecurityEffect>]
  ) {
    pairing.isUnderWay = pairing.isPairing
    guard !pairing.isPairing, context.hasBond, let loss = BondLoss(encryptionFailed: status) else { return }
    effects.append(.own(.bondKeyFailed(context.explained(loss))))
  }

  func keyMissed(_ context: SecurityContext, into effects: inout [Effect<SecurityEffect>]) {
    let loss: BondLoss = context.hasBond ? .keysDiffer : .missingHere
    effects.append(.event(.bonds(.lost(peer, context.identity, loss)), to: .everyone))
  }

  private mutating func levelChanged(
    _ strength: KeyStrength?, _ context: inout SecurityContext, into effects: inout [Effect<SecurityEffect>]
  ) {
    self.strength = strength
    pairing.withheld.removeAll { if case .level = $0 { true } else { false } }
    guard let strength else {
      effects.append(.own(.levelLost))
      return notEncrypted(context, into: &effects)
    }
    let isStranger = !context.hasBond && !context.isBondProven
    if isStranger, pairing.needsConsent(to: strength, context.settings) {
      return withhold(.level(handle: handle.rawValue, strength), .consent, &context, into: &effects)
    }
    pairing.isKeyInUse = pairing.isPairing
    effects.append(.own(.encrypted(KeyStart(strength: strength, origin: pairing.isPairing ? .pairing : .bond))))
  }

  mutating func levelApplied(
    _ start: KeyStart, _ context: inout SecurityContext, now: Instant, into effects: inout [Effect<SecurityEffect>]
  ) {
    if start.origin == .bond { endPairing(into: &effects) }
  }

  /// The kernel was asked to encrypt the link, and reports that it is not encrypted: it cannot encrypt it.
  private mutating func notEncrypted(_ context: SecurityContext, into effects: inout [Effect<SecurityEffect>]) {
    guard pairing.isOurs, !pairing.isPairing else { return }
    endPairing(into: &effects)
    let isLost = context.reconnection.isPending
    effects.append(.own(isLost ? .bondKeyFailed(.notEncrypted(.unspecifiedError)) : .notSecured))
  }

  mutating func linkEnded(
    _ reason: HCIErrorCode, isRequested: Bool, _ context: SecurityContext,
    into effects: inout [Effect<SecurityEffect>]
  ) {
    // The kernel ends a link that it could not encrypt.
    let isKernels = reason == .terminatedByLocalHost && pairing.isUnderWay && !isRequested
    let loss = isKernels ? .notEncrypted(reason) : BondLoss(linkEnded: reason)
    if context.reconnection.isPending, let loss {
      effects.append(.event(.bonds(.lost(peer, context.identity, context.explained(loss))), to: .everyone))
    }
    let ended = endPairing(into: &effects)
    // With a bonded device it would not have been a pairing.
    guard ended.isPairing || (ended.isOurs && !context.hasBond) else { return }
    let failure = ended.refusal ?? PairingFailure(.unspecifiedReason, .linkLost)
    effects.appendFailure(failure, of: peer)
  }
}

/// Consent to pairings that the kernel makes without a question: older Linux kernels before Just Works with Secure
/// Connections, all kernels before a legacy pairing that they begin. The application is asked afterwards. Until it
/// agrees the link counts as one that is not encrypted, and no key is stored (Docs/Decisions/kernel.md#pairing).
extension KernelSecurityManager {
  /// The first key of a pairing.
  private mutating func keyMade(
    _ outcome: PairingOutcome, of identity: DeviceAddress, _ report: KernelReport, _ context: inout SecurityContext,
    into effects: inout [Effect<SecurityEffect>]
  ) {
    if let question = pairing.question(before: outcome, of: identity, context) {
      return withhold(report, question, &context, into: &effects)
    }
    effects.append(.own(.kernelKeyAccepted(identity)))
    var outcome = outcome
    outcome.hasConsent = endPairing(into: &effects).hasConsent
    // The level of the link may be reported after its key.
    pairing.hasConsent = outcome.hasConsent
    effects.append(.own(.paired(outcome)))
  }

  /// Defers a report of such a pairing until the application agrees, and asks the application once.
  private mutating func withhold(
    _ report: KernelReport, _ question: PairingQuestion, _ context: inout SecurityContext,
    into effects: inout [Effect<SecurityEffect>]
  ) {
    guard pairing.withheld.count < KernelPairing.withheldLimit else { return }
    pairing.withheld.append(report)
    if context.level != .none {
      // The level had been accepted already, as one by the key of the bond.
      if let strength { pairing.withheld.append(.level(handle: handle.rawValue, strength)) }
      effects.append(.own(.levelLost))
    }
    guard pairing.questions.open == nil else { return }
    (pairing.isUnderWay, pairing.isPairing) = (true, true)
    ask(question, &context, into: &effects)
  }

  /// The application has decided about a pairing that the kernel made without a question.
  private mutating func decideWithheld(
    _ question: PairingQuestion, isAccepted: Bool, _ context: SecurityContext,
    into effects: inout [Effect<SecurityEffect>]
  ) {
    let withheld = pairing.takeWithheld()
    guard isAccepted else {
      effects.append(.own(.kernelKeysRefused(pairing.replacing ?? kernelAddress(context.identity))))
      endPairing(into: &effects)
      context.report(PairingFailure(.unspecifiedReason, .local), claimed: nil, on: peer, into: &effects)
      return effects.append(.own(.close))
    }
    pairing.agree(to: question)
    effects += withheld.map { .own(.released($0)) }
  }
}
