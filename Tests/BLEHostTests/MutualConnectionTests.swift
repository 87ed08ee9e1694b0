import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
import BLESMP
import BLEVirtual
import BLEWire
import Testing

/// A pending connection is fulfilled by any link to its device, also by one that the device makes.
@Suite("Links that fulfil pending connections") struct MutualConnectionTests {
  private static let requests = [ConnectID(rawValue: 10), ConnectID(rawValue: 11)]

  private func advertise(_ host: Int, in world: inout World) {
    let intent = AdvertisingIntent(data: [2, 1, 6], scanResponse: [])
    world.ask(host, .advertising(.start(AdvertisingID(rawValue: 1), intent)))
  }

  private func connect(_ host: Int, in world: inout World, from owner: OwnerID = .process, as id: ConnectID? = nil) {
    let peer = world.hosts[1 - host].ownAddress
    world.ask(host, .initiating(.connect(id ?? Self.requests[host], peer, ConnectionParameters())), from: owner)
  }

  /// The answers to requests to connect, in words.
  private func answers(_ host: Int, in world: World) -> [String] {
    world.heard[host].compactMap { event in
      switch event {
      case .connected(let link): link.request.map { "\($0.rawValue) \(link.role)" }
      case .connectionFailed(let id, let error): "\(id.rawValue) \(error)"
      default: nil
      }
    }
  }

  @Test func aLinkThatTheDeviceMakesFulfilsTheRequest() {
    var world = World(2)
    advertise(0, in: &world)
    connect(0, in: &world)
    world.run(for: .seconds(1))
    #expect(answers(0, in: world).isEmpty)
    connect(1, in: &world)
    world.run(for: .seconds(1))
    #expect(answers(0, in: world) == ["10 peripheral"] && answers(1, in: world) == ["11 central"])
    // The attempt has ended: no second link comes up.
    advertise(1, in: &world)
    world.run(for: .seconds(2))
    #expect(world.hosts.map(\.linkCount) == [1, 1] && world.complaints.isEmpty)
  }

  /// Each owner has the answer to its own request, and the link as long as the device wants it.
  @Test func theRequestsOfSeveralOwnersAreFulfilled() {
    var world = World(2)
    advertise(0, in: &world)
    let others = [OwnerID(rawValue: 5), OwnerID(rawValue: 6)]
    for (place, owner) in others.enumerated() {
      connect(0, in: &world, from: owner, as: ConnectID(rawValue: UInt32(20 + place)))
    }
    connect(1, in: &world)
    world.run(for: .seconds(1))
    #expect(answers(0, in: world).sorted() == ["20 peripheral", "21 peripheral"])
    #expect(world.hosts.map(\.linkCount) == [1, 1])
  }

  @Test(arguments: 1...20 as ClosedRange<UInt64>) func bothConnectAtOnce(seed: UInt64) {
    var world = World(2, seed: seed)
    for host in 0...1 { advertise(host, in: &world) }
    for host in 0...1 { connect(host, in: &world) }
    world.run(for: .seconds(5))
    for host in 0...1 {
      let answers = answers(host, in: world)
      #expect(answers == ["\(10 + host) central"] || answers == ["\(10 + host) peripheral"])
    }
    #expect(world.hosts.map(\.linkCount) == [1, 1] && world.complaints.isEmpty)
  }

  /// Until then it may be another device with the address of this one.
  @Test func aLinkToABondedDeviceFulfilsTheRequestWhenItHasProvenTheBond() {
    var configuration = HostConfiguration()
    (configuration.pairing, configuration.bonds) = (.with(), [EncryptionTests.bond])
    var bench = Bench(configuration: configuration)
    bench.perform(.initiating(.connect(Self.requests[0], EncryptionTests.identity, ConnectionParameters())))
    bench.receive(ScriptedController.connected(0x40, from: EncryptionTests.privateAddress))
    func fulfilled() -> [ConnectedLink.Role] {
      bench.events.compactMap { event in
        if case .connected(let link) = event, link.request == Self.requests[0] { link.role } else { nil }
      }
    }
    #expect(fulfilled().isEmpty)
    bench.receive([0x04, 0x3E, 13, 0x05, 0x40, 0] + [UInt8](repeating: 0, count: 10))
    bench.receive([0x04, 0x08, 4, 0, 0x40, 0, 1])
    #expect(fulfilled() == [.peripheral])
  }

  /// A device that was restarted connects again while its former link waits for the supervision timeout. The controller
  /// would reject another connection to it: Connection Already Exists (0x0B).
  @Test(arguments: [true, false]) func theSecondLinkOfADeviceFulfilsRequestsWhenTheFirstHasEnded(isPending: Bool) throws
  {
    let device = try #require(DeviceAddress("C0:11:22:33:44:55", kind: .random))
    var bench = Bench()
    for handle: UInt16 in [0x40, 0x41] { bench.receive(ScriptedController.connected(handle)) }
    func fulfilled(_ id: ConnectID) -> [LinkID] {
      bench.events.compactMap { event in
        if case .connected(let link) = event, link.request == id { link.peer } else { nil }
      }
    }
    bench.perform(.initiating(.connect(Self.requests[0], device, ConnectionParameters())))
    #expect(fulfilled(Self.requests[0]) == [LinkID(rawValue: 1)])
    if isPending {
      bench.perform(.link(LinkID(rawValue: 1), .disconnect(.remoteUserTerminatedConnection)))
      bench.perform(.initiating(.connect(Self.requests[1], device, ConnectionParameters())))
      #expect(fulfilled(Self.requests[1]).isEmpty)
    }
    bench.receive(ScriptedController.disconnected(0x40, .connectionTimeout))
    if !isPending { bench.perform(.initiating(.connect(Self.requests[1], device, ConnectionParameters()))) }
    #expect(fulfilled(Self.requests[1]) == [LinkID(rawValue: 2)])
    // While the first link ends the controller may be asked for another one; that attempt is cancelled.
    let attempts = bench.controller.commands.map(\.opcode).filter {
      $0 == .leCreateConnection || $0 == .leCreateConnectionCancel
    }
    #expect(attempts == (isPending ? [.leCreateConnection, .leCreateConnectionCancel] : []))
  }
}
