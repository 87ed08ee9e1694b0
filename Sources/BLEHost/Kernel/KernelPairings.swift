import BLEHCI
import BLESMP
import BLEWire

/// The pairings of the kernel, by the identity of the device: its reports name devices by address, and the
/// link of a report is found by its address on the radio and by the pairings that are in progress
/// (Docs/Decisions/kernel.md#pairing).
///
/// The host's bonds, settings and decisions go the other way, as ``KernelCommand``s.
///
/// ```
///   identity ──► signature keys ──► first key ── accepted ──► paired ── another key ──► bond changed
///                                       │ refused, of another link, or of one of several ──► keys removed, link ended
/// ```
struct KernelPairings: Sendable {
  /// Devices whose keys may be on their way at once. Beyond it, the oldest record without a link makes room.
  static let limit = 32

  /// What the kernel has reported of one device's keys, until the link ends or another pairing begins.
  private struct Outcome: Sendable {
    /// The link whose pairing made the keys; nil where it has ended.
    var link: LinkID?
    /// The application agreed to the pairing whose link has ended.
    var hasConsent = false
    /// The device whose bond it agreed to have replaced.
    var agreedReplacement: DeviceAddress?
    /// The kernel reported the device's identity in this pairing.
    var isIdentified = false
    /// Another link has that identity, or the link of the pairing cannot be determined: the keys are refused.
    var isRefused = false
    var identityResolvingKey: SecretKey?
    var peerCSRK: SecretKey?
    var ownCSRK: SecretKey?
    /// The first key has been accepted.
    var isAnnounced = false
    /// The number of the record, in the order in which the records were made.
    var number: UInt64 = 0
  }

  /// The link of a pairing.
  private enum Found: Equatable {
    case link(LinkID)
    /// It has ended.
    case gone
    /// More than one link may be meant.
    case ambiguous
  }

  private var outcomes: [DeviceAddress: Outcome] = [:]
  /// The number of the newest record.
  private var lastNumber: UInt64 = 0

  /// Takes a report of the kernel.
  mutating func receive(
    _ report: KernelReport, _ context: KernelContext, into effects: inout [Effect<KernelEffect>]
  ) {
    switch report {
    case .asked(let address, let question):
      guard let link = link(calledBy: address, context), context.settings != nil else {
        return effects.append(.kernel(.answer(address, question, .reject)))
      }
      outcomes[address.identity] = nil
      effects.append(.own(.report(.asked(question), link.peer)))
    case .failed(let address):
      guard let link = link(calledBy: address, context) else { return }
      effects.append(.own(.report(.failed, link.peer)))
    case .identity(let identity, let used, let key): identified(identity, usedAs: used, key, context, into: &effects)
    case .signatureKey(let identity, let key, let isOurs):
      change(identity) { if isOurs { $0.ownCSRK = key } else { $0.peerCSRK = key } }
    case .longTermKey(let identity, let key, _, _): keyMade(identity, key, report, context, into: &effects)
    case .level(let handle, let strength):
      guard let link = context.links.first(where: { $0.handle == ConnectionHandle(rawValue: handle) }) else { return }
      effects.append(.own(.report(.level(strength), link.peer)))
    }
  }

  private mutating func change(_ identity: DeviceAddress, _ body: (inout Outcome) -> Void) {
    if outcomes[identity.identity] == nil {
      makeRoom()
      lastNumber += 1
      outcomes[identity.identity] = Outcome(number: lastNumber)
    }
    body(&outcomes[identity.identity, default: Outcome()])
  }

  private mutating func makeRoom() {
    guard outcomes.count >= Self.limit else { return }
    let unused = outcomes.filter { $0.value.link == nil }
    let oldest = (unused.isEmpty ? outcomes : unused).min { $0.value.number < $1.value.number }
    if let oldest { outcomes[oldest.key] = nil }
  }

