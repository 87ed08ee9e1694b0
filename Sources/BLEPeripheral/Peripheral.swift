import BLEATT
public import BLECrypto
public import BLEGAP
public import BLEGATT
public import BLEHCI
public import BLEHost
public import BLESMP
public import BLEWire

/// A Bluetooth LE peripheral without I/O: octets from the controller and time in; octets for the controller, events and
/// a deadline out.
///
/// A program has one loop. It passes the octets of the controller to ``receive(_:now:)``, calls ``tick(now:)`` when
/// ``deadline`` has passed, and after each call sends what ``transmit(_:)`` has and handles what ``nextEvent()``
/// returns. All calls come from the same thread; an interrupt handler only stores octets.
///
/// ```swift
/// var peripheral = try Peripheral(
///   PeripheralConfiguration(name: "Thermometer"), services: [service], cryptography: MyCryptography(),
///   bonds: flash.bonds)
/// peripheral.advertise(try Advertisement(localName: "Thermometer", serviceUUIDs: ["181A"]), now: clock.now)
/// peripheral.start(now: clock.now)
/// while true {
///   peripheral.transmit { uart.write($0) }
///   while let event = peripheral.nextEvent() {
///     if case .bondChanged(let bond) = event { flash.store(bond) }
///   }
///   let octets = uart.read(until: peripheral.deadline)
///   try peripheral.receive(octets.span, now: clock.now)
///   peripheral.tick(now: clock.now)
/// }
/// ```
///
/// The sizes of its tables and queues are in ``PeripheralLimits``. Nothing reports that memory is exhausted: Swift's
/// runtime ends the program then. Measure the heap with all tables full, as Examples/Microcontroller does.
public struct Peripheral: ~Copyable {
  private struct Link {
    var id: LinkID
    /// The attributes whose values the client gets.
    var subscriptions: [AttributeID] = []
    /// The values that the controller has not sent.
    var waiting = 0
    /// Whether a value had no room.
    var wasFull = false
  }

  /// When ``tick(now:)`` next has work; nil: the peripheral waits for the controller or the program alone. It changes
  /// with each call.
  public private(set) var deadline: Instant?

  private var core: HostCore
  private var output = HostOutput()
  private var framer: H4Framer
  private let limits: PeripheralLimits
  private let characteristics: [PeripheralCharacteristic]
  private var links: [Link] = []
  private var events = FIFO<PeripheralEvent>()
  private var droppedEvents = 0
  private var bondChanges: BondChanges
  private var value = ValueBuffer()
  private var recipients: [LinkID] = []
  private var hasStarted = false
  private var isReady = false
  /// The advertisement of the program.
  private var advertisement: AdvertisingIntent?
  /// Whether the host has it.
  private var isAdvertisementDeclared = false
  /// The declaration at the host; each has a name of its own.
  private var advertisementID = AdvertisingID(rawValue: 0)
  /// Whether the host has rejected the declaration, because the controller has not yet stopped the one before.
  private var isAdvertisementDelayed = false

  /// A peripheral that has not started.
  ///
  /// - Parameters:
  ///   - configuration: names, addresses, pairing and limits.
  ///   - services: the services in the order of their handles, which stay the same as long as the services do: bonded
  ///     centrals store them.
  ///   - cryptography: AES-128, AES-CMAC and P-256; on Linux `LibCrypto` of BLECrypto.
  ///   - random: the source of keys. `RandomSource.system` calls `arc4random_buf` in Embedded Swift, which the board
  ///     must provide with a true random number generator.
  ///   - bonds: the bonds of earlier runs (``Bond/init(encoded:)``).
  /// - Throws: `DatabaseError` for services that are not possible, such as two characteristics with one identifier.
  public init(
    _ configuration: PeripheralConfiguration, services: [PeripheralService], cryptography: some Cryptography,
    random: RandomSource = .system, bonds: [Bond] = []
  ) throws(DatabaseError) {
    var host = configuration.host
    host.bonds = bonds
    core = HostCore(configuration: host, cryptography: cryptography, random: random)
    limits = configuration.limits.bounded
    framer = H4Framer(limit: limits.packetOctets)
    characteristics = services.flatMap { $0.characteristics }
    bondChanges = BondChanges(bonds)
    events.reserveCapacity(limits.events)
    links.reserveCapacity(limits.links)
    recipients.reserveCapacity(limits.links)
    try add(services)
    noteDeadline()
  }

