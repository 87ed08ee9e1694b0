import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
import BLEL2CAP
import BLESMP
import BLEVirtual
import BLEWire

/// One measurement.
struct LimitRun {
  enum Load: String, CaseIterable {
    /// Notifications of each peripheral.
    case notifications
    /// Writes without response of the central.
    case writes
    /// Notifications and writes without response at once.
    case both
    /// A stream of the central on a channel.
    case channelFromCentral = "channel-from-central"
    /// A stream of each peripheral on a channel.
    case channelFromPeripheral = "channel-from-peripheral"
  }

  var load: Load
  var hasLE2M: Bool
  var isEncrypted: Bool
  var links = 1
  /// The first peripheral has LE 1M alone, and packets of 27 octets.
  var hasSlowPeer = false

  var name: String {
    let parts = [
      hasLE2M ? "2m" : "1m", load.rawValue, isEncrypted ? "encrypted" : nil, links > 1 ? "\(links)" : nil,
      hasSlowPeer ? "slow" : nil,
    ]
    return parts.compactMap { $0 }.joined(separator: "-")
  }

  static var all: [LimitRun] {
    var runs: [LimitRun] = []
    for hasLE2M in [false, true] {
      for isEncrypted in [false, true] {
        for load in Load.allCases { runs.append(LimitRun(load: load, hasLE2M: hasLE2M, isEncrypted: isEncrypted)) }
        for links in [4, 16] {
          for load in Load.allCases where load != .both {
            runs.append(LimitRun(load: load, hasLE2M: hasLE2M, isEncrypted: isEncrypted, links: links))
          }
        }
      }
    }
    for load in Load.allCases where load != .both {
      runs.append(LimitRun(load: load, hasLE2M: true, isEncrypted: false, links: 16, hasSlowPeer: true))
    }
    return runs
  }
}

/// A step that has not happened within the time for it.
struct Missing: Error, CustomStringConvertible {
  var description: String
}

/// The programs of a run: a central and its peripherals, which send as fast as their hosts take it.
struct Traffic {
  private static let stream = AttributeID(rawValue: 1)
  private static let sink = AttributeID(rawValue: 2)
  /// The value that fills packets, after 4 octets of L2CAP and 3 of ATT: one of 251 octets, or nine of 27.
  private static let value = [UInt8](repeating: 0x5A, count: 251 - 7)
  private static let valueOfSlowPeer = [UInt8](repeating: 0x5A, count: 9 * 27 - 7)
  /// Values that a manager lets its application have on their way, and that are sent at least at once.
  private static let window = (values: 32, least: 8)

  private let run: LimitRun
  private var world: LimitWorld
  private var links: [Link]

  /// A link as both programs see it, and what they have sent on it.
  private struct Link {
    var central: LinkID?
    var peripheral: LinkID?
    var stream = AttributeHandle(rawValue: 0)
    var sink = AttributeHandle(rawValue: 0)
    var channelOfCentral: L2CAPChannelID?
    var channelOfPeripheral: L2CAPChannelID?
    var remoteMTU = 0
    var spsm: SPSM?
    var mtu = 0
    var isSecured = false
    var isSubscribed = false
    var notifying = 0
    var writing = 0
    var streaming = 0
  }

  init(_ run: LimitRun) {
    self.run = run
    var controller = VirtualControllerConfiguration()
    if !run.hasLE2M { controller.features.remove(.le2MPHY) }
    // A buffer for each packet of an event on each link, and for those that wait for their acknowledgement.
    if run.links > 1 { controller.totalNumACLDataPackets = 255 }
    var controllers = Array(repeating: controller, count: run.links + 1)
    if run.hasSlowPeer { controllers[1].features.subtract([.le2MPHY, .dataPacketLengthExtension]) }
    world = LimitWorld(controllers)
    links = Array(repeating: Link(), count: run.links)
  }

