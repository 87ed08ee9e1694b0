import BLEATT
import BLECrypto
import BLEGATT
import BLEHCI
import BLEHost
import BLESMP
import BLEWire
import Testing

/// What the controller says of encryption and of addresses, word by word.
@Suite("Encryption and privacy over a scripted controller") struct EncryptionTests {
  static let irk = SecretKey(0xEC02_34A3_57C8_AD05_3410_10A6_0A39_7D9B)
  static let identity = DeviceAddress(octets: BD_ADDR(0xC0FF_EE00_0001), kind: .random)
  static let key = LongTermKey(
    value: SecretKey(0x0102_0304_0506_0708_090A_0B0C_0D0E_0F10),
    strength: KeyStrength(size: 16, isAuthenticated: true, isSecureConnections: true))
  /// Made with ``irk``: the specification's sample of ah (Vol 3, Part H, Appendix D.7).
  static let privateAddress = "70:81:94:0D:FB:AA"

  static var bond: Bond {
    var bond = Bond(identity: identity, strength: key.strength)
    bond.identityResolvingKey = irk
    (bond.peripheralKey, bond.centralKey) = (key, key)
    return bond
  }

  private func serving(bonds: [Bond] = [Self.bond]) -> (bench: Bench, handles: [AttributeID: AttributeHandle]) {
    var configuration = HostConfiguration()
    configuration.pairing = .with()
    configuration.bonds = bonds
    var bench = Bench(configuration: configuration)
    bench.perform(.services(.add(Couple.service)))
    var handles: [AttributeID: AttributeHandle] = [:]
    for event in bench.takeEvents() {
      if case .services(.added(_, .success(let added))) = event { handles = added.attributes }
    }
    return (bench, handles)
  }

  private static func keyRequest(_ handle: UInt8, ediv: UInt16 = 0, rand: UInt64 = 0) -> [UInt8] {
    var packet: [UInt8] = [0x04, 0x3E, 13, 0x05, handle, 0]
    packet.append(littleEndian: rand)
    packet.append(littleEndian: ediv)
    return packet
  }
  private static func encryption(_ handle: UInt8, status: UInt8 = 0, on: UInt8) -> [UInt8] {
    [0x04, 0x08, 4, status, handle, 0, on]
  }

  private func level(_ bench: Bench) -> SecurityLevel? {
    var level: SecurityLevel?
    for event in bench.events { if case .link(_, .security(let security)) = event { level = security.level } }
    return level
  }

  @Test func aBondedDeviceIsKnownByItsPrivateAddress() throws {
    var (bench, handles) = serving()
    bench.receive(ScriptedController.connected(0x40, from: Self.privateAddress))
    guard case .connected(let connection) = bench.events.last else { Issue.record("no link"); return }
    #expect(connection.address == Self.identity)
    let secret = try #require(handles[Couple.encrypted]).rawValue
    #expect(bench.att(0x40, [0x0A, UInt8(secret), 0]) == [[0x01, 0x0A, UInt8(secret), 0, 0x0F]])
    bench.receive(Self.keyRequest(0x40))
    let reply = try #require(bench.controller.commands.last)
    #expect(reply.opcode == .leLongTermKeyRequestReply)
    #expect(Array(reply.parameters) == [0x40, 0] + Self.key.value.value.littleEndianOctets)
    #expect(level(bench) == nil)
    bench.receive(Self.encryption(0x40, on: 1))
    #expect(level(bench) == .secureConnections)
    #expect(bench.att(0x40, [0x0A, UInt8(secret), 0]) == [[0x0B, 7]])
    // Another device's private address, and the same one without the bond.
    bench.receive(ScriptedController.connected(0x41, from: "70:81:94:0D:FB:AB"))
    guard case .connected(let other) = bench.events.last else { Issue.record("no link"); return }
    #expect(other.address.description == "70:81:94:0D:FB:AB (random)")
    var (strange, _) = serving(bonds: [])
    strange.receive(ScriptedController.connected(0x40, from: Self.privateAddress))
    guard case .connected(let stranger) = strange.events.last else { Issue.record("no link"); return }
    #expect(stranger.address.description == "\(Self.privateAddress) (random)")
  }