  /// A device has distributed its identity, and the key that resolves its private addresses, in a pairing.
  private mutating func identified(
    _ identity: DeviceAddress, usedAs used: DeviceAddress, _ key: SecretKey, _ context: KernelContext,
    into effects: inout [Effect<KernelEffect>]
  ) {
    var outcome = Outcome()
    outcome.isIdentified = true
    // A device without one distributes zeros (Vol 3, Part H, 3.6.4).
    outcome.identityResolvingKey = key.value == 0 ? nil : key
    switch pairingLink(of: identity, usedAs: used, context) {
    case .link(let peer):
      // A link has one pairing at a time.
      outcomes = outcomes.filter { $0.value.link != peer }
      outcome.link = peer
      outcome.isRefused = context.isUsed(identity, except: peer)
      if !outcome.isRefused { effects.append(.own(.report(.identified(identity), peer))) }
    case .gone: outcome.isRefused = context.isUsed(identity, except: nil)
    case .ambiguous: outcome.isRefused = true
    }
    change(identity) {
      outcome.number = $0.number
      $0 = outcome
    }
  }

  /// A link has ended. The keys of its pairing may still be on their way; those that waited for the application are
  /// removed.
  mutating func linkEnded(
    _ link: KernelLinkFacts, _ context: KernelContext, into effects: inout [Effect<KernelEffect>]
  ) {
    for identity in link.withheldKeys { removeKeys(of: identity, context, into: &effects) }
    let known = outcomes.first { $0.value.link == link.peer }
    if let known, known.value.isAnnounced { return outcomes[known.key] = nil }
    guard link.isPairing else { return }
    change(known?.key ?? link.kernelAddress) { outcome in
      outcome.link = nil
      outcome.hasConsent = link.hasConsent
      outcome.agreedReplacement = link.agreedReplacement
    }
  }

  /// The security manager of the link has accepted the first key of a pairing.
  mutating func keyAccepted(_ identity: DeviceAddress) { change(identity) { $0.isAnnounced = true } }

  /// A pairing has made a key; legacy pairing may make another one, for the other role.
  private mutating func keyMade(
    _ identity: DeviceAddress, _ key: LongTermKey, _ report: KernelReport, _ context: KernelContext,
    into effects: inout [Effect<KernelEffect>]
  ) {
    guard case .longTermKey(_, _, let use, let isToBeKept) = report else { return }
    let found = keyLink(identity, context)
    var link: KernelLinkFacts?
    if case .link(let peer) = found { link = context.link(peer) }
    let known = outcomes[identity.identity] ?? Outcome()
    let isRefused = found == .ambiguous || known.isRefused || (link == nil && context.isUsed(identity, except: nil))
    let identities = [identity] + (link.map { [$0.identity] } ?? [])
    let isBonded = isToBeKept && context.settings?.isBonding == true
    let isKeyTaken = known.identityResolvingKey.map { isTaken($0, by: identity, key.strength, context) } ?? false
    // Without its identity resolving key a device with a private address could not be recognized again.
    let isUnrecognizable = isKeyTaken && isBonded && link?.address.randomKind == .resolvablePrivate
    let refusal =
      isRefused || isUnrecognizable
      ? PairingFailure(.keyRejected, .local) : refusal(of: key, for: identities, on: link, context)
    if let refusal {
      return refuse(identity, on: link, refusal, isRefused: isRefused, context, into: &effects)
    }
    guard !known.isAnnounced else {
      guard isBonded, var bond = context.bond(of: identity) else { return }
      bond.take(key, use)
      return effects.append(.own(.bondChanged(bond)))
    }
    let outcome = pairingOutcome(identity, key, use, isBonded: isBonded, known)
    // The kernel resolves addresses by the key that it received last. The bond table handles the key of a bond.
    if isKeyTaken, !isBonded { loadKeys(context, into: &effects) }
    if let link { return effects.append(.own(.report(.keyMade(outcome, of: identity, report), link.peer))) }
    keyAccepted(identity)
    guard isBonded, identity.randomKind != .resolvablePrivate else { return }
    // The link has already ended; the device will reconnect with its key.
    if isAllowed(key.strength, for: identity, known, context) {
      effects.append(.own(.bondMade(Bond(identity: identity, outcome), hasConsent: known.hasConsent)))
    } else {
      removeKeys(of: identity, context, into: &effects)
    }
  }

