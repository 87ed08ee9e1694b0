import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
import BLEWire
import Testing

/// Attacks on the attribute server and on the client.
@Suite("Attacks on attributes") struct AttributeAttackTests {
  private static let long = AttributeID(rawValue: 1)
  private static let short = AttributeID(rawValue: 2)
  private static let empty = AttributeID(rawValue: 3)
  private static let dynamic = AttributeID(rawValue: 4)
  private static let peer = LinkID(rawValue: 1)

  /// A peripheral with a value of 512 octets, one of 20, an empty one and a dynamic one.
  ///
  /// - Parameter role: 0 for a peripheral, 1 for a central, which has a server, too.
  private static func server(_ role: Int = 0) throws -> (bench: Bench, handles: [AttributeID: UInt8]) {
    var bench = Bench()
    func characteristic(_ id: AttributeID, _ value: ValueSource) -> CharacteristicDefinition {
      CharacteristicDefinition(
        id: id, uuid: BluetoothUUID(UInt16(0xFFF0 + id.rawValue)), properties: [.read, .write, .indicate],
        permissions: .readableAndWritable, value: value)
    }
    bench.perform(
      .services(
        .add(
          ServiceDefinition(
            id: ServiceID(rawValue: 1), uuid: BluetoothUUID(0xFFE0),
            characteristics: [
              characteristic(long, .stored([UInt8](repeating: 7, count: 512), length: 0...512)),
              characteristic(short, .stored([1, 2], length: 0...20)),
              characteristic(empty, .stored([], length: 0...512)),
              characteristic(dynamic, .dynamic),
            ]))))
    var handles: [AttributeID: UInt8] = [:]
    for event in bench.takeEvents() {
      if case .services(.added(_, .success(let added))) = event {
        handles = added.attributes.mapValues { UInt8(truncatingIfNeeded: $0.rawValue) }
      }
    }
    if role == 0 {
      bench.receive(ScriptedController.connected(0x40))
    } else {
      bench.perform(.initiating(.connect(ConnectID(rawValue: 1), address, ConnectionParameters())))
      bench.receive(ScriptedController.connectedAsCentral(0x40, to: address))
    }
    return (bench, handles)
  }

  private static func prepare(_ handle: UInt8, _ offset: UInt16, _ value: [UInt8]) -> [UInt8] {
    var pdu: [UInt8] = [0x16, handle, 0]
    pdu.append(littleEndian: offset)
    return pdu + value
  }

  /// Prepared parts at rising offsets, to one attribute and to several, up to the bound of the queue and past it.
  @Test(arguments: [0, 1], [1, 3]) func cve_2022_0204_preparedWritesPastTheQueue(role: Int, attributes: Int) throws {
    var (bench, handles) = try Self.server(role)
    let targets = [Self.long, Self.short, Self.empty].prefix(attributes).compactMap { handles[$0] }
    let limits = GATTServer.Limits()
    var refused = 0
    for number in 0..<limits.maximumPreparedWrites + 10 {
      let part = Self.prepare(targets[number % targets.count], UInt16(18 * number), [UInt8](repeating: 9, count: 18))
      let answer = bench.att(0x40, part)
      if number < limits.maximumPreparedWrites {
        #expect(answer == [[0x17] + part.dropFirst()])
      } else {
        #expect(answer == [[0x01, 0x16, part[1], 0, 0x09]], "Prepare Queue Full")
        refused += 1
      }
    }
    #expect(refused == 10)
    let executed = bench.att(0x40, [0x18, 1])
    #expect(executed.first?.prefix(2) == [0x01, 0x18] && [0x07, 0x0D].contains(executed.first?.last))
    // All or nothing.
    let value = try #require(handles[Self.long])
    #expect(bench.att(0x40, [0x0A, value, 0]) == [[0x0B] + [UInt8](repeating: 7, count: 22)])
  }

