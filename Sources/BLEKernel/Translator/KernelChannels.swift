internal import BLEHCI
internal import BLEL2CAP
internal import BLEWire

/// The credit-based channels of one link. The kernel has the signalling channel and the credits of the peer; this is the far end
/// of the signalling channel towards the host, so that the host has one implementation of channels.
///
/// ```
///   host                              this                             the kernel's socket
///   Connection Request ─────────────► opening ─────────── connect ───────────────►
///   ◄─────────── Connection Response  open   ◄──────────── connected, error number
///   ◄──────────── Connection Request  offered ◄──────────────────────── accepted
///   Connection Response ────────────► open, or closed
///   K-frames ──► SDU ── one credit back for each SDU that the socket took ──► send
///   ◄── K-frames, while the host gives credits ◄── SDU, read when the one before has gone
///   Disconnection Request ──────────► closing ── the kernel has sent everything, 10 s ──► close
///   ◄───────── Disconnection Request         ◄───────────────────────────── ended
/// ```
///
/// Memory of a channel: ``waitingOctets`` or two SDUs that the socket has not taken, and one SDU that the host has not taken.
struct KernelChannels: Sendable {
  /// The payload of a frame of the host, in octets: it fits in one ACL packet.
  static let frameLength = KernelTranslator.bufferLength - UInt16(BasicFrame.headerLength)
  /// Octets of SDUs of the host that wait for the socket of a channel. It decides the credits of the host.
  static let waitingOctets: UInt16 = 32_768
  static let creditLimits: ClosedRange<UInt16> = 2...32
  /// The time in which a socket connects. The timer of the host is 30 seconds (Vol 3, Part A, 6.2.1): no channel opens after it.
  static let connectPatience = Duration.seconds(29)
  /// The time in which the kernel sends what it has, after the host has closed a channel; and the time between two looks.
  static let closePatience = Duration.seconds(10)
  static let queueInterval = Duration.milliseconds(20)
  /// Channels that are being closed; a further one ends the oldest.
  static let closingLimit = 8
  /// Channels that a peer opened and the host has not seen; further ones are closed.
  static let offerLimit = 32
  /// Requests of the host that wait for their sockets.
  static let openingLimit = 32

  /// A request of the host, and the socket of each of its channels.
  struct Opening {
    let request: CreditBasedChannels.Request
    var sockets: [(id: ChannelSocketID, result: ConnectingResult?)]
    let deadline: Instant
  }

  enum ConnectingResult { case open(remoteMTU: UInt16), refused(CreditBasedConnectionResult) }

  /// A channel that is open, or that the host has closed.
  struct Channel {
    /// The number of the channel at this end.
    let number: ChannelID
    /// SDUs of the host. The first is on its way to the socket while `isSending`.
    var sdus: [[UInt8]] = []
    var isSending = false
    /// The socket takes SDUs.
    var canSend = true
    /// SDUs are read from the socket.
    var isReading = true
    /// The host has closed the channel: the end of the time for the rest.
    var closeDeadline: Instant?
    var nextQueueRead: Instant?

    mutating func stopSending() { (isSending, canSend) = (false, false) }
  }

  let handle: ConnectionHandle
  /// The address of the peer in the event of the link.
  let peer: DeviceAddress
  /// The kernel has the link: before that, a socket would make a second one.
  private var isLinkUp: Bool
  /// Sockets that are connected when the kernel has the link.
  private var unconnected: [(id: ChannelSocketID, connection: ChannelConnection)] = []
  private var lastNumber: UInt32 = 0
  var signalling: SignallingChannel
  var openings: [Opening] = []
  /// Accepted channels, until the security level of the link has been read.
  private var accepted: [(id: ChannelSocketID, channel: AcceptedChannel)] = []
  /// Accepted channels that the host has not answered.
  var offers: [CreditBasedChannels.OpenID: ChannelSocketID] = [:]
  var channels: [ChannelSocketID: Channel] = [:]
  var sockets: [ChannelID: ChannelSocketID] = [:]
  /// The order in which channels were closed.
  var closing: [ChannelSocketID] = []
  /// Channels whose SDU waits for credits of the host; they are read again afterwards.
  var paused: [ChannelSocketID] = []

  /// The channels of a link, whose role is that of the host.
  init(_ link: KernelLink) {
    (handle, peer, isLinkUp) = (link.handle, link.peer, link.isSettled)
    var limits = CreditBasedChannels.Limits()
    (limits.channels, limits.waitingRequests) = (64, Self.openingLimit)
    signalling = SignallingChannel(role: link.role == .central ? .peripheral : .central, channels: limits)
    signalling.channels.services = Self.services
  }

  /// The kernel decides which services there are. LE has these numbers (Vol 3, Part A, 4.22).
  private static let services = Set((0x0001...0x00FF as ClosedRange<UInt16>).map(SPSM.init(rawValue:)))

  /// The time at which ``tick(now:into:)`` is due.
  var deadline: Instant? {
    var deadline = signalling.deadline
    for opening in openings { deadline = .nearer(deadline, opening.deadline) }
    for id in closing {
      deadline = .nearer(deadline, .nearer(channels[id]?.closeDeadline, channels[id]?.nextQueueRead))
    }
    return deadline
  }

  /// A name for a socket.
  mutating func takeSocket() -> ChannelSocketID {
    lastNumber &+= 1
    return ChannelSocketID(handle: handle, number: lastNumber)
  }

  /// Whether the next SDU of a socket can be received.
  func reads(_ id: ChannelSocketID) -> Bool { channels[id]?.isReading == true }

  /// The sockets of open channels.
  var openSockets: [ChannelSocketID] {
    channels.filter { $0.value.closeDeadline == nil }.keys.sorted { $0.number < $1.number }
  }

