import BLEATT
import BLEGATT
import BLEHost
import BLESMP
import BLEWire
import Testing

/// An answer is bound to its question, by our own security manager and by the kernel's (Vol 3, Part H, 2.3.5.6.2).
@Suite("Answers to the questions of a pairing") struct PairingAnswerTests {
  /// The attacker's host aborts its pairing: both ends hear Pairing Failed.
  private func abort(_ couple: inout Couple) {
    for host in 0...1 { couple.forge([0x05, 0x08], onSecurityChannelFrom: host) }
    couple.world.run(for: .milliseconds(100))
  }

  /// The central accepts every number; the peripheral's user has not answered yet.
  private func couple(_ peripheral: PairingSettings, _ central: PairingSettings) throws -> Couple {
    var couple = Couple(peripheral: peripheral, central: { _ in central })
    couple.world.application = { host, event in
      guard host == 1, case .pairing(let peer, .question(let id, .compare)) = event else { return [] }
      return [.link(peer, .answerPairing(id, .accept))]
    }
    try couple.connect()
    couple.secure()
    return couple
  }

  @Test func aYesToConsentIsNoYesToAComparison() throws {
    var couple = try couple(.with(.displayYesNo) { $0.asksConsent = true }, .with())
    let link = try #require(couple.links[1])
    let consent = try #require(couple.questions(0).last)
    #expect(consent.question == .consent)
    abort(&couple)
    couple.world.ask(1, .security(.setPairing(.with(.displayYesNo))))
    couple.secure()
    let number = try #require(couple.questions(0).last)
    guard case .compare = number.question else { Issue.record("\(number)"); return }
    #expect(couple.withdrawn(0) == [consent.id] && couple.failures(0).count == 1)
    // The user taps "allow" in the first dialogue, which was not closed.
    couple.world.ask(0, .link(link.peripheral, .answerPairing(consent.id, .accept)))
    couple.world.run(for: .seconds(1))
    #expect(couple.security(0) == nil && couple.paired(0).isEmpty && couple.misuses(0) == 1)
    #expect(couple.read(Couple.secure) == .failure(.insufficientAuthentication))
    couple.world.ask(0, .link(link.peripheral, .answerPairing(number.id, .accept)))
    couple.world.run(for: .seconds(1))
    #expect(couple.security(0)?.level == .secureConnections && couple.misuses(0) == 1)
  }

  @Test func aYesToOneNumberIsNoYesToTheNext() throws {
    var couple = try couple(.with(.displayYesNo), .with(.displayYesNo))
    let link = try #require(couple.links[1])
    let first = try #require(couple.questions(0).last)
    abort(&couple)
    couple.secure()
    #expect(couple.questions(0).count == 2 && couple.withdrawn(0) == [first.id])
    couple.world.ask(0, .link(link.peripheral, .answerPairing(first.id, .accept)))
    couple.world.run(for: .seconds(1))
    #expect(couple.security(0) == nil && couple.paired(0).isEmpty && couple.misuses(0) == 1)
  }

