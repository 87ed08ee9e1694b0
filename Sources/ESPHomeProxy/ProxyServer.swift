package import BLECrypto
import BLEKit
package import BLELinux
package import BLEProxy
import BLEWire
package import ESPHomeAPI
import Synchronization

/// The TCP server of a proxy: one thread that waits for sockets, for the clients' events and for deadlines.
package final class ProxyServer: Sendable {
  package struct Settings: Sendable {
    package var identity: ProxySession.Identity
    /// The key of the encryption; nil for plain text.
    package var key: NoiseKey?
    /// Clients at once. For the next one, the oldest that has not proven the key is disconnected; if all have, the next
    /// one is.
    package var clientLimit = 16
    /// Octets that wait to be written to one socket. Above it neither messages nor events of the client are handled:
    /// advertisements are dropped and counted, and a client whose values do not fit either is disconnected
    /// (``ProxyConfiguration/eventLimit``).
    package var outputLimit = 256 << 10
    /// How long advertisements wait for others, to share a message.
    package var advertisementDelay = Duration.milliseconds(20)
    /// The period in which eight lines about clients without the key are logged; more are counted.
    package var complaintTime = Duration.seconds(10)
    /// How long the server waits for clients when it ends.
    package var endPatience = Duration.seconds(1)
    package var log: @Sendable (String) -> Void = { _ in }

    package init(identity: ProxySession.Identity, key: NoiseKey?) { (self.identity, self.key) = (identity, key) }
  }

  private let mailbox: Mailbox
  private let hasEnded: Latch

  /// Listens, and starts the thread.
  ///
  /// - Parameter random: makes the keys of the handshakes.
  package init(
    _ proxy: Proxy, _ settings: Settings, listener: consuming Listener, random: RandomSource = .system
  ) throws(SystemError) {
    let (mailbox, hasEnded) = (try Mailbox(), try Latch())
    (self.mailbox, self.hasEnded) = (mailbox, hasEnded)
    let listener = OneShot(listener)
    try LoopThread.start {
      do throws(SystemError) {
        if let listener = listener.take() {
          var loop = try ServerLoop(mailbox, proxy, settings, random, listener)
          try loop.run()
        }
      } catch { settings.log("the server has ended: \(error)") }
      hasEnded.open()
    }
  }

  /// Disconnects the clients, and waits until the thread has ended.
  package func end() {
    mailbox.end()
    hasEnded.wait(atMost: .seconds(3))
  }

  /// The input of other threads for the thread of the server.
  fileprivate final class Mailbox: Sendable {
    struct Content: Sendable {
      /// Clients with events, and those with advertisements only.
      var urgent: [UInt64] = []
      var advertisements: [UInt64] = []
      var isEnding = false
    }

    let waker: Waker
    private let content = Mutex(Content())

    init() throws(SystemError) { waker = try Waker() }

    func add(_ token: UInt64, _ waiting: ProxyClient.Waiting) {
      let wakes = content.withLock { content in
        defer { if waiting == .events { content.urgent.append(token) } else { content.advertisements.append(token) } }
        return content.urgent.isEmpty && content.advertisements.isEmpty
      }
      if wakes { waker.wake() }
    }

    func end() {
      content.withLock { $0.isEnding = true }
      waker.wake()
    }

    func take() -> Content {
      waker.drain()
      return content.withLock { content in
        defer { content = Content(isEnding: content.isEnding) }
        return content
      }
    }
  }
}

/// The thread of the server.
private struct ServerLoop: ~Copyable {
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
  /// The pause after a connection could not be accepted.
  private static let acceptPause = Duration.seconds(1)

  private let mailbox: ProxyServer.Mailbox
  private let proxy: Proxy
  private let settings: ProxyServer.Settings
  private let clock = MonotonicClock()
  private let listener: Listener
  private var poller: Poller
  private var random: RandomSource
  private var clients: [UInt64: Client] = [:]
  private var lastToken = ServerLoop.listenerToken
  private var buffer = [UInt8](repeating: 0, count: ServerLoop.readSize)
  private var acceptTime: Instant?
  private var endTime: Instant?
  /// The lines about clients without the key, in a period.
  private var complaints = (count: 0, until: Instant.start)
  private static let complaintLimit = 8

  init(
    _ mailbox: ProxyServer.Mailbox, _ proxy: Proxy, _ settings: ProxyServer.Settings, _ random: RandomSource,
    _ listener: consuming Listener
  ) throws(SystemError) {
    let poller = try Poller()
    try poller.watch(mailbox.waker.descriptor, token: Self.mailboxToken, for: .reading)
    try poller.watch(listener.descriptor, token: Self.listenerToken, for: .reading)
    self.init(mailbox, proxy, settings, random, listener, poller)
  }

