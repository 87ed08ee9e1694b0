import BLECrypto
import BLEHCI
import BLESMP
import BLEWire

/// The parts that use the radio, and the effects that they have on each other.
///
/// Effects are applied depth first: what an effect causes in another part is applied before the next one. Commands,
/// events and reports leave in ``RadioTurn/effects`` in that order.
struct Radio: Sendable {
  private var advertiser: Advertiser
  private var scanner = Scanner()
  private var initiator: Initiator
  private var synchronizer: Synchronizer
  private var addresses: AddressManager
  private var turns = InitiatingTurns()
  /// Commands of the parts that have had no answer, and not been answered since.
  private var unanswered: Set<HCIOpcode> = []
  /// What the parts were last told of ``turns``.
  private var held = Held(initiating: false, others: false)

  private struct Held: Equatable, Sendable { var initiating, others: Bool }

  init(_ configuration: HostConfiguration, _ toolbox: SecurityToolbox) {
    advertiser = Advertiser(maximum: configuration.maximumAdvertisements)
    initiator = Initiator(maximumRequests: configuration.maximumPendingConnections)
    synchronizer = Synchronizer(maximumRequests: configuration.maximumSynchronizations)
    addresses = AddressManager(
      isManaged: configuration.ownership == .exclusive, staticAddress: configuration.staticAddress, toolbox: toolbox)
  }

  /// When ``tick(_:)`` has work.
  var deadline: Instant? {
    @inline(__always) get { .nearer(scanner.deadline, otherDeadline) }
  }
  /// That of the other parts. It is kept, because the loop asks after each packet, and only events and commands change
  /// it.
  private var otherDeadline: Instant?
  /// Our identity: the public address, or a static random one.
  var identity: DeviceAddress { addresses.identity }
  /// The address that advertising, scanning and connecting use: a private one if wanted, otherwise our identity.
  var address: DeviceAddress { addresses.current }
  var privacy: PrivacySettings? { addresses.settings }
  /// Whether the controller was asked to connect, and no event has ended it.
  var isConnecting: Bool { initiator.isWaiting }

  mutating func perform(_ command: HostCommand.Advertising, from owner: OwnerID, _ turn: inout RadioTurn) {
    switch command {
    case .start(let id, let intent): advertise(&turn) { $0.start(id, intent, for: owner, $1, into: &$2) }
    case .stop(let id): advertise(&turn) { $0.stop(id, of: owner, $1, into: &$2) }
    case .updateTrain(let id, let data, let token):
      advertise(&turn) { $0.updateTrain(id, data, token, of: owner, $1, into: &$2) }
    // The router knows the link.
    case .transfer: break
    }
  }

  /// - Parameter link: the handle of the link where the source is a transfer; nil if there is no such link.
  mutating func synchronize(
    _ id: SyncID, _ source: SyncSource, on link: ConnectionHandle?, _ parameters: SyncParameters,
    from owner: OwnerID, _ turn: inout RadioTurn
  ) {
    synchronize(&turn) { $0.start(id, source, on: link, parameters, for: owner, $1, into: &$2) }
  }

  mutating func stopSynchronizing(_ id: SyncID, from owner: OwnerID, _ turn: inout RadioTurn) {
    synchronize(&turn) { $0.stop(id, of: owner, $1, into: &$2) }
  }

  /// The links whose devices are expected to transfer a synchronization.
  var expectedLinks: [LinkID] { synchronizer.expectedLinks }

  /// Such a link has ended.
  mutating func expectedLinkEnded(_ peer: LinkID, _ turn: inout RadioTurn) {
    synchronize(&turn) { $0.linkEnded(peer, into: &$2) }
  }

  /// The sync handle of a train that an owner receives.
  func syncHandle(of id: SyncID, of owner: OwnerID) -> UInt16? { synchronizer.handle(of: id, of: owner) }

