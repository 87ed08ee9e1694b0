import BLECrypto
import BLEHCI
import BLEHost
import BLESMP
import BLEVirtual
import BLEWire
import Testing

/// Whatever the application wants meanwhile: the controller is never asked for what it does not take while it is busy,
/// and in the end it does what was wanted.
@Suite("Changes that need a quiet controller") struct QuietControllerTests {
  static let key = SecretKey(0x0011_2233_4455_6677_8899_AABB_CCDD_EEFF)

  private static func bonds(_ random: inout RandomSource) -> [Bond] {
    (0..<random.next() % 5).map { number in
      var bond = Bond(
        identity: DeviceAddress(octets: BD_ADDR(0xC0AA_0000_0000 + number), kind: .random),
        strength: KeyStrength(size: 16, isAuthenticated: false, isSecureConnections: true))
      bond.identityResolvingKey = SecretKey(UInt128(random.next() % 8 + 1))
      return bond
    }
  }

  private static func command(_ random: inout RandomSource, _ world: World) -> HostCommand {
    let id = AdvertisingID(rawValue: UInt32(random.next() % 2))
    switch random.next() % 10 {
    case 0, 1:
      var intent = AdvertisingIntent(data: [2, 1, 6], scanResponse: [])
      intent.continuesWhileConnected = random.next() % 2 == 0
      return .advertising(.start(id, intent))
    case 2: return .advertising(.stop(id))
    case 3: return .scanning(.start(ScanParameters()))
    case 4: return .scanning(.stop)
    case 5: return .initiating(.connect(ConnectID(rawValue: 1), world.hosts[1].ownAddress, ConnectionParameters()))
    case 6: return .initiating(.cancel(ConnectID(rawValue: 1)))
    case 7: return .security(.setBonds(bonds(&random)))
    case 8: return .link(LinkID(rawValue: UInt32(random.next() % 8)), .disconnect(.remoteUserTerminatedConnection))
    default:
      let settings = PrivacySettings(identityResolvingKey: key, rotation: .seconds(Int64(random.next() % 3 + 1)))
      return .privacy(random.next() % 3 == 0 ? nil : settings)
    }
  }

  @Test(arguments: 0..<40 as Range<UInt64>) func whateverIsWanted(seed: UInt64) throws {
    var random = RandomSource.seeded(seed)
    var controller = VirtualControllerConfiguration()
    if seed % 2 == 0 { controller.features.remove(.extendedAdvertising) }
    var world = World(2, seed: seed, controller: { _ in controller })
    world.ask(1, .scanning(.start(ScanParameters())))
    world.ask(
      1, .advertising(.start(AdvertisingID(rawValue: 9), AdvertisingIntent(data: [2, 1, 6], scanResponse: []))))
    for _ in 0..<150 {
      if random.next() % 6 == 0 {
        let calls = HostCommand.initiating(
          .connect(ConnectID(rawValue: 2), world.hosts[0].addressOnAir, ConnectionParameters()))
        world.ask(1, random.next() % 2 == 0 ? calls : .initiating(.cancel(ConnectID(rawValue: 2))))
      } else {
        let wanted = Self.command(&random, world)
        world.ask(0, wanted)
      }
      world.run(for: .milliseconds(Int64(random.next() % 700)))
    }
    // Back to something simple, and it works.
    world.ask(0, .scanning(.stop))
    for id in 0..<2 as Range<UInt32> { world.ask(0, .advertising(.stop(AdvertisingID(rawValue: id)))) }
    world.ask(0, .initiating(.cancel(ConnectID(rawValue: 1))))
    world.ask(1, .initiating(.cancel(ConnectID(rawValue: 2))))
    world.ask(0, .privacy(PrivacySettings(identityResolvingKey: Self.key, rotation: .seconds(4))))
    world.run(for: .seconds(1))
    let heard = (world.takeHeard(0), world.takeHeard(1))
    for event in heard.0 + heard.1 {
      guard case .diagnostic(let diagnostic) = event else { continue }
      #expect(diagnostic.origin != .controller, "\(diagnostic)")
    }
    world.ask(
      0, .advertising(.start(AdvertisingID(rawValue: 5), AdvertisingIntent(data: [2, 1, 2], scanResponse: []))))
    world.ask(1, .scanning(.stop))
    world.ask(1, .scanning(.start(ScanParameters())))
    world.run(for: .seconds(1))
    let now = world.hosts[0].addressOnAir
    #expect(now.randomKind == .resolvablePrivate)
    let seen = world.heard[1].flatMap { event -> [DeviceAddress] in
      guard case .scanning(.discovered(let found)) = event else { return [] }
      return found.filter { $0.data == [2, 1, 2] }.map(\.address)
    }
    #expect(seen.last == now)
    world.run(for: .seconds(4))
    #expect(world.hosts[0].addressOnAir != now)
    #expect(world.complaints.isEmpty)
  }
}
