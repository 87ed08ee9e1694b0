internal import BLELinux
internal import BLEWire

/// The one loop that owns one machine and everything it needs; it runs on a thread of its own.
///
/// One round: wait for the pipe, the mailbox or the deadline; commands in; packets in; time; packets out in one write;
/// events out in one batch.
///
/// ```
///   waiting ── the other end is there ──► open ── end, garbage, stuck ──► lost
///      ▲                                                                   │ after the reconnection interval
///      └───────────────────────────────────────────────────────────────────┘
/// ```
struct HostLoop<Machine: HostMachine>: ~Copyable {
  typealias Mailbox = HostMailbox<Machine.Command, Machine.Event>

  private var machine: Machine
  private var output = Machine.Output()
  private let mailbox: Mailbox
  private var items: [Mailbox.Item] = []
  private var sinks: [(id: UInt64, sink: Mailbox.Sink)] = []
  private var newestState: Machine.Event?

  private var pipe: Pipe
  private var trace: PacketTrace?
  private var poller: Poller
  private let clock = MonotonicClock()

  private let options: LoopOptions
  /// Told once, however often it comes back.
  private var lastFailure: TransportError?
  private var reopening: Instant?
  private var asksPortAgain: Instant?
  private var shutdownDeadline: Instant?
  private var interest: Poller.Interest = []

  init(
    _ machine: Machine, mailbox: Mailbox, pipe: consuming Pipe, trace: consuming PacketTrace?, options: LoopOptions
  ) throws(SystemError) {
    self.machine = machine
    self.mailbox = mailbox
    self.pipe = pipe
    self.trace = trace
    self.options = options
    poller = try Poller()
  }

  /// Starts a thread that runs the loop.
  ///
  /// - Returns: the mailbox to reach it by.
  static func start(
    _ machine: Machine, _ pipe: consuming Pipe, _ trace: consuming PacketTrace?, _ options: LoopOptions,
    at place: String
  ) throws(TransportError) -> Mailbox {
    do throws(SystemError) {
      let mailbox = try Mailbox(commandLimit: options.commandLimit, eventBacklogLimit: options.eventBacklogLimit)
      let handover = OneShot(try HostLoop(machine, mailbox: mailbox, pipe: pipe, trace: trace, options: options))
      try LoopThread.start {
        handover.take()?.run()
        // Only now, when the transport is closed.
        mailbox.close()
      }
      return mailbox
    } catch {
      throw TransportError(.inputOutput, at: place, "the event loop cannot be started", cause: error)
    }
  }

  /// Runs until the machine is shut down.
  consuming func run() {
    var now = clock.now()
    do throws(SystemError) {
      try poller.watch(mailbox.waker.descriptor, token: Token.mailbox, for: .reading)
      if pipe.isOpen { machine.start(now: now, into: &output) }
      tellAbsence(now)
      finishRound()
      while !isOver(now) {
        try prepareToWait(now)
        let count = try poller.wait(until: nextDeadline, on: clock)
        now = clock.now()
        // The mailbox first: whoever attached before a packet came hears of it.
        for index in 0..<count where poller[index].token == Token.mailbox { handleItems(now) }
        for index in 0..<count { handle(poller[index], now) }
        if let reopening, reopening <= now { reopen(now) }
        if let again = asksPortAgain, again <= now { askPort(now) }
        if let deadline = machine.deadline, deadline <= now { machine.tick(now: now, into: &output) }
        finishRound()
      }
    } catch {
      let failure = TransportError(.inputOutput, at: pipe.name, "the event loop failed", cause: error)
      machine.pipeFailed(failure, now: now, into: &output)
    }
    finishRound()
    // An adapter is put back as it was before anyone hears that the stack has ended.
    pipe.end()
  }
}

/// What the poller tells readiness under.
private enum Token {
  static let mailbox: UInt64 = 0
  static let port: UInt64 = 1
  static let stream: UInt64 = 2
}

