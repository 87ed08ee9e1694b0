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
/// before the next one. All of that is in this file, so that the parts are private to it: ``HostCore`` only gives
/// inputs and reads facts.
///
/// ```
///   LinkTable ─ Link ──LinkEffect──► Link, LinkTable, BondTable
///        └─ LinkSecurityManager ──SecurityEffect──► BondTable, SecurityPolicy, KernelPairings
///   ServiceRegistry ──ServiceEffect──► each link        BondTable ──BondEffect──► LinkTable, KernelPairings
/// ```
struct HostLinks: Sendable {
  private let configuration: HostConfiguration
  private let toolbox: SecurityToolbox
  private(set) var table: LinkTable
  private var context: LinkContext
  private var channels = ChannelServices()
  private var policy: SecurityPolicy
  private var foreign = ForeignLinks()
  /// Reused by ``update(_:as:_:_:_:)``, and empty between its calls.
  private var recipients: [UpdateRecipient] = []
  /// Takes the place of the turn in ``context`` while the output of an input is sent and applied.
  private var spareTurn: LinkTurn?
  private var held = HeldPackets()
  /// The links that are closing, and whose packets the controller still has. It may discard them once it is asked to
  /// end the link (Vol 6, Part B, 5.1.6): keys of a pairing, or values.
  private var draining: [(peer: LinkID, reason: HCIErrorCode, until: Instant)] = []
  /// How long the packets of a closing link are given to leave: several connection events, and little of
  /// ``HostConfiguration/disconnectionTimeout``.
  static let drainTime = Duration.milliseconds(500)
  /// The identities that links have proven in this input, and those that have a link after another one of theirs has
  /// ended.
  private var confirmed: [DeviceAddress] = []

  init(_ configuration: HostConfiguration, _ cryptography: some Cryptography) {
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

  var bonds: BondTable { _read { yield context.bonds } }
  var isEmpty: Bool { table.isEmpty }
  var roles: LinkRoles { table.roles }
  /// The handle of a link; nil where it has ended, or is about to.
  func handle(of peer: LinkID) -> ConnectionHandle? {
    table.index(of: peer).flatMap { table[$0].isClosing ? nil : table[$0].handle }
  }
  func peer(of handle: ConnectionHandle) -> LinkID? { table.index(of: handle).map { table[$0].peer } }
  func contains(_ peer: LinkID) -> Bool { table.index(of: peer) != nil }

  /// When ``tick(_:)`` or ``tickBonds(_:)`` has work.
  var deadline: Instant? {
    @inline(__always) get {
      let nearest = Instant?.nearer(.nearer(table.deadline, context.bonds.deadline), held.deadline)
      return draining.isEmpty ? nearest : draining.reduce(nearest) { .nearer($0, $1.until) }
    }
  }

  /// The identity of a device by the address it uses.
  mutating func identity(of address: DeviceAddress) -> DeviceAddress { context.bonds.identity(of: address, toolbox) }
}

/// Packets of the controller, commands of the owners, and time.
extension HostLinks {
  /// Takes one ACL data packet without its indicator octet (Vol 4, Part E, 5.4.2).
  mutating func receive(_ packet: Span<UInt8>, _ host: inout HostContext) {
    guard let head = packet.uint16(at: 0), let length = packet.uint16(at: 2), packet.count == 4 + Int(length) else {
      return host.report(.controller, "an ACL packet with a wrong length is dropped")
    }
    let handle = ConnectionHandle(rawValue: head)
    guard let index = table.index(of: handle) else { return receiveUnknown(packet, of: handle, &host) }
    if table[index].isEncrypting || !held.isEmpty { return receiveEarly(packet, of: handle, &host) }
    receive(packet, on: index, &host)
  }

  private mutating func receive(_ packet: Span<UInt8>, on index: Int, _ host: inout HostContext) {
    guard let head = packet.uint16(at: 0) else { return }
    withLink(index, &host) { link, context in
      link.receive(packet.extracting(4..<packet.count), boundary: UInt8(head >> 12 & 0b11), &context)
    }
  }

  /// Takes a packet of a link that the controller has not reported.
  private mutating func receiveUnknown(
    _ packet: Span<UInt8>, of handle: ConnectionHandle, _ host: inout HostContext
  ) {
    // Other programs have links of their own on a controller that is shared.
    guard host.session.isExclusive, !table.isEnding(handle), !held.isLate(handle, now: host.now) else { return }
    if !held.holdUnknown(packet, of: handle, now: host.now) { drop(handle, &host) }
  }

  /// Takes a packet of a link whose encryption is on its way, or that has earlier ones which wait for that.
  private mutating func receiveEarly(_ packet: Span<UInt8>, of handle: ConnectionHandle, _ host: inout HostContext) {
    guard let index = table.index(of: handle) else { return }
    let waits = table[index].isEncrypting || held.contains(handle)
    let interval = table[index].signalling.timing.intervalDuration
    if waits, held.hold(packet, of: handle, for: interval, now: host.now) { return }
    serveHeld(handle, &host)
    if let index = table.index(of: handle) { receive(packet, on: index, &host) }
  }

  /// Serves the packets of a link that were held for an event, if they need not wait any longer.
  private mutating func serveIfReady(_ handle: ConnectionHandle, _ host: inout HostContext) {
    guard !held.isEmpty, let index = table.index(of: handle), !table[index].isEncrypting else { return }
    serveHeld(handle, &host)
  }

