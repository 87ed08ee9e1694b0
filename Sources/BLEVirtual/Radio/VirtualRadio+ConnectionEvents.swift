internal import BLEHCI
internal import BLEWire

/// Connection events with airtime (Vol 6, Part B, 4.5). Each step is an anchor point or the end of a packet.
extension VirtualRadio {
  /// Does everything that is due on all links.
  mutating func runConnectionEvents() {
    while let connection = context.connections.due(at: context.now) {
      guard end(of: connection, .central) != nil, end(of: connection, .peripheral) != nil else {
        context.connections.stop(connection.id)
        continue
      }
      if let event = connection.event {
        finishPacket(event, connection)
        deliver()
        continueEvent(connection.id)
      } else {
        beginEvent(connection)
      }
    }
  }

  /// One end of a link; nil if its controller no longer has it, or is out of range.
  private func end(of connection: Connection, _ role: HCI.Role) -> VirtualLink? {
    guard let link = controllers[connection.slot(of: role)].link(connection.id), !link.isCut else { return nil }
    return link
  }

  /// Begins an event at its anchor point: changes with this instant take effect, and the central sends.
  private mutating func beginEvent(_ connection: Connection) {
    guard let due = connection.dueEvent else { return context.connections.stop(connection.id) }
    var connection = connection
    connection.schedule.begin(due)
    connection.nextEvent = nil
    for change in connection.schedule.takeChanges() {
      if case .connectionUpdate(let timing) = change.pdu { connection.schedule.apply(timing) }
      apply(change.pdu, from: change.sender, connection)
    }
    let anchor = connection.schedule.anchor
    let nextAnchor = connection.schedule.anchor(of: due + 1)
    guard let central = end(of: connection, .central) else { return context.connections.stop(connection.id) }
    connection.event = ConnectionEvent(
      packet: central.nextPacket ?? central.emptyPacket(hasMoreData: false), anchor: anchor, nextAnchor: nextAnchor)
    context.connections[connection.id] = connection
  }

  /// Ends a packet: it acknowledges the PDU of its receiver, and its own PDU takes effect.
  private mutating func finishPacket(_ event: ConnectionEvent, _ connection: Connection) {
    let id = connection.id
    let sender = connection.slot(of: event.sender)
    let receiver = connection.slot(of: event.sender == .central ? .peripheral : .central)
    if event.sender == .peripheral { context.connections[id]?.isEstablished = true }

    controllers[receiver].receiveAcknowledgement(on: id, &context)
    if let reason = controllers[sender].link(id)?.terminationReason {
      return controllers[sender].close(id, reason, &context)
    }
    // The acknowledgement may have ended the receiver's link.
    guard let link = controllers[receiver].link(id) else { return }

    context.connections[id]?.event?.isAnswerPrepared = link.nextPacket != nil
    switch event.packet.content {
    case .empty: return
    case .control(let pdu):
      controllers[sender].sent(event.packet.content, on: id)
      receive(pdu, from: event.sender, connection)
    case .data(let offset, let count, _):
      // A receiver whose host has no free buffer does not acknowledge. The PDU is sent again when there is one.
      guard controllers[receiver].hostHasRoom(for: count) else { return controllers[sender].blockData(on: id) }
      guard let packet = controllers[sender].link(id)?.packets.first else { return }
      controllers[sender].sent(event.packet.content, on: id)
      pass(packet, offset..<(offset + count), from: sender, to: receiver, on: id)
    }
    context.connections[id]?.event?.isExchangeUseful = true
  }

  /// Passes octets of a packet of the sender to the receiver's host.
  private mutating func pass(
    _ packet: TransmitQueue.Packet, _ range: Range<Int>, from sender: Int, to receiver: Int, on link: UInt64
  ) {
    let octets = controllers[sender].takeOctets(of: packet)
    if range.upperBound <= octets.count {
      controllers[receiver].receive(
        octets.span.extracting(range), isStart: packet.isStart && range.lowerBound == 0, on: link, &context)
    }
    controllers[sender].putBackOctets(octets, of: packet)
  }

  /// Receives a control PDU. It takes effect at once, except LL_TERMINATE_IND, which waits for its acknowledgement, and
  /// PDUs with an instant.
  private mutating func receive(_ pdu: LinkLayerPDU, from sender: HCI.Role, _ connection: Connection) {
    let receiver = connection.slot(of: sender == .central ? .peripheral : .central)
    switch pdu {
    case .terminate(let reason): controllers[receiver].receiveTermination(reason, on: connection.id)
    case .connectionUpdate, .channelMap: context.connections[connection.id]?.schedule.plan(pdu, from: sender)
    case .phyUpdate(let transmit, let receive):
      let link = controllers[receiver].link(connection.id)
      if link?.isUnchanged(transmit: transmit, receive: receive) ?? true {
        apply(pdu, from: sender, connection)
      } else {
        context.connections[connection.id]?.schedule.plan(pdu, from: sender)
      }
    default: _ = controllers[receiver].receive(pdu, on: connection.id, &context)
    }
  }

  /// Applies a change on both ends.
  private mutating func apply(_ change: LinkLayerPDU, from sender: HCI.Role, _ connection: Connection) {
    var (atCentral, atPeripheral) = (change, change)
    // LL_PHY_UPDATE_IND has the PHYs as its receiver uses them.
    if case .phyUpdate(let transmit, let receive) = change {
      let swapped = LinkLayerPDU.phyUpdate(transmit: receive, receive: transmit)
      if sender == .central { atCentral = swapped } else { atPeripheral = swapped }
    }
    controllers[connection.central].apply(atCentral, on: connection.id, &context)
    controllers[connection.peripheral].apply(atPeripheral, on: connection.id, &context)
  }

  /// Sends the next packet: the answer of the other end, or the first one of another exchange. Otherwise closes the
  /// event.
  private mutating func continueEvent(_ id: UInt64) {
    guard var connection = context.connections[id], var event = connection.event else { return }
    guard let central = end(of: connection, .central), let peripheral = end(of: connection, .peripheral) else {
      return context.connections.stop(id)
    }
    let isPrepared = event.isAnswerPrepared
    let poll = central.emptyPacket(hasMoreData: isPrepared)
    let reply = peripheral.emptyPacket(hasMoreData: isPrepared)
    if event.sender == .central {
      let next = isPrepared ? peripheral.nextPacket : nil
      event.answer(with: next.flatMap { event.hasRoom(for: $0.airtime, packets: 1) ? $0 : nil } ?? reply)
      connection.event = event
    } else if event.mayContinue, isPrepared, let next = central.nextPacket,
      event.hasRoom(for: next.airtime + reply.airtime, packets: 2)
    {
      event.answer(with: next)
      connection.event = event
    } else if event.mayContinue, event.packet.hasMoreData,
      event.hasRoom(for: poll.airtime + reply.airtime, packets: 2)
    {
      event.answer(with: poll)
      connection.event = event
    } else {
      connection.event = nil
      if peripheral.needsEvent {
        connection.nextEvent = connection.schedule.nextEvent(after: context.now, for: .peripheral)
      } else if central.needsEvent {
        connection.nextEvent = connection.schedule.nextEvent(after: context.now, for: .central)
      }
    }
    context.connections[id] = connection
  }
}
