import BLEATT
import BLECrypto
import BLEGATT
import BLEHCI
import BLEL2CAP
import BLESMP
import BLEWire

/// The links of a host and what they share: the attribute database, the bonds and the settings of pairing.
///
/// It applies the effects of these parts on each other depth first: what an effect causes in another part is applied
/// before the next one.
///
/// ```
///   LinkTable ─ Link ──LinkEffect──► Link, LinkTable, BondTable
///        └─ LinkSecurityManager ──SecurityEffect──► BondTable, SecurityPolicy, KernelPairings
///   ServiceRegistry ──ServiceEffect──► each link        BondTable ──BondEffect──► LinkTable, KernelPairings
/// ```
struct HostLinks: Sendable {
  private let configuration: HostConfiguration
  var table: LinkTable
  var context: LinkContext
  var channels = ChannelServices()
  var policy: SecurityPolicy
  let toolbox: SecurityToolbox
  /// Reused by ``update(_:as:_:_:_:)``, and empty between its calls.
  var recipients: [UpdateRecipient] = []
  /// Takes the place of the turn in ``context`` while the output of an input is sent and applied.
  private var spareTurn: LinkTurn?

  init(_ configuration: HostConfiguration, _ cryptography: any Cryptography) {
    self.configuration = configuration
    table = LinkTable(configuration)
    toolbox = SecurityToolbox(cryptography)
    var bonds = BondTable(configuration)
    if let key = configuration.pairing?.identityResolvingKey { _ = bonds.setOwnKey(key) }
    policy = SecurityPolicy(
      configuration.pairing, kernel: configuration.ownership == .sharedWithKernel ? KernelPairings() : nil)
    context = LinkContext(
      services: ServiceRegistry(configuration, cryptography), bonds: bonds, turn: LinkTurn(toolbox))
  }

  /// When ``tick(_:)`` has work.
  var deadline: Instant? { .nearer(table.deadline, context.bonds.deadline) }

  /// The identity of a device by the address it uses.
  mutating func identity(of address: DeviceAddress) -> DeviceAddress { context.bonds.identity(of: address, toolbox) }

  /// Takes one ACL data packet without its indicator octet (Vol 4, Part E, 5.4.2).
  mutating func receive(_ packet: Span<UInt8>, _ host: inout HostTurn) {
    guard let head = packet.uint16(at: 0), let length = packet.uint16(at: 2), packet.count == 4 + Int(length) else {
      return host.report(.controller, "an ACL packet whose length is wrong")
    }
    // Data of a link that has just ended may still be on its way.
    guard let index = table.index(of: ConnectionHandle(rawValue: head)) else { return }
    withLink(index, &host) { link, context in
      link.receive(packet.extracting(4..<packet.count), boundary: UInt8(head >> 12 & 0b11), &context)
    }
  }

  /// Performs a command about services, values, bonds, pairing or one link.
  mutating func perform(_ command: HostCommand, from owner: OwnerID, _ host: inout HostTurn) {
    switch command {
    case .addService, .removeService, .setValue, .setIdentity, .reportStoredWrites:
      withServices(&host) { $0.perform(command, from: owner, into: &$1) }
    case .setPairing(let settings):
      policy.settings = settings
      withKernel(&host) { $0?.settingsChanged($1, into: &$2) }
      guard let key = settings?.identityResolvingKey else { return }
      let keyless = context.bonds.setOwnKey(key)
      if !keyless.isEmpty { bondsReplaced(without: keyless, &host) }
    case .setBonds(let new): bondsReplaced(without: context.bonds.replaceAll(with: new), &host)
    case .bondsStored(let stored):
      context.bonds.stored(stored)
      for index in table.indices {
        withLink(index, &host) { _, context in
          context.turn.usesClient = true
          context.turn.effects.append(.own(.storageEnded))
        }
      }
    case .removeBond(let identity): withBonds(&host) { $0.remove(identity, into: &$1) }
    case .listen, .stopListening, .openChannel, .sendSDU, .didReadSDU, .closeChannel:
      performChannel(command, from: owner, &host)
    default: performLink(command, from: owner, &host)
    }
  }

  /// The application has replaced the bonds.
  ///
  /// - Parameter keyless: the devices whose identity resolving keys are not used.
  private mutating func bondsReplaced(without keyless: [DeviceAddress], _ host: inout HostTurn) {
    for identity in keyless { host.report(.application, BondTable.keyRefusal(of: identity)) }
    table.bondsReplaced(by: &context.bonds, toolbox)
    withKernel(&host) { $0?.loadKeys($1, into: &$2) }
  }

