import BLEATT
import BLECrypto
import BLEGATT
import BLEHCI
import BLEHost
import BLEPeripheral
import BLESMP
import BLEVirtual
import BLEWire
import Testing

/// A peripheral and centrals on the virtual radio, in virtual time. The peripheral gets its octets as a UART would give
/// them: `chunk` at once.
final class Bench {
  static let open = AttributeID(rawValue: 1)
  static let secret = AttributeID(rawValue: 2)
  static let other = AttributeID(rawValue: 3)
  static let constant = AttributeID(rawValue: 4)

  /// What the functions of the characteristics do.
  final class Values {
    var value: [UInt8] = [1, 2, 3]
    var readError: ATTErrorCode?
    var writeError: ATTErrorCode?
    var written: [[UInt8]] = []
  }

  private(set) var peripheral: Peripheral
  private(set) var events: [PeripheralEvent] = []
  let values = Values()
  private(set) var centrals: [HostCore] = []
  private(set) var centralEvents: [[HostEvent]] = []
  /// Whether events stay in the peripheral.
  var keepsEvents = false
  private(set) var now = Instant.start
  private var radio: VirtualRadio
  private var controllers: [ControllerID] = []
  private var outputs: [HostOutput] = []
  private var radioOutput = VirtualRadioOutput()
  private let chunk: Int
  private var operations: UInt32 = 0

  init(
    centrals: Int = 1, bonds: [Bond] = [], centralBonds: [Bond] = [], chunk: Int = .max,
    io: IOCapability = .noInputNoOutput, centralIO: IOCapability = .noInputNoOutput,
    pacing: VirtualRadio.Pacing = .immediate, _ configure: (inout PeripheralConfiguration) -> Void = { _ in }
  ) throws {
    self.chunk = chunk
    radio = VirtualRadio(seed: 1, pacing: pacing)
    var configuration = PeripheralConfiguration(name: "Bench")
    configuration.address = BD_ADDR(0xC0_1122_3344_55)
    configuration.pairing?.ioCapability = io
    configuration.pairing?.requestsMITM = io != .noInputNoOutput
    configuration.pairing?.fixedPasskey = Passkey(123_456)
    configure(&configuration)
    peripheral = try Peripheral(
      configuration, services: [Self.service(values)], cryptography: LibCrypto(), random: .seeded(9), bonds: bonds)
    controllers.append(radio.attach(now: now))
    for index in 0..<centrals {
      var host = HostConfiguration()
      var pairing = PairingSettings()
      pairing.ioCapability = centralIO
      pairing.requestsMITM = centralIO != .noInputNoOutput
      pairing.identityResolvingKey = SecretKey(UInt128(index) + 77)
      host.pairing = pairing
      host.staticAddress = BD_ADDR(0xD0_0000_0000_00 + UInt64(index))
      host.bonds = centralBonds
      self.centrals.append(HostCore(configuration: host, cryptography: LibCrypto(), random: .seeded(UInt64(index))))
      controllers.append(radio.attach(now: now))
      outputs.append(HostOutput())
      centralEvents.append([])
      self.centrals[index].start(now: now, into: &outputs[index])
    }
    try peripheral.advertise(Advertisement(localName: "Bench"), now: now)
    peripheral.start(now: now)
    settle()
  }

  static func service(_ values: Values) -> PeripheralService {
    func characteristic(_ id: AttributeID, _ uuid: UInt16, _ access: AccessRequirement) -> PeripheralCharacteristic {
      PeripheralCharacteristic(
        id, uuid: BluetoothUUID(uuid), properties: [.read, .write, .notify], access: access,
        read: { _, value in
          value.append(copying: values.value.span)
          return values.readError
        },
        write: { _, octets in
          if let error = values.writeError { return error }
          values.written.append([UInt8](copying: octets))
          return nil
        })
    }
    return PeripheralService(
      uuid: "FFF0",
      characteristics: [
        characteristic(open, 0xFFF1, .open), characteristic(secret, 0xFFF2, .encrypted),
        characteristic(other, 0xFFF3, .open), PeripheralCharacteristic(constant, uuid: "FFF4", constant: [42]),
      ])
  }

  /// Calls the peripheral, and carries what follows.
  @discardableResult
  func call<Result>(_ body: (inout Peripheral, Instant) -> Result) -> Result {
    let result = body(&peripheral, now)
    settle()
    return result
  }

  /// Passes octets to the peripheral that its controller did not send.
  func forge(_ octets: [UInt8]) throws(H4Error) {
    try peripheral.receive(octets.span, now: now)
    settle()
  }

  func ask(_ central: Int = 0, _ command: HostCommand) {
    centrals[central].perform(command, from: .process, now: now, into: &outputs[central])
    settle()
  }

  /// Connects a central.
  ///
  /// - Returns: its name for the link; nil if the peripheral is not there.
  @discardableResult
  func connect(_ central: Int = 0) -> LinkID? {
    centralEvents[central] = []
    let address = DeviceAddress(octets: BD_ADDR(0xC0_1122_3344_55), kind: .random)
    operations += 1
    let id = ConnectID(rawValue: operations)
    ask(central, .initiating(.connect(id, address, ConnectionParameters(), InitiatingParameters())))
    run(for: .seconds(1))
    guard let link = link(central) else {
      ask(central, .initiating(.cancel(id)))
      return nil
    }
    return link
  }

  /// The newest link of a central.
  func link(_ central: Int = 0) -> LinkID? {
    centralEvents[central].reduce(nil) {
      switch $1 {
      case .connected(let connection): connection.peer
      case .link(let link, .disconnected) where link == $0: nil
      default: $0
      }
    }
  }

