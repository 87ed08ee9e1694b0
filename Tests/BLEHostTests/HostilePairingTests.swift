import BLEATT
import BLECrypto
import BLEGATT
import BLEHCI
import BLEHost
import BLESMP
import BLEWire
import Testing

/// A central that means harm, over the radio; afterwards, on the same link, a pairing of good will succeeds.
@Suite("Hostile pairing") struct HostilePairingTests {
  /// Puts an SMP PDU on the air behind the back of the central's host.
  private func send(_ pdu: [UInt8], from central: Int, in couple: inout Couple) {
    couple.world.deaf.insert(central)
    couple.forge(pdu, onSecurityChannelFrom: central)
    couple.world.run(for: .milliseconds(500))
  }

  /// SMP PDUs that the peripheral sent since `start`, without their headers.
  private func answers(_ couple: Couple, since start: Int) -> [[UInt8]] {
    couple.world.sent[0].dropFirst(start).filter { $0[0] == 2 && $0.count > 9 && $0[7] == 6 && $0[8] == 0 }
      .map { Array($0[9...]) }
  }

  static let request: [UInt8] = [1, 3, 0, 0x09, 16, 1, 1]
  static let debugKey: [UInt8] = (try? LibCrypto().publicKey(of: .debug).littleEndianOctets) ?? []

  /// What is sent, one after the other, and the reason of the refusal that must come; nil where nothing may come.
  static let attacks: [(String, [[UInt8]], UInt8?)] = [
    ("key size 6", [[1, 3, 0, 0x01, 6, 1, 1]], 0x06),
    ("key size 17", [[1, 3, 0, 0x09, 17, 1, 1]], 0x0A),
    ("IO capability 5", [[1, 5, 0, 0x09, 16, 1, 1]], 0x0A),
    ("OOB data flag 2", [[1, 3, 2, 0x09, 16, 1, 1]], 0x0A),
    ("a request one octet short", [[1, 3, 0, 0x09, 16, 1]], 0x0A),
    ("a request one octet long", [request + [0]], 0x0A),
    ("a request of 200 octets", [request + [UInt8](repeating: 0, count: 193)], 0x0A),
    ("a code alone", [[0x0C]], 0x0A),
    ("a reserved code", [[0x0F, 0]], nil),
    ("code 0", [[0x00]], nil),
    ("nothing at all", [[]], 0x0A),
    ("a response from the initiator", [[2, 3, 0, 0x09, 16, 1, 1]], 0x08),
    ("a confirm value from nowhere", [[3] + [UInt8](repeating: 1, count: 16)], 0x08),
    ("a random value from nowhere", [[4] + [UInt8](repeating: 1, count: 16)], 0x08),
    ("a failure from nowhere", [[5, 8]], nil),
    ("a key from nowhere", [[6] + [UInt8](repeating: 1, count: 16)], 0x08),
    ("an identity from nowhere", [[8] + [UInt8](repeating: 1, count: 16)], 0x08),
    ("a Security Request to the peripheral", [[0x0B, 1]], 0x07),
    ("a check from nowhere", [[0x0D] + [UInt8](repeating: 1, count: 16)], 0x08),
    ("a second request in a pairing", [request, request], 0x08),
    ("a check before the keys", [request, [0x0D] + [UInt8](repeating: 1, count: 16)], 0x08),
    ("a random value before the keys", [request, [4] + [UInt8](repeating: 1, count: 16)], 0x08),
    ("a zero public key", [request, [0x0C] + [UInt8](repeating: 0, count: 64)], 0x0B),
    ("a public key off the curve", [request, [0x0C] + [UInt8](repeating: 7, count: 64)], 0x0B),
    ("the debug key", [request, [0x0C] + debugKey], 0x0A),
    ("half a public key", [request, [0x0C] + [UInt8](repeating: 7, count: 32)], 0x0A),
    ("keys before encryption", [[1, 3, 0, 0x01, 16, 7, 7], [6] + [UInt8](repeating: 1, count: 16)], 0x08),
    (
      "a wrong confirm value",
      [
        [1, 3, 0, 0x01, 16, 1, 1], [3] + [UInt8](repeating: 1, count: 16), [4] + [UInt8](repeating: 1, count: 16),
      ], 0x04
    ),
  ]

  @Test(arguments: attacks.indices) func attack(number: Int) throws {
    let (name, pdus, reason) = Self.attacks[number]
    var couple = Couple()
    try couple.connect()
    let start = couple.world.sent[0].count
    for pdu in pdus { send(pdu, from: 1, in: &couple) }
    let refusals = answers(couple, since: start).filter { $0[0] == 5 }
    #expect(refusals == (reason.map { [[5, $0]] } ?? []), "\(name)")
    #expect(couple.paired(0).isEmpty && couple.security(0) == nil)
    #expect(couple.read(Couple.encrypted) == .failure(.insufficientAuthentication))
    couple.world.deaf = []
    couple.secure()
    #expect(couple.read(Couple.encrypted) == .success([7]), "\(name)")
  }

  /// All of them one after the other on one link, and then the pairing.
  @Test func allAttacksInARow() throws {
    var couple = Couple()
    try couple.connect()
    for (_, pdus, _) in Self.attacks { for pdu in pdus { send(pdu, from: 1, in: &couple) } }
    couple.world.deaf = []
    couple.secure()
    #expect(couple.read(Couple.encrypted) == .success([7]))
  }

