import BLEHCI
import BLEWire

/// An effect of the advertiser.
enum AdvertiserEffect: Equatable, Sendable {
  /// The controller has started or stopped sending an advertisement.
  case activityChanged
  /// The controller has refused to advertise while it connects.
  case cannotCombine
  /// The controller lacks a command that it reports.
  case missing(MissingCommand)
}

/// The advertisements of the owners. An advertisement stays declared through links and resets of the controller until
/// its owner stops it.
///
/// The declarations are compared with what the controller has confirmed whenever a link ends or fails, and after a
/// refusal by a timer (``Retry``). An owner is told when its advertisement is paused, goes on, or is given up.
struct Advertiser: Sendable {
  private let maximum: Int
  private var advertisements: [DeclaredAdvertisement] = []
  /// When LE Advertising Set Terminated should have said which advertisement a link has ended.
  private var terminationDeadline: Instant?

  /// How long LE Advertising Set Terminated may take after the link that it belongs to.
  static let terminationTime = Duration.seconds(1)

  init(maximum: Int) { self.maximum = maximum }

  /// When ``tick(_:into:)`` has work.
  var deadline: Instant? {
    advertisements.isEmpty
      ? terminationDeadline : advertisements.reduce(terminationDeadline) { .nearer($0, $1.retry.due) }
  }
  /// Whether a central may have connected to an advertisement.
  var mayHaveLink: Bool { advertisements.contains { $0.mayBeOnAir && $0.intent.isConnectable } }

  /// Whether a connectable advertisement is declared.
  var isConnectableWanted: Bool { advertisements.contains { $0.intent.isConnectable && !$0.isStopping } }
  /// Whether the controller sends a connectable advertisement, or is about to.
  var isConnectableActive: Bool { advertisements.contains { $0.isActive && $0.intent.isConnectable } }

  /// Whether the controller sends no advertisement, and no command that makes it send one is pending.
  var isOff: Bool { !advertisements.contains(where: { $0.isActive }) }

  mutating func start(
    _ id: AdvertisingID, _ intent: AdvertisingIntent, for owner: OwnerID, _ radio: RadioContext,
    into effects: inout [Effect<AdvertiserEffect>]
  ) {
    if let error = rejection(of: id, intent, radio) {
      return effects.append(.event(.advertising(id, .started(.failure(error))), to: owner.recipient))
    }
    let used = Set(advertisements.map { $0.set })
    let set = (0...UInt8.max).first { !used.contains($0) } ?? 0
    advertisements.append(DeclaredAdvertisement(id: id, owner: owner, intent: intent, set: set))
    guard radio.isPoweredOn else { return }
    take(.parameters, advertisements.count - 1, radio, into: &effects)
  }

  private func rejection(of id: AdvertisingID, _ intent: AdvertisingIntent, _ radio: RadioContext) -> HostError? {
    guard radio.acceptsRequests else { return .notPoweredOn }
    guard !advertisements.contains(where: { $0.id == id }) else {
      return .invalidParameters("the advertisement \(id.rawValue) has already been started: stop it first")
    }
    let limit = limit(radio.controller)
    guard advertisements.count < limit else { return .tooMany("advertisements with this controller", limit: limit) }
    return intent.rejection(radio.controller)
  }

  private func limit(_ controller: ControllerCapabilities) -> Int {
    controller.usesExtendedCommands ? min(max(1, controller.advertisingSets), maximum) : 1
  }

  mutating func stop(
    _ id: AdvertisingID, of owner: OwnerID, _ radio: RadioContext, into effects: inout [Effect<AdvertiserEffect>]
  ) {
    guard let index = advertisements.firstIndex(where: { $0.id == id && $0.owner == owner && !$0.isStopping })
    else { return }
    answerUpdates(index, .failure(.cancelled), into: &effects)
    if !advertisements[index].isAnnounced {
      // Each start has an answer, also one that is withdrawn before.
      effects.append(.event(.advertising(id, .started(.failure(.cancelled))), to: owner.recipient))
    }
    stop(index, radio, into: &effects)
  }

  /// Stops the advertisements of an owner, or all.
  mutating func stopAll(
    of owner: OwnerID? = nil, _ radio: RadioContext, into effects: inout [Effect<AdvertiserEffect>]
  ) {
    for advertisement in advertisements where owner ?? advertisement.owner == advertisement.owner {
      stop(advertisement.id, of: advertisement.owner, radio, into: &effects)
    }
  }