  /// An answer that comes after the link, and one for another link's question.
  @Test func anAnswerIsForItsLinkAlone() throws {
    var couple = Couple(centrals: 2, peripheral: .with(.displayYesNo), central: { _ in .with(.displayYesNo) })
    couple.world.application = nil
    for central in 1...2 {
      try couple.connect(central)
      couple.secure(central)
    }
    let questions = couple.questions(0)
    let (one, two) = (try #require(couple.links[1]), try #require(couple.links[2]))
    #expect(Set(questions.map(\.id)).count == 2)
    couple.world.ask(0, .link(one.peripheral, .answerPairing(questions[1].id, .accept)))
    couple.world.ask(0, .link(two.peripheral, .answerPairing(questions[0].id, .accept)))
    #expect(couple.misuses(0) == 2)
    couple.disconnect(1)
    #expect(couple.withdrawn(0) == [questions[0].id])
    couple.world.ask(0, .link(one.peripheral, .answerPairing(questions[0].id, .accept)))
    #expect(couple.misuses(0) == 3 && couple.paired(0).isEmpty)
  }

  @Test func aDisplayedPasskeyMayBeRejected() throws {
    var couple = try couple(.with(.displayOnly), .with(.keyboardOnly))
    let link = try #require(couple.links[1])
    let shown = try #require(couple.questions(0).last)
    couple.world.ask(0, .link(link.peripheral, .answerPairing(shown.id, .accept)))
    #expect(couple.misuses(0) == 1 && couple.failures(0).isEmpty)
    couple.world.ask(0, .link(link.peripheral, .answerPairing(shown.id, .reject)))
    couple.world.run(for: .seconds(1))
    #expect(couple.failures(0) == [PairingFailure(.passkeyEntryFailed, .local)])
  }

  /// The log names the step and the fault. It has no digits of the passkeys.
  @Test func aWrongPasskeyReachesTheLogs() throws {
    var couple = try couple(.with(.displayOnly), .with(.keyboardOnly))
    let link = try #require(couple.links[1])
    guard case .display(let shown) = couple.questions(0).last?.question else { Issue.record("nothing shown"); return }
    let asked = try #require(couple.questions(1).last)
    let typed = Passkey(lowestDigitsOf: shown.value ^ 1)
    couple.world.ask(1, .link(link.central, .answerPairing(asked.id, .passkey(typed))))
    couple.world.run(for: .seconds(1))
    func lines(_ host: Int) -> [String] {
      couple.events(host).compactMap { if case .diagnostic(let line) = $0 { line.text } else { nil } }
    }
    let advice = "Pair again with the digits that are shown"
    #expect(
      lines(0) == [
        "the pairing failed, rejected by this device in the step passkey entry: Confirm Value Failed (0x04), the passkeys differ. \(advice)"
      ])
    #expect(
      lines(1) == [
        "the pairing failed, rejected by the peer in the step passkey entry: Confirm Value Failed (0x04). \(advice)"
      ])
  }

  static let device = DeviceAddress(octets: BD_ADDR(0xC011_2233_4455), kind: .random)

  private func bench(_ settings: PairingSettings) -> Bench {
    var configuration = HostConfiguration()
    (configuration.pairing, configuration.ownership) = (settings, .sharedWithKernel)
    var bench = Bench(configuration: configuration)
    bench.receive(ScriptedController.connected(0x40))
    return bench
  }

  private func questions(_ bench: Bench) -> [PairingQuestionID] {
    bench.events.compactMap { if case .pairing(_, .question(let id, _)) = $0 { id } else { nil } }
  }

  private func withdrawn(_ bench: Bench) -> [PairingQuestionID] {
    bench.events.compactMap { if case .pairing(_, .questionWithdrawn(let id)) = $0 { id } else { nil } }
  }

  @Test(arguments: [true, false]) func anOldAnswerAnswersNoNewQuestionOfTheKernel(failed: Bool) throws {
    var bench = bench(.with(.displayYesNo) { $0.asksConsent = true })
    let peer = LinkID(rawValue: 1)
    bench.hear(.asked(Self.device, .consent))
    if failed { bench.hear(.failed(Self.device)) }
    bench.hear(.asked(Self.device, .compare(Passkey(lowestDigitsOf: 7))))
    let asked = questions(bench)
    try #require(asked.count == 2)
    #expect(withdrawn(bench) == [asked[0]])
    _ = bench.takeDirectives()
    for answer in [PairingAnswer.accept, .reject, .passkey(Passkey(lowestDigitsOf: 7))] {
      bench.perform(.link(peer, .answerPairing(asked[0], answer)))
    }
    bench.perform(.link(peer, .answerPairing(asked[1], .passkey(Passkey(lowestDigitsOf: 7)))))
    #expect(bench.takeDirectives().isEmpty)
    bench.perform(.link(peer, .answerPairing(asked[1], .accept)))
    guard case .answer(Self.device, .compare, .accept) = bench.takeDirectives().first else {
      Issue.record("not answered")
      return
    }
    bench.perform(.link(peer, .answerPairing(asked[1], .reject)))
    #expect(bench.takeDirectives().isEmpty)
    let ignored = bench.events.count {
      if case .diagnostic(let diagnostic) = $0 { diagnostic.origin == .application } else { false }
    }
    #expect(ignored == 5)
  }

  @Test func aQuestionOfTheKernelIsWithdrawnWithItsPairing() throws {
    var bench = bench(.with(.displayOnly))
    let shown = KernelReport.asked(Self.device, .display(Passkey(lowestDigitsOf: 7)))
    bench.hear(shown)
    bench.hear(.level(handle: 0x40, EncryptionTests.key.strength))
    #expect(withdrawn(bench).isEmpty)
    bench.hear(.longTermKey(Self.device, EncryptionTests.key, .both, isToBeKept: true))
    #expect(withdrawn(bench) == questions(bench))
    bench.hear(shown)
    bench.receive(ScriptedController.disconnected(0x40))
    #expect(withdrawn(bench) == questions(bench) && questions(bench).count == 2)
  }
}
