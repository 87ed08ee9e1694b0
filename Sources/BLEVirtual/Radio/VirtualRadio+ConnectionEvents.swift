internal import BLEHCI
internal import BLEWire

/// Connection events with airtime (Vol 6, Part B, 4.5). Each step is an anchor point or the end of a packet.
extension VirtualRadio {
  private typealias Ends = (central: Int, peripheral: Int)

  /// Does everything that is due on all links.
  mutating func runConnectionEvents() {
    while let connection = context.connections.due(at: context.now) {
      guard let ends = ends(of: connection) else {
        context.connections.stop(connection.id)
        continue
      }
      if let event = connection.event {
        finishPacket(event, connection, ends)
        deliver()
        continueEvent(connection.id)
      } else {
        beginEvent(connection, ends)
      }
    }
  }

  /// The index of the link in each controller; nil if a controller no longer has it or is out of range.
  private func ends(of connection: Connection) -> Ends? {
    guard let central = end(of: connection.id, at: connection.central),
      let peripheral = end(of: connection.id, at: connection.peripheral),
      !controllers[connection.central].links[central].isCut,
      !controllers[connection.peripheral].links[peripheral].isCut
    else { return nil }
    return (central, peripheral)
  }

  /// Begins an event at its anchor point: changes with this instant take effect, and the central sends.
  private mutating func beginEvent(_ connection: Connection, _ ends: Ends) {
    guard let due = connection.dueEvent else { return context.connections.stop(connection.id) }
    var connection = connection
    connection.schedule.begin(due)
    connection.nextEvent = nil
    for change in connection.schedule.takeChanges() {
      if case .connectionUpdate(let timing) = change.pdu { connection.schedule.apply(timing) }
      apply(change.pdu, from: change.sender, connection, ends)
    }
    let anchor = connection.schedule.anchor
    let nextAnchor = connection.schedule.anchor(of: due + 1)
    let central = controllers[connection.central]
    connection.event = ConnectionEvent(
      packet: central.nextPacket(on: ends.central) ?? central.emptyPacket(on: ends.central, hasMoreData: false),
      anchor: anchor,
      nextAnchor: nextAnchor)
    context.connections[connection.id] = connection
  }

  /// Ends a packet: it acknowledges the PDU of its receiver, and its own PDU takes effect.
  private mutating func finishPacket(_ event: ConnectionEvent, _ connection: Connection, _ ends: Ends) {
    let isFromCentral = event.sender == .central
    let (sender, receiver) = (
      connection.slot(of: event.sender), connection.slot(of: isFromCentral ? .peripheral : .central)
    )
    let own = isFromCentral ? ends.central : ends.peripheral
    let peer = isFromCentral ? ends.peripheral : ends.central
    if !isFromCentral { context.connections[connection.id]?.isEstablished = true }

    controllers[receiver].acknowledged(on: peer, &context)
    if let reason = controllers[sender].links[own].terminationReason {
      return controllers[sender].close(own, reason, &context)
    }
    // The acknowledgement may have ended the receiver's link.
    guard end(of: connection.id, at: receiver) == peer else { return }

    context.connections[connection.id]?.event?.isAnswerPrepared = controllers[receiver].nextPacket(on: peer) != nil
    switch event.packet.content {
    case .empty: return
    case .control(let pdu):
      controllers[sender].sent(event.packet.content, on: own)
      receive(pdu, from: event.sender, connection, ends)
    case .data(let offset, let count, _):
      // A receiver whose host has no free buffer does not acknowledge. The PDU is sent again when there is one.
      guard controllers[receiver].hostHasRoom(for: count) else {
        controllers[sender].links[own].isBlocked = true
        return
      }
      guard let waiting = controllers[sender].links[own].waiting.first else { return }
      controllers[sender].sent(event.packet.content, on: own)
      pass(waiting, offset..<(offset + count), from: sender, to: receiver, on: peer)
    }
    context.connections[connection.id]?.event?.isExchangeUseful = true
  }

