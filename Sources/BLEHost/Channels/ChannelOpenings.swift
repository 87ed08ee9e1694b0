import BLEGATT
import BLEL2CAP
import BLEWire

/// The requests of the owners of one link for channels, until each has its channel or fails. A request waits while the
/// link gets the security that it needs (Vol 3, Part C, 10.3.2).
///
/// ```
///   open ──► waits for security ──► requested ── response: successful ──► take
///                 ▲      │ not secured   │ refused, no answer
///                 │      ▼               ▼
///                 │    channelOpenFailed ◄┤
///                 └── refused because the link lacks security, once, where our central pairs on demand
/// ```
struct ChannelOpenings: Sendable {
  /// One request.
  struct Opening: Sendable {
    let id: OpenChannelID
    let owner: OwnerID
    /// The name that the channel gets.
    var channel = L2CAPChannelID(rawValue: 0)
    var request: ChannelRequest
    /// The refusal for which the link is being secured.
    fileprivate var refusal: HostError?
    /// Whether the security manager has the demand of the request.
    fileprivate var isDemanded = false

    init(id: OpenChannelID, owner: OwnerID, request: ChannelRequest) {
      (self.id, self.owner, self.request) = (id, owner, request)
    }

    fileprivate func isSatisfied(by facts: Facts) -> Bool {
      request.demand.map { facts.security.level >= max($0.level, .encrypted) } ?? true
    }
  }

  /// The facts that decide whether a channel may be opened.
  struct Facts {
    var security: SecurityState
    /// The state of the encryption of a link to a bonded peripheral; before it, our central sends and accepts nothing.
    var reconnection: Reconnection
    var isCentral: Bool

    init(_ link: Link) {
      (security, reconnection, isCentral) = (link.security, link.client.reconnection, link.role == .central)
    }
  }

  private struct Waiting {
    var opening: Opening
    var deadline: Instant
  }

  private var requests: [CreditBasedChannels.OpenID: Opening] = [:]
  private var waiting: [Waiting] = []
  private var lastRequest: UInt32 = 0

  /// Requests on one link; one more fails.
  static let limit = 32
  /// How long a request waits until the link is secured, which may need the users of both devices.
  static let securityTimeout: Duration = .seconds(120)

  /// When ``tick(_:)`` has work.
  var deadline: Instant? { waiting.isEmpty ? nil : waiting.map { $0.deadline }.min() }

  /// Requests a channel if the link has the security for it; otherwise the request waits.
  mutating func open(
    _ opening: Opening, _ facts: Facts, _ signalling: inout SignallingChannel, _ turn: inout LinkTurn
  ) {
    guard requests.count + waiting.count < Self.limit else {
      return fail(opening, .tooMany("channels being opened on a link", limit: Self.limit), &turn)
    }
    switch facts.reconnection {
    case .bondLost where !turn.queuesOperationsAfterBondLoss:
      fail(opening, .notSecured("the link could not be encrypted with the key of the bond. Pair again"), &turn)
    case .bondLost, .pending: wait(opening, &turn)
    case .none: proceed(opening, facts, &signalling, &turn)
    }
  }

  private mutating func proceed(
    _ opening: Opening, _ facts: Facts, _ signalling: inout SignallingChannel, _ turn: inout LinkTurn
  ) {
    guard let demand = opening.request.demand, !opening.isSatisfied(by: facts) else {
      return send(opening, &signalling, &turn)
    }
    // Pairs once: another pairing would give the same key.
    guard !opening.isDemanded else { return fail(opening, Self.notSecured, &turn) }
    var opening = opening
    opening.isDemanded = true
    wait(opening, &turn)
    turn.effects.append(.own(.channel(.securityWanted(.requested(by: opening.owner, demand)))))
  }

  private mutating func wait(_ opening: Opening, _ turn: inout LinkTurn) {
    waiting.append(Waiting(opening: opening, deadline: turn.now + Self.securityTimeout))
  }

  private mutating func send(_ opening: Opening, _ signalling: inout SignallingChannel, _ turn: inout LinkTurn) {
    lastRequest &+= 1
    let number = CreditBasedChannels.OpenID(rawValue: lastRequest)
    let (request, now) = (opening.request, turn.now)
    do throws(SignallingChannel.ChannelRefusal) {
      try signalling.open(
        .init(spsm: request.spsm, mode: request.mode, local: request.parameters), number, now: now,
        into: &turn.signalling)
      requests[number] = opening
    } catch {
      fail(opening, HostError(error), &turn)
    }
  }

