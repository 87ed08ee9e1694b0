import BLEHCI
import BLEHost
import BLELinux
import BLEVirtual
import BLEWire

@testable import BLERuntime

/// The server of the virtual radio, with hosts on streams of this process, in virtual time: two honest hosts that have
/// a link, and up to three hostile ones, which send commands, data and any octets, connect, leave, or do not read.
///
/// It requires that
/// - the link of the honest hosts goes on: each receives what the other sends, unchanged and in order;
/// - the controllers of the honest hosts answer their commands;
/// - each stream of octets to a host divides into well-formed packets;
/// - a received advertisement has at most 1,650 octets;
/// - hosts are limited, and one that leaves makes room for another.
func fuzzRadio(_ input: inout FuzzInput) {
  do {
    var run = try RadioRun(&input)
    try run.start()
    while !input.isEmpty, run.steps < RadioRun.stepLimit { try run.step(&input) }
    try run.finish()
  } catch { require(false, "the radio has failed: \(error)") }
}

/// The host's end of a stream to the radio.
private final class RadioHost {
  let stream: ByteStream
  /// Whether the radio has closed the stream.
  var isGone = false
  /// The packets that were received and not looked at.
  var packets: [[UInt8]] = []
  private var framer = H4Framer()
  private var buffer = [UInt8](repeating: 0, count: 16_384)

  init(_ stream: consuming ByteStream) { self.stream = stream }

  static func attach(to mailbox: RadioLoop.Mailbox) throws -> RadioHost {
    RadioHost(
      try ByteStream.joined { (far) throws(SystemError) in
        _ = mailbox.post(.addClient(OneShot(far), name: "fuzz"))
      })
  }

  /// - Returns: whether the stream took all octets.
  @discardableResult
  func write(_ octets: [UInt8]) -> Bool {
    guard !isGone, !octets.isEmpty else { return false }
    do {
      return try stream.write(octets.span) == octets.count
    } catch {
      isGone = true
      return false
    }
  }

  func read() {
    while !isGone {
      do {
        switch try stream.read(into: &buffer) {
        case .nothing: return
        case .end: isGone = true
        case .octets(let count):
          var received: [[UInt8]] = []
          try framer.receive(buffer.span.extracting(first: count)) { received.append([UInt8](copying: $0)) }
          packets += received
        }
      } catch let error as H4Error {
        require(false, "the radio sends no packets: \(error)")
      } catch {
        isGone = true
      }
    }
  }
}

private struct RadioRun: ~Copyable {
  static let stepLimit = 120
  /// One host less than this harness has.
  static let hostLimit = 4

  var loop: RadioLoop
  let mailbox: RadioLoop.Mailbox
  var now = Instant.start
  var steps = 0
  /// The central, then the peripheral.
  let honest: [RadioHost]
  var handles: [ConnectionHandle] = []
  var addresses: [DeviceAddress] = []
  var hostile: [RadioHost?] = [nil, nil, nil]
  /// The number of the last exchange of the honest hosts.
  var exchanges: UInt32 = 0
  var assembler = ExtendedReportAssembler()
  /// The greatest number of octets in an advertisement of a hostile host that an honest one has received.
  var longestAdvertisement = 0

  init(_ input: inout FuzzInput) throws {
    var settings = RadioService.Settings()
    settings.clientLimit = Self.hostLimit
    settings.pacing =
      switch input.index(3) {
      case 0: .immediate
      case 1: .connectionEvents(packetsPerEvent: 2)
      default: .airtime
      }
    let mailbox = try RadioLoop.Mailbox(commandLimit: RadioLoop.requestLimit, eventBacklogLimit: 1)
    let loop = try RadioLoop(mailbox, settings)
    honest = try [RadioHost.attach(to: mailbox), RadioHost.attach(to: mailbox)]
    self.mailbox = mailbox
    self.loop = loop
  }

  /// Connects the honest hosts.
  mutating func start() throws {
    try turn()
    for index in 0...1 {
      try setUp(index)
      let address = try answer(to: HCI.ReadBDADDR(), from: index).address
      addresses.append(DeviceAddress(octets: address, kind: .public))
    }
    try connect()
  }

  // MARK: The honest hosts

  private mutating func setUp(_ index: Int) throws {
    _ = try answer(to: HCI.Reset(), from: index)
    _ = try answer(to: HCI.SetEventMask { $0.eventMask = .init(rawValue: .max) }, from: index)
    _ = try answer(to: HCI.LESetEventMask { $0.eventMask = .init(rawValue: .max) }, from: index)
  }