  /// Whether an identity resolving key is ours, or that of another device whose bond keeps it
  /// (Docs/Decisions/pairing-and-bonds.md#identity-keys).
  private func isTaken(
    _ key: SecretKey, by identity: DeviceAddress, _ strength: KeyStrength, _ context: KernelContext
  ) -> Bool {
    var bond = Bond(identity: identity, strength: strength)
    bond.identityResolvingKey = key
    return key == context.settings?.identityResolvingKey || context.bonds.contains { $0.keepsKey(from: bond) }
  }

  private func pairingOutcome(
    _ identity: DeviceAddress, _ key: LongTermKey, _ use: KernelReport.KeyUse, isBonded: Bool, _ known: Outcome
  ) -> PairingOutcome {
    var outcome = PairingOutcome(isBonded: isBonded, strength: key.strength)
    if use != .central { outcome.peripheralKey = key }
    if use != .peripheral { outcome.centralKey = key }
    outcome.peerIRK = known.identityResolvingKey
    outcome.peerIdentity = identity.identity
    (outcome.peerCSRK, outcome.ownCSRK) = (known.peerCSRK, known.ownCSRK)
    return outcome
  }

  /// Whether the application wants a key whose link has ended before it could be asked.
  private func isAllowed(
    _ strength: KeyStrength, for identity: DeviceAddress, _ known: Outcome, _ context: KernelContext
  ) -> Bool {
    if strength.isAuthenticated { return true }
    if context.settings?.asksConsent == true, !known.hasConsent { return false }
    return context.replacement(of: identity, on: nil) != .ask || known.agreedReplacement == identity
  }

  /// Why the host refuses a key that the kernel has accepted.
  private func refusal(
    of key: LongTermKey, for identities: [DeviceAddress], on link: KernelLinkFacts?, _ context: KernelContext
  ) -> PairingFailure? {
    guard let settings = context.settings else { return PairingFailure(.pairingNotSupported, .local) }
    if identities.contains(context.ownIdentity.identity) { return PairingFailure(.keyRejected, .local) }
    let isNeverReplaced = identities.contains { context.replacement(of: $0, on: link) == .never }
    if settings.requiresMITM || isNeverReplaced, !key.strength.isAuthenticated {
      return PairingFailure(.authenticationRequirements, .local)
    }
    for bond in identities.compactMap(context.bond(of:)) {
      if let reason = key.strength.error(replacing: bond.strength) { return PairingFailure(reason, .local) }
    }
    return key.strength.size < settings.minimumKeySize ? PairingFailure(.encryptionKeySize, .local) : nil
  }

  /// Removes a key from the kernel, and ends the link whose pairing made it.
  private func refuse(
    _ identity: DeviceAddress, on link: KernelLinkFacts?, _ refusal: PairingFailure, isRefused: Bool,
    _ context: KernelContext, into effects: inout [Effect<KernelEffect>]
  ) {
    removeKeys(of: identity, context, into: &effects)
    if isRefused {
      let text =
        "the keys of a pairing are removed: it named the identity \(identity) of another link, or could be one of several links'"
      effects.append(.report(.peer, text, peer: link?.peer))
    }
    if let link {
      return effects.append(.own(.report(.keysRefused(refusal, claimed: identity), link.peer)))
    }
    // As the central the kernel may have paired anew without a question: the link is no longer that of the bonded
    // device.
    for link in context.links where link.isCentral && link.kernelAddress == identity.identity {
      effects.append(.own(.close(link.peer)))
    }
  }
}

