import BLEHCI
import BLEHost
import BLEL2CAP
import BLESMP
import BLEWire

@testable import BLEKernel

/// The translator of the kernel's sockets: messages of each socket, results of each action, and packets of the host.
func fuzzKernel(_ input: inout FuzzInput) {
  var run = KernelRun(&input)
  while !input.isEmpty, run.steps < KernelRun.stepLimit { run.step(&input) }
}

private struct KernelRun {
  static let stepLimit = 300

  var translator: KernelTranslator
  var output = KernelOutput()
  var now = Instant.start
  var steps = 0
  var sockets: [ChannelSocketID] = []
  /// The frames of the host on each link, and those that were reported as completed.
  var frames: [ConnectionHandle: Int] = [:]
  var completed: [ConnectionHandle: Int] = [:]

  init(_ input: inout FuzzInput) {
    let bits = input.octet()
    let adapter = AdapterInformation(
      index: 0, address: BD_ADDR(bits & 1 == 0 ? 0x00AA_0100_0000 : 0), supported: [.powered, .lowEnergy],
      current: [.powered, .lowEnergy])
    translator = KernelTranslator(
      adapter, named: "linux:hci0", hasListener: bits & 2 == 0, isPairedByDaemon: bits & 4 != 0)
    if bits & 8 != 0 { openLink() }
  }

  mutating func step(_ input: inout FuzzInput) {
    steps += 1
    let handle = ConnectionHandle(rawValue: 0x40 + UInt16(input.index(4)))
    switch input.index(18) {
    case 0:
      let message = [4] + input.counted()
      translator.receive(event: message.span, now: now, into: &output)
    case 1, 2: receive(event(handle, &input))
    case 3: connect(handle, &input)
    case 4:
      let message = input.counted()
      translator.receive(management: message.span, now: now, into: &output)
    case 5: management(&input)
    case 6, 7: translator.receive(socketEvent(handle, &input), now: now, into: &output)
    case 8:
      let pdu = input.counted()
      translator.receive(pdu: pdu.span, on: handle, into: &output)
    case 9, 10: send(handle, &input)
    case 11: wakeUp(handle)
    case 12: if let id = translator.takeChannelSocket(on: handle) { sockets = sockets.suffix(15) + [id] }
    case 13, 14: channel(&input)
    case 15: perform(handle, &input)
    case 16:
      now = now + .milliseconds(Int64(input.uint16()))
      translator.tick(now: now, into: &output)
    default: translator.reportCompleted(into: &output)
    }
    check(&input)
  }

  /// A link whose socket is open.
  private mutating func openLink() {
    let handle = ConnectionHandle(rawValue: 0x40)
    let peer = DeviceAddress(octets: BD_ADDR(1), kind: .public)
    receive(
      packet(
        HCI.LEConnectionComplete {
          ($0.connectionHandle, $0.role, $0.peerAddress) = (handle, .peripheral, peer)
          ($0.connectionInterval, $0.supervisionTimeout) = (40, 500)
        }))
    translator.receive(.accepted(handle, from: peer), now: now, into: &output)
    translator.receive(.security(handle, SocketSecurity(level: .low, keySize: 0)), now: now, into: &output)
  }

  private mutating func receive(_ packet: [UInt8]) { translator.receive(event: packet.span, now: now, into: &output) }

  private func packet(_ event: some HCIEventParameters) -> [UInt8] {
    var octets: [UInt8] = []
    octets.append(hci: event)
    return octets
  }

  private func peer(_ input: inout FuzzInput) -> DeviceAddress {
    DeviceAddress(
      octets: BD_ADDR(0x4000_0000_0000 * UInt64(input.index(4)) | 1), kind: input.flag() ? .random : .public)
  }

  private mutating func connect(_ handle: ConnectionHandle, _ input: inout FuzzInput) {
    let (isCentral, peer) = (input.flag(), peer(&input))
    if isCentral { command(HCI.LECreateConnection { $0.peerAddress = peer }) }
    receive(
      packet(
        HCI.LEConnectionComplete {
          ($0.connectionHandle, $0.role, $0.peerAddress) = (handle, isCentral ? .central : .peripheral, peer)
          ($0.connectionInterval, $0.supervisionTimeout) = (40, 500)
        }))
  }

  private mutating func command(_ command: some HCICommand) {
    var octets: [UInt8] = []
    octets.append(hci: command)
    translator.send(octets.span, now: now, into: &output)
  }

