package import BLECrypto
package import BLEHost
package import BLELinux

/// A running host stack: commands of owners from any thread, events on the thread of the stack.
///
/// A host lives as long as it or one of its attachments is referenced. Then the stack is shut down: advertising stops, links
/// end, and the thread ends.
///
/// ```swift
/// let host = try Host.shared(LaunchOptions.transport())
/// let attachment = host.attach { events in print(events) }
/// attachment.commands.post(.startScanning(ScanParameters()))
/// ```
package final class Host: Sendable {
  package let transport: TransportSpec
  /// The TCP port that `tcp-server:…` listens on. Where port 0 was requested, the port that the system chose.
  package let listeningPort: UInt16?
  /// The file of the packet trace; nil where there is none.
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

  /// Posts a command on behalf of the process (``OwnerID/process``): its events go to every attachment, and nothing withdraws
  /// what it declares. ``HostAttachment/post(_:)`` posts one of an attachment.
  ///
  /// - Returns: as ``HostAttachment/post(_:)``.
  @discardableResult
  package func post(_ command: HostCommand) -> Bool { mailbox.post(command) }

  /// Attaches an owner. `sink` receives the newest ``HostEvent/state(_:_:)`` and the links that are up first, then every event
  /// that is addressed to the owner or to everyone.
  ///
  /// `sink` is called on the stack's thread with batches in order, until the attachment is released. It must not wait; it
  /// may post.
  package func attach(_ sink: @escaping @Sendable ([HostEvent]) -> Void) -> HostAttachment {
    HostAttachment(host: self, owner: mailbox.attach(sink))
  }

  /// As ``attach(_:)``, for a sink that may exchange the array of a batch for another one, whose memory the stack uses next, and that
  /// returns how many of the events it has handled.
  package func attachExchanging(_ sink: @escaping @Sendable (inout [HostEvent]) -> Int) -> HostAttachment {
    HostAttachment(host: self, owner: mailbox.attachExchanging(sink))
  }

  /// The application has handled `count` events, of unknown attachments.
  ///
  /// While one sink has more than ``LoopOptions/eventBacklogLimit`` events, the transport is not read, and the controller
  /// waits; with less than half of the limit it is read again. ``HostAttachment/consumed(_:)`` is exact where there are
  /// several attachments.
  package func consumed(_ count: Int) { mailbox.consumed(count) }

  /// Shuts the stack down although it is referenced: advertising stops, links end. Commands are rejected from then on.
  package func shutDown() { mailbox.shutDown() }

  /// Waits until the stack has ended and its transport is closed.
  @discardableResult
  package func waitUntilEnded(atMost patience: Duration) -> Bool { mailbox.waitUntilEnded(atMost: patience) }

  /// Shuts down every host of the process and waits for them. It is the last call of a program, also after SIGINT and
  /// SIGTERM.
  ///
  /// - Returns: whether all ended in time.
  @discardableResult
  package static func shutDownAll(atMost patience: Duration = .seconds(4)) -> Bool {
    HostRegistry.shared.shutDownAll(atMost: patience)
  }
}

extension Host {
  /// The host of a transport; the process has one for each transport.
  ///
  /// The first call opens the transport and starts to bring the controller up, which ``HostEvent/state(_:_:)`` reports. It
  /// waits for a connection to another program, and not for one from another program. Its `options` hold; those of later
  /// calls have no effect.
  ///
  /// - Throws: ``TransportError``: what failed, why, and what to do.
  package static func shared(
    _ transport: TransportSpec, _ options: HostOptions = HostOptions(), cryptography: any Cryptography = LibCrypto(),
    random: RandomSource = .system
  ) throws(TransportError) -> Host {
    var configuration = options.configuration
    if case .linux = transport { configuration.ownership = .sharedWithSystemHost }
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
  /// `path`; where a trace of this process has that path, the path with a number before its suffix.
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
