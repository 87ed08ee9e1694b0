import BLEHCI
import BLEHost
import BLEVirtual
import BLEWire
import Testing

/// A peripheral that asks its central for other connection parameters (Vol 3, Part A, 4.20; Vol 6, Part B, 5.1.7):
/// GAP/CONN/CPUP.
@Suite("Connection parameters of a peripheral") struct ConnectionParameterTests {
  /// What the host of the central and both controllers have.
  struct Pair: CustomStringConvertible, Sendable {
    var peripheral = true
    var central = true
    var host = true
    var description: String { "controllers \(peripheral) and \(central), the central's host \(host)" }
  }

  private static let wanted = ConnectionParameters(interval: 40...80, latency: 2, supervisionTimeout: 300)
  /// LE Connection Update for the link 0x0000 or 0x0040 from its fourth octet on, and Connection Parameter Update
  /// Request.
  private static let command: [UInt8] = [40, 0, 80, 0, 2, 0, 0x2C, 0x01]
  private static let request: [UInt8] = [0x12, 0x01, 0x08, 0x00] + command

  private func world(_ pair: Pair) throws -> (World, peripheral: LinkID) {
    var world = World(
      2,
      controller: { host in
        var controller = VirtualControllerConfiguration()
        if !(host == 0 ? pair.peripheral : pair.central) { controller.features.remove(.connectionParametersRequest) }
        return controller
      })
    if !pair.host {
      // LE Set Event Mask without LE Remote Connection Parameter Request, behind the host's back.
      world.forge([0x01, 0x01, 0x20, 0x08, 0xDF, 0xFF, 0xFF, 0, 0, 0, 0, 0], from: 1)
    }
    world.ask(
      0, .advertising(.start(AdvertisingID(rawValue: 1), AdvertisingIntent(data: [2, 1, 6], scanResponse: []))))
    world.ask(1, .initiating(.connect(ConnectID(rawValue: 1), world.hosts[0].addressOnAir, ConnectionParameters())))
    world.run(for: .seconds(1))
    let link = world.heard[0].compactMap { if case .connected(let link) = $0 { link.peer } else { nil } }.last
    return (world, try #require(link))
  }

  private func timings(_ world: World, _ host: Int) -> [LinkTiming] {
    world.heard[host].compactMap { if case .link(_, .connectionUpdated(let timing)) = $0 { timing } else { nil } }
  }

  private func refusals(_ world: World, _ host: Int) -> [HostError] {
    world.heard[host].compactMap { if case .link(_, .connectionUpdateRefused(let error)) = $0 { error } else { nil } }
  }

  /// The payloads that the peripheral has sent on the signalling channel, and its LE Connection Update commands.
  private func asked(_ world: World) -> (signalling: [[UInt8]], commands: Int) {
    let packets = world.sent[0]
    return (
      packets.filter { $0.count > 9 && $0[0] == 2 && $0[7] == 5 }.map { Array($0[9...]) },
      packets.count { $0.starts(with: [0x01, 0x13, 0x20]) }
    )
  }

  @Test(arguments: [
    Pair(), Pair(peripheral: false), Pair(central: false), Pair(peripheral: false, central: false), Pair(host: false),
  ])
  func asksByTheLinkLayerWhereBothDevicesHaveTheProcedure(_ pair: Pair) throws {
    var (world, link) = try world(pair)
    for round in 1...2 {
      world.ask(0, .link(link, .updateConnection(Self.wanted)))
      world.run(for: .seconds(1))
      let isLinkLayer = pair.peripheral && pair.central && pair.host
      let (signalling, commands) = asked(world)
      #expect(signalling.count == (isLinkLayer ? 0 : round))
      if !isLinkLayer { #expect(signalling.first == Self.request) }
      // Where the central lacks it, the first answer says so.
      #expect(commands == (isLinkLayer ? round : pair.peripheral ? 1 : 0))
      for host in 0...1 {
        #expect(timings(world, host).count == round && refusals(world, host).isEmpty)
        let timing = try #require(timings(world, host).last)
        #expect((40...80).contains(timing.interval) && timing.latency == 2 && timing.supervisionTimeout == 300)
      }
    }
    #expect(world.complaints.isEmpty, "\(world.complaints)")
  }

  /// A host with a scripted controller that has the procedure, and a link to a central.
  private func bench(_ refusal: HCIErrorCode? = nil) -> (Bench, LinkID) {
    var controller = ScriptedController()
    controller.leFeatures.insert(.connectionParametersRequest)
    controller.supported.insert(.leConnectionUpdate)
    if let refusal { controller.refusals[.leConnectionUpdate] = refusal }
    var bench = Bench(controller)
    bench.receive(ScriptedController.connected(0x40))
    return (bench, LinkID(rawValue: 1))
  }

  private func updated(_ status: HCIErrorCode) -> [UInt8] {
    var packet: [UInt8] = []
    packet.append(
      hci: HCI.LEConnectionUpdateComplete {
        $0.status = status
        $0.connectionHandle = ConnectionHandle(rawValue: 0x40)
      })
    return packet
  }

  /// The controller may refuse the command, or report that the procedure has failed.
  @Test(
    arguments: [HCIErrorCode.unsupportedRemoteFeature, .unsupportedFeatureOrParameterValue, .unknownCommand],
    [true, false])
  func asksOverL2CAPWhereTheProcedureIsRefusedAsUnsupported(_ status: HCIErrorCode, isAtOnce: Bool) {
    var (bench, peer) = bench(isAtOnce ? status : nil)
    let before = bench.data.count
    bench.perform(.link(peer, .updateConnection(Self.wanted)))
    if !isAtOnce {
      #expect(bench.attPayloads(from: before).isEmpty)
      bench.receive(updated(status))
    }
    #expect(bench.attPayloads(from: before) == [Self.request])
    #expect(!bench.events.contains { if case .link(_, .connectionUpdateRefused) = $0 { true } else { false } })
    // A failure that comes now is not that of our procedure.
    bench.receive(updated(.unsupportedRemoteFeature))
    #expect(bench.attPayloads(from: before).count == 1)
  }

  @Test(
    arguments: [
      (.unacceptableConnectionParameters, .peerRefused("\(HCIErrorCode.unacceptableConnectionParameters)")),
      (.commandDisallowed, .controller(.leConnectionUpdate, .commandDisallowed)),
      (.linkLayerResponseTimeout, .controller(.leConnectionUpdate, .linkLayerResponseTimeout)),
    ] as [(HCIErrorCode, HostError)])
  func anotherRefusalIsReported(_ status: HCIErrorCode, _ error: HostError) {
    var (bench, peer) = bench()
    let before = bench.data.count
    bench.perform(.link(peer, .updateConnection(Self.wanted)))
    bench.receive(updated(status))
    #expect(bench.attPayloads(from: before).isEmpty)
    guard case .link(peer, .connectionUpdateRefused(error))? = bench.events.last else {
      Issue.record("not told"); return
    }
    // The next one asks by the link layer again.
    bench.perform(.link(peer, .updateConnection(Self.wanted)))
    #expect(bench.controller.commands.count { $0.opcode == .leConnectionUpdate } == 2)
  }

  @Test func oneRequestFollowsTheOther() {
    var (bench, peer) = bench()
    bench.perform(.link(peer, .updateConnection(Self.wanted)))
    bench.perform(.link(peer, .updateConnection(ConnectionParameters())))
    guard case .link(peer, .connectionUpdateRefused(.invalidParameters))? = bench.events.last else {
      Issue.record("not refused")
      return
    }
    bench.receive(updated(.success))
    bench.perform(.link(peer, .updateConnection(ConnectionParameters())))
    #expect(bench.controller.commands.count { $0.opcode == .leConnectionUpdate } == 2)
  }
}
