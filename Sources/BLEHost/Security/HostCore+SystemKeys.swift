import BLEHCI
import BLESMP
import BLEWire

/// The keys that the system's pairings make, and those that it is given.
extension HostCore {
  mutating func loadSystemKeys(into output: inout HostOutput) {
    guard isSecuredBySystem, state == .poweredOn else { return }
    output.directives.append(.loadKeys(bonds.bonds.map(SystemKeys.init)))
  }

  mutating func change(_ identity: DeviceAddress, _ body: (inout SystemPairingOutcome) -> Void) {
    if systemOutcomes.count >= SystemPairingOutcome.limit, systemOutcomes[identity.identity] == nil {
      systemOutcomes = [:]
    }
    body(&systemOutcomes[identity.identity, default: SystemPairingOutcome()])
  }

  /// A device has given its identity, and the key that resolves its private addresses, in a pairing.
  mutating func identityNamed(_ identity: DeviceAddress, usedAs used: DeviceAddress, _ key: SecretKey) {
    let found = pairingLink(of: identity, usedAs: used)
    var outcome = SystemPairingOutcome()
    outcome.isIdentified = true
    outcome.identityResolvingKey = key
    switch found {
    case .link(let index):
      outcome.link = links[index].peer
      outcome.isRefused = isUsed(identity, except: index)
      if !outcome.isRefused { links[index].systemIdentity = identity.identity }
    case .gone: outcome.isRefused = isUsed(identity, except: nil)
    case .ambiguous: outcome.isRefused = true
    }
    change(identity) { $0 = outcome }
  }

  /// A link has ended, and keys of its pairing may still be on their way.
  mutating func keysMayFollow(_ link: Link) {
    let known = systemOutcomes.first { $0.value.link == link.peer }
    if known?.value.isAnnounced == true { return systemOutcomes[known?.key ?? link.identity] = nil }
    guard link.system.isPairing else { return }
    change(known?.key ?? systemAddress(of: link)) { outcome in
      outcome.link = nil
      outcome.hasConsent = link.system.hasConsent
      outcome.agreedReplacement = link.system.agreedReplacement
    }
  }

  /// The link whose pairing made a key for this device.
  private func keyLink(_ identity: DeviceAddress) -> SystemLink {
    guard let outcome = systemOutcomes[identity.identity], outcome.isIdentified else {
      return pairingLink(of: identity, usedAs: identity)
    }
    return outcome.link.flatMap { index(of: $0) }.map { .link($0) } ?? (outcome.isRefused ? .ambiguous : .gone)
  }

  /// A pairing has made a key; legacy pairing may make another one, for the other role.
  mutating func keyMade(
    _ identity: DeviceAddress, _ key: LongTermKey, _ use: SecurityReport.KeyUse, isToBeKept: Bool, now: Instant,
    into output: inout HostOutput
  ) {
    let found = keyLink(identity)
    var index: Int?
    if case .link(let found) = found { index = found }
    let isRefused =
      found == .ambiguous || systemOutcomes[identity.identity]?.isRefused == true
      || (index == nil && isUsed(identity, except: nil))
    let identities = [identity] + (index.map { [links[$0].identity] } ?? [])
    let refusal = isRefused ? PairingFailure(.keyRejected, .local) : refusal(of: key, for: identities, on: index)
    if let refusal {
      return refuse(identity, on: index, refusal, isRefused: isRefused, now: now, into: &output)
    }
    let isBonded = isToBeKept && policy.settings?.isBonding == true
    let isFirst = systemOutcomes[identity.identity]?.isAnnounced != true
    if let index, isFirst, let question = question(before: key.strength, of: identity, isBonded: isBonded, on: index) {
      let report = SecurityReport.longTermKey(identity, key, use, isToBeKept: isToBeKept)
      return withhold(report, on: index, question, into: &output)
    }
    change(identity) { $0.isAnnounced = true }
    guard isFirst else {
      guard isBonded, var bond = bonds[identity] else { return }
      bond.take(key, use)
      return withBonds(into: &output) { $0.change(bond, into: &$1) }
    }
    let known = systemOutcomes[identity.identity] ?? SystemPairingOutcome()
    var outcome = PairingOutcome(isBonded: isBonded, strength: key.strength)
    if use != .central { outcome.peripheralKey = key }
    if use != .peripheral { outcome.centralKey = key }
    outcome.peerIRK = known.identityResolvingKey
    outcome.peerIdentity = identity.identity
    (outcome.peerCSRK, outcome.ownCSRK) = (known.peerCSRK, known.ownCSRK)
    if let index {
      outcome.hasConsent = endSystemPairing(index, into: &output).hasConsent
      // The level of the link may be reported after its key.
      links[index].system.hasConsent = outcome.hasConsent
      paired(index, outcome, now: now, into: &output)
    } else if isBonded, identity.randomKind != .resolvablePrivate {
      // The link has gone already; the device will come back and be known.
      let bond = Bond(identity: identity, outcome)
      let isAllowed = isAllowed(key.strength, for: identity, known)
      if !isAllowed || !admit(bond, hasConsent: known.hasConsent, into: &output) {
        output.directives.append(.forget(identity))
        if bonds[identity] != nil { loadSystemKeys(into: &output) }
      }
    }
  }

