import BLEATT
import BLEGATT
import BLEHCI
import BLEL2CAP
import BLESMP
import BLEWire

/// Links coming up and going down, and the frames on them.
extension HostCore {
  func index(of handle: ConnectionHandle) -> Int? { links.index(of: handle) }
  func index(of peer: PeerID) -> Int? { links.index(of: peer) }

  mutating func linkUp(
    _ handle: ConnectionHandle, role: HCI.Role, address: DeviceAddress, identity resolved: DeviceAddress?,
    timing: LinkTiming, now: Instant, into output: inout HostOutput
  ) {
    if index(of: handle) != nil {
      report(.controller, "a second link with the handle \(handle); the first one is taken for dead", into: &output)
      removeLink(handle, reason: .connectionTimeout, into: &output)
    }
    supersededLinkEnded(handle, into: &output)
    let peer = links.nextPeer()
    let ours: Connection.Role = role == .central ? .central : .peripheral
    let identity = resolved ?? bonds.identity(of: address, toolbox)
    var requests: [PendingConnection] = []
    if ours == .central {
      withRadio(now: now, into: &output) { requests = $0.connected(to: identity, &$1) }
    }
    var link = Link(
      peer: peer, handle: handle, address: address, identity: identity, ownAddress: addressOnAir, role: ours,
      timing: timing, users: requests.map(\.owner), configuration)
    if isReported(identity) { link.reportedAddress = drawReportedAddress() }
    link.security.isBonded = bonds[identity] != nil
    let index = links.append(link)
    log.linkAdded(peer)
    setSigningKey(index)
    acl.addLink(handle)
    output.append(.connected(link.connection(request: requests.first?.id)))
    for request in requests.dropFirst() {
      output.append(.connected(link.connection(request: request.id)), to: request.owner.recipient)
    }
    if session.isShuttingDown {
      // It came up before the controller had stopped.
      close(index, .remoteUserTerminatedConnection, now: now, into: &output)
    } else if ours == .central {
      startClient(index, now: now, into: &output)
    }
    withRadio(now: now, into: &output) { $0.linkAdded(asCentral: ours == .central, &$1) }
  }

  /// - Parameter isSuperseded: the controller has not ended the link yet, and still has packets of it.
  mutating func removeLink(
    _ handle: ConnectionHandle, reason: HCIErrorCode, isSuperseded: Bool = false, into output: inout HostOutput
  ) {
    guard let index = index(of: handle) else { return }
    var link = links.remove(at: index, isSuperseded: isSuperseded)
    keepRecord(of: link, into: &output)
    keepAttributeCache(of: link, into: &output)
    withBonds(into: &output) { $0.linkEnded(link.identity, into: &$1) }
    if let (counters, key) = link.client.unusedCounters { bonds.giveBack(counters, link.identity, key: key) }
    log.linkEnded(link.peer)
    cipherEnded(link, reason, into: &output)
    systemLinkEnded(link, into: &output)
    var secured: [Effect<SecurityEffect>] = []
    link.manager.linkEnded(into: &secured)
    apply(secured, now: time, into: &output) { _, _, _ in }
    var served = LinkServer.Output()
    link.server.linkEnded(services, into: &served)
    apply(served.effects, of: link.peer, now: time, into: &output)
    if !isSuperseded { acl.removeLink(handle, into: &output.packets) }
    var asked = LinkClient.Output()
    link.client.linkEnded(into: &asked)
    apply(asked.effects, of: link.peer, now: time, into: &output)
    output.append(.disconnected(link.peer, reason))
  }

