import AdapterFixtures
import BLEAdapter
import BLECrypto
import BLEGATT
import BLEHCI
import BLEHost
import BLEVirtual
import BLEWire
import Synchronization

@testable import BLEKit
@testable import BLEProxy

/// Adapters of a proxy and devices on one virtual radio and one clock. Everything runs on the thread of the test.
final class ProxyWorld {
  /// A host's controller.
  private struct Station {
    var controller: ControllerID?
    var configuration: VirtualControllerConfiguration
  }

  let clock = ManualClock()
  let executor = ManualExecutor()
  private(set) var adapters: [Adapter] = []
  private var connections: [ScriptedConnection] = []
  private let commands: [Shared<[HostCommand]>]
  private var reports: [[HostEvent]]
  private var stations: [Station] = []
  private var hosts: [HostCore] = []
  private var outputs: [HostOutput] = []
  /// The links of each host that are up.
  private var peers: [[LinkID]] = []
  private var radio: VirtualRadio
  private var packets = VirtualRadioOutput()
  private let adapterCount: Int
  private static let owner = OwnerID(rawValue: 1)
  private var seed: UInt64

  var now: Instant { clock.now }

  /// The attributes of each device.
  static let service = BluetoothUUID(0xFFF0)
  static let value = BluetoothUUID(0xFFF1)
  static let notified = BluetoothUUID(0xFFF2)
  private static let attributes = [1, 2].map { AttributeID(rawValue: $0) }

  /// - Parameter configure: changes the controllers of adapters.
  init(
    adapters adapterCount: Int = 1, devices: Int = 1, seed: UInt64 = 1,
    configure: (inout VirtualControllerConfiguration) -> Void = { _ in }
  ) {
    self.adapterCount = adapterCount
    self.seed = seed
    radio = VirtualRadio(seed: seed, pacing: .immediate)
    commands = (0..<adapterCount).map { _ in Shared([]) }
    reports = [[HostEvent]](repeating: [], count: adapterCount)
    for index in 0..<adapterCount + devices {
      var configuration = VirtualControllerConfiguration()
      configuration.publicAddress = BD_ADDR(0x0200_0000_0000 | UInt64(index))
      if index < adapterCount { configure(&configuration) }
      stations.append(Station(configuration: configuration))
      hosts.append(Self.host(seed &+ UInt64(index)))
      outputs.append(HostOutput())
      peers.append([])
      powerOn(index)
    }
    for index in 0..<adapterCount {
      let posted = commands[index]
      let connection = ScriptedConnection(perform: { command in posted.change { $0.append(command) } })
      connections.append(connection)
      let limits = WaitClock(
        executor: executor, sleep: { [clock] in try await clock.sleep(for: $0) }, now: { [clock] in clock.now - .start }
      )
      adapters.append(Adapter(client: AdapterClient(over: connection, log: { _ in }), clock: limits))
      hosts[index].attach(Self.owner, now: now, into: &outputs[index])
    }
    settle()
    for index in 0..<devices { publish(index) }
    settle()
  }

  private static func host(_ seed: UInt64) -> HostCore {
    HostCore(configuration: HostConfiguration(), cryptography: LibCrypto(), random: .seeded(seed))
  }

  /// - Parameter limitTime: how long a limit that a controller has shown is announced at most.
  func proxy(_ configuration: ProxyConfiguration = ProxyConfiguration(), limitTime: Duration? = nil) -> Proxy {
    var environment = Proxy.Environment(executor: executor, sleep: { [clock] in try await clock.sleep(for: $0) })
    if let limitTime { environment.shownLimitTime = limitTime }
    return Proxy(adapters, configuration, in: environment)
  }

  // MARK: Devices

  func address(_ device: Int) -> DeviceAddress {
    DeviceAddress(octets: BD_ADDR(0x0200_0000_0000 | UInt64(adapterCount + device)), kind: .public)
  }

