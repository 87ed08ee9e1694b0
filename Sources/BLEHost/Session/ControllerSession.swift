import BLEHCI
import BLEWire

/// An effect of the session.
enum SessionEffect: Sendable {
  /// The controller has returned its public address: the address to use is due
  /// (``ControllerSession/addressChosen(_:into:)``).
  case chooseAddress
  /// The controller is up.
  case ready
  /// Links and activities at the controller have ended.
  case lost
  /// Everything is to be disabled, and links are to be ended.
  case stop
  /// A command has ended: its purpose, the status, and the return parameters where there are any.
  case answered(Purpose, HCIOpcode, HCIErrorCode, Bytes)
  /// A command will have no answer.
  case abandoned(Purpose)
  /// A command had no answer in time, and the controller is reset. ``abandoned(_:)`` follows.
  case timedOut(Purpose, HCIOpcode)
  /// The kernel has no key for the link with this handle (Vol 4, Part E, 7.8.26).
  case keyMissed(ConnectionHandle)
}

/// The connection to one controller: its state and capabilities, the commands on their way, resets and the end.
///
/// ```
///              start                     all steps done
///   unknown ──────────► bringing up ──────────────────────► poweredOn ──── shutdown ───► shut down
///                        ▲  │ no answer, three times          │
///                        │  └────────► unsupported            │ hardware error, a command without answer,
///                        └────────────── resetting ◄──────────┘ the transport gone
/// ```
///
/// A controller that has no link is also restarted without a change of ``state``, when only a reset makes its state that
/// of the host again (``needsReset``), or when it lacks a command that it reports: it is given no such command from then
/// on (``withdraw(_:_:into:)``).
struct ControllerSession: Sendable {
  /// Whether no one else uses the controller, so that it may be reset.
  let isExclusive: Bool
  private let maximumBringUps: Int
  private let shutdownTimeout: Duration

  private(set) var state = AdapterState.unknown
  /// The reason for ``state``, where it is below powered on.
  private(set) var reason: HostError?
  private(set) var capabilities = ControllerCapabilities()
  /// What the bring-up has read so far.
  private var learned = ControllerCapabilities()
  /// Whether the controller takes commands other than those of the bring-up.
  private(set) var isReady = false
  /// Commands that the controller has reported as supported, and does not perform.
  private var withdrawn: [HCIOpcode] = []
  /// The owners that receive the capabilities.
  private var capabilityOwners: [OwnerID] = []
  private var queue: CommandQueue<Purpose>
  /// Attempts to bring the controller up since it last was.
  private var bringUps = 0
  /// The address that the controller is given in its bring-up.
  private var address = DeviceAddress(octets: BD_ADDR(), kind: .public)
  private var shutdownDeadline: Instant?
  private let shutdownCommandTimeout: Duration
  /// When the shutdown waits no longer for answers to commands.
  private var shutdownCommandDeadline: Instant?
  /// Whether the controller has something that the host does not know, or the other way round: only a reset helps.
  var needsReset = false
  /// Whether the shutdown is complete.
  private(set) var isShutDown = false
  /// Whether the host has stopped trying to bring the controller up.
  private(set) var hasFailed = false

  init(_ configuration: HostConfiguration) {
    isExclusive = configuration.ownership == .exclusive
    maximumBringUps = configuration.maximumBringUps
    shutdownTimeout = configuration.shutdownTimeout
    shutdownCommandTimeout = configuration.shutdownCommandTimeout
    queue = CommandQueue(timeout: configuration.commandTimeout)
  }

  /// When ``tick(now:packets:into:)`` has work.
  var deadline: Instant? { .nearer(queue.deadline, .nearer(shutdownDeadline, shutdownCommandDeadline)) }
  /// Whether the controller is being restarted, and its owners are not told.
  var isRestarting: Bool { state == .poweredOn && !isReady }
  /// The address that the controller has returned in its bring-up.
  var publicAddress: BD_ADDR { learned.publicAddress }
  var isShuttingDown: Bool { shutdownDeadline != nil }
  /// Whether the shutdown has begun or is complete.
  var isEnding: Bool { isShuttingDown || isShutDown }

