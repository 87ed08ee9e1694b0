import BLEHCI
import BLEWire

/// The trains that owners want to receive, and the state of the controller's search for them.
///
/// A controller searches by one command at a time, and only while it scans (Vol 4, Part E, 7.8.67). One train is given
/// to it by address; several go through its periodic advertiser list, as far as they are received in the same way.
///
/// ```
///   off ─► (clear list ─► add … ) ─► create ─► waiting ─── established, or cancelled ───► off ─► next train
///    ▲                                 │                                                         ▲
///    └── Retry ── refused for now ◄────┘                received ─── lost ─── search again ──────┘
/// ```
///
/// A request lasts until its owner stops it or the controller cannot serve it. Owners that want the same train share
/// it, in the way of the first one.
struct Synchronizer: Sendable {
  enum Step: Equatable, Sendable {
    case clear, add(Int), create, cancel
    /// These need no answer of another step.
    case terminate(UInt16), unfilter(UInt16), expect(LinkID)
  }
  enum Phase: Equatable, Sendable { case off, working(Step), waiting, cancelling }

  /// What the controller is told to search for.
  struct Target: Equatable, Sendable {
    let train: TrainID
    let parameters: SyncParameters
    /// Whether each owner wants no duplicates.
    var isFiltered: Bool
  }

  private let maximumRequests: Int
  private(set) var requests: [SyncRequest] = []
  private var trains: [ReceivedTrain] = []
  private var phase = Phase.off
  /// The targets that the controller was given.
  private var applied: [Target] = []
  /// The event that ends a cancelled search came before the answer to the command.
  private var hasEnded = false
  /// When the event that ends a cancelled search is not waited for any longer.
  private var cancelDeadline: Instant?
  private var retry = Retry()
  /// How many trains the controller has been seen to search for at once.
  private var capacity = Int.max
  /// Where not all trains can be searched for at once: the first one of this turn, and when the turn ends.
  private var turn = (first: 0, end: Instant?.none)

  /// How long the controller may take to report the end of a search that it was told to cancel.
  static let cancelTime = Duration.seconds(2)
  /// How long a turn takes.
  static let turnLength = Duration.seconds(5)

  init(maximumRequests: Int) { self.maximumRequests = maximumRequests }

  /// Whether the controller does not search, and no command that makes it search is pending.
  var isOff: Bool { phase == .off }
  /// The scan that finds the trains that are wanted; nil where none is searched for.
  var scan: ScanParameters? {
    let phys = requests.lazy.filter { $0.isSearching }.map { $0.parameters.phys }
    guard var all = phys.first else { return nil }
    for other in phys { all.formUnion(other) }
    var parameters = ScanParameters()
    (parameters.isActive, parameters.phys) = (false, all)
    if all.phys.count == 1 { parameters.window = parameters.interval }
    return parameters
  }
  /// The links whose devices are expected to transfer a synchronization.
  var expectedLinks: [LinkID] { requests.compactMap { $0.expectedLink } }

  /// When ``tick(_:into:)`` has work.
  var deadline: Instant? {
    guard !requests.isEmpty else { return cancelDeadline }
    let search = Instant?.nearer(.nearer(cancelDeadline, retry.due), turn.end)
    return trains.reduce(search) { .nearer($0, .nearer($1.overdue, $1.assembler.deadline)) }
  }

  /// The sync handle of a train that an owner receives.
  func handle(of id: SyncID, of owner: OwnerID) -> UInt16? {
    guard let request = requests.first(where: { $0.id == id && $0.owner == owner }),
      case .synchronized(let handle) = request.state
    else { return nil }
    return handle
  }
}

/// Requests of owners.
extension Synchronizer {
  /// - Parameter link: the handle of the link where the source is a transfer; nil if there is no such link.
  mutating func start(
    _ id: SyncID, _ source: SyncSource, on link: ConnectionHandle?, _ parameters: SyncParameters, for owner: OwnerID,
    _ radio: RadioContext, into effects: inout [Effect<SynchronizerEffect>]
  ) {
    var request = SyncRequest(id: id, owner: owner, parameters: parameters, state: .searching)
    if let error = rejection(of: request, from: source, on: link, radio) {
      return effects.append(request.event(.ended(error)))
    }
    switch (source, link) {
    case (.transfer(let peer), let link?):
      let isFirst = !expectedLinks.contains(peer)
      request.state = .expecting(peer, link)
      requests.append(request)
      if isFirst { expect(true, peer, link, parameters, radio, into: &effects) }
    case (.transfer, nil): break
    case (.train(let train), _):
      request.train = train
      requests.append(request)
      if let index = trains.firstIndex(where: { $0.contents.train == train }) {
        join(index, requests.count - 1, into: &effects)
      } else {
        effects.append(.own(.searchMayChange))
        reconcile(radio, into: &effects)
      }
    }
  }

