internal import BLEHCI
internal import BLEWire

/// The beginning and the end of links.
extension VirtualController {
  /// LE Create Connection and LE Extended Create Connection.
  mutating func createConnection(_ packet: HCICommandPacket, _ context: inout RadioContext) {
    if packet.opcode == .leCreateConnection {
      answerStatus(packet, of: HCI.LECreateConnection.self, &context) { me, command, context in
        me.initiate(.init(command, now: context.now), context)
      }
    } else {
      answerStatus(packet, of: HCI.LEExtendedCreateConnection.self, &context) { me, command, context in
        Initiator.Request.refusal(of: command) ?? me.initiate(.init(command, now: context.now), context)
      }
    }
  }

  private mutating func initiate(_ request: Initiator.Request, _ context: RadioContext) -> HCIErrorCode {
    if let refusal = initiator.refusal(of: request) { return refusal }
    guard ownAddress(for: request.ownAddress(random: addresses.random, for: request.peerAddress), context) != nil else {
      return .invalidCommandParameters
    }
    guard links.count < maximumLinks else { return .connectionLimitExceeded }
    if request.filterPolicy == .peerAddress,
      links.contains(where: { $0.peerAddress.identity == request.peerAddress.identity })
    {
      return .connectionAlreadyExists
    }
    initiator.begin(request)
    return .success
  }

  /// Performs LE Create Connection Cancel (Vol 4, Part E, 7.8.13).
  mutating func cancelConnection(_ packet: HCICommandPacket, _ context: inout RadioContext) {
    answerStatus(packet, of: HCI.LECreateConnectionCancel.self, &context) { me, _, _ in
      me.initiator.request == nil ? .commandDisallowed : .success
    } then: { me, _, context in
      guard let request = me.initiator.request else { return }
      let nobody = DeviceAddress(octets: BD_ADDR(), kind: .public)
      me.initiator.end()
      let peer = request.filterPolicy == .peerAddress ? request.peerAddress : nobody
      ConnectionReport(status: .unknownConnectionIdentifier, role: .central, peerAddress: peer)
        .send(to: me.host, &context)
    }
  }

  /// The own address and the parameters of a connect request, if `advertisement` matches the pending connection
  /// request.
  mutating func connectRequest(
    for advertisement: Advertisement, _ context: inout RadioContext
  ) -> (ownAddress: DeviceAddress, parameters: HCI.ConnectionParameters)? {
    guard links.count < maximumLinks, let (request, parameters) = initiator.match(for: advertisement) else {
      return nil
    }
    let sender = identifySender(of: advertisement, context)
    guard request.isFor(advertisement, from: sender), let peer = sender.address?.identity,
      !links.contains(where: { $0.peerAddress.identity == peer }),
      let own = ownAddress(for: request.ownAddress(random: addresses.random, for: peer), context)
    else { return nil }
    return (own, parameters)
  }

  /// Opens this end of a new link and reports it to the host.
  ///
  /// - Parameter advertisement: the advertisement that was answered. The peripheral's set ends with the connection.
  mutating func open(
    _ id: UInt64, as role: HCI.Role, ownAddress: DeviceAddress, peer: Int, peerAddress: DeviceAddress,
    rssi: Int8, timing: LinkTiming, from advertisement: Advertisement, _ context: inout RadioContext
  ) {
    guard let handle = newHandle() else { return }
    let resolved = resolvingList.resolve(peerAddress, context.cryptography)
    if let resolved { resolvingList.record(peerAddress.octets, of: resolved) }
    let known = resolved ?? peerAddress
    links.append(
      VirtualLink(
        id: id, handle: handle, role: role, peer: peer, peerAddress: known, rssi: rssi, anchor: context.now,
        timing: timing))
    if role == .central { initiator.end() }

    let isPrivate = ownAddress.randomKind == .resolvablePrivate && ownAddress.octets != addresses.random
    ConnectionReport(
      handle: handle, role: role, peerAddress: known, localResolvableAddress: isPrivate ? ownAddress.octets : nil,
      peerResolvableAddress: resolved == nil ? nil : peerAddress.octets, timing: timing
    ).send(to: host, &context)
    if role == .peripheral { advertising.connected(advertisement.handle, on: handle, host, &context) }
    if features.contains(.channelSelectionAlgorithm2) {
      host.send(
        HCI.LEChannelSelectionAlgorithm {
          $0.connectionHandle = handle
          $0.channelSelectionAlgorithm = 1
        }, &context)
    }
    if suggestedDataLength.octets > DataLength.initial.octets {
      requestDataLength(suggestedDataLength, on: links.count - 1, &context)
    }
  }

  func linkIndex(_ handle: ConnectionHandle) -> Int? { links.firstIndex { $0.handle == handle } }

  /// Ends the link on this side and reports the reason to the host.
  mutating func close(_ index: Int, _ reason: HCIErrorCode, _ context: inout RadioContext) {
    let handle = links[index].handle
    removeLink(index, &context)
    sendReadyForData(&context)
    host.send(
      HCI.DisconnectionComplete {
        $0.connectionHandle = handle
        $0.reason = reason
      }, &context)
  }

  /// Removes the link and frees its buffers. There is no Number Of Completed Packets for them: the host regards them as
  /// free after Disconnection Complete (Vol 4, Part E, 4.3).
  mutating func removeLink(_ index: Int, _ context: inout RadioContext) {
    context.connections.leave(links[index].id)
    for waiting in links[index].waiting { buffers.release(waiting.buffer) }
    flowControl.linkEnded(links[index].handle)
    links.remove(at: index)
  }

  /// Stops the link. It ends when the supervision timeout is over.
  ///
  /// With airtime the timeout counts from the latest event. A link without a first event ends 6 intervals after its
  /// beginning (Vol 6, Part B, 4.5.2).
  mutating func cut(_ index: Int, _ context: inout RadioContext) {
    let link = links[index]
    guard !link.isCut else { return }
    var end = context.now + link.timing.supervisionTimeout
    if let connection = context.connections[link.id] {
      if connection.isEstablished {
        end = connection.schedule.latestAnchor(at: context.now) + link.timing.supervisionTimeout
      } else {
        end = link.anchor + link.timing.intervalDuration * 6
        links[index].supervisionReason = .connectionFailedToBeEstablished
      }
      context.connections.stop(link.id)
    }
    links[index].supervisionEnd = max(context.now, end)
  }

  mutating func cutAllLinks(_ context: inout RadioContext) {
    for index in links.indices where !links[index].isCut {
      send(.silence, on: index, &context)
      cut(index, &context)
    }
  }

  /// Does everything that is due on the links: supervision timeouts and connection events.
  mutating func tickLinks(_ context: inout RadioContext) {
    for index in links.indices.reversed() {
      if let end = links[index].supervisionEnd {
        if end <= context.now { close(index, links[index].supervisionReason, &context) }
      } else if let event = links[index].nextEvent, event <= context.now {
        transmit(at: index, &context)
      }
    }
  }
}

extension HCI.ConnectionParameters {
  /// The timing that the controller chooses: the shortest interval.
  var timing: LinkTiming {
    LinkTiming(interval: connectionIntervalMin, latency: maxLatency, timeout: supervisionTimeout)
  }
}