  private mutating func performLink(_ command: HostCommand, from owner: OwnerID, _ host: inout HostTurn) {
    guard let index = command.link.flatMap({ table.index(of: $0) }) else {
      if let answer = command.rejection(for: owner) { host.output.events.append(answer) }
      return
    }
    let controller = host.controller
    withLink(index, &host) { link, context in link.perform(command, from: owner, controller, &context.turn) }
  }

  /// Does what is due on links.
  mutating func tick(_ host: inout HostTurn) {
    for peer in table.due(host.now) {
      withLink(of: peer, &host) { link, context in link.tick(&context) }
      withLink(of: peer, &host) { link, context in link.tickStorage(&context) }
      withLink(of: peer, &host) { link, context in link.tickReconnection(&context.turn) }
    }
    for peer in table.takeStalled(host.now) {
      host.report(.peer, "the link is ended: its packets are not acknowledged, and others wait for buffers", peer: peer)
      withLink(of: peer, &host) { link, context in link.close(.remoteUserTerminatedConnection, &context.turn) }
    }
  }

  /// Adds a link, and lets it start.
  ///
  /// - Parameter requests: the pending connections that it fulfils.
  mutating func add(
    _ new: NewLink, _ device: PeerIdentity, for requests: [PendingConnection], _ host: inout HostTurn
  ) {
    var link = Link(
      peer: table.nextPeer(), handle: new.handle, device: device, ownAddress: host.ownAddress, role: new.role,
      timing: new.timing, users: requests.map(\.owner), policy: policy, configuration)
    link.signalling.setServices(channels.numbers)
    link.signalling.asksByLinkLayer = host.controller.updatesConnectionsAsPeripheral
    host.log.linkAdded(link.peer)
    let (controller, priority) = (host.controller, configuration.priority)
    withLink(table.append(link), &host) { [isShuttingDown = host.session.isShuttingDown] link, context in
      link.start(requests, isShuttingDown: isShuttingDown, &context)
      guard let priority, !isShuttingDown else { return }
      link.signalling.prioritize(priority, for: .process, link.role, controller, &context.turn)
    }
  }

  /// The controller is up: the kernel gets what it has to know, where the controller is shared with it.
  mutating func restore(_ host: inout HostTurn) {
    withKernel(&host) { $0?.restore($1, into: &$2) }
    if !host.session.isExclusive { host.output.channelDirectives += channels.directives }
  }

  /// The controller has ended a link.
  ///
  /// - Parameter isSuperseded: it has not yet, and still has packets of it.
  mutating func remove(
    _ handle: ConnectionHandle, reason: HCIErrorCode, isSuperseded: Bool = false, _ host: inout HostTurn
  ) {
    guard let index = table.index(of: handle) else { return removeForeign(handle, &host) }
    var link = table.remove(at: index, isSuperseded: isSuperseded)
    context.turn.begin(policy, now: host.now)
    link.ending(&context)
    host.log.linkEnded(link.peer)
    apply(context.turn.takeEffects(), of: link.peer, &host)
    securityEnded(link, reason, &host)
    if !isSuperseded { table.acl.removeLink(handle, into: &host.output.packets) }
    context.turn.begin(policy, now: host.now)
    link.ended(reason, &context)
    apply(context.turn.takeEffects(), of: link.peer, &host)
  }

  /// Lets a link do something, sends what it wrote and applies what it causes (Docs/Decisions/0111).
  mutating func withLink(
    _ index: Int, _ host: inout HostTurn, _ body: (inout Link, inout LinkContext) -> Void
  ) {
    context.turn.begin(policy, now: host.now)
    // A provider of values finds its owner as all earlier events leave it.
    context.services.database.callsProviders = host.output.events.isEmpty
    table[index].perform(body, &context)
    if context.turn.hasServerEventsOnly { return deliverServerOutput(of: index, &host) }
    // An effect can give a link its next input: the output of this one is taken out before.
    var output = spareTurn.take() ?? LinkTurn(toolbox)
    swap(&context.turn, &output)
    finishInput(of: index, &output, &host)
    output.removeAll()
    spareTurn = consume output
  }