  private mutating func serveHeld(_ handle: ConnectionHandle, _ host: inout HostContext) {
    for packet in held.take(handle) {
      if let index = table.index(of: handle) { receive(packet.span, on: index, &host) }
    }
  }

  /// Serves packets that have waited in vain as what they are without the event, and drops those without a link.
  private mutating func tickHeld(_ host: inout HostContext) {
    guard let due = held.deadline, due <= host.now else { return }
    for (handle, packet) in held.takeOverdue(host.now) {
      guard let index = table.index(of: handle) else {
        drop(handle, &host)
        continue
      }
      if table[index].isEncrypting, table[index].role == .peripheral {
        let text = "it has not reported an encryption that is on its way: data is served as data in the clear"
        host.report(.controller, text, peer: table[index].peer)
      }
      receive(packet.span, on: index, &host)
    }
  }

  /// A packet has no link. If that happens again, the controller has a link of which it has not reported that it came
  /// up: it is ended.
  private mutating func drop(_ handle: ConnectionHandle, _ host: inout HostContext) {
    switch held.dropped(handle, now: host.now) {
    case .nothing: break
    case .report:
      host.report(.controller, "data of the link with the handle \(handle), which it has not reported, is dropped")
    case .end:
      host.report(.controller, "it has a link with the handle \(handle), which it has not reported: that is ended")
      let command = HCI.Disconnect { ($0.connectionHandle, $0.reason) = (handle, .remoteUserTerminatedConnection) }
      host.send(command, for: .endingSuperseded(handle))
    }
  }

  /// Takes the parameters of Number Of Completed Packets. Usually nothing waits for the buffers that are free
  /// now.
  @inline(__always)
  mutating func packetsCompleted(_ parameters: Span<UInt8>, _ host: inout HostContext) {
    if let fault = table.completed(parameters, into: &host.output.packets) { host.report(.controller, fault) }
    if table.hasTransmitted { table.finishTransmitted(into: &host.output.events) }
    if table.isCongested {
      for peer in table.takeRelieved() {
        withLink(of: peer, &host) { link, context in link.perform(.relieved, &context) }
      }
    }
    if !table.withChannelFrames.isEmpty { resumeChannels(&host) }
    if !draining.isEmpty { endDrained(&host) }
  }

  /// Takes an event of the controller about one link.
  mutating func receive(_ event: LinkEvent, on handle: ConnectionHandle, _ host: inout HostContext) {
    if let index = table.index(of: handle) {
      if case .dataLengthChange(let event) = event { table.setDataLength(event.maxTXOctets, of: handle) }
      withLink(index, &host) { link, context in link.receive(event, &context.turn) }
      return serveIfReady(handle, &host)
    }
    guard case .longTermKeyRequest = event else { return }
    var effects: [Effect<Never>] = []
    policy.keyRequested(onUnknownLink: handle, into: &effects)
    host.apply(effects)
  }

  func attribute(at handle: AttributeHandle) -> (type: BluetoothUUID, characteristic: BluetoothUUID?)? {
    context.services.database.attribute(at: handle)
  }

  /// Performs a command about services; the other commands have functions of their own below.
  mutating func perform(_ command: HostCommand.Services, from owner: OwnerID, _ host: inout HostContext) {
    withServices(&host) { $0.perform(command, from: owner, into: &$1) }
  }

  mutating func perform(_ command: HostCommand.Security, from owner: OwnerID, _ host: inout HostContext) {
    switch command {
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
        withLink(index, &host) { _, context in context.turn.effects.append(.own(.storageEnded)) }
      }
    case .removeBond(let identity): withBonds(&host) { $0.remove(identity, into: &$1) }
    case .discardAttributeCache(let identity):
      for index in table.indices where table[index].identity == identity {
        perform(.discardAttributeCache, on: table[index].peer, from: owner, &host)
      }
      withBonds(&host) { [now = host.now] in $0.keep(nil, of: identity, now: now, into: &$1) }
    }
  }

  /// An advertisement with this name is started.
  mutating func advertises(as name: String) { context.services.advertises(as: name) }

  /// The application has replaced the bonds.
  ///
  /// - Parameter keyless: the devices whose identity resolving keys are not used.
  private mutating func bondsReplaced(without keyless: [DeviceAddress], _ host: inout HostContext) {
    for identity in keyless { host.report(.application, BondTable.keyRefusal(of: identity)) }
    table.bondsReplaced(by: &context.bonds, toolbox)
    withKernel(&host) { $0?.loadKeys($1, into: &$2) }
  }

  mutating func perform(
    _ command: HostCommand.Link, on peer: LinkID, from owner: OwnerID, _ host: inout HostContext
  ) {
    guard let index = table.index(of: peer) else {
      if let answer = command.rejection(of: peer, for: owner) { host.output.events.append(answer) }
      return
    }
    let controller = host.controller
    withLink(index, &host) { link, context in link.perform(command, from: owner, controller, &context.turn) }
  }

  /// The answer to a request to connect to a device that there is a link to; nil where a new link is needed.
  mutating func answer(to request: PendingConnection) -> HostEvent? { table.answer(to: request) }

  /// Whether a link that this device makes to us is one to the device, so that it fulfils the requests to connect to
  /// it. One that claims the identity of a bond has to prove it before.
  func fulfilsRequests(_ identity: DeviceAddress) -> Bool {
    !context.bonds.contains(identity) && !table.isReported(identity)
  }

  var hasConfirmedIdentities: Bool { !confirmed.isEmpty }
  mutating func takeConfirmedIdentities() -> [DeviceAddress] {
    defer { confirmed = [] }
    return confirmed
  }