/// The link that a report is about.
extension KernelPairings {
  /// The link that a question, or a failure, is about.
  private func link(calledBy address: DeviceAddress, _ context: KernelContext) -> KernelLinkFacts? {
    let named = context.links.filter { $0.kernelAddress == address.identity }
    if named.count < 2 { return named.first }
    let active = named.filter { $0.isUnderWay }
    return active.count == 1 ? active.first : nil
  }

  /// The link whose pairing made a key for this device.
  private func keyLink(_ identity: DeviceAddress, _ context: KernelContext) -> Found {
    guard let outcome = outcomes[identity.identity], outcome.isIdentified else {
      return pairingLink(of: identity, usedAs: identity, context)
    }
    return outcome.link.flatMap(context.link).map { .link($0.peer) } ?? (outcome.isRefused ? .ambiguous : .gone)
  }

  /// The link whose pairing made keys for `device`; `used` is the address that the device had on the radio, where the
  /// kernel reports it, else the same.
  ///
  /// The identity itself is a claim. Keys are of a link that a pairing has encrypted: one on which a pairing is known
  /// to be under way, else one that is encrypted and has not proven a bond, else the link with that address on the
  /// radio.
  private func pairingLink(
    of device: DeviceAddress, usedAs used: DeviceAddress, _ context: KernelContext
  ) -> Found {
    let device = device.identity
    let isOnRadio = used.identity != device
    let possible = context.links.filter { link in
      if isOnRadio { return link.address.identity == used.identity }
      return link.address.randomKind != .resolvablePrivate || link.kernelAddress == device
    }
    let evidence: [(KernelLinkFacts) -> Bool] = [
      { $0.isPairing },
      { $0.isEncrypted && !$0.isBondProven },
      { $0.kernelAddress == device && !$0.isBondProven },
      { _ in isOnRadio },
    ]
    for holds in evidence {
      let found = possible.filter(holds)
      if let first = found.first { return found.count == 1 ? .link(first.peer) : .ambiguous }
    }
    return .gone
  }
}

/// Commands to the kernel.
extension KernelPairings {
  /// The controller is up, and the kernel has no settings and no keys.
  func restore(_ context: KernelContext, into effects: inout [Effect<KernelEffect>]) {
    effects.append(.kernel(.setPairing(context.settings)))
    loadKeys(context, into: &effects)
  }

  func settingsChanged(_ context: KernelContext, into effects: inout [Effect<KernelEffect>]) {
    if context.isPoweredOn { effects.append(.kernel(.setPairing(context.settings))) }
  }

  /// Replaces the keys that the kernel has with those of the bonds.
  func loadKeys(_ context: KernelContext, into effects: inout [Effect<KernelEffect>]) {
    if context.isPoweredOn { effects.append(.kernel(.loadKeys(context.bonds.map(KernelKeys.init)))) }
  }

  /// A bond was removed, or was not made: its keys are of no use.
  func bondRemoved(_ identity: DeviceAddress, into effects: inout [Effect<KernelEffect>]) {
    effects.append(.kernel(.forget(identity)))
  }

  /// Removes the keys of a pairing. The kernel has replaced the keys of the bond with them, and gets those of the
  /// bond again.
  func removeKeys(
    of identity: DeviceAddress, _ context: KernelContext, into effects: inout [Effect<KernelEffect>]
  ) {
    bondRemoved(identity, into: &effects)
    if context.bond(of: identity) != nil { loadKeys(context, into: &effects) }
  }
}

extension KernelKeys {
  init(_ bond: Bond) {
    self.init(identity: bond.identity)
    (identityResolvingKey, peripheralKey, centralKey) = (bond.identityResolvingKey, bond.peripheralKey, bond.centralKey)
  }
}

extension Bond {
  /// Takes another key of the same pairing.
  mutating func take(_ key: LongTermKey, _ use: KernelReport.KeyUse) {
    if use != .central { peripheralKey = key }
    if use != .peripheral { centralKey = key }
  }
}
