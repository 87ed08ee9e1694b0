internal import BLEHCI
package import BLEHost
internal import BLEL2CAP
package import BLELinux
package import BLEWire
internal import Glibc

/// An open adapter that this process shares with the kernel: the sockets, the poller and the timer of a
/// ``KernelTranslator``.
///
/// An epoll descriptor can itself be watched. The poller of the adapter watches the sockets, and the event loop watches
/// the poller.
package struct KernelAdapter: ~Copyable, Sendable {
  /// The number of commands that can wait while the kernel's queue is full.
  static let commandLimit = 64
  /// The number of PDUs that are read from one link before the other links are read.
  static let readsInTurn = 8
  /// The number of octets of PDUs that the kernel buffers for a link. Later PDUs wait here and do not count as sent.
  static let sendBuffer: Int32 = 16_384
  /// The octets of kernel buffers for each octet of an SDU: a fragment of 27 octets takes about 800.
  static let bufferPerOctet: Int32 = 32
  /// The number of octets of events that the kernel buffers for this process.
  static let eventBuffer: Int32 = 1 << 20
  /// The length of the longest message that is read, in octets: an ATT PDU that fits the buffers of the host, an event
  /// of at most 258 octets, or a management message.
  static let messageLimit = max(Int(KernelTranslator.bufferLength), ManagementSocket.messageLimit)
  /// The longest wait for the end of a discovery before the adapter is closed.
  static let finishPatience = Duration.milliseconds(500)

  private let name: String
  private let index: UInt16
  let identity: DeviceAddress
  let system: SystemCalls
  let events: MessageSocket
  let management: ManagementSocket
  var listener: MessageSocket?
  var sockets: [ConnectionHandle: MessageSocket] = [:]
  var channels: [ChannelSocketID: ChannelSocket] = [:]
  /// Channels whose next SDU waits for ``ReadingOrder``.
  var settling: Set<ChannelSocketID> = []
  /// The listeners of the services that peers open channels to.
  var services: [SPSM: (socket: MessageSocket, mtu: UInt16)] = [:]
  var commands: [[UInt8]] = []

  var poller: Poller
  private var timer: DeadlineTimer
  let clock = MonotonicClock()

  var translator: KernelTranslator
  var output = KernelOutput()
  /// Memory for reuse: that of actions that were performed, and of input that was taken.
  var spareActions = SocketActions()
  private var spareInput = HostInput()
  private var buffer = [UInt8](repeating: 0, count: KernelAdapter.messageLimit)
  /// A buffer as long as the largest SDU of any channel so far.
  var sduBuffer: [UInt8] = []

  /// The sockets of an adapter.
  struct Sockets {
    let events: MessageSocket
    let management: ManagementSocket
    let listener: MessageSocket?
  }

  init(
    _ adapter: AdapterInformation, named name: String, over sockets: Sockets, isPairedByDaemon: Bool,
    through system: SystemCalls
  ) throws(SystemError) {
    let poller = try Poller(capacity: 32)
    let timer = try DeadlineTimer(through: system)
    try poller.watch(sockets.events.descriptor, token: AdapterToken.events, for: .reading)
    try poller.watch(sockets.management.socket.descriptor, token: AdapterToken.management, for: .reading)
    try poller.watch(timer.descriptor, token: AdapterToken.timer, for: .reading)
    if let listener = sockets.listener {
      try poller.watch(listener.descriptor, token: AdapterToken.listener, for: .reading)
    }
    self.init(
      adapter, named: name, over: sockets, poller, timer, isPairedByDaemon: isPairedByDaemon, through: system)
  }

  // This initializer cannot fail, because Swift 6.2.3 rejects its own code for an initializer of a noncopyable type
  // that throws after a property has its initial value.
  private init(
    _ adapter: AdapterInformation, named name: String, over sockets: Sockets, _ poller: consuming Poller,
    _ timer: consuming DeadlineTimer, isPairedByDaemon: Bool, through system: SystemCalls
  ) {
    self.poller = poller
    self.timer = timer
    self.name = name
    index = adapter.index
    identity = adapter.identity
    self.system = system
    events = sockets.events
    management = sockets.management
    listener = sockets.listener
    translator = KernelTranslator(
      adapter, named: name, hasListener: sockets.listener != nil, isPairedByDaemon: isPairedByDaemon)
  }

  /// The input for the host since the last call, in order.
  package mutating func takeInput() -> HostInput {
    swap(&output.input, &spareInput)
    var input = HostInput()
    swap(&input, &spareInput)
    return input
  }

  /// Returns the memory of emptied input for reuse.
  package mutating func reuse(_ input: consuming HostInput) { spareInput = input }

  package mutating func takeNotices() -> [String] { output.takeNotices() }

  /// Whether ``receive()`` returns input although no socket is ready.
  package var hasPendingInput: Bool { translator.hasCompleted }

  /// Reads the sockets. Events come before data, so that a link exists before its first PDU.
  ///
  /// - Throws: ``TransportError`` if the adapter is switched off (`poweredOff`) or removed (`closed`).
  package mutating func receive() throws(TransportError) {
    do throws(SystemError) {
      let count = try poller.wait(until: .start, on: clock)
      translator.reportCompleted(into: &output)
      guard count > 0 else { return }
      if hasEventsReady(count) { try receiveEvents() }
      for position in 0..<count { try handle(poller[position]) }
      if timer.drain() {
        translator.tick(now: clock.now(), into: &output)
        try performActions()
        try serveSettling()
      }
      translator.reportCompleted(into: &output)
      try receiveManagement()
      setTimer()
    } catch { throw failure(error) }
    if let loss = output.loss { throw failure(loss) }
  }

  private func hasEventsReady(_ count: Int) -> Bool {
    (0..<count).contains { poller[$0].token == AdapterToken.events && (poller[$0].canRead || poller[$0].hasEnded) }
  }

  private mutating func handle(_ ready: Poller.Ready) throws(SystemError) {
    switch ready.token {
    case AdapterToken.events: if ready.canWrite { try sendWaitingCommands() }
    case AdapterToken.management, AdapterToken.timer: break
    case AdapterToken.listener: try acceptLinks()
    case AdapterToken.services...: try acceptChannels(SPSM(rawValue: UInt16(truncatingIfNeeded: ready.token)))
    case AdapterToken.channels...: try serve(AdapterToken.channel(ready.token), ready)
    default: try serve(ConnectionHandle(rawValue: UInt16(truncatingIfNeeded: ready.token &- AdapterToken.links)), ready)
    }
  }

  /// Sends complete H4 packets.
  package mutating func send(_ packets: borrowing PacketBuffer) throws(TransportError) {
    do throws(SystemError) {
      for position in 0..<packets.count {
        let packet = packets[position]
        translator.send(packet.span, now: clock.now(), into: &output)
        try performActions()
      }
    } catch { throw failure(error) }
    setTimer()
  }

  /// Performs the host's commands to the kernel, in order.
  package mutating func perform(_ commands: [KernelCommand]) throws(TransportError) {
    do throws(SystemError) {
      for command in commands {
        translator.perform(command, into: &output)
        try performActions()
      }
    } catch { throw failure(error) }
    setTimer()
  }

  /// Sets the timer after a deadline may have changed.
  private mutating func setTimer() { timer.set(.nearer(translator.deadline, settlingDeadline), now: clock.now()) }

  private func failure(_ error: SystemError) -> TransportError {
    switch error.number {
    case ENODEV: failure(.removed)
    case ENETDOWN: failure(.switchedOff)
    default: TransportError(usingAdapter: name, error)
    }
  }

  private func failure(_ loss: AdapterLoss) -> TransportError {
    switch loss {
    case .removed: TransportError(.closed, at: name, "hci\(index) was unplugged", remedy: "Plug it in again.")
    case .switchedOff where RadioSwitch.blocks(hci: index): .blockedByRadioSwitch(hci: index, at: name)
    case .switchedOff:
      TransportError(
        .poweredOff, at: name, "hci\(index) was switched off", remedy: "Run: btmgmt --index \(index) power on")
    }
  }
}

