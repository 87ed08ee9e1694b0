import BLEATT
import BLECrypto
import BLEGATT
import BLEHCI
import BLEHost
import BLESMP
import BLEVirtual
import BLEWire

@testable import BLETrace

/// Two hosts on a virtual radio in virtual time: 0 is a peripheral with a service, 1 a central. All packets of both are
/// recorded.
struct TracedRadio {
  static let short = AttributeID(rawValue: 1)
  static let long = AttributeID(rawValue: 2)
  static let encrypted = AttributeID(rawValue: 3)
  static let stream = AttributeID(rawValue: 4)

  private(set) var now = Instant.start
  private(set) var handles: [AttributeID: AttributeHandle] = [:]
  private(set) var records: [[BTSnoopRecord]] = [[], []]
  /// The newest link of each host, its bonds, and the outcomes of the central's operations.
  private(set) var links: [LinkID?] = [nil, nil]
  private(set) var bonds: [Bond?] = [nil, nil]
  private(set) var isLinked = [false, false]
  private(set) var outcomes: [Result<GATTClient.Outcome, GATTClientError>] = []
  /// The passkey that the user of the central enters.
  var enteredPasskey: UInt32 = 123_456

  private var hosts: [HostCore] = []
  private var radio: VirtualRadio
  private var controllers: [ControllerID] = []
  private var outputs = [HostOutput(), HostOutput()]
  private var air = VirtualRadioOutput()
  private var operations: UInt32 = 0

  init(
    pacing: VirtualRadio.Pacing = .immediate,
    controller: (Int, inout VirtualControllerConfiguration) -> Void = { _, _ in },
    host: (Int, inout HostConfiguration) -> Void = { _, _ in }
  ) {
    radio = VirtualRadio(seed: 1, pacing: pacing)
    for index in 0..<2 {
      var configuration = VirtualControllerConfiguration()
      controller(index, &configuration)
      controllers.append(radio.attach(configuration, now: now))
      var settings = HostConfiguration()
      settings.pairing = Self.pairing()
      settings.pairing?.identityResolvingKey = SecretKey(0x1234 + UInt128(index))
      host(index, &settings)
      hosts.append(
        HostCore(configuration: settings, cryptography: LibCrypto(), random: .seeded(UInt64(index))))
    }
    for index in hosts.indices { hosts[index].start(now: now, into: &outputs[index]) }
    settle()
    ask(0, .services(.add(Self.service)))
    let data: [UInt8] = [2, 1, 6]
    ask(0, .advertising(.start(AdvertisingID(rawValue: 1), AdvertisingIntent(data: data, scanResponse: []))))
  }

  static func pairing(_ io: IOCapability = .noInputNoOutput) -> PairingSettings {
    var settings = PairingSettings()
    settings.ioCapability = io
    settings.requestsMITM = io != .noInputNoOutput
    settings.fixedPasskey = Passkey(123_456)
    return settings
  }

  private static var service: ServiceDefinition {
    func characteristic(
      _ id: AttributeID, _ uuid: UInt16, _ properties: GATTCharacteristicProperties,
      _ access: AccessRequirement = .open, _ value: [UInt8] = [7]
    ) -> CharacteristicDefinition {
      CharacteristicDefinition(
        id: id, uuid: BluetoothUUID(uuid), properties: properties,
        permissions: GATTAttributePermissions(read: access, write: properties.contains(.write) ? access : nil),
        value: .stored(value, length: 0...512))
    }
    return ServiceDefinition(
      id: ServiceID(rawValue: 1), uuid: BluetoothUUID(0xFFF0),
      characteristics: [
        characteristic(short, 0xFFF1, [.read, .write, .writeWithoutResponse]),
        characteristic(long, 0xFFF2, [.read], .open, [UInt8](repeating: 0x41, count: 200)),
        characteristic(encrypted, 0xFFF3, [.read], .encrypted),
        characteristic(stream, 0xFFF4, [.read, .notify, .indicate]),
      ])
  }

  // MARK: Actions

  var peripheral: DeviceAddress { hosts[0].addressOnAir }

  mutating func ask(_ host: Int, _ command: HostCommand) {
    hosts[host].perform(command, from: .process, now: now, into: &outputs[host])
    settle()
  }

  mutating func link(_ host: Int, _ command: HostCommand.Link) {
    guard let link = links[host] else { return }
    ask(host, .link(link, command))
  }

  /// The central connects, and the hosts finish what they do on a new link.
  mutating func connect(
    to address: DeviceAddress? = nil, _ parameters: ConnectionParameters = ConnectionParameters(),
    for duration: Duration = .seconds(3)
  ) {
    ask(1, .initiating(.connect(ConnectID(rawValue: 1), address ?? peripheral, parameters)))
    run(for: duration)
  }

