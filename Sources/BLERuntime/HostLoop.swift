internal import BLEHCI
internal import BLEHost
internal import BLELinux
internal import BLEWire

/// The event loop of one host. It owns the machine and its transport and runs on a thread of its own.
///
/// One round:
///
/// 1. **Wait** until the mailbox or the transport is ready, or until the nearest deadline.
/// 2. **Commands**: take everything from the mailbox, in order.
/// 3. **Input**: flush the transport if it can send again, then receive; each packet is traced, then passed to the
///    machine.
/// 4. **Time**: open or accept again if that is due, then `tick`.
/// 5. **Output**: send commands to the kernel, then all packets in one call; packets are traced first.
/// 6. **Events**: one batch to each sink that an event is addressed to. Commands that a sink has posted meanwhile are
///    performed in the same round, and their output is sent.
///
/// The connection:
///
/// ```
///   opening ── accepted ──► open ── end, malformed input, full backlog ──► closed
///      ▲                                                                      │ after the reconnection interval
///      └──────────────────────────────────────────────────────────────────────┘
/// ```
struct HostLoop<Machine: HostMachine, Transport: HCITransport & ~Copyable>: ~Copyable {
  typealias Mailbox = HostMailbox<Machine.Command, Machine.Event>

  private var stack: TracedMachine<Machine>
  private var transport: Transport
  private let options: LoopOptions
  private var poller: Poller
  /// Ends a wait at the nearest deadline.
  private var timer: DeadlineTimer
  private let clock = MonotonicClock()

  private let mailbox: Mailbox
  private var items = Mailbox.Items()
  private var sinks: [(owner: OwnerID, sink: Mailbox.Sink)] = []
  /// The events for one sink, which may exchange the array for other memory.
  private var batch: [Machine.Event] = []

  /// The events of the open transport that the poller watches for.
  private var interest: Poller.Interest = []
  private var sentPackets: UInt64 = 0
  private var lastFailure: TransportError?
  /// Whether the last wait has failed.
  private var hasFailedToWait = false
  private var reopenTime: Instant?
  private var acceptTime: Instant?
  private var shutdownDeadline: Instant?

  // This initializer cannot fail, because Swift 6.2.3 rejects its own code for an initializer of a noncopyable type
  // that throws after a property has its initial value.
  init(
    _ machine: Machine, on transport: consuming Transport, tracedBy trace: consuming PacketTrace?, mailbox: Mailbox,
    poller: consuming Poller, timer: consuming DeadlineTimer, options: LoopOptions
  ) {
    self.poller = poller
    self.timer = timer
    stack = TracedMachine(machine, tracedBy: trace, now: clock.now())
    self.transport = transport
    self.mailbox = mailbox
    self.options = options
  }

  /// Starts a thread that runs the loop on a transport whose first opening has succeeded.
  ///
  /// - Returns: the mailbox of the loop.
  static func start(
    _ machine: Machine, on transport: consuming Transport, tracedBy trace: consuming PacketTrace? = nil,
    options: LoopOptions
  ) throws(TransportError) -> Mailbox {
    let name = transport.name
    do throws(SystemError) {
      let mailbox = try Mailbox(
        commandLimit: options.commandLimit, eventBacklogLimit: options.eventBacklogLimit,
        isRefusable: Machine.isRefusable)
      let timer = try DeadlineTimer()
      let poller = try makePoller(for: mailbox, timer)
      let loop = OneShot(
        HostLoop(
          machine, on: transport, tracedBy: trace, mailbox: mailbox, poller: poller, timer: timer, options: options))
      try LoopThread.start {
        loop.take()?.run()
        // The transport is already closed.
        mailbox.close()
      }
      return mailbox
    } catch {
      throw TransportError(.inputOutput, at: name, "the event loop cannot be started", cause: error)
    }
  }

