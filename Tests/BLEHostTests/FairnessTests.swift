import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
import BLEL2CAP
import BLESMP
import BLEVirtual
import BLEWire
import Testing

/// Whether what one device does makes the exchanges of another one slower.
///
/// Each exchange of an honest device is measured in virtual time, alone and beside three other devices on links of
/// their own. Ten exchanges may take twice as long, and one connection interval more, beside hostile devices; none may
/// take more than one interval longer beside links that carry as much as they can.
@Suite("Fairness between links") struct FairnessTests {
  /// What a hostile device does, or the program with it.
  enum Behaviour: String, CaseIterable, Sendable {
    case confirmsNothing, answersNothing, floodsReads, floodsCommands, floodsPreparedWrites, subscribesAgainAndAgain
    case fillsChannels, reconnects, pairsWithoutEnd
    /// The program sends the device values as fast as the link takes them.
    case takesValues

    /// Those that fill a link with data all the time.
    static let floods = [takesValues, floodsReads, floodsCommands, floodsPreparedWrites, fillsChannels]
  }

  /// The side of the host under test.
  enum Role: String, CaseIterable, Sendable {
    case peripheral, central
  }

  /// What the honest device and the host under test exchange.
  enum Exchange: String, CaseIterable, Sendable {
    case read, dynamicRead, longRead, write, longWrite, command, ownRead, ownWrite, notification, indication
    case received, sent, pairing
  }

  private static let hostile = 2...4
  private static let repetitions = 10
  /// One connection interval, 30 ms.
  private static let slack = Duration.milliseconds(30)
  /// ACL packets on the links beside.
  private static let leastFlood = 600

