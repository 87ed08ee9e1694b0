import BLECrypto
import BLEGATT
import BLEHCI
import BLESMP
import BLEWire
import Testing

@testable import BLEHost

/// The security manager of a link on an adapter that the kernel runs, without a link: the test is the kernel.
@Suite("Kernel security manager") struct KernelSecurityManagerTests {
  private typealias Effects = [Effect<SecurityEffect>]

  private let device = DeviceAddress(octets: BD_ADDR(0xC011_2233_4455), kind: .random)
  private let weak = KeyStrength(size: 16, isAuthenticated: false, isSecureConnections: false)
  private let now = Instant.start

  private func manager(isCentral: Bool = false) -> KernelSecurityManager {
    KernelSecurityManager(
      peer: LinkID(rawValue: 1), handle: ConnectionHandle(rawValue: 0x40), isCentral: isCentral, address: device)
  }

  private func context(_ change: (inout SecurityContext) -> Void = { _ in }) -> SecurityContext {
    var context = SecurityContext(
      settings: PairingSettings(), identity: device.identity, cryptography: AnyCryptography(LibCrypto()),
      random: .seeded(1))
    change(&context)
    return context
  }

  private func consenting(_ context: inout SecurityContext) { context.settings?.asksConsent = true }

  private var bond: Bond {
    var bond = Bond(identity: device, strength: weak)
    bond.centralKey = LongTermKey(value: SecretKey(1), strength: weak)
    return bond
  }

  private var key: KernelReport {
    .longTermKey(device, LongTermKey(value: SecretKey(5), strength: weak), .both, isToBeKept: true)
  }

  private func words(_ effects: Effects) -> [String] {
    effects.map { effect in
      switch effect {
      case .kernel(.answer(_, let question, let answer)): "answer \(question) \(answer)"
      case .kernel(.secure(let handle, let isAuthenticated)): "secure \(handle) \(isAuthenticated)"
      case .event(.pairing(_, .question(let id, let question)), _): "ask \(id.rawValue) \(question)"
      case .event(.pairing(_, .questionWithdrawn(let id)), _): "withdraw \(id.rawValue)"
      case .event(.pairing(_, .failed(let failure)), _):
        "failed \(failure.reason == .repeatedAttempts ? "wait" : "\(failure.origin)")"
      case .event(.bonds(.lost(_, _, let loss)), _): "bond lost \(loss == .missingHere ? "missing" : "other")"
      case .event(.refused, _): "refused"
      case .own(.failed): "attempt failed"
      case .own(.encrypted(let start)): "encrypted \(start.origin)"
      case .own(.levelLost): "level lost"
      case .own(.bondKeyFailed): "bond key failed"
      case .own(.pairingFailed), .own(.notSecured): "not secured"
      case .own(.paired(let outcome)): "paired \(outcome.hasConsent)"
      case .own(.close): "close"
      case .own(.released(.level)): "released level"
      case .own(.released): "released key"
      case .own(.kernelKeyAccepted): "key accepted"
      case .own(.kernelKeysRefused): "keys refused"
      case .own(.answerIgnored): "ignored"
      case .report: "log"
      default: "other"
      }
    }
  }

  /// What each report causes, one after the other.
  private func outcome(
    of reports: [KernelLinkReport], _ manager: inout KernelSecurityManager, _ context: inout SecurityContext
  ) -> [String] {
    reports.flatMap { report in
      var effects = Effects()
      manager.receive(report, &context, into: &effects)
      return words(effects)
    }
  }

  private func made(_ identity: DeviceAddress? = nil) -> KernelLinkReport {
    .keyMade(PairingOutcome(isBonded: true, strength: weak), of: identity ?? device, key)
  }

