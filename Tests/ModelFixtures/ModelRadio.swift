package import AdapterFixtures
package import BLEAdapter
import BLECrypto
import BLEGATT
package import BLEHost
import BLEVirtual
package import BLEWire
import Synchronization

/// A client of a host of the model, such as a manager or an adapter of BLEKit.
package final class ModelClient: Sendable {
  package let owner: OwnerID
  package let link: ScriptedConnection
  private let box: CommandBox

  init(_ owner: UInt32, _ hub: AdapterHub) {
    self.owner = OwnerID(rawValue: owner)
    let box = CommandBox()
    self.box = box
    link = ScriptedConnection(hub: hub) { box.append($0) }
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

/// Two hosts on one virtual radio and one clock, with clients.
///
/// Commands wait until the radio takes them, so that calls of one turn reach the host together. Everything runs on the
/// caller's turn: a run repeats exactly, as far as its programs do.
package final class ModelRadio {
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
    package var taken: (_ device: Int, _ client: ModelClient) -> Void = { _, _ in }
    /// Lets programs go on that can; returns whether any could.
    package var goOn: () -> Bool = { false }

    package init() {}
  }

  /// The time of the radio and the hosts, which programs may sleep by.
  package let clock = ManualClock()
  package private(set) var hosts: [HostCore] = []
  package private(set) var hubs: [AdapterHub] = []
  package var programs = Programs()
  /// Of each device, in the order in which they were added.
  private var clients: [[ModelClient]] = [[], []]
  /// Commands of the hubs.
  private let hubCommands = [CommandBox(), CommandBox()]
  private var radio: VirtualRadio
  private var controllers: [ControllerID] = []
  private var outputs = [HostOutput(), HostOutput()]
  private var packets = VirtualRadioOutput()
  private let seam: Seam
  private var reports: [[OwnerID: [HostEvent]]] = [[:], [:]]
  /// Those for everyone, which the hubs of the devices receive, too.
  private var common: [[HostEvent]] = [[], []]
  private var lastOwner: UInt32 = 0
  /// The devices whose transport is closed: no packet passes.
  private var lost: Set<Int> = []

  package var now: Instant { clock.now }

  /// - Parameters:
  ///   - pairing: how each device pairs.
  ///   - maximumMTU: the largest ATT_MTU of the second device, in octets.
  package init(
    seed: UInt64, seam: Seam = Seam(), pairing: [PairingOptions] = [PairingOptions(), PairingOptions()],
    maximumMTU: Int = 517
  ) {
    self.seam = seam
    radio = VirtualRadio(seed: seed, pacing: .connectionEvents(packetsPerEvent: 4))
    // What is stored is stored when nothing else is left to do (`storeBonds`).
    let timing = BondStorage.Timing(now: { [clock] in clock.now }, after: { _, _ in })
    for index in 0...1 {
      hubs.append(
        AdapterHub(BondStorage(MemoryBondStore(), log: { _ in }, timing: timing), log: { _ in }))
      controllers.append(radio.attach(VirtualControllerConfiguration(), now: now))
      var configuration = HostConfiguration()
      configuration.awaitsBondStorage = true
      if index == 1 { configuration.serverLimits.maximumMTU = maximumMTU }
      hosts.append(
        HostCore(configuration: configuration, cryptography: LibCrypto(), random: .seeded(seed * 2 + UInt64(index))))
      for command in hubs[index].bonds.commands(pairing[index]) { hubCommands[index].append(command) }
      hubs[index].bonds.report { [box = hubCommands[index]] in box.append($0) }
    }
  }

  /// Adds a client, which is attached now or with the start.
  package func addClient(to device: Int) -> ModelClient {
    lastOwner += 1
    let client = ModelClient(lastOwner, hubs[device])
    clients[device].append(client)
    return client
  }

  /// The host has a client that was added while it runs.
  package func attach(_ client: ModelClient, to device: Int) {
    hosts[device].attach(client.owner, now: now, into: &outputs[device])
  }

  /// Starts the hosts.
  package func start() {
    for index in 0...1 {
      for client in clients[index] { attach(client, to: index) }
      hosts[index].start(now: now, into: &outputs[index])
    }
    settle()
  }

  package func run(for duration: Duration) {
    let end = now + duration
    settle()
    while let next = nextDeadline(), next <= end {
      clock.advance(to: max(now, next))
      radio.tick(now: now, into: &packets)
      for index in 0...1 where hosts[index].deadline.map({ $0 <= now }) ?? false {
        hosts[index].tick(now: now, into: &outputs[index])
      }
      settle()
    }
    clock.advance(to: end)
    settle()
  }

  package func cutLinks(of device: Int) { radio.cutLinks(of: controllers[device], now: now) }

  /// The host loses its controller, as `state`, or gets it back.
  package func setController(_ device: Int, lost state: AdapterState?) {
    if let state {
      lost.insert(device)
      hosts[device].transportFailed(.transport("lost"), state: state, now: now, into: &outputs[device])
    } else {
      lost.remove(device)
      hosts[device].start(now: now, into: &outputs[device])
    }
  }

  private func nextDeadline() -> Instant? {
    .nearer(.nearer(radio.deadline, clock.deadline), .nearer(hosts[0].deadline, hosts[1].deadline))
  }

  /// Lets programs, hosts and controllers act until none has anything left to do.
  package func settle() {
    while true {
      var isQuiet = !programs.goOn()
      for device in 0...1 where perform(device) { isQuiet = false }
      carry()
      for device in 0...1 where deliver(device) { isQuiet = false }
      guard isQuiet else { continue }
      // On the queue of the storage, which reports to programs and to the host.
      for hub in hubs { hub.bonds.settle() }
      if !programs.goOn(), (0...1).allSatisfy({ !perform($0) }) { return }
    }
  }

  /// Performs the commands of a device's clients.
  private func perform(_ device: Int) -> Bool {
    var hasAny = false
    for command in hubCommands[device].take() {
      hasAny = true
      hosts[device].perform(command, from: .process, now: now, into: &outputs[device])
    }
    for client in clients[device] {
      for command in seam.order(client.take()) {
        hasAny = true
        hosts[device].perform(command, from: client.owner, now: now, into: &outputs[device])
      }
    }
    for index in clients[device].indices.reversed() where clients[device][index].link.detachments > 0 {
      hasAny = true
      let client = clients[device].remove(at: index)
      hosts[device].detach(client.owner, now: now, into: &outputs[device])
    }
    return hasAny
  }

  /// Reports events to a device's clients.
  private func deliver(_ device: Int) -> Bool {
    let all = reports[device]
    reports[device] = [:]
    guard !all.isEmpty || !common[device].isEmpty else { return false }
    hubs[device].receive(common[device])
    common[device] = []
    for client in clients[device] {
      guard let events = all[client.owner] else { continue }
      client.link.say(seam.report(events))
      programs.taken(device, client)
    }
    return true
  }

  /// Carries packets between hosts and controllers.
  private func carry() {
    while true {
      var isQuiet = true
      for index in 0...1 where !outputs[index].packets.isEmpty || !outputs[index].events.isEmpty {
        isQuiet = false
        var drained = HostOutput()
        swap(&drained, &outputs[index])
        for addressed in drained.events {
          if case .everyone = addressed.recipient { common[index].append(addressed.event) }
          for client in clients[index] where addressed.recipient.includes(client.owner) {
            reports[index][client.owner, default: []].append(addressed.event)
          }
        }
        for packet in 0..<drained.packets.count where !lost.contains(index) {
          radio.receive(Array(drained.packets[packet])[...], from: controllers[index], now: now, into: &packets)
        }
      }
      if !packets.isEmpty {
        isQuiet = false
        var delivered = VirtualRadioOutput()
        swap(&delivered, &packets)
        for packet in 0..<delivered.count {
          guard let index = controllers.firstIndex(of: delivered.destination(packet)), !lost.contains(index) else {
            continue
          }
          hosts[index].receive(delivered[packet].span, now: now, into: &outputs[index])
        }
      }
      if isQuiet { return }
    }
  }
}
