import BLECrypto
import BLEGATT
import BLEHCI
import BLEHost
import BLESMP
import BLEWire

/// A controller that a test plays by hand: it answers what it is told to answer and remembers every command.
///
/// The answers come from the declared packets; what they mean is fixed here, so a test of the host never depends on the
/// virtual radio.
struct ScriptedController {
  var supported = HCI.SupportedCommands()
  /// None: the features say nothing about LE.
  var lmpFeatures: HCI.LMPFeatures = []
  var leFeatures: HCI.LEFeatures = [.encryption]
  /// The features beyond the first 64.
  var furtherFeatures: HCI.LEFurtherFeatures = []
  /// The shortest interval of connection rates in units of 125 us.
  var shortestInterval: UInt8 = 8
  var publicAddress = BD_ADDR(0x0011_2233_4455)
  var aclLength: UInt16 = 27
  var aclCount: UInt8 = 4
  var resolvingListSize: UInt8 = 0
  /// The longest packets to send, in octets and microseconds.
  var maximumDataLength: (octets: UInt16, time: UInt16)?
  /// Status to answer a command with; success where none is named.
  var refusals: [HCIOpcode: HCIErrorCode] = [:]
  /// Commands that get no answer at all.
  var silent: Set<HCIOpcode> = []
  /// Every command received, in order.
  var commands: [HCICommandPacket] = []

  /// What the controller says to one command.
  mutating func answer(_ command: HCICommandPacket) -> [[UInt8]] {
    commands.append(command)
    guard !silent.contains(command.opcode) else { return [] }
    if let refusal = refusals[command.opcode] {
      return Self.byStatus.contains(command.opcode)
        ? [Self.status(command.opcode, refusal)] : [Self.complete(command.opcode, [refusal.rawValue])]
    }
    if Self.byStatus.contains(command.opcode) { return [Self.status(command.opcode, .success)] }
    return [Self.complete(command.opcode, returned(by: command.opcode))]
  }

  private func returned(by opcode: HCIOpcode) -> [UInt8] {
    if opcode == .leReadMaximumDataLength, let longest = maximumDataLength {
      let response = HCI.LEReadMaximumDataLength.Response {
        ($0.supportedMaxTXOctets, $0.supportedMaxTXTime) = longest
      }
      return response.encoded
    }
    return switch opcode {
    case .readBDADDR: HCI.ReadBDADDR.Response { $0.address = publicAddress }.encoded
    case .readLocalSupportedCommands:
      HCI.ReadLocalSupportedCommands.Response { $0.supportedCommands = supported }.encoded
    case .readLocalVersionInformation: HCI.ReadLocalVersionInformation.Response { $0.hciVersion = 13 }.encoded
    case .readLocalSupportedFeatures: HCI.ReadLocalSupportedFeatures.Response { $0.features = lmpFeatures }.encoded
    case .leReadLocalSupportedFeatures: HCI.LEReadLocalSupportedFeatures.Response { $0.features = leFeatures }.encoded
    case .leReadAllLocalSupportedFeatures:
      HCI.LEReadAllLocalSupportedFeatures.Response {
        $0.maxPage = 1
        ($0.features.features, $0.features.furtherFeatures) = (leFeatures, furtherFeatures)
      }.encoded
    case .leReadMinimumSupportedConnectionInterval:
      HCI.LEReadMinimumSupportedConnectionInterval.Response {
        $0.minimumSupportedConnectionInterval = shortestInterval
        $0.groups = [HCI.ConnectionIntervalGroup { ($0.groupMin, $0.groupMax, $0.groupStride) = (8, 32_000, 1) }]
      }.encoded
    case .leReadBufferSize:
      HCI.LEReadBufferSize.Response {
        $0.aclDataPacketLength = aclLength
        $0.totalNumACLDataPackets = aclCount
      }.encoded
    case .readRSSI: HCI.ReadRSSI.Response { $0.rssi = -42 }.encoded
    case .leReadFilterAcceptListSize:
      HCI.LEReadFilterAcceptListSize.Response { $0.filterAcceptListSize = 8 }.encoded
    case .leReadResolvingListSize:
      HCI.LEReadResolvingListSize.Response { $0.resolvingListSize = resolvingListSize }.encoded
    default: [0]
    }
  }

