internal import BLEHCI
internal import BLEHost
internal import BLEL2CAP
internal import BLEWire

/// Translates between a host and an adapter that it shares with the kernel (Docs/Decisions/kernel.md#translation).
///
/// To the host, the kernel looks like a controller: events come from the raw HCI socket, each ATT PDU from a link's
/// L2CAP socket becomes one ACL packet, and a Number Of Completed Packets event follows each frame that a socket has
/// accepted. In the other direction, commands go to the raw socket, and the payload of an ACL packet goes to the socket
/// of its link. Messages on the management socket are about pairing.
///
/// ```
///                           host (H4 packets, commands, reports)
///            events, commands │           │ ACL packets         │ commands, reports
///                      raw HCI socket   L2CAP socket of     management
///                                       each link             socket
/// ```
///
/// The translator has no I/O and no clock: ``KernelAdapter`` owns the sockets. It must accept any octets from a socket.
struct KernelTranslator: Sendable {
  /// The length, in octets, and the number of ACL buffers that are reported to the host. The host does not fragment
  /// frames, because the kernel does. A buffer has room for an SDU of 2,048 octets, the default MTU of a channel, with
  /// the headers.
  static let bufferLength: UInt16 = 2_054
  static let bufferCount = KernelLink.frameLimit

  /// The events that concern the host. Completed packets, keys and the scans of the kernel do not.
  static let wantedEvents: [HCIEventCode] = [
    .disconnectionComplete, .encryptionChange, .readRemoteVersionInformationComplete, .commandComplete, .commandStatus,
    .hardwareError, .dataBufferOverflow, .encryptionKeyRefreshComplete, .leMeta,
  ]

  let name: String
  let index: UInt16
  let identity: DeviceAddress
  /// Whether links of peers that connect to us get a socket from a listener.
  let hasListener: Bool
  /// The time in which a link gets its socket. After that it counts as taken by another program's listener.
  var acceptPatience = Duration.seconds(1)
  /// Whether bluetoothd pairs on this adapter. This host then does not pair.
  var isPairedByDaemon: Bool

  var links: [ConnectionHandle: KernelLink] = [:]
  /// The credit-based channels of the links that have had one.
  var channels: [ConnectionHandle: KernelChannels] = [:]
  /// Frames that were sent, but have not been reported to the host as completed.
  private var completed: [(handle: ConnectionHandle, count: UInt16)] = []
  var discovery = KernelDiscovery()
  /// Whether a command from the host has enabled advertising.
  var advertises = false
  private var initiator = KernelInitiator()
  /// The number of Device Connected events that can wait until earlier HCI events are read. It exceeds the number of
  /// links of a controller.
  static let connectedDeviceLimit = 64
  /// The newest event for each device that the kernel has connected to. The HCI events of these links are read first.
  /// There are at most ``connectedDeviceLimit``.
  var connectedDevices: [Management.DeviceConnected] = []
  /// The links that another program's listener has, until ours is replaced.
  var takenLinks: Set<ConnectionHandle> = []

  init(_ adapter: AdapterInformation, named name: String, hasListener: Bool, isPairedByDaemon: Bool) {
    self.name = name
    index = adapter.index
    identity = adapter.identity
    self.hasListener = hasListener
    self.isPairedByDaemon = isPairedByDaemon
  }

  /// The time at which ``tick(now:into:)`` is due.
  var deadline: Instant? {
    var deadline: Instant?
    for link in links.values { deadline = .nearer(deadline, link.deadline) }
    for channels in channels.values { deadline = .nearer(deadline, channels.deadline) }
    return deadline
  }

  mutating func tick(now: Instant, into output: inout KernelOutput) {
    // In the order of handles, so that equal input gives equal output.
    for handle in links.keys.sorted() {
      if let end = links[handle]?.socketDeadline, end <= now {
        links[handle]?.taken()
        takenLinks.insert(handle)
      }
      if links[handle]?.tick(now: now, into: &output) == true {
        endLink(handle, .authenticationFailure, into: &output)
      }
      releaseChannels(handle, into: &output)
      channels[handle]?.tick(now: now, into: &output)
    }
    if !takenLinks.isEmpty { output.actions.append(.replaceListener) }
  }

