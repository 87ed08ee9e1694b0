import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
import BLEVirtual
import BLEWire
import Foundation
import Testing

/// One adapter in every role at once: it advertises, scans, serves three centrals and holds three connections of its
/// own.
@Suite("Every role on one adapter") struct EveryRoleTests {
  private static let value = AttributeID(rawValue: 1)
  private static let stream = AttributeID(rawValue: 2)
  /// The adapter is host 0.
  private static let centrals = 1...3
  private static let peripherals = 4...6
  /// Writes, reads and notifications of all links. `EXCHANGES` sets another number; `make test-long` has 100,000.
  private static let exchanges = ProcessInfo.processInfo.environment["EXCHANGES"].flatMap { Int($0) } ?? 5_000
  /// In one round each of six links has a write or a read, and each of three a notification.
  private static let rounds = exchanges / 9 + 1

  private var service: ServiceDefinition {
    ServiceDefinition(
      id: ServiceID(rawValue: 1), uuid: BluetoothUUID(0xFFF0),
      characteristics: [
        CharacteristicDefinition(
          id: Self.value, uuid: BluetoothUUID(0xFFF1), properties: [.read, .write], permissions: .readableAndWritable,
          value: .stored([], length: 0...20)),
        CharacteristicDefinition(
          id: Self.stream, uuid: BluetoothUUID(0xFFF2), properties: [.notify], permissions: .readable,
          value: .stored([], length: 0...20)),
      ])
  }

  /// The end of a link that asks: the host and its name for the link, and the number of the link.
  private struct Client {
    var host: Int
    var peer: LinkID
    var link: UInt8
  }

  private var world = World(8)
  private var handles: [AttributeID: AttributeHandle] = [:]
  private var clients: [Client] = []
  private var operations: UInt32 = 0

  private mutating func perform(_ client: Client, _ kind: GATTClient.Operation.Kind) -> GATTClient.OperationID {
    operations += 1
    let id = GATTClient.OperationID(rawValue: operations)
    world.ask(client.host, .link(client.peer, .client(GATTClient.Operation(id: id, kind))))
    return id
  }

  private mutating func connect(_ host: Int, to other: Int) throws {
    world.ask(
      host,
      .initiating(.connect(ConnectID(rawValue: UInt32(other)), world.hosts[other].ownAddress, ConnectionParameters())))
    world.run(for: .seconds(1))
    let links = world.takeHeard(host).compactMap { event -> LinkID? in
      guard case .connected(let link) = event, link.role == .central else { return nil }
      return link.peer
    }
    clients.append(Client(host: host, peer: try #require(links.last), link: UInt8(clients.count)))
  }

  private mutating func start() throws {
    for host in world.hosts.indices {
      world.ask(host, .services(.add(service)))
      for event in world.takeHeard(host) {
        if case .services(.added(_, .success(let added))) = event { handles = added.attributes }
      }
      // Host 7 is there for the scan.
      guard host == 0 || host > 3 else { continue }
      let id = AdvertisingID(rawValue: UInt32(host))
      world.ask(host, .advertising(.start(id, AdvertisingIntent(data: [2, 1, 6], scanResponse: []))))
    }
    var scan = ScanParameters()
    scan.allowsDuplicates = true
    world.ask(0, .scanning(.start(scan)))
    for central in Self.centrals { try connect(central, to: 0) }
    for peripheral in Self.peripherals { try connect(0, to: peripheral) }
    let stream = try #require(handles[Self.stream])
    for client in clients where client.host != 0 {
      let range = stream...AttributeHandle(rawValue: stream.rawValue + 1)
      let id = perform(client, .configure(.notify, in: range))
      guard case .success? = outcome(id, of: client) else { Issue.record("link \(client.link)"); return }
    }
    for host in world.hosts.indices { _ = world.takeHeard(host) }
  }

  private func outcome(
    _ id: GATTClient.OperationID, of client: Client
  ) -> Result<GATTClient.Outcome, GATTClientError>? {
    for event in world.heard[client.host] {
      if case .client(client.peer, .finished(id, let result)) = event { return result }
    }
    return nil
  }

  @Test mutating func nothingIsLostInManyExchanges() throws {
    try start()
    let (value, stream) = (try #require(handles[Self.value]), try #require(handles[Self.stream]))
    var (exchanges, reports) = (0, 0)
    for round in 0..<UInt32(Self.rounds) {
      // Of each link by turns a write and a read of what was written last.
      let isWrite = round % 2 == 0
      let number = [UInt8](littleEndian: round / 2)
      var asked: [(Client, GATTClient.OperationID)] = []
      for client in clients {
        // The three centrals share an attribute of the adapter: each writes, and the last one's value stays.
        let octets = (client.host == 0 ? [client.link] : [9]) + number
        asked.append((client, perform(client, isWrite ? .write(value, octets) : .read(value))))
      }
      world.ask(0, .update(UpdateToken(rawValue: UInt64(round)), Self.stream, number, to: world.peers[0]))
      for (client, id) in asked {
        let expected = (client.host == 0 ? [client.link] : [9]) + number
        switch outcome(id, of: client) {
        case .success(.value(let read)) where !isWrite && Array(read) == expected: exchanges += 1
        case .success where isWrite: exchanges += 1
        case let other: Issue.record("round \(round), link \(client.link): \(String(describing: other))"); return
        }
      }
      for client in clients where client.host != 0 {
        let notified = world.heard[client.host].contains {
          if case .client(_, .notification(stream, let octets)) = $0 { Array(octets) == number } else { false }
        }
        guard notified else { Issue.record("round \(round): link \(client.link) was not notified"); return }
        exchanges += 1
      }
      // Whatever the number of rounds is, the scan and the advertisement go on for more than four seconds.
      if round % max(1, UInt32(Self.rounds) / 22) == 0 { world.run(for: .milliseconds(200)) }
      reports += world.heard[0].reduce(0) {
        if case .scanning(.discovered(let found)) = $1 { $0 + found.count } else { $0 }
      }
      for host in world.hosts.indices {
        let ended = world.takeHeard(host).contains { if case .link(_, .disconnected) = $0 { true } else { false } }
        guard !ended else { Issue.record("round \(round): host \(host) lost a link"); return }
      }
    }
    #expect(exchanges >= Self.exchanges)
    #expect(reports > 50, "the scan goes on")
    #expect(world.complaints.isEmpty, "\(world.complaints)")
    // It still advertises: another central finds it, and can connect.
    world.ask(7, .scanning(.start(ScanParameters())))
    world.run(for: .seconds(1))
    #expect(
      world.takeHeard(7).contains {
        if case .scanning(.discovered(let found)) = $0 {
          found.contains { $0.address == world.hosts[0].ownAddress }
        } else {
          false
        }
      })
    try connect(7, to: 0)
  }
}

extension [UInt8] {
  fileprivate init(littleEndian number: UInt32) {
    self = []
    append(littleEndian: number)
  }
}