  private func publish(_ device: Int) {
    let properties: [GATTCharacteristicProperties] = [[.read, .write, .writeWithoutResponse], [.notify]]
    let uuids = [Self.value, Self.notified]
    let service = ServiceDefinition(
      id: ServiceID(rawValue: 1), uuid: Self.service,
      characteristics: Self.attributes.indices.map {
        CharacteristicDefinition(
          id: Self.attributes[$0], uuid: uuids[$0], properties: properties[$0], permissions: .readableAndWritable,
          value: .stored([7], length: 0...512))
      })
    tell(device, .services(.add(service)))
    tell(
      device, .advertising(.start(AdvertisingID(rawValue: 1), AdvertisingIntent(data: [2, 1, 6], scanResponse: []))))
  }

  /// The device posts a command.
  func tell(_ device: Int, _ command: HostCommand) {
    let index = adapterCount + device
    hosts[index].perform(command, from: .process, now: now, into: &outputs[index])
    settle()
  }

  /// A device advertises with extended PDUs.
  func advertise(_ device: Int, _ data: [UInt8], coded: Bool) {
    tell(device, .advertising(.stop(AdvertisingID(rawValue: 1))))
    var intent = AdvertisingIntent(data: data, scanResponse: [])
    (intent.usesExtendedPDUs, intent.isConnectable) = (true, data.count <= 245)
    if coded { (intent.primaryPHY, intent.secondaryPHY) = (.leCoded, .leCoded) }
    tell(device, .advertising(.start(AdvertisingID(rawValue: 2), intent)))
  }

  /// Notifies a value on every link.
  func notify(_ device: Int, _ octets: [UInt8]) {
    tell(device, .update(UpdateToken(rawValue: 1), Self.attributes[1], octets, to: peers[adapterCount + device]))
  }

  /// Takes the device out of the radio, as if it had lost its power.
  func kill(_ device: Int) {
    let index = adapterCount + device
    guard let controller = stations[index].controller else { return }
    radio.detach(controller, now: now)
    stations[index].controller = nil
  }

  /// Starts a device anew.
  func revive(_ device: Int) {
    let index = adapterCount + device
    guard stations[index].controller == nil else { return }
    seed &+= 1
    hosts[index] = Self.host(seed)
    outputs[index] = HostOutput()
    peers[index] = []
    powerOn(index)
    settle()
    publish(device)
  }

  /// All links of a device are lost.
  func cutLinks(of device: Int) {
    if let controller = stations[adapterCount + device].controller { radio.cutLinks(of: controller, now: now) }
  }

  /// The controller of an adapter restarts.
  func restart(adapter: Int) {
    guard let controller = stations[adapter].controller else { return }
    radio.setFaults([.restarts(at: now, hardwareError: 1)], of: controller)
  }

  /// The controller of an adapter has these faults from now on.
  func setFaults(_ faults: [VirtualFault], adapter: Int) {
    if let controller = stations[adapter].controller { radio.setFaults(faults, of: controller) }
  }

  /// The links of an adapter, by its host.
  func links(adapter: Int) -> Int { hosts[adapter].linkCount }
  /// The links of a device, by its host.
  func links(device: Int) -> Int {
    let index = adapterCount + device
    return stations[index].controller == nil ? 0 : hosts[index].linkCount
  }
  /// The limit of the controllers of devices and adapters has not been reached by a mistake of a host.
  var complaints: [String] {
    stations.compactMap(\.controller).flatMap { radio.complaints(about: $0) }.map { "\($0)" }
  }

  // MARK: Time

  private func powerOn(_ index: Int) {
    stations[index].controller = radio.attach(stations[index].configuration, now: now)
    hosts[index].start(now: now, into: &outputs[index])
  }

  /// Lets time pass.
  func run(for duration: Duration) {
    let end = now + duration
    settle()
    while let next = nextDeadline(), next <= end { step(to: max(now, next)) }
    clock.advance(to: end)
    settle()
  }

