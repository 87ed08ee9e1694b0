import BLECrypto
import BLEHCI
import BLEHost
import BLEVirtual
import BLEWire

/// The hosts of a soak on one simulated radio and one clock: host 0 is the peripheral, the others are centrals.
///
/// Nothing waits: the time is that of the caller, so a seed gives the same packets in each run.
struct SoakWorld {
  private(set) var now = Instant.start
  /// The ACL packets that hosts have sent.
  private(set) var packets = 0
  /// The events of the hosts, with the number of the host; the caller empties it.
  var events: [(host: Int, event: HostEvent)] = []
  private var radio: VirtualRadio
  private var hosts: [HostCore] = []
  private var controllers: [ControllerID] = []
  private var places: [ControllerID: Int] = [:]
  private var outputs: [HostOutput] = []
  private var spare = HostOutput()
  private var received = VirtualRadioOutput()
  private var spareReceived = VirtualRadioOutput()

  init(_ count: Int, seed: UInt64, host configuration: (Int) -> HostConfiguration) {
    radio = VirtualRadio(seed: seed)
    var controller = VirtualControllerConfiguration()
    controller.maximumLinks = 64
    controller.totalNumACLDataPackets = 32
    for index in 0..<count {
      let id = radio.attach(controller, now: now)
      places[id] = index
      controllers.append(id)
      hosts.append(
        HostCore(
          configuration: configuration(index), cryptography: LibCrypto(), random: .seeded(seed &+ UInt64(index))))
      outputs.append(HostOutput())
    }
    for index in hosts.indices { hosts[index].start(now: now, into: &outputs[index]) }
    settle()
  }

  func address(of host: Int) -> DeviceAddress { hosts[host].addressOnAir }
  func linkCount(of host: Int) -> Int { hosts[host].linkCount }

  mutating func perform(_ command: HostCommand, on host: Int) {
    hosts[host].perform(command, from: .process, now: now, into: &outputs[host])
    settle()
  }

  mutating func setFaults(_ faults: [VirtualFault], of host: Int) { radio.setFaults(faults, of: controllers[host]) }

  /// Takes a host's controller out of the range of the others, or back.
  mutating func setInRange(_ isInRange: Bool, _ host: Int) {
    radio.setInRange(isInRange, controllers[host], now: now)
    settle()
  }

  mutating func cutLinks(of host: Int) { radio.cutLinks(of: controllers[host], now: now) }

  /// The host loses its transport and opens it again.
  mutating func reconnectTransport(of host: Int) {
    hosts[host].transportFailed(.transport("lost"), now: now, into: &outputs[host])
    settle()
    hosts[host].start(now: now, into: &outputs[host])
    settle()
  }

  /// Moves the clock on without performing what is due on the way, as after a computer was suspended.
  mutating func jump(_ duration: Duration) { now = now + duration }

  mutating func run(for duration: Duration) {
    let end = now + duration
    while true {
      var next = radio.deadline
      for index in hosts.indices { next = .nearer(next, hosts[index].deadline) }
      guard let next, next <= end else { break }
      now = max(now, next)
      radio.tick(now: now, into: &received)
      for index in hosts.indices where hosts[index].deadline.map({ $0 <= now }) ?? false {
        hosts[index].tick(now: now, into: &outputs[index])
      }
      settle()
    }
    now = max(now, end)
  }

  /// Passes packets between hosts and controllers until none is left.
  private mutating func settle() {
    var isQuiet = false
    while !isQuiet {
      isQuiet = true
      for index in hosts.indices where !outputs[index].packets.isEmpty || !outputs[index].events.isEmpty {
        isQuiet = false
        swap(&spare, &outputs[index])
        for addressed in spare.events { events.append((index, addressed.event)) }
        for packet in 0..<spare.packets.count {
          let octets = spare.packets[packet]
          if octets.first == 0x02 { packets += 1 }
          radio.receive(octets, from: controllers[index], now: now, into: &received)
        }
        spare.packets.removeAll()
        spare.events.removeAll(keepingCapacity: true)
        spare.kernelCommands.removeAll()
      }
      guard !received.isEmpty else { continue }
      isQuiet = false
      swap(&spareReceived, &received)
      for packet in 0..<spareReceived.count {
        guard let index = places[spareReceived.destination(packet)] else { continue }
        hosts[index].receive(spareReceived[packet].span, now: now, into: &outputs[index])
      }
      spareReceived.removeAll()
    }
  }
}