  private func event(_ handle: ConnectionHandle, _ input: inout FuzzInput) -> [UInt8] {
    switch input.index(6) {
    case 0: packet(HCI.DisconnectionComplete { $0.connectionHandle = handle })
    case 1: packet(HCI.EncryptionChange { $0.connectionHandle = handle })
    case 2: packet(HCI.EncryptionKeyRefreshComplete { $0.connectionHandle = handle })
    case 3:
      packet(
        HCI.CommandComplete {
          $0.opcode = input.element(of: [HCIOpcode.leReadBufferSize, .leSetScanEnable, KernelDiscovery.Probe.opcode])
          $0.returnParameters = input.take(input.index(8))[...]
        })
    case 4: packet(HCI.LEEnhancedConnectionComplete.random(from: &input))
    default: packet(HCI.CommandStatus.random(from: &input))
    }
  }

  private mutating func management(_ input: inout FuzzInput) {
    var message = ManagementMessage()
    (message.code, message.index) = (UInt16(1 + input.index(0x30)), input.octet() == 255 ? 1 : 0)
    message.parameters = input.counted()[...]
    let octets = message.encoded
    translator.receive(management: octets.span, now: now, into: &output)
  }

  private func socketEvent(_ handle: ConnectionHandle, _ input: inout FuzzInput) -> SocketEvent {
    switch input.index(13) {
    case 0: return .accepted(handle, from: peer(&input))
    case 1: return .connected(handle, .pending)
    case 2: return .connected(handle, .busy)
    case 3: return .connected(handle, .failed)
    case 4: return .readable(handle)
    case 5: return .writable(handle)
    case 6: return .failed(handle)
    case 7: return .drained(handle)
    case 8: return .eventsRead
    case 9: return .listenerReplaced(daemonRuns: input.flag())
    case 10:
      return .security(
        handle,
        input.flag()
          ? nil
          : SocketSecurity(level: SocketSecurity.Level(kernel: 1 + input.octet() % 4), keySize: input.octet() % 17))
    case 11: return .raised(handle, isPending: input.flag())
    default: return input.flag() ? .daemon(isRunning: input.flag()) : .listeningFailed(SPSM(rawValue: 0x80), 13)
    }
  }

  /// Packets of the host: ATT PDUs, signalling, frames of channels, commands.
  private mutating func send(_ handle: ConnectionHandle, _ input: inout FuzzInput) {
    switch input.index(5) {
    case 0, 1: frame(handle, .attributeProtocol, [0x1B] + input.counted())
    case 2: frame(handle, .signalling, signalling(&input))
    case 3: frame(handle, ChannelID(rawValue: 0x40 + UInt16(input.index(4))), input.counted())
    default:
      let packet = input.counted()
      translator.send(packet.span, now: now, into: &output)
      // The octets may be a frame on any link.
      if packet.first == 2 {
        for number in 0...0xEFF as ClosedRange<UInt16> { frames[ConnectionHandle(rawValue: number), default: 0] += 1 }
      }
    }
  }

  /// A socket with PDUs that it did not take becomes writable.
  private mutating func wakeUp(_ handle: ConnectionHandle) {
    translator.receive(.writable(handle), now: now, into: &output)
  }

  /// The result of a PDU that a socket was given. It follows at once, before any other input.
  private mutating func finishSending(_ pdu: [UInt8], on handle: ConnectionHandle, _ input: inout FuzzInput) {
    switch input.index(6) {
    case 0: translator.rejected(pdu.span, on: handle, .full, into: &output)
    case 1: translator.rejected(pdu.span, on: handle, .notConnected, into: &output)
    case 2: translator.rejected(pdu.span, on: handle, .failed, into: &output)
    default: translator.receive(.sent(handle), now: now, into: &output)
    }
  }

  private func signalling(_ input: inout FuzzInput) -> [UInt8] {
    let types = SignallingPDU.packets
    func encoded<Packet: SignallingPacket>(_ type: Packet.Type) -> [UInt8] {
      let identifier = input.octet() % 8
      return Packet.random(from: &input).encodedPDU(identifier: identifier)
    }
    if input.flag() {
      var request = LECreditBasedConnectionRequest()
      (request.spsm, request.sourceCID) = (SPSM(rawValue: 0x80), ChannelID(rawValue: 0x40 + UInt16(input.index(4))))
      (request.mtu, request.mps, request.initialCredits) = (100, 60, 5)
      return request.encodedPDU(identifier: 1 + input.octet() % 8)
    }
    return encoded(types[input.index(types.count)])
  }