  /// The transport is open: brings the controller up.
  mutating func start(into effects: inout [Effect<SessionEffect>]) {
    bringUps = 0
    withdrawn = []
    bringUp(into: &effects)
  }

  private mutating func bringUp(into effects: inout [Effect<SessionEffect>]) {
    bringUps += 1
    (needsReset, isReady, hasFailed) = (false, false, false)
    learned = ControllerCapabilities()
    if state != .poweredOn { capabilities = learned }
    send(.first(isExclusive: isExclusive), into: &effects)
  }

  private func send(_ step: SetupStep, into effects: inout [Effect<SessionEffect>]) {
    effects.append(.command(step.command(learned, address), for: .setup(step)))
  }

  private mutating func completed(
    _ step: SetupStep, _ status: HCIErrorCode, _ returned: Bytes, into effects: inout [Effect<SessionEffect>]
  ) {
    guard status == .success else {
      return refused(step, status, "it rejects \(step.opcode): \(status)", into: &effects)
    }
    do throws(CodecError) {
      try learned.learn(step, from: returned)
    } catch {
      return refused(step, .unspecifiedError, "its answer to \(step.opcode) is malformed: \(error)", into: &effects)
    }
    if step == .supportedCommands { learned.commands.withdrawn = withdrawn }
    proceed(after: step, into: &effects)
  }

  /// A controller that refuses a step is used without it where that is possible. Otherwise it is brought up once more,
  /// because it may accept it then.
  private mutating func refused(
    _ step: SetupStep, _ status: HCIErrorCode, _ fault: String, into effects: inout [Effect<SessionEffect>]
  ) {
    if step == .eventMask, !learned.hasFirstEvents {
      effects.append(.report(.controller, "\(fault): it is given the mask of a reset, with LE Meta", peer: nil))
      learned.hasFirstEvents = true
      return send(step, into: &effects)
    }
    if step == .leEventMask, learned.withdrawLaterFeaturesWithEvents() {
      let later = "periodic advertising, subrating, shorter connection intervals and power control"
      effects.append(.report(.controller, "\(fault): it is used without \(later)", peer: nil))
      return send(step, into: &effects)
    }
    if step == .leEventMask, SetupStep.leEvents(for: learned) != SetupStep.firstLEEvents {
      effects.append(.report(.controller, "\(fault): it is used as one of Bluetooth 4.0", peer: nil))
      learned.withdrawFeaturesWithEvents()
      return send(step, into: &effects)
    }
    let isUnknownSize = step == .leBufferSize && status == .unknownCommand
    guard step.isRequired, !isUnknownSize else {
      effects.append(.report(.controller, "\(fault): it is used without", peer: nil))
      return proceed(after: step, into: &effects)
    }
    if let error = learned.lackOfLowEnergy(step, status) { return fail(error, into: &effects) }
    effects.append(.report(.controller, fault, peer: nil))
    let error = HostError.controller(step.opcode, status)
    reset(error, orFail: error, into: &effects)
  }

  private mutating func proceed(after step: SetupStep, into effects: inout [Effect<SessionEffect>]) {
    if step == .leFeatures { return effects.append(.own(.chooseAddress)) }
    advance(after: step, into: &effects)
  }

  /// The address for the controller has been chosen: continues the bring-up.
  mutating func addressChosen(_ address: DeviceAddress, into effects: inout [Effect<SessionEffect>]) {
    self.address = address
    advance(after: .leFeatures, into: &effects)
  }

  private mutating func advance(after step: SetupStep, into effects: inout [Effect<SessionEffect>]) {
    let usesRandomAddress = address.kind == .random
    if let next = step.following(learned, usesRandomAddress: usesRandomAddress, isExclusive: isExclusive) {
      if next == .leFeatures, let error = learned.lackOfLowEnergy { return fail(error, into: &effects) }
      return send(next, into: &effects)
    }
    guard learned.aclLength > 0, learned.aclCount > 0 else {
      return fail(.unsupported("buffers for LE data"), into: &effects)
    }
    bringUps = 0
    let hasChanged = capabilities != learned || state != .poweredOn
    (capabilities, isReady) = (learned, true)
    if hasChanged { effects += capabilityOwners.map { .event(.capabilities(capabilities), to: $0.recipient) } }
    enter(.poweredOn, nil, into: &effects)
    effects.append(.own(.ready))
  }