  /// Sends PDUs, and reports events, of an input that has caused nothing else. They give no link an input: the output
  /// stays where it is.
  @inline(__always)
  private mutating func deliverServerOutput(of index: Int, _ host: inout HostTurn) {
    let handle = table.openHandle(index)
    let refusal = table.acl.send(context.turn.server.gatt.pdus, on: handle, into: &host.output.packets)
    context.turn.server.gatt.removeAll()
    guard let refusal else { return context.turn.server.effects.moveEvents(into: &host.output) }
    let effects = context.turn.server.effects
    context.turn.server.effects = []
    let peer = table[index].peer
    sendingFailed(refusal, on: index, &host)
    apply(effects, of: peer, &host)
  }

  /// As ``withLink(_:_:_:)``, by the name of the link, which may have ended.
  mutating func withLink(
    of peer: PeerID, _ host: inout HostTurn, _ body: (inout Link, inout LinkContext) -> Void
  ) {
    if let index = table.index(of: peer) { withLink(index, &host, body) }
  }

  /// Sends one frame on a link.
  mutating func send(
    _ payload: Span<UInt8>, on peer: PeerID, _ channel: ChannelID, tag: UInt32 = 0, _ host: inout HostTurn
  ) {
    guard let index = table.index(of: peer), let handle = table.openHandle(index) else { return }
    let refusal = table.acl.send(payload, on: handle, channel, tag: tag, into: &host.output.packets)
    if let refusal { sendingFailed(refusal, on: index, &host) }
  }

  /// A full queue ends the link: a frame lost on a reliable channel would break it silently.
  mutating func sendingFailed(_ refusal: ACLSchedulerError, on index: Int, _ host: inout HostTurn) {
    host.report(.peer, "the link is ended, for it takes no data: \(refusal)", peer: table[index].peer)
    withLink(index, &host) { link, context in link.close(.remoteUserTerminatedConnection, &context.turn) }
  }

  /// Applies the effects of a part, in order; `perform` applies one of the part's own.
  mutating func apply<Own>(
    _ effects: [Effect<Own>], _ host: inout HostTurn, _ perform: (inout HostLinks, inout HostTurn, Own) -> Void
  ) {
    for effect in effects {
      if case .own(let own) = effect { perform(&self, &host, own) } else { host.apply(effect) }
    }
  }

  mutating func apply(_ effects: [Effect<LinkEffect>], of peer: PeerID, _ host: inout HostTurn) {
    apply(effects, &host) { $0.perform($2, of: peer, &$1) }
  }

  mutating func withServices(
    _ host: inout HostTurn, _ body: (inout ServiceRegistry, inout [Effect<ServiceEffect>]) -> Void
  ) {
    var effects: [Effect<ServiceEffect>] = []
    body(&context.services, &effects)
    apply(effects, &host) { links, host, effect in
      guard case .changed(let range) = effect else { return }
      for index in links.table.indices {
        links.withLink(index, &host) { link, context in
          link.server.serviceChanged(range, context.services, now: context.turn.now, into: &context.turn.server)
        }
      }
    }
  }
}

/// What owners send to clients of their services: answers to requests, and values.
extension HostLinks {
  /// Takes the answer of one owner to a request; an answer on a link that has ended has no effect.
  ///
  /// - Parameter octets: the value, where the answer has an empty one.
  mutating func respond(
    to token: RequestToken, of peer: PeerID, with answer: RequestAnswer, _ octets: Span<UInt8>, from owner: OwnerID,
    _ host: inout HostTurn
  ) {
    guard let index = table.index(of: peer) else { return }
    withLink(index, &host) { link, context in
      link.respond(to: token, with: answer, octets, from: owner, &context)
    }
  }