  /// The command that transfers a synchronization to the device of a link.
  func command(
    for transfer: SyncTransfer, on link: ConnectionHandle, serviceData: UInt16, _ controller: ControllerCapabilities
  ) throws(HostError) -> EncodedCommand {
    let lack = HostError.unsupported("periodic advertising sync transfer")
    switch transfer.subject {
    case .advertisement(let id):
      guard controller.commands.contains(HCI.LEPeriodicAdvertisingSetInfoTransfer.self) else { throw lack }
      guard let set = advertiser.trainSet(of: id, of: transfer.owner) else {
        throw .invalidParameters("the advertisement has no periodic advertising that is sent")
      }
      return .init(
        HCI.LEPeriodicAdvertisingSetInfoTransfer {
          ($0.connectionHandle, $0.serviceData, $0.advertisingHandle) = (link, serviceData, set)
        })
    case .synchronization(let id):
      guard controller.commands.contains(HCI.LEPeriodicAdvertisingSyncTransfer.self) else { throw lack }
      guard let handle = syncHandle(of: id, of: transfer.owner) else {
        throw .invalidParameters("the train is not received now: transfer it when it is synchronized")
      }
      return .init(
        HCI.LEPeriodicAdvertisingSyncTransfer {
          ($0.connectionHandle, $0.serviceData, $0.syncHandle) = (link, serviceData, handle)
        })
    }
  }

  mutating func perform(_ command: HostCommand.Scanning, from owner: OwnerID, _ turn: inout RadioTurn) {
    switch command {
    case .start(let parameters): scan(&turn) { $0.start(parameters, for: owner, $1, into: &$2) }
    case .stop: scan(&turn) { $0.stop(for: owner, $1, into: &$2) }
    }
  }

  mutating func setPrivacy(_ settings: PrivacySettings?, from owner: OwnerID, _ turn: inout RadioTurn) {
    manageAddresses(&turn) { $0.setPrivacy(settings, from: owner, into: &$1) }
  }

  /// Why a request to connect cannot be accepted, regardless of links.
  func rejection(of request: PendingConnection, _ turn: RadioTurn) -> HostError? {
    initiator.rejection(of: request, context(turn))
  }

  mutating func connect(_ request: PendingConnection, _ turn: inout RadioTurn) {
    initiate(&turn) { $0.connect(request, $1, into: &$2) }
  }

  mutating func cancel(_ request: ConnectID, of owner: OwnerID, _ turn: inout RadioTurn) {
    initiate(&turn) { $0.cancel(request, of: owner, into: &$2) }
  }

  /// Withdraws what an owner declared.
  mutating func detach(_ owner: OwnerID, _ turn: inout RadioTurn) {
    advertise(&turn) { $0.stopAll(of: owner, $1, into: &$2) }
    scan(&turn) { $0.stop(for: owner, $1, into: &$2) }
    initiate(&turn) { $0.cancelAll(of: owner, into: &$2) }
    synchronize(&turn) { $0.stopAll(of: owner, $1, into: &$2) }
  }

  /// Withdraws what all owners declared: the host is shutting down.
  mutating func stop(_ turn: inout RadioTurn) {
    advertise(&turn) { $0.stopAll($1, into: &$2) }
    scan(&turn) { $0.stopAll($1, into: &$2) }
    initiate(&turn) { $0.cancelAll(into: &$2) }
    synchronize(&turn) { $0.stopAll($1, into: &$2) }
  }

  mutating func tick(_ turn: inout RadioTurn) {
    let now = turn.now
    scan(&turn) { $0.tick($1, into: &$2) }
    if let due = initiator.deadline, due <= now { initiate(&turn) { $0.tick(now: $1.now, into: &$2) } }
    if let due = advertiser.deadline, due <= now { advertise(&turn) { $0.tick($1, into: &$2) } }
    if let due = synchronizer.deadline, due <= now { synchronize(&turn) { $0.tick($1, into: &$2) } }
    addresses.tick(now: now)
  }
}

/// The controller.
extension Radio {
  /// Chooses the addresses of a controller that is being brought up.
  mutating func begin(with publicAddress: BD_ADDR, _ turn: inout RadioTurn) {
    var effects: [Effect<AddressEffect>] = []
    addresses.begin(with: publicAddress, random: &turn.random, into: &effects)
    apply(effects, &turn)
  }