/// The tokens under which the adapter's poller reports readiness.
enum AdapterToken {
  static let events: UInt64 = 0
  static let management: UInt64 = 1
  static let timer: UInt64 = 2
  static let listener: UInt64 = 3
  /// The token of a link is this plus its handle.
  static let links: UInt64 = 1 << 16
  /// The token of a channel's socket is this plus the handle of its link and the number of the socket.
  static let channels: UInt64 = 1 << 60
  /// The token of a service's listener is this plus the SPSM.
  static let services: UInt64 = 1 << 61

  static func channel(_ id: ChannelSocketID) -> UInt64 {
    channels | UInt64(id.handle.rawValue) << 32 | UInt64(id.number)
  }

  static func channel(_ token: UInt64) -> ChannelSocketID {
    ChannelSocketID(
      handle: ConnectionHandle(rawValue: UInt16(truncatingIfNeeded: token >> 32)),
      number: UInt32(truncatingIfNeeded: token))
  }
}

/// Reading.
extension KernelAdapter {
  mutating func receiveEvents() throws(SystemError) {
    while try receiveEvent() { try performActions() }
  }

  private mutating func receiveEvent() throws(SystemError) -> Bool {
    // A local owner, so that the span below does not borrow from this struct.
    var octets: [UInt8] = []
    swap(&octets, &buffer)
    defer { swap(&octets, &buffer) }
    guard let count = try events.receive(into: &octets) else { return false }
    if count == 0 { throw .connectionClosed }
    translator.receive(event: octets.span.extracting(first: count), now: clock.now(), into: &output)
    return true
  }

