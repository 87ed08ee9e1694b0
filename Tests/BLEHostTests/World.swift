import BLECrypto
import BLEGATT
import BLEHCI
import BLEHost
import BLEVirtual
import BLEWire

/// Hosts on one virtual radio and one clock. Nothing here waits: time jumps to the next deadline.
struct World {
  private(set) var now = Instant.start
  private(set) var hosts: [HostCore] = []
  /// What each host told its application, in order.
  private(set) var heard: [[HostEvent]] = []
  private var radio: VirtualRadio
  private var controllers: [ControllerID] = []
  private var outputs: [HostOutput] = []
  private var air = VirtualRadioOutput()
  /// Every packet each host has sent to its controller, in order.
  private(set) var sent: [[[UInt8]]] = []
  /// Hosts that hear nothing on the channel of the security manager, because a test speaks there for them.
  var deaf: Set<Int> = []
  /// Answers the requests for dynamic values of a host, where it is the application's turn.
  var application: (@Sendable (Int, HostEvent) -> [HostCommand])?

  init(
    _ count: Int, seed: UInt64 = 1, pacing: VirtualRadio.Pacing = .immediate,
    controller: (Int) -> VirtualControllerConfiguration = { _ in VirtualControllerConfiguration() },
    host: (Int) -> HostConfiguration = { _ in HostConfiguration() }
  ) {
    radio = VirtualRadio(seed: seed, pacing: pacing)
    for index in 0..<count {
      controllers.append(radio.attach(controller(index), now: now))
      hosts.append(
        HostCore(configuration: host(index), cryptography: LibCrypto(), random: .seeded(UInt64(index))))
      heard.append([])
      sent.append([])
      outputs.append(HostOutput())
    }
    for index in hosts.indices { hosts[index].start(now: now, into: &outputs[index]) }
    settle()
  }

  mutating func ask(_ host: Int, _ command: HostCommand) {
    hosts[host].perform(command, now: now, into: &outputs[host])
    settle()
  }

  mutating func takeHeard(_ host: Int) -> [HostEvent] {
    defer { heard[host] = [] }
    return heard[host]
  }

  /// Complaints of the virtual controllers: a host that breaks HCI's rules is found here.
  var complaints: [Complaint] { controllers.flatMap { radio.complaints(about: $0) } }

  /// Sends a packet to a host's controller that the host knows nothing of.
  mutating func forge(_ packet: [UInt8], from host: Int) {
    radio.receive(packet[...], from: controllers[host], now: now, into: &air)
    settle()
  }

  mutating func cutLinks(of host: Int) {
    radio.cutLinks(of: controllers[host], now: now)
    settle()
  }

  mutating func run(for duration: Duration) {
    let end = now + duration
    while true {
      var next = radio.deadline
      for host in hosts { next = .nearer(next, host.deadline) }
      guard let next, next <= end else { break }
      now = max(now, next)
      radio.tick(now: now, into: &air)
      for index in hosts.indices where hosts[index].deadline.map({ $0 <= now }) ?? false {
        hosts[index].tick(now: now, into: &outputs[index])
      }
      settle()
    }
    now = end
  }

  /// Carries packets and answers to and fro until nobody has anything to say.
  private mutating func settle() {
    while true {
      var isQuiet = true
      for index in hosts.indices where !outputs[index].packets.isEmpty || !outputs[index].events.isEmpty {
        isQuiet = false
        var drained = HostOutput()
        swap(&drained, &outputs[index])
        for packet in 0..<drained.packets.count {
          sent[index].append(Array(drained.packets[packet]))
          radio.receive(drained.packets[packet], from: controllers[index], now: now, into: &air)
        }
        for event in drained.events {
          heard[index].append(event)
          for command in application?(index, event) ?? [] {
            hosts[index].perform(command, now: now, into: &outputs[index])
          }
        }
      }
      if !air.isEmpty {
        isQuiet = false
        var delivered = VirtualRadioOutput()
        swap(&delivered, &air)
        for packet in 0..<delivered.count {
          guard let index = controllers.firstIndex(of: delivered.destination(packet)) else { continue }
          let isSecurity = delivered[packet].starts(with: [2]) && delivered[packet].dropFirst(7).starts(with: [6, 0])
          if isSecurity, deaf.contains(index) { continue }
          hosts[index].receive(delivered[packet].span, now: now, into: &outputs[index])
        }
      }
      if isQuiet { return }
    }
  }
}
