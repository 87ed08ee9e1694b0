internal import BLEHCI
internal import BLELinux
internal import BLEVirtual
internal import BLEWire

/// The thread of a simulated radio: takes packets from every client, advances time, and sends packets to every client.
///
/// A client is a host that has a controller on the radio. A listener is a socket or terminal that clients connect to.
struct RadioLoop: ~Copyable {
  /// The requests of ``RadioService`` to this thread.
  typealias Mailbox = HostMailbox<Request, Never>

  enum Request: Sendable {
    /// Gives a controller to the host at the other end of the stream.
    case addClient(OneShot<ByteStream>, name: String)
    /// Gives a controller to each host that connects to the port. The port is open.
    case addListener(OneShot<StreamPort>, name: String)
  }

  /// The number of requests that can wait at once. ``RadioService`` refuses more.
  static let requestLimit = 256

  private final class Client {
    let controller: ControllerID
    let name: String
    let token: UInt64
    let place: Place
    /// The listener that the client occupies: a terminal serves one client at a time.
    let listener: Listener?
    var stream: H4Stream
    var trace: PacketTrace?
    /// Whether the host has sent a packet.
    var isProven = false
    var outgoing = PacketBuffer()

    init(
      _ stream: consuming H4Stream, _ controller: ControllerID, name: String, token: UInt64, place: Place,
      listener: Listener?, trace: consuming PacketTrace?
    ) {
      self.stream = stream
      self.controller = controller
      self.name = name
      self.token = token
      self.place = place
      self.listener = listener
      self.trace = trace
    }
  }

  private final class Listener {
    let name: String
    /// The name or the port by which its hosts connect.
    let endpoint: String
    let token: UInt64
    var port: StreamPort
    /// The time of the next `accept`, if no descriptor reports it.
    var acceptTime: Instant?
    /// Failures before this time have been reported.
    var isReportedUntil: Instant?

    init(_ port: consuming StreamPort, name: String, token: UInt64) {
      endpoint = port.endpoint.name
      self.port = port
      self.name = name
      self.token = token
    }
  }

  /// The name or the port by which a host is connected, and the host's number there. They determine the address of the
  /// host's controller, so that peers recognize a host that connects again.
  private struct Place: Hashable {
    var endpoint: String
    /// The lowest number that no other host of the endpoint has.
    var number = 0

    /// An address that is locally administered and individual (IEEE 802).
    func address(seed: UInt64) -> BD_ADDR {
      // FNV-1a: the hash of the standard library differs between runs.
      var hash: UInt64 = 0xCBF2_9CE4_8422_2325
      for octet in "\(endpoint) \(number) \(seed)".utf8 { hash = (hash ^ UInt64(octet)) &* 0x100_0000_01B3 }
      return BD_ADDR((hash ^ hash >> 46) & 0x3EFF_FFFF_FFFF | 0x0200_0000_0000)
    }
  }

  /// The token of the mailbox; those of clients and listeners are greater.
  private static let mailboxToken: UInt64 = 0

  private let mailbox: Mailbox
  private let settings: RadioService.Settings
  private let clock = MonotonicClock()
  private var poller: Poller
  private var radio: VirtualRadio
  private var output = VirtualRadioOutput()
  private var clients: [UInt64: Client] = [:]
  private var clientsByController: [ControllerID: Client] = [:]
  private var listeners: [UInt64: Listener] = [:]
  /// A host that has sent a packet keeps its place.
  private var places: ConnectionPlaces
  private var lastToken = RadioLoop.mailboxToken
  private var clientNumber = 0
  private var items = Mailbox.Items()
  private var isEnding = false

  init(_ mailbox: Mailbox, _ settings: RadioService.Settings) throws(SystemError) {
    let poller = try Poller()
    try poller.watch(mailbox.waker.descriptor, token: Self.mailboxToken, for: .reading)
    self.init(mailbox, settings, poller)
  }

  // Cannot fail: Swift 6.2.3 rejects its own code for an initializer of a noncopyable type that throws after a property
  // has its initial value.
  private init(_ mailbox: Mailbox, _ settings: RadioService.Settings, _ poller: consuming Poller) {
    self.poller = poller
    self.mailbox = mailbox
    self.settings = settings
    radio = VirtualRadio(seed: settings.seed, pacing: settings.pacing)
    var limits = ConnectionPlaces.Limits(clients: settings.clientLimit)
    // The tests of a computer connect many hosts at once.
    (limits.burst, limits.perSecond) = (256, 100)
    places = ConnectionPlaces(limits)
  }

