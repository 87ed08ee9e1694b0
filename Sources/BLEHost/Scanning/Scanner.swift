import BLEHCI
import BLEWire

/// The scans of the owners, and the state of the controller's scan, which serves them all.
///
/// ```
///   off ─► parameters ─► enable ─► on ── other parameters, or none ──► disable ─► off
/// ```
///
/// The host also scans for itself: for the address of a device that it has to connect to
/// (``RadioContext/isSearchWanted``), and for trains (``RadioContext/trainScan``). Reports of that scan are not for an
/// owner.
struct Scanner: Sendable {
  enum Step: Equatable, Sendable { case parameters, enable, disable }
  enum Phase: Equatable, Sendable { case off, working(Step), on }

  private var phase = Phase.off
  /// The scan of each owner, in the order in which they began.
  private var requests: [ScanRequest] = []
  /// The duplicate filter of the controller is to be emptied, for an owner that has started a scan.
  private var restarts = false
  /// The last parameters that were sent to the controller.
  private var applied: ScanParameters?
  /// The controller does not scan while it waits to connect.
  private var cannotSearch = false
  private var retry = Retry()
  /// The controller has scanned for the requests that there are: what it refuses is tried again for as long as they
  /// last.
  private var hasRun = false
  /// The controller does not scan beside the links that are up, and a line has said so.
  private var waitsForLinks = false
  /// Extended advertisements of which the controller has reported only a part.
  private var assembler = ExtendedReportAssembler()
  /// What the devices have last advertised, for as long as there is a scan.
  private var reports = ReportTable()

  /// Whether the controller does not scan.
  var isOff: Bool { phase == .off }
  /// When ``tick(_:into:)`` has work.
  var deadline: Instant? {
    @inline(__always) get {
      requests.reduce(.nearer(assembler.deadline, retry.due)) { .nearer($0, $1.deadline) }
    }
  }
  /// Whether a scan is declared.
  var isWanted: Bool { !requests.isEmpty }
  /// The scan that serves every owner; nil without one.
  private var union: ScanParameters? { ScanParameters(serving: requests.map { $0.parameters }) }
  /// Whether a declared scan is an active one.
  var isActiveWanted: Bool { union?.isActive ?? false }

  /// Begins the scan of an owner, or changes it.
  ///
  /// The controller reports each device once to a scan that wants no duplicates. For an owner that begins later it
  /// forgets which devices it has reported, so that the owner receives the devices that the others have received.
  mutating func start(
    _ parameters: ScanParameters, for owner: OwnerID, _ radio: RadioContext,
    into effects: inout [Effect<ScannerEffect>]
  ) {
    guard radio.acceptsRequests else {
      return effects.append(.event(.scanning(.stopped(.notPoweredOn)), to: owner.recipient))
    }
    if let error = parameters.rejection(radio.controller) {
      return effects.append(.event(.scanning(.stopped(error)), to: owner.recipient))
    }
    if let index = requests.firstIndex(where: { $0.owner == owner }) {
      if parameters.reportsChanges {
        // A new scan of its owner, which receives all devices again.
        requests[index] = ScanRequest(owner: owner, parameters: parameters)
      } else {
        requests[index].parameters = parameters
      }
    } else {
      restarts = union?.filtersDuplicates == true
      requests.append(ScanRequest(owner: owner, parameters: parameters))
    }
    reconcile(radio, into: &effects)
  }

  mutating func stop(for owner: OwnerID, _ radio: RadioContext, into effects: inout [Effect<ScannerEffect>]) {
    requests.removeAll { $0.owner == owner }
    if requests.isEmpty { forget() }
    reconcile(radio, into: &effects)
  }

  mutating func stopAll(_ radio: RadioContext, into effects: inout [Effect<ScannerEffect>]) {
    requests = []
    forget()
    reconcile(radio, into: &effects)
  }

  /// There is no scan any longer.
  private mutating func forget() {
    reports.removeAll()
    retry.accepted()
    (hasRun, waitsForLinks) = (false, false)
  }

  /// The controller lost its state; the requests stay.
  mutating func suspend() {
    phase = .off
    applied = nil
    cannotSearch = false
    restarts = false
    retry.accepted()
    assembler.removeAll()
  }