  /// The controller is up: it is given what is declared.
  mutating func restore(_ turn: inout RadioTurn) {
    addresses.poweredOn(now: turn.now)
    advertise(&turn) { $0.restore($1, into: &$2) }
    scan(&turn) { $0.restore($1, into: &$2) }
    initiate(&turn) { $0.restore($1, into: &$2) }
    synchronize(&turn) { $0.restore($1, into: &$2) }
    reconcileInitiator(&turn)
  }

  /// The controller lost its state; what is declared stays.
  ///
  /// - Returns: the events for owners.
  mutating func suspend() -> [Effect<SynchronizerEffect>] {
    var effects: [Effect<SynchronizerEffect>] = []
    synchronizer.suspend(into: &effects)
    advertiser.suspend()
    scanner.suspend()
    initiator.suspend()
    addresses.suspend()
    turns.suspend()
    noteDeadline()
    return effects
  }

  private mutating func noteDeadline() {
    let own = Instant?.nearer(advertiser.deadline, initiator.deadline)
    otherDeadline = .nearer(.nearer(own, synchronizer.deadline), .nearer(addresses.deadline, turns.deadline))
  }

  /// The controller has answered a command of one of the parts.
  mutating func answered(_ purpose: RadioPurpose, _ opcode: HCIOpcode, _ status: HCIErrorCode, _ turn: inout RadioTurn)
  {
    if !unanswered.isEmpty { unanswered.remove(opcode) }
    switch purpose {
    case .advertising(let id, let step):
      advertise(&turn) { $0.stepCompleted(id, step, opcode, status, $1, into: &$2) }
    case .scanning(let step): scan(&turn) { $0.stepCompleted(step, opcode, status, $1, into: &$2) }
    case .initiating(let step): initiate(&turn) { $0.stepCompleted(step, opcode, status, $1, into: &$2) }
    case .synchronizing(let step): synchronize(&turn) { $0.stepCompleted(step, opcode, status, $1, into: &$2) }
    case .address:
      let now = turn.now
      manageAddresses(&turn) { $0.stepCompleted(opcode, status, now: now, into: &$1) }
    }
  }

  /// The controller has not answered a command of one of the parts, and is reset. What needs a command that has had no
  /// answer before is given up: the reset would be followed by the next one.
  mutating func timedOut(_ purpose: RadioPurpose, _ opcode: HCIOpcode, _ turn: inout RadioTurn) {
    guard !unanswered.insert(opcode).inserted else { return }
    switch purpose {
    case .advertising(let id, _): advertise(&turn) { $0.timedOut(id, opcode, $1, into: &$2) }
    case .scanning: scan(&turn) { $0.timedOut(opcode, $1, into: &$2) }
    case .initiating: initiate(&turn) { $0.timedOut(opcode, into: &$2) }
    case .synchronizing(let step): synchronize(&turn) { $0.timedOut(step, opcode, into: &$2) }
    case .address: addresses.timedOut(opcode)
    }
  }

  /// Takes an event of the controller about advertising or scanning.
  ///
  /// - Parameter identities: the devices of the reports in the event, in order.
  mutating func receive(_ event: RadioEvent, by identities: [DeviceAddress], _ turn: inout RadioTurn) {
    let now = turn.now
    switch event {
    case .advertisingReport(let event):
      for (report, identity) in zip(event.reports, identities) {
        received(report.address, of: identity, &turn)
        scan(&turn) { $0.receive(report, by: identity, now: now, into: &$2) }
      }
    case .extendedAdvertisingReport(let event):
      for (report, identity) in zip(event.reports, identities) {
        received(report.address, of: identity, &turn)
        scan(&turn) { $0.receive(report, by: identity, now: now, into: &$2) }
      }
    case .advertisingSetTerminated(let event):
      advertise(&turn) { $0.setTerminated(event.advertisingHandle, $1, into: &$2) }
    case .syncEstablished(let event):
      let advertiser = identities.first ?? event.advertiserAddress
      synchronize(&turn) { $0.established(event, by: advertiser, $1, into: &$2) }
    case .syncLost(let handle): synchronize(&turn) { $0.lost(handle, $1, into: &$2) }
    case .syncTransferred(let event, let peer):
      let advertiser = identities.first ?? event.advertiserAddress
      synchronize(&turn) { $0.transferred(event, by: advertiser, from: peer, $1, into: &$2) }
    case .periodicReport(let report, let counter):
      synchronize(&turn) { $0.receive(report, counter: counter, now: now, into: &$2) }
    }
  }