  private mutating func stop(_ index: Int, _ radio: RadioContext, into effects: inout [Effect<AdvertiserEffect>]) {
    switch advertisements[index].phase {
    case .configuring: advertisements[index].isStopping = true
    case .advertising:
      advertisements[index].isStopping = true
      take(.disable, index, radio, into: &effects)
    case .resting where radio.controller.usesExtendedCommands, .held where radio.controller.usesExtendedCommands:
      takeDown(index, radio, into: &effects)
    // The controller has refused a step, and may have the set and the train.
    case .suspended where advertisements[index].hasTrain && radio.isPoweredOn:
      takeDown(index, radio, into: &effects)
    case .resting, .held, .suspended: advertisements.remove(at: index)
    }
  }

  /// Sends commands again that the controller has refused, and takes advertisements for ended of which it has not
  /// reported that.
  mutating func tick(_ radio: RadioContext, into effects: inout [Effect<AdvertiserEffect>]) {
    if let due = terminationDeadline, due <= radio.now {
      terminationDeadline = nil
      terminationMissed(radio, into: &effects)
    }
    for index in advertisements.indices where advertisements[index].retry.due.map({ $0 <= radio.now }) ?? false {
      advertisements[index].retry.begin()
      if advertisements[index].phase == .resting { enable(index, radio, into: &effects) }
      if advertisements[index].phase == .suspended { take(.parameters, index, radio, into: &effects) }
    }
  }

  /// The controller lost its state. The advertisements stay declared.
  mutating func suspend() {
    terminationDeadline = nil
    advertisements.removeAll(where: { $0.isStopping })
    for index in advertisements.indices { advertisements[index].suspend() }
  }

  /// The controller is up again.
  mutating func restore(_ radio: RadioContext, into effects: inout [Effect<AdvertiserEffect>]) {
    giveUpImpossible(radio, into: &effects)
    for index in advertisements.indices where advertisements[index].phase == .suspended {
      take(.parameters, index, radio, into: &effects)
    }
  }
}

/// The commands, one after the other.
extension Advertiser {
  mutating func stepCompleted(
    _ id: AdvertisingID, _ step: DeclaredAdvertisement.Step, _ opcode: HCIOpcode, _ status: HCIErrorCode,
    _ radio: RadioContext, into effects: inout [Effect<AdvertiserEffect>]
  ) {
    guard let index = advertisements.firstIndex(where: { $0.id == id }),
      advertisements[index].phase == .configuring(step)
    else { return }
    effects.append(.own(.activityChanged))
    let isExtended = radio.controller.usesExtendedCommands
    if status != .success, step != .remove, step != .disable, step != .hold, step != .takeOver {
      advertisements[index].wasTaken = false
    }
    if step == .remove || (step == .disable && !isExtended) {
      advertisements.remove(at: index)
      return
    }
    if step == .disable {
      advertisements[index].isSetOn = false
      return takeDown(index, radio, into: &effects)
    }
    if step == .trainDisable { return trainDisabled(index, radio, into: &effects) }
    if step == .hold { return held(index, radio, into: &effects) }
    if step == .takeOver { return take(.parameters, index, radio, into: &effects) }
    if step == .parameters, status == .commandDisallowed, !advertisements[index].hasTakenOver {
      return takeOver(index, radio, into: &effects)
    }
    if isExtended, radio.isExclusive, !advertisements[index].isStopping,
      let missing = MissingCommand(opcode, status, hasLegacy: !advertisements[index].intent.usesExtendedPDUs)
    {
      effects.append(.own(.missing(missing)))
      return refusedForNow(index, step, .controller(opcode, status), status, radio, into: &effects)
    }
    if status != .success {
      return failed(index, step, .controller(opcode, status), status, radio, into: &effects)
    }
    if step == .enable { advertisements[index].isSetOn = true }
    if step == .trainParameters { advertisements[index].hasTrain = true }
    if step == .trainEnable { advertisements[index].isTrainOn = true }
    if advertisements[index].isStopping { return takeDown(index, radio, into: &effects) }
    switch step {
    case .parameters:
      let needsAddress = isExtended && advertisements[index].address?.kind == .random
      take(needsAddress ? .randomAddress : .data, index, radio, into: &effects)
    case .randomAddress: take(.data, index, radio, into: &effects)
    case .data, .scanResponse:
      if isExtended, advertisements[index].fragmentAccepted(step) {
        send(step, index, radio, into: &effects)
      } else if step == .data {
        take(.scanResponse, index, radio, into: &effects)
      } else if advertisements[index].intent.periodic != nil, !advertisements[index].isTrainOn {
        take(.trainParameters, index, radio, into: &effects)
      } else {
        enable(index, radio, into: &effects)
      }
    case .trainParameters: takeTrainData(index, radio, into: &effects)
    case .trainData:
      if advertisements[index].fragmentAccepted(step) {
        send(step, index, radio, into: &effects)
      } else if advertisements[index].isTrainOn {
        trainConfigured(index, radio, into: &effects)
      } else {
        take(.trainEnable, index, radio, into: &effects)
      }
    case .trainEnable: trainConfigured(index, radio, into: &effects)
    case .enable:
      enabled(index, into: &effects)
      if advertisements[index].isTrainOutdated { return takeTrainUpdate(index, radio, into: &effects) }
      // A central has connected before this answer arrived.
      guard advertisements[index].wasTaken else { return }
      advertisements[index].wasTaken = false
      taken(index, radio, into: &effects)
    case .takeOver, .hold, .disable, .remove, .trainDisable: break
    }
  }

