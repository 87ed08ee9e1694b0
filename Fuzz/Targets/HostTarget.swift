import BLEATT
import BLECrypto
import BLEGATT
import BLEHCI
import BLEHost
import BLEL2CAP
import BLESMP
import BLEWire

/// The whole host: packets of a controller that may lie, PDUs of peers that may be hostile, and commands of the
/// application.
func fuzzHost(_ input: inout FuzzInput) {
  var run = HostRun.started(input.octet())
  while !input.isEmpty, run.steps < HostRun.stepLimit { run.step(&input) }
  run.finish()
}

private struct HostRun {
  static let stepLimit = 200

  var core: HostCore
  var controller = FuzzController()
  var output = HostOutput()
  var now = Instant.start
  var steps = 0
  var peers: [LinkID] = []
  var questions: [(LinkID, PairingQuestionID, PairingQuestion)] = []
  var requests: [(LinkID, RequestToken)] = []
  var channels: [L2CAPChannelID] = []
  var lastID: UInt32 = 0
  /// The handles of characteristic values; the Client Characteristic Configuration descriptor of each follows.
  var handles: [UInt16] = []

  /// The hosts that are ready, by their settings: values, which are copied in each run.
  nonisolated(unsafe) private static var ready: [UInt8: HostRun] = [:]

  static func started(_ bits: UInt8) -> HostRun {
    if let run = unsafe ready[bits] { return run }
    let run = HostRun(bits)
    unsafe ready[bits] = run
    return run
  }

  private init(_ bits: UInt8) {
    var configuration = HostConfiguration()
    if bits & 1 != 0 {
      var pairing = PairingSettings()
      pairing.ioCapability = IOCapability(rawValue: (bits >> 2) % 5)
      pairing.identityResolvingKey = SecretKey(1)
      configuration.pairing = pairing
    }
    if bits & 2 != 0 { configuration.ownership = .sharedWithKernel }
    if bits & 0x40 != 0 { configuration.enhancedBearers = 3 }
    controller.isExtended = bits & 0x80 != 0
    core = HostCore(configuration: configuration, cryptography: LibCrypto(), random: .seeded(1))
    core.start(now: now, into: &output)
    settle()
    for service in TestDatabase.services { perform(.services(.add(service))) }
  }

  mutating func step(_ input: inout FuzzInput) {
    steps += 1
    let handle = 0x40 + UInt16(input.index(4))
    switch input.index(20) {
    case 0: receive([input.octet()] + input.counted())
    case 1: receive(event(&input))
    case 2: connect(handle, &input)
    case 3: receive(HCI.DisconnectionComplete { $0.connectionHandle = ConnectionHandle(rawValue: handle) })
    case 4, 5, 6: frame(handle, 4, attribute(&input))
    case 7: frame(handle, 5, [input.octet(), 1 + input.octet() % 5] + lengthAndOctets(&input))
    case 8: frame(handle, 6, input.counted())
    case 9: frame(handle, 0x40 + UInt16(input.index(4)), input.counted())
    case 10: receive([0x02] + octets(handle | UInt16(input.index(4)) << 12) + lengthAndOctets(&input))
    case 11: controller.refuses = input.octet() % 4 == 0 ? .commandDisallowed : nil
    case 12:
      now = now + .milliseconds(Int64(input.uint16()))
      tick()
    case 13: secure(handle, &input)
    case 14, 15, 16: perform(command(&input))
    case 17: answer(&input)
    case 18: controller.completesPackets = input.octet() % 4 != 0
    default:
      if input.octet() % 4 == 0 {
        core.transportFailed(.transport("lost"), now: now, into: &output)
        settle()
        core.start(now: now, into: &output)
        settle()
      }
    }
  }

