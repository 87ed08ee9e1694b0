import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
import BLEVirtual
import BLEWire
import Testing

@Suite("Twelve centrals at once on the virtual radio")
struct TwelveCentralsTests {
  static let centrals = 1...12
  let own = AttributeID(rawValue: 1)
  let long = AttributeID(rawValue: 2)
  let stream = AttributeID(rawValue: 3)

  private var service: ServiceDefinition {
    ServiceDefinition(
      id: ServiceID(rawValue: 1), uuid: BluetoothUUID(0xFFF0),
      characteristics: [
        CharacteristicDefinition(
          id: own, uuid: BluetoothUUID(0xFFF1), properties: [.read, .write, .writeWithoutResponse],
          permissions: .readableAndWritable, value: .stored([], length: 0...512)),
        CharacteristicDefinition(
          id: long, uuid: BluetoothUUID(0xFFF2), properties: [.read, .write], permissions: .readableAndWritable,
          value: .stored([], length: 0...512)),
        CharacteristicDefinition(
          id: stream, uuid: BluetoothUUID(0xFFF3), properties: [.notify, .indicate, .read],
          permissions: .readable, value: .dynamic),
      ])
  }

  /// A peripheral as host 0, and the centrals connected to it; MTU of central n: 23 + 40n.
  private func connected(
    _ configuration: VirtualControllerConfiguration = VirtualControllerConfiguration()
  ) throws -> (World, handles: [AttributeID: AttributeHandle], peers: [Int: LinkID]) {
    var world = World(
      13, controller: { _ in configuration },
      host: {
        var host = HostConfiguration()
        if $0 > 0 { host.serverLimits.maximumMTU = Self.mtu(of: $0) }
        return host
      })
    let (stream, own) = (stream, own)
    world.application = { host, event in
      guard host == 0, case .server(let peer, .read(let token, let attribute, _)) = event, attribute == stream else {
        return []
      }
      _ = own
      return [.respond(peer, token, .success([UInt8(truncatingIfNeeded: peer.rawValue)]))]
    }
    world.ask(0, .services(.add(service)))
    var handles: [AttributeID: AttributeHandle] = [:]
    for event in world.takeHeard(0) {
      if case .services(.added(_, .success(let added))) = event { handles = added.attributes }
    }
    world.ask(
      0, .advertising(.start(AdvertisingID(rawValue: 1), AdvertisingIntent(data: [2, 1, 6], scanResponse: []))))
    var peers: [Int: LinkID] = [:]
    for central in Self.centrals {
      world.ask(
        central,
        .initiating(.connect(ConnectID(rawValue: UInt32(central)), world.hosts[0].ownAddress, ConnectionParameters())))
      world.run(for: .seconds(1))
      for event in world.takeHeard(central) {
        if case .connected(let connection) = event { peers[central] = connection.peer }
      }
    }
    #expect(peers.count == Self.centrals.count)
    return (world, handles, peers)
  }

  static func mtu(of central: Int) -> Int { 23 + 40 * central }

  private func operation(_ number: Int, _ kind: GATTClient.Operation.Kind) -> GATTClient.Operation {
    GATTClient.Operation(id: GATTClient.OperationID(rawValue: UInt32(number)), kind)
  }

  private func outcomes(_ events: [HostEvent]) -> [GATTClient.OperationID: Result<GATTClient.Outcome, GATTClientError>]
  {
    var outcomes: [GATTClient.OperationID: Result<GATTClient.Outcome, GATTClientError>] = [:]
    for event in events { if case .client(_, .finished(let id, let result)) = event { outcomes[id] = result } }
    return outcomes
  }