  // Not inlined: the stack would have its values beside those of the initializer.
  @inline(never)
  private mutating func add(_ services: [PeripheralService]) throws(DatabaseError) {
    var added = HostOutput()
    for (index, service) in services.enumerated() {
      let definition = service.definition(ServiceID(rawValue: UInt32(truncatingIfNeeded: index)))
      core.perform(.services(.add(definition)), from: .process, now: .start, into: &added)
    }
    for event in added.events { if case .services(.added(_, .failure(let error))) = event.event { throw error } }
  }

  /// Resets the controller and sets it up; ``PeripheralEvent/ready(_:)`` follows.
  ///
  /// Call it again after the controller was reset or has lost octets. Links have then ended, and the stream begins
  /// anew.
  public mutating func start(now: Instant) {
    if hasStarted {
      core.transportFailed(.transport("the program has started the controller again"), now: now, into: &output)
      process(now)
    }
    hasStarted = true
    framer.reset()
    core.start(now: now, into: &output)
    process(now)
  }

  /// Takes octets from the controller: any part of the stream of H4 packets (Vol 4, Part A).
  ///
  /// - Throws: `H4Error` if the octets are no H4 packets. The boundaries of packets are lost: reset the controller and
  ///   call ``start(now:)``.
  public mutating func receive(_ octets: Span<UInt8>, now: Instant) throws(H4Error) {
    var offset = 0
    while let place = try framer.next(in: octets, from: &offset) {
      switch place {
      case .input(let range): core.receive(octets.extracting(range), now: now, into: &output)
      case .collected:
        let packet = framer.collected
        core.receive(packet.span, now: now, into: &output)
      }
      process(now)
      if isAdvertisementDelayed {
        isAdvertisementDelayed = false
        reviewAdvertising(now)
        process(now)
      }
    }
  }

  /// Handles the timeouts that are due. It may be called at any time, and must be when ``deadline`` has passed.
  public mutating func tick(now: Instant) {
    guard let deadline, deadline <= now else { return }
    core.tick(now: now, into: &output)
    process(now)
  }

  /// Whether the peripheral has stopped to reset a controller that does not answer or cannot be used.
  public var hasFailed: Bool { core.hasFailed }

  /// Passes the packets for the controller to `send`, in order, and forgets them. The octets are valid during the call.
  public mutating func transmit(_ send: (Span<UInt8>) -> Void) {
    if output.packets.isEmpty { return }
    output.packets.forEach(send)
    output.packets.removeAll()
  }

  /// The next event; nil if there is none.
  public mutating func nextEvent() -> PeripheralEvent? {
    if let event = events.first {
      // The memory of the event is not kept by the queue.
      events[0] = .eventsDropped(0)
      events.removeFirst(1)
      return event
    }
    guard droppedEvents > 0 else { return bondChanges.next() }
    defer { droppedEvents = 0 }
    return .eventsDropped(droppedEvents)
  }

  /// Declares the advertisement, which replaces an earlier one. It is sent when the controller is ready, as long as
  /// fewer than ``PeripheralLimits/links`` links are up, until ``stopAdvertising(now:)``.
  ///
  /// `interval` has the shortest and the longest interval in units of 0.625 ms, 0x0020 to 0x4000 (Vol 4, Part E,
  /// 7.8.5). The default is 100 to 150 ms.
  ///
  /// - Throws: `AdvertisingDataError` if the content does not fit 31 octets and 31 octets of scan response.
  public mutating func advertise(
    _ advertisement: Advertisement, interval: ClosedRange<UInt16> = 0x00A0...0x00F0, now: Instant
  ) throws(AdvertisingDataError) {
    let payload = try advertisement.payload(under: .full)
    var intent = AdvertisingIntent(data: payload.advertisingData, scanResponse: payload.scanResponse)
    intent.interval = interval
    intent.continuesWhileConnected = limits.links > 1
    withdrawAdvertisement(now)
    self.advertisement = intent
    reviewAdvertising(now)
    process(now)
  }