  /// Connects the honest hosts. Then the central scans, and the peripheral can be connected to.
  private mutating func connect() throws {
    let parameters = HCI.LESetExtendedAdvertisingParameters {
      $0.advertisingEventProperties = .legacyConnectableUndirected
      ($0.primaryAdvertisingIntervalMin, $0.primaryAdvertisingIntervalMax) = (160, 160)
    }
    _ = try answer(to: parameters, from: 1)
    let enable = HCI.LESetExtendedAdvertisingEnable {
      $0.enable = true
      $0.sets = [.init()]
    }
    _ = try answer(to: enable, from: 1)
    let peer = addresses[1]
    let create = HCI.LEExtendedCreateConnection {
      $0.peerAddress = peer
      $0.initiatingPHYs = .le1M
      $0.initiations = [.init()]
    }
    send(create, from: 0)
    try pass(.seconds(2))
    for index in 0...1 {
      for case let event as HCI.LEEnhancedConnectionComplete in events(index) where event.status == .success {
        handles.append(event.connectionHandle)
      }
    }
    require(handles.count == 2, "the honest hosts are not connected: \(handles)")
    let scan = HCI.LESetExtendedScanParameters {
      $0.scanningPHYs = .le1M
      $0.scans = [.init()]
    }
    _ = try answer(to: scan, from: 0)
    _ = try answer(to: HCI.LESetExtendedScanEnable { $0.enable = true }, from: 0)
    _ = try answer(to: enable, from: 1)
  }

  private func send(_ command: some HCICommand, from index: Int) {
    var octets: [UInt8] = []
    octets.append(hci: command)
    require(honest[index].write(octets), "the radio does not take a command of an honest host")
  }

  private mutating func answer<Command: HCICommand>(
    to command: Command, from index: Int
  ) throws -> Command.Response {
    send(command, from: index)
    try turn()
    for case let event as HCI.CommandComplete in events(index) where event.opcode == Command.opcode {
      return try event.response(to: Command.self)
    }
    require(false, "\(Command.name) of an honest host has no answer")
    return Command.Response()
  }

  /// The events for an honest host since the last call. Its link must not end.
  private mutating func events(_ index: Int) -> [any HCIEventParameters] {
    let packets = honest[index].packets
    honest[index].packets = []
    var events: [any HCIEventParameters] = []
    for packet in packets where packet.first == 4 {
      guard let event = try? HCIEvent(decoding: packet.dropFirst()) else {
        require(false, "not an event: \(packet.hexadecimal)")
        continue
      }
      guard let parameters = event.parameters else { continue }
      if let ended = parameters as? HCI.DisconnectionComplete, handles.indices.contains(index) {
        require(ended.connectionHandle != handles[index], "the link of the honest hosts has ended: \(ended.reason)")
      }
      if let report = parameters as? HCI.LEExtendedAdvertisingReport { receive(report) }
      events.append(parameters)
    }
    return events
  }

  private mutating func receive(_ event: HCI.LEExtendedAdvertisingReport) {
    for report in event.reports {
      guard let whole = assembler.receive(report, now: now) else { continue }
      let count = whole.report.data.count
      require(count <= 1650, "an advertisement of \(count) octets")
      longestAdvertisement = max(longestAdvertisement, count)
    }
  }

  /// Each honest host sends a packet to the other.
  private mutating func exchange() throws {
    exchanges += 1
    var payload: [UInt8] = [4, 0, 0x40, 0]
    payload.append(littleEndian: exchanges)
    for index in 0...1 {
      var packet: [UInt8] = [2]
      packet.append(littleEndian: handles[index].rawValue)
      packet.append(littleEndian: UInt16(payload.count))
      require(honest[index].write(packet + payload), "the radio does not take data of an honest host")
    }
    try turn()
    try pass(.milliseconds(200))
    for index in 0...1 {
      let handle = handles[index].rawValue
      let received = honest[index].packets.filter { packet in
        packet.count > 5 && packet[0] == 2 && UInt16(packet[1]) | UInt16(packet[2] & 0x0F) << 8 == handle
      }
      _ = events(index)
      require(
        received.count == 1 && received[0].dropFirst(5).elementsEqual(payload),
        "exchange \(exchanges) of the honest hosts: \(received.map(\.hexadecimal))")
    }
  }

  // MARK: The hostile hosts

  mutating func step(_ input: inout FuzzInput) throws {
    steps += 1
    let index = input.index(hostile.count)
    if hostile[index] == nil {
      hostile[index] = try RadioHost.attach(to: mailbox)
    } else {
      let action = input.index(16)
      if action == 1 { hostile[index] = nil } else { try perform(action, index, &input) }
    }
    try turn()
    checkHosts()
  }

  private mutating func perform(_ action: Int, _ index: Int, _ input: inout FuzzInput) throws {
    guard let host = hostile[index] else { return }
    switch action {
    case 0: host.write(input.counted())
    case 2, 3: write(command(&input), to: host)
    case 4, 5: initialise(host)
    case 6: advertise(host, &input)
    case 7: scan(host)
    case 8, 9: connect(host, &input)
    case 10, 11:
      let data = input.counted()
      var packet: [UInt8] = [2, 0x40 + input.octet() % 4, [0x00, 0x10, 0x20, 0x30][input.index(4)]]
      packet.append(littleEndian: UInt16(data.count))
      host.write(packet + data)
    case 12: host.write([1, 0x06, 0x04, 3, 0x40 + input.octet() % 4, 0, 0x13])
    case 13: try exchange()
    case 14: try pass(.milliseconds(Int64(input.octet()) * 10))
    default: if input.flag() { read(host) }
    }
  }

