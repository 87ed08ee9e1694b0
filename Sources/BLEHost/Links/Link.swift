import BLEATT
import BLEGATT
import BLEHCI
import BLEL2CAP
import BLESMP
import BLEWire

/// One link: its addresses and its security, and the receivers of its L2CAP channels.
///
/// ```
///   ACL fragments ──► Reassembler ──► frame ── ATT ─────────► LinkServer or LinkClient, by the opcode
///                                           ── signalling ──► LinkSignalling, LinkChannels
///                                           ── 0x0040… ─────► LinkChannels
///                                           ── SMP ─────────► HostLinks, which has the facts that pairing needs
/// ```
///
/// An input writes PDUs and causes effects (``LinkTurn``); ``HostLinks`` sends the PDUs. It lends the link the
/// attribute database and the bonds (``LinkContext``, Docs/Decisions/host.md#a-router-and-parts).
struct Link: Sendable {
  let peer: LinkID
  let handle: ConnectionHandle
  /// The device that the peer is taken for, and the security of the link.
  var device: PeerIdentity
  let role: ConnectedLink.Role
  /// Our own, or the one for a kernel.
  var manager: AnyLinkSecurityManager {
    didSet {
      isEncrypting = manager.isStarting
      takeDeadlines()
    }
  }
  /// Whether the controller has the key of an encryption, and has not reported its outcome.
  private(set) var isEncrypting = false

  var server: LinkServer
  var client: LinkClient { didSet { takeDeadlines() } }
  private var reassembler = Reassembler()
  var signalling: LinkSignalling { didSet { takeDeadlines() } }
  var phys: LinkPHYs
  /// At most one: the state of subrating and of connection rates, in memory of its own, because most links have none.
  var subratingStates: [LinkSubratingState] = []
  /// At most one: the state of power control, in memory of its own, because most links have none.
  var powerStates: [LinkPowerState] = []
  private let disconnectionTimeout: Duration
  let procedureTimeout: Duration
  /// Those that the controller has begun for this host.
  var procedures = LinkProcedures() { didSet { takeDeadlines() } }
  /// The earliest deadline of the machines other than the server. It is taken when one of them changes: most inputs are
  /// requests to the server.
  private var otherDeadline: Instant?
  /// When a link that was asked to end has ended for its owners, whatever the controller reports. Nothing more is sent.
  private(set) var end: Instant? { didSet { takeDeadlines() } }
  /// Whether the controller has rejected the request to end the link.
  var isEndRejected = false

  init(
    _ new: NewLink, peer: LinkID, device: PeerIdentity, manager: AnyLinkSecurityManager, users: [OwnerID] = [],
    _ configuration: HostConfiguration
  ) {
    self.peer = peer
    (handle, role) = (new.handle, new.role)
    self.device = device
    self.manager = manager
    signalling = LinkSignalling(peer: peer, handle: handle, role: role, timing: new.timing, configuration.ownership)
    phys = LinkPHYs(peer: peer, handle: handle)
    server = LinkServer(peer: peer, configuration)
    client = LinkClient(peer: peer, users: users, maximumMTU: configuration.serverLimits.maximumMTU)
    client.bearers.isEnabled = configuration.usesEnhancedBearers
    client.bearers.wanted = role == .central ? configuration.wantedBearers : 0
    signalling.allowsBearers = configuration.usesEnhancedBearers
    procedureTimeout = configuration.procedureTimeout
    disconnectionTimeout = configuration.disconnectionTimeout
  }

  /// Whether the link was asked to end.
  var isClosing: Bool { end != nil }
  var address: DeviceAddress { device.address }
  var identity: DeviceAddress { device.identity }
  var security: SecurityState { device.security }
  var channelFacts: ChannelOpenings.Facts { ChannelOpenings.Facts(self) }

  /// When one of its machines next has work, if ever.
  var deadline: Instant? { .nearer(server.deadline, otherDeadline) }

  private mutating func takeDeadlines() {
    otherDeadline = .nearer(
      .nearer(.nearer(client.deadline, end), procedures.deadline), .nearer(signalling.deadline, manager.deadline))
  }

  /// As above, in place: for a function that does not mutate, an element of an array is copied, with a retain for each
  /// array in it.
  mutating func nextDeadline() -> Instant? { deadline }

  /// The link as it is reported.
  func connection(request: ConnectID?) -> ConnectedLink {
    ConnectedLink(peer: peer, address: device.reportedAddress, role: role, timing: signalling.timing, request: request)
  }

