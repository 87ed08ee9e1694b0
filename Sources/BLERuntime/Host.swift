package import BLECrypto
package import BLEHost
package import BLELinux

/// A running host stack. Owners send commands from any thread, and receive events on the stack's thread.
///
/// A host lives while it or one of its attachments is referenced. Then the stack is shut down: advertising stops, links
/// end, and the thread ends.
///
/// ```swift
/// let host = try Host.shared(LaunchOptions.transport())
/// let attachment = host.attach { events in print(events) }
/// attachment.commands.post(.scanning(.start(ScanParameters())))
/// ```
package final class Host: Sendable {
  package let transport: TransportSpec
  /// The TCP port that `tcp-server:…` listens on. If port 0 was requested, it is the port that the system chose.
  package let listeningPort: UInt16?
  /// The file of the packet trace; nil if there is none.
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

  /// Posts a command on behalf of the process (``OwnerID/process``): its events go to every attachment, and nothing
  /// withdraws what it declares. ``HostAttachment/post(_:)`` posts a command of an attachment.
  ///
  /// - Returns: as ``HostAttachment/post(_:)``.
  @discardableResult
  package func post(_ command: HostCommand) -> Bool { mailbox.post(command) }

  /// Attaches an owner. `sink` first receives the newest ``HostEvent/state(_:_:)`` and the existing links, then every
  /// event that is addressed to the owner or to everyone.
  ///
  /// `sink` is called on the stack's thread with batches in order, until the attachment is released. It must not wait,
  /// but may post commands.
  package func attach(_ sink: @escaping @Sendable ([HostEvent]) -> Void) -> HostAttachment {
    HostAttachment(host: self, owner: mailbox.attach(sink))
  }

  /// Attaches an owner, as ``attach(_:)`` does. The sink may exchange the array of a batch for another one, whose
  /// memory the stack uses next. It returns the number of events that it has handled.
  package func attachExchanging(_ sink: @escaping @Sendable (inout [HostEvent]) -> Int) -> HostAttachment {
    HostAttachment(host: self, owner: mailbox.attachExchanging(sink))
  }

  /// Shuts the stack down although it is still referenced: advertising stops, and links end. Later commands are
  /// rejected.
  package func shutDown() { mailbox.shutDown() }

  /// Waits until the stack has ended and its transport is closed.
  @discardableResult
  package func waitUntilEnded(atMost patience: Duration) -> Bool { mailbox.waitUntilEnded(atMost: patience) }

  /// Shuts down every host of the process and waits for them. It is the last call of a program, even after SIGINT and
  /// SIGTERM.
  ///
  /// - Returns: whether all ended in time.
  @discardableResult
  package static func shutDownAll(atMost patience: Duration = .seconds(4)) -> Bool {
    HostRegistry.shared.shutDownAll(atMost: patience)
  }
}

extension Host {
  /// Returns the host of a transport. The process has one host for each transport.
  ///
  /// The first call opens the transport and starts to initialize the controller, which ``HostEvent/state(_:_:)``
  /// reports. It waits for its connection to another program, but not for another program to connect. The `options` of
  /// the first call apply; those of later calls have no effect.
  ///
  /// - Throws: ``TransportError``: what failed, why, and what to do.
  package static func shared(
    _ transport: TransportSpec, _ options: HostOptions = HostOptions(), cryptography: any Cryptography = LibCrypto(),
    random: RandomSource = .system
  ) throws(TransportError) -> Host {
    let configuration = options.configuration(on: transport)
    return try shared(transport, options) {
      HostCore(configuration: configuration, cryptography: cryptography, random: random)
    }
  }

  /// At the orderly end of the process, links, advertisements and scans end, as by ``shutDownAll(atMost:)``. Otherwise
  /// a peer would keep its link until the supervision timeout, and the next start could not connect.
  private static let endsWithProcess: Void = {
    // Without a thread for it, the process ends as one that is killed.
    try? OrderlyEnd.runAtEnd { shutDownAll(atMost: .milliseconds(1_500)) }
  }()

  static func shared<Machine: HostMachine>(
    _ transport: TransportSpec, _ options: HostOptions, machine: () -> Machine
  ) throws(TransportError) -> Host where Machine.Command == HostCommand, Machine.Event == HostEvent {
    _ = endsWithProcess
    return try HostRegistry.shared.host(of: transport, patience: options.loop.shutdownPatience) {
      () throws(TransportError) in
      try transport.makeTransport(for: HostStart(machine: machine(), transport: transport, options: options))
    }
  }
}

/// Opens a transport and starts a host on it.
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
  /// `path`; if a trace of this process already has that path, the path with a number before its suffix.
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