  func disconnect(_ central: Int = 0) {
    guard let link = link(central) else { return }
    ask(central, .link(link, .disconnect(.remoteUserTerminatedConnection)))
    run(for: .seconds(1))
  }

  func pair(_ central: Int = 0) {
    guard let link = link(central) else { return }
    ask(central, .link(link, .requestSecurity))
    run(for: .seconds(1))
  }

  /// Sends a request of ATT.
  ///
  /// - Returns: the response.
  func request(_ pdu: [UInt8], _ central: Int = 0) throws -> [UInt8] {
    let link = try #require(self.link(central))
    operations += 1
    let id = GATTClient.OperationID(rawValue: operations)
    ask(central, .link(link, .client(GATTClient.Operation(id: id, .request(pdu)))))
    run(for: .milliseconds(500))
    for case .client(_, .finished(id, let result)) in centralEvents[central].reversed() {
      if case .success(.value(let value)) = result { return value }
    }
    return []
  }

  /// The handle of the value of a type, by Find By Type of its declaration: Read By Type of Characteristic.
  func handle(_ uuid: UInt16) throws -> AttributeHandle {
    var start: UInt16 = 1
    while true {
      let pdu: [UInt8] = [0x08] + octets(start) + [0xFF, 0xFF, 0x03, 0x28]
      let response = try request(pdu)
      try #require(response.first == 0x09)
      let length = Int(response[1])
      for place in stride(from: 2, to: response.count, by: length) {
        let value = response[(place + 3)...]
        start = UInt16(response[place]) | UInt16(response[place + 1]) << 8
        if Array(value.dropFirst(2)).prefix(length - 5) == octets(uuid)[...] {
          return AttributeHandle(rawValue: UInt16(value[value.startIndex]) | UInt16(value[value.startIndex + 1]) << 8)
        }
      }
      start += 1
    }
  }

  func read(_ handle: AttributeHandle, _ central: Int = 0) throws -> [UInt8] {
    try request([0x0A] + octets(handle.rawValue), central)
  }

  func write(_ handle: AttributeHandle, _ value: [UInt8], _ central: Int = 0) throws -> [UInt8] {
    try request([0x12] + octets(handle.rawValue) + value, central)
  }

  func octets(_ number: UInt16) -> [UInt8] { [UInt8(truncatingIfNeeded: number), UInt8(number >> 8)] }

  /// The values that a central was notified of.
  func notified(_ central: Int = 0) -> [[UInt8]] {
    centralEvents[central].compactMap {
      if case .client(_, .notification(_, let value)) = $0 { value } else { nil }
    }
  }

  func takeEvents() -> [PeripheralEvent] {
    defer { events = [] }
    return events
  }

  var peers: [Peer] { events.compactMap { if case .connected(let peer, _) = $0 { peer } else { nil } } }
  var bonds: [Bond] { events.compactMap { if case .bondChanged(let bond) = $0 { bond } else { nil } } }

  func run(for duration: Duration) {
    let end = now + duration
    while true {
      var next = Instant?.nearer(radio.deadline, peripheral.deadline)
      for central in centrals { next = .nearer(next, central.deadline) }
      guard let next, next <= end else { break }
      now = max(now, next)
      radio.tick(now: now, into: &radioOutput)
      peripheral.tick(now: now)
      for index in centrals.indices where centrals[index].deadline.map({ $0 <= now }) ?? false {
        centrals[index].tick(now: now, into: &outputs[index])
      }
      settle()
    }
    now = end
  }

  /// Carries packets until nobody has any.
  private func settle() {
    while true {
      var isQuiet = true
      var sent: [[UInt8]] = []
      peripheral.transmit { sent.append([UInt8](copying: $0)) }
      for packet in sent {
        isQuiet = false
        radio.receive(packet[...], from: controllers[0], now: now, into: &radioOutput)
      }
      while !keepsEvents, let event = peripheral.nextEvent() { events.append(event) }
      for index in centrals.indices where !outputs[index].packets.isEmpty || !outputs[index].events.isEmpty {
        isQuiet = false
        var output = HostOutput()
        swap(&output, &outputs[index])
        for event in output.events {
          centralEvents[index].append(event.event)
          answer(event.event, index)
        }
        for place in 0..<output.packets.count {
          radio.receive(output.packets[place], from: controllers[index + 1], now: now, into: &radioOutput)
        }
      }
      if !radioOutput.isEmpty {
        isQuiet = false
        var delivered = VirtualRadioOutput()
        swap(&delivered, &radioOutput)
        for place in 0..<delivered.count {
          guard let index = controllers.firstIndex(of: delivered.destination(place)) else { continue }
          if index == 0 {
            deliver(Array(delivered[place]))
          } else {
            centrals[index - 1].receive(delivered[place].span, now: now, into: &outputs[index - 1])
          }
        }
      }
      if isQuiet { return }
    }
  }

  private func deliver(_ packet: [UInt8]) {
    var rest = packet[...]
    while !rest.isEmpty {
      do { try peripheral.receive(Array(rest.prefix(chunk)).span, now: now) } catch { Issue.record(error) }
      rest = rest.dropFirst(min(chunk, rest.count))
    }
  }

  /// The user of a central types the passkey that the peripheral shows.
  private func answer(_ event: HostEvent, _ central: Int) {
    guard case .pairing(let link, .question(let id, .enterPasskey)) = event, let passkey = Passkey(123_456) else {
      return
    }
    centrals[central].perform(
      .link(link, .answerPairing(id, .passkey(passkey))), from: .process, now: now, into: &outputs[central])
  }
}
