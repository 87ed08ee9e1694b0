import BLEGATT
import BLEHCI
import BLESMP
import BLEWire

/// Consent to pairings that the kernel makes without a question: older kernels before Just Works with Secure Connections, all
/// kernels before a legacy pairing that they begin. The application is asked afterwards. Until it agrees the link counts as
/// one in the clear, and no key is stored (Docs/Decisions/0051).
extension HostCore {
  /// Whether the application has to agree to a key, or to a level, that the system has made already.
  ///
  /// - Parameter isNewKey: a pairing has made the key; else the link is encrypted, perhaps with the key of its bond.
  func needsConsent(_ link: Link, to strength: KeyStrength, isNewKey: Bool) -> Bool {
    guard policy.settings?.asksConsent == true, !strength.isAuthenticated, !link.system.hasConsent else { return false }
    return isNewKey || (bonds[link.identity] == nil && !link.security.isBondProven)
  }

  /// Defers a report of such a pairing until the application agrees, and asks the application once.
  mutating func withhold(
    _ report: SecurityReport, on index: Int, _ question: PairingQuestion = .consent, into output: inout HostOutput
  ) {
    guard links[index].system.withheld.count < SystemPairing.withheldLimit else { return }
    links[index].system.withheld.append(report)
    if links[index].security.level != .none {
      // The level had been accepted already, as one by the key of the bond.
      if let strength = links[index].cipher.systemStrength {
        links[index].system.withheld.append(.level(handle: links[index].handle.rawValue, strength))
      }
      (links[index].security.level, links[index].security.keySize) = (.none, 0)
      links[index].security.isBondProven = false
      output.append(.security(links[index].peer, links[index].security))
      reportSubscriptions(index, into: &output)
    }
    guard links[index].system.questions.open == nil else { return }
    (links[index].system.isUnderWay, links[index].system.isPairing) = (true, true)
    ask(question, on: index, into: &output)
  }

  /// What the application is asked before a key counts that an unauthenticated pairing has made for `identity`; nil where
  /// it has agreed, or need not.
  mutating func question(
    before strength: KeyStrength, of identity: DeviceAddress, isBonded: Bool, on index: Int
  ) -> PairingQuestion? {
    let link = links[index]
    guard !strength.isAuthenticated else { return nil }
    if isBonded, link.system.agreedReplacement != identity, replacementPolicy(for: identity, on: link) == .ask {
      links[index].system.replacing = identity
      return .replaceBond
    }
    return needsConsent(link, to: strength, isNewKey: true) ? .consent : nil
  }

  /// The application has decided about a pairing that the system made without a question.
  mutating func decideWithheld(
    _ index: Int, _ question: PairingQuestion, isAccepted: Bool, now: Instant, into output: inout HostOutput
  ) {
    let (peer, withheld) = (links[index].peer, links[index].system.withheld)
    links[index].system.withheld = []
    guard isAccepted else {
      let identity = links[index].system.replacing ?? systemAddress(of: links[index])
      output.directives.append(.forget(identity))
      // The system has put the new key in the place of the bond's.
      if bonds[identity] != nil { loadSystemKeys(into: &output) }
      endSystemPairing(index, into: &output)
      pairingEnded(index, PairingFailure(.unspecifiedReason, .local), into: &output)
      return close(index, .authenticationFailure, now: now, into: &output)
    }
    agree(to: question, on: index)
    // The level comes first, because a key ends the pairing.
    let levels = withheld.filter { if case .level = $0 { true } else { false } }.suffix(1)
    let keys = withheld.filter { if case .level = $0 { false } else { true } }
    for report in levels + keys where self.index(of: peer) != nil { receive(report, now: now, into: &output) }
  }

  /// A link ended before the application decided: the system forgets the keys that waited, and has those of bonds again.
  mutating func forgetWithheld(_ link: Link, into output: inout HostOutput) {
    for case .longTermKey(let identity, _, _, _) in link.system.withheld {
      output.directives.append(.forget(identity))
      if bonds[identity] != nil { loadSystemKeys(into: &output) }
    }
  }

  /// Takes the application's own request as the answer to an open question for consent.
  mutating func consentToOpenQuestion(_ index: Int, now: Instant, into output: inout HostOutput) {
    guard let open = links[index].system.questions.open, open.question == .consent else { return }
    output.append(.pairingQuestionWithdrawn(links[index].peer, open.id))
    answerSystem(index, open.id, .accept, now: now, into: &output)
  }
}
