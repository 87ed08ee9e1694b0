import BLECrypto
import BLEKit
import BLELinux
import BLEProxy
import BLEWire
import ESPHomeAPI

/// The thread of the server.
struct ServerLoop: ~Copyable {
  private final class Client {
    let token: UInt64
    let address: String
    let stream: ByteStream
    var session: ProxySession
    /// Octets to be written, and how many of them are.
    var outgoing: [UInt8] = []
    var written = 0
    /// When advertisements are sent.
    var advertisementTime: Instant?
    /// Whether events wait in the proxy, because too many octets wait here.
    var isHeld = false
    var interest: Poller.Interest = []

    init(_ token: UInt64, _ address: String, _ stream: consuming ByteStream, _ session: consuming ProxySession) {
      (self.token, self.address) = (token, address)
      self.stream = stream
      self.session = session
    }

    var unwritten: Int { outgoing.count - written }
  }

  private static let (mailboxToken, listenerToken) = (UInt64(0), UInt64(1))
  /// The octets that are read from a socket at once.
  private static let readSize = 16_384
  /// The connections that are accepted between two looks at the clients.
  private static let acceptCount = 16

  private let mailbox: ProxyServer.Mailbox
  private let proxy: Proxy
  private let settings: ProxyServer.Settings
  private let clock = MonotonicClock()
  private var listener: PausingListener
  private var poller: Poller
  private var random: RandomSource
  private var clients: [UInt64: Client] = [:]
  private var places: ConnectionPlaces
  private var lastToken = ServerLoop.listenerToken
  private var buffer = [UInt8](repeating: 0, count: ServerLoop.readSize)
  private var endTime: Instant?
  /// The lines about clients without the key, in a period.
  private var complaints = (count: 0, until: Instant.start)
  private static let complaintLimit = 8
  /// Of the lines that clients with the key, and devices, can cause.
  private var limiter = LogLimiter()

  init(
    _ mailbox: ProxyServer.Mailbox, _ proxy: Proxy, _ settings: ProxyServer.Settings, _ random: RandomSource,
    _ listener: consuming Listener
  ) throws(SystemError) {
    let poller = try Poller()
    let listener = PausingListener(listener, token: Self.listenerToken)
    try poller.watch(mailbox.waker.descriptor, token: Self.mailboxToken, for: .reading)
    try listener.watch(on: poller)
    self.init(mailbox, proxy, settings, random, listener, poller)
  }

  private init(
    _ mailbox: ProxyServer.Mailbox, _ proxy: Proxy, _ settings: ProxyServer.Settings, _ random: RandomSource,
    _ listener: consuming PausingListener, _ poller: consuming Poller
  ) {
    (self.mailbox, self.proxy, self.settings, self.random) = (mailbox, proxy, settings, random)
    self.listener = listener
    self.poller = poller
    places = ConnectionPlaces(settings.places)
  }

  /// Runs until it is ended.
  ///
  /// - Throws: a failure that concerns all clients; those of one end that one.
  mutating func run() throws(SystemError) {
    defer {
      for client in clients.values { client.session.client.close() }
      logSummaries(clock.now() + LogLimiter.period)
    }
    while true {
      let count = try poller.wait(until: deadline, on: clock)
      let now = clock.now()
      for index in 0..<count { handle(poller[index], now) }
      tick(now)
      guard let endTime else { continue }
      if clients.isEmpty || now >= endTime { return }
    }
  }

  private var deadline: Instant? {
    var deadline: Instant? = .nearer(.nearer(listener.deadline, endTime), limiter.deadline)
    for client in clients.values {
      deadline = .nearer(deadline, .nearer(client.session.deadline, client.isHeld ? nil : client.advertisementTime))
    }
    return deadline
  }

  private mutating func handle(_ ready: Poller.Ready, _ now: Instant) {
    switch ready.token {
    case Self.mailboxToken: takeMail(now)
    case Self.listenerToken: accept(now)
    default:
      guard let client = clients[ready.token] else { return }
      if ready.hasEnded, client.session.isHeld { return remove(client, "the connection was lost", now) }
      if ready.canRead || ready.hasEnded {
        guard receive(from: client, now) else { return }
      }
      finish(client, now)
    }
  }

