import BLECrypto
import BLEHCI
import BLEHost
import BLESMP
import BLEVirtual
import BLEWire

/// Hosts on a paced radio and one clock: host 0 is the central, the others are peripherals. The packets between each
/// host and its controller are traced with their virtual time.
struct LimitWorld {
  private(set) var now = Instant.start
  /// The events of the hosts, with the number of the host; the caller empties it.
  var events: [(host: Int, event: HostEvent)] = []
  /// A btsnoop file for each host.
  private(set) var traces: [[UInt8]] = []
  private var radio: VirtualRadio
  private var hosts: [HostCore] = []
  private var controllers: [ControllerID] = []
  private var places: [ControllerID: Int] = [:]
  private var outputs: [HostOutput] = []
  private var received = VirtualRadioOutput()

  /// - Parameter configurations: of the controller of each host.
  init(_ configurations: [VirtualControllerConfiguration]) {
    radio = VirtualRadio(seed: 1, pacing: .airtime)
    for (index, controller) in configurations.enumerated() {
      let id = radio.attach(controller, now: now)
      places[id] = index
      controllers.append(id)
      var configuration = HostConfiguration()
      var pairing = PairingSettings()
      pairing.identityResolvingKey = SecretKey(UInt128(index) + 1)
      configuration.pairing = pairing
      hosts.append(HostCore(configuration: configuration, cryptography: LibCrypto(), random: .seeded(UInt64(index))))
      outputs.append(HostOutput())
      traces.append(BTSnoopFile.header)
    }
    for index in hosts.indices { hosts[index].start(now: now, into: &outputs[index]) }
    settle()
  }

  func address(of host: Int) -> DeviceAddress { hosts[host].addressOnAir }
  var complaints: [Complaint] { controllers.flatMap { radio.complaints(about: $0) } }

  /// The connection events of the first link of host 0 in which both ends sent nothing but empty PDUs.
  var emptyEvents: Int { radio.connectionEvents(of: controllers[0], at: now).first?.empty ?? 0 }

  /// Commands that a program gives at once.
  mutating func perform(_ commands: [HostCommand], on host: Int) {
    for command in commands { hosts[host].perform(command, from: .process, now: now, into: &outputs[host]) }
    settle()
  }

  /// The time of the next event of the radio or of a host.
  private var deadline: Instant? {
    mutating get {
      var next = radio.deadline
      for host in hosts { next = .nearer(next, host.deadline) }
      return next
    }
  }

  /// Moves the clock to the next event, at most to `end`, and performs it.
  mutating func step(until end: Instant) {
    guard let next = deadline, next <= end else {
      now = max(now, end)
      return
    }
    now = max(now, next)
    radio.tick(now: now, into: &received)
    for index in hosts.indices where hosts[index].deadline.map({ $0 <= now }) ?? false {
      hosts[index].tick(now: now, into: &outputs[index])
    }
    settle()
  }

  /// Passes packets between hosts and controllers until none is left.
  private mutating func settle() {
    var isQuiet = false
    while !isQuiet {
      isQuiet = true
      for index in hosts.indices where !outputs[index].packets.isEmpty || !outputs[index].events.isEmpty {
        isQuiet = false
        var output = HostOutput()
        swap(&output, &outputs[index])
        for addressed in output.events { events.append((index, addressed.event)) }
        for packet in 0..<output.packets.count {
          trace(output.packets[packet].span, .hostToController, of: index)
          radio.receive(output.packets[packet], from: controllers[index], now: now, into: &received)
        }
      }
      guard !received.isEmpty else { continue }
      isQuiet = false
      var delivered = VirtualRadioOutput()
      swap(&delivered, &received)
      for packet in 0..<delivered.count {
        guard let index = places[delivered.destination(packet)] else { continue }
        trace(delivered[packet].span, .controllerToHost, of: index)
        hosts[index].receive(delivered[packet].span, now: now, into: &outputs[index])
      }
    }
  }

  private mutating func trace(_ packet: Span<UInt8>, _ direction: HCIPacketDirection, of host: Int) {
    let (seconds, attoseconds) = (now - Instant.start).components
    let microseconds = seconds * 1_000_000 + attoseconds / 1_000_000_000_000
    BTSnoopFile.append(packet, direction, at: microseconds, to: &traces[host])
  }
}