  /// Disables what the controller has enabled, the set before its train, and then removes the set.
  private mutating func takeDown(_ index: Int, _ radio: RadioContext, into effects: inout [Effect<AdvertiserEffect>]) {
    let (isSetOn, isTrainOn) = (advertisements[index].isSetOn, advertisements[index].isTrainOn)
    // One that is taken down is stopped: the steps of an update do not follow.
    advertisements[index].isStopping = true
    take(isSetOn ? .disable : isTrainOn ? .trainDisable : .remove, index, radio, into: &effects)
  }

  /// The controller rejects parameters while it advertises (Vol 4, Part E, 7.8.5 and 7.8.53). This host has not enabled
  /// that advertisement: another program did, and has usually ended without disabling it.
  private mutating func takeOver(
    _ index: Int, _ radio: RadioContext, into effects: inout [Effect<AdvertiserEffect>]
  ) {
    effects.append(
      .report(
        .controller,
        "the controller was sending an advertisement of another program: it is disabled, and replaced by this one",
        peer: nil))
    advertisements[index].hasTakenOver = true
    take(.takeOver, index, radio, into: &effects)
  }

  private mutating func enabled(_ index: Int, into effects: inout [Effect<AdvertiserEffect>]) {
    let (id, recipient) = (advertisements[index].id, advertisements[index].owner.recipient)
    let wasPaused = advertisements[index].isPaused
    advertisements[index].phase = .advertising
    advertisements[index].isPaused = false
    advertisements[index].retry.accepted()
    if advertisements[index].wasHeld {
      advertisements[index].wasHeld = false
    } else if advertisements[index].isAnnounced {
      if wasPaused { effects.append(.event(.advertising(id, .resumed), to: recipient)) }
    } else {
      advertisements[index].isAnnounced = true
      effects.append(.event(.advertising(id, .started(.success(()))), to: recipient))
    }
  }

  private mutating func failed(
    _ index: Int, _ step: DeclaredAdvertisement.Step, _ error: HostError, _ status: HCIErrorCode, _ radio: RadioContext,
    into effects: inout [Effect<AdvertiserEffect>]
  ) {
    // The controller cannot advertise now: beside the links that are up, or in the state that it is in.
    if step == .trainData, advertisements[index].isTrainOn, !advertisements[index].isStopping {
      // The train goes on with the data that it has.
      answerUpdates(index, .failure(error), into: &effects)
      return settle(index, radio, into: &effects)
    }
    let isExplained = radio.hasLinks || radio.isInitiating || advertisements[index].isAnnounced
    if status.mayPass || (step == .enable && radio.hasLinks), !advertisements[index].isStopping,
      !advertisements[index].isSetOn,
      isExplained || advertisements[index].retry.count < Retry.attempts
    {
      return refusedForNow(index, step, error, status, radio, into: &effects)
    }
    guard advertisements[index].hasTrain else { return giveUp(index, error, into: &effects) }
    // The set cannot be used for another advertisement until its train is removed.
    var abandoned = advertisements[index]
    (abandoned.phase, abandoned.isStopping) = (.suspended, true)
    giveUp(index, error, into: &effects)
    advertisements.append(abandoned)
    takeDown(advertisements.count - 1, radio, into: &effects)
  }