  mutating func disconnect(_ host: Int = 1) {
    link(host, .disconnect(.remoteUserTerminatedConnection))
    run(for: .seconds(1))
  }

  /// The central performs an operation, and the time goes on until it is done, or for 40 s.
  mutating func perform(_ kind: GATTClient.Operation.Kind) {
    operations += 1
    let before = outcomes.count
    link(1, .client(GATTClient.Operation(id: GATTClient.OperationID(rawValue: operations), kind)))
    let end = now + .seconds(40)
    while outcomes.count == before, step(until: end) {}
  }

  mutating func read(_ attribute: AttributeID) {
    if let handle = handles[attribute] { perform(.read(handle)) }
  }

  mutating func setFaults(_ faults: [VirtualFault], of host: Int) {
    radio.setFaults(faults, of: controllers[host])
  }

  mutating func cutLinks() {
    radio.cutLinks(of: controllers[0], now: now)
    settle()
  }

  /// Takes the peripheral out of the range of the central, or back.
  mutating func setInRange(_ isInRange: Bool) {
    radio.setInRange(isInRange, controllers[0], now: now)
    settle()
  }

  /// Sends a packet to a host's controller that the host knows nothing of; it is part of the trace.
  mutating func forge(_ packet: [UInt8], from host: Int) {
    record(packet, .hostToController, host)
    radio.receive(packet[...], from: controllers[host], now: now, into: &air)
    settle()
  }

  // MARK: Time

  mutating func run(for duration: Duration) {
    let end = now + duration
    while step(until: end) {}
    now = end
  }

  /// Goes on to the next deadline; returns whether there is one.
  private mutating func step(until end: Instant) -> Bool {
    var next = radio.deadline
    for host in hosts { next = .nearer(next, host.deadline) }
    guard let next, next <= end else { return false }
    now = max(now, next)
    radio.tick(now: now, into: &air)
    for index in hosts.indices where hosts[index].deadline.map({ $0 <= now }) ?? false {
      hosts[index].tick(now: now, into: &outputs[index])
    }
    settle()
    return true
  }

  private mutating func record(_ packet: [UInt8], _ direction: HCIPacketDirection, _ host: Int) {
    let time = (now - .start) / .microseconds(1)
    records[host].append(BTSnoopRecord(packet: packet[...], direction: direction, microseconds: Int64(time)))
  }

  private mutating func settle() {
    while true {
      var isQuiet = true
      for index in hosts.indices where !outputs[index].packets.isEmpty || !outputs[index].events.isEmpty {
        isQuiet = false
        var drained = HostOutput()
        swap(&drained, &outputs[index])
        for addressed in drained.events { note(addressed.event, of: index) }
        for packet in 0..<drained.packets.count {
          let octets = Array(drained.packets[packet])
          record(octets, .hostToController, index)
          radio.receive(octets[...], from: controllers[index], now: now, into: &air)
        }
      }
      if !air.isEmpty {
        isQuiet = false
        var delivered = VirtualRadioOutput()
        swap(&delivered, &air)
        for packet in 0..<delivered.count {
          guard let index = controllers.firstIndex(of: delivered.destination(packet)) else { continue }
          record(Array(delivered[packet]), .controllerToHost, index)
          hosts[index].receive(delivered[packet].span, now: now, into: &outputs[index])
        }
      }
      if isQuiet { return }
    }
  }

  private mutating func note(_ event: HostEvent, of host: Int) {
    switch event {
    case .connected(let connection): (links[host], isLinked[host]) = (connection.peer, true)
    case .link(_, .disconnected): isLinked[host] = false
    case .bonds(.changed(let bond)): bonds[host] = bond
    case .services(.added(_, .success(let added))): handles = added.attributes
    case .client(_, .finished(let id, let outcome)) where id.rawValue == operations: outcomes.append(outcome)
    case .pairing(let peer, .question(let id, let question)):
      let answer: PairingAnswer? =
        switch question {
        case .consent, .replaceBond, .compare: .accept
        case .enterPasskey: Passkey(enteredPasskey).map { .passkey($0) }
        case .display: nil
        }
      guard let answer else { break }
      hosts[host].perform(.link(peer, .answerPairing(id, answer)), from: .process, now: now, into: &outputs[host])
    default: break
    }
  }

  // MARK: Explanation

  /// What the trace of a host shows.
  func explanation(_ host: Int = 1, _ filter: TraceFilter = TraceFilter()) -> TraceExplanation {
    var (reader, explainer) = (TraceReader(), TraceExplainer(filter))
    for record in records[host] { explainer.add(reader.anyEntry(for: record)) }
    return explainer.finish()
  }
}
