import BLEGATT
import BLEHCI
import BLEL2CAP
import BLEWire

/// Routes what concerns credit-based channels between ``ChannelServices`` and the links.
enum ChannelRouter {
  /// Performs a command about channels.
  static func perform(
    _ command: HostCommand, from owner: OwnerID, _ links: inout HostLinks, _ host: inout HostTurn
  ) {
    switch command {
    case .listen(let id, let service):
      let result = links.channels.listen(service, for: owner)
      if case .success(let number) = result { servicesChanged(.listen(number, service), &links, &host) }
      host.append(.listening(id, result), to: owner.recipient)
    case .stopListening(let number):
      guard stopListening(number, of: owner, &links, &host) else { return }
      host.append(.stoppedListening(number), to: owner.recipient)
    case .openChannel(let id, let peer, let request):
      open(ChannelOpenings.Opening(id: id, owner: owner, request: request), on: peer, &links, &host)
    case .sendSDU(let channel, _), .didReadSDU(let channel), .closeChannel(let channel):
      guard let peer = links.channels.link(of: channel) else { return }
      links.withLink(of: peer, &host) { $0.signalling.perform(command, from: owner, &$3) }
    default: break
    }
  }

  private static func open(
    _ wanted: ChannelOpenings.Opening, on peer: PeerID, _ links: inout HostLinks, _ host: inout HostTurn
  ) {
    var opening = wanted
    let number = opening.request.spsm
    guard let index = links.table.index(of: peer), !links.table[index].isClosing else {
      return host.append(.channelOpenFailed(opening.id, .notConnected), to: opening.owner.recipient)
    }
    guard ChannelServices.validNumbers.contains(number.rawValue) else {
      let error = HostError.invalidParameters("no service has the number \(number). Use 0x0001 to 0x00FF")
      return host.append(.channelOpenFailed(opening.id, error), to: opening.owner.recipient)
    }
    opening.channel = links.channels.name(on: peer)
    links.withLink(index, &host) {
      $0.client.addUser(opening.owner)
      $0.signalling.open(opening, $0.channelFacts, &$3)
    }
  }

  /// Removes a service, and closes its channels.
  ///
  /// - Returns: whether the owner had it.
  private static func stopListening(
    _ number: SPSM, of owner: OwnerID, _ links: inout HostLinks, _ host: inout HostTurn
  ) -> Bool {
    guard links.channels.stopListening(number, of: owner) else { return false }
    servicesChanged(.stopListening(number), &links, &host)
    for index in links.table.indices { links.withLink(index, &host) { $0.signalling.stopListening(number, &$3) } }
    return true
  }

  private static func servicesChanged(
    _ directive: ChannelDirective, _ links: inout HostLinks, _ host: inout HostTurn
  ) {
    for index in links.table.indices { links.table[index].signalling.setServices(links.channels.numbers) }
    if !host.session.isExclusive, host.state == .poweredOn { host.output.channelDirectives.append(directive) }
  }

  /// The controller is up: the kernel's L2CAP layer, where there is one, gets all services.
  static func restore(_ links: HostLinks, _ host: inout HostTurn) {
    if !host.session.isExclusive { host.output.channelDirectives += links.channels.directives }
  }

  /// Withdraws the services, the channels and the requests of an owner.
  static func detach(_ owner: OwnerID, _ links: inout HostLinks, _ host: inout HostTurn) {
    for number in links.channels.numbers(of: owner) { _ = stopListening(number, of: owner, &links, &host) }
    for index in links.table.indices { links.withLink(index, &host) { $0.signalling.detach(owner, &$3) } }
  }

  /// Applies an effect of the channels of a link.
  static func perform(_ effect: ChannelEffect, of peer: PeerID, _ links: inout HostLinks, _ host: inout HostTurn) {
    switch effect {
    case .requested(let request) where request.spsm == .enhancedATT:
      links.withLink(of: peer, &host) { $0.signalling.answerBearers(request, $0.channelFacts, &$3) }
    case .requested(let request):
      let listener = links.channels.listeners[request.spsm]
      let names = (0..<request.count).map { _ in links.channels.name(on: peer) }
      links.withLink(of: peer, &host) { $0.signalling.answer(request, by: listener, as: names, $0.channelFacts, &$3) }
    case .securityWanted(let input):
      links.withSecurity(of: peer, input, &host)
      // If the security manager does nothing, the request fails. A peripheral waits for its central.
      let isPossible = links.policy.settings != nil
      links.withLink(of: peer, &host) {
        guard !isPossible || $0.role == .central && !$0.manager.isUnderWay else { return }
        $0.signalling.channels.openings.releaseWaiting(&$3)
      }
    case .ended(let channel): links.channels.ended(channel)
    }
  }

  /// Sends frames of the channels of a link, until one has to wait for a buffer of the controller.
  ///
  /// Other frames wait in the queues of their channels, and not in that of the link. So a PDU of ATT or SMP is behind
  /// one such frame, and behind those that the controller has.
  static func sendFrames(of peer: PeerID, _ links: inout HostLinks, _ host: inout HostTurn) {
    let tag = FrameTag.channel
    while let index = links.table.index(of: peer), !links.table[index].isClosing,
      links.table.acl.hasRoomForStream(links.table[index].handle, tag: tag),
      let frame = links.table[index].signalling.nextFrame()
    {
      links.send(frame.payload.span, on: peer, frame.channel, tag: tag, &host)
    }
    guard let index = links.table.index(of: peer) else { return }
    host.output.events += links.table[index].signalling.channels.takeSent()
    links.table.setHasChannelFrames(links.table[index].signalling.hasFrames, peer)
  }

  /// The controller has sent frames: channels that wait go on.
  static func resume(_ links: inout HostLinks, _ host: inout HostTurn) {
    let waiting = links.table.withChannelFrames.sorted { $0.rawValue < $1.rawValue }
    for peer in waiting { sendFrames(of: peer, &links, &host) }
  }
}

/// What the channels of a link cause in other parts.
enum ChannelEffect: Sendable {
  /// The peer requests channels, which the services of the host answer.
  case requested(CreditBasedChannels.Request)
  /// A request waits until the link is secured.
  case securityWanted(SecurityInput)
  /// The name of a channel is not in use any more.
  case ended(L2CAPChannelID)
}
