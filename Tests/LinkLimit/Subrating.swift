import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
import BLEVirtual
import BLEWire

/// What subrating costs and saves on a link: the connection events of an idle minute, and the time that reads take.
///
/// Docs/Performance/subrating.svg is drawn from its lines.
struct SubratingRun {
  var name: String
  /// In units of 1.25 ms.
  var interval: UInt16
  var subrating: SubratingParameters?

  static let all: [SubratingRun] = [
    SubratingRun(name: "interval 15 ms", interval: 12),
    SubratingRun(name: "interval 120 ms", interval: 96),
    SubratingRun(
      name: "15 ms, one of 8 events", interval: 12, subrating: SubratingParameters(factor: 8...8)),
    SubratingRun(
      name: "15 ms, one of 8 events, 7 continued", interval: 12,
      subrating: SubratingParameters(factor: 8...8, continuation: 7)),
  ]

  private static let value = AttributeID(rawValue: 1)
  private static let reads = 10
  private static let bursts = 40

  /// - Returns: a line: the name, the events of an idle minute in which nothing but empty PDUs is sent, the median and
  ///   the longest time of a read after a pause, and the median of the time of ten reads, in microseconds.
  func perform() throws -> String {
    var link = try SubratedLink(self)
    link.advance(for: .seconds(5))
    let before = link.world.emptyEvents
    link.advance(for: .seconds(60))
    let empty = link.world.emptyEvents - before
    var (first, all): ([Int64], [Int64]) = ([], [])
    for burst in 0..<Self.bursts {
      // The pauses end at another place of the schedule each time.
      link.advance(for: .microseconds(1_000_000 + 3_100 * Int64(burst)))
      let start = link.world.now
      for read in 0..<Self.reads {
        try link.read()
        if read == 0 { first.append((link.world.now - start).microseconds) }
      }
      all.append((link.world.now - start).microseconds)
    }
    (first, all) = (first.sorted(), all.sorted())
    let numbers = [Int64(empty), first[first.count / 2], first[first.count - 1], all[all.count / 2]]
    return ([name] + numbers.map { "\($0)" }).joined(separator: "\t")
  }

  /// A central and a peripheral with the timing of a run.
  private struct SubratedLink {
    var world: LimitWorld
    private var link = LinkID(rawValue: 0)
    private var handle = AttributeHandle(rawValue: 0)
    private var number: UInt32 = 0

    init(_ run: SubratingRun) throws {
      world = LimitWorld([VirtualControllerConfiguration(), VirtualControllerConfiguration()])
      let service = ServiceDefinition(
        id: ServiceID(rawValue: 1), uuid: BluetoothUUID(0xFFF0),
        characteristics: [
          CharacteristicDefinition(
            id: value, uuid: BluetoothUUID(0xFFF1), properties: [.read],
            permissions: GATTAttributePermissions(read: .open, write: .open), value: .stored([7], length: 0...20))
        ])
      world.perform([.services(.add(service))], on: 1)
      handle = try wait("the service") {
        if case .services(.added(_, .success(let added))) = $0 { added.attributes[value] } else { nil }
      }
      let advertisement = AdvertisingIntent(data: [2, 1, 6], scanResponse: [])
      world.perform([.advertising(.start(AdvertisingID(rawValue: 1), advertisement))], on: 1)
      let address = world.address(of: 1)
      world.perform([.initiating(.connect(ConnectID(rawValue: 1), address, ConnectionParameters()))], on: 0)
      link = try wait("the link") { if case .connected(let connection) = $0 { connection.peer } else { nil } }
      advance(for: .seconds(5))
      let parameters = ConnectionParameters(interval: run.interval...run.interval)
      world.perform([.link(link, .updateConnection(parameters))], on: 0)
      try wait("the interval") { if case .link(_, .connectionUpdated) = $0 { true } else { nil } }
      if let subrating = run.subrating {
        world.perform([.link(link, .requestSubrating(subrating))], on: 0)
        try wait("subrating") { if case .link(_, .subrating(.success)) = $0 { true } else { nil } }
      }
    }

    mutating func read() throws {
      number += 1
      let id = GATTClient.OperationID(rawValue: number)
      world.perform([.link(link, .client(GATTClient.Operation(id: id, .read(handle))))], on: 0)
      try wait("a read") { if case .client(_, .finished(id, .success)) = $0 { true } else { nil } }
    }

    mutating func advance(for duration: Duration) {
      let end = world.now + duration
      while world.now < end { world.step(until: end) }
      world.events = []
    }

    @discardableResult
    private mutating func wait<Value>(_ step: String, _ value: (HostEvent) -> Value?) throws -> Value {
      let end = world.now + .seconds(20)
      while world.now < end {
        for (_, event) in world.events { if let value = value(event) { return value } }
        world.events = []
        world.step(until: end)
      }
      throw Missing(description: "\(step) after 20 s")
    }
  }
}

extension Duration {
  fileprivate var microseconds: Int64 {
    components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000
  }
}