  /// Notifies or indicates values of one attribute to those of the links whose clients have subscribed to it. How each
  /// client gets them is looked up once.
  ///
  /// - Parameters:
  ///   - token: names the only value, or is ``UpdateToken/counted``.
  ///   - lengths: the number of octets of each value.
  ///   - octets: the values one after the other.
  mutating func update(
    _ run: UpdateRun, as token: UpdateToken, _ lengths: Span<Int>, _ octets: Span<UInt8>, _ host: inout HostTurn
  ) {
    let update = LinkUpdates.Entry(owner: run.owner, token: token)
    var recipients: [UpdateRecipient] = []
    swap(&recipients, &self.recipients)
    if let handle = context.services.updatedValue(run.attribute, of: run.owner) {
      for peer in run.peers {
        if let recipient = recipient(peer, of: handle) {
          recipients.append(recipient)
        } else {
          host.append(update.finished(run.count, on: peer), to: run.owner.recipient)
        }
      }
    } else {
      let refusal = HostError.invalidParameters("\(DatabaseError.unknownAttribute(run.attribute))")
      host.append(.refused(refusal), to: run.owner.recipient)
      for peer in run.peers { host.append(update.finished(run.count, on: peer), to: run.owner.recipient) }
    }
    var end = 0
    for place in lengths.indices {
      let value = octets.extracting(end..<end + lengths[place])
      end += value.count
      for index in recipients.indices { send(value, to: recipients[index], as: update, &host) }
    }
    recipients.removeFew()
    swap(&recipients, &self.recipients)
  }

  /// How the client of a link gets the values of an attribute; nil where it does not get them.
  private mutating func recipient(_ peer: PeerID, of attribute: AttributeHandle) -> UpdateRecipient? {
    guard let index = table.index(of: peer), let handle = table.openHandle(index) else { return nil }
    let delivery = table.delivery(of: attribute, on: index, context.services)
    if case .nothing = delivery { return nil }
    let longest = table[index].server.maximumUpdateLength
    return UpdateRecipient(
      index: index, handle: handle, attribute: attribute, delivery: delivery, longestValue: longest)
  }

  @inline(__always)
  private mutating func send(
    _ value: Span<UInt8>, to recipient: UpdateRecipient, as update: LinkUpdates.Entry, _ host: inout HostTurn
  ) {
    if case .indication(let attribute) = recipient.delivery {
      withLink(recipient.index, &host) { link, context in
        link.server.indicate(
          value, of: recipient.attribute, attribute, as: update, now: context.turn.now, into: &context.turn.server)
      }
    } else {
      notify(value, to: recipient, as: update, &host)
    }
  }

  /// Sends a notification. It is no input of the link.
  private mutating func notify(
    _ value: Span<UInt8>, to recipient: UpdateRecipient, as update: LinkUpdates.Entry, _ host: inout HostTurn
  ) {
    guard table.beginNotification(update, on: recipient.index) else {
      let server = table[recipient.index].server
      host.append(.refused(server.updateRefusal), to: update.owner.recipient)
      return host.append(
        update.finished(on: table[recipient.index].peer), to: update.owner.recipient)
    }
    // A link that takes no data is ended, and what was on its way ends with it.
    if table.openHandle(recipient.index) == nil { return }
    let refusal = table.acl.notify(
      GATTServer.notificationHeader(of: recipient.attribute), value.extracting(first: recipient.longestValue),
      on: recipient.handle, into: &host.output.packets)
    if let refusal { sendingFailed(refusal, on: recipient.index, &host) }
  }
}

/// A link whose client gets the values of an attribute.
struct UpdateRecipient: Sendable {
  var index: Int
  var handle: ConnectionHandle
  /// The handle of the value.
  var attribute: AttributeHandle
  var delivery: GATTServer.UpdateDelivery
  /// In octets.
  var longestValue: Int
}

/// Credit-based channels: commands of owners, and what the channels of a link cause.
extension HostLinks {
  /// Performs a command about channels.
  private mutating func performChannel(_ command: HostCommand, from owner: OwnerID, _ host: inout HostTurn) {
    switch command {
    case .listen(let id, let service):
      let result = channels.listen(service, for: owner)
      if case .success(let number) = result { channelServicesChanged(.listen(number, service), &host) }
      host.append(.listening(id, result), to: owner.recipient)
    case .stopListening(let number):
      guard stopListening(number, of: owner, &host) else { return }
      host.append(.stoppedListening(number), to: owner.recipient)
    case .openChannel(let id, let peer, let request):
      open(ChannelOpenings.Opening(id: id, owner: owner, request: request), on: peer, &host)
    case .sendSDU(let channel, _), .didReadSDU(let channel), .closeChannel(let channel):
      guard let peer = channels.link(of: channel) else { return }
      withLink(of: peer, &host) { link, context in link.signalling.perform(command, from: owner, &context.turn) }
    default: break
    }
  }

