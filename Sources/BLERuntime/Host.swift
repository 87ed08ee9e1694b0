package import BLECrypto
package import BLEHost
package import BLELinux

/// The application's end of one stack: commands go in from any thread, events come out on the stack's own.
///
/// A host lives while somebody holds it or one of its attachments; then the stack is shut down (advertising off, links
/// ended) and its thread ends.
///
/// ```swift
/// let host = try Host.shared(LaunchOptions.transport())
/// let attachment = host.attach { events in print(events) }
/// host.post(.stopScanning)
/// ```
package final class Host: Sendable {
  package let transport: TransportSpec
  /// The TCP port that `tcp-server:…` listens on; the one that was free where 0 was asked for.
  package let listeningPort: UInt16?
  /// Where the trace goes, if anywhere.
  package let tracePath: String?
  let mailbox: HostMailbox<HostCommand, HostEvent>

  init(
    _ transport: TransportSpec, mailbox: HostMailbox<HostCommand, HostEvent>, listeningPort: UInt16?, tracePath: String?
  ) {
    self.transport = transport
    self.mailbox = mailbox
    self.listeningPort = listeningPort
    self.tracePath = tracePath
  }

  deinit { mailbox.shutDown() }

  /// Posts a command; commands are performed in the order they were posted. The call never waits.
  ///
  /// - Returns: false where the command was refused: the stack has ended, or ``LoopOptions/commandLimit`` commands wait
  ///   already, which ``HostEvent/refused(_:)`` says too.
  @discardableResult
  package func post(_ command: HostCommand) -> Bool { mailbox.post(command) }

  /// Lets `sink` hear every event from now on, the newest ``HostEvent/state(_:_:)`` first.
  ///
  /// `sink` is called on the stack's thread with batches in order, until the attachment is let go. It must not wait; it
  /// may post.
  package func attach(_ sink: @escaping @Sendable ([HostEvent]) -> Void) -> HostAttachment {
    HostAttachment(host: self, id: mailbox.attach(sink))
  }

  /// The application has really taken so many of the events handed out, whichever attachment they went to.
  ///
  /// While one sink has more than ``LoopOptions/eventBacklogLimit`` events before it, the transport is left unread and
  /// the controller thereby held back; below half of the limit it is read again. ``HostAttachment/consumed(_:)`` counts
  /// exactly where there are several.
  package func consumed(_ count: Int) { mailbox.consumed(count) }

  /// Ends the stack although it is still held: advertising off, links ended. Commands are refused from then on.
  package func shutDown() { mailbox.shutDown() }

  /// Waits until the stack has ended and let go of its transport.
  @discardableResult
  package func waitUntilEnded(atMost patience: Duration) -> Bool { mailbox.waitUntilEnded(atMost: patience) }

  /// Shuts every host of the process down and waits for them: what a program does last, after SIGINT and SIGTERM too.
  ///
  /// - Returns: whether all have ended in time.
  @discardableResult
  package static func shutDownAll(atMost patience: Duration = .seconds(4)) -> Bool {
    HostRegistry.shared.shutDownAll(atMost: patience)
  }
}

/// One listener of a host; its sink hears nothing more once it is let go.
package final class HostAttachment: Sendable {
  private let host: Host
  private let id: UInt64

  init(host: Host, id: UInt64) {
    self.host = host
    self.id = id
  }

  deinit { host.mailbox.detach(id) }

  /// The owner of this sink has really taken so many of its events.
  package func consumed(_ count: Int) { host.mailbox.consumed(count, by: id) }
}

extension Host {
  /// The host of a transport: one for all who ask in this process.
  ///
  /// It opens the transport and begins to bring the controller up; ``HostEvent/state(_:_:)`` tells the rest. A client's
  /// connection is waited for, a server's and a pseudo-terminal's is not. `options` count only for the one who asks first.
  ///
  /// - Throws: ``TransportError`` that says what failed, where, and what mends it.
  package static func shared(
    _ transport: TransportSpec, _ options: HostOptions = HostOptions(), cryptography: any Cryptography = LibCrypto(),
    random: RandomSource = .system
  ) throws(TransportError) -> Host {
    var configuration = options.configuration
    if case .linux = transport { configuration.ownership = .sharedWithKernel }
    return try shared(transport, options) {
      HostCore(configuration: configuration, cryptography: cryptography, random: random)
    }
  }

  static func shared<Machine: HostMachine>(
    _ transport: TransportSpec, _ options: HostOptions, machine: () -> Machine
  ) throws(TransportError) -> Host where Machine.Command == HostCommand, Machine.Event == HostEvent {
    try HostRegistry.shared.host(of: transport, patience: options.loop.shutdownPatience) {
      () throws(TransportError) in
      try transport.makeTransport(for: HostStart(machine: machine(), transport: transport, options: options))
    }
  }
}

/// Opens a transport and starts a host over it.
private struct HostStart<Machine: HostMachine>: TransportUser
where Machine.Command == HostCommand, Machine.Event == HostEvent {
  let machine: Machine
  let transport: TransportSpec
  let options: HostOptions

  func use<Transport: HCITransport & ~Copyable>(
    _ closed: consuming Transport
  ) throws(TransportError) -> Host {
    var opened = closed
    try opened.open(patience: options.loop.connectionPatience)
    let port = opened.listeningPort
    var path: String?
    var trace: PacketTrace?
    if let wanted = options.trace {
      let free = HostRegistry.shared.tracePath(wanted)
      trace = try PacketTrace(at: free, keepingKeys: options.traceKeepsKeys)
      path = free
    }
    let mailbox = try HostLoop.start(machine, on: opened, tracedBy: trace, options: options.loop)
    return Host(transport, mailbox: mailbox, listeningPort: port, tracePath: path)
  }
}

extension PacketTrace {
  /// `path`, or where a trace of this process has that name already, the path with a number before its suffix.
  static func unused(_ path: String, in taken: inout Set<String>) -> String {
    var number = 2
    var candidate = path
    let name = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
    let dot = path[name...].dropFirst().lastIndex(of: ".") ?? path.endIndex
    while !taken.insert(candidate).inserted {
      candidate = "\(path[..<dot]).\(number)\(path[dot...])"
      number += 1
    }
    return candidate
  }
}
