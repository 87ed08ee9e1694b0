internal import BLEHost
internal import BLELinux
internal import BLEWire

/// The connection between a host and its controller: whole HCI packets in both directions.
///
/// ```
///            open             isOpen
///   closed ────────► opening ───────► open ── error thrown by receive, send, flush, perform ──► close(after:)
///                       ▲      accept                                                              │
///                       └──────────────────────────────── reopen ◄─────────────────────────────────┘
/// ```
///
/// ``HostLoop`` owns the transport and makes all calls but ``open(patience:)`` on its own thread. No call but
/// ``open(patience:)`` waits for another program. `Docs/Transports.md` shows how a transport is added.
///
/// No requirement consumes the transport: Swift 6.3 cannot call one on a noncopyable existential.
protocol HCITransport: ~Copyable, Sendable {
  /// The transport string, which errors and log lines begin with.
  var name: String { get }

  /// Opens the transport for the first time, before the loop runs.
  ///
  /// A transport that connects to another program waits up to `patience`. A transport that others connect to returns at
  /// once, not open yet.
  ///
  /// - Throws: ``TransportError``; the host is not created then.
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

  /// Whether ``reopen()`` is called at once after a loss: it waits for an event of the other side and does not retry.
  var reopensAtOnce: Bool { get }

  /// Registers what becomes ready when ``accept()`` can make progress.
  ///
  /// - Returns: the time until ``accept()`` is to be called again where no descriptor reports that moment.
  func watchOpening(on poller: borrowing Poller, token: UInt64) throws(SystemError) -> Duration?

  /// Ends ``watchOpening(on:token:)``.
  func unwatchOpening(on poller: borrowing Poller)

  /// The reason why the transport is not open although ``accept()`` did not fail, once each time that it changes.
  mutating func takeUnavailability() -> TransportError?

  /// Reads what has arrived and hands it to `handler`, in order. Input that was handed over stays valid if an error
  /// follows.
  ///
  /// - Throws: ``TransportError`` at the end of the connection and for octets that are not HCI packets.
  mutating func receive(into handler: inout some PacketHandler & ~Copyable) throws(TransportError)

  /// Whether ``receive(into:)`` has input although no descriptor is ready.
  var hasPendingInput: Bool { get }

  /// Sends whole H4 packets, in order. Packets that cannot be sent now wait in the transport, in a bounded queue.
  ///
  /// - Throws: ``TransportError`` where the connection failed or the queue is full.
  mutating func send(_ packets: borrowing PacketBuffer) throws(TransportError)

  /// Performs commands to the system host; transports without one ignore them.
  mutating func perform(_ commands: [SystemHostCommand]) throws(TransportError)

  /// Whether packets wait for ``flush()``.
  var hasBacklog: Bool { get }

  /// Sends waiting packets, as many as can be sent now.
  mutating func flush() throws(TransportError)

  /// Registers the open connection; called again when `interest` changes.
  func watch(on poller: borrowing Poller, token: UInt64, for interest: Poller.Interest) throws(SystemError)

  /// Ends ``watch(on:token:for:)``.
  func unwatch(on poller: borrowing Poller)

  /// Closes the connection after `error`; ``reopen()`` may follow.
  mutating func close(after error: TransportError)

  /// Closes everything and restores what opening changed. No call follows.
  mutating func end()

  /// Lines for the log, oldest first, each once.
  mutating func takeNotices() -> [String]

  /// The TCP port that a server listens on.
  var listeningPort: UInt16? { get }
}

/// What most transports do not have.
extension HCITransport where Self: ~Copyable {
  var hasPendingInput: Bool { false }
  var listeningPort: UInt16? { nil }
  mutating func takeUnavailability() -> TransportError? { nil }
  mutating func takeNotices() -> [String] { [] }
  mutating func perform(_ commands: [SystemHostCommand]) throws(TransportError) {}
}

/// Takes the input of a transport, in order.
protocol PacketHandler: ~Copyable {
  /// One whole H4 packet from the controller, valid during the call.
  mutating func receive(_ packet: Span<UInt8>)

  /// A report of the system host, where that one runs the controller.
  mutating func receive(_ report: SystemHostReport)

  /// A command that the transport sent itself, for the trace.
  mutating func record(sent command: Span<UInt8>)
}
