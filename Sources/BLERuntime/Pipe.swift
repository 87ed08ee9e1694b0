internal import BLEKernel
internal import BLELinux
internal import BLESMP
internal import BLEWire

/// The loop's way to the controller: the open stream and the port that gives a new one when it is lost, or an adapter of
/// this machine, which is both in one.
struct Pipe: ~Copyable, Sendable {
  /// How it is named in errors.
  let name: String
  let isServer: Bool
  private let place: TransportLabel
  private var port: StreamPort?
  private var stream: H4Stream?
  private var kernel: KernelPort?

  /// Begins to open `endpoint`.
  init(opening endpoint: StreamEndpoint, through system: SystemCalls = .kernel) throws(TransportError) {
    var port = StreamPort(endpoint, through: system)
    try port.open()
    self.port = consume port
    stream = nil
    name = "\(endpoint)"
    isServer = endpoint.isServer
    place = .endpoint(endpoint)
    kernel = nil
  }

  /// Takes a stream that has no port: once lost it does not come back.
  init(_ stream: consuming ByteStream, named name: String) {
    self.name = name
    isServer = false
    place = .inProcess(name)
    self.stream = H4Stream(stream, at: .inProcess(name))
    port = nil
    kernel = nil
  }

  /// Takes an adapter of this machine; it tells by itself when it is back.
  init(_ kernel: consuming KernelPort) {
    name = kernel.name
    isServer = true
    place = .inProcess(kernel.name)
    self.kernel = consume kernel
    stream = nil
    port = nil
  }

  /// Why the pipe is not open, when that is news.
  mutating func takeAbsence() -> TransportError? { kernel?.takeAbsence() }

  var isOpen: Bool {
    if stream != nil { return true }
    switch kernel {
    case .some(let kernel): return kernel.isOpen
    case .none: return false
    }
  }

  var hasBacklog: Bool {
    switch kernel {
    case .some(let kernel): return kernel.hasBacklog
    case .none: break
    }
    switch stream {
    case .some(let stream): return stream.hasBacklog
    case .none: return false
    }
  }

  /// Whether ``receive(_:)`` has something although no descriptor says so.
  var hasCompletions: Bool {
    switch kernel {
    case .some(let kernel): kernel.hasCompletions
    case .none: false
    }
  }

  /// A line for the log, once.
  mutating func takeNotice() -> String? { kernel?.takeNotice() }

  /// Commands that the host did not send, oldest first.
  mutating func takeOwnCommands() -> [[UInt8]] { kernel?.takeOwnCommands() ?? [] }

  /// The TCP port that a server listens on.
  var listeningPort: UInt16? {
    switch port {
    case .some(let port): port.port
    case .none: nil
    }
  }

  /// Waits until a client is connected.
  mutating func waitForConnection(atMost patience: Duration) throws(TransportError) {
    let clock = MonotonicClock()
    let deadline = clock.now() + patience
    while true {
      if try acceptStream() { return }
      if clock.now() >= deadline {
        throw TransportError(
          .unavailable, at: name, "no answer in \(patience)",
          remedy: "check the address, then start the controller again")
      }
      do throws(SystemError) {
        var poller = try Poller(capacity: 1)
        let again = try watchPort(on: poller, token: 0).map { clock.now() + $0 }
        try poller.wait(until: .nearer(deadline, again), on: clock)
      } catch { throw place.failure(error) }
    }
  }

  /// Takes the stream from the port, once it is there.
  mutating func acceptStream() throws(TransportError) -> Bool {
    if let isThere = try kernel?.accept() { return isThere }
    guard let accepted = try port?.accept() else { return false }
    stream = H4Stream(accepted, at: place)
    return true
  }

  /// Closes the stream and keeps the port.
  mutating func close(after error: TransportError) {
    stream = nil
    kernel?.lost(error)
  }

  /// Closes all; an adapter is put back as it was.
  mutating func end() {
    stream = nil
    port = nil
    kernel?.end()
    kernel = nil
  }

  mutating func reopen() throws(TransportError) { try port?.open() }

  /// Hands out what has come; only an adapter of this machine has reports.
  mutating func receive(_ body: Intake) throws(TransportError) {
    try stream?.receive { body($0, nil) }
    try kernel?.receive(body)
  }

  mutating func send(_ packets: borrowing PacketBuffer) throws(TransportError) {
    try stream?.send(packets)
    try kernel?.send(packets)
  }

  /// Asks the system's security manager, where there is one.
  mutating func perform(_ directives: [SecurityDirective]) throws(TransportError) { try kernel?.perform(directives) }

  mutating func flush() throws(TransportError) {
    try stream?.flush()
    try kernel?.flush()
  }

  func watchPort(on poller: borrowing Poller, token: UInt64) throws(SystemError) -> Duration? {
    switch kernel {
    case .some(let kernel):
      try kernel.watchPort(on: poller, token: token)
      return nil
    case .none: break
    }
    switch port {
    case .some(let port): return try port.watch(on: poller, token: token)
    case .none: return nil
    }
  }

  func unwatchPort(on poller: borrowing Poller) {
    switch kernel {
    case .some(let kernel): kernel.unwatchPort(on: poller)
    case .none: break
    }
    switch port {
    case .some(let port): port.unwatch(on: poller)
    case .none: break
    }
  }

  func watchStream(
    on poller: borrowing Poller, token: UInt64, for interest: Poller.Interest
  ) throws(SystemError) {
    switch kernel {
    case .some(let kernel): try kernel.watch(on: poller, token: token, for: interest)
    case .none: break
    }
    switch stream {
    case .some(let stream): try poller.watch(stream.stream.descriptor, token: token, for: interest)
    case .none: break
    }
  }

  func unwatchStream(on poller: borrowing Poller) {
    switch kernel {
    case .some(let kernel): kernel.unwatch(on: poller)
    case .none: break
    }
    switch stream {
    case .some(let stream): poller.unwatch(stream.stream.descriptor)
    case .none: break
    }
  }
}