  /// Stops advertising. Links stay up.
  public mutating func stopAdvertising(now: Instant) {
    advertisement = nil
    reviewAdvertising(now)
    process(now)
  }

  /// Brings the declaration to the state that the program, the controller and the number of links call for.
  private mutating func reviewAdvertising(_ now: Instant) {
    // One link pauses it by itself, and so does a controller that is not ready.
    let hasRoom = links.count < limits.links || limits.links == 1
    guard let advertisement, hasRoom else { return withdrawAdvertisement(now) }
    guard isReady, !isAdvertisementDeclared else { return }
    isAdvertisementDeclared = true
    advertisementID.rawValue &+= 1
    perform(.advertising(.start(advertisementID, advertisement)), now)
  }

  private mutating func withdrawAdvertisement(_ now: Instant) {
    guard isAdvertisementDeclared else { return }
    isAdvertisementDeclared = false
    perform(.advertising(.stop(advertisementID)), now)
    append(.advertising(false))
  }

  /// Sends a value to the clients that have subscribed to it: by a notification, or by an indication to a client that
  /// has subscribed to indications alone.
  ///
  /// A value that is longer than ATT_MTU - 3 octets is cut. A value that is accepted is sent unless the link ends. With
  /// a `peer`, its link alone gets the value.
  ///
  /// - Returns: the number of links that get it, and of those that have no room.
  @discardableResult
  public mutating func update(
    _ attribute: AttributeID, _ value: Span<UInt8>, to peer: Peer? = nil, now: Instant
  ) -> UpdateResult {
    var result = UpdateResult()
    recipients.removeAll(keepingCapacity: true)
    for index in links.indices where peer == nil || peer?.link == links[index].id {
      guard links[index].subscriptions.contains(attribute) else { continue }
      guard links[index].waiting < limits.updates else {
        links[index].wasFull = true
        result.full += 1
        continue
      }
      links[index].waiting += 1
      result.accepted += 1
      recipients.append(links[index].id)
    }
    guard !recipients.isEmpty else { return result }
    let run = UpdateRun(of: attribute, from: .process, to: recipients, count: 1, octets: value.count)
    let length: InlineArray<1, Int> = [value.count]
    core.update(run, length.span, value, now: now, into: &output)
    process(now)
    return result
  }

  /// Ends a link; ``PeripheralEvent/disconnected(_:_:)`` follows.
  public mutating func disconnect(_ peer: Peer, now: Instant) {
    perform(.link(peer.link, .disconnect(.remoteUserTerminatedConnection)), now)
    process(now)
  }

  /// Requests that the central pair or encrypt the link (Vol 3, Part H, 2.4.6). Without it a central does so when its
  /// request is rejected for missing security.
  public mutating func requestSecurity(of peer: Peer, now: Instant) {
    perform(.link(peer.link, .requestSecurity), now)
    process(now)
  }

  /// Answers ``PeripheralEvent/question(_:_:_:)``. An answer to a question that is not open changes nothing, and is
  /// reported by ``PeripheralEvent/diagnostic(_:)``.
  public mutating func answer(_ question: PairingQuestionID, _ answer: PairingAnswer, of peer: Peer, now: Instant) {
    perform(.link(peer.link, .answerPairing(question, answer)), now)
    process(now)
  }

  /// Changes how the peripheral pairs from now on; nil rejects every attempt.
  public mutating func setPairing(_ settings: PairingSettings?, now: Instant) {
    perform(.security(.setPairing(settings)), now)
    process(now)
  }