  static let byStatus: Set<HCIOpcode> = [
    .leEnableEncryption, .leSetPHY,
    .leReadAllRemoteFeatures, .leConnectionRateRequest,
    .disconnect, .leCreateConnection, .leExtendedCreateConnection, .leConnectionUpdate, .leReadRemoteFeatures,
    .leReadRemoteTransmitPowerLevel,
  ]

  static func complete(_ opcode: HCIOpcode, _ returned: [UInt8], credits: UInt8 = 1) -> [UInt8] {
    var packet: [UInt8] = []
    packet.append(
      hci: HCI.CommandComplete {
        $0.numHCICommandPackets = credits
        $0.opcode = opcode
        $0.returnParameters = returned[...]
      })
    return packet
  }

  static func status(_ opcode: HCIOpcode, _ status: HCIErrorCode) -> [UInt8] {
    var packet: [UInt8] = []
    packet.append(
      hci: HCI.CommandStatus {
        $0.opcode = opcode
        $0.status = status
      })
    return packet
  }

  static func packet(_ event: some LEEventParameters) -> [UInt8] {
    var packet: [UInt8] = []
    packet.append(hci: event)
    return packet
  }

  /// A central has connected.
  static func connected(_ handle: UInt16, from address: String = "C0:11:22:33:44:55") -> [UInt8] {
    var packet: [UInt8] = []
    packet.append(
      hci: HCI.LEConnectionComplete {
        $0.connectionHandle = ConnectionHandle(rawValue: handle)
        $0.role = .peripheral
        $0.peerAddress = DeviceAddress(address, kind: .random) ?? DeviceAddress(octets: BD_ADDR(), kind: .random)
        $0.connectionInterval = 24
        $0.supervisionTimeout = 500
      })
    return packet
  }

  /// We have connected to a peripheral.
  static func connectedAsCentral(_ handle: UInt16, to address: DeviceAddress) -> [UInt8] {
    var packet: [UInt8] = []
    packet.append(
      hci: HCI.LEConnectionComplete {
        $0.connectionHandle = ConnectionHandle(rawValue: handle)
        $0.role = .central
        $0.peerAddress = address
        $0.connectionInterval = 24
        $0.supervisionTimeout = 500
      })
    return packet
  }

  static func disconnected(_ handle: UInt16, _ reason: HCIErrorCode = .remoteUserTerminatedConnection) -> [UInt8] {
    var packet: [UInt8] = []
    packet.append(
      hci: HCI.DisconnectionComplete {
        $0.connectionHandle = ConnectionHandle(rawValue: handle)
        $0.reason = reason
      })
    return packet
  }

  static func completedPackets(_ handle: UInt16, _ count: UInt16) -> [UInt8] {
    var packet: [UInt8] = []
    packet.append(
      hci: HCI.NumberOfCompletedPackets {
        $0.links = [
          HCI.CompletedPackets {
            $0.connectionHandle = ConnectionHandle(rawValue: handle)
            $0.numCompletedPackets = count
          }
        ]
      })
    return packet
  }

  /// An ACL packet that holds one whole L2CAP frame.
  static func frame(_ handle: UInt16, cid: UInt16, _ payload: [UInt8]) -> [UInt8] {
    var packet: [UInt8] = [HCIPacketType.aclData.rawValue]
    packet.append(littleEndian: handle | 0b10 << 12)
    packet.append(littleEndian: UInt16(payload.count + 4))
    packet.append(littleEndian: UInt16(payload.count))
    packet.append(littleEndian: cid)
    return packet + payload
  }
}

/// One host and its scripted controller on one virtual clock.
struct Bench {
  var core: HostCore
  var controller: ScriptedController
  private(set) var now = Instant.start
  private(set) var events: [HostEvent] = []
  /// The recipient of each event.
  private(set) var recipients: [Recipient] = []
  /// What it asked of the kernel's security manager.
  private var directives: [KernelCommand] = []
  /// The links that are up.
  private(set) var peers: [LinkID] = []
  /// ACL packets the host sent, whole, in order.
  private(set) var data: [[UInt8]] = []
  /// Give buffers back as soon as a packet arrives.
  var completesPackets = true
  private var output = HostOutput()
  /// Every packet, event and request to the kernel's security manager, where a test records them.
  var transcript: Transcript?

  init(_ controller: ScriptedController = ScriptedController(), configuration: HostConfiguration = HostConfiguration())
  {
    self.controller = controller
    core = HostCore(configuration: configuration, cryptography: LibCrypto(), random: .seeded(1))
    core.start(now: now, into: &output)
    settle()
  }