  /// The link is gone: every socket is closed.
  func end(into output: inout KernelOutput) {
    let all = openings.flatMap { $0.sockets.map(\.id) } + accepted.map(\.id) + offers.values + channels.keys
    for id in all.sorted(by: { $0.number < $1.number }) { output.append(.close(id)) }
  }
}

/// From the host, and time.
extension KernelChannels {
  /// Receives a frame on the signalling channel, or on the number of a credit-based channel.
  mutating func receive(
    _ payload: Span<UInt8>, on channel: ChannelID, now: Instant, into output: inout KernelOutput
  ) {
    var turn = ChannelTurn(now: now)
    if channel == .signalling {
      signalling.receive([UInt8](copying: payload)[...], now: now, into: &turn.pdus, effects: &turn.effects)
    } else {
      signalling.receive(payload, on: channel, now: now, into: &turn.pdus, effects: &turn.effects)
    }
    finish(&turn, into: &output)
  }

  /// The kernel has the link.
  mutating func linkIsUp(into output: inout KernelOutput) {
    isLinkUp = true
    for (id, connection) in unconnected { output.append(.connect(id, connection)) }
    unconnected = []
  }

  mutating func connect(_ id: ChannelSocketID, _ connection: ChannelConnection, into output: inout KernelOutput) {
    guard isLinkUp else { return unconnected.append((id, connection)) }
    output.append(.connect(id, connection))
  }

  mutating func tick(now: Instant, into output: inout KernelOutput) {
    var turn = ChannelTurn(now: now)
    signalling.tick(now: now, effects: &turn.effects)
    for opening in openings where opening.deadline <= now {
      for socket in opening.sockets { output.append(.close(socket.id)) }
      unconnected.removeAll { waiting in opening.sockets.contains { $0.id == waiting.id } }
      // Without a response: the timer of the host ends the request.
      var unsent = PacketBuffer()
      signalling.reject(opening.request, .noResources, into: &unsent)
    }
    openings.removeAll { $0.deadline <= now }
    for id in closing {
      guard let channel = channels[id] else { continue }
      if let end = channel.closeDeadline, end <= now {
        remove(id, into: &output)
      } else if let next = channel.nextQueueRead, next <= now {
        channels[id]?.nextQueueRead = nil
        output.append(.readQueue(id))
      }
    }
    finish(&turn, into: &output)
  }
}

/// From the sockets.
extension KernelChannels {
  mutating func receive(_ event: ChannelEvent, on id: ChannelSocketID, now: Instant, into output: inout KernelOutput) {
    var turn = ChannelTurn(now: now)
    switch event {
    case .accepted(let channel):
      if accepted.count + offers.count < Self.offerLimit {
        accepted.append((id, channel))
      } else {
        output.append(.close(id))
      }
    case .connected(let mtu): connected(id, .open(remoteMTU: mtu), &turn, into: &output)
    case .refused(let number): connected(id, .refused(.init(connecting: number)), &turn, into: &output)
    case .sent: sent(id, &turn, into: &output)
    case .full: channels[id]?.stopSending()
    case .writable:
      channels[id]?.canSend = true
      send(on: id, into: &output)
    case .failed: failed(id, &turn, into: &output)
    case .ended: ended(id, &turn, into: &output)
    case .queue(let isEmpty):
      guard channels[id]?.closeDeadline != nil else { break }
      if isEmpty { remove(id, into: &output) } else { channels[id]?.nextQueueRead = now + Self.queueInterval }
    }
    finish(&turn, into: &output)
  }

  /// Receives an SDU of the peer.
  mutating func receive(sdu: Span<UInt8>, on id: ChannelSocketID, now: Instant, into output: inout KernelOutput) {
    guard let channel = channels[id], channel.isReading else { return }
    var turn = ChannelTurn(now: now)
    do throws(CreditBasedChannel.SendRefusal) {
      try signalling.channels.send([UInt8](copying: sdu), on: channel.number)
    } catch {
      // The kernel keeps to the MTU of the host, and the queue is empty.
      signalling.close(channel.number, now: now, into: &turn.pdus, effects: &turn.effects)
    }
    sendFrames(&turn, into: &output)
    if signalling.channels[channel.number]?.queuedOctets ?? 0 > 0 {
      channels[id]?.isReading = false
      paused.append(id)
    }
    finish(&turn, into: &output)
  }

  /// The host has the security level of the link: it can decide about the channels of the peer.
  mutating func securityRead(now: Instant, into output: inout KernelOutput) {
    guard !accepted.isEmpty else { return }
    var turn = ChannelTurn(now: now)
    for (id, channel) in accepted {
      let parameters = Self.parameters(mtu: channel.remoteMTU)
      let opening = SignallingChannel.ChannelOpening(spsm: channel.spsm, mode: channel.mode, local: parameters)
      let name = CreditBasedChannels.OpenID(rawValue: id.number)
      do throws(SignallingChannel.ChannelRefusal) {
        try signalling.open(opening, name, now: now, into: &turn.pdus)
        offers[name] = id
      } catch {
        output.append(.close(id))
      }
    }
    accepted = []
    finish(&turn, into: &output)
  }

  /// What the peer's end of a channel accepts from the host.
  static func parameters(mtu: UInt16) -> CreditBasedChannel.Parameters {
    let credits = min(max(waitingOctets / max(1, mtu), creditLimits.lowerBound), creditLimits.upperBound)
    return CreditBasedChannel.Parameters(mtu: mtu, mps: frameLength, initialCredits: credits)
  }
}

/// One input, and what the signalling channel makes of it.
struct ChannelTurn {
  let now: Instant
  var pdus = PacketBuffer()
  var effects: [SignallingChannel.Effect] = []

  init(now: Instant) { self.now = now }
}
