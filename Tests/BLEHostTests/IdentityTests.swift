import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
import BLESMP
import BLEWire
import Testing

/// Two links that claim one identity are two devices for the application until one has proven it
/// (Docs/Decisions/pairing-and-bonds.md#two-links-of-one-identity).
@Suite("Two links of one identity") struct IdentityTests {
  static let (first, second) = (LinkID(rawValue: 1), LinkID(rawValue: 2))

  /// A bonded device by its private address, handle 0x0040, and somebody with its identity address, 0x0041.
  private func bench() -> (bench: Bench, handles: [AttributeID: AttributeHandle]) {
    var configuration = HostConfiguration()
    (configuration.pairing, configuration.bonds) = (.with(), [EncryptionTests.bond])
    var bench = Bench(configuration: configuration)
    bench.perform(.services(.add(Couple.service)))
    var handles: [AttributeID: AttributeHandle] = [:]
    for event in bench.takeEvents() {
      if case .services(.added(_, .success(let added))) = event { handles = added.attributes }
    }
    bench.receive(ScriptedController.connected(0x40, from: EncryptionTests.privateAddress))
    bench.receive(ScriptedController.connected(0x41, from: "\(EncryptionTests.identity.octets)"))
    return (bench, handles)
  }

  /// The device encrypts with the key of its bond.
  private func prove(_ handle: UInt8, _ bench: inout Bench) {
    bench.receive([0x04, 0x3E, 13, 0x05, handle, 0] + [UInt8](repeating: 0, count: 10))
    bench.receive([0x04, 0x08, 4, 0, handle, 0, 1])
  }

  private func names(_ bench: Bench) -> [DeviceAddress] {
    bench.events.compactMap { if case .connected(let connection) = $0 { connection.address } else { nil } }
  }

  /// What happened to links, in order.
  private func story(_ bench: Bench) -> [String] {
    bench.events.compactMap { event in
      switch event {
      case .connected(let connection): "\(connection.peer.rawValue) up"
      case .link(let peer, .disconnected(let reason)): "\(peer.rawValue) down 0x\(String(reason.rawValue, radix: 16))"
      case .link(let peer, .identified(EncryptionTests.identity)): "\(peer.rawValue) identified"
      case .link(let peer, .security(let security)): "\(peer.rawValue) proven \(security.isBondProven)"
      case .server(let peer, .subscription(_, let subscription)): "\(peer.rawValue) subscribed \(!subscription.isEmpty)"
      default: nil
      }
    }
  }

  @Test func theSecondLinkHasANameOfItsOwn() {
    let (bench, _) = bench()
    let names = names(bench)
    #expect(names.count == 2 && names[0] == EncryptionTests.identity && names[1] != names[0])
    #expect(names[1].randomKind == .nonResolvablePrivate)
  }

