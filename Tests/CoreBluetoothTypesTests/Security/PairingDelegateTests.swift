import BLECrypto
import BLEGATT
import BLEHost
import BLESMP
import BLEWire
import BluetoothLE
import Foundation
import Synchronization
import Testing

@testable import CoreBluetoothTypes

@Suite struct PairingDelegateTests {
  /// Writes down what it hears and answers as it is told.
  final class Listener: PairingDelegate, Sendable {
    let lines = Stage.Lines()
    let says: @Sendable (PairingReply) -> Void
    init(_ says: @escaping @Sendable (PairingReply) -> Void) { self.says = says }

    func manager(_ manager: Manager, shouldPairWith peer: Peer, reply: PairingReply) {
      lines.append("consent")
      says(reply)
    }
    func manager(_ manager: Manager, display passkey: String, toPairWith peer: Peer) { lines.append("show \(passkey)") }
    func manager(_ manager: Manager, enterPasskeyToPairWith peer: Peer, reply: PairingReply) {
      lines.append("enter")
      says(reply)
    }
    func manager(_ manager: Manager, compare number: String, toPairWith peer: Peer, reply: PairingReply) {
      lines.append("compare \(number)")
      says(reply)
    }
    func manager(_ manager: Manager, peer: Peer, didType keypress: PasskeyKeypress) {
      lines.append("types \(keypress)")
    }
    func manager(_ manager: Manager, didWithdrawQuestion id: PairingReply.ID, of peer: Peer) {
      lines.append("withdrawn \(id.rawValue)")
    }
    func manager(_ manager: Manager, didPairWith peer: Peer, bond: BluetoothLE.Bond?) {
      lines.append("paired \(bond != nil)")
    }
    func manager(_ manager: Manager, didFailToPairWith peer: Peer, error: PairingError) {
      lines.append("failed \(error.reason): \(error)")
    }
    func manager(_ manager: Manager, didChangeSecurityOf peer: Peer, to security: PeerSecurity) {
      lines.append("security \(security.level) \(security.keySize) \(security.isBonded)")
    }
    func manager(_ manager: Manager, didRemoveBondOf identifier: UUID) { lines.append("removed \(identifier)") }
    func manager(_ manager: Manager, didLoseBondOf peer: Peer, error: BondLostError) {
      lines.append("lost \(error.cause)")
    }
    func manager(_ manager: Manager, shouldReplaceBondOf peer: Peer, reply: PairingReply) {
      lines.append("replace")
      says(reply)
    }
    func manager(_ manager: Manager, didReplaceBondOf peer: Peer) { lines.append("replaced") }
  }

  private func answers(_ stage: Stage) -> [PairingAnswer] {
    stage.host.commands.compactMap { if case .answerPairing(_, _, let answer) = $0 { answer } else { nil } }
  }

  private func id(_ number: UInt64) -> PairingQuestionID { PairingQuestionID(rawValue: number) }

  @Test func everyQuestionReachesTheDelegateAndEveryAnswerTheHost() throws {
    let stage = Stage()
    let central = stage.connect(7)
    let number = try #require(Passkey(42))
    let listener = Listener { $0.accept() }
    stage.manager.pairingDelegate = listener
    for question in [PairingQuestion.consent, .display(number), .compare(number), .replaceBond] {
      stage.say(.pairing(central.peer, id(1), question))
    }
    #expect(listener.lines.take() == ["consent", "show 000042", "compare 000042", "replace"])
    #expect(answers(stage) == [.accept, .accept, .accept])
    let typist = Listener { $0.enter(passkey: 123_456) }
    stage.manager.pairingDelegate = typist
    stage.say(.pairing(central.peer, id(1), .enterPasskey))
    #expect(answers(stage).last == Passkey(123_456).map { .passkey($0) })
    let mistaken = Listener { $0.enter(passkey: 1_000_000) }
    stage.manager.pairingDelegate = mistaken
    stage.say(.pairing(central.peer, id(1), .enterPasskey))
    #expect(answers(stage).last == .reject)
    withExtendedLifetime((listener, typist, mistaken)) {}
  }

  /// A dialogue of the application holds on to its reply, whatever is asked after it.
  @Test func aReplyAnswersTheQuestionItCameWith() throws {
    let stage = Stage()
    let central = stage.connect(7)
    let replies = Mutex<[PairingReply]>([])
    let listener = Listener { reply in replies.withLock { $0.append(reply) } }
    stage.manager.pairingDelegate = listener
    let number = try #require(Passkey(42))
    stage.say(.pairing(central.peer, id(5), .consent))
    stage.say(.pairingQuestionWithdrawn(central.peer, id(5)))
    stage.say(.pairing(central.peer, id(6), .compare(number)))
    #expect(listener.lines.take() == ["consent", "withdrawn 5", "compare 000042"])
    let held = replies.withLock { $0 }
    #expect(held.map(\.id.rawValue) == [5, 6])
    held[0].accept()
    held[1].reject()
    let named = stage.host.commands.compactMap {
      if case .answerPairing(central.peer, let id, let answer) = $0 { (id.rawValue, answer) } else { nil }
    }
    #expect(named.map(\.0) == [5, 6] && named.map(\.1) == [.accept, .reject])
  }

