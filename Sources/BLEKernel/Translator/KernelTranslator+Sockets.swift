internal import BLEHCI
internal import BLEHost
internal import BLEL2CAP
internal import BLEWire

/// Input from the management socket.
extension KernelTranslator {
  /// Receives a message from the management socket. Messages about other adapters are ignored.
  mutating func receive(management message: Span<UInt8>, now: Instant, into output: inout KernelOutput) {
    let octets = [UInt8](copying: message)
    guard let message = try? ManagementMessage(decoding: octets[...]), message.index == index,
      let event = Management.event(message)
    else { return }
    switch event {
    case .indexRemoved: output.loss = .removed
    case .newSettings(let event):
      if !event.settings.contains(.powered) { output.loss = .switchedOff }
    case .classOfDeviceChanged, .localNameChanged:
      // bluetoothd causes this event when it starts.
      if !isPairedByDaemon { output.actions.append(.findDaemon) }
    case .commandComplete(let event): answered(event.opcode, event.status, into: &output)
    case .commandStatus(let event): answered(event.opcode, event.status, into: &output)
    case .deviceConnected(let event):
      // The raw socket already has the event of the link, because the controller's events arrive there first.
      connectedDevices.removeAll { $0.device == event.device }
      if connectedDevices.count < Self.connectedDeviceLimit { connectedDevices.append(event) }
      output.actions.append(.readEvents)
    case .discovering(let event):
      if event.isDiscovering == 1 { discovery.reported(addressTypes: event.addressTypes, into: &output) }
    // The adapter in use is announced again.
    case .indexAdded: break
    case .newLongTermKey, .userConfirmationRequest, .userPasskeyRequest, .passkeyNotify, .authenticationFailed,
      .newIdentityResolvingKey, .newSignatureResolvingKey:
      // If bluetoothd pairs, its agent answers. Two answers would break a pairing.
      if !isPairedByDaemon, let report = KernelReport(event) { output.input.append(report) }
    }
  }

  private func answered(_ opcode: ManagementOpcode, _ status: ManagementStatus, into output: inout KernelOutput) {
    // The kernel rejects the end of a discovery that has already ended.
    guard status != .success, opcode != Management.StopDiscovery.opcode, opcode.name != nil else { return }
    output.log("\(name): the kernel rejected \(opcode): \(status)")
  }

  /// Connects the sockets of links, once the kernel has the links. Earlier, the kernel would not have processed the
  /// link's event, and would have made a second link. A little later, the kernel gives the link to the newest listener
  /// of any program.
  private mutating func connectSockets(now: Instant, into output: inout KernelOutput) {
    let devices = connectedDevices
    connectedDevices = []
    for event in devices {
      guard let peer = event.device.device, let handle = awaitedLink(event, peer) else { continue }
      links[handle]?.awaitedPeer = nil
      // A socket without an address might connect through another adapter.
      if identity.octets.value != 0 {
        links[handle]?.connectionBegan()
        output.actions.append(.connect(handle, to: peer))
      } else {
        leaveToListener(handle, now: now, into: &output)
      }
    }
  }

  private func awaitedLink(_ event: Management.DeviceConnected, _ peer: DeviceAddress) -> ConnectionHandle? {
    let awaited = links.values.filter { $0.awaitedPeer != nil }.sorted { $0.handle < $1.handle }
    if let link = awaited.first(where: { $0.awaitedPeer == peer }) { return link.handle }
    // If the kernel can resolve the private address of a device, it reports the identity instead.
    guard event.flags & Management.DeviceConnected.locallyInitiated != 0 else { return nil }
    return awaited.first { $0.awaitedPeer?.randomKind == .resolvablePrivate }?.handle
  }
}

/// Input from the sockets of links, and from the listener.
extension KernelTranslator {
  /// Receives an ATT PDU from a link's socket. The host receives it as one ACL packet.
  mutating func receive(pdu: Span<UInt8>, on handle: ConnectionHandle, into output: inout KernelOutput) {
    guard links[handle] != nil else { return }
    output.input.append(.packet) { octets in
      octets.append(aclHeader: handle, .firstFlushable, length: BasicFrame.headerLength + pdu.count)
      BasicHeader(length: UInt16(clamping: pdu.count), channel: .attributeProtocol).encode(to: &octets)
      octets.append(copying: pdu)
    }
  }