  private mutating func receiveManagement() throws(SystemError) {
    while output.loss == nil, try receiveManagementMessage() { try performActions() }
  }

  private mutating func receiveManagementMessage() throws(SystemError) -> Bool {
    var octets: [UInt8] = []
    swap(&octets, &buffer)
    defer { swap(&octets, &buffer) }
    guard let count = try management.receive(into: &octets) else { return false }
    translator.receive(management: octets.span.extracting(first: count), now: clock.now(), into: &output)
    return true
  }

  mutating func report(_ event: SocketEvent) throws(SystemError) {
    translator.receive(event, now: clock.now(), into: &output)
    try performActions()
  }

  private mutating func acceptLinks() throws(SystemError) {
    guard let listener else { return }
    while let (socket, peer) = try BluetoothSockets.accept(listener.descriptor, through: system) {
      // The link may have ended meanwhile, and its socket with it.
      guard let handle = try? BluetoothSockets.connectionHandle(of: socket.descriptor, through: system) else {
        continue
      }
      BluetoothSockets.setBuffer(SO_SNDBUF, Self.sendBuffer, of: socket.descriptor)
      try add(socket, handle: handle, peer: peer)
    }
  }

  /// Adds the socket of a link.
  mutating func add(_ socket: MessageSocket, handle: ConnectionHandle, peer: DeviceAddress) throws(SystemError) {
    sockets[handle] = socket
    watch(socket, handle, for: .reading)
    try report(.accepted(handle, from: peer))
  }

  private mutating func serve(_ handle: ConnectionHandle, _ ready: Poller.Ready) throws(SystemError) {
    if ready.canWrite, let socket = sockets[handle] {
      watch(socket, handle, for: .reading)
      try report(.writable(handle))
    }
    guard ready.canRead || ready.hasEnded else { return }
    try report(.readable(handle))
    guard let socket = sockets[handle] else { return }
    do throws(SystemError) {
      for _ in 0..<Self.readsInTurn {
        guard try receivePDU(handle, socket) else { break }
      }
    } catch {
      // ECONNRESET, or EACCES after a failed authentication. The HCI event of the link contains the reason.
      drain(handle)
      try report(.failed(handle))
    }
  }

