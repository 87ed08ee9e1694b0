import BLEWire

/// The credit-based channels of one link: packets of the signalling channel and K-frames in, both out (Vol 3, Part A,
/// 4.22 to 4.28 and 10).
///
/// ```
///   open ──request──► opening ──response: successful──► open ──close, or Disconnection Request──► closed
///                        │ refused, 30 s                 │ violation: Disconnection Request
///                        ▼                               ▼
///                     .openFailed                     .closed
/// ```
///
/// ``SignallingChannel`` owns one, as ``SignallingChannel/channels``: requests share its identifiers.
public struct CreditBasedChannels: Sendable {
  /// The largest number of channels in one request (Vol 3, Part A, 4.25).
  public static let maximumPerRequest = 5
  /// The time for a response after a pending one: the ERTX timer (Vol 3, Part A, 6.2.2).
  static let pendingTimeout: Duration = .seconds(60)
  /// The numbers that an LE device assigns.
  static let dynamicCIDs: ClosedRange<UInt16> = 0x0040...0x007F

  let limits: Limits
  /// The services that the peer may open channels to; requests for others are rejected with
  /// ``CreditBasedConnectionResult/spsmNotSupported``.
  public var services: Set<SPSM> = []
  /// The length of the packets of the link layer that frames fill, in octets; 0 if it is not known.
  package var packetLength = 0
  /// The channels by their number here.
  var open: [ChannelID: CreditBasedChannel] = [:]
  /// Requests of ours, by the identifier.
  var outstanding: [UInt8: (request: Outstanding, deadline: Instant)] = [:]
  /// Requests of the peer that the owner has not answered.
  var requests: [Request] = []
  /// The number that was given to a channel last.
  private var lastCID = dynamicCIDs.upperBound
  /// The number of the channel that sent the last frame: each channel sends in turn.
  private var lastSender = ChannelID.null

  /// No channels.
  public init(limits: Limits = Limits()) { self.limits = limits }

  /// An open channel, by its number here.
  public subscript(channel: ChannelID) -> CreditBasedChannel? { open[channel] }
  /// The number of open channels.
  public var count: Int { open.count }

  var deadline: Instant? { outstanding.isEmpty ? nil : outstanding.values.map { $0.deadline }.min() }

  /// Takes the next K-frame, from each channel in turn.
  ///
  /// - Returns: the channel number of the peer, the payload, the channel number here, and the octets of an SDU in the
  ///   payload.
  public mutating func nextFrame(
    effects: inout [Effect]
  ) -> (channel: ChannelID, payload: [UInt8], local: ChannelID, octets: Int)? {
    let ready = open.values.lazy.filter { $0.canSendFrame }.map { $0.localCID }
    guard
      let next = ready.filter({ [lastSender] in $0.rawValue > lastSender.rawValue }).min(by: Self.isBefore)
        ?? ready.min(by: Self.isBefore), let waiting = open[next]?.queuedOctets, let remote = open[next]?.remoteCID,
      // In place (Docs/Decisions/performance.md#in-place).
      let payload = open[next]?.nextFrame(filling: packetLength)
    else { return nil }
    lastSender = next
    if open[next]?.takeCanSend() == true { effects.append(.canSend(next)) }
    return (remote, payload, next, waiting - (open[next]?.queuedOctets ?? waiting))
  }

  /// Whether a channel has a frame to send and a credit for it.
  public var canSendFrame: Bool { open.values.contains(where: { $0.canSendFrame }) }

  private static func isBefore(_ a: ChannelID, _ b: ChannelID) -> Bool { a.rawValue < b.rawValue }

  /// Queues an SDU on a channel.
  public mutating func send(_ sdu: [UInt8], on channel: ChannelID) throws(CreditBasedChannel.SendRefusal) {
    guard open[channel] != nil else { throw .notOpen }
    try open[channel]?.send(sdu)
  }

  /// The link has ended: every channel and every request ends.
  public mutating func linkEnded(effects: inout [Effect]) {
    for id in outstanding.keys.sorted() {
      if case .open(let id, _, _, _, _)? = outstanding[id]?.request { effects.append(.openFailed(id, .linkEnded)) }
    }
    for channel in open.keys.sorted(by: Self.isBefore) { effects.append(.closed(channel, .linkEnded)) }
    (open, outstanding, requests) = ([:], [:], [])
  }

  /// Takes numbers for new channels, fewer than `count` if not enough are left.
  ///
  /// Numbers are assigned in turn, so that the number of a closed channel is reused as late as possible: some peers
  /// still have the channel when they have confirmed its end.
  mutating func takeCIDs(_ count: Int) -> [ChannelID] {
    var used = Set(open.keys)
    for case .open(_, _, _, _, let channels) in outstanding.values.map({ $0.request }) { used.formUnion(channels) }
    // A number is free again when the peer has confirmed that the channel is closed.
    for case .close(let local, _) in outstanding.values.map({ $0.request }) { used.insert(local) }
    let room = max(0, limits.channels - used.count)
    let (first, size) = (Self.dynamicCIDs.lowerBound, UInt16(Self.dynamicCIDs.count))
    let inTurn = (1...size).lazy.map { [lastCID] in ChannelID(rawValue: first + (lastCID - first + $0) % size) }
    let numbers = Array(inTurn.filter { !used.contains($0) }.prefix(min(count, room)))
    if let last = numbers.last { lastCID = last.rawValue }
    return numbers
  }

  /// The request of the peer with this identifier, if it is waiting for the owner.
  func request(_ identifier: UInt8) -> Request? { requests.first { $0.identifier == identifier } }

  /// The channel of a number at the peer.
  func channel(remote: ChannelID) -> CreditBasedChannel? { open.values.first { $0.remoteCID == remote } }

  /// Whether the peer has given its number to a channel, or to a request that waits.
  func isUsed(remote: ChannelID) -> Bool {
    channel(remote: remote) != nil || requests.contains { $0.remoteCIDs.contains(remote) }
  }

  mutating func add(
    _ local: ChannelID, _ remote: ChannelID, _ spsm: SPSM, _ mode: CreditBasedChannel.Mode,
    ours: CreditBasedChannel.Parameters, theirs: CreditBasedChannel.Parameters
  ) {
    open[local] = CreditBasedChannel(
      localCID: local, remoteCID: remote, spsm: spsm, mode: mode, local: ours, remote: theirs,
      queueLimit: limits.queuedOctets)
  }
}
