import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
import BLESMP
import BLEVirtual
import BLEWire

/// One peripheral with a link to each of the centrals, and faults throughout.
///
/// The first half of the centrals is steady: each writes numbers to an attribute of its own, one after the other, and
/// receives the notifications of all. The second half is wild: it connects, pairs, reads, writes and leaves at random.
/// The promises:
///
/// - A write that the central received a response to is in the database.
/// - A notification that the host accepted arrives on each subscribed link in order, or the link ends.
struct Soak {
  static let stream = AttributeID(rawValue: 1)
  static let shared = AttributeID(rawValue: 2)
  /// Notifications that the host has accepted and not finished.
  static let pendingLimit = 300

  /// The link of a central, as its host reports it.
  struct Central {
    var peer: LinkID?
    var nextAttempt = Instant.start
    /// The time of the request to connect; nil without one.
    var requestTime: Instant?
    /// The requests to connect since the last link that were cancelled.
    var cancelled = 0
    /// The number that is being written, and its operation.
    var writing: GATTClient.OperationID?
    var number: UInt64 = 0
    var acknowledged: UInt64 = 0
    /// The number of the last notification on this link.
    var received: UInt64?
  }

  let centrals: Int
  /// Whether five steady centrals lose packets, notifications among them: a fault that the soak has to find.
  let hasPlantedFault: Bool
  private(set) var world: SoakWorld
  private(set) var violations: [String] = []
  private(set) var writes = 0
  private(set) var notifications = 0
  private(set) var pairings = 0
  private(set) var endedLinks = 0
  var incidents: Int { faults.count }
  private var faults: SoakFaults
  private var states: [Central]
  private var handles: [AttributeID: AttributeHandle] = [:]
  /// The newest number that the peripheral has stored for each central, and the value of its attribute.
  private var stored: [UInt64]
  private var values: [[UInt8]]
  private var published: UInt64 = 0
  private var pending = 0
  /// The links of the peripheral that are up.
  private var peers: [LinkID] = []
  private var lastOperation: UInt32 = 0
  private var nextIncident = 2_000

  init(centrals: Int, seed: UInt64, hasPlantedFault: Bool = false) {
    (self.centrals, self.hasPlantedFault) = (centrals, hasPlantedFault)
    faults = SoakFaults(seed: seed, centrals: centrals)
    states = Array(repeating: Central(), count: centrals + 1)
    stored = Array(repeating: 0, count: centrals + 1)
    values = Array(repeating: [], count: centrals + 1)
    world = SoakWorld(centrals + 1, seed: seed) { _ in
      var host = HostConfiguration()
      host.pairing = PairingSettings()
      return host
    }
    world.perform(.services(.add(service)), on: 0)
    var intent = AdvertisingIntent(data: [2, 1, 6], scanResponse: [])
    intent.interval = 0x0020...0x0020
    world.perform(.advertising(.start(AdvertisingID(rawValue: 1), intent)), on: 0)
    handleEvents()
    for host in 0...centrals { world.setFaults(permanentFaults(of: host), of: host) }
  }

  private func own(_ central: Int) -> AttributeID { AttributeID(rawValue: UInt32(10 + central)) }
  private func isWild(_ central: Int) -> Bool { central > centrals / 2 }
  private func permanentFaults(of host: Int) -> [VirtualFault] {
    let faults = SoakFaults.permanent(host, isWild: host > 0 && isWild(host))
    guard hasPlantedFault, (1...5).contains(host) else { return faults }
    return [.packets(PacketFault(.drop, .data, .toHost, percent: 10))] + faults
  }

  private var service: ServiceDefinition {
    func characteristic(_ id: AttributeID, _ properties: GATTCharacteristicProperties) -> CharacteristicDefinition {
      CharacteristicDefinition(
        id: id, uuid: BluetoothUUID(0xFFF0), properties: properties, permissions: .readableAndWritable,
        value: .stored([], length: 0...64))
    }
    return ServiceDefinition(
      id: ServiceID(rawValue: 1), uuid: BluetoothUUID(0xFFE0),
      characteristics: [characteristic(Self.stream, [.read, .notify]), characteristic(Self.shared, [.read, .write])]
        + (1...centrals / 2).map { characteristic(own($0), [.read, .write]) })
  }

  static func octets(_ number: UInt64) -> [UInt8] {
    var octets: [UInt8] = []
    octets.append(littleEndian: number)
    return octets
  }