  mutating func receive(_ event: SocketEvent, now: Instant, into output: inout KernelOutput) {
    switch event {
    case .accepted(let handle, let peer):
      if links[handle] == nil { announce(handle, peer, into: &output) }
      links[handle]?.opened(into: &output)
    case .connected(let handle, let result):
      switch result {
      case .pending: break
      case .busy: leaveToListener(handle, now: now, into: &output)
      case .failed: complete(links[handle]?.failed(into: &output) ?? 0, on: handle)
      }
    case .readable(let handle): links[handle]?.readable(into: &output)
    case .writable(let handle): links[handle]?.writable(into: &output)
    case .failed(let handle): complete(links[handle]?.failed(into: &output) ?? 0, on: handle)
    case .sent(let handle): complete(links[handle]?.sent(into: &output) ?? 0, on: handle)
    case .drained(let handle):
      guard let disconnection = links[handle]?.disconnection, !disconnection.isEmpty else { return }
      forget(handle, into: &output)
      pass(disconnection.span, into: &output)
    case .eventsRead: connectSockets(now: now, into: &output)
    case .listenerReplaced(let daemonRuns): endTakenLinks(daemonRuns: daemonRuns, into: &output)
    case .security(let handle, let security):
      let isOver = links[handle]?.received(security, now: now, into: &output) == true
      channels[handle]?.securityRead(now: now, into: &output)
      if isOver { endLink(handle, .authenticationFailure, into: &output) }
    case .raised(let handle, let isPending): links[handle]?.raised(isPending: isPending, now: now)
    case .daemon(let isRunning): isPairedByDaemon = isPairedByDaemon || isRunning
    case .channel(let id, let event): receive(event, on: id, now: now, into: &output)
    case .listeningFailed(let spsm, let number): listeningFailed(spsm, number, into: &output)
    }
    switch event {
    case .accepted(let handle, _), .connected(let handle, _), .writable(let handle), .failed(let handle):
      releaseChannels(handle, into: &output)
    case .readable, .sent, .drained, .eventsRead, .listenerReplaced, .security, .raised, .daemon, .channel,
      .listeningFailed:
      break
    }
  }

  /// Receives the PDU of ``SocketAction/sendPDU(_:)`` that the socket of a link did not accept.
  mutating func rejected(
    _ pdu: Span<UInt8>, on handle: ConnectionHandle, _ reason: SendRejection, into output: inout KernelOutput
  ) {
    complete(links[handle]?.rejected(pdu, reason, into: &output) ?? 0, on: handle)
  }

  /// Announces a link that was up before, by an LE Connection Complete event. Its timing is unknown, so the event
  /// contains the kernel's default: 50 ms, no latency, 5 s.
  private mutating func announce(
    _ handle: ConnectionHandle, _ peer: DeviceAddress, into output: inout KernelOutput
  ) {
    links[handle] = KernelLink(handle, role: .peripheral, peer: peer)
    let event = HCI.LEConnectionComplete {
      $0.connectionHandle = handle
      $0.role = .peripheral
      $0.peerAddress = peer
      $0.connectionInterval = HCI.ConnectionParameters.defaultInterval.upperBound
      $0.supervisionTimeout = ConnectionParameters.defaultSupervisionTimeout
    }
    output.input.append(.packet) { $0.append(hci: event) }
  }

  /// Announces the links that other programs made as a central before the adapter was opened. Like later ones, they are
  /// announced by an LE Connection Complete event. Their timing is unknown.
  mutating func announce(
    _ existing: [(handle: ConnectionHandle, peer: DeviceAddress)], into output: inout KernelOutput
  ) {
    for (handle, peer) in existing where links[handle] == nil {
      let event = HCI.LEConnectionComplete {
        $0.connectionHandle = handle
        $0.role = .central
        $0.peerAddress = peer
        $0.connectionInterval = HCI.ConnectionParameters.defaultInterval.upperBound
        $0.supervisionTimeout = ConnectionParameters.defaultSupervisionTimeout
      }
      output.input.append(.packet) { $0.append(hci: event) }
    }
  }

  /// Waits for the socket of a link that the host made: our listener has it, or that of another program.
  private mutating func leaveToListener(_ handle: ConnectionHandle, now: Instant, into output: inout KernelOutput) {
    guard hasListener else { return complete(links[handle]?.failed(into: &output) ?? 0, on: handle) }
    links[handle]?.awaitListener(until: now + acceptPatience)
  }

  /// Disconnects the links that another program's listener took, if the host made them or advertised for them. They are
  /// then made again and reach our listener, which is now the newest.
  private mutating func endTakenLinks(daemonRuns: Bool, into output: inout KernelOutput) {
    let handles = takenLinks.sorted()
    takenLinks = []
    guard !handles.isEmpty else { return }
    let program = daemonRuns ? "bluetoothd" : "another program"
    output.log(
      "\(name): \(program) took a link of this program; the listener was replaced, so that the next link comes here")
    for handle in handles {
      guard let link = links[handle], link.role == .central || advertises else { continue }
      endLink(handle, .remoteUserTerminatedConnection, into: &output)
    }
  }
}
