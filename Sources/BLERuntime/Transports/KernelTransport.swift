internal import BLEKernel
internal import BLELinux
internal import BLESMP
internal import BLEWire

/// An adapter of this machine: shared with the kernel (`linux`), or taken from it (`hci-socket:N`).
struct KernelTransport: ~Copyable, HCITransport {
  let name: String
  private let mode: KernelPort.Mode
  private var port: KernelPort?

  init(_ mode: KernelPort.Mode, named name: String) {
    self.name = name
    self.mode = mode
    port = nil
  }

  mutating func open(patience: Duration) throws(TransportError) {
    port = try KernelPort.open(mode, named: name)
  }

  var isOpen: Bool {
    switch port {
    case .some(let port): port.isOpen
    case .none: false
    }
  }

  mutating func accept() throws(TransportError) -> Bool { try port?.accept() ?? false }
  mutating func reopen() throws(TransportError) {}
  var reopensAtOnce: Bool { true }

  func watchOpening(on poller: borrowing Poller, token: UInt64) throws(SystemError) -> Duration? {
    switch port {
    case .some(let port): try port.watchPort(on: poller, token: token)
    case .none: break
    }
    return nil
  }

  func unwatchOpening(on poller: borrowing Poller) {
    switch port {
    case .some(let port): port.unwatchPort(on: poller)
    case .none: break
    }
  }

  mutating func takeUnavailability() -> TransportError? { port?.takeAbsence() }

  mutating func receive(into handler: inout some PacketHandler & ~Copyable) throws(TransportError) {
    recordOwnCommands(&handler)
    try port?.receive { packet, report in
      if let report { handler.receive(report) } else { handler.receive(packet) }
    }
    recordOwnCommands(&handler)
  }

  private mutating func recordOwnCommands(_ handler: inout some PacketHandler & ~Copyable) {
    for command in port?.takeOwnCommands() ?? [] { handler.record(sent: command.span) }
  }

  var hasPendingInput: Bool {
    switch port {
    case .some(let port): port.hasCompletions
    case .none: false
    }
  }

  mutating func send(_ packets: borrowing PacketBuffer) throws(TransportError) { try port?.send(packets) }
  mutating func perform(_ directives: [SecurityDirective]) throws(TransportError) {
    try port?.perform(directives)
  }

  var hasBacklog: Bool {
    switch port {
    case .some(let port): port.hasBacklog
    case .none: false
    }
  }

  mutating func flush() throws(TransportError) { try port?.flush() }

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

  mutating func close(after error: TransportError) { port?.lost(error) }
  mutating func end() { port?.end() }
  mutating func takeNotices() -> [String] { [port?.takeNotice()].compactMap(\.self) }
}