  private mutating func open(_ wanted: ChannelOpenings.Opening, on peer: PeerID, _ host: inout HostTurn) {
    var opening = wanted
    let number = opening.request.spsm
    guard let index = table.index(of: peer), !table[index].isClosing else {
      return host.append(.channelOpenFailed(opening.id, .notConnected), to: opening.owner.recipient)
    }
    guard ChannelServices.validNumbers.contains(number.rawValue) else {
      let error = HostError.invalidParameters("no service has the number \(number). Use 0x0001 to 0x00FF")
      return host.append(.channelOpenFailed(opening.id, error), to: opening.owner.recipient)
    }
    opening.channel = channels.name(on: peer)
    withLink(index, &host) { link, context in
      link.client.addUser(opening.owner)
      link.signalling.open(opening, link.channelFacts, &context.turn)
    }
  }

  /// Removes a service, and closes its channels.
  ///
  /// - Returns: whether the owner had it.
  private mutating func stopListening(_ number: SPSM, of owner: OwnerID, _ host: inout HostTurn) -> Bool {
    guard channels.stopListening(number, of: owner) else { return false }
    channelServicesChanged(.stopListening(number), &host)
    for index in table.indices {
      withLink(index, &host) { link, context in link.signalling.stopListening(number, &context.turn) }
    }
    return true
  }

  private mutating func channelServicesChanged(_ directive: ChannelDirective, _ host: inout HostTurn) {
    for index in table.indices { table[index].signalling.setServices(channels.numbers) }
    if !host.session.isExclusive, host.state == .poweredOn { host.output.channelDirectives.append(directive) }
  }

  /// Withdraws the services, the channels and the requests of an owner.
  mutating func detachChannels(of owner: OwnerID, _ host: inout HostTurn) {
    for number in channels.numbers(of: owner) { _ = stopListening(number, of: owner, &host) }
    for index in table.indices {
      withLink(index, &host) { link, context in link.signalling.detach(owner, &context.turn) }
    }
  }

  /// Applies an effect of the channels of a link.
  private mutating func perform(_ effect: ChannelEffect, of peer: PeerID, _ host: inout HostTurn) {
    switch effect {
    case .requested(let request) where request.spsm == .enhancedATT:
      withLink(of: peer, &host) { link, context in
        link.signalling.answerBearers(request, link.channelFacts, &context.turn)
      }
    case .requested(let request):
      let listener = channels.listeners[request.spsm]
      let names = (0..<request.count).map { _ in channels.name(on: peer) }
      withLink(of: peer, &host) { link, context in
        link.signalling.answer(request, by: listener, as: names, link.channelFacts, &context.turn)
      }
    case .securityWanted(let input):
      withSecurity(of: peer, input, &host)
      // If the security manager does nothing, the request fails. A peripheral waits for its central.
      let isPossible = policy.settings != nil
      withLink(of: peer, &host) { link, context in
        guard !isPossible || link.role == .central && !link.manager.isUnderWay else { return }
        link.signalling.channels.openings.releaseWaiting(&context.turn)
      }
    case .ended(let channel): channels.ended(channel)
    }
  }

  /// Sends frames of the channels of a link, until one has to wait for a buffer of the controller.
  ///
  /// Other frames wait in the queues of their channels, and not in that of the link. So a PDU of ATT or SMP is behind
  /// one such frame, and behind those that the controller has.
  private mutating func sendChannelFrames(of peer: PeerID, _ host: inout HostTurn) {
    let tag = FrameTag.channel
    while let index = table.index(of: peer), !table[index].isClosing,
      table.acl.hasRoomForStream(table[index].handle, tag: tag),
      let frame = table[index].signalling.nextFrame()
    {
      send(frame.payload.span, on: peer, frame.channel, tag: tag, &host)
    }
    guard let index = table.index(of: peer) else { return }
    host.output.events += table[index].signalling.channels.takeSent()
    table.setHasChannelFrames(table[index].signalling.hasFrames, peer)
  }

  /// The controller has sent frames: channels that wait go on.
  private mutating func resumeChannels(_ host: inout HostTurn) {
    let waiting = table.withChannelFrames.sorted { $0.rawValue < $1.rawValue }
    for peer in waiting { sendChannelFrames(of: peer, &host) }
  }
}

