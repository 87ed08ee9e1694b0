import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
import BLESMP
import BLEWire
import Testing

/// SweynTooth (2020): the cases that reach a host.
@Suite("SweynTooth") struct SweynToothTests {
  private static let longTermKeyNegativeReply: UInt16 = 0x201B
  private static let longTermKeyReply: UInt16 = 0x201A

  /// A host with a link in each role, over a controller that a script plays.
  private static func bench(_ role: Int) -> Bench {
    var bench = Bench()
    bench.perform(.services(.add(Couple.service)))
    let peer = DeviceAddress(octets: BD_ADDR(0xC011_2233_4455), kind: .random)
    if role == 0 {
      bench.receive(ScriptedController.connected(0x40))
    } else {
      bench.perform(.initiating(.connect(ConnectID(rawValue: 1), peer, ConnectionParameters())))
      bench.receive(ScriptedController.connectedAsCentral(0x40, to: peer))
    }
    return bench
  }

  /// The link lives: a request is answered, once and correctly.
  private static func expectServed(_ bench: inout Bench, _ comment: String) {
    guard bench.core.linkCount == 1 else { return }
    let answers = bench.att(0x40, [0x0A, 0x03, 0x00])
    #expect(answers.last?.first == 0x0B || answers.last?.prefix(2) == [0x01, 0x0A], Comment(rawValue: comment))
  }

  private static func acl(_ flags: UInt8, _ data: [UInt8], length: UInt8? = nil) -> [UInt8] {
    [0x02, 0x40, flags << 4, length ?? UInt8(data.count), 0] + data
  }

  static let truncated: [(String, [[UInt8]])] = [
    ("the frame is shorter than its length", [acl(2, [7, 0, 4, 0, 0x0A])]),
    ("the frame is longer than its length", [acl(2, [1, 0, 4, 0, 0x0A, 3, 0])]),
    ("length 0", [acl(2, [0, 0, 4, 0])]), ("length 0 with data", [acl(2, [0, 0, 4, 0, 0x0A, 3, 0])]),
    ("no octet", [acl(2, [])]), ("1 octet", [acl(2, [1])]), ("2 octets", [acl(2, [1, 0])]),
    ("3 octets", [acl(2, [1, 0, 4])]),
    ("start after start", [acl(2, [7, 0, 4, 0, 0x0A]), acl(2, [7, 0, 4, 0, 0x0A])]),
    ("the longest length", [acl(2, [0xFF, 0xFF, 4, 0, 0x0A])]),
    ("the packet is shorter than its header says", [acl(2, [3, 0, 4, 0, 0x0A, 3, 0], length: 20)]),
    ("the packet is longer than its header says", [acl(2, [3, 0, 4, 0, 0x0A, 3, 0], length: 2)]),
  ]

  /// The packets read no value, and the link is served after them.
  private static func expectNoValue(after attack: (name: String, packets: [[UInt8]]), _ role: Int) {
    var bench = bench(role)
    let before = bench.data.count
    for packet in attack.packets { bench.receive(packet) }
    #expect(bench.attPayloads(from: before).allSatisfy { $0.first != 0x0B }, "\(attack.name)")
    expectServed(&bench, attack.name)
  }

  @Test(arguments: truncated.indices, [0, 1]) func cve_2019_17517_truncatedL2CAP(number: Int, role: Int) {
    Self.expectNoValue(after: Self.truncated[number], role)
  }

  static let fragments: [(String, [[UInt8]])] = [
    ("a continuation without a start", [acl(1, [3, 0, 4, 0, 0x0A, 3, 0])]),
    ("a continuation of 1 octet", [acl(1, [3])]),
    ("an empty continuation", [acl(1, [])]),
    ("more octets than the length", [acl(2, [7, 0, 4, 0, 0x0A]), acl(1, [UInt8](repeating: 0, count: 20))]),
    ("a reserved boundary flag", [acl(3, [3, 0, 4, 0, 0x0A, 3, 0])]),
    ("continuations of 1 octet", [acl(2, [7])] + (0..<40).map { acl(1, [$0]) }),
  ]

  @Test(arguments: fragments.indices, [0, 1]) func cve_2019_19195_invalidFragments(number: Int, role: Int) {
    Self.expectNoValue(after: Self.fragments[number], role)
  }

  /// Requests without waiting for responses, Exchange MTU among them: each has its response, in order (Vol 3, Part F,
  /// 3.3.2).
  @Test(arguments: [2, 10, 1_000]) func cve_2019_19192_sequentialATT(count: Int) {
    var bench = Self.bench(0)
    bench.completesPackets = false
    let before = bench.data.count
    for number in 0..<count {
      let request: [UInt8] = number % 10 == 1 ? [0x02, 0x17, 0x00] : [0x0A, UInt8(number % 8 + 1), 0x00]
      bench.receive(ScriptedController.frame(0x40, cid: 4, request))
    }
    #expect(bench.data.count - before <= 4, "no more packets than the controller has buffers")
    for _ in 0..<count where bench.data.count > before {
      bench.receive(ScriptedController.completedPackets(0x40, 1))
    }
    let answers = bench.attPayloads(from: before)
    if bench.controller.commands.contains(where: { $0.opcode == .disconnect }) {
      #expect(count > 10, "a link ends beyond the bound only")
      return
    }
    #expect(answers.count <= count && answers.allSatisfy { [0x01, 0x03, 0x0B].contains($0.first) })
    if count <= 10 {
      #expect(answers.map { $0.first == 0x03 } == (0..<count).map { $0 % 10 == 1 })
    }
    bench.completesPackets = true
    bench.receive(ScriptedController.completedPackets(0x40, 4))
    Self.expectServed(&bench, "\(count) requests")
  }