  /// Performs one input.
  mutating func perform(_ input: (inout Link, inout LinkContext) -> Void, _ context: inout LinkContext) {
    input(&self, &context)
    if context.turn.usesClient { finish(&context) }
  }

  /// Ends an input of the client.
  mutating func finish(_ context: inout LinkContext) {
    client.translate(now: context.turn.now, into: &context.turn.client)
  }
}

/// Data from the controller.
extension Link {
  /// Takes the data of one ACL packet with its Packet_Boundary_Flag (Vol 4, Part E, 5.4.2).
  mutating func receive(_ fragment: Span<UInt8>, boundary: UInt8, _ context: inout LinkContext) {
    if let channel = reassembler.wholeFrame(in: fragment, packetBoundary: boundary) {
      return receive(fragment.extracting(BasicFrame.headerLength...), on: channel, &context)
    }
    let outcome = reassembler.receive(fragment, packetBoundary: boundary)
    if let dropped = outcome.dropped {
      context.turn.server.effects.append(.report(.peer, "a malformed L2CAP frame is dropped: \(dropped)", peer: peer))
    }
    switch outcome.frame {
    case .inFragment(let channel, let payload):
      receive(fragment.extracting(payload), on: channel, &context)
    case .assembled(let channel):
      let frame = reassembler.takeFrame()
      receive(frame.span.extracting(BasicFrame.headerLength...), on: channel, &context)
      reassembler.reuse(frame)
    case nil: break
    }
  }

  private mutating func receive(_ payload: Span<UInt8>, on channel: ChannelID, _ context: inout LinkContext) {
    switch channel {
    case .attributeProtocol: receiveATT(payload, &context)
    case .signalling: signalling.receive(payload, channelFacts, &context.turn)
    case .securityManager: context.turn.effects.append(.own(.security(.pdu([UInt8](copying: payload)))))
    default: signalling.receive(payload, on: channel, channelFacts, &context.turn)
    }
  }

  /// Takes one ATT PDU; its opcode says for which half of the link it is (Vol 3, Part F, 3.3).
  private mutating func receiveATT(_ pdu: Span<UInt8>, _ context: inout LinkContext) {
    let now = context.turn.now
    guard !pdu.isEmpty else {
      // Only the client can wait for it.
      guard !client.isUnused else { return }
      context.turn.usesClient = true
      return client.receive(pdu, now: now, into: &context.turn.client)
    }
    if pdu[0] == 0xD2 {  // Signed Write Command
      let (bond, toolbox) = (context.bonds[identity], context.turn.toolbox)
      server.receiveSigned(pdu, security, bond: bond, toolbox, now: now, into: &context.turn.server)
    } else if ATTOpcode(rawValue: pdu[0]).isSentByServer {
      context.turn.usesClient = true
      client.receive(pdu, now: now, into: &context.turn.client)
    } else {
      server.receive(pdu, security, &context.services, now: now, into: &context.turn.server)
    }
  }

  /// Takes an event of the controller about the link.
  mutating func receive(_ event: LinkEvent, _ turn: inout LinkTurn) {
    var hasOtherPackets = false
    switch event {
    case .connectionUpdateComplete(let event):
      procedures.ended(.connectionUpdate)
      let interval = signalling.timing.rateInterval
      signalling.updated(event, now: turn.now, into: &turn.signalling, &turn.effects)
      if signalling.timing.rateInterval != interval { endSubrating(into: &turn.effects) }
      hasOtherPackets = true
    case .subrateChange(let event):
      procedures.ended(.subrateUpdate)
      subratingChanged(event, into: &turn.effects)
    case .transmitPowerReporting(let event):
      if event.reason == 0x02 { procedures.ended(.powerRead) }
      powerReported(event, into: &turn.effects)
    case .pathLossThreshold(let event): pathLossReported(event, into: &turn.effects)
    case .readAllRemoteFeaturesComplete(let event):
      procedures.ended(.featurePages)
      featurePagesRead(event, into: &turn.effects)
    case .connectionRateChange(let event):
      procedures.ended(.connectionRateUpdate)
      connectionRateChanged(event, into: &turn.effects)
    case .phyUpdateComplete(let event):
      procedures.ended(.phyUpdate)
      hasOtherPackets = signalling.packets.update(event)
      phys.updated(event, isTuned: signalling.tunesPHY, into: &turn.effects)
    case .dataLengthChange(let event):
      hasOtherPackets = signalling.packets.update(event)
      if hasOtherPackets {
        turn.effects.append(.event(.link(peer, .dataLength(signalling.packets.dataLength)), to: .everyone))
      }
    case .readRemoteFeaturesComplete: procedures.ended(.featureExchange)
    case .encryptionChange(let status, let isOn):
      hasOtherPackets = signalling.packets.encryptionChanged(status, isOn: isOn)
      turn.effects.append(.own(.security(.encryptionChanged(status, isOn: isOn))))
    case .encryptionKeyRefreshComplete(let status):
      turn.effects.append(.own(.security(.encryptionChanged(status, isOn: true))))
    case .longTermKeyRequest(let event): turn.effects.append(.own(.security(.keyRequested(event))))
    }
    signalling.tune(&turn) { $0.received(event, into: &$1) }
    if hasOtherPackets { signalling.followPackets(&turn) }
  }
}

