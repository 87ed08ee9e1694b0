internal import BLEHCI
internal import BLEL2CAP
internal import BLEWire

/// The credit-based channels of one link. The kernel has the signalling channel and the credits of the peer. For the
/// host, this machine is the other end of the signalling channel, so that the host needs only one implementation of
/// channels.
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
/// A channel needs memory for ``waitingOctets`` or two SDUs that the socket has not accepted, and for one SDU that the
/// host has not received.
struct KernelChannels: Sendable {
  /// The largest payload of a frame from the host, in octets: it fits in one ACL packet.
  static let frameLength = KernelTranslator.bufferLength - UInt16(BasicFrame.headerLength)
  /// The octets of SDUs from the host that can wait for the socket of a channel. They determine the credits of the
  /// host.
  static let waitingOctets: UInt16 = 32_768
  static let creditLimits: ClosedRange<UInt16> = 2...32
  /// The time in which a socket must connect. The timer of the host is 30 seconds (Vol 3, Part A, 6.2.1): no channel
  /// opens after it.
  static let connectPatience = Duration.seconds(29)
  /// The time in which the kernel may send the remaining SDUs after the host has closed a channel, and the time between
  /// two reads of its queue meanwhile.
  static let closePatience = Duration.seconds(10)
  static let queueInterval = Duration.milliseconds(20)
  /// The number of channels that can be closing. One more ends the oldest.
  static let closingLimit = 8
  /// The number of channels that a peer has opened and the host has not seen. Further ones are closed.
  static let offerLimit = 32
  /// The number of requests of the host that can wait for their sockets.
  static let openingLimit = 32

  /// A request of the host, with the socket of each of its channels.
  struct Opening {
    let request: CreditBasedChannels.Request
    var sockets: [(id: ChannelSocketID, result: ConnectingResult?)]
    let deadline: Instant
  }

  enum ConnectingResult { case open(remoteMTU: UInt16), refused(CreditBasedConnectionResult) }

  /// An open channel, or one that the host has closed.
  struct Channel {
    /// The number of the channel at this end.
    let number: ChannelID
    /// SDUs from the host. While `isSending`, the first is being sent to the socket.
    var sdus: [[UInt8]] = []
    var isSending = false
    /// Whether the socket accepts SDUs.
    var canSend = true
    /// Whether SDUs are read from the socket.
    var isReading = true
    /// The time at which a channel that the host has closed ends, even if SDUs remain.
    var closeDeadline: Instant?
    var nextQueueRead: Instant?

    mutating func stopSending() { (isSending, canSend) = (false, false) }
  }

  let handle: ConnectionHandle
  /// The peer's address in the event of the link.
  let peer: DeviceAddress
  /// Whether the kernel has the link. Before that, a socket would make a second link.
  private var isLinkUp: Bool
  /// The sockets that are connected once the kernel has the link.
  private var unconnected: [(id: ChannelSocketID, connection: ChannelConnection)] = []
  private var lastNumber: UInt32 = 0
  var signalling: SignallingChannel
  var openings: [Opening] = []
  /// The accepted channels that wait until the security level of the link has been read.
  private var accepted: [(id: ChannelSocketID, channel: AcceptedChannel)] = []
  /// The accepted channels that the host has not answered.
  var offers: [CreditBasedChannels.OpenID: ChannelSocketID] = [:]
  var channels: [ChannelSocketID: Channel] = [:]
  var sockets: [ChannelID: ChannelSocketID] = [:]
  /// The closing channels, in the order in which the host closed them.
  var closing: [ChannelSocketID] = []
  /// The channels whose SDU waits for credits from the host. They are read again afterwards.
  var paused: [ChannelSocketID] = []

  /// The channels of a link. The link's role is that of the host.
  init(_ link: KernelLink) {
    (handle, peer, isLinkUp) = (link.handle, link.peer, link.isSettled)
    var limits = CreditBasedChannels.Limits()
    (limits.channels, limits.waitingRequests) = (64, Self.openingLimit)
    signalling = SignallingChannel(role: link.role == .central ? .peripheral : .central, channels: limits)
    signalling.channels.services = Self.services
  }

  /// The kernel decides which services exist. LE has these numbers (Vol 3, Part A, 4.22).
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

  /// Returns a new name for a socket.
  mutating func takeSocket() -> ChannelSocketID {
    lastNumber &+= 1
    return ChannelSocketID(handle: handle, number: lastNumber)
  }

  /// Whether the next SDU of a socket can be received.
  func reads(_ id: ChannelSocketID) -> Bool { channels[id]?.isReading == true }

  /// The names of the sockets of open channels.
  var openSockets: [ChannelSocketID] {
    channels.filter { $0.value.closeDeadline == nil }.keys.sorted { $0.number < $1.number }
  }

  /// Closes every socket, after the link has ended.
  func end(into output: inout KernelOutput) {
    let all = openings.flatMap { $0.sockets.map(\.id) } + accepted.map(\.id) + offers.values + channels.keys
    for id in all.sorted(by: { $0.number < $1.number }) { output.append(.close(id)) }
  }
}

/// Input from the host, and time.
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

  /// Connects the sockets that wait until the kernel has the link.
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
      // There is no response: the timer of the host ends the request.
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

/// Input from the sockets.
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

  /// Receives an SDU from the peer.
  mutating func receive(sdu: Span<UInt8>, on id: ChannelSocketID, now: Instant, into output: inout KernelOutput) {
    guard let channel = channels[id], channel.isReading else { return }
    var turn = ChannelTurn(now: now)
    do throws(CreditBasedChannel.SendRefusal) {
      try signalling.channels.send([UInt8](copying: sdu), on: channel.number)
    } catch {
      // The kernel respects the MTU of the host, and the queue is empty.
      signalling.close(channel.number, now: now, into: &turn.pdus, effects: &turn.effects)
    }
    sendFrames(&turn, into: &output)
    if signalling.channels[channel.number]?.queuedOctets ?? 0 > 0 {
      channels[id]?.isReading = false
      paused.append(id)
    }
    finish(&turn, into: &output)
  }

  /// Offers the accepted channels to the host, which now has the security level of the link to decide on them.
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

  /// The parameters that the peer's end of a channel accepts from the host.
  static func parameters(mtu: UInt16) -> CreditBasedChannel.Parameters {
    let credits = min(max(waitingOctets / max(1, mtu), creditLimits.lowerBound), creditLimits.upperBound)
    return CreditBasedChannel.Parameters(mtu: mtu, mps: frameLength, initialCredits: credits)
  }
}

/// One input, and the resulting output of the signalling channel.
struct ChannelTurn {
  let now: Instant
  var pdus = PacketBuffer()
  var effects: [SignallingChannel.Effect] = []

  init(now: Instant) { self.now = now }
}
