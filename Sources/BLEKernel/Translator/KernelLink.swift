internal import BLEHCI
internal import BLEHost
internal import BLESMP
internal import BLEWire

/// One link of an adapter: its socket, the frames that wait for the socket, and its security.
///
/// A link is created by its HCI event or by its socket, whichever comes first.
///
/// ```
///              connect            writable
///   absent ─────────────► connecting ─────► open ── the socket fails ──► lost
///     │ accepted                              ▲                           ▲
///     ├───────────────────────────────────────┘                           │
///     └── no socket within the patience: another listener has the link ───┘
/// ```
struct KernelLink: Sendable {
  enum Socket: Sendable {
    case absent
    /// It accepts no PDUs yet: the kernel is requesting the peer's features.
    case connecting
    case open
    /// PDUs for it are dropped, and count as sent.
    case lost
  }

  /// The number of frames that can wait on one link. It is also the number of buffers that is reported to the host.
  static let frameLimit = 32
  /// The time in which the kernel processes a change of encryption that the controller reports, and the time between
  /// two reads of the level meanwhile.
  static let levelPatience = Duration.milliseconds(500)
  static let levelInterval = Duration.milliseconds(20)
  /// The timeout of a security manager is 30 seconds (Vol 3, Part H, 3.4).
  static let securingPatience = Duration.seconds(31)

  let handle: ConnectionHandle
  let role: HCI.Role
  let peer: DeviceAddress
  private(set) var socket = Socket.absent
  private var frames: [[UInt8]] = []
  /// Whether the first of ``frames`` is being sent to the socket.
  private var isFlushing = false
  /// The peer of a link that the host made, until the kernel reports that it has the link.
  var awaitedPeer: DeviceAddress?
  /// The time after which a link without a socket counts as taken by another program.
  var socketDeadline: Instant?
  /// The Disconnection Complete event, held back until the data that the peer sent earlier has been read.
  var disconnection: [UInt8] = []

  /// The level that was last reported to the host; nil if the link is not encrypted.
  private var strength: KeyStrength?
  /// The time until which the level is read repeatedly.
  private var levelDeadline: Instant?
  private var nextLevelRead: Instant?
  /// Whether the host waits for a report of the level, even if it has not changed.
  private var owesLevel = false
  /// The time until which the kernel may secure the link. Until then it accepts no PDUs.
  private var securingDeadline: Instant?
  /// The level to request once the link has an open socket.
  private var wantedLevel: SocketSecurity.Level?

  init(_ handle: ConnectionHandle, role: HCI.Role, peer: DeviceAddress) {
    self.handle = handle
    self.role = role
    self.peer = peer
  }

  var hasSocket: Bool { socket == .connecting || socket == .open }

  /// Whether the kernel has the link: the link has a socket, or another program has the socket.
  var isSettled: Bool { socket == .open || socket == .lost }

  /// The time at which ``tick(now:into:)`` is due.
  var deadline: Instant? { .nearer(.nearer(socketDeadline, securingDeadline), nextLevelRead) }
}

/// The socket of the link.
extension KernelLink {
  mutating func connectionBegan() { socket = .connecting }

  /// Waits for the listener to accept the socket of the link. Otherwise another program has it.
  mutating func awaitListener(until deadline: Instant) {
    socket = .absent
    socketDeadline = deadline
  }

  /// Receives the open socket of the link from the listener.
  mutating func opened(into output: inout KernelOutput) {
    socket = .open
    awaitedPeer = nil
    socketDeadline = nil
    // The link may have been encrypted before it had a socket to read the level from.
    output.actions.append(.readSecurity(handle))
    socketCanSend(into: &output)
  }

  mutating func writable(into output: inout KernelOutput) {
    if socket == .connecting { socket = .open }
    socketCanSend(into: &output)
  }

  private mutating func socketCanSend(into output: inout KernelOutput) {
    if let level = wantedLevel { secure(to: level, into: &output) }
    flush(into: &output)
  }

  /// Reads the level before the PDUs while the level may change, so that no request is answered on the basis of an old
  /// level.
  mutating func readable(into output: inout KernelOutput) {
    if levelDeadline != nil { output.actions.append(.readSecurity(handle)) }
  }

  /// Records that another program's listener has the link.
  mutating func taken() {
    socketDeadline = nil
    socket = .lost
  }

  /// Records that the socket can no longer be used.
  ///
  /// - Returns: the number of frames that waited for it. They count as sent.
  mutating func failed(into output: inout KernelOutput) -> Int {
    if hasSocket { output.actions.append(.close(handle)) }
    socket = .lost
    isFlushing = false
    defer { frames = [] }
    return frames.count
  }
}