  private func rejection(
    of request: SyncRequest, from source: SyncSource, on link: ConnectionHandle?, _ radio: RadioContext
  ) -> HostError? {
    guard radio.acceptsRequests else { return .notPoweredOn }
    guard radio.isExclusive else {
      return .disabled(
        "the kernel runs the adapter, and reports no periodic advertising: take the adapter with hci-socket:N")
    }
    guard !requests.contains(where: { $0.id == request.id }) else {
      return .invalidParameters("the synchronization \(request.id.rawValue) has already been started: stop it first")
    }
    guard requests.count < maximumRequests else { return .tooMany("synchronizations", limit: maximumRequests) }
    if let error = request.parameters.rejection(radio.controller) { return error }
    switch source {
    case .transfer where link == nil: return .notConnected
    case .transfer: return radio.controller.receivesTransfers ? nil : .unsupported("periodic advertising sync transfer")
    case .train(let train):
      guard train.advertisingSet <= 0x0F else {
        return .invalidParameters("an advertising set has a number of 0 to 15")
      }
      return radio.controller.receivesPeriodicAdvertising
        ? nil : .unsupported("synchronization with periodic advertising")
    }
  }

  /// Lets an owner receive a train that another one receives already.
  private mutating func join(_ train: Int, _ index: Int, into effects: inout [Effect<SynchronizerEffect>]) {
    let handle = trains[train].handle
    requests[index].state = .synchronized(handle)
    requests[index].wasSynchronized = true
    effects.append(requests[index].event(.synchronized(trains[train].contents)))
    if let report = trains[train].lastReport { effects.append(requests[index].event(.report(report))) }
    unfilterIfDue(train, into: &effects)
  }

  /// Switches the filter of the controller off for a train of which an owner wants each report.
  private mutating func unfilterIfDue(_ index: Int, into effects: inout [Effect<SynchronizerEffect>]) {
    let handle = trains[index].handle
    let isFilterWanted = !requests.contains {
      $0.state == .synchronized(handle) && !$0.parameters.filtersDuplicates
    }
    guard trains[index].isFiltered, !isFilterWanted else { return }
    trains[index].isFiltered = false
    let command = HCI.LESetPeriodicAdvertisingReceiveEnable { ($0.syncHandle, $0.enable) = (handle, 1) }
    effects.append(.command(command, for: .radio(.synchronizing(.unfilter(handle)))))
  }

  mutating func stop(
    _ id: SyncID, of owner: OwnerID, _ radio: RadioContext, into effects: inout [Effect<SynchronizerEffect>]
  ) {
    guard let index = requests.firstIndex(where: { $0.id == id && $0.owner == owner }) else { return }
    remove(index, radio, into: &effects)
    reconcile(radio, into: &effects)
    effects.append(.own(.searchMayChange))
  }

  mutating func stopAll(
    of owner: OwnerID? = nil, _ radio: RadioContext, into effects: inout [Effect<SynchronizerEffect>]
  ) {
    for request in requests where owner ?? request.owner == request.owner {
      stop(request.id, of: request.owner, radio, into: &effects)
    }
  }

  private mutating func remove(
    _ index: Int, _ radio: RadioContext, into effects: inout [Effect<SynchronizerEffect>]
  ) {
    let request = requests.remove(at: index)
    switch request.state {
    case .searching: break
    case .expecting(let peer, let link):
      if !expectedLinks.contains(peer) { expect(false, peer, link, request.parameters, radio, into: &effects) }
    case .synchronized(let handle):
      guard !requests.contains(where: { $0.state == request.state }) else { break }
      trains.removeAll { $0.handle == handle }
      terminate(handle, radio, into: &effects)
    }
  }

  private func terminate(
    _ handle: UInt16, _ radio: RadioContext, into effects: inout [Effect<SynchronizerEffect>]
  ) {
    guard radio.isPoweredOn else { return }
    let command = HCI.LEPeriodicAdvertisingTerminateSync { $0.syncHandle = handle }
    effects.append(.command(command, for: .radio(.synchronizing(.terminate(handle)))))
  }