/// Commands of owners.
extension Link {
  /// Performs a command about this link.
  mutating func perform(
    _ command: HostCommand.Link, from owner: OwnerID, _ controller: ControllerCapabilities, _ turn: inout LinkTurn
  ) {
    switch command {
    case .setPHY(let preference): phys.set(preference, for: owner, controller, into: &turn.effects)
    case .readPHY: phys.read(for: owner, controller, into: &turn.effects)
    case .requestSecurity: turn.effects.append(.own(.security(.requested(by: owner))))
    case .secure(let demand): turn.effects.append(.own(.security(.requested(by: owner, demand))))
    case .answerPairing(let question, let answer): turn.effects.append(.own(.security(.answer(question, answer))))
    case .authorize(let isAuthorized):
      if device.authorize(isAuthorized) { turn.effects.append(.own(.securityChanged)) }
    case .disconnect(let reason): close(reason, &turn)
    case .release: release(by: owner, &turn)
    case .updateConnection(let parameters):
      signalling.tuning?.followsPackets = false
      signalling.update(to: parameters, for: owner, now: turn.now, into: &turn.signalling, &turn.effects)
    case .prioritize(let priority):
      signalling.prioritize(priority, for: owner, role, controller, factor: subrateFactor, &turn)
    case .requestSubrating(let parameters): requestSubrating(parameters, for: owner, controller, &turn)
    case .requestConnectionRate(let parameters): requestConnectionRate(parameters, for: owner, controller, &turn)
    case .readRSSI:
      turn.effects.append(.command(HCI.ReadRSSI { $0.connectionHandle = handle }, for: .link(peer, .rssi(owner))))
    case .power(let command): perform(command, for: owner, controller, into: &turn.effects)
    case .client(let operation):
      perform(operation, for: owner, pairsOnDemand: role == .central && turn.pairsOnDemand, &turn)
    case .inspect(let operation): perform(operation, for: owner, pairsOnDemand: false, &turn)
    case .discardAttributeCache: client.discardCache()
    }
  }

  private mutating func perform(
    _ operation: GATTClient.Operation, for owner: OwnerID, pairsOnDemand: Bool, _ turn: inout LinkTurn
  ) {
    turn.usesClient = true
    client.perform(
      operation, for: owner, pairsOnDemand: pairsOnDemand, queuesAfterBondLoss: turn.queuesOperationsAfterBondLoss,
      now: turn.now, into: &turn.client)
  }

  /// Ends the link; ``HostEvent/Link/disconnected(_:)`` follows when the controller has ended it, at the latest after
  /// ``HostConfiguration/disconnectionTimeout``.
  ///
  /// - Parameter isAtOnce: whether what was sent before need not leave first.
  mutating func close(_ reason: HCIErrorCode, isAtOnce: Bool = false, _ turn: inout LinkTurn) {
    guard !isClosing else { return }
    end = turn.now + disconnectionTimeout
    turn.effects.append(.own(.closed(reason, isAtOnce: isAtOnce)))
  }

  /// Ends an owner's use of the link. A link that our central made ends when no owner uses it; one that the device made
  /// stays.
  mutating func release(by owner: OwnerID, _ turn: inout LinkTurn) {
    releasePower(of: owner, into: &turn.effects)
    guard client.removeUser(owner, now: turn.now, into: &turn.client) else { return }
    if role == .central, client.users.isEmpty {
      close(.remoteUserTerminatedConnection, &turn)
    } else {
      turn.effects.append(.event(.link(peer, .disconnected(.terminatedByLocalHost)), to: owner.recipient))
    }
  }
}