  /// Whether a link to this device can be used instead of a new one.
  func canShare(_ identity: DeviceAddress) -> Bool { table.canShare(identity) }

  /// The devices whose links were asked to end and are still up.
  var disconnecting: [DeviceAddress] { table.disconnecting }

  /// The events that report each link to an owner that attaches.
  func events(for owner: OwnerID) -> [AddressedEvent<HostEvent>] {
    table.events(for: owner) + foreign.events.map { AddressedEvent($0, to: owner.recipient) }
  }

  /// Withdraws what an owner that detaches has declared. ``release(by:_:)`` follows.
  mutating func detach(_ owner: OwnerID, _ host: inout HostContext) {
    for index in table.indices {
      withLink(index, &host) { link, context in link.rejectRequests(of: owner, &context) }
    }
    withServices(&host) { $0.removeAll(of: owner, into: &$1) }
    detachChannels(of: owner, &host)
  }

  /// Ends the use of all links by an owner that detaches.
  mutating func release(by owner: OwnerID, _ host: inout HostContext) {
    for index in table.indices {
      withLink(index, &host) { link, context in link.release(by: owner, &context.turn) }
    }
  }

  /// Does what is due on links.
  ///
  /// - Returns: whether a link has ended, for its owners or at the controller.
  mutating func tick(_ host: inout HostContext) -> Bool {
    for peer in table.due(host.now) {
      withLink(of: peer, &host) { link, context in link.tick(&context) }
      withLink(of: peer, &host) { link, context in link.tickOthers(&context) }
      withLink(of: peer, &host) { link, context in link.tickReconnection(&context.turn) }
      withLink(of: peer, &host) { link, context in link.tickProcedures(&context.turn) }
    }
    for (peer, fault) in table.takeStalled(host.now) {
      host.report(.peer, "the link is ended: \(fault)", peer: peer)
      withLink(of: peer, &host) { link, context in
        link.close(.remoteUserTerminatedConnection, isAtOnce: true, &context.turn)
      }
    }
    if !draining.isEmpty { endDrained(&host) }
    tickHeld(&host)
    let hasEnded = endOverdueLinks(&host)
    return loseOverdueEndings(&host) || hasEnded
  }

  /// Ends links for their owners that were asked to end, and whose end the controller has not reported in time. It may
  /// need the supervision timeout if the peer is out of range.
  private mutating func endOverdueLinks(_ host: inout HostContext) -> Bool {
    let overdue = table.filter { link in link.end.map { $0 <= host.now } ?? false }
    for link in overdue {
      if link.isEndRejected {
        let command = HCI.Disconnect {
          ($0.connectionHandle, $0.reason) = (link.handle, .remoteUserTerminatedConnection)
        }
        host.send(command, for: .endingSuperseded(link.handle))
      }
      remove(link.handle, reason: .terminatedByLocalHost, isSuperseded: true, &host)
    }
    return !overdue.isEmpty
  }

  /// Takes links for ended whose end the controller does not report. Only a reset ends them there.
  private mutating func loseOverdueEndings(_ host: inout HostContext) -> Bool {
    let overdue = table.overdueEndings(host.now)
    for handle in overdue {
      table.endingCompleted(handle, into: &host.output.packets)
      guard host.session.isExclusive else { continue }
      host.report(
        .controller,
        "it does not report the end of the link with the handle \(handle): it is reset when it has no other link")
      host.session.needsReset = true
    }
    return !overdue.isEmpty
  }

  /// Does what is due on bonds.
  mutating func tickBonds(_ host: inout HostContext) {
    withBonds(&host) { [now = host.now] in $0.tick(now: now, into: &$1) }
  }

  /// An input of the host has ended: watches the buffers where a link may have none.
  @inline(__always)
  mutating func noteStarvation(_ now: Instant) { table.noteStarvation(now) }

  /// Prepares the end: changes of bonds are reported at once.
  mutating func shutdown(_ host: inout HostContext) { withBonds(&host) { $0.shutdown(into: &$1) } }
}

/// The controller and its links: what comes up and what ends.
extension HostLinks {
  /// The controller is up. If it is shared with the kernel, the kernel gets the state that it needs.
  mutating func controllerReady(_ host: inout HostContext) {
    let controller = host.controller
    table.setBuffers(length: controller.aclLength, count: controller.aclCount)
    context.services.database.setCentralAddressResolution(controller.resolvedPeers > 0)
    withKernel(&host) { $0?.restore($1, into: &$2) }
    if !host.session.isExclusive { host.output.kernelCommands += channels.kernelCommands }
  }

  /// The controller is lost, and all links with it.
  mutating func controllerLost(_ host: inout HostContext) {
    for link in table.reversed() { remove(link.handle, reason: .hardwareFailure, &host) }
    table.reset()
    foreign.reset()
    held.removeAll()
  }

  /// The device of a link that has come up: its address on the radio, and the identity that it is taken for.
  ///
  /// A link with the same handle is dead, and removed.
  mutating func identify(
    _ new: NewLink, _ host: inout HostContext
  ) -> (address: DeviceAddress, identity: DeviceAddress) {
    let address = new.addressOnRadio(&context.bonds, toolbox)
    if table.index(of: new.handle) != nil {
      host.report(.controller, "it reports a second link with the handle \(new.handle): the first link is ended")
      remove(new.handle, reason: .connectionTimeout, &host)
    }
    table.endingCompleted(new.handle, into: &host.output.packets)
    return (address, new.resolved ?? identity(of: address))
  }