  /// Removes the bond of a device; ``PeripheralEvent/bondRemoved(_:)`` follows if there was one.
  public mutating func removeBond(of identity: DeviceAddress, now: Instant) {
    perform(.security(.removeBond(identity)), now)
    process(now)
  }

  private mutating func perform(_ command: HostCommand, _ now: Instant) {
    core.perform(command, from: .process, now: now, into: &output)
  }
}

extension Peripheral {
  /// Handles the events of the host, and those that their handling causes.
  private mutating func process(_ now: Instant) {
    var place = 0
    while place < output.events.count {
      let event = output.events[place].event
      place += 1
      take(event, now)
    }
    output.events.removeFew()
    noteDeadline()
  }

  private mutating func noteDeadline() { deadline = core.deadline }

  private mutating func append(_ event: PeripheralEvent) {
    guard events.count < limits.events, droppedEvents == 0 else { return droppedEvents += 1 }
    events.append(event)
  }

  // Not inlined: the stack would have the copies of events in each function that calls the host.
  @inline(never)
  private mutating func take(_ event: HostEvent, _ now: Instant) {
    switch event {
    case .server(let link, let event): take(event, of: link, now)
    case .state(.poweredOn, _):
      isReady = true
      append(.ready(core.ownAddress))
      reviewAdvertising(now)
    case .state(_, let error):
      isReady = false
      append(.notReady(error.map { $0.description } ?? "the controller is being set up"))
    case .advertising(let id, let event): if isAdvertisementDeclared, id == advertisementID { take(event) }
    case .connected(let connection):
      guard links.count < limits.links else {
        return perform(.link(connection.peer, .disconnect(.remoteDeviceTerminatedLowResources)), now)
      }
      links.append(Link(id: connection.peer))
      append(.connected(Peer(connection.peer), connection.address))
      reviewAdvertising(now)
    case .link(let link, let event): take(event, of: link, now)
    case .pairing(let link, let event): take(event, of: link)
    case .bonds(let event): take(event)
    case .refused(let error): append(.diagnostic(error.description))
    case .diagnostic(let diagnostic): append(.diagnostic(diagnostic.description))
    // A peripheral neither scans nor connects, and has no channels of its own.
    case .address, .capabilities, .services, .scanning, .synchronizing, .connectionFailed, .foreignLink, .client,
      .channels, .channel:
      break
    }
  }

  private mutating func take(_ event: HostEvent.Advertising) {
    switch event {
    // There is one, so that the others are being stopped.
    case .started(.failure(.tooMany)): (isAdvertisementDeclared, isAdvertisementDelayed) = (false, true)
    case .started(.success), .resumed: append(.advertising(true))
    case .paused: append(.advertising(false))
    case .started(.failure(let error)), .ended(let error):
      (advertisement, isAdvertisementDeclared) = (nil, false)
      append(.advertisingFailed(error.description))
    case .trainUpdated, .transferred: break
    }
  }

  private mutating func take(_ event: HostEvent.Link, of link: LinkID, _ now: Instant) {
    switch event {
    case .disconnected(let reason):
      guard let index = place(of: link) else { return }
      links.remove(at: index)
      append(.disconnected(Peer(link), reason))
      reviewAdvertising(now)
    case .security(let state): if place(of: link) != nil { append(.security(Peer(link), state)) }
    case .identified, .mtu, .connectionUpdated, .connectionUpdateRefused, .dataLength, .phy, .subrating,
      .connectionRate,
      .rssi, .power:
      break
    }
  }

  private mutating func take(_ event: HostEvent.Pairing, of link: LinkID) {
    switch event {
    case .question(let id, let question): append(.question(Peer(link), id, question))
    case .questionWithdrawn(let id): append(.questionWithdrawn(id))
    case .succeeded(let device): append(.paired(Peer(link), isBonded: device.isBonded))
    case .failed(let failure): append(.pairingFailed(Peer(link), failure.description))
    case .keypress: break
    }
  }

