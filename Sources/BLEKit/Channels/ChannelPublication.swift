public import BLEAdapter
import BLEGATT
import BLEHost
import BLEL2CAP
import Synchronization

/// A PSM that devices may open channels to, from ``Adapter/publishChannel(psm:security:)``: a sequence of the channels
/// that they open.
///
/// It is withdrawn, and its channels are closed, by ``remove()`` or when it is released.
///
/// ```swift
/// let publication = try await adapter.publishChannel()
/// print("PSM \(publication.psm)")
/// for await channel in publication {
///   for try await octets in channel { try await channel.write(octets) }
/// }
/// ```
public final class ChannelPublication: Sendable {
  /// The number of the service, an SPSM (Vol 3, Part A, 4.22), which the other devices have to learn from the program.
  public let psm: UInt16
  let session: AdapterSession
  fileprivate let incoming: IncomingChannels

  fileprivate init(session: AdapterSession, psm: SPSM, incoming: IncomingChannels) {
    (self.session, self.psm, self.incoming) = (session, psm.rawValue, incoming)
  }

  deinit { withdraw() }

  /// Withdraws the PSM and closes its channels; the sequence ends.
  public func remove() async {
    let psm = SPSM(rawValue: psm)
    try? await session.wait(for: .listenEnd(psm)) { state, actions throws(BLEError) in
      guard state.listeners[psm] != nil else { return () }
      state.stopListening(psm, into: &actions)
      return nil
    }
    // A task that was cancelled does not wait, and has withdrawn nothing.
    withdraw()
  }

  private func withdraw() {
    session.run { [psm = SPSM(rawValue: psm)] state, actions in state.stopListening(psm, into: &actions) }
  }
}

extension ChannelPublication: AsyncSequence {
  public typealias Element = LEChannel
  public typealias Failure = Never

  public func makeAsyncIterator() -> Iterator {
    Iterator(publication: self, channels: incoming.stream.makeAsyncIterator())
  }

  /// Takes channels from the publication, which it keeps.
  public struct Iterator: AsyncIteratorProtocol {
    let publication: ChannelPublication
    var channels: AsyncStream<LEChannel>.Iterator

    /// The next channel; nil when the PSM was withdrawn, the adapter closed, or the task is cancelled.
    public mutating func next() async -> LEChannel? {
      guard let channel = await channels.next() else { return nil }
      publication.incoming.taken(by: channel.device.peer)
      return channel
    }
  }
}

/// The channels to one PSM that no reader has taken. Each link has a share of the queue, so that one device cannot fill
/// it.
final class IncomingChannels: Sendable {
  let stream: AsyncStream<LEChannel>
  private let continuation: AsyncStream<LEChannel>.Continuation
  /// The channels of each link that wait.
  private let waiting = Mutex<[LinkID: Int]>([:])
  /// Channels of one link that may wait for a reader; one more is closed.
  static let linkLimit = 32
  /// Channels of all links that may wait, including those of links that have ended; one more is closed.
  static let limit = 512

  init() { (stream, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.limit)) }

  /// Adds a channel. If there is no room, the caller releases it, which closes it.
  func offer(_ channel: LEChannel) {
    let peer = channel.device.peer
    let hasRoom = waiting.withLock { waiting in
      guard waiting[peer, default: 0] < Self.linkLimit else { return false }
      waiting[peer, default: 0] += 1
      return true
    }
    guard hasRoom else { return }
    if case .enqueued = continuation.yield(channel) { return }
    taken(by: peer)
  }

  /// A channel of a link no longer waits.
  func taken(by peer: LinkID) {
    waiting.withLock { waiting in
      let rest = waiting[peer, default: 0] - 1
      waiting[peer] = rest > 0 ? rest : nil
    }
  }

  func finish() { continuation.finish() }
}