  /// Adds a link, and lets it start.
  ///
  /// - Parameters:
  ///   - device: what ``identify(_:_:)`` has found.
  ///   - requests: the pending connections that it fulfils.
  mutating func add(
    _ new: NewLink, _ device: (address: DeviceAddress, identity: DeviceAddress), for requests: [PendingConnection],
    _ host: inout HostContext
  ) {
    let drawn = table.isReported(device.identity) ? DeviceAddress.drawn(&host.random) : nil
    let identity = PeerIdentity(address: device.address, identity: device.identity, reportedAs: drawn)
    removeForeign(new.handle, &host)
    let peer = table.nextPeer()
    let manager = policy.makeManager(
      peer: peer, handle: new.handle, isCentral: new.role == .central, own: host.ownAddress, other: device.address,
      procedureTimeout: configuration.procedureTimeout)
    var link = Link(
      new, peer: peer, device: identity, manager: manager, users: requests.map { $0.owner }, configuration)
    link.signalling.setServices(channels.numbers)
    link.signalling.asksByLinkLayer = host.controller.updatesConnectionsAsPeripheral
    host.log.linkAdded(link.peer)
    let (controller, priority) = (host.controller, configuration.priority)
    withLink(table.append(link), &host) { [isShuttingDown = host.session.isShuttingDown] link, context in
      link.start(requests, isShuttingDown: isShuttingDown, &context)
      guard let priority, !isShuttingDown else { return }
      link.signalling.prioritize(priority, for: .process, link.role, controller, factor: 1, &context.turn)
    }
    held.linkAdded(new.handle)
    serveIfReady(new.handle, &host)
  }

  /// The controller has ended a link (Vol 4, Part E, 7.7.5).
  mutating func disconnected(_ handle: ConnectionHandle, _ reason: HCIErrorCode, _ host: inout HostContext) {
    table.endingCompleted(handle, into: &host.output.packets)
    remove(handle, reason: reason, &host)
  }

  /// Removes a link.
  ///
  /// - Parameter isSuperseded: the controller has not ended it yet, and still has packets of it.
  private mutating func remove(
    _ handle: ConnectionHandle, reason: HCIErrorCode, isSuperseded: Bool = false, _ host: inout HostContext
  ) {
    held.linkEnded(handle, now: host.now)
    guard let index = table.index(of: handle) else { return removeForeign(handle, &host) }
    var link = table.remove(at: index, endingFrom: isSuperseded ? host.now : nil)
    context.turn.begin(policy, now: host.now)
    link.ending(&context)
    host.log.linkEnded(link.peer)
    apply(context.turn.takeEffects(), of: link.peer, &host)
    securityEnded(&link, reason, &host)
    if !isSuperseded { table.freeBuffers(of: handle, into: &host.output.packets) }
    context.turn.begin(policy, now: host.now)
    link.ended(reason, &context)
    apply(context.turn.takeEffects(), of: link.peer, &host)
    // Another link of the device may fulfil its pending connections from now on.
    if table.canShare(link.identity) { confirmed.append(link.identity) }
  }

  /// Asks the controller to end a link that is closing, now or when its packets have left.
  private mutating func end(
    _ peer: LinkID, _ reason: HCIErrorCode, isAtOnce: Bool, _ host: inout HostContext
  ) {
    guard let index = table.index(of: peer) else { return }
    if !isAtOnce, table.hasPackets(of: index) {
      draining.append((peer, reason, host.now + Self.drainTime))
    } else {
      disconnect(index, reason, &host)
    }
  }

  private func disconnect(_ index: Int, _ reason: HCIErrorCode, _ host: inout HostContext) {
    let command = HCI.Disconnect { ($0.connectionHandle, $0.reason) = (table[index].handle, reason) }
    host.send(command, for: .link(table[index].peer, .disconnect))
  }

  /// Asks the controller to end the links whose packets have left, and those that have waited long enough.
  private mutating func endDrained(_ host: inout HostContext) {
    let waiting = draining
    draining = []
    for entry in waiting {
      // It may have ended by itself.
      guard let index = table.index(of: entry.peer) else { continue }
      if entry.until > host.now, table.hasPackets(of: index) {
        draining.append(entry)
      } else {
        disconnect(index, entry.reason, &host)
      }
    }
  }

  /// Asks the controller to end all links.
  mutating func closeAll(_ host: inout HostContext) {
    for index in table.indices {
      withLink(index, &host) { link, context in link.close(.remoteUserTerminatedConnection, &context.turn) }
    }
  }

  /// Another program of this machine made the link as a central.
  mutating func addForeign(_ new: NewLink, _ host: inout HostContext) {
    let device = new.resolved ?? identity(of: new.address.identity)
    if let event = foreign.added(new.handle, to: device) { host.append(event) }
  }

  /// A link of another program has ended, or is ours from now on.
  private mutating func removeForeign(_ handle: ConnectionHandle, _ host: inout HostContext) {
    if let event = foreign.removed(handle) { host.append(event) }
  }