/// Waiting.
extension HostLoop {
  private func isOver(_ now: Instant) -> Bool {
    guard let shutdownDeadline else { return false }
    if shutdownDeadline <= now { return true }
    return machine.isShutDown && (!pipe.isOpen || !pipe.hasBacklog)
  }

  private var nextDeadline: Instant? {
    .nearer(.nearer(machine.deadline, reopening), .nearer(asksPortAgain, shutdownDeadline))
  }

  private mutating func prepareToWait(_ now: Instant) throws(SystemError) {
    guard pipe.isOpen else {
      interest = []
      if reopening == nil, asksPortAgain == nil {
        asksPortAgain = try pipe.watchPort(on: poller, token: Token.port).map { now + $0 }
      }
      return
    }
    var wanted: Poller.Interest = mailbox.isHeldBack() ? [] : .reading
    if pipe.hasBacklog { wanted.insert(.writing) }
    guard wanted != interest else { return }
    // A stream without any interest still tells its end, over and over: it is not watched at all then.
    if wanted.isEmpty {
      pipe.unwatchStream(on: poller)
    } else {
      try pipe.watchStream(on: poller, token: Token.stream, for: wanted)
    }
    interest = wanted
  }

  private mutating func handle(_ ready: Poller.Ready, _ now: Instant) {
    switch ready.token {
    case Token.mailbox: break
    case Token.port: if reopening == nil { askPort(now) }
    default:
      if ready.canWrite { attempt(now) { (pipe) throws(TransportError) in try pipe.flush() } }
      if ready.canRead || ready.hasEnded { receive(now) }
    }
  }
}

/// The pipe.
extension HostLoop {
  private mutating func receive(_ now: Instant) {
    guard pipe.isOpen else { return }
    recordOwnCommands()
    do throws(TransportError) {
      try Self.pump(&pipe, &trace, &machine, now, &output)
      recordOwnCommands()
    } catch { pipeFailed(error, now) }
    if let notice = pipe.takeNotice() { output.events.append(Machine.notice(notice)) }
  }

  /// Every whole packet that is there goes to the trace, then to the machine.
  private static func pump(
    _ pipe: inout Pipe, _ trace: inout PacketTrace?, _ machine: inout Machine, _ now: Instant,
    _ output: inout Machine.Output
  ) throws(TransportError) {
    try pipe.receive { packet, report in
      if let report { return machine.receive(report, now: now, into: &output) }
      Self.record(packet, .controllerToHost, &trace, &output)
      Self.endRecording(&trace, &output)
      machine.receive(packet, now: now, into: &output)
    }
  }

  private mutating func attempt(
    _ now: Instant, _ body: (inout Pipe) throws(TransportError) -> Void
  ) {
    guard pipe.isOpen else { return }
    do throws(TransportError) {
      try body(&pipe)
    } catch { pipeFailed(error, now) }
  }

  private mutating func pipeFailed(_ error: TransportError, _ now: Instant) {
    lastFailure = error
    pipe.close(after: error)
    interest = []
    machine.pipeFailed(error, now: now, into: &output)
    output.packets.removeAll()
    output.directives.removeAll()
    planReopening(pipe.isServer ? now : now + (options.reconnectionInterval ?? .zero))
  }

  /// The port may have got on: takes the stream when there is one.
  private mutating func askPort(_ now: Instant) {
    asksPortAgain = nil
    guard !pipe.isOpen else { return }
    do throws(TransportError) {
      guard try pipe.acceptStream() else { return tellAbsence(now) }
      pipe.unwatchPort(on: poller)
      machine.start(now: now, into: &output)
    } catch { retryLater(error, now) }
  }

  private mutating func tellAbsence(_ now: Instant) {
    if let absence = pipe.takeAbsence() { machine.pipeFailed(absence, now: now, into: &output) }
  }

  private mutating func reopen(_ now: Instant) {
    reopening = nil
    do throws(TransportError) {
      try pipe.reopen()
    } catch { return retryLater(error, now) }
    askPort(now)
  }