  /// An offset past the value, one near 65,535, and a value that grows past its limit.
  @Test(arguments: [0, 1]) func cve_2022_0204_preparedWritesBeyondTheValue(role: Int) throws {
    var (bench, handles) = try Self.server(role)
    let short = try #require(handles[Self.short])
    let attempts: [([[UInt8]], UInt8)] = [
      ([Self.prepare(short, 3, [1])], 0x07), ([Self.prepare(short, 0xFFFF, [1])], 0x07),
      ([Self.prepare(short, 0xFFF0, [UInt8](repeating: 1, count: 18))], 0x07),
      ([Self.prepare(short, 0, [UInt8](repeating: 1, count: 18)), Self.prepare(short, 18, [1, 1, 1])], 0x0D),
    ]
    for (parts, code) in attempts {
      for part in parts { #expect(bench.att(0x40, part) == [[0x17] + part.dropFirst()]) }
      #expect(bench.att(0x40, [0x18, 1]) == [[0x01, 0x18, short, 0, code]])
      #expect(bench.att(0x40, [0x0A, short, 0]) == [[0x0B, 1, 2]], "unchanged")
    }
  }

  /// Read Multiple and Read Multiple Variable of long and empty values, at each small MTU, with dozens of handles.
  @Test(arguments: [0, 1], [23, 24, 25, 26, 27, 64] as [UInt8])
  func cve_2023_40129_readMultipleVariable(role: Int, mtu: UInt8) throws {
    for order in [
      [Self.long, Self.empty], [Self.empty, Self.long], [Self.empty, Self.empty], [Self.long, Self.long],
    ] {
      var (bench, handles) = try Self.server(role)
      if mtu > 23 { _ = bench.att(0x40, [0x02, mtu, 0]) }
      let pair: [UInt8] = order.flatMap { id -> [UInt8] in [handles[id] ?? 0, 0] }
      for count in [1, 2, 5, (Int(mtu) - 1) / 4] where 1 + 4 * count <= Int(mtu) {
        for opcode: UInt8 in [0x20, 0x0E] {
          let set = [[UInt8]](repeating: pair, count: count).flatMap(\.self)
          let answers = bench.att(0x40, [opcode] + set)
          #expect(answers.count == 1 && answers[0].first == opcode + 1, "\(order), \(count)")
          #expect(answers.allSatisfy { $0.count <= Int(mtu) })
          guard opcode == 0x20, let answer = answers.first, answer.count >= 3 else { continue }
          // The first length is that of the whole value, although the value is cut (Vol 3, Part F, 3.4.4.12).
          let length = Int(answer[1]) | Int(answer[2]) << 8
          #expect(length == (order[0] == Self.long ? 512 : 0))
        }
      }
    }
  }

  /// The link ends while the application has a request and an indication is on its way; answers that come then are
  /// ignored.
  @Test func cve_2026_11368_aBearerThatEndsUnderARequest() throws {
    var (bench, handles) = try Self.server()
    let handle = try #require(handles[Self.dynamic])
    #expect(bench.att(0x40, [0x12, handle + 1, 0, 2, 0]) == [[0x13]])
    #expect(bench.att(0x40, [0x0A, handle, 0]).isEmpty)
    let asked = bench.events.compactMap { event -> RequestToken? in
      if case .server(_, .read(let token, _, _)) = event { token } else { nil }
    }
    let token = try #require(asked.last)
    bench.perform(.update(UpdateToken(rawValue: 1), Self.dynamic, [1], to: bench.peers))
    bench.receive(ScriptedController.disconnected(0x40))
    let sent = bench.data.count
    bench.perform(.respond(Self.peer, token, .success([1, 2, 3])))
    bench.perform(.update(UpdateToken(rawValue: 2), Self.dynamic, [2], to: bench.peers))
    bench.receive(ScriptedController.frame(0x40, cid: 4, [0x1E]))
    #expect(bench.data.count == sent && bench.core.linkCount == 0)
    // The next link has the same handle; the late answer is not for it.
    bench.receive(ScriptedController.connected(0x40))
    #expect(bench.att(0x40, [0x0A, handle, 0]).isEmpty)
    bench.perform(.respond(Self.peer, token, .success([6, 6, 6])))
    #expect(!bench.attPayloads(from: sent).contains([0x0B, 6, 6, 6]))
    let second = bench.events.compactMap { event -> (LinkID, RequestToken)? in
      if case .server(let peer, .read(let token, _, _)) = event { (peer, token) } else { nil }
    }
    let (next, last) = try #require(second.last)
    #expect(last != token || next != Self.peer)
    bench.perform(.respond(next, last, .success([1])))
    #expect(bench.attPayloads(from: sent).last == [0x0B, 1])
  }

  /// The same for our client: a link that ends under a long read, and a response for it on the next link.
  @Test func cve_2026_11368_aLinkThatEndsUnderAnOperation() throws {
    var bench = try Self.client()
    bench.perform(Self.operation(1, .readLong(AttributeHandle(rawValue: 3))))
    _ = bench.att(0x40, [0x0B] + [UInt8](repeating: 1, count: 22))
    bench.receive(ScriptedController.disconnected(0x40))
    _ = bench.att(0x40, [0x0D, 1])
    #expect(Self.results(bench) == [.failure(.linkEnded)])
    // The next link has the same handle; the late response is not for its operation.
    bench.perform(.initiating(.connect(ConnectID(rawValue: 2), Self.address, ConnectionParameters())))
    bench.receive(ScriptedController.connectedAsCentral(0x40, to: Self.address))
    try #require(bench.att(0x40, [0x03, 23, 0]).isEmpty)
    _ = bench.att(0x40, [0x0D, 1])
    #expect(Self.results(bench) == [.failure(.linkEnded)])
    let next = GATTClient.Operation(
      id: GATTClient.OperationID(rawValue: 2), .read(AttributeHandle(rawValue: 3)))
    bench.perform(.link(try #require(bench.peers.last), .client(next)))
    _ = bench.att(0x40, [0x0B, 9])
    #expect(Self.results(bench) == [.failure(.linkEnded), .success(.value([9]))])
  }

  private static let address = DeviceAddress(octets: BD_ADDR(0xC011_2233_4455), kind: .random)

  /// A central with a link whose MTU is exchanged.
  private static func client() throws -> Bench {
    var bench = Bench()
    bench.perform(.initiating(.connect(ConnectID(rawValue: 1), address, ConnectionParameters())))
    bench.receive(ScriptedController.connectedAsCentral(0x40, to: address))
    try #require(bench.att(0x40, [0x03, 23, 0]).isEmpty)
    return bench
  }

  private static func operation(_ number: UInt32, _ kind: GATTClient.Operation.Kind) -> HostCommand {
    .link(peer, .client(GATTClient.Operation(id: GATTClient.OperationID(rawValue: number), kind)))
  }

  private static func results(_ bench: Bench) -> [Result<GATTClient.Outcome, GATTClientError>] {
    bench.events.compactMap { if case .client(_, .finished(_, let result)) = $0 { result } else { nil } }
  }

  static let discoveries: [(String, [UInt8])] = [
    ("a handle that does not advance", [0x11, 6, 1, 0, 5, 0, 0, 0x18]),
    ("an end below the start", [0x11, 6, 9, 0, 5, 0, 0, 0x18]),
    ("handle 0", [0x11, 6, 0, 0, 5, 0, 0, 0x18]), ("an empty list", [0x11, 6]), ("length 0", [0x11, 0, 1, 0]),
    ("half an element", [0x11, 6, 1, 0, 5]), ("another opcode", [0x09, 6, 1, 0, 5, 0, 0, 0x18]),
    ("the opcode alone", [0x11]),
    ("an error of another request", [0x01, 0x0A, 1, 0, 0x0A]),
  ]

  /// A server that never ends a discovery: the operation ends after bounded work, with an error or with what came
  /// before the fault.
  @Test(arguments: discoveries.indices) func endlessDiscovery(number: Int) throws {
    let (name, response) = Self.discoveries[number]
    var bench = try Self.client()
    bench.perform(Self.operation(1, .discoverPrimaryServices))
    var requests = 0
    while Self.results(bench).isEmpty, requests < 10 {
      requests += 1
      if bench.att(0x40, response).isEmpty { bench.run(for: .seconds(31)) }
    }
    #expect(requests < 10, "\(name)")
    switch Self.results(bench).first {
    case .failure, .success(.incomplete): break
    case let result: Issue.record("\(name): \(String(describing: result))")
    }
  }

  /// Ten thousand services, each response in order: the results are bounded.
  @Test func endlessDiscoveryOfServicesInOrder() throws {
    var bench = try Self.client()
    bench.perform(Self.operation(1, .discoverPrimaryServices))
    var handle: UInt16 = 1
    for _ in 0..<10_000 where Self.results(bench).isEmpty {
      var response: [UInt8] = [0x11, 6]
      for _ in 0..<3 {
        response.append(littleEndian: handle)
        response.append(littleEndian: handle)
        response += [0, 0x18]
        handle += 1
      }
      _ = bench.att(0x40, response)
    }
    #expect(Self.results(bench).count == 1)
    guard case .success(.incomplete(.services(let found), _))? = Self.results(bench).first else {
      Issue.record("no limit")
      return
    }
    #expect(found.count == GATTClient.Limits().results)
  }

  /// Responses that nobody asked for, of another request, twice, and after the timeout: none is taken for another's.
  @Test func unsolicitedAndLateAnswers() throws {
    var bench = try Self.client()
    for pdu: [UInt8] in [[0x0B, 9], [0x11, 6, 1, 0, 5, 0, 0, 0x18], [0x13], [0x03, 64, 0], [0x01, 0x0A, 3, 0, 1]] {
      #expect(bench.att(0x40, pdu).isEmpty)
    }
    bench.perform(Self.operation(1, .read(AttributeHandle(rawValue: 3))))
    _ = bench.att(0x40, [0x0B, 1])
    _ = bench.att(0x40, [0x0B, 2])
    bench.perform(Self.operation(2, .read(AttributeHandle(rawValue: 3))))
    #expect(Self.results(bench) == [.success(.value([1]))])
    // No response: the bearer is not used any more (Vol 3, Part F, 3.3.3).
    bench.run(for: .seconds(31))
    _ = bench.att(0x40, [0x0B, 3])
    #expect(Self.results(bench).count == 2)
    guard case .failure? = Self.results(bench).last else { Issue.record("taken"); return }
  }

  /// Notifications and indications without waiting: each indication is confirmed, and nothing grows in the host.
  @Test func notificationAndIndicationFlood() throws {
    var bench = try Self.client()
    _ = bench.takeEvents()
    let sent = bench.data.count
    for number in 0..<20_000 {
      bench.receive(ScriptedController.frame(0x40, cid: 4, [number % 10 == 0 ? 0x1D : 0x1B, 3, 0, 1]))
      if number % 1_000 == 999 {
        let values = bench.takeEvents().count { if case .client = $0 { true } else { false } }
        #expect(values <= 1_000)
      }
    }
    #expect(bench.attPayloads(from: sent).allSatisfy { $0 == [0x1E] })
    #expect(bench.attPayloads(from: sent).count <= 2_000)
    bench.perform(Self.operation(1, .read(AttributeHandle(rawValue: 3))))
    _ = bench.att(0x40, [0x0B, 1])
    #expect(Self.results(bench) == [.success(.value([1]))])
  }
}