  /// Heard with a private address, told by its identity, and called by the private address again.
  @Test func aBondedDeviceIsFoundAndCalledByItsPrivateAddress() throws {
    var (bench, _) = serving()
    let octets = try #require(DeviceAddress(Self.privateAddress, kind: .random)).octets.littleEndian
    bench.perform(.scanning(.start(ScanParameters())))
    bench.receive([0x04, 0x3E, 12, 0x02, 1, 0x00, 0x01] + octets + [0, 0xC0])
    guard case .scanning(.discovered(let found)) = bench.events.last, let discovery = found.last else {
      Issue.record("not heard"); return
    }
    #expect(discovery.address == Self.identity)
    bench.perform(.initiating(.connect(ConnectID(rawValue: 1), Self.identity, ConnectionParameters())))
    let create = try #require(bench.controller.commands.last { $0.opcode == .leCreateConnection })
    #expect(Array(create.parameters[create.parameters.startIndex.advanced(by: 5)...].prefix(7)) == [0x01] + octets)
  }

  /// On the kernel's controller the kernel pairs and answers for keys: nothing is said in its place, and nothing
  /// believed.
  @Test func theKernelsLinksAreLeftToTheKernel() {
    var configuration = HostConfiguration()
    (configuration.pairing, configuration.bonds, configuration.ownership) = (
      .with(), [Self.bond], .sharedWithKernel
    )
    var bench = Bench(configuration: configuration)
    bench.perform(.security(.setPairing(.with())))
    bench.receive(ScriptedController.connected(0x40, from: Self.privateAddress))
    let before = bench.controller.commands.count
    _ = bench.takeEvents()
    bench.receive(Self.keyRequest(0x40))
    bench.receive(Self.encryption(0x40, on: 1))
    #expect(bench.controller.commands.count == before && bench.events.isEmpty)
    bench.perform(.link(LinkID(rawValue: 1), .requestSecurity))
    #expect(bench.data.isEmpty)
  }

  @Test func encryptionWithoutAKeyOfOursProvesNothing() throws {
    var (bench, handles) = serving()
    bench.receive(ScriptedController.connected(0x40, from: Self.privateAddress))
    bench.receive(Self.encryption(0x40, on: 1))
    bench.receive([0x04, 0x30, 3, 0, 0x40, 0])
    #expect(level(bench) == nil)
    let secret = try #require(handles[Couple.encrypted]).rawValue
    #expect(bench.att(0x40, [0x0A, UInt8(secret), 0]) == [[0x01, 0x0A, UInt8(secret), 0, 0x0F]])
    // A name that no key has is refused, and the refusal is told.
    bench.receive(Self.keyRequest(0x40, ediv: 1))
    #expect(bench.controller.commands.last?.opcode == .leLongTermKeyRequestNegativeReply)
    guard case .bonds(.lost(_, Self.identity, .keysDiffer)) = bench.events.last else {
      Issue.record("not told"); return
    }
    bench.receive(Self.encryption(0x40, on: 1))
    #expect(level(bench) == nil)
  }

  /// A subscriber of a value that demands encryption hears nothing once its link is in the clear again.
  @Test func nothingIsSentOnALinkThatIsNoLongerEncrypted() throws {
    var (bench, handles) = serving()
    bench.receive(ScriptedController.connected(0x40, from: Self.privateAddress))
    bench.receive(Self.keyRequest(0x40))
    bench.receive(Self.encryption(0x40, on: 1))
    let descriptor = try #require(handles[Couple.stream]).rawValue + 1
    #expect(bench.att(0x40, [0x12, UInt8(descriptor), 0, 1, 0]) == [[0x13]])
    var before = bench.data.count
    bench.perform(.update(UpdateToken(rawValue: 1), Couple.stream, [1], to: bench.peers))
    #expect(bench.attPayloads(from: before).count == 1)
    bench.receive(Self.encryption(0x40, on: 0))
    #expect(level(bench) == SecurityLevel.none)
    before = bench.data.count
    bench.perform(.update(UpdateToken(rawValue: 2), Couple.stream, [2], to: bench.peers))
    #expect(bench.attPayloads(from: before).isEmpty)
  }