  /// Whether reports may be read in the packets of their events: no part of an advertisement waits for the others.
  var readsReportsInPlace: Bool { scanner.hasNoFragments }

  /// Takes a complete report in the packet of its event, of a device that is known by the address in the report.
  mutating func receive(
    _ view: AdvertisingReportView, in event: Span<UInt8>, now: Instant, into output: inout HostOutput
  ) {
    scanner.receive(view, in: event, now: now, into: &output)
  }

  private mutating func received(_ address: DeviceAddress, of identity: DeviceAddress, _ turn: inout RadioTurn) {
    guard identity != address.identity else { return }
    manageAddresses(&turn) { $0.received(address, of: identity, into: &$1) }
    // A device that is to be connected to may have another address than the one that the controller was given.
    if initiator.wants(identity), addresses.isManaged { reconcileInitiator(&turn) }
  }

  /// The controller could not make a link, or has stopped connecting.
  ///
  /// - Parameter role: our role on the link, as the controller reports it. The other parameters of the event are
  ///   without meaning then, and some controllers leave this one out, too.
  mutating func connectionFailed(_ status: HCIErrorCode, as role: ConnectedLink.Role, _ turn: inout RadioTurn) {
    let isCancelled = status == .unknownConnectionIdentifier
    if isConnecting, role == .central || isCancelled || !advertiser.mayHaveLink {
      return initiate(&turn) { $0.ended(status, now: $1.now, into: &$2) }
    }
    // The end of an attempt that was cancelled, and which the host no longer waits for.
    guard !isCancelled else { return }
    advertise(&turn) { $0.connectionFailed($1, into: &$2) }
  }

  /// Our central has made a link. ``linkAdded(asCentral:_:)`` follows when it is reported.
  ///
  /// - Returns: the requests that it fulfils.
  mutating func connected(to identity: DeviceAddress, _ turn: inout RadioTurn) -> [PendingConnection] {
    var requests: [PendingConnection] = []
    initiate(&turn) { requests = $0.connected(to: identity, into: &$2) }
    return requests
  }

  /// A device that is to be connected to has made a link to us: no other one is needed.
  ///
  /// - Returns: the requests that it fulfils.
  mutating func fulfilled(by identity: DeviceAddress, _ turn: inout RadioTurn) -> [PendingConnection] {
    guard initiator.wants(identity) else { return [] }
    var requests: [PendingConnection] = []
    initiate(&turn) { requests = $0.fulfilled(by: identity, into: &$2) }
    return requests
  }

  mutating func linkAdded(asCentral isCentral: Bool, _ turn: inout RadioTurn) {
    if isCentral { reconcileInitiator(&turn) } else { advertise(&turn) { $0.linkAdded($1, into: &$2) } }
    if scanner.isWanted { scan(&turn) { $0.reconcile($1, into: &$2) } }
  }

  mutating func linkEnded(_ turn: inout RadioTurn) {
    advertise(&turn) { $0.linkEnded($1, into: &$2) }
    if scanner.isWanted { scan(&turn) { $0.reconcile($1, into: &$2) } }
    if !initiator.requests.isEmpty { reconcileInitiator(&turn) }
  }
}

/// The effects of the parts on each other.
extension Radio {
  /// Whether something has changed that ``review(_:)`` has not seen.
  @inline(__always)
  func isReviewDue(_ revision: Int) -> Bool { addresses.isReviewDue(revision) }

  /// Lets the address manager look at what an input has changed, at its end.
  mutating func review(_ turn: inout RadioTurn) {
    let context = context(turn)
    let devices = turn.devices
    manageAddresses(&turn) { $0.review(devices, context, into: &$1) }
  }

  private var areOthersActive: Bool { !scanner.isOff || advertiser.isConnectableActive }
  private var isInitiatingHeld: Bool {
    switch turns.turn {
    case .together: false
    case .initiating: areOthersActive
    case .others: true
    }
  }
  private var areOthersHeld: Bool {
    switch turns.turn {
    case .together: false
    case .initiating: true
    case .others: !initiator.isOff
    }
  }