extension Adapter {
  /// Lets devices open credit-based L2CAP channels to this one, until the publication is released or the adapter is
  /// closed.
  ///
  /// - Parameters:
  ///   - psm: the number of the service: 0x0080 to 0x00FF, or one that the Bluetooth SIG has assigned, 0x0001 to
  ///     0x007F. If it is nil, the host assigns a free one.
  ///   - security: the security that the link needs before a channel is opened (Vol 3, Part C, 10.3.2).
  /// - Returns: the publication; keep it for as long as channels are to be accepted.
  /// - Throws: ``BLEError/Kind/invalidArgument`` or ``BLEError/Kind/limitExceeded`` if the number is wrong or none is
  ///   free.
  public func publishChannel(
    psm: UInt16? = nil, security: RequiredSecurity = .none
  ) async throws(BLEError) -> ChannelPublication {
    let incoming = IncomingChannels()
    let id = HostIDs.listen()
    let service = ChannelService(spsm: psm.map { SPSM(rawValue: $0) }, requirement: security.requirement)
    let assigned = try await session.wait(for: .listen(id)) { state, actions throws(BLEError) in
      try state.requirePower()
      state.newListeners[id] = incoming
      actions.commands.append(.channels(.listen(id, service)))
      return nil
    } abandon: { state, _ in
      state.newListeners[id] = nil
    }
    return ChannelPublication(session: session, psm: assigned, incoming: incoming)
  }
}

extension RemoteDevice {
  /// Opens a credit-based L2CAP channel to a service of the device.
  ///
  /// - Parameters:
  ///   - psm: the number of the service, an SPSM, from the device's documentation or one of its characteristics.
  ///   - level: the security that the link has before the request. If the device demands more, the devices pair, as for
  ///     an attribute (``PairingOptions/pairsOnDemand``).
  ///   - timeout: the time for the answer, pairing included.
  /// - Throws: ``BLEError/Kind/notFound`` if the device has no such service, ``BLEError/Kind/security`` if the link
  ///   does not have the security that the device demands, ``BLEError/Kind/limitExceeded`` if the device has no room.
  public func openChannel(
    psm: UInt16, level: PeerSecurity.Level = .none, timeout: Duration = .seconds(60)
  ) async throws(BLEError) -> LEChannel {
    let id = HostIDs.openChannel()
    let request = ChannelRequest(spsm: SPSM(rawValue: psm), demand: PeerSecurity.demand(level, asksConsent: false))
    return try await session.wait(
      for: .channel(peer, id), timeout: timeout,
      missing: "no L2CAP channel to \(self)"
    ) { [peer] state, actions throws(BLEError) in
      try state.requireLink(peer)
      actions.commands.append(.channels(.open(id, peer, request)))
      return nil
    }
  }
}

extension AdapterSession.State {
  mutating func listening(
    _ id: ListenID, _ result: Result<SPSM, HostError>, into actions: inout Actions
  ) {
    let incoming = newListeners.removeValue(forKey: id)
    if case .success(let psm) = result {
      guard let incoming else { return actions.commands.append(.channels(.stopListening(psm))) }
      listeners[psm] = incoming
    }
    waits.answer(.listen(id), result.mapError(BLEError.init), into: &actions)
  }

  mutating func stopListening(_ psm: SPSM, into actions: inout Actions) {
    guard let incoming = listeners.removeValue(forKey: psm), !isClosed else { return }
    actions.commands.append(.channels(.stopListening(psm)))
    actions.later { incoming.finish() }
  }

  mutating func channelOpened(_ opened: OpenedChannel, of session: AdapterSession, into actions: inout Actions) {
    guard let stream = session.client.stream(of: opened) else { return }
    guard let device = device(opened.peer, of: session) else { return actions.later { stream.close() } }
    let channel = LEChannel(stream, psm: opened.spsm.rawValue, device: device)
    if let id = opened.request {
      // Without a task that waits, the channel is released and closed.
      waits.answer(.channel(opened.peer, id), .success(channel), into: &actions)
    } else if let incoming = listeners[opened.spsm] {
      actions.later { incoming.offer(channel) }
    }
    actions.later { withExtendedLifetime(channel) {} }
  }

  mutating func channelNotOpened(_ id: OpenChannelID, _ error: HostError, into actions: inout Actions) {
    waits.fail(
      BLEError(error), where: { if case .channel(_, id) = $0 { true } else { false } }, into: &actions)
  }

  mutating func endListening(into actions: inout Actions) {
    for incoming in listeners.values { actions.later { incoming.finish() } }
    (listeners, newListeners) = ([:], [:])
  }
}