  static func number(_ octets: [UInt8]) -> UInt64? {
    octets.count == 8 ? octets.reversed().reduce(0) { $0 << 8 | UInt64($1) } : nil
  }

  // MARK: Steps

  /// One write of each steady central, one notification, an action of one wild central, and five milliseconds.
  mutating func step() {
    for central in 1...centrals {
      if states[central].peer == nil { connect(central) } else if !isWild(central) { write(central) }
    }
    actWildly(1 + centrals / 2 + faults.draw(centrals - centrals / 2))
    if pending < Self.pendingLimit { publish() }
    while world.packets >= nextIncident {
      nextIncident += 2_000
      perform(faults.next())
    }
    world.run(for: .milliseconds(5))
    handleEvents()
  }

  /// Ends all faults, waits until what is pending has ended, and compares everything.
  mutating func finish() {
    for host in 0...centrals { world.setFaults([], of: host) }
    for _ in 0..<1_000 {
      for central in 1...centrals / 2 where states[central].peer == nil { connect(central) }
      world.run(for: .milliseconds(100))
      handleEvents()
    }
    let before = published
    publish()
    world.run(for: .seconds(1))
    handleEvents()
    for central in 1...centrals / 2 {
      guard let peer = states[central].peer else {
        violate(
          "central \(central) has no link at the end, and its request is \(states[central].requestTime.map { "\(world.now - $0) old" } ?? "missing")"
        )
        continue
      }
      if states[central].received != before + 1 {
        violate("central \(central) received notification \(states[central].received ?? 0) of \(before + 1)")
      }
      if let handle = handles[own(central)] { operate(.read(handle), on: central, peer) }
    }
    world.run(for: .seconds(1))
    for (host, event) in world.events {
      guard case .client(_, .finished(_, .success(.value(let value)))) = event, host > 0, !isWild(host) else {
        continue
      }
      if value != values[host] { violate("central \(host) reads another value than the one that was stored last") }
    }
    handleEvents()
    if pending > 0 { violate("\(pending) notifications are pending at the end") }
  }

  private mutating func violate(_ rule: String) { if violations.count < 20 { violations.append(rule) } }

  private mutating func connect(_ central: Int) {
    let id = ConnectID(rawValue: UInt32(central))
    if let time = states[central].requestTime {
      // A controller that restarts without an event has forgotten the request and its event masks, which no host can
      // see: the second time the program opens its transport again.
      guard world.now - time > .seconds(10) else { return }
      states[central].requestTime = world.now
      states[central].cancelled += 1
      if states[central].cancelled.isMultiple(of: 2) { world.reconnectTransport(of: central) }
      world.perform(.initiating(.cancel(id)), on: central)
      return
    }
    guard world.now >= states[central].nextAttempt else { return }
    states[central].requestTime = world.now
    world.perform(
      .initiating(.connect(id, world.address(of: 0), ConnectionParameters(supervisionTimeout: 100))), on: central)
  }

  @discardableResult
  private mutating func operate(
    _ kind: GATTClient.Operation.Kind, on central: Int, _ peer: LinkID
  ) -> GATTClient.OperationID {
    lastOperation &+= 1
    let id = GATTClient.OperationID(rawValue: lastOperation)
    world.perform(.link(peer, .client(GATTClient.Operation(id: id, kind))), on: central)
    return id
  }

  private mutating func write(_ central: Int) {
    guard let peer = states[central].peer, states[central].writing == nil, let handle = handles[own(central)] else {
      return
    }
    states[central].number += 1
    lastOperation &+= 1
    let id = GATTClient.OperationID(rawValue: lastOperation)
    states[central].writing = id
    let value = Self.octets(states[central].number)
    world.perform(.link(peer, .client(GATTClient.Operation(id: id, .write(handle, value)))), on: central)
    handleEvents()
  }

  private mutating func publish() {
    published += 1
    pending += peers.count
    world.perform(.update(UpdateToken(rawValue: published), Self.stream, Self.octets(published), to: peers), on: 0)
    handleEvents()
  }