  /// The controller does not answer a command of an advertisement.
  mutating func timedOut(
    _ id: AdvertisingID, _ opcode: HCIOpcode, _ radio: RadioContext, into effects: inout [Effect<AdvertiserEffect>]
  ) {
    guard let index = advertisements.firstIndex(where: { $0.id == id }) else { return }
    giveUp(index, .commandTimedOut(opcode), into: &effects)
  }

  /// Ends what a controller that has turned out to lack a command cannot send.
  private mutating func giveUpImpossible(_ radio: RadioContext, into effects: inout [Effect<AdvertiserEffect>]) {
    let limit = limit(radio.controller)
    for index in advertisements.indices.reversed() {
      let excess = HostError.tooMany("advertisements with this controller", limit: limit)
      let error = advertisements[index].intent.rejection(radio.controller) ?? (index < limit ? nil : excess)
      if let error { giveUp(index, error, into: &effects) }
    }
  }

  private mutating func giveUp(_ index: Int, _ error: HostError, into effects: inout [Effect<AdvertiserEffect>]) {
    let advertisement = advertisements.remove(at: index)
    // Its owner has stopped it.
    guard !advertisement.isStopping else { return }
    effects += advertisement.updateAnswers(.failure(error))
    let event: HostEvent =
      advertisement.isAnnounced
      ? .advertising(advertisement.id, .ended(error)) : .advertising(advertisement.id, .started(.failure(error)))
    effects.append(.event(event, to: advertisement.owner.recipient))
  }

  /// The advertisement waits until a link ends or its time has come.
  private mutating func refusedForNow(
    _ index: Int, _ step: DeclaredAdvertisement.Step, _ error: HostError, _ status: HCIErrorCode, _ radio: RadioContext,
    into effects: inout [Effect<AdvertiserEffect>]
  ) {
    advertisements[index].phase = step == .enable ? .resting : .suspended
    advertisements[index].wasHeld = false
    advertisements[index].retry.refused(now: radio.now)
    if status == .commandDisallowed, radio.isInitiating { effects.append(.own(.cannotCombine)) }
    guard radio.hasLinks || advertisements[index].isAnnounced, !advertisements[index].isPaused else { return }
    effects.append(.report(.controller, "\(error): advertising is paused, and tried again", peer: nil))
    pause(index, status, into: &effects)
  }

  /// Tells the owner, once, that an advertisement is off and goes on by itself.
  private mutating func pause(
    _ index: Int, _ status: HCIErrorCode?, into effects: inout [Effect<AdvertiserEffect>]
  ) {
    guard !advertisements[index].isPaused else { return }
    let (id, recipient) = (advertisements[index].id, advertisements[index].owner.recipient)
    advertisements[index].isPaused = true
    if !advertisements[index].isAnnounced {
      advertisements[index].isAnnounced = true
      effects.append(.event(.advertising(id, .started(.success(()))), to: recipient))
    }
    effects.append(.event(.advertising(id, .paused(status)), to: recipient))
  }

  /// Enables a configured advertisement. It is configured again if our address has changed.
  private mutating func enable(_ index: Int, _ radio: RadioContext, into effects: inout [Effect<AdvertiserEffect>]) {
    let isConnectable = advertisements[index].intent.isConnectable
    if isHeld(index, radio) {
      advertisements[index].phase = .held
    } else if isConnectable, !radio.mayAdvertiseBesideLinks {
      advertisements[index].phase = .resting
      pause(index, nil, into: &effects)
    } else {
      let isCurrent = advertisements[index].address == radio.address
      take(isCurrent ? .enable : .parameters, index, radio, into: &effects)
    }
  }

  private mutating func take(
    _ step: DeclaredAdvertisement.Step, _ index: Int, _ radio: RadioContext,
    into effects: inout [Effect<AdvertiserEffect>]
  ) {
    advertisements[index].begin(step)
    if step == .parameters { advertisements[index].address = radio.address }
    send(step, index, radio, into: &effects)
  }

  private func send(
    _ step: DeclaredAdvertisement.Step, _ index: Int, _ radio: RadioContext,
    into effects: inout [Effect<AdvertiserEffect>]
  ) {
    let advertisement = advertisements[index]
    effects.append(
      .command(advertisement.command(for: step, radio), for: .radio(.advertising(advertisement.id, step))))
  }
}

/// Periodic advertising.
extension Advertiser {
  /// The set of an advertisement of an owner whose train is on.
  func trainSet(of id: AdvertisingID, of owner: OwnerID) -> UInt8? {
    advertisements.first { $0.id == id && $0.owner == owner && $0.isTrainOn && !$0.isStopping }?.set
  }