  private init(
    _ mailbox: ProxyServer.Mailbox, _ proxy: Proxy, _ settings: ProxyServer.Settings, _ random: RandomSource,
    _ listener: consuming Listener, _ poller: consuming Poller
  ) {
    (self.mailbox, self.proxy, self.settings, self.random) = (mailbox, proxy, settings, random)
    self.listener = listener
    self.poller = poller
  }

  mutating func run() throws(SystemError) {
    while true {
      let count = try poller.wait(until: deadline, on: clock)
      let now = clock.now()
      for index in 0..<count { try handle(poller[index], now) }
      try tick(now)
      guard let endTime else { continue }
      if clients.isEmpty || now >= endTime { break }
    }
    for client in clients.values { client.session.client.close() }
  }

  private var deadline: Instant? {
    var deadline: Instant? = .nearer(acceptTime, endTime)
    for client in clients.values {
      deadline = .nearer(deadline, .nearer(client.session.deadline, client.isHeld ? nil : client.advertisementTime))
    }
    return deadline
  }

  private mutating func handle(_ ready: Poller.Ready, _ now: Instant) throws(SystemError) {
    switch ready.token {
    case Self.mailboxToken: try takeMail(now)
    case Self.listenerToken: try accept(now)
    default:
      guard let client = clients[ready.token] else { return }
      if ready.hasEnded, client.session.isHeld { return remove(client, "the connection was lost", now) }
      if ready.canRead || ready.hasEnded {
        guard receive(from: client, now) else { return }
      }
      try finish(client, now)
    }
  }

  private mutating func takeMail(_ now: Instant) throws(SystemError) {
    let mail = mailbox.take()
    for token in mail.advertisements {
      guard let client = clients[token], client.advertisementTime == nil else { continue }
      client.advertisementTime = now + settings.advertisementDelay
    }
    for token in mail.urgent {
      guard let client = clients[token] else { continue }
      drain(client, now)
      try finish(client, now)
    }
    guard mail.isEnding, endTime == nil else { return }
    endTime = now + settings.endPatience
    poller.unwatch(listener.descriptor)
    acceptTime = nil
    for client in clients.values {
      client.session.close(now: now)
      try finish(client, now)
    }
  }

  private mutating func tick(_ now: Instant) throws(SystemError) {
    if let acceptTime, acceptTime <= now {
      self.acceptTime = nil
      try poller.watch(listener.descriptor, token: Self.listenerToken, for: .reading)
    }
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
      if isDue { try finish(client, now) }
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
  private mutating func accept(_ now: Instant) throws(SystemError) {
    let stream: ByteStream
    do throws(SystemError) {
      guard let accepted = try listener.accept() else { return }
      stream = accepted
    } catch {
      // Most likely the process has too many open descriptors.
      settings.log("a connection cannot be accepted: \(error)")
      poller.unwatch(listener.descriptor)
      acceptTime = now + Self.acceptPause
      return
    }
    let address = stream.peerAddress ?? "unknown"
    if clients.count >= settings.clientLimit {
      let strangers = clients.values.filter { !$0.session.isOpened }
      guard let oldest = strangers.min(by: { $0.token < $1.token }) else {
        return complain("\(address): rejected, because \(settings.clientLimit) clients are connected", now)
      }
      remove(oldest, "it has not proven the key, and another client needs its place", now)
    }
    lastToken += 1
    let token = lastToken
    let proxyClient = proxy.makeClient { [mailbox] waiting in mailbox.add(token, waiting) }
    let identity = settings.identity
    let configuration = APIConnection.Configuration(
      name: identity.name, macAddress: identity.address.value, serverInfo: "ble proxy \(identity.version)",
      key: settings.key)
    let connection = APIConnection(configuration, ephemeralKey: .random(from: &random), now: now)
    let client = Client(token, address, stream, ProxySession(identity, connection, proxyClient))
    clients[token] = client
    try watch(client)
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

  /// Writes pending octets, logs pending lines, and ends a connection that is over.
  private mutating func finish(_ client: Client, _ now: Instant) throws(SystemError) {
    for line in client.session.takeLines() { settings.log("\(client.address): \(line)") }
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
    case nil: try watch(client)
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
    guard client.session.isOpened else { return complain("\(client.address): refused: \(reason)", now) }
    let lost = client.session.lostAdvertisements
    settings.log(
      "\(client.address): disconnected: \(reason)" + (lost > 0 ? "; \(lost) advertisements were dropped for it" : ""))
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