  private mutating func take(_ event: HostEvent.Bonds) {
    switch event {
    case .changed(let bond): append(.bondChanged(bond), of: event)
    case .removed(let identity): append(.bondRemoved(identity), of: event)
    case .replaced(_, let identity): append(.diagnostic("\(identity) has paired anew without proving its bond"))
    case .lost(_, let identity, let loss): append(.diagnostic("\(identity): \(loss.description)"))
    }
  }

  private mutating func append(_ change: PeripheralEvent, of event: HostEvent.Bonds) {
    // The changes of a device stay in order.
    guard bondChanges.isEmpty, events.count < limits.events, droppedEvents == 0 else {
      return bondChanges.append(event)
    }
    bondChanges.queued(event)
    events.append(change)
  }

  private func place(of link: LinkID) -> Int? { links.firstIndex { $0.id == link } }
}

extension Peripheral {
  private mutating func take(_ event: HostEvent.Server, of link: LinkID, _ now: Instant) {
    switch event {
    case .read(let token, let attribute, let offset): read(attribute, from: offset, token, of: link, now)
    case .write(let token, let parts):
      let error = write(parts, of: link)
      perform(.respond(link, token, error.map { .failure($0) } ?? .success([])), now)
    case .command(let attribute, let octets): _ = write(octets.span, to: attribute, of: link)
    case .subscription(let attribute, let subscription):
      if let index = place(of: link) {
        links[index].subscriptions.removeAll { $0 == attribute }
        if !subscription.isEmpty { links[index].subscriptions.append(attribute) }
      }
      append(.subscription(Peer(link), attribute, subscription))
    case .updateFinished: finished(1, on: link)
    case .updatesFinished(let count): finished(count, on: link)
    // No value is stored by the host, and every request is answered when it arrives.
    case .stored, .requestTimedOut: break
    }
  }

  private mutating func finished(_ count: Int, on link: LinkID) {
    guard let index = place(of: link) else { return }
    links[index].waiting = max(0, links[index].waiting - count)
    guard links[index].wasFull else { return }
    links[index].wasFull = false
    append(.canUpdate(Peer(link)))
  }

  private mutating func read(
    _ attribute: AttributeID, from offset: Int, _ token: RequestToken, of link: LinkID, _ now: Instant
  ) {
    guard let read = characteristics.first(where: { $0.id == attribute })?.read else {
      return perform(.respond(link, token, .failure(.readNotPermitted)), now)
    }
    value.removeAll()
    if let error = read(Peer(link), &value) { return perform(.respond(link, token, .failure(error)), now) }
    guard !value.hasOverflowed else {
      append(.diagnostic("\(attribute) has a value of more than \(ValueBuffer.limit) octets: the read failed"))
      return perform(.respond(link, token, .failure(.unlikelyError)), now)
    }
    guard offset <= value.count else { return perform(.respond(link, token, .failure(.invalidOffset)), now) }
    let octets = value.octets
    core.perform(
      .respond(link, token, .success([])), octets.span.extracting(offset..<octets.count), from: .process, now: now,
      into: &output)
  }

  /// Writes one value, whole or in prepared parts, each of which begins where the one before ends.
  private func write(_ parts: [WritePart], of link: LinkID) -> ATTErrorCode? {
    guard let first = parts.first else { return nil }
    if parts.count == 1, first.offset == 0 { return write(first.value.span, to: first.attribute, of: link) }
    var whole: [UInt8] = []
    for part in parts {
      // Functions of several characteristics could not take their values all or not at all.
      guard part.attribute == first.attribute else { return .requestNotSupported }
      guard part.offset == whole.count else { return .invalidOffset }
      whole += part.value
    }
    return write(whole.span, to: first.attribute, of: link)
  }

  private func write(_ octets: Span<UInt8>, to attribute: AttributeID, of link: LinkID) -> ATTErrorCode? {
    guard let write = characteristics.first(where: { $0.id == attribute })?.write else { return .writeNotPermitted }
    guard octets.count <= ValueBuffer.limit else { return .invalidAttributeValueLength }
    return write(Peer(link), octets)
  }
}