  /// A poller for a loop with this mailbox and this timer.
  static func makePoller(for mailbox: Mailbox, _ timer: borrowing DeadlineTimer) throws(SystemError) -> Poller {
    let poller = try Poller()
    try poller.watch(mailbox.waker.descriptor, token: Token.mailbox, for: .reading)
    try poller.watch(timer.descriptor, token: Token.timer, for: .reading)
    return poller
  }

  /// Runs until the machine is shut down.
  consuming func run() {
    if transport.isOpen { start() }
    reportUnavailability()
    finishRound()
    while !isOver {
      do throws(SystemError) { try round() } catch { waitFailed(error) }
    }
    finishRound()
    mailbox.count(received: stack.receivedPackets, sent: sentPackets)
    // This precedes the report of the end, so that a program that waits for the report finds the adapter's settings
    // restored.
    transport.end()
  }
}

/// The tokens under which the poller reports readiness.
private enum Token {
  static let mailbox: UInt64 = 0
  static let opening: UInt64 = 1
  static let transport: UInt64 = 2
  static let timer: UInt64 = 3
}

/// Waiting.
extension HostLoop where Transport: ~Copyable {
  private mutating func round() throws(SystemError) {
    let hasItems = try prepareToWait()
    let deadline = stack.machine.deadline
    if !hasItems { timer.set(by: .nearer(deadline, ownDeadline), on: clock) }
    let count = try poller.wait(until: hasItems ? stack.now : nil, on: clock)
    hasFailedToWait = false
    stack.now = clock.now()
    var isWoken = hasItems
    if poller.reports(Token.mailbox) {
      mailbox.waker.drain()
      isWoken = true
    }
    // The mailbox is first, so that a sink that was attached before a packet arrived receives the events of the packet.
    if isWoken { takeItems() }
    for index in 0..<count { handle(poller[index]) }
    if let reopenTime, reopenTime <= stack.now { reopen() }
    if let acceptTime, acceptTime <= stack.now { accept() }
    if let deadline, deadline <= stack.now { tickIfDue() }
    guard finishRound() else { return }
    // The machine reports it when it fails.
    if transport.isServer { makeRoomIfFailed() }
    // Take the items that a sink has posted.
    if takeItems() { finishRound() }
  }

  /// The system does not report input, for example because it lacks memory. The transport counts as lost, and is opened
  /// again when the system recovers: a loop that ended would leave a program that runs without its adapter.
  private mutating func waitFailed(_ error: SystemError) {
    // The next attempt would probably fail at once. A command ends this wait.
    if hasFailedToWait, mailbox.waker.wait(atMost: .seconds(1)) { mailbox.waker.drain() }
    hasFailedToWait = true
    stack.now = clock.now()
    let failure = TransportError(.inputOutput, at: transport.name, "the event loop failed", cause: error)
    if transport.isOpen { transportFailed(failure) } else { openingFailed(failure) }
    takeItems()
    tickIfDue()
    finishRound()
  }

  private var isOver: Bool {
    guard let shutdownDeadline else { return false }
    if shutdownDeadline <= stack.now { return true }
    return stack.machine.isShutDown && (!transport.isOpen || !transport.hasBacklog)
  }

  /// The nearest deadline of the loop itself.
  private var ownDeadline: Instant? { .nearer(reopenTime, .nearer(acceptTime, shutdownDeadline)) }

  /// - Returns: whether the mailbox has items. The loop then does not wait.
  private mutating func prepareToWait() throws(SystemError) -> Bool {
    let (isHeldBack, hasItems) = mailbox.prepareToWait(received: stack.receivedPackets, sent: sentPackets)
    guard transport.isOpen else {
      interest = []
      if reopenTime == nil, acceptTime == nil {
        acceptTime = try transport.watchOpening(on: poller, token: Token.opening).map { stack.now + $0 }
      }
      return hasItems
    }
    var wanted: Poller.Interest = isHeldBack ? [] : .reading
    if transport.hasBacklog { wanted.insert(.writing) }
    guard wanted.rawValue != interest.rawValue else { return hasItems }
    // A descriptor that is watched without any interest still reports its end repeatedly.
    if wanted.isEmpty {
      transport.unwatch(on: poller)
    } else {
      try transport.watch(on: poller, token: Token.transport, for: wanted)
    }
    interest = wanted
    return hasItems
  }