  /// Ends the discovery that a scan of the host started, before the adapter is closed. The discovery has ended when
  /// ``isFinished`` is true.
  mutating func finish(into output: inout KernelOutput) { discovery.end(into: &output) }

  var isFinished: Bool { !discovery.isEnding }

  /// Whether ``reportCompleted(into:)`` has output.
  var hasCompleted: Bool { !completed.isEmpty }

  /// Reports the frames that sockets have accepted (Number Of Completed Packets; Vol 4, Part E, 7.7.19).
  mutating func reportCompleted(into output: inout KernelOutput) {
    for (handle, count) in completed { output.input.append(completedPackets: count, on: handle) }
    completed.removeAll(keepingCapacity: true)
  }

  mutating func complete(_ count: Int, on handle: ConnectionHandle) {
    guard count > 0 else { return }
    if let last = completed.indices.last, completed[last].handle == handle {
      completed[last].count = UInt16(clamping: Int(completed[last].count) + count)
    } else {
      completed.append((handle, UInt16(clamping: count)))
    }
  }

  /// HCI Disconnect (Vol 4, Part E, 7.1.6).
  mutating func endLink(
    _ handle: ConnectionHandle, _ reason: HCIErrorCode, into output: inout KernelOutput
  ) {
    output.sendOwn(
      HCI.Disconnect {
        $0.connectionHandle = handle
        $0.reason = reason
      })
  }

  mutating func forget(_ handle: ConnectionHandle, into output: inout KernelOutput) {
    guard let link = links.removeValue(forKey: handle) else { return }
    if let channels = channels.removeValue(forKey: handle) { channels.end(into: &output) }
    if link.hasSocket { output.actions.append(.close(handle)) }
    completed.removeAll { $0.handle == handle }
  }
}

/// Input from the host.
extension KernelTranslator {
  /// Sends a command or an ACL packet, as a complete H4 packet.
  mutating func send(_ packet: Span<UInt8>, now: Instant, into output: inout KernelOutput) {
    guard !packet.isEmpty else { return }
    switch HCIPacketType(rawValue: packet[0]) {
    case .command:
      observe(packet, into: &output)
      output.send(packet)
    case .aclData: sendFrame(packet, now: now, into: &output)
    case .event, .synchronousData, .isoData, nil: break
    }
  }

  /// Records how a command from the host affects links and the kernel's discovery.
  private mutating func observe(_ packet: Span<UInt8>, into output: inout KernelOutput) {
    let octets = [UInt8](copying: packet.extracting(1...))
    guard let command = try? HCICommandPacket(decoding: octets[...]) else { return }
    var parameters = command.parameters
    switch command.opcode {
    case .leSetAdvertisingEnable:
      if (try? HCI.LESetAdvertisingEnable(decodingPrefixOf: &parameters))?.advertisingEnable == true {
        advertises = true
      }
    case .leSetExtendedAdvertisingEnable:
      if (try? HCI.LESetExtendedAdvertisingEnable(decodingPrefixOf: &parameters))?.enable == true { advertises = true }
    case .leClearFilterAcceptList: initiator.clearAcceptList()
    case .leAddDeviceToFilterAcceptList:
      guard let entry = try? HCI.LEAddDeviceToFilterAcceptList(decodingPrefixOf: &parameters) else { return }
      initiator.addToAcceptList(entry.address)
    case .leCreateConnection:
      initiator.create(try? HCI.LECreateConnection(decodingPrefixOf: &parameters))
      giveParametersToKernel(into: &output)
    case .leExtendedCreateConnection:
      initiator.create(try? HCI.LEExtendedCreateConnection(decodingPrefixOf: &parameters))
      giveParametersToKernel(into: &output)
    case .leSetScanEnable:
      guard let scan = try? HCI.LESetScanEnable(decodingPrefixOf: &parameters) else { return }
      discovery.scanning(scan.scanEnable)
    case .leSetExtendedScanEnable:
      guard let scan = try? HCI.LESetExtendedScanEnable(decodingPrefixOf: &parameters) else { return }
      discovery.scanning(scan.enable)
    default: break
    }
  }

