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
  var services: ServiceRegistry
  var channels = ChannelServices()
  var bonds: BondTable
  var policy: SecurityPolicy
  let toolbox: SecurityToolbox
  /// Reused by the inputs of links, and empty between them.
  private var turn: LinkTurn
  /// Reused by ``ServerRouter/update(_:as:_:_:_:_:)``, and empty between its calls.
  var recipients: [UpdateRecipient] = []
  /// Takes the place of ``turn`` while the output of an input is sent and applied.
  private var spareTurn: LinkTurn?

  init(_ configuration: HostConfiguration, _ cryptography: any Cryptography) {
    self.configuration = configuration
    table = LinkTable(configuration)
    services = ServiceRegistry(configuration, cryptography)
    bonds = BondTable(configuration)
    if let key = configuration.pairing?.identityResolvingKey { _ = bonds.setOwnKey(key) }
    policy = SecurityPolicy(
      configuration.pairing, kernel: configuration.ownership == .sharedWithKernel ? KernelPairings() : nil)
    toolbox = SecurityToolbox(cryptography)
    turn = LinkTurn(toolbox)
  }

  /// When ``tick(_:)`` has work.
  var deadline: Instant? { .nearer(table.deadline, bonds.deadline) }

  /// The identity of a device by the address it uses.
  mutating func identity(of address: DeviceAddress) -> DeviceAddress { bonds.identity(of: address, toolbox) }

  /// Takes one ACL data packet without its indicator octet (Vol 4, Part E, 5.4.2).
  mutating func receive(_ packet: Span<UInt8>, _ host: inout HostTurn) {
    guard let head = packet.uint16(at: 0), let length = packet.uint16(at: 2), packet.count == 4 + Int(length) else {
      return host.report(.controller, "an ACL packet whose length is wrong")
    }
    // Data of a link that has just ended may still be on its way.
    guard let index = table.index(of: ConnectionHandle(rawValue: head)) else { return }
    withLink(index, &host) {
      $0.receive(packet.extracting(4..<packet.count), boundary: UInt8(head >> 12 & 0b11), &$1, &$2, &$3)
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
      let keyless = bonds.setOwnKey(key)
      if !keyless.isEmpty { bondsReplaced(without: keyless, &host) }
    case .setBonds(let new): bondsReplaced(without: bonds.replaceAll(with: new), &host)
    case .bondsStored(let stored):
      bonds.stored(stored)
      for index in table.indices {
        withLink(index, &host) { ($3.usesClient, $3.effects) = (true, $3.effects + [.own(.storageEnded)]) }
      }
    case .removeBond(let identity): withBonds(&host) { $0.remove(identity, into: &$1) }
    case .listen, .stopListening, .openChannel, .sendSDU, .didReadSDU, .closeChannel:
      ChannelRouter.perform(command, from: owner, &self, &host)
    default: performLink(command, from: owner, &host)
    }
  }

  /// The application has replaced the bonds.
  ///
  /// - Parameter keyless: the devices whose identity resolving keys are not used.
  private mutating func bondsReplaced(without keyless: [DeviceAddress], _ host: inout HostTurn) {
    for identity in keyless { host.report(.application, BondTable.keyRefusal(of: identity)) }
    table.bondsReplaced(by: &bonds, toolbox)
    withKernel(&host) { $0?.loadKeys($1, into: &$2) }
  }

  private mutating func performLink(_ command: HostCommand, from owner: OwnerID, _ host: inout HostTurn) {
    guard let index = command.link.flatMap({ table.index(of: $0) }) else {
      if let answer = command.rejection(for: owner) { host.output.events.append(answer) }
      return
    }
    let controller = host.controller
    withLink(index, &host) { link, _, _, turn in link.perform(command, from: owner, controller, &turn) }
  }

  /// Does what is due on links.
  mutating func tick(_ host: inout HostTurn) {
    for peer in table.due(host.now) {
      withLink(of: peer, &host) { $0.tick(&$1, &$3) }
      withLink(of: peer, &host) { $0.tickStorage(&$2, &$3) }
      withLink(of: peer, &host) { $0.tickReconnection(&$3) }
    }
    for peer in table.takeStalled(host.now) {
      host.report(.peer, "the link is ended: its packets are not acknowledged, and others wait for buffers", peer: peer)
      withLink(of: peer, &host) { $0.close(.remoteUserTerminatedConnection, &$3) }
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
    withLink(table.append(link), &host) { [isShuttingDown = host.session.isShuttingDown] in
      $0.start(requests, isShuttingDown: isShuttingDown, $2, &$3)
      if let priority, !isShuttingDown { $0.signalling.prioritize(priority, for: .process, $0.role, controller, &$3) }
    }
  }

  /// The controller is up: the kernel gets what it has to know, where the controller is shared with it.
  mutating func restore(_ host: inout HostTurn) {
    withKernel(&host) { $0?.restore($1, into: &$2) }
    ChannelRouter.restore(self, &host)
  }

  /// The controller has ended a link.
  ///
  /// - Parameter isSuperseded: it has not yet, and still has packets of it.
  mutating func remove(
    _ handle: ConnectionHandle, reason: HCIErrorCode, isSuperseded: Bool = false, _ host: inout HostTurn
  ) {
    guard let index = table.index(of: handle) else { return removeForeign(handle, &host) }
    var link = table.remove(at: index, isSuperseded: isSuperseded)
    var turn = LinkTurn(toolbox)
    turn.begin(policy, now: host.now)
    link.ending(reason, services, &bonds, &turn)
    host.log.linkEnded(link.peer)
    apply(turn.effects, of: link.peer, &host)
    securityEnded(link, reason, &host)
    if !isSuperseded { table.acl.removeLink(handle, into: &host.output.packets) }
    turn.removeAll()
    link.ended(reason, services, &turn)
    apply(turn.server.effects + turn.client.effects + turn.effects, of: link.peer, &host)
  }

  /// Lets a link do something, sends what it wrote and applies what it causes (Docs/Decisions/0111).
  mutating func withLink(
    _ index: Int, _ host: inout HostTurn,
    _ body: (inout Link, inout ServiceRegistry, inout BondTable, inout LinkTurn) -> Void
  ) {
    turn.begin(policy, now: host.now)
    // A provider of values finds its owner as all earlier events leave it.
    services.database.callsProviders = host.output.events.isEmpty
    body(&table[unreviewed: index], &services, &bonds, &turn)
    if turn.usesClient { table[unreviewed: index].finish(&bonds, &turn) }
    if !turn.keepsDeadline { table.noteChange(index) }
    if turn.hasServerEventsOnly { return deliverServerOutput(of: index, &host) }
    // An effect can give a link its next input: the output of this one is taken out before.
    var output = spareTurn.take() ?? LinkTurn(toolbox)
    swap(&turn, &output)
    LinkRouter.finishInput(of: index, &output, &self, &host)
    output.removeAll()
    spareTurn = consume output
  }

  /// Sends PDUs, and reports events, of an input that has caused nothing else. They give no link an input: the output
  /// stays where it is.
  @inline(__always)
  private mutating func deliverServerOutput(of index: Int, _ host: inout HostTurn) {
    let handle = table.openHandle(index)
    let refusal = table.acl.send(turn.server.gatt.pdus, on: handle, into: &host.output.packets)
    turn.server.gatt.removeAll()
    guard let refusal else { return turn.server.effects.moveEvents(into: &host.output) }
    let effects = turn.server.effects
    turn.server.effects = []
    let peer = table[unreviewed: index].peer
    sendingFailed(refusal, on: index, &host)
    apply(effects, of: peer, &host)
  }

  /// As ``withLink(_:_:_:)``, by the name of the link, which may have ended.
  mutating func withLink(
    of peer: PeerID, _ host: inout HostTurn,
    _ body: (inout Link, inout ServiceRegistry, inout BondTable, inout LinkTurn) -> Void
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
    withLink(index, &host) { $0.close(.remoteUserTerminatedConnection, &$3) }
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
    apply(effects, &host) { LinkRouter.perform($2, of: peer, &$0, &$1) }
  }

  mutating func withServices(
    _ host: inout HostTurn, _ body: (inout ServiceRegistry, inout [Effect<ServiceEffect>]) -> Void
  ) {
    var effects: [Effect<ServiceEffect>] = []
    body(&services, &effects)
    apply(effects, &host) { links, host, effect in
      guard case .changed(let range) = effect else { return }
      for index in links.table.indices {
        links.withLink(index, &host) { $0.server.serviceChanged(range, $1, now: $3.now, into: &$3.server) }
      }
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