  /// Lets connecting and the others go on by turns where the controller cannot do both at once. Due after each input.
  @inline(never)
  mutating func takeTurns(_ turn: inout RadioTurn) {
    defer { noteDeadline() }
    chooseTurn(&turn)
    let held = Held(initiating: isInitiatingHeld, others: areOthersHeld)
    guard held != self.held else { return }
    self.held = held
    advertise(&turn) { $0.hold($1, into: &$2) }
    advertise(&turn) { $0.release($1, into: &$2) }
    scan(&turn) { $0.reconcile($1, into: &$2) }
    reconcileInitiator(&turn)
  }

  private mutating func chooseTurn(_ turn: inout RadioTurn) {
    guard !initiator.requests.isEmpty || turns.turn != .together else { return }
    let states = turn.controller.states
    let isScanPossible = states.allow(scanner.isActiveWanted ? .activeScanning : .passiveScanning, beside: .initiating)
    let isAdvertisingPossible = states.allow(.connectableAdvertising, beside: .initiating)
    let begins = turns.update(
      isInitiatingWanted: !initiator.requests.isEmpty,
      areOthersWanted: scanner.isWanted || advertiser.isConnectableWanted,
      isPossible: (!scanner.isWanted || isScanPossible) && (!advertiser.isConnectableWanted || isAdvertisingPossible),
      now: turn.now)
    if begins {
      let text = "it cannot connect while it scans or advertises: they go on by turns of \(InitiatingTurns.length)"
      turn.effects.append(.report(.controller, text, peer: nil))
    }
  }

  private func context(_ turn: RadioTurn) -> RadioContext {
    let isSearchWanted = initiator.requests.contains {
      turn.devices[$0.device]?.identityResolvingKey != nil && addresses.isSearchWanted(for: $0.device)
    }
    return RadioContext(
      controller: turn.controller, isPoweredOn: turn.isPoweredOn, isRestarting: turn.isRestarting,
      isExclusive: turn.isExclusive, isShuttingDown: turn.isShuttingDown,
      isHeld: addresses.isHolding, address: addresses.current, links: turn.links, now: turn.now,
      isInitiatingHeld: isInitiatingHeld, areOthersHeld: areOthersHeld, areOthersActive: areOthersActive,
      isInitiating: !initiator.isOff, isSearchWanted: isSearchWanted, trainScan: synchronizer.scan)
  }

  private mutating func advertise(
    _ turn: inout RadioTurn, _ body: (inout Advertiser, RadioContext, inout [Effect<AdvertiserEffect>]) -> Void
  ) {
    var effects: [Effect<AdvertiserEffect>] = []
    let context = context(turn)
    body(&advertiser, context, &effects)
    apply(effects, &turn) { radio, effect, turn in
      switch effect {
      case .activityChanged: radio.addresses.activityChanged()
      case .cannotCombine: radio.turns.refused()
      case .missing(let command): turn.missing = command
      }
    }
  }

  private mutating func scan(
    _ turn: inout RadioTurn, _ body: (inout Scanner, RadioContext, inout [Effect<ScannerEffect>]) -> Void
  ) {
    var effects: [Effect<ScannerEffect>] = []
    let context = context(turn)
    body(&scanner, context, &effects)
    apply(effects, &turn) { radio, effect, turn in
      switch effect {
      case .activityChanged: radio.addresses.activityChanged()
      case .cannotCombine: radio.turns.refused()
      case .missing(let command): turn.missing = command
      case .cannotFindTrains(let error): radio.synchronize(&turn) { $0.cannotScan(error, $1, into: &$2) }
      }
    }
  }

  private mutating func synchronize(
    _ turn: inout RadioTurn, _ body: (inout Synchronizer, RadioContext, inout [Effect<SynchronizerEffect>]) -> Void
  ) {
    var effects: [Effect<SynchronizerEffect>] = []
    let context = context(turn)
    body(&synchronizer, context, &effects)
    apply(effects, &turn) { radio, effect, turn in
      switch effect {
      case .activityChanged: radio.addresses.activityChanged()
      case .searchMayChange: radio.scan(&turn) { $0.reconcile($1, into: &$2) }
      case .missing(let command): turn.missing = command
      }
    }
  }

