internal import BLEHost
internal import BLEKernel
internal import BLELinux
internal import BLEWire

/// An adapter that is shared with the kernel and other programs (`linux`, `linux:hci0`, `linux:ADDRESS`).
typealias KernelTransport = AdapterTransport<KernelAdapter>

/// An adapter that is taken from the kernel (`hci-socket:N`).
typealias UserChannelTransport = AdapterTransport<UserChannel>

/// An adapter of this machine. ``AdapterPort`` opens it, and `Connection` is the open adapter.
struct AdapterTransport<Connection: PacketConnection & ~Copyable>: ~Copyable, HCITransport {
  let name: String
  private let choice: AdapterChoice
  /// Nil before the first opening and after the end.
  private var port: AdapterPort<Connection>?

  init(_ choice: AdapterChoice, named name: String) {
    self.name = name
    self.choice = choice
    port = nil
  }

  mutating func open(patience: Duration) throws(TransportError) {
    var port = try AdapterPort<Connection>(choice, named: name)
    try port.open()
    self.port = consume port
  }

  var isOpen: Bool {
    switch port {
    case .some(let port): port.isOpen
    case .none: false
    }
  }

  mutating func accept() throws(TransportError) -> Bool { try port?.accept() ?? false }

  /// Does nothing, because the kernel reports when the adapter is available again.
  mutating func reopen() throws(TransportError) {}
  var reopensAtOnce: Bool { true }

  func watchOpening(on poller: borrowing Poller, token: UInt64) throws(SystemError) -> Duration? {
    switch port {
    case .some(let port): try port.watchOpening(on: poller, token: token)
    case .none: break
    }
    return nil
  }

  func unwatchOpening(on poller: borrowing Poller) {
    switch port {
    case .some(let port): port.unwatchOpening(on: poller)
    case .none: break
    }
  }

  mutating func takeUnavailability() -> TransportError? { port?.takeUnavailability() }

  mutating func receive(into handler: inout some PacketHandler & ~Copyable) throws(TransportError) {
    try port?.connection?.receive(into: &handler)
  }

  var hasPendingInput: Bool {
    switch port {
    case .some(let port):
      switch port.connection {
      case .some(let connection): connection.hasPendingInput
      case .none: false
      }
    case .none: false
    }
  }

  mutating func send(_ packets: borrowing PacketBuffer) throws(TransportError) { try port?.connection?.send(packets) }

  mutating func perform(_ commands: [KernelCommand]) throws(TransportError) {
    try port?.connection?.perform(commands)
  }

  var hasBacklog: Bool {
    switch port {
    case .some(let port):
      switch port.connection {
      case .some(let connection): connection.hasBacklog
      case .none: false
      }
    case .none: false
    }
  }

  mutating func flush() throws(TransportError) { try port?.connection?.flush() }

  func watch(on poller: borrowing Poller, token: UInt64, for interest: Poller.Interest) throws(SystemError) {
    switch port {
    case .some(let port): try port.watch(on: poller, token: token, for: interest)
    case .none: break
    }
  }

  func unwatch(on poller: borrowing Poller) {
    switch port {
    case .some(let port): port.unwatch(on: poller)
    case .none: break
    }
  }

  mutating func close(after error: TransportError) { port?.close(after: error) }

  mutating func end() {
    port?.end()
    port = nil
  }

  mutating func takeNotices() -> [String] { port?.connection?.takeNotices() ?? [] }
}

/// The part of ``HCITransport`` that is about packets, for an open adapter.
protocol PacketConnection: AdapterConnection, ~Copyable {
  mutating func receive(into handler: inout some PacketHandler & ~Copyable) throws(TransportError)
  var hasPendingInput: Bool { get }
  mutating func send(_ packets: borrowing PacketBuffer) throws(TransportError)
  mutating func perform(_ commands: [KernelCommand]) throws(TransportError)
  var hasBacklog: Bool { get }
  mutating func flush() throws(TransportError)
  mutating func takeNotices() -> [String]
}

extension KernelAdapter: PacketConnection {
  mutating func receive(into handler: inout some PacketHandler & ~Copyable) throws(TransportError) {
    do throws(TransportError) {
      try receive()
    } catch {
      deliverInput(to: &handler)
      throw error
    }
    deliverInput(to: &handler)
  }

  private mutating func deliverInput(to handler: inout some PacketHandler & ~Copyable) {
    var input = takeInput()
    var position = 0
    for item in input.items {
      if case .report(let report) = item {
        handler.receive(report)
        continue
      }
      let octets = input.octets[position]
      position += 1
      if item == .packet { handler.receive(octets.span) } else { handler.record(sent: octets.span) }
    }
    input.removeAll()
    reuse(input)
  }

  /// Always false, because the host counts the buffers of an adapter: a frame that the kernel does not accept yet is
  /// not reported as completed.
  var hasBacklog: Bool { false }
  mutating func flush() throws(TransportError) {}
}

extension UserChannel: PacketConnection {
  mutating func receive(into handler: inout some PacketHandler & ~Copyable) throws(TransportError) {
    try receive { handler.receive($0) }
  }

  var hasPendingInput: Bool { false }
  mutating func perform(_ commands: [KernelCommand]) throws(TransportError) {}
  mutating func takeNotices() -> [String] { [] }
}