  /// Lets time pass until something is so, for as long as it takes, at most an hour.
  ///
  /// - Returns: whether it is.
  func run(until isReached: () -> Bool) -> Bool {
    let end = now + .seconds(3600)
    settle()
    while !isReached() {
      guard let next = nextDeadline(), next <= end else { return false }
      step(to: max(now, next))
    }
    return true
  }

  private func step(to time: Instant) {
    clock.advance(to: time)
    radio.tick(now: now, into: &packets)
    for index in stations.indices
    where stations[index].controller != nil && hosts[index].deadline.map({ $0 <= now }) ?? false {
      hosts[index].tick(now: now, into: &outputs[index])
    }
    settle()
  }

  private func nextDeadline() -> Instant? {
    var next: Instant? = .nearer(radio.deadline, clock.deadline)
    for index in stations.indices where stations[index].controller != nil {
      next = .nearer(next, hosts[index].deadline)
    }
    return next
  }

  /// Lets everyone do what can be done now.
  func settle() {
    while true {
      var isQuiet = !executor.drain()
      for index in connections.indices {
        let posted = commands[index].take()
        for command in posted {
          isQuiet = false
          hosts[index].perform(command, from: Self.owner, now: now, into: &outputs[index])
        }
      }
      for index in stations.indices {
        guard !outputs[index].packets.isEmpty || !outputs[index].events.isEmpty else { continue }
        isQuiet = false
        var drained = HostOutput()
        swap(&drained, &outputs[index])
        for addressed in drained.events {
          switch addressed.event {
          case .connected(let link): peers[index].append(link.peer)
          case .link(let peer, .disconnected(_)): peers[index].removeAll { $0 == peer }
          default: break
          }
        }
        if index < adapterCount { note(drained.events, of: index) }
        guard let controller = stations[index].controller else { continue }
        for packet in 0..<drained.packets.count {
          radio.receive(drained.packets[packet], from: controller, now: now, into: &packets)
        }
      }
      if !packets.isEmpty {
        isQuiet = false
        var delivered = VirtualRadioOutput()
        swap(&delivered, &packets)
        for packet in 0..<delivered.count {
          let destination = delivered.destination(packet)
          guard let index = stations.firstIndex(where: { $0.controller == destination }) else { continue }
          hosts[index].receive(delivered[packet].span, now: now, into: &outputs[index])
        }
      }
      for index in connections.indices where !reports[index].isEmpty {
        isQuiet = false
        let events = reports[index]
        reports[index] = []
        connections[index].say(events)
      }
      if isQuiet { return }
    }
  }

  private func note(_ events: [AddressedEvent<HostEvent>], of index: Int) {
    for addressed in events {
      switch addressed.recipient {
      case .everyone: reports[index].append(addressed.event)
      case .owner(let owner): if owner == Self.owner { reports[index].append(addressed.event) }
      case .owners(let owners): if owners.contains(Self.owner) { reports[index].append(addressed.event) }
      }
    }
  }
}

/// A client of the proxy, and all that it was told.
final class TestClient {
  let client: ProxyClient
  private(set) var events: [ProxyEvent] = []
  private(set) var advertisements: [ReceivedAdvertisement] = []
  private(set) var lost = 0
  private var output = ProxyOutput()

  init(_ proxy: Proxy) { client = proxy.makeClient { _ in } }

  func take() {
    client.take(into: &output)
    events += output.events
    advertisements += output.advertisements
    lost += output.lostAdvertisements
  }

  /// The events since the last call.
  func news() -> [ProxyEvent] {
    take()
    defer { events = [] }
    return events
  }
}

/// A value that several threads may change.
final class Shared<Value: Sendable>: Sendable {
  private let content: Mutex<Value>
  init(_ value: Value) { content = Mutex(value) }
  var value: Value { content.withLock { $0 } }
  func change(_ change: (inout Value) -> Void) { content.withLock { change(&$0) } }
}

extension Shared {
  func take<Element>() -> [Element] where Value == [Element] {
    content.withLock { content in
      defer { content = [] }
      return content
    }
  }
}