  private mutating func initiate(
    _ turn: inout RadioTurn, _ body: (inout Initiator, RadioContext, inout [Effect<InitiatorEffect>]) -> Void
  ) {
    var effects: [Effect<InitiatorEffect>] = []
    let context = context(turn)
    body(&initiator, context, &effects)
    apply(effects, &turn) { radio, effect, turn in
      switch effect {
      case .changed:
        radio.addresses.activityChanged()
        radio.reconcileInitiator(&turn)
      case .searchMayChange: radio.scan(&turn) { $0.reconcile($1, into: &$2) }
      case .activityChanged: radio.addresses.activityChanged()
      case .cannotCombine: radio.turns.refused()
      case .needsReset: turn.needsReset = true
      case .missing(let command): turn.missing = command
      }
    }
  }

  /// A bonded device is given to the controller by the fixed address that it uses, if any, by its identity where the
  /// controller resolves that, else by the address of its last advertisement. One whose link is ending waits for that:
  /// a controller refuses a second link to a device (Vol 4, Part E, 7.8.12).
  private mutating func reconcileInitiator(_ turn: inout RadioTurn) {
    chooseTurn(&turn)
    let targets: [DeviceAddress?] = initiator.devices.map { request in
      if turn.disconnecting.contains(request.device) { return nil }
      let last = addresses.resolves(request.device) ? nil : turn.devices.lastAddresses[request.device]
      return turn.devices[request.device]?.addressOnAir ?? last ?? request.device
    }
    initiate(&turn) { $0.reconcile($1, addresses: targets, into: &$2) }
  }

  private mutating func manageAddresses(
    _ turn: inout RadioTurn, _ body: (inout AddressManager, inout [Effect<AddressEffect>]) -> Void
  ) {
    var effects: [Effect<AddressEffect>] = []
    body(&addresses, &effects)
    apply(effects, &turn)
  }

  private mutating func apply(_ effects: [Effect<AddressEffect>], _ turn: inout RadioTurn) {
    apply(effects, &turn) { radio, effect, turn in
      switch effect {
      case .hold:
        radio.advertise(&turn) { $0.hold($1, into: &$2) }
        radio.scan(&turn) { $0.reconcile($1, into: &$2) }
        radio.synchronize(&turn) { $0.reconcile($1, into: &$2) }
        radio.reconcileInitiator(&turn)
        if radio.areAllOff { radio.changeAddress(&turn) }
      case .release:
        radio.advertise(&turn) { $0.release($1, into: &$2) }
        radio.scan(&turn) { $0.reconcile($1, into: &$2) }
        radio.synchronize(&turn) { $0.reconcile($1, into: &$2) }
        radio.reconcileInitiator(&turn)
      }
    }
  }

  /// Whether the controller does nothing during which it takes no other address or resolving list.
  private var areAllOff: Bool { advertiser.isOff && scanner.isOff && initiator.isOff && synchronizer.isOff }

  private mutating func changeAddress(_ turn: inout RadioTurn) {
    var effects: [Effect<AddressEffect>] = []
    let (devices, context, now) = (turn.devices, context(turn), turn.now)
    addresses.begin(devices, context, now: now, random: &turn.random, into: &effects)
    apply(effects, &turn)
  }

  /// Applies the own effects of a part, and passes the others on.
  private mutating func apply<Own>(
    _ effects: [Effect<Own>], _ turn: inout RadioTurn, _ perform: (inout Radio, Own, inout RadioTurn) -> Void
  ) {
    for effect in effects {
      switch effect {
      case .command(let command, let purpose): turn.effects.append(.command(command, for: purpose))
      case .event(let event, let recipient): turn.effects.append(.event(event, to: recipient))
      case .kernel(let directive): turn.effects.append(.kernel(directive))
      case .report(let origin, let text, let peer): turn.effects.append(.report(origin, text, peer: peer))
      case .own(let own): perform(&self, own, &turn)
      }
    }
  }
}