  /// Tells the controller whether to take the synchronization that the device of a link transfers.
  private func expect(
    _ isExpected: Bool, _ peer: LinkID, _ link: ConnectionHandle, _ parameters: SyncParameters, _ radio: RadioContext,
    into effects: inout [Effect<SynchronizerEffect>]
  ) {
    guard radio.isPoweredOn else { return }
    let command = HCI.LESetPeriodicAdvertisingSyncTransferParameters {
      $0.connectionHandle = link
      // With reports, and all of them: owners that join later may want each one.
      $0.mode = isExpected ? 2 : 0
      ($0.skip, $0.syncTimeout) = (parameters.skip, parameters.timeout)
    }
    effects.append(.command(command, for: .radio(.synchronizing(.expect(peer)))))
  }

  /// Ends requests that meet a condition.
  private mutating func end(
    _ error: HostError, into effects: inout [Effect<SynchronizerEffect>], where isConcerned: (SyncRequest) -> Bool
  ) {
    effects += requests.filter(isConcerned).map { $0.event(.ended(error)) }
    requests.removeAll(where: isConcerned)
  }

  /// A link has ended: no transfer comes from its device.
  mutating func linkEnded(_ peer: LinkID, into effects: inout [Effect<SynchronizerEffect>]) {
    end(.notConnected, into: &effects) { $0.expectedLink == peer }
  }
}

/// The controller.
extension Synchronizer {
  /// The controller lost its state: trains and links are lost; the requests stay.
  mutating func suspend(into effects: inout [Effect<SynchronizerEffect>]) {
    endSearch()
    (trains, capacity, turn) = ([], .max, (0, nil))
    retry.accepted()
    end(.notConnected, into: &effects) { $0.expectedLink != nil }
    for index in requests.indices where !requests[index].isSearching {
      requests[index].state = .searching
      effects.append(requests[index].event(.lost))
    }
  }

  /// The controller is up again. One that has turned out to lack a command does not perform each request.
  mutating func restore(_ radio: RadioContext, into effects: inout [Effect<SynchronizerEffect>]) {
    if !radio.controller.receivesPeriodicAdvertising {
      end(.unsupported("synchronization with periodic advertising"), into: &effects) { _ in true }
    }
    reconcile(radio, into: &effects)
  }

  /// The controller does not answer a command.
  mutating func timedOut(_ step: Step, _ opcode: HCIOpcode, into effects: inout [Effect<SynchronizerEffect>]) {
    switch step {
    case .expect(let peer): end(.commandTimedOut(opcode), into: &effects) { $0.expectedLink == peer }
    case .terminate, .unfilter: break
    case .clear, .add, .create, .cancel: end(.commandTimedOut(opcode), into: &effects, where: { $0.isSearching })
    }
  }

  /// The controller does not scan, so that it finds no train.
  mutating func cannotScan(
    _ error: HostError, _ radio: RadioContext, into effects: inout [Effect<SynchronizerEffect>]
  ) {
    end(error, into: &effects, where: { $0.isSearching })
    reconcile(radio, into: &effects)
  }

  private mutating func endSearch() { (phase, applied, cancelDeadline, hasEnded) = (.off, [], nil, false) }

  /// The trains that are searched for, one target for each, in the order of the requests.
  private var targets: [Target] {
    var targets: [Target] = []
    for request in requests where request.isSearching {
      guard let train = request.train else { continue }
      if let index = targets.firstIndex(where: { $0.train == train }) {
        targets[index].isFiltered = targets[index].isFiltered && request.parameters.filtersDuplicates
      } else {
        targets.append(
          Target(train: train, parameters: request.parameters, isFiltered: request.parameters.filtersDuplicates))
      }
    }
    return targets
  }

  /// The targets of this turn, which have the same parameters, and how many there are in all.
  private func wanted(_ radio: RadioContext) -> (targets: [Target], all: Int) {
    guard !radio.isHeld, !radio.isShuttingDown else { return ([], 0) }
    let all = targets
    guard !all.isEmpty else { return ([], 0) }
    let first = all[turn.first % all.count]
    let rest = (1..<all.count).map { all[(turn.first + $0) % all.count] }
    let limit = radio.controller.hasPeriodicAdvertiserList ? capacity : 1
    let same = rest.filter { $0.parameters == first.parameters && $0.isFiltered == first.isFiltered }
    return ([first] + same.prefix(limit - 1), all.count)
  }