  private func octets(_ number: UInt16) -> [UInt8] {
    [UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: number >> 8)]
  }

  private func lengthAndOctets(_ input: inout FuzzInput) -> [UInt8] {
    let contents = input.counted()
    return octets(UInt16(contents.count)) + contents
  }

  private mutating func connect(_ handle: UInt16, _ input: inout FuzzInput) {
    let bits = input.octet()
    receive(
      HCI.LEConnectionComplete {
        $0.connectionHandle = ConnectionHandle(rawValue: handle)
        $0.role = bits & 1 == 0 ? .peripheral : .central
        $0.peerAddress = DeviceAddress(octets: BD_ADDR(0xC0_00_00_00_00_00 | UInt64(bits & 6)), kind: .random)
        $0.connectionInterval = 24
        $0.supervisionTimeout = 500
      })
  }

  /// An ATT PDU with an opcode that exists.
  private func attribute(_ input: inout FuzzInput) -> [UInt8] {
    switch input.index(6) {
    case 0: [0x02] + octets(input.uint16())
    case 1: [0x12] + octets((handles.isEmpty ? 0 : input.element(of: handles)) + 1) + [UInt8(input.index(3)), 0]
    case 2: [0x1E]
    case 3:
      ATT.packets[input.index(ATT.packets.count)].opcode.rawValue == 0
        ? [] : [ATT.packets[input.index(ATT.packets.count)].opcode.rawValue] + input.counted()
    case 4: [0x12] + octets(UInt16(input.index(64))) + input.counted()
    default: [0x08, 1, 0, 0xFF, 0xFF] + octets(input.uint16())
    }
  }

  /// An event with well-formed parameters.
  private func event(_ input: inout FuzzInput) -> [UInt8] {
    let all = hciEvents
    func packet<Event: HCIEventParameters>(_ type: Event.Type) -> [UInt8] {
      var octets: [UInt8] = []
      octets.append(hci: Event.random(from: &input))
      return octets
    }
    return packet(all[input.index(all.count)])
  }

  private mutating func secure(_ handle: UInt16, _ input: inout FuzzInput) {
    let handle = ConnectionHandle(rawValue: handle)
    switch input.index(4) {
    case 0: receive(HCI.LELongTermKeyRequest { $0.connectionHandle = handle })
    case 1:
      receive(
        HCI.EncryptionChange {
          ($0.connectionHandle, $0.encryptionEnabled) = (handle, .on)
        })
    case 2: receive(HCI.EncryptionKeyRefreshComplete { $0.connectionHandle = handle })
    default:
      guard let peer = peers.last else { return }
      perform(.link(peer, .requestSecurity))
    }
  }

  private mutating func answer(_ input: inout FuzzInput) {
    if let (peer, id, question) = questions.popLast() {
      let answer: PairingAnswer =
        switch (question, input.index(4)) {
        case (_, 0): .reject
        case (.enterPasskey, _): .passkey(Passkey(lowestDigitsOf: UInt32(input.uint16())))
        default: .accept
        }
      perform(.link(peer, .answerPairing(id, answer)))
    } else if let (peer, token) = requests.popLast() {
      perform(.respond(peer, token, input.flag() ? .success(input.counted()) : .failure(.unlikelyError)))
    }
  }

  private mutating func command(_ input: inout FuzzInput) -> HostCommand {
    lastID += 1
    let peer = peers.isEmpty ? LinkID(rawValue: 9) : input.element(of: peers)
    switch input.index(22) {
    case 0: return .services(.remove(input.element(of: TestDatabase.services).id))
    case 1: return .services(.add(input.element(of: TestDatabase.services)))
    case 2: return .services(.setValue(AttributeID(rawValue: UInt32(input.index(20))), input.counted()))
    case 3:
      return .advertising(
        .start(AdvertisingID(rawValue: 1), AdvertisingIntent(data: input.counted(), scanResponse: [])))
    case 4: return .advertising(.stop(AdvertisingID(rawValue: 1)))
    case 5, 6:
      return update(&input, number: lastID, to: peers)
    case 7: return .link(peer, .disconnect(.remoteUserTerminatedConnection))
    case 8: return .link(peer, .updateConnection(ConnectionParameters(latency: input.uint16() % 600)))
    case 9: return .link(peer, .readRSSI)
    case 10: return .scanning(.start(ScanParameters()))
    case 11: return .scanning(.stop)
    case 12:
      let address = DeviceAddress(octets: BD_ADDR(0xC0_00_00_00_00_00 | UInt64(input.index(8))), kind: .random)
      return .initiating(.connect(ConnectID(rawValue: lastID), address, ConnectionParameters()))
    case 13: return .initiating(.cancel(ConnectID(rawValue: UInt32(input.octet()))))
    case 14, 15: return .link(peer, .client(GATTClient.Operation(id: .init(rawValue: lastID), operation(&input))))
    case 16:
      return .channels(
        .listen(ListenID(rawValue: lastID), ChannelService(spsm: SPSM(rawValue: 0x80 + UInt16(input.index(2))))))
    case 17: return .channels(.open(OpenChannelID(rawValue: lastID), peer, ChannelRequest(spsm: SPSM(rawValue: 0x80))))
    case 18: return channels.last.map { .channel($0, .send(input.counted())) } ?? .reportCapabilities
    case 19:
      return channels.last.map { input.flag() ? .channel($0, .close) : .channel($0, .didRead) }
        ?? .channels(.stopListening(SPSM(rawValue: 0x80)))
    case 20:
      return .security(
        .removeBond(DeviceAddress(octets: BD_ADDR(0xC0_00_00_00_00_00 | UInt64(input.index(8))), kind: .random)))
    default: return .link(peer, .secure(SecurityDemand(level: input.flag() ? .encrypted : .authenticated)))
    }
  }

  private func operation(_ input: inout FuzzInput) -> GATTClient.Operation.Kind {
    switch input.index(5) {
    case 0: .exchangeMTU(517)
    case 1: .discoverPrimaryServices
    case 2: .readLong(AttributeHandle(rawValue: input.uint16()))
    case 3: .write(AttributeHandle(rawValue: input.uint16()), input.counted())
    default: .subscribeToServiceChanged
    }
  }

  private mutating func frame(_ handle: UInt16, _ channel: UInt16, _ payload: [UInt8]) {
    receive(
      [0x02] + octets(handle | 0x2000) + octets(UInt16(payload.count + 4)) + octets(UInt16(payload.count))
        + octets(channel)
        + payload)
  }

  private mutating func receive(_ event: some HCIEventParameters) {
    var packet: [UInt8] = []
    packet.append(hci: event)
    receive(packet)
  }

  private mutating func receive(_ packet: [UInt8]) {
    core.receive(packet.span, now: now, into: &output)
    settle()
  }

  private mutating func perform(_ command: HostCommand) {
    core.perform(command, from: .process, now: now, into: &output)
    settle()
  }

  private mutating func tick() {
    for _ in 0..<100 {
      guard let deadline = core.deadline, deadline <= now else { return }
      core.tick(now: now, into: &output)
      settle()
    }
    require(false, "the deadline \(String(describing: core.deadline)) stays in the past")
  }

  /// Passes packets between host and controller until both are quiet, and checks each.
  private mutating func settle() {
    for _ in 0..<1000 where !output.packets.isEmpty || !output.events.isEmpty || !output.kernelCommands.isEmpty {
      var drained = HostOutput()
      swap(&drained, &output)
      require(drained.packets.count <= 2000, "\(drained.packets.count) packets of one call")
      require(drained.events.count <= 2000, "\(drained.events.count) events of one call")
      for addressed in drained.events { note(addressed.event) }
      for index in 0..<drained.packets.count {
        let packet = Array(drained.packets[index])
        for answer in controller.receive(packet) { core.receive(answer.span, now: now, into: &output) }
      }
    }
    require(output.packets.isEmpty, "host and controller do not become quiet")
  }

  private mutating func note(_ event: HostEvent) {
    switch event {
    case .services(.added(_, .success(let service))):
      handles = (handles + service.attributes.values.map(\.rawValue).sorted()).suffix(60)
    case .connected(let connection): peers = peers.suffix(7) + [connection.peer]
    case .link(let peer, .disconnected(_)):
      peers.removeAll { $0 == peer }
      questions.removeAll { $0.0 == peer }
      requests.removeAll { $0.0 == peer }
    case .pairing(let peer, .question(let id, let question)): questions = questions.suffix(7) + [(peer, id, question)]
    case .server(let peer, .read(let token, _, _)): requests = requests.suffix(15) + [(peer, token)]
    case .server(let peer, .write(let token, _)): requests = requests.suffix(15) + [(peer, token)]
    case .channels(.opened(let channel)): channels = channels.suffix(7) + [channel.id]
    case .channel(let id, .closed(_)): channels.removeAll { $0 == id }
    default: break
    }
  }

  /// Whatever happened, a new link is served.
  mutating func finish() {
    controller.refuses = nil
    controller.completesPackets = true
    for handle in 0x40...0x44 as ClosedRange<UInt16> {
      receive(HCI.DisconnectionComplete { $0.connectionHandle = ConnectionHandle(rawValue: handle) })
    }
    now = now + .seconds(60)
    tick()
    guard core.state == .poweredOn, core.linkCount == 0 else { return }
    receive(
      HCI.LEConnectionComplete {
        $0.connectionHandle = ConnectionHandle(rawValue: 0x44)
        $0.role = .peripheral
        $0.peerAddress = DeviceAddress(octets: BD_ADDR(0xC0_99_00_00_00_01), kind: .random)
        $0.connectionInterval = 24
        $0.supervisionTimeout = 500
      })
    guard core.linkCount == 1 else { return }
    controller.sentPDUs = []
    frame(0x44, 4, [0x08, 1, 0, 0xFF, 0xFF, 0x00, 0x2A])
    require(controller.sentPDUs.contains { $0.first == 0x09 }, "a new link is not served: \(controller.sentPDUs)")
  }
}

