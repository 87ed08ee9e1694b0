internal import BLEHCI
internal import BLEWire

/// Advertising events with airtime: the receivers of each packet, and their requests (Vol 6, Part B, 4.4.2 to 4.4.4).
extension VirtualRadio {
  /// Begins the advertising event of a set. The event is skipped if no controller scans or initiates.
  mutating func beginAdvertisingEvent(_ advertisement: Advertisement) {
    let isReceived = controllers.indices.contains {
      $0 != advertisement.sender && controllers[$0].isAttached
        && (controllers[$0].scanner.isListening || controllers[$0].initiator.request != nil)
    }
    guard isReceived, let event = AdvertisingEvent(advertisement, at: context.now) else { return }
    keep(event, of: advertisement)
    skipChannelsWithoutListener(advertisement)
  }

  /// Does everything that is due in the advertising events of one controller.
  mutating func runAdvertisingEvents(of slot: Int) {
    for event in controllers[slot].advertising.eventsDue(at: context.now) { finishPackets(event) }
  }

  /// Ends a stage of the event: its packets have been received.
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
        slot(of: id).map { controllers[$0].supports(advertisement.linkPHY) } ?? false
      }
      if answer(advertisement, by: followers) { return }
    case .scanRequest(let request):
      let response = controllers[advertisement.sender].answerScanRequest(
        for: advertisement, from: request.address, &context)
      if let response { return update(advertisement) { $0.respond(response, to: request.scanner) } }
    case .scanResponse(let response, let scanner):
      if let slot = slot(of: scanner) { _ = controllers[slot].receiveAdvertisement(response, &context) }
    case .connectRequest(let request):
      if let slot = slot(of: request.initiator), controllers[slot].initiator.request != nil,
        connect(slot, to: advertisement, from: request.ownAddress, request.parameters)
      {
        return
      }
    }
    advance(advertisement)
  }

  /// Delivers the advertisement to scanners and initiators, and starts the request of one of them. If several have one,
  /// it is drawn at random; this replaces the backoff procedure (Vol 6, Part B, 4.4.3.2).
  ///
  /// - Returns: whether there is a request.
  private mutating func answer(_ advertisement: Advertisement, by listeners: [ControllerID]) -> Bool {
    var requests: [AdvertisingEvent.Request] = []
    for id in listeners {
      guard let slot = slot(of: id) else { continue }
      if controllers[slot].scanner.isListening,
        let address = controllers[slot].receiveAdvertisement(advertisement, &context)
      {
        requests.append(.scan(.init(scanner: id, address: address)))
      }
      if let request = controllers[slot].connectRequest(for: advertisement, &context) {
        requests.append(.connect(.init(initiator: id, ownAddress: request.ownAddress, parameters: request.parameters)))
      }
    }
    guard !requests.isEmpty else { return false }
    let chosen =
      requests.count == 1
      ? 0 : Int.random(in: 0..<requests.count, using: &controllers[advertisement.sender].random)
    update(advertisement) { $0.request(requests[chosen]) }
    return true
  }

  /// The controllers that receive the current packet of the event on a primary channel.
  private func listeners(to event: AdvertisingEvent, on channel: Int) -> [ControllerID] {
    controllers.filter { controller in
      controller.isAttached && controller.id.slot != event.advertisement.sender
        && controller.receives(event, on: channel)
    }.map(\.id)
  }

  // MARK: The event in its set

  /// Moves on to the next packet that a controller receives.
  private mutating func advance(_ advertisement: Advertisement) {
    var isOver = false
    update(advertisement) { isOver = !$0.advance() }
    if isOver { end(advertisement) } else { skipChannelsWithoutListener(advertisement) }
  }

  private mutating func skipChannelsWithoutListener(_ advertisement: Advertisement) {
    while let event = event(of: advertisement), case .primary(let channel) = event.stage,
      listeners(to: event, on: channel).isEmpty
    {
      var isOver = false
      update(advertisement) { isOver = !$0.advance() }
      if isOver { end(advertisement) }
    }
  }

  private func event(of advertisement: Advertisement) -> AdvertisingEvent? {
    controllers[advertisement.sender].advertising.event(of: advertisement.handle)
  }

  private mutating func keep(_ event: AdvertisingEvent?, of advertisement: Advertisement) {
    controllers[advertisement.sender].advertising.setEvent(event, of: advertisement.handle)
  }

  private mutating func end(_ advertisement: Advertisement) { keep(nil, of: advertisement) }

  private mutating func update(_ advertisement: Advertisement, _ change: (inout AdvertisingEvent) -> Void) {
    guard var event = event(of: advertisement) else { return }
    change(&event)
    keep(event, of: advertisement)
  }
}