  private mutating func takeMail(_ now: Instant) {
    let mail = mailbox.take()
    for token in mail.advertisements {
      guard let client = clients[token], client.advertisementTime == nil else { continue }
      client.advertisementTime = now + settings.advertisementDelay
    }
    for token in mail.urgent {
      guard let client = clients[token] else { continue }
      drain(client, now)
      finish(client, now)
    }
    guard mail.isEnding, endTime == nil else { return }
    endTime = now + settings.endPatience
    listener.stop(on: poller)
    for client in clients.values {
      client.session.close(now: now)
      finish(client, now)
    }
  }

  private mutating func tick(_ now: Instant) {
    listener.resume(now: now, on: poller)
    if let due = limiter.deadline, due <= now { logSummaries(now) }
    for client in clients.values {
      var isDue = false
      if let time = client.advertisementTime, time <= now, !client.isHeld {
        drain(client, now)
        isDue = true
      }
      if let deadline = client.session.deadline, deadline <= now {
        client.session.tick(now: now)
        isDue = true
      }
      if isDue { finish(client, now) }
    }
  }

  private func drain(_ client: Client, _ now: Instant) {
    guard client.unwritten <= settings.outputLimit else {
      client.isHeld = true
      return
    }
    client.isHeld = false
    client.advertisementTime = nil
    client.session.drain(now: now)
  }
}

/// Sockets.
extension ServerLoop {
  private mutating func accept(_ now: Instant) {
    for _ in 0..<Self.acceptCount {
      let stream = listener.accept(now: now, on: poller) { [settings] error in
        settings.log("a connection cannot be accepted: \(error). It waits until that has passed")
      }
      guard let stream else { return }
      add(stream, now)
    }
  }

  private mutating func add(_ stream: consuming ByteStream, _ now: Instant) {
    // It may be over already.
    guard let peer = stream.peer else { return listener.refused(now: now, on: poller) }
    let address = peer.description
    let token = lastToken + 1
    switch places.add(token, from: peer.host?.network, now: now) {
    case .admitted: break
    case .admittedInPlace(let other):
      guard let client = clients[other] else { break }
      remove(client, "it has not proven the key, and another client needs its place", now)
    case .full:
      listener.refused(now: now, on: poller)
      return complain("\(address): rejected, because \(settings.places.clients) clients are connected", now)
    case .tooMany:
      listener.refused(now: now, on: poller)
      return complain("\(address): rejected, because its network opens too many connections", now)
    }
    lastToken = token
    let proxyClient = proxy.makeClient { [mailbox] waiting in mailbox.add(token, waiting) }
    let identity = settings.identity
    let configuration = APIConnection.Configuration(
      name: identity.name, macAddress: identity.address.value, serverInfo: "ble proxy \(identity.version)",
      key: settings.key)
    let connection = APIConnection(configuration, ephemeralKey: .random(from: &random), now: now)
    let client = Client(token, address, stream, ProxySession(identity, connection, proxyClient))
    clients[token] = client
    finish(client, now)
  }

  /// - Returns: false if the connection is over.
  private mutating func receive(from client: Client, _ now: Instant) -> Bool {
    do throws(SystemError) {
      switch try client.stream.read(into: &buffer) {
      case .octets(let count):
        client.session.receive(buffer.span.extracting(0..<count), now: now)
        return true
      case .nothing: return true
      case .end: remove(client, "the client has closed the connection", now)
      }
    } catch { remove(client, "\(error)", now) }
    return false
  }

  /// Writes pending octets, logs pending lines, and ends a connection that is over or that cannot be served.
  private mutating func finish(_ client: Client, _ now: Instant) {
    if client.session.isOpened { places.prove(client.token) }
    for line in client.session.takeLines() {
      let text = "\(client.address): \(line)"
      if limiter.admits(.notice(text, .peer), now: now) { settings.log(text) }
    }
    while true {
      client.session.takeOctets(into: &client.outgoing)
      do throws(SystemError) { try write(client) } catch { return remove(client, "\(error)", now) }
      // There is room again for what waits in the proxy.
      guard client.isHeld, client.unwritten <= settings.outputLimit / 2, client.session.end == nil else { break }
      drain(client, now)
    }
    switch client.session.end {
    // The last octets have the reason; a client that does not read them does not get them.
    case .some(let end): remove(client, end.reason, now)
    case nil:
      do throws(SystemError) { try watch(client) } catch { remove(client, "\(error)", now) }
    }
  }