  private mutating func actWildly(_ central: Int) {
    guard let peer = states[central].peer else { return }
    switch faults.draw(12) {
    case 0: world.perform(.link(peer, .disconnect(.remoteUserTerminatedConnection)), on: central)
    case 1: world.perform(.link(peer, .requestSecurity), on: central)
    case 2: world.perform(.security(.removeBond(world.address(of: 0))), on: central)
    case 3: operate(.discoverPrimaryServices, on: central, peer)
    case 4: operate(.exchangeMTU(23 + faults.draw(300)), on: central, peer)
    default:
      guard let handle = handles[Self.shared] else { return }
      let value = [UInt8](repeating: UInt8(central), count: faults.draw(64))
      operate(faults.draw(2) == 0 ? .read(handle) : .write(handle, value), on: central, peer)
    }
  }

  private mutating func perform(_ incident: SoakFaults.Incident) {
    switch incident {
    case .disconnection(let central, let packets, let reason):
      world.setFaults(permanentFaults(of: central) + [.disconnects(afterPackets: packets, reason)], of: central)
    case .outOfRange(let central): world.cutLinks(of: central)
    case .restart(let host, let code):
      world.setFaults(permanentFaults(of: host) + [.restarts(at: world.now, hardwareError: code)], of: host)
    case .lostTransport(let host): world.reconnectTransport(of: host)
    case .withheldCredits(let central):
      world.setFaults([.withholdsCredits(percent: 50)] + permanentFaults(of: central), of: central)
    case .noMoreFaults(let central): world.setFaults(permanentFaults(of: central), of: central)
    case .clockJump(let duration): world.jump(duration)
    }
  }

  // MARK: Events

  private mutating func handleEvents() {
    var events: [(host: Int, event: HostEvent)] = []
    while !world.events.isEmpty {
      swap(&events, &world.events)
      for (host, event) in events {
        answer(event, host)
        if host == 0 { handlePeripheral(event) } else { handle(event, of: host) }
      }
      events.removeAll(keepingCapacity: true)
    }
  }

  /// The users accept every pairing.
  private mutating func answer(_ event: HostEvent, _ host: Int) {
    if case .pairing(let peer, .question(let id, _)) = event {
      world.perform(.link(peer, .answerPairing(id, .accept)), on: host)
    }
  }

  private mutating func handlePeripheral(_ event: HostEvent) {
    switch event {
    case .services(.added(_, .success(let added))): handles = added.attributes
    case .server(_, .stored(let attribute, let value)):
      let central = Int(attribute.rawValue) - 10
      guard central >= 1, central <= centrals else { return }
      values[central] = value
      if let number = Self.number(value) { stored[central] = max(stored[central], number) }
    case .server(_, .updateFinished): pending -= 1
    case .connected(let connection): peers.append(connection.peer)
    case .link(let peer, .disconnected(_)):
      endedLinks += 1
      peers.removeAll { $0 == peer }
    case .pairing(_, .succeeded): pairings += 1
    default: break
    }
  }

  private mutating func handle(_ event: HostEvent, of central: Int) {
    switch event {
    case .connected(let connection):
      states[central].peer = connection.peer
      states[central].requestTime = nil
      states[central].cancelled = 0
      states[central].received = nil
      states[central].writing = nil
      if !isWild(central), let stream = handles[Self.stream] {
        operate(.configure(.notify, in: stream...stream.advanced(by: 1)), on: central, connection.peer)
      }
    case .link(let peer, .disconnected(_)):
      guard states[central].peer == peer else { return }
      states[central].peer = nil
      states[central].writing = nil
      states[central].nextAttempt = world.now + .milliseconds(isWild(central) ? 500 : 50)
    case .connectionFailed:
      states[central].requestTime = nil
      states[central].nextAttempt = world.now + .milliseconds(100)
    case .client(let peer, .finished(let id, let result)) where states[central].writing == id:
      states[central].writing = nil
      guard peer == states[central].peer, case .success = result else { return }
      writes += 1
      states[central].acknowledged = states[central].number
      if stored[central] < states[central].number {
        violate("write \(states[central].number) of central \(central) has a response and is not in the database")
      }
    case .client(let peer, .notification(let handle, let octets)):
      guard !isWild(central), handle == handles[Self.stream], peer == states[central].peer else { return }
      notifications += 1
      guard let number = Self.number(octets) else { return violate("a notification of \(octets.count) octets") }
      if let last = states[central].received, number != last + 1 {
        violate("central \(central) received notification \(number) after \(last) on one link")
      }
      states[central].received = number
    default: break
    }
  }
}

extension AttributeHandle {
  fileprivate func advanced(by count: UInt16) -> Self { Self(rawValue: rawValue + count) }
}
