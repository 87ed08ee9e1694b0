package import BLEAdapter
import BLECrypto
import BLEGATT
import BLEHCI
package import BLEHost
package import BLELinux
import BLERuntime
package import BLEVirtual
package import BLEWire
import Synchronization

/// A client of a host of a simulation, such as a manager or an adapter of BLEKit.
package final class SimulatedClient: Sendable {
  package let owner: OwnerID
  package let link: ScriptedConnection
  private let box: CommandBox

  fileprivate init(_ owner: UInt32, _ hub: AdapterHub, _ added: @escaping @Sendable () -> Void) {
    self.owner = OwnerID(rawValue: owner)
    let box = CommandBox()
    self.box = box
    link = ScriptedConnection(hub: hub) { command in
      box.append(command)
      added()
    }
  }

  fileprivate func take() -> [HostCommand] { box.take() }
}

/// Commands that wait for their host.
private final class CommandBox: Sendable {
  private let commands = Mutex<[HostCommand]>([])

  func append(_ command: HostCommand) { commands.withLock { $0.append(command) } }

  func take() -> [HostCommand] {
    commands.withLock { waiting in
      defer { waiting = [] }
      return waiting
    }
  }
}

/// Hosts on one virtual radio and one clock, with clients.
///
/// Commands wait until the radio takes them, so that calls of one turn reach the host together. Everything runs on the
/// caller's turn: a run repeats exactly, as far as its programs do.
package final class HostSimulation {
  /// What is between the clients and their hosts: a fault that a model has to find, or nothing.
  package struct Seam {
    /// The commands of one client in one turn.
    package var order: ([HostCommand]) -> [HostCommand] = { $0 }
    /// The events for one client in one turn.
    package var report: ([HostEvent]) -> [HostEvent] = { $0 }

    package init() {}
  }

  /// The programs of the clients.
  package struct Programs {
    /// Waits until a client has taken every event that it was given.
    package var taken: (_ device: Int, _ client: SimulatedClient) -> Void = { _, _ in }
    /// Lets programs go on that can; returns whether any could.
    package var goOn: () -> Bool = { false }

    package init() {}
  }

  /// A controller with its host and their clients.
  private final class Device {
    var host: HostCore
    let hub: AdapterHub
    let controller: ControllerID
    /// In the order in which they were added.
    var clients: [SimulatedClient] = []
    /// Commands of the hub.
    let hubCommands: CommandBox
    var output = HostOutput()
    var reports: [OwnerID: [HostEvent]] = [:]
    /// Those for everyone, which the hub receives, too.
    var common: [HostEvent] = []
    /// Whether the transport is closed: no packet passes.
    var isLost = false
    var isAway = false
    var trace: SimulatedTrace?

    init(_ host: HostCore, _ hub: AdapterHub, _ controller: ControllerID, _ commands: CommandBox) {
      (self.host, self.hub, self.controller, hubCommands) = (host, hub, controller, commands)
    }
  }

  /// The time of the radio and the hosts, which programs may sleep by.
  package let clock: ManualClock
  package var programs = Programs()
  /// For clients on queues of their own: waits until the client has taken every event that it was given.
  package var waits: [OwnerID: @Sendable () -> Void] = [:]
  private var devices: [Device] = []
  private var radio: VirtualRadio
  private var packets = VirtualRadioOutput()
  private let seed: UInt64
  private let seam: Seam
  private let added: @Sendable () -> Void
  private var lastOwner: UInt32 = 0
  private var advertiserCount = 0

  package var now: Instant { clock.now }
  package var hosts: [HostCore] { devices.map(\.host) }

  /// - Parameter added: is called after a client has posted a command, on any thread.
  package init(
    seed: UInt64, pacing: VirtualRadio.Pacing, seam: Seam = Seam(), clock: ManualClock = ManualClock(),
    added: @escaping @Sendable () -> Void = {}
  ) {
    (self.seed, self.seam, self.clock, self.added) = (seed, seam, clock, added)
    radio = VirtualRadio(seed: seed, pacing: pacing)
  }

  /// Adds a device, whose host is started with ``start(_:)``.
  ///
  /// - Parameter name: its name in the log.
  /// - Returns: its number, from 0 on.
  package func addDevice(
    _ configuration: HostConfiguration, _ options: AdapterOptions,
    controller: VirtualControllerConfiguration = VirtualControllerConfiguration(), name: String? = nil,
    trace: SimulatedTrace? = nil, log: @escaping Log = { _ in }
  ) -> Int {
    // What is stored is stored when nothing else is left to do (`settle`).
    let timing = BondStorage.Timing(now: { [clock] in clock.now }, after: { _, _ in })
    let storage = BondStorage(MemoryBondStore(), log: log, timing: timing)
    let hub = AdapterHub(storage, options: options, name: name, log: log)
    let host = HostCore(
      configuration: configuration, cryptography: LibCrypto(),
      random: .seeded(seed &* 2 &+ UInt64(devices.count)))
    let box = CommandBox()
    let device = Device(host, hub, radio.attach(controller, now: now), box)
    device.trace = trace
    trace?.lookup = lookup(in: device)
    for command in hub.bonds.commands(options.pairing, options.privacy) { box.append(command) }
    hub.bonds.report { [added] command in
      box.append(command)
      added()
    }
    devices.append(device)
    return devices.count - 1
  }

  package func hub(of device: Int) -> AdapterHub { devices[device].hub }

  /// Adds a client, which is attached now or with the start.
  package func addClient(to device: Int) -> SimulatedClient {
    lastOwner += 1
    let client = SimulatedClient(lastOwner, devices[device].hub, added)
    devices[device].clients.append(client)
    return client
  }

  /// The host has a client that was added while it runs.
  package func attach(_ client: SimulatedClient, to device: Int) {
    devices[device].host.attach(client.owner, now: now, into: &devices[device].output)
  }

  /// Starts all hosts.
  package func start() {
    for index in devices.indices { start(index) }
    settle()
  }

  /// Starts the host of a device, with the clients that it has.
  package func start(_ device: Int) {
    for client in devices[device].clients { attach(client, to: device) }
    devices[device].host.start(now: now, into: &devices[device].output)
  }

  package func run(for duration: Duration) {
    let end = now + duration
    settle()
    while let next = nextDeadline(), next <= end { advance(to: next) }
    clock.advance(to: end)
    settle()
  }

  /// Lets the time pass up to a deadline, and does what is due then.
  package func advance(to deadline: Instant) {
    clock.advance(to: max(now, deadline))
    radio.tick(now: now, into: &packets)
    for device in devices where device.host.deadline.map({ $0 <= now }) ?? false {
      device.host.tick(now: now, into: &device.output)
    }
    settle()
  }

  package func cutLinks(of device: Int) { radio.cutLinks(of: devices[device].controller, now: now) }

  /// Changes the transmit power of the links of a device, in dBm.
  func setTransmitPower(_ level: Int8, of device: Int) {
    radio.setTransmitPower(level, of: devices[device].controller, now: now)
  }

  /// Changes the loss of the path between two devices, in dB; nil for that of their controllers.
  func setPathLoss(_ loss: UInt8?, between a: Int, and b: Int) {
    radio.setPathLoss(loss, between: devices[a].controller, and: devices[b].controller, now: now)
  }

  /// Whether other devices receive the device, and it them.
  package func setInRange(_ device: Int, _ isInRange: Bool) {
    devices[device].isAway = !isInRange
    updateRange(of: devices[device])
  }

  /// A controller without power sends nothing, wherever it is.
  private func updateRange(of device: Device) {
    radio.setInRange(!device.isAway && !device.isLost, device.controller, now: now)
  }

  /// Takes the power of a device, or gives it back; nothing happens to a device that is in this state already.
  func setPower(_ device: Int, isOn: Bool) {
    guard devices[device].isLost == isOn else { return }
    if !isOn { cutLinks(of: device) }
    setController(device, lost: isOn ? nil : .poweredOff)
    updateRange(of: devices[device])
  }

  func isScanning(_ device: Int) -> Bool { radio.isScanning(devices[device].controller) }

  package func setFaults(_ faults: [VirtualFault], of device: Int) {
    radio.setFaults(faults, of: devices[device].controller)
  }

  /// The host loses its controller, as `state`, or gets it back.
  package func setController(_ device: Int, lost state: AdapterState?) {
    let device = devices[device]
    if let state {
      device.isLost = true
      device.host.transportFailed(.transport("lost"), state: state, now: now, into: &device.output)
    } else {
      device.isLost = false
      device.host.start(now: now, into: &device.output)
    }
  }

  /// Takes all controllers away for good.
  package func loseControllers() {
    for index in devices.indices where !devices[index].isLost { setController(index, lost: .unsupported) }
  }

  /// What has happened on the links of a device, and the number of the first one that is kept.
  func activities(of device: Int) -> (first: Int, all: [LinkActivity]) {
    let device = devices[device]
    guard let trace = device.trace else { return (0, []) }
    trace.update()
    return (trace.firstActivity, trace.activities)
  }

  /// The packets of a device in memory, as a btsnoop file, and the number of its packets of ATT, SMP and L2CAP.
  func packets(of device: Int) -> (octets: [UInt8], frames: Int) {
    guard let trace = devices[device].trace else { return ([], 0) }
    trace.update()
    return (trace.octets, trace.frames)
  }

  /// The attributes of a device and its peers, when it is called.
  private func lookup(in device: Device) -> LinkActivityReader.Lookup {
    { [unowned self, unowned device] handle, isOfPeer, peer in
      let server =
        isOfPeer
        ? devices.first { $0.host.ownAddress == peer || $0.host.addressOnAir == peer } : device
      return server?.host.attribute(at: handle)
    }
  }

  /// Adds controllers that advertise without hosts, as those of other devices nearby do.
  func addAdvertisers(_ count: Int, interval: Duration) {
    let units = UInt16(min(max(0x20, interval.waitable / .microseconds(625)), 0x4000))
    var parameters = HCI.LESetAdvertisingParameters()
    (parameters.advertisingIntervalMin, parameters.advertisingIntervalMax) = (units, units)
    var enable = HCI.LESetAdvertisingEnable()
    enable.advertisingEnable = true
    for _ in 0..<count {
      advertiserCount += 1
      let controller = radio.attach(VirtualControllerConfiguration(), now: now)
      var data = HCI.LESetAdvertisingData()
      let name = Array("Other \(advertiserCount)".utf8)
      data.advertisingData = ([0x02, 0x01, 0x06, UInt8(name.count + 1), 0x09] + name)[...]
      var octets: [[UInt8]] = [[], [], []]
      octets[0].append(hci: parameters)
      octets[1].append(hci: data)
      octets[2].append(hci: enable)
      for command in octets { radio.receive(command[...], from: controller, now: now, into: &packets) }
    }
  }

  package func flushTraces() { for device in devices { device.trace?.flush() } }

  /// The identity address of a device.
  package func publicAddress(of device: Int) -> DeviceAddress { devices[device].host.ownAddress }

  /// Removes the keys of a device, as a device that was reset does. Its host forgets them without a word to the others.
  package func removeBonds(of device: Int) {
    let device = devices[device]
    for bond in device.hub.bonds.bonds {
      device.hub.bonds.receive(.removed(bond.identity))
      device.host.perform(.security(.removeBond(bond.identity)), from: .process, now: now, into: &device.output)
    }
  }

  /// When something happens next without a call of a program; nil if nothing does.
  package func nextDeadline() -> Instant? {
    devices.reduce(.nearer(radio.deadline, clock.deadline)) { .nearer($0, $1.host.deadline) }
  }

  /// Lets programs, hosts and controllers act until none has anything left to do.
  package func settle() {
    while true {
      var isQuiet = !programs.goOn()
      for device in devices where perform(device) { isQuiet = false }
      carry()
      for index in devices.indices where deliver(index) { isQuiet = false }
      guard isQuiet else { continue }
      // On the queue of the storage, which reports to programs and to the host.
      for device in devices { device.hub.bonds.settle() }
      if !programs.goOn(), devices.allSatisfy({ !perform($0) }) { return }
    }
  }

  /// Performs the commands of a device's clients.
  private func perform(_ device: Device) -> Bool {
    var hasAny = false
    for command in device.hubCommands.take() {
      hasAny = true
      device.host.perform(command, from: .process, now: now, into: &device.output)
    }
    for client in device.clients {
      for command in seam.order(client.take()) {
        hasAny = true
        device.host.perform(command, from: client.owner, now: now, into: &device.output)
      }
    }
    for index in device.clients.indices.reversed() where device.clients[index].link.detachments > 0 {
      hasAny = true
      let client = device.clients.remove(at: index)
      device.host.detach(client.owner, now: now, into: &device.output)
      waits[client.owner] = nil
    }
    return hasAny
  }

  /// Reports events to a device's clients.
  private func deliver(_ index: Int) -> Bool {
    let device = devices[index]
    let all = device.reports
    device.reports = [:]
    guard !all.isEmpty || !device.common.isEmpty else { return false }
    device.hub.receive(device.common)
    device.common = []
    for client in device.clients {
      guard let events = all[client.owner] else { continue }
      client.link.say(seam.report(events))
      programs.taken(index, client)
      waits[client.owner]?()
    }
    return true
  }

  /// Carries packets between hosts and controllers.
  private func carry() {
    while true {
      var isQuiet = true
      for device in devices where !device.output.packets.isEmpty || !device.output.events.isEmpty {
        isQuiet = false
        carryOutput(of: device)
      }
      if !packets.isEmpty {
        isQuiet = false
        var delivered = VirtualRadioOutput()
        swap(&delivered, &packets)
        for packet in 0..<delivered.count {
          let destination = delivered.destination(packet)
          guard let device = devices.first(where: { $0.controller == destination }), !device.isLost else { continue }
          device.trace?.record(delivered[packet].span, .controllerToHost)
          device.host.receive(delivered[packet].span, now: now, into: &device.output)
        }
      }
      if isQuiet { return }
    }
  }

  private func carryOutput(of device: Device) {
    var drained = HostOutput()
    swap(&drained, &device.output)
    for addressed in drained.events {
      if case .everyone = addressed.recipient { device.common.append(addressed.event) }
      for client in device.clients where addressed.recipient.includes(client.owner) {
        device.reports[client.owner, default: []].append(addressed.event)
      }
    }
    for packet in 0..<drained.packets.count where !device.isLost {
      device.trace?.record(drained.packets[packet].span, .hostToController)
      radio.receive(Array(drained.packets[packet])[...], from: device.controller, now: now, into: &packets)
    }
  }
}