  private func write(_ client: Client) throws(SystemError) {
    var outgoing: [UInt8] = []
    swap(&outgoing, &client.outgoing)
    defer { swap(&outgoing, &client.outgoing) }
    while client.written < outgoing.count {
      let count = try client.stream.write(outgoing.span.extracting(client.written...))
      if count == 0 { break }
      client.written += count
    }
    guard client.written > 0 else { return }
    if client.written == outgoing.count {
      outgoing.removeAll(keepingCapacity: outgoing.capacity <= settings.outputLimit)
      client.written = 0
    } else if client.written >= settings.outputLimit {
      outgoing.removeFirst(client.written)
      client.written = 0
    }
  }

  private func watch(_ client: Client) throws(SystemError) {
    var interest: Poller.Interest = []
    // Answers are longer than requests: a client that does not read gets no more of them.
    if client.unwritten <= settings.outputLimit, !client.session.isHeld { interest.insert(.reading) }
    if client.unwritten > 0 { interest.insert(.writing) }
    guard interest != client.interest else { return }
    client.interest = interest
    try poller.watch(client.stream.descriptor, token: client.token, for: interest)
  }

  private mutating func remove(_ client: Client, _ reason: String, _ now: Instant) {
    poller.unwatch(client.stream.descriptor)
    client.session.leave()
    clients[client.token] = nil
    places.remove(client.token)
    guard client.session.isOpened else { return complain("\(client.address): refused: \(reason)", now) }
    let lost = client.session.lostAdvertisements
    settings.log(
      "\(client.address): disconnected: \(reason)" + (lost > 0 ? "; \(lost) advertisements were dropped for it" : ""))
  }

  private mutating func logSummaries(_ now: Instant) {
    for summary in limiter.takeSummaries(now: now) { settings.log(summary.text) }
  }

  /// A line about a client that has not proven the key, and that can cause any number of lines.
  private mutating func complain(_ line: String, _ now: Instant) {
    if complaints.until <= now {
      if complaints.count > Self.complaintLimit {
        settings.log("\(complaints.count - Self.complaintLimit) more connections were refused")
      }
      complaints = (0, now + settings.complaintTime)
    }
    complaints.count += 1
    if complaints.count <= Self.complaintLimit { settings.log(line) }
  }
}

extension ProxySession.End {
  fileprivate var reason: String {
    switch self {
    case .closed: "as agreed"
    case .protocolError(let error): Self.text(of: error)
    case .proxyError(let error): "\(error)"
    }
  }

  private static func text(of error: APIConnectionError) -> String {
    switch error {
    case .notEncrypted: "the client uses plain text: give it the key"
    case .encrypted: "the client uses encryption, and this proxy has no key: remove the key from the client"
    case .invalidIndicator(let octet): "octet \(octet) does not begin a frame of ESPHome's API"
    case .wrongKey: "the client has another key: give it the key of this proxy"
    case .invalidHandshake: "the handshake is malformed"
    case .frameTooLong(let size, let limit): "a frame has \(size) octets, at most \(limit) are accepted"
    case .invalidHeader: "the header of a frame is malformed"
    case .keyNotProven: "the client has not proven the key: its handshake is a recorded one, or the client is faulty"
    case .notAuthentic: "a frame is not authentic: it was changed, repeated or lost"
    case .invalidLength: "the length of a message differs from that of its frame"
    case .malformed(let type, let reason): "message \(type) is malformed: \(reason)"
    case .notOpened(let type): "message \(type) came before HelloRequest"
    case .openingTimeout: "the client has not sent HelloRequest in time"
    case .silent: "the client is silent, and does not answer pings"
    case .disconnectTimeout: "the client has not answered DisconnectRequest in time"
    case .nonceExhausted: "the keys of the connection are used up"
    case .cryptography(let reason): "\(reason)"
    }
  }
}
