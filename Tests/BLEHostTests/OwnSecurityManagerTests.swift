import BLECrypto
import BLEGATT
import BLEHCI
import BLESMP
import BLEWire
import Testing

@testable import BLEHost

/// The security manager of a link without a link: the controller and the peer are played by the test.
@Suite("Own security manager") struct OwnSecurityManagerTests {
  private typealias Effects = [Effect<SecurityEffect>]

  private let address = DeviceAddress(octets: BD_ADDR(0x11), kind: .public)
  private let other = DeviceAddress(octets: BD_ADDR(0x22), kind: .public)
  private let key = LongTermKey(
    value: SecretKey(5), strength: KeyStrength(size: 16, isAuthenticated: false, isSecureConnections: true))
  private let now = Instant.start

  private func manager(isCentral: Bool, isPrepared: Bool = true) -> OwnSecurityManager {
    var manager = OwnSecurityManager(
      peer: LinkID(rawValue: 1), handle: ConnectionHandle(rawValue: 1), isCentral: isCentral,
      own: isCentral ? address : other, other: isCentral ? other : address, procedureTimeout: .seconds(42))
    if isPrepared { manager.prepare(PairingSettings(), AnyCryptography(LibCrypto()), .seeded(isCentral ? 1 : 2)) }
    return manager
  }

  private func context(_ change: (inout SecurityContext) -> Void = { _ in }) -> SecurityContext {
    var context = SecurityContext(
      settings: PairingSettings(), identity: other, cryptography: AnyCryptography(LibCrypto()), random: .seeded(3))
    change(&context)
    return context
  }

  private var bond: Bond {
    var bond = Bond(identity: other, strength: key.strength)
    bond.peripheralKey = key
    return bond
  }

  private func words(_ effects: Effects) -> [String] {
    effects.map { effect in
      switch effect {
      case .own(.send(let pdu)): "send \(pdu.encoded)"
      case .own(.encrypted(let start)): "encrypted \(start.origin)"
      case .own(.bondKeyFailed(let loss)): "\(loss == .forgottenByPeer ? "forgotten" : "lost")"
      case .own(.paired): "paired"
      case .own(.failed(let failure)): "failed \(failure.reason)"
      case .own(.answerIgnored): "ignored"
      case .event(.bonds(.lost(_, _, let loss)), _): "bond lost: \(loss == .missingHere ? "missing" : "other")"
      case .event(.pairing(_, .failed), _): "pairing failed"
      case .command(let command, _) where command.opcode == .leLongTermKeyRequestReply: "key"
      case .command(let command, _) where command.opcode == .leLongTermKeyRequestNegativeReply: "no key"
      case .command(let command, _) where command.opcode == .leEnableEncryption: "encrypt"
      case .report: "report"
      default: "other"
      }
    }
  }

  @Test func rejectsPairingWhereItIsSwitchedOff() {
    var (manager, effects) = (manager(isCentral: false, isPrepared: false), Effects())
    var context = context { $0.settings = nil }
    manager.receive([1, 3, 0, 1, 16, 0, 0].span, &context, now: now, into: &effects)
    #expect(words(effects) == ["send [5, 5]"])
    effects = []
    manager.receive([0xFF].span, &context, now: now, into: &effects)
    manager.receive([5, 8].span, &context, now: now, into: &effects)
    #expect(effects.isEmpty && manager.needsMachine)
  }

  @Test func rejectsADeviceThatHasToWait() {
    var (manager, effects) = (manager(isCentral: false), Effects())
    var context = context { $0.isBlocked = true }
    manager.receive([1, 3, 0, 1, 16, 0, 0].span, &context, now: now, into: &effects)
    #expect(words(effects).first == "send [5, 9]")
    #expect(!manager.isPairing)
  }

  @Test func givesTheKeyOfTheBondThatTheCentralNames() {
    var (manager, effects) = (manager(isCentral: false), Effects())
    manager.keyRequested(ediv: 0, rand: 0, context { $0.bonds = [bond] }, now: .start, into: &effects)
    #expect(words(effects) == ["key"] && manager.isStartingWithBond)
    effects = []
    manager.encryptionStarted(context(), into: &effects)
    #expect(words(effects) == ["encrypted bond"] && !manager.isUnderWay)
  }