  /// A command about a link has ended.
  ///
  /// - Returns: whether the link has ended: the controller no longer had it when the command arrived. Its
  ///   Disconnection Complete is on its way or was lost.
  mutating func answered(
    _ peer: LinkID, _ purpose: LinkPurpose, _ opcode: HCIOpcode, _ status: HCIErrorCode, _ returned: Bytes,
    _ host: inout HostContext
  ) -> Bool {
    let index = table.index(of: peer)
    if status == .success, let index { table[index].began(opcode, now: host.now) }
    switch purpose {
    case .disconnect:
      guard status != .success, let index else { return false }
      guard status == .unknownConnectionIdentifier else {
        host.report(.controller, "refused \(opcode): \(status)", peer: peer)
        table[index].isEndRejected = true
        return false
      }
      remove(table[index].handle, reason: .terminatedByLocalHost, &host)
      return true
    case .connectionUpdate(let owner) where status != .success && index != nil:
      withLink(of: peer, &host) { link, context in
        let now = context.turn.now
        link.signalling.updateFailed(
          status, for: owner, now: now, into: &context.turn.signalling, &context.turn.effects)
      }
    case .subrate(let owner) where status != .success && index != nil:
      withLink(of: peer, &host) { link, context in
        link.subratingRefused(status, for: owner, into: &context.turn.effects)
      }
    case .power(let command, let owner) where index != nil:
      withLink(of: peer, &host) { link, context in
        link.powerAnswered(command, for: owner, opcode, status, returned, into: &context.turn.effects)
      }
    case .featurePages(let owner) where status != .success && index != nil:
      withLink(of: peer, &host) { link, context in link.featurePagesRefused(for: owner, &context.turn) }
    case .connectionRate(let owner) where status != .success && index != nil:
      withLink(of: peer, &host) { link, context in
        link.connectionRateRefused(status, for: owner, into: &context.turn.effects)
      }
    case .tuning:
      withLink(of: peer, &host) { link, context in
        link.signalling.tune(&context.turn) { $0.answered(opcode, status, into: &$1) }
      }
    case .encryption where status != .success:
      withSecurity(of: peer, .encryptionFailed(status), &host)
      if let index = table.index(of: peer) { serveIfReady(table[index].handle, &host) }
    // An event of the controller reports the success.
    case .encryption: break
    case .connectionUpdate, .subrate, .featurePages, .connectionRate, .rssi, .power, .setPHY, .readPHY:
      let error: HostError? = status == .success ? nil : .controller(opcode, status)
      if let answer = purpose.answer(about: peer, returned, error) { host.output.events.append(answer) }
    }
    return false
  }

  /// The command that ends a link whose device has connected again has ended.
  ///
  /// - Returns: whether the link has ended, as for ``answered(_:_:_:_:_:_:)``.
  mutating func supersededAnswered(
    _ handle: ConnectionHandle, _ status: HCIErrorCode, _ host: inout HostContext
  ) -> Bool {
    status == .unknownConnectionIdentifier && table.endingCompleted(handle, into: &host.output.packets)
  }
}

/// One input of a link, and what it writes and causes: PDUs for the controller, and effects on the parts that they
/// concern.
extension HostLinks {
  /// Lets a link do something, sends what it wrote and applies what it causes (Docs/Decisions/performance.md).
  private mutating func withLink(
    _ index: Int, _ host: inout HostContext, _ body: (inout Link, inout LinkContext) -> Void
  ) {
    context.turn.begin(policy, now: host.now)
    // A provider of values finds its owner as all earlier events leave it.
    context.services.database.callsProviders = host.output.events.isEmpty
    table[index].perform(body, &context)
    if context.turn.hasServerEventsOnly { deliverServerOutput(of: index, &host) } else { endInput(of: index, &host) }
  }

  /// Sends what an input of a link wrote and applies what it causes.
  @inline(never)
  private mutating func endInput(of index: Int, _ host: inout HostContext) {
    // An effect can give a link its next input: the output of this one is taken out before.
    var output = spareTurn.take() ?? LinkTurn(toolbox)
    swap(&context.turn, &output)
    finishInput(of: index, &output, &host)
    output.removeAll()
    spareTurn = consume output
  }

  /// As ``withLink(_:_:_:)``, by the name of the link, which may have ended.
  private mutating func withLink(
    of peer: LinkID, _ host: inout HostContext, _ body: (inout Link, inout LinkContext) -> Void
  ) {
    if let index = table.index(of: peer) { withLink(index, &host, body) }
  }

  /// Sends PDUs, and reports events, of an input that has caused nothing else. They give no link an input: the output
  /// stays where it is.
  @inline(__always)
  private mutating func deliverServerOutput(of index: Int, _ host: inout HostContext) {
    let refusal = table.send(context.turn.server.gatt.pdus, on: index, into: &host.output.packets)
    context.turn.server.gatt.removeAll()
    guard let refusal else { return context.turn.server.effects.moveEvents(into: &host.output) }
    let effects = context.turn.server.effects
    context.turn.server.effects = []
    let peer = table[index].peer
    sendingFailed(refusal, on: index, &host)
    apply(effects, of: peer, &host)
  }

  /// Sends what an input of a link wrote, and applies what it causes, in the order of ``LinkTurn``.
  private mutating func finishInput(of index: Int, _ turn: inout LinkTurn, _ host: inout HostContext) {
    if !turn.bearerFrames.isEmpty || !turn.client.frames.isEmpty { table[index].sendBearerFrames(&turn) }
    let peer = table[index].peer
    let refusal = table.send(turn.server.gatt.pdus, on: index, into: &host.output.packets)
    if let refusal { sendingFailed(refusal, on: index, &host) }
    apply(turn.server.effects, of: peer, &host)
    turn.client.gatt.pdus.forEach { send($0, on: peer, .attributeProtocol, &host) }
    apply(turn.client.effects, of: peer, &host)
    if turn.usesClient { table.noteCongestion(of: peer, &turn) }
    apply(turn.effects, of: peer, &host)
    turn.signalling.forEach { send($0, on: peer, .signalling, &host) }
    if turn.hasChannelFrames { sendChannelFrames(of: peer, &host) }
  }