  /// The controller is up again.
  mutating func restore(_ radio: RadioContext, into effects: inout [Effect<ScannerEffect>]) {
    // One that has turned out to lack a command does not perform each request.
    for request in requests {
      guard let error = request.parameters.rejection(radio.controller) else { continue }
      requests.removeAll { $0.owner == request.owner }
      effects.append(.event(.scanning(.stopped(error)), to: request.owner.recipient))
    }
    if requests.isEmpty { forget() }
    reconcile(radio, into: &effects)
  }

  mutating func tick(_ radio: RadioContext, into effects: inout [Effect<ScannerEffect>]) {
    let now = radio.now
    assembler.tick(now: now)
    if let due = retry.due, due <= now {
      retry.begin()
      reconcile(radio, into: &effects)
    }
    for index in requests.indices {
      let recipient = requests[index].owner.recipient
      effects += requests[index].due(now: now).map { .event(.scanning(.discovered([$0])), to: recipient) }
    }
  }

  /// Takes the next step towards what is wanted; parameters can be set only while scanning is off (Vol 4, Part E,
  /// 7.8.10).
  mutating func reconcile(_ radio: RadioContext, into effects: inout [Effect<ScannerEffect>]) {
    guard radio.isPoweredOn else { return }
    noteLinks(radio, into: &effects)
    let wanted = wanted(radio)
    switch phase {
    case .working: break
    case .on where wanted != applied || restarts: take(.disable, radio, into: &effects)
    case .off where wanted != nil && retry.due == nil: take(.parameters, radio, into: &effects)
    case .on, .off: break
    }
  }

  /// The scan that serves every owner; otherwise, if wanted, a passive scan for the host.
  private func wanted(_ radio: RadioContext) -> ScanParameters? {
    if radio.isHeld || radio.areOthersHeld { return nil }
    let declared = requests.map { $0.parameters } + (radio.trainScan.map { [$0] } ?? [])
    if let union = ScanParameters(serving: declared) { return isPossible(union, radio) ? union : nil }
    guard radio.isSearchWanted, !cannotSearch else { return nil }
    var parameters = ScanParameters()
    parameters.isActive = false
    return parameters
  }

  /// Whether the controller says that it scans beside the links that are up.
  private func isPossible(_ parameters: ScanParameters, _ radio: RadioContext) -> Bool {
    radio.controller.states.allow(parameters.isActive ? .activeScanning : .passiveScanning, beside: radio.links)
  }

  private mutating func noteLinks(_ radio: RadioContext, into effects: inout [Effect<ScannerEffect>]) {
    let waits = union.map { !isPossible($0, radio) } ?? false
    if waits, !waitsForLinks {
      effects.append(
        .report(
          .controller, "it cannot scan while it has a connection: the scan goes on when that has ended", peer: nil))
    }
    waitsForLinks = waits
  }

  private mutating func take(_ step: Step, _ radio: RadioContext, into effects: inout [Effect<ScannerEffect>]) {
    if step == .parameters { (applied, restarts) = (wanted(radio), false) }
    phase = .working(step)
    let (parameters, isExtended) = (applied ?? ScanParameters(), radio.controller.scansByExtendedCommands)
    let command =
      step == .parameters
      ? parameters.command(extended: isExtended, from: radio.ownAddressType)
      : parameters.switchCommand(extended: isExtended, on: step == .enable)
    effects.append(.command(command, for: .radio(.scanning(step))))
  }

  mutating func stepCompleted(
    _ step: Step, _ opcode: HCIOpcode, _ status: HCIErrorCode, _ radio: RadioContext,
    into effects: inout [Effect<ScannerEffect>]
  ) {
    guard phase == .working(step) else { return }
    effects.append(.own(.activityChanged))
    guard status == .success else { return refused(opcode, status, radio, into: &effects) }
    switch step {
    case .parameters:
      phase = .off
      if wanted(radio) == applied { return take(.enable, radio, into: &effects) }
    case .enable:
      (phase, hasRun) = (.on, true)
      retry.accepted()
    case .disable:
      phase = .off
      applied = nil
      assembler.removeAll()
    }
    reconcile(radio, into: &effects)
  }
}

extension Scanner {
  /// The controller does not answer a command.
  mutating func timedOut(_ opcode: HCIOpcode, _ radio: RadioContext, into effects: inout [Effect<ScannerEffect>]) {
    cannotSearch = true
    giveUp(.commandTimedOut(opcode), into: &effects)
  }

