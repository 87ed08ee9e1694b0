internal import BLEHCI
internal import BLEWire

/// Advertisements from one controller to the others, and the links that begin with them.
extension VirtualRadio {
  /// Runs the advertising events that are due in one controller.
  mutating func advertise(from slot: Int) {
    runAdvertisingEvents(of: slot)
    for handle in controllers[slot].advertisingSetsDue(at: context.now) {
      guard let advertisement = controllers[slot].beginAdvertisingEvent(of: handle, context) else { continue }
      guard controllers[slot].isInRange else { continue }
      if context.pacing == .airtime { beginAdvertisingEvent(advertisement) } else { broadcast(advertisement) }
    }
    controllers[slot].tickAdvertising(&context)
  }

  /// Delivers the advertisement to every scanner, then to the initiators until one connects.
  private mutating func broadcast(_ advertisement: AdvertisingPDU) {
    for slot in controllers.indices where slot != advertisement.sender && controllers[slot].isReachable {
      guard controllers[slot].scans(for: advertisement) else { continue }
      if let scanner = controllers[slot].receiveAdvertisement(received(advertisement, by: slot), &context) {
        let sender = advertisement.sender
        if let response = controllers[sender].answerScanRequest(for: advertisement, from: scanner, &context) {
          _ = controllers[slot].receiveAdvertisement(received(response, by: slot), &context)
        }
      }
    }
    guard advertisement.properties.contains(.connectable) else { return }
    for slot in controllers.indices where slot != advertisement.sender && controllers[slot].isReachable {
      guard controllers[slot].initiates(for: advertisement),
        let request = controllers[slot].connectRequest(for: advertisement, context)
      else { continue }
      if connect(slot, to: advertisement, from: request.ownAddress, request.parameters) { return }
    }
  }

  /// Opens a link between an initiator and the advertiser.
  ///
  /// - Returns: false if the advertiser does not accept the connection.
  mutating func connect(
    _ central: Int, to advertisement: AdvertisingPDU, from ownAddress: DeviceAddress,
    _ parameters: HCI.ConnectionParameters
  ) -> Bool {
    let peripheral = advertisement.sender
    guard let address = advertisement.address, controllers[central].isInRange, controllers[peripheral].isInRange,
      controllers[peripheral].acceptsConnection(for: advertisement, from: ownAddress, context)
    else { return false }
    let id = context.newLinkID()
    if context.pacing == .airtime {
      context.connections.open(plannedConnection(id, central, to: advertisement, parameters.timing))
    }
    let phy = advertisement.linkPHY
    controllers[central].open(
      NewVirtualLink(
        id: id, role: .central, ownAddress: ownAddress, peerAddress: address, peer: peripheral,
        rssi: rssi(of: peripheral, at: central), power: controllers[central].newLinkPower, timing: parameters.timing,
        phy: phy, advertisingHandle: advertisement.handle,
        peerFeatures: controllers[peripheral].announcedFeatures),
      &context)
    controllers[peripheral].open(
      NewVirtualLink(
        id: id, role: .peripheral, ownAddress: address, peerAddress: ownAddress, peer: central,
        rssi: rssi(of: central, at: peripheral), power: controllers[peripheral].newLinkPower, timing: parameters.timing,
        phy: phy, advertisingHandle: advertisement.handle,
        peerFeatures: controllers[central].announcedFeatures),
      &context)
    deliver()
    return true
  }

  /// A connection whose first anchor point is in the transmit window: transmitWindowDelay and a random
  /// transmitWindowOffset of at most one interval after the end of the connect request (Vol 6, Part B, 4.5.3).
  private mutating func plannedConnection(
    _ id: UInt64, _ central: Int, to advertisement: AdvertisingPDU, _ timing: LinkLayerTiming
  ) -> Connection {
    var delay = Duration.microseconds(1250)
    if !advertisement.isLegacyPDU {
      delay = .microseconds(advertisement.linkPHY == .leCoded ? 3750 : 2500)
    }
    let offset = controllers[central].transmitWindowOffset(interval: timing.interval)
    let anchor = context.now + delay + .microseconds(1250 * offset)
    return Connection(
      id: id, central: central, peripheral: advertisement.sender,
      schedule: ConnectionSchedule(timing: timing, firstAnchor: anchor))
  }
}

/// Advertising events with airtime: the receivers of each packet, and their requests (Vol 6, Part B, 4.4.2 to 4.4.4).
extension VirtualRadio {
  /// Begins the advertising event of a set. The event is skipped if no controller scans or initiates.
  mutating func beginAdvertisingEvent(_ advertisement: AdvertisingPDU) {
    let isReceived = controllers.indices.contains {
      $0 != advertisement.sender && controllers[$0].isReachable
        && (controllers[$0].isScanning || controllers[$0].isInitiating)
    }
    guard isReceived, let event = AdvertisingEvent(advertisement, at: context.now) else { return }
    keep(event, of: advertisement)
    skipChannelsWithoutListener(advertisement)
  }