  private mutating func handle(_ ready: Poller.Ready) {
    switch ready.token {
    case Token.mailbox: break
    case Token.timer: _ = timer.drain()
    case Token.opening: if reopenTime == nil { accept() }
    default:
      if ready.canWrite { flush() }
      if ready.canRead || ready.hasEnded { receive() }
    }
  }
}

/// The transport, and time.
extension HostLoop where Transport: ~Copyable {
  private mutating func start() { stack.machine.start(now: stack.now, into: &stack.output) }

  /// Anything that the input of this round has made due waits for the next round, which follows at once.
  private mutating func tickIfDue() {
    guard let deadline = stack.machine.deadline, deadline <= stack.now else { return }
    stack.machine.tick(now: stack.now, into: &stack.output)
  }

  private mutating func receive() {
    guard transport.isOpen else { return }
    do throws(TransportError) {
      try transport.receive(into: &stack)
    } catch { transportFailed(error) }
    reportNotices()
  }

  private mutating func flush() {
    guard transport.isOpen else { return }
    do throws(TransportError) {
      try transport.flush()
    } catch { transportFailed(error) }
  }

  /// Sends commands to the kernel before packets, because they can determine how it answers the effects of a
  /// packet.
  private mutating func send() {
    if !stack.output.kernelCommands.isEmpty { sendKernelCommands() }
    guard !stack.output.packets.isEmpty else { return }
    defer { stack.output.packets.removeAll() }
    guard transport.isOpen else { return }
    stack.traceOutput()
    sentPackets &+= UInt64(stack.output.packets.count)
    do throws(TransportError) {
      try transport.send(stack.output.packets)
    } catch {
      stack.now = clock.now()
      transportFailed(error)
    }
  }

  private mutating func sendKernelCommands() {
    let commands = stack.output.kernelCommands
    stack.output.kernelCommands.removeAll(keepingCapacity: true)
    guard transport.isOpen else { return }
    do throws(TransportError) {
      try transport.perform(commands)
    } catch {
      stack.now = clock.now()
      transportFailed(error)
    }
    reportNotices()
  }

  private mutating func transportFailed(_ error: TransportError) {
    lastFailure = error
    transport.close(after: error)
    interest = []
    stack.transportFailed(error)
    planReopening(transport.reopensAtOnce ? stack.now : stack.now + (options.reconnectionInterval ?? .zero))
  }

  /// Closes the connection of a program that cannot be used as a controller, such as one that connects and sends
  /// nothing, so that it does not keep others out. The state of the machine stays until the next one has connected.
  private mutating func makeRoomIfFailed() {
    guard transport.isOpen, stack.machine.hasFailed else { return }
    let text =
      "the program that has connected cannot be used as a controller, and is disconnected: another one can connect"
    stack.report(.notice("\(transport.name): \(text)"))
    transport.close(after: TransportError(.closed, at: transport.name, text))
    interest = []
    planReopening(stack.now)
  }

  private mutating func accept() {
    acceptTime = nil
    guard !transport.isOpen else { return }
    do throws(TransportError) {
      guard try transport.accept() else { return reportUnavailability() }
      transport.unwatchOpening(on: poller)
      start()
    } catch { openingFailed(error) }
  }

  private mutating func reopen() {
    reopenTime = nil
    do throws(TransportError) {
      try transport.reopen()
    } catch { return openingFailed(error) }
    accept()
  }

  /// Logs a failed attempt, unless the attempt before failed in the same way.
  private mutating func openingFailed(_ error: TransportError) {
    if error != lastFailure { stack.report(.notice("\(error)")) }
    lastFailure = error
    transport.unwatchOpening(on: poller)
    planReopening(stack.now + (options.reconnectionInterval ?? .zero))
  }