  /// Encrypted with the bond's key it is the device; the other link is ended, at once for the application.
  @Test(arguments: [true, false]) func theLinkThatProvesTheIdentityIsTheDevice(firstHasProvenIt: Bool) throws {
    var (bench, handles) = bench()
    let descriptor = UInt8(try #require(handles[Couple.stream]).rawValue + 1)
    if firstHasProvenIt {
      prove(0x40, &bench)
      #expect(bench.att(0x40, [0x12, descriptor, 0, 1, 0]) == [[0x13]])
    }
    _ = bench.takeEvents()
    prove(0x41, &bench)
    let left = firstHasProvenIt ? ["1 subscribed false"] : []
    let taken = firstHasProvenIt ? ["2 subscribed true"] : []
    #expect(story(bench) == left + ["1 down 0x16", "2 identified", "2 proven true"] + taken)
    let ended = bench.controller.commands.filter { $0.opcode == .disconnect }
    #expect(ended.map { Array($0.parameters) } == [[0x40, 0, 0x13]])
    // What still comes on the link that has ended reaches nobody, nor does its end.
    let (count, commands) = (bench.events.count, bench.controller.commands.count)
    #expect(bench.att(0x40, [0x0A, 3, 0]).isEmpty)
    bench.receive(ScriptedController.completedPackets(0x40, 1))
    bench.receive(ScriptedController.disconnected(0x40, .terminatedByLocalHost))
    #expect(bench.events.dropFirst(count).allSatisfy { if case .diagnostic = $0 { true } else { false } })
    #expect(bench.controller.commands.count == commands)
    // The handle is a new link's.
    bench.receive(ScriptedController.connected(0x40, from: "C0:11:22:33:44:55"))
    #expect(bench.att(0x40, [0x02, 23, 0]) == [[0x03, 0x05, 0x02]])
  }

  /// The one that proves nothing stays as it is, and gets nothing.
  @Test func theFirstLinkMayProveItToo() throws {
    var (bench, handles) = bench()
    _ = bench.takeEvents()
    prove(0x40, &bench)
    #expect(story(bench) == ["1 proven true"] && bench.core.linkCount == 2)
    let secret = UInt8(try #require(handles[Couple.encrypted]).rawValue)
    #expect(bench.att(0x41, [0x0A, secret, 0]).first?.last == ATTErrorCode.insufficientEncryption.rawValue)
    bench.perform(.link(Self.second, .authorize(true)))
    bench.receive(ScriptedController.disconnected(0x40))
    // A third one is the device for all that is known, until the second proves to be.
    bench.receive(ScriptedController.connected(0x42, from: EncryptionTests.privateAddress))
    #expect(names(bench) == [EncryptionTests.identity])
    _ = bench.takeEvents()
    prove(0x41, &bench)
    #expect(story(bench) == ["3 down 0x16", "2 identified", "2 proven true"])
    let security = bench.events.compactMap { if case .link(Self.second, .security(let it)) = $0 { it } else { nil } }
    #expect(security.map(\.isAuthorized) == [false], "that was allowed to somebody else")
  }

  @Test func aWrongKeyProvesNothing() {
    var (bench, _) = bench()
    _ = bench.takeEvents()
    bench.receive([0x04, 0x3E, 13, 0x05, 0x41, 0] + [UInt8](repeating: 1, count: 10))
    bench.receive([0x04, 0x08, 4, 0, 0x41, 0, 1])
    #expect(story(bench).isEmpty && bench.core.linkCount == 2)
  }

  /// By Just Works nobody takes the place of a device that is connected and has proven who it is.
  @Test(arguments: [true, false]) func anUnauthenticatedPairingTakesNoIdentityThatIsInUse(authenticated: Bool) throws {
    let settings = PairingSettings.with(authenticated ? .keyboardOnly : .noInputNoOutput)
    var couple = Couple(centrals: 2, peripheral: .with(.displayOnly), central: { $0 == 2 ? settings : .with() })
    try couple.connect(1)
    couple.secure(1)
    let bond = try #require(couple.bond(0))
    couple.forget()
    couple.world.claimed = { host, packet in
      // Identity Address Information (3.6.5) of the second central: the first one's.
      guard host == 2, packet.count == 17, packet[0] == 2, packet[9] == 9 else { return packet }
      let kind: UInt8 = bond.identity.kind == .random ? 1 : 0
      return Array(packet.prefix(10)) + [kind] + bond.identity.octets.littleEndian
    }
    try couple.connect(2)
    couple.secure(2)
    let victim = try #require(couple.links[1])
    func isUp(_ peer: LinkID) -> Bool {
      !couple.events(0).contains { if case .link(peer, .disconnected(_)) = $0 { true } else { false } }
    }
    if authenticated {
      #expect(couple.paired(0).count == 1 && !isUp(victim.peripheral))
    } else {
      #expect(couple.failures(0) == [PairingFailure(.keyRejected, .local)] && couple.paired(0).isEmpty)
      #expect(isUp(victim.peripheral) && couple.bond(0) == nil)
      #expect(couple.read(Couple.encrypted, by: 1) == .success([7]))
    }
  }

  /// Somebody who claims an identity as a central keeps nobody from connecting to the device that has it.
  @Test func aClaimIsNoConnection() {
    var (bench, _) = bench()
    _ = bench.takeEvents()
    bench.perform(.initiating(.connect(ConnectID(rawValue: 1), EncryptionTests.identity, ConnectionParameters())))
    #expect(bench.events.isEmpty && bench.controller.commands.contains { $0.opcode == .leCreateConnection })
    prove(0x40, &bench)
    bench.perform(.initiating(.connect(ConnectID(rawValue: 2), EncryptionTests.identity, ConnectionParameters())))
    // The link is the device's from then on: it fulfils each request to connect.
    guard case .connected(let link) = bench.events.last, link.request == ConnectID(rawValue: 2) else {
      Issue.record("not connected on the link that the device has made")
      return
    }
    #expect(link.role == .peripheral && link.address == EncryptionTests.identity)
  }
}