  /// Does everything that is due in the advertising events of one controller.
  mutating func runAdvertisingEvents(of slot: Int) {
    for event in controllers[slot].advertisingEventsDue(at: context.now) { finishPackets(event) }
  }

  /// Ends a stage of the event, after its packets have been received.
  private mutating func finishPackets(_ event: AdvertisingEvent) {
    let advertisement = event.advertisement
    switch event.stage {
    case .primary(let channel):
      let listeners = listeners(to: event, on: channel)
      if advertisement.hasAuxiliaryPacket {
        update(advertisement) { event in
          event.followers += listeners.filter { !event.followers.contains($0) }
        }
      } else if answer(advertisement, by: listeners) {
        return
      }
    case .auxiliary:
      let followers = event.followers.filter { id in
        slot(of: id).map { controllers[$0].isInRange && controllers[$0].canFollow(advertisement) } ?? false
      }
      if answer(advertisement, by: followers) { return }
    case .scanRequest(let request):
      let response = controllers[advertisement.sender].answerScanRequest(
        for: advertisement, from: request.address, &context)
      if let response { return update(advertisement) { $0.respond(response, to: request.scanner) } }
    case .scanResponse(let response, let scanner):
      if let slot = slot(of: scanner) {
        _ = controllers[slot].receiveAdvertisement(received(response, by: slot), &context)
      }
    case .connectRequest(let request):
      if let slot = slot(of: request.initiator), controllers[slot].isInitiating,
        connect(slot, to: advertisement, from: request.ownAddress, request.parameters)
      {
        return
      }
    }
    advance(advertisement)
  }

  /// Delivers the advertisement to scanners and initiators, and starts the request of one of them. If several have a
  /// request, one is chosen at random. This replaces the backoff procedure (Vol 6, Part B, 4.4.3.2).
  ///
  /// - Returns: whether there is a request.
  private mutating func answer(_ advertisement: AdvertisingPDU, by listeners: [ControllerID]) -> Bool {
    var requests: [AdvertisingEvent.Request] = []
    for id in listeners {
      guard let slot = slot(of: id) else { continue }
      if controllers[slot].isScanning,
        let address = controllers[slot].receiveAdvertisement(received(advertisement, by: slot), &context)
      {
        requests.append(.scan(.init(scanner: id, address: address)))
      }
      if let request = controllers[slot].connectRequest(for: advertisement, context) {
        requests.append(.connect(.init(initiator: id, ownAddress: request.ownAddress, parameters: request.parameters)))
      }
    }
    guard !requests.isEmpty else { return false }
    let chosen = controllers[advertisement.sender].chooseRequest(of: requests.count)
    update(advertisement) { $0.request(requests[chosen]) }
    return true
  }

  /// The controllers that receive the current packet of the event on a primary channel.
  private func listeners(to event: AdvertisingEvent, on channel: Int) -> [ControllerID] {
    controllers.filter { controller in
      controller.isReachable && controller.id.slot != event.advertisement.sender
        && controller.receives(event, on: channel)
    }.map(\.id)
  }

  // MARK: The event in its set

  /// Moves on to the next packet that a controller receives.
  private mutating func advance(_ advertisement: AdvertisingPDU) {
    var isOver = false
    update(advertisement) { isOver = !$0.advance() }
    if isOver { end(advertisement) } else { skipChannelsWithoutListener(advertisement) }
  }

  private mutating func skipChannelsWithoutListener(_ advertisement: AdvertisingPDU) {
    while let event = event(of: advertisement), case .primary(let channel) = event.stage,
      listeners(to: event, on: channel).isEmpty
    {
      var isOver = false
      update(advertisement) { isOver = !$0.advance() }
      if isOver { end(advertisement) }
    }
  }

  private func event(of advertisement: AdvertisingPDU) -> AdvertisingEvent? {
    controllers[advertisement.sender].advertisingEvent(of: advertisement.handle)
  }

  private mutating func keep(_ event: AdvertisingEvent?, of advertisement: AdvertisingPDU) {
    controllers[advertisement.sender].setAdvertisingEvent(event, of: advertisement.handle)
  }

  private mutating func end(_ advertisement: AdvertisingPDU) { keep(nil, of: advertisement) }

  private mutating func update(_ advertisement: AdvertisingPDU, _ change: (inout AdvertisingEvent) -> Void) {
    guard var event = event(of: advertisement) else { return }
    change(&event)
    keep(event, of: advertisement)
  }
}
