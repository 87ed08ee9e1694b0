import BLEHCI
import BLESMP
import BLEWire
import Testing

@testable import BLEHost

/// The link that each report of the kernel is about, and what becomes of keys, decided from facts alone.
@Suite("Kernel pairings") struct KernelPairingsTests {
  private let victim = DeviceAddress(octets: BD_ADDR(0xC011_2233_4455), kind: .random).identity
  private let attacker = DeviceAddress(octets: BD_ADDR(0xC066_6666_6666), kind: .random).identity
  private let weak = KeyStrength(size: 16, isAuthenticated: false, isSecureConnections: true)
  private let first = LinkID(rawValue: 1)
  private let second = LinkID(rawValue: 2)

  private func link(_ peer: LinkID, _ address: DeviceAddress, _ change: (inout KernelLinkFacts) -> Void = { _ in })
    -> KernelLinkFacts
  {
    var link = KernelLinkFacts(
      peer: peer, handle: ConnectionHandle(rawValue: UInt16(peer.rawValue)), address: address,
      kernelAddress: address,
      identity: address)
    change(&link)
    return link
  }

  private func context(_ links: [KernelLinkFacts], bonds: [Bond] = []) -> KernelContext {
    KernelContext(
      settings: PairingSettings(), ownIdentity: DeviceAddress(octets: BD_ADDR(1), kind: .public), bonds: bonds,
      links: links)
  }

  private func key(_ identity: DeviceAddress, _ use: KernelReport.KeyUse = .both) -> KernelReport {
    .longTermKey(identity, LongTermKey(value: SecretKey(5), strength: weak), use, isToBeKept: true)
  }

  private func words(_ effects: [Effect<KernelEffect>]) -> [String] {
    effects.map { effect in
      switch effect {
      case .own(.report(.asked, let peer)): "asked \(peer.rawValue)"
      case .own(.report(.failed, let peer)): "failed \(peer.rawValue)"
      case .own(.report(.level, let peer)): "level \(peer.rawValue)"
      case .own(.report(.identified, let peer)): "identified \(peer.rawValue)"
      case .own(.report(.keyMade(let outcome, _, _), let peer)): "key \(peer.rawValue) \(outcome.peerCSRK != nil)"
      case .own(.report(.keysRefused(let failure, _), let peer)): "refused \(peer.rawValue) \(failure.reason)"
      case .own(.bondChanged): "bond changed"
      case .own(.bondMade(_, let hasConsent)): "bond made \(hasConsent)"
      case .own(.close(let peer)): "close \(peer.rawValue)"
      case .kernel(.answer(_, _, let answer)): "answer \(answer)"
      case .kernel(.forget): "forget"
      case .kernel(.loadKeys(let keys)): "load \(keys.count)"
      case .kernel(.setPairing(let settings)): "policy \(settings != nil)"
      case .report: "report"
      default: "other"
      }
    }
  }

  private func outcome(
    of reports: [KernelReport], _ pairings: inout KernelPairings, _ context: KernelContext
  ) -> [String] {
    var effects: [Effect<KernelEffect>] = []
    for report in reports { pairings.receive(report, context, into: &effects) }
    return words(effects)
  }