  /// Takes one ACL data packet without its indicator octet (Vol 4, Part E, 5.4.2).
  mutating func receiveACL(_ packet: Span<UInt8>, now: Instant, into output: inout HostOutput) {
    guard let head = packet.uint16(at: 0), let length = packet.uint16(at: 2), packet.count == 4 + Int(length) else {
      return report(.controller, "an ACL packet whose length is wrong", into: &output)
    }
    // Data of a link that has just ended may still be on its way.
    guard let index = index(of: ConnectionHandle(rawValue: head)) else { return }
    let fragment = packet.extracting(4..<packet.count)
    let outcome = links[index].reassembler.receive(fragment, packetBoundary: UInt8(head >> 12 & 0b11))
    if let dropped = outcome.dropped {
      report(.peer, "L2CAP octets thrown away: \(dropped)", peer: links[index].peer, into: &output)
    }
    switch outcome.frame {
    case .inFragment(let channel, let payload):
      receiveFrame(index, channel, fragment.extracting(payload), now: now, into: &output)
    case .assembled(let channel):
      let frame = links[index].reassembler.takeFrame()
      let handle = links[index].handle
      let span = frame.span
      receiveFrame(
        index, channel, span.extracting(BasicFrame.headerLength..<span.count), now: now, into: &output)
      if let still = self.index(of: handle) { links[still].reassembler.reuse(frame) }
    case nil: break
    }
  }

  private mutating func receiveFrame(
    _ index: Int, _ channel: ChannelID, _ payload: Span<UInt8>, now: Instant, into output: inout HostOutput
  ) {
    switch channel {
    case .attributeProtocol: receiveATT(index, payload, now: now, into: &output)
    case .signalling: receiveSignalling(index, payload, now: now, into: &output)
    case .securityManager: receiveSMP(index, payload, now: now, into: &output)
    // A frame on a channel that is not open is ignored (Vol 3, Part A, 2.1).
    default: break
    }
  }

  private mutating func receiveSignalling(
    _ index: Int, _ pdu: Span<UInt8>, now: Instant, into output: inout HostOutput
  ) {
    var effects: [SignallingChannel.Effect] = []
    links[index].signalling.receive([UInt8](copying: pdu)[...], into: &scratch.signalling, effects: &effects)
    perform(effects, on: index, now: now, into: &output)
    drainSignalling(index, into: &output)
  }

  /// Performs what the signalling channel decided; frames that it wrote stay in the scratch buffer.
  mutating func perform(
    _ effects: [SignallingChannel.Effect], on index: Int, now: Instant, into output: inout HostOutput
  ) {
    for effect in effects {
      switch effect {
      case .parameterUpdateRequested(let request):
        links[index].signalling.answerParameterUpdate(accepted: true, into: &scratch.signalling)
        let parameters = ConnectionParameters(
          interval: request.intervalMin...max(request.intervalMin, request.intervalMax), latency: request.latency,
          supervisionTimeout: request.timeout)
        sendConnectionUpdate(index, parameters, for: .process, now: now, into: &output)
      case .parameterUpdateFinished(.accepted): break
      case .parameterUpdateFinished(let outcome):
        output.append(
          .connectionUpdateRefused(links[index].peer, .peerRefused("\(outcome)")),
          to: links[index].parametersOwner.recipient)
      }
    }
  }

  mutating func drainSignalling(_ index: Int, into output: inout HostOutput) {
    var pdus = PacketBuffer()
    swap(&pdus, &scratch.signalling)
    pdus.forEach { pdu in transmit(index, .signalling, pdu, into: &output) }
    pdus.removeAll()
    swap(&pdus, &scratch.signalling)
  }

  /// Sends one frame on a link; a full queue ends the link, for a frame lost on a reliable channel would break it silently.
  mutating func transmit(
    _ index: Int, _ channel: ChannelID, _ payload: Span<UInt8>, tag: UInt32 = 0, into output: inout HostOutput
  ) {
    guard !links[index].isClosing else { return }
    do throws(ACLSchedulerError) {
      _ = try acl.send(
        links[index].handle, cid: channel.rawValue, payload: payload, tag: tag, into: &output.packets)
    } catch {
      report(.peer, "the link is ended, for it takes no data: \(error)", peer: links[index].peer, into: &output)
      close(index, .remoteUserTerminatedConnection, now: time, into: &output)
    }
  }