  /// - Returns: the trace of each host.
  mutating func perform() throws -> [[UInt8]] {
    for place in links.indices { try connect(place) }
    // The timing follows PHY, data length and encryption; six intervals pass until it is in force.
    advance(for: .seconds(5)) { _ in }
    advance(for: .milliseconds(1_300)) { $0.send() }
    guard world.complaints.isEmpty else { throw Missing(description: "complaints: \(world.complaints)") }
    return world.traces
  }

  private mutating func connect(_ place: Int) throws {
    let host = place + 1
    let service = ServiceDefinition(
      id: ServiceID(rawValue: 1), uuid: BluetoothUUID(0xFFF0),
      characteristics: [
        CharacteristicDefinition(
          id: Self.stream, uuid: BluetoothUUID(0xFFF1), properties: [.notify],
          permissions: GATTAttributePermissions(read: .open, write: .open), value: .stored([], length: 0...512)),
        CharacteristicDefinition(
          id: Self.sink, uuid: BluetoothUUID(0xFFF2), properties: [.writeWithoutResponse],
          permissions: GATTAttributePermissions(read: .open, write: .open), value: .stored([], length: 0...512)),
      ])
    world.perform([.services(.add(service)), .channels(.listen(ListenID(rawValue: 1), ChannelService()))], on: host)
    let advertisement = AdvertisingIntent(data: [2, 1, 6], scanResponse: [])
    world.perform([.advertising(.start(AdvertisingID(rawValue: 1), advertisement))], on: host)
    let address = world.address(of: host)
    world.perform([.initiating(.connect(ConnectID(rawValue: UInt32(place)), address, ConnectionParameters()))], on: 0)
    try waitFor("the link", place) { $0.central != nil && $0.peripheral != nil && $0.mtu > 247 && $0.spsm != nil }
    guard let link = links[place].central, let spsm = links[place].spsm else { return }
    world.perform([.link(link, .prioritize(.throughput))], on: 0)
    if run.isEncrypted {
      world.perform([.link(link, .requestSecurity)], on: 0)
      try waitFor("encryption", place) { $0.isSecured }
    }
    let handles = links[place].stream...AttributeHandle(rawValue: links[place].stream.rawValue + 1)
    let subscription = GATTClient.Operation(
      id: GATTClient.OperationID(rawValue: 1), .configure(.notify, in: handles))
    world.perform([.link(link, .client(subscription))], on: 0)
    try waitFor("the subscription", place) { $0.isSubscribed }
    switch run.load {
    case .notifications, .writes, .both: break
    case .channelFromCentral, .channelFromPeripheral:
      world.perform([.channels(.open(OpenChannelID(rawValue: 1), link, ChannelRequest(spsm: spsm)))], on: 0)
      try waitFor("the channel", place) { $0.channelOfCentral != nil && $0.channelOfPeripheral != nil }
    }
  }

  private mutating func waitFor(_ step: String, _ place: Int, _ condition: (Link) -> Bool) throws {
    let end = world.now + .seconds(20)
    while !condition(links[place]) {
      guard world.now < end else { throw Missing(description: "\(step) of link \(place) after 20 s") }
      world.step(until: end)
      handleEvents()
    }
  }

  private mutating func advance(for duration: Duration, _ body: (inout Self) -> Void) {
    let end = world.now + duration
    while world.now < end {
      body(&self)
      world.step(until: end)
      handleEvents()
    }
  }

  /// Each program hands over as much as it may.
  private mutating func send() {
    for place in links.indices {
      switch run.load {
      case .notifications: notify(place)
      case .writes: write(place)
      case .both:
        notify(place)
        write(place)
      case .channelFromCentral: stream(place, links[place].channelOfCentral, on: 0)
      case .channelFromPeripheral: stream(place, links[place].channelOfPeripheral, on: place + 1)
      }
    }
    handleEvents()
  }

  private func value(_ place: Int) -> [UInt8] {
    run.hasSlowPeer && place == 0 ? Self.valueOfSlowPeer : Self.value
  }