  private mutating func retryLater(_ error: TransportError, _ now: Instant) {
    if error != lastFailure { output.events.append(Machine.notice("\(error)")) }
    lastFailure = error
    pipe.unwatchPort(on: poller)
    planReopening(now + (options.reconnectionInterval ?? .zero))
  }

  private mutating func planReopening(_ time: Instant) {
    reopening = options.reconnectionInterval == nil || shutdownDeadline != nil ? nil : time
  }

  private mutating func send() {
    sendDirectives()
    guard !output.packets.isEmpty else { return }
    defer { output.packets.removeAll() }
    guard pipe.isOpen else { return }
    if trace != nil {
      for index in 0..<output.packets.count {
        let packet = output.packets[index]
        Self.record(packet.span, .hostToController, &trace, &output)
      }
      Self.endRecording(&trace, &output)
    }
    do throws(TransportError) {
      try pipe.send(output.packets)
    } catch { pipeFailed(error, clock.now()) }
  }
}

extension HostLoop {
  /// The system's security manager first: what it is told may decide about what a packet brings.
  private mutating func sendDirectives() {
    guard !output.directives.isEmpty else { return }
    let directives = output.directives
    output.directives.removeAll(keepingCapacity: true)
    attempt(clock.now()) { (pipe) throws(TransportError) in try pipe.perform(directives) }
    if let notice = pipe.takeNotice() { output.events.append(Machine.notice(notice)) }
  }
}

/// The trace: where it fails, it ends with a line in the log, and the stack goes on.
extension HostLoop {
  private static func record(
    _ packet: Span<UInt8>, _ direction: PacketTrace.Direction, _ trace: inout PacketTrace?,
    _ output: inout Machine.Output
  ) {
    do throws(TransportError) {
      try trace?.record(packet, direction)
    } catch {
      trace = nil
      output.events.append(Machine.notice("\(error)"))
    }
  }

  /// What the pipe itself sent since the last time, before the answers to it.
  private mutating func recordOwnCommands() {
    guard trace != nil else { return }
    for command in pipe.takeOwnCommands() { Self.record(command.span, .hostToController, &trace, &output) }
    Self.endRecording(&trace, &output)
  }

  private static func endRecording(_ trace: inout PacketTrace?, _ output: inout Machine.Output) {
    do throws(TransportError) {
      try trace?.flush()
    } catch {
      trace = nil
      output.events.append(Machine.notice("\(error)"))
    }
  }
}

/// The mailbox.
extension HostLoop {
  private mutating func handleItems(_ now: Instant) {
    mailbox.waker.drain()
    let wasRefused = mailbox.take(into: &items)
    for item in items {
      switch item {
      case .command(let command): machine.perform(command, now: now, into: &output)
      case .attach(let id, let sink): attach(id, sink)
      case .detach(let id): sinks.removeAll { $0.id == id }
      case .shutdown: shutDown(now)
      }
    }
    items.removeAll(keepingCapacity: true)
    if wasRefused { output.events.append(Machine.refusal(commandLimit: mailbox.commandLimit)) }
  }

  private mutating func attach(_ id: UInt64, _ sink: @escaping Mailbox.Sink) {
    // What happened before belongs to those who were there.
    handOut()
    sinks.append((id, sink))
    if let newestState, mailbox.willHandOut(1, to: id) { sink([newestState]) }
  }

  private mutating func shutDown(_ now: Instant) {
    guard shutdownDeadline == nil else { return }
    shutdownDeadline = now + options.shutdownPatience
    reopening = nil
    machine.shutdown(now: now, into: &output)
  }

  private mutating func finishRound() {
    send()
    // A kernel that takes frames at once says so at once; each round sends what that makes room for.
    while pipe.hasCompletions {
      receive(clock.now())
      send()
    }
    handOut()
  }

  private mutating func handOut() {
    guard !output.events.isEmpty else { return }
    if let state = output.events.last(where: Machine.isState) { newestState = state }
    for (id, sink) in sinks where mailbox.willHandOut(output.events.count, to: id) { sink(output.events) }
    output.events.removeAll(keepingCapacity: true)
  }
}