/// Each event with a declaration, by its code.
let hciEvents: [any HCIEventParameters.Type] =
  HCI.events.values.sorted { $0.eventCode.rawValue < $1.eventCode.rawValue }
  + HCI.leEvents.values.sorted { $0.subeventCode.rawValue < $1.subeventCode.rawValue }

/// The command of an application that sends a value of one of the first eight attributes to all subscribers.
func update(_ input: inout FuzzInput, number: UInt32, to peers: [LinkID]) -> HostCommand {
  .update(
    UpdateToken(rawValue: UInt64(number)), AttributeID(rawValue: UInt32(1 + input.index(8))),
    [UInt8](repeating: 5, count: Int(input.octet())), to: peers)
}

/// A controller that answers each command, and checks each packet of the host.
struct FuzzController {
  /// The octets of data in one ACL packet, and the number of buffers for them.
  var buffers: (length: Int, count: UInt8) = (27, 4)

  var refuses: HCIErrorCode?
  var completesPackets = true
  var isExtended = false
  /// Links whose packets stay in the buffers, with their number.
  var stalled: [ConnectionHandle: UInt16] = [:]
  /// Whether ``data`` and ``ended`` are kept.
  var keepsData = false
  /// The ACL packets of the host.
  var data: [HCIACLDataPacket] = []
  /// The links that the host ends.
  var ended: [ConnectionHandle] = []
  /// The payloads of L2CAP frames that begin in a packet.
  var sentPDUs: [[UInt8]] = []