  /// Each host that is not disconnected has a controller.
  private mutating func checkHosts() {
    require(loop.clientCount <= Self.hostLimit, "\(loop.clientCount) hosts have a controller")
    if loop.clientCount == honest.count + hostile.count(where: { $0 != nil }) { return }
    for index in hostile.indices {
      guard let host = hostile[index] else { continue }
      read(host)
      if host.isGone { hostile[index] = nil }
    }
    let present = honest.count + hostile.count { $0 != nil }
    require(loop.clientCount == present, "\(loop.clientCount) of \(present) hosts have a controller")
  }

  private func write(_ command: some HCICommand, to host: RadioHost) {
    var octets: [UInt8] = []
    octets.append(hci: command)
    host.write(octets)
  }

  private func command(_ input: inout FuzzInput) -> any HCICommand {
    let types = hciCommands
    func random<Command: HCICommand>(_ type: Command.Type) -> any HCICommand { Command.random(from: &input) }
    return random(types[input.index(types.count)])
  }

  private func initialise(_ host: RadioHost) {
    write(HCI.Reset(), to: host)
    write(HCI.SetEventMask { $0.eventMask = .init(rawValue: .max) }, to: host)
    write(HCI.LESetEventMask { $0.eventMask = .init(rawValue: .max) }, to: host)
  }

  /// Extended advertising with the data in up to seven fragments of one octet value.
  private func advertise(_ host: RadioHost, _ input: inout FuzzInput) {
    let set = input.octet() % 4
    let properties = HCI.AdvertisingEventProperties(rawValue: UInt16(input.octet() & 0x7F))
    let parameters = HCI.LESetExtendedAdvertisingParameters {
      $0.advertisingHandle = set
      $0.advertisingEventProperties = properties
      ($0.primaryAdvertisingIntervalMin, $0.primaryAdvertisingIntervalMax) = (32, 32)
    }
    write(parameters, to: host)
    let fragments = input.index(8)
    for number in 0..<fragments {
      let length = input.octet() % 252
      let data = HCI.LESetExtendedAdvertisingData {
        $0.advertisingHandle = set
        $0.operation =
          fragments == 1 ? .complete : number == 0 ? .first : number == fragments - 1 ? .last : .intermediate
        $0.advertisingData = Bytes(repeating: UInt8(number), count: Int(length))
      }
      write(data, to: host)
    }
    let enable = HCI.LESetExtendedAdvertisingEnable {
      $0.enable = true
      $0.sets = [.init { $0.advertisingHandle = set }]
    }
    write(enable, to: host)
  }

  private func scan(_ host: RadioHost) {
    let parameters = HCI.LESetExtendedScanParameters {
      $0.scanningPHYs = .le1M
      $0.scans = [.init { $0.scanType = .active }]
    }
    write(parameters, to: host)
    write(HCI.LESetExtendedScanEnable { $0.enable = true }, to: host)
  }

  private func connect(_ host: RadioHost, _ input: inout FuzzInput) {
    let peer = input.element(of: addresses)
    let interval = 6 + UInt16(input.octet())
    let create = HCI.LEExtendedCreateConnection {
      $0.peerAddress = peer
      $0.initiatingPHYs = .le1M
      $0.initiations = [
        .init {
          ($0.parameters.connectionIntervalMin, $0.parameters.connectionIntervalMax) = (interval, interval)
        }
      ]
    }
    write(create, to: host)
  }

  /// A host that reads: what it gets are packets.
  private func read(_ host: RadioHost) {
    host.read()
    for packet in host.packets {
      require((try? HCIPacket(decoding: packet[...])) != nil, "not a packet: \(packet.hexadecimal)")
    }
    host.packets = []
  }

  // MARK: Time

  private mutating func turn() throws {
    let now = now
    // What one turn has written can be read by the radio in the next one.
    for _ in 0..<2 { try loop.turn(waitingUntil: .start, now: { now }) }
    for host in honest { host.read() }
    require(!honest.contains { $0.isGone }, "an honest host is disconnected")
  }

  private mutating func pass(_ duration: Duration) throws {
    let end = now + duration
    for _ in 0..<20 {
      guard let due = loop.deadline, due < end else { break }
      now = max(now, due)
      try turn()
    }
    now = end
    try turn()
  }

  /// All hostile hosts leave: the honest ones are served as before, and others find room.
  mutating func finish() throws {
    try exchange()
    for index in hostile.indices { hostile[index] = nil }
    try turn()
    try exchange()
    require(loop.clientCount == honest.count, "\(loop.clientCount) hosts remain")
    for index in 0...1 { _ = try answer(to: HCI.ReadBDADDR(), from: index) }
    plantedFault(
      longestAdvertisement >= 1_000 && exchanges > 2,
      "an advertisement of \(longestAdvertisement) octets is received between the exchanges of a link")
  }
}