  mutating func tickLink(_ index: Int, now: Instant, into output: inout HostOutput) {
    withServer(index, now: now, into: &output) { $0.tick($1, &$2, now: now, into: &$3) }
    withClient(index, now: now, into: &output) { $0.tick(now: now, into: &$1) }
    tickStorage(index, now: now, into: &output)
    var effects: [SignallingChannel.Effect] = []
    links[index].signalling.tick(now: now, effects: &effects)
    perform(effects, on: index, now: now, into: &output)
    drainSignalling(index, into: &output)
    if let deadline = links[index].manager.deadline, deadline <= now {
      withSecurity(index, now: now, into: &output) { $0.tick(&$1, now: now, into: &$2) }
    }
    tickReconnection(index, now: now, into: &output)
  }

  mutating func performLink(
    _ command: HostCommand, from owner: OwnerID, now: Instant, into output: inout HostOutput
  ) {
    func refuse() { output.append(.refused(.notConnected), to: owner.recipient) }
    switch command {
    case .disconnect(let peer, let reason):
      guard let index = index(of: peer) else { return refuse() }
      close(index, reason, now: now, into: &output)
    case .release(let peer):
      guard let index = index(of: peer) else { return refuse() }
      release(index, by: owner, now: now, into: &output)
    case .updateConnection(let peer, let parameters):
      guard let index = index(of: peer) else { return refuse() }
      updateConnection(index, parameters, for: owner, now: now, into: &output)
    case .readRSSI(let peer):
      guard let index = index(of: peer) else {
        return output.append(.rssi(peer, .failure(.notConnected)), to: owner.recipient)
      }
      let handle = links[index].handle
      send(HCI.ReadRSSI { $0.connectionHandle = handle }, for: .rssi(peer, owner), now: now, into: &output)
    case .requestSecurity(let peer):
      guard let index = index(of: peer) else { return refuse() }
      requestSecurity(index, for: owner, now: now, into: &output)
    default: break
    }
  }

  /// Asks the controller to end a link; ``HostEvent/disconnected(_:_:)`` follows when it has.
  mutating func close(_ index: Int, _ reason: HCIErrorCode, now: Instant, into output: inout HostOutput) {
    guard !links[index].hasAskedToEnd else { return }
    links[index].isClosing = true
    links[index].hasAskedToEnd = true
    let (handle, peer) = (links[index].handle, links[index].peer)
    let command = HCI.Disconnect {
      $0.connectionHandle = handle
      $0.reason = reason
    }
    send(command, for: .disconnect(peer), now: now, into: &output)
  }

  private mutating func updateConnection(
    _ index: Int, _ parameters: ConnectionParameters, for owner: OwnerID, now: Instant, into output: inout HostOutput
  ) {
    let peer = links[index].peer
    guard parameters.isValid else {
      let error = HostError.invalidParameters("connection parameters outside Vol 4, Part E, 7.8.18: \(parameters)")
      return output.append(.connectionUpdateRefused(peer, error), to: owner.recipient)
    }
    guard links[index].role == .peripheral, configuration.ownership == .exclusive else {
      return sendConnectionUpdate(index, parameters, for: owner, now: now, into: &output)
    }
    var request = ConnectionParameterUpdateRequest()
    request.intervalMin = parameters.interval.lowerBound
    request.intervalMax = parameters.interval.upperBound
    request.latency = parameters.latency
    request.timeout = parameters.supervisionTimeout
    do throws(SignallingChannel.RequestRefusal) {
      try links[index].signalling.requestParameterUpdate(request, now: now, into: &scratch.signalling)
      links[index].parametersOwner = owner
    } catch {
      output.append(.connectionUpdateRefused(peer, .invalidParameters("\(error)")), to: owner.recipient)
    }
    drainSignalling(index, into: &output)
  }

  mutating func sendConnectionUpdate(
    _ index: Int, _ parameters: ConnectionParameters, for owner: OwnerID, now: Instant, into output: inout HostOutput
  ) {
    links[index].parametersOwner = owner
    let (handle, peer) = (links[index].handle, links[index].peer)
    let command = HCI.LEConnectionUpdate {
      $0.connectionHandle = handle
      $0.parameters = parameters.wire
    }
    send(command, for: .connectionUpdate(peer, owner), now: now, into: &output)
  }
}
