internal import BLEHost
internal import BLELinux
internal import BLEWire

/// The connection between a host and its controller: complete HCI packets in both directions.
///
/// ```
///            open             isOpen
///   closed ────────► opening ───────► open ── error thrown by receive, send, flush, perform ──► close(after:)
///                       ▲      accept                                                              │
///                       └──────────────────────────────── reopen ◄─────────────────────────────────┘
/// ```
///
/// ``HostLoop`` owns the transport and makes all calls except ``open(patience:)`` on its own thread. Only
/// ``open(patience:)`` may wait for another program. `Docs/Transports.md` shows how to add a transport.
///
/// No requirement consumes the transport: Swift 6.3 cannot call one on a noncopyable existential.
protocol HCITransport: ~Copyable, Sendable {
  /// The transport string, with which errors and log lines begin.
  var name: String { get }

  /// Opens the transport for the first time, before the loop runs.
  ///
  /// A transport that connects to another program waits up to `patience`. A transport that others connect to returns at
  /// once, although it is not open yet.
  ///
  /// - Throws: ``TransportError``; the host is then not created.
  mutating func open(patience: Duration) throws(TransportError)

  /// Whether packets can be sent and received.
  var isOpen: Bool { get }

  /// Completes an opening that has begun.
  ///
  /// - Returns: whether the transport is open now.
  /// - Throws: ``TransportError``; the loop logs it and calls ``reopen()`` after the reconnection interval.
  mutating func accept() throws(TransportError) -> Bool

  /// Begins to open the transport again after ``close(after:)`` or a failed attempt; ``accept()`` completes it.
  mutating func reopen() throws(TransportError)

  /// Whether ``reopen()`` is called at once after a loss, because it waits for an event from the other side and does
  /// not retry.
  var reopensAtOnce: Bool { get }

  /// Whether another program can connect as soon as the connection is closed.
  var isServer: Bool { get }

  /// Registers the descriptors that become ready when ``accept()`` can make progress.
  ///
  /// - Returns: the time until ``accept()`` must be called again, if no descriptor reports that moment.
  func watchOpening(on poller: borrowing Poller, token: UInt64) throws(SystemError) -> Duration?

  /// Ends ``watchOpening(on:token:)``.
  func unwatchOpening(on poller: borrowing Poller)

  /// The reason why the transport is not open although ``accept()`` did not fail, once after each change of the reason.
  mutating func takeUnavailability() -> TransportError?

  /// Reads the available input and passes it to `handler`, in order. Input that was passed on stays valid if an error
  /// follows.
  ///
  /// - Throws: ``TransportError`` at the end of the connection and for octets that are not HCI packets.
  mutating func receive(into handler: inout some PacketHandler & ~Copyable) throws(TransportError)

  /// Whether ``receive(into:)`` returns input although no descriptor is ready.
  var hasPendingInput: Bool { get }

  /// Sends complete H4 packets, in order. Packets that cannot be sent now wait in the transport, in a bounded queue.
  ///
  /// - Throws: ``TransportError`` if the connection failed or the queue is full.
  mutating func send(_ packets: borrowing PacketBuffer) throws(TransportError)

  /// Performs commands to the kernel. Transports without one ignore them.
  mutating func perform(_ commands: [KernelCommand]) throws(TransportError)

  /// Whether packets wait for ``flush()``.
  var hasBacklog: Bool { get }

  /// Sends waiting packets, as many as can be sent now.
  mutating func flush() throws(TransportError)

  /// Registers the open connection. It is called again when `interest` changes.
  func watch(on poller: borrowing Poller, token: UInt64, for interest: Poller.Interest) throws(SystemError)

  /// Ends ``watch(on:token:for:)``.
  func unwatch(on poller: borrowing Poller)

  /// Closes the connection after `error`; ``reopen()`` may follow.
  mutating func close(after error: TransportError)

  /// Closes everything and restores the settings that opening changed. No call follows.
  mutating func end()

  /// Lines for the log, oldest first, each once.
  mutating func takeNotices() -> [String]

  /// The TCP port that a server listens on.
  var listeningPort: UInt16? { get }
}

/// Defaults for features that most transports do not have.
extension HCITransport where Self: ~Copyable {
  var hasPendingInput: Bool { false }
  var listeningPort: UInt16? { nil }
  var isServer: Bool { false }
  mutating func takeUnavailability() -> TransportError? { nil }
  mutating func takeNotices() -> [String] { [] }
  mutating func perform(_ commands: [KernelCommand]) throws(TransportError) {}
}

/// Receives the input of a transport, in order.
protocol PacketHandler: ~Copyable {
  /// Receives one complete H4 packet from the controller, valid during the call.
  mutating func receive(_ packet: Span<UInt8>)

  /// Receives a report from the kernel, if the kernel runs the controller.
  mutating func receive(_ report: KernelReport)

  /// Records a command that the transport sent by itself in the trace.
  mutating func record(sent command: Span<UInt8>)
}