  @Test func acceptsJustWorksWithoutAQuestion() {
    var (manager, context) = (manager(), context())
    #expect(outcome(of: [.asked(.consent)], &manager, &context) == ["answer consent accept"])
    #expect(manager.isUnderWay)
    #expect(
      outcome(of: [.level(weak), made()], &manager, &context)
        == ["encrypted pairing", "key accepted", "paired false"])
    #expect(!manager.isUnderWay)
  }

  @Test func rejectsWhatTheSettingsOrABondForbid() {
    let forbidden: [(inout SecurityContext) -> Void] = [
      { $0.isBlocked = true }, { $0.settings?.requiresMITM = true },
      { [bond] in
        $0.bonds = [bond]
        $0.settings?.bondRules.replacement = .never
      },
      {
        let strength = KeyStrength(size: 16, isAuthenticated: true, isSecureConnections: true)
        $0.bonds = [Bond(identity: $0.identity, strength: strength)]
      },
    ]
    for change in forbidden {
      var (manager, context) = (manager(), context(change))
      #expect(outcome(of: [.asked(.consent)], &manager, &context) == ["answer consent reject"])
    }
  }

  @Test func asksBeforeABondIsReplaced() throws {
    var (manager, context, effects) = (manager(), context(), Effects())
    context.bonds = [bond]
    context.settings?.bondRules.replacement = .ask
    #expect(outcome(of: [.asked(.consent)], &manager, &context) == ["ask 1 replaceBond"])
    manager.answer(PairingQuestionID(rawValue: 1), .accept, &context, now: now, into: &effects)
    #expect(words(effects) == ["answer replaceBond accept"])
    // The key is not asked about again.
    #expect(outcome(of: [made()], &manager, &context) == ["key accepted", "paired true"])
  }

  @Test func aSecondQuestionWithdrawsTheFirstOne() {
    var (manager, context, effects) = (manager(), context(), Effects())
    let passkey = Passkey(lowestDigitsOf: 1)
    #expect(outcome(of: [.asked(.compare(passkey))], &manager, &context).count == 1)
    #expect(outcome(of: [.asked(.enterPasskey)], &manager, &context) == ["withdraw 1", "ask 2 enterPasskey"])
    manager.answer(PairingQuestionID(rawValue: 1), .accept, &context, now: now, into: &effects)
    manager.answer(PairingQuestionID(rawValue: 2), .accept, &context, now: now, into: &effects)
    #expect(words(effects) == ["ignored", "ignored"])
  }

  /// The kernel goes on to give the link the level of the key: the link ends
  /// (Docs/Decisions/pairing-and-bonds.md#a-failed-pairing-gives-no-level).
  @Test func aPairingThatFailsAfterItsKeyIsInUseEndsTheLink() {
    var (manager, context) = (manager(), context())
    #expect(
      outcome(of: [.asked(.consent), .level(weak), .failed], &manager, &context)
        == [
          "answer consent accept", "encrypted pairing", "failed kernel", "log", "not secured", "close",
        ])
    // The level of a key that the pairing has not made is not that of the pairing.
    #expect(
      outcome(of: [.level(weak), .asked(.consent), .failed], &manager, &context).suffix(5)
        == ["answer consent accept", "attempt failed", "failed kernel", "log", "not secured"])
  }

  @Test func aFailureCountsAsAnAttemptOnlyIfThePeerMayHaveGuessed() {
    var (manager, context, effects) = (manager(), context(), Effects())
    #expect(outcome(of: [.failed], &manager, &context).isEmpty)
    #expect(
      outcome(of: [.asked(.enterPasskey), .failed], &manager, &context)
        == ["ask 1 enterPasskey", "withdraw 1", "attempt failed", "failed kernel", "log", "not secured"])
    _ = outcome(of: [.asked(.enterPasskey)], &manager, &context)
    manager.answer(PairingQuestionID(rawValue: 2), .reject, &context, now: now, into: &effects)
    #expect(outcome(of: [.failed], &manager, &context) == ["failed local", "log", "not secured"])
    context.isBlocked = true
    #expect(
      outcome(of: [.asked(.enterPasskey), .failed], &manager, &context) == [
        "answer enterPasskey reject", "failed wait", "log", "not secured",
      ])
  }

  @Test func securesOnceAndEndsTheLinkThatCannotBeSecured() {
    var (manager, context, effects) = (manager(), context(), Effects())
    manager.requestSecurity(for: .process, &context, now: now, into: &effects)
    manager.requestSecurity(for: .process, &context, now: now, into: &effects)
    #expect(words(effects) == ["secure 64 false"])
    #expect(outcome(of: [.failed], &manager, &context) == ["failed kernel", "log", "not secured", "close"])
    context.settings = nil
    effects = []
    manager.requestSecurity(for: .process, &context, now: now, into: &effects)
    #expect(words(effects) == ["refused", "failed local"])
  }

  @Test func theCentralsRequestIsItsConsent() {
    var (manager, context, effects) = (manager(isCentral: true), context(consenting), Effects())
    #expect(outcome(of: [.asked(.consent)], &manager, &context) == ["ask 1 consent"])
    manager.requestSecurity(for: .process, &context, now: now, into: &effects)
    #expect(words(effects) == ["withdraw 1", "answer consent accept"])
  }

  @Test func securesOnDemandWhatIsNotSecured() {
    var (manager, context, effects) = (manager(isCentral: true), context { $0.level = .encrypted }, Effects())
    manager.perform(.refused, &context, now: now, into: &effects)
    #expect(effects.isEmpty && !manager.isUnderWay)
    context.settings?.requestsMITM = true
    manager.perform(.refused, &context, now: now, into: &effects)
    manager.perform(.refused, &context, now: now, into: &effects)
    #expect(words(effects) == ["secure 64 true"] && manager.isUnderWay)
    (manager, context, effects) = (self.manager(isCentral: true), self.context { $0.reconnection = .bondLost }, [])
    manager.perform(.refused, &context, now: now, into: &effects)
    #expect(words(effects) == ["log"] && !manager.isUnderWay)
  }

  @Test func encryptsWithABondAndReportsThatItFailed() {
    var (manager, context, effects) = (manager(isCentral: true), context(), Effects())
    manager.encryptWithBond(&context, into: &effects)
    #expect(effects.isEmpty)
    (context.bonds, context.reconnection) = ([bond], .pending(until: now))
    manager.encryptWithBond(&context, into: &effects)
    var other = manager
    manager.encryptionChanged(.pinOrKeyMissing, isOn: false, &context, now: now, into: &effects)
    #expect(words(effects) == ["secure 64 false", "bond key failed"])
    // The level is reported instead; or the kernel ends the link.
    #expect(outcome(of: [.level(nil)], &other, &context) == ["level lost", "bond key failed"])
    effects = []
    other.encryptWithBond(&context, into: &effects)
    other.linkEnded(.terminatedByLocalHost, isRequested: false, context, into: &effects)
    #expect(words(effects) == ["secure 64 false", "bond lost other"])
  }

  /// Neither a level nor a key of a pairing without a question counts before the application agrees.
  @Test func withholdsWhatNobodyWasAskedAbout() {
    var (manager, context, effects) = (manager(), context(consenting), Effects())
    #expect(outcome(of: [made()], &manager, &context) == ["ask 1 consent"])
    #expect(outcome(of: [.level(weak), .level(weak)], &manager, &context) == [])
    var rejecting = manager
    manager.answer(PairingQuestionID(rawValue: 1), .accept, &context, now: now, into: &effects)
    #expect(words(effects) == ["released level", "released key"])
    #expect(outcome(of: [.level(weak)], &manager, &context) == ["encrypted pairing"])
    #expect(outcome(of: [made()], &manager, &context) == ["key accepted", "paired true"])
    effects = []
    rejecting.answer(PairingQuestionID(rawValue: 1), .reject, &context, now: now, into: &effects)
    #expect(words(effects) == ["keys refused", "failed local", "log", "not secured", "close"])
  }

  /// A key that comes when the level has been accepted as that of a bond takes the level back.
  @Test func aKeyThatNeedsConsentTakesTheLevelBack() {
    var (manager, context) = (manager(), context(consenting))
    (context.bonds, context.isBondProven) = ([bond], true)
    #expect(outcome(of: [.level(weak)], &manager, &context) == ["encrypted bond"])
    context.level = .encrypted
    #expect(outcome(of: [made()], &manager, &context) == ["level lost", "ask 1 consent"])
    #expect(manager.kernelLink(of: PeerIdentity(address: device, identity: device))?.withheldKeys == [device])
  }

  @Test func withheldReportsAreLimited() {
    var (manager, context) = (manager(), context(consenting))
    for _ in 0...KernelPairing.withheldLimit { _ = outcome(of: [made()], &manager, &context) }
    #expect(
      manager.kernelLink(of: PeerIdentity(address: device, identity: device))?.withheldKeys.count
        == KernelPairing.withheldLimit)
  }

  @Test func thePairingEndsWithTheLink() {
    var (manager, context, effects) = (manager(), context(), Effects())
    manager.linkEnded(.connectionTimeout, isRequested: false, context, into: &effects)
    #expect(effects.isEmpty)
    _ = outcome(of: [.asked(.enterPasskey)], &manager, &context)
    manager.linkEnded(.connectionTimeout, isRequested: false, context, into: &effects)
    #expect(words(effects) == ["withdraw 1", "failed linkLost", "log"])
  }

  @Test func theKernelsNameOfADeviceIsTheIdentityThatItReports() {
    var (manager, context) = (manager(), context())
    let identity = DeviceAddress(octets: BD_ADDR(7), kind: .public)
    #expect(
      manager.kernelLink(of: PeerIdentity(address: device, identity: identity))?.kernelAddress
        == device.identity)
    _ = outcome(of: [.identified(identity)], &manager, &context)
    #expect(manager.kernelLink(of: PeerIdentity(address: device, identity: device))?.kernelAddress == identity)
  }

  @Test func ignoresPDUsAndKeyRequests() {
    var (manager, context, effects) = (manager(), context(), Effects())
    manager.perform(.pdu([1, 3, 0, 1, 16, 7, 7]), &context, now: now, into: &effects)
    manager.perform(.keyRequested(HCI.LELongTermKeyRequest()), &context, now: now, into: &effects)
    manager.perform(.tick, &context, now: now, into: &effects)
    manager.encryptionChanged(.success, isOn: true, &context, now: now, into: &effects)
    #expect(effects.isEmpty && manager.deadline == nil)
    manager.keyMissed(context, into: &effects)
    #expect(words(effects) == ["bond lost missing"])
  }
}