  mutating func receive(_ octets: [UInt8]) -> [[UInt8]] {
    guard let packet = try? HCIPacket(decoding: octets[...]) else {
      require(false, "not a packet: \(octets.hexadecimal)")
      return []
    }
    switch packet {
    case .command(let command): return [answer(command)]
    case .aclData(let data):
      require(data.data.count <= buffers.length, "an ACL packet of \(data.data.count) octets")
      if keepsData { self.data.append(data) }
      if data.packetBoundaryFlag == .firstNonFlushable {
        sentPDUs = sentPDUs.suffix(31) + [Array(data.data.dropFirst(4))]
        plantedFault(
          data.data.count > 20 && data.data.dropFirst(4).first == 0x1B, "a notification of more than 12 octets")
      }
      guard completesPackets else { return [] }
      if let count = stalled[data.connectionHandle] {
        let all = stalled.values.reduce(1, +)
        require(all <= UInt16(buffers.count), "\(all) packets for \(buffers.count) buffers")
        stalled[data.connectionHandle] = count + 1
        return []
      }
      return [completed(1, of: data.connectionHandle)]
    case .event, .synchronousData, .isoData:
      require(false, "a host sent \(octets.hexadecimal)")
      return []
    }
  }

  /// The packets of a link leave the buffers again.
  mutating func resume(_ handle: ConnectionHandle) -> [UInt8] {
    completed(stalled.removeValue(forKey: handle) ?? 0, of: handle)
  }