/// The beginning and the end.
extension Link {
  /// The link is up.
  ///
  /// - Parameters:
  ///   - requests: the pending connections that it fulfils.
  ///   - isShuttingDown: the link came up before the controller had stopped: it is ended.
  mutating func start(_ requests: [PendingConnection], isShuttingDown: Bool, _ context: inout LinkContext) {
    let now = context.turn.now
    device.setBonded(context.bonds.contains(identity))
    context.turn.server.effects.append(.event(.connected(connection(request: requests.first?.id)), to: .everyone))
    for request in requests.dropFirst() {
      let event = HostEvent.connected(connection(request: request.id))
      context.turn.server.effects.append(.event(event, to: request.owner.recipient))
    }
    if isShuttingDown { return close(.remoteUserTerminatedConnection, &context.turn) }
    guard role == .central else { return }
    if let request = requests.first, request.scan.isBare { return client.startBare() }
    let until = context.bonds[identity]?.centralKey.map { _ in now + procedureTimeout }
    context.turn.usesClient = true
    client.start(encryptedUntil: until, now: now, into: &context.turn.client)
    if until != nil { context.turn.effects.append(.own(.security(.bond))) }
  }

  /// The link has ended: what is kept of the peer is stored. ``ended(_:_:)`` follows.
  mutating func ending(_ context: inout LinkContext) {
    keepRecord(&context)
    if security.isBondProven, client.attributeCache != nil || client.hasDiscardedCache {
      context.bonds.keep(client.attributeCache, of: identity, now: context.turn.now, into: &context.turn.effects)
    }
    context.bonds.linkEnded(identity, into: &context.turn.effects)
  }

  /// Ends what the owners have on the link, and reports that it has ended.
  mutating func ended(_ reason: HCIErrorCode, _ context: inout LinkContext) {
    server.linkEnded(context.services, into: &context.turn.server)
    client.linkEnded(into: &context.turn.client)
    signalling.channels.linkEnded(reason, &context.turn)
    context.turn.effects.append(.event(.link(peer, .disconnected(reason)), to: .everyone))
  }
}

/// Time.
extension Link {
  mutating func tick(_ context: inout LinkContext) {
    let now = context.turn.now
    server.tick(security, &context.services, now: now, into: &context.turn.server)
    context.turn.usesClient = true
    client.tick(now: now, into: &context.turn.client)
  }

  /// Time for what is neither server nor client: the store of bonds, signalling, bearers and the security manager. If
  /// the store has not answered in time, nothing waits for it until it answers again.
  mutating func tickOthers(_ context: inout LinkContext) {
    let now = context.turn.now
    if server.isStorageLate(now: now) {
      context.bonds.storeFailed()
      context.turn.effects.append(.own(.storageEnded))
    }
    signalling.tick(channelFacts, &context.turn)
    if let deadline = server.bearers.deadline, deadline <= now { context.turn.effects.append(.own(.bearer(.tick))) }
    if let deadline = manager.deadline, deadline <= now { context.turn.effects.append(.own(.security(.tick))) }
  }

  /// Ends a link whose encryption neither succeeds nor fails. The controller should have ended it (Vol 6, Part B, 5.2).
  mutating func tickReconnection(_ turn: inout LinkTurn) {
    guard let deadline = client.reconnection.deadline, deadline <= turn.now else { return }
    manager.stopEncryption()
    bondKeyFailed(.notEncrypted(.linkLayerResponseTimeout), &turn)
    close(.authenticationFailure, &turn)
  }
}

/// An event of the controller about one link, which is not about its beginning or its end.
enum LinkEvent: Sendable {
  case connectionUpdateComplete(HCI.LEConnectionUpdateComplete)
  case phyUpdateComplete(HCI.LEPHYUpdateComplete)
  case dataLengthChange(HCI.LEDataLengthChange)
  case readRemoteFeaturesComplete(HCI.LEReadRemoteFeaturesComplete)
  case subrateChange(HCI.LESubrateChange)
  case transmitPowerReporting(HCI.LETransmitPowerReporting)
  case pathLossThreshold(HCI.LEPathLossThreshold)
  case readAllRemoteFeaturesComplete(HCI.LEReadAllRemoteFeaturesComplete)
  case connectionRateChange(HCI.LEConnectionRateChange)
  /// Either version of the event (Vol 4, Part E, 7.7.8).
  case encryptionChange(HCIErrorCode, isOn: Bool)
  case encryptionKeyRefreshComplete(HCIErrorCode)
  case longTermKeyRequest(HCI.LELongTermKeyRequest)
}