  private mutating func enter(
    _ new: AdapterState, _ error: HostError?, into effects: inout [Effect<SessionEffect>]
  ) {
    guard new != state || error != nil else { return }
    (state, reason) = (new, error)
    effects.append(.event(.state(new, error), to: .everyone))
  }
}

/// Reports of the capabilities.
extension ControllerSession {
  mutating func reportCapabilities(to owner: OwnerID, into effects: inout [Effect<SessionEffect>]) {
    if !capabilityOwners.contains(owner) { capabilityOwners.append(owner) }
    if state == .poweredOn { effects.append(.event(.capabilities(capabilities), to: owner.recipient)) }
  }

  mutating func detach(_ owner: OwnerID) { capabilityOwners.removeAll { $0 == owner } }
}

/// Commands and their answers.
extension ControllerSession {
  /// Sends a command, or queues it until the controller takes one.
  mutating func send(
    _ command: EncodedCommand, for purpose: Purpose, now: Instant, packets: inout PacketBuffer,
    into effects: inout [Effect<SessionEffect>]
  ) {
    do throws(CommandQueueError) {
      try queue.perform(command, for: purpose, now: now, into: &packets)
    } catch {
      effects.append(.report(.controller, "\(error)", peer: nil))
    }
  }

  /// Takes an event of the controller about commands, or about itself.
  mutating func receive(
    _ event: SessionEvent, now: Instant, packets: inout PacketBuffer, into effects: inout [Effect<SessionEffect>]
  ) {
    switch event {
    case .commandComplete(let event): receive(event, now: now, packets: &packets, into: &effects)
    case .commandStatus(let event):
      if let outcome = queue.receive(event, now: now, into: &packets) { ended(outcome, into: &effects) }
    case .hardwareError(let event): hardwareFailed(code: event.hardwareCode, into: &effects)
    case .dataBufferOverflow: effects.append(.report(.controller, "its data buffers overflowed", peer: nil))
    }
  }

  private mutating func receive(
    _ event: HCI.CommandComplete, now: Instant, packets: inout PacketBuffer,
    into effects: inout [Effect<SessionEffect>]
  ) {
    if !isExclusive, event.opcode == .leLongTermKeyRequestNegativeReply {
      guard let handle = [UInt8](event.returnParameters).span.uint16(at: 1) else { return }
      return effects.append(.own(.keyMissed(ConnectionHandle(rawValue: handle))))
    }
    guard let outcome = queue.receive(event, now: now, into: &packets) else { return }
    ended(outcome, into: &effects)
  }

  private mutating func ended(
    _ outcome: CommandQueue<Purpose>.Outcome, into effects: inout [Effect<SessionEffect>]
  ) {
    switch outcome {
    case .complete(let purpose, let event):
      let status = event.returnParameters.first.map(HCIErrorCode.init) ?? .success
      answered(purpose, event.opcode, status, event.returnParameters, into: &effects)
    case .status(let purpose, let opcode, let status): answered(purpose, opcode, status, [], into: &effects)
    // A controller shared with the kernel answers the kernel's commands, too.
    case .unexpected where !isExclusive: break
    case .unexpected(let opcode):
      let text = "an answer to \(opcode), which was not sent or has already been answered"
      effects.append(.report(.controller, text, peer: nil))
    case .timedOut(let purpose, let opcode):
      effects.append(.own(.timedOut(purpose, opcode)))
      effects.append(.own(.abandoned(purpose)))
      reset(.commandTimedOut(opcode), orFail: .commandTimedOut(opcode), into: &effects)
    }
  }

  private mutating func answered(
    _ purpose: Purpose, _ opcode: HCIOpcode, _ status: HCIErrorCode, _ returned: Bytes,
    into effects: inout [Effect<SessionEffect>]
  ) {
    switch purpose {
    case .setup(let step): completed(step, status, returned, into: &effects)
    case .reply:
      if status != .success { effects.append(.report(.controller, "refused \(opcode): \(status)", peer: nil)) }
    case .radio, .link, .endingSuperseded, .transfer: effects.append(.own(.answered(purpose, opcode, status, returned)))
    }
  }
}