  private func completed(_ count: UInt16, of handle: ConnectionHandle) -> [UInt8] {
    encoded(
      HCI.NumberOfCompletedPackets {
        $0.links = [
          HCI.CompletedPackets {
            $0.connectionHandle = handle
            $0.numCompletedPackets = count
          }
        ]
      })
  }

  private func encoded(_ event: some HCIEventParameters) -> [UInt8] {
    var packet: [UInt8] = []
    packet.append(hci: event)
    return packet
  }

  private mutating func answer(_ command: HCICommandPacket) -> [UInt8] {
    if let type = HCI.commands[command.opcode] {
      let decoded = try? type.init(decoding: command.parameters)
      require(decoded != nil, "malformed: \(command.opcode)")
      if keepsData, let disconnect = decoded as? HCI.Disconnect { ended.append(disconnect.connectionHandle) }
      if type.isAnsweredByStatus {
        return encoded(
          HCI.CommandStatus {
            $0.opcode = command.opcode
            $0.status = refuses ?? .success
          })
      }
    }
    let returned = refuses.map { [$0.rawValue] } ?? response(to: command.opcode)
    return encoded(
      HCI.CommandComplete {
        ($0.opcode, $0.returnParameters) = (command.opcode, returned[...])
      })
  }

  private func response(to opcode: HCIOpcode) -> [UInt8] {
    switch opcode {
    case .readBDADDR: return HCI.ReadBDADDR.Response { $0.address = BD_ADDR(0x0011_2233_4455) }.encoded
    case .readLocalSupportedCommands:
      return HCI.ReadLocalSupportedCommands.Response {
        if isExtended { $0.supportedCommands = .all }
      }.encoded
    case .readLocalVersionInformation: return HCI.ReadLocalVersionInformation.Response { $0.hciVersion = 13 }.encoded
    case .leReadLocalSupportedFeatures:
      return HCI.LEReadLocalSupportedFeatures.Response { $0.features = [.encryption] }.encoded
    case .leReadBufferSize:
      return HCI.LEReadBufferSize.Response {
        ($0.aclDataPacketLength, $0.totalNumACLDataPackets) = (UInt16(buffers.length), buffers.count)
      }.encoded
    case .leReadBufferSizeV2:
      return HCI.LEReadBufferSizeV2.Response {
        ($0.aclDataPacketLength, $0.totalNumACLDataPackets) = (UInt16(buffers.length), buffers.count)
      }.encoded
    case .leReadFilterAcceptListSize:
      return HCI.LEReadFilterAcceptListSize.Response { $0.filterAcceptListSize = 8 }.encoded
    case .leReadResolvingListSize: return HCI.LEReadResolvingListSize.Response { $0.resolvingListSize = 4 }.encoded
    default:
      func encoded<Command: HCICommand>(_ type: Command.Type) -> [UInt8] { Command.Response().encoded }
      return HCI.commands[opcode].map { encoded($0) } ?? [0]
    }
  }
}