  /// Changes the data of a train. The newest data is sent where more changes come than the controller takes.
  mutating func updateTrain(
    _ id: AdvertisingID, _ data: [UInt8], _ token: UpdateToken, of owner: OwnerID, _ radio: RadioContext,
    into effects: inout [Effect<AdvertiserEffect>]
  ) {
    let index = advertisements.firstIndex {
      $0.id == id && $0.owner == owner && $0.intent.periodic != nil && !$0.isStopping
    }
    guard let index else {
      let error = HostError.invalidParameters("the advertisement has no periodic advertising, or has ended")
      return effects.append(.event(.advertising(id, .trainUpdated(token, .failure(error))), to: owner.recipient))
    }
    if let error = PeriodicIntent.rejection(of: data, radio.controller), radio.isPoweredOn {
      return effects.append(.event(.advertising(id, .trainUpdated(token, .failure(error))), to: owner.recipient))
    }
    advertisements[index].setTrainData(data, token)
    switch advertisements[index].phase {
    case .advertising, .resting, .held: takeTrainUpdate(index, radio, into: &effects)
    // The data follows what is pending.
    case .configuring, .suspended: break
    }
  }

  private mutating func takeTrainUpdate(
    _ index: Int, _ radio: RadioContext, into effects: inout [Effect<AdvertiserEffect>]
  ) {
    if advertisements[index].isTrainOn, !advertisements[index].isTrainDataShort {
      take(.trainDisable, index, radio, into: &effects)
    } else {
      takeTrainData(index, radio, into: &effects)
    }
  }

  private mutating func takeTrainData(
    _ index: Int, _ radio: RadioContext, into effects: inout [Effect<AdvertiserEffect>]
  ) {
    advertisements[index].beginTrainData()
    take(.trainData, index, radio, into: &effects)
  }

  private mutating func trainDisabled(
    _ index: Int, _ radio: RadioContext, into effects: inout [Effect<AdvertiserEffect>]
  ) {
    advertisements[index].isTrainOn = false
    if advertisements[index].isStopping {
      takeDown(index, radio, into: &effects)
    } else {
      takeTrainData(index, radio, into: &effects)
    }
  }

  /// The controller sends the train, with the data that it was given.
  private mutating func trainConfigured(
    _ index: Int, _ radio: RadioContext, into effects: inout [Effect<AdvertiserEffect>]
  ) {
    if advertisements[index].isTrainOutdated { return takeTrainUpdate(index, radio, into: &effects) }
    answerUpdates(index, .success(()), into: &effects)
    settle(index, radio, into: &effects)
  }

  /// After an update of the train the set is what it was before.
  private mutating func settle(_ index: Int, _ radio: RadioContext, into effects: inout [Effect<AdvertiserEffect>]) {
    guard advertisements[index].isSetOn else { return enable(index, radio, into: &effects) }
    advertisements[index].phase = .advertising
    if isHeld(index, radio) { take(.hold, index, radio, into: &effects) }
  }

  private mutating func answerUpdates(
    _ index: Int, _ result: Result<Void, HostError>, into effects: inout [Effect<AdvertiserEffect>]
  ) {
    effects += advertisements[index].updateAnswers(result)
    advertisements[index].unansweredUpdates = []
  }
}

/// Links, which end an advertisement or let it continue.
extension Advertiser {
  /// A central connected: the controller has disabled the advertisement that it answered (Vol 6, Part B, 4.4.2).
  ///
  /// With extended commands ``setTerminated(_:_:into:)`` says which one.
  mutating func linkAdded(_ radio: RadioContext, into effects: inout [Effect<AdvertiserEffect>]) {
    guard mayHaveLink else { return }
    guard !radio.controller.usesExtendedCommands else {
      return terminationDeadline = terminationDeadline ?? radio.now + Self.terminationTime
    }
    guard let index = advertisements.firstIndex(where: { $0.mayBeOnAir && $0.intent.isConnectable }) else { return }
    taken(index, radio, into: &effects)
  }

  mutating func setTerminated(
    _ set: UInt8, _ radio: RadioContext, into effects: inout [Effect<AdvertiserEffect>]
  ) {
    terminationDeadline = nil
    guard let index = advertisements.firstIndex(where: { $0.set == set && $0.mayBeOnAir }) else { return }
    taken(index, radio, into: &effects)
  }