  @Test(arguments: [(27, 1), (27, 4), (251, 8)])
  func eachKeepsItsOwnQueueAndSubscriptionAndNothingIsLost(aclLength: UInt16, aclCount: UInt8) throws {
    var configuration = VirtualControllerConfiguration()
    configuration.aclDataPacketLength = aclLength
    configuration.totalNumACLDataPackets = aclCount
    var (world, handles, peers) = try connected(configuration)
    let streamHandle = try #require(handles[stream])
    let longHandle = try #require(handles[long])
    let ownHandle = try #require(handles[own])

    // All subscribe: odd ones to notifications, even ones to indications.
    for central in Self.centrals {
      let peer = try #require(peers[central])
      let range = streamHandle...AttributeHandle(rawValue: streamHandle.rawValue + 1)
      world.ask(
        central, .link(peer, .client(operation(1, .configure(central % 2 == 1 ? .notify : .indicate, in: range)))))
    }
    // All begin a prepared write of their own; queues must not mix, so the value of each is checked as it is executed.
    for central in Self.centrals {
      let peer = try #require(peers[central])
      let value = [UInt8](repeating: UInt8(central), count: 300)
      world.ask(central, .link(peer, .client(operation(2, .writeLong(longHandle, offset: 0, value)))))
      world.ask(central, .link(peer, .client(operation(3, .readLong(longHandle)))))
    }
    for central in Self.centrals {
      let results = outcomes(world.takeHeard(central))
      for number in 1...2 {
        let result = try #require(results[GATTClient.OperationID(rawValue: UInt32(number))])
        guard case .success = result else { Issue.record("central \(central), operation \(number): \(result)"); return }
      }
      guard case .success(.value(let read)) = results[GATTClient.OperationID(rawValue: 3)] else {
        Issue.record("central \(central) read nothing"); return
      }
      // The last writer's value or one's own, never a mixture of two.
      #expect(read.count == 300 && Set(read).count == 1)
    }
    // Two hundred values to all, a read of a dynamic value and a write command of each in between.
    _ = world.takeHeard(0)
    for number in 0..<200 {
      world.ask(0, .update(UpdateToken(rawValue: UInt64(number)), stream, [UInt8(number), 7], to: world.peers[0]))
      let central = number % 12 + 1
      let peer = try #require(peers[central])
      world.ask(central, .link(peer, .client(operation(100 + number, .read(streamHandle)))))
      world.ask(
        central, .link(peer, .client(operation(1000 + number, .writeWithoutResponse(ownHandle, [UInt8(number)])))))
    }
    for central in Self.centrals {
      var values: [[UInt8]] = []
      for event in world.takeHeard(central) {
        switch event {
        case .client(_, .notification(streamHandle, let value)), .client(_, .indication(streamHandle, let value)):
          values.append(value)
        default: break
        }
      }
      #expect(values == (0..<200).map { [UInt8($0), 7] }, "central \(central) heard \(values.count) values")
    }
    let stored = world.takeHeard(0).filter { if case .server(_, .stored(own, _)) = $0 { true } else { false } }
    #expect(stored.count == 200)
    #expect(world.complaints.isEmpty)
  }

  @Test func eachHasItsOwnMTU() throws {
    var (world, handles, peers) = try connected()
    let longHandle = try #require(handles[long])
    let writer = try #require(peers[1])
    world.ask(
      1, .link(writer, .client(operation(1, .writeLong(longHandle, offset: 0, [UInt8](repeating: 9, count: 500))))))
    for central in Self.centrals {
      let peer = try #require(peers[central])
      _ = world.takeHeard(central)
      world.ask(central, .link(peer, .client(operation(2, .read(longHandle)))))
      guard case .success(.value(let read)) = outcomes(world.takeHeard(central))[GATTClient.OperationID(rawValue: 2)]
      else {
        Issue.record("central \(central) read nothing"); return
      }
      #expect(read.count == min(500, Self.mtu(of: central) - 1))
    }
  }

  @Test func oneThatVanishesTakesNobodyAlong() throws {
    var (world, handles, peers) = try connected()
    let ownHandle = try #require(handles[own])
    world.cutLinks(of: 5)
    world.run(for: .seconds(20))
    let gone = world.takeHeard(0).filter {
      if case .link(_, .disconnected(.connectionTimeout)) = $0 { true } else { false }
    }
    #expect(gone.count == 1)
    for central in Self.centrals where central != 5 {
      let peer = try #require(peers[central])
      world.ask(central, .link(peer, .client(operation(1, .write(ownHandle, [1])))))
      guard case .success = outcomes(world.takeHeard(central))[GATTClient.OperationID(rawValue: 1)] else {
        Issue.record("central \(central) is not served any more"); return
      }
    }
  }
}
