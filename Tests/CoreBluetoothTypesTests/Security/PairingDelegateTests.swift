import AdapterFixtures
import BLECrypto
import BLEGATT
import BLEHost
import BLESMP
import BLEWire
import BluetoothLE
import Foundation
import Synchronization
import Testing

@testable import BLEAdapter
@testable import CoreBluetoothTypes

@Suite struct PairingDelegateTests {
  /// Writes down what it hears and answers as it is told.
  final class Listener: PairingDelegate, Sendable {
    let lines = Lines()
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

  private func answers(_ fixture: PeripheralFixture) -> [PairingAnswer] {
    fixture.host.commands.compactMap { if case .link(_, .answerPairing(_, let answer)) = $0 { answer } else { nil } }
  }

  private func id(_ number: UInt64) -> PairingQuestionID { PairingQuestionID(rawValue: number) }

  @Test func everyQuestionReachesTheDelegateAndEveryAnswerTheHost() throws {
    let fixture = PeripheralFixture()
    let central = fixture.connect(7)
    let number = try #require(Passkey(42))
    let listener = Listener { $0.accept() }
    fixture.manager.pairingDelegate = listener
    for question in [PairingQuestion.consent, .display(number), .compare(number), .replaceBond] {
      fixture.say(.pairing(central.peer, .question(id(1), question)))
    }
    #expect(listener.lines.take() == ["consent", "show 000042", "compare 000042", "replace"])
    #expect(answers(fixture) == [.accept, .accept, .accept])
    let typist = Listener { $0.enter(passkey: 123_456) }
    fixture.manager.pairingDelegate = typist
    fixture.say(.pairing(central.peer, .question(id(1), .enterPasskey)))
    #expect(answers(fixture).last == Passkey(123_456).map { .passkey($0) })
    let mistaken = Listener { $0.enter(passkey: 1_000_000) }
    fixture.manager.pairingDelegate = mistaken
    fixture.say(.pairing(central.peer, .question(id(1), .enterPasskey)))
    #expect(answers(fixture).last == .reject)
    withExtendedLifetime((listener, typist, mistaken)) {}
  }