  /// Runs until the mailbox is shut down.
  static func run(_ mailbox: Mailbox, _ settings: RadioService.Settings) {
    do throws(SystemError) {
      var loop = try RadioLoop(mailbox, settings)
      try loop.run()
    } catch {
      settings.log("the simulated radio has ended: \(error)")
      settings.failed(error)
    }
    // The loop and all its descriptors no longer exist.
    mailbox.close()
  }

  private mutating func run() throws(SystemError) {
    let clock = clock
    while !isEnding { try turn(waitingUntil: deadline, now: clock.now) }
  }

  /// The hosts that have a controller.
  var clientCount: Int { clients.count }

  /// The time at which the radio or a listener has something to do; nil if nothing is scheduled.
  var deadline: Instant? {
    mutating get {
      var deadline = radio.deadline
      for listener in listeners.values { deadline = .nearer(deadline, listener.acceptTime) }
      return deadline
    }
  }

  /// Waits for a descriptor, but not past a time of ``MonotonicClock``, and does the work that is then due.
  ///
  /// - Parameter now: the time after the wait.
  mutating func turn(waitingUntil deadline: Instant?, now: () -> Instant) throws(SystemError) {
    let count = try poller.wait(until: deadline, on: clock)
    let now = now()
    for index in 0..<count { handle(poller[index], now) }
    for listener in listeners.values where listener.acceptTime.map({ $0 <= now }) ?? false {
      accept(on: listener, now)
    }
    radio.tick(now: now, into: &output)
    deliver(now)
  }

  private mutating func handle(_ ready: Poller.Ready, _ now: Instant) {
    if ready.token == Self.mailboxToken {
      takeItems(now)
    } else if let listener = listeners[ready.token] {
      accept(on: listener, now)
    } else if let client = clients[ready.token] {
      if ready.canWrite { flush(client, now) }
      if ready.canRead || ready.hasEnded { receive(from: client, now) }
    }
  }

  private mutating func takeItems(_ now: Instant) {
    mailbox.waker.drain()
    _ = mailbox.take(into: &items)
    for item in items.items {
      switch item {
      case .command(let request, _, _): perform(request, now)
      case .shutdown: isEnding = true
      // The radio has neither events nor attributes.
      case .attach, .detach, .updates: break
      }
    }
    items.removeAll()
  }

  private mutating func perform(_ request: Request, _ now: Instant) {
    switch request {
    case .addClient(let stream, let name):
      guard let stream = stream.take() else { return }
      add(
        H4Stream(stream, at: .host("virtual:\(name)")), name: name, endpoint: "virtual:\(name)", listener: nil,
        from: nil, now)
    case .addListener(let port, let name):
      guard let port = port.take() else { return }
      lastToken += 1
      let listener = Listener(port, name: name, token: lastToken)
      listeners[listener.token] = listener
      watch(listener, now)
    }
  }
}

/// Connecting.
extension RadioLoop {
  private func watch(_ listener: Listener, _ now: Instant) {
    do throws(SystemError) {
      listener.acceptTime = try listener.port.watch(on: poller, token: listener.token).map { now + $0 }
    } catch { retry(listener, "\(error)", now) }
  }

  /// Accepts no host for a second, and reports why, unless a report has just been made.
  private func retry(_ listener: Listener, _ reason: String, _ now: Instant) {
    if listener.isReportedUntil.map({ $0 <= now }) ?? true { settings.log(reason) }
    listener.isReportedUntil = now + .seconds(60)
    listener.port.unwatch(on: poller)
    listener.acceptTime = now + .seconds(1)
  }

  private mutating func accept(on listener: Listener, _ now: Instant) {
    listener.acceptTime = nil
    let endpoint = listener.port.endpoint
    let accepted: ByteStream?
    do throws(TransportError) {
      accepted = try listener.port.accept()
    } catch {
      // Most likely the process has too many open descriptors, so the connection waits for a second.
      return retry(listener, "\(error)", now)
    }
    guard let accepted else { return watch(listener, now) }
    var network: HostAddress?
    if case .tcpServer = endpoint {
      // It may be over already.
      guard let peer = accepted.peer else { return watch(listener, now) }
      network = peer.host?.network
    }
    let stream = H4Stream(accepted, at: .host("\(endpoint)"))
    if case .pseudoTerminal = endpoint {
      add(stream, name: listener.name, endpoint: listener.endpoint, listener: listener, from: nil, now)
    } else {
      add(stream, name: listener.name, endpoint: listener.endpoint, listener: nil, from: network, now)
      watch(listener, now)
    }
  }