  /// Gives the connection parameters to the kernel, unless bluetoothd runs: the kernel then has bluetoothd's
  /// parameters.
  private mutating func giveParametersToKernel(into output: inout KernelOutput) {
    guard !isPairedByDaemon, let command = initiator.commandForKernel() else { return }
    output.send(ManagementRequest(command), to: index)
  }

  private mutating func sendFrame(_ packet: Span<UInt8>, now: Instant, into output: inout KernelOutput) {
    guard let acl = try? ACLHeader(reading: packet) else { return }
    let frame = packet.extracting(ACLHeader.length...)
    guard let header = BasicHeader(frame), frame.count > BasicFrame.headerLength else { return }
    let handle = acl.connectionHandle
    let pdu = frame.extracting(BasicFrame.headerLength...)
    guard header.channel == .attributeProtocol else {
      guard links[handle] != nil else { return }
      // The frames of a channel are limited by its credits. The buffers of the link are for ATT.
      complete(1, on: handle)
      return receiveFrame(pdu, on: header.channel, of: handle, now: now, into: &output)
    }
    complete(links[handle]?.send(pdu, into: &output) ?? 0, on: handle)
  }

  /// Performs a command from the host.
  mutating func perform(_ command: KernelCommand, into output: inout KernelOutput) {
    switch command {
    case .secure(let handle, let isAuthenticated):
      links[ConnectionHandle(rawValue: handle)]?.secure(to: isAuthenticated ? .high : .medium, into: &output)
    case .listen(let spsm, let level, let mtu):
      output.append(.listen(spsm, SocketSecurity.Level(level), mtu: mtu))
    case .stopListening(let spsm): output.append(.stopListening(spsm))
    case .setPairing(_?) where isPairedByDaemon:
      output.log("\(name): bluetoothd is running and pairs with its own agent and bonds (bluetoothctl: agent on)")
    case .setPairing, .loadKeys, .forget, .answer:
      if isPairedByDaemon { return }
      for request in command.managementRequests { output.send(request, to: index) }
    }
  }
}

/// Input from the raw HCI socket.
extension KernelTranslator {
  /// Receives a message from the raw HCI socket: an event as a complete H4 packet.
  mutating func receive(event message: Span<UInt8>, now: Instant, into output: inout KernelOutput) {
    guard let header = try? EventHeader(reading: message), Self.wantedEvents.contains(header.eventCode) else { return }
    switch header.eventCode {
    case .commandComplete: commandCompleted(message, into: &output)
    case .disconnectionComplete: disconnected(message, into: &output)
    case .encryptionChange:
      pass(message, into: &output)
      guard let event = Self.decode(HCI.EncryptionChange.self, message), event.status == .success else { return }
      links[event.connectionHandle]?.encryptionChanged(now: now, into: &output)
    case .encryptionKeyRefreshComplete:
      pass(message, into: &output)
      guard let event = Self.decode(HCI.EncryptionKeyRefreshComplete.self, message), event.status == .success else {
        return
      }
      links[event.connectionHandle]?.encryptionChanged(now: now, into: &output)
    case .leMeta: receiveLE(message, header.subeventCode, now: now, into: &output)
    default: pass(message, into: &output)
    }
  }

  private mutating func receiveLE(
    _ message: Span<UInt8>, _ code: LESubeventCode?, now: Instant, into output: inout KernelOutput
  ) {
    switch code {
    // The kernel answers these itself. A second answer would break its procedure.
    case .longTermKeyRequest, .remoteConnectionParameterRequest: return
    case .connectionComplete:
      guard let event = Self.decode(HCI.LEConnectionComplete.self, message), event.status == .success else { break }
      return connected(ConnectionCompleteEvent(event), message, now: now, into: &output)
    // Version 2 begins with the fields of version 1.
    case .enhancedConnectionComplete, .enhancedConnectionCompleteV2:
      guard let event = Self.decode(HCI.LEEnhancedConnectionComplete.self, message), event.status == .success else {
        break
      }
      return connected(ConnectionCompleteEvent(event), message, now: now, into: &output)
    default: break
    }
    pass(message, into: &output)
  }