  @Test func refusesAKeyThatIsNotHereAndSaysWhatIsLost() {
    var (manager, effects) = (manager(isCentral: false), Effects())
    manager.keyRequested(ediv: 0, rand: 0, context(), now: now, into: &effects)
    manager.keyRequested(ediv: 7, rand: 7, context { $0.bonds = [bond] }, now: now, into: &effects)
    #expect(words(effects) == ["no key", "bond lost: missing", "no key", "bond lost: other"])
    #expect(!manager.isUnderWay)
  }

  /// The device has no bond to lose: it encrypts with a key that the pairing has not made.
  @Test func refusesAnotherKeyThanThatOfAFirstPairingAndReportsNoLostBond() {
    var (manager, effects) = (manager(isCentral: false), Effects())
    var context = context()
    manager.receive([1, 3, 0, 1, 16, 0, 0].span, &context, now: now, into: &effects)
    #expect(manager.isPairing)
    effects = []
    manager.keyRequested(ediv: 7, rand: 7, context, now: now, into: &effects)
    #expect(words(effects) == ["no key", "report"])
  }

  @Test func givesNoKeyAsTheCentral() {
    var (manager, effects) = (manager(isCentral: true), Effects())
    manager.keyRequested(ediv: 0, rand: 0, context { $0.bonds = [bond] }, now: .start, into: &effects)
    #expect(words(effects) == ["no key"])
  }

  @Test func believesNoEncryptionWithoutAKeyOfOurs() {
    var (manager, effects) = (manager(isCentral: true), Effects())
    manager.encryptionStarted(context(), into: &effects)
    #expect(words(effects) == ["report"])
    effects = []
    manager.encryptionStarted(context { $0.level = .encrypted }, into: &effects)
    #expect(effects.isEmpty)
  }

  @Test func reportsAFailedEncryptionWithTheBondOnce() {
    var (manager, effects) = (manager(isCentral: true), Effects())
    var context = context()
    manager.encrypt(with: key, .bond, now: now, into: &effects)
    manager.encryptionFailed(.pinOrKeyMissing, &context, now: now, into: &effects)
    manager.encryptionFailed(.pinOrKeyMissing, &context, now: now, into: &effects)
    #expect(words(effects) == ["encrypt", "forgotten"])
  }

  @Test func ignoresAnAnswerWithoutAPairing() {
    var (manager, effects) = (manager(isCentral: true, isPrepared: false), Effects())
    var context = context()
    manager.answer(PairingQuestionID(rawValue: 1), .accept, &context, now: now, into: &effects)
    #expect(words(effects) == ["ignored"])
  }

  @Test func thePairingEndsWithTheLinkAndWithTime() throws {
    var (manager, effects) = (manager(isCentral: true), Effects())
    var context = context()
    manager.pair(isConsented: true, &context, now: now, into: &effects)
    var late = manager
    effects = []
    manager.linkEnded(.connectionTimeout, isRequested: false, context, into: &effects)
    #expect(words(effects) == ["pairing failed", "report"])
    effects = []
    late.tick(&context, now: now, into: &effects)
    #expect(effects.isEmpty)
    late.tick(&context, now: try #require(late.deadline), into: &effects)
    #expect(words(effects).contains { $0.hasPrefix("failed") })
    #expect(!late.isPairing)
  }

  /// Two managers and nothing between them: the central encrypts with the key that the peripheral gives its controller.
  @Test func twoManagersPair() {
    var managers = [manager(isCentral: true), manager(isCentral: false)]
    var contexts = [context(), context { $0.identity = address }]
    var queues = [Effects(), Effects()]
    var paired = 0
    managers[0].pair(isConsented: true, &contexts[0], now: now, into: &queues[0])
    for _ in 0..<200 {
      guard let side = queues.firstIndex(where: { !$0.isEmpty }) else { break }
      let effect = queues[side].removeFirst()
      switch effect {
      case .own(.send(let pdu)):
        managers[1 - side].receive(pdu.encoded.span, &contexts[1 - side], now: now, into: &queues[1 - side])
      case .command(let encoded, _):
        guard let command = encoded.decoded(HCI.LEEnableEncryption.self) else { break }
        managers[1].keyRequested(
          ediv: command.encryptedDiversifier, rand: command.randomNumber, contexts[1], now: now, into: &queues[1])
        for side in 0...1 { managers[side].encryptionStarted(contexts[side], into: &queues[side]) }
      case .own(.encrypted(let start)):
        #expect(start.origin == .pairing)
        managers[side].levelApplied(start, &contexts[side], now: now, into: &queues[side])
      case .own(.paired): paired += 1
      default: break
      }
    }
    #expect(paired == 2)
    #expect(!managers[0].isUnderWay && !managers[1].isUnderWay)
  }
}
