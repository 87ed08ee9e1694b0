import BLEHCI
import BLEVirtual
import BLEWire
import Testing

/// A radio, its time, and what each host has received: the fixture of these tests.
struct RadioStage {
  var radio: VirtualRadio
  var now = Instant.start
  private var output = VirtualRadioOutput()
  private var inbox: [ControllerID: [[UInt8]]] = [:]

  init(seed: UInt64 = 1, pacing: VirtualRadio.Pacing = .immediate) {
    radio = VirtualRadio(seed: seed, pacing: pacing)
  }

  /// A controller that is on and lets every event through.
  mutating func attach(_ configure: (inout VirtualControllerConfiguration) -> Void = { _ in }) -> ControllerID {
    var configuration = VirtualControllerConfiguration()
    configure(&configuration)
    let id = radio.attach(configuration, now: now)
    unmask(id)
    return id
  }

  mutating func unmask(_ id: ControllerID) {
    send(HCI.SetEventMask { $0.eventMask = .init(rawValue: .max) }, from: id)
    send(HCI.LESetEventMask { $0.eventMask = .init(rawValue: .max) }, from: id)
    inbox[id] = []
  }

  mutating func send(_ command: some HCICommand, from id: ControllerID) {
    var octets: [UInt8] = []
    octets.append(hci: command)
    send(octets, from: id)
  }

  mutating func send(_ octets: [UInt8], from id: ControllerID) {
    radio.receive(octets[...], from: id, now: now, into: &output)
    collect()
  }

  /// Sends a command and returns its return parameters; fails the test where the answer is another.
  mutating func ask<Command: HCICommand>(
    _ command: Command, from id: ControllerID, sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> Command.Response {
    let before = inbox[id]?.count ?? 0
    send(command, from: id)
    let packets = inbox[id] ?? []
    let answer = try #require(packets.count > before ? packets[before] : nil, sourceLocation: sourceLocation)
    inbox[id]?.remove(at: before)
    switch try HCIEvent(decoding: answer.dropFirst()).parameters {
    case let event as HCI.CommandComplete:
      try #require(event.opcode == Command.opcode, sourceLocation: sourceLocation)
      return try event.response(to: Command.self)
    case let event as HCI.CommandStatus:
      try #require(event.opcode == Command.opcode, sourceLocation: sourceLocation)
      var response = Command.Response()
      response.status = event.status
      return response
    case let other:
      Issue.record("an answer to \(Command.self), but it is \(other)", sourceLocation: sourceLocation)
      return Command.Response()
    }
  }

  /// Sends a command and expects a status.
  mutating func expect<Command: HCICommand>(
    _ status: HCIErrorCode, for command: Command, from id: ControllerID,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let response = try ask(command, from: id, sourceLocation: sourceLocation)
    #expect(response.status == status, sourceLocation: sourceLocation)
  }

  mutating func run(for duration: Duration) {
    now = now + duration
    radio.tick(now: now, into: &output)
    collect()
  }

  /// Goes on to the next thing that the radio has to do, where that is not later than `end`.
  mutating func step(until end: Instant) -> Bool {
    guard let next = radio.deadline, next <= end else { return false }
    now = max(now, next)
    radio.tick(now: now, into: &output)
    collect()
    return true
  }

  mutating func detach(_ id: ControllerID) { radio.detach(id, now: now) }

  private mutating func collect() {
    output.forEach { (id: ControllerID, packet: Span<UInt8>) in
      inbox[id, default: []].append([UInt8](copying: packet))
    }
    output.removeAll()
  }

  /// The H4 packets that the host has received since the last call.
  mutating func take(_ id: ControllerID) -> [[UInt8]] {
    defer { inbox[id] = [] }
    return inbox[id] ?? []
  }

  /// The events among them.
  mutating func events(_ id: ControllerID) throws -> [HCIEvent] {
    try take(id).filter { $0.first == 0x04 }.map { try HCIEvent(decoding: $0.dropFirst()) }
  }

  /// The LE meta events among them.
  mutating func metaEvents(_ id: ControllerID) throws -> [any LEEventParameters] {
    try events(id).compactMap { $0.parameters as? any LEEventParameters }
  }
}

// MARK: Situations

extension RadioStage {
  mutating func address(of id: ControllerID) -> DeviceAddress {
    radio.publicAddress(of: id) ?? DeviceAddress(octets: BD_ADDR(), kind: .public)
  }

  /// Legacy advertising every 100 ms.
  mutating func advertise(
    _ id: ControllerID, _ type: HCI.AdvertisingType = .connectableUndirected, data: Bytes = [0x02, 0x01, 0x06],
    scanResponse: Bytes = [0x03, 0x09, 0x68, 0x69],
    _ configure: (inout HCI.LESetAdvertisingParameters) -> Void = { _ in }
  ) throws {
    var parameters = HCI.LESetAdvertisingParameters {
      $0.advertisingIntervalMin = 160
      $0.advertisingIntervalMax = 160
      $0.advertisingType = type
    }
    configure(&parameters)
    try expect(.success, for: parameters, from: id)
    try expect(.success, for: HCI.LESetAdvertisingData { $0.advertisingData = data }, from: id)
    try expect(.success, for: HCI.LESetScanResponseData { $0.scanResponseData = scanResponse }, from: id)
    try expect(.success, for: HCI.LESetAdvertisingEnable { $0.advertisingEnable = true }, from: id)
  }

  mutating func scan(_ id: ControllerID, _ type: HCI.ScanType = .active, filterDuplicates: Bool = false) throws {
    try expect(.success, for: HCI.LESetScanParameters { $0.scanType = type }, from: id)
    let enable = HCI.LESetScanEnable {
      $0.scanEnable = true
      $0.filterDuplicates = filterDuplicates
    }
    try expect(.success, for: enable, from: id)
  }

  /// A link between two new controllers, with nothing in their inboxes.
  mutating func connect(
    _ central: ControllerID, to peripheral: ControllerID,
    _ parameters: HCI.ConnectionParameters = HCI.ConnectionParameters(), within time: Duration = .milliseconds(200)
  ) throws -> (central: ConnectionHandle, peripheral: ConnectionHandle) {
    try advertise(peripheral)
    let peer = address(of: peripheral)
    let create = HCI.LECreateConnection {
      $0.peerAddress = peer
      $0.parameters = parameters
    }
    try expect(.success, for: create, from: central)
    run(for: time)
    return (try connectionHandle(central), try connectionHandle(peripheral))
  }

  private mutating func connectionHandle(_ id: ControllerID) throws -> ConnectionHandle {
    let events = try metaEvents(id).compactMap { $0 as? HCI.LEEnhancedConnectionComplete }
    return try #require(events.last { $0.status.isSuccess }).connectionHandle
  }
}
