import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
import BLESMP
import BLEVirtual
import BLEWire
import Synchronization

/// Two to four hosts on one virtual radio, in both roles, with pairing, privacy, resets and lost transports.
struct RadioScenario {
  private var choices: Choices
  private var world: World
  /// Both ends of every link that came up, by host.
  private var links: [[LinkID]]
  private var operations: UInt32 = 0

  /// - Returns: everything that happened.
  static func play(seed: UInt64, steps: Int = 40) -> Transcript {
    var scenario = RadioScenario(seed: seed)
    for step in 0..<steps { scenario.step(step) }
    scenario.world.run(for: .seconds(2))
    return scenario.world.transcript ?? Transcript()
  }

  private init(seed: UInt64) {
    var choices = Choices(seed: seed)
    let count = choices.number(2...4)
    let controllers = (0..<count).map { _ in Self.controller(&choices) }
    let hosts = (0..<count).map { _ in Self.host(&choices) }
    world = World(count, seed: seed, controller: { controllers[$0] }, host: { hosts[$0] })
    world.transcript = Transcript()
    links = Array(repeating: [], count: count)
    let people = Locked(Choices(seed: seed &+ 1_000_003))
    world.application = { _, event in people.with { Self.answers(to: event, &$0) } }
    self.choices = choices
    ask(0, .services(.add(Choices.service(1))), "add 1")
    ask(
      0, .advertising(.start(AdvertisingID(rawValue: 1), AdvertisingIntent(data: [2, 1, 6], scanResponse: []))),
      "on air")
  }

  private static func controller(_ choices: inout Choices) -> VirtualControllerConfiguration {
    var controller = VirtualControllerConfiguration()
    if choices.chance(40) { controller.features.remove(.extendedAdvertising) }
    if choices.chance(30) { controller.features.remove(.llPrivacy) }
    if choices.chance(40) { controller.aclDataPacketLength = 27 }
    controller.totalNumACLDataPackets = choices.one(of: [1, 2, 8])
    controller.resolvingListSize = choices.one(of: [0, 1, 16])
    controller.commandCredits = choices.one(of: [1, 1, 4])
    return controller
  }

  private static func host(_ choices: inout Choices) -> HostConfiguration {
    var host = HostConfiguration()
    host.pairing = choices.pairing()
    if choices.chance(30) { host.staticAddress = BD_ADDR(0xC000_0000_0000 + UInt64(choices.number(below: 65_536))) }
    host.serverLimits.maximumMTU = choices.one(of: [23, 64, 247, 517])
    return host
  }

  /// What the users and the applications of the hosts say.
  private static func answers(to event: HostEvent, _ choices: inout Choices) -> [HostCommand] {
    switch event {
    case .pairing(let peer, .question(let id, let question)):
      return choices.answer(to: question).map { [.link(peer, .answerPairing(id, $0))] } ?? []
    case .server(let peer, .read(let token, _, _)):
      if choices.chance(3) { return [] }
      let isRefused = choices.chance(10)
      return [.respond(peer, token, isRefused ? .failure(.unlikelyError) : .success(choices.octets(5)))]
    case .server(let peer, .write(let token, _)):
      if choices.chance(3) { return [] }
      return [.respond(peer, token, choices.chance(10) ? .failure(.valueNotAllowed) : .success([]))]
    default: return []
    }
  }

  private mutating func ask(_ host: Int, _ command: HostCommand, _ words: String) {
    world.transcript?.note("\(host) = \(words)")
    world.ask(host, command)
  }

  private mutating func step(_ step: Int) {
    noteLinks()
    world.transcript?.begin(step)
    // Where there are links, most happens on them.
    let linked = world.hosts.indices.filter { !links[$0].isEmpty }
    let host = linked.isEmpty || choices.chance(20) ? choices.number(below: world.hosts.count) : choices.one(of: linked)
    switch choices.number(below: 40) {
    case 0...5: connect()
    case 6...17: for _ in 0...choices.number(below: 3) { clientOperation(on: host) }
    case 18...20: secure(host)
    case 21...23: update()
    case 24: scan(host)
    case 25: advertise(host)
    case 26: disconnect(host)
    case 27: link(host) { .link($0, .readRSSI) }
    case 28:
      let parameters = choices.parameters()
      link(host) { .link($0, .updateConnection(parameters)) }
    case 29:
      let isAuthorized = choices.chance(70)
      link(host) { .link($0, .authorize(isAuthorized)) }
    case 30: ask(host, .privacy(choices.privacy()), "privacy")
    case 31: ask(host, .security(.setPairing(choices.pairing())), "pairing")
    case 32: forget(host)
    case 33: services()
    case 34: lose(host)
    default: break
    }
    let pause: Duration =
      choices.chance(4) ? .seconds(choices.number(30...700)) : .milliseconds(choices.number(below: 900))
    world.run(for: pause)
  }