/// Frames to the peer.
extension KernelLink {
  /// Sends an ATT PDU, or keeps it until the socket accepts it.
  ///
  /// - Returns: the number of completed frames.
  mutating func send(_ pdu: Span<UInt8>, into output: inout KernelOutput) -> Int {
    guard socket != .lost else { return 1 }
    if socket == .open, frames.isEmpty {
      output.actions.append(.sendPDU(handle)) { $0.append(copying: pdu) }
      return 0
    }
    return keep(pdu)
  }

  /// Records that the socket accepted a PDU.
  ///
  /// - Returns: the number of completed frames.
  mutating func sent(into output: inout KernelOutput) -> Int {
    if isFlushing {
      isFlushing = false
      if !frames.isEmpty { frames.removeFirst() }
      flush(into: &output)
    }
    return 1
  }

  /// Records that the socket did not accept a PDU.
  ///
  /// - Returns: the number of completed frames.
  mutating func rejected(_ pdu: Span<UInt8>, _ reason: SendRejection, into output: inout KernelOutput) -> Int {
    let wasFlushing = isFlushing
    isFlushing = false
    // While the kernel secures the link it accepts nothing, and reports that the socket is not connected.
    if reason == .full || (reason == .notConnected && securingDeadline != nil) { return wasFlushing ? 0 : keep(pdu) }
    return (wasFlushing ? 0 : 1) + failed(into: &output)
  }

  /// Keeps a PDU until the socket accepts it. A host keeps to its credits, so a frame beyond the limit is a fault of
  /// this process: it is dropped, and counts as sent.
  private mutating func keep(_ pdu: Span<UInt8>) -> Int {
    guard frames.count < Self.frameLimit else { return 1 }
    frames.append([UInt8](copying: pdu))
    return 0
  }

  private mutating func flush(into output: inout KernelOutput) {
    guard socket == .open, !isFlushing, let first = frames.first else { return }
    isFlushing = true
    output.actions.append(.sendPDU(handle)) { $0 += first }
  }
}

/// Security. The kernel has the keys and decides on the level.
extension KernelLink {
  /// Raises the level. On a peripheral the kernel sends a Security Request (Vol 3, Part H, 2.4.6).
  mutating func secure(to level: SocketSecurity.Level, into output: inout KernelOutput) {
    guard socket == .open else { return wantedLevel = level }
    wantedLevel = nil
    output.actions.append(.raiseSecurity(handle, to: level))
  }

  mutating func raised(isPending: Bool, now: Instant) {
    if isPending {
      securingDeadline = now + Self.securingPatience
    } else {
      // The host receives the level as it is.
      owesLevel = true
      (levelDeadline, nextLevelRead) = (now, now)
    }
  }

  /// Receives the controller's report of a change of encryption. The kernel processes the same event at the same time
  /// as this process, so the kernel's level may change a moment later.
  mutating func encryptionChanged(now: Instant, into output: inout KernelOutput) {
    levelDeadline = now + Self.levelPatience
    nextLevelRead = now + Self.levelInterval
    if hasSocket { output.actions.append(.readSecurity(handle)) }
  }

  /// Receives the level from the kernel, and reports a change to the host.
  ///
  /// - Returns: whether the time for securing the link is over.
  mutating func received(_ security: SocketSecurity?, now: Instant, into output: inout KernelOutput) -> Bool {
    if let security { changed(to: security.strength, into: &output) }
    return securingExpired(now)
  }

  private mutating func changed(to new: KeyStrength?, into output: inout KernelOutput) {
    guard new != strength || owesLevel else { return }
    (strength, owesLevel) = (new, false)
    output.input.append(.level(handle: handle.rawValue, new))
    guard new != nil, securingDeadline != nil else { return }
    securingDeadline = nil
    flush(into: &output)
  }

  private mutating func securingExpired(_ now: Instant) -> Bool {
    guard let end = securingDeadline, end <= now else { return false }
    securingDeadline = nil
    return true
  }

  /// Reads the level again if that is due.
  ///
  /// - Returns: whether the time for securing the link is over. While the level is being read, the result of the read
  ///   decides.
  mutating func tick(now: Instant, into output: inout KernelOutput) -> Bool {
    guard let next = nextLevelRead, next <= now else { return securingExpired(now) }
    if let end = levelDeadline, end <= now {
      (levelDeadline, nextLevelRead) = (nil, nil)
    } else {
      nextLevelRead = now + Self.levelInterval
    }
    guard hasSocket else { return securingExpired(now) }
    output.actions.append(.readSecurity(handle))
    return false
  }
}