  /// The peripheral's own public key, played back to it, comes too late: its key is drawn anew for each pairing.
  @Test func aReflectedPublicKey() throws {
    var couple = Couple()
    try couple.connect()
    var start = couple.world.sent[0].count
    let mine = try LibCrypto().publicKey(of: P256PrivateKey(UInt256(high: 0, low: 77))).littleEndianOctets
    send(Self.request, from: 1, in: &couple)
    send([0x0C] + mine, from: 1, in: &couple)
    let theirs = try #require(answers(couple, since: start).first { $0[0] == 0x0C })
    send(theirs, from: 1, in: &couple)
    #expect(answers(couple, since: start).last == [5, 8])
    start = couple.world.sent[0].count
    send(Self.request, from: 1, in: &couple)
    send(theirs, from: 1, in: &couple)
    send([4] + [UInt8](repeating: 1, count: 16), from: 1, in: &couple)
    send([0x0D] + [UInt8](repeating: 1, count: 16), from: 1, in: &couple)
    #expect(answers(couple, since: start).last == [5, 0x0B])
    #expect(couple.paired(0).isEmpty)
    couple.world.deaf = []
    couple.secure()
    #expect(couple.read(Couple.encrypted) == .success([7]))
  }

  /// A pairing left lying: after 30 seconds it is over, no more is possible on this link, and the next link is as new.
  @Test func silence() throws {
    var couple = Couple()
    try couple.connect()
    send(Self.request, from: 1, in: &couple)
    couple.world.run(for: .seconds(31))
    #expect(couple.failures(0) == [PairingFailure(.unspecifiedReason, .timeout)])
    let start = couple.world.sent[0].count
    send(Self.request, from: 1, in: &couple)
    #expect(answers(couple, since: start).isEmpty)
    #expect(couple.read(Couple.plain) == .success([7]))
    couple.disconnect()
    try couple.connect()
    couple.world.deaf = []
    couple.secure()
    #expect(couple.read(Couple.encrypted) == .success([7]))
  }

  /// Guesses of a passkey cost more and more time, on new links too (Vol 3, Part H, 2.3.6).
  @Test func guessing() throws {
    var couple = Couple(peripheral: .with(.displayOnly), central: { _ in .with(.keyboardOnly) })
    couple.world.application = { host, event in
      guard host == 1, case .pairing(let peer, .question(let id, .enterPasskey)) = event else { return [] }
      return Passkey(1).map { [.link(peer, .answerPairing(id, .passkey($0)))] } ?? []
    }
    // The fifth wrong guess costs 2 seconds, which the new link takes anyway; the sixth costs 4.
    for _ in 1...7 {
      try couple.connect()
      couple.secure()
      couple.disconnect()
    }
    #expect(
      couple.failures(0).map(\.reason) == Array(repeating: .confirmValueFailed, count: 6) + [.repeatedAttempts])
    #expect(couple.failures(1).last == PairingFailure(.repeatedAttempts, .peer))
    couple.world.run(for: .seconds(10))
    try couple.connect()
    couple.world.application = { host, event in
      guard host == 1, case .pairing(let peer, .question(let id, .enterPasskey)) = event else { return [] }
      return Passkey(123_456).map { [.link(peer, .answerPairing(id, .passkey($0)))] } ?? []
    }
    couple.secure()
    #expect(couple.read(Couple.authenticated) == .success([7]))
  }

  /// Eleven pair at the same time while the twelfth does whatever comes to its mind.
  @Test func twelveAtOnceOneOfThemHostile() throws {
    var couple = Couple(
      centrals: 12, peripheral: .with(.displayYesNo),
      central: { .with([.noInputNoOutput, .displayYesNo, .keyboardOnly][$0 % 3], secure: $0 % 2 == 0) })
    for central in 1...12 { try couple.connect(central) }
    var random = RandomSource.seeded(12)
    // One step of everybody in turn: the world lets all that is sent arrive before the next is asked.
    for (number, (_, pdus, _)) in Self.attacks.enumerated() {
      for pdu in pdus { send(pdu, from: 12, in: &couple) }
      send([UInt8(random.next() % 16)] + random.octets(Int(random.next() % 80)), from: 12, in: &couple)
      let central = number + 1
      if central < 12, let link = couple.links[central] {
        couple.world.ask(central, .link(link.central, .requestSecurity))
      }
    }
    couple.world.run(for: .seconds(2))
    for central in 1...11 {
      #expect(couple.paired(central).count == 1, "central \(central)")
      #expect(couple.read(Couple.encrypted, by: central) == .success([7]), "central \(central)")
    }
    #expect(couple.paired(0).count == 11)
    #expect(couple.read(Couple.encrypted, by: 12) == .failure(.insufficientAuthentication))
    #expect(
      Set(couple.events(0).compactMap { if case .bonds(.changed(let bond)) = $0 { bond.identity } else { nil } }).count
        == 11)
  }

  /// What the application hears may end in a log: no key and no passkey is readable in it.
  @Test(arguments: [true, false]) func eventsHoldNoSecrets(secure: Bool) throws {
    var couple = Couple(peripheral: .with(.displayOnly), central: { _ in .with(.keyboardOnly, secure: secure) })
    try couple.connect()
    couple.secure()
    couple.disconnect()
    try couple.connect()
    couple.secure()
    var text = ""
    for host in 0...1 {
      for event in couple.events(host) {
        text += "\(event)"
        dump(event, to: &text)
      }
    }
    #expect(!text.contains("123456"))
    for host in 0...1 {
      let bond = try #require(couple.bond(host))
      let keys = [
        bond.peripheralKey?.value, bond.centralKey?.value, bond.identityResolvingKey, bond.peerCSRK, bond.ownCSRK,
      ]
      for key in keys.compactMap(\.self) {
        let forms = ["\(key.value)", key.value.bigEndianOctets.hexadecimal, key.value.littleEndianOctets.hexadecimal]
        for form in forms { #expect(!text.contains(form)) }
      }
    }
  }
}