  private mutating func notify(_ place: Int) {
    guard let peer = links[place].peripheral, links[place].notifying <= Self.window.values - Self.window.least else {
      return
    }
    let count = Self.window.values - links[place].notifying
    links[place].notifying += count
    let update = HostCommand.update(UpdateToken(rawValue: 1), Self.stream, value(place), to: [peer])
    world.perform(Array(repeating: update, count: count), on: place + 1)
  }

  private mutating func write(_ place: Int) {
    guard let peer = links[place].central, links[place].writing <= Self.window.values - Self.window.least else {
      return
    }
    let count = Self.window.values - links[place].writing
    links[place].writing += count
    let operation = GATTClient.Operation(
      id: GATTClient.OperationID(rawValue: 2), .writeWithoutResponse(links[place].sink, value(place)))
    world.perform(Array(repeating: .link(peer, .client(operation)), count: count), on: 0)
  }

  private mutating func stream(_ place: Int, _ channel: L2CAPChannelID?, on host: Int) {
    guard let channel else { return }
    let sdu = [UInt8](repeating: 0xAA, count: links[place].remoteMTU)
    var commands: [HostCommand] = []
    // A stream of the APIs has 64 KiB on their way.
    while links[place].streaming + sdu.count <= 65_536 {
      links[place].streaming += sdu.count
      commands.append(.channel(channel, .send(sdu)))
    }
    if !commands.isEmpty { world.perform(commands, on: host) }
  }

  private mutating func handleEvents() {
    while !world.events.isEmpty {
      var events: [(host: Int, event: HostEvent)] = []
      swap(&events, &world.events)
      for (host, event) in events { handle(event, of: host) }
    }
  }

  private mutating func handle(_ event: HostEvent, of host: Int) {
    switch event {
    case .services(.added(_, .success(let added))):
      links[host - 1].stream = added.attributes[Self.stream] ?? AttributeHandle(rawValue: 0)
      links[host - 1].sink = added.attributes[Self.sink] ?? AttributeHandle(rawValue: 0)
    case .channels(.listening(_, .success(let spsm))): links[host - 1].spsm = spsm
    case .connected(let link) where host == 0: links[Int(link.request?.rawValue ?? 0)].central = link.peer
    case .connected(let link): links[host - 1].peripheral = link.peer
    case .link(let peer, .mtu(let mtu)) where host == 0: change(peer) { $0.mtu = mtu }
    case .link(let peer, .security(let security)) where host == 0:
      change(peer) { $0.isSecured = security.level > .none }
    case .pairing(let peer, .question(let id, _)): world.perform([.link(peer, .answerPairing(id, .accept))], on: host)
    case .server(_, .subscription): links[host - 1].isSubscribed = true
    case .channels(.opened(let channel)) where host == 0:
      change(channel.peer) { $0.channelOfCentral = channel.id }
      if run.load == .channelFromCentral { change(channel.peer) { $0.remoteMTU = channel.remoteMTU } }
    case .channels(.opened(let channel)):
      links[host - 1].channelOfPeripheral = channel.id
      if run.load == .channelFromPeripheral { links[host - 1].remoteMTU = channel.remoteMTU }
    case .server(_, .updateFinished): links[host - 1].notifying -= 1
    case .client(let peer, .finished(GATTClient.OperationID(rawValue: 2), _)): change(peer) { $0.writing -= 1 }
    case .channel(let channel, .sent(let octets)):
      let place = host > 0 ? host - 1 : links.firstIndex { $0.channelOfCentral == channel }
      if let place { links[place].streaming -= octets }
    case .channel(let channel, .received(_)): world.perform([.channel(channel, .didRead)], on: host)
    default: break
    }
  }

  private mutating func change(_ peer: LinkID, _ body: (inout Link) -> Void) {
    guard let place = links.firstIndex(where: { $0.central == peer }) else { return }
    body(&links[place])
  }
}
