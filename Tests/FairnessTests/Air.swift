import BLECrypto
import BLEHCI
import BLEHost
import BLEVirtual
import BLEWire

/// Hosts on one virtual radio and one clock. The program over an API is at host 0; the others are directed by the test.
struct Air {
  private(set) var now = Instant.start
  private(set) var hosts: [HostCore] = []
  /// The links of each host that are up, and what each has reported.
  private(set) var peers: [[LinkID]] = []
  var heard: [[HostEvent]] = []
  /// How long a host keeps a packet for its controller back; nil loses it.
  var delay: (@Sendable (_ host: Int, _ packet: [UInt8]) -> Duration?)?
  private let link: ScriptedLink
  private var radio = VirtualRadio(seed: 1, pacing: .connectionEvents(packetsPerEvent: 4))
  private var controllers: [ControllerID] = []
  private var outputs: [HostOutput] = []
  private var packets = VirtualRadioOutput()
  private var keptBack: [(due: Instant, host: Int, packet: [UInt8])] = []
  /// What the program has to be told.
  private var reports: [HostEvent] = []
  /// The program, as a user of its host.
  private static let owner = OwnerID(rawValue: 1)

  init(_ count: Int, _ link: ScriptedLink) {
    self.link = link
    for index in 0..<count {
      controllers.append(radio.attach(VirtualControllerConfiguration(), now: now))
      hosts.append(
        HostCore(configuration: HostConfiguration(), cryptography: LibCrypto(), random: .seeded(UInt64(index))))
      (outputs, heard, peers) = (outputs + [HostOutput()], heard + [[]], peers + [[]])
    }
    for index in hosts.indices { hosts[index].start(now: now, into: &outputs[index]) }
    settle()
    reports = []
    hosts[0].attach(Self.owner, now: now, into: &outputs[0])
    settle()
  }

  mutating func ask(_ host: Int, _ command: HostCommand) {
    hosts[host].perform(command, from: .process, now: now, into: &outputs[host])
    settle()
  }

  /// Lets time pass. The program does at once what it is to do.
  mutating func run(for duration: Duration, _ program: some Program) async {
    let end = now + duration
    await converse(program)
    while let next = nextDeadline(), next <= end {
      now = max(now, next)
      radio.tick(now: now, into: &packets)
      for index in hosts.indices where hosts[index].deadline.map({ $0 <= now }) ?? false {
        hosts[index].tick(now: now, into: &outputs[index])
      }
      for kept in keptBack where kept.due <= now {
        radio.receive(kept.packet[...], from: controllers[kept.host], now: now, into: &packets)
      }
      keptBack.removeAll { $0.due <= now }
      settle()
      await converse(program)
    }
    now = end
  }

  private mutating func nextDeadline() -> Instant? {
    var next = radio.deadline
    for index in hosts.indices { next = .nearer(next, hosts[index].deadline) }
    return .nearer(next, keptBack.map(\.due).min())
  }

  /// Hands the program what its host reports, and the host what the program asks for, until neither has anything.
  private mutating func converse(_ program: some Program) async {
    while true {
      let events = reports
      reports = []
      if !events.isEmpty { link.deliver(events) }
      await program.settle()
      let commands = link.take()
      if events.isEmpty, commands.isEmpty { return }
      for command in commands { hosts[0].perform(command, from: Self.owner, now: now, into: &outputs[0]) }
      settle()
    }
  }

  /// Carries packets until nobody has any.
  private mutating func settle() {
    while true {
      var isQuiet = true
      for index in hosts.indices where !outputs[index].packets.isEmpty || !outputs[index].events.isEmpty {
        isQuiet = false
        var drained = HostOutput()
        swap(&drained, &outputs[index])
        for addressed in drained.events { note(addressed, of: index) }
        for packet in 0..<drained.packets.count { send(Array(drained.packets[packet]), from: index) }
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

  private mutating func note(_ addressed: AddressedEvent<HostEvent>, of host: Int) {
    let event = addressed.event
    heard[host].append(event)
    switch event {
    case .connected(let connection): peers[host].append(connection.peer)
    case .link(let peer, .disconnected(_)): peers[host].removeAll { $0 == peer }
    default: break
    }
    guard host == 0 else { return }
    switch addressed.recipient {
    case .everyone: reports.append(event)
    case .owner(let owner): if owner == Self.owner { reports.append(event) }
    case .owners(let owners): if owners.contains(Self.owner) { reports.append(event) }
    }
  }

  private mutating func send(_ packet: [UInt8], from host: Int) {
    let kept = delay.map { $0(host, packet) } ?? .zero
    if kept == .zero { return radio.receive(packet[...], from: controllers[host], now: now, into: &packets) }
    if let kept { keptBack.append((now + kept, host, packet)) }
    // In its place goes a frame on a channel that nobody has.
    var frame = packet
    frame.replaceSubrange(7...8, with: [0x3F, 0x00])
    radio.receive(frame[...], from: controllers[host], now: now, into: &packets)
  }
}