  @Test func handsReportsToTheLinkTheyAreAbout() {
    var pairings = KernelPairings()
    let context = context([link(first, victim), link(second, attacker)])
    #expect(
      outcome(
        of: [.asked(attacker, .consent), .failed(victim), .level(handle: 2, weak), .level(handle: 9, weak)], &pairings,
        context) == ["asked 2", "failed 1", "level 2"])
  }

  @Test func rejectsAQuestionOfALinkThatIsNotFound() {
    var pairings = KernelPairings()
    #expect(outcome(of: [.asked(victim, .consent)], &pairings, context([])) == ["answer reject"])
    let twins = [link(first, victim), link(second, victim)]
    #expect(outcome(of: [.asked(victim, .consent)], &pairings, context(twins)) == ["answer reject"])
    let active = [link(first, victim), link(second, victim) { $0.isUnderWay = true }]
    #expect(outcome(of: [.asked(victim, .consent)], &pairings, context(active)) == ["asked 2"])
    var off = context([link(first, victim)])
    off.settings = nil
    #expect(outcome(of: [.asked(victim, .consent)], &pairings, off) == ["answer reject"])
  }

  @Test func gathersTheKeysOfOneIdentity() {
    var pairings = KernelPairings()
    let context = context([link(first, attacker) { $0.isPairing = true }])
    let reports: [KernelReport] = [
      .identity(victim, usedAs: attacker, SecretKey(1)), .signatureKey(victim, SecretKey(2), isOurs: false),
      key(victim, .peripheral),
    ]
    #expect(outcome(of: reports, &pairings, context) == ["identified 1", "key 1 true"])
    // Once the first key counts, another one is added to the bond.
    pairings.keyAccepted(victim)
    #expect(outcome(of: [key(victim, .central)], &pairings, context).isEmpty)
    let bonded = self.context(context.links, bonds: [Bond(identity: victim, strength: weak)])
    #expect(outcome(of: [key(victim, .central)], &pairings, bonded) == ["bond changed"])
  }

  @Test func refusesKeysThatNameTheIdentityOfAnotherLink() {
    var pairings = KernelPairings()
    let context = context(
      [link(first, victim) { $0.isBondProven = true }, link(second, attacker) { $0.isPairing = true }],
      bonds: [Bond(identity: victim, strength: weak)])
    #expect(
      outcome(of: [.identity(victim, usedAs: victim, SecretKey(1)), key(victim)], &pairings, context)
        == ["forget", "load 1", "report", "refused 2 \(PairingFailedReason.keyRejected)"])
  }

  @Test func refusesKeysThatMayBeOfEitherOfTwoPairings() {
    var pairings = KernelPairings()
    let other = DeviceAddress(octets: BD_ADDR(9), kind: .public)
    let context = context([
      link(first, victim) { $0.isPairing = true }, link(second, attacker) { $0.isPairing = true },
    ])
    #expect(
      outcome(of: [.identity(other, usedAs: other, SecretKey(1)), key(other)], &pairings, context)
        == ["forget", "report"])
  }

  @Test func refusesKeysThatTheSettingsForbid() {
    for change: (inout KernelContext) -> Void in [
      { $0.settings = nil }, { $0.settings?.requiresMITM = true }, { $0.ownIdentity = $0.links[0].identity },
      {
        $0.bonds = [
          Bond(
            identity: $0.links[0].identity, strength: .init(size: 16, isAuthenticated: true, isSecureConnections: true))
        ]
      },
      {
        $0.bonds = [
          Bond(
            identity: $0.links[0].identity, strength: .init(size: 16, isAuthenticated: false, isSecureConnections: true)
          )
        ]
        $0.settings?.bondRules.replacement = .never
      },
    ] {
      var (pairings, context) = (KernelPairings(), context([link(first, victim)]))
      change(&context)
      let outcome = outcome(of: [key(victim)], &pairings, context)
      #expect(outcome.first == "forget" && outcome.last?.hasPrefix("refused 1") == true)
      #expect(outcome.contains("load 1") == !context.bonds.isEmpty)
    }
  }

  @Test func keepsTheKeysOfALinkThatHasEnded() {
    var (pairings, effects) = (KernelPairings(), [Effect<KernelEffect>]())
    let ended = link(first, victim) { ($0.isPairing, $0.hasConsent) = (true, true) }
    pairings.linkEnded(ended, context([]), into: &effects)
    #expect(effects.isEmpty)
    #expect(outcome(of: [key(victim)], &pairings, context([])) == ["bond made true"])
  }

  @Test func removesTheKeysOfALinkThatHasEndedWithoutConsent() {
    var (pairings, effects) = (KernelPairings(), [Effect<KernelEffect>]())
    var context = context([])
    context.settings?.asksConsent = true
    pairings.linkEnded(link(first, victim) { $0.isPairing = true }, context, into: &effects)
    #expect(outcome(of: [key(victim)], &pairings, context) == ["forget"])
    // So are those that waited for the application.
    pairings.linkEnded(link(first, attacker) { $0.withheldKeys = [attacker] }, context, into: &effects)
    #expect(words(effects) == ["forget"])
  }

  @Test func endsTheCentralsLinkWhenAKeyWithoutLinkIsRefused() {
    var pairings = KernelPairings()
    let links = [link(first, victim) { ($0.isCentral, $0.isBondProven) = (true, true) }]
    #expect(
      outcome(of: [key(victim)], &pairings, context(links, bonds: [Bond(identity: victim, strength: weak)]))
        == ["forget", "load 1", "report", "close 1"])
  }

  @Test func sendsSettingsAndKeysWhileTheControllerIsUp() {
    var (context, effects) = (
      context([], bonds: [Bond(identity: victim, strength: weak)]), [Effect<KernelEffect>]()
    )
    let pairings = KernelPairings()
    pairings.restore(context, into: &effects)
    context.settings = nil
    pairings.settingsChanged(context, into: &effects)
    pairings.loadKeys(context, into: &effects)
    #expect(words(effects) == ["policy true", "load 1", "policy false", "load 1"])
    (context.isPoweredOn, effects) = (false, [])
    pairings.settingsChanged(context, into: &effects)
    pairings.loadKeys(context, into: &effects)
    #expect(effects.isEmpty)
    pairings.bondRemoved(victim, into: &effects)
    #expect(words(effects) == ["forget"])
  }

  @Test func remembersALimitedNumberOfDevices() {
    var pairings = KernelPairings()
    let context = context([link(first, victim) { $0.isPairing = true }])
    #expect(outcome(of: [.signatureKey(victim, SecretKey(2), isOurs: false)], &pairings, context).isEmpty)
    for number in 1..<UInt64(KernelPairings.limit) {
      let other = DeviceAddress(octets: BD_ADDR(number), kind: .public)
      _ = outcome(of: [.signatureKey(other, SecretKey(2), isOurs: false)], &pairings, context)
    }
    #expect(outcome(of: [key(victim)], &pairings, context) == ["key 1 true"])
    // One more: the oldest is forgotten.
    let other = DeviceAddress(octets: BD_ADDR(0xFF_FFFF), kind: .public)
    _ = outcome(of: [.signatureKey(other, SecretKey(2), isOurs: false)], &pairings, context)
    #expect(outcome(of: [key(victim)], &pairings, context) == ["key 1 false"])
  }

  @Test func keepsTheRecordOfALinkWhateverOthersDo() {
    var pairings = KernelPairings()
    let context = context([link(first, victim) { $0.isPairing = true }])
    _ = outcome(of: [.identity(victim, usedAs: victim, SecretKey(1))], &pairings, context)
    #expect(outcome(of: [.signatureKey(victim, SecretKey(2), isOurs: false)], &pairings, context).isEmpty)
    for number in 1..<200 as Range<UInt64> {
      let other = DeviceAddress(octets: BD_ADDR(number), kind: .public)
      _ = outcome(of: [.signatureKey(other, SecretKey(2), isOurs: false)], &pairings, context)
    }
    #expect(outcome(of: [key(victim)], &pairings, context) == ["key 1 true"])
  }
}