  private func fail(_ opening: Opening, _ error: HostError, _ turn: inout LinkTurn) {
    turn.effects.append(.event(.channels(.openFailed(opening.id, error)), to: opening.owner.recipient))
    turn.effects.append(.own(.channel(.ended(opening.channel))))
  }

  private static let notSecured = HostError.notSecured(
    "the link did not get the security that the channel demands. Pair the devices, or demand less")

  /// Takes a request whose channel is open; nil if its owner has detached, or if the link has since lost the security
  /// that the request demands.
  mutating func take(_ request: CreditBasedChannels.OpenID, _ facts: Facts, _ turn: inout LinkTurn) -> Opening? {
    guard let opening = requests.removeValue(forKey: request) else { return nil }
    guard opening.isSatisfied(by: facts) else {
      fail(opening, Self.notSecured, &turn)
      return nil
    }
    return opening
  }

  /// A request has failed. After the first refusal because the link lacks security, the link is secured.
  mutating func failed(
    _ request: CreditBasedChannels.OpenID, _ failure: CreditBasedChannels.OpenFailure, _ facts: Facts,
    _ turn: inout LinkTurn
  ) {
    guard var opening = requests.removeValue(forKey: request) else { return }
    let error = HostError(failure)
    guard case .refused(let result) = failure, Self.securityResults.contains(result), facts.isCentral,
      turn.pairsOnDemand, opening.refusal == nil
    else { return fail(opening, error, &turn) }
    opening.refusal = error
    wait(opening, &turn)
    turn.effects.append(.own(.channel(.securityWanted(.refused))))
  }

  /// The results after which the link is secured.
  private static let securityResults: Set<CreditBasedConnectionResult> = [
    .insufficientAuthentication, .insufficientAuthorization, .encryptionKeySizeTooShort, .insufficientEncryption,
  ]

  /// The link is encrypted: requests that waited are sent if it has the security that they demand.
  mutating func resume(_ facts: Facts, _ signalling: inout SignallingChannel, _ turn: inout LinkTurn) {
    let ready = waiting.map { $0.opening }
    waiting = []
    for opening in ready { proceed(opening, facts, &signalling, &turn) }
  }

  /// The link is not secured: the requests that wait for it fail.
  mutating func releaseWaiting(_ turn: inout LinkTurn) {
    let released = waiting.map { $0.opening }
    waiting = []
    for opening in released { fail(opening, opening.refusal ?? Self.notSecured, &turn) }
  }

  mutating func tick(_ turn: inout LinkTurn) {
    guard let deadline, deadline <= turn.now else { return }
    let late = waiting.filter { $0.deadline <= turn.now }.map { $0.opening }
    waiting.removeAll { $0.deadline <= turn.now }
    for opening in late { fail(opening, opening.refusal ?? Self.notSecured, &turn) }
  }

  /// Withdraws the requests of an owner. A channel that the peer opens after this is closed.
  mutating func detach(_ owner: OwnerID, _ turn: inout LinkTurn) {
    let openings = Array(requests.values) + waiting.map { $0.opening }
    for opening in openings where opening.owner == owner {
      turn.effects.append(.own(.channel(.ended(opening.channel))))
    }
    requests = requests.filter { $0.value.owner != owner }
    waiting.removeAll { $0.opening.owner == owner }
  }

  /// The link has ended.
  mutating func linkEnded(_ turn: inout LinkTurn) {
    let open = requests.sorted { $0.key.rawValue < $1.key.rawValue }.map { $0.value } + waiting.map { $0.opening }
    (requests, waiting) = ([:], [])
    for opening in open { fail(opening, .notConnected, &turn) }
  }
}

extension HostError {
  /// The reason why a request for a channel failed at the peer.
  fileprivate init(_ failure: CreditBasedChannels.OpenFailure) {
    switch failure {
    case .refused(let result): self = .channelRefused(result)
    case .notUnderstood: self = .peerRefused("it has no credit-based channels")
    case .invalidResponse: self = .peerRefused("its response to a request for a channel is invalid")
    case .timedOut: self = .peerRefused("it did not respond to a request for a channel in time")
    case .linkEnded: self = .notConnected
    }
  }

  /// The reason why a request for a channel was not sent.
  fileprivate init(_ refusal: SignallingChannel.ChannelRefusal) {
    if case .tooMany(let limit) = refusal {
      self = .tooMany("channels on a link", limit: limit)
    } else {
      self = .invalidParameters("\(refusal)")
    }
  }
}