  func pass(_ message: Span<UInt8>, into output: inout KernelOutput) {
    output.input.append(.packet) { $0.append(copying: message) }
  }

  /// Decodes the parameters of an event. Octets after them are ignored.
  private static func decode<Event: HCIEventParameters>(_ type: Event.Type, _ message: Span<UInt8>) -> Event? {
    let isSubevent = Event.eventCode == .leMeta
    guard message.count > EventHeader.length else { return nil }
    let octets = [UInt8](copying: message.extracting((EventHeader.length + (isSubevent ? 1 : 0))...))
    var rest = octets[...]
    return try? Event(decodingPrefixOf: &rest)
  }

  private mutating func commandCompleted(_ message: Span<UInt8>, into output: inout KernelOutput) {
    guard let event = Self.decode(HCI.CommandComplete.self, message) else { return pass(message, into: &output) }
    switch event.opcode {
    case .leReadBufferSize:
      guard var response = try? event.response(to: HCI.LEReadBufferSize.self), response.status == .success else {
        break
      }
      (response.aclDataPacketLength, response.totalNumACLDataPackets) = (Self.bufferLength, UInt8(Self.bufferCount))
      return pass(event, returning: response, into: &output)
    case .leReadBufferSizeV2:
      guard var response = try? event.response(to: HCI.LEReadBufferSizeV2.self), response.status == .success else {
        break
      }
      (response.aclDataPacketLength, response.totalNumACLDataPackets) = (Self.bufferLength, UInt8(Self.bufferCount))
      return pass(event, returning: response, into: &output)
    default: break
    }
    pass(message, into: &output)
    switch event.opcode {
    case .leSetScanEnable, .leSetExtendedScanEnable: discovery.end(into: &output)
    case KernelDiscovery.Probe.opcode: discovery.probeAnswered(index: index, into: &output)
    default: break
    }
  }

  private func pass(
    _ event: HCI.CommandComplete, returning response: some ReturnParameters, into output: inout KernelOutput
  ) {
    var event = event
    event.returnParameters = response.encoded[...]
    output.input.append(.packet) { $0.append(hci: event) }
  }

  /// Handles a new link.
  private mutating func connected(
    _ event: ConnectionCompleteEvent, _ message: Span<UInt8>, now: Instant, into output: inout KernelOutput
  ) {
    // A link that another program requested is not the host's.
    guard event.role != .central || initiator.isInitiating else { return pass(message, into: &output) }
    forget(event.handle, into: &output)
    var link = KernelLink(event.handle, role: event.role, peer: event.peer)
    if event.role == .central {
      link.awaitedPeer = event.peer.identity
    } else if hasListener {
      link.socketDeadline = now + acceptPatience
    }
    links[event.handle] = link
    pass(message, into: &output)
    guard event.role == .central, let parameters = initiator.connected(event) else { return }
    output.sendOwn(
      HCI.LEConnectionUpdate {
        $0.connectionHandle = event.handle
        $0.parameters = parameters
      })
  }

  /// Handles the end of a link. The data that the peer sent earlier is passed to the host first.
  private mutating func disconnected(_ message: Span<UInt8>, into output: inout KernelOutput) {
    guard let event = Self.decode(HCI.DisconnectionComplete.self, message), event.status == .success,
      let link = links[event.connectionHandle]
    else { return pass(message, into: &output) }
    let sockets = channels[link.handle]?.openSockets ?? []
    guard link.hasSocket || !sockets.isEmpty else {
      forget(link.handle, into: &output)
      return pass(message, into: &output)
    }
    links[link.handle]?.disconnection = [UInt8](copying: message)
    for socket in sockets { output.append(.drain(socket)) }
    output.actions.append(.drain(link.handle))
  }
}