  @Test(arguments: Role.allCases, Behaviour.allCases)
  func hostileDevicesHoldUpNoOther(role: Role, behaviour: Behaviour) throws {
    var alone = try Scene(role, nil)
    var beside = try Scene(role, behaviour)
    let (baseline, times) = (try alone.times(), try beside.times())
    for exchange in Exchange.allCases {
      let time = try #require(times[exchange]).reduce(.zero, +)
      let limit = try #require(baseline[exchange]).reduce(.zero, +) * 2 + Self.slack
      #expect(
        time <= limit,
        "\(exchange) takes \(time) beside devices that do what \(behaviour) says, and \(limit) is allowed")
    }
  }

  @Test(arguments: Role.allCases, Behaviour.floods)
  func noExchangeWaitsForAnotherLinkLongerThanOneInterval(role: Role, flood: Behaviour) throws {
    var alone = try Scene(role, nil)
    var beside = try Scene(role, flood)
    let (baseline, times) = (try alone.times(), try beside.times())
    for exchange in Exchange.allCases {
      let (longest, usual) = (try #require(times[exchange]?.max()), try #require(baseline[exchange]?.max()))
      #expect(
        longest <= usual + Self.slack,
        "\(exchange) takes \(longest) beside links on which \(flood) happens, and \(usual) alone")
    }
    // A flood that has stopped would show nothing.
    #expect(beside.packets >= alone.packets + Self.leastFlood)
  }

  /// The host under test is host 0, the honest device host 1.
  private struct Scene {
    var world: World
    let role: Role
    let behaviour: Behaviour?
    var handles: [AttributeID: AttributeHandle] = [:]
    /// The newest link of each device: the name that the host under test has for it, and the device's own.
    var links: [Int: (own: LinkID, theirs: LinkID)] = [:]
    var channel: (own: L2CAPChannelID, theirs: L2CAPChannelID)?
    private var operations: UInt32 = 0
    /// The operation that the exchange waits for.
    private var awaited: UInt32 = 0
    private var steps = 0
    private var token: UInt64 = 0

    static let value = AttributeID(rawValue: 1)
    static let dynamic = AttributeID(rawValue: 2)
    static let notified = AttributeID(rawValue: 3)
    static let indicated = AttributeID(rawValue: 4)
    static let service = SPSM(rawValue: 0x0080)

    init(_ role: Role, _ behaviour: Behaviour?) throws {
      (self.role, self.behaviour) = (role, behaviour)
      world = World(
        hostile.upperBound + 1, pacing: .connectionEvents(packetsPerEvent: 4),
        host: { _ in
          var host = HostConfiguration()
          host.pairing = .with()
          // So few that three devices would fill what all share.
          host.maximumPendingUpdates = 16
          return host
        })
      world.application = Self.application(behaviour)
      world.claimed = Self.claim(behaviour)
      for host in world.hosts.indices {
        world.ask(host, .services(.add(Self.definition)))
        for event in world.takeHeard(host) {
          if case .services(.added(_, .success(let added))) = event { handles = added.attributes }
        }
        world.ask(host, .channels(.listen(ListenID(rawValue: 1), ChannelService(spsm: Self.service))))
        guard (host == 0) == (role == .peripheral) else { continue }
        let id = AdvertisingID(rawValue: 1)
        world.ask(host, .advertising(.start(id, AdvertisingIntent(data: [2, 1, 6], scanResponse: []))))
      }
      for device in [1] + (behaviour == nil ? [] : Array(hostile)) { try connect(device) }
      try prepare()
    }

    private static var definition: ServiceDefinition {
      func characteristic(
        _ id: AttributeID, _ uuid: UInt16, _ properties: GATTCharacteristicProperties,
        _ value: ValueSource = .stored([UInt8](repeating: 7, count: 200), length: 0...512)
      ) -> CharacteristicDefinition {
        CharacteristicDefinition(
          id: id, uuid: BluetoothUUID(uuid), properties: properties, permissions: .readableAndWritable, value: value)
      }
      return ServiceDefinition(
        id: ServiceID(rawValue: 1), uuid: BluetoothUUID(0xFFF0),
        characteristics: [
          characteristic(value, 0xFFF1, [.read, .write, .writeWithoutResponse]),
          characteristic(dynamic, 0xFFF2, [.read, .write], .dynamic),
          characteristic(notified, 0xFFF3, [.read, .notify]), characteristic(indicated, 0xFFF4, [.read, .indicate]),
        ])
    }

    /// Programs that answer everything, but those of hostile devices, which read no channel.
    private static func application(_ behaviour: Behaviour?) -> @Sendable (Int, HostEvent) -> [HostCommand] {
      { host, event in
        switch event {
        case .server(let peer, .read(let token, _, _)): [.respond(peer, token, .success([1, 2, 3]))]
        case .server(let peer, .write(let token, _)): [.respond(peer, token, .success([]))]
        case .channel(let channel, .received(_)) where !hostile.contains(host): [.channel(channel, .didRead)]
        case .pairing(let peer, .question(let id, _)): [.link(peer, .answerPairing(id, .accept))]
        // A value that has left is followed by the next one.
        case .server(let peer, .updateFinished(let token)) where token.rawValue >= firstOfFlood:
          [value(UpdateToken(rawValue: token.rawValue + valuesAtATime), to: peer)]
        default: []
        }
      }
    }

    /// The tokens of the values with which the program floods links.
    private static let firstOfFlood: UInt64 = 1 << 32
    /// So many of them are with the host for each link.
    private static let valuesAtATime: UInt64 = 16

    private static func value(_ token: UpdateToken, to peer: LinkID) -> HostCommand {
      .update(token, notified, [UInt8](repeating: 5, count: 20), to: [peer])
    }

    /// Hostile devices send what they do not want to send on a channel that nobody has.
    private static func claim(_ behaviour: Behaviour?) -> (@Sendable (Int, [UInt8]) -> [UInt8])? {
      { host, packet in
        // The first fragment of a frame of ATT.
        guard hostile.contains(host), packet.count > 9, packet[0] == 2, packet[2] >> 4 & 0b11 != 0b01,
          packet[7] == 4, packet[8] == 0
        else { return packet }
        let isConfirmation = packet[9] == ATTOpcode.handleValueConfirmation.rawValue
        let isResponse = packet[9] % 2 == 1 && packet[9] < 0x1B
        guard
          isConfirmation && behaviour == .confirmsNothing
            || (isConfirmation || isResponse) && behaviour == .answersNothing
        else { return packet }
        var packet = packet
        packet[7] = 0x3F
        return packet
      }
    }

    private mutating func connect(_ device: Int) throws {
      let (from, to) = role == .peripheral ? (device, 0) : (0, device)
      var parameters = ConnectionParameters()
      parameters.interval = 24...24
      world.ask(
        from, .initiating(.connect(ConnectID(rawValue: UInt32(device)), world.hosts[to].ownAddress, parameters)))
      world.run(for: .seconds(1))
      links[device] = (try #require(world.peers[0].last), try #require(world.peers[device].last))
      forget()
    }

    private mutating func forget() { for host in world.hosts.indices { _ = world.takeHeard(host) } }

    private func handle(_ attribute: AttributeID) throws -> AttributeHandle { try #require(handles[attribute]) }

    /// Subscriptions, and the channel of the honest device.
    private mutating func prepare() throws {
      for device in links.keys.sorted() {
        for attribute in [Self.notified, Self.indicated] { try subscribe(device, attribute) }
      }
      let theirs = try #require(links[1]).theirs
      world.ask(1, .channels(.open(OpenChannelID(rawValue: 1), theirs, ChannelRequest(spsm: Self.service))))
      world.run(for: .seconds(1))
      func opened(_ host: Int) -> L2CAPChannelID? {
        world.heard[host].compactMap { if case .channels(.opened(let channel)) = $0 { channel.id } else { nil } }.last
      }
      channel = (try #require(opened(0)), try #require(opened(1)))
      if behaviour == .takesValues {
        for (device, link) in links where device != 1 {
          for number in 0..<Self.valuesAtATime {
            let token = Self.firstOfFlood | UInt64(device) << 24 | number
            world.ask(0, Self.value(UpdateToken(rawValue: token), to: link.own))
          }
        }
      }
      forget()
    }

    /// The ACL packets that all hosts have sent.
    var packets: Int { world.sent.reduce(0) { $0 + $1.count { $0.first == 2 } } }

    private mutating func subscribe(_ device: Int, _ attribute: AttributeID) throws {
      let handle = try handle(attribute)
      let range = handle...AttributeHandle(rawValue: handle.rawValue + 1)
      ask(device, .configure(attribute == Self.notified ? .notify : .indicate, in: range))
      world.run(for: .milliseconds(200))
    }

    private mutating func ask(_ device: Int, _ kind: GATTClient.Operation.Kind) {
      guard let link = links[device] else { return }
      operations += 1
      let operation = GATTClient.Operation(id: GATTClient.OperationID(rawValue: operations), kind)
      world.ask(device, .link(link.theirs, .client(operation)))
    }

    // MARK: Exchanges

    /// How long each exchange takes, so often.
    mutating func times() throws -> [Exchange: [Duration]] {
      var times: [Exchange: [Duration]] = [:]
      for exchange in Exchange.allCases {
        // A link is paired once.
        for _ in 0..<(exchange == .pairing ? 1 : repetitions) {
          let start = world.now
          try begin(exchange)
          awaited = operations
          let deadline = world.now + .seconds(60)
          while !hasEnded(exchange) {
            guard world.now < deadline else {
              Issue.record("\(exchange) has not ended after 60 s")
              return times
            }
            try step()
          }
          times[exchange, default: []].append(world.now - start)
          forget()
        }
      }
      #expect(world.peers[0].contains(try #require(links[1]).own), "the honest device has lost its link")
      return times
    }

    private mutating func begin(_ exchange: Exchange) throws {
      let link = try #require(links[1])
      let (value, dynamic) = (try handle(Self.value), try handle(Self.dynamic))
      switch exchange {
      case .read: ask(1, .read(value))
      case .dynamicRead: ask(1, .read(dynamic))
      case .longRead: ask(1, .readLong(value))
      case .write: ask(1, .write(value, [UInt8](repeating: 7, count: 20)))
      case .longWrite: ask(1, .writeLong(value, offset: 0, [UInt8](repeating: 7, count: 200)))
      case .command:
        ask(1, .writeWithoutResponse(value, [9]))
        ask(1, .read(value))
      case .ownRead, .ownWrite:
        operations += 1
        let kind = exchange == .ownRead ? GATTClient.Operation.Kind.read(value) : .write(value, [7])
        world.ask(
          0, .link(link.own, .client(GATTClient.Operation(id: GATTClient.OperationID(rawValue: operations), kind))))
      case .notification: update(Self.notified)
      case .indication: update(Self.indicated)
      case .received: world.ask(1, .channel(try #require(channel).theirs, .send([UInt8](repeating: 1, count: 100))))
      case .sent: world.ask(0, .channel(try #require(channel).own, .send([UInt8](repeating: 1, count: 100))))
      case .pairing:
        world.ask(role == .peripheral ? 1 : 0, .link(role == .peripheral ? link.theirs : link.own, .requestSecurity))
      }
    }

    private func hasEnded(_ exchange: Exchange) -> Bool {
      let (own, theirs) = (world.heard[0], world.heard[1])
      return switch exchange {
      case .read, .dynamicRead, .longRead, .write, .longWrite, .command: Self.hasFinished(awaited, theirs)
      case .ownRead, .ownWrite: Self.hasFinished(awaited, own)
      case .notification: theirs.contains { if case .client(_, .notification) = $0 { true } else { false } }
      case .indication: theirs.contains { if case .client(_, .indication) = $0 { true } else { false } }
      case .received: own.contains { if case .channel(channel?.own, .received(_)) = $0 { true } else { false } }
      case .sent: theirs.contains { if case .channel(channel?.theirs, .received(_)) = $0 { true } else { false } }
      case .pairing:
        theirs.contains { if case .link(_, .security(let security)) = $0 { security.level > .none } else { false } }
      }
    }

    private static func hasFinished(_ number: UInt32, _ events: [HostEvent]) -> Bool {
      let id = GATTClient.OperationID(rawValue: number)
      return events.contains { if case .client(_, .finished(id, .success)) = $0 { true } else { false } }
    }

    /// A value for every device.
    private mutating func update(_ attribute: AttributeID) {
      token += 1
      world.ask(
        0, .update(UpdateToken(rawValue: token), attribute, [UInt8](repeating: 3, count: 20), to: world.peers[0]))
    }

    // MARK: Hostile devices

    /// Five milliseconds, in which each hostile device does its worst.
    private mutating func step() throws {
      steps += 1
      for device in behaviour == nil ? [] : Array(FairnessTests.hostile) { try act(device) }
      world.run(for: .milliseconds(5))
    }

    private mutating func act(_ device: Int) throws {
      guard let behaviour, let link = links[device], world.peers[device].contains(link.theirs) else {
        return try reconnect(device)
      }
      let (value, dynamic) = (try handle(Self.value), try handle(Self.dynamic))
      switch behaviour {
      case .takesValues: break
      case .confirmsNothing: indicate(to: link.own)
      case .answersNothing:
        indicate(to: link.own)
        operations += 1
        let read = GATTClient.Operation(id: GATTClient.OperationID(rawValue: operations), .read(value))
        if steps % 20 == 0 { world.ask(0, .link(link.own, .client(read))) }
      case .floodsReads: for _ in 0..<4 { ask(device, .read(dynamic)) }
      case .floodsCommands:
        for _ in 0..<8 { ask(device, .writeWithoutResponse(value, [UInt8](repeating: 1, count: 20))) }
      case .floodsPreparedWrites: ask(device, .writeLong(value, offset: 0, [UInt8](repeating: 1, count: 300)))
      case .subscribesAgainAndAgain:
        let notified = try handle(Self.notified)
        let range = notified...AttributeHandle(rawValue: notified.rawValue + 1)
        ask(device, .configure(steps % 2 == 0 ? .notify : [], in: range))
      case .fillsChannels: fillChannel(device, link)
      case .reconnects:
        if steps % 20 == 0 { world.ask(device, .link(link.theirs, .disconnect(.remoteUserTerminatedConnection))) }
      case .pairsWithoutEnd:
        world.deaf.insert(device)
        world.ask(device, .link(link.theirs, .requestSecurity))
      }
    }

    /// The program sends the device a value, as to all others.
    private mutating func indicate(to peer: LinkID) {
      token += 1
      world.ask(0, .update(UpdateToken(rawValue: token), Self.indicated, [1], to: [peer]))
    }

    /// Opens a channel after the other, sends on each and reads none.
    private mutating func fillChannel(_ device: Int, _ link: (own: LinkID, theirs: LinkID)) {
      if steps % 10 == 0 {
        let id = OpenChannelID(rawValue: UInt32(1_000 * device + steps))
        world.ask(device, .channels(.open(id, link.theirs, ChannelRequest(spsm: FairnessTests.Scene.service))))
      }
      for event in world.heard[device] {
        guard case .channels(.opened(let channel)) = event else { continue }
        for _ in 0..<8 { world.ask(device, .channel(channel.id, .send([UInt8](repeating: 1, count: 200)))) }
      }
      for event in world.heard[0] {
        guard case .channels(.opened(let channel)) = event, channel.peer == link.own else { continue }
        for _ in 0..<8 { world.ask(0, .channel(channel.id, .send([UInt8](repeating: 1, count: 200)))) }
      }
    }

    private mutating func reconnect(_ device: Int) throws {
      guard steps % 10 == 0 else { return }
      let (from, to) = role == .peripheral ? (device, 0) : (0, device)
      if let own = world.peers[0].last(where: { peer in !links.values.contains { $0.own == peer } }),
        let theirs = world.peers[device].last
      {
        links[device] = (own, theirs)
        return
      }
      world.ask(
        from,
        .initiating(.connect(ConnectID(rawValue: UInt32(steps)), world.hosts[to].ownAddress, ConnectionParameters())))
    }
  }
}