  mutating func perform(_ command: HostCommand, from owner: OwnerID = .process) {
    core.perform(command, from: owner, now: now, into: &output)
    settle()
  }

  /// Hands values of one attribute over for all links, as a run.
  mutating func update(_ attribute: AttributeID, _ values: [[UInt8]], from owner: OwnerID = .process) {
    let (lengths, octets) = (values.map(\.count), values.flatMap { $0 })
    let run = UpdateRun(of: attribute, from: owner, to: peers, count: values.count, octets: octets.count)
    core.update(run, lengths.span, octets.span, now: now, into: &output)
    settle()
  }

  mutating func attach(_ owner: OwnerID) {
    core.attach(owner, now: now, into: &output)
    settle()
  }

  mutating func detach(_ owner: OwnerID) {
    core.detach(owner, now: now, into: &output)
    settle()
  }

  mutating func receive(_ packet: [UInt8]) {
    core.receive(packet.span, now: now, into: &output)
    settle()
  }

  /// Sends ATT octets from the peer and returns what the host answers on that channel, without headers.
  mutating func att(_ handle: UInt16, _ pdu: [UInt8]) -> [[UInt8]] {
    let before = data.count
    receive(ScriptedController.frame(handle, cid: 4, pdu))
    return attPayloads(from: before)
  }

  /// ATT PDUs in the ACL packets from `index` on, put together.
  func attPayloads(from index: Int) -> [[UInt8]] {
    var payloads: [[UInt8]] = []
    for packet in data.dropFirst(index) {
      if packet[2] >> 4 & 0b11 == 0b01 {
        payloads[payloads.count - 1] += packet.dropFirst(5)
      } else {
        payloads.append(Array(packet.dropFirst(9)))
      }
    }
    return payloads
  }

  /// Lets time pass; it jumps from deadline to deadline.
  mutating func run(for duration: Duration) {
    let end = now + duration
    while let next = core.deadline, next <= end {
      now = max(now, next)
      core.tick(now: now, into: &output)
      settle()
    }
    now = end
  }

  mutating func failTransport(_ error: HostError) {
    core.transportFailed(error, now: now, into: &output)
    settle()
  }

  mutating func restart() {
    core.start(now: now, into: &output)
    settle()
  }

  mutating func shutdown() {
    core.shutdown(now: now, into: &output)
    settle()
  }

  /// Lets the kernel's security manager say something.
  mutating func hear(_ report: KernelReport) {
    core.receive(report, now: now, into: &output)
    settle()
  }

  mutating func takeDirectives() -> [KernelCommand] {
    defer { directives = [] }
    return directives
  }

  mutating func takeEvents() -> [HostEvent] {
    defer { (events, recipients) = ([], []) }
    return events
  }

  mutating func takeAddressed() -> [(HostEvent, Recipient)] {
    let recipients = recipients
    return Array(zip(takeEvents(), recipients))
  }

  /// Hands packets to and fro until nobody has anything to say.
  private mutating func settle() {
    while !output.packets.isEmpty || !output.events.isEmpty || !output.kernelCommands.isEmpty {
      var drained = HostOutput()
      swap(&drained, &output)
      events += drained.events.map(\.event)
      recipients += drained.events.map(\.recipient)
      directives += drained.kernelCommands
      for addressed in drained.events {
        peers.note(addressed.event)
        transcript?.reported(addressed.event, by: 0)
      }
      for directive in drained.kernelCommands { transcript?.asked(directive, by: 0) }
      for index in 0..<drained.packets.count {
        let packet = Array(drained.packets[index])
        transcript?.sent(packet, by: 0)
        if packet.first == HCIPacketType.command.rawValue,
          let command = try? HCICommandPacket(decoding: packet.dropFirst())
        {
          for answer in controller.answer(command) { core.receive(answer.span, now: now, into: &output) }
        } else {
          data.append(packet)
          let handle = UInt16(packet[1]) | UInt16(packet[2] & 0x0F) << 8
          if completesPackets {
            core.receive(ScriptedController.completedPackets(handle, 1).span, now: now, into: &output)
          }
        }
      }
    }
  }
}

extension [LinkID] {
  /// Keeps a list of the links that are up.
  mutating func note(_ event: HostEvent) {
    switch event {
    case .connected(let connection) where !contains(connection.peer): append(connection.peer)
    case .link(let peer, .disconnected(_)): removeAll { $0 == peer }
    default: break
    }
  }
}