  private mutating func noteLinks() {
    for host in world.hosts.indices {
      for event in world.takeHeard(host) {
        switch event {
        case .connected(let link): links[host].append(link.peer)
        case .services(.added(_, .success(let handles))) where host == 0:
          choices.known += handles.attributes.values.sorted { $0.rawValue < $1.rawValue }
        case .link(let peer, .disconnected(_)): links[host].removeAll { $0 == peer }
        default: break
        }
      }
    }
  }

  private mutating func link(_ host: Int, _ command: (LinkID) -> HostCommand) {
    guard !links[host].isEmpty else { return }
    ask(host, command(choices.one(of: links[host])), "link")
  }

  private mutating func connect() {
    let central = choices.number(below: world.hosts.count)
    guard central != 0 else { return }
    operations += 1
    ask(
      central,
      .initiating(.connect(ConnectID(rawValue: operations), world.hosts[0].addressOnAir, choices.parameters())),
      "connect")
    if choices.chance(8) { ask(central, .initiating(.cancel(ConnectID(rawValue: operations))), "cancel") }
  }

  private mutating func clientOperation(on host: Int) {
    guard !links[host].isEmpty else { return }
    operations += 1
    let operation = GATTClient.Operation(id: GATTClient.OperationID(rawValue: operations), choices.operation())
    ask(host, .link(choices.one(of: links[host]), .client(operation)), "client \(operation.id.rawValue)")
  }

  private mutating func secure(_ host: Int) { link(host) { .link($0, .requestSecurity) } }

  private mutating func disconnect(_ host: Int) {
    if choices.chance(30) {
      world.transcript?.note("\(host) = cut")
      return world.cutLinks(of: host)
    }
    link(host) { .link($0, .disconnect(.remoteUserTerminatedConnection)) }
  }

  private mutating func update() {
    operations += 1
    let attribute = AttributeID(rawValue: UInt32(choices.one(of: [11, 12, 15, 16])))
    let peers = choices.chance(60) ? world.peers[0] : links[0]
    ask(
      0,
      .update(
        UpdateToken(rawValue: UInt64(operations)), attribute, choices.octets(choices.number(below: 30)), to: peers),
      "update")
  }

  private mutating func scan(_ host: Int) {
    if choices.chance(60) {
      ask(host, .scanning(.start(choices.scan())), "scan")
    } else {
      ask(host, .scanning(.stop), "no scan")
    }
  }

  private mutating func advertise(_ host: Int) {
    let id = AdvertisingID(rawValue: UInt32(choices.number(1...3)))
    if choices.chance(55) {
      ask(host, .advertising(.start(id, choices.intent())), "advertise \(id.rawValue)")
    } else {
      ask(host, .advertising(.stop(id)), "stop \(id.rawValue)")
    }
  }

  private mutating func forget(_ host: Int) {
    let other = choices.number(below: world.hosts.count)
    ask(host, .security(.removeBond(world.hosts[other].ownAddress)), "forget")
  }

  private mutating func services() {
    if choices.chance(60) {
      ask(0, .services(.add(Choices.service(2))), "add 2")
    } else {
      ask(0, .services(.remove(ServiceID(rawValue: 2))), "remove 2")
    }
  }

  private mutating func lose(_ host: Int) {
    if choices.chance(50) {
      world.transcript?.note("\(host) = hardware error")
      world.deliver([4, 0x10, 1, 7], to: host)
    } else {
      world.transcript?.note("\(host) = transport")
      world.reconnectTransport(of: host)
    }
    noteLinks()
  }
}

/// Holds what a `@Sendable` closure changes.
final class Locked<Value: Sendable>: Sendable {
  private let state: Mutex<Value>
  init(_ value: Value) { state = Mutex(value) }
  func with<Result>(_ body: (inout Value) -> Result) -> Result { state.withLock { body(&$0) } }
}