  /// Sends one frame on a link.
  private mutating func send(
    _ payload: Span<UInt8>, on peer: LinkID, _ channel: ChannelID, tag: UInt32 = 0, _ host: inout HostContext
  ) {
    guard let index = table.index(of: peer) else { return }
    let refusal = table.send(payload, on: index, channel, tag: tag, into: &host.output.packets)
    if let refusal { sendingFailed(refusal, on: index, &host) }
  }

  /// A full queue ends the link: a frame lost on a reliable channel would break it silently.
  private mutating func sendingFailed(_ refusal: ACLSchedulerError, on index: Int, _ host: inout HostContext) {
    host.report(.peer, "the link is ended, because the peer takes no data: \(refusal)", peer: table[index].peer)
    withLink(index, &host) { link, context in
      link.close(.remoteUserTerminatedConnection, isAtOnce: true, &context.turn)
    }
  }

  /// Applies the effects of a part, in order; `perform` applies one of the part's own.
  private mutating func apply<Own>(
    _ effects: [Effect<Own>], _ host: inout HostContext, _ perform: (inout HostLinks, inout HostContext, Own) -> Void
  ) {
    for effect in effects {
      if case .own(let own) = effect { perform(&self, &host, own) } else { host.apply(effect) }
    }
  }

  private mutating func apply(_ effects: [Effect<LinkEffect>], of peer: LinkID, _ host: inout HostContext) {
    apply(effects, &host) { $0.perform($2, of: peer, &$1) }
  }

  /// Applies an effect of a link.
  @inline(never)
  private mutating func perform(_ effect: LinkEffect, of peer: LinkID, _ host: inout HostContext) {
    switch effect {
    case .violated(let event, let recipient):
      if host.log.admits(.peer, peer: peer, now: host.now) { host.append(.client(peer, event), to: recipient) }
    case .security(let input): withSecurity(of: peer, input, &host)
    case .securityWanted:
      withSecurity(of: peer, .refused, &host)
      withLink(of: peer, &host) { link, context in link.perform(effect, &context) }
    case .bondProven:
      withIdentities(of: peer, &host) { $0.confirmIdentity(of: peer, into: &$1) }
      if let index = table.index(of: peer) { confirmed.append(table[index].identity) }
    case .bearer(let effect): withLink(of: peer, &host) { link, context in link.perform(effect, &context) }
    case .channel(let effect): perform(effect, of: peer, &host)
    case .closed(let reason, let isAtOnce): end(peer, reason, isAtOnce: isAtOnce, &host)
    case .superseded(let handle): remove(handle, reason: .terminatedByLocalHost, isSuperseded: true, &host)
    case .mtuChanged, .recordChanged, .relieved, .counterUsed, .storageEnded, .securityChanged, .bondRestored,
      .clientResumed, .failed:
      withLink(of: peer, &host) { link, context in link.perform(effect, &context) }
    }
  }

