internal import BLEHCI
internal import BLEWire

/// Connection events with airtime (Vol 6, Part B, 4.5). Each step is an anchor point or the end of a packet.
extension VirtualRadio {
  /// Does everything that is due on all links.
  mutating func runConnectionEvents() {
    while let connection = context.connections.due(at: context.now) {
      guard isInRange(connection) else {
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

  /// Whether both controllers have the link and are in range.
  private func isInRange(_ connection: Connection) -> Bool {
    controllers[connection.central].isInRange(on: connection.id)
      && controllers[connection.peripheral].isInRange(on: connection.id)
  }

  /// Begins an event at its anchor point. Changes with this instant take effect, and the central sends.
  private mutating func beginEvent(_ connection: Connection) {
    guard let due = connection.dueEvent else { return context.connections.stop(connection.id) }
    var connection = connection
    connection.schedule.begin(due)
    connection.nextEvent = nil
    for change in connection.schedule.takeChanges() {
      if case .connectionUpdate(let timing) = change.pdu { connection.schedule.apply(timing) }
      if case .connectionRate(let rate) = change.pdu { connection.schedule.apply(rate) }
      apply(change.pdu, from: change.sender, connection)
    }
    let anchor = connection.schedule.anchor
    let nextAnchor = connection.schedule.anchor(of: due + 1)
    guard let empty = controllers[connection.central].emptyPacket(on: connection.id, hasMoreData: false) else {
      return context.connections.stop(connection.id)
    }
    let packet = controllers[connection.central].nextPacket(on: connection.id) ?? empty
    connection.event = ConnectionEvent(packet: packet, anchor: anchor, nextAnchor: nextAnchor)
    context.connections[connection.id] = connection
  }

  /// Ends a packet. The packet acknowledges the PDU of its receiver, and the packet's own PDU takes effect.
  private mutating func finishPacket(_ event: ConnectionEvent, _ connection: Connection) {
    let id = connection.id
    let sender = connection.slot(of: event.sender)
    let receiver = connection.slot(of: event.sender == .central ? .peripheral : .central)
    if event.sender == .peripheral { context.connections[id]?.isEstablished = true }

    controllers[receiver].receiveAcknowledgement(on: id, &context)
    if let reason = controllers[sender].terminationReason(on: id) {
      return controllers[sender].close(id, reason, &context)
    }
    // The acknowledgement may have ended the receiver's link.
    guard controllers[receiver].hasLink(id) else { return }

    context.connections[id]?.event?.isAnswerPrepared = controllers[receiver].nextPacket(on: id) != nil
    switch event.packet.content {
    case .empty: return
    case .control(let pdu):
      controllers[sender].sent(event.packet.content, on: id)
      receive(pdu, from: event.sender, connection)
    case .data(let offset, let count, _):
      // A receiver whose host has no free buffer does not acknowledge. The PDU is sent again when the host has one.
      guard controllers[receiver].hostHasRoom(for: count) else { return controllers[sender].blockData(on: id) }
      guard let packet = controllers[sender].firstDataPacket(on: id) else { return }
      controllers[sender].sent(event.packet.content, on: id)
      pass(packet, offset..<(offset + count), from: sender, to: receiver, on: id)
    }
    guard var connection = context.connections[id] else { return }
    connection.event?.isExchangeUseful = true
    connection.schedule.exchangedData()
    context.connections[id] = connection
  }

  /// Passes octets of a packet from the sender to the receiver's host.
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

  /// Receives a control PDU. It takes effect at once, except for LL_TERMINATE_IND, which waits for its acknowledgement,
  /// and PDUs with an instant.
  private mutating func receive(_ pdu: LinkLayerPDU, from sender: HCI.Role, _ connection: Connection) {
    let receiver = connection.slot(of: sender == .central ? .peripheral : .central)
    switch pdu {
    case .terminate(let reason): controllers[receiver].receiveTermination(reason, on: connection.id)
    case .connectionUpdate, .channelMap: context.connections[connection.id]?.schedule.plan(pdu, from: sender)
    case .phyUpdate(let transmit, let receive):
      if controllers[receiver].isUnchanged(transmit: transmit, receive: receive, on: connection.id) {
        apply(pdu, from: sender, connection)
      } else {
        context.connections[connection.id]?.schedule.plan(pdu, from: sender)
      }
    case .subrate(let subrating) where controllers[receiver].supportsSubrating:
      context.connections[connection.id]?.schedule.apply(subrating)
      apply(pdu, from: sender, connection)
    case .connectionRate(let rate) where controllers[receiver].accepts(rate):
      context.connections[connection.id]?.schedule.plan(pdu, from: sender)
    // The link switches over all PDUs.
    default: _ = controllers[receiver].receive(pdu, on: connection.id, &context)
    }
  }

  /// Applies a change on both ends.
  private mutating func apply(_ change: LinkLayerPDU, from sender: HCI.Role, _ connection: Connection) {
    var (atCentral, atPeripheral) = (change, change)
    // LL_PHY_UPDATE_IND contains the PHYs from the perspective of its receiver.
    if case .phyUpdate(let transmit, let receive) = change {
      let swapped = LinkLayerPDU.phyUpdate(transmit: receive, receive: transmit)
      if sender == .central { atCentral = swapped } else { atPeripheral = swapped }
    }
    controllers[connection.central].apply(atCentral, on: connection.id, &context)
    controllers[connection.peripheral].apply(atPeripheral, on: connection.id, &context)
  }

  /// Sends the next packet: the answer of the other end, or the first packet of another exchange. If there is none,
  /// closes the event.
  private mutating func continueEvent(_ id: UInt64) {
    guard var connection = context.connections[id], var event = connection.event else { return }
    let (central, peripheral) = (connection.central, connection.peripheral)
    let isPrepared = event.isAnswerPrepared
    guard isInRange(connection), let poll = controllers[central].emptyPacket(on: id, hasMoreData: isPrepared),
      let reply = controllers[peripheral].emptyPacket(on: id, hasMoreData: isPrepared)
    else { return context.connections.stop(id) }
    if event.sender == .central {
      let next = isPrepared ? controllers[peripheral].nextPacket(on: id) : nil
      // An event of a short interval holds one packet of each end, whatever their length. Longer ones take the time of
      // the next event.
      let isHeld = event.isFirstExchange && connection.schedule.timing.isShort
      event.answer(with: next.flatMap { isHeld || event.hasRoom(for: $0.airtime, packets: 1) ? $0 : nil } ?? reply)
      connection.event = event
    } else if event.mayContinue, isPrepared, let next = controllers[central].nextPacket(on: id),
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
      if controllers[peripheral].needsEvent(on: id) {
        connection.nextEvent = connection.schedule.nextEvent(after: context.now, for: .peripheral)
      } else if controllers[central].needsEvent(on: id) {
        connection.nextEvent = connection.schedule.nextEvent(after: context.now, for: .central)
      }
    }
    context.connections[id] = connection
  }
}