  /// A central tried to connect, and no link came up. A legacy advertisement has ended with that (Vol 6, Part B,
  /// 4.4.2); of an extended one the controller says so.
  mutating func connectionFailed(_ radio: RadioContext, into effects: inout [Effect<AdvertiserEffect>]) {
    guard mayHaveLink else { return }
    guard !radio.controller.usesExtendedCommands else {
      return terminationDeadline = terminationDeadline ?? radio.now + Self.terminationTime
    }
    guard let index = advertisements.firstIndex(where: { $0.mayBeOnAir && $0.intent.isConnectable }) else { return }
    if case .configuring = advertisements[index].phase { return advertisements[index].wasTaken = true }
    advertisements[index].phase = .resting
    enable(index, radio, into: &effects)
  }

  /// The controller has not said which advertisement a link has ended. One that is on can be enabled once more (Vol 4,
  /// Part E, 7.8.56).
  private mutating func terminationMissed(_ radio: RadioContext, into effects: inout [Effect<AdvertiserEffect>]) {
    let candidates = advertisements.indices.filter {
      advertisements[$0].isOnAir && advertisements[$0].intent.isConnectable
    }
    if !candidates.isEmpty {
      let text = "it does not report which advertisement a link has ended: connectable ones are enabled again"
      effects.append(.report(.controller, text, peer: nil))
    }
    for index in candidates.reversed() {
      if candidates.count == 1, radio.hasLinks { return taken(index, radio, into: &effects) }
      if advertisements[index].phase == .advertising { enable(index, radio, into: &effects) }
    }
  }

  /// A link ended an advertisement.
  private mutating func taken(_ index: Int, _ radio: RadioContext, into effects: inout [Effect<AdvertiserEffect>]) {
    switch advertisements[index].phase {
    case .configuring(.hold), .configuring(.enable): return advertisements[index].wasTaken = true
    case .configuring, .advertising, .resting, .held, .suspended: break
    }
    (advertisements[index].phase, advertisements[index].isSetOn) = (.resting, false)
    effects.append(.own(.activityChanged))
    let advertisement = advertisements[index]
    // Without a link there is nothing to wait for: it did not come up, or has ended.
    let isFree = !radio.hasLinks && advertisement.intent.resumesAfterDisconnection
    if advertisement.intent.continuesWhileConnected || isFree { return enable(index, radio, into: &effects) }
    advertisements[index].isPaused = true
    effects.append(.event(.advertising(advertisement.id, .paused(nil)), to: advertisement.owner.recipient))
    if !advertisement.intent.resumesAfterDisconnection {
      advertisements[index].phase = .suspended
      stop(index, radio, into: &effects)
    }
  }

  /// A link ended: the advertisements that were paused for it are enabled.
  mutating func linkEnded(_ radio: RadioContext, into effects: inout [Effect<AdvertiserEffect>]) {
    guard radio.acceptsRequests else { return }
    for index in advertisements.indices where advertisements[index].phase == .resting {
      enable(index, radio, into: &effects)
    }
  }
}

/// Pauses during which an address or the resolving list is changed, or the controller connects and cannot do both.
/// Owners do not notice them.
extension Advertiser {
  /// Disables what is enabled and not allowed now, until ``release(_:into:)``.
  mutating func hold(_ radio: RadioContext, into effects: inout [Effect<AdvertiserEffect>]) {
    for index in advertisements.indices where advertisements[index].phase == .advertising && isHeld(index, radio) {
      take(.hold, index, radio, into: &effects)
    }
  }

  private func isHeld(_ index: Int, _ radio: RadioContext) -> Bool {
    radio.isHeld || (radio.areOthersHeld && advertisements[index].intent.isConnectable)
  }

  private mutating func held(_ index: Int, _ radio: RadioContext, into effects: inout [Effect<AdvertiserEffect>]) {
    let wasTaken = advertisements[index].wasTaken
    advertisements[index].wasTaken = false
    (advertisements[index].phase, advertisements[index].isSetOn) = (.held, false)
    if advertisements[index].isStopping {
      stop(index, radio, into: &effects)
    } else if wasTaken {
      taken(index, radio, into: &effects)
    } else {
      advertisements[index].wasHeld = true
      if advertisements[index].isTrainOutdated { takeTrainUpdate(index, radio, into: &effects) }
    }
  }

  mutating func release(_ radio: RadioContext, into effects: inout [Effect<AdvertiserEffect>]) {
    for index in advertisements.indices where advertisements[index].phase == .held && !isHeld(index, radio) {
      enable(index, radio, into: &effects)
    }
  }
}