  /// Lets the database do something and applies what it causes.
  private mutating func withServices(
    _ host: inout HostContext, _ body: (inout ServiceRegistry, inout [Effect<ServiceEffect>]) -> Void
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
  mutating func respond(_ answer: OwnerAnswer, _ octets: Span<UInt8>, of peer: LinkID, _ host: inout HostContext) {
    guard let index = table.index(of: peer) else { return }
    withLink(index, &host) { link, context in link.respond(answer, octets, &context) }
  }

  /// Notifies or indicates values of one attribute to those of the links whose clients have subscribed to it. How each
  /// client gets them is looked up once.
  ///
  /// - Parameters:
  ///   - token: names the only value, or is ``UpdateToken/counted``.
  ///   - lengths: the number of octets of each value.
  ///   - octets: the values one after the other.
  mutating func update(
    _ run: UpdateRun, as token: UpdateToken, _ lengths: Span<Int>, _ octets: Span<UInt8>, _ host: inout HostContext
  ) {
    let update = LinkUpdates.Entry(owner: run.owner, token: token)
    var recipients: [UpdateRecipient] = []
    swap(&recipients, &self.recipients)
    if let handle = context.services.updatedValue(run.attribute, of: run.owner) {
      for peer in run.peers {
        if let recipient = table.recipient(peer, of: handle, context.services) {
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

  @inline(__always)
  private mutating func send(
    _ value: Span<UInt8>, to recipient: UpdateRecipient, as update: LinkUpdates.Entry, _ host: inout HostContext
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

  /// Sends a notification. This is not an input of the link.
  private mutating func notify(
    _ value: Span<UInt8>, to recipient: UpdateRecipient, as update: LinkUpdates.Entry, _ host: inout HostContext
  ) {
    guard table.beginNotification(update, on: recipient.index) else {
      let server = table[recipient.index].server
      host.append(.refused(server.updateRefusal), to: update.owner.recipient)
      return host.append(update.finished(on: table[recipient.index].peer), to: update.owner.recipient)
    }
    // A link that accepts no data is ended, and its pending values end with it.
    let refusal = table.notify(value, to: recipient, into: &host.output.packets)
    if let refusal { sendingFailed(refusal, on: recipient.index, &host) }
  }
}

/// Credit-based channels: commands of owners, and what the channels of a link cause.
extension HostLinks {
  /// Performs a command about channels.
  mutating func perform(_ command: HostCommand.Channels, from owner: OwnerID, _ host: inout HostContext) {
    switch command {
    case .listen(let id, let service):
      let result = channels.listen(service, for: owner)
      if case .success(let number) = result { channelServicesChanged(.listen(number, for: service), &host) }
      host.append(.channels(.listening(id, result)), to: owner.recipient)
    case .stopListening(let number):
      guard stopListening(number, of: owner, &host) else { return }
      host.append(.channels(.stoppedListening(number)), to: owner.recipient)
    case .open(let id, let peer, let request):
      open(ChannelOpenings.Opening(id: id, owner: owner, request: request), on: peer, &host)
    }
  }

  mutating func perform(
    _ command: HostCommand.Channel, on channel: L2CAPChannelID, from owner: OwnerID, _ host: inout HostContext
  ) {
    guard let peer = channels.link(of: channel) else { return }
    withLink(of: peer, &host) { link, context in
      link.signalling.perform(command, on: channel, from: owner, &context.turn)
    }
  }

  private mutating func open(_ wanted: ChannelOpenings.Opening, on peer: LinkID, _ host: inout HostContext) {
    var opening = wanted
    let number = opening.request.spsm
    guard let index = table.index(of: peer), !table[index].isClosing else {
      return host.append(.channels(.openFailed(opening.id, .notConnected)), to: opening.owner.recipient)
    }
    guard ChannelServices.validNumbers.contains(number.rawValue) else {
      let error = HostError.invalidParameters("no service has the number \(number). Use 0x0001 to 0x00FF")
      return host.append(.channels(.openFailed(opening.id, error)), to: opening.owner.recipient)
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
  private mutating func stopListening(_ number: SPSM, of owner: OwnerID, _ host: inout HostContext) -> Bool {
    guard channels.stopListening(number, of: owner) else { return false }
    channelServicesChanged(.stopListening(number), &host)
    for index in table.indices {
      withLink(index, &host) { link, context in link.signalling.stopListening(number, &context.turn) }
    }
    return true
  }

  private mutating func channelServicesChanged(_ command: KernelCommand, _ host: inout HostContext) {
    for index in table.indices { table[index].signalling.setServices(channels.numbers) }
    if !host.session.isExclusive, host.state == .poweredOn { host.output.kernelCommands.append(command) }
  }

  /// Withdraws the services, the channels and the requests of an owner.
  private mutating func detachChannels(of owner: OwnerID, _ host: inout HostContext) {
    for number in channels.numbers(of: owner) { _ = stopListening(number, of: owner, &host) }
    for index in table.indices {
      withLink(index, &host) { link, context in link.signalling.detach(owner, &context.turn) }
    }
  }

  /// Applies an effect of the channels of a link.
  @inline(never)
  private mutating func perform(_ effect: ChannelEffect, of peer: LinkID, _ host: inout HostContext) {
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
  /// Other frames wait in the queues of their channels, not in that of the link. A PDU of ATT or SMP therefore waits
  /// for one such frame, and for those that the controller has.
  private mutating func sendChannelFrames(of peer: LinkID, _ host: inout HostContext) {
    let tag = FrameTag.channel
    while let index = table.index(of: peer), !table[index].isClosing,
      table.hasRoomForStream(index, tag: tag),
      let frame = table[index].signalling.nextFrame()
    {
      send(frame.payload.span, on: peer, frame.channel, tag: tag, &host)
    }
    guard let index = table.index(of: peer) else { return }
    host.output.events += table[index].signalling.channels.takeSent()
    table.setHasChannelFrames(table[index].signalling.hasFrames, peer)
  }

  /// The controller has sent frames: channels that wait go on.
  private mutating func resumeChannels(_ host: inout HostContext) {
    let waiting = table.withChannelFrames.sorted { $0.rawValue < $1.rawValue }
    for peer in waiting { sendChannelFrames(of: peer, &host) }
  }
}

/// What the security managers, the bonds and the pairings of the kernel cause in other parts.
extension HostLinks {
  /// Lets the security manager of a link do something and applies what it causes.
  @inline(never)
  private mutating func withSecurity(of peer: LinkID, _ input: SecurityInput, _ host: inout HostContext) {
    guard let index = table.index(of: peer) else { return }
    apply(secure(index, input, &host), &host) { links, host, effect in
      if let index = links.table.index(of: peer) { links.perform(effect, on: index, &host) }
    }
  }

  // Not inlined: the facts would be on the stack while the effects are applied.
  @inline(never)
  private mutating func secure(
    _ index: Int, _ input: SecurityInput, _ host: inout HostContext
  ) -> [Effect<SecurityEffect>] {
    let inUse = table.provenIdentities(except: table[index].peer)
    var context = table[index].securityContext(policy, self.context.bonds, inUse: inUse, toolbox, host)
    var effects: [Effect<SecurityEffect>] = []
    table[index].manager.perform(input, &context, now: host.now, into: &effects)
    (policy.lastQuestion, host.random) = (context.lastQuestion, context.random)
    return effects
  }

  @inline(never)
  private mutating func perform(_ effect: SecurityEffect, on index: Int, _ host: inout HostContext) {
    let (peer, identity) = (table[index].peer, table[index].identity)
    switch effect {
    case .send(let pdu): send(pdu.encoded.span, on: peer, .securityManager, &host)
    case .paired(let outcome):
      policy.succeeded(identity)
      table[index].device.pairings.succeeded(
        lacksAuthentication: policy.settings?.requestsMITM == true && !outcome.strength.isAuthenticated)
      let facts = table.pairedLink(index, context.services.database, of: host.ownIdentity)
      let (limit, now) = (policy.unconfirmedBonds, host.now)
      withBonds(&host) { [toolbox] in $0.paired(outcome, on: facts, limit, toolbox, now: now, into: &$1) }
    case .failed(let failure): policy.failed(identity, failure, now: host.now)
    case .answerIgnored(let error): host.append(.diagnostic(error.diagnostic(of: peer)))
    case .released(let report): withKernel(&host) { $0?.receive(report, $1, into: &$2) }
    case .kernelKeyAccepted(let identity): policy.kernel?.keyAccepted(identity)
    case .kernelKeysRefused(let identity): withKernel(&host) { $0?.removeKeys(of: identity, $1, into: &$2) }
    case .encrypted, .levelLost, .keyRevoked, .bondKeyFailed, .pairingFailed, .notSecured, .close:
      withLink(index, &host) { link, context in link.perform(effect, &context) }
    }
  }

  /// The kernel has no key for a link.
  mutating func keyMissed(_ handle: ConnectionHandle, _ host: inout HostContext) {
    if let index = table.index(of: handle) { withSecurity(of: table[index].peer, .keyMissed, &host) }
  }

  /// The link has ended, and is no longer in the table.
  private mutating func securityEnded(_ link: inout Link, _ reason: HCIErrorCode, _ host: inout HostContext) {
    if let ended = link.manager.kernelLink(of: link.device) {
      withKernel(&host) { $0?.linkEnded(ended, $1, into: &$2) }
    }
    var effects: [Effect<SecurityEffect>] = []
    let facts = link.securityContext(policy, context.bonds, inUse: table.provenIdentities(), toolbox, host)
    link.manager.linkEnded(reason, isRequested: link.isClosing, facts, into: &effects)
    for effect in effects { host.apply(effect) }
  }

  /// Takes a report of the kernel.
  mutating func receive(_ report: KernelReport, _ host: inout HostContext) {
    withKernel(&host) { $0?.receive(report, $1, into: &$2) }
  }

  /// Lets the pairings of the kernel do something, where there are any, and applies what they cause.
  private mutating func withKernel(
    _ host: inout HostContext,
    _ body: (inout KernelPairings?, KernelContext, inout [Effect<KernelEffect>]) -> Void
  ) {
    guard policy.kernel != nil else { return }
    let context = KernelContext(
      settings: policy.settings, ownIdentity: host.ownIdentity, bonds: self.context.bonds.bonds,
      isPoweredOn: host.state == .poweredOn, links: table.compactMap { $0.manager.kernelLink(of: $0.device) })
    var effects: [Effect<KernelEffect>] = []
    body(&policy.kernel, context, &effects)
    if !effects.isEmpty { apply(effects, &host) }
  }

  /// Not inlined: each use of ``withKernel(_:_:)`` would have its own copy of 15 kB.
  @inline(never)
  private mutating func apply(_ effects: [Effect<KernelEffect>], _ host: inout HostContext) {
    apply(effects, &host) { links, host, effect in
      switch effect {
      case .report(let report, let peer): links.withSecurity(of: peer, .report(report), &host)
      case .bondChanged(let bond): links.withBonds(&host) { $0.change(bond, into: &$1) }
      case .bondMade(let bond, let hasConsent):
        let (inUse, limit, now) = (links.table.provenIdentities(), links.policy.unconfirmedBonds, host.now)
        links.withBonds(&host) {
          let isKept = $0.admit(bond, hasConsent: hasConsent, inUse: inUse, limit, now: now, into: &$1)
          if !isKept { $1.append(.own(.notKept(bond.identity))) }
        }
      case .close(let peer):
        links.withLink(of: peer, &host) { link, context in link.close(.authenticationFailure, &context.turn) }
      }
    }
  }

  /// Lets the bond table do something and applies what it causes.
  private mutating func withBonds(
    _ host: inout HostContext, _ body: (inout BondTable, inout [Effect<BondEffect>]) -> Void
  ) {
    var effects: [Effect<BondEffect>] = []
    body(&context.bonds, &effects)
    apply(effects, &host)
  }

  // Not inlined: the compiler has a copy of `withBonds` for each call.
  @inline(never)
  private mutating func apply(_ effects: [Effect<BondEffect>], _ host: inout HostContext) {
    apply(effects, &host) { links, host, effect in
      switch effect {
      case .removed(let identity):
        links.table.bondRemoved(identity)
        links.withKernel(&host) { $0?.bondRemoved(identity, into: &$2) }
      case .identityKeysChanged: links.withKernel(&host) { $0?.loadKeys($1, into: &$2) }
      case .notKept(let identity): links.withKernel(&host) { $0?.removeKeys(of: identity, $1, into: &$2) }
      case .made(let bond, let peer):
        links.table.bonded(peer, bond)
        links.withIdentities(of: peer, &host) { $0.confirmIdentity(of: peer, into: &$1) }
      case .replaced(let identity, let peer):
        links.withIdentities(of: peer, &host) { $0.bondReplaced(identity, on: peer, into: &$1) }
      case .securityChanged(let peer):
        links.withLink(of: peer, &host) { link, context in
          context.turn.effects.append(.event(.link(peer, .security(link.device.reportedSecurity)), to: .everyone))
        }
      }
    }
  }

  /// Informs the links that the link of `peer` has proven an identity.
  private mutating func withIdentities(
    of peer: LinkID, _ host: inout HostContext, _ body: (inout LinkTable, inout [Effect<LinkEffect>]) -> Void
  ) {
    var effects: [Effect<LinkEffect>] = []
    body(&table, &effects)
    apply(effects, of: peer, &host)
  }
}