  /// Requests between the PDUs of a pairing: each has its response, and the pairing goes on.
  @Test(arguments: [0, 1]) func cve_2019_19192_sequentialATTAcrossAPairing(host: Int) throws {
    var attacker = try Attacker(as: host, on: Couple())
    let plain = UInt8(truncatingIfNeeded: try #require(attacker.couple.handles[Couple.plain]).rawValue)
    var count = 0
    func flood(_ attacker: inout Attacker) {
      for _ in 0..<5 { attacker.send([0x0A, plain, 0], on: Attacker.att) }
      count += 5
    }
    let before = attacker.couple.world.sent[attacker.victim].count
    attacker.beginPairing()
    flood(&attacker)
    attacker.send([0x0C] + (try Attacker.publicKey()))
    flood(&attacker)
    let sent = attacker.couple.world.sent[attacker.victim].dropFirst(before).filter { $0[0] == 2 && $0.count > 9 }
    let responses = sent.filter { $0[7] == 4 && ($0[9] == 0x0B || $0[9...].starts(with: [0x01, 0x0A])) }
    #expect(responses.count == count)
    #expect(sent.contains { $0[7] == 6 && $0[9] == 0x0C }, "the pairing goes on")
    attacker.expectNothingGained()
    attacker.expectAPairingOfGoodWill()
  }

  @Test(arguments: [0, 1], [17, 253, 255] as [UInt8]) func cve_2019_19196_keySizeOverflow(host: Int, size: UInt8) throws
  {
    var attacker = try Attacker(as: host, on: Couple())
    attacker.beginPairing([3, 0, 0x01, size, 1, 1])
    #expect(attacker.answers().last == [5, 0x0A])
    if host == 1 { attacker.encrypt() }
    attacker.expectNothingGained()
    attacker.expectAPairingOfGoodWill()
  }

  /// The central encrypts with a key of zeros at each point of a Secure Connections pairing before its end.
  @Test(arguments: 0...3) func cve_2019_19194_zeroLongTermKey(step: Int) throws {
    var attacker = try Attacker(as: 1, on: Couple())
    let pdus = [[1, 3, 0, 0x09, 16, 1, 1], [0x0C] + (try Attacker.publicKey()), [4] + Attacker.random]
    for pdu in pdus.prefix(step) { attacker.send(pdu) }
    _ = attacker.answers()
    attacker.encrypt()
    #expect(attacker.commands(Self.longTermKeyReply) == 0)
    #expect(attacker.commands(Self.longTermKeyNegativeReply) == 1, "after \(step) PDUs")
    attacker.expectNothingGained()
    attacker.expectAPairingOfGoodWill()
  }

  /// The same in a legacy pairing: there is no short-term key before both random values.
  @Test(arguments: 1...2) func cve_2019_19194_zeroShortTermKey(step: Int) throws {
    var attacker = try Attacker(as: 1, on: Couple())
    for pdu in [[1, 3, 0, 0x01, 16, 1, 1], [3] + Attacker.random].prefix(step) { attacker.send(pdu) }
    _ = attacker.answers()
    attacker.encrypt()
    #expect(attacker.commands(Self.longTermKeyReply) == 0)
    #expect(attacker.commands(Self.longTermKeyNegativeReply) == 1, "after \(step) PDUs")
    attacker.expectNothingGained()
    attacker.expectAPairingOfGoodWill()
  }

  /// Encryption instead of the DHKey Check; the check that follows does not help.
  @Test func cve_2020_13593_dhKeyCheckSkipping() throws {
    var attacker = try Attacker(as: 1, on: Couple())
    attacker.send([1, 3, 0, 0x09, 16, 1, 1])
    attacker.send([0x0C] + (try Attacker.publicKey()))
    attacker.send([4] + Attacker.random)
    _ = attacker.answers()
    attacker.encrypt()
    #expect(attacker.commands(Self.longTermKeyNegativeReply) == 1)
    attacker.expectNothingGained()
    attacker.send([0x0D] + Attacker.random)
    #expect(attacker.answers().last?.first == 5)
    attacker.expectNothingGained()
    attacker.expectAPairingOfGoodWill()
  }

  /// A public key before a pairing, in a legacy pairing, and twice.
  @Test(arguments: [0, 1], 0...2) func cve_2019_17520_unexpectedPublicKey(host: Int, place: Int) throws {
    var attacker = try Attacker(as: host, on: Couple())
    let key = [0x0C] + (try Attacker.publicKey())
    switch place {
    case 0: break
    case 1: attacker.beginPairing([3, 0, 0x01, 16, 1, 1])
    default:
      attacker.beginPairing()
      attacker.send(key)
    }
    _ = attacker.answers()
    attacker.send(key)
    #expect(attacker.answers().filter { $0.first == 5 } == [[5, 8]])
    attacker.expectNothingGained()
    attacker.expectAPairingOfGoodWill()
  }
}