  private mutating func receivePDU(
    _ handle: ConnectionHandle, _ socket: MessageSocket
  ) throws(SystemError) -> Bool {
    var octets: [UInt8] = []
    swap(&octets, &buffer)
    defer { swap(&octets, &buffer) }
    guard let count = try socket.receive(into: &octets) else { return false }
    guard count > 0 else { throw SystemError(.receive, ECONNRESET) }
    translator.receive(pdu: octets.span.extracting(first: count), on: handle, into: &output)
    return true
  }

  /// Reads a link's socket to its end.
  ///
  /// The kernel reports an error once, before the data that arrived earlier. Reading continues after the error.
  mutating func drain(_ handle: ConnectionHandle) {
    guard let socket = sockets[handle] else { return }
    for _ in 0..<2 {
      do throws(SystemError) {
        while try receivePDU(handle, socket) {}
      } catch {
        // ECONNRESET, EACCES, or the end.
      }
    }
  }

  func watch(_ socket: MessageSocket, _ handle: ConnectionHandle, for interest: Poller.Interest) {
    // This fails only if the system has no memory. The link then ends by its own timeout.
    try? poller.watch(socket.descriptor, token: AdapterToken.links + UInt64(handle.rawValue), for: interest)
  }
}

extension KernelAdapter: AdapterConnection {
  package static var purpose: AdapterConfiguration.Purpose { .sharing }

  package static func open(
    _ adapter: AdapterInformation, named name: String, configuredBy configuration: AdapterConfiguration,
    through system: SystemCalls
  ) throws(SystemError) -> KernelAdapter {
    // The links are read before the sockets are watched, because events that arrive during a request are dropped.
    let devices = try configuration.management.connections(adapter.index)
    let raw = try BluetoothSockets.hci(.raw(adapter.index), through: system)
    try BluetoothSockets.setFilter(on: raw, events: KernelTranslator.wantedEvents, through: system)
    BluetoothSockets.setBuffer(SO_RCVBUFFORCE, eventBuffer, of: raw)
    let events = MessageSocket(raw)
    var probe: [UInt8] = []
    probe.append(hci: KernelDiscovery.Probe())
    // A process without the capability cannot send commands. Opening fails here, with that reason.
    _ = try events.send(probe.span)
    let listener = try openListener(at: adapter.identity, through: system)
    let sockets = Sockets(events: events, management: configuration.management, listener: listener)
    var opened = try KernelAdapter(
      adapter, named: name, over: sockets, isPairedByDaemon: configuration.isPairedByDaemon, through: system)
    opened.output.input.append(.sentCommand) { $0 += probe }
    opened.announceLinks(to: devices)
    return opened
  }

  /// Announces the links that other programs made as a central.
  ///
  /// - Parameter devices: the devices that the adapter has links to. The list of links does not contain the types of
  ///   their addresses.
  private mutating func announceLinks(to devices: [DeviceAddress]) {
    do throws(SystemError) {
      let links = try BluetoothSockets.links(of: index, through: system, events.descriptor)
      let existing = links.filter { $0.role == .central }.compactMap { link in
        devices.first { $0.octets == link.peer }.map { (link.handle, $0) }
      }
      translator.announce(existing, into: &output)
    } catch {
      output.log("\(name): the links of other programs are not known (\(error)).")
    }
  }

  package func watch(on poller: borrowing Poller, token: UInt64, for interest: Poller.Interest) throws(SystemError) {
    try poller.watch(self.poller.descriptor, token: token, for: .reading)
  }

  package func unwatch(on poller: borrowing Poller) { poller.unwatch(self.poller.descriptor) }

  /// Ends a discovery whose end the kernel has not processed yet.
  package mutating func finish() {
    translator.finish(into: &output)
    let deadline = clock.now() + Self.finishPatience
    do throws(SystemError) {
      try performActions()
      while !translator.isFinished, clock.now() < deadline {
        try poller.wait(until: deadline, on: clock)
        try receiveEvents()
        while try management.receive(into: &buffer) != nil {}
      }
    } catch { return }
  }
}