  private mutating func planReopening(_ time: Instant) {
    reopenTime = options.reconnectionInterval == nil || shutdownDeadline != nil ? nil : time
  }

  private mutating func reportUnavailability() {
    if let reason = transport.takeUnavailability() { stack.transportFailed(reason) }
  }

  private mutating func reportNotices() {
    for notice in transport.takeNotices() { stack.report(.notice(notice)) }
  }
}

/// The mailbox.
extension HostLoop where Transport: ~Copyable {
  /// - Returns: whether there were items.
  @discardableResult
  private mutating func takeItems() -> Bool {
    let refused = mailbox.take(into: &items, staysAwake: true)
    guard !items.items.isEmpty || !refused.isEmpty else { return false }
    var taken = Mailbox.Items()
    swap(&taken, &items)
    var (start, firstLength) = (0, 0)
    for index in taken.items.indices {
      switch taken.items[index] {
      case .command(let command, let owner, let count):
        let octets = taken.octets.memory.span.extracting(start..<start + count)
        stack.machine.perform(command, octets, from: owner, now: stack.now, into: &stack.output)
        start += count
      case .updates(let run):
        let octets = taken.octets.memory.span.extracting(start..<start + run.octets)
        let lengths = taken.lengths.span.extracting(firstLength..<firstLength + run.count)
        stack.machine.update(run, lengths, octets, now: stack.now, into: &stack.output)
        start += run.octets
        firstLength += run.count
      case .attach(let owner, let sink): attach(owner, sink)
      case .detach(let owner):
        sinks.removeAll { $0.owner == owner }
        stack.machine.detach(owner, now: stack.now, into: &stack.output)
      case .shutdown: shutDown()
      }
    }
    taken.removeAll()
    swap(&taken, &items)
    for owner in refused {
      stack.report(.commandsRefused(limit: mailbox.commandLimit), to: owner == .process ? .everyone : .owner(owner))
    }
    return true
  }

  private mutating func attach(_ owner: OwnerID, _ sink: @escaping Mailbox.Sink) {
    // Earlier events go only to the sinks that were attached at that time.
    deliverEvents()
    sinks.append((owner, sink))
    stack.machine.attach(owner, now: stack.now, into: &stack.output)
    deliverEvents()
  }

  private mutating func shutDown() {
    guard shutdownDeadline == nil else { return }
    shutdownDeadline = stack.now + options.shutdownPatience
    reopenTime = nil
    stack.machine.shutdown(now: stack.now, into: &stack.output)
  }

  /// - Returns: whether a sink was called.
  @discardableResult
  private mutating func finishRound() -> Bool {
    send()
    // Sending can cause input at once, such as completed packets of the kernel adapter. That input can allow more
    // output.
    while transport.hasPendingInput {
      stack.now = clock.now()
      receive()
      send()
    }
    return !stack.output.events.isEmpty && deliverEvents()
  }

  /// This is not a function of the output, because in another module it would not be specialized. Only the needed part
  /// of an element is copied.
  private static func append(
    _ events: [AddressedEvent<Machine.Event>], for owner: OwnerID, to batch: inout [Machine.Event]
  ) {
    let events = events.span
    for index in events.indices where events[index].recipient.includes(owner) { batch.append(events[index].event) }
  }

  /// - Returns: whether there were events.
  @discardableResult
  private mutating func deliverEvents() -> Bool {
    guard !stack.output.events.isEmpty else { return false }
    for (owner, sink) in sinks {
      Self.append(stack.output.events, for: owner, to: &batch)
      if !batch.isEmpty, mailbox.willDeliver(batch.count, to: owner) {
        let handled = sink(&batch)
        if handled > 0 { mailbox.consumed(handled, by: owner) }
      }
      batch.removeFew()
    }
    stack.output.events.removeFew()
    return true
  }
}