  /// Takes the next step towards the trains that are wanted.
  mutating func reconcile(_ radio: RadioContext, into effects: inout [Effect<SynchronizerEffect>]) {
    guard radio.isPoweredOn else { return }
    let (wanted, count) = wanted(radio)
    if count == 0, requests.isEmpty { retry.accepted() }
    if wanted.count == count { turn.end = nil } else if turn.end == nil { turn.end = radio.now + Self.turnLength }
    switch phase {
    case .working, .cancelling: break
    case .waiting where applied != wanted: take(.cancel, radio, into: &effects)
    case .off where !wanted.isEmpty && retry.due == nil:
      applied = wanted
      take(wanted.count > 1 ? .clear : .create, radio, into: &effects)
    case .waiting, .off: break
    }
  }

  private mutating func take(_ step: Step, _ radio: RadioContext, into effects: inout [Effect<SynchronizerEffect>]) {
    let command: EncodedCommand
    switch step {
    case .clear: command = .init(HCI.LEClearPeriodicAdvertiserList())
    case .add(let index):
      let train = applied[index].train
      command = .init(
        HCI.LEAddDeviceToPeriodicAdvertiserList {
          ($0.advertiserAddress, $0.advertisingSID) = (train.advertiser.identity, train.advertisingSet)
        })
    case .create: command = .init(create(radio))
    case .cancel: command = .init(HCI.LEPeriodicAdvertisingCreateSyncCancel())
    case .terminate, .unfilter, .expect: return
    }
    phase = .working(step)
    effects.append(.command(command, for: .radio(.synchronizing(step))))
  }

  private func create(_ radio: RadioContext) -> HCI.LEPeriodicAdvertisingCreateSync {
    HCI.LEPeriodicAdvertisingCreateSync {
      guard let first = applied.first else { return }
      if applied.count > 1 {
        $0.options = 1
      } else {
        ($0.advertiserAddress, $0.advertisingSID) = (first.train.advertiser.identity, first.train.advertisingSet)
      }
      if filters(first, radio) { $0.options |= 4 }
      ($0.skip, $0.syncTimeout) = (first.parameters.skip, first.parameters.timeout)
    }
  }

  /// Whether the controller filters duplicates of a train, by the number of the data (Vol 4, Part E, 7.8.67).
  private func filters(_ target: Target, _ radio: RadioContext) -> Bool {
    target.isFiltered && radio.controller.leFeatures.contains(.periodicAdvertisingADI)
  }

  mutating func stepCompleted(
    _ step: Step, _ opcode: HCIOpcode, _ status: HCIErrorCode, _ radio: RadioContext,
    into effects: inout [Effect<SynchronizerEffect>]
  ) {
    if case .expect(let peer) = step, status != .success {
      end(.controller(opcode, status), into: &effects) { $0.expectedLink == peer }
    }
    if case .terminate = step, status != .success, status != .unknownAdvertisingIdentifier {
      let text = "\(HostError.controller(opcode, status)): it goes on receiving a train that is not wanted any more"
      effects.append(.report(.controller, text, peer: nil))
    }
    if case .unfilter(let handle) = step, status != .success, status != .unknownAdvertisingIdentifier {
      let error = HostError.controller(opcode, status)
      effects.append(.report(.controller, "\(error): repeated data of a train is not reported", peer: nil))
      if let index = index(of: handle) { trains[index].isFiltered = true }
    }
    guard phase == .working(step) else { return }
    if step == .cancel { return cancelAnswered(status, radio, into: &effects) }
    guard status == .success else { return refused(step, opcode, status, radio, into: &effects) }
    switch step {
    case .clear: take(.add(0), radio, into: &effects)
    case .add(let index) where index + 1 < applied.count: take(.add(index + 1), radio, into: &effects)
    case .add: take(.create, radio, into: &effects)
    case .create:
      phase = .waiting
      effects.append(.own(.activityChanged))
      reconcile(radio, into: &effects)
    case .cancel, .terminate, .unfilter, .expect: break
    }
  }

  /// Refused: the search has ended by itself, and its event reports that. Accepted: the event with status 0x44 follows.
  private mutating func cancelAnswered(
    _ status: HCIErrorCode, _ radio: RadioContext, into effects: inout [Effect<SynchronizerEffect>]
  ) {
    effects.append(.own(.activityChanged))
    guard status == .success, !hasEnded else {
      endSearch()
      return reconcile(radio, into: &effects)
    }
    phase = .cancelling
    cancelDeadline = radio.now + Self.cancelTime
  }

