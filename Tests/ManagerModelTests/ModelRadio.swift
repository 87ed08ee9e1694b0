import AdapterFixtures
import BLEAdapter
import BLECrypto
import BLEGATT
import BLEHost
import BLEVirtual
import BLEWire
import Dispatch
import Synchronization

@testable import CoreBluetoothTypes

/// Two hosts on one virtual radio and one clock, with a central manager and a peripheral manager each.
///
/// Commands wait until the radio takes them, so that calls of one turn reach the host together. Everything runs on the
/// caller's turn: a run repeats exactly.
struct ModelRadio {
  /// A manager at its host.
  final class Client: Sendable {
    let owner: OwnerID
    let link: ScriptedConnection
    private let box: Box

    private final class Box: Sendable { let commands = Mutex<[HostCommand]>([]) }

    init(_ owner: UInt32, _ hub: AdapterHub) {
      self.owner = OwnerID(rawValue: owner)
      let box = Box()
      self.box = box
      link = ScriptedConnection(hub: hub) { command in box.commands.withLock { $0.append(command) } }
    }

    func take() -> [HostCommand] {
      box.commands.withLock { waiting in
        defer { waiting = [] }
        return waiting
      }
    }
  }

  /// A fault that the stack has had, planted between the managers and their hosts.
  enum Fault: CaseIterable, Sendable {
    /// The answer to a start of advertising that is withdrawn is lost.
    case losesWithdrawnStarts
    /// Writes without response overtake the other commands of a turn.
    case commandsOvertake
    /// A link that the device makes does not fulfil a request to connect to it.
    case losesLinksOfTheDevice
  }

  private(set) var now = Instant.start
  private(set) var hosts: [HostCore] = []
  /// Of each device, the central's and the peripheral's.
  let clients: [[Client]]
  private let hubs: [AdapterHub]
  private var radio: VirtualRadio
  private var controllers: [ControllerID] = []
  private var outputs = [HostOutput(), HostOutput()]
  private var packets = VirtualRadioOutput()
  private let planted: Fault?
  private var reports: [[[HostEvent]]] = [[[], []], [[], []]]
  /// Those for everyone, which the hubs of the devices receive, too.
  private var common: [[HostEvent]] = [[], []]

  init(seed: UInt64, planted: Fault? = nil) {
    self.planted = planted
    hubs = (0...1).map { _ in
      AdapterHub(BondStorage(MemoryBondStore(), log: { _, _ in }), log: { _, _ in })
    }
    clients = hubs.map { hub in [Client(1, hub), Client(2, hub)] }
    radio = VirtualRadio(seed: seed, pacing: .connectionEvents(packetsPerEvent: 4))
    for index in 0...1 {
      controllers.append(radio.attach(VirtualControllerConfiguration(), now: now))
      hosts.append(
        HostCore(
          configuration: HostConfiguration(), cryptography: LibCrypto(), random: .seeded(seed * 2 + UInt64(index))))
    }
  }

  /// Starts the hosts; `work` waits for a manager.
  mutating func start(_ work: (_ device: Int, _ client: Int) -> Void) {
    for index in 0...1 {
      for client in clients[index] { hosts[index].attach(client.owner, now: now, into: &outputs[index]) }
      hosts[index].start(now: now, into: &outputs[index])
    }
    settle(work)
  }

  mutating func run(for duration: Duration, _ work: (_ device: Int, _ client: Int) -> Void) {
    let end = now + duration
    settle(work)
    while let next = nextDeadline(), next <= end {
      now = max(now, next)
      radio.tick(now: now, into: &packets)
      for index in 0...1 where hosts[index].deadline.map({ $0 <= now }) ?? false {
        hosts[index].tick(now: now, into: &outputs[index])
      }
      settle(work)
    }
    now = end
  }

  mutating func cutLinks(of device: Int) { radio.cutLinks(of: controllers[device], now: now) }

  /// The host loses its controller, as `state`, or gets it back.
  mutating func setController(_ device: Int, lost state: AdapterState?) {
    if let state {
      hosts[device].transportFailed(.transport("lost"), state: state, now: now, into: &outputs[device])
    } else {
      hosts[device].start(now: now, into: &outputs[device])
    }
  }

  private mutating func nextDeadline() -> Instant? {
    .nearer(radio.deadline, .nearer(hosts[0].deadline, hosts[1].deadline))
  }

  /// Lets managers, hosts and controllers talk until none has anything to say.
  private mutating func settle(_ work: (_ device: Int, _ client: Int) -> Void) {
    while true {
      var isQuiet = true
      for (device, own) in clients.enumerated() {
        for client in own {
          for command in order(client.take()) {
            isQuiet = false
            hosts[device].perform(command, from: client.owner, now: now, into: &outputs[device])
          }
        }
      }
      carry()
      for device in 0...1 {
        let all = reports[device]
        reports[device] = [[], []]
        guard all.contains(where: { !$0.isEmpty }) || !common[device].isEmpty else { continue }
        isQuiet = false
        hubs[device].receive(common[device])
        common[device] = []
        for (index, client) in clients[device].enumerated() where !all[index].isEmpty {
          client.link.say(all[index])
          work(device, index)
        }
      }
      if isQuiet { return }
    }
  }

  private func order(_ commands: [HostCommand]) -> [HostCommand] {
    guard planted == .commandsOvertake else { return commands }
    func isWrite(_ command: HostCommand) -> Bool {
      if case .client(_, let operation) = command, case .writeWithoutResponse = operation.kind { true } else { false }
    }
    return commands.filter(isWrite) + commands.filter { !isWrite($0) }
  }

  private func pass(_ event: HostEvent) -> HostEvent? {
    switch (planted, event) {
    case (.losesWithdrawnStarts, .advertisingStarted(_, .failure(.cancelled))): return nil
    case (.losesLinksOfTheDevice, .connected(var link)) where link.role == .peripheral:
      link.request = nil
      return .connected(link)
    default: return event
    }
  }

  private mutating func carry() {
    while true {
      var isQuiet = true
      for index in 0...1 where !outputs[index].packets.isEmpty || !outputs[index].events.isEmpty {
        isQuiet = false
        var drained = HostOutput()
        swap(&drained, &outputs[index])
        for addressed in drained.events {
          if case .everyone = addressed.recipient { common[index].append(addressed.event) }
          guard let event = pass(addressed.event) else { continue }
          for (place, client) in clients[index].enumerated() where addressed.recipient.includes(client.owner) {
            reports[index][place].append(event)
          }
        }
        for packet in 0..<drained.packets.count {
          radio.receive(Array(drained.packets[packet])[...], from: controllers[index], now: now, into: &packets)
        }
      }
      if !packets.isEmpty {
        isQuiet = false
        var delivered = VirtualRadioOutput()
        swap(&delivered, &packets)
        for packet in 0..<delivered.count {
          guard let index = controllers.firstIndex(of: delivered.destination(packet)) else { continue }
          hosts[index].receive(delivered[packet].span, now: now, into: &outputs[index])
        }
      }
      if isQuiet { return }
    }
  }
}