  private mutating func frame(_ handle: ConnectionHandle, _ channel: ChannelID, _ payload: [UInt8]) {
    var packet: [UInt8] = [0x02]
    packet.append(littleEndian: handle.rawValue)
    packet.append(littleEndian: UInt16(payload.count + 4))
    packet.append(littleEndian: UInt16(payload.count))
    packet.append(littleEndian: channel.rawValue)
    packet += payload
    frames[handle, default: 0] += 1
    translator.send(packet.span, now: now, into: &output)
  }

  private mutating func channel(_ input: inout FuzzInput) {
    guard !sockets.isEmpty else { return }
    let id = input.element(of: sockets)
    let event: ChannelEvent
    switch input.index(11) {
    case 0:
      event = .accepted(
        AcceptedChannel(
          spsm: SPSM(rawValue: 0x80), mode: input.flag() ? .leCreditBased : .enhancedCreditBased,
          remoteMTU: input.uint16()))
    case 1: event = .connected(remoteMTU: input.uint16())
    case 2: event = .refused(Int32(input.octet()))
    case 3: event = .sent
    case 4: event = .full
    case 5: event = .writable
    case 6: event = .failed
    case 7: event = .ended
    case 8: event = .queue(isEmpty: input.flag())
    default:
      let sdu = input.counted()
      if translator.reads(id) { translator.receive(sdu: sdu.span, on: id, now: now, into: &output) }
      return
    }
    translator.receive(.channel(id, event), now: now, into: &output)
  }

  private mutating func perform(_ handle: ConnectionHandle, _ input: inout FuzzInput) {
    switch input.index(6) {
    case 0: translator.perform(.secure(handle: handle.rawValue, isAuthenticated: input.flag()), into: &output)
    case 1: translator.perform(.setPairing(input.flag() ? PairingSettings() : nil), into: &output)
    case 2: translator.perform(.forget(peer(&input)), into: &output)
    case 3: command(HCI.LESetAdvertisingEnable { $0.advertisingEnable = true })
    case 4: command(HCI.LESetScanEnable { $0.scanEnable = true })
    default: translator.perform(.answer(peer(&input), .consent, input.flag() ? .accept : .reject), into: &output)
    }
  }

  /// What holds after each step, whatever the kernel did.
  private mutating func check(_ input: inout FuzzInput) {
    var index = 0
    for item in output.input.items {
      if case .report = item { continue }
      let octets = Array(output.input.octets[index])
      index += 1
      // A message of the kernel is passed as it is, where its header is that of an event.
      guard let packet = try? HCIPacket(decoding: octets[...]) else {
        require(false, "not a packet: \(octets.hexadecimal)")
        continue
      }
      if case .event(let event) = packet, event.eventCode == .numberOfCompletedPackets { note(event) }
    }
    require(output.input.items.count <= 200, "\(output.input.items.count) packets of one call")
    require(output.actions.actions.count <= 200, "\(output.actions.actions.count) actions of one call")
    require(translator.connectedDevices.count <= KernelTranslator.connectedDeviceLimit, "too many devices")
    let sent = sentPDUs()
    output.input.removeAll()
    output.actions.removeAll()
    require(output.takeNotices().count <= KernelOutput.noticeLimit, "too many lines")
    guard !sent.isEmpty else { return }
    for (handle, pdu) in sent { finishSending(pdu, on: handle, &input) }
    check(&input)
  }

  /// The PDUs for the sockets of links.
  private func sentPDUs() -> [(ConnectionHandle, [UInt8])] {
    var (index, sent) = (0, [(ConnectionHandle, [UInt8])]())
    for action in output.actions.actions {
      switch action {
      case .sendPDU(let handle):
        sent.append((handle, Array(output.actions.octets[index])))
        index += 1
      case .sendCommand, .sendManagement, .channel(.send): index += 1
      default: break
      }
    }
    return sent
  }

  /// A host gets no more buffers back than it has used.
  private mutating func note(_ packet: HCIEventPacket) {
    guard let event = try? HCI.NumberOfCompletedPackets(decoding: packet.parameters) else { return }
    for link in event.links {
      completed[link.connectionHandle, default: 0] += Int(link.numCompletedPackets)
      let (sent, done) = (frames[link.connectionHandle, default: 0], completed[link.connectionHandle, default: 0])
      require(done <= sent, "\(done) packets are completed, and \(sent) were sent")
      plantedFault(link.numCompletedPackets >= 3, "three packets of a link are completed together")
    }
  }
}
