import BLEGATT
import BLESMP
import BLEWire

/// The context of an input of a ``Link``: the database and the bonds, which all links of the host share, and the input
/// itself.
///
/// ``HostLinks`` has one, and lends it in place: a copy for each packet would cost allocations, and would have to be
/// written back.
struct LinkContext: Sendable {
  var services: ServiceRegistry
  var bonds: BondTable
  /// Empty between inputs.
  var turn: LinkTurn
}

/// One input of a ``Link``: the facts that it may use, and what it writes and causes. The memory is reused.
///
/// The router takes the output in this order: PDUs of the server, then its effects; PDUs of the client, then its
/// effects; the effects of the link, then the PDUs of the signalling channel; then the frames of channels for which
/// there is room.
struct LinkTurn: Sendable {
  let toolbox: SecurityToolbox
  var now = Instant.start
  /// Whether our central secures a link whose peer refuses an operation because the link lacks security.
  var pairsOnDemand = false
  /// Whether operations wait on a link whose bond is lost.
  var queuesOperationsAfterBondLoss = false

  var server = LinkServer.Output()
  var client = LinkClient.Output()
  /// PDUs of our server for enhanced bearers.
  var bearerFrames: [BearerFrame] = []
  /// The client has had an input.
  var usesClient = false
  var effects: [Effect<LinkEffect>] = []
  var signalling = PacketBuffer()
  /// Channels of the link may have frames to send.
  var hasChannelFrames = false

  /// Whether the input has caused no effects but events of the server, or none: a request that the application answers,
  /// or the server.
  @inline(__always)
  var hasServerEventsOnly: Bool { hasServerOutputOnly && (server.effects.isEmpty || hasServerEvents) }

  private var hasServerEvents: Bool {
    for effect in server.effects {
      guard case .event = effect else { return false }
    }
    return true
  }

  @inline(__always)
  private var hasServerOutputOnly: Bool {
    !usesClient && effects.isEmpty && signalling.isEmpty && !hasChannelFrames && bearerFrames.isEmpty && client.isEmpty
  }

  init(_ toolbox: SecurityToolbox) { self.toolbox = toolbox }

  /// Sets the facts of a new input.
  @inline(__always)
  mutating func begin(_ policy: SecurityPolicy, now: Instant) {
    self.now = now
    (pairsOnDemand, queuesOperationsAfterBondLoss) = (policy.pairsOnDemand, policy.queuesOperationsAfterBondLoss)
  }

  /// Takes out the effects of an input that has written no PDUs.
  mutating func takeEffects() -> [Effect<LinkEffect>] {
    defer { removeAll() }
    return server.effects + client.effects + effects
  }

  /// Forgets what was taken and keeps the memory.
  mutating func removeAll() {
    server.removeAll()
    client.removeAll()
    usesClient = false
    effects.removeFew()
    signalling.removeAll()
    hasChannelFrames = false
  }
}