  /// A dialogue of the application holds on to its reply, whatever is asked after it.
  @Test func aReplyAnswersTheQuestionItCameWith() throws {
    let fixture = PeripheralFixture()
    let central = fixture.connect(7)
    let replies = Mutex<[PairingReply]>([])
    let listener = Listener { reply in replies.withLock { $0.append(reply) } }
    fixture.manager.pairingDelegate = listener
    let number = try #require(Passkey(42))
    fixture.say(.pairing(central.peer, .question(id(5), .consent)))
    fixture.say(.pairing(central.peer, .questionWithdrawn(id(5))))
    fixture.say(.pairing(central.peer, .question(id(6), .compare(number))))
    #expect(listener.lines.take() == ["consent", "withdrawn 5", "compare 000042"])
    let held = replies.withLock { $0 }
    #expect(held.map(\.id.rawValue) == [5, 6])
    held[0].accept()
    held[1].reject()
    let named = fixture.host.commands.compactMap {
      if case .link(central.peer, .answerPairing(let id, let answer)) = $0 { (id.rawValue, answer) } else { nil }
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
    let fixture = PeripheralFixture()
    let central = fixture.connect(7)
    let refuser = Refuser()
    fixture.manager.pairingDelegate = refuser
    fixture.say(.pairing(central.peer, .question(id(1), .display(try #require(Passkey(42))))))
    #expect(answers(fixture) == [.reject])
    withExtendedLifetime(refuser) {}
  }

  /// Nobody to ask: declined at once, so that the other device need not wait, with a line that holds no digits.
  @Test func withoutADelegateQuestionsAreDeclined() throws {
    let fixture = PeripheralFixture()
    let central = fixture.connect(7)
    let number = try #require(Passkey(987_654))
    for question in [PairingQuestion.consent, .replaceBond, .enterPasskey, .compare(number)] {
      fixture.say(.pairing(central.peer, .question(id(1), question)))
    }
    fixture.say(.pairing(central.peer, .question(id(2), .display(number))))
    #expect(answers(fixture) == [.reject, .reject, .reject, .reject])
    let lines = fixture.logged()
    #expect(lines.count == 5, "each kind once")
    for _ in 1...3 { fixture.say(.pairing(central.peer, .question(id(3), .consent))) }
    #expect(fixture.logged().isEmpty && answers(fixture).count == 7)
    #expect(lines.count == 5 && lines.allSatisfy { $0.contains("pairingDelegate") && !$0.contains("987654") })
  }

  @Test func whatHappensIsTold() {
    let fixture = PeripheralFixture()
    let central = fixture.connect(7)
    let listener = Listener { $0.reject() }
    fixture.manager.pairingDelegate = listener
    let strength = KeyStrength(size: 16, isAuthenticated: true, isSecureConnections: true)
    let identity = DeviceAddress(octets: BD_ADDR(5), kind: .public)
    fixture.say(.link(central.peer, .security(SecurityState(level: .secureConnections, keySize: 16))))
    fixture.say(
      .pairing(central.peer, .succeeded(PairedDevice(identity: identity, isBonded: false, strength: strength))))
    fixture.say(.pairing(central.peer, .keypress(.passkeyDigitErased)))
    fixture.say(.pairing(central.peer, .failed(PairingFailure(.keyRejected, .peer))))
    fixture.say(.bonds(.lost(central.peer, identity, .missingHere)))
    fixture.say(.bonds(.removed(identity)))
    fixture.say(.bonds(.replaced(central.peer, identity)))
    #expect(
      listener.lines.take() == [
        "security secureConnections 16 false", "paired false", "types digitErased",
        "failed 15: the pairing failed, rejected by the peer: Key Rejected (0x0F)",
        "lost missingHere", "removed \(UUID(identity))", "replaced",
      ])
    #expect(central.isEncrypted)
  }

  /// A question goes to every manager of the adapter; the answer of one is enough.
  @Test func aManagerWithADelegateAnswersForOneWithout() {
    let host = ScriptedHost()
    let silent = PeripheralFixture(host: host)
    let fixture = PeripheralFixture(host: host)
    let central = fixture.connect(7)
    silent.settle()
    let listener = Listener { $0.accept() }
    fixture.manager.pairingDelegate = listener
    for number in 1...2 {
      host.say(.pairing(central.peer, .question(id(UInt64(number)), .consent)))
      silent.settle()
      fixture.settle()
    }
    #expect(answers(fixture) == [.accept, .accept] && fixture.logged().isEmpty)
    fixture.manager.pairingDelegate = nil
    host.say(.pairing(central.peer, .question(id(3), .consent)))
    silent.settle()
    fixture.settle()
    #expect(answers(fixture) == [.accept, .accept, .reject] && fixture.logged().count == 1)
  }

  /// The one manager that might answer is released: the question is rejected at once.
  @Test func aQuestionIsRejectedWhenTheLastThatMightAnswerIsReleased() {
    let host = ScriptedHost()
    let silent = PeripheralFixture(host: host)
    let fixture = PeripheralFixture(host: host)
    let central = fixture.connect(7)
    silent.settle()
    let listener = Listener { _ in }
    fixture.manager.pairingDelegate = listener
    host.say(.pairing(central.peer, .question(id(1), .consent)))
    silent.settle()
    fixture.settle()
    #expect(answers(silent).isEmpty && listener.lines.take() == ["consent"])
    fixture.releaseManager()
    #expect(answers(silent) == [.reject])
  }

  /// Links of another manager of the same host are not this one's to answer for.
  @Test func linksOfOthersAreLeftToThem() {
    let fixture = PeripheralFixture()
    let listener = Listener { $0.accept() }
    fixture.manager.pairingDelegate = listener
    fixture.say(.pairing(LinkID(rawValue: 99), .question(id(1), .consent)))
    #expect(listener.lines.take().isEmpty && answers(fixture).isEmpty)
  }
}