  private mutating func refused(
    _ step: Step, _ opcode: HCIOpcode, _ status: HCIErrorCode, _ radio: RadioContext,
    into effects: inout [Effect<SynchronizerEffect>]
  ) {
    let tried = applied.map { $0.train }
    endSearch()
    effects.append(.own(.activityChanged))
    if step != .create {
      // The list takes fewer trains, or none: the others wait for their turn.
      if case .add(let index) = step { capacity = max(1, index) } else { capacity = 1 }
      return reconcile(radio, into: &effects)
    }
    if let missing = MissingCommand(opcode, status, hasLegacy: false) {
      effects.append(.own(.missing(missing)))
      return retry.refused(now: radio.now)
    }
    let isFull = status == .memoryCapacityExceeded || status == .rejectedLimitedResources
    let error = HostError.controller(opcode, status)
    if isFull || !status.mayPass || retry.count >= Retry.attempts {
      // What the controller has received before has a place when another train is given up.
      let isFinal = !status.mayPass
      end(error, into: &effects) {
        $0.isSearching && $0.train.map(tried.contains) == true && (isFinal || !$0.wasSynchronized)
      }
    } else if retry.count == 0 {
      effects.append(.report(.controller, "\(error): it is sent again", peer: nil))
    }
    retry.refused(now: radio.now)
    if targets.isEmpty { retry.accepted() }
    effects.append(.own(.searchMayChange))
    reconcile(radio, into: &effects)
  }

  /// Sends a command again that the controller has refused, gives others their turn, and takes what the controller does
  /// not report for ended.
  mutating func tick(_ radio: RadioContext, into effects: inout [Effect<SynchronizerEffect>]) {
    if let due = cancelDeadline, due <= radio.now {
      let text = "it does not report the end of \(HCIOpcode.lePeriodicAdvertisingCreateSync), which was cancelled"
      effects += [.report(.controller, text, peer: nil), .own(.activityChanged)]
      endSearch()
    }
    if let due = retry.due, due <= radio.now { retry.begin() }
    if let end = turn.end, end <= radio.now {
      turn = (turn.first + max(1, wanted(radio).targets.count), nil)
      if !targets.isEmpty { turn.first %= targets.count }
    }
    for train in trains where train.overdue.map({ $0 <= radio.now }) ?? false {
      let text = "it reports nothing of a train, and not its loss either: the host searches for it again"
      effects.append(.report(.controller, text, peer: nil))
      terminate(train.handle, radio, into: &effects)
      lost(train.handle, radio, into: &effects)
    }
    for index in trains.indices {
      deliver(trains[index].assembler.tick(now: radio.now), of: index, into: &effects)
    }
    reconcile(radio, into: &effects)
  }
}

/// Events of the controller.
extension Synchronizer {
  /// The controller has found a train, or has ended its search.
  ///
  /// - Parameter advertiser: the device of the address in the event.
  mutating func established(
    _ event: HCI.LEPeriodicAdvertisingSyncEstablished, by advertiser: DeviceAddress, _ radio: RadioContext,
    into effects: inout [Effect<SynchronizerEffect>]
  ) {
    let found = TrainID(advertiser, set: event.advertisingSID)
    let target = applied.count == 1 ? applied.first : applied.first { $0.train == found }
    let (isFirst, isCancelling) = (retry.count == 0, phase == .working(.cancel) || phase == .cancelling)
    let hasCreated = self.hasCreated
    if phase == .working(.cancel) { hasEnded = true } else if hasCreated { endSearch() }
    effects.append(.own(.activityChanged))
    if event.status != .success {
      // Six packets of the train were missed (Vol 6, Part B, 4.4.3.4): it is searched for again, at first at once.
      if !isCancelling { retry.refused(now: radio.now) }
      if isFirst { retry.begin() }
    } else if let target, hasCreated {
      retry.accepted()
      let train = SynchronizedTrain(
        train: target.train, phy: event.advertiserPHY, interval: event.periodicAdvertisingInterval, serviceData: nil)
      add(train, event.syncHandle, isFiltered: filters(target, radio), target.parameters, radio, into: &effects)
    } else {
      terminate(event.syncHandle, radio, into: &effects)
    }
    reconcile(radio, into: &effects)
    effects.append(.own(.searchMayChange))
  }