  private mutating func add(
    _ stream: consuming H4Stream, name: String, endpoint: String, listener: Listener?,
    from network: HostAddress?, _ now: Instant
  ) {
    lastToken += 1
    switch places.add(lastToken, from: network, now: now) {
    case .admitted: break
    case .admittedInPlace(let other):
      if let client = clients[other] { remove(client, "it has sent nothing, and another host needs its place", now) }
    case .full: return settings.log("\(name): rejected, because \(settings.clientLimit) hosts are connected")
    case .tooMany: return settings.log("\(name): rejected, because its network opens too many connections")
    }
    clientNumber += 1
    let name = "\(clientNumber)-\(name)"
    var trace: PacketTrace?
    if let folder = settings.traceFolder {
      do throws(TransportError) {
        trace = try PacketTrace(at: "\(folder)/\(name).btsnoop", keepingKeys: settings.traceKeepsKeys)
      } catch { settings.log("\(error)") }
    }
    let place = freePlace(at: endpoint)
    var configuration = settings.controller
    configuration.publicAddress = configuration.publicAddress ?? place.address(seed: settings.seed)
    let controller = radio.attach(configuration, now: now)
    let client = Client(
      stream, controller, name: name, token: lastToken, place: place, listener: listener, trace: trace)
    clients[client.token] = client
    clientsByController[controller] = client
    defer {
      do throws(SystemError) { try client.stream.watch(on: poller, token: client.token, for: .reading) } catch {
        remove(client, "\(error)", now)
      }
    }
    settings.log(
      "\(name): connected\(radio.publicAddress(of: controller).map { ", its address is \($0.octets)" } ?? "")")
  }

  private func freePlace(at endpoint: String) -> Place {
    let taken = Set(clients.values.map(\.place))
    var place = Place(endpoint: endpoint)
    while taken.contains(place) { place.number += 1 }
    return place
  }
}

extension StreamEndpoint {
  /// A name that does not change when a radio with this listener is restarted.
  fileprivate var name: String {
    switch self {
    case .tcpServer(_, let port), .tcpClient(_, let port): "tcp:\(port)"
    case .unixServer(let path), .unixClient(let path): "unix:\(path)"
    case .pseudoTerminal(let path), .serial(let path, _): "pty:\(path)"
    }
  }
}

/// Packets, and the end of a client.
extension RadioLoop {
  private mutating func receive(from client: Client, _ now: Instant) {
    let wasProven = client.isProven
    do throws(TransportError) {
      try Self.receive(from: client, &radio, &output, now)
      if !wasProven, client.isProven { places.prove(client.token) }
    } catch { remove(client, error.what, now) }
  }

  private static func receive(
    from client: Client, _ radio: inout VirtualRadio, _ output: inout VirtualRadioOutput, _ now: Instant
  ) throws(TransportError) {
    let controller = client.controller
    try client.stream.receive { packet in
      client.isProven = true
      try? client.trace?.record(packet, .hostToController)
      radio.receive(packet, from: controller, now: now, into: &output)
    }
  }

  /// Sends the controllers' packets to their hosts.
  private mutating func deliver(_ now: Instant) {
    guard !output.isEmpty else { return }
    let directory = clientsByController
    output.forEach { (controller, packet) in
      guard let client = directory[controller] else { return }
      try? client.trace?.record(packet, .controllerToHost)
      client.outgoing.append { $0.append(copying: packet) }
    }
    output.removeAll()
    for client in clients.values where !client.outgoing.isEmpty {
      defer { client.outgoing.removeAll() }
      try? client.trace?.flush()
      do throws(TransportError) {
        try client.stream.send(client.outgoing)
      } catch {
        remove(client, error.what, now)
        continue
      }
      guard client.stream.hasBacklog else { continue }
      do throws(SystemError) {
        try client.stream.watch(on: poller, token: client.token, for: [.reading, .writing])
      } catch { remove(client, "\(error)", now) }
    }
  }

  private mutating func flush(_ client: Client, _ now: Instant) {
    do throws(TransportError) {
      try client.stream.flush()
      if !client.stream.hasBacklog {
        try? client.stream.watch(on: poller, token: client.token, for: .reading)
      }
    } catch { remove(client, error.what, now) }
  }

  private mutating func remove(_ client: Client, _ reason: String, _ now: Instant) {
    guard clients.removeValue(forKey: client.token) != nil else { return }
    clientsByController[client.controller] = nil
    places.remove(client.token)
    radio.detach(client.controller, now: now)
    try? client.trace?.flush()
    if let listener = client.listener {
      do throws(TransportError) {
        try listener.port.open()
        listener.acceptTime = now
      } catch { settings.log("\(error)") }
    }
    settings.log("\(client.name): disconnected: \(reason)")
  }
}