  /// Passes octets of a buffer of the sender to the receiver's host.
  private mutating func pass(
    _ waiting: VirtualLink.Waiting, _ range: Range<Int>, from sender: Int, to receiver: Int, on index: Int
  ) {
    let octets = controllers[sender].buffers.take(waiting.buffer)
    if range.upperBound <= octets.count {
      controllers[receiver].passToHost(
        octets.span.extracting(range), isStart: waiting.isStart && range.lowerBound == 0, on: index, &context)
    }
    controllers[sender].buffers.putBack(octets, into: waiting.buffer)
  }

  /// Receives a control PDU. It takes effect at once, except LL_TERMINATE_IND, which waits for its acknowledgement, and
  /// PDUs with an instant.
  private mutating func receive(_ pdu: LinkLayerPDU, from sender: HCI.Role, _ connection: Connection, _ ends: Ends) {
    let receiver = connection.slot(of: sender == .central ? .peripheral : .central)
    let index = sender == .central ? ends.peripheral : ends.central
    switch pdu {
    case .terminate(let reason): controllers[receiver].links[index].terminationReason = reason
    case .connectionUpdate, .channelMap: context.connections[connection.id]?.schedule.plan(pdu, from: sender)
    case .phyUpdate(let transmit, let receive):
      let link = controllers[receiver].links[index]
      if link.transmitPHY == transmit, link.receivePHY == receive {
        apply(pdu, from: sender, connection, ends)
      } else {
        context.connections[connection.id]?.schedule.plan(pdu, from: sender)
      }
    default: controllers[receiver].receive(pdu, on: index, &context)
    }
  }

  /// Applies a change on both ends.
  private mutating func apply(_ pdu: LinkLayerPDU, from sender: HCI.Role, _ connection: Connection, _ ends: Ends) {
    let (central, peripheral) = (connection.central, connection.peripheral)
    switch pdu {
    case .connectionUpdate(let timing):
      controllers[central].apply(timing, on: ends.central, &context)
      controllers[peripheral].apply(timing, on: ends.peripheral, &context)
    case .phyUpdate(let transmit, let receive):
      let isFromCentral = sender == .central
      controllers[central].apply(
        transmit: isFromCentral ? receive : transmit, receive: isFromCentral ? transmit : receive, on: ends.central,
        &context)
      controllers[peripheral].apply(
        transmit: isFromCentral ? transmit : receive, receive: isFromCentral ? receive : transmit,
        on: ends.peripheral, &context)
    case .channelMap(let map):
      controllers[central].links[ends.central].channelMap = map
      controllers[peripheral].links[ends.peripheral].channelMap = map
    default: break
    }
  }

  /// Sends the next packet: the answer of the other end, or the first one of another exchange. Otherwise closes the
  /// event.
  private mutating func continueEvent(_ id: UInt64) {
    guard var connection = context.connections[id], var event = connection.event else { return }
    guard let ends = ends(of: connection) else { return context.connections.stop(id) }
    let central = controllers[connection.central]
    let peripheral = controllers[connection.peripheral]
    let isPrepared = event.isAnswerPrepared
    let poll = central.emptyPacket(on: ends.central, hasMoreData: isPrepared)
    let reply = peripheral.emptyPacket(on: ends.peripheral, hasMoreData: isPrepared)
    if event.sender == .central {
      let next = isPrepared ? peripheral.nextPacket(on: ends.peripheral) : nil
      event.answer(with: next.flatMap { event.hasRoom(for: $0.airtime, packets: 1) ? $0 : nil } ?? reply)
      connection.event = event
    } else if event.mayContinue, isPrepared, let next = central.nextPacket(on: ends.central),
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
      if peripheral.needsEvent(on: ends.peripheral) {
        connection.nextEvent = connection.schedule.nextEvent(after: context.now, for: .peripheral)
      } else if central.needsEvent(on: ends.central) {
        connection.nextEvent = connection.schedule.nextEvent(after: context.now, for: .central)
      }
    }
    context.connections[id] = connection
  }
}