  private mutating func giveUp(_ error: HostError, into effects: inout [Effect<ScannerEffect>]) {
    let owners = requests.map { $0.owner }
    requests = []
    forget()
    effects += owners.map { .event(.scanning(.stopped(error)), to: $0.recipient) }
  }

  private mutating func refused(
    _ opcode: HCIOpcode, _ status: HCIErrorCode, _ radio: RadioContext, into effects: inout [Effect<ScannerEffect>]
  ) {
    phase = .off
    // No owner requested this scan; the known addresses of the devices are used.
    if requests.isEmpty, radio.trainScan == nil { return cannotSearch = true }
    if status == .commandDisallowed, radio.isInitiating { effects.append(.own(.cannotCombine)) }
    if radio.isExclusive, radio.controller.scansByExtendedCommands,
      let missing = MissingCommand(opcode, status, hasLegacy: union?.phys == .le1M)
    {
      effects.append(.own(.missing(missing)))
      return retry.refused(now: radio.now)
    }
    guard status.mayPass, hasRun || retry.count < Retry.attempts else {
      effects.append(.own(.cannotFindTrains(.controller(opcode, status))))
      return giveUp(.controller(opcode, status), into: &effects)
    }
    if retry.count == 0 {
      let error = HostError.controller(opcode, status)
      effects.append(.report(.controller, "\(error): scanning is paused, and tried again", peer: nil))
    }
    retry.refused(now: radio.now)
  }
}

/// Reports of advertisements.
extension Scanner {
  /// - Parameter identity: the device that uses the address of the report.
  mutating func receive(
    _ report: HCI.AdvertisingReport, by identity: DeviceAddress, now: Instant,
    into effects: inout [Effect<ScannerEffect>]
  ) {
    guard !requests.isEmpty else { return }
    discovered(ScanReport(report, by: identity), now: now, into: &effects)
  }

  /// An advertisement in several reports is one discovery, at its last report (Vol 4, Part E, 7.7.65.13).
  mutating func receive(
    _ report: HCI.ExtendedAdvertisingReport, by identity: DeviceAddress, now: Instant,
    into effects: inout [Effect<ScannerEffect>]
  ) {
    guard !requests.isEmpty, let advertisement = assembler.receive(report, now: now) else { return }
    discovered(ScanReport(advertisement, by: identity), now: now, into: &effects)
  }

  /// Whether no part of an advertisement waits for the others.
  var hasNoFragments: Bool { assembler.deadline == nil }

  /// Takes a complete report in the packet of its event. Nothing is copied of one that repeats the last one of the
  /// device.
  mutating func receive(
    _ view: AdvertisingReportView, in event: Span<UInt8>, now: Instant, into output: inout HostOutput
  ) {
    guard !requests.isEmpty else { return }
    let slot = reports.receive(view, in: event)
    discovered(at: slot, rssi: view.rssi(in: event), now: now) { output.append($0, to: $1) }
  }

  private mutating func discovered(
    _ scanReport: ScanReport, now: Instant, into effects: inout [Effect<ScannerEffect>]
  ) {
    discovered(at: reports.receive(scanReport), rssi: scanReport.rssi, now: now) {
      effects.append(.event(.scanning(.discovered([$0])), to: $1))
    }
  }

  /// Reports a discovery to the owners for which it is not a duplicate.
  private mutating func discovered(at slot: Int, rssi: Int8, now: Instant, _ report: (ScanReport, Recipient) -> Void) {
    let entry = reports[slot]
    var recipient: Recipient?
    for index in requests.indices {
      let owner = requests[index].owner
      // With one scan the controller filters.
      let isFiltered = requests.count == 1 && requests[index].parameters.filtersDuplicates
      if requests[index].parameters.waitsForScanResponse {
        let scanReport = ScanReport(entry.content, rssi: rssi)
        if let overdue = requests[index].wait(for: scanReport, entry, at: slot, now: now) {
          report(overdue, owner.recipient)
        }
      }
      if requests[index].admits(entry, at: slot) || isFiltered {
        recipient = recipient?.joined(by: owner) ?? owner.recipient
      }
    }
    if let recipient { report(ScanReport(entry.content, rssi: rssi), recipient) }
  }
}