  /// Whether the application wants a key whose link has gone before it could be asked.
  private func isAllowed(
    _ strength: KeyStrength, for identity: DeviceAddress, _ known: SystemPairingOutcome
  ) -> Bool {
    if strength.isAuthenticated { return true }
    if policy.settings?.asksConsent == true, !known.hasConsent { return false }
    return replacementPolicy(for: identity, on: nil) != .ask || known.agreedReplacement == identity
  }

  /// Removes a key from the system, and ends the link whose pairing made it.
  private mutating func refuse(
    _ identity: DeviceAddress, on index: Int?, _ refusal: PairingFailure, isRefused: Bool, now: Instant,
    into output: inout HostOutput
  ) {
    output.directives.append(.forget(identity))
    // The system has put the new key in the place of the bond's.
    if bonds[identity] != nil { loadSystemKeys(into: &output) }
    if isRefused {
      report(
        .peer,
        "the keys of a pairing are removed: it named the identity \(identity) of another link, or could be one of several links'",
        peer: index.map { links[$0].peer }, into: &output)
    }
    guard let index else {
      // As the central the system may have paired anew without a question: the link is not of the bonded device any more.
      for index in links.indices where links[index].role == .central {
        guard systemAddress(of: links[index]) == identity.identity else { continue }
        close(index, .authenticationFailure, now: now, into: &output)
      }
      return
    }
    endSystemPairing(index, into: &output)
    pairingEnded(index, refusal, claimed: identity, into: &output)
    close(index, .authenticationFailure, now: now, into: &output)
  }

  /// What the system let pass and we do not.
  private func refusal(of key: LongTermKey, for identities: [DeviceAddress], on index: Int?) -> PairingFailure? {
    guard let settings = policy.settings else { return PairingFailure(.pairingNotSupported, .local) }
    if identities.contains(ownAddress.identity) { return PairingFailure(.keyRejected, .local) }
    if settings.requiresMITM, !key.strength.isAuthenticated {
      return PairingFailure(.authenticationRequirements, .local)
    }
    let link = index.map { links[$0] }
    if !key.strength.isAuthenticated, identities.contains(where: { replacementPolicy(for: $0, on: link) == .never }) {
      return PairingFailure(.authenticationRequirements, .local)
    }
    for bond in identities.compactMap({ bonds[$0] }) {
      if let reason = key.strength.error(replacing: bond.strength) { return PairingFailure(reason, .local) }
    }
    return key.strength.size < settings.minimumKeySize ? PairingFailure(.encryptionKeySize, .local) : nil
  }
}

extension SystemKeys {
  init(_ bond: Bond) {
    self.init(identity: bond.identity)
    (identityResolvingKey, peripheralKey, centralKey) = (bond.identityResolvingKey, bond.peripheralKey, bond.centralKey)
  }
}

extension Bond {
  /// A key more, of the same pairing.
  mutating func take(_ key: LongTermKey, _ use: SecurityReport.KeyUse) {
    if use != .central { peripheralKey = key }
    if use != .peripheral { centralKey = key }
  }
}