/// Failures, and the end.
extension ControllerSession {
  /// The controller reported that it failed (Vol 4, Part E, 7.7.16): only a reset helps.
  mutating func hardwareFailed(code: UInt8, into effects: inout [Effect<SessionEffect>]) {
    // The kernel resets its own controller; its transport reports the result.
    guard isExclusive else { return }
    effects.append(.report(.controller, "hardware error 0x\(String(code, radix: 16)): it is reset", peer: nil))
    reset(nil, orFail: .controller(.none, .hardwareFailure), into: &effects)
  }

  private mutating func reset(
    _ reason: HostError?, orFail error: HostError, into effects: inout [Effect<SessionEffect>]
  ) {
    guard bringUps < maximumBringUps else { return fail(error, into: &effects) }
    lose(.resetting, reason, into: &effects)
    bringUp(into: &effects)
  }

  /// Resets a controller that has no links. What is declared is restored, and owners are not told.
  mutating func resetWithoutLinks(into effects: inout [Effect<SessionEffect>]) {
    needsReset = false
    guard isExclusive, isReady, !isEnding else { return }
    abandonCommands(into: &effects)
    bringUp(into: &effects)
  }

  /// The controller does not perform a command that it reports as supported. It is not sent again, and the controller is
  /// reset before others take its place: legacy and extended commands do not go together (Vol 4, Part E, 3.1.1).
  mutating func withdraw(_ opcode: HCIOpcode, _ status: HCIErrorCode, into effects: inout [Effect<SessionEffect>]) {
    guard isExclusive, !withdrawn.contains(opcode) else { return }
    withdrawn.append(opcode)
    let text = "it rejects \(opcode), which it reports as supported: \(status). It is reset, and used without"
    effects.append(.report(.controller, text, peer: nil))
    needsReset = true
  }

  private mutating func fail(_ error: HostError, into effects: inout [Effect<SessionEffect>]) {
    lose(.unsupported, error, into: &effects)
    hasFailed = true
  }

  /// The controller has lost its state: links and activities end, what is declared stays. Owners receive the state
  /// before the ends that it causes.
  private mutating func lose(
    _ state: AdapterState, _ error: HostError?, into effects: inout [Effect<SessionEffect>]
  ) {
    isReady = false
    enter(state, error, into: &effects)
    abandonCommands(into: &effects)
  }

  private mutating func abandonCommands(into effects: inout [Effect<SessionEffect>]) {
    effects += queue.removeAll().map { .own(.abandoned($0)) }
    effects.append(.own(.lost))
  }

  mutating func transportFailed(
    _ error: HostError, state: AdapterState, into effects: inout [Effect<SessionEffect>]
  ) {
    lose(state, error, into: &effects)
    if isShuttingDown { finishShutdown() }
  }

  mutating func tick(now: Instant, packets: inout PacketBuffer, into effects: inout [Effect<SessionEffect>]) {
    while let outcome = queue.tick(now: now, into: &packets) { ended(outcome, into: &effects) }
  }

  mutating func shutDown(now: Instant, into effects: inout [Effect<SessionEffect>]) {
    guard !isEnding else { return }
    guard isReady else { return finishShutdown() }
    shutdownDeadline = now + shutdownTimeout
    shutdownCommandDeadline = now + shutdownCommandTimeout
    effects.append(.own(.stop))
  }

  /// Ends the shutdown when every command is answered and every link is down, or when its time is over.
  mutating func checkShutdown(now: Instant, hasLinks: Bool) {
    guard let shutdownDeadline else { return }
    let isAnswered = queue.isIdle || shutdownCommandDeadline.map { $0 <= now } ?? true
    if let due = shutdownCommandDeadline, due <= now { shutdownCommandDeadline = nil }
    if shutdownDeadline <= now || (!hasLinks && isAnswered) { finishShutdown() }
  }

  private mutating func finishShutdown() {
    (shutdownDeadline, shutdownCommandDeadline) = (nil, nil)
    isShutDown = true
  }
}

/// An event of the controller that is for the ``ControllerSession`` alone.
enum SessionEvent: Sendable {
  case commandComplete(HCI.CommandComplete)
  case commandStatus(HCI.CommandStatus)
  case hardwareError(HCI.HardwareError)
  case dataBufferOverflow
}