  /// Whether the controller has been told to search for what is applied.
  private var hasCreated: Bool {
    switch phase {
    case .off, .working(.clear), .working(.add): false
    default: true
    }
  }

  /// Adds a train that the controller receives; ends it where no owner wants it any longer.
  private mutating func add(
    _ train: SynchronizedTrain, _ handle: UInt16, isFiltered: Bool, _ parameters: SyncParameters,
    _ radio: RadioContext, into effects: inout [Effect<SynchronizerEffect>]
  ) {
    // A handle that is used anew: the controller has not reported the loss of the train that had it.
    if index(of: handle) != nil { lost(handle, radio, into: &effects) }
    let waiting = requests.indices.filter { requests[$0].isSearching && requests[$0].train == train.train }
    guard !waiting.isEmpty else { return terminate(handle, radio, into: &effects) }
    trains.append(
      ReceivedTrain(train, handle: handle, isFiltered: isFiltered, timeout: parameters.timeout, now: radio.now))
    for index in waiting {
      requests[index].state = .synchronized(handle)
      requests[index].wasSynchronized = true
      effects.append(requests[index].event(.synchronized(train)))
    }
    unfilterIfDue(trains.count - 1, into: &effects)
  }

  /// The device of a link has transferred its synchronization, and the controller receives the train, or does not.
  mutating func transferred(
    _ event: HCI.LEPeriodicAdvertisingSyncTransferReceived, by advertiser: DeviceAddress, from peer: LinkID?,
    _ radio: RadioContext, into effects: inout [Effect<SynchronizerEffect>]
  ) {
    guard event.status == .success else {
      let text = "a train that was transferred cannot be received (\(event.status)): another transfer is awaited"
      return effects.append(.report(.controller, text, peer: peer))
    }
    guard let peer, let index = requests.firstIndex(where: { $0.expectedLink == peer }) else {
      return terminate(event.syncHandle, radio, into: &effects)
    }
    let train = SynchronizedTrain(
      train: TrainID(advertiser, set: event.advertisingSID), phy: event.advertiserPHY,
      interval: event.periodicAdvertisingInterval, serviceData: event.serviceData)
    (requests[index].state, requests[index].train) = (.searching, train.train)
    let parameters = requests[index].parameters
    add(train, event.syncHandle, isFiltered: false, parameters, radio, into: &effects)
    if !expectedLinks.contains(peer) {
      expect(false, peer, event.connectionHandle, parameters, radio, into: &effects)
    }
    reconcile(radio, into: &effects)
    effects.append(.own(.searchMayChange))
  }

  mutating func lost(
    _ handle: UInt16, _ radio: RadioContext, into effects: inout [Effect<SynchronizerEffect>]
  ) {
    guard let index = index(of: handle) else { return }
    var train = trains.remove(at: index)
    let rest = train.assembler.takeTruncated()
    for index in requests.indices where requests[index].state == .synchronized(handle) {
      effects += rest.map { requests[index].event(.report($0)) }
      requests[index].state = .searching
      effects.append(requests[index].event(.lost))
    }
    reconcile(radio, into: &effects)
    effects.append(.own(.searchMayChange))
  }

  /// Takes a report of a train, whole or in part.
  ///
  /// - Parameter counter: the number of its event, where the controller reports it.
  mutating func receive(
    _ report: HCI.LEPeriodicAdvertisingReport, counter: UInt16?, now: Instant,
    into effects: inout [Effect<SynchronizerEffect>]
  ) {
    guard let index = index(of: report.syncHandle) else { return }
    trains[index].lastReception = now
    let complete = trains[index].assembler.receive(
      report.data, report.dataStatus, rssi: report.rssi, txPower: report.txPower, counter: counter, now: now)
    deliver(complete, of: index, into: &effects)
  }

  private mutating func deliver(
    _ reports: [TrainReport], of index: Int, into effects: inout [Effect<SynchronizerEffect>]
  ) {
    let handle = trains[index].handle
    for report in reports {
      let last = trains[index].lastReport
      let isDuplicate = report.completeness == last?.completeness && report.data == last?.data
      if report.completeness != .missed { trains[index].lastReport = report }
      for request in requests where request.state == .synchronized(handle) {
        if isDuplicate, request.parameters.filtersDuplicates { continue }
        effects.append(request.event(.report(report)))
      }
    }
  }

  private func index(of handle: UInt16) -> Int? { trains.firstIndex { $0.handle == handle } }
}