  /// Indications that wait are looked at again before they leave, and what is not sent is not waited for.
  @Test(arguments: [true, false]) func waitingIndicationsOfASecretStayHere(byUnsubscribing: Bool) throws {
    var (bench, handles) = serving()
    bench.receive(ScriptedController.connected(0x40, from: Self.privateAddress))
    bench.receive(Self.keyRequest(0x40))
    bench.receive(Self.encryption(0x40, on: 1))
    let descriptor = try #require(handles[Couple.stream]).rawValue + 1
    #expect(bench.att(0x40, [0x12, UInt8(descriptor), 0, 2, 0]) == [[0x13]])
    for number in 1...3 as ClosedRange<UInt64> {
      bench.perform(.update(UpdateToken(rawValue: number), Couple.stream, [UInt8(number)], to: bench.peers))
    }
    func finished(_ bench: Bench) -> [UInt64] {
      bench.events.compactMap { if case .server(_, .updateFinished(let token)) = $0 { token.rawValue } else { nil } }
    }
    #expect(finished(bench).isEmpty)
    if byUnsubscribing {
      #expect(bench.att(0x40, [0x12, UInt8(descriptor), 0, 0, 0]) == [[0x13]])
      #expect(finished(bench).sorted() == [2, 3])
    } else {
      bench.receive(Self.encryption(0x40, on: 0))
    }
    #expect(bench.att(0x40, [0x1E]).isEmpty)
    #expect(finished(bench).sorted() == [1, 2, 3])
  }

  /// The controllers notice different keys at the first encrypted message.
  @Test func aLinkThatEndsForItsKeyTellsOfTheBond() {
    var (bench, _) = serving()
    bench.receive(ScriptedController.connected(0x40, from: Self.privateAddress))
    bench.receive(Self.keyRequest(0x40))
    bench.receive(ScriptedController.disconnected(0x40, .terminatedMICFailure))
    let losses = bench.events.compactMap { if case .bonds(.lost(_, _, let loss)) = $0 { loss } else { nil } }
    #expect(losses == [.keysDiffer])
  }

  /// Random security manager PDUs, encryption events and answers to questions that nobody asked; then a good request.
  @Test(arguments: 0..<8 as Range<UInt64>) func whateverComes(seed: UInt64) {
    var random = RandomSource.seeded(seed)
    var (bench, _) = serving()
    let lengths = [0, 7, 7, 17, 17, 2, 17, 11, 17, 8, 17, 2, 65, 17, 2, 3]
    bench.receive(ScriptedController.connected(0x40))
    for _ in 0..<1500 {
      switch random.next() % 6 {
      case 0: bench.receive(Self.keyRequest(0x40, ediv: UInt16(random.next() % 2), rand: random.next() % 2))
      case 1:
        bench.receive(Self.encryption(0x40, status: UInt8(random.next() % 2) * 6, on: UInt8(random.next() % 3)))
      case 2: bench.receive([0x04, 0x30, 3, UInt8(random.next() % 2), 0x40, 0])
      case 3:
        let peer = LinkID(rawValue: UInt32(random.next() % 3))
        let question = PairingQuestionID(rawValue: random.next() % 4)
        bench.perform(.link(peer, .answerPairing(question, random.next() % 2 == 0 ? .accept : .reject)))
      default:
        let code = Int(random.next() % 16)
        let count = random.next() % 8 == 0 ? Int(random.next() % 70) : max(0, lengths[code] - 1)
        let octets = random.octets(count).map { code < 3 ? $0 % 18 : $0 }
        bench.receive(ScriptedController.frame(0x40, cid: 6, [UInt8(code)] + octets))
      }
      if bench.core.linkCount == 0 { bench.receive(ScriptedController.connected(0x40)) }
    }
    #expect(!bench.events.contains { if case .pairing(_, .succeeded) = $0 { true } else { false } })
    bench.receive(ScriptedController.disconnected(0x40))
    bench.receive(ScriptedController.connected(0x41))
    let before = bench.data.count
    bench.receive(ScriptedController.frame(0x41, cid: 6, [1, 3, 0, 9, 16, 0, 0]))
    #expect(bench.data.dropFirst(before).count == 1)
  }
}