/// What an input of a link writes and causes: PDUs for the controller, and effects on the parts that they concern.
extension HostLinks {
  /// Sends what an input of a link wrote, and applies what it causes, in the order of ``LinkTurn``.
  private mutating func finishInput(of index: Int, _ turn: inout LinkTurn, _ host: inout HostTurn) {
    if !turn.bearerFrames.isEmpty || !turn.client.frames.isEmpty { table[index].sendBearerFrames(&turn) }
    let peer = table[index].peer
    let handle = table.openHandle(index)
    let refusal = table.acl.send(turn.server.gatt.pdus, on: handle, into: &host.output.packets)
    if let refusal { sendingFailed(refusal, on: index, &host) }
    apply(turn.server.effects, of: peer, &host)
    turn.client.gatt.pdus.forEach { send($0, on: peer, .attributeProtocol, &host) }
    apply(turn.client.effects, of: peer, &host)
    if turn.usesClient { table.noteCongestion(of: peer, &turn) }
    apply(turn.effects, of: peer, &host)
    turn.signalling.forEach { send($0, on: peer, .signalling, &host) }
    if turn.hasChannelFrames { sendChannelFrames(of: peer, &host) }
  }

  /// Takes the parameters of Number Of Completed Packets. Usually nothing waits for the buffers that are free
  /// now.
  @inline(__always)
  mutating func packetsCompleted(_ parameters: Span<UInt8>, _ host: inout HostTurn) {
    if let fault = table.completed(parameters, into: &host.output.packets) { host.report(.controller, fault) }
    if table.hasTransmitted { table.finishTransmitted(into: &host.output.events) }
    if table.isCongested {
      for peer in table.takeRelieved() {
        withLink(of: peer, &host) { link, context in link.perform(.relieved, &context) }
      }
    }
    if !table.withChannelFrames.isEmpty { resumeChannels(&host) }
  }

  /// Applies an effect of a link.
  private mutating func perform(_ effect: LinkEffect, of peer: PeerID, _ host: inout HostTurn) {
    switch effect {
    case .violated(let event, let recipient):
      if host.log.admits(.peer, peer: peer, now: host.now) { host.append(.client(peer, event), to: recipient) }
    case .security(let input): withSecurity(of: peer, input, &host)
    case .securityWanted:
      withSecurity(of: peer, .refused, &host)
      withLink(of: peer, &host) { link, context in link.perform(effect, &context) }
    case .bondProven: withIdentities(of: peer, &host) { $0.confirmIdentity(of: peer, into: &$1) }
    case .bearer(let effect): withLink(of: peer, &host) { link, context in link.perform(effect, &context) }
    case .channel(let effect): perform(effect, of: peer, &host)
    case .superseded(let handle): remove(handle, reason: .terminatedByLocalHost, isSuperseded: true, &host)
    default: withLink(of: peer, &host) { link, context in link.perform(effect, &context) }
    }
  }
}

extension ACLScheduler {
  /// Sends one frame.
  ///
  /// - Returns: the reason why it is not taken.
  mutating func send(
    _ payload: Span<UInt8>, on handle: ConnectionHandle, _ channel: ChannelID, tag: UInt32,
    into packets: inout PacketBuffer
  ) -> ACLSchedulerError? {
    do throws(ACLSchedulerError) {
      _ = try send(handle, cid: channel.rawValue, payload: payload, tag: tag, into: &packets)
      return nil
    } catch { return error }
  }

  /// Sends a notification.
  ///
  /// - Returns: as for one frame.
  mutating func notify(
    _ header: InlineArray<3, UInt8>, _ value: Span<UInt8>, on handle: ConnectionHandle, into packets: inout PacketBuffer
  ) -> ACLSchedulerError? {
    do throws(ACLSchedulerError) {
      let channel = ChannelID.attributeProtocol.rawValue
      try send(handle, cid: channel, header: header, body: value, tag: FrameTag.notification, into: &packets)
      return nil
    } catch { return error }
  }

  /// Sends the PDUs of the server of a link.
  ///
  /// - Parameters:
  ///   - handle: the link; nil where it was asked to end, and nothing is sent.
  /// - Returns: as for one frame. The PDUs behind it are not sent.
  @inline(__always)
  mutating func send(
    _ pdus: borrowing PacketBuffer, on handle: ConnectionHandle?, into packets: inout PacketBuffer
  ) -> ACLSchedulerError? {
    guard let handle else { return nil }
    do throws(ACLSchedulerError) {
      try pdus.forEach { pdu throws(ACLSchedulerError) in
        _ = try send(handle, cid: ChannelID.attributeProtocol.rawValue, payload: pdu, into: &packets)
      }
      return nil
    } catch { return error }
  }
}