  /// The reply to displayed digits rejects; a delegate that has only the older call hears of them, too.
  @Test func displayedDigitsMayBeRejected() throws {
    final class Refuser: PairingDelegate, Sendable {
      func manager(_ manager: Manager, display passkey: String, toPairWith peer: Peer, reply: PairingReply) {
        reply.reject()
      }
    }
    let stage = Stage()
    let central = stage.connect(7)
    let refuser = Refuser()
    stage.manager.pairingDelegate = refuser
    stage.say(.pairing(central.peer, id(1), .display(try #require(Passkey(42)))))
    #expect(answers(stage) == [.reject])
    withExtendedLifetime(refuser) {}
  }

  /// Nobody to ask: declined at once, so that the other device need not wait, with a line that holds no digits.
  @Test func withoutADelegateQuestionsAreDeclined() throws {
    let stage = Stage()
    let central = stage.connect(7)
    let number = try #require(Passkey(987_654))
    for question in [PairingQuestion.consent, .replaceBond, .enterPasskey, .compare(number)] {
      stage.say(.pairing(central.peer, id(1), question))
    }
    stage.say(.pairing(central.peer, id(2), .display(number)))
    #expect(answers(stage) == [.reject, .reject, .reject, .reject])
    let lines = stage.logged()
    #expect(lines.count == 5, "each kind once")
    for _ in 1...3 { stage.say(.pairing(central.peer, id(3), .consent)) }
    #expect(stage.logged().isEmpty && answers(stage).count == 7)
    #expect(lines.count == 5 && lines.allSatisfy { $0.contains("pairingDelegate") && !$0.contains("987654") })
  }

  @Test func whatHappensIsTold() {
    let stage = Stage()
    let central = stage.connect(7)
    let listener = Listener { $0.reject() }
    stage.manager.pairingDelegate = listener
    let strength = KeyStrength(size: 16, isAuthenticated: true, isSecureConnections: true)
    let identity = DeviceAddress(octets: BD_ADDR(5), kind: .public)
    stage.say(.security(central.peer, SecurityState(level: .secureConnections, keySize: 16)))
    stage.say(.paired(central.peer, PairedDevice(identity: identity, isBonded: false, strength: strength)))
    stage.say(.keypress(central.peer, .passkeyDigitErased))
    stage.say(.pairingFailed(central.peer, PairingFailure(.keyRejected, .peer)))
    stage.say(.bondLost(central.peer, identity, .missingHere))
    stage.say(.bondRemoved(identity))
    stage.say(.bondReplaced(central.peer, identity))
    #expect(
      listener.lines.take() == [
        "security secureConnections 16 false", "paired false", "types digitErased",
        "failed 15: the pairing failed, refused by the device: the device does not take the key it was sent",
        "lost missingHere", "removed \(PeerIdentifier.make(of: identity))", "replaced",
      ])
    #expect(central.isEncrypted)
  }

  /// Links of another manager of the same host are not this one's to answer for.
  @Test func linksOfOthersAreLeftToThem() {
    let stage = Stage()
    let listener = Listener { $0.accept() }
    stage.manager.pairingDelegate = listener
    stage.say(.pairing(PeerID(rawValue: 99), id(1), .consent))
    #expect(listener.lines.take().isEmpty && answers(stage).isEmpty)
  }

  /// Notes what is saved.
  final class Notebook: BondStore {
    struct Full: Error, CustomStringConvertible { var description: String { "the notebook is full" } }
    let records = Mutex<[BondRecord]>([])
    let isFull: Bool
    let first: BondRecord?
    init(_ first: BondRecord? = nil, isFull: Bool = false) { (self.first, self.isFull) = (first, isFull) }
    func load() throws -> BondRecord? { if isFull { throw Full() } else { first } }
    func save(_ record: BondRecord) throws {
      if isFull { throw Full() } else { records.withLock { $0.append(record) } }
    }
  }

  @Test func theKeeperHandsOverWhatWasSavedAndSavesWhatChanges() throws {
    let known = FileBondStoreTests.record(3)
    let notebook = Notebook(known)
    let keeper = SecurityKeeper(notebook, log: { _, _ in })
    let commands = keeper.commands(PairingOptions())
    guard commands.count == 3, case .setBonds(let bonds) = commands[0],
      case .setPairing(let settings?) = commands[1], case .setPrivacy(nil) = commands[2]
    else {
      Issue.record("\(commands.count) commands")
      return
    }
    #expect(bonds == known.bonds.map(\.record) && settings.identityResolvingKey == known.identityResolvingKey)
    var changed = bonds[1]
    changed.peerSignCounter = 77
    keeper.receive(.bondChanged(changed))
    keeper.receive(.bondRemoved(bonds[0].identity))
    keeper.settle()
    #expect(notebook.records.withLock { $0.last }?.bonds == [BluetoothLE.Bond(changed), known.bonds[2]])
    #expect(keeper.bonds == [BluetoothLE.Bond(changed), known.bonds[2]])
  }

  @Test(arguments: [
    (Duration.seconds(900), Duration.seconds(900)), (.zero, .seconds(1)), (.seconds(86_400), .seconds(3600)),
  ])
  func aPrivateAddressIsMadeWithTheKeyThatPeersAreGiven(wanted: Duration, taken: Duration) {
    let keeper = SecurityKeeper(Notebook(FileBondStoreTests.record(1)), log: { _, _ in })
    var privacy = PrivacyOptions()
    (privacy.usesPrivateAddress, privacy.rotation) = (true, wanted)
    let commands = keeper.commands(PairingOptions(), privacy)
    guard case .setPairing(let pairing?) = commands[1], case .setPrivacy(let settings?) = commands[2] else {
      Issue.record("\(commands.count) commands")
      return
    }
    #expect(settings.identityResolvingKey == pairing.identityResolvingKey && settings.rotation == taken)
  }

  /// Enabling privacy warns where devices can pair that do not get the key.
  @Test func privacyWarnsOfDevicesThatLoseTheAdapter() {
    var (privacy, pairing) = (PrivacyOptions(), PairingOptions())
    #expect(privacy.warning(pairing) == nil)
    privacy.usesPrivateAddress = true
    #expect(privacy.warning(pairing)?.contains("distributesIdentityWhenUnauthenticated") == true)
    #expect(privacy.settings(identityResolvingKey: SecretKey(1))?.distributesIdentityWhenUnauthenticated == false)
    pairing.requiresProtection = true
    #expect(privacy.warning(pairing) == nil)
    pairing = PairingOptions()
    privacy.distributesIdentityWhenUnauthenticated = true
    #expect(privacy.warning(pairing) == nil)
    #expect(privacy.settings(identityResolvingKey: SecretKey(1))?.distributesIdentityWhenUnauthenticated == true)
  }

  /// What replaces a bond, and how many strangers may bond.
  @Test func optionsOfBondsReachTheHost() throws {
    var options = PairingOptions()
    func settings() throws -> PairingSettings { try #require(options.settings(identityResolvingKey: SecretKey(1))) }
    #expect(try settings().bondRules.replacement == .always && settings().unconfirmedBonds.count == 12)
    (options.bondReplacement, options.unconfirmedBondLimit) = (.ask, -1)
    #expect(try settings().bondRules.replacement == .ask && settings().unconfirmedBonds.count == 0)
    options.bondReplacement = .never
    #expect(try settings().bondRules.replacement == .never)
  }

  /// Two programs that begin with one new file give their peers one key.
  @Test func programsThatShareAStoreShareTheKey() throws {
    let folder = try FileBondStoreTests.Folder()
    let keepers = (0..<2).map { _ in SecurityKeeper(FileBondStore(path: folder.file), log: { _, _ in }) }
    func key(_ keeper: SecurityKeeper) -> SecretKey? {
      if case .setPairing(let settings?) = keeper.commands(PairingOptions())[1] {
        settings.identityResolvingKey
      } else {
        nil
      }
    }
    #expect(key(keepers[0]) != key(keepers[1]))
    for keeper in keepers { keeper.shareKey() }
    #expect(key(keepers[0]) == key(keepers[1]) && key(keepers[0]) != nil)
    // A store that keeps nothing leaves the key as it is.
    let forgetful = SecurityKeeper(MemoryBondStore(), log: { _, _ in })
    let before = key(forgetful)
    forgetful.shareKey()
    #expect(key(forgetful) == before)
  }

  @Test func aStoreThatFailsIsReportedAndTheProgramGoesOn() {
    let lines = Stage.Lines()
    let keeper = SecurityKeeper(Notebook(isFull: true), log: { lines.append($1) })
    let bond = FileBondStoreTests.record(3).bonds[0]
    keeper.receive(.bondChanged(bond.record))
    keeper.settle()
    let attempt = "bonds are kept in memory, and saving is tried again: the notebook is full"
    #expect(lines.take() == ["the notebook is full", attempt] && keeper.bonds == [bond])
  }

  @Test func optionsBecomeSettings() throws {
    let key = SecretKey(1)
    var options = PairingOptions()
    let plain = try #require(options.settings(identityResolvingKey: key))
    #expect(plain.ioCapability == .noInputNoOutput && plain.isBonding && !plain.asksForMITM && plain.allowsLegacy)
    options.capability = .keyboardDisplay
    options.fixedPasskey = 1_000_000
    options.minimumKeySize = 99
    let others = try #require(options.settings(identityResolvingKey: key))
    #expect(others.asksForMITM && others.fixedPasskey == nil && others.minimumKeySize == 16)
    let strict = try #require(PairingOptions.secureConnectionsOnly.settings(identityResolvingKey: key))
    #expect(strict.isSecureConnectionsOnly)
    options.isEnabled = false
    #expect(options.settings(identityResolvingKey: key) == nil)
  }
}
